/* Lets a search skip files that cannot contain the searched text. Each file has two sets of hashes.
 * For searches for whole words: the sorted 16-bit hashes of the file's words, which are runs of
 * ASCII letters, digits and underscores that do not begin with a digit. For other searches: a
 * bitmap with the hashes of all sequences of three characters in these runs. Both sets are computed
 * when a file is outlined, and stored in the cache after its rows, followed by the number of words
 * and of bits.
 *
 * A file without hashes may contain any word: it was not outlined, or its text is not plain
 * UTF-8. */
#include "index/index_private.h"

#include <stdlib.h>
#include <string.h>

#define HASHES 65536u /* number of possible hashes */
/* maximum number of hashes of a text that are looked up; the others are ignored */
#define MAX_ASKED 64u
#define LEAST_BITS 64u /* minimum number of bits of a bitmap; the number is always a power of 2 */

static const bool in_word[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['_'] = true, ['a' ... 'z'] = true};

/* Finds the next word from *at on, and moves *at to the end of the word. Returns false if there are
 * no more words. */
static bool next_word(const char **at, const char *end, const char **out_word, guint16 *out_hash)
{
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

/* Finds the next three characters that belong to one word, and moves *at after the third. `state`
 * must be 0 at the first call. */
static bool next_three(const char **at, const char *end, guint32 *state, guint16 *out_hash)
{
    while (*at < end) {
        guchar c = (guchar) * (*at)++;
        *state = in_word[c] ? *state << 8 | c : 0; /* 0 is not a character of any word */
        *out_hash = (guint16)((*state & 0xffffff) * 2654435761u >> 16);
        if (*state > 0xffff)
            return true;
    }
    return false;
}

static void add_bit(guint64 *bits, guint16 hash)
{
    bits[hash / 64] |= G_GUINT64_CONSTANT(1) << hash % 64;
}

/* Halves a bitmap by combining its halves, until about half of its bits are set. Returns the
 * number of its bits. */
static guint32 fold_bits(guint64 *bits)
{
    guint32 n = HASHES;
    for (gsize n_set = 0; n > LEAST_BITS; n /= 2, n_set = 0) {
        for (guint32 i = 0; i < n / 64; i++)
            n_set += (gsize)__builtin_popcountll(bits[i]);
        if (n_set > n / 4)
            break;
        for (guint32 i = 0; i < n / 128; i++)
            bits[i] |= bits[i + n / 128];
    }
    return n;
}

GByteArray *acr_index_words_of(GBytes *source)
{
    guint64 seen[HASHES / 64] = {0}, threes[HASHES / 64] = {0};
    gsize len;
    const char *word, *at = g_bytes_get_data(source, &len), *start = at;
    const char *end = acr_text_is_plain(at, len) ? at + len : at;
    guint16 hash;
    guint32 state = 0;
    while (next_word(&at, end, &word, &hash))
        add_bit(seen, hash);
    while (next_three(&start, end, &state, &hash))
        add_bit(threes, hash);
    GByteArray *words = g_byte_array_new();
    for (guint i = 0; i < HASHES / 64; i++)
        for (guint64 left = seen[i]; left; left &= left - 1) {
            hash = GUINT16_TO_LE((guint16)(i * 64 + (guint)__builtin_ctzll(left)));
            g_byte_array_append(words, (const guint8 *)&hash, sizeof hash);
        }
    guint32 n_words = words->len / (guint)sizeof hash, n_bits = fold_bits(threes);
    for (guint32 i = 0; i < n_bits / 8; i++)
        g_byte_array_append(words, &(guint8){(guint8)(threes[i / 8] >> i % 8 * 8)}, 1);
    guint32 counts[] = {GUINT32_TO_LE(n_words), GUINT32_TO_LE(n_bits)};
    g_byte_array_append(words, (const guint8 *)counts, sizeof counts);
    return words;
}

gsize acr_index_words_split(const char *rows, gsize len, AcrIndexFile *file)
{
    guint32 counts[2];
    if (len < sizeof counts)
        return len;
    memcpy(counts, rows + len - sizeof counts, sizeof counts);
    guint32 n = GUINT32_FROM_LE(counts[0]), n_bits = GUINT32_FROM_LE(counts[1]);
    bool is_known =
        n <= HASHES && n_bits >= LEAST_BITS && n_bits <= HASHES && (n_bits & (n_bits - 1)) == 0;
    gsize behind = sizeof counts + n * sizeof(guint16) + n_bits / 8;
    if (!is_known || len < behind)
        return len;
    file->words = rows + len - behind;
    file->threes = (const guint8 *)file->words + n * sizeof(guint16);
    file->n_words = n;
    file->n_three_bits = n_bits;
    return len - behind;
}

static int compare_hashes(const void *asked, const void *kept)
{
    guint16 hash;
    memcpy(&hash, kept, sizeof hash); /* the number may be unaligned */
    return *(const guint16 *)asked - GUINT16_FROM_LE(hash);
}

static bool may_hold(const AcrIndexFile *file, guint16 asked, bool whole)
{
    guint32 bit = asked & (file->n_three_bits - 1);
    return file->n_words == 0 || (whole ? bsearch(&asked, file->words, file->n_words, sizeof asked,
                                                  compare_hashes) != NULL
                                        : file->threes[bit / 8] >> bit % 8 & 1);
}

GArray *acr_index_files_with(const AcrIndex *index, const char *text, bool whole)
{
    GArray *files = g_array_sized_new(FALSE, FALSE, sizeof(gsize), index->files->len);
    const char *word, *at = text, *end = text + strlen(text);
    guint16 asked[MAX_ASKED], hash;
    guint32 state = 0;
    guint n_asked = 0, met;
    while (n_asked < MAX_ASKED &&
           (whole ? next_word(&at, end, &word, &hash) : next_three(&at, end, &state, &hash)))
        asked[n_asked++] = hash;
    for (gsize i = 0; i < index->files->len; i++) {
        const AcrIndexFile *file = acr_index_file(index, i);
        for (met = 0; met < n_asked && may_hold(file, asked[met], whole); met++)
            continue;
        if (met == n_asked)
            g_array_append_val(files, i);
    }
    return files;
}
