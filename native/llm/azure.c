/* Reaches OpenAI's models at Azure, with OpenAI's chat API; the model's name is the name of a
 * deployment. If OPENAI_API_VERSION is set, the dated API is used, which has the deployment in its
 * paths; otherwise the v1 API, which has the same requests as OpenAI's API. If the environment has
 * both a bearer token and a key, the token is used. */
#include "llm/provider.h"

#include <string.h>

#define VERSION_VARIABLE "OPENAI_API_VERSION"
#define TOKEN_VARIABLE "AZURE_OPENAI_AD_TOKEN"
#define V1_PATH "/openai/v1"
#define DATED_PATH "/openai"

/* Makes the URL of the requests. The base URL may or may not include the path that both APIs append
 * to it. */
static char *url_of(const AcrEndpoint *endpoint, const char *version)
{
    const char *base = endpoint->base_url;
    const char *end = g_str_has_suffix(base, V1_PATH)      ? V1_PATH
                      : g_str_has_suffix(base, DATED_PATH) ? DATED_PATH
                                                           : "";
    g_autofree char *resource = g_strndup(base, strlen(base) - strlen(end));
    g_autofree char *deployment = g_uri_escape_string(endpoint->model, NULL, FALSE);
    g_autofree char *query = version ? g_uri_escape_string(version, NULL, FALSE) : NULL;
    if (!version)
        return g_strconcat(resource, V1_PATH "/chat/completions", NULL);
    return g_strdup_printf("%s" DATED_PATH "/deployments/%s/chat/completions?api-version=%s",
                           resource, deployment, query);
}

static bool azure_prepare(AcrEndpoint *endpoint, GError **error)
{
    bool is_v1 = g_str_has_suffix(endpoint->base_url, V1_PATH);
    const char *version = is_v1 ? NULL : acr_variable(VERSION_VARIABLE);
    if (!acr_endpoint_need_key(endpoint, error))
        return false;
    endpoint->url = url_of(endpoint, version);
    /* The v1 API takes a key in the same header as OpenAI; the dated API takes a key only in the
     * header "api-key". */
    if (!version || g_strcmp0(endpoint->key_variable, TOKEN_VARIABLE) == 0)
        acr_endpoint_bearer(endpoint);
    else if (endpoint->key)
        acr_endpoint_header(endpoint, "api-key", endpoint->key);
    endpoint->is_official_dialect = true; /* Azure has OpenAI's newer parameter names at any URL */
    return true;
}

const AcrProvider acr_provider_azure = {
    .name = "azure",
    .key_variables = (const char *const[]){TOKEN_VARIABLE, "AZURE_OPENAI_API_KEY", NULL},
    .base_variables = (const char *const[]){"AZURE_OPENAI_ENDPOINT", NULL},
    .prepare = azure_prepare,
    ACR_OPENAI_CHAT,
    .services = {NULL, "default", "flex", "priority"},
};
