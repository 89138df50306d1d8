/*
 * Which files a diff changes, and by how many lines. Inside a hunk each line has its mark before it, so
 * "diff --git" at a line's beginning is a header, and what begins with "+" or "-" outside of one is not.
 */
#include <string.h>

#include "verbs/verbs_private.h"

typedef struct {
    char *path; /* owned; NULL: no header has named it yet */
    guint added, removed;
    bool in_hunk;
} File;

static void end_file(File *file, GPtrArray *out)
{
    if (file->path)
        g_ptr_array_add(out,
                        g_strdup_printf("%s (+%u -%u)", file->path, file->added, file->removed));
    g_free(file->path);
    *file = (File){0};
}

/* The new path where there are two, without git's "a/" or "b/". */
static void take_path(File *file, const char *path)
{
    if (strcmp(path, "/dev/null") == 0)
        return;
    bool is_prefixed = g_str_has_prefix(path, "a/") || g_str_has_prefix(path, "b/");
    g_free(file->path);
    file->path = g_strdup(is_prefixed ? path + 2 : path);
}

static void take_header(File *file, const char *line)
{
    static const char *const names[] = {"--- ", "+++ ", "rename to ", "copy to "};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_has_prefix(line, names[i]))
            take_path(file, line + strlen(names[i]));
}

GPtrArray *acr_changed_files(GBytes *diff)
{
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *text = diff ? acr_bytes_text(diff) : g_strdup("");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    File file = {0};
    for (guint i = 0; lines[i]; i++) {
        if (g_str_has_prefix(lines[i], "diff --git ")) {
            const char *new_path = g_strrstr(lines[i], " b/"); /* of an empty file the only one */
            end_file(&file, files);
            file.path = new_path ? g_strdup(new_path + strlen(" b/")) : NULL;
        }
        if (g_str_has_prefix(lines[i], "@@"))
            file.in_hunk = true;
        else if (!file.in_hunk)
            take_header(&file, lines[i]);
        file.added += file.in_hunk && lines[i][0] == '+';
        file.removed += file.in_hunk && lines[i][0] == '-';
    }
    end_file(&file, files);
    return files;
}
