/* Tests of regular expressions ("re:…") that would match forever, or have the maximum size. */
#include <string.h>

#include "fixture.h"
#include "search/reply_private.h"

static void assert_has(const AcrAnswer *answer, const char *text)
{
    if (!strstr(answer->output, text))
        g_error("no '%s' in:\n%s", text, answer->output);
}

/* Expects the pattern to match at these places, or nowhere (""). */
static void expect(Fixture *fixture, const char *pattern, const char *places)
{
    fixture_expect(fixture, "search_code", pattern, NULL, places);
}

TEST("/search/pattern", a_match_of_many_lines_is_shown_in_part)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 1000; i++)
        g_string_append_printf(text, "v%d = %d\n", i, i);
    fixture_init(&fixture, "m.py", text->str, NULL);
    expect(&fixture, "re:[\\s\\S]+", "m.py:1-43 - -");
}

TEST("/search/pattern", one_that_is_too_long_is_refused)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "f(x)\n", NULL);
    g_autofree char *many = g_strnfill(ACR_PATTERN_MAX_BYTES + 1, 'x');
    g_autofree char *argument = g_strconcat("re:", many, NULL);
    g_auto(AcrAnswer) refused = fixture_call(&fixture, "search_code", argument, NULL, NULL);
    assert_has(&refused, "it is not a valid pattern: pattern string is longer than the limit");
}

/* Patterns that take exponential, cubic or quadratic time on a line. */
TEST("/search/pattern", a_pattern_without_end_is_cut_and_says_so)
{
    static const char *const patterns[] = {"re:(a+)+$", "re:(a|a)*b", "re:a*a*a*a*b", "re:(a*)*\\1b",
                                           "re:(?:(?:a{0,9}){0,9}){0,9}b"};
    g_auto(Fixture) fixture;
    g_autofree char *run = g_strnfill(50000, 'a');
    g_autofree char *text = g_strconcat("needle = 1\n", run, "!b\n", NULL);
    fixture_init(&fixture, "m.py", text, "n.py", "aaab = 1\n", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(patterns); i++) {
        g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", patterns[i], NULL, NULL);
        assert_has(&answer, "The pattern is too slow: 1 file was searched only in part "
                            "(m.py).\n");
        g_auto(AcrAnswer) again = fixture_call(&fixture, "search_code", patterns[i], NULL, NULL);
        g_assert_cmpstr(answer.output, ==, again.output);
    }
    expect(&fixture, "re:(a|a)*b", "n.py:1-1 - -");
    g_auto(AcrAnswer) before = fixture_call(&fixture, "search_code", "re:needle|(a|a)*b", NULL, NULL);
    fixture_assert_places(&before, "m.py:1-2 - -\nn.py:1-1 - -");
}

TEST("/search/pattern", all_steps_of_a_search_are_bounded)
{
    g_auto(Fixture) fixture;
    char *dir = g_dir_make_tmp("acr-search-XXXXXX", NULL);
    g_autofree char *run = g_strnfill(5000, 'a'), *text = g_strconcat(run, "!b\n", NULL);
    guint n = ACR_PATTERN_STEPS / ACR_PATTERN_FILE_STEPS + 5;
    for (guint i = 0; i < n; i++) {
        g_autofree char *path = g_strdup_printf("m%02u.py", i);
        fixture_write(dir, path, text, strlen(text));
    }
    fixture_init_dir(&fixture, dir);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "re:(a+)+b", NULL, NULL);
    g_assert_false(answer.ok);
    assert_has(&answer, "files were not searched, because the search reached its limit of steps.\n");
}

/* PCRE2 itself rejects these; in any case, the call must get an answer. */
TEST("/search/pattern", deep_and_large_patterns_are_answered)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) nested = g_string_new("re:");
    for (int i = 0; i < 1000; i++)
        g_string_append_c(nested, '(');
    fixture_init(&fixture, "m.py", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaab = é\n", NULL);
    const char *patterns[] = {nested->str,
                              "re:((a{1,1000}){1,1000}){1,1000}",
                              "re:(?R)",
                              "re:(a(?1)?b)",
                              "re:\\C",
                              "re:(*LIMIT_MATCH=1)(a+)+b",
                              "re:(*UTF)(*NO_JIT)(a|b)+",
                              "re:a\\Kb",
                              "re:(?C1)a",
                              "re:(?<=\\d{3})",
                              "re:\\p{L}+ = ",
                              "re:(*SKIP)a",
                              "re:(?(DEFINE)(?<x>a))(?&x)+"};
    for (gsize i = 0; i < G_N_ELEMENTS(patterns); i++) {
        g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", patterns[i], NULL, NULL);
        g_assert_cmpstr(answer.output, !=, "");
    }
}

TEST("/search/pattern", many_matches_are_counted_and_a_thousand_listed)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 1500; i++)
        g_string_append(text, "hit hit\n\n\n\n\n\n\n\n");
    fixture_init(&fixture, "a.py", text->str, NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "re:h.t", NULL, NULL);
    g_assert_cmpuint(answer.places->len, ==, ACR_SEARCH_MAX_PLACES);
    assert_has(&answer, "Found 1500 lines that match re:h.t:");
}
