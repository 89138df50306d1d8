/* Tests of writing an overlay into a working tree. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/base/syncs.h"
#include "vcs_fixture.h"

static AcrSnapshot *sample(const Sandbox *box)
{
    make_repo(box, "r");
    put(box, "r/a/f", "one\n");
    put(box, "r/a/g", "two\n");
    put(box, "r/only/here", "three\n");
    put(box, "r/run", "four\n");
    g_autofree char *run = sandbox_path(box, "r/run");
    g_autofree char *link = sandbox_path(box, "r/link");
    g_assert_cmpint(chmod(run, 0750), ==, 0);
    g_assert_cmpint(symlink("a", link), ==, 0);
    commit_all(box, "r");
    return commit_ok(box, "r", "HEAD");
}

static bool apply(const Sandbox *box, const AcrOverlay *overlay, GError **error)
{
    g_autofree char *workdir = sandbox_path(box, "r");
    bool is_known;
    return acr_overlay_apply(overlay, workdir, &is_known, error);
}

static mode_t mode_of(const Sandbox *box, const char *name)
{
    struct stat st;
    g_autofree char *path = sandbox_path(box, name);
    g_assert_cmpint(lstat(path, &st), ==, 0);
    return st.st_mode;
}

static void expect_text(const Sandbox *box, const char *name, const char *expected)
{
    assert_text(get(box, name), expected);
}

BOX_TEST("/vcs/apply", changes_new_files_and_removals)
{
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) text = bytes_of("new\n");
    g_autofree char *file = sandbox_path(box, "r/a/f");
    g_assert_cmpint(chmod(file, 0640), ==, 0);
    write_ok(overlay, "a/f", "changed\n");
    write_ok(overlay, "run", "changed\n");
    write_ok(overlay, "b/deep/new", "new\n");
    g_assert_true(acr_overlay_write(overlay, "b/script", ACR_MODE_EXEC, text, &error));
    g_assert_true(acr_overlay_write(overlay, "a/g", ACR_MODE_EXEC, text, &error));
    g_assert_true(acr_overlay_remove(overlay, "only/here", &error));
    g_assert_true(acr_overlay_remove(overlay, "link", &error));
    assert_ok(apply(box, overlay, &error), error);
    expect_text(box, "r/a/f", "changed\n");
    expect_text(box, "r/run", "changed\n");
    expect_text(box, "r/b/deep/new", "new\n");
    expect_text(box, "r/only/here", NULL);
    g_assert_cmpuint(mode_of(box, "r/a/f") & 07777, ==, 0640);
    g_assert_cmpuint(mode_of(box, "r/run") & 07777, ==, 0750);
    g_assert_cmpuint(mode_of(box, "r/a/g") & 0111, ==, 0111);
    g_assert_cmpuint(mode_of(box, "r/b/script") & 0100, ==, 0100);
    g_autofree char *only = sandbox_path(box, "r/only");
    g_autofree char *link = sandbox_path(box, "r/link");
    g_assert_false(g_file_test(only, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
    /* the working tree must now equal the overlay */
    g_autoptr(AcrSnapshot) after = worktree_ok(box, "r");
    assert_text(listing(after), "100644 a/f\n100755 a/g\n100644 b/deep/new\n100755 b/script\n100755 run\n");
}

/* Changes the tree by a script; applying must then fail and write nothing. */
static void expect_refused(const Sandbox *box, const AcrOverlay *overlay, const char *names)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *before = state_of(box, "r");
    g_autofree char *outside = state_of(box, "outside");
    g_assert_false(apply(box, overlay, &error));
    g_assert_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, names));
    g_autofree char *after = state_of(box, "r");
    g_autofree char *outside_after = state_of(box, "outside");
    g_assert_cmpstr(before, ==, after);
    g_assert_cmpstr(outside, ==, outside_after);
}

BOX_TEST("/vcs/apply", nothing_is_written_where_a_file_has_changed)
{
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    put(box, "outside/f", "one\n");
    write_ok(overlay, "a/f", "changed\n");
    write_ok(overlay, "n/new", "new\n");
    write_ok(overlay, "run", "changed\n");
    g_autofree char *file = sandbox_path(box, "r/a/f");
    g_autofree char *run = sandbox_path(box, "r/run");
    g_autofree char *folder = sandbox_path(box, "r/n");
    put(box, "r/a/f", "one\nmore\n");
    expect_refused(box, overlay, "'a/f' has changed since");
    put(box, "r/a/f", "oNe\n"); /* same length */
    expect_refused(box, overlay, "'a/f' has changed since");
    g_assert_cmpint(unlink(file), ==, 0);
    expect_refused(box, overlay, "'a/f' has changed since");
    /* same content, but through a symlink */
    g_assert_cmpint(symlink("../../outside/f", file), ==, 0);
    expect_refused(box, overlay, "'a/f' has changed since");
    g_assert_cmpint(unlink(file), ==, 0);
    put(box, "r/a/f", "one\n");
    put(box, "r/n/new", "there already\n");
    expect_refused(box, overlay, "'n/new' exists already");
    g_autofree char *new = sandbox_path(box, "r/n/new");
    g_assert_cmpint(unlink(new), ==, 0);
    g_assert_cmpint(rmdir(folder), ==, 0);
    g_assert_cmpint(symlink("../outside", folder), ==, 0);
    expect_refused(box, overlay, "'n/new'");
    g_assert_cmpint(unlink(folder), ==, 0);
    g_assert_cmpint(chmod(run, 0644), ==, 0);
    expect_refused(box, overlay, "'run' has changed since");
    g_assert_cmpint(chmod(run, 0755), ==, 0);
    g_assert_true(apply(box, overlay, &error));
    expect_text(box, "r/a/f", "changed\n");
    expect_text(box, "outside/f", "one\n");
}

BOX_TEST("/vcs/apply", symlinked_folder_is_refused)
{
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    write_ok(overlay, "a/f", "changed\n");
    g_autofree char *folder = sandbox_path(box, "r/a");
    g_autofree char *moved = sandbox_path(box, "outside");
    g_assert_cmpint(rename(folder, moved), ==, 0);
    g_assert_cmpint(symlink("../outside", folder), ==, 0);
    expect_refused(box, overlay, "'a/f'");
}

BOX_TEST("/vcs/apply", missing_working_tree_is_an_error)
{
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    write_ok(overlay, "a/f", "changed\n");
    bool is_known;
    assert_fails_with(acr_overlay_apply(overlay, "/nonexistent/folder", &is_known, &error), error, ACR_VCS_ERROR,
                      ACR_VCS_ERROR_FAILED);
}

BOX_TEST("/vcs/apply", failure_leaves_the_old_files)
{
    if (geteuid() == 0) {
        g_test_skip("root may write everywhere");
        return;
    }
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    write_ok(overlay, "a/f", "changed\n");
    write_ok(overlay, "only/here", "changed\n");
    g_autofree char *only = sandbox_path(box, "r/only");
    g_assert_cmpint(chmod(only, 0555), ==, 0);
    g_assert_false(apply(box, overlay, &error));
    g_assert_cmpint(chmod(only, 0755), ==, 0);
    expect_text(box, "r/a/f", "one\n");
    g_autoptr(AcrSnapshot) after = worktree_ok(box, "r");
    g_autofree char *one = acr_snapshot_digest(snapshot);
    g_autofree char *two = acr_snapshot_digest(after);
    g_assert_cmpstr(one, ==, two);
}

BOX_TEST("/vcs/apply", changes_are_on_the_disk_when_it_returns)
{
    static const char *const changed[] = {"r/a/f", "r/a", "r/b/new", "r/b", "r/only", NULL};
    put(box, "r/only/stays", "four\n");
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    write_ok(overlay, "a/f", "changed\n");
    write_ok(overlay, "b/new", "new\n");
    g_assert_true(acr_overlay_remove(overlay, "only/here", &error));
    forget_syncs();
    g_assert_true(apply(box, overlay, &error));
    for (gsize i = 0; changed[i]; i++) {
        g_autofree char *path = sandbox_path(box, changed[i]);
        g_test_message("%s", changed[i]);
        g_assert_true(is_synced(path));
    }
}

/* The state after a kill between two files: some files have their new content, and one is staged
 * beside its path. */
BOX_TEST("/vcs/apply", what_was_killed_half_way_is_finished)
{
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    write_ok(overlay, "a/f", "changed\n");
    write_ok(overlay, "a/g", "changed too\n");
    write_ok(overlay, "b/new", "new\n");
    g_assert_true(acr_overlay_remove(overlay, "only/here", &error));
    g_assert_true(apply(box, overlay, &error));
    put(box, "r/a/g", "two\n");
    assert_ok(apply(box, overlay, &error), error);
    expect_text(box, "r/a/f", "changed\n");
    expect_text(box, "r/a/g", "changed too\n");
    g_autoptr(AcrSnapshot) after = worktree_ok(box, "r");
    assert_text(listing(after), "100644 a/f\n100644 a/g\n100644 b/new\n120000 link\n100755 run\n");
}
