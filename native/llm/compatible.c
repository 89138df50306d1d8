/*
 * Servers that speak OpenAI's chat dialect: a row each, with where it is, which variables hold key
 * and address, and the little in which it differs. What all of them may do is openai.c's affair,
 * such as reasoning beside the content, counters of their own, errors under HTTP 200.
 */
#include "llm/llm_private.h"

#include <string.h>

#define VARIABLES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- Addresses ----------------------------------------------------------------------------------
 */

static bool has_path(const char *base_url)
{
    const char *host = strstr(base_url, "://");

    return strchr(host ? host + 3 : base_url, '/') != NULL;
}

static void add_path(AcrEndpoint *endpoint, const char *path)
{
    char *longer = g_strconcat(endpoint->base_url, path, NULL);

    g_free(endpoint->base_url);
    endpoint->base_url = longer;
}

/* They know only the older name of the limit, or both. */
static bool imitator_prepare(AcrEndpoint *endpoint, GError **error)
{
    endpoint->is_official_dialect = false;
    return acr_openai_prepare(endpoint, error);
}

/* A server of one's own: its address is often given without the path that all of them share. */
static bool server_prepare(AcrEndpoint *endpoint, GError **error)
{
    if (!has_path(endpoint->base_url))
        add_path(endpoint, "/v1");
    return imitator_prepare(endpoint, error);
}

/* The provider's own client takes the address without its path. */
static bool groq_prepare(AcrEndpoint *endpoint, GError **error)
{
    if (!has_path(endpoint->base_url))
        add_path(endpoint, "/openai/v1");
    return acr_openai_prepare(endpoint, error);
}

/* ---- Ollama's address ---------------------------------------------------------------------------
 */

#define OLLAMA_PORT "11434"

/* The host of "host", "host:port", ":port", "[address]:port" or a bare IPv6 address; owned. Its
 * port in *out_port; "": none. */
static char *split_port(const char *authority, const char **out_port)
{
    const char *bracket = strrchr(authority, ']');
    const char *colon = strrchr(bracket ? bracket : authority, ':');

    *out_port = "";
    if (!bracket && colon && strchr(authority, ':') != colon)
        return g_strdup_printf("[%s]", authority);
    if (!colon)
        return g_strdup(authority);
    *out_port = colon + 1;
    return g_strndup(authority, (gsize)(colon - authority));
}

/* A server's own "any address" is this machine, for who asks it. */
static const char *reachable(const char *host)
{
    static const char *const any[][2] = {
        {"", "127.0.0.1"}, {"0.0.0.0", "127.0.0.1"}, {"[::]", "[::1]"}};

    for (gsize i = 0; i < G_N_ELEMENTS(any); i++)
        if (strcmp(host, any[i][0]) == 0)
            return any[i][1];
    return host;
}

/* OLLAMA_HOST is any of those, or a URL, whose port is its scheme's where it names none. What is no
 * address is found out together with any other's. */
static char *ollama_base(GError **error)
{
    const char *given = acr_variable("OLLAMA_HOST");
    g_autofree char *text = g_strstrip(g_strdup(given ? given : ""));
    char *rest = strstr(text, "://");
    const char *scheme = rest ? text : "http";
    const char *own_port = g_str_has_prefix(text, "https:") ? "443" : rest ? "80" : OLLAMA_PORT;
    g_autofree char *authority = NULL;
    g_autofree char *host = NULL;
    const char *port = NULL;
    const char *path = NULL;

    (void)error;
    if (rest)
        *rest = '\0';
    rest = rest ? rest + strlen("://") : text;
    authority = g_strndup(rest, strcspn(rest, "/"));
    host = split_port(authority, &port);
    for (gsize len = strlen(rest); len > 0 && rest[len - 1] == '/'; len--)
        rest[len - 1] = '\0';
    path = strchr(rest, '/');
    return g_strdup_printf("%s://%s:%s%s%s", scheme, reachable(host), *port ? port : own_port,
                           path ? path : "", path && g_str_has_suffix(path, "/v1") ? "" : "/v1");
}

/* ---- DeepSeek -----------------------------------------------------------------------------------
 */

/* It has JSON mode, but no schemas: they are told in words. */
static AcrJson *deepseek_request(const AcrDialect *dialect, const AcrModelRequest *request)
{
    AcrDialect plain = *dialect;

    plain.no_schema = true;
    return acr_openai_request(&plain, request);
}

static bool deepseek_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    dialect->no_schema = true; /* there is none to take back */
    return acr_openai_correct(dialect, failure);
}

/* ---- Rows ---------------------------------------------------------------------------------------
 */

#define CHAT_DIALECT                                                                               \
    .event = acr_openai_event, .answer = acr_openai_answer, .request = acr_openai_request,         \
    .correct = acr_openai_correct

const AcrProvider acr_provider_groq = {
    .name = "groq",
    .key_variables = VARIABLES("GROQ_API_KEY"),
    .base_variables = VARIABLES("GROQ_BASE_URL"),
    .base_url = "https://api.groq.com/openai/v1",
    .prepare = groq_prepare,
    CHAT_DIALECT,
};

const AcrProvider acr_provider_deepseek = {
    .name = "deepseek",
    .key_variables = VARIABLES("DEEPSEEK_API_KEY"),
    .base_variables = VARIABLES("DEEPSEEK_BASE_URL"),
    .base_url = "https://api.deepseek.com/v1",
    .prepare = server_prepare,
    .event = acr_openai_event,
    .answer = acr_openai_answer,
    .request = deepseek_request,
    .correct = deepseek_correct,
};

const AcrProvider acr_provider_openrouter = {
    .name = "openrouter",
    .key_variables = VARIABLES("OPENROUTER_API_KEY"),
    .base_variables = VARIABLES("OPENROUTER_BASE_URL"),
    .base_url = "https://openrouter.ai/api/v1",
    .prepare = imitator_prepare,
    CHAT_DIALECT,
};

/* A gateway of one's own, but what it passes on is billed: it is not local. */
const AcrProvider acr_provider_litellm = {
    .name = "litellm",
    .key_variables = VARIABLES("LITELLM_PROXY_API_KEY", "LITELLM_API_KEY"),
    .base_variables = VARIABLES("LITELLM_PROXY_API_BASE", "LITELLM_BASE_URL"),
    .base_url = "http://127.0.0.1:4000/v1",
    .needs_no_key = true,
    .prepare = server_prepare,
    CHAT_DIALECT,
};

const AcrProvider acr_provider_vllm = {
    .name = "vllm",
    .key_variables = VARIABLES("VLLM_API_KEY"),
    .base_variables = VARIABLES("VLLM_BASE_URL"),
    .base_url = "http://127.0.0.1:8000/v1",
    .needs_no_key = true,
    .is_local = true,
    .prepare = server_prepare,
    CHAT_DIALECT,
};

#define LLAMACPP(spelling)                                                                         \
    {                                                                                              \
        .name = (spelling), .key_variables = VARIABLES("LLAMA_API_KEY"),                           \
        .base_variables = VARIABLES("LLAMA_BASE_URL"), .base_url = "http://127.0.0.1:8080/v1",     \
        .needs_no_key = true, .is_local = true, .prepare = server_prepare, CHAT_DIALECT,           \
    }
const AcrProvider acr_provider_llamacpp = LLAMACPP("llamacpp");
const AcrProvider acr_provider_llama_cpp = LLAMACPP("llama.cpp");

const AcrProvider acr_provider_ollama = {
    .name = "ollama",
    .key_variables = VARIABLES("OLLAMA_API_KEY"),
    .base_url = "http://127.0.0.1:" OLLAMA_PORT "/v1",
    .needs_no_key = true,
    .is_local = true,
    .base = ollama_base,
    .prepare = server_prepare,
    CHAT_DIALECT,
};
