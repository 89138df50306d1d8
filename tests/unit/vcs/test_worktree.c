/* Tests of snapshots of working trees and of folders without git. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vcs_fixture.h"

static void expect_listing(const Sandbox *box, const char *dir, const char *expected)
{
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, dir);
    assert_text(listing(tree), expected);
}

BOX_TEST("/vcs/worktree", files_are_taken_as_they_lie)
{
    make_repo(box, "r");
    put(box, "r/modified", "old");
    put(box, "r/deleted", "old");
    put(box, "r/staged", "old");
    put(box, "r/unstaged/x", "old");
    put(box, "r/same", "same");
    commit_all(box, "r");
    put(box, "r/modified", "new\r\n");
    put(box, "r/staged", "new");
    put(box, "r/added", "new");
    git(box, "r", "add staged added");
    git(box, "r", "rm -q --cached unstaged/x");
    put(box, "r/untracked/deep/file", "new");
    put(box, "r/env/pyvenv.cfg", "home = /usr/bin");
    put(box, "r/env/lib/site.py", "");
    g_autofree char *deleted = sandbox_path(box, "r/deleted");
    g_autofree char *same = sandbox_path(box, "r/same");
    g_assert_cmpint(unlink(deleted), ==, 0);
    g_assert_cmpint(chmod(same, 0755), ==, 0);
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    assert_text(listing(tree), "100644 added\n100644 modified\n100755 same\n100644 staged\n100644 unstaged/x\n"
                               "100644 untracked/deep/file\n");
    g_assert_true(acr_snapshot_is_worktree(tree));
    /* later changes of the file must not show */
    put(box, "r/modified", "later");
    assert_text(content(tree, "modified"), "new\r\n");
    assert_text(content(tree, "same"), "same");
}

BOX_TEST("/vcs/worktree", ignored_files_are_left_out_tracked_ones_not)
{
    make_repo(box, "r");
    put(box, "excludes", "*.global\n");
    g_autofree char *excludes = g_strdup_printf("config core.excludesFile %s/excludes", box->root);
    git(box, "r", excludes);
    put(box, "r/.gitignore", "*.o\nbuild/\n/top\n!keep.o\ndocs/**/gen\n");
    put(box, "r/.git/info/exclude", "*.local\n");
    put(box, "r/sub/.gitignore", "!x.o\nonly-here\n");
    put(box, "r/build/tracked", "x");
    git(box, "r", "add -f build/tracked");
    put(box, "r/build/other", "x");
    put(box, "r/build/more/below", "x");
    put(box, "r/a.o", "x");
    put(box, "r/keep.o", "x");
    put(box, "r/b.global", "x");
    put(box, "r/b.local", "x");
    put(box, "r/top", "x");
    put(box, "r/sub/top", "x");
    put(box, "r/sub/x.o", "x");
    put(box, "r/sub/y.o", "x");
    put(box, "r/sub/only-here", "x");
    put(box, "r/docs/a/b/gen", "x");
    put(box, "r/docs/a/b/src", "x");
    expect_listing(box, "r",
                   "100644 .gitignore\n100644 build/tracked\n100644 docs/a/b/src\n100644 keep.o\n"
                   "100644 sub/.gitignore\n100644 sub/top\n100644 sub/x.o\n");
    g_autofree char *gits = git_output(box, "r", "ls-files -co --exclude-standard");
    g_assert_cmpstr(gits, ==, ".gitignore\ndocs/a/b/src\nkeep.o\nsub/.gitignore\nsub/top\nsub/x.o\nbuild/tracked\n");
}

/* With random trees and ignore rules, the snapshot must have the files that git lists. */
TEST("/vcs/worktree", random_ignore_rules_give_what_git_lists)
{
    static const char *const names[] = {"a", "b", "c.o", "d.py", "gen", "build", "x-y"};
    static const char *const rules[] = {"*.o",  "gen", "build/", "/a",   "!c.o", "a/b", "**/gen",
                                        "b/**", "!b/", "x-*",    "/*/a", "*",    "!*/", "!d.py"};
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    for (int round = 0; round < 16; round++) {
        g_auto(Sandbox) box;
        sandbox_init(&box);
        make_repo(&box, "r");
        g_autofree char *inner = sandbox_path(&box, "r/a_d");
        for (int i = 0; i < 30; i++) {
            GString *path = g_string_new("r");
            int depth = g_rand_int_range(rand, 1, 4);
            for (int d = 0; d < depth; d++)
                g_string_append_printf(path, "/%s%s", names[g_rand_int_range(rand, 0, G_N_ELEMENTS(names))],
                                       d + 1 < depth && g_rand_boolean(rand) ? "_d" : "");
            g_autofree char *whole = sandbox_path(&box, path->str);
            g_autofree char *folder = g_path_get_dirname(whole);
            if (g_mkdir_with_parents(folder, 0755) == 0 && !g_file_test(whole, G_FILE_TEST_EXISTS))
                put(&box, path->str, "x");
            g_string_free(path, TRUE);
            if (i == 9)
                git(&box, "r", "add -A");
        }
        g_autoptr(GString) ignore = g_string_new(NULL);
        for (int i = g_rand_int_range(rand, 1, 5); i > 0; i--)
            g_string_append_printf(ignore, "%s\n", rules[g_rand_int_range(rand, 0, G_N_ELEMENTS(rules))]);
        put(&box, "r/.gitignore", ignore->str);
        if (g_file_test(inner, G_FILE_TEST_IS_DIR)) {
            g_autoptr(GString) more = g_string_new(NULL);
            for (int i = g_rand_int_range(rand, 1, 5); i > 0; i--)
                g_string_append_printf(more, "%s\n", rules[g_rand_int_range(rand, 0, G_N_ELEMENTS(rules))]);
            put(&box, "r/a_d/.gitignore", more->str);
            g_test_message("below:\n%s", more->str);
        }
        g_autofree char *gits = git_output(&box, "r", "-c core.quotePath=false ls-files -co --exclude-standard");
        g_auto(GStrv) expected = g_strsplit(g_strchomp(gits), "\n", -1);
        g_autoptr(AcrSnapshot) tree = worktree_ok(&box, "r");
        g_autofree char *list = listing(tree);
        g_test_message("round %d rules:\n%s", round, ignore->str);
        for (gsize i = 0; expected[i] && *expected[i]; i++) {
            g_test_message("expects %s", expected[i]);
            g_assert_cmpint(acr_snapshot_find(tree, expected[i]), >=, 0);
        }
        g_assert_cmpuint(acr_snapshot_size(tree), ==, *expected[0] ? g_strv_length(expected) : 0);
    }
}

BOX_TEST("/vcs/worktree", odd_names_symlinks_and_fifos)
{
    make_repo(box, "r");
    put(box, "outside/secret", "secret");
    put(box, "r/f", "x");
    put(box, "r/latin-\xe9/\xff", "x");
    put(box, "r/line\nbreak", "x");
    g_autofree char *outside = sandbox_path(box, "outside");
    g_autofree char *link = sandbox_path(box, "r/link");
    g_autofree char *loop = sandbox_path(box, "r/loop");
    g_autofree char *fifo = sandbox_path(box, "r/fifo");
    g_assert_cmpint(symlink(outside, link), ==, 0);
    g_assert_cmpint(symlink("loop", loop), ==, 0);
    g_assert_cmpint(mkfifo(fifo, 0644), ==, 0);
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_autofree char *list = listing(tree);
    g_assert_cmpstr(list, ==, "100644 f\n100644 latin-\\xe9/\\xff\n100644 line\\x0abreak\n120000 link\n120000 loop\n");
    assert_text(content(tree, "link"), outside);
}

BOX_TEST("/vcs/worktree", folder_that_became_a_symlink_is_not_followed)
{
    make_repo(box, "r");
    put(box, "r/d/f", "inside");
    put(box, "outside/f", "secret");
    commit_all(box, "r");
    g_autofree char *file = sandbox_path(box, "r/d/f");
    g_autofree char *folder = sandbox_path(box, "r/d");
    g_assert_cmpint(unlink(file), ==, 0);
    g_assert_cmpint(rmdir(folder), ==, 0);
    g_assert_cmpint(symlink("../outside", folder), ==, 0);
    expect_listing(box, "r", "120000 d\n");
}

BOX_TEST("/vcs/worktree", nested_repositories_are_left_out)
{
    make_repo(box, "r");
    put(box, "r/f", "x");
    make_repo(box, "r/inner");
    put(box, "r/inner/g", "x");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    assert_text(listing(tree), "100644 f\n");
    g_assert_cmpstr(acr_snapshot_remarks(tree), ==, "1 nested repository was left out: inner");
}

BOX_TEST("/vcs/worktree", unreadable_paths_are_left_out_and_said)
{
    make_repo(box, "r");
    put(box, "r/open", "x");
    put(box, "r/shut", "x");
    put(box, "r/closed/f", "x");
    g_autofree char *shut = sandbox_path(box, "r/shut");
    g_autofree char *closed = sandbox_path(box, "r/closed");
    g_assert_cmpint(chmod(shut, 0), ==, 0);
    g_assert_cmpint(chmod(closed, 0), ==, 0);
    if (access(shut, R_OK) == 0) {
        g_test_skip("root reads everything");
    } else {
        g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
        assert_text(listing(tree), "100644 open\n");
        g_assert_cmpstr(acr_snapshot_remarks(tree), ==, "2 paths cannot be read and were left out: closed, shut");
    }
    g_assert_cmpint(chmod(closed, 0755), ==, 0);
}

BOX_TEST("/vcs/worktree", plain_folder_is_taken_whole)
{
    put(box, "p/a/f", "x");
    put(box, "p/.gitignore", "*");
    make_repo(box, "p/inner");
    put(box, "p/inner/g", "y");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "p");
    assert_text(listing(tree), "100644 .gitignore\n100644 a/f\n100644 inner/g\n");
    g_assert_null(acr_snapshot_commit(tree));
    assert_text(content(tree, "inner/g"), "y");
}

BOX_TEST("/vcs/worktree", too_large_file_is_listed_not_read)
{
    make_repo(box, "r");
    put(box, "r/big", "");
    put(box, "r/small", "x");
    g_autofree char *big = sandbox_path(box, "r/big");
    g_assert_cmpint(truncate(big, (off_t)ACR_VCS_MAX_FILE_BYTES + 1), ==, 0);
    /* git hash-object's answer */
    static const char id[] = "c4661e1d91265516932db326f9b35879a35a717c";
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    gssize at = acr_snapshot_find(tree, "big");
    g_assert_cmpint(at, >=, 0);
    char hex[3];
    for (gsize i = 0; i < ACR_BLOB_ID_LEN; i++) {
        g_snprintf(hex, sizeof hex, "%02x", acr_snapshot_entry(tree, (gsize)at)->id[i]);
        g_assert_cmpmem(hex, 2, id + 2 * i, 2);
    }
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_snapshot_read(tree, (gsize)at, &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_TOO_BIG);
    g_assert_cmpint(unlink(big), ==, 0);
    stage_large_blob(box, "r", "big");
    git(box, "r", "commit -q -m big");
    g_autoptr(AcrSnapshot) head = commit_ok(box, "r", "HEAD");
    assert_fails_with(acr_snapshot_read(head, (gsize)acr_snapshot_find(head, "big"), &error), error, ACR_VCS_ERROR,
                      ACR_VCS_ERROR_TOO_BIG);
}

BOX_TEST("/vcs/worktree", too_deep_folders_are_refused)
{
    GString *path = g_string_new("p");
    for (int i = 0; i < 210; i++)
        g_string_append(path, "/d");
    g_string_append(path, "/f");
    put(box, path->str, "x");
    g_string_free(path, TRUE);
    g_autoptr(AcrRepo) plain = open_ok(box, "p");
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_snapshot_of_worktree(plain, &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_TOO_BIG);
    make_repo(box, "p");
    commit_all(box, "p");
    g_autoptr(AcrRepo) repo = open_ok(box, "p");
    assert_fails_with(acr_snapshot_of_commit(repo, "HEAD", &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_TOO_BIG);
}

BOX_TEST("/vcs/worktree", the_commit_below_is_told_and_empty_where_there_is_none)
{
    g_autoptr(GError) error = NULL;
    put(box, "r/f", "committed\n");
    g_autoptr(AcrSnapshot) plain = worktree_ok(box, "r");
    g_autoptr(AcrSnapshot) nothing = made(acr_snapshot_committed(plain, &error), error);
    g_assert_cmpuint(acr_snapshot_size(nothing), ==, 0);
    make_repo(box, "r");
    commit_all(box, "r");
    put(box, "r/f", "changed\n");
    put(box, "r/new", "new\n");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_autoptr(AcrSnapshot) below = made(acr_snapshot_committed(tree, &error), error);
    assert_text(content(below, "f"), "committed\n");
    g_assert_cmpuint(acr_snapshot_size(below), ==, 1);
    g_autoptr(AcrSnapshot) same = made(acr_snapshot_committed(below, &error), error);
    g_assert_true(same == below);
}

/* A repository in which a.py has LF in git and CR LF in the working tree. */
static void put_crlf(const Sandbox *box, const char *name, const char *text, const char *path)
{
    put(box, "r/a.py", "a\nb\n");
    make_repo(box, "r");
    if (path)
        put(box, path, text);
    commit_all(box, "r");
    if (name)
        git(box, "r", name);
    put(box, "r/a.py", "a\r\nb\r\n");
}

/* A file must count as changed if and only if git says so. */
TEST("/vcs/worktree", line_endings_are_gits)
{
    static const struct {
        const char *command, *path, *text;
        bool is_clean;
    } rows[] = {{NULL, "r/.gitattributes", "* text eol=crlf\n", true},
                {NULL, "r/.gitattributes", "* text=auto\n", true},
                {NULL, "r/.gitattributes", "*.py crlf=input\n", true},
                {NULL, "r/.git/info/attributes", "a.py text\n", true},
                {"config core.autocrlf true", NULL, NULL, true},
                {"config core.autocrlf input", NULL, NULL, true},
                {"config core.autocrlf true", "r/.gitattributes", "*.py -text\n", false},
                {"config core.autocrlf true", "r/.git/info/attributes", "*.py binary\n", false},
                {NULL, "r/.gitattributes", "*.txt text\n", false},
                {NULL, NULL, NULL, false}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(Sandbox) box;
        sandbox_init(&box);
        g_autoptr(GError) error = NULL;
        put_crlf(&box, rows[i].command, rows[i].text, rows[i].path);
        g_test_message("%s, %s", rows[i].command, rows[i].text);
        const char *argv[] = {"git", "diff", "--quiet", NULL};
        g_assert_cmpint(run_in(&box, "r", argv, NULL, NULL), ==, !rows[i].is_clean);
        g_autoptr(AcrSnapshot) tree = worktree_ok(&box, "r");
        g_autofree char *lying = content(tree, "a.py"), *saved = sandbox_path(&box, "saved");
        g_assert_cmpstr(lying, ==, rows[i].is_clean ? "a\nb\n" : "a\r\nb\r\n");
        if (!rows[i].is_clean)
            continue;
        /* The diff must use git's content, and writing must use the line endings on disk. */
        g_autoptr(AcrRepo) repo = open_ok(&box, "r");
        g_assert_true(acr_snapshot_save(tree, saved, &error));
        g_autoptr(AcrSnapshot) loaded = acr_snapshot_load(repo, saved, &error);
        g_autoptr(AcrOverlay) overlay = acr_overlay_new(loaded);
        write_ok(overlay, "a.py", "a\nB\n");
        g_autoptr(GBytes) diff = acr_overlay_diff(overlay, &error);
        const char *apply[] = {"git", "apply", "--check", "--index", NULL};
        bool is_known;
        git(&box, "r", "add a.py");
        g_assert_cmpint(run_in(&box, "r", apply, diff, NULL), ==, 0);
        g_assert_true(acr_overlay_apply(overlay, acr_repo_workdir(repo), &is_known, &error));
        g_assert_no_error(error);
        g_autofree char *written = get(&box, "r/a.py");
        g_assert_cmpstr(written, ==, "a\r\nB\r\n");
    }
}

BOX_TEST("/vcs/worktree", modes_are_the_indexs_where_the_disk_has_none)
{
    g_autoptr(GError) error = NULL;
    make_repo(box, "r");
    put(box, "r/plain", "x\n");
    put(box, "r/run", "x\n");
    git(box, "r", "add -A");
    git(box, "r", "update-index --chmod=+x run");
    git(box, "r", "commit -qm x");
    git(box, "r", "config core.fileMode false");
    put(box, "r/new", "x\n");
    g_autofree char *plain = sandbox_path(box, "r/plain"), *new = sandbox_path(box, "r/new");
    g_assert_true(chmod(plain, 0755) == 0 && chmod(new, 0755) == 0);
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    assert_text(listing(tree), "100644 new\n100644 plain\n100755 run\n");
    g_autofree char *root = sandbox_path(box, "r");
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(tree);
    write_ok(overlay, "plain", "y\n");
    write_ok(overlay, "run", "y\n");
    bool is_known;
    assert_ok(acr_overlay_apply(overlay, root, &is_known, &error), error);
    g_assert_true(g_file_test(plain, G_FILE_TEST_IS_EXECUTABLE));
}

BOX_TEST("/vcs/worktree", split_index_is_survived)
{
    make_repo(box, "r");
    put(box, "r/.gitignore", "*.o\n");
    put(box, "r/kept.o", "x");
    git(box, "r", "add -f kept.o");
    commit_all(box, "r");
    put(box, "r/other.o", "x");
    git(box, "r", "update-index --split-index");
    put(box, "r/new", "x");
    git(box, "r", "add new");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    assert_text(listing(tree), "100644 .gitignore\n100644 kept.o\n100644 new\n");
}

BOX_TEST("/vcs/worktree", conflicts_and_sparse_checkouts)
{
    make_repo(box, "r");
    put(box, "r/f", "base\n");
    put(box, "r/out/g", "x");
    commit_all(box, "r");
    git(box, "r", "checkout -q -b side");
    put(box, "r/f", "side\n");
    commit_all(box, "r");
    git(box, "r", "checkout -q main");
    put(box, "r/f", "main\n");
    commit_all(box, "r");
    const char *argv[] = {"git", "merge", "-q", "side", NULL};
    g_autoptr(GBytes) out = NULL;
    g_assert_cmpint(run_in(box, "r", argv, NULL, &out), !=, 0);
    expect_listing(box, "r", "100644 f\n100644 out/g\n");
    git(box, "r", "reset -q --hard");
    git(box, "r", "sparse-checkout set --cone --sparse-index other");
    expect_listing(box, "r", "100644 f\n");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_assert_nonnull(strstr(acr_snapshot_remarks(tree), "1 file outside the sparse checkout was left out: out/g"));
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(tree);
    g_assert_false(acr_overlay_path_ok(overlay, "out/g"));
}

BOX_TEST("/vcs/worktree", nothing_in_the_repository_changes)
{
    make_repo(box, "r");
    put(box, "r/.gitignore", "ignored\n");
    put(box, "r/f", "one\n");
    put(box, "r/g", "two\n");
    commit_all(box, "r");
    put(box, "r/f", "changed\n");
    put(box, "r/ignored", "x");
    put(box, "r/untracked", "x");
    /* makes git's index outdated */
    const char *touch[] = {"touch", "-d", "2001-01-01", "r/g", NULL};
    g_assert_cmpint(run_in(box, "", touch, NULL, NULL), ==, 0);
    g_autofree char *before = state_of(box, "r");
    g_autoptr(GError) error = NULL;
    g_autofree char *saved = sandbox_path(box, "saved");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_autoptr(AcrSnapshot) head = commit_ok(box, "r", "HEAD");
    g_autofree char *text = content(head, "g");
    g_assert_true(acr_snapshot_save(tree, saved, &error));
    AcrSnapshot *const snapshots[] = {tree, head};
    for (gsize i = 0; i < G_N_ELEMENTS(snapshots); i++) {
        g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshots[i]);
        write_ok(overlay, "f", "overlaid\n");
        write_ok(overlay, "new/file", "overlaid\n");
        g_autoptr(GBytes) diff = made(acr_overlay_diff(overlay, &error), error);
        g_assert_nonnull(diff);
    }
    g_autofree char *after = state_of(box, "r");
    g_assert_cmpstr(before, ==, after);
}

/* A marked snapshot that is settled: no file changed just before the walk. */
static AcrSnapshot *settled(AcrRepo *repo)
{
    g_autoptr(GError) error = NULL;
    g_usleep(50 * 1000);
    AcrSnapshot *tree = made(acr_snapshot_of_worktree_marked(repo, &error), error);
    return tree;
}

BOX_TEST("/vcs/worktree", changes_after_a_snapshot_are_seen)
{
    static const char *const steps[] = {
        "printf new > r/a",                                     /* other content of the same size */
        "printf x > r/sub/new",                                 /* new file */
        "mkdir r/empty",                                        /* new folder */
        "printf x > r/empty/f",                                 /* new file in the new folder */
        "rm r/sub/new",                                         /* removed file */
        "chmod 755 r/a",                                        /* changed mode */
        "touch -r r/a t && printf NEW > r/a && touch -r t r/a", /* restored time stamp */
        "ln -sf b r/link",                                      /* link to another target */
        "mv r/sub r/bus",                                       /* renamed folder */
        "printf b > r/.gitignore",                              /* changed ignore rules */
        "printf c > r/.git/info/exclude",                       /* changed ignore rules outside the tree */
        "git -C r rm -q --cached a",                            /* an ignored file is no longer tracked */
    };
    make_repo(box, "r");
    put(box, "r/a", "old");
    put(box, "r/sub/b", "b");
    commit_all(box, "r");
    g_autoptr(AcrRepo) repo = open_ok(box, "r");
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
        g_autoptr(AcrSnapshot) before = settled(repo);
        g_assert_true(acr_snapshot_is_current(before));
        const char *const argv[] = {"sh", "-c", steps[i], NULL};
        g_assert_cmpint(run_in(box, "", argv, NULL, NULL), ==, 0);
        if (acr_snapshot_is_current(before))
            g_error("not seen: %s", steps[i]);
    }
}

/* With so many files that several threads compare marks, a change of any file must be noticed. */
BOX_TEST("/vcs/worktree", a_change_is_seen_among_many_files)
{
    enum { N_FILES = 1100 };
    make_repo(box, "r");
    for (int i = 0; i < N_FILES; i++) {
        g_autofree char *name = g_strdup_printf("r/%d/%d", i % 7, i);
        put(box, name, "old");
    }
    commit_all(box, "r");
    g_autoptr(AcrRepo) repo = open_ok(box, "r");
    for (int i = 0; i < N_FILES; i += N_FILES / 4 + 1) {
        g_autofree char *name = g_strdup_printf("r/%d/%d", i % 7, i);
        g_autoptr(AcrSnapshot) before = settled(repo);
        g_assert_true(acr_snapshot_is_current(before));
        put(box, name, "new");
        g_assert_false(acr_snapshot_is_current(before));
    }
}

/* Covers a snapshot taken just after a change, and snapshots without marks. */
BOX_TEST("/vcs/worktree", snapshots_that_are_never_current)
{
    g_autoptr(GError) error = NULL;
    make_repo(box, "r");
    put(box, "r/a", "old");
    commit_all(box, "r");
    g_autoptr(AcrRepo) repo = open_ok(box, "r");
    bool is_current = true;
    /* on a busy machine, the snapshot may be settled at first */
    for (int i = 0; i < 100 && is_current; i++) {
        put(box, "r/a", "new");
        g_autoptr(AcrSnapshot) hasty = made(acr_snapshot_of_worktree_marked(repo, &error), error);
        is_current = acr_snapshot_is_current(hasty);
    }
    g_assert_false(is_current);
    g_usleep(50 * 1000);
    g_autoptr(AcrSnapshot) plain = worktree_ok(box, "r");
    g_autoptr(AcrSnapshot) commit = commit_ok(box, "r", "HEAD");
    g_assert_false(acr_snapshot_is_current(plain));
    g_assert_false(acr_snapshot_is_current(commit));
}
