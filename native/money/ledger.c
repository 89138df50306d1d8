/* A ledger: an append-only file of JSON lines under one lock. Each access reads the lines that were
 * added since the previous access.
 *   {"ledger":1}                                    the first line
 *   {"reserve":ID,"pico","tokens","pid","start","boot","note","time"}  a call may use that much
 *   {"settle":ID,"pico","tokens","time"}            the call has used that much
 *   {"stale":ID}                                    its process has ended: all counts as spent
 *
 * Every decision is made under the lock, after all lines are read. A reservation counts once it is
 * on disk. A last line without its line feed was left by a crash, and never counted: it is cut off.
 * Any other line that cannot be parsed is an error, because it may contain a cost. */
#include "money/ledger.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WAIT_US 20000
#define HEAD "{\"ledger\":1}"
#define EXACT 9007199254740992.0 /* integers up to EXACT can be represented exactly by doubles */

typedef struct {
    AcrAmount amount;
    AcrOwner owner;
    bool is_stale;
} Entry;

struct AcrLedger {
    char *path; /* NULL if the ledger is only in memory */
    char *scope;
    int fd;
    struct stat status; /* the device and inode of the file */
    AcrAmount ceiling;
    gint64 offset; /* number of bytes of the file that have been read */
    guint64 lines;
    GHashTable *entries;
    AcrLedgerSum spent, reserved;
    AcrLedgerSum whole; /* the part of `spent` that is the whole reservation of a call */
    AcrOwner self;
};

static bool fail_ledger(const AcrLedger *ledger, int err, const char *what, GError **error)
{
    return acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_FAILED,
                         "cannot %s ledger '%s': %s", what, ledger->path, g_strerror(err));
}

static bool fail_damaged(const AcrLedger *ledger, const char *why, GError **error)
{
    return acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE,
                         "'%s' is not a ledger, or is damaged: line %" G_GUINT64_FORMAT " %s",
                         ledger->path ? ledger->path : "(memory)", ledger->lines + 1, why);
}

/* Returns an amount, rounded up if a double cannot represent it exactly; -1 if it is missing. */
static gint64 amount_of(const AcrJson *record, const char *member)
{
    double value = acr_json_get_double(record, member, -1);
    if (!(value >= 0))
        return -1;
    if (value < EXACT)
        return (gint64)value;
    value += value / (EXACT / 2);
    return value >= (double)G_MAXINT64 ? G_MAXINT64 : (gint64)value;
}

static bool read_amount(const AcrJson *record, AcrAmount *out)
{
    *out = (AcrAmount){amount_of(record, "pico"), amount_of(record, "tokens")};
    return out->pico >= 0 && out->tokens >= 0;
}

static bool read_id(const AcrJson *record, const char *member, guint64 *out)
{
    const char *text = acr_json_get_string(record, member);
    return text && g_ascii_string_to_unsigned(text, 16, 0, G_MAXUINT64, out, NULL);
}

static void add_entry(AcrLedgerSum *sum, const AcrAmount *amount, int sign)
{
    sum->pico += (__int128)amount->pico * sign;
    sum->tokens += (__int128)amount->tokens * sign;
}

static Entry *entry_of(const AcrLedger *ledger, guint64 id)
{
    gint64 key = (gint64)id;
    return g_hash_table_lookup(ledger->entries, &key);
}

static bool apply_reserve(AcrLedger *ledger, guint64 id, const AcrJson *record)
{
    const char *boot = acr_json_get_string(record, "boot");
    Entry entry = {.owner = {.pid = acr_json_get_int(record, "pid", 0),
                             .start = acr_json_get_int(record, "start", 0)}};
    gint64 key = (gint64)id;
    if (!read_amount(record, &entry.amount) || entry_of(ledger, id))
        return false;
    g_strlcpy(entry.owner.boot, boot ? boot : "", sizeof entry.owner.boot);
    g_hash_table_insert(ledger->entries, g_memdup2(&key, sizeof key),
                        g_memdup2(&entry, sizeof entry));
    add_entry(&ledger->reserved, &entry.amount, 1);
    return true;
}

/* Replaces a reservation by the spent amount. The reservation may be stale, if its process was
 * wrongly assumed to have ended. */
static bool apply_settle(AcrLedger *ledger, guint64 id, const AcrJson *record)
{
    Entry *entry = entry_of(ledger, id);
    gint64 key = (gint64)id;
    AcrAmount spent;
    if (!entry || !read_amount(record, &spent))
        return false;
    add_entry(entry->is_stale ? &ledger->spent : &ledger->reserved, &entry->amount, -1);
    if (entry->is_stale)
        add_entry(&ledger->whole, &entry->amount, -1);
    add_entry(&ledger->spent, &spent, 1);
    if (spent.pico == entry->amount.pico && spent.tokens == entry->amount.tokens)
        add_entry(&ledger->whole, &spent, 1);
    return g_hash_table_remove(ledger->entries, &key);
}

static bool apply_stale(AcrLedger *ledger, guint64 id)
{
    Entry *entry = entry_of(ledger, id);
    if (!entry || entry->is_stale)
        return false;
    entry->is_stale = true;
    add_entry(&ledger->reserved, &entry->amount, -1);
    add_entry(&ledger->spent, &entry->amount, 1);
    add_entry(&ledger->whole, &entry->amount, 1);
    return true;
}

/* Applies one line, without its line feed. */
static bool apply_line(AcrLedger *ledger, const char *line, gsize len, GError **error)
{
    g_autoptr(AcrJson) record = acr_json_parse(line, len, NULL);
    guint64 id = 0;
    bool ok = false;
    if (!record || acr_json_type(record) != ACR_JSON_OBJECT)
        return fail_damaged(ledger, "cannot be read", error);
    if (ledger->lines == 0)
        ok = acr_json_get_int(record, "ledger", 0) == 1;
    else if (read_id(record, "reserve", &id))
        ok = apply_reserve(ledger, id, record);
    else if (read_id(record, "settle", &id))
        ok = apply_settle(ledger, id, record);
    else if (read_id(record, "stale", &id))
        ok = apply_stale(ledger, id);
    if (!ok)
        return fail_damaged(ledger, "is not a valid record", error);
    ledger->lines++;
    return true;
}

/* Applies all complete lines; *out_len is their total length. */
static bool apply_lines(AcrLedger *ledger, const char *text, gsize len, gsize *out_len,
                        GError **error)
{
    const char *end = NULL;
    for (*out_len = 0; (end = memchr(text + *out_len, '\n', len - *out_len));
         *out_len = (gsize)(end + 1 - text))
        if (!apply_line(ledger, text + *out_len, (gsize)(end - text) - *out_len, error))
            return false;
    return len - *out_len <= ACR_LEDGER_MAX_LINE || fail_damaged(ledger, "is too long", error);
}

/* Truncates the file, to remove the part of a record that a failed write has left. */
static bool cut_to(AcrLedger *ledger, gint64 size)
{
    int rc = 0;
    do
        rc = ftruncate(ledger->fd, size);
    while (rc != 0 && errno == EINTR);
    return rc == 0;
}

static bool write_ledger_line(AcrLedger *ledger, const char *line, gsize len, bool sync,
                              GError **error)
{
    ssize_t n = 0;
    do
        n = write(ledger->fd, line, len);
    while (n < 0 && errno == EINTR);
    int err = n < 0 ? errno : ENOSPC;
    if (n == (ssize_t)len && (!sync || fdatasync(ledger->fd) == 0))
        return true;
    if (n == (ssize_t)len)
        err = errno;
    (void)!cut_to(ledger, ledger->offset);
    return fail_ledger(ledger, err, "write", error);
}

static bool append(AcrLedger *ledger, AcrJson *record, bool sync, GError **error)
{
    g_autofree char *text = acr_json_print(record);
    g_autofree char *line = g_strconcat(text, "\n", NULL);
    gsize len = strlen(text);
    if (ledger->path && ledger->offset + (gint64)len >= ACR_LEDGER_MAX_BYTES)
        return fail_ledger(ledger, EFBIG, "write", error);
    if (ledger->path && !write_ledger_line(ledger, line, len + 1, sync, error))
        return false;
    ledger->offset += (gint64)len + 1;
    return apply_line(ledger, text, len, error);
}

/* Drops a last line that lacks its line feed, because its write did not finish. A first line is
 * dropped only if it is the beginning of our header, so that a file of another program is never
 * truncated. */
static bool mend_end(AcrLedger *ledger, const char *rest, gsize len, GError **error)
{
    if (ledger->lines == 0 && (len > strlen(HEAD) || memcmp(rest, HEAD, len) != 0))
        return fail_damaged(ledger, "cannot be read", error);
    return cut_to(ledger, ledger->offset) || fail_ledger(ledger, errno, "mend", error);
}

/* Whether the path still leads to the open file. If it did not, each of two files would allow the
 * whole limit. */
static bool is_in_place(const AcrLedger *ledger, GError **error)
{
    struct stat found = {0};
    if (lstat(ledger->path, &found) == 0 && found.st_dev == ledger->status.st_dev &&
        found.st_ino == ledger->status.st_ino)
        return true;
    return acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_FAILED,
                         "ledger '%s' was removed or replaced while it was in use", ledger->path);
}

static bool read_on(AcrLedger *ledger, GError **error)
{
    gsize used = 0;
    ssize_t n = 0;
    if (fstat(ledger->fd, &ledger->status) != 0)
        return fail_ledger(ledger, errno, "read", error);
    if (!is_in_place(ledger, error))
        return false;
    if (ledger->status.st_size < ledger->offset)
        return fail_damaged(ledger, "was truncated by another process", error);
    if (ledger->status.st_size > ACR_LEDGER_MAX_BYTES)
        return fail_ledger(ledger, EFBIG, "read", error);
    gsize len = (gsize)(ledger->status.st_size - ledger->offset);
    g_autofree char *text = g_malloc(len + 1);
    for (gsize have = 0; have < len; have += (gsize)MAX(n, 0)) {
        n = pread(ledger->fd, text + have, len - have, ledger->offset + (gint64)have);
        if (n == 0 || (n < 0 && errno != EINTR))
            return fail_ledger(ledger, n < 0 ? errno : EIO, "read", error);
    }
    if (!apply_lines(ledger, text, len, &used, error))
        return false;
    ledger->offset += (gint64)used;
    return used == len || mend_end(ledger, text + used, len - used, error);
}

static bool write_head(AcrLedger *ledger, GError **error)
{
    g_autoptr(AcrJson) head = acr_json_new_object();
    g_autofree char *dir = ledger->path ? g_path_get_dirname(ledger->path) : NULL;
    acr_json_set_int(head, "ledger", 1);
    return append(ledger, head, true, error) && (!dir || acr_dir_sync(dir, error));
}

static bool set_lock(AcrLedger *ledger, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(ledger->fd, F_OFD_SETLK, &lock) == 0;
}

/* Polls for the lock, because a wait in the kernel could not be interrupted. */
static bool wait_for_lock(AcrLedger *ledger, GError **error)
{
    gint64 deadline = g_get_monotonic_time() + ACR_LEDGER_LOCK_MS * 1000ll, wait_us = 200;
    while (!set_lock(ledger, F_WRLCK)) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return fail_ledger(ledger, errno, "lock", error);
        if (g_get_monotonic_time() > deadline)
            return acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_FAILED,
                                 "ledger '%s' has been locked by another process for %d seconds",
                                 ledger->path, ACR_LEDGER_LOCK_MS / 1000);
        /* the waits differ, so that processes poll at different times */
        g_usleep((gulong)(100 + g_get_monotonic_time() % wait_us));
        wait_us = MIN(wait_us * 2, MAX_WAIT_US);
    }
    return true;
}

void acr_ledger_unlock(AcrLedger *ledger)
{
    if (ledger->path)
        (void)set_lock(ledger, F_UNLCK);
}

bool acr_ledger_lock(AcrLedger *ledger, GError **error)
{
    if (!ledger->path)
        return true;
    if (!wait_for_lock(ledger, error))
        return false;
    if (read_on(ledger, error) && (ledger->lines > 0 || write_head(ledger, error)))
        return true;
    acr_ledger_unlock(ledger);
    return false;
}

static bool open_ledger(AcrLedger *ledger, GError **error)
{
    int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
    ledger->fd = open(ledger->path, flags, 0600);
    if (ledger->fd < 0 || fstat(ledger->fd, &ledger->status) != 0)
        return fail_ledger(ledger, errno, "open", error);
    if (!S_ISREG(ledger->status.st_mode))
        return acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE,
                             "ledger '%s' is not a regular file", ledger->path);
    return true;
}

AcrLedger *acr_ledger_open(const char *path, const char *scope, const AcrAmount *ceiling,
                           GError **error)
{
    g_autoptr(AcrLedger) ledger = g_new0(AcrLedger, 1);
    ledger->fd = -1;
    ledger->path = g_strdup(path);
    ledger->scope = g_strdup(scope);
    ledger->ceiling = *ceiling;
    ledger->entries = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    acr_owner_self(&ledger->self);
    if (path ? !open_ledger(ledger, error) : !write_head(ledger, error))
        return NULL;
    return g_steal_pointer(&ledger);
}

gint64 acr_ledger_text_spent(GBytes *bytes)
{
    static const AcrAmount unlimited = {-1, -1};
    g_autoptr(AcrLedger) ledger = acr_ledger_open(NULL, "ledger", &unlimited, NULL);
    gsize len = 0, used = 0;
    const char *text = g_bytes_get_data(bytes, &len);
    GHashTableIter entries;
    gpointer value = NULL;
    if (!ledger)
        return -1;
    ledger->lines = 0; /* the text has its own first line */
    if (!apply_lines(ledger, text, len, &used, NULL))
        return -1;
    __int128 pico = ledger->spent.pico;
    g_hash_table_iter_init(&entries, ledger->entries);
    while (g_hash_table_iter_next(&entries, NULL, &value)) {
        const Entry *entry = value;
        if (!entry->is_stale && !acr_owner_is_alive(&entry->owner, &ledger->self))
            pico += entry->amount.pico;
    }
    return (gint64)MIN(pico, (__int128)G_MAXINT64);
}

void acr_ledger_free(AcrLedger *ledger)
{
    if (!ledger)
        return;
    if (ledger->fd >= 0)
        close(ledger->fd);
    g_hash_table_unref(ledger->entries);
    ACR_FREE(ledger->path, ledger->scope, ledger);
}

const char *acr_ledger_scope(const AcrLedger *ledger)
{
    return ledger->scope;
}

const AcrAmount *acr_ledger_ceiling(const AcrLedger *ledger)
{
    return &ledger->ceiling;
}

int acr_ledger_compare(const AcrLedger *a, const AcrLedger *b)
{
    int by_kind = acr_order(a->path == NULL, b->path == NULL);
    int by_device = acr_order(a->status.st_dev, b->status.st_dev);
    if (by_kind != 0 || !a->path)
        return by_kind != 0 ? by_kind : acr_order((guintptr)a, (guintptr)b);
    return by_device != 0 ? by_device : acr_order(a->status.st_ino, b->status.st_ino);
}

void acr_ledger_sums(const AcrLedger *ledger, AcrLedgerSum *spent, AcrLedgerSum *reserved)
{
    *spent = ledger->spent;
    *reserved = ledger->reserved;
}

AcrLedgerSum acr_ledger_whole(const AcrLedger *ledger)
{
    return ledger->whole;
}

bool acr_ledger_has(const AcrLedger *ledger, guint64 id)
{
    return entry_of(ledger, id) != NULL;
}

static bool fits(gint64 ceiling, __int128 used, gint64 more)
{
    return ceiling < 0 || used + more <= ceiling;
}

bool acr_ledger_fits(const AcrLedger *ledger, const AcrAmount *amount)
{
    return fits(ledger->ceiling.pico, ledger->spent.pico + ledger->reserved.pico, amount->pico) &&
           fits(ledger->ceiling.tokens, ledger->spent.tokens + ledger->reserved.tokens,
                amount->tokens);
}

bool acr_ledger_would_fit(const AcrLedger *ledger, const AcrAmount *amount)
{
    return fits(ledger->ceiling.pico, ledger->spent.pico, amount->pico) &&
           fits(ledger->ceiling.tokens, ledger->spent.tokens, amount->tokens);
}

static gint64 left_of(gint64 ceiling, __int128 used)
{
    return ceiling < 0 ? G_MAXINT64 : used >= ceiling ? 0 : (gint64)(ceiling - used);
}

AcrAmount acr_ledger_left(const AcrLedger *ledger)
{
    return (AcrAmount){
        left_of(ledger->ceiling.pico, ledger->spent.pico + ledger->reserved.pico),
        left_of(ledger->ceiling.tokens, ledger->spent.tokens + ledger->reserved.tokens)};
}

static AcrJson *new_record(const char *member, guint64 id, const AcrAmount *amount)
{
    g_autofree char *text = g_strdup_printf("%016" G_GINT64_MODIFIER "x", id);
    AcrJson *record = acr_json_new_object();
    acr_json_set_string(record, member, text);
    if (amount) {
        acr_json_set_int(record, "pico", amount->pico);
        acr_json_set_int(record, "tokens", amount->tokens);
        acr_json_set_int(record, "time", g_get_real_time() / G_USEC_PER_SEC);
    }
    return record;
}

bool acr_ledger_reserve(AcrLedger *ledger, guint64 id, const AcrAmount *amount, const char *note,
                        GError **error)
{
    g_autoptr(AcrJson) record = new_record("reserve", id, amount);
    g_autofree char *shown = note ? acr_text_shorten(note, ACR_LEDGER_MAX_NOTE) : NULL;
    acr_json_set_int(record, "pid", ledger->self.pid);
    acr_json_set_int(record, "start", ledger->self.start);
    acr_json_set_string(record, "boot", ledger->self.boot);
    if (shown)
        acr_json_set_string(record, "note", shown);
    return append(ledger, record, true, error);
}

bool acr_ledger_settle(AcrLedger *ledger, guint64 id, const AcrAmount *spent, GError **error)
{
    g_autoptr(AcrJson) record = new_record("settle", id, spent);
    const Entry *entry = entry_of(ledger, id);
    /* Without fsync, a crash of the machine loses the settlement, and the reservation stays, which
     * is safe unless more was spent than reserved. */
    bool sync = !entry || spent->pico > entry->amount.pico || spent->tokens > entry->amount.tokens;
    return append(ledger, record, sync, error);
}

bool acr_ledger_find_stale(AcrLedger *ledger, GError **error)
{
    g_autoptr(GArray) gone = g_array_new(FALSE, FALSE, sizeof(gint64));
    GHashTableIter entries;
    gpointer key = NULL, value = NULL;
    g_hash_table_iter_init(&entries, ledger->entries);
    while (g_hash_table_iter_next(&entries, &key, &value)) {
        const Entry *entry = value;
        if (!entry->is_stale && !acr_owner_is_alive(&entry->owner, &ledger->self))
            g_array_append_val(gone, *(gint64 *)key);
    }
    for (guint i = 0; i < gone->len; i++) {
        g_autoptr(AcrJson) record =
            new_record("stale", (guint64)g_array_index(gone, gint64, i), NULL);
        if (!append(ledger, record, false, error))
            return false;
    }
    return true;
}
