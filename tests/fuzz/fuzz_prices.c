/*
 * Fuzzes files of prices, of both shapes: any bytes are prices that can be, found without harm
 * under any name, or refused in one bounded line.
 */
#include "money/price_private.h"

#include <string.h>

#define MAX_LINE 1000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tier(const AcrPriceTier *tier)
{
    const gint64 prices[] = {tier->input,      tier->cached, tier->written,
                             tier->written_1h, tier->output, tier->reasoning};

    for (gsize i = 0; i < G_N_ELEMENTS(prices); i++) {
        g_assert_cmpint(prices[i], >=, -1);
        g_assert_cmpint(prices[i], <=, ACR_PRICE_MAX);
    }
}

static void check_price(const AcrPrice *price)
{
    static const AcrUsage usage = {.input = 150000,
                                   .cached = 60000,
                                   .written = 5,
                                   .written_1h = 7,
                                   .output = 999,
                                   .reasoning = 5,
                                   .cost_pico = -1};
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

static void find_all(const AcrPriceFile *file)
{
    static const char *const families[] = {"openai", "bedrock", "gemini", "anthropic", "p"};
    static const char *const names[] = {"gpt-4.1-2025-04-14", "us.anthropic.claude-v1:0", "m", ""};

    for (gsize i = 0; i < G_N_ELEMENTS(families); i++)
        for (gsize k = 0; k < G_N_ELEMENTS(names); k++) {
            g_autoptr(GPtrArray) spellings = acr_price_spellings(families[i], names[k]);
            AcrPrice price;

            if (acr_price_file_find(file, families[i], spellings, &price))
                check_price(&price);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    AcrPriceFile file = {0};
    GHashTableIter rows;
    gpointer row = NULL;

    acr_price_file_init(&file);
    if (acr_price_file_parse(&file, (const char *)data, size, "f", "2026-11-22", &error)) {
        g_hash_table_iter_init(&rows, file.named);
        while (g_hash_table_iter_next(&rows, NULL, &row))
            check_price(row);
        for (guint i = 0; i < file.ruled->len; i++)
            check_price(&((AcrPriceRuled *)file.ruled->pdata[i])->price);
        find_all(&file);
    } else {
        g_assert_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE);
        g_assert_cmpuint(strlen(error->message), <, MAX_LINE);
        g_assert_null(strchr(error->message, '\n'));
    }
    acr_price_file_clear(&file);
    return 0;
}
