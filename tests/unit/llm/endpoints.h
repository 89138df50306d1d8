/* Endpoints for tests, made from a provider and options, in the current environment. */
#pragma once

#include <string.h>

#include "llm/provider.h"
#include "unit/cases.h"

typedef struct {
    AcrEndpoint endpoint;
    char *name; /* owned; `endpoint` borrows it */
} AcrTestEndpoint;

static inline void acr_test_endpoint_clear(AcrTestEndpoint *made)
{
    acr_endpoint_clear(&made->endpoint);
    g_free(made->name);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestEndpoint, acr_test_endpoint_clear)

static inline bool try_endpoint(AcrTestEndpoint *out, const char *provider, const char *model,
                                const AcrModelOptions *options, GError **error)
{
    const AcrProvider *found = acr_provider_find(provider, strlen(provider));
    g_assert_nonnull(found);
    g_assert_null(out->name);
    out->name = g_strdup_printf("%s/%s", provider, model);
    return acr_endpoint_make(found, out->name, out->name + strlen(provider) + 1, options, &out->endpoint, error);
}

static inline void make_endpoint(AcrTestEndpoint *out, const char *provider, const char *model,
                                 const AcrModelOptions *options)
{
    g_autoptr(GError) error = NULL;
    if (!try_endpoint(out, provider, model, options, &error))
        g_error("%s: %s", out->name, error->message);
}

static inline void assert_no_endpoint(const char *provider, const char *model, const AcrModelOptions *options,
                                      AcrLlmError code, const char *words)
{
    g_auto(AcrTestEndpoint) made = {0};
    g_autoptr(GError) error = NULL;
    g_assert_false(try_endpoint(&made, provider, model, options, &error));
    g_assert_error(error, ACR_LLM_ERROR, (gint)code);
    if (!strstr(error->message, words))
        g_error("'%s' is not in: %s", words, error->message);
}

/* The value of a header; NULL if the endpoint has no such header. */
static inline const char *header_of(const AcrTestEndpoint *made, const char *name)
{
    gsize len = strlen(name);
    for (guint i = 0; i + 1 < made->endpoint.headers->len; i++) {
        const char *line = made->endpoint.headers->pdata[i];
        if (g_ascii_strncasecmp(line, name, len) == 0 && g_str_has_prefix(line + len, ": "))
            return line + len + 2;
    }
    return NULL;
}
