/* The list of HTTP providers. Each is one const entry in a file of its own. */
#include "llm/provider.h"

#include <string.h>

static const AcrProvider *const providers[] = {
    &acr_provider_openai,     &acr_provider_openai_responses,
    &acr_provider_azure,      &acr_provider_anthropic,
    &acr_provider_gemini,     &acr_provider_bedrock,
    &acr_provider_groq,       &acr_provider_deepseek,
    &acr_provider_openrouter, &acr_provider_litellm,
    &acr_provider_vllm,       &acr_provider_llamacpp,
    &acr_provider_llama_cpp,  &acr_provider_ollama,
};

/* What people call some of them too. */
static const struct {
    const char *alias, *name;
} other_names[] = {{"google", "gemini"}, {"responses", "openai-responses"}};

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

char *acr_provider_names(void)
{
    GString *names = g_string_new(NULL);

    for (gsize i = 0; i < G_N_ELEMENTS(providers); i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", providers[i]->name);
    return g_string_free(names, FALSE);
}
