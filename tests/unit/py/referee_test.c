/* Outliner and referee as native/ is handed them: an index over real files, and what compiles. */
#include "py_fixture.h"

#include <string.h>

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
    bool ok = acr_spawn_run(&spawn, &result, &error);
    g_assert_no_error(error);
    g_assert_true(ok && result.exit_code == 0);
}

static bool outline_all(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    return acr_outline_one_by_one(batch, acr_python_outline, ctx, error);
}

/* A repository with one commit, its snapshot, and the index of that by the real outliner. */
static AcrIndex *real_index(const char *root)
{
    g_autoptr(GError) error = NULL;
    git(root, (const char *const[]){"git", "init", "-q", NULL});
    git(root, (const char *const[]){"git", "add", "-A", NULL});
    git(root, (const char *const[]){"git", "-c", "user.name=t", "-c", "user.email=t@t", "commit",
                                    "-q", "-m", "one", NULL});
    g_autoptr(AcrRepo) repo = acr_repo_open(root, &error);
    g_assert_no_error(error);
    g_autoptr(AcrSnapshot) snapshot = acr_snapshot_of_commit(repo, "HEAD", &error);
    g_assert_no_error(error);
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

static void index_of_files(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *root = g_dir_make_tmp("acr-py-XXXXXX", &error);
    g_assert_no_error(error);
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
    g_autoptr(GArray) shapes =
        acr_index_methods(index, g_array_index(ancestors, guint32, 0), "shape");
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

static void compiles(void)
{
    g_autoptr(GError) error = NULL;
    const AcrReferee *referee = acr_python_referee(the_python());
    g_autoptr(GBytes) good = bytes_of("def f():\n    return 1\n"),
                      bad = bytes_of("def f():\nreturn 1\n");
    g_autofree char *message = NULL;
    bool ok = false;
    g_assert_true(referee->compiles(referee->ctx, "a/b.py", good, &ok, &message, &error));
    g_assert_no_error(error);
    g_assert_true(ok);
    g_assert_null(message);
    g_assert_true(referee->compiles(referee->ctx, "a/\xff.py", bad, &ok, &message, &error));
    g_assert_no_error(error);
    g_assert_false(ok);
    g_assert_true(g_str_has_prefix(message, "line 2: "));
}

static void lint(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *why = NULL;
    const AcrReferee *referee = acr_python_referee(the_python());
    g_autoptr(GBytes) before = bytes_of("def f():\n    return no_such\n");
    g_autoptr(GBytes) moved = bytes_of("import os\n\n\ndef f():\n    return no_such\n");
    g_autoptr(GBytes) worse = bytes_of("def f():\n    return no_such, nor_such\n");
    g_autoptr(GBytes) fresh = bytes_of("a = b\n");
    g_autoptr(GBytes) fine = bytes_of("a = 1\n");
    GBytes *const versions[] = {worse, moved}, *const others[] = {fine, fine, fresh};
    const AcrRefereeFile files[] = {{"pkg/a.py", before, versions, 2},
                                    {"pkg/fine.py", before, others, 1},
                                    {"pkg/new.py", NULL, others, 3}};
    guint got[] = {99, 99, 99, 99, 99, 99};
    bool ok = referee->lint(referee->ctx, files, 3, got, &why, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    g_assert_cmpstr(why, ==, NULL);
    const guint wanted[] = {1, 0, 0, 0, 0, 1};
    g_assert_cmpmem(got, sizeof got, wanted, sizeof wanted);
    g_assert_true(referee->lint(referee->ctx, files, 0, got, &why, &error));
    g_autofree char *after_lint = probe(the_python(), "echo", "fine");
    g_assert_cmpstr(after_lint, ==, "fine");
}

static void lint_fails(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *why = NULL;
    const AcrReferee *referee = acr_python_referee(the_python());
    g_autoptr(GBytes) one = bytes_of("a = b\n");
    g_autoptr(GBytes) two = bytes_of("a = 1\n");
    GBytes *const versions[] = {one, two};
    const AcrRefereeFile file = {"../a.py", NULL, versions, 2};
    guint got[] = {99, 99};
    g_assert_true(referee->lint(referee->ctx, &file, 1, got, &why, &error));
    g_assert_no_error(error);
    g_assert_nonnull(strstr(why, "not a path in a repository"));
    g_assert_cmpuint(got[0], ==, ACR_LINT_UNKNOWN);
    g_assert_cmpuint(got[1], ==, ACR_LINT_UNKNOWN);
}

void add_referee_tests(void)
{
    g_test_add_func("/py/referee/real_files_are_indexed", index_of_files);
    g_test_add_func("/py/referee/referee_compiles", compiles);
    g_test_add_func("/py/referee/referee_lints", lint);
    g_test_add_func("/py/referee/a_linter_that_fails_says_nothing", lint_fails);
}
