/* The map of a repository: its source files and their top-level definitions, in the greatest detail
 * that fits into an answer: names, or counts for each file, or counts for each folder. */
#include <string.h>

#include "search/search.h"

#define CUT "… and more, left out because they do not fit.\n"

typedef enum { MAP_NAMES, MAP_FILES, MAP_FOLDERS } Detail;

typedef struct {
    const AcrIndex *index;
    GString *text;
    Detail detail;
    char *folder; /* owned; the current folder */
    guint files;  /* number of files in the current folder so far */
} Map;

static const char *plural(gsize n)
{
    return n == 1 ? "" : "s";
}

static void flush_folder(Map *map)
{
    if (map->files)
        g_string_append_printf(map->text, "%s/ (%u file%s)\n", map->folder, map->files,
                               plural(map->files));
    map->files = 0;
}

static void add_to_folder(Map *map, const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    if (g_strcmp0(folder, map->folder) != 0) {
        flush_folder(map);
        g_free(map->folder);
        map->folder = g_steal_pointer(&folder);
    }
    map->files++;
}

static void add_symbol(Map *map, const AcrSymbol *symbol)
{
    if (symbol->kind == ACR_SYMBOL_FUNCTION) {
        g_string_append_printf(map->text, "  def %s, line %u\n", symbol->name, symbol->def);
        return;
    }
    g_autofree char *bases = g_strjoinv(", ", (char **)symbol->bases);
    g_string_append_printf(map->text, "  class %s%s%s%s, line %u\n", symbol->name,
                           *bases ? "(" : "", bases, *bases ? ")" : "", symbol->def);
}

static void add_counts(GString *text, guint classes, guint functions)
{
    if (classes)
        g_string_append_printf(text, " (%u class%s%s", classes, classes == 1 ? "" : "es",
                               functions ? ", " : "");
    if (functions)
        g_string_append_printf(text, "%s%u function%s", classes ? "" : " (", functions,
                               plural(functions));
    g_string_append(text, ")\n");
}

static void add_mapped_file(Map *map, const AcrIndexFile *file)
{
    guint classes = 0, functions = 0;
    if (map->detail == MAP_FOLDERS) {
        add_to_folder(map, file->path);
        return;
    }
    g_string_append_printf(map->text, "%s\n", file->path);
    for (guint32 id = file->first_symbol; id < file->first_symbol + file->n_symbols; id++) {
        const AcrSymbol *symbol = acr_index_symbol(map->index, id);
        bool is_class = symbol->kind == ACR_SYMBOL_CLASS;
        if (symbol->parent >= 0 || !(is_class || symbol->kind == ACR_SYMBOL_FUNCTION))
            continue;
        classes += is_class;
        functions += !is_class;
        if (map->detail == MAP_NAMES)
            add_symbol(map, symbol);
    }
    if (map->detail == MAP_NAMES || !(classes || functions))
        return;
    g_string_truncate(map->text, map->text->len - 1);
    add_counts(map->text, classes, functions);
}

/* Returns the map with the given detail, owned. *out_fits is false if it had to be truncated. */
static char *map_at(const AcrIndex *index, Detail detail, bool *out_fits)
{
    gsize n = acr_index_n_files(index), limit = ACR_SEARCH_MAX_OUTPUT - sizeof CUT;
    Map map = {.index = index, .text = g_string_new(NULL), .detail = detail};
    g_string_append_printf(map.text, "%" G_GSIZE_FORMAT " source file%s, without tests:\n", n,
                           plural(n));
    gsize end = map.text->len;
    *out_fits = true;
    for (gsize i = 0; i <= n && *out_fits; i++) {
        if (i < n)
            add_mapped_file(&map, acr_index_file(index, i));
        else
            flush_folder(&map);
        *out_fits = map.text->len <= limit;
        end = *out_fits ? map.text->len : end;
    }
    g_string_truncate(map.text, end);
    if (!*out_fits)
        g_string_append(map.text, CUT);
    g_free(map.folder);
    return g_string_free(map.text, FALSE);
}

char *acr_search_map(const AcrIndex *index)
{
    for (Detail detail = MAP_NAMES;; detail++) {
        bool fits = false;
        g_autofree char *text = map_at(index, detail, &fits);
        if (fits || detail == MAP_FOLDERS)
            return acr_utf8_repair(text, strlen(text));
    }
}
