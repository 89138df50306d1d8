/* Answers the questions of extensions about the code: files of the snapshot, symbols of the index,
 * and built-in calls. */
#include "extensions/extensions_private.h"

#include <string.h>

static AcrJson *fault(const char *format, const char *what)
{
    AcrJson *answer = acr_json_new_object();
    g_autofree char *text = g_strdup_printf("%s%s", format, what);
    acr_json_set_string(answer, "error", text);
    return answer;
}

static AcrJson *answer_view_files(AcrSearch *search)
{
    AcrSnapshot *snapshot = acr_index_snapshot(acr_search_index(search));
    AcrJson *answer = acr_json_new_object(), *list = acr_json_new_array();
    for (gsize i = 0; i < acr_snapshot_size(snapshot); i++) {
        const char *path = acr_snapshot_entry(snapshot, i)->path;
        if (g_utf8_validate(path, -1, NULL))
            acr_json_append(list, acr_json_new_string(path));
    }
    acr_json_set(answer, "files", list);
    return answer;
}

static AcrJson *contents(AcrSearch *search, const AcrJson *asked)
{
    AcrSnapshot *snapshot = acr_index_snapshot(acr_search_index(search));
    const char *path = acr_json_get_string(asked, "path");
    gssize entry = path ? acr_snapshot_find(snapshot, path) : -1;
    g_autoptr(GError) error = NULL;
    if (entry < 0)
        return fault("there is no file ", path ? path : "");
    g_autoptr(GBytes) data = acr_snapshot_read(snapshot, (gsize)entry, &error);
    if (!data)
        return fault("", error->message);
    AcrJson *answer = acr_json_new_object();
    acr_json_set(answer, "data", acr_json_new_gbytes(data));
    return answer;
}

static AcrJson *symbol_to_json(const AcrIndex *index, const AcrSymbol *symbol)
{
    static const char *const kinds[] = {
        [ACR_SYMBOL_CLASS] = "class",   [ACR_SYMBOL_FUNCTION] = "function",
        [ACR_SYMBOL_METHOD] = "method", [ACR_SYMBOL_ASSIGN] = "assignment",
        [ACR_SYMBOL_IMPORT] = "import",
    };
    return acr_json_of(ACR_STRING("kind", kinds[symbol->kind]),
                       ACR_STRING("file", acr_index_file(index, symbol->file)->path),
                       ACR_STRING("name", symbol->name), ACR_STRING("qualname", symbol->qualname),
                       ACR_INT("start", symbol->first), ACR_INT("end", symbol->last), NULL);
}

static AcrJson *symbols(AcrSearch *search, const AcrJson *asked)
{
    const AcrIndex *index = acr_search_index(search);
    const char *path = acr_json_get_string(asked, "file"),
               *name = acr_json_get_string(asked, "name");
    AcrJson *answer = acr_json_new_object(), *list = acr_json_new_array();
    guint n = 0;
    for (gsize f = 0; f < acr_index_n_files(index); f++) {
        const AcrIndexFile *file = acr_index_file(index, f);
        if (path && strcmp(file->path, path) != 0)
            continue;
        for (guint32 i = 0; i < file->n_symbols && n < ACR_EXTENSION_MAX_SYMBOLS; i++) {
            const AcrSymbol *symbol = acr_index_symbol(index, file->first_symbol + i);
            if (name && strcmp(symbol->name, name) != 0)
                continue;
            acr_json_append(list, symbol_to_json(index, symbol));
            n++;
        }
    }
    acr_json_set(answer, "symbols", list);
    return answer;
}

/* Answers only built-in calls, because an extension's own calls would cause a recursion. */
static AcrJson *answer_view_call(AcrSearch *search, const AcrJson *asked)
{
    const char *name = acr_json_get_string(asked, "name");
    const AcrCallSpec *spec = name ? acr_search_call_spec(name) : NULL;
    g_autoptr(GError) error = NULL;
    g_auto(AcrCall) bound = {0};
    g_auto(AcrAnswer) answer = {0};
    if (!spec)
        return fault("there is no built-in call ", name ? name : "");
    if (!acr_call_from_json(spec, acr_json_get(asked, "arguments"), NULL, &bound, &error) ||
        !acr_search_run(search, &bound, &answer, &error))
        return fault("", error->message);
    return acr_answer_to_json(name, &answer);
}

AcrJson *acr_extension_view(AcrSearch *search, const char *repo, const AcrJson *asked)
{
    const char *what = acr_json_get_string(asked, "what");
    if (g_strcmp0(what, "path") == 0) {
        AcrJson *answer = acr_json_new_object();
        acr_json_set_string(answer, "path", repo);
        return answer;
    }
    if (!search || !what)
        return fault("there is no repository here", "");
    if (strcmp(what, "files") == 0)
        return answer_view_files(search);
    if (strcmp(what, "read") == 0)
        return contents(search, asked);
    if (strcmp(what, "symbols") == 0)
        return symbols(search, asked);
    return strcmp(what, "call") == 0 ? answer_view_call(search, asked)
                                     : fault("there is no question ", what);
}
