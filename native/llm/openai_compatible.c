/* Lists the servers that speak OpenAI's chat API. Each server has one row, with its address, the
 * variables for key and address, and its few peculiarities. openai_chat.c handles peculiarities
 * that any of these servers may have, such as reasoning beside the content, other counters, and
 * errors with status 200. */
#include "llm/provider.h"

#include <string.h>

#define OLLAMA_PORT "11434"

/* Reads the base URL from OLLAMA_HOST, which is "host", "host:port", ":port", "[address]:port", a
 * bare IPv6 address, or a URL. The default port of a URL is that of its scheme. 0.0.0.0 and ::, on
 * which servers listen, mean this machine. Invalid values are rejected later, together with other
 * invalid addresses. */
static char *ollama_base(GError **error)
{
    const char *given = acr_variable("OLLAMA_HOST");
    g_autofree char *text = g_strstrip(g_strdup(given ? given : ""));
    char *mark = strstr(text, "://");
    const char *rest = mark ? mark + strlen("://") : text;
    const char *scheme = mark ? text : "http";
    const char *port = !mark ? OLLAMA_PORT : g_str_has_prefix(text, "https:") ? "443" : "80";
    g_autofree char *authority = g_strndup(rest, strcspn(rest, "/"));
    g_autofree char *path = g_strdup(rest + strlen(authority));
    char *colon = strrchr(authority, ':');
    bool is_bare_ipv6 = colon && *authority != '[' && strchr(authority, ':') != colon;
    const char *host = authority;
    g_autofree char *bracketed = is_bare_ipv6 ? g_strdup_printf("[%s]", authority) : NULL;
    (void)error;
    if (mark)
        *mark = '\0';
    if (bracketed) {
        host = bracketed;
    } else if (colon && !strchr(colon, ']')) {
        *colon = '\0';
        port = colon[1] ? colon + 1 : port;
    }
    if (!*host || strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    else if (strcmp(host, "[::]") == 0)
        host = "[::1]";
    for (gsize len = strlen(path); len > 0 && path[len - 1] == '/'; len--)
        path[len - 1] = '\0';
    return g_strdup_printf("%s://%s:%s%s%s", scheme, host, port, path,
                           g_str_has_suffix(path, "/v1") ? "" : "/v1");
}

#define IMITATOR .prepare = acr_openai_prepare, .is_imitator = true
#define OWN_SERVER .needs_no_key = true, .base_path = "/v1", IMITATOR
#define SERVER(id, url, keys, bases, ...)                                                          \
    const AcrProvider acr_provider_##id = {.name = #id,                                            \
                                           .base_url = url,                                        \
                                           .key_variables = keys,                                  \
                                           .base_variables = bases,                                \
                                           ACR_OPENAI_CHAT,                                        \
                                           __VA_ARGS__}

/* Groq's own client expects a base URL without the path. */
SERVER(groq, "https://api.groq.com/openai/v1", ACR_STRINGS("GROQ_API_KEY"),
       ACR_STRINGS("GROQ_BASE_URL"), .base_path = "/openai/v1", .prepare = acr_openai_prepare);
/* DeepSeek supports JSON mode, but no schemas. */
SERVER(deepseek, "https://api.deepseek.com/v1", ACR_STRINGS("DEEPSEEK_API_KEY"),
       ACR_STRINGS("DEEPSEEK_BASE_URL"), .base_path = "/v1", .has_no_schema = true, IMITATOR);
SERVER(openrouter, "https://openrouter.ai/api/v1", ACR_STRINGS("OPENROUTER_API_KEY"),
       ACR_STRINGS("OPENROUTER_BASE_URL"), IMITATOR);
/* LiteLLM is a gateway that people run themselves. is_local is false, because the models behind the
 * gateway cost money. */
SERVER(litellm, "http://127.0.0.1:4000/v1", ACR_STRINGS("LITELLM_PROXY_API_KEY", "LITELLM_API_KEY"),
       ACR_STRINGS("LITELLM_PROXY_API_BASE", "LITELLM_BASE_URL"), OWN_SERVER);
SERVER(vllm, "http://127.0.0.1:8000/v1", ACR_STRINGS("VLLM_API_KEY"), ACR_STRINGS("VLLM_BASE_URL"),
       .is_local = true, OWN_SERVER);
SERVER(llamacpp, "http://127.0.0.1:8080/v1", ACR_STRINGS("LLAMA_API_KEY"),
       ACR_STRINGS("LLAMA_BASE_URL"), .is_local = true, OWN_SERVER);
SERVER(ollama, "http://127.0.0.1:" OLLAMA_PORT "/v1", ACR_STRINGS("OLLAMA_API_KEY"), NULL,
       .is_local = true, .base = ollama_base, OWN_SERVER);
