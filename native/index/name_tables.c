/*
 * Freezes the symbols that were collected file by file. From then on the index is immutable: files
 * are sorted into a table of module names, symbols into a table for each kind when it is first
 * asked for.
 */
#include "index/index_private.h"

#include <stdlib.h>
#include <string.h>

/* A symbol with the beginning of its name, by which most are put in order. */
typedef struct {
    guint64 prefix; /* the first eight bytes, the first one highest */
    guint32 id;
} Key;

static guint64 prefix_of(const char *name)
{
    guint64 prefix = 0;
    for (int i = 0; i < 8; i++) {
        prefix = prefix << 8 | (guchar)*name;
        name += *name != 0;
    }
    return prefix;
}

static int compare_keys(gconstpointer a, gconstpointer b, gpointer user_data)
{
    const AcrSymbol *symbols = user_data;
    const Key *left = a, *right = b;
    if (left->prefix != right->prefix)
        return left->prefix < right->prefix ? -1 : 1;
    bool is_whole = (left->prefix & 0xff) == 0; /* the names end within the prefix */
    int order = is_whole ? 0 : strcmp(symbols[left->id].name, symbols[right->id].name);
    return order ? order : (left->id > right->id) - (left->id < right->id);
}

static Key *sorted_keys(const AcrIndex *index, AcrSymbolKind kind, gsize *out_n)
{
    const AcrSymbol *symbols = (const AcrSymbol *)index->symbols->data;
    gsize n = 0;
    Key *keys = g_new(Key, index->symbols->len + 1);
    for (guint32 i = 0; i < index->symbols->len; i++)
        if (symbols[i].kind == kind)
            keys[n++] = (Key){prefix_of(symbols[i].name), i};
    *out_n = n;
    qsort_r(keys, n, sizeof *keys, compare_keys, (gpointer)symbols);
    return keys;
}

static void make_table(const AcrIndex *index, AcrSymbolKind kind, AcrNameTable *table)
{
    const AcrSymbol *symbols = (const AcrSymbol *)index->symbols->data;
    g_autofree Key *keys = sorted_keys(index, kind, &table->n_ids);

    table->ids = g_new(guint32, table->n_ids + 1);
    table->names = g_new(const char *, table->n_ids + 1);
    table->starts = g_new(guint32, table->n_ids + 1);
    for (guint32 i = 0; i < table->n_ids; i++) {
        const char *name = symbols[keys[i].id].name;
        table->ids[i] = keys[i].id;
        if (table->n_names > 0 && keys[i].prefix == keys[i - 1].prefix &&
            strcmp(table->names[table->n_names - 1], name) == 0)
            continue;
        table->starts[table->n_names] = i;
        table->names[table->n_names++] = name;
    }
    table->starts[table->n_names] = (guint32)table->n_ids;
    table->names[table->n_names] = NULL;
}

const AcrNameTable *acr_index_table(const AcrIndex *index, AcrSymbolKind kind)
{
    AcrIndex *frozen = (AcrIndex *)index; /* what is made late changes no answer */
    AcrNameTable *table = &frozen->tables[kind];
    if (__atomic_load_n(&table->made, __ATOMIC_ACQUIRE))
        return table;
    pthread_mutex_lock(&frozen->making);
    if (!table->made) {
        make_table(index, kind, table);
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

/* The part of a path that a module name ends with; a file at the root named __init__.py has none.
 */
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

void acr_index_freeze(AcrIndex *index)
{
    AcrSymbol *symbols = (AcrSymbol *)index->symbols->data;
    g_ptr_array_add(index->bases, NULL); /* so that the pool is there even when empty */
    for (guint i = 0; i < index->symbols->len; i++)
        if (symbols[i].kind == ACR_SYMBOL_CLASS)
            symbols[i].bases =
                (const char *const *)index->bases->pdata + GPOINTER_TO_SIZE(symbols[i].bases);
    for (guint32 i = 0; i < index->files->len; i++) {
        AcrStem stem = {.file = i};
        if (stem_of(g_array_index(index->files, AcrIndexFile, i).path, &stem))
            g_array_append_val(index->stems, stem);
    }
    g_array_sort(index->stems, compare_stems);
}
