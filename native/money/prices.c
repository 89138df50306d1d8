/* Looks up the prices of models: first in the user's file, then in the built-in table, which has
 * the same format. A model in neither list has no price; prices are never guessed. */
#include "money/price_private.h"

#include <string.h>

struct AcrPrices {
    /* rows by model; `file` has the rows of the user's file, or is NULL */
    GHashTable *file, *table;
    char *date; /* owned; date of the built-in table */
    AcrPrice highest, lowest;
};

static GHashTable *read_prices_file(const char *path, GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, ACR_PRICES_MAX_BYTES, &failure);
    g_autoptr(GHashTable) rows = NULL;
    if (!bytes)
        return ACR_NULL(acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE,
                                      "cannot read prices: %s", failure->message));
    g_autoptr(AcrJson) json =
        acr_json_parse(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), &failure);
    rows = json ? acr_price_rows_read(json, &failure) : NULL;
    if (rows && g_hash_table_size(rows) > 0)
        return g_steal_pointer(&rows);
    return ACR_NULL(
        acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "prices '%s': %s", path,
                      failure ? failure->message : "the file contains no price for any model"));
}

/* Reads the built-in table. The row "sample_spec", which other readers skip, has its date. */
static bool read_table(AcrPrices *prices, GError **error)
{
    g_autoptr(AcrJson) json = acr_json_parse(acr_price_table, strlen(acr_price_table), error);
    prices->table = json ? acr_price_rows_read(json, error) : NULL;
    prices->date = g_strdup(acr_json_get_string(acr_json_get(json, "sample_spec"), "date"));
    return prices->table;
}

/* Finds the highest and lowest prices, only in the built-in table, because users' files may contain
 * prices that are a thousand times too high. */
static void find_extremes(AcrPrices *prices)
{
    GHashTableIter rows;
    gpointer price = NULL;
    prices->highest = (AcrPrice){.max_output = -1};
    prices->lowest = (AcrPrice){.base = {-1, -1, -1, -1, -1}, .max_output = -1};
    g_hash_table_iter_init(&rows, prices->table);
    while (g_hash_table_iter_next(&rows, NULL, &price)) {
        acr_price_raise_to(&prices->highest, price);
        acr_price_lower_to(&prices->lowest, price);
    }
}

AcrPrices *acr_prices_new(const char *path, GError **error)
{
    g_autoptr(AcrPrices) prices = g_new0(AcrPrices, 1);
    if (!read_table(prices, error) || (path && !(prices->file = read_prices_file(path, error))))
        return NULL;
    find_extremes(prices);
    return g_steal_pointer(&prices);
}

void acr_prices_free(AcrPrices *prices)
{
    if (!prices)
        return;
    g_clear_pointer(&prices->file, g_hash_table_unref);
    g_clear_pointer(&prices->table, g_hash_table_unref);
    ACR_FREE(prices->date, prices);
}

const char *acr_prices_date(const AcrPrices *prices)
{
    return prices->date;
}

void acr_prices_highest(const AcrPrices *prices, AcrPrice *out)
{
    *out = prices->highest;
}

void acr_prices_lowest(const AcrPrices *prices, AcrPrice *out)
{
    *out = prices->lowest;
}

/* Finds a model of a family under any spelling of the model's name. A row that the user added
 * without a provider (`bare`) applies to the model at every provider. */
static const AcrPrice *find_row(GHashTable *rows, const char *family, const GPtrArray *spellings,
                                bool bare)
{
    const AcrPrice *price = NULL;
    for (guint i = 0; rows && !price && i < spellings->len; i++) {
        g_autofree char *name = g_strdup_printf("%s/%s", family, (char *)spellings->pdata[i]);
        price = g_hash_table_lookup(rows, name);
        if (!price && bare)
            price = g_hash_table_lookup(rows, spellings->pdata[i]);
    }
    return price;
}

static bool find_in_family(const AcrPrices *prices, const char *family, const char *name,
                           AcrPrice *out)
{
    g_autoptr(GPtrArray) spellings = acr_price_spellings(family, name);
    const AcrPrice *price = find_row(prices->file, family, spellings, true);
    if (!price)
        price = find_row(prices->table, family, spellings, false);
    if (price)
        *out = *price;
    return price;
}

/* Finds a model that is called through OpenRouter. If only its maker serves a model, OpenRouter
 * charges the maker's price, and spells the name with dots ("anthropic/claude-sonnet-4.5"). */
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

const char *acr_prices_nearest(const AcrPrices *prices, const char *model)
{
    guint n;
    g_autofree const char **names =
        (const char **)g_hash_table_get_keys_as_array(prices->table, &n);
    qsort(names, n, sizeof *names, acr_compare_names);
    return acr_nearest_name(model, names);
}

/* Whether the weights of the model are public, so that anybody may serve it. */
static bool is_open(const char *name)
{
    static const char *const beginnings[] = {"gpt-oss", "deepseek-r1", "deepseek-v3",
                                             "deepseek-coder"};
    for (gsize i = 0; i < G_N_ELEMENTS(beginnings); i++)
        if (g_str_has_prefix(name, beginnings[i]))
            return true;
    return false;
}

/* Returns the provider to which a well-known prefix of the name belongs; NULL if there is none. */
static const char *owner_by_beginning(const char *name)
{
    static const char *const owners[][2] = {
        {"gpt-", "openai"}, {"chatgpt-", "openai"},   {"ft:gpt-", "openai"},
        {"ft:o", "openai"}, {"o1", "openai"},         {"o3", "openai"},
        {"o4", "openai"},   {"claude-", "anthropic"}, {"gemini-", "gemini"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(owners); i++)
        if (g_str_has_prefix(name, owners[i][0]))
            return owners[i][1];
    return NULL;
}

const char *acr_prices_provider_of(const char *bare_name)
{
    static const char *const sellers[] = {"deepseek", "bedrock", "anthropic",
                                          "gemini",   "openai",  "azure"};
    const char *found = owner_by_beginning(bare_name);
    g_autoptr(AcrPrices) prices = NULL;
    if (strchr(bare_name, '/') || is_open(bare_name))
        return NULL;
    if (found)
        return found;
    prices = acr_prices_new(NULL, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(sellers); i++) {
        g_autoptr(GPtrArray) spellings = acr_price_spellings(sellers[i], bare_name);
        if (!prices || !find_row(prices->table, sellers[i], spellings, false))
            continue;
        if (found)
            return NULL;
        found = sellers[i];
    }
    return found;
}
