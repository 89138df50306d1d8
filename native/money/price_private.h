#pragma once

#include "money/money.h"

#define ACR_PICO_PER_MICRO 1000000
/* maximum price in pico-USD per token: one cent; a higher price is rejected as a mistake */
#define ACR_PRICE_MAX 10000000000
#define ACR_PRICES_MAX_BYTES (32u * 1024 * 1024) /* maximum size of a price file in bytes */

/* The built-in price table as text: price_table.json, which tools/prices/update.py writes. */
extern const char acr_price_table[];

/* ---- Arithmetic with prices (usage.c) ---- */

/* Returns the prices of a service tier: the base prices or, if `step` >= 0, the prices above
 * threshold number `step`. */
AcrPriceTier *acr_price_row(AcrPrice *price, int step, AcrService service);
/* Raises each base price of `highest` to the maximum over all tiers of `price`. */
void acr_price_raise_to(AcrPrice *highest, const AcrPrice *price);
/* Lowers `input` and `output` of `lowest` to the lowest price above 0 of sent and of received
 * tokens. */
void acr_price_lower_to(AcrPrice *lowest, const AcrPrice *price);

/* ---- Names of models (price_names.c) ---- */

/* Returns the name that the price list uses for our provider ("openai-responses" -> "openai");
 * owned (g_free). */
char *acr_price_family(const char *provider, gsize len) ACR_MUST_USE;
/* Returns the names under which a model's price may be listed, from the full name to the name
 * without dates, versions and regions. Owned array (g_ptr_array_unref) of owned strings, which do
 * not include the provider. */
GPtrArray *acr_price_spellings(const char *family, const char *name) ACR_MUST_USE;

/* ---- Rows of prices (price_file.c) ---- */

/* Reads the rows of a price list in LiteLLM's format: "openai/gpt-4.1" (or "gpt-4.1" if the row
 * names no provider) -> AcrPrice. Owned (g_hash_table_unref). Errors: USAGE (names the row and the
 * member). */
GHashTable *acr_price_rows_read(const AcrJson *json, GError **error) ACR_MUST_USE;
