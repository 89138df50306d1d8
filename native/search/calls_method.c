/* search_method, search_method_in_file and search_method_in_class. If the name belongs to a class
 * or an assignment, the answer shows its definition, with a note; of a class it shows the
 * signatures. Inherited members are shown where they are defined. */
#include "search/calls_private.h"

static const AcrSought a_def = {"function or method", ACR_FUNCTIONS, ACR_COLLAPSE_METHODS};

bool acr_answer_method(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    g_auto(AcrNameArg) arg = {0};
    g_auto(AcrReply) reply = {0};
    acr_name_arg_init(&arg, call->values[0]);
    arg.is_whole = search->mode.literal;
    acr_reply_init(&reply, search);
    g_autoptr(GArray) ids = acr_find_defs(search->index, &arg, reply.notes);
    if (ids->len == 0) {
        g_clear_pointer(&ids, g_array_unref);
        ids = acr_named_otherwise(&reply, &a_def, &arg, NULL);
    }
    acr_reply_add_symbols(&reply, ids, ACR_VIEW_SIGNATURES);
    if (!acr_find_text_defs_unindexed(&reply, a_def.kinds, arg.last, error))
        return false;
    if (reply.hits->len == 0)
        return acr_named_instead(&reply, &a_def, &arg, out, error);
    return acr_named_finish(&reply, &a_def, &arg, out, error);
}

/* Returns the functions in the files that the argument names. If there are none with the qualified
 * name, returns those with the same last part. */
static GArray *same_defs_in_files(AcrReply *reply, const AcrNameArg *arg, const AcrFileMatch *files)
{
    AcrSearch *search = reply->search;
    g_autoptr(GArray) all = acr_find_defs(search->index, arg, NULL);
    GArray *here = acr_find_in_files(search, all, files);
    if (here->len || !arg->qualifier || arg->is_whole)
        return here;
    g_array_unref(here);
    g_autoptr(GArray) bare = acr_find_named(search->index, ACR_FUNCTIONS, arg->last);
    here = acr_find_in_files(search, bare, files);
    if (here->len)
        acr_reply_note(reply, "There is no %s there; %s is shown instead.", arg->text, arg->last);
    return here;
}

static GArray *defs_in_files(AcrReply *reply, const AcrNameArg *arg, const AcrFileMatch *files)
{
    g_autoptr(GArray) ids = same_defs_in_files(reply, arg, files);
    return ids->len ? g_steal_pointer(&ids) : acr_named_otherwise(reply, &a_def, arg, files);
}

bool acr_answer_method_in_file(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                               GError **error)
{
    static const AcrSoughtInFiles how = {&a_def, ACR_VIEW_SIGNATURES, defs_in_files};
    return acr_named_in_files(search, call, &how, out, error);
}

static void add_members(AcrReply *reply, guint32 class_id, const char *name)
{
    const AcrIndex *index = reply->search->index;
    guint32 owner = class_id;
    g_autoptr(GArray) ids = acr_find_members(index, class_id, name, &owner);
    if (ids->len && owner != class_id) {
        const AcrSymbol *klass = acr_index_symbol(index, class_id),
                        *from = acr_index_symbol(index, owner);
        acr_reply_note(reply, "%s (%s) does not define %s itself: it inherits that from %s (%s).",
                       klass->qualname, acr_index_file(index, klass->file)->path, name,
                       from->qualname, acr_index_file(index, from->file)->path);
    }
    acr_reply_add_symbols(reply, ids, ACR_VIEW_WHOLE);
}

/* Adds the places at which the class assigns self.NAME. If the class has no such assignment, uses
 * its nearest ancestor that has one. */
static bool add_attribute(AcrReply *reply, guint32 class_id, const char *name, GError **error)
{
    g_autoptr(GArray) all = acr_index_ancestors(reply->search->index, class_id);
    g_array_prepend_val(all, class_id);
    for (guint i = 0; i < all->len && reply->hits->len == 0; i++)
        if (!acr_text_find_attribute(reply, g_array_index(all, guint32, i), name, error))
            return false;
    return true;
}

static GArray *owners(AcrReply *reply, const AcrNameArg *klass)
{
    const AcrIndex *index = reply->search->index;
    GArray *classes = acr_find_classes(index, klass, reply->notes);
    g_autoptr(GArray) assigned = acr_find_named(index, ACR_KIND(ACR_SYMBOL_ASSIGN), klass->last);
    if (classes->len == 0 && assigned->len) {
        const AcrSymbol *first = acr_index_symbol(index, g_array_index(assigned, guint32, 0));
        acr_reply_note(reply, "%s is not a class but a name assigned in %s.", klass->text,
                       acr_index_file(index, first->file)->path);
    }
    acr_find_keep_owners(classes, klass->text, reply->notes);
    return classes;
}

static void append_classes(GString *out, AcrSearch *search, const GArray *classes)
{
    for (guint i = 0; i < MIN(classes->len, ACR_RESULT_SHOW_LIMIT); i++)
        acr_suggest_class_contents(out, search, g_array_index(classes, guint32, i));
}

static void miss_in_class(AcrReply *reply, const AcrNameArg *arg, const AcrNameArg *klass,
                          const GArray *classes, AcrAnswer *out)
{
    AcrSearch *search = reply->search;
    g_autofree char *shown = acr_search_shown(arg->text),
                    *shown_class = acr_search_shown(klass->text);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(
        text, "Found no method %s in class %s, nor in the classes it inherits from here.\n", shown,
        shown_class);
    append_classes(text, search, classes);
    if (classes->len == 0) {
        g_string_append_printf(text, "There is no class %s.\n", shown_class);
        acr_suggest_append(text, search->index, ACR_KIND(ACR_SYMBOL_CLASS), klass->last);
    }
    acr_named_append_nearest(text, search, &a_def, arg);
    acr_reply_miss(reply, g_strdup(text->str), out);
}

/* Adds other definitions or uses of the name, beginning with those in the named classes. If there
 * are none, the answer says that nothing was found. */
static bool instead_in_class(AcrReply *reply, const AcrNameArg *arg, const AcrNameArg *klass,
                             const GArray *classes, AcrAnswer *out, GError **error)
{
    const AcrScope scope = {.classes = classes->len ? classes : NULL};
    g_autofree char *shown = acr_search_shown(arg->text),
                    *shown_class = acr_search_shown(klass->text);
    g_autofree char *missing =
        classes->len
            ? g_strdup_printf("There is no method %s in class %s, nor in the classes it inherits "
                              "from here.",
                              shown, shown_class)
            : g_strdup_printf("There is no class %s.", shown_class);
    if (!reply->search->mode.literal && !acr_instead_of_name(reply, arg, &scope, missing, error))
        return false;
    if (reply->hits->len == 0) {
        miss_in_class(reply, arg, klass, classes, out);
        return true;
    }
    append_classes(reply->tail, reply->search, classes);
    return acr_named_finish(reply, &a_def, arg, out, error);
}

/* Adds the functions called arg->last of a module or file that was given as the class argument. */
static void add_of_module(AcrReply *reply, const AcrNameArg *arg, const char *module)
{
    g_auto(AcrFileMatch) files = {0};
    acr_file_match_init(&files, reply->search, module);
    if (files.note) /* the argument matched something other than a file of that name */
        return;
    g_autoptr(GArray) all = acr_find_named(reply->search->index, ACR_FUNCTIONS, arg->last);
    g_autoptr(GArray) here = acr_find_in_files(reply->search, all, &files);
    for (guint i = 0; i < here->len; i++) {
        guint32 id = g_array_index(here, guint32, i);
        bool is_method = acr_index_symbol(reply->search->index, id)->parent >= 0;
        acr_reply_add_symbol(reply, id, ACR_VIEW_WHOLE, reply->search->mode.literal && is_method);
    }
    g_autofree char *shown = acr_search_shown(module);
    if (here->len)
        acr_reply_note(reply, "%s is not a class but a module.", shown);
}

/* Adds the functions that the package `package` imports as arg->last, for people. */
static void add_of_package(AcrReply *reply, const AcrNameArg *arg, const char *package)
{
    g_autofree char *name = g_strconcat(package, ".", arg->last, NULL);
    g_auto(AcrNameArg) whole = {0};
    acr_name_arg_init(&whole, name);
    whole.is_whole = true;
    g_autoptr(GArray) ids = acr_find_defs(reply->search->index, &whole, NULL);
    acr_reply_add_symbols(reply, ids, ACR_VIEW_WHOLE);
}

bool acr_answer_method_in_class(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                                GError **error)
{
    g_auto(AcrNameArg) arg = {0}, klass = {0};
    g_auto(AcrReply) reply = {0};
    acr_name_arg_init(&arg, call->values[0]);
    acr_name_arg_init(&klass, call->values[1]);
    klass.is_whole = search->mode.literal;
    acr_reply_init(&reply, search);
    g_autoptr(GArray) classes = owners(&reply, &klass);
    for (guint i = 0; i < classes->len; i++)
        add_members(&reply, g_array_index(classes, guint32, i), arg.last);
    for (guint i = 0; i < classes->len && reply.hits->len == 0; i++)
        if (!add_attribute(&reply, g_array_index(classes, guint32, i), arg.last, error))
            return false;
    if (classes->len == 0)
        add_of_module(&reply, &arg, call->values[1]);
    if (classes->len == 0 && reply.hits->len == 0 && search->mode.literal)
        add_of_package(&reply, &arg, call->values[1]);
    if (reply.hits->len == 0)
        return instead_in_class(&reply, &arg, &klass, classes, out, error);
    return acr_named_finish(&reply, &a_def, &arg, out, error);
}
