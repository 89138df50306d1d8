/* Tests of the answer parser: which texts are edits, which only mention edits, and what is missing
 * in incomplete edits. */
#include <string.h>

#include "support.h"

static GPtrArray *parse(const char *text)
{
    return acr_patch_parse(text, strlen(text));
}

static const AcrEdit *edit(const GPtrArray *edits, guint i)
{
    g_assert_cmpuint(i, <, edits->len);
    return edits->pdata[i];
}

static void check(const AcrEdit *edit, const char *file, const char *original, const char *patched)
{
    g_assert_cmpstr(edit->complaint, ==, NULL);
    g_assert_cmpstr(edit->file, ==, file);
    g_assert_cmpstr(edit->original, ==, original);
    g_assert_cmpstr(edit->patched, ==, patched);
}

#define EDIT(file, o, p) "<file>" file "</file>\n<original>\n" o "\n</original>\n<patched>\n" p "\n</patched>\n"

TEST("/patch/parse", answer_without_edits_has_none)
{
    g_autoptr(GPtrArray) empty = parse(""), talk = parse("I cannot see the code in `<original>` tags.\n");
    g_assert_cmpuint(empty->len, ==, 0);
    g_assert_cmpuint(talk->len, ==, 0);
}

TEST("/patch/parse", edits_in_one_fence_many_fences_or_none)
{
    static const char *const texts[] = {
        EDIT("a.py", "x = 1", "x = 2") EDIT("b.py", "y", "z"),
        "```\n" EDIT("a.py", "x = 1", "x = 2") EDIT("b.py", "y", "z") "```\n",
        "# modification 1\n```python\n" EDIT("a.py", "x = 1", "x = 2") "```\nand then\n# modification 2\n```\n" EDIT(
            "b.py", "y", "z") "```",
        "```\n" EDIT("a.py", "x = 1", "x = 2") "Some words.\n" EDIT("b.py", "y", "z"),
        "1. <file>a.py</file><original>x = 1</original><patched>x = 2</patched> <file>b.py</file> "
        "<original>y</original> "
        "<patched>z</patched>",
        "<FILE>a.py</FILE>\n< Original >x = 1</ORIGINAL >\n<patched lang=\"python\">x = "
        "2</patched>\n" EDIT("b.py", "y", "z")};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GPtrArray) edits = parse(texts[i]);
        g_assert_cmpuint(edits->len, ==, 2);
        check(edit(edits, 0), "a.py", "x = 1", "x = 2");
        check(edit(edits, 1), "b.py", "y", "z");
    }
}

TEST("/patch/parse", file_counts_until_the_next)
{
    g_autoptr(GPtrArray) edits = parse("<file> a.py\n</file><original>1</original><patched>2</patched>\n"
                                       "<original>3</original>\n<patched>4</patched>\n" EDIT("b.py", "5", "6"));
    g_assert_cmpuint(edits->len, ==, 3);
    check(edit(edits, 0), "a.py", "1", "2");
    check(edit(edits, 1), "a.py", "3", "4");
    check(edit(edits, 2), "b.py", "5", "6");
}

TEST("/patch/parse", missing_parts_are_named_not_borrowed)
{
    static const struct {
        const char *text, *complaint;
    } rows[] = {{"<file>a.py</file>\n<original>1</original>\n", "<patched> is missing"},
                {"<file>a.py</file>\n<patched>1</patched>\n", "<original> is missing"},
                {"<file>a.py</file>\nand that was all\n", "<original> and <patched> are missing"},
                {"<original>1</original>\n<patched>2</patched>\n", "<file> is missing"},
                {"<file></file><original>1</original>\n<patched>2</patched>\n", "<file> is empty"},
                {"<file>a.py</file>\n<original>1</original>\n<patched>2\n", "</patched> is missing"},
                {"<file>a.py</file>\n<original>1\n", "</original> is missing"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strconcat(rows[i].text, EDIT("b.py", "5", "6"), NULL);
        g_autoptr(GPtrArray) edits = parse(text);
        g_assert_cmpuint(edits->len, ==, 2);
        g_assert_cmpstr(edit(edits, 0)->complaint, ==, rows[i].complaint);
        check(edit(edits, 1), "b.py", "5", "6");
    }
}

TEST("/patch/parse", contents_keep_all_but_the_outer_line_ends)
{
    g_autoptr(GPtrArray) edits =
        parse("<file>a.py</file><original>    a\n\n    b  \n\n  </original><patched>  \r\n\n c\r\n"
              "</patched><original></original><patched>\n</patched>");
    check(edit(edits, 0), "a.py", "    a\n\n    b  \n", "\n c");
    check(edit(edits, 1), "a.py", "", "");
}

TEST("/patch/parse", fence_inside_the_tags_is_taken_off)
{
    g_autoptr(GPtrArray) edits =
        parse("<file>a.py</file>\n<original>\n```python\n  a\n```\n</original>\n<patched>\n```\n  b\n"
              "```\n</patched>\n");
    check(edit(edits, 0), "a.py", "  a", "  b");
}

TEST("/patch/parse", tag_names_inside_the_code_are_code)
{
    const char *code = "text = \"<original>\" + body + \"</original>\"\nend = '</patched>'; more = "
                       "'<file>x</file>'";
    g_autofree char *text =
        g_strdup_printf("<file>a.py</file>\n<original>\n%s\n</original>\n<patched>\n%s\nz\n</patched>\n", code, code);
    g_autofree char *patched = g_strconcat(code, "\nz", NULL);
    g_autoptr(GPtrArray) edits = parse(text);
    g_assert_cmpuint(edits->len, ==, 1);
    check(edit(edits, 0), "a.py", code, patched);
}

TEST("/patch/parse", quoted_search_result_is_no_edit)
{
    g_autoptr(GPtrArray) edits = parse("As seen in\n<file>a.py</file>\n<class>A</class> <func>f</func>\n<code>\n1 "
                                       "x\n</code>\n" EDIT("b.py", "5", "6"));
    g_assert_cmpuint(edits->len, ==, 1);
    check(edit(edits, 0), "b.py", "5", "6");
}

TEST("/patch/parse", offset_is_that_of_the_group)
{
    g_autoptr(GPtrArray) edits = parse("one\n" EDIT("b.py", "5", "6"));
    g_assert_cmpuint(edit(edits, 0)->off, ==, 4);
}

TEST("/patch/parse", bytes_that_are_no_text_are_repaired)
{
    const char text[] = "<file>a.py</file><original>\xff\0x</original><patched>y</patched>";
    g_autoptr(GPtrArray) edits = acr_patch_parse(text, sizeof text - 1);
    check(edit(edits, 0), "a.py", "\xef\xbf\xbd\xef\xbf\xbdx", "y");
}

TEST("/patch/parse", other_forms_and_their_bytes)
{
    const char *text = "a.py\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\nand\n"
                       "--- a/b.py\n+++ b/b.py\n@@ -7,2 +7,2 @@ def f():\n 3\n-4\n+5\n"
                       "@@ -90 +90 @@\n-6\n+7\n\nlast:\n" EDIT("c.py", "8", "9");
    static const char *const parts[] = {"<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n", " 3\n-4\n+5\n", "-6\n+7\n",
                                        "<file>c.py</file>\n<original>\n8\n</original>\n<patched>\n9\n</patched>"};
    g_autoptr(GPtrArray) edits = parse(text);
    g_assert_cmpuint(edits->len, ==, 4);
    check(edit(edits, 0), "a.py", "1", "2");
    check(edit(edits, 1), "b.py", "3\n4", "3\n5");
    check(edit(edits, 2), "b.py", "6", "7");
    check(edit(edits, 3), "c.py", "8", "9");
    g_assert_cmpint(edit(edits, 0)->form, ==, ACR_EDIT_SEARCH_REPLACE);
    g_assert_cmpint(edit(edits, 1)->form, ==, ACR_EDIT_DIFF);
    g_assert_cmpuint(edit(edits, 1)->line, ==, 7);
    g_assert_cmpuint(edit(edits, 2)->line, ==, 90);
    for (guint i = 0; i < edits->len; i++) {
        g_autofree char *part = g_strndup(text + edit(edits, i)->off, edit(edits, i)->end - edit(edits, i)->off);
        g_assert_cmpstr(part, ==, parts[i]);
    }
}

TEST("/patch/parse", every_cut_of_a_block_is_a_reading)
{
    g_autoptr(GPtrArray) edits = parse("a.rst\n<<<<<<< SEARCH\nA\n=====\n=======\nB\n=====\n>>>>>>> REPLACE\n");
    g_assert_cmpuint(edits->len, ==, 1);
    check(edit(edits, 0), "a.rst", "A\n=====", "B\n=====");
    /* The reading that would insert the block's own divider into the file is missing. */
    g_assert_cmpuint(edit(edits, 0)->others->len, ==, 1);
    const AcrEditReading *reading = edit(edits, 0)->others->pdata[0];
    g_assert_cmpstr(reading->original, ==, "A\n=====\n=======\nB");
    g_assert_cmpstr(reading->patched, ==, "");
}

TEST("/patch/parse", name_in_front_of_a_block)
{
    static const struct {
        const char *line, *file;
    } rows[] = {{"a/b.py", "a/b.py"},
                {"**`a/b.py`**", "a/b.py"},
                {"### 2. a/b.py:", "a/b.py"},
                {"File: a/b.py", "a/b.py"},
                {"`File path`: a.py", "a.py"},
                {"# a.py", "a.py"},
                {"- a/Makefile", "a/Makefile"},
                {"In a/b.py", "a/b.py"},
                {"Change a.py (the loop): a.py", "a.py"},
                {"### a/b.py (new)", "a/b.py"},
                {"In a/b.py, unlike a.py", NULL},
                {"run `python a.py` then", NULL},
                {"a/b or c", NULL},
                {"Then this.", NULL},
                {"see https://a.b/c", NULL},
                {"https://a.b/c.py", NULL},
                {"x = a.b(c)", NULL},
                {"a.Struct", NULL},
                {"", NULL}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text =
            g_strdup_printf("%s\n\n```python\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n```\n", rows[i].line);
        g_autoptr(GPtrArray) edits = parse(text);
        g_assert_cmpuint(edits->len, ==, 1);
        g_assert_cmpstr(edit(edits, 0)->file, ==, rows[i].file);
        g_assert_true((edit(edits, 0)->complaint != NULL) == (rows[i].file == NULL));
    }
}

TEST("/patch/parse", names_in_the_headers_of_a_diff)
{
    static const struct {
        const char *head, *file;
    } rows[] = {{"--- a/x.py\n+++ b/x.py\n", "x.py"},
                {"--- x.py\n+++ x.py\n", "x.py"},
                {"--- a/x.py\t2024-01-01 10:00:00\n+++ b/x.py\t2024-01-02\n", "x.py"},
                {"--- x.py.orig\n+++ x.py\n", "x.py"},
                {"--- old/x.py\n+++ new/x.py\n", "x.py"},
                {"--- \"a/\\303\\251.py\"\n+++ \"b/\\303\\251.py\"\n", "\xc3\xa9.py"},
                {"diff --git a/x y.py b/x y.py\n--- a/x y.py\n+++ b/x y.py\n", "x y.py"},
                {"--- a/x.py (before)\n+++ b/x.py (after)\n", "x.py"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strconcat(rows[i].head, "@@ -1 +1 @@\n-1\n+2\n", NULL);
        g_autoptr(GPtrArray) edits = parse(text);
        g_assert_cmpuint(edits->len, ==, 1);
        check(edit(edits, 0), rows[i].file, "1", "2");
    }
}

TEST("/patch/parse", talk_is_no_diff)
{
    static const char *const texts[] = {"--- \nA rule.\n", "--- a/x.py\nonly one line of it\n",
                                        "- one\n+ two\n",  "```python\n-1\n+2\n```\n",
                                        "```diff\n```\n",  "diff --gitter\n",
                                        "@@ no\n"};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GPtrArray) edits = parse(texts[i]);
        g_assert_cmpuint(edits->len, ==, 0);
    }
}

TEST("/patch/parse", answer_need_not_end_in_a_nul)
{
    static const char *const texts[] = {"<<<<<<< SEARCH", "--- a/b\n+++ b/c", "```diff\n@@",   "<file>a",
                                        "<original",      "a.py\n```",        "diff --git a/x"};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        for (gsize len = 0; len <= strlen(texts[i]); len++) {
            g_autofree char *exact = g_memdup2(texts[i], len);
            g_autoptr(GPtrArray) edits = acr_patch_parse(exact, len);
            for (guint k = 0; k < edits->len; k++)
                g_assert_nonnull(edit(edits, k)->complaint);
        }
    }
}
