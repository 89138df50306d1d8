/* Implements the journal of a run, a file of JSON lines. The journal first reads the file, record
 * by record, and then appends to it. It keeps only the positions of the records and the returned
 * answers in memory, and parses a record when it is needed. To append a record, the journal writes
 * the record at the known end of the file and calls fsync. If the write fails, the journal
 * truncates the file to its old length, so that the file stays valid. The journal takes no lock,
 * because the process that uses the run folder already has a lock. */
#include "base/trace.h"
#include "journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/journal_private.h"

G_DEFINE_QUARK(acr_journal_error_quark, acr_journal_error)

struct AcrJournal {
    char *path; /* owned */
    int fd;
    AcrJournalMode mode;
    /* array of AcrJournalEntry: the records that the file had when it was opened */
    GArray *entries;
    /* number of records that were answered or appended; less than entries->len until the journal is
     * live */
    gsize position;
    guint64 end; /* file offset of the next record */
    /* array of owned AcrJson, which callers borrow until the journal is freed */
    GPtrArray *answers;
    GHashTable *known; /* table of the answers of acr_recorded_once; NULL while no answer is kept */
    char *remark;      /* owned, or NULL */
    bool broken;       /* a failed write could not be undone, so nothing more is appended */
};

static bool fail_journal(GError **error, int number, const char *what, const char *path)
{
    bool full = number == ENOSPC || number == EDQUOT || number == EROFS || number == EFBIG;

    return acr_set_error(error, ACR_JOURNAL_ERROR,
                         full ? ACR_JOURNAL_ERROR_NO_SPACE : ACR_JOURNAL_ERROR_FAILED,
                         "cannot %s journal '%s': %s", what, path, g_strerror(number));
}

/* Opens the journal's file, but never through a symbolic link. */
static bool open_journal(AcrJournal *journal, guint64 *out_size, GError **error)
{
    int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
    struct stat st;

    flags |= journal->mode == ACR_JOURNAL_APPEND ? O_RDWR | O_CREAT : O_RDONLY;
    journal->fd = open(journal->path, flags, 0644);
    if (journal->fd < 0 || fstat(journal->fd, &st) != 0)
        return fail_journal(error, errno, "open", journal->path);
    *out_size = (guint64)st.st_size;
    if (S_ISREG(st.st_mode) && *out_size <= ACR_JOURNAL_MAX_BYTES)
        return true;
    return acr_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_FAILED,
                         "cannot open journal '%s': %s", journal->path,
                         S_ISREG(st.st_mode) ? "larger than 8 GiB" : "not a regular file");
}

/* Syncs the folder of a new journal, so that the file's name survives a crash. Truncates a torn
 * last record. */
static bool settle_file(AcrJournal *journal, guint64 size, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(journal->path);

    if (journal->mode == ACR_JOURNAL_READ)
        return true;
    if (size > journal->end &&
        (ftruncate(journal->fd, (off_t)journal->end) != 0 || fsync(journal->fd) != 0))
        return fail_journal(error, errno, "repair", journal->path);
    if (size == 0 && !acr_dir_sync(folder, error)) {
        g_prefix_error(error, "cannot create journal '%s': ", journal->path);
        return false;
    }
    return true;
}

AcrJournal *acr_journal_open(const char *path, AcrJournalMode mode, GError **error)
{
    g_autoptr(AcrJournal) journal = g_new0(AcrJournal, 1);
    guint64 size = 0;

    journal->path = g_strdup(path);
    journal->fd = -1;
    journal->mode = mode;
    journal->entries = g_array_new(FALSE, FALSE, sizeof(AcrJournalEntry));
    journal->answers = g_ptr_array_new_with_free_func((GDestroyNotify)acr_json_free);
    if (!open_journal(journal, &size, error))
        return NULL;
    if (!acr_journal_index(journal->fd, journal->entries, &journal->end, &journal->remark, error))
        return ACR_NULL(g_prefix_error(error, "journal '%s': ", path));
    if (!settle_file(journal, size, error))
        return NULL;
    return g_steal_pointer(&journal);
}

void acr_journal_free(AcrJournal *journal)
{
    if (!journal)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    g_array_unref(journal->entries);
    g_ptr_array_unref(journal->answers);
    g_clear_pointer(&journal->known, g_hash_table_unref);
    ACR_FREE(journal->remark, journal->path, journal);
}

const char *acr_journal_remark(const AcrJournal *journal)
{
    return journal->remark;
}

GHashTable **acr_journal_known(AcrJournal *journal)
{
    return &journal->known;
}

guint acr_journal_left(const AcrJournal *journal)
{
    guint len = journal->entries->len; /* the position goes on with appended records */
    return journal->position < len ? len - (guint)journal->position : 0;
}

bool acr_journal_is_live(const AcrJournal *journal)
{
    return acr_journal_left(journal) == 0;
}

static bool check_same(const AcrJournal *journal, const AcrJson *record, const char *event,
                       const AcrJson *request, GError **error)
{
    const char *recorded = acr_json_get_string(record, "event");
    const AcrJson *then = acr_json_get(record, "request");
    g_autofree char *difference = NULL;

    if (strcmp(recorded, event) != 0) {
        g_autofree char *shown = acr_text_shorten(recorded, 200);

        return acr_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DIVERGED,
                             "the run diverges from its journal at line %zu: the recorded event is "
                             "'%s', this one is '%s'",
                             journal->position + 1, shown, event);
    }
    if (acr_json_equal(then, request, "time"))
        return true;
    difference = acr_journal_difference(then, request);
    return acr_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DIVERGED,
                         "the run diverges from its journal at line %zu, event '%s', %s",
                         journal->position + 1, event, difference);
}

bool acr_journal_ask(AcrJournal *journal, const char *event, const AcrJson *request,
                     const AcrJson **out_answer, GError **error)
{
    g_autoptr(AcrJson) record = NULL;
    const AcrJournalEntry *entry = NULL;
    AcrJson *answer = NULL;

    if (acr_journal_is_live(journal)) {
        if (journal->mode == ACR_JOURNAL_READ)
            return acr_set_error(
                error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_ENDED,
                "journal '%s' ends after %zu records, but the run needs another event '%s'",
                journal->path, journal->position, event);
        *out_answer = NULL;
        return true;
    }
    entry = &g_array_index(journal->entries, AcrJournalEntry, journal->position);
    record = acr_journal_read(journal->fd, entry, journal->position, error);
    if (!record) {
        g_prefix_error(error, "journal '%s': ", journal->path);
        return false;
    }
    if (!check_same(journal, record, event, request, error))
        return false;
    answer = acr_json_copy(acr_json_get(record, "answer")); /* only the answer is kept in memory */
    g_ptr_array_add(journal->answers, answer);
    journal->position++;
    acr_trace("journal", "record %zu of the journal answers '%s'", journal->position - 1, event);
    *out_answer = answer;
    return true;
}

/* Returns the record as a line, including its line feed; owned. */
static GString *record_line(gsize n, const char *event, const AcrJson *request,
                            const AcrJson *answer, const AcrJson *time)
{
    g_autofree char *event_text = acr_text_quote(event, G_MAXSIZE);
    g_autofree char *request_text = acr_json_print(request);
    g_autofree char *answer_text = acr_json_print(answer);
    g_autofree char *time_text = time ? acr_json_print(time) : NULL;
    GString *line = g_string_sized_new(strlen(request_text) + strlen(answer_text) + 256);

    g_string_append_printf(line, "{\"n\":%zu,\"event\":%s,\"request\":", n, event_text);
    g_string_append(line, request_text);
    g_string_append(line, ",\"answer\":");
    g_string_append(line, answer_text);
    if (time_text)
        g_string_append_printf(line, ",\"time\":%s", time_text);
    return g_string_append(line, "}\n");
}

/* Writes `data` at the offset `off` and fsyncs the file; returns 0 or an errno. After a short
 * write, the function writes the rest and returns the error of the last write. */
static int write_at(int fd, const char *data, gsize len, guint64 off)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, data, len, (off_t)off);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        data += n;
        len -= (gsize)n;
        off += (guint64)n;
    }
    return fsync(fd) == 0 ? 0 : errno;
}

bool acr_journal_append(AcrJournal *journal, const char *event, const AcrJson *request,
                        const AcrJson *answer, AcrJson *time, GError **error)
{
    g_autoptr(AcrJson) owned_time = time;
    g_autoptr(GString) line = NULL;
    int failed = 0;

    g_assert(journal->mode == ACR_JOURNAL_APPEND && acr_journal_is_live(journal));
    line = record_line(journal->position, event, request, answer, owned_time);
    if (journal->broken || line->len > ACR_JOURNAL_MAX_RECORD ||
        journal->end + line->len > ACR_JOURNAL_MAX_BYTES)
        return acr_set_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_FAILED,
                             "cannot append to journal '%s': %s", journal->path,
                             journal->broken ? "an earlier failed write could not be undone"
                                             : "the record is too large");
    failed = write_at(journal->fd, line->str, line->len, journal->end);
    if (failed != 0) {
        journal->broken = ftruncate(journal->fd, (off_t)journal->end) != 0;
        return fail_journal(error, failed, "append to", journal->path);
    }
    journal->end += line->len;
    acr_trace("journal", "'%s' is recorded as record %zu", event, journal->position);
    journal->position++;
    return true;
}
