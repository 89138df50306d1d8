/*
 * A file of prices that the user points at: which of the two shapes it has, and how a row of it is
 * found again. LiteLLM's is an object of models, genai-prices' is a list of providers; each has a
 * file of its own that reads it.
 */
#include "money/price_private.h"

#include <math.h>
#include <string.h>

void acr_price_builder_init(AcrPriceBuilder *builder)
{
    *builder =
        (AcrPriceBuilder){.base = {-1, -1, -1, -1, -1, -1}, .max_input = -1, .max_output = -1};
}

AcrPriceTier *acr_price_builder_step(AcrPriceBuilder *builder, gint64 above)
{
    guint at = 0;

    while (at < builder->len && builder->steps[at].above < above)
        at++;
    if (at < builder->len && builder->steps[at].above == above)
        return &builder->steps[at].tier;
    if (builder->len == ACR_PRICE_STEPS)
        return NULL;
    memmove(&builder->steps[at + 1], &builder->steps[at],
            (builder->len - at) * sizeof builder->steps[0]);
    builder->len++;
    builder->steps[at].above = above;
    builder->steps[at].tier = (AcrPriceTier){-1, -1, -1, -1, -1, -1};
    return &builder->steps[at].tier;
}

void acr_price_builder_end(AcrPriceBuilder *builder, AcrPrice *out)
{
    *out = (AcrPrice){
        .base = builder->base, .max_input = builder->max_input, .max_output = builder->max_output};
    for (guint i = 0; i < builder->len; i++) {
        if (i < ACR_PRICE_TIERS) {
            out->tiers[i].above = builder->steps[i].above;
            out->tiers[i].tier = builder->steps[i].tier;
        } else {
            acr_price_tier_raise(&out->tiers[ACR_PRICE_TIERS - 1].tier, &builder->steps[i].tier);
        }
    }
}

bool acr_price_read_amount(const AcrJson *value, gint64 per, const char *where, const char *member,
                           gint64 *out, GError **error)
{
    g_autoptr(AcrJson) holder = NULL;
    double usd = NAN, pico = 0;

    if (acr_json_type(value) == ACR_JSON_NULL) {
        *out = -1;
        return true;
    }
    if (acr_json_type(value) == ACR_JSON_NUMBER) {
        holder = acr_json_new_object();
        acr_json_set(holder, member, acr_json_copy(value));
        usd = acr_json_get_double(holder, member, NAN);
    }
    pico = usd * (1e12 / (double)per) + 0.5; /* cut off below: rounded to the nearest */
    if (!(usd >= 0 && pico < (double)ACR_PRICE_MAX + 1)) {
        g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE,
                    "%s: '%s' is no price of a token", where, member);
        return false;
    }
    *out = (gint64)pico;
    return true;
}

/* ---- The file ---- */

static void free_ruled(gpointer data)
{
    AcrPriceRuled *ruled = data;

    g_free(ruled->provider);
    acr_json_free(ruled->match);
    g_free(ruled);
}

void acr_price_file_init(AcrPriceFile *file)
{
    file->named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    file->ruled = g_ptr_array_new_with_free_func(free_ruled);
}

void acr_price_file_clear(AcrPriceFile *file)
{
    g_clear_pointer(&file->named, g_hash_table_unref);
    g_clear_pointer(&file->ruled, g_ptr_array_unref);
}

bool acr_price_file_parse(AcrPriceFile *file, const char *text, gsize len, const char *name,
                          const char *today, GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(AcrJson) json = acr_json_parse(text, len, &failure);
    bool ok = false;

    if (json && acr_json_type(json) == ACR_JSON_ARRAY)
        ok = acr_price_genai_read(file, json, today, &failure);
    else if (json && acr_json_type(json) == ACR_JSON_OBJECT)
        ok = acr_price_litellm_read(file, json, &failure);
    else if (json)
        g_set_error(&failure, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE,
                    "neither an object of models nor a list of providers");
    if (ok && g_hash_table_size(file->named) == 0 && file->ruled->len == 0) {
        g_set_error(&failure, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "it has no price of a model");
        ok = false;
    }
    if (!ok)
        g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "prices '%s': %s", name,
                    failure->message);
    return ok;
}

/* ---- Finding ---- */

static const AcrPrice *find_named(const AcrPriceFile *file, const char *family, const char *name)
{
    g_autofree char *full = g_strdup_printf("%s/%s", family, name);
    const AcrPrice *price = g_hash_table_lookup(file->named, full);

    return price ? price : g_hash_table_lookup(file->named, name);
}

/* What genai-prices calls a provider. */
static const char *genai_id(const char *family)
{
    static const char *const ids[][2] = {{"bedrock", "aws"}, {"gemini", "google"}};

    for (gsize i = 0; i < G_N_ELEMENTS(ids); i++)
        if (strcmp(ids[i][0], family) == 0)
            return ids[i][1];
    return family;
}

static const AcrPrice *find_ruled(const AcrPriceFile *file, const char *family, const char *name)
{
    const char *id = genai_id(family);

    for (guint i = 0; i < file->ruled->len; i++) {
        const AcrPriceRuled *ruled = file->ruled->pdata[i];
        if (strcmp(ruled->provider, id) == 0 && acr_price_genai_match(ruled->match, name))
            return &ruled->price;
    }
    return NULL;
}

bool acr_price_file_find(const AcrPriceFile *file, const char *family, const GPtrArray *spellings,
                         AcrPrice *out)
{
    for (guint i = 0; i < spellings->len; i++) {
        const AcrPrice *price = find_named(file, family, spellings->pdata[i]);
        if (!price)
            price = find_ruled(file, family, spellings->pdata[i]);
        if (price) {
            *out = *price;
            return true;
        }
    }
    return false;
}
