/* Fuzzes price files: any JSON must give plausible prices, or be rejected with one bounded line.
 * The same bytes are also a model's name, which must have a bounded number of spellings. */
#include "money/price_private.h"

#include <string.h>

#define MAX_LINE 1000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tier(const AcrPriceTier *tier)
{
    const gint64 prices[] = {tier->input, tier->cached, tier->written, tier->output, tier->reasoning};

    for (gsize i = 0; i < G_N_ELEMENTS(prices); i++) {
        g_assert_cmpint(prices[i], >=, -1);
        g_assert_cmpint(prices[i], <=, ACR_PRICE_MAX);
    }
}

static void check_price(const AcrPrice *price)
{
    static const AcrUsage usage = {
        .input = 150000, .cached = 60000, .written = 5, .output = 999, .reasoning = 5, .cost_pico = -1};
    gint64 cost = acr_price_of_usage(price, &usage), above = 0;

    check_tier(&price->base);
    for (guint i = 0; i < ACR_PRICE_TIERS && price->tiers[i].above > 0; i++) {
        g_assert_cmpint(price->tiers[i].above, >, above);
        above = price->tiers[i].above;
        check_tier(&price->tiers[i].tier);
    }
    g_assert_cmpint(cost, >=, 0);
    g_assert_cmpint(cost, <=, acr_price_at_most(price, acr_usage_sent(&usage), usage.output));
}

static void check_spellings(const char *family, const uint8_t *data, size_t size)
{
    g_autofree char *name = g_strndup((const char *)data, size);
    g_autoptr(GPtrArray) spellings = acr_price_spellings(family, name);

    g_assert_cmpuint(spellings->len, >, 0);
    g_assert_cmpuint(spellings->len, <, 20);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(AcrJson) json = acr_json_parse((const char *)data, size, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GHashTable) rows = json ? acr_price_rows_read(json, &error) : NULL;
    GHashTableIter at;
    gpointer row = NULL;

    if (rows) {
        g_hash_table_iter_init(&at, rows);
        while (g_hash_table_iter_next(&at, NULL, &row))
            check_price(row);
    } else if (json) {
        g_assert_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE);
        g_assert_cmpuint(strlen(error->message), <, MAX_LINE);
        g_assert_null(strchr(error->message, '\n'));
    }
    check_spellings("bedrock", data, size);
    check_spellings("openai", data, size);
    return 0;
}
