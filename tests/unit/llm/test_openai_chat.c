/* OpenAI's chat dialect without a network: requests as JSON, answers from JSON. */
#include "test_llm.h"

#include <string.h>

#define STREAM "\"stream\":true,\"stream_options\":{\"include_usage\":true}"

static char *request_text(const AcrDialect *dialect, bool json, guint max_tokens)
{
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    AcrModelRequest request = {
        .label = "search", .conversation = c, .json = json, .max_tokens = max_tokens};
    g_autoptr(AcrJson) body = NULL;

    acr_conversation_add(c, ACR_ROLE_SYSTEM, "be brief");
    acr_conversation_add(c, ACR_ROLE_USER, "h\"i\nas json");
    body = acr_provider_openai.request(dialect, &request);
    return acr_json_print(body);
}

static void a_request_holds_what_is_asked_for_and_no_more(void)
{
    static const char messages[] = "\"messages\":[{\"role\":\"system\",\"content\":\"be brief\"},"
                                   "{\"role\":\"user\",\"content\":\"h\\\"i\\nas json\"}]";
    AcrDialect bare = {.model = "gpt-4.1", .temperature = -1};
    AcrDialect full = {.model = "a/b", .temperature = 0.25, .max_completion_tokens = true};
    g_autofree char *least = request_text(&bare, false, 0);
    g_autofree char *most = request_text(&full, true, 100);
    g_autofree char *older = request_text(&bare, false, 7);
    g_autofree char *least_expected =
        g_strdup_printf("{\"model\":\"gpt-4.1\",%s," STREAM "}", messages);
    g_autofree char *most_expected =
        g_strdup_printf("{\"model\":\"a/b\",%s,\"temperature\":0.25,\"max_completion_tokens\":100,"
                        "\"response_format\":{\"type\":\"json_object\"}," STREAM "}",
                        messages);

    g_assert_cmpstr(least, ==, least_expected);
    g_assert_cmpstr(most, ==, most_expected);
    g_assert_nonnull(strstr(older, "\"max_tokens\":7," STREAM "}"));
    full.temperature = -1;
    g_clear_pointer(&most, g_free);
    most = request_text(&full, true, 100);
    g_assert_null(strstr(most, "temperature"));
}

static bool read_text(const char *text, AcrModelAnswer *out, AcrFailure *failure)
{
    return read_response(&acr_provider_openai, 200, text, out, failure);
}

static void assert_answer(const char *text, const char *content, const char *finish, gint64 input,
                          gint64 cached, gint64 output)
{
    g_auto(AcrModelAnswer) answer = {0};
    g_auto(AcrFailure) failure = {0};

    if (!read_text(text, &answer, &failure))
        g_error("%s: %s", text, failure.message);
    g_assert_cmpstr(answer.content, ==, content);
    g_assert_cmpstr(answer.finish, ==, finish);
    g_assert_cmpint(answer.usage.input, ==, input);
    g_assert_cmpint(answer.usage.cached, ==, cached);
    g_assert_cmpint(answer.usage.output, ==, output);
    g_assert_cmpint(answer.usage.cost_pico, ==, -1);
}

static void answers_are_read_with_disjoint_usage(void)
{
    assert_answer("\n\n "
                  "{\"model\":\"gpt-4.1-2025\",\"choices\":[{\"message\":{\"role\":\"assistant\","
                  "\"content\":\"hi\\u0000\\n\","
                  "\"refusal\":null},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":100,"
                  "\"completion_tokens\":7,"
                  "\"prompt_tokens_details\":{\"cached_tokens\":64}},\"timings\":{}}",
                  "hi\xef\xbf\xbd\n", "stop", 36, 64, 7);
    assert_answer("{\"choices\":[{\"message\":{\"content\":\"x\"}}]}", "x", NULL, -1, -1, -1);
    assert_answer("{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}],"
                  "\"usage\":null}",
                  "x", "stop", -1, -1, -1);
    assert_answer("{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":5,"
                  "\"completion_tokens\":2}}",
                  "x", NULL, 5, -1, 2); /* not said is not none */
    assert_answer("{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":5,"
                  "\"completion_tokens\":-2,"
                  "\"prompt_tokens_details\":{\"cached_tokens\":9}}}",
                  "x", NULL, -1, -1, -1); /* more cached than sent, and less than nothing */
    assert_answer(
        "{\"choices\":[{\"message\":{\"content\":\"cut\"},\"finish_reason\":\"length\"}]}", "cut",
        "length", -1, -1, -1);
    assert_answer("{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"length\"}]}",
                  "", "length", -1, -1, -1);
    assert_answer("{\"choices\":[{\"message\":{\"content\":\"\"},\"finish_reason\":\"stop\"}]}", "",
                  "stop", -1, -1, -1);
}

static void assert_failure(const char *text, AcrLlmError code, bool retryable, const char *words)
{
    AcrModelAnswer answer = {0};
    g_auto(AcrFailure) failure = {0};

    g_assert_false(read_text(text, &answer, &failure));
    g_assert_cmpstr(acr_llm_error_name(failure.code), ==, acr_llm_error_name(code));
    g_assert_cmpint(failure.retryable, ==, retryable);
    if (!strstr(failure.message, words))
        g_error("'%s' is not in: %s", words, failure.message);
    g_assert_null(answer.content);
}

static void what_is_no_answer_is_malformed(void)
{
    static const char *const texts[] = {
        "",
        "null",
        "[]",
        "{}",
        "<html>",
        "{\"choices\":[]}",
        "{\"choices\":{}}",
        "{\"choices\":[{}]}",
        "{\"choices\":[{\"message\":\"x\"}]}",
        "{\"choices\":[{\"message\":{\"content\":7}}]}",
        "{\"choices\":[{\"message\":{\"content\":[]}}]}",
        "{\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":[]}}]}",
        "{\"choices\":[{\"message\":{\"content\":\"x\"}}]",
        "{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}",
        "{\"choices\":[{\"message\":{\"content\":\"x\"}}]} trailing",
    };

    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        assert_failure(texts[i], ACR_LLM_ERROR_MALFORMED, true, "");
}

static void refusals_filters_and_errors_under_200_have_their_class(void)
{
    assert_failure("{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"I "
                   "cannot\"},\"finish_reason\":\"stop\"}]}",
                   ACR_LLM_ERROR_REFUSAL, false, "I cannot");
    assert_failure(
        "{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"content_filter\"}]}",
        ACR_LLM_ERROR_CONTENT_FILTER, false, "filter");
    assert_failure("{\"error\":{\"code\":502,\"message\":\"upstream broke\"}}",
                   ACR_LLM_ERROR_SERVER, true, "upstream broke");
    assert_answer("{\"error\":null,\"choices\":[{\"message\":{\"content\":\"x\"}}]}", "x", NULL, -1,
                  -1, -1);
}

static void answers_over_the_ceiling_are_refused_once(void)
{
    g_autofree char *content = g_strnfill(ACR_LLM_MAX_ANSWER + 1, 'a');
    g_autofree char *text =
        g_strdup_printf("{\"choices\":[{\"message\":{\"content\":\"%s\"}}]}", content);
    g_auto(AcrModelAnswer) answer = {0};
    g_auto(AcrFailure) failure = {0};

    assert_failure(text, ACR_LLM_ERROR_MALFORMED, false, "more than 33554432 bytes");
    text[strlen(text) - 10] = '"'; /* a shorter one fits */
    memcpy(text + strlen(text) - 9, "}}]}", 5);
    g_assert_true(read_text(text, &answer, &failure));
    g_assert_cmpuint(strlen(answer.content), <=, ACR_LLM_MAX_ANSWER);
}

static bool correct(AcrDialect *dialect, const char *body)
{
    g_auto(AcrFailure) failure = {0};
    AcrModelAnswer answer = {0};

    g_assert_false(read_response(&acr_provider_openai, 400, body, &answer, &failure));
    return acr_correct(&acr_provider_openai, dialect, &failure);
}

static void each_correction_is_made_once(void)
{
    static const char limit[] =
        "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this "
        "model. Use "
        "'max_completion_tokens' "
        "instead.\",\"param\":\"max_tokens\",\"code\":\"unsupported_parameter\"}}";
    static const char newer[] = "{\"error\":{\"message\":\"Unrecognized request argument supplied: "
                                "'max_completion_tokens'\"}}";
    static const char temperature[] =
        "{\"error\":{\"message\":\"Unsupported value: 'temperature' does not support 0.2 with this "
        "model.\",\"param\":\"temperature\",\"code\":\"unsupported_value\"}}";
    AcrDialect old = {.model = "m", .temperature = 0.2};
    AcrDialect current = {.model = "m", .temperature = -1, .max_completion_tokens = true};

    g_assert_false(correct(&old, "{\"error\":{\"message\":\"no\",\"param\":\"messages\"}}"));
    g_assert_true(correct(&old, limit));
    g_assert_true(old.max_completion_tokens);
    g_assert_false(correct(&old, newer)); /* not back again */
    g_assert_true(correct(&old, temperature));
    g_assert_true(old.temperature < 0);
    g_assert_false(correct(&old, temperature));
    g_assert_true(correct(&current, newer));
    g_assert_false(current.max_completion_tokens);
    g_assert_false(correct(&current, temperature)); /* none was sent */
}

#define TEST(name) g_test_add_func("/llm/openai/" #name, name)

void add_openai_tests(void)
{
    TEST(a_request_holds_what_is_asked_for_and_no_more);
    TEST(answers_are_read_with_disjoint_usage);
    TEST(what_is_no_answer_is_malformed);
    TEST(refusals_filters_and_errors_under_200_have_their_class);
    TEST(answers_over_the_ceiling_are_refused_once);
    TEST(each_correction_is_made_once);
}
