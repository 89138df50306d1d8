/* Lists the files that a diff changes, for people. */
#include <string.h>

#include "patch.h"

#define HEADER "diff --git " /* cannot be confused with lines of a hunk, which begin with a mark */

GPtrArray *acr_patch_files(GBytes *diff)
{
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *text = diff ? acr_bytes_text(diff) : g_strdup("");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    const char *path = NULL;
    guint counts[2] = {0}; /* numbers of added and removed lines */
    bool in_hunk = false;
    for (guint i = 0; lines[i]; i++) {
        const char *line = lines[i];
        if (g_str_has_prefix(line, HEADER)) { /* in "a/PATH b/PATH", the path is the second half */
            const char *paths = line + strlen(HEADER);
            path = paths + strlen(paths) / 2 + strlen(" b/");
            in_hunk = false;
        }
        in_hunk = in_hunk || g_str_has_prefix(line, "@@");
        counts[0] += in_hunk && *line == '+';
        counts[1] += in_hunk && *line == '-';
        if (path && (!lines[i + 1] || g_str_has_prefix(lines[i + 1], HEADER))) {
            g_ptr_array_add(files, g_strdup_printf("%s (+%u -%u)", path, counts[0], counts[1]));
            memset(counts, 0, sizeof counts);
        }
    }
    return files;
}
