/*
 * Builds an index: goes through the snapshot's .py files, has each outlined, collects the symbols,
 * then sorts them into the tables. A file that fails costs that file only; that many in a row fail
 * means that the outliner itself is gone.
 */
#include "index/index_private.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FAILURES_IN_A_ROW 50u

G_DEFINE_QUARK(acr - index - error - quark, acr_index_error)

static bool part_is_test(const char *part, gsize len)
{
    return (len == 4 && memcmp(part, "test", 4) == 0) ||
           (len == 5 && memcmp(part, "tests", 5) == 0);
}

bool acr_index_is_test_path(const char *path)
{
    const char *part = path;
    for (const char *slash; (slash = strchr(part, '/')) != NULL; part = slash + 1)
        if (part_is_test(part, (gsize)(slash - part)))
            return true;
    if (part_is_test(part, strlen(part)) || strcmp(part, "conftest.py") == 0)
        return true;
    return g_str_has_suffix(part, ".py") &&
           (g_str_has_prefix(part, "test_") || g_str_has_suffix(part, "_test.py"));
}

AcrIndex *acr_index_new_empty(AcrSnapshot *snapshot)
{
    AcrIndex *index = g_new0(AcrIndex, 1);
    index->refs = 1;
    index->snapshot = snapshot ? acr_snapshot_ref(snapshot) : NULL;
    index->strings = g_string_chunk_new(64 * 1024);
    index->symbols = g_array_new(FALSE, FALSE, sizeof(AcrSymbol));
    index->bases = g_ptr_array_new();
    index->files = g_array_new(FALSE, FALSE, sizeof(AcrIndexFile));
    index->stems = g_array_new(FALSE, FALSE, sizeof(AcrStem));
    return index;
}

AcrIndex *acr_index_ref(AcrIndex *index)
{
    g_atomic_int_inc(&index->refs);
    return index;
}

void acr_index_unref(AcrIndex *index)
{
    if (!index || !g_atomic_int_dec_and_test(&index->refs))
        return;
    for (guint kind = 0; kind < ACR_SYMBOL_KINDS; kind++) {
        g_free(index->tables[kind].ids);
        g_free(index->tables[kind].names);
        g_free(index->tables[kind].starts);
    }
    g_array_unref(index->stems);
    g_array_unref(index->files);
    g_ptr_array_unref(index->bases);
    g_array_unref(index->symbols);
    g_string_chunk_free(index->strings);
    acr_snapshot_unref(index->snapshot);
    g_free(index);
}

/* ---- Freezing -----------------------------------------------------------------------------------
 */

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

/* ---- Outlining ----------------------------------------------------------------------------------
 */

/* Reads and outlines one file into `index`. Returns why it has no symbols, or NULL; owned by the
 * index. */
static const char *add_file(AcrIndex *index, const AcrOutliner *outliner, const AcrIndexFile *file,
                            bool *out_failed, GError **error)
{
    g_autoptr(GError) why = NULL;
    const char *unparsed = NULL;
    g_autoptr(GBytes) rows = NULL;
    g_autoptr(GBytes) source = acr_snapshot_read(index->snapshot, file->entry, &why);

    *out_failed = false;
    if (!source)
        return g_string_chunk_insert(index->strings, why->message);
    if (g_bytes_get_size(source) > ACR_INDEX_MAX_SOURCE_BYTES)
        return g_string_chunk_insert(index->strings, "larger than 32 MiB");
    if (!outliner->outline(outliner->ctx, file->path, source, &rows, &why)) {
        unparsed = g_string_chunk_insert(index->strings, why->message);
        *out_failed = true;
        g_propagate_error(error, g_steal_pointer(&why));
        return unparsed;
    }
    gsize len;
    const char *data = g_bytes_get_data(rows, &len);
    if (!acr_index_add_rows(index, index->files->len, data, len, &unparsed, &why))
        return g_string_chunk_insert(index->strings, why->message);
    return unparsed;
}

static bool outline_all(AcrIndex *index, const AcrOutliner *outliner, const AcrInterrupt *interrupt,
                        GError **error)
{
    guint failures = 0;
    for (gsize i = 0; i < acr_snapshot_size(index->snapshot); i++) {
        const AcrEntry *entry = acr_snapshot_entry(index->snapshot, i);
        if (entry->mode == ACR_MODE_LINK || !g_str_has_suffix(entry->path, ".py") ||
            acr_index_is_test_path(entry->path))
            continue;
        if (acr_interrupted(interrupt)) {
            g_set_error_literal(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_INTERRUPTED,
                                "interrupted while indexing");
            return false;
        }
        g_autoptr(GError) why = NULL;
        bool failed;
        AcrIndexFile file = {.path = entry->path, .entry = i, .first_symbol = index->symbols->len};
        file.unparsed = add_file(index, outliner, &file, &failed, &why);
        file.n_symbols = index->symbols->len - file.first_symbol;
        index->stats.unparsed += file.unparsed != NULL;
        g_array_append_val(index->files, file);
        failures = failed ? failures + 1 : 0;
        if (failures == MAX_FAILURES_IN_A_ROW) {
            g_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED,
                        "cannot outline any more files: %s", why->message);
            return false;
        }
    }
    return true;
}

AcrIndex *acr_index_build(AcrSnapshot *snapshot, const AcrOutliner *outliner,
                          const AcrInterrupt *interrupt, GError **error)
{
    g_autoptr(AcrIndex) index = acr_index_new_empty(snapshot);
    gint64 start = g_get_monotonic_time();
    if (!outline_all(index, outliner, interrupt, error))
        return NULL;
    gint64 outlined = g_get_monotonic_time();
    acr_index_freeze(index);
    index->stats.files = index->files->len;
    index->stats.symbols = index->symbols->len;
    index->stats.outline_ms = (outlined - start) / 1000;
    index->stats.build_ms = (g_get_monotonic_time() - outlined) / 1000;
    return g_steal_pointer(&index);
}
