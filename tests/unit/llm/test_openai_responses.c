/* OpenAI's Responses without a network: requests as JSON, answers from events and from JSON. */
#include "endpoints.h"
#include "pieces.h"
#include "test_llm.h"

#define PROVIDER (&acr_provider_openai_responses)
#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define CREATED                                                                                    \
    EVENT("response.created", ",\"response\":{\"status\":\"in_progress\",\"model\":\"gpt-5\","     \
                              "\"output\":[],\"error\":null,\"usage\":null}")
#define DELTA(text) EVENT("response.output_text.delta", ",\"delta\":\"" text "\"")
#define USAGE                                                                                      \
    "\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":64},"             \
    "\"output_tokens\":30,\"output_tokens_details\":{\"reasoning_tokens\":20}}"
#define MESSAGE(text)                                                                              \
    "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\"}]}"
#define WHOLE(status, output, rest)                                                                \
    "{\"status\":\"" status "\",\"model\":\"gpt-5-2025\",\"error\":null,\"output\":[" output       \
    "]" rest "}"
#define END(status, output, rest)                                                                  \
    EVENT("response." status, ",\"response\":" WHOLE(status, output, rest))

/* ---- Requests ---- */

static bool correct(AcrDialect *dialect, const char *param)
{
    g_autofree char *body =
        g_strdup_printf("{\"error\":{\"message\":\"Unsupported parameter\",\"param\":\"%s\","
                        "\"type\":\"invalid_request_error\",\"code\":\"unsupported_parameter\"}}",
                        param);
    g_auto(AcrFailure) failure = {0};
    AcrModelAnswer answer = {0};
    g_assert_false(read_response(PROVIDER, 400, body, &answer, &failure));
    return acr_correct(PROVIDER, dialect, &failure);
}

static void each_correction_is_made_once(void)
{
    AcrDialect dialect = {.model = "m", .temperature = 0.5, .effort = "low", .asks_schema = true};
    AcrDialect plain = {.model = "m", .temperature = -1};
    AcrDialect json = {.model = "m", .temperature = -1};
    g_assert_true(correct(&json, "text.format"));
    g_assert_true(json.no_json && !json.no_schema);
    g_assert_true(correct(&dialect, "temperature"));
    g_assert_true(dialect.temperature < 0);
    g_assert_false(correct(&dialect, "temperature"));
    g_assert_true(correct(&dialect, "reasoning.effort"));
    g_assert_true(!dialect.effort);
    g_assert_true(correct(&dialect, "text.format.schema"));
    g_assert_true(dialect.no_schema && !dialect.no_json);
    g_assert_true(correct(&dialect, "text.format"));
    g_assert_true(dialect.no_json);
    g_assert_false(correct(&dialect, "text.format"));
    g_assert_true(correct(&dialect, "stream"));
    g_assert_false(correct(&dialect, "stream"));
    g_assert_false(correct(&plain, "temperature"));
    g_assert_false(correct(&plain, "input"));
}

/* ---- Answers ---- */

static Outcome read_body(const char *text, gsize piece)
{
    return read_pieces(PROVIDER, 200, NULL, text, strlen(text), piece);
}

static void assert_answer(const char *text, const char *content, const char *finish)
{
    for (gsize piece = 1; piece <= 1000; piece *= 10) {
        g_auto(Outcome) outcome = read_body(text, piece);
        if (!outcome.ok)
            g_error("%s: %s", text, outcome.failure.message);
        g_assert_cmpstr(outcome.answer.content, ==, content);
        g_assert_cmpstr(outcome.answer.finish, ==, finish);
    }
}

static void a_stream_is_read_to_its_terminal_event(void)
{
    static const char text[] =
        CREATED EVENT("response.output_item.added", ",\"item\":{\"type\":\"reasoning\"}")
            EVENT("response.reasoning_summary_text.delta", ",\"delta\":\"hm\"")
                EVENT("response.something_new", ",\"delta\":7") DELTA("h\xc3\xa4") DELTA("llo")
                    END("completed", MESSAGE("h\xc3\xa4llo"),
                        "," USAGE) "data: this is not read any more\n\n";
    g_auto(Outcome) outcome = read_body(text, 3);
    assert_answer(text, "h\xc3\xa4llo", "stop");
    g_assert_true(outcome.ok);
    g_assert_cmpstr(outcome.answer.model, ==, "gpt-5-2025");
    g_assert_cmpint(outcome.usage.input, ==, 36);
    g_assert_cmpint(outcome.usage.cached, ==, 64);
    g_assert_cmpint(outcome.usage.output, ==, 30);
    g_assert_cmpint(outcome.usage.reasoning, ==, 20);
    g_assert_cmpint(acr_usage_sent(&outcome.usage), ==, 100);
}

static void the_terminal_event_goes_before_the_pieces(void)
{
    assert_answer(CREATED DELTA("lost") END("completed", MESSAGE("whole"), ""), "whole", "stop");
    assert_answer(CREATED DELTA("pieces") END("completed", "", ""), "pieces", "stop");
    assert_answer(END("completed", MESSAGE("a") "," MESSAGE("b"), ""), "ab", "stop");
}

static void a_failure_s_tokens_are_counted(void)
{
    g_auto(Outcome) outcome = read_body(
        EVENT("response.failed", ",\"response\":{\"status\":\"failed\",\"error\":{\"code\":"
                                 "\"server_error\",\"message\":\"x\"}," USAGE "}"),
        50);
    g_assert_false(outcome.ok);
    g_assert_cmpint(outcome.usage.output, ==, 30);
}

#define TEST(name) g_test_add_func("/llm/responses/" #name, name)

void add_responses_tests(void)
{
    TEST(each_correction_is_made_once);
    TEST(a_stream_is_read_to_its_terminal_event);
    TEST(the_terminal_event_goes_before_the_pieces);
    TEST(a_failure_s_tokens_are_counted);
}
