/* Tests of lookups by name, by line, and within a class. */
#include "index/index_private.h"
#include "index_fixture.h"

#include <string.h>

static const TestFile FILES[] = {{"a.py", "C|A|2|4|5|40|\n"
                                          "A|A.x|6|6|\n"
                                          "I|os|7|os|\n"
                                          "D|A.f|8|10|10|20\n"
                                          "D|A.f.g|12|12|12|14\n"
                                          "C|A.f.L|15|15|15|18|\n"
                                          "D|A.f.L.m|16|16|16|17\n"
                                          "D|A.f|21|22|22|23\n"
                                          "C|A.B|25|25|25|30|\n"
                                          "D|A.B.f|26|26|26|28\n"
                                          "D|f|42|42|43|44\n"
                                          "A|y|45|47|\n"},
                                 {"b.py", "D|f|1|1|1|2\nC|A|3|3|3|4|\nD|f|5|5|5|5\n"},
                                 {"c.py", ""},
                                 {NULL, NULL}};

static void expect(const AcrIndex *index, AcrSymbolKind kind, const char *name, const char *expected)
{
    gsize n;
    const guint32 *ids = acr_index_lookup(index, kind, name, &n);
    GArray *found = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_assert_true((ids != NULL) == (n > 0));
    if (n > 0)
        g_array_append_vals(found, ids, (guint)n);
    assert_names(index, found, expected);
}

static void look_up_all(const AcrIndex *index)
{
    expect(index, ACR_SYMBOL_CLASS, "A", "a.py:A b.py:A");
    expect(index, ACR_SYMBOL_CLASS, "B", "a.py:A.B");
    expect(index, ACR_SYMBOL_FUNCTION, "f", "a.py:f b.py:f b.py:f");
    expect(index, ACR_SYMBOL_METHOD, "f", "a.py:A.f a.py:A.f a.py:A.B.f");
    expect(index, ACR_SYMBOL_FUNCTION, "g", "a.py:A.f.g");
    expect(index, ACR_SYMBOL_METHOD, "m", "a.py:A.f.L.m");
    expect(index, ACR_SYMBOL_ASSIGN, "x", "a.py:A.x");
    expect(index, ACR_SYMBOL_IMPORT, "os", "a.py:os");
    expect(index, ACR_SYMBOL_CLASS, "a", "");
    expect(index, ACR_SYMBOL_CLASS, "A.B", "");
    expect(index, ACR_SYMBOL_METHOD, "", "");
    expect(index, ACR_SYMBOL_METHOD, "zzz", "");
}

/* The first lookups scan, later ones use a table; the results must be equal. */
TEST("/index/lookup", names_give_all_places_in_order)
{
    g_autoptr(AcrIndex) index = index_of(FILES);
    for (guint round = 0; round < ACR_INDEX_MAX_SCANS + 1; round++)
        look_up_all(index);
}

TEST("/index/lookup", names_are_distinct_and_sorted)
{
    gsize n;
    g_autoptr(AcrIndex) index = index_of(FILES);
    const char *const *names = acr_index_names(index, ACR_SYMBOL_CLASS, &n);
    g_assert_cmpuint(n, ==, 3);
    g_assert_cmpstr(names[0], ==, "A");
    g_assert_cmpstr(names[1], ==, "B");
    g_assert_cmpstr(names[2], ==, "L");
    names = acr_index_names(index, ACR_SYMBOL_METHOD, &n);
    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpstr(names[0], ==, "f");
}

/* Compares every line with the table above, read in a simple way: "class/function". */
TEST("/index/lookup", each_line_has_its_innermost_class_and_function)
{
    static const struct {
        guint32 from, to;
        const char *klass, *func;
    } expected[] = {{1, 1, NULL, NULL},  {2, 7, "A", NULL},      {8, 11, "A", "f"},    {12, 14, "A", "g"},
                    {15, 15, "A", "f"},  {16, 17, "A.f.L", "m"}, {18, 20, "A", "f"},   {21, 23, "A", "f"},
                    {24, 24, "A", NULL}, {25, 25, "A.B", NULL},  {26, 28, "A.B", "f"}, {29, 30, "A.B", NULL},
                    {31, 40, "A", NULL}, {41, 41, NULL, NULL},   {42, 44, NULL, "f"},  {45, 1000, NULL, NULL}};
    g_autoptr(AcrIndex) index = index_of(FILES);
    guint32 line = 1;
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_assert_cmpuint(line, ==, expected[i].from);
        for (; line <= expected[i].to; line++) {
            gint32 klass, func;
            acr_index_enclosing(index, 0, line, &klass, &func);
            g_assert_cmpstr(klass < 0 ? NULL : acr_index_symbol(index, (guint32)klass)->qualname, ==,
                            expected[i].klass);
            g_assert_cmpstr(func < 0 ? NULL : acr_index_symbol(index, (guint32)func)->name, ==, expected[i].func);
        }
    }
}

TEST("/index/lookup", lines_belong_to_their_file)
{
    gint32 klass, func;
    g_autoptr(AcrIndex) index = index_of(FILES);
    acr_index_enclosing(index, 1, 5, &klass, &func);
    g_assert_cmpint(klass, ==, -1);
    g_assert_cmpuint(acr_index_symbol(index, (guint32)func)->first, ==, 5);
    acr_index_enclosing(index, 2, 5, &klass, &func);
    g_assert_cmpint(klass, ==, -1);
    g_assert_cmpint(func, ==, -1);
}

TEST("/index/lookup", symbols_know_their_class_and_function)
{
    g_autoptr(AcrIndex) index = index_of(FILES);
    guint32 id = symbol_of(index, ACR_SYMBOL_CLASS, "a.py", "A.B");
    g_assert_cmpstr(acr_index_class_of(index, id), ==, "A.B");
    g_assert_null(acr_index_func_of(index, id));
    id = symbol_of(index, ACR_SYMBOL_METHOD, "a.py", "A.B.f");
    g_assert_cmpstr(acr_index_class_of(index, id), ==, "A.B");
    g_assert_cmpstr(acr_index_func_of(index, id), ==, "f");
    id = symbol_of(index, ACR_SYMBOL_FUNCTION, "a.py", "A.f.g");
    g_assert_cmpstr(acr_index_class_of(index, id), ==, "A");
    g_assert_cmpstr(acr_index_func_of(index, id), ==, "g");
    id = symbol_of(index, ACR_SYMBOL_ASSIGN, "a.py", "A.x");
    g_assert_cmpstr(acr_index_class_of(index, id), ==, "A");
    g_assert_null(acr_index_func_of(index, id));
    id = symbol_of(index, ACR_SYMBOL_ASSIGN, "a.py", "y");
    g_assert_null(acr_index_class_of(index, id));
    id = symbol_of(index, ACR_SYMBOL_FUNCTION, "a.py", "f");
    g_assert_null(acr_index_class_of(index, id));
    g_assert_cmpstr(acr_index_func_of(index, id), ==, "f");
    id = symbol_of(index, ACR_SYMBOL_CLASS, "a.py", "A.f.L");
    g_assert_cmpstr(acr_index_func_of(index, id), ==, "f");
}

TEST("/index/lookup", members_are_direct_ones_only)
{
    g_autoptr(AcrIndex) index = index_of(FILES);
    guint32 id = symbol_of(index, ACR_SYMBOL_CLASS, "a.py", "A");
    assert_names(index, acr_index_members(index, id), "a.py:A.x a.py:A.f a.py:A.f a.py:A.B");
    assert_names(index, acr_index_methods(index, id, "f"), "a.py:A.f a.py:A.f");
    assert_names(index, acr_index_methods(index, id, "g"), "");
    assert_names(index, acr_index_methods(index, id, "x"), "");
    assert_names(index, acr_index_methods(index, id, "B"), "");
    id = symbol_of(index, ACR_SYMBOL_CLASS, "b.py", "A");
    assert_names(index, acr_index_members(index, id), "");
}

/* Names are sorted by their first eight bytes, and then by the rest. */
TEST("/index/lookup", names_that_begin_alike_are_in_order)
{
    static const TestFile files[] = {{"a.py", "A|prefix_8z|1|1|\nA|b|2|2|\nA|prefix_8|3|3|\nA|prefix_8\xc3\xa9|4|4|\n"
                                              "A|a|5|5|\nA|prefix_8a|6|6|\nA|ab|7|7|\n"},
                                     {"b.py", "A|prefix_8a|1|1|\nA|a|2|2|\nA|prefix_7|3|3|\nA|prefix_8z|4|4|\n"},
                                     {NULL, NULL}};
    static const char *const expected[] = {"a",        "ab",        "b",         "prefix_7",
                                           "prefix_8", "prefix_8a", "prefix_8z", "prefix_8\xc3\xa9"};
    gsize n;
    g_autoptr(AcrIndex) index = index_of(files);
    const char *const *names = acr_index_names(index, ACR_SYMBOL_ASSIGN, &n);
    g_assert_cmpuint(n, ==, G_N_ELEMENTS(expected));
    for (gsize i = 0; i < n; i++)
        g_assert_cmpstr(names[i], ==, expected[i]);
    const guint32 *ids = acr_index_lookup(index, ACR_SYMBOL_ASSIGN, "prefix_8z", &n);
    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpuint(ids[0], ==, 0);
    g_assert_cmpuint(ids[1], ==, 10);
}
