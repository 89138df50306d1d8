/* Tests of what OpenAI's Responses dialect learns from errors. */
#include "test_llm.h"

#define PROVIDER (&acr_provider_openai_responses)

static bool correct(AcrDialect *dialect, const char *param)
{
    g_autofree char *body = g_strdup_printf("{\"error\":{\"message\":\"Unsupported parameter\",\"param\":\"%s\","
                                            "\"type\":\"invalid_request_error\",\"code\":\"unsupported_parameter\"}}",
                                            param);
    g_auto(AcrFailure) failure = {0};
    AcrModelAnswer answer = {0};
    g_assert_false(read_response(PROVIDER, 400, body, &answer, &failure));
    return acr_correct(PROVIDER, dialect, &failure);
}

TEST("/llm/responses", each_correction_is_made_once)
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

/* Whether a request in one of OpenAI's dialects has the member `prompt_cache_key`. */
static bool names_cache_key(const AcrProvider *provider, const AcrDialect *dialect, const AcrConversation *conversation)
{
    AcrModelRequest request = {.label = "patch", .conversation = conversation};
    g_autoptr(AcrJson) json = provider->request(dialect, &request);
    const char *key = acr_json_get_string(json, "prompt_cache_key");
    g_assert_true(!key || g_str_equal(key, dialect->cache_key));
    return key != NULL;
}

TEST("/llm/responses", requests_that_begin_alike_have_one_cache_key)
{
    g_autoptr(AcrConversation) one = acr_conversation_new("attempt_0/patch"),
                               other = acr_conversation_new("attempt_1/patch");
    acr_conversation_add(one, ACR_ROLE_SYSTEM, "You write patches.");
    acr_conversation_add(one, ACR_ROLE_USER, "The issue.");
    acr_conversation_add(other, ACR_ROLE_SYSTEM, "You write patches.");
    acr_conversation_add(other, ACR_ROLE_USER, "Another issue.");
    g_autofree char *key = acr_conversation_begin_digest(one), *differs = acr_conversation_begin_digest(other);
    acr_conversation_add(one, ACR_ROLE_ASSISTANT, "An answer.");
    acr_conversation_add(one, ACR_ROLE_USER, "It does not apply.");
    g_autofree char *later = acr_conversation_begin_digest(one);
    g_assert_cmpstr(key, ==, later);
    g_assert_cmpstr(key, !=, differs);
    AcrDialect dialect = {.model = "m", .temperature = -1, .cache_key = key};
    g_assert_true(names_cache_key(PROVIDER, &dialect, one));
    g_assert_true(names_cache_key(&acr_provider_openai, &dialect, one));
    g_assert_true(correct(&dialect, "prompt_cache_key"));
    g_assert_false(names_cache_key(PROVIDER, &dialect, one));
    g_assert_false(correct(&dialect, "prompt_cache_key"));
}
