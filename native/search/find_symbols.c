/* Finds symbols by the names that models use: bare names, names qualified by class or module,
 * aliases, names of inherited members, and names in another case. Results are sorted arrays of
 * symbol ids. */
#include <string.h>

#include "search/search_private.h"

#define MAX_FOUND 200000u /* maximum number of symbols that are collected for one name */

static GArray *ids_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(guint32));
}

static int compare_ids(const void *left, const void *right)
{
    guint32 a = *(const guint32 *)left, b = *(const guint32 *)right;
    return acr_order(a, b);
}

void acr_find_unique(GArray *ids)
{
    g_array_sort(ids, compare_ids);
    guint kept = 0;
    for (guint i = 0; i < ids->len; i++) {
        guint32 id = g_array_index(ids, guint32, i);
        if (kept && g_array_index(ids, guint32, kept - 1) == id)
            continue;
        g_array_index(ids, guint32, kept) = id;
        kept++;
    }
    g_array_set_size(ids, kept);
}

static void append_all(GArray *to, const GArray *from)
{
    if (from->len && to->len < MAX_FOUND)
        g_array_append_vals(to, from->data, from->len);
}

static void append_named(GArray *to, const AcrIndex *index, AcrSymbolKind kind, const char *name)
{
    gsize n = 0;
    const guint32 *ids = acr_index_lookup(index, kind, name, &n);
    if (n && to->len < MAX_FOUND)
        g_array_append_vals(to, ids, (guint)MIN(n, MAX_FOUND));
}

static void append_folded(GArray *to, const AcrIndex *index, AcrSymbolKind kind, const char *name)
{
    gsize n = 0;
    const char *const *names = acr_index_names(index, kind, &n);
    for (gsize i = 0; i < n; i++)
        if (g_ascii_strcasecmp(names[i], name) == 0)
            append_named(to, index, kind, names[i]);
}

static GArray *find_named(const AcrIndex *index, guint kinds, const char *name, bool any_case)
{
    GArray *ids = ids_new();
    for (guint kind = 0; kind < ACR_SYMBOL_KINDS; kind++)
        if (kinds & ACR_KIND(kind))
            (any_case ? append_folded : append_named)(ids, index, (AcrSymbolKind)kind, name);
    acr_find_unique(ids);
    return ids;
}

GArray *acr_find_named(const AcrIndex *index, guint kinds, const char *name)
{
    return find_named(index, kinds, name, false);
}

GArray *acr_find_named_folded(const AcrIndex *index, guint kinds, const char *name)
{
    return find_named(index, kinds, name, true);
}

GArray *acr_find_definitions(const AcrIndex *index, const char *word)
{
    GArray *ids = acr_find_named(index, ACR_DEFINITIONS, word);
    if (ids->len)
        return ids;
    g_array_unref(ids);
    return acr_find_named(index, ACR_KIND(ACR_SYMBOL_ASSIGN), word);
}

GArray *acr_find_in_files(const AcrSearch *search, const GArray *ids, const AcrFileMatch *files)
{
    GArray *kept = ids_new();
    for (guint i = 0; i < ids->len; i++) {
        guint32 id = g_array_index(ids, guint32, i);
        if (acr_file_match_has(files, acr_search_entry_of(search, id)))
            g_array_append_val(kept, id);
    }
    return kept;
}

/* Adds a note if an alias or a renaming import led to a class with another name. */
static void note_renamed(GString *notes, const AcrIndex *index, const AcrNameArg *arg,
                         const GArray *classes)
{
    if (!notes || classes->len == 0)
        return;
    const AcrSymbol *klass = acr_index_symbol(index, g_array_index(classes, guint32, 0));
    if (strcmp(klass->name, arg->last) == 0)
        return;
    g_string_append_printf(notes, "%s is an alias of class %s.\n", arg->text, klass->qualname);
}

GArray *acr_find_classes(const AcrIndex *index, const AcrNameArg *arg, GString *notes)
{
    GArray *ids = acr_index_resolve_class(index, arg->text);
    if (ids->len == 0 && arg->qualifier && !arg->is_whole) {
        g_array_unref(ids);
        ids = acr_index_resolve_class(index, arg->last);
        if (ids->len && notes)
            g_string_append_printf(notes, "There is no %s here; %s is shown instead.\n", arg->text,
                                   arg->last);
    }
    acr_find_unique(ids);
    note_renamed(notes, index, arg, ids);
    return ids;
}

static bool qualname_fits(const char *qualname, const char *dotted)
{
    gsize n = strlen(qualname), m = strlen(dotted);
    return m <= n && strcmp(qualname + n - m, dotted) == 0 &&
           (m == n || qualname[n - m - 1] == '.');
}

/* Returns those of `ids` whose qualified name ends in `dotted`, or if `dotted` is NULL, the
 * top-level symbols of the module `module`. */
static GArray *narrow_symbols(const AcrIndex *index, const GArray *ids, const char *dotted,
                              const char *module)
{
    GArray *kept = ids_new();
    for (guint i = 0; i < ids->len; i++) {
        guint32 id = g_array_index(ids, guint32, i);
        const AcrSymbol *symbol = acr_index_symbol(index, id);
        const char *path = acr_index_file(index, symbol->file)->path;
        bool fits = dotted ? qualname_fits(symbol->qualname, dotted)
                           : symbol->parent < 0 && acr_search_is_module(path, module);
        if (fits)
            g_array_append_val(kept, id);
    }
    return kept;
}

void acr_find_keep_owners(GArray *classes, const char *name, GString *notes)
{
    if (classes->len <= ACR_SEARCH_MAX_OWNERS)
        return;
    if (notes)
        g_string_append_printf(
            notes, "%u classes are named %s; only the first %u of them were searched.\n",
            classes->len, name, ACR_SEARCH_MAX_OWNERS);
    g_array_set_size(classes, ACR_SEARCH_MAX_OWNERS);
}

/* Returns the members called `name`, also inherited ones, of every class that `owner` names. */
static GArray *members_of_named(const AcrIndex *index, const char *owner, const char *name,
                                GString *notes)
{
    GArray *found = ids_new();
    g_autoptr(GArray) classes = acr_index_resolve_class(index, owner);
    acr_find_keep_owners(classes, owner, notes);
    for (guint i = 0; i < classes->len; i++) {
        guint32 id = g_array_index(classes, guint32, i), where = id;
        g_autoptr(GArray) members = acr_find_members(index, id, name, &where);
        if (members->len && where != id && notes)
            g_string_append_printf(notes,
                                   "%s does not define %s itself: it inherits that from %s.\n",
                                   acr_index_symbol(index, id)->qualname, name,
                                   acr_index_symbol(index, where)->qualname);
        append_all(found, members);
    }
    acr_find_unique(found);
    return found;
}

GArray *acr_find_defs(const AcrIndex *index, const AcrNameArg *arg, GString *notes)
{
    GArray *all = acr_find_named(index, ACR_FUNCTIONS, arg->last);
    if (!arg->qualifier)
        return all;
    GArray *narrowed = narrow_symbols(index, all, arg->text, NULL);
    if (narrowed->len == 0) {
        g_array_unref(narrowed);
        narrowed = members_of_named(index, arg->qualifier, arg->last, notes);
    }
    if (narrowed->len == 0) {
        g_array_unref(narrowed);
        narrowed = narrow_symbols(index, all, NULL, arg->qualifier);
    }
    if (narrowed->len == 0) {
        g_array_unref(narrowed);
        narrowed = acr_index_resolve_function(index, arg->text);
    }
    if (narrowed->len == 0 && all->len && !arg->is_whole) {
        if (notes)
            g_string_append_printf(notes, "There is no %s here; %s is shown instead.\n", arg->text,
                                   arg->last);
        g_array_append_vals(narrowed, all->data, all->len);
    }
    g_array_unref(all);
    return narrowed;
}

/* Appends the class's own members called `name`, and the methods of which these are aliases. */
static void append_own(GArray *found, const AcrIndex *index, guint32 class_id, const char *name)
{
    g_autoptr(GArray) members = acr_index_members(index, class_id);
    for (guint i = 0; i < members->len; i++) {
        guint32 id = g_array_index(members, guint32, i);
        const AcrSymbol *member = acr_index_symbol(index, id);
        if (strcmp(member->name, name) != 0)
            continue;
        g_array_append_val(found, id);
        if (member->kind != ACR_SYMBOL_ASSIGN || !member->value || strcmp(member->value, name) == 0)
            continue;
        g_autoptr(GArray) meant = acr_index_methods(index, class_id, member->value);
        append_all(found, meant);
    }
    acr_find_unique(found);
}

GArray *acr_find_members(const AcrIndex *index, guint32 class_id, const char *name,
                         guint32 *out_owner)
{
    GArray *found = ids_new();
    *out_owner = class_id;
    append_own(found, index, class_id, name);
    if (found->len)
        return found;
    g_autoptr(GArray) ancestors = acr_index_ancestors(index, class_id);
    for (guint i = 0; i < ancestors->len && found->len == 0; i++) {
        *out_owner = g_array_index(ancestors, guint32, i);
        append_own(found, index, *out_owner, name);
    }
    return found;
}
