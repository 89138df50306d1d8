/* Tests of applying diffs to an overlay: after git's diff of any change, the overlay's own diff
 * must equal it; damaged and hostile diffs must change nothing. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vcs_fixture.h"

/* Makes repository "r", whose only commit has a file of each kind, and a clone "w" in which to
 * change them. */
static AcrSnapshot *sample(const Sandbox *box)
{
    make_repo(box, "r");
    put(box, "r/a.py", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n");
    put(box, "r/bare", "x\ny");
    put(box, "r/d/crlf", "x\r\ny\r\nz\r\n");
    put_bytes(box, "r/bytes", "\0\1\2\3", 4);
    put(box, "r/empty", "");
    put(box, "r/with blank.txt", "x\n");
    put(box, "r/run", "#!/bin/sh\n");
    g_autofree char *link = sandbox_path(box, "r/link"), *run = sandbox_path(box, "r/run");
    g_assert_true(symlink("a.py", link) == 0 && chmod(run, 0755) == 0);
    commit_all(box, "r");
    return commit_ok(box, "r", "HEAD");
}

static bool take(AcrOverlay *overlay, const char *text, GError **error)
{
    return acr_overlay_apply_diff(overlay, text, strlen(text), error);
}

/* The diff that git prints after a script has changed a clone. */
static GBytes *git_diff_of(const Sandbox *box, const char *script, const char *renames)
{
    const char *const shell[] = {"sh", "-ec", script, NULL};
    const char *const diff[] = {"git", "diff", "--cached", "--binary", renames, "--full-index", NULL};
    GBytes *text = NULL;
    const char *const remove[] = {"rm", "-rf", "w", NULL};
    g_assert_cmpint(run_in(box, "", remove, NULL, NULL), ==, 0);
    git(box, "", "clone -q --shared r w");
    g_assert_cmpint(run_in(box, "w", shell, NULL, NULL), ==, 0);
    git(box, "w", "add -A");
    g_assert_cmpint(run_in(box, "w", diff, NULL, &text), ==, 0);
    g_assert_cmpuint(g_bytes_get_size(text), >, 0);
    return text;
}

static void expect_the_same_again(const Sandbox *box, AcrSnapshot *snapshot, const char *script)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) given = git_diff_of(box, script, "--find-renames"),
                      plain = git_diff_of(box, script, "--no-renames");
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    gsize len;
    const char *text = g_bytes_get_data(given, &len);
    g_test_message("%s", script);
    assert_ok(acr_overlay_apply_diff(overlay, text, len, &error), error);
    g_autoptr(GBytes) again = made(acr_overlay_diff(overlay, &error), error);
    g_assert_cmpmem(g_bytes_get_data(again, NULL), g_bytes_get_size(again), g_bytes_get_data(plain, NULL),
                    g_bytes_get_size(plain));
}

BOX_TEST("/vcs/diff_apply", what_git_prints_of_any_change)
{
    static const char *const scripts[] = {
        "sed -i s/five/FIVE/ a.py",
        "printf z >>bare; printf 'w\\n' >new",
        "printf 'x\\ny\\n' >bare",
        "sed -i s/y/Y/ d/crlf",
        "printf '\\000\\001\\002\\003\\004\\005' >bytes; printf '\\000' >more",
        "rm bytes run link",
        ": >__init__.py",
        ": >a; : >b; rm empty; sed -i s/one/ONE/ a.py; : >z",
        "rm empty",
        "chmod 644 run; chmod 755 bare",
        "chmod 755 a.py; echo x >>a.py",
        "ln -s ../x out; ln -s a.py 'q l'",
        "mkdir -p n/e; echo x >n/e/w; echo y >'n/e/a blank'",
        "echo y >>'with blank.txt'; : >'empty blank'; echo n >'new blank'",
        "rm 'with blank.txt'",
        "rm a.py; ln -s bare a.py",
        "git mv a.py b.py",
        "git mv a.py b.py; sed -i s/five/FIVE/ b.py; git mv run walk",
        "printf 'x\\n' >\"$(printf 'a\\tb\\303\\251\\\"')\"",
        "printf -- '-- \\n--- a/x\\n+++ b/x\\n' >>a.py; printf 'diff --git a/x b/x\\n' >>bare",
        "printf -- '-- \\n++ x\\n' >dashes"};
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    for (gsize i = 0; i < G_N_ELEMENTS(scripts); i++)
        expect_the_same_again(box, snapshot, scripts[i]);
}

#define HEAD_OF(path) "diff --git a/" path " b/" path "\n"
#define NEW_FILE "new file mode 100644\n--- /dev/null\n"
#define ONE_LINE "@@ -0,0 +1 @@\n+x\n"

BOX_TEST("/vcs/diff_apply", what_is_refused_changes_nothing)
{
    static const char *const diffs[] = {
        "", "hello\n", HEAD_OF("../x") NEW_FILE "+++ b/../x\n" ONE_LINE,
        HEAD_OF(".git/config") NEW_FILE "+++ b/.git/config\n" ONE_LINE,
        HEAD_OF("link/x") NEW_FILE "+++ b/link/x\n" ONE_LINE, HEAD_OF("a.py/x") NEW_FILE "+++ b/a.py/x\n" ONE_LINE,
        HEAD_OF("a.py") NEW_FILE "+++ b/a.py\n" ONE_LINE,
        HEAD_OF("link") "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-a.py\n\\ No newline at end of file\n"
                        "+/etc\n\\ No newline at end of file\n",
        HEAD_OF("a.py") "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-none\n+x\n two\n",
        HEAD_OF("gone") "--- a/gone\n+++ b/gone\n@@ -1 +1 @@\n-x\n+y\n",
        HEAD_OF("sub") "new file mode 160000\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n"
                       "+Subproject commit 0123456789012345678901234567890123456789\n",
        HEAD_OF("bytes") "index eaf36c1daccfdf325514461cd1a2ffbc2b79d2d2.."
                         "3b1d3b1d3b1d3b1d3b1d3b1d3b1d3b1d3b1d3b1d 100644\nGIT binary patch\n"
                         "literal 45\nPcmZQzWMXDvAd&z82k8J?\n\nliteral 4\nLcmZQzWM0#T1Yf~L\n\n",
        /* The first file could be changed, but the second could not. */
        HEAD_OF("n") NEW_FILE "+++ b/n\n" ONE_LINE HEAD_OF("gone") "--- a/gone\n+++ b/gone\n"
                                                                   "@@ -1 +1 @@\n-x\n+y\n"};
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    write_ok(overlay, "kept", "x\n");
    for (gsize i = 0; i < G_N_ELEMENTS(diffs); i++) {
        g_autoptr(GError) error = NULL;
        g_test_message("%s", diffs[i]);
        bool ok = take(overlay, diffs[i], &error);
        g_auto(GStrv) changed = acr_overlay_changed(overlay);
        g_assert_false(ok && *diffs[i]); /* an empty diff is valid */
        g_assert_cmpuint(g_strv_length(changed), ==, 1);
        g_assert_cmpstr(changed[0], ==, "kept");
        if (ok)
            continue;
        g_assert_nonnull(error);
        g_assert_cmpint(error->domain, ==, ACR_VCS_ERROR);
        g_assert_null(strchr(error->message, '\n'));
    }
}

BOX_TEST("/vcs/diff_apply", a_nul_byte_is_refused)
{
    static const char diff[] = HEAD_OF("n") NEW_FILE "+++ b/n\n@@ -0,0 +1 @@\n+x\0yyyyyyyyyyyyyyy\n";
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    assert_fails_with(acr_overlay_apply_diff(overlay, diff, sizeof diff - 1, &error), error, ACR_VCS_ERROR,
                      ACR_VCS_ERROR_FAILED);
    g_assert_false(acr_overlay_has(overlay, "n"));
}

BOX_TEST("/vcs/diff_apply", a_mode_that_is_not_told_stays)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    assert_ok(take(overlay, HEAD_OF("run") "--- a/run\n+++ b/run\n@@ -1 +1,2 @@\n #!/bin/sh\n+true\n", &error), error);
    g_assert_cmphex(acr_overlay_mode(overlay, "run"), ==, ACR_MODE_EXEC);
}

BOX_TEST("/vcs/diff_apply", it_is_applied_to_what_the_overlay_holds)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    static const char of_new[] = HEAD_OF("bare") "--- a/bare\n+++ b/bare\n@@ -1,2 +1,2 @@\n-first\n"
                                                 "+1st\n second\n";
    static const char back[] = HEAD_OF("bare") "--- a/bare\n+++ b/bare\n@@ -1,2 +1,2 @@\n-1st\n"
                                               "-second\n+x\n+y\n\\ No newline at end of file\n";
    static const char moved[] = HEAD_OF("a.py") "--- a/a.py\n+++ b/a.py\n@@ -6,4 +6,4 @@\n seven\n"
                                                "-eight\n+8\n nine\n ten\n";
    write_ok(overlay, "bare", "first\nsecond\n");
    g_assert_true(take(overlay, of_new, &error));
    g_autoptr(GBytes) bytes = acr_overlay_read(overlay, "bare", &error);
    g_assert_cmpmem(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), "1st\nsecond\n", 11);
    g_assert_true(take(overlay, back, &error));
    g_auto(GStrv) none = acr_overlay_changed(overlay);
    g_assert_null(none[0]); /* the same content as in the snapshot */
    /* one line away from the line that the hunk names */
    g_assert_false(take(overlay, moved, &error));
    g_assert_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_FAILED);
}

BOX_TEST("/vcs/diff_apply", what_other_tools_leave_out)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    static const char diff[] = /* without the ids of empty files and the end of the last line */
        HEAD_OF("p/__init__.py") "new file mode 100755\n" HEAD_OF("empty") "deleted file mode 100644\n" HEAD_OF("n")
            NEW_FILE "+++ b/n\n@@ -0,0 +1 @@\n+x";
    assert_ok(take(overlay, diff, &error), error);
    g_autoptr(GBytes) bytes = acr_overlay_read(overlay, "n", &error);
    g_assert_cmpmem(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), "x\n", 2);
    g_assert_cmphex(acr_overlay_mode(overlay, "p/__init__.py"), ==, ACR_MODE_EXEC);
    g_assert_false(acr_overlay_has(overlay, "empty"));
    g_assert_true(take(overlay, HEAD_OF("q/__init__.py") "new file mode 100644", &error));
    g_assert_true(acr_overlay_has(overlay, "q/__init__.py"));
}

/* As `diff -u` writes it: with git's prefixes, with dates, with names of another file, without a
 * folder, with a blank; a new file and a deleted file. */
BOX_TEST("/vcs/diff_apply", plain_diffs)
{
    static const char first[] = "@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    static const char *const headers[] = {
        "--- a/a.py\n+++ b/a.py\n", "--- a.py\t2026-11-28 16:29\n+++ /tmp/b.py\t2026-11-28\n",
        "--- old/a.py\n+++ new/a.py\n", "Index: a.py\n===\n--- a.py.orig\n+++ a.py\n"};
    static const char several[] =
        "--- /dev/null\n+++ b/n/n.py\n" ONE_LINE "--- r/with blank.txt\n+++ s/with blank.txt\n"
        "@@ -1 +1 @@\n-x\n+y\n--- none/m.py\t1970\n+++ b/m.py\n" ONE_LINE
        "--- a/run\t2026-01-01\n+++ b/run\t1970-01-01 00:00:00\n@@ -1 +0,0 @@\n-#!/bin/sh\n"
        "--- a/bare\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n\\ No newline at end of file\n";
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrSnapshot) snapshot = sample(box);
    for (gsize i = 0; i < G_N_ELEMENTS(headers); i++) {
        g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
        g_autofree char *diff = g_strconcat(headers[i], first, NULL);
        assert_ok(take(overlay, diff, &error), error);
        g_autoptr(GBytes) bytes = acr_overlay_read(overlay, "a.py", &error);
        g_assert_true(g_str_has_prefix(g_bytes_get_data(bytes, NULL), "1\ntwo\n"));
    }
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    assert_ok(take(overlay, several, &error), error);
    g_auto(GStrv) changed = acr_overlay_changed(overlay);
    g_autofree char *list = g_strjoinv(" ", changed);
    g_assert_cmpstr(list, ==, "bare m.py n/n.py run with blank.txt");
    g_assert_false(acr_overlay_has(overlay, "run"));
    g_assert_false(acr_overlay_has(overlay, "bare"));
}
