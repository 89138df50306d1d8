/*
 * OpenAI's models at Azure, in OpenAI's chat dialect: the model's name is a deployment's. With
 * OPENAI_API_VERSION the dated API, whose paths name the deployment; without it the v1 API, whose
 * requests are OpenAI's own. A bearer token from the environment goes before a key from there.
 */
#include "llm/provider.h"

#include <string.h>

#define VERSION_VARIABLE "OPENAI_API_VERSION"
#define TOKEN_VARIABLE "AZURE_OPENAI_AD_TOKEN"
#define KEY_VARIABLE "AZURE_OPENAI_API_KEY"
#define V1_PATH "/openai/v1"
#define DATED_PATH "/openai"

/* Whether the endpoint's key is the environment's, and not one that an option gives. */
static bool has_key_of_environment(const AcrEndpoint *endpoint)
{
    const char *value = acr_variable(KEY_VARIABLE);
    g_autofree char *key = value ? g_strstrip(g_strdup(value)) : NULL;
    bool same = endpoint->key && g_strcmp0(key, endpoint->key) == 0;

    if (key)
        explicit_bzero(key, strlen(key));
    return same;
}

/* The token, where it is to be sent in place of a key; owned (acr_wipe). */
static char *find_token(const AcrEndpoint *endpoint)
{
    const char *value = acr_variable(TOKEN_VARIABLE);
    char *token = NULL;

    if (!value || (endpoint->key && !has_key_of_environment(endpoint)))
        return NULL;
    token = g_strstrip(g_strdup(value));
    if (!*token)
        g_clear_pointer(&token, acr_wipe);
    return token;
}

/* The base URL up to what both APIs add to it, as users give it with or without. */
static char *resource_of(const AcrEndpoint *endpoint)
{
    const char *base = endpoint->base_url;
    gsize len = strlen(base);

    if (g_str_has_suffix(base, V1_PATH))
        len -= strlen(V1_PATH);
    else if (g_str_has_suffix(base, DATED_PATH))
        len -= strlen(DATED_PATH);
    return g_strndup(base, len);
}

static char *url_of(const AcrEndpoint *endpoint, const char *version)
{
    g_autofree char *resource = resource_of(endpoint);
    g_autofree char *deployment = g_uri_escape_string(endpoint->model, NULL, FALSE);
    g_autofree char *query = version ? g_uri_escape_string(version, NULL, FALSE) : NULL;

    if (!version)
        return g_strconcat(resource, V1_PATH "/chat/completions", NULL);
    return g_strdup_printf("%s" DATED_PATH "/deployments/%s/chat/completions?api-version=%s",
                           resource, deployment, query);
}

/* Puts the token, where one is to be sent, in place of the key. */
static bool take_token(AcrEndpoint *endpoint, bool *out_taken, GError **error)
{
    char *token = find_token(endpoint);

    *out_taken = token != NULL;
    if (!token)
        return true;
    acr_endpoint_secret(endpoint, token);
    acr_wipe(endpoint->key);
    endpoint->key = token;
    return acr_key_check(token, TOKEN_VARIABLE, error);
}

static bool azure_prepare(AcrEndpoint *endpoint, GError **error)
{
    bool is_v1 = g_str_has_suffix(endpoint->base_url, V1_PATH);
    const char *version = is_v1 ? NULL : acr_variable(VERSION_VARIABLE);
    bool has_token = false;

    if (!take_token(endpoint, &has_token, error) || !acr_endpoint_need_key(endpoint, error))
        return false;
    endpoint->url = url_of(endpoint, version);
    /* The v1 API takes a key as OpenAI does; the dated one only in a header of its own. */
    if (has_token || !version)
        acr_endpoint_bearer(endpoint);
    else if (endpoint->key)
        acr_endpoint_header(endpoint, "api-key", endpoint->key);
    endpoint->is_official_dialect = true; /* wherever the resource is */
    return true;
}

const AcrProvider acr_provider_azure = {
    .name = "azure",
    .key_variables = (const char *const[]){KEY_VARIABLE, NULL},
    .base_variables = (const char *const[]){"AZURE_OPENAI_ENDPOINT", NULL},
    .prepare = azure_prepare,
    ACR_OPENAI_CHAT,
};
