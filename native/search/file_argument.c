/* Finds the files that a file argument names. Paths are compared from the right by whole parts,
 * ignoring case: first as written, then as a module (`pkg.mod` is pkg/mod.py or
 * pkg/mod/__init__.py), then without leading parts that the repository does not have, finally as a
 * folder. The first of these steps that finds a file decides. In each step, indexed files come
 * before tests and other types. */
#include <fnmatch.h>
#include <string.h>

#include "search/search_private.h"

/* Normalises a path: slashes as separators, no line number at the end, no ".", ".." or empty parts,
 * no leading "/". Returns an owned string. */
static char *plain_path(const char *argument)
{
    g_autofree char *trimmed = acr_search_trim(argument);
    g_strdelimit(trimmed, "\\", '/');
    char *colon = strrchr(trimmed, ':');
    if (colon && colon[1] && strspn(colon + 1, "0123456789-") == strlen(colon + 1))
        *colon = '\0';
    g_auto(GStrv) parts = g_strsplit(trimmed, "/", -1);
    GString *path = g_string_new(NULL);
    for (gsize i = 0; parts[i]; i++) {
        if (!*parts[i] || strcmp(parts[i], ".") == 0 || strcmp(parts[i], "..") == 0)
            continue;
        if (path->len)
            g_string_append_c(path, '/');
        g_string_append(path, parts[i]);
    }
    return g_string_free(path, FALSE);
}

/* True if `path` ends in the whole parts `tail`, ignoring case. */
static bool ends_in_parts(const char *path, const char *tail)
{
    gsize n = strlen(path), m = strlen(tail);
    return m && m <= n && g_ascii_strcasecmp(path + n - m, tail) == 0 &&
           (m == n || path[n - m - 1] == '/');
}

static bool is_below_folder(const char *path, const char *folder)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        g_autofree char *parent = g_strndup(path, (gsize)(slash - path));
        if (ends_in_parts(parent, folder))
            return true;
    }
    return false;
}

static void add_matching_file(AcrFileMatch *match, gsize entry)
{
    if (g_hash_table_add(match->set, GSIZE_TO_POINTER(entry)))
        g_array_append_val(match->entries, entry);
}

/* Adds the files whose paths end in `tail`. The file whose path equals `tail` comes first. */
static bool match_tail_as_is(AcrFileMatch *match, AcrSearch *search, const char *tail)
{
    gssize exact = acr_snapshot_find(search->snapshot, tail);
    if (exact >= 0 && search->file_of_entry[exact] >= 0)
        add_matching_file(match, (gsize)exact);
    for (gsize i = 0; i < acr_index_n_files(search->index); i++) {
        const AcrIndexFile *file = acr_index_file(search->index, i);
        if (ends_in_parts(file->path, tail))
            add_matching_file(match, file->entry);
    }
    if (match->entries->len && !search->mode.tests)
        return true;
    if (exact >= 0)
        add_matching_file(match, (gsize)exact);
    gsize n = acr_snapshot_size(search->snapshot);
    for (gsize i = 0; i < n; i++)
        if (ends_in_parts(acr_search_path(search, i), tail))
            add_matching_file(match, i);
    return match->entries->len > 0;
}

/* Adds the files whose paths end in `tail`, or in its composed or decomposed form if none does. */
static bool match_tail(AcrFileMatch *match, AcrSearch *search, const char *tail)
{
    static const GNormalizeMode forms[] = {G_NORMALIZE_NFC, G_NORMALIZE_NFD};
    bool is_found = match_tail_as_is(match, search, tail);
    bool is_text = g_utf8_validate(tail, -1, NULL); /* g_utf8_normalize may read beyond the end */
    for (gsize i = 0; i < G_N_ELEMENTS(forms) && is_text && !is_found; i++) {
        g_autofree char *form = g_utf8_normalize(tail, -1, forms[i]);
        is_found = form && strcmp(form, tail) != 0 && match_tail_as_is(match, search, form);
    }
    return is_found;
}

static bool match_with_endings(AcrFileMatch *match, AcrSearch *search, const char *stem)
{
    static const char *const endings[] = {".py", "/__init__.py", ".pyx", ".pyi"};
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *tail = g_strconcat(stem, endings[i], NULL);
        if (match_tail(match, search, tail))
            return true;
    }
    return false;
}

/* Adds the files that `pkg.mod`, `pkg.mod.py` or `pkg.mod.Class` names. */
static bool match_module(AcrFileMatch *match, AcrSearch *search, const char *path)
{
    if (match_with_endings(match, search, path))
        return true;
    if (strchr(path, '/') || !strchr(path, '.'))
        return false;
    g_autofree char *stem = g_strdup(path);
    if (g_str_has_suffix(stem, ".py"))
        stem[strlen(stem) - 3] = '\0';
    g_strdelimit(stem, ".", '/');
    if (match_with_endings(match, search, stem))
        return true;
    char *slash = strrchr(stem, '/');
    if (!slash || !strchr(path, '.') || g_str_has_suffix(path, ".py"))
        return false;
    *slash = '\0';
    return strchr(stem, '/') && match_with_endings(match, search, stem);
}

/* Adds the files that `path` names without some of its leading parts. The file name alone counts
 * only if exactly one file has that name. */
static bool match_shortened(AcrFileMatch *match, AcrSearch *search, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        if (!match_tail(match, search, slash + 1))
            continue;
        if (!strchr(slash + 1, '/') && match->entries->len > 1) {
            g_array_set_size(match->entries, 0);
            g_hash_table_remove_all(match->set);
            return false;
        }
        g_autofree char *shown = acr_search_shown(path);
        match->note =
            g_strdup_printf("There is no file %s here; %s is used instead.", shown, slash + 1);
        return true;
    }
    return false;
}

/* True if the pattern matches the path, or the end of the path from a slash on. */
static bool fits_glob(const char *pattern, const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (fnmatch(pattern, at, 0) == 0)
            return true;
    return false;
}

/* Adds the files that a folder or glob pattern names, for people; Python files come first. */
static bool match_for_people(AcrFileMatch *match, AcrSearch *search, const char *path)
{
    bool is_glob = strpbrk(path, "*?[") != NULL;
    enum { INDEXED, TEST, OTHER };
    for (int wanted = INDEXED; wanted <= OTHER; wanted++) {
        bool is_wanted = wanted == TEST ? search->mode.tests : search->mode.others;
        if (match->entries->len && !is_wanted)
            continue;
        for (gsize i = 0; i < acr_snapshot_size(search->snapshot); i++) {
            const char *at = acr_search_path(search, i);
            int kind = search->file_of_entry[i] >= 0   ? INDEXED
                       : acr_search_is_test(search, i) ? TEST
                                                       : OTHER;
            if (kind == wanted &&
                (!*path || (is_glob ? fits_glob(path, at) : is_below_folder(at, path))))
                add_matching_file(match, i);
        }
    }
    return match->entries->len > 0;
}

static bool match_folder(AcrFileMatch *match, AcrSearch *search, const char *path)
{
    for (gsize i = 0; i < acr_index_n_files(search->index); i++) {
        const AcrIndexFile *file = acr_index_file(search->index, i);
        if (is_below_folder(file->path, path))
            add_matching_file(match, file->entry);
    }
    if (match->entries->len) {
        g_autofree char *shown = acr_search_shown(path);
        match->note = g_strdup_printf("%s is a folder: all of its %u Python files are searched.",
                                      shown, match->entries->len);
    }
    return match->entries->len > 0;
}

/* Adds the files that several arguments name, one argument on each line. */
static void match_each_line(AcrFileMatch *match, AcrSearch *search, const char *lines)
{
    g_auto(GStrv) arguments = g_strsplit(lines, "\n", -1);
    for (gsize i = 0; arguments[i]; i++) {
        g_auto(AcrFileMatch) one = {0};
        acr_file_match_init(&one, search, arguments[i]);
        for (guint k = 0; k < one.entries->len; k++)
            add_matching_file(match, g_array_index(one.entries, gsize, k));
        if (!match->note)
            match->note = g_steal_pointer(&one.note);
    }
}

void acr_file_match_init(AcrFileMatch *match, AcrSearch *search, const char *argument)
{
    match->entries = g_array_new(FALSE, FALSE, sizeof(gsize));
    match->set = g_hash_table_new(g_direct_hash, g_direct_equal);
    match->note = NULL;
    if (search->mode.globs && strchr(argument, '\n')) {
        match_each_line(match, search, argument);
        return;
    }
    g_autofree char *path = plain_path(argument);
    if (*path ? match_tail(match, search, path) : !search->mode.globs || *argument != '.')
        return;
    /* for people, a package's folder takes precedence over its __init__.py */
    if (search->mode.globs && match_for_people(match, search, path))
        return;
    if (match_module(match, search, path))
        return;
    if (match_shortened(match, search, path))
        return;
    match_folder(match, search, path);
}

void acr_file_match_widen(AcrFileMatch *match, AcrSearch *search, const char *argument)
{
    g_autofree char *path = plain_path(argument);
    if (match->entries->len == 1 && strchr(path, '/') && !g_str_has_suffix(path, ".py") &&
        g_str_has_suffix(acr_search_path(search, g_array_index(match->entries, gsize, 0)),
                         "/__init__.py"))
        match_folder(match, search, path);
}

bool acr_search_has_file(AcrSearch *search, const char *argument)
{
    g_auto(AcrFileMatch) match = {0};
    acr_file_match_init(&match, search, argument);
    return match.entries->len > 0;
}

void acr_file_match_clear(AcrFileMatch *match)
{
    g_clear_pointer(&match->entries, g_array_unref);
    g_clear_pointer(&match->set, g_hash_table_unref);
    g_clear_pointer(&match->note, g_free);
}

bool acr_file_match_has(const AcrFileMatch *match, gsize entry)
{
    return g_hash_table_contains(match->set, GSIZE_TO_POINTER(entry));
}

bool acr_search_is_module(const char *path, const char *dotted)
{
    if (!g_str_has_suffix(path, ".py"))
        return false;
    g_autofree char *stem = g_strndup(path, strlen(path) - 3);
    if (ends_in_parts(stem, "__init__") && strchr(stem, '/'))
        *strrchr(stem, '/') = '\0';
    g_autofree char *tail = g_strdup(dotted);
    g_strdelimit(tail, ".", '/');
    return ends_in_parts(stem, tail);
}
