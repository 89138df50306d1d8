/* Tests of opening repositories of all kinds. */
#include <string.h>
#include <unistd.h>

#include "vcs_fixture.h"

static void open_fails(const Sandbox *sandbox, const char *dir, int code, const char *says)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = sandbox_path(sandbox, dir);
    AcrRepo *repo = acr_repo_open(path, &error);
    g_assert_null(repo);
    g_assert_error(error, ACR_VCS_ERROR, code);
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, says));
    g_assert_null(strchr(error->message, '\n'));
}

BOX_TEST("/vcs/repo", missing_folder_and_file_are_told_apart)
{
    put(box, "file", "x");
    open_fails(box, "none", ACR_VCS_ERROR_NOT_FOUND, "no such folder");
    open_fails(box, "file/below", ACR_VCS_ERROR_NOT_FOUND, "no such folder");
    open_fails(box, "file", ACR_VCS_ERROR_FAILED, "is not a folder");
}

BOX_TEST("/vcs/repo", folder_in_a_working_tree_opens_the_repository_around_it)
{
    make_repo(box, "r");
    put(box, "r/sub/deep/f", "x");
    g_autoptr(AcrRepo) top = open_ok(box, "r");
    g_autoptr(AcrRepo) below = open_ok(box, "r/sub/deep");
    g_autofree char *expected = sandbox_path(box, "r");
    g_autofree char *git_folder = sandbox_path(box, "r/.git");
    g_assert_true(acr_repo_is_git(top));
    g_assert_false(acr_repo_is_bare(top));
    g_assert_cmpstr(acr_repo_workdir(top), ==, expected);
    g_assert_cmpstr(acr_repo_path(top), ==, git_folder);
    g_assert_cmpstr(acr_repo_workdir(below), ==, expected);
}

BOX_TEST("/vcs/repo", plain_folder_has_no_git)
{
    put(box, "p/f", "x");
    put(box, "p/.venv/pyvenv.cfg", "home = /usr/bin");
    g_autoptr(AcrRepo) repo = open_ok(box, "p");
    g_autofree char *expected = sandbox_path(box, "p");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "p");
    g_assert_cmpuint(acr_snapshot_size(tree), ==, 1);
    g_assert_false(acr_repo_is_git(repo));
    g_assert_false(acr_repo_is_bare(repo));
    g_assert_cmpstr(acr_repo_workdir(repo), ==, expected);
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_snapshot_of_commit(repo, "HEAD", &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_NOT_FOUND);
}

BOX_TEST("/vcs/repo", git_file_that_leads_nowhere_is_an_error)
{
    put(box, "p/.git", "gitdir: /nowhere/at/all\n");
    open_fails(box, "p", ACR_VCS_ERROR_FAILED, ".git");
}

BOX_TEST("/vcs/repo", bare_is_seen_without_configuration)
{
    make_repo(box, "r");
    put(box, "r/f", "x");
    commit_all(box, "r");
    git(box, "", "clone -q --bare r named.git");
    g_autoptr(AcrRepo) named = open_ok(box, "named.git");
    g_assert_true(acr_repo_is_bare(named));
    g_assert_null(acr_repo_workdir(named));
    /* a git folder without a configuration file, and one whose configuration wrongly says that it
     * is not bare */
    git(box, "", "clone -q --bare r shape");
    g_autofree char *config = sandbox_path(box, "shape/config");
    unlink(config);
    g_autoptr(AcrRepo) shape = open_ok(box, "shape");
    g_assert_true(acr_repo_is_bare(shape));
    put(box, "shape/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
    g_autoptr(AcrRepo) copied = open_ok(box, "shape");
    g_assert_true(acr_repo_is_bare(copied));
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_snapshot_of_worktree(shape, &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_UNSUPPORTED);
}

BOX_TEST("/vcs/repo", linked_working_tree_has_its_own_head_and_files)
{
    make_repo(box, "r");
    put(box, "r/f", "one");
    commit_all(box, "r");
    git(box, "r", "worktree add -q -b other ../linked");
    put(box, "linked/f", "two");
    put(box, "linked/g", "new");
    commit_all(box, "linked");
    put(box, "linked/f", "three");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "linked");
    g_autoptr(AcrSnapshot) head = commit_ok(box, "linked", "HEAD");
    assert_text(content(tree, "f"), "three");
    assert_text(content(head, "f"), "two");
    g_assert_cmpstr(acr_snapshot_commit(tree), ==, acr_snapshot_commit(head));
    /* a linked worktree of a bare repository */
    git(box, "", "clone -q --bare r bare.git");
    git(box, "bare.git", "worktree add -q ../of-bare main");
    g_autoptr(AcrRepo) of_bare = open_ok(box, "of-bare");
    g_assert_false(acr_repo_is_bare(of_bare));
}

BOX_TEST("/vcs/repo", git_folder_may_lie_elsewhere)
{
    git(box, "", "init -q -b main --separate-git-dir=apart w");
    /* otherwise the git folder does not name its working tree */
    git(box, "w", "config core.worktree ../w");
    put(box, "w/f", "x");
    commit_all(box, "w");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "w");
    assert_text(listing(tree), "100644 f\n");
}

BOX_TEST("/vcs/repo", harmless_extensions_do_not_matter)
{
    make_repo(box, "r");
    put(box, "r/f", "x");
    commit_all(box, "r");
    git(box, "r", "config core.repositoryformatversion 1");
    git(box, "r", "config extensions.partialclone origin");
    git(box, "r", "config extensions.worktreeConfig true");
    git(box, "r", "config extensions.preciousObjects true");
    git(box, "r", "config extensions.objectFormat sha1");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_assert_cmpuint(acr_snapshot_size(tree), ==, 1);
    put(box, "r/.git/config.worktree", "[core]\n\tbare = true\n");
    g_autoptr(AcrRepo) bare = open_ok(box, "r");
    g_assert_true(acr_repo_is_bare(bare));
}

BOX_TEST("/vcs/repo", sha256_is_refused_by_name)
{
    git(box, "", "init -q --object-format=sha256 r");
    put(box, "r/d/f", "x");
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r/d");
    assert_text(listing(tree), "100644 d/f\n");
    g_assert_nonnull(strstr(acr_snapshot_remarks(tree), "its working tree is read as a folder"));
    git(box, "", "clone -q --bare r bare");
    open_fails(box, "bare", ACR_VCS_ERROR_UNSUPPORTED, "uses SHA-256 object ids, which acr-host cannot read");
}

BOX_TEST("/vcs/repo", unknown_formats_are_unsupported)
{
    make_repo(box, "r");
    put(box, "r/.git/config", "[core]\nrepositoryformatversion = 1\n[extensions]\nrefStorage = reftable\n");
    open_fails(box, "r", ACR_VCS_ERROR_UNSUPPORTED, "does not store its refs as files");
    put(box, "r/.git/config", "[core]\nrepositoryformatversion = 1\n[extensions]\nsomethingNew = true\n");
    open_fails(box, "r", ACR_VCS_ERROR_UNSUPPORTED, "extensions.somethingnew");
}

BOX_TEST("/vcs/repo", owner_does_not_matter)
{
    if (geteuid() != 0) {
        g_test_skip("only root can give a folder away");
        return;
    }
    make_repo(box, "r");
    put(box, "r/f", "x");
    commit_all(box, "r");
    const char *argv[] = {"chown", "-R", "12345:12345", "r", NULL};
    g_assert_cmpint(run_in(box, "", argv, NULL, NULL), ==, 0);
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_autoptr(AcrSnapshot) head = commit_ok(box, "r", "HEAD");
    g_assert_cmpuint(acr_snapshot_size(tree), ==, 1);
    g_assert_cmpuint(acr_snapshot_size(head), ==, 1);
}

/* Makes object folders o1, o2, … that each name the next as an alternate, and opens a repository
 * that names the first. */
static bool opens_with_chain(const Sandbox *box, guint n, GError **error)
{
    for (guint i = 1; i <= n; i++) {
        g_autofree char *file = g_strdup_printf("r/o%u/info/alternates", i);
        g_autofree char *next = g_strdup_printf("%s/r/o%u\n", box->root, i + 1);
        put(box, file, i < n ? next : "");
    }
    g_autofree char *path = sandbox_path(box, "r");
    g_autoptr(AcrRepo) repo = acr_repo_open(path, error);
    g_autoptr(AcrSnapshot) snapshot = repo ? acr_snapshot_of_commit(repo, "HEAD", error) : NULL;
    return snapshot != NULL;
}

BOX_TEST("/vcs/repo", alternates_of_alternates_are_followed_as_far_as_git_does)
{
    g_autoptr(GError) error = NULL;
    make_repo(box, "r");
    put(box, "r/f", "x\n");
    commit_all(box, "r");
    g_autofree char *first = g_strdup_printf("%s/r/o1\n", box->root);
    put(box, "r/.git/objects/info/alternates", first);
    bool opens = opens_with_chain(box, 5, &error); /* the depth that git follows */
    g_assert_no_error(error);
    g_assert_true(opens);
    assert_fails_with(opens_with_chain(box, 6, &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_TOO_BIG);
}

BOX_TEST("/vcs/repo", alternates_have_a_number)
{
    g_autoptr(GString) names = g_string_new(NULL);
    make_repo(box, "r");
    put(box, "r/f", "x\n");
    commit_all(box, "r");
    for (guint i = 1; i <= 64; i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *file = g_strdup_printf("r/o%u/info/alternates", i + 1);
        put(box, file, "");
        g_string_append_printf(names, "%s/r/o%u\n", box->root, i + 1);
        put(box, "r/.git/objects/info/alternates", names->str);
        if (i == 63) /* with the repository's own folder, this is the maximum */
            assert_ok(opens_with_chain(box, 0, &error), error);
    }
    g_autoptr(GError) error = NULL;
    assert_fails_with(opens_with_chain(box, 0, &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_TOO_BIG);
}
