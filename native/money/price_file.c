/* Reads a price list in LiteLLM's format: an object of models, each with USD per token under names
 * like "input_cost_per_token" and "…_above_200k_tokens". The reader skips rows for media other than
 * text, the documentation row "sample_spec", rows with "tiered_pricing" (no provider of this
 * program has such rows), and prices that are never used (batches, cache writes for an hour). The
 * names of prices for the service tiers flex and priority end in "_flex" or "_priority". If a price
 * depends on the hour of the day, the highest price counts. The built-in table and users' files
 * have the same reader. */
#include "money/price_private.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define PICO_PER_USD 1e12
/* maximum limit or threshold in tokens; a higher number is rejected */
#define MAX_TOKENS 1000000000000

static const AcrPriceTier nothing = {-1, -1, -1, -1, -1};

static const struct {
    const char *member;
    gsize offset; /* position of the price in AcrPriceTier */
} kinds[] = {
    {"input_cost_per_token", offsetof(AcrPriceTier, input)},
    {"cache_read_input_token_cost", offsetof(AcrPriceTier, cached)},
    {"cache_creation_input_token_cost", offsetof(AcrPriceTier, written)},
    {"output_cost_per_token", offsetof(AcrPriceTier, output)},
    {"output_cost_per_reasoning_token", offsetof(AcrPriceTier, reasoning)},
};

#define refuse(error, ...) acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, __VA_ARGS__)

/* Returns the field for the price called `member`; NULL if `member` is not the name of a price. */
static gint64 *place_in(AcrPriceTier *tier, const char *member, gsize len)
{
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strlen(kinds[i].member) == len && strncmp(kinds[i].member, member, len) == 0)
            return (gint64 *)(void *)((char *)tier + kinds[i].offset);
    return NULL;
}

/* Returns the tier of prices for requests with more than `above` tokens, and adds the tier if it is
 * missing; NULL if there are too many tiers. */
static AcrPriceTier *tier_above(AcrPrice *price, gint64 above, AcrService service)
{
    guint at = 0;
    if (above == 0)
        return acr_price_row(price, -1, service);
    while (at < ACR_PRICE_TIERS && price->tiers[at].above > 0 && price->tiers[at].above < above)
        at++;
    if (at == ACR_PRICE_TIERS || price->tiers[at].above != above) {
        if (price->tiers[ACR_PRICE_TIERS - 1].above > 0)
            return NULL;
        memmove(&price->tiers[at + 1], &price->tiers[at],
                (ACR_PRICE_TIERS - 1 - at) * sizeof price->tiers[0]);
        memset(&price->tiers[at], 0, sizeof price->tiers[at]);
        price->tiers[at].above = above;
        price->tiers[at].tier = nothing;
    }
    return acr_price_row(price, (int)at, service);
}

/* Returns the service tier whose name ends a member's name, and removes it from the name. */
static AcrService cut_service(char *member)
{
    for (AcrService service = ACR_SERVICE_FLEX; service <= ACR_SERVICE_PRIORITY; service++) {
        const char *word = acr_service_name(service);
        char *at = g_str_has_suffix(member, word) ? member + strlen(member) - strlen(word) : member;
        if (at > member && at[-1] == '_') {
            at[-1] = '\0';
            return service;
        }
    }
    return ACR_SERVICE_STANDARD;
}

/* Returns the threshold in "…_above_200k_tokens"; 0 if there is none. *len is the length of the
 * text before "_above_". */
static gint64 threshold_of(const char *member, gsize *len)
{
    static const char above[] = "_above_", end[] = "k_tokens";
    const char *at = g_strrstr(member, above);
    char *behind = NULL;
    *len = strlen(member);
    if (!at || !g_ascii_isdigit(at[strlen(above)]))
        return 0;
    guint64 thousands = g_ascii_strtoull(at + strlen(above), &behind, 10);
    if (strcmp(behind, end) != 0 || thousands > MAX_TOKENS / 1000)
        return 0;
    *len = (gsize)(at - member);
    return (gint64)thousands * 1000;
}

/* Reads all prices of a row into their tiers. */
static bool read_prices(AcrPrice *price, const AcrJson *row, const char *where, GError **error)
{
    for (const AcrJson *each = acr_json_first(row); each; each = acr_json_next(each)) {
        const char *member = acr_json_key(each);
        g_autofree char *plain = g_strdup(member);
        AcrService service = cut_service(plain);
        gsize len = 0;
        gint64 threshold = threshold_of(plain, &len);
        AcrPriceTier probe = nothing;
        if (!place_in(&probe, plain, len) || acr_json_type(each) == ACR_JSON_NULL)
            continue;
        double pico = acr_json_get_double(row, member, NAN) * PICO_PER_USD + 0.5;
        if (!(pico >= 0.5 && pico < (double)ACR_PRICE_MAX + 1))
            return refuse(error, "%s: '%s' is not a price per token", where, member);
        AcrPriceTier *tier = tier_above(price, threshold, service);
        if (!tier)
            return refuse(
                error,
                "%s: more price thresholds than acr-host supports; the first extra one is '%s'",
                where, member);
        *place_in(tier, plain, len) = (gint64)pico;
    }
    return true;
}

/* Reads a limit in tokens; *out is -1 if the row has no such limit. */
static bool read_limit(const AcrJson *row, const char *member, const char *where, gint64 *out,
                       GError **error)
{
    const AcrJson *value = acr_json_get(row, member);
    *out = acr_json_int(value, -1);
    if (acr_json_type(value) != ACR_JSON_NULL && (*out < 0 || *out > MAX_TOKENS))
        return refuse(error, "%s: '%s' is not a number of tokens", where, member);
    *out = *out > 0 ? *out : -1;
    return true;
}

static bool is_of_text(const AcrJson *row)
{
    static const char *const modes[] = {"chat", "responses", "completion", NULL};
    const char *mode = acr_json_get_string(row, "mode");
    return !mode || g_strv_contains(modes, mode);
}

static bool read_row(const AcrJson *row, const char *where, AcrPrice *out, GError **error)
{
    gint64 older = -1;
    *out = (AcrPrice){.base = nothing};
    if (!read_prices(out, row, where, error) ||
        !read_limit(row, "max_output_tokens", where, &out->max_output, error) ||
        !read_limit(row, "max_tokens", where, &older, error))
        return false;
    if (out->max_output < 0)
        out->max_output = older;
    return true;
}

/* Returns "PROVIDER/NAME" with our name of the provider, or `key` without a provider; owned. */
static char *our_name(const char *key, const char *provider)
{
    g_autofree char *family = provider ? acr_price_family(provider, strlen(provider)) : NULL;
    g_autofree char *prefix = g_strconcat(family ? family : "", "/", NULL);
    return !family || g_str_has_prefix(key, prefix) ? g_strdup(key)
                                                    : g_strconcat(prefix, key, NULL);
}

GHashTable *acr_price_rows_read(const AcrJson *json, GError **error)
{
    g_autoptr(GHashTable) rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    if (acr_json_type(json) != ACR_JSON_OBJECT)
        return ACR_NULL(refuse(error, "not a JSON object that maps models to prices"));
    for (const AcrJson *row = acr_json_first(json); row; row = acr_json_next(row)) {
        const char *key = acr_json_key(row);
        g_autofree char *where = acr_text_quote(key, 100);
        AcrPrice price;
        if (acr_json_type(row) != ACR_JSON_OBJECT)
            return ACR_NULL(refuse(error, "%s is not an object with a model's prices", where));
        if (strcmp(key, "sample_spec") == 0 || !is_of_text(row) ||
            acr_json_get(row, "tiered_pricing"))
            continue;
        if (!read_row(row, where, &price, error))
            return NULL;
        if (price.base.input < 0 || price.base.output < 0)
            continue;
        char *name = our_name(key, acr_json_get_string(row, "litellm_provider"));
        /* A row with the key `name` takes precedence over a row that is renamed. */
        if (strcmp(name, key) == 0 || !g_hash_table_contains(rows, name))
            g_hash_table_insert(rows, name, g_memdup2(&price, sizeof price));
        else
            g_free(name);
    }
    return g_steal_pointer(&rows);
}
