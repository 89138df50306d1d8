/* The paths of answers and arguments for a person who works in a folder of the repository: relative
 * to that folder, as shells complete them and editors open them. */
#include <string.h>

#include "verbs/search_input.h"

void acr_search_paths_init(AcrSearchPaths *paths, const char *workdir)
{
    g_autofree char *here = g_get_current_dir(), *real = acr_path_real(here),
                    *root = workdir ? acr_path_real(workdir) : NULL;
    *paths = (AcrSearchPaths){.shown = g_string_chunk_new(1024)};
    if (!root || !acr_path_is_below(real, root))
        return;
    const char *below = real + strlen(root);
    below += strspn(below, "/");
    paths->folder = *below ? g_strconcat(below, "/", NULL) : NULL;
    paths->root = g_steal_pointer(&root);
}

void acr_search_paths_clear(AcrSearchPaths *paths)
{
    ACR_FREE(paths->root, paths->folder);
    g_clear_pointer(&paths->shown, g_string_chunk_free);
}

/* Returns one path from the root, or a copy of `place` if that names no file; owned. */
static char *from_root(const AcrSearchPaths *paths, AcrSearch *search, const char *place)
{
    g_autofree char *base = g_strconcat("/", paths->folder, NULL),
                    *whole = g_canonicalize_filename(place, base);
    bool is_absolute = g_path_is_absolute(place);
    if (is_absolute && !acr_path_is_below(whole, paths->root))
        return g_strdup(place);
    const char *below = whole + (is_absolute ? strlen(paths->root) : 0);
    below += strspn(below, "/");
    g_autofree char *path =
        g_strconcat(*below ? below : ".", g_str_has_suffix(place, "/") ? "/" : "", NULL);
    return g_strdup(acr_search_has_file(search, path) ? path : place);
}

void acr_search_from_root(const AcrSearchPaths *paths, AcrSearch *search, char **places)
{
    const char *given = *places;
    if (!given || !(paths->folder || (paths->root && (*given == '/' || *given == '.'))))
        return;
    g_auto(GStrv) parts = g_strsplit(given, "\n", -1);
    acr_search_set_mode(search, (AcrSearchMode){.globs = true});
    for (guint i = 0; parts[i]; i++) {
        g_autofree char *part = parts[i];
        parts[i] = from_root(paths, search, part);
    }
    g_free(*places);
    *places = g_strjoinv("\n", parts);
}

void acr_search_paths_show(const AcrSearchPaths *paths, AcrAnswer *answer)
{
    const char *here = paths->folder;
    for (guint i = 0; here && answer->lines && i < answer->lines->len; i++) {
        AcrShownLine *line = g_ptr_array_index(answer->lines, i);
        gsize same = 0; /* length of the folders in common, with the slash after them */
        for (gsize at = 0; here[at] && here[at] == line->file[at]; at++)
            if (here[at] == '/')
                same = at + 1;
        g_autoptr(GString) shown = g_string_new(NULL);
        for (const char *at = here + same; (at = strchr(at, '/')); at++)
            g_string_append(shown, "../");
        g_string_append(shown, line->file + same);
        line->file = g_string_chunk_insert_const(paths->shown, shown->str);
    }
}
