/* Tests of which files are indexed, and how failures are handled. */
#include "index_fixture.h"

#include <string.h>

TEST("/index/build", test_paths_are_known_by_whole_parts)
{
    static const char *const tests[] = {"test/a.py",   "tests/a.py",    "a/tests/b/c.py", "a/test/b.py",
                                        "test_a.py",   "a/test_b.py",   "a_test.py",      "a/b_test.py",
                                        "conftest.py", "a/conftest.py", "test_.py",       "_test.py"};
    static const char *const others[] = {
        "a.py",     "testing/a.py", "a/testsuite/b.py", "atest.py",       "contest.py", "a/latest.py",        "test.py",
        "tests.py", "testa.py",     "Tests/a.py",       "a/conftest.pyi", "test_a.txt", "a/b/test_data/c.py", ""};
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_assert_true(acr_index_is_test_path(tests[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        g_assert_false(acr_index_is_test_path(others[i]));
}

TEST("/index/build", what_product_code_imports_is_no_test)
{
    static const TestFile files[] = {
        {"setup.py", "I|run|1|tests.run|\n"},
        {"tests/run.py", "!never"},
        {"tests/test_web.py", "!never"},
        {"web/__init__.py", "I|Client|1|.test.client|Client\nI|Lint|2|web.utils|lint_test\n"},
        {"web/other.py", "I|mock|1|unittest.mock|\n"},
        {"web/test/__init__.py", ""},
        {"web/test/client.py", "I|tools|1|..test|tools\n"},
        {"web/test/test_client.py", "!never"},
        {"web/test/tools.py", ""},
        {"web/utils/lint_test.py", ""},
        {NULL, NULL}};
    static const char *const expected[] = {"setup.py",           "web/__init__.py",   "web/other.py",
                                           "web/test/client.py", "web/test/tools.py", "web/utils/lint_test.py"};
    g_autoptr(AcrIndex) index = index_of(files);
    g_assert_cmpuint(acr_index_n_files(index), >=, G_N_ELEMENTS(expected));
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_assert_cmpint(acr_index_find_file(index, expected[i]), >=, 0);
        g_assert_false(acr_index_is_test(index, expected[i]));
    }
    g_assert_true(acr_index_is_test(index, "tests/run.py"));
    g_assert_true(acr_index_is_test(index, "web/test/test_client.py"));
}

TEST("/index/build", only_python_files_that_are_no_tests)
{
    static const TestFile files[] = {
        {"b.py", "A|x|1|1|\n"},    {"a/c.py", ""},      {"a/b.py", "A|y|1|1|\n"}, {"a-b.py", ""},
        {"tests/a.py", "!never"},  {"a.pyi", "!never"}, {"a.PY", "!never"},       {"a.py.txt", "!never"},
        {"conftest.py", "!never"}, {NULL, NULL}};
    static const char *const expected[] = {"a-b.py", "a/b.py", "a/c.py", "b.py"};
    g_autoptr(AcrIndex) index = index_of(files);
    g_assert_cmpuint(acr_index_n_files(index), ==, G_N_ELEMENTS(expected));
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        const AcrIndexFile *file = acr_index_file(index, i);
        g_assert_cmpstr(file->path, ==, expected[i]);
        g_assert_cmpint(acr_index_find_file(index, expected[i]), ==, (gssize)i);
        g_assert_cmpstr(acr_snapshot_entry(acr_index_snapshot(index), file->entry)->path, ==, expected[i]);
        g_assert_null(file->unparsed);
    }
    g_assert_cmpint(acr_index_find_file(index, "a/d.py"), ==, -1);
    g_assert_cmpint(acr_index_find_file(index, ""), ==, -1);
    g_assert_cmpuint(acr_index_file(index, 1)->n_symbols, ==, 1);
    g_assert_cmpuint(acr_index_file(index, 3)->first_symbol, ==, 1);
}

TEST("/index/build", failing_file_costs_itself_only)
{
    static const TestFile files[] = {{"a.py", "A|x|1|1|\n"},       {"b.py", "!took too long\n"},
                                     {"c.py", "X|3|bad syntax\n"}, {"d.py", "X|2|bad\nnonsense\n"},
                                     {"e.py", "A|y|1|1|\n"},       {NULL, NULL}};
    static const char *const expected[] = {NULL, "took too long", "line 3: bad syntax", "line 2: bad", NULL};
    AcrIndexStats stats;
    g_autoptr(AcrIndex) index = index_of(files);
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++)
        g_assert_cmpstr(acr_index_file(index, i)->unparsed, ==, expected[i]);
    acr_index_stats(index, &stats);
    g_assert_cmpuint(stats.files, ==, 5);
    g_assert_cmpuint(stats.symbols, ==, 2);
    g_assert_cmpuint(stats.unparsed, ==, 3);
    g_assert_cmpuint(stats.parsed, ==, 5);
    g_assert_cmpuint(stats.cached, ==, 0);
    g_assert_cmpuint(acr_index_symbol(index, 1)->file, ==, 4);
}

TEST("/index/build", file_whose_object_is_missing_has_no_symbols)
{
    static const TestFile files[] = {{"a.py", "!never"}, {NULL, NULL}};
    g_autoptr(AcrSnapshot) snapshot = snapshot_without_objects(files);
    g_autoptr(GError) error = NULL;
    AcrOutliner outliner = fake_outliner();
    g_autoptr(AcrIndex) index = acr_index_build(snapshot, &(AcrIndexOptions){.outliner = &outliner}, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(acr_index_n_files(index), ==, 1);
    g_assert_nonnull(acr_index_file(index, 0)->unparsed);
    g_assert_cmpstr(acr_index_file(index, 0)->unparsed, !=, "never");
    g_assert_cmpuint(n_symbols(index), ==, 0);
}

TEST("/index/build", size_of_a_file_has_a_limit)
{
    g_autofree char *most = g_strnfill(ACR_INDEX_MAX_SOURCE_BYTES, '!');
    g_autofree char *more = g_strnfill(ACR_INDEX_MAX_SOURCE_BYTES + 1, '!');
    memcpy(most, "!read\n", 6);
    const TestFile files[] = {{"a.py", most}, {"b.py", more}, {NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(files);
    g_assert_cmpstr(acr_index_file(index, 0)->unparsed, ==, "read");
    g_assert_cmpstr(acr_index_file(index, 1)->unparsed, ==, "larger than 16 MiB");
}

static bool note_order(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    for (gsize i = 0; i < batch->n; i++)
        g_string_append_printf(ctx, "%s ", batch->path(batch->ctx, i));
    return acr_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED, "seen enough");
}

TEST("/index/build", large_files_are_outlined_first)
{
    g_autofree char *large = g_strnfill(ACR_OUTLINE_BIG_BYTES, '!');
    const TestFile files[] = {{"a.py", ""}, {"b.py", large}, {"c.py", ""}, {"d.py", large}, {0}};
    g_autoptr(AcrSnapshot) snapshot = snapshot_of(files);
    g_autoptr(GString) order = g_string_new(NULL);
    AcrOutliner outliner = {.version = "fake", .ctx = order, .outline = note_order};
    g_assert_null(acr_index_build(snapshot, &(AcrIndexOptions){.outliner = &outliner}, NULL));
    g_assert_cmpstr(order->str, ==, "b.py d.py a.py c.py ");
}

/* Files b00.py …, all of which fail, and then one that succeeds. */
static TestFile *failing(guint n, GPtrArray *names)
{
    TestFile *files = g_new0(TestFile, n + 2);
    for (guint i = 0; i < n; i++) {
        g_ptr_array_add(names, g_strdup_printf("b%02u.py", i));
        files[i] = (TestFile){g_ptr_array_index(names, i), "!gone\n"};
    }
    files[n] = (TestFile){"c.py", ""};
    return files;
}

TEST("/index/build", outliner_that_is_gone_is_an_error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autofree TestFile *files = failing(60, names);
    g_autoptr(AcrSnapshot) snapshot = snapshot_of(files);
    g_autoptr(GError) error = NULL;
    AcrOutliner outliner = fake_outliner();
    g_assert_null(acr_index_build(snapshot, &(AcrIndexOptions){.outliner = &outliner}, &error));
    g_assert_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED);
    g_assert_cmpstr(error->message, ==, "parsing stopped after repeated failures: gone");
}

TEST("/index/build", forty_failures_are_not_the_end)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autofree TestFile *files = failing(40, names);
    g_autoptr(AcrIndex) index = index_of(files);
    g_assert_cmpuint(acr_index_n_files(index), ==, 41);
}

/* An outliner that fails on each file, and counts the files. */
typedef struct {
    bool lasting;
    guint asked;
} Failing;

static bool outline_failing(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    Failing *failing = ctx;
    for (gsize i = 0; i < batch->n; i++) {
        g_autoptr(GBytes) source = batch->read(batch->ctx, i);
        AcrOutlineFailure failure = {"no memory", failing->lasting};
        failing->asked++;
        batch->done(batch->ctx, i, NULL, &failure);
    }
    return true;
}

TEST("/index/build", failure_that_lasts_is_kept_for_a_day)
{
    static const TestFile files[] = {{"a.py", "A|x|1|1|\n"}, {NULL, NULL}};
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = made(g_dir_make_tmp("acr-index-XXXXXX", &error), error);
    g_autofree char *path = g_build_filename(dir, "cache", NULL);
    g_autoptr(AcrSnapshot) snapshot = snapshot_of(files);
    for (guint round = 0; round < 4; round++) {
        Failing failing = {.lasting = round >= 2};
        AcrOutliner outliner = {&failing, "fake", outline_failing};
        g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
        AcrIndexOptions options = {&outliner, cache, NULL, NULL};
        g_autoptr(AcrIndex) index = made(acr_index_build(snapshot, &options, &error), error);
        g_assert_cmpuint(failing.asked, ==, round < 3 ? 1 : 0);
        g_assert_true(acr_index_file(index, 0)->failed);
        g_assert_cmpstr(acr_index_file(index, 0)->unparsed, ==, "no memory");
    }
    /* If the run records which files are omitted, today's failures must not change that. */
    Failing failing = {.lasting = true};
    AcrOutliner outliner = {&failing, "fake", outline_failing};
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    AcrIndexOptions options = {&outliner, cache, known, NULL};
    g_autoptr(AcrIndex) index = made(acr_index_build(snapshot, &options, &error), error);
    g_assert_cmpuint(failing.asked, ==, 1);
    g_assert_true(acr_dir_remove(dir, NULL));
}

TEST("/index/build", interruption_ends_it)
{
    static const TestFile files[] = {{"a.py", ""}, {NULL, NULL}};
    g_autoptr(AcrSnapshot) snapshot = snapshot_of(files);
    g_autoptr(GError) error = NULL;
    AcrOutliner outliner = fake_outliner();
    AcrInterrupt interrupt = {.signal = SIGINT};
    g_assert_null(
        acr_index_build(snapshot, &(AcrIndexOptions){.outliner = &outliner, .interrupt = &interrupt}, &error));
    g_assert_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_INTERRUPTED);
}

TEST("/index/build", repository_without_python_has_an_empty_index)
{
    static const TestFile files[] = {{"README", "text"}, {NULL, NULL}};
    gsize n;
    g_autoptr(AcrIndex) index = index_of(files);
    g_assert_cmpuint(acr_index_n_files(index), ==, 0);
    g_assert_cmpuint(n_symbols(index), ==, 0);
    g_assert_null(acr_index_lookup(index, ACR_SYMBOL_CLASS, "A", &n));
    g_assert_cmpuint(n, ==, 0);
    (void)acr_index_names(index, ACR_SYMBOL_CLASS, &n);
    g_assert_cmpuint(n, ==, 0);
    assert_names(index, acr_index_resolve_class(index, "A"), "");
    assert_names(index, acr_index_resolve_class(index, "a.A"), "");
}

TEST("/index/build", references_are_counted)
{
    static const TestFile files[] = {{"a.py", "A|x|1|1|\n"}, {NULL, NULL}};
    AcrIndex *index = index_of(files);
    g_assert_true(acr_index_ref(index) == index);
    acr_index_unref(index);
    g_assert_cmpstr(acr_index_symbol(index, 0)->name, ==, "x");
    acr_index_unref(index);
    acr_index_unref(NULL);
}
