/* Tests of saving and loading snapshots. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vcs_fixture.h"

static void save_ok(const Sandbox *box, AcrSnapshot *snapshot, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = sandbox_path(box, name);
    assert_ok(acr_snapshot_save(snapshot, dir, &error), error);
}

static AcrSnapshot *load(const Sandbox *box, AcrRepo *repo, const char *name, GError **error)
{
    g_autofree char *dir = sandbox_path(box, name);
    return acr_snapshot_load(repo, dir, error);
}

static void expect_same(AcrSnapshot *a, AcrSnapshot *b)
{
    g_autofree char *two = acr_snapshot_digest(b);
    assert_text(acr_snapshot_digest(a), two);
    g_assert_cmpstr(acr_snapshot_commit(a), ==, acr_snapshot_commit(b));
    g_assert_cmpstr(acr_snapshot_remarks(a), ==, acr_snapshot_remarks(b));
    g_assert_cmpint(acr_snapshot_is_worktree(a), ==, acr_snapshot_is_worktree(b));
    for (gsize i = 0; i < acr_snapshot_size(a); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) left = made(acr_snapshot_read(a, i, &error), error);
        g_autoptr(GBytes) right = made(acr_snapshot_read(b, i, &error), error);
        g_assert_true(g_bytes_equal(left, right));
    }
}

static void remove_tree(const Sandbox *box, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = sandbox_path(box, name);
    assert_ok(acr_dir_remove(path, &error), error);
}

static void dirty_repo(const Sandbox *box)
{
    make_repo(box, "r");
    put(box, "r/d/f", "one\n");
    put(box, "r/g", "two\n");
    commit_all(box, "r");
    put(box, "r/g", "changed\n");
    put(box, "r/100% \xe9\n", "odd name\n");
    put_bytes(box, "r/nul", "a\0b", 3);
    make_repo(box, "r/inner");
    put(box, "r/inner/x", "x");
    g_autofree char *link = sandbox_path(box, "r/link");
    g_assert_cmpint(symlink("d/f", link), ==, 0);
}

BOX_TEST("/vcs/saved", commit_needs_its_repository)
{
    dirty_repo(box);
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    save_ok(box, snapshot, "s/deep");
    g_autoptr(AcrRepo) repo = open_ok(box, "r");
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrSnapshot) again = made(load(box, repo, "s/deep", &error), error);
    expect_same(snapshot, again);
    assert_fails_with(load(box, NULL, "s/deep", &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING);
    make_repo(box, "other");
    commit_all(box, "other");
    g_autoptr(AcrRepo) other = open_ok(box, "other");
    assert_fails_with(load(box, other, "s/deep", &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING);
}

BOX_TEST("/vcs/saved", working_tree_may_be_gone)
{
    dirty_repo(box);
    g_autoptr(AcrSnapshot) snapshot = worktree_ok(box, "r");
    save_ok(box, snapshot, "s");
    save_ok(box, snapshot, "s"); /* save again, over the existing files */
    g_autofree char *kept = sandbox_path(box, "kept.git");
    g_autofree char *dot_git = sandbox_path(box, "r/.git");
    g_assert_cmpint(rename(dot_git, kept), ==, 0);
    remove_tree(box, "r");
    g_autoptr(AcrRepo) repo = open_ok(box, "kept.git");
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrSnapshot) again = made(load(box, repo, "s", &error), error);
    g_autofree char *odd = content(again, "100% \xe9\n");
    g_assert_cmpstr(odd, ==, "odd name\n");
    g_assert_nonnull(strstr(acr_snapshot_remarks(again), "inner"));
    save_ok(box, again, "s2"); /* a loaded snapshot can be saved elsewhere */
    g_autoptr(AcrSnapshot) third = made(load(box, repo, "s2", &error), error);
    expect_same(again, third);
    g_autofree char *one = acr_snapshot_digest(snapshot);
    g_autofree char *two = acr_snapshot_digest(again);
    g_assert_cmpstr(one, ==, two);
    assert_fails_with(load(box, NULL, "s", &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING);
}

BOX_TEST("/vcs/saved", plain_folder_may_be_gone)
{
    put(box, "p/d/f", "one\n");
    put(box, "p/empty", "");
    g_autoptr(AcrSnapshot) snapshot = worktree_ok(box, "p");
    save_ok(box, snapshot, "s");
    remove_tree(box, "p");
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrSnapshot) again = made(load(box, NULL, "s", &error), error);
    expect_same(snapshot, again);
}

BOX_TEST("/vcs/saved", staged_contents_are_kept_too)
{
    make_repo(box, "r");
    put(box, "r/f", "one\n");
    git(box, "r", "add f"); /* the content is in the object database, but not in HEAD */
    g_autoptr(AcrSnapshot) snapshot = worktree_ok(box, "r");
    save_ok(box, snapshot, "s");
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrSnapshot) again = made(load(box, NULL, "s", &error), error);
    expect_same(snapshot, again);
}

static void load_damaged(const Sandbox *box, const char *says)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(load(box, NULL, "s", &error));
    g_assert_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, says));
}

BOX_TEST("/vcs/saved", damage_is_seen)
{
    g_autoptr(GError) error = NULL;
    assert_fails_with(load(box, NULL, "s", &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_NOT_FOUND);
    put(box, "p/f", "one\n");
    g_autoptr(AcrSnapshot) snapshot = worktree_ok(box, "p");
    save_ok(box, snapshot, "s");
    g_autofree char *entries = sandbox_path(box, "s/entries"), *whole = NULL;
    gsize len;
    g_assert_true(g_file_get_contents(entries, &whole, &len, &error));
    for (gsize at = 0; at < len; at++) { /* flip each bit in turn */
        g_autofree char *broken = g_memdup2(whole, len);
        broken[at] ^= 1;
        put_bytes(box, "s/entries", broken, len);
        load_damaged(box, "damaged");
    }
    for (gsize at = 0; at < len; at++) { /* truncate at each byte in turn */
        put_bytes(box, "s/entries", whole, at);
        load_damaged(box, "damaged");
    }
    put_bytes(box, "s/entries", whole, len);
    g_autofree char *blob = g_strdup("s/blobs/5626abf0f72e58d7a153368ba57db4c673c0e171");
    put(box, blob, "two\n");
    g_autoptr(AcrSnapshot) again = made(load(box, NULL, "s", &error), error);
    assert_fails_with(acr_snapshot_read(again, 0, &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_FAILED);
    g_autofree char *file = sandbox_path(box, blob);
    g_assert_cmpint(unlink(file), ==, 0);
    assert_fails_with(acr_snapshot_read(again, 0, &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING);
    put(box, blob, "half"); /* a crash may leave this; saving again must repair it */
    save_ok(box, snapshot, "s");
    g_autoptr(AcrSnapshot) third = made(load(box, NULL, "s", &error), error);
    expect_same(snapshot, third);
}

BOX_TEST("/vcs/saved", folder_that_cannot_be_made_is_an_error)
{
    put(box, "p/f", "one\n");
    put(box, "file", "");
    g_autoptr(AcrSnapshot) snapshot = worktree_ok(box, "p");
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = sandbox_path(box, "file/s");
    assert_fails_with(acr_snapshot_save(snapshot, dir, &error), error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED);
}

/* git's answer about the git folder written for HEAD of "r", with "r" as its working tree;
 * owned. */
static char *ask_written(const Sandbox *box, const char *dir, const char *arguments)
{
    g_autofree char *git_dir = sandbox_path(box, dir), *tree = sandbox_path(box, "r");
    g_autofree char *all = g_strdup_printf("--git-dir=%s --work-tree=%s %s", git_dir, tree, arguments);
    char *said = git_output(box, "", all);
    return said ? g_strchomp(said) : g_strdup("");
}

static void write_git(const Sandbox *box, const char *dir)
{
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    g_autofree char *path = sandbox_path(box, dir);
    g_autoptr(GError) error = NULL;
    assert_ok(acr_snapshot_write_git(snapshot, path, &error), error);
}

/* The nearest tag is behind a merge whose other side has no tag. */
BOX_TEST("/vcs/saved", as_a_git_folder)
{
    make_repo(box, "r");
    put(box, "r/d/f", "one\n");
    commit_all(box, "r");
    write_git(box, "untagged");
    g_autofree char *head = git_output(box, "r", "rev-parse HEAD");
    assert_text(ask_written(box, "untagged", "log --all --format=%H"), g_strchomp(head));
    git(box, "r", "tag -a old -m old");
    put(box, "r/g", "two\n");
    commit_all(box, "r");
    git(box, "r", "tag -a near -m near");
    git(box, "r", "checkout -q -b side HEAD~1");
    put(box, "r/side", "three\n");
    commit_all(box, "r");
    git(box, "r", "merge -q -m merged near");
    write_git(box, "tagged");
    g_autofree char *status = ask_written(box, "tagged", "status --short"),
                    *described = ask_written(box, "tagged", "describe");
    g_assert_cmpstr(status, ==, "");
    assert_text(ask_written(box, "tagged", "tag"), "near\nold"); /* the parent on the other side */
    g_assert_true(g_str_has_prefix(described, "near-"));
}

/* A digest of the history of HEAD of "r"; owned. */
static char *git_digest(const Sandbox *box, bool *out_has_all_tags)
{
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    return acr_snapshot_git_digest(snapshot, out_has_all_tags);
}

/* Loose and packed tags, in folders, of other tags, and moved. */
BOX_TEST("/vcs/saved", tags_are_as_git_has_them)
{
    make_repo(box, "r");
    put(box, "r/f", "one\n");
    commit_all(box, "r");
    g_autofree char *untagged = git_digest(box, NULL);
    git(box, "r", "tag -a in -m in");
    git(box, "r", "tag -a out -m out in");
    git(box, "r", "tag -d in");
    git(box, "r", "tag rel/v1");
    git(box, "r", "tag moved");
    git(box, "r", "pack-refs --all");
    git(box, "r", "tag rel/deep/v2");
    put(box, "r/f", "two\n");
    commit_all(box, "r");
    write_git(box, "before");
    g_autofree char *described = ask_written(box, "before", "describe"), *tags = ask_written(box, "before", "tag"),
                    *first = git_digest(box, NULL);
    g_assert_true(g_str_has_prefix(described, "out-1-g"));
    g_assert_cmpstr(tags, ==, "moved\nout\nrel/deep/v2\nrel/v1");
    git(box, "r", "tag -f moved");
    write_git(box, "after");
    assert_text(ask_written(box, "after", "describe --tags"), "moved");
    g_autofree char *second = git_digest(box, NULL);
    git(box, "r", "tag renamed moved");
    git(box, "r", "tag -d moved");
    g_autofree char *third = git_digest(box, NULL);
    git(box, "r", "tag further HEAD~1"); /* older than the history that is written */
    g_autofree char *same = git_digest(box, NULL);
    g_assert_cmpstr(third, ==, same);
    g_assert_cmpstr(untagged, !=, first);
    g_assert_cmpstr(first, !=, second);
    g_assert_cmpstr(second, !=, third);
}

BOX_TEST("/vcs/saved", tags_have_a_ceiling)
{
    make_repo(box, "r");
    put(box, "r/f", "one\n");
    commit_all(box, "r");
    g_autofree char *head = g_strchomp(git_output(box, "r", "rev-parse HEAD"));
    g_autoptr(GString) packed = g_string_new(NULL);
    bool has_all = false;
    for (guint i = 0; i < ACR_VCS_MAX_TAGS; i++)
        g_string_append_printf(packed, "%s refs/tags/t%u\n", head, i);
    put(box, "r/.git/packed-refs", packed->str);
    g_autofree char *all = git_digest(box, &has_all);
    g_assert_true(has_all);
    git(box, "r", "tag x/one-more");
    g_autofree char *some = git_digest(box, &has_all);
    g_assert_false(has_all);
    g_assert_cmpstr(all, !=, some);
}

/* Covers links in circles, nested folders, and a tag behind very many tags. */
BOX_TEST("/vcs/saved", odd_tags_are_passed_over)
{
    make_repo(box, "r");
    put(box, "r/f", "one\n");
    commit_all(box, "r");
    g_autofree char *head = g_strchomp(git_output(box, "r", "rev-parse HEAD")), *last = g_strdup("HEAD");
    g_autoptr(GString) deep = g_string_new("r/.git/refs/tags/");
    for (guint i = 0; i < 20; i++) {
        g_autofree char *make = g_strdup_printf("tag -a chain%02u -m m %s", i, last);
        git(box, "r", make);
        g_free(last);
        last = g_strdup_printf("chain%02u", i);
        g_string_append(deep, "d/");
    }
    put(box, g_string_append(deep, "tag")->str, head);
    put(box, "r/.git/refs/tags/long", "ref: refs/tags/ref: refs/tags/ref: refs/tags/");
    write_git(box, "odd");
    g_autofree char *tags = ask_written(box, "odd", "tag");
    g_assert_true(g_str_has_prefix(tags, "chain00\nchain01\n"));
    g_assert_true(g_str_has_suffix(tags, "\nchain09"));
    assert_text(ask_written(box, "odd", "fsck --connectivity-only --no-dangling"), "");
}

/* Covers submodules, and files that are too large to be copied. */
BOX_TEST("/vcs/saved", what_no_sandbox_lays_is_not_deleted)
{
    make_repo(box, "r");
    put(box, "r/d/f", "one\n");
    commit_all(box, "r");
    g_autofree char *head = g_strchomp(git_output(box, "r", "rev-parse HEAD")),
                    *add = g_strdup_printf("update-index --add --cacheinfo 160000,%s,d/sub", head);
    stage_large_blob(box, "r", "big");
    git(box, "r", add);
    git(box, "r", "commit -q -m more");
    write_git(box, "more");
    g_autofree char *status = ask_written(box, "more", "status --short");
    g_assert_cmpstr(status, ==, "");
    assert_text(ask_written(box, "more", "ls-files"), "big\nd/f\nd/sub");
    put(box, "r/d/f", "two\n"); /* other files are handled as usual */
    assert_text(ask_written(box, "more", "status --short"), " M d/f");
}

BOX_TEST("/vcs/saved", line_ends_of_a_checkout_are_no_change)
{
    make_repo(box, "r");
    put(box, "r/f", "one\r\n");
    git(box, "r", "config core.autocrlf true");
    commit_all(box, "r");
    write_git(box, "converted");
    g_autofree char *status = ask_written(box, "converted", "status --short");
    g_assert_cmpstr(status, ==, "");
    g_autofree char *first = git_digest(box, NULL);
    git(box, "r", "config core.autocrlf false");
    write_git(box, "kept");
    assert_text(ask_written(box, "kept", "status --short"), " M f");
    g_autofree char *second = git_digest(box, NULL);
    g_assert_cmpstr(first, !=, second);
}

BOX_TEST("/vcs/saved", no_git_folder_without_a_commit)
{
    put(box, "folder/f", "x");
    g_autoptr(AcrSnapshot) snapshot = worktree_ok(box, "folder");
    g_autofree char *path = sandbox_path(box, "git");
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_snapshot_write_git(snapshot, path, &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_EMPTY);
    g_assert_null(acr_snapshot_git_digest(snapshot, NULL));
}
