/* Tests of writing files into a tree: where they are written, and that no link redirects them. */
#include "test_sandbox.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool lay(const Box *box, const char *path, guint32 mode, const char *text, GError **error)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    g_autoptr(GBytes) content = text ? g_bytes_new(text, strlen(text)) : NULL;
    g_autofree char *tree = box_path(box, "tree");
    int root = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    g_assert_cmpint(root, >=, 0);
    acr_helper_file(files, path, mode, content);
    bool ok = acr_tree_write(root, files, -1, error);
    close(root);
    return ok;
}

BOX_TEST("/sandbox/tree_write", files_are_written_replaced_and_removed)
{
    g_autoptr(GError) error = NULL;
    struct stat st;
    box_put(box, "tree/old", "old\n", 0644);
    box_put(box, "tree/gone", "x", 0644);
    g_assert_true(lay(box, "new/deep/file", ACR_MODE_FILE, "new\n", &error));
    g_assert_true(lay(box, "old", ACR_MODE_EXEC, "run\n", &error));
    g_assert_true(lay(box, "link", ACR_MODE_LINK, "old", &error));
    g_assert_true(lay(box, "gone", 0, NULL, &error));
    assert_ok(lay(box, "never/there", 0, NULL, &error), error);
    g_autofree char *deep = box_get(box, "tree/new/deep/file"), *old = box_get(box, "tree/old"),
                    *link = box_path(box, "tree/link"), *run = box_path(box, "tree/old");
    g_assert_cmpstr(deep, ==, "new\n");
    g_assert_cmpstr(old, ==, "run\n");
    assert_text(g_file_read_link(link, NULL), "old");
    g_assert_true(stat(run, &st) == 0 && (st.st_mode & 0777) == 0755);
    g_assert_false(box_has(box, "tree/gone") || box_has(box, "tree/never"));
}

BOX_TEST("/sandbox/tree_write", no_link_is_followed)
{
    static const char *const refused[] = {"folder/x", "folder/deep/x", "file/x", "plain/x"};
    box_put(box, "outside/kept", "kept\n", 0644);
    box_put(box, "tree/plain", "x", 0644);
    box_link(box, "../outside", "tree/folder");
    box_link(box, "../outside/kept", "tree/file");
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(lay(box, refused[i], ACR_MODE_FILE, "bad\n", &error));
        g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED);
        g_assert_nonnull(strstr(error->message, refused[i]));
    }
    g_autoptr(GError) error = NULL;
    /* A link at the path must itself be replaced. */
    g_assert_true(lay(box, "file", ACR_MODE_FILE, "mine\n", &error));
    g_assert_false(lay(box, "folder/kept", 0, NULL, &error));
    g_autofree char *kept = box_get(box, "outside/kept"), *mine = box_get(box, "tree/file");
    g_assert_cmpstr(kept, ==, "kept\n");
    assert_text(box_names(box, "outside"), "kept");
    g_assert_cmpstr(mine, ==, "mine\n");
}

BOX_TEST("/sandbox/tree_write", a_path_that_leads_out_is_refused)
{
    static const char *const refused[] = {"../x", "a/../../x", "/x", "a//x", "a/./x", "", "..", ".", "a/", "a/.."};
    box_make(box, "tree/a");
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autoptr(GError) error = NULL, removing = NULL;
        g_test_message("'%s'", refused[i]);
        assert_fails_with(lay(box, refused[i], ACR_MODE_FILE, "bad\n", &error), error, ACR_SANDBOX_ERROR,
                          ACR_SANDBOX_ERROR_FAILED);
        g_assert_false(lay(box, refused[i], 0, NULL, &removing));
    }
    g_autofree char *tree = box_names(box, "tree/a");
    assert_text(box_names(box, ""), "tree");
    g_assert_cmpstr(tree, ==, "");
}

/* Commands run as that user, and create files beside the written ones. */
BOX_TEST("/sandbox/tree_write", a_tree_belongs_to_its_user_from_the_top)
{
    static const char *const made[] = {"to", "to/a", "to/a/b.py"};
    gint64 uid = geteuid() == 0 ? 65534 : (gint64)geteuid();
    g_autofree char *remark = NULL;
    g_autoptr(GError) error = NULL;
    struct stat status;
    box_put(box, "from/a/b.py", "x = 1\n", 0644);
    box_make(box, "to");
    g_autoptr(AcrSnapshot) snapshot = box_snapshot(box, "from");
    g_autofree char *to = box_path(box, "to"), *gone = box_path(box, "gone");
    assert_ok(acr_tree_export(snapshot, to, uid, &remark, &error), error);
    for (gsize i = 0; i < G_N_ELEMENTS(made); i++) {
        g_autofree char *path = box_path(box, made[i]);
        g_assert_cmpint(lstat(path, &status), ==, 0);
        g_assert_cmpint(status.st_uid, ==, uid);
    }
    g_assert_false(acr_tree_export(snapshot, gone, uid, &remark, &error));
    g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, "cannot use the folder"));
}

#define GIT "git", "-C", "r", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"

static void run_git(const Box *box, const char *command, const char *first, const char *second)
{
    g_free(box_run(box, (const char *const[]){GIT, command, first, second, NULL}));
}

/* An object of the commit is missing, so there is no tree in which to run a command. */
BOX_TEST("/sandbox/tree_write", without_its_tree_nothing_is_run)
{
    static const char *const argv[] = {"true", NULL};
    g_auto(AcrExecuted) executed = {0};
    g_autoptr(GError) error = NULL;
    box_put(box, "r/a.py", "x = 1\n", 0644);
    run_git(box, "init", "-q", NULL);
    run_git(box, "add", "a.py", NULL);
    run_git(box, "commit", "-qm", "one");
    g_autofree char *folder = box_path(box, "r"), *objects = box_path(box, "r/.git/objects"),
                    *cache = box_path(box, "cache");
    g_autoptr(AcrRepo) repo = acr_repo_open(folder, &error);
    g_autoptr(AcrSnapshot) snapshot = made(acr_snapshot_of_commit(repo, "HEAD", &error), error);
    g_assert_true(acr_dir_remove(objects, NULL));
    AcrSandboxOptions options = {
        .backend = "plain", .snapshot = snapshot, .python = ACR_PYTHON_EXECUTABLE, .cache = cache};
    g_autoptr(AcrSandbox) sandbox = made(acr_sandbox_open(&options, &error), error);
    g_assert_false(acr_sandbox_run(sandbox, &(AcrExecution){.argv = argv}, &executed, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, "a.py"));
    g_assert_null(executed.out);
}
