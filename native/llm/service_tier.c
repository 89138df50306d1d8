/* Lists the service tiers of a provider and a model, reads the words for tiers in answers, and
 * recognises errors that refuse a tier. The costs of tiers are in spend.c. */
#include "llm/provider.h"
#include "llm/spend.h"

#include <string.h>

AcrService acr_service_of(const char *word)
{
    static const char *const words[] = {"default", "standard", "standard_only", "on_demand", NULL};
    g_autofree char *plain = g_ascii_strdown(word ? word : "", -1);
    for (AcrService i = ACR_SERVICE_FLEX; i < ACR_SERVICES; i++)
        if (strcmp(plain, acr_service_name(i)) == 0)
            return i;
    return g_strv_contains(words, plain) ? ACR_SERVICE_STANDARD : ACR_SERVICE_ANY;
}

bool acr_spend_take_service(AcrSpend *spend, const AcrEndpoint *endpoint, const char *name,
                            const AcrModelOptions *options, GError **error)
{
    const AcrProvider *provider = endpoint->provider;
    AcrService asked = options->service;
    g_autofree char *tier = asked == ACR_SERVICE_BATCH
                                ? g_strdup("--batch-api")
                                : g_strconcat("--service-tier ", acr_service_name(asked), NULL);
    g_autoptr(GString) has = g_string_new(NULL);
    for (AcrService i = ACR_SERVICE_STANDARD; i <= ACR_SERVICE_PRIORITY; i++)
        if (provider->services[i] && (i == ACR_SERVICE_STANDARD || spend->has_row[i]))
            g_string_append_printf(has, "%s%s", has->len ? ", " : "", acr_service_name(i));
    if (!asked ||
        (provider->services[asked] && (asked == ACR_SERVICE_STANDARD || !options->prices ||
                                       acr_spend_add_service(spend, asked))))
        return true;
    if (!provider->services[asked])
        return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                             "model '%s' cannot be called with %s: its provider %s%s", name, tier,
                             has->len ? "has only: " : "has no service tiers", has->str);
    return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                         "model '%s' has no known price for %s (known: %s); choose "
                         "another tier, or give the tier's prices by --prices FILE",
                         name, tier, has->str);
}

bool acr_failure_is_of_tier(const AcrFailure *failure, AcrService asked)
{
    if (asked <= ACR_SERVICE_STANDARD)
        return false;
    switch (failure->code) {
    case ACR_LLM_ERROR_OVERLOADED:
        return true;
    case ACR_LLM_ERROR_TIMEOUT: /* another flex request would probably time out too */
        return asked == ACR_SERVICE_FLEX;
    case ACR_LLM_ERROR_RATE_LIMIT:
        return acr_failure_says(failure,
                                "resource unavailable|resource_unavailable|capacity|service tier");
    case ACR_LLM_ERROR_BAD_REQUEST:
        return acr_failure_is_about(failure, "service_tier") ||
               acr_failure_says(failure, "service_tier|service tier|servicetier|flex|priority");
    default:
        return false;
    }
}
