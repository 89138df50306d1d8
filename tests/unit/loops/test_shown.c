/* Tests of how executions, search results and bug locations are written for models and files. */
#include <glib.h>
#include <string.h>

#include "loops/attempt_work.h"
#include "unit/cases.h"

static GBytes *bytes_of(const char *text)
{
    return g_bytes_new(text, strlen(text));
}

TEST("/loops/shown", fence_is_longer_than_any_in_the_text)
{
    assert_text(acr_fence_text("python", "x = 1\n"), "```python\nx = 1\n```");
    assert_text(acr_fence_text("", "a"), "```\na\n```");
    assert_text(acr_fence_text("diff", "+```\n+````` x\n"), "``````diff\n+```\n+````` x\n``````");
    assert_text(acr_fence_text("", ""), "```\n```");
}

/* The text that is shown for an execution with this output that exited with 1. */
static char *shown(const char *out, const char *err, int signal)
{
    g_auto(AcrExecuted) executed = {.exit_code = signal ? -1 : 1, .signal = signal};
    g_autoptr(GPtrArray) doubts = g_ptr_array_new();
    AcrTestVerdict verdict = {.executed = &executed, .why = "it failed", .doubts = doubts};
    executed.out = bytes_of(out);
    executed.err = bytes_of(err);
    g_ptr_array_add(doubts, "it wrote files");
    return acr_execution_text("With the patch", &verdict);
}

TEST("/loops/shown", streams_stand_in_tags_that_they_cannot_close)
{
    assert_text(shown("", "no line end", 0),
                "With the patch, the script exited with 1 (it failed).\nNote: it wrote files.\n"
                "Its stdout is empty.\nIts stderr:\n<stderr>\nno line end\n</stderr>\n");
    assert_text(shown("</stdout> </stdout_2>\n", "", 9),
                "With the patch, the script was ended by signal 9 (it failed).\n"
                "Note: it wrote files.\n"
                "Its stdout:\n<stdout_3>\n</stdout> </stdout_2>\n</stdout_3>\n"
                "Its stderr is empty.\n");
}

TEST("/loops/shown", validation_is_shown_with_how_it_ended)
{
    static const struct {
        int exit_code, signal;
        AcrSandboxLimit limit;
        const char *end;
    } rows[] = {{2, 0, ACR_LIMIT_NONE, "(exit code 2)"},
                /* the output was truncated, but the command was not stopped */
                {1, 0, ACR_LIMIT_OUTPUT, "(exit code 1)"},
                {-1, 11, ACR_LIMIT_NONE, "(signal 11 ended it)"},
                {-1, 9, ACR_LIMIT_WALL, "(it was stopped at its limit of wall-clock time)"}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(AcrExecuted) executed = {.exit_code = rows[i].exit_code,
                                        .signal = rows[i].signal,
                                        .limit = rows[i].limit,
                                        .out = bytes_of("1 failed\n\n"),
                                        .err = bytes_of("")};
        g_autofree char *want = g_strconcat("1 failed\n", rows[i].end, NULL);
        assert_text(acr_validation_text(&executed), want);
    }
}

TEST("/loops/shown", execution_in_a_file_has_null_for_what_is_not_known)
{
    g_auto(AcrExecuted) executed = {.out = bytes_of("a"), .err = bytes_of("b"), .exit_code = 0};
    g_autoptr(AcrJson) ended = acr_json_new_object();
    g_autoptr(AcrJson) killed = acr_json_new_object();
    acr_executed_to_json(&executed, ended);
    g_autofree char *text = acr_json_print(ended);
    g_assert_cmpstr(text, ==, "{\"exit\":0,\"signal\":null,\"limit\":null,\"stdout\":\"a\",\"stderr\":\"b\"}");
    executed.exit_code = -1;
    executed.signal = 9;
    executed.limit = ACR_LIMIT_MEMORY;
    acr_executed_to_json(&executed, killed);
    g_autofree char *other = acr_json_print(killed);
    g_assert_cmpstr(other, ==, "{\"exit\":null,\"signal\":9,\"limit\":\"memory\",\"stdout\":\"a\",\"stderr\":\"b\"}");
}

/* ---- Search results ---- */

/* An answer with that output and n places in a.py: in class A, in function f, in both, or in
 * neither, in turn. */
static AcrAnswer answer_of(const char *output, guint n)
{
    AcrAnswer answer = {.ok = n > 0,
                        .output = g_strdup(output),
                        .places = g_ptr_array_new_with_free_func((GDestroyNotify)acr_place_free)};
    for (guint i = 0; i < n; i++)
        g_ptr_array_add(answer.places, acr_place_new("a.py", i + 1, i + 2, i % 2 ? "A" : NULL, i / 2 % 2 ? "f" : NULL));
    return answer;
}

/* Adds an answer of n places. */
static void add(AcrResults *results, const char *call, const char *output, guint n)
{
    g_auto(AcrAnswer) answer = answer_of(output, n);
    acr_results_add(results, call, &answer);
}

#define PLACES_4 "a.py lines 1-2; a.py A lines 2-3; a.py f lines 3-4; a.py A.f lines 4-5"

TEST("/loops/shown", headings_name_the_first_places_and_count_the_others)
{
    g_autoptr(AcrResults) results = acr_results_new();
    add(results, "c(1)", "", 0);
    add(results, "c(2)", "", 4);
    g_assert_cmpstr(results->headings->str, ==, "- c(1): nothing found\n- c(2): " PLACES_4 "\n");
    for (guint n = 5; n < 20; n++) {
        guint lines = 0;
        g_string_truncate(results->headings, 0);
        add(results, "c(3)", "", n);
        const char *more = strstr(results->headings->str, "; and ");
        guint unnamed = more ? (guint)g_ascii_strtoull(more + strlen("; and "), NULL, 10) : 0;
        for (const char *at = results->headings->str; (at = strstr(at, " lines ")); at++)
            lines++;
        g_assert_cmpuint(lines + unnamed, ==, n);
        g_assert_true(!more || unnamed > 0);
        g_assert_true(!more || lines >= 4);
    }
    g_assert_nonnull(strstr(results->headings->str, "; and "));
}

TEST("/loops/shown", result_that_is_too_long_for_the_round_is_left_out)
{
    g_autoptr(AcrResults) results = acr_results_new();
    g_autofree char *most = g_strnfill(ACR_ROUND_MAX_OUTPUT - 100, 'x');
    g_autofree char *other = g_strnfill(200, 'y');
    add(results, "big()", most, 1);
    add(results, "other()", other, 1);
    g_assert_nonnull(strstr(results->full->str, "Result of big():\n\nxxx"));
    g_assert_nonnull(strstr(results->full->str, "Result of other():\n\n(left out: "));
    g_assert_null(strstr(results->full->str, "yy"));
    g_assert_nonnull(strstr(results->headings->str, "- other(): a.py lines 1-2\n"));
    g_string_truncate(results->full, 0);
    add(results, "small()", "found", 1);
    g_assert_cmpstr(results->full->str, ==, "Result of small():\n\nfound\n\n");
}

TEST("/loops/shown", locations_are_listed_by_the_parts_that_were_named)
{
    g_autoptr(GPtrArray) locations = g_ptr_array_new();
    AcrBugLocation whole = {.file = (char *)"a.py", .klass = (char *)"A", .method = (char *)"f"};
    AcrBugLocation method = {.method = (char *)"g"};
    g_ptr_array_add(locations, &whole);
    g_ptr_array_add(locations, &method);
    assert_text(acr_locations_text(locations), "- file a.py, class A, method f\n- method g");
    g_autoptr(AcrJson) json = acr_locations_to_json(locations);
    g_autofree char *printed = acr_json_print(json);
    g_assert_true(g_str_has_prefix(printed, "[{\"file\":\"a.py\",\"class\":\"A\",\"method\":\"f\""));
}
