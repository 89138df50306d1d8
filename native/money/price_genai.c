/*
 * genai-prices' list: providers with models, each with rules that say which names it is for and USD
 * a million tokens, a number or {"base", "tiers": [{"start", "price"}]}. A model may have prices
 * that begin on a day: the last one that has begun counts; where some hold at hours of the day
 * only, the dearer one counts at every hour.
 */
#include "money/price_private.h"

#include <stddef.h>
#include <string.h>

#define PER_MILLION 1000000
#define MAX_TOKENS 1000000000000

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
static bool read_kind(AcrPriceDraft *draft, gsize kind, const AcrJson *value, const char *where,
                      GError **error)
{
    const char *member = kinds[kind].member;
    const AcrJson *base = value;

    if (acr_json_type(value) == ACR_JSON_OBJECT)
        base = acr_json_get(value, "base");
    if (!acr_price_read_amount(base, PER_MILLION, where, member, place_in(&draft->base, kind),
                               error))
        return false;
    if (base == value)
        return true;
    for (const AcrJson *each = acr_json_first(acr_json_get(value, "tiers")); each;
         each = acr_json_next(each)) {
        gint64 start = acr_json_get_int(each, "start", -1);
        AcrPriceTier *tier =
            start > 0 && start <= MAX_TOKENS ? acr_price_draft_step(draft, start) : NULL;
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
static void fill_steps(AcrPriceDraft *draft)
{
    for (guint i = 1; i < draft->len; i++)
        for (gsize kind = 0; kind < G_N_ELEMENTS(kinds); kind++) {
            gint64 *place = place_in(&draft->steps[i].tier, kind);
            if (*place < 0)
                *place = *place_in(&draft->steps[i - 1].tier, kind);
        }
}

static bool read_prices(const AcrJson *prices, gint64 window, const char *where, AcrPrice *out,
                        GError **error)
{
    AcrPriceDraft draft;

    acr_price_draft_init(&draft);
    draft.max_input = window;
    for (gsize kind = 0; kind < G_N_ELEMENTS(kinds); kind++)
        if (!read_kind(&draft, kind, acr_json_get(prices, kinds[kind].member), where, error))
            return false;
    fill_steps(&draft);
    acr_price_draft_end(&draft, out);
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

/* ---- Models ---- */

static bool read_model(AcrPriceFile *file, const AcrJson *model, const char *provider,
                       const char *today, GError **error)
{
    const char *id = acr_json_get_string(model, "id");
    g_autofree char *where = acr_text_quote(id ? id : provider, 100);
    const AcrJson *prices = acr_json_get(model, "prices");
    gint64 window = acr_json_get_int(model, "context_window", -1);
    AcrPrice price = {.base = {-1, -1, -1, -1, -1, -1}};
    g_autoptr(AcrPriceMatch) match = NULL;
    AcrPriceRuled *ruled = NULL;

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
    match = acr_price_match_new(acr_json_get(model, "match"), where, error);
    if (!match)
        return false;
    ruled = g_new0(AcrPriceRuled, 1);
    ruled->provider = g_strdup(provider);
    ruled->match = g_steal_pointer(&match);
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
