/* Finds the records of a journal file. Of most lines only the head is examined, which has the
 * record's number in every journal of this program. Only the last line, and lines with another
 * head, are parsed. Only the last line may be torn or damaged, because a crash damages only the
 * last line. Damage inside another line is found when the line's record is read. */
#include "journal/journal_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEAD 40u /* number of bytes of a line's head: long enough for {"n":18446744073709551615, */

typedef struct {
    int fd;
    GArray *entries;
    guint64 line_off; /* offset at which the current line begins */
    GError *bad;      /* owned; the error of the last complete line, or NULL */
} Scan;

static bool is_record(const AcrJson *json, gsize n)
{
    return acr_json_get_int(json, "n", -1) == (gint64)n && acr_json_get_string(json, "event") &&
           acr_json_get(json, "request") && acr_json_get(json, "answer");
}

static bool read_at(int fd, char *buffer, gsize len, guint64 off, gsize *out_got, GError **error)
{
    gsize got = 0;
    for (ssize_t n = 1; n != 0 && got<len; got += n> 0 ? (gsize)n : 0) {
        n = pread(fd, buffer + got, len - got, (off_t)(off + got));
        if (n < 0 && errno != EINTR)
            return acr_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_FAILED,
                                 "cannot read the journal: %s", g_strerror(errno));
    }
    *out_got = got;
    return true;
}

AcrJson *acr_journal_read(int fd, const AcrJournalEntry *entry, gsize n, GError **error)
{
    if (entry->len > ACR_JOURNAL_MAX_RECORD)
        return ACR_NULL(acr_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DAMAGED,
                                      "line %zu of the journal is longer than %u bytes", n + 1,
                                      ACR_JOURNAL_MAX_RECORD));
    g_autofree char *text = g_malloc(entry->len + 1);
    g_autoptr(GError) reason = NULL;
    gsize got = 0;
    if (!read_at(fd, text, entry->len, entry->off, &got, error))
        return NULL;
    g_autoptr(AcrJson) json = acr_json_parse(text, got, &reason);
    if (json && is_record(json, n))
        return g_steal_pointer(&json);
    return ACR_NULL(
        acr_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DAMAGED,
                      "line %zu of the journal is damaged: %s", n + 1,
                      json ? "the line is not a record, or its number is wrong" : reason->message));
}

/* Adds the line of `len` bytes that ends at the current position. If the line is invalid, sets
 * scan->bad. */
static void add_record_line(Scan *scan, const char *head, gsize len)
{
    AcrJournalEntry entry = {scan->line_off, len};
    guint n = scan->entries->len;
    g_autofree char *expected = g_strdup_printf("{\"n\":%u,", n);
    if (len > ACR_JOURNAL_MAX_RECORD || len < strlen(expected) ||
        memcmp(head, expected, strlen(expected)) != 0)
        acr_json_free(acr_journal_read(scan->fd, &entry, n, &scan->bad));
    g_array_append_val(scan->entries, entry);
    scan->line_off += len + 1;
}

/* Finds all lines; *out_size is the size of the file. Errors: DAMAGED (a line before the last
 * line), FAILED. */
static bool scan_file(Scan *scan, FILE *file, guint64 *out_size, GError **error)
{
    char head[HEAD];
    guint64 off = 0;
    for (int c; (c = getc_unlocked(file)) != EOF; off++) {
        gsize at = (gsize)(off - scan->line_off);
        if (scan->bad)
            return acr_pass_error(error, &scan->bad);
        if (c == '\n')
            add_record_line(scan, head, at);
        else if (at < HEAD)
            head[at] = (char)c;
    }
    *out_size = off;
    if (ferror(file))
        g_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_FAILED,
                    "cannot read the journal: %s", g_strerror(errno));
    return !ferror(file);
}

/* Drops the damage of a crash: an unfinished line, or a last line that cannot be parsed. */
static void drop_tail(Scan *scan, guint64 size, char **out_remark)
{
    GArray *entries = scan->entries;
    guint n = entries->len;
    if (size > scan->line_off) {
        *out_remark = g_strdup_printf(
            "the last record of the journal (line %u) was cut off; it is ignored", n + 1);
        return;
    }
    if (n > 0 && !scan->bad)
        acr_json_free(acr_journal_read(scan->fd, &g_array_index(entries, AcrJournalEntry, n - 1),
                                       n - 1, &scan->bad));
    if (scan->bad) {
        *out_remark =
            g_strdup_printf("the last record of the journal is ignored: %s", scan->bad->message);
        scan->line_off = g_array_index(entries, AcrJournalEntry, n - 1).off;
        g_array_set_size(entries, n - 1);
    }
}

bool acr_journal_index(int fd, GArray *entries, guint64 *out_end, char **out_remark, GError **error)
{
    Scan scan = {.fd = fd, .entries = entries};
    guint64 size = 0;
    int copy = dup(fd);
    FILE *file = copy >= 0 ? fdopen(copy, "r") : NULL;
    if (!file)
        return acr_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_FAILED,
                             "cannot read the journal: %s", g_strerror(errno));
    bool ok = scan_file(&scan, file, &size, error);
    fclose(file);
    if (ok)
        drop_tail(&scan, size, out_remark);
    *out_end = scan.line_off;
    g_clear_error(&scan.bad);
    return ok;
}
