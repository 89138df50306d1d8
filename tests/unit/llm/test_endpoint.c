/* Tests of endpoints: addresses, sockets, keys and headers from options and the environment. */
#include "test_llm.h"

static bool make(const AcrModelOptions *options, AcrEndpoint *out, GError **error)
{
    return acr_endpoint_make(&acr_provider_openai, "openai/m", "m", options, out, error);
}

static const char *header_of(const AcrEndpoint *endpoint, const char *name)
{
    gsize len = strlen(name);
    for (guint i = 0; i + 1 < endpoint->headers->len; i++) {
        const char *line = endpoint->headers->pdata[i];
        if (g_ascii_strncasecmp(line, name, len) == 0 && line[len] == ':')
            return line + len + 2;
    }
    return NULL;
}

static void assert_address(const char *base_url, const char *url, const char *socket)
{
    AcrModelOptions options = {.temperature = -1, .base_url = base_url};
    AcrEndpoint endpoint = {0};
    g_autoptr(GError) error = NULL;
    if (!make(&options, &endpoint, &error))
        g_error("%s: %s", base_url, error->message);
    g_assert_cmpstr(endpoint.url, ==, url);
    g_assert_cmpstr(endpoint.unix_socket, ==, socket);
    g_assert_false(endpoint.is_own);
    g_assert_false(endpoint.is_official_dialect);
    acr_endpoint_clear(&endpoint);
}

TEST("/llm/endpoint", addresses_are_read_with_their_sockets)
{
    g_setenv("OPENAI_API_KEY", "sk-0123456789", TRUE);
    assert_address("http://127.0.0.1:8080", "http://127.0.0.1:8080/chat/completions", NULL);
    assert_address("https://llm.example.com/v1///", "https://llm.example.com/v1/chat/completions", NULL);
    assert_address("unix:/run/llm.sock:/v2", "http://localhost/v2/chat/completions", "/run/llm.sock");
    assert_address("unix:///run/llm.sock", "http://localhost/v1/chat/completions", "/run/llm.sock");
    assert_address("http+unix://%2Frun%2Fa%20b.sock/v1", "http://localhost/v1/chat/completions", "/run/a b.sock");
}

TEST("/llm/endpoint", the_providers_own_address_is_known_as_such)
{
    AcrModelOptions own = {.temperature = -1};
    AcrModelOptions same = {.temperature = -1, .base_url = "https://api.openai.com/v1"};
    AcrEndpoint endpoint = {0};
    g_autoptr(GError) error = NULL;
    g_unsetenv("OPENAI_BASE_URL");
    g_assert_true(make(&own, &endpoint, &error));
    g_assert_true(endpoint.is_own);
    g_assert_true(endpoint.is_official_dialect);
    g_assert_cmpstr(endpoint.url, ==, "https://api.openai.com/v1/chat/completions");
    acr_endpoint_clear(&endpoint);
    g_assert_true(make(&same, &endpoint, &error));
    g_assert_true(endpoint.is_own);
    acr_endpoint_clear(&endpoint);
}

TEST("/llm/endpoint", given_headers_take_the_place_of_ours_and_stay_secret)
{
    const char *headers[] = {"authorization: Bearer gateway-0123456789", "X-Title: me", NULL};
    AcrModelOptions options = {.temperature = -1, .base_url = "http://127.0.0.1:1/v1", .headers = headers};
    AcrEndpoint endpoint = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *shown = NULL;
    g_assert_true(make(&options, &endpoint, &error));
    g_assert_cmpstr(header_of(&endpoint, "Authorization"), ==, "Bearer gateway-0123456789");
    g_assert_cmpstr(header_of(&endpoint, "X-Title"), ==, "me");
    shown = acr_redact_line("no sk-0123456789, no Bearer gateway-0123456789, but me", endpoint.secrets, 200);
    g_assert_null(strstr(shown, "0123456789"));
    g_assert_true(g_str_has_suffix(shown, "but me"));
    acr_endpoint_clear(&endpoint);
}

/* The error must come before a request is sent, not as a refusal by the server. */
TEST("/llm/endpoint", every_provider_that_needs_a_key_says_so)
{
    static const char *const needing[] = {"openai", "openai-responses", "azure",     "anthropic", "gemini",
                                          "groq",   "deepseek",         "openrouter"};
    AcrModelOptions options = {.temperature = -1, .base_url = "https://llm.example.com"};
    for (gsize i = 0; i < G_N_ELEMENTS(needing); i++) {
        const AcrProvider *provider = acr_provider_find(needing[i], strlen(needing[i]));
        AcrEndpoint endpoint = {0};
        g_autoptr(GError) error = NULL;
        for (gsize k = 0; provider->key_variables[k]; k++)
            g_unsetenv(provider->key_variables[k]);
        g_assert_false(acr_endpoint_make(provider, "p/m", "m", &options, &endpoint, &error));
        g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH);
        g_assert_nonnull(strstr(error->message, provider->key_variables[0]));
        acr_endpoint_clear(&endpoint);
    }
}

/* libcurl shows an address that it cannot parse, and a proxy may echo what it receives. */
TEST("/llm/endpoint", what_addresses_of_proxies_hold_is_secret)
{
    static const char *const values[] = {"http://user:proxy-word@host:99999", "user:proxy-word@",
                                         "socks9://user:proxy%2dword@[::1"};
    AcrModelOptions options = {.temperature = -1, .base_url = "https://llm.example.com"};
    g_setenv("OPENAI_API_KEY", "sk-0123456789", TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autofree char *basic = g_base64_encode((const guchar *)"user:proxy-word", 15);
        g_autofree char *text = g_strdup_printf("'%s' proxy-word %s", values[i], basic);
        g_autofree char *shown = NULL;
        AcrEndpoint endpoint = {0};
        g_autoptr(GError) error = NULL;
        g_setenv("https_proxy", values[i], TRUE);
        g_assert_true(make(&options, &endpoint, &error));
        g_unsetenv("https_proxy");
        shown = acr_redact_line(text, endpoint.secrets, 200);
        g_assert_null(strstr(shown, "word"));
        g_assert_null(strstr(shown, basic)); /* encoded as in the header */
        acr_endpoint_clear(&endpoint);
    }
}
