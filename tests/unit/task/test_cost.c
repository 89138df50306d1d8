/* Tests of what the journal records about a call's requests, and of the total cost: it must be
 * equal in the live call and in its record. */
#include "test_task.h"

#include <string.h>

static AcrModelTry try_of(bool ok, gint64 cost_pico, gint64 charged_pico, gint64 wait_ms)
{
    AcrModelTry attempt = {.model = "p/m",
                           .ok = ok,
                           .sent = true,
                           .code = ACR_LLM_ERROR_SERVER,
                           .status = ok ? 200 : 500,
                           .request_id = (char *)"req_1",
                           .wait_ms = wait_ms,
                           .usage = ACR_USAGE_UNKNOWN,
                           .charged_pico = charged_pico,
                           .charged_tokens = 9};
    if (ok)
        attempt.usage = (AcrUsage){.input = 700,
                                   .cached = 200,
                                   .written = 100,
                                   .output = 50,
                                   .reasoning = 20,
                                   .cost_pico = cost_pico,
                                   .cost_stated = true};
    return attempt;
}

static AcrJson *record_of(const AcrModelTry *tries, guint n)
{
    g_autoptr(GArray) array = g_array_new(FALSE, FALSE, sizeof(AcrModelTry));
    AcrModelReport report = {.tries = array};
    AcrModelAnswer answer = {
        .content = (char *)"hi", .finish = (char *)"stop", .request_id = (char *)"req_2", .usage = tries[n - 1].usage};
    g_array_append_vals(array, tries, n);
    AcrJson *record = acr_record_answer(&answer);
    acr_record_add_tries(record, &report);
    return record;
}

/* The cost that a record gives after it was written and parsed again. */
static AcrCostSum cost_of(const AcrJson *record)
{
    g_autofree char *text = acr_json_print(record);
    g_autoptr(AcrJson) again = acr_json_parse(text, strlen(text), NULL);
    AcrCostSum live, replayed;
    acr_record_cost(record, false, &live);
    acr_record_cost(again, true, &replayed);
    g_assert_cmpint(live.usage.cost_pico, ==, replayed.usage.cost_pico);
    g_assert_cmpint(live.wait_ms, ==, replayed.wait_ms);
    return replayed;
}

TEST("/task/cost", tries_are_summed)
{
    AcrModelTry tries[] = {try_of(false, -1, 7000000, 0), try_of(true, 3285000000, 3285000000, 40)};
    g_autoptr(AcrJson) record = record_of(tries, 2);
    AcrCostSum call = cost_of(record);
    g_assert_cmpint(call.usage.input, ==, 700);
    g_assert_cmpint(call.usage.cached, ==, 200);
    g_assert_cmpint(call.usage.written, ==, 100);
    g_assert_cmpint(call.usage.reasoning, ==, 20);
    g_assert_cmpint(call.usage.cost_pico, ==, 3285000000);
    g_assert_cmpint(call.charged_pico, ==, 3292000000);
    g_assert_cmpint(call.wait_ms, ==, 40);
    g_assert_cmpuint(call.retries, ==, 1);
    g_assert_cmpuint(call.unknown_cost_calls, ==, 1); /* the first try, which may have been billed */
}

TEST("/task/cost", a_refusal_that_is_free_has_a_known_cost)
{
    AcrModelTry tries[] = {try_of(false, -1, 0, 0), try_of(true, 5, 5, 0)};
    g_autoptr(AcrJson) record = record_of(tries, 2);
    g_assert_cmpuint(cost_of(record).unknown_cost_calls, ==, 0);
}

TEST("/task/cost", an_answer_comes_back_whole)
{
    AcrModelTry tries[] = {try_of(true, 12345, 12345, 0)};
    g_autoptr(AcrJson) record = record_of(tries, 1);
    g_auto(AcrModelAnswer) answer = {0};
    acr_record_read_answer(record, &answer);
    g_assert_cmpstr(answer.content, ==, "hi");
    g_assert_cmpstr(answer.request_id, ==, "req_2");
    g_assert_cmpint(answer.usage.cost_pico, ==, 12345);
    g_assert_true(answer.usage.cost_stated);
}

TEST("/task/cost", a_script_s_record_has_no_tries)
{
    static const char text[] = "{\"content\":\"x\",\"usage\":{\"input\":5,\"cached\":-1,"
                               "\"output\":2,\"cost_picousd\":3}}";
    g_autoptr(AcrJson) record = acr_json_parse(text, strlen(text), NULL);
    g_auto(AcrModelAnswer) answer = {0};
    acr_record_read_answer(record, &answer);
    g_assert_cmpint(answer.usage.cost_pico, ==, 3);
    g_assert_cmpint(answer.usage.reasoning, ==, -1);
    AcrCostSum call = cost_of(record);
    g_assert_cmpint(call.usage.cost_pico, ==, 3);
    g_assert_cmpuint(call.retries, ==, 0);
    g_assert_cmpuint(call.unknown_cost_calls, ==, 0);
}

TEST("/task/cost", durations_are_left_out_of_comparisons)
{
    AcrModelTry quick[] = {try_of(true, 1, 1, 0)}, slow[] = {try_of(true, 1, 1, 999)};
    g_autoptr(AcrJson) first = record_of(quick, 1), second = record_of(slow, 1);
    g_assert_true(acr_json_equal(first, second, "time"));
    g_assert_false(acr_json_equal(first, second, NULL));
}

TEST("/task/cost", sums_are_kept_by_role_and_stage)
{
    g_autoptr(AcrCost) cost = acr_cost_new();
    AcrCostSum call = {.usage = {.input = 700, .cached = 200, .written = 100, .output = 50, .cost_pico = 3285000001},
                       .charged_pico = G_MAXINT64,
                       .retries = 2,
                       .wait_ms = 30,
                       .calls = 1,
                       .unknown_cost_calls = 1};
    acr_cost_add(cost, "search", "attempt_0/search", &call);
    call.replayed_calls = 1;
    acr_cost_add(cost, "search", "attempt_1/search", &call);
    acr_cost_add(cost, "patch", "attempt_1/patch", &call);
    g_autoptr(AcrJson) json = acr_cost_to_json(cost, NULL);
    const AcrJson *total = acr_json_get(json, "total"),
                  *search = acr_json_get(acr_json_get(json, "by_agent"), "search"),
                  *stage = acr_json_get(acr_json_get(json, "by_stage"), "attempt_1/search");
    g_assert_cmpint(acr_json_get_int(total, "calls", 0), ==, 3);
    g_assert_cmpint(acr_json_get_int(search, "calls", 0), ==, 2);
    g_assert_cmpint(acr_json_get_int(stage, "input_tokens", 0), ==, 700);
    g_assert_cmpint(acr_json_get_int(stage, "written_tokens", 0), ==, 100);
    g_assert_cmpint(acr_json_get_int(stage, "cost_microusd", 0), ==, 3286);
    g_assert_cmpint(acr_json_get_int(search, "cost_microusd", 0), ==, 6571);
    g_assert_cmpint(acr_json_get_int(search, "retries", 0), ==, 4);
    g_assert_cmpint(acr_json_get_int(search, "wait_ms", 0), ==, 60);
    g_assert_cmpint(acr_json_get_int(search, "unknown_cost_calls", 0), ==, 2);
    g_assert_cmpfloat(acr_json_get_double(json, "cached_share", 0), ==, 0.2);
    g_assert_cmpint(acr_cost_total(cost)->charged_pico, ==, G_MAXINT64);
    g_assert_cmpuint(acr_cost_total(cost)->replayed_calls, ==, 2);
}
