/*
 * LiteLLM's list of prices: an object of models, each with USD a token under names like
 * "input_cost_per_token" and "…_above_200k_tokens". Rows of other things than text (images, sound)
 * and "sample_spec", which is documentation, are passed over; prices of service tiers and batches,
 * which are not asked for, too. Where a price is lower at some hours, the full one counts.
 */
#include "money/price_private.h"

#include <stddef.h>
#include <string.h>

#define MAX_MEMBERS 1000u
#define MAX_TOKENS 1000000000000 /* of a limit or a threshold */

static const struct {
    const char *member;
    gsize offset; /* in AcrPriceTier */
} kinds[] = {
    {"input_cost_per_token", offsetof(AcrPriceTier, input)},
    {"cache_read_input_token_cost", offsetof(AcrPriceTier, cached)},
    {"cache_creation_input_token_cost", offsetof(AcrPriceTier, written)},
    {"cache_creation_input_token_cost_above_1hr", offsetof(AcrPriceTier, written_1h)},
    {"output_cost_per_token", offsetof(AcrPriceTier, output)},
    {"output_cost_per_reasoning_token", offsetof(AcrPriceTier, reasoning)},
};

/* Where a member's price belongs; NULL: nowhere. */
static gint64 *place_in(AcrPriceTier *tier, const char *member, gsize len)
{
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strlen(kinds[i].member) == len && strncmp(kinds[i].member, member, len) == 0)
            return (gint64 *)(void *)((char *)tier + kinds[i].offset);
    return NULL;
}

/* The threshold of "…_above_200k_tokens" and the length of what stands before it; 0: none. */
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

static bool read_member(AcrPriceBuilder *builder, const AcrJson *value, const char *where,
                        GError **error)
{
    const char *member = acr_json_key(value);
    gsize len = 0;
    gint64 above = threshold_of(member, &len), *place = NULL;
    AcrPriceTier probe = {0}, *tier = NULL;

    if (!place_in(&probe, member, len))
        return true;
    tier = above > 0 ? acr_price_builder_step(builder, above) : &builder->base;
    if (!tier) {
        g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE,
                    "%s: '%s' is one threshold too many", where, member);
        return false;
    }
    place = place_in(tier, member, len);
    return acr_price_read_amount(value, 1, where, member, place, error);
}

static bool read_members(AcrPriceBuilder *builder, const AcrJson *row, const char *where,
                         GError **error)
{
    guint left = MAX_MEMBERS;

    for (const AcrJson *each = acr_json_first(row); each; each = acr_json_next(each)) {
        if (left-- == 0) {
            g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "%s: too many members",
                        where);
            return false;
        }
        if (!read_member(builder, each, where, error))
            return false;
    }
    return true;
}

/* "tiered_pricing": [{"range": [from, to], prices}], whose first range is the base. */
static bool read_ranges(AcrPriceBuilder *builder, const AcrJson *ranges, const char *where,
                        GError **error)
{
    for (const AcrJson *each = acr_json_first(ranges); each; each = acr_json_next(each)) {
        AcrPriceBuilder inner;
        AcrPriceTier *tier = NULL;
        gint64 above = acr_json_int(acr_json_first(acr_json_get(each, "range")), -1);

        acr_price_builder_init(&inner);
        if (above >= 0 && above <= MAX_TOKENS)
            tier = above > 0 ? acr_price_builder_step(builder, above) : &builder->base;
        if (!tier) {
            g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE,
                        "%s: 'tiered_pricing' has no such ranges", where);
            return false;
        }
        if (!read_members(&inner, each, where, error))
            return false;
        *tier = inner.base;
    }
    return true;
}

/* A limit in tokens; -1 where none is said. */
static bool read_limit(const AcrJson *row, const char *member, const char *where, gint64 *out,
                       GError **error)
{
    const AcrJson *value = acr_json_get(row, member);

    *out = acr_json_int(value, -1);
    if (acr_json_type(value) == ACR_JSON_NULL || (*out >= 0 && *out <= MAX_TOKENS)) {
        *out = *out > 0 ? *out : -1;
        return true;
    }
    g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "%s: '%s' is no number of tokens",
                where, member);
    return false;
}

static bool is_of_text(const AcrJson *row)
{
    static const char *const modes[] = {"chat", "responses", "completion"};
    const char *mode = acr_json_get_string(row, "mode");

    for (gsize i = 0; mode && i < G_N_ELEMENTS(modes); i++)
        if (strcmp(mode, modes[i]) == 0)
            return true;
    return !mode;
}

static bool read_row(const AcrJson *row, const char *where, AcrPrice *out, GError **error)
{
    AcrPriceBuilder builder;
    gint64 older = -1;

    acr_price_builder_init(&builder);
    if (!read_members(&builder, row, where, error) ||
        !read_ranges(&builder, acr_json_get(row, "tiered_pricing"), where, error) ||
        !read_limit(row, "max_input_tokens", where, &builder.max_input, error) ||
        !read_limit(row, "max_output_tokens", where, &builder.max_output, error) ||
        !read_limit(row, "max_tokens", where, &older, error))
        return false;
    if (builder.max_output < 0)
        builder.max_output = older;
    acr_price_builder_end(&builder, out);
    return true;
}

/* ---- Names ---- */

/* "PROVIDER/NAME" with a provider of ours; the name alone where no provider is said. */
static char *our_name(const char *key, const char *provider, bool *has_prefix)
{
    g_autofree char *family = NULL, *prefix = NULL;

    if (g_strcmp0(provider, "bedrock_converse") == 0)
        provider = "bedrock";
    if (!provider) {
        *has_prefix = true;
        return g_strdup(key);
    }
    family = acr_price_family(provider, strlen(provider));
    prefix = g_strconcat(family, "/", NULL);
    *has_prefix = g_str_has_prefix(key, prefix);
    return *has_prefix ? g_strdup(key) : g_strconcat(prefix, key, NULL);
}

bool acr_price_litellm_read(AcrPriceFile *file, const AcrJson *rows, GError **error)
{
    for (const AcrJson *row = acr_json_first(rows); row; row = acr_json_next(row)) {
        const char *key = acr_json_key(row);
        g_autofree char *where = acr_text_quote(key, 100), *name = NULL;
        bool has_prefix = false;
        AcrPrice price;

        if (acr_json_type(row) != ACR_JSON_OBJECT) {
            g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "%s is no model's row",
                        where);
            return false;
        }
        if (strcmp(key, "sample_spec") == 0 || !is_of_text(row))
            continue;
        if (!read_row(row, where, &price, error))
            return false;
        if (price.base.input < 0 || price.base.output < 0)
            continue;
        name = our_name(key, acr_json_get_string(row, "litellm_provider"), &has_prefix);
        if (has_prefix || !g_hash_table_contains(file->named, name))
            g_hash_table_insert(file->named, g_steal_pointer(&name),
                                g_memdup2(&price, sizeof price));
    }
    return true;
}
