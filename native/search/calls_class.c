/* search_class and search_class_in_file. If the name belongs to a function or an assignment, they
 * show its definition, with a note. */
#include "search/calls_private.h"

static const AcrSought a_class = {"class", ACR_KIND(ACR_SYMBOL_CLASS) | ACR_KIND(ACR_SYMBOL_ASSIGN),
                                  ACR_COLLAPSE_FILES};

/* Adds a note with the base classes of each class that are in the repository. */
static void note_bases(AcrReply *reply, const GArray *classes)
{
    const AcrIndex *index = reply->search->index;
    for (guint i = 0; i < MIN(classes->len, ACR_RESULT_SHOW_LIMIT); i++) {
        guint32 id = g_array_index(classes, guint32, i);
        if (acr_index_symbol(index, id)->kind != ACR_SYMBOL_CLASS)
            continue;
        g_autoptr(GArray) bases = acr_index_bases(index, id);
        g_autoptr(GString) line = g_string_new(NULL);
        for (guint b = 0; b < MIN(bases->len, 8); b++) {
            const AcrSymbol *base = acr_index_symbol(index, g_array_index(bases, guint32, b));
            g_string_append_printf(line, "%s%s (%s)", b ? ", " : "", base->qualname,
                                   acr_index_file(index, base->file)->path);
        }
        if (line->len)
            acr_reply_note(reply, "%s inherits from %s.", acr_index_symbol(index, id)->qualname,
                           line->str);
    }
}

bool acr_answer_class(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    g_auto(AcrNameArg) arg = {0};
    g_auto(AcrReply) reply = {0};
    acr_name_arg_init(&arg, call->values[0]);
    arg.is_whole = search->mode.literal;
    acr_reply_init(&reply, search);
    g_autoptr(GArray) ids = acr_find_classes(search->index, &arg, reply.notes);
    if (ids->len) {
        note_bases(&reply, ids);
        if (!search->mode.lines)
            acr_reply_note(&reply, "Signatures only; search_method_in_class and "
                                   "search_class_in_file show the bodies.");
    } else {
        g_clear_pointer(&ids, g_array_unref);
        ids = acr_named_otherwise(&reply, &a_class, &arg, NULL);
    }
    for (guint i = 0; i < ids->len; i++)
        acr_reply_add_symbol(&reply, g_array_index(ids, guint32, i), ACR_VIEW_SIGNATURES, 1);
    acr_add_aliases(&reply, arg.last, ids);
    if (!acr_find_text_defs_unindexed(&reply, a_class.kinds, arg.last, error))
        return false;
    if (reply.hits->len == 0)
        return acr_named_instead(&reply, &a_class, &arg, out, error);
    return acr_named_finish(&reply, &a_class, &arg, out, error);
}

/* True if one of the files imports or assigns `name`. */
static bool is_known_in_files(const AcrSearch *search, const char *name, const AcrFileMatch *files)
{
    g_autoptr(GArray) imports = acr_find_named(search->index, ACR_KIND(ACR_SYMBOL_IMPORT), name);
    g_autoptr(GArray) assigns = acr_find_named(search->index, ACR_KIND(ACR_SYMBOL_ASSIGN), name);
    g_autoptr(GArray) imported = acr_find_in_files(search, imports, files);
    g_autoptr(GArray) assigned = acr_find_in_files(search, assigns, files);
    return imported->len + assigned->len > 0;
}

/* Returns the classes in the files that the argument names. If the files only import or assign the
 * name, returns the classes with that name in other files. */
static GArray *classes_in_files(AcrReply *reply, const AcrNameArg *arg, const AcrFileMatch *files)
{
    AcrSearch *search = reply->search;
    g_autoptr(GArray) all = acr_find_classes(search->index, arg, NULL);
    GArray *here = acr_find_in_files(search, all, files);
    if (here->len == 0 && all->len && is_known_in_files(search, arg->last, files)) {
        acr_reply_note(reply, "The file only imports or assigns %s; it is defined elsewhere.",
                       arg->text);
        g_array_append_vals(here, all->data, all->len);
    }
    acr_add_aliases(reply, arg->last, here);
    if (here->len)
        return here;
    g_array_unref(here);
    return acr_named_otherwise(reply, &a_class, arg, files);
}

bool acr_answer_class_in_file(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                              GError **error)
{
    static const AcrSoughtInFiles how = {&a_class, ACR_VIEW_WHOLE, classes_in_files};
    return acr_named_in_files(search, call, &how, out, error);
}
