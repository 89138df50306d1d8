/* Tests of servers with OpenAI's chat format: addresses, keys, and the peculiarities of each. */
#include "endpoints.h"
#include "test_llm.h"

#define KEY "key-of-a-test-0123456789"

static void assert_url(const char *provider, const char *base, const char *url)
{
    AcrModelOptions options = {.base_url = base};
    g_auto(AcrTestEndpoint) made = {0};
    make_endpoint(&made, provider, "some/model", &options);
    g_assert_cmpstr(made.endpoint.url, ==, url);
}

TEST("/llm/compatible", each_provider_has_its_address_and_key)
{
    static const struct {
        const char *provider, *variable, *url;
    } rows[] = {{"groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1/chat/completions"},
                {"deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1/chat/completions"},
                {"openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1/chat/completions"},
                {"litellm", "LITELLM_PROXY_API_KEY", "http://127.0.0.1:4000/v1/chat/completions"},
                {"litellm", "LITELLM_API_KEY", "http://127.0.0.1:4000/v1/chat/completions"},
                {"vllm", "VLLM_API_KEY", "http://127.0.0.1:8000/v1/chat/completions"},
                {"llamacpp", "LLAMA_API_KEY", "http://127.0.0.1:8080/v1/chat/completions"},
                {"llama.cpp", "LLAMA_API_KEY", "http://127.0.0.1:8080/v1/chat/completions"},
                {"ollama", "OLLAMA_API_KEY", "http://127.0.0.1:11434/v1/chat/completions"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        AcrModelOptions options = {0};
        g_auto(AcrTestEndpoint) made = {0};
        g_setenv(rows[i].variable, KEY, TRUE);
        make_endpoint(&made, rows[i].provider, "m", &options);
        g_assert_cmpstr(made.endpoint.url, ==, rows[i].url);
        g_assert_cmpstr(header_of(&made, "Authorization"), ==, "Bearer " KEY);
        g_unsetenv(rows[i].variable);
    }
}

TEST("/llm/compatible", addresses_come_from_the_environment)
{
    static const struct {
        const char *provider, *variable, *value, *url;
    } rows[] = {{"litellm", "LITELLM_PROXY_API_BASE", "http://gate:4000", "http://gate:4000/v1/chat/"},
                {"litellm", "LITELLM_BASE_URL", "http://gate:4000/", "http://gate:4000/v1/chat/"},
                {"vllm", "VLLM_BASE_URL", "http://gpu:8000/v1", "http://gpu:8000/v1/chat/"},
                {"llamacpp", "LLAMA_BASE_URL", "http://gpu:8080", "http://gpu:8080/v1/chat/"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        AcrModelOptions options = {0};
        g_auto(AcrTestEndpoint) made = {0};
        g_setenv(rows[i].variable, rows[i].value, TRUE);
        make_endpoint(&made, rows[i].provider, "m", &options);
        g_assert_true(g_str_has_prefix(made.endpoint.url, rows[i].url));
        g_assert_null(header_of(&made, "Authorization"));
        g_unsetenv(rows[i].variable);
    }
}

TEST("/llm/compatible", an_address_without_path_gets_the_usual_one)
{
    assert_url("vllm", "http://127.0.0.1:99", "http://127.0.0.1:99/v1/chat/completions");
    assert_url("vllm", "http://127.0.0.1:99/v1/", "http://127.0.0.1:99/v1/chat/completions");
    assert_url("vllm", "http://127.0.0.1:99/a", "http://127.0.0.1:99/a/chat/completions");
    g_setenv("GROQ_API_KEY", KEY, TRUE);
    assert_url("groq", "http://127.0.0.1:99", "http://127.0.0.1:99/openai/v1/chat/completions");
    g_unsetenv("GROQ_API_KEY");
    assert_url("llamacpp", "unix:/tmp/x.sock", "http://localhost/v1/chat/completions");
    assert_url("ollama", "http://127.0.0.1:99", "http://127.0.0.1:99/v1/chat/completions");
}

TEST("/llm/compatible", ollama_s_address_is_read_in_all_its_forms)
{
    static const char *const rows[][2] = {
        {"", "http://127.0.0.1:11434/v1"},        {"box", "http://box:11434/v1"},
        {"box:1234", "http://box:1234/v1"},       {"box:", "http://box:11434/v1"},
        {":1234", "http://127.0.0.1:1234/v1"},    {"0.0.0.0", "http://127.0.0.1:11434/v1"},
        {"0.0.0.0:80", "http://127.0.0.1:80/v1"}, {"[::1]", "http://[::1]:11434/v1"},
        {"[::1]:99", "http://[::1]:99/v1"},       {"::1", "http://[::1]:11434/v1"},
        {"[::]:99", "http://[::1]:99/v1"},        {" box:1234/ ", "http://box:1234/v1"},
        {"http://box", "http://box:80/v1"},       {"http://box:1234", "http://box:1234/v1"},
        {"https://box/", "https://box:443/v1"},   {"https://box:1/sub/", "https://box:1/sub/v1"},
        {"http://box:1/v1", "http://box:1/v1"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        AcrModelOptions options = {0};
        g_auto(AcrTestEndpoint) made = {0};
        g_setenv("OLLAMA_HOST", rows[i][0], TRUE);
        make_endpoint(&made, "ollama", "m", &options);
        g_assert_cmpstr(made.endpoint.base_url, ==, rows[i][1]);
    }
    for (gsize i = 0; i < 2; i++) {
        AcrModelOptions options = {0};
        g_setenv("OLLAMA_HOST", i == 0 ? "http://b x" : "ftp://box", TRUE);
        assert_no_endpoint("ollama", "m", &options, ACR_LLM_ERROR_USAGE, "ollama/m");
    }
    g_unsetenv("OLLAMA_HOST");
}

TEST("/llm/compatible", only_one_s_own_servers_do_without_a_key)
{
    static const char *const open[] = {"litellm", "vllm", "llamacpp", "ollama"};
    static const char *const closed[][2] = {
        {"groq", "GROQ_API_KEY"}, {"deepseek", "DEEPSEEK_API_KEY"}, {"openrouter", "OPENROUTER_API_KEY"}};
    AcrModelOptions options = {.base_url = "https://elsewhere.example/v1"};
    for (gsize i = 0; i < G_N_ELEMENTS(open); i++)
        assert_url(open[i], "https://elsewhere.example/v1", "https://elsewhere.example/v1/chat/completions");
    for (gsize i = 0; i < G_N_ELEMENTS(closed); i++)
        assert_no_endpoint(closed[i][0], "m", &options, ACR_LLM_ERROR_AUTH, closed[i][1]);
}

/* ---- Responses ---------- */

#define DELTA(members) "data: {\"choices\":[{\"index\":0,\"delta\":{" members "}}]}\n\n"
#define STOP                                                                                                           \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]%s}\n\n"                                \
    "data: [DONE]\n\n"

static void assert_read(const AcrProvider *provider, const char *begin, const char *with_stop, const char *content,
                        AcrUsage *out_usage)
{
    g_autofree char *text = g_strdup_printf("%s" STOP, begin, with_stop);
    g_auto(AcrModelAnswer) answer = {0};
    g_auto(AcrFailure) failure = {0};
    if (!read_response(provider, 200, text, &answer, &failure))
        g_error("%s: %s", text, failure.message);
    g_assert_cmpstr(answer.content, ==, content);
    *out_usage = answer.usage;
}

TEST("/llm/compatible", deepseek_counts_what_its_cache_had)
{
    AcrUsage usage;
    assert_read(&acr_provider_deepseek, "\n\n: keep-alive\n\n" DELTA("\"content\":\"x\""),
                ",\"usage\":{\"prompt_tokens\":100,\"prompt_cache_hit_tokens\":64,"
                "\"prompt_cache_miss_tokens\":36,\"completion_tokens\":5}",
                "x", &usage);
    g_assert_cmpint(usage.input, ==, 36);
    g_assert_cmpint(usage.cached, ==, 64);
}
