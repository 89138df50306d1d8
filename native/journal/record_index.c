/*
 * Finds the records of a journal file. Lines are found in blocks; of each line only the head is
 * looked at, which holds its number in every journal that this program wrote. A line that begins
 * otherwise, and the last one, are parsed. Only the last line may be cut or damaged: that is what a
 * crash leaves behind. Damage inside a line is found when the record is asked for.
 */
#include "journal/journal_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK (1024u * 1024)
#define HEAD 40u /* enough for {"n":18446744073709551615, */

typedef struct {
    int fd;
    GArray *entries;
    guint64 line_off; /* where the current line begins */
    gsize head_len;   /* bytes of it in `head` */
    char head[HEAD];
    GError *bad; /* owned; what is wrong with the newest whole line, or NULL */
} Scan;

static bool read_at(int fd, void *buffer, gsize len, guint64 off, gsize *out_got, GError **error)
{
    gsize got = 0;

    while (got < len) {
        ssize_t n = pread(fd, (char *)buffer + got, len - got, (off_t)(off + got));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            g_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_FAILED,
                        "cannot read the journal: %s", g_strerror(errno));
            return false;
        }
        if (n == 0)
            break;
        got += (gsize)n;
    }
    *out_got = got;
    return true;
}

static bool is_record(const AcrJson *json, gsize n)
{
    return acr_json_get_int(json, "n", -1) == (gint64)n && acr_json_get_string(json, "event") &&
           acr_json_get(json, "request") && acr_json_get(json, "answer");
}

AcrJson *acr_journal_read(int fd, const AcrJournalEntry *entry, gsize n, GError **error)
{
    g_autofree char *text = NULL;
    g_autoptr(AcrJson) json = NULL;
    g_autoptr(GError) local = NULL;
    gsize got = 0;

    if (entry->len > ACR_JOURNAL_MAX_RECORD) {
        g_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DAMAGED,
                    "line %zu of the journal is longer than %u bytes", n + 1,
                    ACR_JOURNAL_MAX_RECORD);
        return NULL;
    }
    text = g_malloc(entry->len + 1);
    if (!read_at(fd, text, entry->len, entry->off, &got, error))
        return NULL;
    json = acr_json_parse(text, got, &local);
    if (!json) {
        g_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DAMAGED,
                    "line %zu of the journal is damaged: %s", n + 1, local->message);
        return NULL;
    }
    if (!is_record(json, n)) {
        g_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DAMAGED,
                    "line %zu of the journal is damaged: not a record with the number %zu", n + 1,
                    n);
        return NULL;
    }
    return g_steal_pointer(&json);
}

/* Whether the line's head tells the right number; else the whole line decides. */
static bool check_line(Scan *scan, const AcrJournalEntry *entry, gsize n)
{
    char expected[HEAD];
    int len = snprintf(expected, sizeof expected, "{\"n\":%zu,", n);
    g_autoptr(AcrJson) json = NULL;

    if (entry->len <= ACR_JOURNAL_MAX_RECORD && scan->head_len >= (gsize)len &&
        memcmp(scan->head, expected, (gsize)len) == 0)
        return true;
    json = acr_journal_read(scan->fd, entry, n, &scan->bad);
    return json != NULL;
}

static bool damaged_before_last(Scan *scan, GError **error)
{
    if (!scan->bad)
        return false;
    g_propagate_error(error, g_steal_pointer(&scan->bad));
    return true;
}

/* Takes the bytes of one block; returns false when damage lies before the last line. */
static bool scan_block(Scan *scan, const char *block, gsize len, guint64 block_off, GError **error)
{
    for (const char *at = block, *end = block + len; at < end;) {
        const char *feed = memchr(at, '\n', (gsize)(end - at));
        gsize piece = (gsize)((feed ? feed : end) - at);
        gsize take = MIN(piece, HEAD - scan->head_len);
        AcrJournalEntry entry;

        if (damaged_before_last(scan, error))
            return false;
        memcpy(scan->head + scan->head_len, at, take);
        scan->head_len += take;
        if (!feed)
            break;
        entry.off = scan->line_off;
        entry.len = (gsize)(block_off + (guint64)(feed - block) - scan->line_off);
        (void)check_line(scan, &entry,
                         scan->entries->len); /* a bad line is remembered in the scan */
        g_array_append_val(scan->entries, entry);
        at = feed + 1;
        scan->line_off = block_off + (guint64)(at - block);
        scan->head_len = 0;
    }
    return true;
}

static bool scan_file(Scan *scan, guint64 size, GError **error)
{
    g_autofree char *block = g_malloc(BLOCK);

    for (guint64 off = 0; off < size;) {
        gsize got = 0;

        if (!read_at(scan->fd, block, (gsize)MIN(size - off, BLOCK), off, &got, error) ||
            !scan_block(scan, block, got, off, error))
            return false;
        if (got == 0)
            break;
        off += got;
    }
    return true;
}

/* Drops what a crash left: an unfinished line, or a last line that cannot be read. */
static void drop_tail(Scan *scan, guint64 size, char **out_remark)
{
    GArray *entries = scan->entries;
    g_autoptr(AcrJson) last = NULL;

    if (size > scan->line_off) {
        *out_remark =
            g_strdup_printf("the last record of the journal (line %u) was cut off and is dropped",
                            entries->len + 1);
        return;
    }
    if (entries->len == 0)
        return;
    if (!scan->bad)
        last =
            acr_journal_read(scan->fd, &g_array_index(entries, AcrJournalEntry, entries->len - 1),
                             entries->len - 1, &scan->bad);
    if (!last) {
        *out_remark =
            g_strdup_printf("the last record of the journal is dropped: %s", scan->bad->message);
        g_array_set_size(entries, entries->len - 1);
    }
}

bool acr_journal_index(int fd, guint64 size, GArray *entries, guint64 *out_end, char **out_remark,
                       GError **error)
{
    Scan scan = {.fd = fd, .entries = entries};
    bool ok = scan_file(&scan, size, error);

    *out_end = 0;
    if (ok) {
        drop_tail(&scan, size, out_remark);
        if (entries->len > 0) {
            const AcrJournalEntry *last =
                &g_array_index(entries, AcrJournalEntry, entries->len - 1);

            *out_end = last->off + last->len + 1;
        }
    }
    g_clear_error(&scan.bad);
    return ok;
}
