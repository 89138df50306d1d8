/* Tests of the outliner and referee for native/: an index of real files, and which code
 * compiles. */
#include "py_fixture.h"
#include "py/py_private.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static AcrRefereeWorker *make_worker(const AcrInterrupt *interrupt)
{
    g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
    return acr_referee_worker_new(exe, package_dir(), interrupt);
}

static void put(const char *root, const char *path, const char *text)
{
    g_autofree char *full = g_build_filename(root, path, NULL);
    g_autofree char *dir = g_path_get_dirname(full);
    g_assert_true(acr_dir_make(dir, NULL));
    g_assert_true(g_file_set_contents(full, text, -1, NULL));
}

static void git(const char *root, const char *const *argv)
{
    g_autoptr(GError) error = NULL;
    AcrSpawn spawn = {.argv = argv, .cwd = root};
    g_auto(AcrSpawnResult) result = {0};
    bool ok = made(acr_spawn_run(&spawn, &result, &error), error);
    g_assert_true(ok && result.exit_code == 0);
}

static bool outline_all(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    return acr_outline_one_by_one(batch, acr_python_outline, ctx, error);
}

/* Makes a repository with one commit, and indexes its snapshot with the real outliner. */
static AcrIndex *real_index(const char *root)
{
    g_autoptr(GError) error = NULL;
    git(root, (const char *const[]){"git", "init", "-q", NULL});
    git(root, (const char *const[]){"git", "add", "-A", NULL});
    git(root,
        (const char *const[]){"git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "one", NULL});
    g_autoptr(AcrRepo) repo = made(acr_repo_open(root, &error), error);
    g_autoptr(AcrSnapshot) snapshot = made(acr_snapshot_of_commit(repo, "HEAD", &error), error);
    AcrOutliner outliner = {the_python(), "test", outline_all};
    AcrIndex *index = acr_index_build(snapshot, &(AcrIndexOptions){.outliner = &outliner}, &error);
    g_assert_no_error(error);
    return index;
}

static void put_package(const char *root)
{
    put(root, "pkg/__init__.py", "from .dense import MutableMatrix as Matrix\n");
    put(root, "pkg/dense.py",
        "from .base import Base\n\n\nclass MutableMatrix(Base):\n    \"\"\"doc\"\"\"\n\n"
        "    def __mul__(self, other):\n        return other\n\n    __rmul__ = __mul__\n");
    put(root, "pkg/base.py",
        "import abc\n\n\nclass Base(abc.ABC):\n    @property\n    def shape(\n        self,\n    "
        "):\n"
        "        return 1\n\n    @shape.setter\n    def shape(self, v): pass\n");
    put(root, "old.py", "print 'python 2'\n");
    put(root, "odd.py", "x = '\xe9'\nclass Latin: pass\n");
    put(root, "tests/test_a.py", "class NotHere: pass\n");
}

TEST("/py/referee", real_files_are_indexed)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *root = made(g_dir_make_tmp("acr-py-XXXXXX", &error), error);
    put_package(root);
    g_autoptr(AcrIndex) index = real_index(root);
    AcrIndexStats stats;
    acr_index_stats(index, &stats);
    g_assert_cmpuint(stats.files, ==, 5);
    g_assert_cmpuint(stats.unparsed, ==, 1);
    const AcrIndexFile *old = acr_index_file(index, (gsize)acr_index_find_file(index, "old.py"));
    g_assert_true(g_str_has_prefix(old->unparsed, "line 1: "));
    g_autoptr(GArray) matrix = acr_index_resolve_class(index, "pkg.Matrix");
    g_assert_cmpuint(matrix->len, ==, 1);
    guint32 id = g_array_index(matrix, guint32, 0);
    g_assert_cmpstr(acr_index_symbol(index, id)->qualname, ==, "MutableMatrix");
    g_autoptr(GArray) ancestors = acr_index_ancestors(index, id);
    g_assert_cmpuint(ancestors->len, ==, 1);
    g_autoptr(GArray) shapes = acr_index_methods(index, g_array_index(ancestors, guint32, 0), "shape");
    g_assert_cmpuint(shapes->len, ==, 2);
    const AcrSymbol *shape = acr_index_symbol(index, g_array_index(shapes, guint32, 0));
    g_assert_cmpuint(shape->first, ==, 5);
    g_assert_cmpuint(shape->def, ==, 6);
    g_assert_cmpuint(shape->sig_last, ==, 8);
    g_assert_cmpuint(shape->last, ==, 9);
    gsize n;
    g_assert_nonnull(acr_index_lookup(index, ACR_SYMBOL_CLASS, "Latin", &n));
    g_assert_null(acr_index_lookup(index, ACR_SYMBOL_CLASS, "NotHere", &n));
    g_assert_true(acr_dir_remove(root, NULL));
}

TEST("/py/referee", referee_compiles)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrRefereeWorker) worker = make_worker(NULL);
    const AcrReferee *referee = acr_referee_worker_referee(worker);
    g_autoptr(GBytes) good = bytes_of("def f():\n    return 1\n"), bad = bytes_of("def f():\nreturn 1\n");
    g_autofree char *message = NULL;
    bool ok = false;
    assert_ok(referee->compiles(referee->ctx, "a/b.py", good, &ok, &message, &error), error);
    g_assert_true(ok);
    g_assert_null(message);
    assert_ok(referee->compiles(referee->ctx, "a/\xff.py", bad, &ok, &message, &error), error);
    g_assert_false(ok);
    g_assert_true(g_str_has_prefix(message, "line 2: "));
}

TEST("/py/referee", referee_lints)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *why = NULL;
    g_autoptr(AcrRefereeWorker) worker = make_worker(NULL);
    const AcrReferee *referee = acr_referee_worker_referee(worker);
    g_autoptr(GBytes) before = bytes_of("def f():\n    return no_such\n");
    g_autoptr(GBytes) moved = bytes_of("import os\n\n\ndef f():\n    return no_such\n");
    g_autoptr(GBytes) worse = bytes_of("def f():\n    return no_such, nor_such\n");
    g_autoptr(GBytes) fresh = bytes_of("a = b\n");
    g_autoptr(GBytes) fine = bytes_of("a = 1\n");
    GBytes *const versions[] = {worse, moved}, *const others[] = {fine, fine, fresh};
    const AcrRefereeFile files[] = {
        {"pkg/a.py", before, versions, 2}, {"pkg/fine.py", before, others, 1}, {"pkg/new.py", NULL, others, 3}};
    guint got[] = {99, 99, 99, 99, 99, 99};
    assert_ok(referee->lint(referee->ctx, files, 3, got, &why, &error), error);
    g_assert_cmpstr(why, ==, NULL);
    const guint wanted[] = {1, 0, 0, 0, 0, 1};
    g_assert_cmpmem(got, sizeof got, wanted, sizeof wanted);
    g_assert_true(referee->lint(referee->ctx, files, 0, got, &why, &error));
}

TEST("/py/referee", a_linter_that_fails_says_nothing)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *why = NULL;
    g_autoptr(AcrRefereeWorker) worker = make_worker(NULL);
    const AcrReferee *referee = acr_referee_worker_referee(worker);
    g_autoptr(GBytes) one = bytes_of("a = b\n");
    g_autoptr(GBytes) two = bytes_of("a = 1\n");
    GBytes *const versions[] = {one, two};
    const AcrRefereeFile file = {"../a.py", NULL, versions, 2};
    guint got[] = {99, 99};
    assert_ok(referee->lint(referee->ctx, &file, 1, got, &why, &error), error);
    g_assert_nonnull(strstr(why, "not a path in a repository"));
    g_assert_cmpuint(got[0], ==, ACR_LINT_UNKNOWN);
    g_assert_cmpuint(got[1], ==, ACR_LINT_UNKNOWN);
}

/* The result of acr.worker_probe.FUNCTION(argument) in the worker, as text; owned. */
static char *probe_worker(AcrRefereeWorker *worker, const char *function, const char *argument)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *name = g_strconcat("worker_probe.", function, NULL);
    g_autoptr(GBytes) bytes = bytes_of(argument), out = NULL;
    assert_ok(acr_py_referee_ask(worker, name, bytes, 60000, &out, &error), error);
    return acr_bytes_text(out);
}

static void check_alive(AcrRefereeWorker *worker)
{
    assert_text(probe_worker(worker, "echo", "fine"), "fine");
}

static pid_t pid_of(AcrRefereeWorker *worker)
{
    g_autofree char *pid = probe_worker(worker, "pid", "");
    return (pid_t)g_ascii_strtoll(pid, NULL, 10);
}

TEST("/py/referee", the_worker_has_no_rights)
{
    g_autoptr(AcrRefereeWorker) worker = make_worker(NULL);
    g_setenv("SOME_API_KEY", "secret", TRUE);
    assert_text(probe_worker(worker, "attacks", package_dir()), "");
}

static const char *path_of_one(void *ctx, gsize i)
{
    return "a.py";
}

static GBytes *source_of_one(void *ctx, gsize i)
{
    return bytes_of(package_dir());
}

static void keep_rows(void *ctx, gsize i, GBytes *rows, const AcrOutlineFailure *failure)
{
    *(char **)ctx = rows ? acr_bytes_text(rows) : g_strdup(failure->why);
}

TEST("/py/outliner", the_worker_has_no_rights_and_is_the_interpreters_program)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL), *package = package_copy(),
                    *outline = g_build_filename(package, "acr", "outline.py", NULL), *could = NULL;
    const char *const argv[] = {exe, package, "outlines", NULL};
    AcrOutlineWorkers workers = {.argv = argv, .jobs = 1};
    AcrOutlineBatch batch = {.n = 1, .ctx = &could, .path = path_of_one, .read = source_of_one, .done = keep_rows};
    const char *text = "from acr.worker_probe import outline_attacks as outline\n";
    g_assert_true(g_file_set_contents(outline, text, -1, NULL));
    g_assert_true(acr_outline_by_workers(&batch, &workers, &error));
    g_assert_no_error(error);
#ifndef ACR_SANITIZED
    g_assert_true(g_str_has_prefix(could, "python3")); /* python3 parses faster than libpython */
#endif
    g_assert_null(strchr(could, ','));
    g_assert_true(acr_dir_remove(package, NULL));
}

TEST("/py/referee", the_workers_folder_is_private_and_goes_with_it)
{
    AcrRefereeWorker *worker = make_worker(NULL);
    g_autofree char *folder = probe_worker(worker, "write", "text");
    g_autofree char *file = g_build_filename(folder, "file", NULL);
    GStatBuf status;
    g_assert_true(g_file_test(file, G_FILE_TEST_IS_REGULAR));
    g_assert_cmpint(g_stat(folder, &status), ==, 0);
    g_assert_cmpint(status.st_mode & 0777, ==, 0700);
    acr_referee_worker_free(worker);
    g_assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
}

/* A killed program leaves this state. */
TEST("/py/referee", what_a_kill_left_is_swept)
{
    g_autofree char *ours = g_strdup_printf("acr-host-%u", geteuid());
    g_autofree char *left = g_build_filename(g_get_tmp_dir(), ours, "tmp-left", NULL);
    g_autoptr(AcrRefereeWorker) worker = make_worker(NULL);
    g_assert_cmpint(g_mkdir_with_parents(left, 0700), ==, 0);
    g_autofree char *folder = probe_worker(worker, "write", "text");
    g_assert_false(g_file_test(left, G_FILE_TEST_EXISTS));
}

TEST("/py/referee", a_worker_that_is_killed_is_started_again)
{
    g_autoptr(AcrRefereeWorker) worker = make_worker(NULL);
    pid_t first = pid_of(worker);
    g_assert_cmpint(kill(first, SIGKILL), ==, 0);
    check_alive(worker);
    g_assert_cmpint(pid_of(worker), !=, first);
}

static void fails(AcrRefereeWorker *worker, const char *function, gint64 timeout_ms, AcrPyError code)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = bytes_of("x"), out = NULL;
    assert_fails_with(acr_py_referee_ask(worker, function, bytes, timeout_ms, &out, &error), error, ACR_PY_ERROR,
                      (gint)code);
    g_assert_null(out);
}

TEST("/py/referee", a_worker_is_ended_at_its_limits)
{
    AcrInterrupt interrupt = {0};
    g_autoptr(AcrRefereeWorker) worker = make_worker(&interrupt);
    fails(worker, "worker_probe.hang", 300, ACR_PY_ERROR_TIMEOUT);
    fails(worker, "worker_probe.crash", 60000, ACR_PY_ERROR_LOST);
#ifndef __SANITIZE_ADDRESS__ /* with AddressSanitizer, workers have no memory limit */
    /* the function raises MemoryError */
    fails(worker, "worker_probe.hold", 60000, ACR_PY_ERROR_FAILED);
#endif
    check_alive(worker);
    interrupt.signal = SIGINT;
    fails(worker, "worker_probe.hang", 60000, ACR_PY_ERROR_INTERRUPTED);
}

TEST("/py/referee", a_worker_that_cannot_start_is_an_error)
{
    g_autoptr(AcrRefereeWorker) worker = acr_referee_worker_new("/bin/true", "/", NULL);
    g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
    g_autoptr(AcrRefereeWorker) empty = acr_referee_worker_new(exe, "/nowhere", NULL);
    fails(worker, "worker_probe.echo", 60000, ACR_PY_ERROR_LOST);
    fails(empty, "worker_probe.echo", 60000, ACR_PY_ERROR_ENVIRONMENT);
}

/* Asks whether `text` has more errors than an empty file; owned. */
static GBytes *question_of(const char *text)
{
    GByteArray *fields = g_byte_array_new();
    const char *const parts[] = {"a.py", "", "2", text, ""};
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
        acr_py_fields_add(fields, parts[i], strlen(parts[i]));
    return g_byte_array_free_to_bytes(fields);
}

/* Code that costs pylint endless memory, depth or time must not affect the next question. */
TEST("/py/referee", hostile_code_costs_its_own_answer_only)
{
    g_autoptr(GString) deep = g_string_new("class C0: pass\n");
    for (guint i = 1; i < 2000; i++)
        g_string_append_printf(deep, "class C%u(C%u): pass\n", i, i - 1);
    g_string_append(deep, "C1999().nothing\n");
    const char *const texts[] = {"x = 'a' * 10**9\nx.nothing\ny = x * 10**3\n", deep->str};
    g_autoptr(AcrRefereeWorker) worker = make_worker(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) question = question_of(texts[i]), out = NULL;
        if (!acr_py_referee_ask(worker, "lint.lint", question, 2000, &out, &error))
            g_assert_error(error, ACR_PY_ERROR, ACR_PY_ERROR_TIMEOUT);
        check_alive(worker);
    }
}
