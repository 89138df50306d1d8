/* Runs the tests of index, and holds what its files share. */
#include "index_fixture.h"

#include "cache_fixture.h"

#include <string.h>

static void git(const char *dir, const char *const *arguments)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    static const char *const head[] = {"git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false"};
    for (gsize i = 0; i < G_N_ELEMENTS(head); i++)
        g_ptr_array_add(argv, (gpointer)head[i]);
    for (; *arguments; arguments++)
        g_ptr_array_add(argv, (gpointer)*arguments);
    g_ptr_array_add(argv, NULL);
    AcrSpawn spawn = {.argv = (const char *const *)argv->pdata, .cwd = dir};
    g_auto(AcrSpawnResult) result = {0};
    bool ok = made(acr_spawn_run(&spawn, &result, &error), error);
    g_assert_true(ok && result.exit_code == 0);
}

static void remove_folder(gpointer path)
{
    g_assert_true(acr_dir_remove(path, NULL));
    g_free(path);
}

static AcrSnapshot *make_snapshot(const TestFile *files, bool keep_objects)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *root = made(g_dir_make_tmp("acr-index-XXXXXX", &error), error);
    git(root, (const char *const[]){"init", "-q", NULL});
    for (; files->path; files++) {
        g_autofree char *path = g_build_filename(root, files->path, NULL);
        g_autofree char *dir = g_path_get_dirname(path);
        g_assert_true(acr_dir_make(dir, NULL));
        g_assert_true(g_file_set_contents(path, files->rows, -1, NULL));
    }
    git(root, (const char *const[]){"add", "-A", NULL});
    git(root, (const char *const[]){"commit", "-q", "--allow-empty", "-m", "one", NULL});
    g_autoptr(AcrRepo) repo = made(acr_repo_open(root, &error), error);
    AcrSnapshot *snapshot = made(acr_snapshot_of_commit(repo, "HEAD", &error), error);
    g_autofree char *objects = g_build_filename(root, ".git", "objects", NULL);
    if (!keep_objects)
        g_assert_true(acr_dir_remove(objects, NULL));
    g_test_queue_destroy(remove_folder, g_steal_pointer(&root));
    return snapshot;
}

AcrSnapshot *snapshot_of(const TestFile *files)
{
    return make_snapshot(files, true);
}

AcrSnapshot *snapshot_without_objects(const TestFile *files)
{
    return make_snapshot(files, false);
}

static bool outline(void *ctx, const char *path, GBytes *source, GBytes **out_rows, GError **error)
{
    gsize len;
    const char *data = g_bytes_get_data(source, &len);
    if (len > 0 && *data == '!') {
        g_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED, "%.*s", (int)strcspn(data + 1, "\n"), data + 1);
        return false;
    }
    char *rows = g_malloc(len + 1);
    for (gsize i = 0; i < len; i++)
        rows[i] = data[i] == '|' ? '\t' : data[i] == '^' ? '\x1f' : data[i];
    *out_rows = g_bytes_new_take(rows, len);
    return true;
}

static bool outline_all(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    return acr_outline_one_by_one(batch, outline, ctx, error);
}

AcrOutliner fake_outliner(void)
{
    return (AcrOutliner){.version = "fake", .outline = outline_all};
}

AcrIndex *index_of(const TestFile *files)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrSnapshot) snapshot = snapshot_of(files);
    AcrOutliner outliner = fake_outliner();
    AcrIndex *index = acr_index_build(snapshot, &(AcrIndexOptions){.outliner = &outliner}, &error);
    g_assert_no_error(error);
    g_assert_nonnull(index);
    return index;
}

char *names_of(const AcrIndex *index, GArray *ids)
{
    GString *names = g_string_new(NULL);
    for (guint i = 0; i < ids->len; i++) {
        const AcrSymbol *symbol = acr_index_symbol(index, g_array_index(ids, guint32, i));
        g_string_append_printf(names, "%s%s:%s", i ? " " : "", acr_index_file(index, symbol->file)->path,
                               symbol->qualname);
    }
    g_array_unref(ids);
    return g_string_free(names, FALSE);
}

gsize n_symbols(const AcrIndex *index)
{
    AcrIndexStats stats;
    acr_index_stats(index, &stats);
    return stats.symbols;
}

guint32 symbol_of(const AcrIndex *index, AcrSymbolKind kind, const char *path, const char *qualname)
{
    gint64 found = -1;
    for (guint32 id = 0; id < n_symbols(index); id++) {
        const AcrSymbol *symbol = acr_index_symbol(index, id);
        if (symbol->kind != kind || strcmp(symbol->qualname, qualname) != 0 ||
            strcmp(acr_index_file(index, symbol->file)->path, path) != 0)
            continue;
        g_assert_cmpint(found, ==, -1);
        found = id;
    }
    g_assert_cmpint(found, >=, 0);
    return (guint32)found;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], PEER_OPTION) == 0)
        return peer_main(argv[2]);
    if (argc == 5 && strcmp(argv[1], CHILD_ARGUMENT) == 0)
        return run_cache_child(argv + 2);
    return run_tests(argc, argv);
}
