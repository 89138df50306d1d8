/* Tests of files, folders and locks, on real files. Limits, devices and permissions cause the
 * failures. */
#include "test_base.h"
#include "base/base_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "syncs.h"

static void write_file(const char *path, const char *text)
{
    g_autoptr(GError) error = NULL;
    assert_ok(acr_file_write_atomic(path, text, strlen(text), 0, &error), error);
}

static void assert_content(const char *path, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = made(acr_file_read(path, 1 << 20, &error), error);
    g_assert_cmpmem(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), text, strlen(text));
}

static guint entries(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    guint n = 0;
    while (g_dir_read_name(dir))
        n++;
    return n;
}

TEST("/base/file", every_spelling_of_a_path_is_the_same)
{
    g_autofree char *given = g_dir_make_tmp("acr-path-XXXXXX", NULL);
    g_autofree char *folder = acr_path_real(given); /* the temporary folder may itself be a link */
    g_autofree char *file = g_build_filename(folder, "file", NULL);
    g_autofree char *link = g_build_filename(folder, "link", NULL);
    write_file(file, "x");
    g_assert_cmpint(symlink("file", link), ==, 0);
    assert_text(acr_path_real(link), file);
    g_autofree char *missing = g_build_filename(folder, ".", "none", "..", "absent", NULL);
    g_autofree char *absent = g_build_filename(folder, "absent", NULL);
    assert_text(acr_path_real(missing), absent);
    g_autoptr(GError) error = NULL;
    g_assert_true(acr_dir_remove(folder, &error));
}

TEST("/base/file", reading_has_a_ceiling_and_names_its_errors)
{
    g_autofree char *folder = test_folder();
    g_autofree char *path = g_build_filename(folder, "f", NULL);
    write_file(path, "12345");
    g_autoptr(GBytes) whole = acr_file_read(path, 5, NULL);
    g_assert_cmpuint(g_bytes_get_size(whole), ==, 5);
    g_autoptr(GError) too_big = NULL, none = NULL, is_folder = NULL, fifo_error = NULL;
    g_assert_null(acr_file_read(path, 4, &too_big));
    g_assert_error(too_big, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG);
    g_autofree char *absent = g_build_filename(folder, "absent", NULL);
    g_assert_null(acr_file_read(absent, 4, &none));
    g_assert_error(none, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND);
    g_assert_null(acr_file_read(folder, 4, &is_folder));
    g_assert_error(is_folder, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
    g_autofree char *fifo = g_build_filename(folder, "fifo", NULL);
    g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
    g_assert_null(acr_file_read(fifo, 4, &fifo_error)); /* the call must not wait for a writer */
    g_assert_error(fifo_error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
    test_folder_remove(folder);
}

/* A shell passes such a pipe for "<(…)". */
TEST("/base/file", a_pipe_of_the_shell_is_read_to_its_end)
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    g_assert_cmpint(write(ends[1], "12345", 5), ==, 5);
    close(ends[1]);
    g_autofree char *path = g_strdup_printf("/dev/fd/%d", ends[0]);
    g_autoptr(GBytes) whole = acr_file_read(path, 5, NULL);
    g_assert_cmpuint(g_bytes_get_size(whole), ==, 5);
    close(ends[0]);
    g_assert_null(acr_file_read(path, 5, NULL));
}

TEST("/base/file", a_file_that_says_size_zero_is_read_whole)
{
    g_autoptr(GError) error = NULL, too_big = NULL;
    g_autoptr(GBytes) bytes = made(acr_file_read("/proc/self/status", 1 << 20, &error), error);
    g_assert_cmpuint(g_bytes_get_size(bytes), >, 100);
    g_assert_null(acr_file_read("/proc/self/status", 50, &too_big));
    g_assert_error(too_big, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG);
}

TEST("/base/file", atomic_write_replaces_with_its_mode_and_leaves_nothing_else)
{
    g_autofree char *folder = test_folder();
    g_autofree char *path = g_build_filename(folder, "f", NULL);
    write_file(path, "old");
    struct stat st;
    g_assert_cmpint(stat(path, &st), ==, 0);
    g_assert_cmpint(st.st_mode & 07777, ==, 0644);
    g_assert_true(acr_file_write_atomic(path, "new\0x", 5, 0755, NULL));
    g_assert_cmpint(stat(path, &st), ==, 0);
    g_assert_cmpint(st.st_mode & 07777, ==, 0755);
    g_assert_cmpint(st.st_size, ==, 5);
    g_assert_true(acr_file_write_atomic(path, NULL, 0, 0, NULL));
    assert_content(path, "");
    g_assert_cmpuint(entries(folder), ==, 1);
    test_folder_remove(folder);
}

TEST("/base/file", atomic_write_is_on_the_disk_before_it_returns)
{
    g_autofree char *folder = test_folder();
    g_autofree char *path = g_build_filename(folder, "f", NULL);
    for (int i = 0; i < 2; i++) {
        forget_syncs();
        write_file(path, i ? "new" : "old");
        g_assert_true(is_synced(path));
        g_assert_true(is_synced(folder));
    }
    test_folder_remove(folder);
}

/* The limit on the file size simulates a disk that becomes full during the write. */
TEST("/base/file", a_write_that_fails_half_way_keeps_the_old_file)
{
    g_autofree char *folder = test_folder();
    g_autofree char *path = g_build_filename(folder, "f", NULL);
    write_file(path, "old");
    g_autofree char *big = g_strnfill(100000, 'x');
    struct rlimit before, small;
    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
    sighandler_t handler = signal(SIGXFSZ, SIG_IGN);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
    g_autoptr(GError) error = NULL;
    bool ok = acr_file_write_atomic(path, big, 100000, 0, &error);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
    signal(SIGXFSZ, handler);
    g_assert_false(ok);
    g_assert_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
    assert_content(path, "old");
    g_assert_cmpuint(entries(folder), ==, 1);
    test_folder_remove(folder);
}

TEST("/base/file", a_full_disk_is_no_space)
{
    ACR_AUTO_FD full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    g_assert_cmpint(acr_fd_write_all(full, "x", 1), ==, ENOSPC);
    static const struct {
        int err;
        AcrBaseError code;
    } cases[] = {{ENOSPC, ACR_BASE_ERROR_NO_SPACE}, {EDQUOT, ACR_BASE_ERROR_NO_SPACE},
                 {EROFS, ACR_BASE_ERROR_NO_SPACE},  {ENOENT, ACR_BASE_ERROR_NOT_FOUND},
                 {EACCES, ACR_BASE_ERROR_FAILED},   {EIO, ACR_BASE_ERROR_FAILED}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(acr_base_fail(&error, cases[i].err, "cannot write '%s'", "f"));
        g_assert_error(error, ACR_BASE_ERROR, (int)cases[i].code);
        g_assert_true(g_str_has_prefix(error->message, "cannot write 'f': "));
    }
    g_autoptr(GError) absent = NULL;
    g_assert_false(acr_file_write_atomic("/no/such/folder/f", "x", 1, 0, &absent));
    g_assert_error(absent, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND);
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
}

static void *read_slowly(void *data)
{
    int fd = *(int *)data;
    char chunk[8192];
    gsize total = 0;
    ssize_t n;
    while ((n = read(fd, chunk, sizeof chunk)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            g_assert_cmpint(chunk[i], ==, 'a' + (char)((total + i) % 26));
        total += n;
        g_usleep(500);
    }
    return GSIZE_TO_POINTER(total);
}

TEST("/base/file", signals_and_short_writes_lose_nothing)
{
    int ends[2];
    g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    pthread_t reader;
    g_assert_cmpint(pthread_create(&reader, NULL, read_slowly, &ends[0]), ==, 0);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    const gsize len = 1 << 20;
    g_autofree char *data = g_malloc(len);
    for (gsize i = 0; i < len; i++)
        data[i] = 'a' + (char)(i % 26);
    struct sigaction action = {.sa_handler = on_alarm}, before;
    sigaction(SIGALRM, &action, &before);
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {0};
    setitimer(ITIMER_REAL, &often, NULL);
    int err = acr_fd_write_all(ends[1], data, len);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    close(ends[1]);
    void *total = NULL;
    pthread_join(reader, &total);
    close(ends[0]);
    g_assert_cmpint(err, ==, 0);
    g_assert_cmpuint(GPOINTER_TO_SIZE(total), ==, len);
}

static GBytes *read_pipe(const char *text, bool is_closed, gsize max, gint64 timeout_ms, const AcrInterrupt *interrupt,
                         GError **error)
{
    int ends[2];
    g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
    g_assert_cmpint(acr_fd_write_all(ends[1], text, strlen(text)), ==, 0);
    if (is_closed)
        close(ends[1]);
    GBytes *bytes = acr_fd_read_all(ends[0], "the pipe", max, timeout_ms, interrupt, error);
    close(ends[0]);
    if (!is_closed)
        close(ends[1]);
    return bytes;
}

TEST("/base/file", a_descriptor_is_read_to_its_end_within_bounds)
{
    AcrInterrupt interrupt = {.signal = SIGINT};
    g_autoptr(GError) error = NULL, too_big = NULL, late = NULL, stopped = NULL;
    g_autoptr(GBytes) all = made(read_pipe("four", true, 4, 0, NULL, &error), error);
    g_assert_cmpmem(g_bytes_get_data(all, NULL), g_bytes_get_size(all), "four", 4);
    g_autoptr(GBytes) none = made(read_pipe("", true, 0, 0, NULL, &error), error);
    g_assert_cmpuint(g_bytes_get_size(none), ==, 0);
    g_assert_null(read_pipe("fives", true, 4, 0, NULL, &too_big));
    g_assert_error(too_big, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG);
    g_assert_cmpstr(too_big->message, ==, "the pipe is larger than 4 bytes");
    g_assert_null(read_pipe("some", false, 100, 20, NULL, &late));
    g_assert_error(late, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
    g_assert_nonnull(strstr(late->message, "cannot read the pipe"));
    g_assert_null(read_pipe("some", false, 100, 0, &interrupt, &stopped));
    g_assert_error(stopped, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
}

TEST("/base/dir", folders_are_made_with_their_parents)
{
    g_autofree char *folder = test_folder();
    g_autofree char *deep = g_build_filename(folder, "a//b/c/", NULL);
    g_autoptr(GError) error = NULL, in_file = NULL, empty = NULL;
    g_assert_true(acr_dir_make(deep, &error));
    assert_ok(acr_dir_make(deep, &error), error);
    g_assert_true(g_file_test(deep, G_FILE_TEST_IS_DIR));
    g_assert_true(acr_dir_sync(deep, &error));
    g_autofree char *file = g_build_filename(folder, "file", NULL);
    write_file(file, "x");
    g_autofree char *below = g_build_filename(file, "sub", NULL);
    g_assert_false(acr_dir_make(below, &in_file));
    g_assert_error(in_file, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
    g_assert_nonnull(strstr(in_file->message, "file'"));
    g_assert_false(acr_dir_make("", &empty));
    g_assert_error(empty, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
    test_folder_remove(folder);
}

TEST("/base/dir", removal_does_not_follow_symlinks)
{
    g_autofree char *folder = test_folder();
    g_autofree char *kept = g_build_filename(folder, "kept", NULL);
    g_autofree char *file = g_build_filename(kept, "file", NULL);
    g_autofree char *tree = g_build_filename(folder, "tree", NULL);
    g_autofree char *link = g_build_filename(tree, "link", NULL);
    g_assert_true(acr_dir_make(kept, NULL));
    g_assert_true(acr_dir_make(tree, NULL));
    write_file(file, "x");
    g_assert_cmpint(symlink(kept, link), ==, 0);
    test_folder_remove(tree);
    assert_content(file, "x");
    g_autofree char *top_link = g_build_filename(folder, "top", NULL);
    g_assert_cmpint(symlink(kept, top_link), ==, 0);
    test_folder_remove(top_link);
    assert_content(file, "x");
    g_assert_true(acr_dir_remove(tree, NULL)); /* removing a missing folder succeeds */
    test_folder_remove(folder);
}

TEST("/base/dir", removal_takes_locked_folders_and_any_depth)
{
    g_autofree char *folder = test_folder();
    g_autofree char *locked = g_build_filename(folder, "locked", NULL);
    g_autofree char *inside = g_build_filename(locked, "inside", NULL);
    g_assert_true(acr_dir_make(locked, NULL));
    write_file(inside, "x");
    g_assert_cmpint(chmod(locked, 0), ==, 0);
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000;
         /* much longer than the maximum length of a path, and deeper than the number of descriptors
          * allows */
         i++) {
        g_assert_cmpint(mkdirat(at, "d", 0755), ==, 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_assert_cmpint(next, >=, 0);
        close(at);
        at = next;
    }
    close(at);
    test_folder_remove(folder);
}

TEST("/base/lock", a_lock_is_held_by_one_and_names_its_holder)
{
    g_autofree char *folder = test_folder();
    g_autofree char *path = g_build_filename(folder, "lock", NULL);
    g_autoptr(GError) error = NULL, busy = NULL, none = NULL;
    AcrLock *lock = made(acr_lock_take(path, &error), error);
    g_assert_nonnull(lock);
    g_assert_null(acr_lock_take(path, &busy));
    g_assert_error(busy, ACR_BASE_ERROR, ACR_BASE_ERROR_BUSY);
    g_autofree char *pid = g_strdup_printf("process %d", (int)getpid());
    g_assert_nonnull(strstr(busy->message, pid));
    acr_lock_free(lock);
    lock = made(acr_lock_take(path, &error), error);
    acr_lock_free(lock);
    acr_lock_free(NULL);
    g_autofree char *nowhere = g_build_filename(folder, "no", "lock", NULL);
    g_assert_null(acr_lock_take(nowhere, &none));
    g_assert_error(none, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND);
    test_folder_remove(folder);
}

TEST("/base/lock", a_lock_ends_with_its_process)
{
    g_autofree char *folder = test_folder();
    g_autofree char *path = g_build_filename(folder, "lock", NULL);
    g_autoptr(AcrLock) lock = acr_lock_take(path, NULL);
    const char *const argv[] = {"flock", "-n", path, "true", NULL};
    g_auto(AcrSpawnResult) refused = {0}, granted = {0};
    g_assert_true(acr_spawn_run(&(AcrSpawn){.argv = argv}, &refused, NULL));
    g_assert_cmpint(refused.exit_code, ==, 1);
    acr_lock_free(g_steal_pointer(&lock));
    g_assert_true(acr_spawn_run(&(AcrSpawn){.argv = argv}, &granted, NULL));
    g_assert_cmpint(granted.exit_code, ==, 0);
    g_autoptr(GError) error = NULL;
    lock = made(acr_lock_take(path, &error), error);
    test_folder_remove(folder);
}

TEST("/base/file", sha256_is_that_of_the_standard)
{
    g_autofree char *abc = acr_sha256_hex("abc", 3);
    g_assert_cmpstr(abc, ==, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_text(acr_sha256_hex(NULL, 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
