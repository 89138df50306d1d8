/* Tests of outlining in other processes. The peers are this test program itself, started with
 * PEER_OPTION and a mode; the beginning of a file's text says what happens to the peer that
 * outlines it. */
#include "base/peer.h"
#include "index_fixture.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- The peer ---- */

static bool peer_outline(void *ctx, const char *path, GBytes *source, GBytes **out_rows, GError **error)
{
    gsize len;
    const char *text = g_bytes_get_data(source, &len);
    struct rlimit none = {0, 0};
    if (len >= 5 && memcmp(text, "crash", 5) == 0) {
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (len >= 4 && memcmp(text, "exit", 4) == 0)
        _exit(7);
    if (len >= 4 && memcmp(text, "hang", 4) == 0)
        for (;;)
            pause();
    if (len >= 4 && memcmp(text, "junk", 4) == 0 && write(STDIN_FILENO, "????????????", 12))
        return false;
    if (len >= 4 && memcmp(text, "fail", 4) == 0) {
        g_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED, "%s is too much", path);
        return false;
    }
    *out_rows = g_bytes_ref(source);
    return true;
}

int peer_main(const char *mode)
{
    g_autoptr(GError) started = NULL;
    if (strcmp(mode, "dies") == 0)
        return 9;
    if (strcmp(mode, "refuses") == 0)
        started = g_error_new(ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED, "no Python today");
    if (*mode == '/' && open(mode, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) < 0)
        started = g_error_new(ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED, "there is one already");
    return acr_peer_serve(STDIN_FILENO, peer_outline, NULL, started, NULL) ? 0 : 1;
}

/* ---- A batch of texts ---- */

typedef struct {
    GPtrArray *sources; /* of GBytes */
    GPtrArray *results; /* array of char *: rows, or "!reason"; NULL if no result came */
    guint n_done;
} Batch;

static const char *path_of(void *ctx, gsize i)
{
    return i % 2 ? "odd.py" : "even.py";
}

static GBytes *read_of(void *ctx, gsize i)
{
    Batch *batch = ctx;
    GBytes *source = g_ptr_array_index(batch->sources, i);
    return source ? g_bytes_ref(source) : NULL;
}

static void done(void *ctx, gsize i, GBytes *rows, const AcrOutlineFailure *failure)
{
    Batch *batch = ctx;
    g_assert_null(g_ptr_array_index(batch->results, i));
    g_assert_true((rows != NULL) != (failure != NULL));
    if (failure) /* for "fail", the peer itself reports the failure */
        g_assert_cmpint(failure->lasting, ==, g_str_has_suffix(failure->why, "is too much"));
    batch->n_done++;
    gsize len = 0;
    const char *data = rows ? g_bytes_get_data(rows, &len) : NULL;
    g_ptr_array_index(batch->results, i) =
        rows ? g_strndup(data ? data : "", MIN(len, 40)) : g_strconcat("!", failure->why, NULL);
}

static void batch_init(Batch *batch, gsize n)
{
    *batch = (Batch){0};
    batch->sources = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    batch->results = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_set_size(batch->results, (gint)n);
    for (gsize i = 0; i < n; i++) {
        g_autofree char *text = g_strdup_printf("rows %" G_GSIZE_FORMAT, i);
        g_ptr_array_add(batch->sources, g_bytes_new(text, strlen(text)));
    }
}

static void set_source(Batch *batch, gsize i, const char *text)
{
    g_bytes_unref(g_ptr_array_index(batch->sources, i));
    g_ptr_array_index(batch->sources, i) = text ? g_bytes_new(text, strlen(text)) : NULL;
}

static void batch_clear(Batch *batch)
{
    g_ptr_array_unref(batch->sources);
    g_ptr_array_unref(batch->results);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Batch, batch_clear)

static bool outline(Batch *batch, const char *mode, guint jobs, gint64 timeout_ms, const AcrInterrupt *interrupt,
                    GError **error)
{
    g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
    const char *const argv[] = {exe, PEER_OPTION, mode, NULL};
    AcrOutlineWorkers workers = {.argv = argv, .jobs = jobs, .timeout_ms = timeout_ms};
    AcrOutlineBatch files = {batch->sources->len, batch, path_of, read_of, done, interrupt};
    return acr_outline_by_workers(&files, &workers, error);
}

static const char *result(const Batch *batch, gsize i)
{
    return g_ptr_array_index(batch->results, i);
}

/* Every file must have its own rows, except those whose expected result is set. */
static void assert_rows(const Batch *batch, gsize i)
{
    g_autofree char *expected = g_strdup_printf("rows %" G_GSIZE_FORMAT, i);
    g_assert_cmpstr(result(batch, i), ==, expected);
}

/* ---- Tests ---- */

TEST("/index/workers", every_file_gets_its_rows_by_any_number_of_peers)
{
    static const guint jobs[] = {1, 2, 5};
    for (gsize j = 0; j < G_N_ELEMENTS(jobs); j++) {
        g_autoptr(GError) error = NULL;
        g_auto(Batch) batch;
        batch_init(&batch, 300);
        assert_ok(outline(&batch, "serves", jobs[j], 0, NULL, &error), error);
        g_assert_cmpuint(batch.n_done, ==, 300);
        for (gsize i = 0; i < 300; i++)
            assert_rows(&batch, i);
    }
}

TEST("/index/workers", empty_and_missing_files)
{
    g_autoptr(GError) error = NULL;
    g_auto(Batch) batch;
    batch_init(&batch, 3);
    set_source(&batch, 0, "");
    set_source(&batch, 1, NULL); /* this file need not be outlined */
    g_assert_true(outline(&batch, "serves", 2, 0, NULL, &error));
    g_assert_cmpstr(result(&batch, 0), ==, "");
    g_assert_null(result(&batch, 1));
    assert_rows(&batch, 2);
    g_auto(Batch) none;
    batch_init(&none, 0);
    g_assert_true(outline(&none, "serves", 2, 0, NULL, &error));
}

TEST("/index/workers", crash_hang_exit_and_junk_cost_their_file)
{
    g_autoptr(GError) error = NULL;
    g_auto(Batch) batch;
    batch_init(&batch, 120);
    set_source(&batch, 0, "crash");
    set_source(&batch, 30, "hang");
    set_source(&batch, 31, "exit");
    set_source(&batch, 60, "fail");
    set_source(&batch, 90, "junk");
    set_source(&batch, 119, "crash");
    assert_ok(outline(&batch, "serves", 2, 700, NULL, &error), error);
    g_assert_cmpuint(batch.n_done, ==, 120);
    g_assert_cmpstr(result(&batch, 0), ==, "!the outline worker crashed (signal 11)");
    g_assert_true(g_str_has_prefix(result(&batch, 30), "!outlining took longer than"));
    g_assert_cmpstr(result(&batch, 31), ==, "!the outline worker ended with exit code 7");
    g_assert_cmpstr(result(&batch, 60), ==, "!even.py is too much");
    g_assert_cmpstr(result(&batch, 90), ==, "!the outline worker's reply is too long");
    g_assert_cmpstr(result(&batch, 119), ==, "!the outline worker crashed (signal 11)");
    for (gsize i = 0; i < 120; i++)
        if (result(&batch, i)[0] != '!')
            assert_rows(&batch, i);
}

TEST("/index/workers", sixty_bad_files_are_not_the_end)
{
    g_autoptr(GError) error = NULL;
    g_auto(Batch) batch;
    batch_init(&batch, 60);
    for (gsize i = 0; i < 60; i++)
        set_source(&batch, i, "exit");
    g_assert_true(outline(&batch, "serves", 2, 0, NULL, &error));
    for (gsize i = 0; i < 60; i++)
        g_assert_cmpstr(result(&batch, i), ==, "!the outline worker ended with exit code 7");
}

TEST("/index/workers", large_files_get_their_rows_too)
{
    g_autoptr(GError) error = NULL;
    g_auto(Batch) batch;
    batch_init(&batch, 40);
    g_autofree char *large = g_strnfill(ACR_OUTLINE_BIG_BYTES * 3, 'x');
    for (gsize i = 0; i < 40; i += 3)
        set_source(&batch, i, large);
    memcpy(large, "crash", 5);
    set_source(&batch, 9, large);
    assert_ok(outline(&batch, "serves", 3, 0, NULL, &error), error);
    g_assert_cmpuint(batch.n_done, ==, 40);
    for (gsize i = 0; i < 40; i++) {
        if (i == 9)
            g_assert_cmpstr(result(&batch, i), ==, "!the outline worker crashed (signal 11)");
        else if (i % 3 == 0)
            g_assert_true(g_str_has_prefix(result(&batch, i), "xxxx"));
        else
            assert_rows(&batch, i);
    }
}

TEST("/index/workers", peers_that_cannot_start_are_an_error)
{
    static const struct {
        const char *mode, *message;
    } cases[] = {{"refuses", "cannot start an outline worker: no Python today"},
                 {"dies", "cannot start an outline worker: the outline worker ended with exit code 9"}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(Batch) batch;
        batch_init(&batch, 30);
        g_assert_false(outline(&batch, cases[i].mode, 2, 0, NULL, &error));
        g_assert_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED);
        g_assert_cmpstr(error->message, ==, cases[i].message);
        g_assert_cmpuint(batch.n_done, ==, 0);
    }
}

TEST("/index/workers", missing_program_is_an_error)
{
    g_autoptr(GError) error = NULL;
    g_auto(Batch) batch;
    batch_init(&batch, 1);
    const char *const argv[] = {"/nonexistent/program", NULL};
    AcrOutlineWorkers workers = {.argv = argv};
    AcrOutlineBatch files = {1, &batch, path_of, read_of, done, NULL};
    g_assert_false(acr_outline_by_workers(&files, &workers, &error));
    g_assert_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED);
    g_assert_true(g_str_has_prefix(error->message, "cannot start an outline worker: cannot run '/nonexistent"));
}

/* 64 peers are requested, but there are only enough descriptors for a few. */
TEST("/index/workers", few_descriptors_make_few_peers)
{
    struct rlimit was, few;
    g_autoptr(GArray) taken = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GError) error = NULL;
    g_auto(Batch) batch = {0};
    batch_init(&batch, 1000);
    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &was), ==, 0);
    few = was;
    few.rlim_cur = 104;
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
    for (int fd; (fd = dup(STDERR_FILENO)) >= 0;)
        g_array_append_val(taken, fd);
    g_assert_cmpuint(taken->len, >, 8);
    for (guint i = 0; i < 6; i++)
        close(g_array_index(taken, int, i));
    bool ok = outline(&batch, "serves", ACR_OUTLINE_MAX_JOBS, 0, NULL, &error);
    for (guint i = 6; i < taken->len; i++)
        close(g_array_index(taken, int, i));
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &was), ==, 0);
    g_assert_no_error(error);
    g_assert_true(ok);
    for (gsize i = 0; i < 1000; i++)
        assert_rows(&batch, i);
}

/* Only the peer that creates the file can work, the first of eight. If the file exists, no peer can. */
TEST("/index/workers", one_peer_does_it_all_where_others_are_refused)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("acr-workers-XXXXXX", &error);
    g_autofree char *file = g_build_filename(folder, "first", NULL);
    g_auto(Batch) batch = {0};
    batch_init(&batch, 400);
    set_source(&batch, 3, "fail");
    assert_ok(outline(&batch, file, 8, 0, NULL, &error), error);
    g_assert_cmpstr(result(&batch, 3), ==, "!odd.py is too much");
    for (gsize i = 4; i < 400; i++)
        assert_rows(&batch, i);
    g_assert_false(outline(&batch, file, 8, 0, NULL, &error));
    g_assert_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED);
    g_assert_cmpstr(error->message, ==, "cannot start an outline worker: there is one already");
    g_assert_cmpint(g_remove(file), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

TEST("/index/workers", interruption_ends_it)
{
    g_autoptr(GError) error = NULL;
    g_auto(Batch) batch;
    batch_init(&batch, 2);
    set_source(&batch, 0, "hang");
    set_source(&batch, 1, "hang");
    AcrInterrupt interrupt = {.signal = SIGINT};
    assert_fails_with(outline(&batch, "serves", 2, 0, &interrupt, &error), error, ACR_INDEX_ERROR,
                      ACR_INDEX_ERROR_INTERRUPTED);
}
