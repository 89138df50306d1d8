/* Tests of child processes: what they return, when they are killed, and that they cannot hang us.
 * The children are real shells. */
#include "test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

void spawn_ok(AcrSpawn spawn, const char *script, AcrSpawnResult *out)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    if (!spawn.argv)
        spawn.argv = argv;
    g_autoptr(GError) error = NULL;
    assert_ok(acr_spawn_run(&spawn, out, &error), error);
}

void assert_bytes(GBytes *bytes, const char *text)
{
    g_assert_cmpmem(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), text, strlen(text));
}

TEST("/base/spawn", output_exit_code_and_signal_come_back)
{
    g_auto(AcrSpawnResult) plain = {0}, killed = {0};
    spawn_ok((AcrSpawn){0}, "echo out; echo err >&2; exit 7", &plain);
    g_assert_cmpint(plain.exit_code, ==, 7);
    g_assert_cmpint(plain.signal, ==, 0);
    assert_bytes(plain.out, "out\n");
    assert_bytes(plain.err, "err\n");
    g_assert_cmpuint(plain.out_total, ==, 4);
    g_assert_false(plain.timed_out || plain.interrupted);
    spawn_ok((AcrSpawn){0}, "kill -TERM $$", &killed);
    g_assert_cmpint(killed.exit_code, ==, -1);
    g_assert_cmpint(killed.signal, ==, SIGTERM);
}

TEST("/base/spawn", a_missing_program_is_not_found)
{
    static const char *const programs[] = {"no-such-program-anywhere", "/no/such/program"};
    for (gsize i = 0; i < G_N_ELEMENTS(programs); i++) {
        const char *const argv[] = {programs[i], NULL};
        g_autoptr(GError) error = NULL;
        AcrSpawnResult result;
        g_assert_false(acr_spawn_run(&(AcrSpawn){.argv = argv}, &result, &error));
        g_assert_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND);
    }
    const char *const argv[] = {"/", NULL}, *const fine[] = {"true", NULL};
    g_autoptr(GError) folder = NULL, no_cwd = NULL;
    AcrSpawnResult result;
    g_assert_false(acr_spawn_run(&(AcrSpawn){.argv = argv}, &result, &folder));
    g_assert_error(folder, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
    g_assert_false(acr_spawn_run(&(AcrSpawn){.argv = fine, .cwd = "/no/such"}, &result, &no_cwd));
    g_assert_error(no_cwd, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
    g_assert_nonnull(strstr(no_cwd->message, "/no/such"));
}

TEST("/base/spawn", folder_and_environment_are_those_asked_for)
{
    g_autofree char *folder = test_folder();
    const char *const envp[] = {"A=1", "PATH=/usr/bin:/bin", NULL};
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){.cwd = folder, .envp = envp}, "pwd; echo $A$HOME", &result);
    g_autofree char *expected = g_strdup_printf("%s\n1\n", folder);
    assert_bytes(result.out, expected);
    test_folder_remove(folder);
}

TEST("/base/spawn", input_larger_than_a_pipe_comes_through_both_ways)
{
    const gsize len = 3 << 20;
    g_autofree char *input = g_strnfill(len, 'i');
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){.input = input, .input_len = len}, "tee /dev/stderr", &result);
    g_assert_cmpmem(g_bytes_get_data(result.out, NULL), g_bytes_get_size(result.out), input, len);
    g_assert_cmpuint(g_bytes_get_size(result.err), ==, len);
}

TEST("/base/spawn", a_child_that_does_not_read_its_input_does_no_harm)
{
    const gsize len = 3 << 20;
    g_autofree char *input = g_strnfill(len, 'i');
    g_auto(AcrSpawnResult) result = {0}, none = {0}, empty = {0};
    spawn_ok((AcrSpawn){.input = input, .input_len = len}, "exec 0<&-; echo done", &result);
    assert_bytes(result.out, "done\n");
    spawn_ok((AcrSpawn){0}, "cat; echo end", &none);
    assert_bytes(none.out, "end\n");
    spawn_ok((AcrSpawn){.input = "", .input_len = 0}, "cat; echo end", &empty);
    assert_bytes(empty.out, "end\n");
}

TEST("/base/spawn", output_beyond_the_limit_is_counted_and_dropped)
{
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){.output_limit = 1000}, "head -c 5000000 /dev/zero; head -c 1001 /dev/zero >&2", &result);
    g_assert_cmpint(result.exit_code, ==, 0);
    g_assert_cmpuint(g_bytes_get_size(result.out), ==, 1000);
    g_assert_cmpuint(result.out_total, ==, 5000000);
    g_assert_cmpuint(g_bytes_get_size(result.err), ==, 1000);
    g_assert_cmpuint(result.err_total, ==, 1001);
}

bool is_gone(const char *pid_file)
{
    g_autoptr(GBytes) text = acr_file_read(pid_file, 100, NULL);
    g_assert_nonnull(text);
    pid_t pid = (pid_t)g_ascii_strtoll(g_bytes_get_data(text, NULL), NULL, 10);
    g_assert_cmpint(pid, >, 1);
    for (int i = 0; i < 3000; i++) {
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
        g_autoptr(GBytes) stat = acr_file_read(path, 4096, NULL);
        if (!stat || g_strstr_len(g_bytes_get_data(stat, NULL), g_bytes_get_size(stat), ") Z "))
            return true;
        g_usleep(10000);
    }
    return false;
}

TEST("/base/spawn", the_deadline_kills_the_whole_group)
{
    g_autofree char *folder = test_folder();
    g_autofree char *pid_file = g_build_filename(folder, "pid", NULL);
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){.cwd = folder, .timeout_ms = 2000},
             "trap '' TERM INT; sleep 100 & echo $! > pid; echo begun; wait; sleep 100", &result);
    g_assert_true(result.timed_out);
    g_assert_false(result.interrupted);
    g_assert_cmpint(result.exit_code, ==, -1);
    g_assert_cmpint(result.signal, ==, SIGKILL);
    assert_bytes(result.out, "begun\n");
    g_assert_cmpint(result.wall_ms, >=, 2000);
    g_assert_cmpint(result.wall_ms, <, 60000);
    g_assert_true(is_gone(pid_file));
    test_folder_remove(folder);
}

TEST("/base/spawn", endless_output_does_not_outlive_the_deadline)
{
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){.timeout_ms = 300, .output_limit = 10}, "yes", &result);
    g_assert_true(result.timed_out);
    g_assert_cmpint(result.wall_ms, <, 60000);
    g_assert_cmpuint(g_bytes_get_size(result.out), ==, 10);
}

static void *interrupt_soon(void *data)
{
    g_usleep(200000);
    __atomic_store_n(&((AcrInterrupt *)data)->signal, SIGINT, __ATOMIC_RELAXED);
    return NULL;
}

TEST("/base/spawn", an_interruption_kills_the_group)
{
    AcrInterrupt interrupt = {0};
    pthread_t thread;
    g_assert_cmpint(pthread_create(&thread, NULL, interrupt_soon, &interrupt), ==, 0);
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){.interrupt = &interrupt}, "sleep 100", &result);
    pthread_join(thread, NULL);
    g_assert_true(result.interrupted);
    g_assert_false(result.timed_out);
    g_assert_cmpint(result.wall_ms, <, 60000);
}

TEST("/base/spawn", what_the_child_leaves_behind_does_not_hang_us)
{
    g_autofree char *folder = test_folder();
    g_autofree char *pid_file = g_build_filename(folder, "pid", NULL);
    g_auto(AcrSpawnResult) in_group = {0}, escaped = {0};
    spawn_ok((AcrSpawn){.cwd = folder}, "sleep 100 & echo $! > pid; echo x", &in_group);
    g_assert_cmpint(in_group.exit_code, ==, 0);
    g_assert_cmpint(in_group.wall_ms, <, 60000);
    assert_bytes(in_group.out, "x\n");
    g_assert_true(is_gone(pid_file));
    spawn_ok((AcrSpawn){0}, "setsid sh -c 'i=0; while [ $i -lt 600 ]; do echo y; sleep 0.1; i=$((i+1)); done' & echo x",
             &escaped);
    g_assert_cmpint(escaped.exit_code, ==, 0);
    g_assert_cmpint(escaped.wall_ms, <, 30000);
    test_folder_remove(folder);
}

TEST("/base/spawn", a_child_that_closes_its_output_early_is_waited_for)
{
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){0}, "exec >&- 2>&-; sleep 0.3; exit 3", &result);
    g_assert_cmpint(result.exit_code, ==, 3);
    g_assert_cmpint(result.wall_ms, >=, 300);
    g_assert_cmpint(result.wall_ms, <, 60000);
}

/* Expects the signal mask `name` of the child to be empty, except for the two signals that the C
 * library reserves. */
static void assert_no_signal(const AcrSpawnResult *result, const char *name)
{
    g_autofree char *text = g_strndup(g_bytes_get_data(result->out, NULL), g_bytes_get_size(result->out));
    const char *line = strstr(text, name);
    g_assert_nonnull(line);
    guint64 internal = G_GUINT64_CONSTANT(3) << 31;
    g_assert_cmphex(g_ascii_strtoull(line + strlen(name) + 1, NULL, 16) & ~internal, ==, 0);
}

TEST("/base/spawn", the_child_gets_clean_signals_and_only_three_descriptors)
{
    int leak = open("/dev/null", O_RDONLY); /* deliberately without O_CLOEXEC */
    g_assert_cmpint(leak, >=, 0);
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    sighandler_t handler = signal(SIGPIPE, SIG_IGN);
    g_auto(AcrSpawnResult) result = {0}, fds = {0};
    const char *const status[] = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL};
    spawn_ok((AcrSpawn){.argv = status}, NULL, &result);
    const char *const list[] = {"ls", "/proc/self/fd", NULL};
    spawn_ok((AcrSpawn){.argv = list}, NULL, &fds);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, handler);
    close(leak);
    assert_no_signal(&result, "SigBlk:");
    assert_no_signal(&result, "SigIgn:");
    assert_bytes(fds.out, "0\n1\n2\n3\n"); /* descriptor 3 belongs to the listing itself */
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
}

TEST("/base/spawn", signals_of_ours_do_not_disturb)
{
    struct sigaction action = {.sa_handler = on_alarm}, before;
    sigaction(SIGALRM, &action, &before);
    struct itimerval often = {{0, 2000}, {0, 2000}}, never = {0};
    setitimer(ITIMER_REAL, &often, NULL);
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){0}, "i=0; while [ $i -lt 20000 ]; do echo line; i=$((i+1)); done; sleep 0.1", &result);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    g_assert_cmpint(result.exit_code, ==, 0);
    g_assert_cmpuint(result.out_total, ==, 100000);
}

/* Some launchers ignore SIGCHLD. The kernel then reaps the child, and its exit code is lost. */
TEST("/base/spawn", an_ignored_sigchld_does_not_hang_us)
{
    sighandler_t before = signal(SIGCHLD, SIG_IGN);
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){0}, "echo x; exit 3", &result);
    signal(SIGCHLD, before);
    assert_bytes(result.out, "x\n");
    g_assert_cmpint(result.exit_code, ==, -1);
    g_assert_cmpint(result.signal, ==, 0);
}

static void *run_many(void *data)
{
    for (int i = 0; i < 20; i++) {
        g_auto(AcrSpawnResult) result = {0};
        spawn_ok((AcrSpawn){.input = data, .input_len = strlen(data)}, "cat", &result);
        assert_bytes(result.out, data);
    }
    return NULL;
}

TEST("/base/spawn", threads_run_children_at_the_same_time)
{
    static char *const texts[] = {"one", "two", "three", "four"};
    pthread_t threads[G_N_ELEMENTS(texts)];
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_assert_cmpint(pthread_create(&threads[i], NULL, run_many, texts[i]), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_assert_cmpint(pthread_join(threads[i], NULL), ==, 0);
}

/* On a busy machine, at least one of a hundred short children must be fast; if we waited for a
 * fixed poll interval, each would take 50 ms. */
TEST("/base/spawn", short_children_come_back_at_once)
{
    gint64 least_ms = G_MAXINT64;
    const char *const argv[] = {"true", NULL};
    for (int i = 0; i < 100; i++) {
        g_auto(AcrSpawnResult) result = {0};
        spawn_ok((AcrSpawn){.argv = argv}, NULL, &result);
        g_assert_cmpint(result.exit_code, ==, 0);
        least_ms = MIN(least_ms, result.wall_ms);
    }
    g_assert_cmpint(least_ms, <, 40);
}

TEST("/base/spawn", a_child_that_crashes_leaves_no_core)
{
    g_autofree char *folder = test_folder(), *core = g_build_filename(folder, "core", NULL);
    g_autoptr(GError) error = NULL;
    g_auto(AcrSpawnResult) result = {0};
    struct rlimit limit = {0};
    g_assert_cmpint(getrlimit(RLIMIT_CORE, &limit), ==, 0);
    limit.rlim_cur = limit.rlim_max;
    g_assert_cmpint(setrlimit(RLIMIT_CORE, &limit), ==, 0);
    assert_ok(acr_forbid_cores(&error), error);
    g_assert_cmpint(getrlimit(RLIMIT_CORE, &limit), ==, 0);
    g_assert_cmpuint(limit.rlim_cur, <=, 1);
    g_assert_cmpuint(limit.rlim_max, <=, 1);
    spawn_ok((AcrSpawn){.cwd = folder}, "kill -ABRT $$", &result);
    g_assert_cmpint(result.signal, ==, SIGABRT);
    g_assert_false(g_file_test(core, G_FILE_TEST_EXISTS));
    test_folder_remove(folder);
}
