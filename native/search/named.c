/*
 * The words of an answer to a call that looks for a symbol by its name: what was found, and at a
 * miss where the name is defined or occurs instead. The same for classes and for functions.
 */
#include "search/search_private.h"

bool acr_named_finish(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                      AcrAnswer *out, GError **error)
{
    g_autofree char *shown = acr_search_shown(arg->text);
    g_autofree char *one = g_strdup_printf("result for %s", shown);
    g_autofree char *many = g_strdup_printf("results for %s", shown);
    return acr_reply_finish(reply, one, many, sought->collapse, out, error);
}

bool acr_named_append_nearest(GString *text, AcrSearch *search, const AcrSought *sought,
                              const AcrNameArg *arg, GError **error)
{
    acr_suggest_append(text, search->index, sought->kinds, arg->last);
    return acr_suggest_occurrences(text, search, arg->last, error);
}

bool acr_named_instead(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                       AcrAnswer *out, GError **error)
{
    const AcrScope nowhere_named = {0};
    g_autofree char *shown = acr_search_shown(arg->text);
    g_autofree char *missing = g_strdup_printf("There is no %s named %s.", sought->noun, shown);
    if (!acr_instead_of_name(reply, arg, &nowhere_named, missing, error))
        return false;
    if (reply->hits->len)
        return acr_named_finish(reply, sought, arg, out, error);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "Found no %s %s.\n", sought->noun, shown);
    if (!acr_named_append_nearest(text, reply->search, sought, arg, error))
        return false;
    acr_reply_miss(reply, g_strdup(text->str), out);
    return true;
}

bool acr_named_miss_in_file(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                            const AcrFileMatch *files, const char *file, AcrAnswer *out,
                            GError **error)
{
    g_autofree char *shown = acr_search_shown(arg->text), *shown_file = acr_search_shown(file);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "Found no %s %s in %s.\n", sought->noun, shown, shown_file);
    if (files->entries->len == 0) {
        g_string_append(text, "There is no file of that name.\n");
        acr_suggest_files(text, reply->search, file);
    }
    acr_suggest_file_contents(text, reply->search, files);
    if (!acr_named_append_nearest(text, reply->search, sought, arg, error))
        return false;
    acr_reply_miss(reply, g_strdup(text->str), out);
    return true;
}

/* What the files do not have; owned. */
static char *missing_in_files(const AcrSought *sought, const AcrNameArg *arg,
                              const AcrFileMatch *files, const char *file)
{
    g_autofree char *shown = acr_search_shown(arg->text), *shown_file = acr_search_shown(file);
    return files->entries->len
               ? g_strdup_printf("There is no %s %s in %s.", sought->noun, shown, shown_file)
               : g_strdup_printf("There is no file %s.", shown_file);
}

bool acr_named_in_files(AcrSearch *search, const AcrCall *call, const AcrSoughtInFiles *how,
                        AcrAnswer *out, GError **error)
{
    g_auto(AcrNameArg) arg;
    g_auto(AcrFileMatch) files;
    g_auto(AcrReply) reply;
    acr_name_arg_init(&arg, call->values[0]);
    acr_file_match_init(&files, search, call->values[1]);
    acr_reply_init(&reply, search);
    if (files.note)
        acr_reply_note(&reply, "%s", files.note);
    g_autoptr(GArray) ids = how->in_files(&reply, &arg, &files);
    acr_reply_add_symbols(&reply, ids, how->view);
    if (ids->len == 0 && !acr_find_text_defs_in(&reply, &files, arg.last, error))
        return false;
    if (reply.hits->len > 0)
        return acr_named_finish(&reply, how->sought, &arg, out, error);
    const AcrScope scope = {.files = files.entries->len ? &files : NULL};
    g_autofree char *missing = missing_in_files(how->sought, &arg, &files, call->values[1]);
    if (!acr_instead_of_name(&reply, &arg, &scope, missing, error))
        return false;
    if (reply.hits->len > 0) {
        if (files.entries->len == 0)
            acr_suggest_files(reply.tail, search, call->values[1]);
        acr_suggest_file_contents(reply.tail, search, &files);
        return acr_named_finish(&reply, how->sought, &arg, out, error);
    }
    return acr_named_miss_in_file(&reply, how->sought, &arg, &files, call->values[1], out, error);
}
