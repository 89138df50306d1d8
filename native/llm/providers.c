/* The list of HTTP providers. Each provider is a const struct in its own file. Also creates a model
 * from its name. */
#include "llm/provider.h"

#include <string.h>

#include "llm/llm_private.h"

static const AcrProvider *const providers[] = {
    &acr_provider_openai,     &acr_provider_openai_responses,
    &acr_provider_azure,      &acr_provider_anthropic,
    &acr_provider_gemini,     &acr_provider_bedrock,
    &acr_provider_groq,       &acr_provider_deepseek,
    &acr_provider_openrouter, &acr_provider_litellm,
    &acr_provider_vllm,       &acr_provider_llamacpp,
    &acr_provider_ollama,
};

static const struct {
    const char *alias, *name;
} other_names[] = {
    {"google", "gemini"}, {"responses", "openai-responses"}, {"llama.cpp", "llamacpp"}};

const AcrProvider *acr_provider_find(const char *name, gsize len)
{
    for (gsize i = 0; i < G_N_ELEMENTS(other_names); i++)
        if (strlen(other_names[i].alias) == len && memcmp(other_names[i].alias, name, len) == 0)
            return acr_provider_find(other_names[i].name, strlen(other_names[i].name));
    for (gsize i = 0; i < G_N_ELEMENTS(providers); i++)
        if (strlen(providers[i]->name) == len && memcmp(providers[i]->name, name, len) == 0)
            return providers[i];
    return NULL;
}

/* Returns the provider that a model's name denotes; NULL if it is unknown or the name denotes a
 * script. */
static const AcrProvider *provider_of(const char *name)
{
    const char *slash = strchr(name, '/');
    const char *bare = slash ? NULL : acr_prices_provider_of(name);
    if (slash)
        return acr_provider_find(name, (gsize)(slash - name));
    return bare ? acr_provider_find(bare, strlen(bare)) : NULL;
}

bool acr_llm_same_key(const char *a, const char *b)
{
    const AcrProvider *first = provider_of(a);
    const AcrProvider *second = provider_of(b);
    const char *const *variables = first ? first->key_variables : NULL;
    if (!first || !second)
        return false;
    return first == second || (variables && second->key_variables &&
                               strcmp(variables[0], second->key_variables[0]) == 0);
}

char **acr_llm_keys_set(void)
{
    g_autoptr(GPtrArray) set = g_ptr_array_new();
    for (gsize i = 0; i < G_N_ELEMENTS(providers); i++)
        for (const char *const *at = providers[i]->key_variables; at && *at; at++)
            if (acr_variable(*at)) {
                g_ptr_array_add(set, g_strdup_printf("%s (%s)", providers[i]->name, *at));
                break;
            }
    g_ptr_array_add(set, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&set), FALSE);
}

static AcrJson *describe_variables(const char *const *names)
{
    AcrJson *json = acr_json_new_array();
    for (; names && *names; names++)
        acr_json_append(json, acr_json_new_string(*names));
    return json;
}

AcrJson *acr_llm_describe_providers(void)
{
    AcrJson *json = acr_json_new_array();
    for (gsize i = 0; i < G_N_ELEMENTS(providers); i++) {
        acr_json_add(json, ACR_STRING("name", providers[i]->name),
                     ACR_JSON("keys", describe_variables(providers[i]->key_variables)),
                     ACR_JSON("addresses", describe_variables(providers[i]->base_variables)));
    }
    return json;
}

char **acr_llm_without_keys(char **environment)
{
    for (gsize i = 0; i < G_N_ELEMENTS(providers); i++)
        for (const char *const *at = providers[i]->key_variables; at && *at; at++)
            environment = g_environ_unsetenv(environment, *at);
    return environment;
}

static bool refuse_name(const char *name, GError **error)
{
    const char *slash = strchr(name, '/');
    const char *names[G_N_ELEMENTS(providers) + 1] = {NULL};
    for (gsize i = 0; i < G_N_ELEMENTS(providers); i++)
        names[i] = providers[i]->name;
    g_autofree char *known = g_strjoinv(", ", (char **)names),
                    *prefix = g_strndup(name, strcspn(name, "/")),
                    *shown = acr_redact_line(name, NULL, 200);
    const char *near = acr_nearest_name(prefix, names);
    bool is_near = near && strcmp(near, prefix) != 0;
    g_autofree char *hint = is_near ? g_strdup_printf(" (did you mean '%s'?)", near) : g_strdup("");
    if (!slash || slash == name || !slash[1])
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                    "cannot tell the provider of model '%s'%s; write PROVIDER/NAME, such as "
                    "'openai/gpt-4.1' (providers: %s), or script:FILE",
                    shown, hint, known);
    else
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                    "model '%s' names an unknown provider%s; known are: %s, and script:FILE", shown,
                    hint, known);
    return false;
}

static bool is_script(const char *name)
{
    return g_str_has_prefix(name, "script:") && name[strlen("script:")];
}

bool acr_llm_check_name(const char *name, GError **error)
{
    const char *slash = strchr(name, '/');
    return is_script(name) || (provider_of(name) && (!slash || slash[1])) ||
           refuse_name(name, error);
}

AcrModel *acr_model_new(const char *name, const AcrModelOptions *options, GError **error)
{
    const char *slash = strchr(name, '/');
    const char *model = slash ? slash + 1 : name;
    if (!acr_llm_check_name(name, error))
        return NULL;
    if (is_script(name) && options->service)
        return ACR_NULL(acr_set_error(
            error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
            "a script supports neither --service-tier nor --batch-api; leave the option out"));
    if (is_script(name))
        return acr_script_model_new(name + strlen("script:"), options, error);
    return acr_http_model_new(provider_of(name), name, model, options, error);
}
