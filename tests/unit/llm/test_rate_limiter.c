/* Tests of the limits that all users of an endpoint and key share: slots in one process and
 * several, pauses, the slow start after a pause, the circuit breaker, damaged files. */
#include "test_llm.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <glib/gstdio.h>

#define ENDPOINT "https://api.example.com/v1"
#define KEY "sk-0123456789abcdef"
#define THREADS 12
#define STEP_MS 4000 /* wait for one more slot after a pause */

extern char **environ;

static char *make_folder(void)
{
    char *dir = g_dir_make_tmp("acr-limiter-XXXXXX", NULL);
    g_assert_nonnull(dir);
    return dir;
}

static void remove_folder(const char *dir)
{
    g_assert_true(acr_dir_remove(dir, NULL));
}

static AcrLimiter *open_limiter(const char *dir)
{
    g_autoptr(GError) error = NULL;
    AcrLimiter *limiter = made(acr_limiter_open(dir, ENDPOINT, KEY, &error), error);
    return limiter;
}

/* Tries to enter for `ms`; *out_ms (may be NULL) is the time waited. */
static AcrLimiterEntry enter(AcrLimiter *limiter, gint64 ms, gint64 *out_ms)
{
    g_autofree char *why = NULL;
    gint64 waited_ms = 0;
    AcrLimiterEntry entry =
        acr_limiter_enter(limiter, g_get_monotonic_time() + ms * 1000, NULL, NULL, NULL, &waited_ms, &why);
    if (out_ms)
        *out_ms = waited_ms;
    return entry;
}

/* The path of the only file in the folder whose name has this prefix; owned. */
static char *only_file(const char *dir, const char *prefix)
{
    g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
    char *path = NULL;
    const char *name = NULL;
    while ((name = g_dir_read_name(entries))) {
        if (!g_str_has_prefix(name, prefix))
            continue;
        g_assert_null(path);
        path = g_build_filename(dir, name, NULL);
    }
    g_assert_nonnull(path);
    return path;
}

static void write_hold(const char *dir, gint64 hold_until_ms)
{
    g_autofree char *path = only_file(dir, "limit-");
    g_autofree char *text = g_strdup_printf("%020" G_GINT64_FORMAT, hold_until_ms);
    g_assert_true(g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* Sets the pause so far back that this many slots are open, for `left_ms` more. */
static void open_slots(const char *dir, gint64 slots, gint64 left_ms)
{
    write_hold(dir, g_get_real_time() / 1000 - slots * STEP_MS + left_ms);
}

/* How many callers can hold a slot at the same time. */
static guint count_slots(const char *dir)
{
    g_autoptr(GPtrArray) inside = g_ptr_array_new_with_free_func((GDestroyNotify)acr_limiter_free);
    for (;;) {
        g_ptr_array_add(inside, open_limiter(dir));
        if (enter(inside->pdata[inside->len - 1], 0, NULL) != ACR_LIMITER_ENTERED)
            return inside->len - 1;
        g_assert_cmpuint(inside->len, <, 1000);
    }
}

TEST("/llm/limiter", names_of_files_hold_no_key)
{
    g_autofree char *base = make_folder();
    g_autofree char *dir = g_build_filename(base, "a", "b", NULL);
    g_autoptr(AcrLimiter) limiter = open_limiter(dir);
    g_autoptr(AcrLimiter) other = acr_limiter_open(dir, ENDPOINT, NULL, NULL);
    g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
    const char *name = NULL;
    guint n = 0;
    g_assert_nonnull(other);
    for (n = 0; (name = g_dir_read_name(entries)); n++) {
        g_assert_cmpuint(strlen(name), ==, strlen("limit-") + 16);
        g_assert_null(strstr(name, "sk-"));
    }
    g_assert_cmpuint(n, ==, 2);
    remove_folder(base);
}

TEST("/llm/limiter", a_file_in_place_of_the_folder_is_an_error)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(acr_limiter_open("/dev/null", ENDPOINT, KEY, &error));
    g_assert_nonnull(error);
}

TEST("/llm/limiter", as_many_as_there_are_slots_enter)
{
    g_autofree char *dir = make_folder();
    g_autoptr(AcrLimiter) first = open_limiter(dir);
    g_autoptr(AcrLimiter) second = open_limiter(dir);
    gint64 waited_ms = 0;
    open_slots(dir, 1, STEP_MS);
    g_assert_cmpint(enter(first, 0, NULL), ==, ACR_LIMITER_ENTERED);
    g_assert_cmpint(enter(second, 120, &waited_ms), ==, ACR_LIMITER_TOO_LATE);
    g_assert_cmpint(waited_ms, >=, 60);
    acr_limiter_leave(first, false, 0);
    g_assert_cmpint(enter(second, 0, NULL), ==, ACR_LIMITER_ENTERED);
    acr_limiter_leave(second, false, 0);
    g_assert_cmpuint(count_slots(dir), ==, 1);
    remove_folder(dir);
}

TEST("/llm/limiter", a_hold_keeps_all_from_sending_and_then_lets_them_in_gradually)
{
    g_autofree char *dir = make_folder();
    g_autoptr(AcrLimiter) first = open_limiter(dir);
    g_autoptr(AcrLimiter) second = open_limiter(dir);
    gint64 start = g_get_monotonic_time();
    gint64 waited_ms = 0;
    g_assert_cmpint(enter(first, 0, NULL), ==, ACR_LIMITER_ENTERED);
    acr_limiter_leave(first, true, 1000);
    g_assert_cmpint(enter(second, 100, &waited_ms), ==, ACR_LIMITER_TOO_LATE);
    g_assert_cmpint(waited_ms, ==, 0);
    g_assert_cmpint(enter(second, 20000, &waited_ms), ==, ACR_LIMITER_ENTERED);
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 995000);
    g_assert_cmpint(waited_ms, >, 0);
    g_assert_cmpint(enter(first, 100, NULL), ==, ACR_LIMITER_TOO_LATE);
    open_slots(dir, 1, 1000);
    start = g_get_monotonic_time();
    g_assert_cmpint(enter(first, 100, NULL), ==, ACR_LIMITER_TOO_LATE);
    g_assert_cmpint(enter(first, 20000, NULL), ==, ACR_LIMITER_ENTERED);
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 995000);
    remove_folder(dir);
}

TEST("/llm/limiter", throttling_holds_all_and_begins_anew_with_one)
{
    g_autofree char *dir = make_folder();
    gint64 start = g_get_monotonic_time();
    AcrLimiter *users[10];
    for (gsize i = 0; i < G_N_ELEMENTS(users); i++) {
        users[i] = open_limiter(dir);
        g_assert_cmpint(enter(users[i], 0, NULL), ==, ACR_LIMITER_ENTERED);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(users); i++)
        acr_limiter_leave(users[i], false, 0);
    g_assert_cmpuint(count_slots(dir), ==, 64);
    for (gsize i = 0; i < G_N_ELEMENTS(users); i++)
        g_assert_cmpint(enter(users[i], 0, NULL), ==, ACR_LIMITER_ENTERED);
    for (gsize i = 0; i < G_N_ELEMENTS(users); i++)
        acr_limiter_leave(users[i], true, 0);
    g_assert_cmpint(enter(users[0], 3000, NULL), ==, ACR_LIMITER_ENTERED);
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 1950000);
    g_assert_cmpuint(count_slots(dir), ==, 0);
    open_slots(dir, 3, STEP_MS);
    g_assert_cmpuint(count_slots(dir), ==, 2);
    for (gsize i = 0; i < G_N_ELEMENTS(users); i++)
        acr_limiter_free(users[i]);
    remove_folder(dir);
}

TEST("/llm/limiter", a_shorter_hold_does_not_end_a_longer_one)
{
    g_autofree char *dir = make_folder();
    g_autoptr(AcrLimiter) first = open_limiter(dir);
    g_autoptr(AcrLimiter) second = open_limiter(dir);
    g_assert_cmpint(enter(first, 0, NULL), ==, ACR_LIMITER_ENTERED);
    g_assert_cmpint(enter(second, 0, NULL), ==, ACR_LIMITER_ENTERED);
    acr_limiter_leave(first, true, 60000);
    acr_limiter_leave(second, true, 0);
    g_assert_cmpint(enter(first, 100, NULL), ==, ACR_LIMITER_TOO_LATE);
    remove_folder(dir);
}

TEST("/llm/limiter", a_damaged_file_and_a_clock_that_jumped_limit_nobody)
{
    static const char *const damaged[] = {"", "x", "-0000000000000000001", "99999999999999999999",
                                          "acr-limit 1\nhold_until_ms 1\n"};
    g_autofree char *dir = make_folder();
    g_autoptr(AcrLimiter) limiter = open_limiter(dir);
    g_autofree char *path = only_file(dir, "limit-");
    gint64 now_ms = g_get_real_time() / 1000;
    for (gsize i = 0; i < G_N_ELEMENTS(damaged); i++) {
        g_assert_true(g_file_set_contents_full(path, damaged[i], -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
        g_assert_cmpuint(count_slots(dir), ==, 64);
    }
    write_hold(dir, now_ms + 2 * 3600 * 1000);
    g_assert_cmpuint(count_slots(dir), ==, 64);
    write_hold(dir, now_ms + 1800 * 1000);
    g_assert_cmpuint(count_slots(dir), ==, 0);
    remove_folder(dir);
}

int hold_a_slot(const char *dir)
{
    AcrLimiter *limiter = open_limiter(dir);
    g_assert_cmpint(enter(limiter, 0, NULL), ==, ACR_LIMITER_ENTERED);
    puts("inside");
    fflush(stdout);
    pause();
    return 0;
}

/* Starts another process, which holds a slot when this function returns. */
static pid_t start_holder(const char *dir)
{
    char *argv[] = {(char *)"/proc/self/exe", (char *)"--hold-a-slot", (char *)dir, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid = 0;
    char said[8] = "";
    g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    g_assert_cmpint(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), ==, 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    g_assert_cmpint(read(ends[0], said, sizeof said), ==, 7);
    close(ends[0]);
    return pid;
}

TEST("/llm/limiter", the_slot_of_a_killed_process_is_free)
{
    g_autofree char *dir = make_folder();
    g_autoptr(AcrLimiter) limiter = open_limiter(dir);
    pid_t holders[2];
    open_slots(dir, 3, STEP_MS);
    for (gsize i = 0; i < G_N_ELEMENTS(holders); i++)
        holders[i] = start_holder(dir);
    g_assert_cmpuint(count_slots(dir), ==, 1);
    for (gsize i = 0; i < G_N_ELEMENTS(holders); i++) {
        g_assert_cmpint(kill(holders[i], SIGKILL), ==, 0);
        g_assert_cmpint(waitpid(holders[i], NULL, 0), ==, holders[i]);
    }
    g_assert_cmpuint(count_slots(dir), ==, 3);
    remove_folder(dir);
}

typedef struct {
    const char *dir;
    gint inside, most, entered;
} Crowd;

static void *use_slots(void *data)
{
    Crowd *crowd = data;
    g_autoptr(AcrLimiter) limiter = open_limiter(crowd->dir);
    for (int i = 0; i < 5; i++) {
        gint now = 0;
        g_assert_cmpint(enter(limiter, 60000, NULL), ==, ACR_LIMITER_ENTERED);
        now = g_atomic_int_add(&crowd->inside, 1) + 1;
        for (gint most = g_atomic_int_get(&crowd->most); now > most; most = g_atomic_int_get(&crowd->most))
            if (g_atomic_int_compare_and_exchange(&crowd->most, most, now))
                break;
        g_usleep(3000);
        g_atomic_int_add(&crowd->inside, -1);
        g_atomic_int_inc(&crowd->entered);
        acr_limiter_leave(limiter, false, 0);
    }
    return NULL;
}

TEST("/llm/limiter", a_crowd_never_passes_the_limit)
{
    g_autofree char *dir = make_folder();
    g_autoptr(AcrLimiter) limiter = open_limiter(dir);
    Crowd crowd = {.dir = dir};
    pthread_t threads[THREADS];
    open_slots(dir, 4, STEP_MS);
    for (int i = 0; i < THREADS; i++)
        g_assert_cmpint(pthread_create(&threads[i], NULL, use_slots, &crowd), ==, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    g_assert_cmpint(crowd.entered, ==, THREADS * 5);
    g_assert_cmpint(crowd.most, <=, 4);
    g_assert_cmpint(crowd.most, >=, 2);
    remove_folder(dir);
}

TEST("/llm/limiter", a_pause_holds_for_all_until_it_is_taken_off)
{
    g_autofree char *dir = make_folder();
    g_autoptr(AcrLimiter) limiter = open_limiter(dir);
    g_autoptr(AcrLimiter) user = open_limiter(dir);
    g_autofree char *before = acr_llm_paused(dir);
    g_autofree char *why = NULL;
    g_autofree char *told = NULL;
    gint64 waited_ms = 0;
    g_assert_null(before);
    acr_limiter_pause(limiter, "auth: HTTP 401\nwrong key");
    g_assert_cmpint(acr_limiter_enter(user, 0, NULL, NULL, NULL, &waited_ms, &why), ==, ACR_LIMITER_PAUSED);
    g_assert_cmpstr(why, ==, "auth: HTTP 401 wrong key");
    told = acr_llm_paused(dir);
    g_assert_cmpstr(told, ==, why);
    g_assert_true(acr_llm_resume(dir, NULL));
    g_assert_true(acr_llm_resume(dir, NULL));
    g_assert_cmpint(enter(user, 0, NULL), ==, ACR_LIMITER_ENTERED);
    g_assert_null(acr_llm_paused(dir));
    remove_folder(dir);
    g_assert_null(acr_llm_paused(dir));
    g_assert_true(acr_llm_resume(dir, NULL));
}

static void count_waits(void *ctx, const char *why, gint64 wait_ms)
{
    g_assert_nonnull(why);
    g_assert_cmpint(wait_ms, >=, 0);
    (*(guint *)ctx)++;
}

TEST("/llm/limiter", a_wait_is_told_once_and_ends_with_an_interrupt)
{
    g_autofree char *dir = make_folder();
    g_autoptr(AcrLimiter) first = open_limiter(dir);
    g_autoptr(AcrLimiter) second = open_limiter(dir);
    AcrInterrupt interrupt = {.signal = SIGINT};
    g_autofree char *why = NULL;
    gint64 waited_ms = 0;
    guint told = 0;
    open_slots(dir, 1, STEP_MS);
    g_assert_cmpint(enter(first, 0, NULL), ==, ACR_LIMITER_ENTERED);
    g_assert_cmpint(acr_limiter_enter(second, 0, &interrupt, NULL, NULL, &waited_ms, &why), ==,
                    ACR_LIMITER_INTERRUPTED);
    g_assert_cmpint(
        acr_limiter_enter(second, g_get_monotonic_time() + 200000, NULL, count_waits, &told, &waited_ms, &why), ==,
        ACR_LIMITER_TOO_LATE);
    g_assert_cmpuint(told, ==, 1);
    g_assert_null(why);
    remove_folder(dir);
}
