/*
 * One limit for all who use an endpoint with a key, in whatever process: a small file per pair of
 * them in a shared folder. Its text says until when nobody sends and how many may send at once;
 * byte locks of open file descriptions on it are the slots, so that the kernel gives back those of
 * a process that was killed. A throttled request lowers the number, successes raise it. A second
 * file, once it is there, keeps everybody from sending: the breaker. Names of both hold a hash, no
 * key. What cannot be locked, read or written limits nobody: the server still does.
 */
#include "llm/rate_limiter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <glib/gstdio.h>

#include "llm/failure.h"
#include "llm/redact.h"

#define STATE_BYTES 256u                  /* the length of the file's text */
#define STATE_LOCK_AT 1024                /* the byte whose lock guards the text */
#define SLOTS_AT 2048                     /* the bytes behind it are the slots */
#define MAX_LIMIT 64                      /* slots */
#define MAX_HOLD_MS ((gint64)3600 * 1000) /* a longer one is a clock that jumped */
#define GRADUAL_MS 250          /* after a hold one more slot is given out each time this passes */
#define RAISE_AFTER 8           /* successes for one more slot */
#define LOWER_TO 0.7            /* of the slots in use, when throttled */
#define STATE_LOCK_TRIES 1000   /* of a millisecond each: who holds it longer was stopped */
#define WAIT_SLICE_MS 50        /* how late a free slot or a pause is seen */
#define MAX_PAUSE_BYTES 4096u   /* of a pause's text */
#define PAUSED_PREFIX "paused-" /* and the hash: names of the breaker's files */

#define STATE_FORMAT                                                                               \
    "acr-limit 1\nhold_until_ms %" G_GINT64_FORMAT "\nlowered_ms %" G_GINT64_FORMAT                \
    "\nlimit %" G_GINT64_FORMAT "\nsuccesses %" G_GINT64_FORMAT "\n"

struct AcrLimiter {
    char *paused_path; /* owned */
    int fd;
    int slot;          /* -1: none */
    gint64 entered_ms; /* when it was taken, by the clock that all share */
};

/* What the file says; all times in milliseconds since the epoch. */
typedef struct {
    gint64 hold_until_ms; /* 0: there was no hold yet */
    gint64 lowered_ms;    /* when `limit` was last lowered */
    gint64 limit, successes;
} State;

static gint64 now_ms(void)
{
    return g_get_real_time() / 1000;
}

/* ---- The file ---- */

static struct flock byte_at(short type, off_t at)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
}

/* 0 or an errno. */
static int lock_byte(int fd, short type, off_t at)
{
    struct flock lock = byte_at(type, at);
    int rc = 0;

    do
        rc = fcntl(fd, F_OFD_SETLK, &lock);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

static bool is_taken(int err)
{
    return err == EAGAIN || err == EACCES;
}

/* False: it stays with somebody who does not go on. */
static bool lock_state(const AcrLimiter *limiter)
{
    for (int i = 0; i < STATE_LOCK_TRIES; i++) {
        int err = lock_byte(limiter->fd, F_WRLCK, STATE_LOCK_AT);

        if (!is_taken(err))
            return err == 0;
        g_usleep(1000);
    }
    return false;
}

/* The text's numbers; what cannot be right is as in a new file. */
static State read_state(const AcrLimiter *limiter, gint64 now)
{
    char text[STATE_BYTES + 1] = "";
    State state = {0};
    ssize_t n = pread(limiter->fd, text, STATE_BYTES, 0);
    int seen = n == STATE_BYTES ? sscanf(text, STATE_FORMAT, &state.hold_until_ms,
                                         &state.lowered_ms, &state.limit, &state.successes)
                                : 0;

    if (seen != 4 || state.limit < 1 || state.limit > MAX_LIMIT || state.successes < 0 ||
        state.successes > RAISE_AFTER || state.hold_until_ms < 0 || state.lowered_ms < 0)
        state = (State){.limit = MAX_LIMIT};
    if (state.hold_until_ms > now + MAX_HOLD_MS)
        state.hold_until_ms = 0;
    if (state.lowered_ms > now)
        state.lowered_ms = 0;
    return state;
}

/* Best effort: without it the next one learns for itself. */
static void write_state(const AcrLimiter *limiter, const State *state)
{
    char text[STATE_BYTES + 1] = "";
    int len = g_snprintf(text, sizeof text, STATE_FORMAT, state->hold_until_ms, state->lowered_ms,
                         state->limit, state->successes);

    memset(text + len, '\n', STATE_BYTES - (gsize)len);
    (void)!pwrite(limiter->fd, text, STATE_BYTES, 0);
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
    if (fd < 0) {
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_FAILED, "cannot open '%s': %s", path,
                    g_strerror(errno));
        return NULL;
    }
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
    g_free(limiter->paused_path);
    g_free(limiter);
}

/* ---- Entering ---- */

static char *read_pause(const char *path)
{
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_PAUSE_BYTES, NULL);
    gsize len = 0;
    const char *text = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    g_autofree char *repaired = text ? acr_utf8_repair(text, len) : g_strdup("");
    g_autofree char *line = acr_redact_line(g_strstrip(repaired), NULL, MAX_PAUSE_BYTES);

    return g_strdup(*line ? line : "an earlier failure");
}

/* One look, under the lock. True: a slot is taken, or slots cannot be had on this file system.
 * *out_hold_ms: how long nobody may send yet. */
static bool try_to_enter(AcrLimiter *limiter, gint64 *out_hold_ms)
{
    bool locked = lock_state(limiter);
    gint64 now = now_ms();
    State state = read_state(limiter, now);
    /* After a hold first one may send, then more. */
    gint64 open_slots = MIN(state.limit, 1 + MAX(now - state.hold_until_ms, 0) / GRADUAL_MS);
    bool entered = false;

    *out_hold_ms = MAX(state.hold_until_ms - now, 0);
    for (int i = 0; *out_hold_ms == 0 && !entered && i < open_slots; i++) {
        int err = lock_byte(limiter->fd, F_WRLCK, SLOTS_AT + i);

        entered = !is_taken(err);
        limiter->slot = err == 0 ? i : -1;
        limiter->entered_ms = now;
    }
    if (locked)
        (void)lock_byte(limiter->fd, F_UNLCK, STATE_LOCK_AT);
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
                                : "all slots of the rate limit are taken; waiting",
                    hold_ms);
        is_told = true;
        /* Those who wait for a slot check at different times. */
        gint64 slice_ms = hold_ms > 0
                              ? MIN(hold_ms, WAIT_SLICE_MS)
                              : WAIT_SLICE_MS / 2 + g_get_monotonic_time() % (WAIT_SLICE_MS / 2);

        (void)acr_llm_wait(MIN(left_ms, slice_ms), interrupt);
    }
}

/* ---- Leaving ---- */

/* Slots that are taken, by us too. */
static int slots_in_use(const AcrLimiter *limiter)
{
    int n = limiter->slot >= 0;

    for (int i = 0; i < MAX_LIMIT; i++) {
        struct flock lock = byte_at(F_WRLCK, SLOTS_AT + i);

        if (i != limiter->slot && fcntl(limiter->fd, F_OFD_GETLK, &lock) == 0 &&
            lock.l_type != F_UNLCK)
            n++;
    }
    return n;
}

/* Requests that were under way when the limit was lowered say nothing new by failing too. */
static void count_throttle(const AcrLimiter *limiter, State *state, gint64 now)
{
    if (limiter->entered_ms >= state->lowered_ms) {
        int in_use = slots_in_use(limiter);

        state->limit = MAX(1, (gint64)(LOWER_TO * (double)MIN(state->limit, in_use)));
        state->lowered_ms = now;
    }
    state->successes = 0;
}

void acr_limiter_leave(AcrLimiter *limiter, bool ok, bool throttled, gint64 hold_ms)
{
    if ((ok || throttled || hold_ms > 0) && lock_state(limiter)) {
        gint64 now = now_ms();
        State state = read_state(limiter, now);
        bool is_success = ok && !throttled && state.limit < MAX_LIMIT;

        if (throttled)
            count_throttle(limiter, &state, now);
        if (is_success && ++state.successes >= RAISE_AFTER) {
            state.successes = 0;
            state.limit = MIN(state.limit + 1, MAX_LIMIT);
        }
        if (hold_ms > 0)
            state.hold_until_ms = MAX(state.hold_until_ms, now + MIN(hold_ms, MAX_HOLD_MS));
        if (throttled || is_success || hold_ms > 0)
            write_state(limiter, &state);
        (void)lock_byte(limiter->fd, F_UNLCK, STATE_LOCK_AT);
    }
    if (limiter->slot >= 0)
        (void)lock_byte(limiter->fd, F_UNLCK, SLOTS_AT + limiter->slot);
    limiter->slot = -1;
}

/* ---- The breaker ---- */

AcrLlmError acr_llm_paused_class(const char *why)
{
    const char *billing = acr_llm_error_name(ACR_LLM_ERROR_BILLING);

    return g_str_has_prefix(why, billing) ? ACR_LLM_ERROR_BILLING : ACR_LLM_ERROR_AUTH;
}

void acr_limiter_pause(AcrLimiter *limiter, const char *why)
{
    g_autofree char *line = acr_redact_line(why, NULL, MAX_PAUSE_BYTES - 1);
    g_autofree char *text = g_strconcat(line, "\n", NULL);

    /* Without it every user of the key finds out for itself. */
    (void)!acr_file_write_atomic(limiter->paused_path, text, strlen(text), 0600, NULL);
}

/* The paths of all breakers in the folder; owned. */
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

    for (guint i = 0; i < paths->len; i++) {
        if (g_unlink(paths->pdata[i]) != 0 && errno != ENOENT)
            return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_FAILED,
                                 "cannot remove '%s': %s", (const char *)paths->pdata[i],
                                 g_strerror(errno));
    }
    return true;
}
