/* The answer of a call that finds nothing: the nearest names, other places where the name is
 * defined or occurs, and the contents of the named file or class. The nearest names are the same
 * name in another case, then names that differ by a few edits, then names that contain the name or
 * are a part of it. Only a few are suggested. Tests and files of other types are read when
 * occurrences in them are first counted, and are kept in memory. */
#include <string.h>

#include "search/calls_private.h"

#define FAR ACR_NAME_FAR
#define LISTED_NAMES 40u
#define LISTED_OCCURRENCES 10u

/* Returns the distance between two names: 0 for the same name in another case, FAR for unrelated
 * names. `wanted` is in lower case. */
static guint distance(const char *wanted, gsize n, const char *name)
{
    gsize m = strlen(name);
    if (m == 0 || m > ACR_SEARCH_MAX_NAME || m * 2 < n)
        return FAR;
    char lower[ACR_SEARCH_MAX_NAME + 1];
    for (gsize i = 0; i <= m; i++)
        lower[i] = (char)(name[i] + (g_ascii_isupper(name[i]) ? 'a' - 'A' : 0));
    guint edits = acr_edit_distance(wanted, n, lower, m, 2, (guint)MIN(n, m) / 3);
    if (edits < FAR)
        return edits * 10;
    if (n >= 4 && m > n && strstr(lower, wanted))
        return 45 + (guint)(m - n);
    if (m >= 4 && n > m && m * 2 >= n && strstr(wanted, lower))
        return 50 + (guint)(n - m);
    return FAR;
}

typedef struct {
    const char *name;
    guint distance;
    AcrSymbolKind kind;
} Candidate;

static int compare_candidates(const void *left, const void *right)
{
    const Candidate *a = left, *b = right;
    int order = acr_order(a->distance, b->distance);
    order = order ? order : acr_order(a->kind, b->kind);
    return order ? order : strcmp(a->name, b->name);
}

static void collect(GArray *found, const AcrIndex *index, AcrSymbolKind kind, const char *wanted)
{
    gsize n = 0, len = strlen(wanted);
    const char *const *names = acr_index_names(index, kind, &n);
    for (gsize i = 0; i < n; i++) {
        Candidate candidate = {names[i], distance(wanted, len, names[i]), kind};
        if (candidate.distance < FAR)
            g_array_append_val(found, candidate);
    }
}

static GPtrArray *suggest_names(const AcrIndex *index, guint kinds, const char *name)
{
    GPtrArray *names = g_ptr_array_new();
    if (!*name || strlen(name) > ACR_SEARCH_MAX_NAME)
        return names;
    g_autofree char *wanted = g_ascii_strdown(name, -1);
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Candidate));
    for (guint kind = 0; kind < ACR_SYMBOL_KINDS; kind++)
        if (kinds & ACR_KIND(kind))
            collect(found, index, (AcrSymbolKind)kind, wanted);
    g_array_sort(found, compare_candidates);
    for (guint i = 0; i < found->len && names->len < ACR_SEARCH_SUGGESTIONS; i++) {
        const char *next = g_array_index(found, Candidate, i).name;
        if (!g_ptr_array_find_with_equal_func(names, next, g_str_equal, NULL))
            g_ptr_array_add(names, (void *)next);
    }
    return names;
}

static const char *kind_word(const AcrSymbol *symbol)
{
    static const char *const words[] = {"class", "function", "method", "name", "import"};
    return words[symbol->kind];
}

static void append_symbol(GString *out, const AcrIndex *index, guint32 id)
{
    const AcrSymbol *symbol = acr_index_symbol(index, id);
    g_string_append_printf(out, "%s %s, line %u of ", kind_word(symbol), symbol->qualname,
                           symbol->first);
    acr_render_heading(out, acr_index_file(index, symbol->file)->path, NULL, NULL, "");
    g_string_append_c(out, '\n');
}

void acr_suggest_append(GString *out, const AcrIndex *index, guint kinds, const char *name)
{
    g_autoptr(GPtrArray) names = suggest_names(index, kinds, name);
    if (names->len == 0)
        return;
    g_string_append(out, "The nearest names are:\n");
    for (guint i = 0; i < names->len; i++) {
        for (guint kind = 0; kind < ACR_SYMBOL_KINDS; kind++) {
            gsize n = 0;
            const guint32 *ids = NULL;
            if (kinds & ACR_KIND(kind))
                ids = acr_index_lookup(index, (AcrSymbolKind)kind, g_ptr_array_index(names, i), &n);
            if (n == 0)
                continue;
            append_symbol(out, index, ids[0]);
            if (n > 1)
                g_string_append_printf(out, "  (and %" G_GSIZE_FORMAT " more of that name)\n",
                                       n - 1);
        }
    }
}

/* Appends the names of up to LISTED_NAMES symbols, without imports and repetitions. */
static void append_names(GString *out, const AcrIndex *index, const GArray *ids)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    guint listed = 0;
    for (guint i = 0; i < ids->len && listed < LISTED_NAMES; i++) {
        const AcrSymbol *symbol = acr_index_symbol(index, g_array_index(ids, guint32, i));
        if (symbol->kind == ACR_SYMBOL_IMPORT || !g_hash_table_add(seen, (void *)symbol->qualname))
            continue;
        g_string_append_printf(out, "%s%s", listed ? ", " : "",
                               symbol->kind == ACR_SYMBOL_CLASS ? "class " : "");
        g_string_append(out, symbol->name);
        listed++;
    }
    g_string_append(out, listed == LISTED_NAMES ? ", …\n" : listed ? "\n" : "nothing\n");
}

void acr_suggest_file_contents(GString *out, AcrSearch *search, const AcrFileMatch *files)
{
    if (files->entries->len != 1)
        return;
    gsize entry = g_array_index(files->entries, gsize, 0);
    gint32 number = search->file_of_entry[entry];
    if (number < 0)
        return;
    const AcrIndexFile *file = acr_index_file(search->index, (gsize)number);
    acr_render_heading(out, file->path, NULL, NULL, "");
    if (file->unparsed) {
        g_autofree char *why = acr_search_shown(file->unparsed);
        g_string_append_printf(out, " cannot be parsed (%s); text search covers it.\n", why);
        return;
    }
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (guint32 i = 0; i < file->n_symbols; i++) {
        guint32 id = file->first_symbol + i;
        if (acr_index_symbol(search->index, id)->parent < 0)
            g_array_append_val(ids, id);
    }
    g_string_append(out, " defines: ");
    append_names(out, search->index, ids);
}

void acr_suggest_class_contents(GString *out, AcrSearch *search, guint32 class_id)
{
    const AcrSymbol *klass = acr_index_symbol(search->index, class_id);
    g_autoptr(GArray) members = acr_index_members(search->index, class_id);
    g_string_append_printf(out, "Class %s in ", klass->qualname);
    acr_render_heading(out, acr_index_file(search->index, klass->file)->path, NULL, NULL, "");
    g_string_append(out, " defines: ");
    append_names(out, search->index, members);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void acr_suggest_files(GString *out, AcrSearch *search, const AcrFileMatch *files,
                       const char *argument)
{
    g_autofree char *wanted = g_ascii_strdown(base_name(argument), -1);
    if (files->entries->len)
        return;
    g_string_append(out, "There is no file of that name.\n");
    if (!*wanted || strlen(wanted) > ACR_SEARCH_MAX_NAME)
        return;
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Candidate));
    for (gsize i = 0; i < acr_index_n_files(search->index); i++) {
        const char *path = acr_index_file(search->index, i)->path;
        Candidate candidate = {path, distance(wanted, strlen(wanted), base_name(path)),
                               ACR_SYMBOL_CLASS};
        if (candidate.distance < FAR)
            g_array_append_val(found, candidate);
    }
    g_array_sort(found, compare_candidates);
    for (guint i = 0; i < MIN(found->len, ACR_SEARCH_SUGGESTIONS); i++) {
        g_string_append(out, i ? "" : "Files with a similar name:\n");
        acr_render_heading(out, g_array_index(found, Candidate, i).name, NULL, NULL, "\n");
        g_string_append_c(out, '\n');
    }
}

/* Returns the name in the folder `parent` ("" or "DIR/") that is `part` or nearest to it; owned, or
 * NULL. */
static char *nearest_child(const AcrSearch *search, const char *parent, const char *part)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < acr_index_n_files(search->index); i++) {
        const char *path = acr_index_file(search->index, i)->path;
        if (!g_str_has_prefix(path, parent))
            continue;
        g_autofree char *name =
            g_strndup(path + strlen(parent), strcspn(path + strlen(parent), "/"));
        if (strcmp(name, part) == 0)
            return g_steal_pointer(&name);
        if (!names->len || strcmp(names->pdata[names->len - 1], name) != 0)
            g_ptr_array_add(names, g_steal_pointer(&name));
    }
    g_ptr_array_add(names, NULL);
    return g_strdup(acr_nearest_name(part, (const char *const *)names->pdata));
}

char *acr_search_nearest_path(const AcrSearch *search, const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    g_autoptr(GString) nearest = g_string_new(NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; parts[i] && *parts[i]; i++) {
        g_autofree char *child = nearest_child(search, nearest->str, parts[i]);
        if (!child)
            break;
        g_string_append_printf(nearest, "%s%s", child, parts[i + 1] ? "/" : "");
        if (!parts[i + 1] || !*parts[i + 1])
            return g_strdup(nearest->str);
    }
    for (gsize i = 0; i < acr_index_n_files(search->index); i++)
        g_ptr_array_add(names, (char *)base_name(acr_index_file(search->index, i)->path));
    g_ptr_array_add(names, NULL);
    return g_strdup(acr_nearest_name(base_name(path), (const char *const *)names->pdata));
}

bool acr_search_defines(const AcrSearch *search, const char *name)
{
    const char *dot = strrchr(name, '.');
    g_autoptr(GArray) ids = acr_find_named(search->index, ACR_DEFINITIONS, dot ? dot + 1 : name);
    return ids->len > 0;
}

/* Adds `head`, a definition's spelling of `part`, and `tail`, for definitions of these kinds. */
static void add_spellings(const AcrSearch *search, guint kinds, const char *head, const char *part,
                          const char *tail, GPtrArray *out)
{
    g_autoptr(GArray) ids = acr_find_named_folded(search->index, kinds, part);
    for (guint i = 0; i < ids->len; i++) {
        const AcrSymbol *symbol = acr_index_symbol(search->index, g_array_index(ids, guint32, i));
        g_autofree char *spelt = g_strconcat(head, symbol->name, tail, NULL);
        if (!g_ptr_array_find_with_equal_func(out, spelt, g_str_equal, NULL))
            g_ptr_array_add(out, g_steal_pointer(&spelt));
    }
}

char **acr_search_spellings(const AcrSearch *search, const char *name)
{
    g_auto(GStrv) parts = g_strsplit(name, ".", -1);
    guint n = g_strv_length(parts);
    g_autoptr(GPtrArray) heads = g_ptr_array_new_with_free_func(g_free);
    GPtrArray *all = g_ptr_array_new();
    g_autofree char *head = g_strndup(name, strlen(name) - strlen(parts[n - 1]));
    if (n > 1) {
        g_autofree char *module = g_strndup(head, strlen(head) - strlen(parts[n - 2]) - 1);
        add_spellings(search, ACR_KIND(ACR_SYMBOL_CLASS), module, parts[n - 2], ".", heads);
    }
    if (heads->len == 0) /* the name has no class */
        g_ptr_array_add(heads, g_steal_pointer(&head));
    for (guint i = 0; i < heads->len; i++)
        add_spellings(search, ACR_DEFINITIONS, heads->pdata[i], parts[n - 1], "", all);
    if (!g_ptr_array_find_with_equal_func(all, name, g_str_equal, NULL))
        g_ptr_array_add(all, g_strdup(name)); /* tests are not in the index */
    g_ptr_array_add(all, NULL);
    return (char **)g_ptr_array_free(all, FALSE);
}

static guint count_in(const char *at, gsize len, const AcrNeedle *needle)
{
    guint count = 0;
    for (const char *end = at + len; (at = acr_needle_find(needle, at, end)) != NULL; count++)
        at += acr_needle_len(needle);
    return count;
}

void acr_suggest_occurrences(GString *out, AcrSearch *search, const char *text)
{
    if (search->mode.exact) /* the caller tries another kind next; reading all files takes long */
        return;
    const GPtrArray *others = *text ? acr_search_others(search, text) : NULL;
    g_autofree char *shown = acr_search_shown(text);
    g_autoptr(GString) listed = g_string_new(NULL);
    g_autoptr(AcrNeedle) needle = acr_needle_new(text);
    guint files = 0, total = 0;
    for (guint i = 0; others && i < others->len; i++) {
        const AcrOther *other = g_ptr_array_index(others, i);
        gsize len;
        const char *data = g_bytes_get_data(other->bytes, &len);
        guint count = count_in(data, len, needle);
        if (count && files++ < LISTED_OCCURRENCES) {
            acr_render_heading(listed, acr_search_path(search, other->entry), NULL, NULL, "");
            g_string_append_printf(listed, " %u\n", count);
        }
        total += count;
    }
    if (files)
        g_string_append_printf(out, "%s%s occurs %u time%s in %u of them:\n%s",
                               search->mode.literal
                                   ? "In tests and files of other types, "
                                   : "Tests and files of other types are not searched: ",
                               shown, total, total == 1 ? "" : "s", files, listed->str);
    else if (search->mode.literal)
        g_string_append(out, others || search->mode.only
                                 ? ""
                                 : "Files of other types are too many to search; name a "
                                   "folder to search in.\n");
    else if (*text)
        g_string_append_printf(out, "No Python file outside the tests contains %s%s.\n", shown,
                               others ? "" : ", which are not searched");
    if (files > LISTED_OCCURRENCES)
        g_string_append_printf(out, "… and in %u more.\n", files - LISTED_OCCURRENCES);
}
