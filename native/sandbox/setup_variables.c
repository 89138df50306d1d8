/* The user's variables that a set-up with network access gets: package indexes and proxies. */
#include "sandbox/backend.h"

#include <string.h>

static const char *const variables[] = {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST",
                                        "UV_INDEX_URL",  "http_proxy",          "https_proxy",
                                        "no_proxy",      "HTTP_PROXY",          "HTTPS_PROXY",
                                        "NO_PROXY"};

/* Whether a list of addresses may contain a secret: a password, or a query. */
static bool has_secret(const char *addresses)
{
    return strpbrk(addresses, "@?") != NULL;
}

char **acr_sandbox_setup_variables(const AcrSandboxOptions *options, GString *left_out)
{
    g_autoptr(GStrvBuilder) given = g_strv_builder_new();
    for (guint i = 0; options->setup_network && i < G_N_ELEMENTS(variables); i++) {
        const char *value = g_getenv(variables[i]);
        if (!value || !*value)
            continue;
        g_autofree char *pair = g_strdup_printf("%s=%s", variables[i], value);
        if (!has_secret(value))
            g_strv_builder_add(given, pair);
        else if (left_out)
            g_string_append_printf(left_out, " $%s", variables[i]);
    }
    return g_strv_builder_end(given);
}
