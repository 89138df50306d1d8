/*
 * What models cost: the rows of the user's file, then those of the built-in table, a sorted list of
 * names each with a row of prices. A name that neither knows has no price: it is never guessed.
 */
#include "money/price_private.h"

#include <string.h>

struct AcrPrices {
    AcrPriceFile file;
    AcrPrice dearest;
};

static const AcrPrice *table_find(const char *name)
{
    guint low = 0, high = acr_price_names_len;

    while (low < high) {
        guint middle = low + (high - low) / 2;
        int order = strcmp(name, acr_price_names[middle].name);

        if (order == 0)
            return &acr_price_rows[acr_price_names[middle].price];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static const AcrPrice *table_find_any(const char *family, const GPtrArray *spellings)
{
    for (guint i = 0; i < spellings->len; i++) {
        g_autofree char *name = g_strdup_printf("%s/%s", family, (char *)spellings->pdata[i]);
        const AcrPrice *price = table_find(name);
        if (price)
            return price;
    }
    return NULL;
}

/* ---- Making -------------------------------------------------------------------------------------
 */

static bool read_file(AcrPriceFile *file, const char *path, GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, ACR_PRICES_MAX_BYTES, &failure);
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *today = g_date_time_format(now, "%Y-%m-%d");
    gsize len = 0;
    const char *text = bytes ? g_bytes_get_data(bytes, &len) : NULL;

    if (!bytes) {
        g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "cannot read prices: %s",
                    failure->message);
        return false;
    }
    return acr_price_file_parse(file, text ? text : "", len, path, today, error);
}

/* Of the built-in table alone: lists hold rows that are a thousand times too dear by mistake. */
static void find_dearest(AcrPrice *dearest)
{
    *dearest = (AcrPrice){.max_input = -1, .max_output = -1};
    for (guint i = 0; i < acr_price_rows_len; i++)
        acr_price_dearest_of(dearest, &acr_price_rows[i]);
}

AcrPrices *acr_prices_new(const char *path, GError **error)
{
    g_autoptr(AcrPrices) prices = g_new0(AcrPrices, 1);

    acr_price_file_init(&prices->file);
    if (path && !read_file(&prices->file, path, error))
        return NULL;
    find_dearest(&prices->dearest);
    return g_steal_pointer(&prices);
}

void acr_prices_free(AcrPrices *prices)
{
    if (!prices)
        return;
    acr_price_file_clear(&prices->file);
    g_free(prices);
}

const char *acr_prices_date(void)
{
    return acr_price_table_date;
}

void acr_prices_dearest(const AcrPrices *prices, AcrPrice *out)
{
    *out = prices->dearest;
}

/* ---- Finding ------------------------------------------------------------------------------------
 */

static bool find_in_family(const AcrPrices *prices, const char *family, const char *name,
                           AcrPrice *out)
{
    g_autoptr(GPtrArray) spellings = acr_price_spellings(family, name);
    const AcrPrice *price = NULL;

    if (acr_price_file_find(&prices->file, family, spellings, out))
        return true;
    price = table_find_any(family, spellings);
    if (price)
        *out = *price;
    return price != NULL;
}

/* OpenRouter passes on the prices of those who make a model and serve it alone, under names with
 * dots ("anthropic/claude-sonnet-4.5"). */
static bool find_routed(const AcrPrices *prices, const char *name, AcrPrice *out)
{
    static const char *const makers[][2] = {
        {"openai/", "openai"}, {"anthropic/", "anthropic"}, {"google/", "gemini"}};

    for (gsize i = 0; i < G_N_ELEMENTS(makers); i++) {
        g_autofree char *theirs = NULL;

        if (!g_str_has_prefix(name, makers[i][0]) || g_strrstr(name, "gpt-oss"))
            continue;
        theirs = g_strdup(name + strlen(makers[i][0]));
        if (strcmp(makers[i][1], "anthropic") == 0)
            g_strdelimit(theirs, ".", '-');
        return find_in_family(prices, makers[i][1], theirs, out);
    }
    return false;
}

bool acr_prices_find(const AcrPrices *prices, const char *model, AcrPrice *out)
{
    const char *slash = strchr(model, '/');
    g_autofree char *family = slash ? acr_price_family(model, (gsize)(slash - model)) : NULL;

    if (!slash || !slash[1])
        return false;
    return find_in_family(prices, family, slash + 1, out) ||
           (strcmp(family, "openrouter") == 0 && find_routed(prices, slash + 1, out));
}

/* ---- Names without provider ---------------------------------------------------------------------
 */

/* "o1", "o3-mini", "o4-mini-2025-04-16". */
static bool is_o_series(const char *name)
{
    return name[0] == 'o' && strchr("134", name[1]) && name[1] && (!name[2] || name[2] == '-');
}

/* Models whose weights are open: anybody serves them under that name. */
static bool is_open(const char *name)
{
    static const char *const beginnings[] = {"gpt-oss", "deepseek-r1", "deepseek-v3",
                                             "deepseek-coder"};

    for (gsize i = 0; i < G_N_ELEMENTS(beginnings); i++)
        if (g_str_has_prefix(name, beginnings[i]))
            return true;
    return false;
}

/* By a beginning that its owner alone uses. */
static const char *owner_by_beginning(const char *name)
{
    static const char *const owners[][2] = {
        {"gpt-", "openai"}, {"chatgpt-", "openai"},   {"ft:gpt-", "openai"},
        {"ft:o", "openai"}, {"claude-", "anthropic"}, {"gemini-", "gemini"},
    };

    if (is_o_series(name))
        return "openai";
    for (gsize i = 0; i < G_N_ELEMENTS(owners); i++)
        if (g_str_has_prefix(name, owners[i][0]))
            return owners[i][1];
    return NULL;
}

const char *acr_prices_provider_of(const char *bare_name)
{
    static const char *const sellers[] = {"deepseek", "bedrock", "anthropic",
                                          "gemini",   "openai",  "azure"};
    const char *found = NULL;

    if (strchr(bare_name, '/') || is_open(bare_name))
        return NULL;
    found = owner_by_beginning(bare_name);
    if (found)
        return found;
    for (gsize i = 0; i < G_N_ELEMENTS(sellers); i++) {
        g_autoptr(GPtrArray) spellings = acr_price_spellings(sellers[i], bare_name);
        if (!table_find_any(sellers[i], spellings))
            continue;
        if (found)
            return NULL;
        found = sellers[i];
    }
    return found;
}
