/* Answers from a built index by name, file and line, by binary searches in flat sorted arrays.
 * Tables are made on demand under a lock, so several threads may read. */
#include "index/index_private.h"

#include <stdlib.h>
#include <string.h>

#define MAX_UNIQUE 1000u /* maximum number of ids in a list */

void acr_index_stats(const AcrIndex *index, AcrIndexStats *out)
{
    *out = index->stats;
}

AcrSnapshot *acr_index_snapshot(const AcrIndex *index)
{
    return index->snapshot;
}

gsize acr_index_n_files(const AcrIndex *index)
{
    return index->files->len;
}

const AcrIndexFile *acr_index_file(const AcrIndex *index, gsize n)
{
    g_assert(n < index->files->len);
    return &g_array_index(index->files, AcrIndexFile, n);
}

static int compare_path(const void *path, const void *file)
{
    return strcmp(path, ((const AcrIndexFile *)file)->path);
}

gssize acr_index_find_file(const AcrIndex *index, const char *path)
{
    const AcrIndexFile *all = (const AcrIndexFile *)(void *)index->files->data;
    gsize n = index->files->len;
    const AcrIndexFile *found = n ? bsearch(path, all, n, sizeof *all, compare_path) : NULL;
    return found ? found - all : -1;
}

const AcrSymbol *acr_index_symbol(const AcrIndex *index, guint32 id)
{
    g_assert(id < index->symbols->len);
    return &g_array_index(index->symbols, AcrSymbol, id);
}

static int compare_name(const void *name, const void *in_table)
{
    return strcmp(name, *(const char *const *)in_table);
}

const guint32 *acr_index_lookup(const AcrIndex *index, AcrSymbolKind kind, const char *name,
                                gsize *out_n)
{
    const guint32 *ids;
    if (acr_index_scan(index, kind, name, &ids, out_n))
        return ids;
    const AcrNameTable *table = acr_index_table(index, kind);
    gsize n = table->n_names;
    const char **found =
        n ? bsearch(name, table->names, n, sizeof *table->names, compare_name) : NULL;
    gsize at = found ? (gsize)(found - table->names) : 0;
    *out_n = found ? table->starts[at + 1] - table->starts[at] : 0;
    return found ? table->ids + table->starts[at] : NULL;
}

static gsize count_below(const guint32 *ids, gsize n, guint32 limit)
{
    gsize low = 0, high = n;
    while (low < high) {
        gsize middle = low + (high - low) / 2;
        if (ids[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const guint32 *acr_index_lookup_in_file(const AcrIndex *index, AcrSymbolKind kind, const char *name,
                                        gsize file, gsize *out_n)
{
    gsize n;
    const AcrIndexFile *in = acr_index_file(index, file);
    const guint32 *ids = acr_index_lookup(index, kind, name, &n);
    gsize from = count_below(ids, n, in->first_symbol);
    *out_n = count_below(ids, n, in->first_symbol + in->n_symbols) - from;
    return *out_n ? ids + from : NULL;
}

const char *const *acr_index_names(const AcrIndex *index, AcrSymbolKind kind, gsize *out_n)
{
    const AcrNameTable *table = acr_index_table(index, kind);
    *out_n = table->n_names;
    return table->names;
}

static bool is_def(const AcrSymbol *symbol)
{
    return symbol->kind == ACR_SYMBOL_FUNCTION || symbol->kind == ACR_SYMBOL_METHOD;
}

/* Returns the symbol itself if it is a class, otherwise the nearest class that contains the symbol;
 * -1 if there is none. */
static gint32 class_above(const AcrIndex *index, gint32 id)
{
    while (id >= 0 && acr_index_symbol(index, (guint32)id)->kind != ACR_SYMBOL_CLASS)
        id = acr_index_symbol(index, (guint32)id)->parent;
    return id;
}

static gint32 func_above(const AcrIndex *index, gint32 id)
{
    while (id >= 0 && !is_def(acr_index_symbol(index, (guint32)id)))
        id = acr_index_symbol(index, (guint32)id)->parent;
    return id;
}

/* Returns the last symbol of the file that begins at or before the line; -1 if there is none. */
static gint32 last_begun(const AcrIndex *index, const AcrIndexFile *file, guint32 line)
{
    guint32 low = file->first_symbol, high = file->first_symbol + file->n_symbols;
    while (low < high) {
        guint32 middle = low + (high - low) / 2;
        if (acr_index_symbol(index, middle)->first <= line)
            low = middle + 1;
        else
            high = middle;
    }
    return low == file->first_symbol ? -1 : (gint32)low - 1;
}

void acr_index_enclosing(const AcrIndex *index, gsize file, guint32 line, gint32 *out_class,
                         gint32 *out_func)
{
    gint32 id = last_begun(index, acr_index_file(index, file), line);
    for (; id >= 0; id = acr_index_symbol(index, (guint32)id)->parent) {
        const AcrSymbol *symbol = acr_index_symbol(index, (guint32)id);
        if (symbol->last >= line && (is_def(symbol) || symbol->kind == ACR_SYMBOL_CLASS))
            break;
    }
    *out_func = func_above(index, id);
    *out_class = class_above(index, *out_func >= 0 ? *out_func : id);
}

const char *acr_index_class_of(const AcrIndex *index, guint32 id)
{
    gint32 found = class_above(index, (gint32)id);
    return found < 0 ? NULL : acr_index_symbol(index, (guint32)found)->qualname;
}

const char *acr_index_func_of(const AcrIndex *index, guint32 id)
{
    gint32 found = func_above(index, (gint32)id);
    return found < 0 ? NULL : acr_index_symbol(index, (guint32)found)->name;
}

static GArray *children(const AcrIndex *index, guint32 class_id, const char *name)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(guint32));
    const AcrSymbol *klass = acr_index_symbol(index, class_id);
    const AcrIndexFile *file = acr_index_file(index, klass->file);
    for (guint32 id = class_id + 1; id < file->first_symbol + file->n_symbols; id++) {
        const AcrSymbol *symbol = acr_index_symbol(index, id);
        if (symbol->first > klass->last)
            break;
        if (symbol->parent != (gint32)class_id || symbol->kind == ACR_SYMBOL_IMPORT)
            continue;
        if (!name || (symbol->kind == ACR_SYMBOL_METHOD && strcmp(symbol->name, name) == 0))
            g_array_append_val(found, id);
    }
    return found;
}

GArray *acr_index_members(const AcrIndex *index, guint32 class_id)
{
    return children(index, class_id, NULL);
}

GArray *acr_index_methods(const AcrIndex *index, guint32 class_id, const char *name)
{
    return children(index, class_id, name);
}

void acr_index_add_unique(GArray *ids, guint32 id)
{
    for (guint i = 0; i < ids->len; i++)
        if (g_array_index(ids, guint32, i) == id)
            return;
    if (ids->len < MAX_UNIQUE)
        g_array_append_val(ids, id);
}
