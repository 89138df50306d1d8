/* Tests of the bytes that draw the status block at the bottom of a terminal, of wrapped text, and of
 * the line counts of a diff. */
#include <string.h>

#include "verbs/screen.h"
#include "verbs/status_block.h"
#include "verbs/verbs_private.h"
#include "unit/cases.h"

/* Draws parts, and compares the bytes and the number of lines. */
static void check_drawn(const char *const *texts, guint columns, bool has_colour, const char *bytes, guint lines)
{
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    g_autoptr(GString) out = g_string_new(NULL);
    AcrStatusBlock block = {0};
    for (guint i = 0; texts[i]; i++)
        g_ptr_array_add(parts, (gpointer)texts[i]);
    acr_status_block_draw(&block, parts, columns, ACR_STATUS_LINES, has_colour, out);
    g_assert_cmpstr(out->str, ==, bytes);
    g_assert_cmpuint(block.n, ==, lines);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST("/verbs/status_block", parts_are_not_broken_but_cut)
{
    check_drawn(TEXTS("search", "3 s"), 80, false, "search · 3 s", 1);
    check_drawn(TEXTS("search", "3 s"), 15, false, "search · 3 s", 1);
    check_drawn(TEXTS("search", "3 s"), 14, false, "search\n3 s", 2);
    check_drawn(TEXTS("search", "3 s"), 80, true, "\033[1msearch\033[0m · 3 s", 1);
    check_drawn(TEXTS("abcdefghijkl"), 13, false, "abcdefghi…", 1);
    check_drawn(TEXTS("日本語日本語"), 13, false, "日本語日…", 1);
    check_drawn(TEXTS("aaaaaa", "bbbbbb", "cccccc", "dddddd", "eeeeee"), 11, false, "aaaaaa\nbbbbbb\ncccccc\ndddddd",
                4);
    check_drawn(TEXTS("a", "b", "\nc", "d", "\n"), 80, false, "a · b\nc · d\n", 3);
}

static void check_wiped(AcrStatusBlock block, guint columns, const char *bytes)
{
    g_autoptr(GString) out = g_string_new(NULL);
    acr_status_block_wipe(&block, columns, out);
    g_assert_cmpstr(out->str, ==, bytes);
    g_assert_cmpuint(block.n, ==, 0);
}

TEST("/verbs/status_block", rows_are_those_of_the_terminal_as_it_is_now)
{
    check_wiped((AcrStatusBlock){0}, 80, "");
    check_wiped((AcrStatusBlock){1, {70}}, 80, "\r\033[K\033[C\033[J\r");
    check_wiped((AcrStatusBlock){2, {70, 10}}, 80, "\r\033[1A\033[K\033[C\033[J\r");
    check_wiped((AcrStatusBlock){2, {70, 10}}, 35, "\r\033[2A\033[K\033[C\033[J\r");
    check_wiped((AcrStatusBlock){2, {70, 10}}, 34, "\r\033[3A\033[K\033[C\033[J\r");
}

TEST("/verbs/status_block", times_have_two_units_at_most)
{
    static const struct {
        gint64 ms;
        const char *text;
    } rows[] = {{-5, "0 s"},
                {59999, "59 s"},
                {60000, "1 min 0 s"},
                {3599000, "59 min 59 s"},
                {3600000, "1 h 0 min"},
                {90000000, "25 h 0 min"}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = acr_time_text(rows[i].ms);
        g_assert_cmpstr(text, ==, rows[i].text);
    }
}

TEST("/verbs/screen", lines_are_broken_between_words)
{
    static const struct {
        const char *text;
        guint width;
        const char *wrapped;
    } rows[] = {{"one two three", 0, "one two three"},
                {"one two three", 9, "one two\nthree"},
                {"one two\n\nthree four five ", 10, "one two\n\nthree four\nfive "},
                {"acr-host run: one two three", 20, "acr-host run: one\n  two three"},
                {"\033[1macr-host: one two\033[0m", 14, "\033[1macr-host: one\n  two\033[0m"},
                {"- one two three", 9, "- one two\n  three"},
                {"10. one two", 8, "10. one\n    two"},
                {"  -x  one two three", 16, "  -x  one two\n      three"},
                {"/a/path/that/is/long b", 10, "/a/path/that/is/long\nb"},
                {"\033[1mone two\033[0m three", 8, "\033[1mone two\033[0m\nthree"},
                {"日本 日本", 6, "日本\n日本"}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = acr_text_wrapped(rows[i].text, rows[i].width);
        g_assert_cmpstr(text, ==, rows[i].wrapped);
    }
}

TEST("/verbs/screen", guides_are_shown_without_marks)
{
    static const char guide[] = "# A `title`\n\nOne **two** [three](ci.md) four\nfive.\n\n"
                                "- an item\n  of two lines\n\n```sh\n# code | stays `as it` is\n```\n"
                                "| what | of it | why |\n|---|---|---|\n| `a` | b \\| c | |\n"
                                "| d | e | a cell of many words |\n";
    g_autofree char *wide = acr_guide_text(guide, 60, false), *narrow = acr_guide_text(guide, 20, true);
    g_assert_cmpstr(wide, ==,
                    "A `title`\n\nOne two three (acr-host help ci) four five.\n\n"
                    "- an item of two lines\n\n    # code | stays `as it` is\n"
                    "what  of it  why\n`a`   b | c\nd     e      a cell of many words\n\n");
    g_assert_nonnull(strstr(narrow, "\033[1mA \033[36mtitle\033[0m\033[0m\n"));
    g_assert_nonnull(strstr(narrow, "d\n    of it: e\n    why: a cell of\n    many words\n"));
}

TEST("/verbs/changed_files", lines_of_a_diff_are_counted_inside_hunks)
{
    static const char diff[] = "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n"
                               "@@ -1,3 +1,2 @@\n---- a comment\n-b\n+++ c\n d\n"
                               "diff --git a/new b/new\nnew file mode 100644\nindex 0..0\n"
                               "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n"
                               "+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"
                               "diff --git a/old name b/new name\nrename from old name\n"
                               "rename to new name\n";
    g_autoptr(GBytes) bytes = g_bytes_new_static(diff, sizeof diff - 1);
    g_autoptr(GPtrArray) files = acr_patch_files(bytes), none = acr_patch_files(NULL);
    static const char *const said[] = {"x.py (+1 -2)", "new (+0 -0)", "gone (+0 -1)", "new name (+0 -0)"};
    g_assert_cmpuint(none->len, ==, 0);
    g_assert_cmpuint(files->len, ==, G_N_ELEMENTS(said));
    for (guint i = 0; i < files->len; i++)
        g_assert_cmpstr(files->pdata[i], ==, said[i]);
}
