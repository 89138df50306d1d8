/* Tests of the outline cache in several processes that are killed at any moment, may not write, or
 * run out of disk space. A child is this executable, started with a hidden argument.
 *
 * ACR_CACHE_ROUNDS is the number of rounds of kills, with 8 processes each; few by default. */
#include "cache_fixture.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PROCESSES 8
#define NUMBERS 600 /* rows that children share */
#define NOBODY 65534
#define CHILD_LIMIT (1024u * 1024) /* small, so that rows are evicted all the time */

/* ---- Children ---- */

/* Gets and puts random rows until `n` caches were opened. Returns 0, or 3 after a wrong answer. */
static int child_churn(const char *path, guint seed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    for (int life = 0; life < 20; life++) {
        g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, CHILD_LIMIT);
        int calls = g_rand_int_range(rand, 1, 60);
        for (int call = 0; call < calls; call++) {
            guint number = (guint)g_rand_int_range(rand, 0, NUMBERS);
            if (count_rows(cache, number, 1) == 0)
                put_rows(cache, number, 1);
            if (g_rand_int_range(rand, 0, 10) == 0)
                acr_index_cache_flush(cache);
        }
        if (acr_index_cache_remark(cache))
            g_printerr("%s\n", acr_index_cache_remark(cache));
    }
    return 0;
}

/* Uses the file once; returns 10 if this process rebuilt the file. */
static int child_use(const char *path, guint n)
{
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
    count_rows(cache, 0, n);
    put_rows(cache, 0, n);
    acr_index_cache_flush(cache);
    const char *remark = acr_index_cache_remark(cache);
    if (remark && !strstr(remark, "rebuilt"))
        g_printerr("%s\n", remark);
    if (count_rows(cache, 0, n) != n)
        put_rows(cache, 0, n); /* another process has rebuilt the file meanwhile */
    if (count_rows(cache, 0, n) != n)
        return 4;
    return !remark ? 0 : strstr(remark, "rebuilt") ? 10 : 5;
}

/* Uses a damaged file once. Returns 10 if this process rebuilt the file. A process whose file was
 * replaced while it wrote may have to continue without a cache. */
static int child_repair(const char *path, guint n)
{
    int end = child_use(path, n);
    return end == 4 || end == 5 ? 0 : end;
}

static int child_read_only(const char *path, guint n)
{
    if (geteuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)))
        return 77;
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
    put_rows(cache, n, 5);
    acr_index_cache_flush(cache);
    const char *remark = acr_index_cache_remark(cache);
    g_printerr("# %s\n", remark);
    if (!remark ||
        (!strstr(remark, "read-only; nothing is added to it") && !strstr(remark, "nothing more is added to it")))
        return 5;
    return count_rows(cache, 0, n) == n && count_rows(cache, n, 5) == 0 ? 0 : 4;
}

/* The cache cannot be read either. */
static int child_refused(const char *path, guint n)
{
    if (geteuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)))
        return 77;
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
    put_rows(cache, 0, n);
    acr_index_cache_flush(cache);
    const char *remark = acr_index_cache_remark(cache);
    g_printerr("# %s\n", remark);
    return remark && strstr(remark, "it is not used") && count_rows(cache, 0, n) == 0 ? 0 : 5;
}

/* No file may grow beyond `kib`, which simulates a full disk. */
static int child_no_room(const char *path, guint kib)
{
    struct rlimit limit = {(rlim_t)kib * 1024, (rlim_t)kib * 1024};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 77;
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
    for (guint first = 0; first < 3000; first += 100) {
        put_rows(cache, first, 100);
        count_rows(cache, first, 100);
    }
    acr_index_cache_flush(cache);
    count_rows(cache, 0, 3000);
    const char *remark = acr_index_cache_remark(cache);
    g_printerr("# %s\n", remark);
    return remark && (strstr(remark, "nothing more is added to it") || strstr(remark, "nothing is added to it") ||
                      strstr(remark, "it is not used"))
               ? 0
               : 5;
}

int run_cache_child(char **arguments)
{
    static const struct {
        const char *mode;
        int (*run)(const char *path, guint number);
    } modes[] = {{"churn", child_churn},     {"use", child_use},         {"read-only", child_read_only},
                 {"refused", child_refused}, {"no-room", child_no_room}, {"repair", child_repair}};
    for (gsize i = 0; i < G_N_ELEMENTS(modes); i++) {
        if (strcmp(arguments[0], modes[i].mode) == 0)
            return modes[i].run(arguments[1], (guint)g_ascii_strtoull(arguments[2], NULL, 10));
    }
    return 2;
}

/* ---- Killing ---- */

static void kill_at_random(const char *path, GRand *rand, guint round, gint longest_us)
{
    pid_t pids[PROCESSES];
    for (guint i = 0; i < PROCESSES; i++)
        pids[i] = start_child("churn", path, round * PROCESSES + i);
    for (guint i = 0; i < PROCESSES; i++) {
        g_usleep((gulong)g_rand_int_range(rand, 0, longest_us));
        kill(pids[i], SIGKILL);
    }
    for (guint i = 0; i < PROCESSES; i++) {
        int end = end_of_child(pids[i]);
        g_assert_true(end == 0 || end == -SIGKILL);
    }
}

static guint rounds(void)
{
    const char *text = g_getenv("ACR_CACHE_ROUNDS");
    return text ? (guint)g_ascii_strtoull(text, NULL, 10) : 6;
}

TEST("/index/cache_process", killed_at_random)
{
    const char *path = cache_path("c");
    g_autoptr(GRand) rand = g_rand_new_with_seed(8);
    guint found = 0;
    gint longest_us = 20000;
    /* On a busy machine, no child may have written yet; further rounds then give them more time. */
    for (guint round = 0; round < rounds() || (found == 0 && round < rounds() + 8); round++) {
        longest_us *= round < rounds() ? 1 : 2;
        kill_at_random(path, rand, round, longest_us);
        g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, CHILD_LIMIT);
        found = MAX(found, count_rows(cache, 0, NUMBERS));
        g_assert_cmpstr(acr_index_cache_remark(cache), ==, NULL);
    }
    g_assert_cmpuint(found, >, 0);
}

/* Removes and damages the file while eight processes use it: they must neither crash nor get wrong
 * answers. */
TEST("/index/cache_process", replaced_under_users)
{
    const char *path = cache_path("acr-host");
    g_autoptr(GRand) rand = g_rand_new_with_seed(9);
    pid_t pids[PROCESSES];
    make_cache(path, 10);
    for (guint i = 0; i < PROCESSES; i++)
        pids[i] = start_child("churn", path, i);
    for (int i = 0; i < 30; i++) {
        g_usleep((gulong)g_rand_int_range(rand, 0, 10000));
        g_autoptr(GError) error = NULL;
        if (i % 3 == 0)
            g_assert_true(acr_file_write_atomic(path, "noise", 5, 0600, &error));
        else if (!acr_index_cache_clear(path, &error) && !strstr(error->message, "belongs to another program"))
            g_error("%s", error->message); /* a file that replaced this one lacks its log */
    }
    for (guint i = 0; i < PROCESSES; i++)
        g_assert_cmpint(end_of_child(pids[i]), ==, 0);
    g_autofree char *remark = use_cache(path, 10);
}

TEST("/index/cache_process", damage_found_by_all_at_once)
{
    for (int round = 0; round < 5; round++) {
        const char *path = cache_path("acr-host");
        make_cache(path, 60);
        g_assert_cmpint(truncate(path, 20000), ==, 0);
        pid_t pids[PROCESSES];
        guint made = 0;
        for (guint i = 0; i < PROCESSES; i++)
            pids[i] = start_child("repair", path, 60);
        for (guint i = 0; i < PROCESSES; i++) {
            int end = end_of_child(pids[i]);
            g_assert_true(end == 0 || end == 10);
            made += end == 10;
        }
        /* The process that rebuilt the file may have lost it to a later process, and then reports
         * that. */
        g_assert_cmpuint(made, <=, 1);
        g_autofree char *remark = use_cache(path, 60); /* whole again */
        g_assert_cmpstr(remark, ==, NULL);
    }
}

TEST("/index/cache_process", made_by_all_at_once)
{
    const char *path = cache_path("c");
    pid_t pids[PROCESSES];
    for (guint i = 0; i < PROCESSES; i++)
        pids[i] = start_child("use", path, 60);
    for (guint i = 0; i < PROCESSES; i++)
        g_assert_cmpint(end_of_child(pids[i]), ==, 0);
}

/* ---- No right, no room ---- */

/* Sets the modes of the cache's folder and file for other users, and lets them reach the folder. */
static void set_modes(const char *path, int folder_mode, int file_mode)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *root = g_path_get_dirname(folder);
    g_assert_cmpint(g_chmod(root, 0755), ==, 0);
    g_assert_cmpint(g_chmod(path, (mode_t)file_mode), ==, 0);
    g_assert_cmpint(g_chmod(folder, (mode_t)folder_mode), ==, 0);
}

static void assert_child(const char *mode, const char *path, guint number)
{
    int end = end_of_child(start_child(mode, path, number));
    if (end == 77)
        g_test_skip("no right to become another user");
    else
        g_assert_cmpint(end, ==, 0);
}

TEST("/index/cache_process", read_only)
{
    const char *path = cache_path("c");
    g_autofree char *folder = g_path_get_dirname(path);
    make_cache(path, 60);
    set_modes(path, 0555, 0444);
    assert_child("read-only", path, 60);
    /* The file could be written, but its folder could not. */
    set_modes(path, 0555, 0666);
    assert_child("read-only", path, 60);
    /* Neither file nor folder can be written or read. */
    set_modes(path, 0555, 0);
    assert_child("refused", path, 60);
    set_modes(path, 0755, 0444);
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_chmod(folder, 0555), ==, 0);
    assert_child("refused", path, 60);
    g_assert_cmpint(g_chmod(folder, 0755), ==, 0);
}

TEST("/index/cache_process", no_room)
{
    static const guint kib[] = {0, 1, 5, 20, 33, 40, 100, 700, 3000};
    for (gsize i = 0; i < G_N_ELEMENTS(kib); i++) {
        const char *path = cache_path("c");
        assert_child("no-room", path, kib[i]);
        g_autofree char *remark = use_cache(path, 30);
        const char *full = cache_path("c");
        make_cache(full, 60);
        assert_child("no-room", full, kib[i]);
        assert_text(use_cache(full, 60), NULL);
    }
}
