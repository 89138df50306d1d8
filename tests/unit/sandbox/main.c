/* Runs the tests of sandbox, and holds what its files share. */
#include "test_sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/http.h"

void box_init(Box *box)
{
    g_autoptr(GError) error = NULL;
    box->root = g_dir_make_tmp("acr-box-XXXXXX", &error);
    g_assert_no_error(error);
}

void box_clear(Box *box)
{
    g_autoptr(GError) error = NULL;
    assert_ok(acr_dir_remove(box->root, &error), error);
    g_clear_pointer(&box->root, g_free);
}

char *box_path(const Box *box, const char *name)
{
    return *name ? g_build_filename(box->root, name, NULL) : g_strdup(box->root);
}

void box_make(const Box *box, const char *name)
{
    g_autofree char *path = box_path(box, name);
    g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
}

static void make_parent(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
}

void box_put(const Box *box, const char *name, const char *text, int mode)
{
    g_autofree char *path = box_path(box, name);
    make_parent(path);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    g_assert_cmpint(chmod(path, (mode_t)mode), ==, 0);
}

void box_link(const Box *box, const char *target, const char *name)
{
    g_autofree char *path = box_path(box, name);
    make_parent(path);
    g_assert_cmpint(symlink(target, path), ==, 0);
}

char *box_get(const Box *box, const char *name)
{
    char *text = NULL;
    g_autofree char *path = box_path(box, name);
    return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

bool box_has(const Box *box, const char *name)
{
    struct stat st;
    g_autofree char *path = box_path(box, name);
    return lstat(path, &st) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *box_names(const Box *box, const char *name)
{
    g_autofree char *path = box_path(box, name);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *entry; dir && (entry = g_dir_read_name(dir));)
        g_ptr_array_add(names, g_strdup(entry));
    g_ptr_array_sort(names, by_name);
    g_ptr_array_add(names, NULL);
    return g_strjoinv(" ", (char **)names->pdata);
}

AcrSnapshot *box_snapshot(const Box *box, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = box_path(box, name);
    g_autoptr(AcrRepo) repo = made(acr_repo_open(path, &error), error);
    AcrSnapshot *snapshot = made(acr_snapshot_of_worktree(repo, &error), error);
    return snapshot;
}

char *box_run(const Box *box, const char *const *argv)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrSpawnResult) result = {0};
    AcrSpawn spawn = {.argv = argv, .cwd = box->root, .timeout_ms = 60000};
    assert_ok(acr_spawn_run(&spawn, &result, &error), error);
    if (result.exit_code != 0)
        g_test_message("%s: %.*s", argv[0], (int)g_bytes_get_size(result.err),
                       (const char *)g_bytes_get_data(result.err, NULL));
    g_assert_cmpint(result.exit_code, ==, 0);
    gsize len;
    const char *data = g_bytes_get_data(result.out, &len);
    return g_strndup(data ? data : "", len);
}

int main(int argc, char **argv)
{
    g_assert_true(acr_http_global_init(NULL));
    return run_tests(argc, argv);
}
