/*
 * genai-prices' list: providers with models, each with rules that say which names it is for and USD
 * a million tokens, a number or {"base", "tiers": [{"start", "price"}]}. A model may have prices
 * that begin on a day: the last one that has begun counts; where some hold at hours of the day
 * only, the dearer one counts at every hour. A rule compares a text without regard to case, or joins
 * others; a "regex" matches nothing: those of the list stand for names with a date behind them,
 * which is taken off before (price_names.c).
 */
#include "money/price_private.h"

#include <stddef.h>
#include <string.h>

#define PER_MILLION 1000000
#define MAX_TOKENS 1000000000000
#define MAX_RULES 1000u /* of one "or" or "and" */
#define MAX_DEPTH 8u    /* of rules within rules */

static const struct {
    const char *member;
    gsize offset; /* in AcrPriceTier */
} kinds[] = {
    {"input_mtok", offsetof(AcrPriceTier, input)},
    {"cache_read_mtok", offsetof(AcrPriceTier, cached)},
    {"cache_write_mtok", offsetof(AcrPriceTier, written)},
    {"cache_write_1h_mtok", offsetof(AcrPriceTier, written_1h)},
    {"output_mtok", offsetof(AcrPriceTier, output)},
    {"output_reasoning_mtok", offsetof(AcrPriceTier, reasoning)},
};

static gint64 *place_in(AcrPriceTier *tier, gsize kind)
{
    return (gint64 *)(void *)((char *)tier + kinds[kind].offset);
}

/* One kind of token: a number, or one with steps. */
static bool read_kind(AcrPriceBuilder *builder, gsize kind, const AcrJson *value, const char *where,
                      GError **error)
{
    const char *member = kinds[kind].member;
    const AcrJson *base = value;

    if (acr_json_type(value) == ACR_JSON_OBJECT)
        base = acr_json_get(value, "base");
    if (!acr_price_read_amount(base, PER_MILLION, where, member, place_in(&builder->base, kind),
                               error))
        return false;
    if (base == value)
        return true;
    for (const AcrJson *each = acr_json_first(acr_json_get(value, "tiers")); each;
         each = acr_json_next(each)) {
        gint64 start = acr_json_get_int(each, "start", -1);
        AcrPriceTier *tier =
            start > 0 && start <= MAX_TOKENS ? acr_price_builder_step(builder, start) : NULL;
        if (!tier) {
            g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE,
                        "%s: '%s' has a tier without a start that can be", where, member);
            return false;
        }
        if (!acr_price_read_amount(acr_json_get(each, "price"), PER_MILLION, where, member,
                                   place_in(tier, kind), error))
            return false;
    }
    return true;
}

/* Kinds whose steps lie elsewhere keep the price of the step below. */
static void fill_steps(AcrPriceBuilder *builder)
{
    for (guint i = 1; i < builder->len; i++)
        for (gsize kind = 0; kind < G_N_ELEMENTS(kinds); kind++) {
            gint64 *place = place_in(&builder->steps[i].tier, kind);
            if (*place < 0)
                *place = *place_in(&builder->steps[i - 1].tier, kind);
        }
}

static bool read_prices(const AcrJson *prices, gint64 window, const char *where, AcrPrice *out,
                        GError **error)
{
    AcrPriceBuilder builder;

    acr_price_builder_init(&builder);
    builder.max_input = window;
    for (gsize kind = 0; kind < G_N_ELEMENTS(kinds); kind++)
        if (!read_kind(&builder, kind, acr_json_get(prices, kinds[kind].member), where, error))
            return false;
    fill_steps(&builder);
    acr_price_builder_end(&builder, out);
    return true;
}

/* ---- Prices with conditions ---- */

typedef enum { HOLDS, NOT_YET, AT_TIMES } Condition;

static Condition condition_of(const AcrJson *entry, const char *today)
{
    const AcrJson *constraint = acr_json_get(entry, "constraint");
    const char *start = acr_json_get_string(constraint, "start_date");

    if (acr_json_type(constraint) == ACR_JSON_NULL)
        return HOLDS;
    if (start)
        return strcmp(start, today) <= 0 ? HOLDS : NOT_YET;
    return AT_TIMES;
}

/* Makes the price so dear that both are covered. */
static void cover(AcrPrice *price, const AcrPrice *other)
{
    acr_price_tier_raise(&price->base, &other->base);
    for (guint i = 0; i < ACR_PRICE_TIERS && other->tiers[i].above > 0; i++)
        acr_price_tier_raise(&price->base, &other->tiers[i].tier);
}

static bool read_conditional(const AcrJson *list, gint64 window, const char *today,
                             const char *where, AcrPrice *out, GError **error)
{
    bool found = false;

    for (const AcrJson *each = acr_json_first(list); each; each = acr_json_next(each)) {
        Condition condition = condition_of(each, today);
        AcrPrice price;

        if (!read_prices(acr_json_get(each, "prices"), window, where, &price, error))
            return false;
        if (condition == NOT_YET && found)
            continue;
        if (condition == AT_TIMES && found)
            cover(out, &price);
        else
            *out = price;
        found = true;
    }
    return true;
}

/* ---- Rules ---- */

static bool fail_rule(const char *where, const char *member, const char *why, GError **error)
{
    g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "%s: '%s' is no %s", where, member,
                why);
    return false;
}

/* The list of "or" or "and"; *out_all: of "and"; NULL: a comparison. */
static const AcrJson *rules_of(const AcrJson *rule, bool *out_all)
{
    const AcrJson *any = acr_json_get(rule, "or");

    *out_all = !any;
    return any ? any : acr_json_get(rule, "and");
}

static bool check_rule(const AcrJson *rule, const char *where, guint depth, GError **error)
{
    static const char *const comparisons[] = {"equals", "starts_with", "ends_with", "contains",
                                              "regex"};
    bool all = false;
    const AcrJson *rules = rules_of(rule, &all);

    if (rules &&
        (acr_json_type(rules) != ACR_JSON_ARRAY || depth == 0 || acr_json_size(rules) > MAX_RULES))
        return fail_rule(where, all ? "and" : "or", "list of rules", error);
    for (const AcrJson *each = acr_json_first(rules); each; each = acr_json_next(each))
        if (!check_rule(each, where, depth - 1, error))
            return false;
    for (gsize i = 0; !rules && i < G_N_ELEMENTS(comparisons); i++)
        if (acr_json_get(rule, comparisons[i]))
            return acr_json_get_string(rule, comparisons[i]) ||
                   fail_rule(where, comparisons[i], "text", error);
    return rules || fail_rule(where, "match", "rule", error);
}

bool acr_price_genai_match(const AcrJson *rule, const char *name)
{
    bool all = false;
    const AcrJson *rules = rules_of(rule, &all);
    const char *text = NULL;
    gsize name_len = strlen(name);

    for (const AcrJson *each = acr_json_first(rules); each; each = acr_json_next(each))
        if (acr_price_genai_match(each, name) != all)
            return !all;
    if (rules)
        return all;
    if ((text = acr_json_get_string(rule, "equals")))
        return g_ascii_strcasecmp(name, text) == 0;
    if ((text = acr_json_get_string(rule, "contains")))
        return strcasestr(name, text);
    if ((text = acr_json_get_string(rule, "starts_with")))
        return g_ascii_strncasecmp(name, text, strlen(text)) == 0;
    text = acr_json_get_string(rule, "ends_with");
    gsize len = text ? strlen(text) : 0;
    return text && len <= name_len && g_ascii_strcasecmp(name + name_len - len, text) == 0;
}

/* ---- Models ---- */

static bool read_model(AcrPriceFile *file, const AcrJson *model, const char *provider,
                       const char *today, GError **error)
{
    const char *id = acr_json_get_string(model, "id");
    g_autofree char *where = acr_text_quote(id ? id : provider, 100);
    const AcrJson *prices = acr_json_get(model, "prices");
    gint64 window = acr_json_get_int(model, "context_window", -1);
    AcrPrice price = {.base = {-1, -1, -1, -1, -1, -1}};
    const AcrJson *match = acr_json_get(model, "match");

    if (!id) {
        g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "a model of %s has no 'id'",
                    where);
        return false;
    }
    window = window > 0 && window <= MAX_TOKENS ? window : -1;
    if (acr_json_type(prices) == ACR_JSON_ARRAY
            ? !read_conditional(prices, window, today, where, &price, error)
            : !read_prices(prices, window, where, &price, error))
        return false;
    if (price.base.input < 0 || price.base.output < 0)
        return true;
    if (!check_rule(match, where, MAX_DEPTH, error))
        return false;
    AcrPriceRuled *ruled = g_new0(AcrPriceRuled, 1);
    ruled->provider = g_strdup(provider);
    ruled->match = acr_json_copy(match);
    ruled->price = price;
    g_ptr_array_add(file->ruled, ruled);
    return true;
}

bool acr_price_genai_read(AcrPriceFile *file, const AcrJson *providers, const char *today,
                          GError **error)
{
    for (const AcrJson *each = acr_json_first(providers); each; each = acr_json_next(each)) {
        const char *id = acr_json_get_string(each, "id");
        const AcrJson *models = acr_json_get(each, "models");

        if (!id || acr_json_type(models) != ACR_JSON_ARRAY) {
            g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE,
                        "a provider has no 'id' or no 'models'");
            return false;
        }
        for (const AcrJson *model = acr_json_first(models); model; model = acr_json_next(model))
            if (!read_model(file, model, id, today, error))
                return false;
    }
    return true;
}
