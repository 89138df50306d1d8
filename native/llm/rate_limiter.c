/* Enforces the limits that all processes with the same endpoint and key share. Each pair of
 * endpoint and key has a small file in a shared folder. The file says until when no process may
 * send (the hold). Slots for concurrent requests are locks (of open file descriptions) on bytes of
 * the file; the kernel frees them when a process is killed. After a throttled request no process
 * may send during the hold; then one slot becomes free, and one more every few seconds, until the
 * server throttles again. If a second file exists, the circuit breaker is open: no process sends.
 * The names of both files contain a hash, not the key. If a file cannot be locked, read or written,
 * only the server's own limits apply. */
#include "llm/llm_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <glib/gstdio.h>

#include "llm/failure.h"

#define HOLD_DIGITS 20 /* number of decimal digits of the hold in the file */
#define SLOTS_AT 2048  /* offset of the first slot's byte */
#define MAX_SLOTS 64
/* a longer hold is ignored, because it means that the clock has jumped */
#define MAX_HOLD_MS ((gint64)3600 * 1000)
/* length of the hold if the server does not say how long to wait */
#define USUAL_HOLD_MS 2000
#define GRADUAL_MS 4000         /* time between two slots that are freed after throttling */
#define WAIT_SLICE_MS 50        /* interval between checks for a free slot or a pause */
#define MAX_PAUSE_BYTES 4096u   /* maximum size of a pause's reason in bytes */
#define PAUSED_PREFIX "paused-" /* prefix of the breaker's file names, before the hash */

struct AcrLimiter {
    char *paused_path; /* owned */
    int fd;
    int slot; /* number of the slot; -1: none */
};

static gint64 now_ms(void)
{
    return g_get_real_time() / 1000;
}

/* Locks or unlocks a slot; returns 0 or an errno. */
static int lock_slot(int fd, short type, int slot)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = SLOTS_AT + slot, .l_len = 1};
    int rc = 0;
    do
        rc = fcntl(fd, F_OFD_SETLK, &lock);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

/* Reads the hold: the time until which no process may send, in milliseconds since the epoch; 0 if
 * there is no hold, or if the file's contents are invalid. */
static gint64 read_hold(const AcrLimiter *limiter, gint64 now)
{
    char text[HOLD_DIGITS + 1] = "";
    guint64 hold_ms = 0;
    bool is_read = pread(limiter->fd, text, HOLD_DIGITS, 0) == HOLD_DIGITS &&
                   g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, &hold_ms, NULL);
    return is_read && (gint64)hold_ms <= now + MAX_HOLD_MS ? (gint64)hold_ms : 0;
}

/* Writes the hold. If the write fails, the server throttles the next process. If two processes
 * write at the same time, one hold may be lost. */
static void write_hold(const AcrLimiter *limiter, gint64 hold_ms)
{
    g_autofree char *text = g_strdup_printf("%0*" G_GINT64_FORMAT, HOLD_DIGITS, hold_ms);
    (void)!pwrite(limiter->fd, text, HOLD_DIGITS, 0);
}

AcrLimiter *acr_limiter_open(const char *dir, const char *endpoint, const char *key, GError **error)
{
    g_autoptr(GString) both = g_string_new(endpoint);
    g_string_append_c(both, '\0');
    g_string_append(both, key ? key : "");
    g_autofree char *hash = acr_sha256_hex(both->str, both->len);
    explicit_bzero(both->str, both->len);
    hash[16] = '\0';
    g_autofree char *path = g_strdup_printf("%s/limit-%s", dir, hash);
    if (!acr_dir_make(dir, error))
        return NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return ACR_NULL(acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_FAILED,
                                      "cannot open '%s': %s", path, g_strerror(errno)));
    AcrLimiter *limiter = g_new0(AcrLimiter, 1);
    limiter->fd = fd;
    limiter->slot = -1;
    limiter->paused_path = g_strdup_printf("%s/" PAUSED_PREFIX "%s", dir, hash);
    return limiter;
}

void acr_limiter_free(AcrLimiter *limiter)
{
    if (!limiter)
        return;
    close(limiter->fd);
    ACR_FREE(limiter->paused_path, limiter);
}

static char *read_pause(const char *path)
{
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_PAUSE_BYTES, NULL);
    g_autofree char *repaired = bytes ? acr_utf8_repair_bytes(bytes) : g_strdup("");
    g_autofree char *line = acr_redact_line(g_strstrip(repaired), NULL, MAX_PAUSE_BYTES);
    return g_strdup(*line ? line : "an earlier failure");
}

/* Tries once to take a slot. Returns true if it got a slot, or if the file system has no locks.
 * *out_hold_ms is the time until a process may send. */
static bool try_to_enter(AcrLimiter *limiter, gint64 *out_hold_ms)
{
    gint64 now = now_ms();
    gint64 since_ms = now - read_hold(limiter, now);
    gint64 open_slots = MIN(1 + since_ms / GRADUAL_MS, MAX_SLOTS);
    bool entered = false;
    *out_hold_ms = MAX(-since_ms, 0);
    for (int i = 0; *out_hold_ms == 0 && !entered && i < open_slots; i++) {
        int err = lock_slot(limiter->fd, F_WRLCK, i);
        entered = err != EAGAIN && err != EACCES;
        limiter->slot = err == 0 ? i : -1;
    }
    return entered;
}

AcrLimiterEntry acr_limiter_enter(AcrLimiter *limiter, gint64 deadline_us,
                                  const AcrInterrupt *interrupt,
                                  void (*on_wait)(void *ctx, const char *why, gint64 wait_ms),
                                  void *on_wait_ctx, gint64 *out_waited_ms, char **out_why)
{
    gint64 start_us = g_get_monotonic_time();
    bool is_told = false;
    for (;;) {
        gint64 hold_ms = 0;
        gint64 left_ms =
            deadline_us > 0 ? (deadline_us - g_get_monotonic_time()) / 1000 : G_MAXINT64;
        *out_waited_ms = (g_get_monotonic_time() - start_us) / 1000;
        if (acr_interrupted(interrupt))
            return ACR_LIMITER_INTERRUPTED;
        if (g_access(limiter->paused_path, F_OK) == 0) {
            *out_why = read_pause(limiter->paused_path);
            return ACR_LIMITER_PAUSED;
        }
        if (try_to_enter(limiter, &hold_ms))
            return ACR_LIMITER_ENTERED;
        if (left_ms <= MAX(hold_ms, 0))
            return ACR_LIMITER_TOO_LATE;
        if (on_wait && !is_told)
            on_wait(on_wait_ctx,
                    hold_ms > 0 ? "rate limited; waiting"
                                : "the rate limit has no free slot; waiting",
                    hold_ms);
        is_told = true;
        /* the slices differ, so that waiting processes check at different times */
        gint64 slice_ms = hold_ms > 0
                              ? MIN(hold_ms, WAIT_SLICE_MS)
                              : WAIT_SLICE_MS / 2 + g_get_monotonic_time() % (WAIT_SLICE_MS / 2);
        (void)acr_llm_wait(MIN(left_ms, slice_ms), interrupt);
    }
}

void acr_limiter_leave(AcrLimiter *limiter, bool throttled, gint64 hold_ms)
{
    gint64 now = now_ms();
    gint64 until = now + (hold_ms > 0 ? MIN(hold_ms, MAX_HOLD_MS) : USUAL_HOLD_MS);
    if (throttled && until > read_hold(limiter, now))
        write_hold(limiter, until);
    if (limiter->slot >= 0)
        (void)lock_slot(limiter->fd, F_UNLCK, limiter->slot);
    limiter->slot = -1;
}

AcrLlmError acr_llm_paused_class(const char *why)
{
    const char *billing = acr_llm_error_name(ACR_LLM_ERROR_BILLING);
    return g_str_has_prefix(why, billing) ? ACR_LLM_ERROR_BILLING : ACR_LLM_ERROR_AUTH;
}

void acr_limiter_pause(AcrLimiter *limiter, const char *why)
{
    g_autofree char *line = acr_redact_line(why, NULL, MAX_PAUSE_BYTES - 1);
    g_autofree char *text = g_strconcat(line, "\n", NULL);
    /* ignore errors: without the file, each process gets the failure from the server itself */
    (void)!acr_file_write_atomic(limiter->paused_path, text, strlen(text), 0600, NULL);
}

/* Returns the paths of all breaker files in the folder; owned. */
static GPtrArray *find_pauses(const char *shared_dir)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(shared_dir, 0, NULL);
    const char *name = NULL;
    while (dir && (name = g_dir_read_name(dir)))
        if (g_str_has_prefix(name, PAUSED_PREFIX))
            g_ptr_array_add(paths, g_build_filename(shared_dir, name, NULL));
    return paths;
}

char *acr_llm_paused(const char *shared_dir)
{
    g_autoptr(GPtrArray) paths = find_pauses(shared_dir);
    return paths->len > 0 ? read_pause(paths->pdata[0]) : NULL;
}

bool acr_llm_resume(const char *shared_dir, GError **error)
{
    g_autoptr(GPtrArray) paths = find_pauses(shared_dir);
    for (guint i = 0; i < paths->len; i++)
        if (g_unlink(paths->pdata[i]) != 0 && errno != ENOENT)
            return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_FAILED,
                                 "cannot remove '%s': %s", (const char *)paths->pdata[i],
                                 g_strerror(errno));
    return true;
}
