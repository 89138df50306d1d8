/* Lets a search for a word skip files that cannot contain it: stores for each file the sorted
 * 16-bit hashes of its words (runs of ASCII letters, digits and underscores that do not begin with
 * a digit). The hashes are computed when a file is outlined, and stored in the cache after its
 * rows, followed by their number.
 *
 * A file without hashes may contain any word: it was not outlined, or its text is not plain UTF-8.
 */
#include "index/index_private.h"

#include <stdlib.h>
#include <string.h>

#define HASHES 65536u /* number of possible hashes */
#define MAX_ASKED 16u /* most words of a text that are looked up; further words are ignored */

/* Finds the next word from *at on and moves *at to its end; false: none. */
static bool next_word(const char **at, const char *end, const char **out_word, guint16 *out_hash)
{
    static const bool in_word[256] = {
        ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['_'] = true, ['a' ... 'z'] = true};
    const char *stop = *at;
    do {
        guint32 hash = 2166136261u; /* the FNV-1a hash */
        for (*at = stop; *at < end && !in_word[(guchar) * *at]; ++*at)
            continue;
        for (stop = *at; stop < end && in_word[(guchar)*stop]; stop++)
            hash = (hash ^ (guchar)*stop) * 16777619u;
        *out_word = *at;
        *out_hash = (guint16)(hash >> 16 ^ hash);
    } while (stop > *at && g_ascii_isdigit(**at));
    *at = stop;
    return stop > *out_word;
}

GByteArray *acr_index_words_of(GBytes *source)
{
    guint64 seen[HASHES / 64] = {0};
    gsize len;
    const char *word, *at = g_bytes_get_data(source, &len);
    const char *end = acr_text_is_plain(at, len) ? at + len : at;
    guint16 hash;
    while (next_word(&at, end, &word, &hash))
        seen[hash / 64] |= G_GUINT64_CONSTANT(1) << hash % 64;
    GByteArray *words = g_byte_array_new();
    for (guint i = 0; i < HASHES / 64; i++)
        for (guint64 left = seen[i]; left; left &= left - 1) {
            hash = GUINT16_TO_LE((guint16)(i * 64 + (guint)__builtin_ctzll(left)));
            g_byte_array_append(words, (const guint8 *)&hash, sizeof hash);
        }
    guint32 n = GUINT32_TO_LE(words->len / (guint)sizeof hash);
    g_byte_array_append(words, (const guint8 *)&n, sizeof n);
    return words;
}

gsize acr_index_words_split(const char *rows, gsize len, AcrIndexFile *file)
{
    guint32 n = HASHES + 1;
    if (len >= sizeof n)
        memcpy(&n, rows + len - sizeof n, sizeof n);
    n = GUINT32_FROM_LE(n);
    if (n > HASHES || len < sizeof n + n * sizeof(guint16))
        return len;
    gsize rows_len = len - sizeof n - n * sizeof(guint16);
    file->words = rows + rows_len;
    file->n_words = n;
    return rows_len;
}

static int compare_hashes(const void *asked, const void *kept)
{
    guint16 hash;
    memcpy(&hash, kept, sizeof hash); /* may be unaligned */
    return *(const guint16 *)asked - GUINT16_FROM_LE(hash);
}

static bool may_hold(const AcrIndexFile *file, guint16 asked)
{
    return file->n_words == 0 ||
           bsearch(&asked, file->words, file->n_words, sizeof asked, compare_hashes);
}

GArray *acr_index_files_with(const AcrIndex *index, const char *text, bool whole)
{
    GArray *files = g_array_sized_new(FALSE, FALSE, sizeof(gsize), index->files->len);
    const char *word, *at = text, *end = text + strlen(text);
    guint16 asked[MAX_ASKED], hash;
    guint n_asked = 0, met;
    while (n_asked < MAX_ASKED && next_word(&at, end, &word, &hash))
        if (whole || (word > text && at < end))
            asked[n_asked++] = hash;
    for (gsize i = 0; i < index->files->len; i++) {
        for (met = 0; met < n_asked && may_hold(acr_index_file(index, i), asked[met]); met++)
            continue;
        if (met == n_asked)
            g_array_append_val(files, i);
    }
    return files;
}
