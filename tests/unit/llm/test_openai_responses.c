/* What OpenAI's Responses learns from refusals. */
#include "test_llm.h"

#define PROVIDER (&acr_provider_openai_responses)

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

#define TEST(name) g_test_add_func("/llm/responses/" #name, name)

void add_responses_tests(void)
{
    TEST(each_correction_is_made_once);
}
