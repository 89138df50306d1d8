/* Freezes an index after all files are added; from then on it does not change. Files are sorted
 * into a table of module names. The symbols of a kind are sorted into a table when it is first
 * needed. */
#include "index/index_private.h"

#include <string.h>

/* number of names between the current name and the prefetched name */
#define AHEAD 16u

typedef struct {
    const char *name;
    guint32 number; /* number of the name, in the order of the first occurrences */
    guint32 n_ids;
} Key;

static int compare_keys(gconstpointer a, gconstpointer b)
{
    return strcmp(((const Key *)a)->name, ((const Key *)b)->name);
}

/* Returns the name of symbol `i` of a table; prefetches names that will be read soon. */
static const char *name_at(const AcrSymbol *symbols, const AcrNameTable *table, guint32 i)
{
    const guint32 *ids = table->ids, last = table->n_ids - 1;
    __builtin_prefetch(&symbols[ids[MIN(i + 2 * AHEAD, last)]].name);
    __builtin_prefetch(symbols[ids[MIN(i + AHEAD, last)]].name);
    return symbols[ids[i]].name;
}

/* Returns the distinct names of a table's symbols in order of arrival (owned array of Key), and
 * sets numbers[i] to the number of the name of symbol i. The names are copied to one place first,
 * because each scattered name costs a cache miss. */
static GArray *number_names(AcrIndex *index, const AcrNameTable *table, guint32 *numbers)
{
    const AcrSymbol *symbols = (const AcrSymbol *)index->symbols->data;
    GArray *keys = g_array_new(FALSE, FALSE, sizeof(Key));
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint32 i = 0; i < table->n_ids; i++) {
        const char *name = name_at(symbols, table, i);
        guint found = GPOINTER_TO_UINT(g_hash_table_lookup(known, name));
        if (!found) {
            name = g_string_chunk_insert(index->strings, name);
            Key key = {.name = name, .number = keys->len};
            g_array_append_val(keys, key);
            found = keys->len;
            g_hash_table_insert(known, (void *)name, GUINT_TO_POINTER(found));
        }
        numbers[i] = found - 1;
        g_array_index(keys, Key, found - 1).n_ids++;
    }
    return keys;
}

static void make_table(AcrIndex *index, AcrNameTable *table)
{
    g_autofree guint32 *numbers = g_new(guint32, table->n_ids + 1);
    g_autofree guint32 *unsorted = g_memdup2(table->ids, table->n_ids * sizeof(guint32));
    g_autoptr(GArray) keys = number_names(index, table, numbers);
    /* next[n] is the position of the next id of name number n */
    g_autofree guint32 *next = g_new(guint32, keys->len + 1);
    guint32 n = 0;

    table->n_names = keys->len;
    table->names = g_new(const char *, table->n_names + 1);
    table->starts = g_new(guint32, table->n_names + 1);
    g_array_sort(keys, compare_keys);
    for (guint i = 0; i < keys->len; i++) {
        const Key *key = &g_array_index(keys, Key, i);
        table->names[i] = key->name;
        table->starts[i] = next[key->number] = n;
        n += key->n_ids;
    }
    table->names[table->n_names] = NULL;
    table->starts[table->n_names] = n;
    for (guint32 i = 0; i < table->n_ids; i++)
        table->ids[next[numbers[i]]++] = unsorted[i];
}

bool acr_index_scan(const AcrIndex *index, AcrSymbolKind kind, const char *name,
                    const guint32 **out_ids, gsize *out_n)
{
    const AcrSymbol *symbols = (const AcrSymbol *)index->symbols->data;
    AcrIndex *frozen = (AcrIndex *)index;
    AcrNameTable *table = &frozen->tables[kind];
    if (__atomic_load_n(&table->made, __ATOMIC_ACQUIRE))
        return false;
    pthread_mutex_lock(&frozen->making);
    bool scans = !table->made && table->n_scans < ACR_INDEX_MAX_SCANS;
    if (scans) {
        GArray *found = table->scans[table->n_scans++] = g_array_new(FALSE, FALSE, sizeof(guint32));
        for (guint32 i = 0; i < table->n_ids; i++)
            if (strcmp(name_at(symbols, table, i), name) == 0)
                g_array_append_val(found, table->ids[i]);
        *out_ids = found->len ? (const guint32 *)(void *)found->data : NULL;
        *out_n = found->len;
    }
    pthread_mutex_unlock(&frozen->making);
    return scans;
}

const AcrNameTable *acr_index_table(const AcrIndex *index, AcrSymbolKind kind)
{
    /* the index is const for callers, because a table made later does not change answers */
    AcrIndex *frozen = (AcrIndex *)index;
    AcrNameTable *table = &frozen->tables[kind];
    if (__atomic_load_n(&table->made, __ATOMIC_ACQUIRE))
        return table;
    pthread_mutex_lock(&frozen->making);
    if (!table->made) {
        make_table(frozen, table);
        __atomic_store_n(&table->made, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&frozen->making);
    return table;
}

static int compare_stems(gconstpointer a, gconstpointer b)
{
    const AcrStem *left = a, *right = b;
    int order = memcmp(left->stem, right->stem, MIN(left->stem_len, right->stem_len));
    order = order ? order : acr_order(left->stem_len, right->stem_len);
    return order ? order : acr_order(left->file, right->file);
}

/* Finds the last part of the module name of a path. Returns false for __init__.py at the root,
 * which has no module name. */
static bool stem_of(const char *path, AcrStem *out)
{
    const char *end = path + strlen(path) - strlen(".py");
    const char *slash = g_strrstr_len(path, end - path, "/");
    const char *start = slash ? slash + 1 : path;
    if (strcmp(start, "__init__.py") == 0) {
        if (!slash)
            return false;
        end = slash;
        slash = g_strrstr_len(path, end - path, "/");
        start = slash ? slash + 1 : path;
    }
    out->stem = start;
    out->stem_len = (gsize)(end - start);
    return true;
}

/* Groups the ids by kind, and converts `bases` of each class from a position in the index's array
 * of base names to a pointer. */
static void sort_by_kind(AcrIndex *index)
{
    AcrSymbol *symbols = (AcrSymbol *)index->symbols->data;
    guint32 n = index->symbols->len, *next = index->by_kind = g_new(guint32, n + 1);
    for (guint32 i = 0; i < n; i++)
        index->tables[symbols[i].kind].n_ids++;
    /* the array must have memory even if it is empty */
    g_ptr_array_add(index->bases, NULL);
    for (guint kind = 0; kind < ACR_SYMBOL_KINDS; kind++) {
        index->tables[kind].ids = next;
        next += index->tables[kind].n_ids;
        index->tables[kind].n_ids = 0;
    }
    for (guint32 i = 0; i < n; i++) {
        AcrNameTable *table = &index->tables[symbols[i].kind];
        table->ids[table->n_ids++] = i;
        if (symbols[i].kind == ACR_SYMBOL_CLASS)
            symbols[i].bases =
                (const char *const *)index->bases->pdata + GPOINTER_TO_SIZE(symbols[i].bases);
    }
}

void acr_index_freeze(AcrIndex *index)
{
    sort_by_kind(index);
    for (guint32 i = 0; i < index->files->len; i++) {
        AcrStem stem = {.file = i};
        if (stem_of(g_array_index(index->files, AcrIndexFile, i).path, &stem))
            g_array_append_val(index->stems, stem);
    }
    g_array_sort(index->stems, compare_stems);
}
