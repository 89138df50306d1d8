/* OpenAI's models at Azure: where requests go, and with which key. */
#include <glib/gstdio.h>

#include "endpoints.h"
#include "test_llm.h"

#define RESOURCE "https://my-resource.openai.azure.com"
#define KEY "azure-key-0123456789"
#define TOKEN "entra.token.0123456789"

static void clear_environment(void)
{
    static const char *const names[] = {"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN",
                                        "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"};

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        g_unsetenv(names[i]);
}

static void assert_url(const char *base, const char *version, const char *model, const char *url)
{
    AcrModelOptions options = {.base_url = base};
    g_auto(AcrTestEndpoint) made = {0};

    g_setenv("AZURE_OPENAI_API_KEY", KEY, TRUE);
    if (version)
        g_setenv("OPENAI_API_VERSION", version, TRUE);
    make_endpoint(&made, "azure", model, &options);
    g_assert_cmpstr(made.endpoint.url, ==, url);
    clear_environment();
}

static void the_version_says_which_api_is_spoken(void)
{
    static const char dated[] =
        RESOURCE "/openai/deployments/mine/chat/completions?api-version=2025-03-01-preview";

    assert_url(RESOURCE, "2025-03-01-preview", "mine", dated);
    assert_url(RESOURCE "/", "2025-03-01-preview", "mine", dated);
    assert_url(RESOURCE "/openai", "2025-03-01-preview", "mine", dated);
    assert_url(RESOURCE, NULL, "mine", RESOURCE "/openai/v1/chat/completions");
    assert_url(RESOURCE "/openai/v1/", "2025-03-01-preview", "mine",
               RESOURCE "/openai/v1/chat/completions");
    assert_url("unix:/run/a.sock", NULL, "mine", "http://localhost/openai/v1/chat/completions");
}

static void names_are_escaped(void)
{
    assert_url(RESOURCE, "2025 &x", "a b/c?d",
               RESOURCE
               "/openai/deployments/a%20b%2Fc%3Fd/chat/completions?api-version=2025%20%26x");
}

static void the_dated_api_has_a_header_of_its_own_for_keys(void)
{
    AcrModelOptions options = {0};
    g_auto(AcrTestEndpoint) dated = {0}, v1 = {0};

    g_setenv("AZURE_OPENAI_API_KEY", KEY, TRUE);
    g_setenv("AZURE_OPENAI_ENDPOINT", RESOURCE, TRUE);
    make_endpoint(&v1, "azure", "mine", &options);
    g_setenv("OPENAI_API_VERSION", "2024-10-21", TRUE);
    make_endpoint(&dated, "azure", "mine", &options);
    g_assert_cmpstr(header_of(&dated, "api-key"), ==, KEY);
    g_assert_null(header_of(&dated, "Authorization"));
    g_assert_cmpstr(header_of(&v1, "Authorization"), ==, "Bearer " KEY);
    g_assert_null(header_of(&v1, "api-key"));
    g_assert_true(dated.endpoint.is_official_dialect);
    clear_environment();
}

static void a_token_goes_before_a_key_of_the_environment(void)
{
    AcrModelOptions options = {.base_url = RESOURCE};
    g_auto(AcrTestEndpoint) made = {0};

    g_setenv("AZURE_OPENAI_API_KEY", KEY, TRUE);
    g_setenv("AZURE_OPENAI_AD_TOKEN", " " TOKEN "\n", TRUE);
    g_setenv("OPENAI_API_VERSION", "2024-10-21", TRUE);
    make_endpoint(&made, "azure", "mine", &options);
    g_assert_cmpstr(header_of(&made, "Authorization"), ==, "Bearer " TOKEN);
    g_assert_null(header_of(&made, "api-key"));
    g_assert_true(is_secret(&made, TOKEN));
    clear_environment();
}

static void a_key_file_goes_before_the_token(void)
{
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "acr-azure-key", NULL);
    AcrModelOptions options = {.base_url = RESOURCE, .key_file = path};
    g_auto(AcrTestEndpoint) made = {0};

    g_assert_true(g_file_set_contents_full(path, "file-key-0123456789\n", -1,
                                           G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    g_setenv("AZURE_OPENAI_API_KEY", KEY, TRUE);
    g_setenv("AZURE_OPENAI_AD_TOKEN", TOKEN, TRUE);
    g_setenv("OPENAI_API_VERSION", "2024-10-21", TRUE);
    make_endpoint(&made, "azure", "mine", &options);
    g_assert_cmpstr(header_of(&made, "api-key"), ==, "file-key-0123456789");
    g_assert_null(header_of(&made, "Authorization"));
    g_assert_cmpint(g_unlink(path), ==, 0);
    clear_environment();
}

static void what_is_missing_is_named(void)
{
    AcrModelOptions nowhere = {0}, keyless = {.base_url = RESOURCE};

    clear_environment();
    assert_no_endpoint("azure", "mine", &nowhere, ACR_LLM_ERROR_USAGE, "AZURE_OPENAI_ENDPOINT");
    assert_no_endpoint("azure", "mine", &keyless, ACR_LLM_ERROR_AUTH, "AZURE_OPENAI_API_KEY");
    g_setenv("AZURE_OPENAI_AD_TOKEN", "two words", TRUE);
    assert_no_endpoint("azure", "mine", &keyless, ACR_LLM_ERROR_AUTH, "AZURE_OPENAI_AD_TOKEN");
    clear_environment();
}

static void a_blocked_prompt_has_its_class(void)
{
    g_auto(AcrFailure) failure = {0};
    g_auto(AcrModelAnswer) answer = {0};

    g_assert_false(read_response(
        &acr_provider_azure, 400,
        "{\"error\":{\"code\":\"content_filter\",\"message\":\"The response was filtered\","
        "\"status\":400,\"innererror\":{\"code\":\"ResponsibleAIPolicyViolation\"}}}",
        &answer, &failure));
    g_assert_cmpint(failure.code, ==, ACR_LLM_ERROR_CONTENT_FILTER);
}

static void a_first_event_about_the_prompt_is_passed_over(void)
{
    g_auto(AcrFailure) failure = {0};
    g_auto(AcrModelAnswer) answer = {0};

    g_assert_true(read_response(
        &acr_provider_azure, 200,
        "data: {\"choices\":[],\"model\":\"\",\"prompt_filter_results\":[{}]}\n\n"
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},"
        "\"content_filter_results\":{}}],\"model\":\"gpt-4o\"}\n\n"
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\n"
        "data: [DONE]",
        &answer, &failure));
    g_assert_cmpstr(answer.content, ==, "hi");
    g_assert_cmpstr(answer.model, ==, "gpt-4o");
    g_assert_cmpstr(answer.finish, ==, "content_filter");
}

#define TEST(name) g_test_add_func("/llm/azure/" #name, name)

void add_azure_tests(void)
{
    TEST(the_version_says_which_api_is_spoken);
    TEST(names_are_escaped);
    TEST(the_dated_api_has_a_header_of_its_own_for_keys);
    TEST(a_token_goes_before_a_key_of_the_environment);
    TEST(a_key_file_goes_before_the_token);
    TEST(what_is_missing_is_named);
    TEST(a_blocked_prompt_has_its_class);
    TEST(a_first_event_about_the_prompt_is_passed_over);
}
