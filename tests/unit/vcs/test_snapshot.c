/* Tests of snapshots of commits. */
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vcs_fixture.h"

static void commit_fails(const Sandbox *sandbox, const char *dir, const char *rev, int code, const char *says)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrRepo) repo = open_ok(sandbox, dir);
    AcrSnapshot *snapshot = acr_snapshot_of_commit(repo, rev, &error);
    g_assert_null(snapshot);
    g_assert_error(error, ACR_VCS_ERROR, code);
    if (!strstr(error->message, says))
        g_test_message("message: %s", error->message);
    g_assert_nonnull(strstr(error->message, says));
    g_assert_null(strchr(error->message, '\n'));
}

BOX_TEST("/vcs/snapshot", entries_are_sorted_with_modes_and_any_names)
{
    make_repo(box, "r");
    put(box, "r/a-b", "1");
    put(box, "r/a/z", "2");
    put(box, "r/a.c", "3");
    put(box, "r/run.sh", "#!/bin/sh\n");
    put(box, "r/empty", "");
    put(box, "r/latin-\xe9", "4");
    put(box, "r/line\nbreak", "5");
    g_autofree char *script = sandbox_path(box, "r/run.sh");
    g_autofree char *link = sandbox_path(box, "r/link");
    g_assert_cmpint(chmod(script, 0755), ==, 0);
    g_assert_cmpint(symlink("../outside", link), ==, 0);
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    assert_text(listing(snapshot), "100644 a-b\n100644 a.c\n100644 a/z\n100644 empty\n100644 latin-\\xe9\n"
                                   "100644 line\\x0abreak\n120000 link\n100755 run.sh\n");
    assert_text(content(snapshot, "link"), "../outside");
    assert_text(content(snapshot, "empty"), "");
    g_assert_cmpint(acr_snapshot_find(snapshot, "a"), ==, -1);
    g_assert_null(acr_snapshot_remarks(snapshot));
    g_assert_false(acr_snapshot_is_worktree(snapshot));
    g_autofree char *head = git_output(box, "r", "rev-parse HEAD");
    g_assert_cmpstr(acr_snapshot_commit(snapshot), ==, g_strchomp(head));
}

BOX_TEST("/vcs/snapshot", ids_and_digests_are_of_contents)
{
    make_repo(box, "r");
    put(box, "r/f", "some text\r\n");
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) head = commit_ok(box, "r", "HEAD");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_autofree char *id = git_output(box, "r", "rev-parse HEAD:f");
    GString *hex = g_string_new(NULL);
    for (gsize i = 0; i < ACR_BLOB_ID_LEN; i++)
        g_string_append_printf(hex, "%02x", acr_snapshot_entry(head, 0)->id[i]);
    g_assert_cmpstr(hex->str, ==, g_strchomp(id));
    g_assert_cmpmem(acr_snapshot_entry(tree, 0)->id, 20, acr_snapshot_entry(head, 0)->id, 20);
    g_string_free(hex, TRUE);
    g_autofree char *one = acr_snapshot_digest(head);
    g_autofree char *two = acr_snapshot_digest(tree);
    g_assert_cmpuint(strlen(one), ==, 40);
    g_assert_cmpstr(one, ==, two);
}

BOX_TEST("/vcs/snapshot", revisions_of_all_shapes)
{
    make_repo(box, "r");
    put(box, "r/f", "one");
    commit_all(box, "r");
    git(box, "r", "tag -a -m t v1");
    put(box, "r/f", "two");
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) tag = commit_ok(box, "r", "v1");
    g_autoptr(AcrSnapshot) parent = commit_ok(box, "r", "HEAD~1");
    g_autoptr(AcrSnapshot) search = commit_ok(box, "r", "main^{/x}");
    assert_text(content(tag, "f"), "one");
    g_assert_cmpstr(acr_snapshot_commit(tag), ==, acr_snapshot_commit(parent));
    g_autofree char *shortened = g_strndup(acr_snapshot_commit(tag), 9);
    g_autoptr(AcrSnapshot) prefix = commit_ok(box, "r", shortened);
    g_assert_cmpstr(acr_snapshot_commit(prefix), ==, acr_snapshot_commit(tag));
    commit_fails(box, "r", "nothing-such", ACR_VCS_ERROR_NOT_FOUND, "'nothing-such'");
    commit_fails(box, "r", "HEAD:f", ACR_VCS_ERROR_NOT_FOUND, "does not name a commit");
    commit_fails(box, "r", "", ACR_VCS_ERROR_NOT_FOUND, "no revision");
    commit_fails(box, "r", "a\nb", ACR_VCS_ERROR_NOT_FOUND, "a\\x0ab");
    g_autofree char *long_text = g_strnfill(20000, 'x');
    put(box, "r/.git/refs/heads/long", long_text);
    commit_fails(box, "r", "long", ACR_VCS_ERROR_NOT_FOUND, "is longer than");
    commit_fails(box, "r", "0123456789012345678901234567890123456789", ACR_VCS_ERROR_NOT_FOUND, "0123456789");
}

BOX_TEST("/vcs/snapshot", repository_without_commits_is_empty)
{
    make_repo(box, "r");
    commit_fails(box, "r", "HEAD", ACR_VCS_ERROR_EMPTY, "has no commits");
    commit_fails(box, "r", "main", ACR_VCS_ERROR_EMPTY, "has no commits");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_assert_cmpuint(acr_snapshot_size(tree), ==, 0);
    g_assert_null(acr_snapshot_commit(tree));
    git(box, "r", "commit -q --allow-empty -m x");
    g_autoptr(AcrSnapshot) empty = commit_ok(box, "r", "HEAD");
    g_assert_cmpuint(acr_snapshot_size(empty), ==, 0);
    g_assert_cmpint(acr_snapshot_find(empty, "f"), ==, -1);
}

BOX_TEST("/vcs/snapshot", packed_and_borrowed_objects_are_read)
{
    make_repo(box, "r");
    put(box, "r/d/f", "one");
    commit_all(box, "r");
    git(box, "r", "gc -q");
    git(box, "", "clone -q --shared r s");
    git(box, "", "clone -q --bare --shared s t.git");
    g_autoptr(AcrSnapshot) packed = commit_ok(box, "r", "HEAD");
    acr_vcs_trust_links(); /* alternates lead out of the repository */
    g_autoptr(AcrSnapshot) borrowed = commit_ok(box, "t.git", "HEAD");
    g_autofree char *one = content(packed, "d/f");
    g_assert_cmpstr(one, ==, "one");
    assert_text(content(borrowed, "d/f"), "one");
}

static void remove_object(const Sandbox *box, const char *name)
{
    g_autofree char *arguments = g_strdup_printf("rev-parse %s", name);
    g_autofree char *id = git_output(box, "r", arguments);
    g_autofree char *relative = g_strdup_printf("r/.git/objects/%.2s/%.38s", id, id + 2);
    g_autofree char *file = sandbox_path(box, relative);
    g_assert_cmpint(unlink(file), ==, 0);
}

BOX_TEST("/vcs/snapshot", missing_objects_are_named)
{
    make_repo(box, "r");
    put(box, "r/d/f", "one");
    put(box, "r/g", "two");
    commit_all(box, "r");
    g_autofree char *blob = git_output(box, "r", "rev-parse HEAD:g");
    g_autofree char *tree = git_output(box, "r", "rev-parse HEAD:d");
    g_autofree char *head = git_output(box, "r", "rev-parse HEAD");
    g_autoptr(AcrSnapshot) before = commit_ok(box, "r", "HEAD");
    remove_object(box, "HEAD:g");
    g_autoptr(AcrSnapshot) after = commit_ok(box, "r", "HEAD");
    g_assert_cmpuint(acr_snapshot_size(after), ==, 2);
    g_autoptr(GError) error = NULL;
    g_assert_null(acr_snapshot_read(after, 1, &error));
    g_assert_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING);
    g_assert_nonnull(strstr(error->message, g_strchomp(blob)));
    /* the working tree has the content that is missing in the object database */
    g_autoptr(AcrSnapshot) lying = worktree_ok(box, "r");
    assert_text(content(lying, "g"), "two");
    remove_object(box, "HEAD:d");
    commit_fails(box, "r", "HEAD", ACR_VCS_ERROR_MISSING, g_strchomp(tree));
    g_autoptr(AcrSnapshot) still = worktree_ok(box, "r");
    g_assert_cmpuint(acr_snapshot_size(still), ==, 2);
    remove_object(box, "HEAD");
    commit_fails(box, "r", "main", ACR_VCS_ERROR_MISSING, g_strchomp(head));
}

BOX_TEST("/vcs/snapshot", shallow_and_partial_clones)
{
    make_repo(box, "r");
    put(box, "r/f", "one");
    commit_all(box, "r");
    put(box, "r/f", "two");
    commit_all(box, "r");
    git(box, "r", "config uploadpack.allowFilter true");
    g_autofree char *shallow = g_strdup_printf("clone -q --depth 1 file://%s/r shallow", box->root);
    g_autofree char *partial = g_strdup_printf("clone -q --filter=blob:none file://%s/r partial", box->root);
    git(box, "", shallow);
    git(box, "", partial);
    g_autoptr(AcrSnapshot) there = commit_ok(box, "shallow", "HEAD");
    assert_text(content(there, "f"), "two");
    commit_fails(box, "shallow", "HEAD~1", ACR_VCS_ERROR_NOT_FOUND, "shallow");
    g_autoptr(AcrSnapshot) fetched = commit_ok(box, "partial", "HEAD");
    assert_text(content(fetched, "f"), "two");
    g_autoptr(AcrSnapshot) older = commit_ok(box, "partial", "HEAD~1");
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_snapshot_read(older, 0, &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING);
}

BOX_TEST("/vcs/snapshot", submodules_are_left_out_and_said)
{
    make_repo(box, "lib");
    put(box, "lib/x", "x");
    commit_all(box, "lib");
    make_repo(box, "r");
    put(box, "r/f", "one");
    git(box, "r", "-c protocol.file.allow=always submodule --quiet add ../lib ext/lib");
    git(box, "r", "-c protocol.file.allow=always submodule --quiet add ../lib b");
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) head = commit_ok(box, "r", "HEAD");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_autofree char *list = listing(head);
    g_assert_cmpstr(list, ==, "100644 .gitmodules\n100644 f\n");
    assert_text(listing(tree), list);
    g_assert_cmpstr(acr_snapshot_remarks(head), ==, "2 submodules were left out: b, ext/lib");
    g_assert_cmpstr(acr_snapshot_remarks(tree), ==, "2 submodules were left out: b, ext/lib");
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(head);
    g_assert_false(acr_overlay_path_ok(overlay, "ext/lib/x"));
    g_assert_false(acr_overlay_path_ok(overlay, "b"));
    g_assert_true(acr_overlay_path_ok(overlay, "ext/other"));
}

BOX_TEST("/vcs/snapshot", forbidden_names_are_left_out)
{
    make_repo(box, "r");
    put(box, "r/f", "x");
    commit_all(box, "r");
    g_autofree char *id = git_output(box, "r", "rev-parse HEAD:f");
    g_autoptr(GString) input = g_string_new(NULL);
    const char *names[] = {"..", ".GIT", "ok"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_string_append_printf(input, "100644 blob %.40s\t%s", id, names[i]);
        g_string_append_c(input, '\0');
    }
    g_autoptr(GBytes) bytes = g_bytes_new(input->str, input->len);
    g_autoptr(GBytes) out = NULL;
    const char *argv[] = {"git", "mktree", "-z", NULL};
    g_assert_cmpint(run_in(box, "r", argv, bytes, &out), ==, 0);
    g_autofree char *arguments = g_strdup_printf("commit-tree -m x %.40s", (const char *)g_bytes_get_data(out, NULL));
    g_autofree char *commit = git_output(box, "r", arguments);
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", g_strchomp(commit));
    assert_text(listing(snapshot), "100644 ok\n");
    g_assert_cmpstr(acr_snapshot_remarks(snapshot), ==, "2 entries with forbidden names were left out: .., .GIT");
}

static void *read_often(void *data)
{
    gsize ok = 0;
    for (int i = 0; i < 200; i++) {
        g_autofree char *text = content(data, i % 2 ? "a" : "b");
        ok += g_str_equal(text, i % 2 ? "one" : "two");
    }
    return GSIZE_TO_POINTER(ok);
}

BOX_TEST("/vcs/snapshot", several_threads_may_read)
{
    make_repo(box, "r");
    put(box, "r/a", "one");
    put(box, "r/b", "two");
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    pthread_t threads[4];
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        g_assert_cmpint(pthread_create(&threads[i], NULL, read_often, snapshot), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++) {
        void *ok = NULL;
        pthread_join(threads[i], &ok);
        g_assert_cmpuint(GPOINTER_TO_SIZE(ok), ==, 200);
    }
}

BOX_TEST("/vcs/snapshot", damaged_object_is_an_error)
{
    make_repo(box, "r");
    put(box, "r/f", "one");
    commit_all(box, "r");
    g_autofree char *id = git_output(box, "r", "rev-parse HEAD:f");
    g_autofree char *file = g_strdup_printf("r/.git/objects/%.2s/%.38s", id, id + 2);
    g_autofree char *whole = sandbox_path(box, file);
    g_assert_cmpint(unlink(whole), ==, 0);
    put(box, file, "not deflated at all");
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_snapshot_read(snapshot, 0, &error), error, ACR_VCS_ERROR, ACR_VCS_ERROR_FAILED);
}
