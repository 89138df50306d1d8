/* Tests of ledgers: damaged, full and read-only files, processes and threads that share a ledger,
 * and kills between reserving and settling. */
#include "test_money.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_budget.h"
#include "unit/base/syncs.h"

#define WORKERS 8u
#define ROUNDS "200"
#define STEP 7

extern char **environ;

/* ---- Damaged files --------------------------- */

FILE_TEST("/money/budget", a_torn_last_line_is_cut_off)
{
    static const char record[] = "{\"reserve\":\"00000000000000ff\",\"pico\":99,\"tokens\":1,\"pid\":1}";
    g_autoptr(AcrBudget) before = budget_at(fixture->path, -1, -1);
    g_autofree char *whole = NULL, *after = NULL;
    settle(before, reserve(before, 30, 1), 30, 1);
    whole = read_text(fixture->path);
    for (gsize cut = 1; cut < strlen(record); cut++) {
        g_autofree char *torn = g_strdup_printf("%s%.*s", whole, (int)cut, record);
        g_autoptr(AcrBudget) budget = NULL;
        write_text(fixture->path, torn);
        budget = budget_at(fixture->path, 40, -1);
        assert_sums(budget, 30, 0);
        (void)reserve(budget, 10, 0);
    }
    after = read_text(fixture->path);
    g_assert_true(g_str_has_prefix(after, whole));
    g_assert_null(strstr(after, "\"pico\":99"));
}

FILE_TEST("/money/budget", a_whole_last_line_without_its_end_is_cut_off)
{
    g_autoptr(AcrBudget) budget = NULL;
    g_autofree char *text = NULL;
    write_text(fixture->path, "{\"ledger\":1}\n"
                              "{\"reserve\":\"0a\",\"pico\":99,\"tokens\":1}\n"
                              "{\"settle\":\"0a\",\"pico\":98,\"tokens\":1}");
    budget = budget_at(fixture->path, 100, -1);
    assert_sums(budget, 0, 99); /* the reservation remains: the sum is too large, never too small */
    (void)reserve(budget, 1, 0);
    text = read_text(fixture->path);
    g_assert_nonnull(strstr(text, "99,\"tokens\":1}\n{\"reserve\""));
}

FILE_TEST("/money/budget", a_torn_first_line_is_written_anew)
{
    static const char head[] = "{\"ledger\":1}";
    for (gsize cut = 0; cut <= strlen(head); cut++) {
        g_autofree char *torn = g_strndup(head, cut);
        g_autoptr(AcrBudget) budget = NULL;
        g_autofree char *after = NULL;
        write_text(fixture->path, torn);
        budget = budget_at(fixture->path, 40, -1);
        after = read_text(fixture->path);
        g_assert_cmpstr(after, ==, "{\"ledger\":1}\n");
    }
}

/* The call is sent after that, so a crash must not lose the record that it may cost something. */
FILE_TEST("/money/budget", what_is_reserved_is_on_the_disk_before_the_call)
{
    g_autoptr(AcrBudget) budget = NULL;
    forget_syncs();
    budget = budget_at(fixture->path, 100, -1);
    g_assert_true(is_synced(fixture->path));
    g_assert_true(is_synced(fixture->dir));
    (void)reserve(budget, 1, 0);
    g_assert_true(is_synced(fixture->path));
}

/* File systems without locks report this; otherwise two processes could each spend the whole budget
 * there. */
static bool has_no_locks;

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (has_no_locks && command == F_OFD_SETLK) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

FILE_TEST("/money/budget", without_locks_nothing_is_reserved)
{
    g_autoptr(AcrBudget) budget = budget_at(fixture->path, 100, -1);
    g_autofree char *before = read_text(fixture->path), *after = NULL;
    g_autoptr(GError) error = NULL;
    AcrAmount amount = {1, 1};
    guint64 id = 0;
    has_no_locks = true;
    g_assert_false(acr_budget_reserve(budget, &amount, "a call", &id, &error));
    has_no_locks = false;
    g_assert_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, "cannot lock"));
    after = read_text(fixture->path);
    g_assert_cmpstr(after, ==, before);
}

FILE_TEST("/money/budget", damage_is_an_error_and_never_ignored)
{
    static const char *const texts[] = {"hello\n",
                                        "hello",
                                        "{\"a\":",
                                        "{\"ledger\":10}",
                                        "{\"ledger\":2}\n",
                                        "{}\n",
                                        "{\"ledger\":1}\n\n",
                                        "{\"ledger\":1}\n{\"reserve\":\"0a\",\"pico\":1\n{\"settle\":\"0a\"}\n",
                                        "{\"ledger\":1}\n{\"settle\":\"0a\",\"pico\":1,\"tokens\":1}\n",
                                        "{\"ledger\":1}\n{\"stale\":\"0a\"}\n",
                                        "{\"ledger\":1}\n{\"reserve\":\"0a\",\"pico\":-1,\"tokens\":1}\n",
                                        "{\"ledger\":1}\n{\"reserve\":\"0a\",\"tokens\":1}\n",
                                        "{\"ledger\":1}\n{\"reserve\":\"xyz\",\"pico\":1,\"tokens\":1}\n",
                                        "{\"ledger\":1}\n{\"spend\":\"0a\",\"pico\":1,\"tokens\":1}\n",
                                        "{\"ledger\":1}\n{\"reserve\":\"0a\",\"pico\":1,\"tokens\":1}\n"
                                        "{\"reserve\":\"0a\",\"pico\":1,\"tokens\":1}\n"};
    g_autofree char *letters = g_strnfill(2 * ACR_LEDGER_MAX_LINE, 'x');
    for (gsize i = 0; i <= G_N_ELEMENTS(texts); i++) {
        g_autoptr(AcrBudget) budget = acr_budget_new();
        g_autoptr(GError) error = NULL;
        g_autofree char *after = NULL;
        const char *text = i < G_N_ELEMENTS(texts) ? texts[i] : letters;
        write_text(fixture->path, text);
        assert_fails_with(acr_budget_add(budget, fixture->path, "run", &NONE, &error), error, ACR_MONEY_ERROR,
                          ACR_MONEY_ERROR_USAGE);
        after = read_text(fixture->path);
        g_assert_cmpstr(after, ==, text);
    }
}

FILE_TEST("/money/budget", a_ledger_that_shrinks_is_an_error)
{
    g_autoptr(AcrBudget) budget = budget_at(fixture->path, 100, -1);
    AcrAmount amount = {1, 1};
    g_autoptr(GError) error = NULL;
    guint64 id = 0;
    settle(budget, reserve(budget, 100, 1), 100, 1);
    g_assert_cmpint(truncate(fixture->path, 13), ==, 0);
    assert_fails_with(acr_budget_reserve(budget, &amount, NULL, &id, &error), error, ACR_MONEY_ERROR,
                      ACR_MONEY_ERROR_USAGE);
}

/* The ledger was removed, or replaced by another file. */
FILE_TEST("/money/budget", a_ledger_that_is_not_in_its_place_is_an_error)
{
    g_autofree char *away = g_build_filename(fixture->dir, "away", NULL);
    for (int replaced = 0; replaced <= 1; replaced++) {
        g_autoptr(AcrBudget) budget = budget_at(fixture->path, 100, -1);
        AcrAmount amount = {1, 1};
        g_autoptr(GError) error = NULL;
        guint64 id = 0;
        settle(budget, reserve(budget, 60, 1), 60, 1);
        g_assert_cmpint(rename(fixture->path, away), ==, 0);
        if (replaced) {
            g_autoptr(AcrBudget) other = budget_at(fixture->path, 100, -1);
            settle(other, reserve(other, 60, 1), 60, 1);
        }
        assert_fails_with(acr_budget_reserve(budget, &amount, NULL, &id, &error), error, ACR_MONEY_ERROR,
                          ACR_MONEY_ERROR_FAILED);
    }
}

FILE_TEST("/money/budget", what_is_no_file_of_ours_is_refused)
{
    g_autofree char *missing = g_build_filename(fixture->dir, "no", "such", NULL);
    g_autofree char *link = g_build_filename(fixture->dir, "link", NULL);
    const char *paths[] = {fixture->dir, missing, link, "/dev/null"};
    g_assert_cmpint(symlink(fixture->path, link), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(AcrBudget) budget = acr_budget_new();
        g_autoptr(GError) error = NULL;
        g_assert_false(acr_budget_add(budget, paths[i], "run", &NONE, &error));
        g_assert_nonnull(error);
    }
}

/* ---- Processes ---- */

/* A second process of this program, by its arguments: "many PATH CEILING ROUNDS" reserves, and
 * settles a part of each reservation; "hold PATH" reserves and waits to be killed; "full PATH" may
 * write no more. The exit code of "many" is the number of successful reservations, modulo 100. */
static int work_many(const char *path, gint64 ceiling, guint rounds)
{
    g_autoptr(AcrBudget) budget = budget_at(path, ceiling, -1);
    guint done = 0;
    for (guint i = 0; i < rounds; i++) {
        AcrAmount amount = {STEP, 1}, spent = {STEP - (i % 3), 1};
        g_autoptr(GError) error = NULL;
        guint64 id = 0;
        if (acr_budget_reserve(budget, &amount, NULL, &id, &error)) {
            if (!acr_budget_settle(budget, id, &spent, NULL))
                return 101;
            done++;
        } else if (!g_error_matches(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_CEILING)) {
            g_printerr("%s\n", error->message);
            return 102;
        }
    }
    return (int)(done % 100);
}

static int work_full(const char *path)
{
    g_autoptr(AcrBudget) budget = budget_at(path, 100, -1);
    struct rlimit limit = {0};
    AcrAmount amount = {1, 1}, spent, reserved;
    g_autoptr(GError) error = NULL;
    guint64 id = 0, before = reserve(budget, 10, 1);
    g_autofree char *text = read_text(path), *after = NULL;
    signal(SIGXFSZ, SIG_IGN);
    limit.rlim_cur = limit.rlim_max = strlen(text) + 20;
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    assert_fails_with(acr_budget_reserve(budget, &amount, NULL, &id, &error), error, ACR_MONEY_ERROR,
                      ACR_MONEY_ERROR_FAILED);
    g_assert_false(acr_budget_settle(budget, before, &amount, NULL));
    g_assert_true(acr_budget_sums(budget, "run", &spent, &reserved, NULL));
    g_assert_cmpint(reserved.pico, ==, 10); /* a reservation that cannot be settled stays counted */
    after = read_text(path);
    g_assert_cmpstr(after, ==, text); /* no part of the failed record remains */
    return 0;
}

int budget_worker(int argc, char **argv)
{
    g_autoptr(AcrBudget) budget = NULL;
    if (strcmp(argv[2], "many") == 0)
        return work_many(argv[3], g_ascii_strtoll(argv[4], NULL, 10), (guint)g_ascii_strtoull(argv[5], NULL, 10));
    if (strcmp(argv[2], "full") == 0)
        return work_full(argv[3]);
    budget = budget_at(argv[3], 100, -1);
    (void)reserve(budget, 10, 1);
    g_assert_cmpint(write(STDOUT_FILENO, "r", 1), ==, 1);
    for (;;)
        pause();
}

/* Starts a second process; *out_pipe (may be NULL) reads its standard output. */
static pid_t start_worker(const char *what, const char *path, const char *ceiling, const char *rounds, int *out_pipe)
{
    char *argv[] = {(char *)"test",  (char *)"budget-worker", (char *)what, (char *)path,
                    (char *)ceiling, (char *)rounds,          NULL};
    posix_spawn_file_actions_t actions;
    int fds[2] = {-1, -1};
    pid_t pid = 0;
    posix_spawn_file_actions_init(&actions);
    if (out_pipe) {
        g_assert_cmpint(pipe(fds), ==, 0);
        posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    }
    g_assert_cmpint(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), ==, 0);
    posix_spawn_file_actions_destroy(&actions);
    if (out_pipe) {
        close(fds[1]);
        *out_pipe = fds[0];
    }
    return pid;
}

static int end_of(pid_t pid)
{
    int status = 0;
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

FILE_TEST("/money/budget", processes_never_pass_the_ceiling_together)
{
    pid_t pids[WORKERS];
    g_autoptr(AcrBudget) watch = budget_at(fixture->path, -1, -1);
    AcrAmount spent, reserved;
    gint64 ceiling = 5000;
    for (guint i = 0; i < WORKERS; i++)
        pids[i] = start_worker("many", fixture->path, "5000", ROUNDS, NULL);
    for (guint i = 0; i < 50; i++) {
        g_assert_true(acr_budget_sums(watch, "run", &spent, &reserved, NULL));
        g_assert_cmpint(spent.pico + reserved.pico, <=, ceiling);
        g_usleep(2000);
    }
    for (guint i = 0; i < WORKERS; i++)
        g_assert_cmpint(end_of(pids[i]), <, 100);
    g_assert_true(acr_budget_sums(watch, "run", &spent, &reserved, NULL));
    g_assert_cmpint(reserved.pico, ==, 0);
    g_assert_cmpint(spent.pico, <=, ceiling);
    g_assert_cmpint(spent.pico, >, ceiling - STEP);
}

typedef struct {
    const char *path;
    int result;
} Thread;

static void *run_thread(void *data)
{
    Thread *thread = data;
    thread->result = work_many(thread->path, 2000, 40);
    return NULL;
}

FILE_TEST("/money/budget", threads_never_pass_the_ceiling_together)
{
    Thread threads[32];
    pthread_t ids[32];
    g_autoptr(AcrBudget) watch = budget_at(fixture->path, -1, -1);
    AcrAmount spent, reserved;
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++) {
        threads[i] = (Thread){.path = fixture->path};
        g_assert_cmpint(pthread_create(&ids[i], NULL, run_thread, &threads[i]), ==, 0);
    }
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++) {
        g_assert_cmpint(pthread_join(ids[i], NULL), ==, 0);
        g_assert_cmpint(threads[i].result, <, 100);
    }
    g_assert_true(acr_budget_sums(watch, "run", &spent, &reserved, NULL));
    g_assert_cmpint(reserved.pico, ==, 0);
    g_assert_cmpint(spent.pico, <=, 2000);
    g_assert_cmpint(spent.pico, >, 2000 - STEP);
}

FILE_TEST("/money/budget", a_reservation_of_who_was_killed_counts_as_spent)
{
    g_autoptr(AcrBudget) watch = budget_at(fixture->path, 100, -1);
    g_autofree char *text = NULL;
    for (gint64 i = 1; i <= 5; i++) {
        int out = -1;
        char byte = 0;
        pid_t pid = start_worker("hold", fixture->path, NULL, NULL, &out);
        g_assert_cmpint(read(out, &byte, 1), ==, 1);
        assert_sums(watch, (i - 1) * 10, 10);
        g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
        g_assert_cmpint(end_of(pid), ==, -SIGKILL);
        close(out);
        assert_sums(watch, i * 10, 0);
    }
    assert_refused(watch, 51, 0, "run");
    (void)reserve(watch, 50, 0);
    text = read_text(fixture->path);
    g_assert_nonnull(strstr(text, "{\"stale\":\""));
}

FILE_TEST("/money/budget", a_stale_reservation_may_be_settled_after_all)
{
    static const char text[] = "{\"ledger\":1}\n"
                               "{\"reserve\":\"0a\",\"pico\":50,\"tokens\":1,\"pid\":1,\"start\":1,\"boot\":\"x\"}\n";
    g_autoptr(AcrBudget) budget = NULL;
    write_text(fixture->path, text);
    budget = budget_at(fixture->path, 100, -1);
    assert_sums(budget, 50, 0);
    settle(budget, 0x0a, 20, 1);
    assert_sums(budget, 20, 0);
}

FILE_TEST("/money/budget", a_full_disk_is_an_error_before_anything_is_sent)
{
    g_assert_cmpint(end_of(start_worker("full", fixture->path, NULL, NULL, NULL)), ==, 0);
}

FILE_TEST("/money/budget", a_file_that_may_not_be_written_is_an_error)
{
    g_autoptr(AcrBudget) budget = acr_budget_new();
    g_autoptr(GError) error = NULL;
    if (geteuid() == 0) {
        g_test_skip("root may write any file");
        return;
    }
    write_text(fixture->path, "{\"ledger\":1}\n");
    g_assert_cmpint(g_chmod(fixture->path, 0400), ==, 0);
    assert_fails_with(acr_budget_add(budget, fixture->path, "run", &NONE, &error), error, ACR_MONEY_ERROR,
                      ACR_MONEY_ERROR_FAILED);
}
