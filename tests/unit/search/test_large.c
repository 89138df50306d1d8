/* Tests of text searches in very long files and lines, and in millions of equal lines. */
#include <string.h>

#include "fixture.h"
#include "search/search_private.h"

#define MILLION 1000000u
#define LONG_LINE (10u * 1024 * 1024)

/* The line, repeated n times; owned. */
static GString *repeated(const char *line, guint n)
{
    GString *text = g_string_sized_new(strlen(line) * n);
    for (guint i = 0; i < n; i++)
        g_string_append(text, line);
    return text;
}

TEST("/search/large", the_last_line_of_a_million_has_its_number)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = repeated("value = 1\n", MILLION - 1);
    g_string_append(text, "needle = 2\n");
    fixture_init(&fixture, "big.txt", text->str, NULL);
    fixture_expect(&fixture, "search_code_in_file", "needle", "big.txt", "big.txt:999997-1000000 - -");
    fixture_expect(&fixture, "search_code_in_file", "1\nneedle", "big.txt", "big.txt:999996-1000000 - -");
    fixture_expect(&fixture, "search_code_in_file", "  value = 1\n needle", "big.txt", "big.txt:999996-1000000 - -");
    fixture_expect(&fixture, "search_code_in_file", "re:^need", "big.txt", "big.txt:999997-1000000 - -");
    g_auto(AcrAnswer) around = fixture_call(&fixture, "get_code_around_line", "big.txt", "1000000", "0");
    fixture_assert_places(&around, "big.txt:1000000-1000000 - -");
}

TEST("/search/large", a_million_matches_are_counted)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = repeated("value = 1\r\n", MILLION);
    fixture_init(&fixture, "big.txt", text->str, NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code_in_file", "value", "big.txt", NULL);
    g_assert_nonnull(strstr(answer.output, "Found 1000000 lines with value:"));
    g_assert_cmpuint(answer.places->len, <=, ACR_SEARCH_MAX_PLACES);
    g_auto(AcrAnswer) pattern = fixture_call(&fixture, "search_code_in_file", "re:val.e", "big.txt", NULL);
    g_assert_nonnull(strstr(pattern.output, "Found 1000000 lines that match re:val.e:"));
}

/* Searches for every substring of up to 24 bytes of a text with few different letters, at every end
 * of that text. */
TEST("/search/large", short_and_long_texts_are_found_where_they_begin)
{
    static const char text[] = "aab\n(aabb aaab\\)\"abbab.*aabba[baab]+aaaaab\tabab$";
    const char *end = text + strlen(text);
    for (const char *from = text; from < end; from++)
        for (gsize len = 1; len <= MIN(24, (gsize)(end - from)); len++) {
            g_autofree char *part = g_strndup(from, len);
            g_autoptr(AcrNeedle) needle = acr_needle_new(part);
            for (const char *at = text; at <= end; at++)
                g_assert_true(acr_needle_find(needle, at, end) == g_strstr_len(at, end - at, part));
        }
}

/* Comparing the text at each line would take time proportional to the product of both lengths. */
TEST("/search/large", equal_lines_do_not_multiply)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = repeated("    xy\n", MILLION);
    g_autoptr(GString) wanted = repeated("xy\n", 5000);
    fixture_init(&fixture, "big.txt", text->str, NULL);
    g_auto(AcrAnswer) found = fixture_call(&fixture, "search_code_in_file", wanted->str, "big.txt", NULL);
    g_assert_true(found.ok);
    g_string_append(wanted, "xz\n");
    g_auto(AcrAnswer) missed = fixture_call(&fixture, "search_code_in_file", wanted->str, "big.txt", NULL);
    g_assert_false(missed.ok);
}

TEST("/search/large", a_line_of_ten_megabytes_is_searched_and_cut)
{
    g_auto(Fixture) fixture;
    g_autofree char *half = g_strnfill(LONG_LINE / 2, 'a');
    g_autofree char *text = g_strconcat("first = 1\nlong = '", half, "needle", half, "'\nlast = 3\n", NULL);
    fixture_init(&fixture, "big.txt", text, NULL);
    static const char *const wanted[] = {"needle", "re:nee?dle", "re:e{2}", "re:a+needle"};
    for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++) {
        g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code_in_file", wanted[i], "big.txt", NULL);
        fixture_assert_places(&answer, "big.txt:1-3 - -");
        g_assert_nonnull(strstr(answer.output, "\n3 last = 3\n"));
        g_assert_cmpuint(strlen(answer.output), <, 8192);
    }
    g_auto(AcrAnswer) repeats = fixture_call(&fixture, "search_code_in_file", "re:a*a*a*b", "big.txt", NULL);
    g_assert_false(repeats.ok);
    fixture_expect(&fixture, "search_code_in_file", "a", "big.txt", "big.txt:1-3 - -");
    fixture_expect(&fixture, "search_code_in_file", "'\n last", "big.txt", "big.txt:1-3 - -");
}

TEST("/search/large", contents_beyond_the_kept_ones_are_found_loosely_too)
{
    const char *text = "if a:\n    b = needle\n";
    g_auto(Fixture) kept, unkept;
    fixture_init(&kept, "a.py", text, "b.py", text, "c.py", text, NULL);
    fixture_init(&unkept, "a.py", text, "b.py", text, "c.py", text, NULL);
    unkept.search->kept_limit = 30;
    static const char *const wanted[] = {"needle", "if a:\nb = needle", "re:b.*e$", "nowhere", "b = needle\nif a"};
    for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++) {
        g_auto(AcrAnswer) one = fixture_call(&kept, "search_code", wanted[i], NULL, NULL);
        g_auto(AcrAnswer) two = fixture_call(&unkept, "search_code", wanted[i], NULL, NULL);
        g_assert_cmpstr(one.output, ==, two.output);
    }
    g_assert_cmpuint(kept.search->kept_bytes, ==, 3 * strlen(text));
    g_assert_cmpuint(unkept.search->kept_bytes, ==, strlen(text));
}

/* The text occurs nowhere, so the lines with its word are shown instead. */
TEST("/search/large", lines_of_a_common_word_are_counted_up_to_a_bound)
{
    g_auto(Fixture) few, many;
    g_autoptr(GString) less = repeated("value = 1\n", 20000);
    g_autoptr(GString) more = repeated("value = 1\n", 20001);
    fixture_init(&few, "a.py", less->str, "b.py", "value = 2\n", NULL);
    fixture_init(&many, "a.py", more->str, "b.py", "value = 2\n", NULL);
    g_auto(AcrAnswer) all = fixture_call(&few, "search_code", "value + 777", NULL, NULL);
    g_auto(AcrAnswer) cut = fixture_call(&many, "search_code", "value + 777", NULL, NULL);
    g_assert_nonnull(strstr(all.output, "Found 20001 lines"));
    g_assert_nonnull(strstr(cut.output, "Found at least 20001 lines"));
    g_assert_nonnull(strstr(cut.output, "<file>b.py</file>"));
}

/* Tests and files of other types are searched together, up to a limit in bytes. */
TEST("/search/large", counts_in_other_files_are_left_out_when_they_are_too_many)
{
    g_auto(Fixture) few, many;
    g_autoptr(GString) large = repeated("needle needle needle needle\n", 1200000);
    g_assert_cmpuint(large->len, >, ACR_SEARCH_OTHER_BYTES);
    fixture_init(&few, "a.py", "x = 1\n", "notes.txt", "needle\n", "test_a.py", "needle\n", NULL);
    fixture_init(&many, "a.py", "x = 1\n", "notes.txt", "needle\n", "large.txt", large->str, NULL);
    const GPtrArray *texts = acr_search_others(few.search, "needle");
    g_assert_cmpuint(texts->len, ==, 2);
    const AcrOther *first = g_ptr_array_index(texts, 0);
    g_assert_cmpstr(acr_search_path(few.search, first->entry), ==, "notes.txt");
    g_assert_true(acr_search_others(few.search, "needle") == texts);
    g_assert_null(acr_search_others(many.search, "needle"));
    g_assert_null(acr_search_others(many.search, "needle"));
}
