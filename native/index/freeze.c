/*
 * Freezes the symbols that were collected file by file: sorts them into a table for each kind and
 * the files into a table of module names. From then on the index is immutable.
 */
#include "index/index_private.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(gconstpointer a, gconstpointer b, gpointer user_data)
{
    const AcrSymbol *symbols = user_data;
    guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;
    int order = strcmp(symbols[left].name, symbols[right].name);
    return order ? order : (left > right) - (left < right);
}

static void make_table(AcrIndex *index, AcrSymbolKind kind)
{
    const AcrSymbol *symbols = (const AcrSymbol *)index->symbols->data;
    AcrNameTable *table = &index->tables[kind];

    for (guint i = 0; i < index->symbols->len; i++)
        table->n_ids += symbols[i].kind == kind;
    table->ids = g_new(guint32, table->n_ids + 1);
    table->names = g_new(const char *, table->n_ids + 1);
    table->starts = g_new(guint32, table->n_ids + 1);
    for (guint32 i = 0, n = 0; i < index->symbols->len; i++)
        if (symbols[i].kind == kind)
            table->ids[n++] = i;
    qsort_r(table->ids, table->n_ids, sizeof(guint32), compare_names, (gpointer)symbols);
    for (guint32 i = 0; i < table->n_ids; i++) {
        const char *name = symbols[table->ids[i]].name;
        if (table->n_names > 0 && strcmp(table->names[table->n_names - 1], name) == 0)
            continue;
        table->starts[table->n_names] = i;
        table->names[table->n_names++] = name;
    }
    table->starts[table->n_names] = (guint32)table->n_ids;
    table->names[table->n_names] = NULL;
}

static int compare_stems(gconstpointer a, gconstpointer b)
{
    const AcrStem *left = a, *right = b;
    int order = memcmp(left->stem, right->stem, MIN(left->stem_len, right->stem_len));
    if (order)
        return order;
    if (left->stem_len != right->stem_len)
        return left->stem_len < right->stem_len ? -1 : 1;
    return (left->file > right->file) - (left->file < right->file);
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
    for (guint kind = 0; kind < ACR_SYMBOL_KINDS; kind++)
        make_table(index, (AcrSymbolKind)kind);
    for (guint32 i = 0; i < index->files->len; i++) {
        AcrStem stem = {.file = i};
        if (stem_of(g_array_index(index->files, AcrIndexFile, i).path, &stem))
            g_array_append_val(index->stems, stem);
    }
    g_array_sort(index->stems, compare_stems);
}
