/* Uses any bytes as the argument of every search call, also as a regular expression, and as a bug
 * location, on a small fixed repository. An answer must come, within its limits and in UTF-8. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "search/search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    const char *path, *text, *rows;
} File;

/* A file with symbols, and files for text searches: line ends, indentation, encodings,
 * repetitions. */
static const File files[] = {{"leaf.py",
                              "class Base:\n    def run(self):\n        return 1\n\n\nclass Leaf(Base):\n    x = 1\n",
                              "C\tBase\t1\t1\t1\t3\t\nD\tBase.run\t2\t2\t2\t3\nC\tLeaf\t6\t6\t6\t7\tBase\nA\tLeaf."
                              "x\t7\t7\t\n"},
                             {"pkg/ends.py", "def run():\r\n\treturn 1  \r\nx = 1\rx = 1\r\r\n  x = 1", ""},
                             {"pkg/latin.py", "# coding: latin-1\nname = '\xe9t\xe9'\nrun()\n", ""},
                             {"pkg/old.py", "print 'run', \xff\xfe\n", "X\t1\tinvalid syntax\n"},
                             {"pkg/same.py", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\naaaa\naaaa\naaaa\naaaab\n", ""},
                             {"test_leaf.py", "def test_run():\n    assert Leaf().run() == 1\n", ""},
                             {"notes.txt", "Leaf runs.\n", ""}};

static bool outline(void *ctx, const char *path, GBytes *bytes, GBytes **out_rows, GError **error)
{
    const char *rows = "";
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
        rows = strcmp(files[i].path, path) == 0 ? files[i].rows : rows;
    *out_rows = g_bytes_new_static(rows, strlen(rows));
    return true;
}

static bool outline_all(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    return acr_outline_one_by_one(batch, outline, ctx, error);
}

static AcrSearch *make_search(void)
{
    const AcrOutliner outliner = {.version = "fixed", .outline = outline_all};
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = g_dir_make_tmp("acr-fuzz-XXXXXX", &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(dir, files[i].path, NULL);
        g_autofree char *folder = g_path_get_dirname(path);
        g_assert_true(acr_dir_make(folder, &error));
        g_assert_true(g_file_set_contents(path, files[i].text, -1, &error));
    }
    g_autoptr(AcrRepo) repo = acr_repo_open(dir, &error);
    g_assert_no_error(error);
    g_autoptr(AcrSnapshot) snapshot = acr_snapshot_of_worktree(repo, &error);
    g_assert_no_error(error);
    g_autoptr(AcrIndex) index = acr_index_build(snapshot, &(AcrIndexOptions){.outliner = &outliner}, &error);
    g_assert_no_error(error);
    g_assert_true(acr_dir_remove(dir, &error));
    return acr_search_new(index);
}

/* Splits the input at NULs into at most three arguments. */
static void split(const uint8_t *data, size_t size, char *arguments[3])
{
    const char *at = (const char *)data, *end = at + size;
    for (int i = 0; i < 3; i++) {
        const char *stop = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        stop = stop ? stop : end;
        arguments[i] = g_strndup(at, (gsize)(stop - at));
        at = stop < end ? stop + 1 : end;
    }
}

static void run_calls(AcrSearch *search, char *const arguments[3])
{
    gsize n = 0;
    const AcrCallSpec *specs = acr_search_call_specs(&n);
    for (gsize i = 0; i < n; i++) {
        g_auto(AcrCall) call = {.spec = &specs[i]};
        g_auto(AcrAnswer) answer = {0};
        for (int value = 0; value < 3; value++)
            call.values[value] = g_strdup(arguments[value]);
        g_assert_true(acr_search_run(search, &call, &answer, NULL));
        g_assert_true(g_utf8_validate(answer.output, -1, NULL));
        g_assert_cmpuint(strlen(answer.output), <=, ACR_SEARCH_MAX_OUTPUT);
        g_assert_cmpuint(answer.places->len, <=, ACR_SEARCH_MAX_PLACES);
        g_assert_true(answer.ok == (answer.places->len > 0));
        g_free(acr_call_print(&call));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static AcrSearch
        *search; /* made once; the contents are kept in memory, because the folder is removed before the first search */
    search = search ? search : make_search();
    char *arguments[3];
    split(data, size, arguments);
    run_calls(search, arguments);
    char *marked[3] = {g_strconcat("re:", arguments[0], NULL), arguments[1], arguments[2]};
    run_calls(search, marked);
    g_free(marked[0]);
    g_autoptr(GPtrArray) locations = g_ptr_array_new_with_free_func((GDestroyNotify)acr_bug_location_free);
    g_ptr_array_add(locations, acr_bug_location_new(arguments[0], arguments[1], arguments[2], arguments[0]));
    g_autoptr(GPtrArray) found = acr_search_locate(search, locations);
    g_assert_cmpuint(found->len, <=, ACR_LOCATE_MAX_PLACES);
    for (int i = 0; i < 3; i++)
        g_free(arguments[i]);
    return 0;
}
