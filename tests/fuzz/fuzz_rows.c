/* Fuzzes the decoder of outline rows and all lookups: rows of any kind, with or without words after
 * them, must cause no crash and no endless loop, and accepted rows must satisfy the index's
 * invariants. */
#include "index/index_private.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_symbol(const AcrIndex *index, guint32 id)
{
    const AcrSymbol *symbol = acr_index_symbol(index, id);
    gsize n;
    const guint32 *ids = acr_index_lookup(index, symbol->kind, symbol->name, &n);
    bool found = false;
    for (gsize i = 0; i < n; i++)
        found |= ids[i] == id;
    g_assert_true(found);
    g_assert_cmpint(symbol->parent, <, (gint64)id);
    g_assert_true(1 <= symbol->first && symbol->first <= symbol->def && symbol->def <= symbol->sig_last &&
                  symbol->sig_last <= symbol->last);
    (void)acr_index_class_of(index, id);
    (void)acr_index_func_of(index, id);
    gint32 klass, func;
    acr_index_enclosing(index, 0, symbol->last, &klass, &func);
    g_autoptr(GArray) named = acr_index_resolve_class(index, symbol->qualname);
    if (symbol->kind != ACR_SYMBOL_CLASS)
        return;
    g_autoptr(GArray) members = acr_index_members(index, id);
    g_autoptr(GArray) ancestors = acr_index_ancestors(index, id);
    g_assert_cmpuint(ancestors->len, <=, ACR_INDEX_MAX_ANCESTORS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(AcrIndex) index = acr_index_new_empty(NULL);
    g_autoptr(GError) error = NULL;
    const char *unparsed = NULL;
    AcrIndexFile file = {.path = "a/b.py"};
    char *rows = g_memdup2(data, size);
    gsize len = acr_index_words_split(rows, size, &file);
    bool ok = acr_index_add_rows(index, 0, rows, len, &unparsed, &error);
    file.n_words = ok ? file.n_words : 0;
    g_assert_true(ok == (error == NULL));
    g_assert_true(ok || index->symbols->len == 0);
    file.n_symbols = index->symbols->len;
    g_array_append_val(index->files, file);
    acr_index_freeze(index);
    g_autoptr(GArray) found = acr_index_files_with(index, "a b", true);
    g_assert_cmpuint(found->len, <=, 1);
    for (guint32 id = 0; id < index->symbols->len && id < 200; id++)
        check_symbol(index, id);
    return 0;
}
