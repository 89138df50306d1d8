/* Tests of the options of a child process: how it is ended, which output is kept, which descriptors
 * it gets, and who watches it. The children are real shells. */
#include "test_base.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Ending ---- */

TEST("/base/spawn_options", a_soft_end_lets_the_child_tidy_up)
{
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){.timeout_ms = 2000, .soft_ms = 60000},
             "trap 'echo tidy; exit 3' TERM; echo begun; while :; do sleep 0.05; done", &result);
    g_assert_true(result.timed_out);
    g_assert_cmpint(result.exit_code, ==, 3);
    g_assert_cmpint(result.signal, ==, 0);
    assert_bytes(result.out, "begun\ntidy\n");
    g_assert_cmpint(result.wall_ms, <, 50000);
}

TEST("/base/spawn_options", who_ignores_the_soft_end_is_killed_with_its_group)
{
    g_autofree char *folder = test_folder();
    g_autofree char *pid_file = g_build_filename(folder, "pid", NULL);
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){.cwd = folder, .timeout_ms = 2000, .soft_ms = 300},
             "trap '' TERM; sleep 100 & echo $! >pid; while :; do sleep 0.05; done", &result);
    g_assert_true(result.timed_out);
    g_assert_cmpint(result.signal, ==, SIGKILL);
    g_assert_cmpint(result.wall_ms, >=, 2300);
    g_assert_cmpint(result.wall_ms, <, 60000);
    g_assert_true(is_gone(pid_file));
    test_folder_remove(folder);
}

/* ---- Output ---- */

TEST("/base/spawn_options", of_longer_output_both_ends_are_kept)
{
    g_auto(AcrSpawnResult) longer = {0}, just = {0}, odd = {0}, without = {0};
    spawn_ok((AcrSpawn){.output_limit = 8, .keep_ends = true}, "printf abcdefghijklmnop; printf 12345678 >&2", &longer);
    assert_bytes(longer.out, "abcdmnop");
    g_assert_cmpuint(longer.out_total, ==, 16);
    assert_bytes(longer.err, "12345678");
    g_assert_cmpuint(longer.err_total, ==, 8);
    spawn_ok((AcrSpawn){.output_limit = 8, .keep_ends = true}, "printf 1234567; printf ''", &just);
    assert_bytes(just.out, "1234567");
    spawn_ok((AcrSpawn){.output_limit = 7, .keep_ends = true}, "printf abcdefghijklmnop", &odd);
    assert_bytes(odd.out, "abcdnop");
    spawn_ok((AcrSpawn){.output_limit = 8}, "printf abcdefghijklmnop", &without);
    assert_bytes(without.out, "abcdefgh");
}

/* The kept end must not depend on how the output is split into pieces. */
TEST("/base/spawn_options", the_kept_end_is_right_after_many_pieces)
{
    g_auto(AcrSpawnResult) small = {0}, large = {0};
    spawn_ok((AcrSpawn){.output_limit = 10, .keep_ends = true},
             "i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done; printf END", &small);
    assert_bytes(small.out, "0\n1\n29\nEND");
    spawn_ok((AcrSpawn){.output_limit = 10, .keep_ends = true},
             "printf BEGIN; head -c 3000000 /dev/zero; printf 'E N D'", &large);
    assert_bytes(large.out, "BEGINE N D");
    g_assert_cmpuint(large.out_total, ==, 3000010);
}

TEST("/base/spawn_options", a_flood_on_either_stream_ends_the_child)
{
    static const char *const scripts[] = {"yes", "yes >&2"};
    for (gsize i = 0; i < G_N_ELEMENTS(scripts); i++) {
        g_auto(AcrSpawnResult) result = {0};
        spawn_ok((AcrSpawn){.output_limit = 10, .flood_limit = 100000, .timeout_ms = 60000}, scripts[i], &result);
        g_assert_true(result.flooded);
        g_assert_false(result.timed_out);
        g_assert_cmpint(result.signal, ==, SIGKILL);
        g_assert_cmpuint(MAX(result.out_total, result.err_total), >, 100000);
        g_assert_cmpint(result.wall_ms, <, 30000);
    }
    g_auto(AcrSpawnResult) fine = {0};
    spawn_ok((AcrSpawn){.flood_limit = 1000}, "head -c 1000 /dev/zero", &fine);
    g_assert_false(fine.flooded);
    g_assert_cmpint(fine.exit_code, ==, 0);
}

typedef struct {
    GString *streams[2];
} Seen;

static void see(void *ctx, bool is_stderr, const char *data, gsize len)
{
    g_string_append_len(((Seen *)ctx)->streams[is_stderr], data, (gssize)len);
}

TEST("/base/spawn_options", output_is_told_as_it_comes_whatever_is_kept)
{
    Seen seen = {{g_string_new(NULL), g_string_new(NULL)}};
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){.output_limit = 4, .on_output = see, .ctx = &seen},
             "echo one; echo error >&2; sleep 0.1; echo two; head -c 200000 /dev/zero | tr '\\0' z", &result);
    assert_bytes(result.out, "one\n");
    g_assert_cmpuint(seen.streams[0]->len, ==, 200008);
    g_assert_true(g_str_has_prefix(seen.streams[0]->str, "one\ntwo\nzzz"));
    g_assert_cmpstr(seen.streams[1]->str, ==, "error\n");
    g_string_free(seen.streams[0], TRUE);
    g_string_free(seen.streams[1], TRUE);
}

/* ---- Descriptors ---- */

static int file_of(const char *text)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    g_assert_true(fd >= 0 && acr_fd_write_all(fd, text, strlen(text)) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

TEST("/base/spawn_options", descriptors_become_3_and_on_and_no_others)
{
    int fds[ACR_SPAWN_MAX_FDS];
    g_auto(AcrSpawnResult) some = {0}, all = {0};
    for (gsize i = 0; i < G_N_ELEMENTS(fds); i++) {
        g_autofree char *text = g_strdup_printf("%" G_GSIZE_FORMAT " ", i);
        fds[i] = file_of(text);
    }
    spawn_ok((AcrSpawn){.fds = fds, .n_fds = 2}, "cat <&3; cat <&4; [ -e /dev/fd/5 ] || echo no more", &some);
    assert_bytes(some.out, "0 1 no more\n");
    for (gsize i = 0; i < G_N_ELEMENTS(fds); i++)
        g_assert_cmpint(lseek(fds[i], 0, SEEK_SET), ==, 0);
    spawn_ok((AcrSpawn){.fds = fds, .n_fds = G_N_ELEMENTS(fds)}, "for i in 3 4 5 6 7 8 9 10; do cat /dev/fd/$i; done",
             &all);
    assert_bytes(all.out, "0 1 2 3 4 5 6 7 ");
    for (gsize i = 0; i < G_N_ELEMENTS(fds); i++) {
        g_assert_cmpint(fcntl(fds[i], F_GETFD), ==, FD_CLOEXEC); /* our own descriptor, unchanged */
        close(fds[i]);
    }
}

/* The child's own descriptors get low numbers; moving one must not close another. */
TEST("/base/spawn_options", descriptors_in_any_order_come_through)
{
    int a = file_of("a"), b = file_of("b");
    const int swapped[] = {b, a, b};
    g_auto(AcrSpawnResult) result = {0};
    spawn_ok((AcrSpawn){.fds = swapped, .n_fds = 3}, "cat <&3; cat <&4; [ /dev/fd/3 -ef /dev/fd/5 ] && echo same",
             &result);
    assert_bytes(result.out, "basame\n");
    close(a);
    close(b);
}

TEST("/base/spawn_options", standard_input_can_be_ours)
{
    g_auto(AcrSpawnResult) result = {0};
    int fd = file_of("ours\n"), before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    g_assert_cmpint(dup2(fd, STDIN_FILENO), ==, STDIN_FILENO);
    spawn_ok((AcrSpawn){.inherit_input = true, .input = "other", .input_len = 5}, "cat", &result);
    if (before >= 0)
        g_assert_cmpint(dup2(before, STDIN_FILENO), ==, STDIN_FILENO);
    close(fd);
    close(before);
    assert_bytes(result.out, "ours\n");
}

/* ---- Watching ---- */

typedef struct {
    guint asked, end_after;
    pid_t pid;
} Watcher;

static bool watch(void *ctx, pid_t pid)
{
    Watcher *watcher = ctx;
    g_assert_true(watcher->asked == 0 || watcher->pid == pid);
    watcher->pid = pid;
    return ++watcher->asked != watcher->end_after;
}

TEST("/base/spawn_options", a_watcher_is_asked_often_and_can_end_it)
{
    Watcher patient = {0}, strict = {.end_after = 3};
    g_auto(AcrSpawnResult) whole = {0}, ended = {0}, busy = {0};
    spawn_ok((AcrSpawn){.watch = watch, .ctx = &patient}, "sleep 1", &whole);
    g_assert_cmpint(whole.exit_code, ==, 0);
    g_assert_false(whole.unwatched);
    g_assert_cmpuint(patient.asked, >=, 3);
    g_assert_cmpuint(patient.asked, <=, 60);
    spawn_ok((AcrSpawn){.watch = watch, .ctx = &strict}, "sleep 100", &ended);
    g_assert_true(ended.unwatched);
    g_assert_cmpint(ended.signal, ==, SIGKILL);
    g_assert_cmpint(ended.wall_ms, <, 20000);
    /* Endless output must neither prevent nor multiply the calls of the watcher. */
    strict.asked = 0;
    spawn_ok((AcrSpawn){.watch = watch, .ctx = &strict, .output_limit = 10}, "yes", &busy);
    g_assert_true(busy.unwatched);
    g_assert_cmpint(busy.wall_ms, >=, 100);
}
