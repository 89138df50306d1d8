/* Prices inside the library: the generated table, a file's rows, rules that match names. */
#ifndef ACR_PRICE_PRIVATE_H
#define ACR_PRICE_PRIVATE_H

#include "money/money.h"

#define ACR_PICO_PER_MICRO 1000000
#define ACR_PRICE_MAX 10000000000 /* pico-USD a token; a price above one cent is a mistake */
#define ACR_PRICES_MAX_BYTES (32u * 1024 * 1024) /* of a file of prices */

/* The built-in table: price_table.json, which tools/prices/update.py writes, as a text. */
extern const char acr_price_table[];

/* ---- Arithmetic (usage.c) ---- */

/* Each price becomes the dearer one of the two. */
void acr_price_tier_raise(AcrPriceTier *tier, const AcrPriceTier *other);
/* Raises the base of `dearest` to the dearest of all tiers of `price`. */
void acr_price_dearest_of(AcrPrice *dearest, const AcrPrice *price);

/* ---- Names (price_names.c) ---- */

/* Whose prices a provider of ours has ("openai-responses" -> "openai"); owned (g_free). */
char *acr_price_family(const char *provider, gsize len) ACR_MUST_USE;
/*
 * What a model's price may stand under, from the name itself to what is left when dates, versions
 * and regions are taken off: owned array (g_ptr_array_unref) of owned strings without provider.
 */
GPtrArray *acr_price_spellings(const char *family, const char *name) ACR_MUST_USE;

/* ---- A file of prices (price_file.c, price_litellm.c, price_genai.c) ---- */

/* Rows of a file: by name, and by rule. */
typedef struct {
    GHashTable *named; /* "openai/gpt-4.1", or "gpt-4.1" where no provider is said -> AcrPrice */
    GPtrArray *ruled;  /* AcrPriceRuled, in the file's order */
} AcrPriceFile;
typedef struct {
    char *provider; /* owned; genai-prices' id of it */
    AcrJson *match; /* owned; a rule that was checked */
    AcrPrice price;
} AcrPriceRuled;
void acr_price_file_init(AcrPriceFile *file);
void acr_price_file_clear(AcrPriceFile *file);
/* Reads either shape into `file`, which is initialised. `name` and `today` ("2026-11-22") for
 * messages and for prices that begin on a day. Errors: USAGE. */
bool acr_price_file_parse(AcrPriceFile *file, const char *text, gsize len, const char *name,
                          const char *today, GError **error) ACR_MUST_USE;
bool acr_price_litellm_read(AcrPriceFile *file, const AcrJson *rows, GError **error) ACR_MUST_USE;
bool acr_price_genai_read(AcrPriceFile *file, const AcrJson *providers, const char *today,
                          GError **error) ACR_MUST_USE;
/* Whether a rule of genai-prices' holds for a name. */
bool acr_price_genai_match(const AcrJson *rule, const char *name);
/* The row of a family's model under any of its spellings. */
bool acr_price_file_find(const AcrPriceFile *file, const char *family, const GPtrArray *spellings,
                         AcrPrice *out);

/* A price while it is read: any number of steps in any order. */
#define ACR_PRICE_STEPS 16
typedef struct {
    AcrPriceTier base;
    struct {
        gint64 above;
        AcrPriceTier tier;
    } steps[ACR_PRICE_STEPS];
    guint len;
    gint64 max_input, max_output;
} AcrPriceBuilder;
void acr_price_builder_init(AcrPriceBuilder *builder);
/* The step above so many tokens, made where there is none; NULL: there are too many. */
AcrPriceTier *acr_price_builder_step(AcrPriceBuilder *builder, gint64 above);
/* The price of a builder. Where it has more steps than a price has, the last one costs the dearest of
 * those left. */
void acr_price_builder_end(AcrPriceBuilder *builder, AcrPrice *out);
/* Reads an amount in USD for `per` tokens as pico-USD a token; null is -1. Errors: USAGE (names
 * `where` and the member). */
bool acr_price_read_amount(const AcrJson *value, gint64 per, const char *where, const char *member,
                           gint64 *out, GError **error) ACR_MUST_USE;

#endif
