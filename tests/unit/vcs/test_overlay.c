/* Tests of overlays: which paths they have, what they return, and which files count as changed. */
#include <string.h>
#include <unistd.h>

#include "vcs_fixture.h"

static AcrSnapshot *sample(const Sandbox *box)
{
    make_repo(box, "r");
    put(box, "r/a/f", "one\n");
    put(box, "r/g", "two\n");
    g_autofree char *link = sandbox_path(box, "r/link");
    g_assert_cmpint(symlink("a", link), ==, 0);
    commit_all(box, "r");
    return commit_ok(box, "r", "HEAD");
}

BOX_TEST("/vcs/overlay", paths_that_may_be_written)
{
    static const char *const allowed[] = {"a/f",   "a/new",      "new/deep/file", "a b", "..x",
                                          "x/..y", ".gitignore", ".github/x",     "\xff"};
    static const char *const refused[] = {
        "",       "/",    "/etc/passwd", "a/../g", "..",          ".",           "./g",
        "a//f",   "a/",   "a/.",         ".git",   ".git/config", ".GIT/config", "a/.Git/x",
        "link/f", "link", "g/below",     "a",      "../x"};
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GBytes) text = bytes_of("x");
    for (gsize i = 0; i < G_N_ELEMENTS(allowed); i++)
        g_assert_true(acr_overlay_path_ok(overlay, allowed[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autoptr(GError) error = NULL;
        g_test_message("%s", refused[i]);
        g_assert_false(acr_overlay_path_ok(overlay, refused[i]));
        assert_fails_with(acr_overlay_write(overlay, refused[i], 0, text, &error), error,
                          ACR_VCS_ERROR, ACR_VCS_ERROR_FAILED);
    }
    write_ok(overlay, "n", "x");
    g_assert_false(acr_overlay_path_ok(overlay, "n/below"));
    write_ok(overlay, "m/below", "x");
    g_assert_false(acr_overlay_path_ok(overlay, "m"));
    g_autofree char *long_path = g_strnfill(5000, 'x');
    g_assert_false(acr_overlay_path_ok(overlay, long_path));
}

static void expect_changed(const AcrOverlay *overlay, const char *expected)
{
    g_auto(GStrv) changed = acr_overlay_changed(overlay);
    assert_text(g_strjoinv(" ", changed), expected);
}

BOX_TEST("/vcs/overlay", only_what_differs_counts_as_changed)
{
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    expect_changed(overlay, "");
    write_ok(overlay, "g", "changed\n");
    write_ok(overlay, "b", "new\n");
    g_assert_true(acr_overlay_remove(overlay, "a/f", &error));
    expect_changed(overlay, "a/f b g");
    g_assert_false(acr_overlay_has(overlay, "a/f"));
    g_assert_true(acr_overlay_has(overlay, "b"));
    assert_fails_with(acr_overlay_read(overlay, "a/f", &error), error, ACR_VCS_ERROR,
                      ACR_VCS_ERROR_NOT_FOUND);
    assert_fails_with(acr_overlay_remove(overlay, "a/f", &error), error, ACR_VCS_ERROR,
                      ACR_VCS_ERROR_NOT_FOUND);
    g_autoptr(AcrOverlay) copy = acr_overlay_copy(overlay);
    write_ok(overlay, "g", "two\n"); /* the same content as in the snapshot */
    write_ok(overlay, "a/f", "one\n");
    g_assert_true(acr_overlay_remove(overlay, "b", &error));
    expect_changed(overlay, "");
    g_autoptr(GBytes) nothing = acr_overlay_diff(overlay, &error);
    g_assert_cmpuint(g_bytes_get_size(nothing), ==, 0);
    expect_changed(copy, "a/f b g");
    g_autoptr(GBytes) text = acr_overlay_read(copy, "g", &error);
    g_assert_cmpmem(g_bytes_get_data(text, NULL), g_bytes_get_size(text), "changed\n", 8);
    g_autoptr(GBytes) untouched = acr_overlay_read(copy, "link", &error);
    g_assert_cmpmem(g_bytes_get_data(untouched, NULL), g_bytes_get_size(untouched), "a", 1);
}

BOX_TEST("/vcs/overlay", new_files_that_git_ignores_are_named)
{
    make_repo(box, "r");
    put(box, "r/.gitignore", "*.gen.py\n/build/\n");
    put(box, "r/pkg/.gitignore", "!kept.gen.py\nlocal\n");
    put(box, "r/.git/info/exclude", "*.tmp\n");
    put(box, "r/f", "x\n");
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(tree);
    write_ok(overlay, "f", "y\n");
    write_ok(overlay, "pkg/kept.gen.py", "y\n");
    g_assert_null(acr_overlay_ignored(overlay));
    write_ok(overlay, "pkg/other.gen.py", "y\n");
    write_ok(overlay, "pkg/local/deep/x", "y\n");
    write_ok(overlay, "build/x", "y\n");
    write_ok(overlay, "sub/build/x", "y\n");
    write_ok(overlay, "a.tmp", "y\n");
    g_autofree char *told = acr_overlay_ignored(overlay);
    g_assert_nonnull(
        g_strrstr(told, ": 'a.tmp', 'build/x', 'pkg/local/deep/x', 'pkg/other.gen.py'"));
    g_assert_null(strstr(told, "sub"));
}

BOX_TEST("/vcs/overlay", generated_files_of_packages_are_found)
{
    make_repo(box, "r");
    put(box, "r/.gitignore", "_version.py\n*_pb2.py\nsettings.py\n");
    put(box, "r/src/p/__init__.py", "");
    put(box, "r/d/x.py", "");
    commit_all(box, "r");
    put(box, "r/src/p/_version.py", "v = 1\n");
    put(box, "r/src/p/a_pb2.py",
        "# -*- coding: utf-8 -*-\n# Generated by the compiler.  DO NOT EDIT!\n");
    put(box, "r/src/p/settings.py", "KEY = 'secret'\n");
    put(box, "r/d/_version.py", "v = 1\n"); /* not in a package */
    g_autofree char *link = sandbox_path(box, "r/src/p/b_version.py");
    g_assert_cmpint(symlink("/etc/passwd", link), ==, 0);
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r"), head = commit_ok(box, "r", "HEAD");
    g_autoptr(GHashTable) found = acr_snapshot_generated(tree), none = acr_snapshot_generated(head);
    g_assert_cmpuint(g_hash_table_size(found), ==, 2);
    g_assert_true(g_hash_table_contains(found, "src/p/_version.py"));
    g_assert_true(g_hash_table_contains(found, "src/p/a_pb2.py"));
    g_assert_cmpuint(g_hash_table_size(none), ==, 0);
}
