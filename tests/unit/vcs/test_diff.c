/* Tests of diffs: they must equal, byte for byte, what the git command prints after the same
 * change, and `git apply` must accept them. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vcs_fixture.h"

static void write_mode(AcrOverlay *overlay, const char *path, guint32 mode, const void *data, gsize len)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = g_bytes_new(data, len);
    assert_ok(acr_overlay_write(overlay, path, mode, bytes, &error), error);
}

/* Makes the files of folder "w" equal to those of `overlay`, without the code under test. */
static void lay_out(const Sandbox *box, const AcrOverlay *overlay, const AcrSnapshot *snapshot, const char *dir)
{
    g_auto(GStrv) paths = acr_overlay_changed(overlay);
    for (gsize i = 0; paths[i]; i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *relative = g_strdup_printf("%s/%s", dir, paths[i]);
        g_autofree char *whole = sandbox_path(box, relative);
        unlink(whole);
        if (!acr_overlay_has(overlay, paths[i]))
            continue;
        g_autoptr(GBytes) bytes = made(acr_overlay_read(overlay, paths[i], &error), error);
        put_bytes(box, relative, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
    }
}

static void print_difference(const char *label, GBytes *bytes)
{
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);
    g_autofree char *shown = acr_utf8_repair(data, len);
    g_test_message("%s:\n%s", label, shown);
}

/* Expects the diff that git prints in a checkout of HEAD with the files of `overlay`; sets the
 * modes given by `exec`. */
static void expect_gits(const Sandbox *box, const AcrOverlay *overlay, const AcrSnapshot *snapshot,
                        const char *const *exec, const char *const *not_exec)
{
    static const char *const diff_argv[] = {"git",          "-c",       "core.pager=cat", "diff", "--cached",
                                            "--full-index", "--binary", "--no-renames",   NULL};
    static const char *const apply_argv[] = {"git", "apply", "--index", "-", NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) ours = made(acr_overlay_diff(overlay, &error), error);
    git(box, "", "clone -q --shared r w");
    lay_out(box, overlay, snapshot, "w");
    for (gsize i = 0; exec && exec[i]; i++) {
        g_autofree char *path = g_build_filename(box->root, "w", exec[i], NULL);
        g_assert_cmpint(chmod(path, 0755), ==, 0);
    }
    for (gsize i = 0; not_exec && not_exec[i]; i++) {
        g_autofree char *path = g_build_filename(box->root, "w", not_exec[i], NULL);
        g_assert_cmpint(chmod(path, 0644), ==, 0);
    }
    git(box, "w", "add -A");
    g_autoptr(GBytes) theirs = NULL;
    g_assert_cmpint(run_in(box, "w", diff_argv, NULL, &theirs), ==, 0);
    if (!g_bytes_equal(ours, theirs)) {
        print_difference("ours", ours);
        print_difference("git's", theirs);
    }
    g_assert_true(g_bytes_equal(ours, theirs));
    /* applied to the checkout, the diff must give the same tree */
    g_autofree char *tree = git_output(box, "w", "write-tree");
    git(box, "w", "reset -q --hard");
    if (g_bytes_get_size(ours))
        g_assert_cmpint(run_in(box, "w", apply_argv, ours, NULL), ==, 0);
    g_autofree char *applied = git_output(box, "w", "write-tree");
    g_assert_cmpstr(tree, ==, applied);
    g_autofree char *path = sandbox_path(box, "w");
    assert_ok(acr_dir_remove(path, &error), error);
}

BOX_TEST("/vcs/diff", every_kind_of_change)
{
    make_repo(box, "r");
    put(box, "r/mod", "1\n2\n3\n");
    put(box, "r/gone", "1\n2\n");
    put(box, "r/gone-empty", "");
    put(box, "r/emptied", "1\n");
    put(box, "r/filled", "");
    put(box, "r/no-end", "1\n2");
    put(box, "r/gets-end", "1\n2");
    put(box, "r/loses-end", "1\n2\n");
    put(box, "r/mode", "1\n");
    put(box, "r/mode-and-text", "1\n");
    put(box, "r/run", "1\n");
    put(box, "r/crlf", "1\r\n2\r\n3\r\n");
    put(box, "r/latin", "caf\xe9\n2\n");
    g_autofree char *run = sandbox_path(box, "r/run");
    g_assert_cmpint(chmod(run, 0755), ==, 0);
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    write_ok(overlay, "mod", "1\nx\n3\n");
    g_assert_true(acr_overlay_remove(overlay, "gone", &error));
    g_assert_true(acr_overlay_remove(overlay, "gone-empty", &error));
    write_ok(overlay, "emptied", "");
    write_ok(overlay, "filled", "1\n");
    write_ok(overlay, "no-end", "0\n2");
    write_ok(overlay, "gets-end", "1\n2\n");
    write_ok(overlay, "loses-end", "1\n2");
    write_mode(overlay, "mode", ACR_MODE_EXEC, "1\n", 2);
    write_mode(overlay, "mode-and-text", ACR_MODE_EXEC, "2\n", 2);
    write_ok(overlay, "run", "2\n");
    write_ok(overlay, "crlf", "1\r\nx\r\n3\r\n");
    write_ok(overlay, "latin", "caf\xe9\nx\xe9\n");
    write_ok(overlay, "new/deep/file", "1\n");
    write_ok(overlay, "new-empty", "");
    write_mode(overlay, "new-run", ACR_MODE_EXEC, "x", 1);
    const char *exec[] = {"mode", "mode-and-text", "run", "new-run", NULL};
    expect_gits(box, overlay, snapshot, exec, NULL);
}

BOX_TEST("/vcs/diff", odd_names_are_quoted)
{
    static const char *const names[] = {"with blank",  "tab\there",  "new\nline",      "quote\"d", "back\\slash",
                                        "caf\xc3\xa9", "latin-\xe9", "bell\a\b\v\f\r", "del\x7f",  "esc\x1b ",
                                        "-dash",       "blank \xe9", "d r/with \"q",   " lead",    "trail "};
    make_repo(box, "r");
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strconcat("r/", names[i], NULL);
        put(box, path, "1\n");
    }
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *new_name = g_strconcat(names[i], ".new", NULL);
        if (i % 3 == 0)
            g_assert_true(acr_overlay_remove(overlay, names[i], &error));
        else
            write_ok(overlay, names[i], "2\n");
        write_ok(overlay, new_name, "3\n");
    }
    expect_gits(box, overlay, snapshot, NULL, NULL);
}

/* Fills `data` with bytes that include NULs. Equal seeds give similar data, so that deltas pay
 * off. */
static void fill_binary(guint8 *data, gsize len, guint32 seed, guint32 noise)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    g_autoptr(GRand) other = g_rand_new_with_seed(noise);
    for (gsize i = 0; i < len; i++)
        data[i] = (guint8)g_rand_int(rand);
    for (gsize i = 0; noise && i < len / 100 + 1; i++)
        data[g_rand_int_range(other, 0, (gint32)len)] ^= 0x55;
    data[0] = 0;
}

BOX_TEST("/vcs/diff", binary_files_are_literals_or_deltas)
{
    make_repo(box, "r");
    static const gsize sizes[] = {1, 26, 52, 53, 1000, 20000, 100000};
    guint8 *data = g_malloc(100000);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *path = g_strdup_printf("r/b%" G_GSIZE_FORMAT, i);
        fill_binary(data, sizes[i], (guint32)i, 0);
        put_bytes(box, path, data, sizes[i]);
    }
    put(box, "r/text", "now text\n");
    put_bytes(box, "r/gone", "a\0b", 3);
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *path = g_strdup_printf("b%" G_GSIZE_FORMAT, i);
        fill_binary(data, sizes[i], (guint32)i, 99);
        write_mode(overlay, path, 0, data, i % 2 ? sizes[i] : sizes[i] / 2 + 1);
    }
    write_mode(overlay, "text", ACR_MODE_EXEC, "\0", 1);
    write_mode(overlay, "new", 0, "x\0y", 3);
    g_assert_true(acr_overlay_remove(overlay, "gone", &error));
    g_free(data);
    const char *exec[] = {"text", NULL};
    expect_gits(box, overlay, snapshot, exec, NULL);
}

BOX_TEST("/vcs/diff", symlinks_and_changes_of_type)
{
    make_repo(box, "r");
    put(box, "r/file", "1\n");
    g_autofree char *link = sandbox_path(box, "r/link");
    g_assert_cmpint(symlink("file", link), ==, 0);
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    g_assert_true(acr_overlay_remove(overlay, "link", &error));
    write_mode(overlay, "file", ACR_MODE_LINK, "target", 6);
    write_mode(overlay, "new", ACR_MODE_LINK, "../away", 7);
    g_autoptr(GBytes) ours = made(acr_overlay_diff(overlay, &error), error);
    g_autofree char *file = sandbox_path(box, "r/file");
    g_autofree char *new = sandbox_path(box, "r/new");
    g_assert_cmpint(unlink(link), ==, 0);
    g_assert_cmpint(unlink(file), ==, 0);
    g_assert_cmpint(symlink("target", file), ==, 0);
    g_assert_cmpint(symlink("../away", new), ==, 0);
    git(box, "r", "add -A");
    g_autofree char *theirs = git_output(box, "r", "diff --cached --full-index --no-renames");
    g_assert_cmpmem(g_bytes_get_data(ours, NULL), g_bytes_get_size(ours), theirs, strlen(theirs));
}

/* ---- Attributes and random cases ---- */

/* Appends a random line as it may occur in a source file. */
static void append_line(GString *out, GRand *rand, const char *end)
{
    static const char *const lines[] = {
        "",
        "def f(x):",
        "    def method(self):",
        "class A(B):",
        "    return x",
        "\tasync def g():",
        "async  def h(): pass",
        "  class Inner:",
        "x = 1",
        "_private = 2",
        "$odd = 3",
        "}",
        "    # comment",
        "deffed = 1",
        "classy",
        "if x:",
        "        pass",
        "\"\"\"text",
        "caf\xc3\xa9 = 1",
        "@decorator",
        "#",
        "def a_very_long_name_of_a_function_that_goes_on_and_on_and_on(with_arguments, that_go_on, "
        "too, and_more): pass",
        "class T:   ",
        "    pass  \t",
        "async",
        "def",
        "def\tt():",
        "asyncdef x",
        "   ",
        "\xe9t\xe9 = 1",
        "def \xe9():"};
    g_string_append(out, lines[g_rand_int_range(rand, 0, G_N_ELEMENTS(lines))]);
    if (g_rand_int_range(rand, 0, 4) == 0)
        g_string_append_printf(out, "  # %d", g_rand_int_range(rand, 0, 50));
    g_string_append(out, end);
}

static GString *random_text(GRand *rand, const char *end)
{
    GString *out = g_string_new(NULL);
    int lines = g_rand_int_range(rand, 0, g_rand_int_range(rand, 0, 3) ? 60 : 6);
    for (int i = 0; i < lines; i++)
        append_line(out, rand, end);
    if (g_rand_int_range(rand, 0, 5) == 0)
        g_string_append(out, "last line without end");
    return out;
}

/* The text with some lines removed, added, replaced or repeated. */
static GString *mutate(const GString *text, GRand *rand, const char *end)
{
    GString *out = g_string_new(NULL);
    int rate = g_rand_int_range(rand, 3, 25);
    for (const char *p = text->str; *p;) {
        const char *nl = strchr(p, '\n');
        gsize len = nl ? (gsize)(nl - p) + 1 : strlen(p);
        int what = g_rand_int_range(rand, 0, rate);
        if (what == 0)
            append_line(out, rand, end);
        if (what != 1)
            g_string_append_len(out, p, (gssize)len);
        if (what == 2 && nl)
            append_line(out, rand, end);
        if (what == 3 % rate && nl && g_rand_boolean(rand))
            g_string_append_len(out, p, (gssize)len);
        p += len;
    }
    return out;
}

static const char *random_attributes(GRand *rand)
{
    static const char *const texts[] = {NULL,
                                        NULL,
                                        "*.py diff=python\n",
                                        "*.py    diff=python\n*.sh eol=lf\n",
                                        "# note\n*.py diff\n",
                                        "*.py -diff\n",
                                        "*.py binary\n",
                                        "[attr]snake diff=python\n*.py snake\n",
                                        "*.py diff=python\nsub/*.py !diff\n",
                                        "/sub/ diff=python\nsub/** diff=python\n",
                                        "*.py diff=unknown-driver\n",
                                        "*.txt diff=python\n"};
    return texts[g_rand_int_range(rand, 0, G_N_ELEMENTS(texts))];
}

static void random_case(guint32 seed)
{
    static const char *const names[] = {"a.py", "sub/b.py", "sub/deep/c.py", "d.txt", "sub/e.py", "name with blank.py"};
    const char *const ends[] = {"\n", "\n", "\r\n"};
    g_auto(Sandbox) box;
    sandbox_init(&box);
    make_repo(&box, "r");
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    const char *attributes = random_attributes(rand);
    const char *below = random_attributes(rand);
    if (attributes)
        put(&box, "r/.gitattributes", attributes);
    if (below && g_rand_boolean(rand))
        put(&box, "r/sub/.gitattributes", below);
    GString *texts[G_N_ELEMENTS(names)];
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strconcat("r/", names[i], NULL);
        texts[i] = random_text(rand, ends[seed % 3]);
        put_bytes(&box, path, texts[i]->str, texts[i]->len);
    }
    commit_all(&box, "r");
    g_autoptr(AcrSnapshot) snapshot = commit_ok(&box, "r", "HEAD");
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) error = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        GString *changed = mutate(texts[i], rand, ends[seed % 3]);
        if (g_rand_int_range(rand, 0, 12) == 0)
            g_assert_true(acr_overlay_remove(overlay, names[i], &error));
        else
            write_mode(overlay, names[i], 0, changed->str, changed->len);
        g_string_free(changed, TRUE);
        g_string_free(texts[i], TRUE);
    }
    g_test_message("seed %u, attributes %s", seed, attributes ? attributes : "none");
    expect_gits(&box, overlay, snapshot, NULL, NULL);
}

TEST("/vcs/diff", random_changes_give_gits_bytes)
{
    for (guint32 seed = 1; seed <= 45; seed++)
        random_case(seed);
}

BOX_TEST("/vcs/diff", attributes_of_the_overlay_count)
{
    make_repo(box, "r");
    put(box, "r/.gitattributes", "*.py -diff\n");
    put(box, "r/a.py", "class A:\n    def f(self):\n        1\n        2\n        3\n        4\n        5\n");
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    write_ok(overlay, "a.py", "class A:\n    def f(self):\n        1\n        2\n        3\n        4\n        6\n");
    expect_gits(box, overlay, snapshot, NULL, NULL);
    write_ok(overlay, ".gitattributes", "*.py diff=python\n");
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) diff = acr_overlay_diff(overlay, &error);
    g_autofree char *text = g_strndup(g_bytes_get_data(diff, NULL), g_bytes_get_size(diff));
    g_assert_nonnull(strstr(text, "@@ -4,4 +4,4 @@ def f(self):\n"));
    expect_gits(box, overlay, snapshot, NULL, NULL);
}

/* Covers macros, later words that cancel or repeat earlier ones, quoted patterns, and lines that
 * git ignores. */
TEST("/vcs/diff", rules_of_attributes_are_gits)
{
    static const char *const texts[] = {"[attr]snake diff=python\n[attr]adder snake\n*.py adder\n",
                                        "[attr]binary diff=python\n*.py binary\n",
                                        "*.py binary\n*.py -binary\n",
                                        "*.py binary !diff\n",
                                        "*.py diff=python -diff diff\n",
                                        "\"name with blank.py\" -diff\n!*.py -diff\n",
                                        "*.py -diff -=x\n  **/*.py\tdiff=python\n"};
    static const char body[] = "class A:\n    def f(self):\n        1\n        2\n        3\n"
                               "        4\n        5\n";
    static const char changed[] = "class A:\n    def f(self):\n        1\n        2\n        3\n        6\n";
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_auto(Sandbox) box;
        sandbox_init(&box);
        make_repo(&box, "r");
        put(&box, "r/.gitattributes", texts[i]);
        put(&box, "r/sub/.gitattributes", "b.py !diff\n");
        put(&box, "r/a.py", body);
        put(&box, "r/sub/b.py", body);
        put(&box, "r/name with blank.py", body);
        commit_all(&box, "r");
        g_autoptr(AcrSnapshot) snapshot = commit_ok(&box, "r", "HEAD");
        g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
        write_ok(overlay, "a.py", changed);
        write_ok(overlay, "sub/b.py", changed);
        write_ok(overlay, "name with blank.py", changed);
        g_test_message("%s", texts[i]);
        expect_gits(&box, overlay, snapshot, NULL, NULL);
    }
}

BOX_TEST("/vcs/diff", missing_content_is_an_error)
{
    make_repo(box, "r");
    put(box, "r/f", "one\n");
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    g_autofree char *object = sandbox_path(box, "r/.git/objects/56/26abf0f72e58d7a153368ba57db4c673c0e171");
    g_assert_cmpint(unlink(object), ==, 0);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    write_ok(overlay, "f", "two\n");
    g_autoptr(GError) error = NULL;
    g_assert_null(acr_overlay_diff(overlay, &error));
    g_assert_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING);
    g_assert_true(g_str_has_prefix(error->message, "cannot diff 'f': "));
}
