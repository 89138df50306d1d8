/* Answers a call that searches for a class or function by name. If there is no such definition, the
 * answer shows other kinds of definitions, the name in another case, or lines that use the name. If
 * there are none of these, it shows the nearest names. A note says what is shown. */
#include <string.h>

#include "search/calls_private.h"

static void add_near(AcrReply *reply, const GArray *ids, const AcrScope *scope)
{
    for (guint i = 0; i < ids->len; i++) {
        guint32 id = g_array_index(ids, guint32, i);
        guint32 near = acr_nearness(reply->search, scope, acr_search_entry_of(reply->search, id));
        acr_reply_add_symbol(reply, id, ACR_VIEW_SIGNATURES, near);
    }
}

/* Returns the symbols of the other kind that the argument names: functions instead of classes, or
 * classes instead of functions. */
static GArray *find_other_kind(const AcrIndex *index, const AcrSought *sought,
                               const AcrNameArg *arg)
{
    return sought->kinds & ACR_FUNCTIONS ? acr_find_classes(index, arg, NULL)
                                         : acr_find_defs(index, arg, NULL);
}

GArray *acr_named_otherwise(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                            const AcrFileMatch *files)
{
    const AcrIndex *index = reply->search->index;
    for (guint step = 0; step < 2 && !reply->search->mode.exact; step++) {
        g_autoptr(GArray) ids = step == 0
                                    ? find_other_kind(index, sought, arg)
                                    : acr_find_named(index, ACR_KIND(ACR_SYMBOL_ASSIGN), arg->last);
        g_autoptr(GArray) kept =
            files ? acr_find_in_files(reply->search, ids, files) : g_array_ref(ids);
        if (kept->len == 0)
            continue;
        g_autofree char *shown = acr_search_shown(arg->text);
        const char *other = sought->kinds & ACR_FUNCTIONS ? "a class" : "a function or method";
        g_autofree char *name =
            reply->search->mode.literal
                ? g_strdup_printf("an assigned name (/%s finds all its lines)", arg->last)
                : g_strdup("an assigned name");
        acr_reply_note(reply, "There is no %s named %s; it is %s.", sought->noun, shown,
                       step == 0 ? other : name);
        return g_steal_pointer(&kept);
    }
    return g_array_new(FALSE, FALSE, sizeof(guint32));
}

void acr_add_aliases(AcrReply *reply, const char *name, const GArray *classes)
{
    const AcrIndex *index = reply->search->index;
    static const AcrSymbolKind kinds[] = {ACR_SYMBOL_ASSIGN, ACR_SYMBOL_IMPORT};
    guint32 rank = 0;
    if (classes->len == 0)
        return;
    for (guint i = 0; i < classes->len; i++)
        if (strcmp(acr_index_symbol(index, g_array_index(classes, guint32, i))->name, name) == 0)
            return;
    for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++) {
        g_autoptr(GArray) ids = acr_find_named(index, ACR_KIND(kinds[k]), name);
        for (guint i = 0; i < ids->len; i++) {
            guint32 id = g_array_index(ids, guint32, i);
            const AcrSymbol *symbol = acr_index_symbol(index, id);
            if (!symbol->value || strcmp(symbol->value, name) == 0)
                continue;
            acr_reply_add_symbol(reply, id, ACR_VIEW_AROUND, rank);
            rank = 2; /* a single alias is shown before the classes, further aliases after them */
        }
    }
}

static void note_missing(AcrReply *reply, const char *missing, const char *rest)
{
    acr_reply_note(reply, "%s %s", missing, rest);
}

/* Adds definitions of the name in another case, and uses of the name. The order is: one definition,
 * the uses, the other definitions. */
static bool add_folded_and_uses(AcrReply *reply, const GPtrArray *words, const AcrScope *scope,
                                const char *missing, GError **error)
{
    const char *word = g_ptr_array_index(words, 0);
    g_autoptr(GArray) folded = acr_find_named_folded(reply->search->index, ACR_DEFINITIONS, word);
    if (reply->search->mode.literal)
        g_array_set_size(folded, 0);
    AcrUsesFound found;
    if (folded->len) {
        note_missing(reply, missing, "Names that differ only in upper and lower case are shown.");
        acr_reply_add_symbol(reply, g_array_index(folded, guint32, 0), ACR_VIEW_SIGNATURES, 0);
    }
    if (!acr_uses_add(reply, words, scope, &found, error))
        return false;
    if (found.word && folded->len)
        acr_reply_note(reply, "Lines that use %s in this spelling follow.", word);
    else if (found.word && reply->search->mode.literal)
        acr_reply_note(reply, "no class or function is named '%s'; these lines contain it", word);
    else if (found.word)
        note_missing(
            reply, missing,
            found.where == ACR_USES_PYTHON
                ? "It is not defined outside the tests; these lines use the name:"
                : "No Python file outside the tests contains it; these lines of other files do:");
    if (found.word && found.where == ACR_USES_OTHERS)
        acr_suggest_append(reply->tail, reply->search->index, ACR_DEFINITIONS, word);
    for (guint i = 1; i < folded->len; i++)
        acr_reply_add_symbol(reply, g_array_index(folded, guint32, i), ACR_VIEW_SIGNATURES,
                             G_MAXUINT32 - 1);
    return true;
}

/* Returns the words of a name argument, the last first. The others only help to rank lines. */
static GPtrArray *words_of_name(const AcrNameArg *arg)
{
    const char *paren = strchr(arg->text, '(');
    g_autofree char *head =
        paren && paren > arg->text ? g_strndup(arg->text, (gsize)(paren - arg->text)) : NULL;
    GPtrArray *words = acr_words_of(head ? head : arg->text);
    if (words->len == 0)
        g_ptr_array_add(words, g_strdup(arg->text));
    return words;
}

/* Adds a note that lists the files of the module `arg`, if there is such a module. */
static void note_modules(AcrReply *reply, const AcrNameArg *arg)
{
    const AcrIndex *index = reply->search->index;
    guint told = 0;
    for (gsize i = 0; i < acr_index_n_files(index) && arg->is_name; i++) {
        const char *path = acr_index_file(index, i)->path;
        if (!acr_search_is_module(path, arg->text) || told++ >= ACR_RESULT_SHOW_LIMIT)
            continue;
        g_autofree char *shown = acr_search_shown(path);
        acr_reply_note(reply, "%s is a module: %s.", arg->text, shown);
    }
}

bool acr_instead_of_name(AcrReply *reply, const AcrNameArg *arg, const AcrScope *scope,
                         const char *missing, GError **error)
{
    AcrSearchMode mode = reply->search->mode;
    if (mode.exact || (mode.literal && arg->qualifier))
        return true;
    g_autoptr(GPtrArray) words = words_of_name(arg);
    const char *word = g_ptr_array_index(words, 0);
    g_autoptr(GArray) ids = acr_find_definitions(reply->search->index, word);
    g_autofree char *sentence = strcmp(word, arg->last) == 0
                                    ? g_strdup(missing)
                                    : g_strdup_printf("%s Searched for %s instead.", missing, word);
    if (ids->len == 0) {
        if (!add_folded_and_uses(reply, words, scope, sentence, error))
            return false;
        if (reply->hits->len)
            note_modules(reply, arg);
        return true;
    }
    note_missing(reply, sentence,
                 scope->files || scope->classes ? "It is defined elsewhere:"
                                                : "These have that name:");
    add_near(reply, ids, scope);
    return true;
}

bool acr_named_finish(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                      AcrAnswer *out, GError **error)
{
    g_autofree char *shown = acr_search_shown(arg->text);
    g_autofree char *one = g_strdup_printf("result for %s", shown);
    g_autofree char *many = g_strdup_printf("results for %s", shown);
    return acr_reply_finish(reply, one, many, sought->collapse, out, error);
}

void acr_named_append_nearest(GString *text, AcrSearch *search, const AcrSought *sought,
                              const AcrNameArg *arg)
{
    guint kinds = search->mode.literal ? ACR_DEFINITIONS : sought->kinds;
    acr_suggest_append(text, search->index, kinds, arg->last);
    acr_suggest_occurrences(text, search, arg->last);
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
    acr_named_append_nearest(text, reply->search, sought, arg);
    acr_reply_miss(reply, g_strdup(text->str), out);
    return true;
}

static void miss_in_file(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                         const AcrFileMatch *files, const char *file, AcrAnswer *out)
{
    g_autofree char *shown = acr_search_shown(arg->text), *shown_file = acr_search_shown(file);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "Found no %s %s in %s.\n", sought->noun, shown, shown_file);
    acr_suggest_files(text, reply->search, files, file);
    acr_suggest_file_contents(text, reply->search, files);
    acr_named_append_nearest(text, reply->search, sought, arg);
    acr_reply_miss(reply, g_strdup(text->str), out);
}

/* Returns a sentence that says what the files do not contain; owned. */
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
    g_auto(AcrNameArg) arg = {0};
    g_auto(AcrFileMatch) files = {0};
    g_auto(AcrReply) reply = {0};
    acr_name_arg_init(&arg, call->values[0]);
    arg.is_whole = search->mode.literal;
    acr_file_match_init(&files, search, call->values[1]);
    acr_reply_init(&reply, search);
    if (files.note)
        acr_reply_note(&reply, "%s", files.note);
    g_autoptr(GArray) ids = how->in_files(&reply, &arg, &files);
    acr_reply_add_symbols(&reply, ids, how->view);
    if (ids->len == 0 &&
        !acr_find_text_defs_in(&reply, &files, how->sought->kinds, arg.last, error))
        return false;
    if (reply.hits->len > 0)
        return acr_named_finish(&reply, how->sought, &arg, out, error);
    const AcrScope scope = {.files = files.entries->len ? &files : NULL};
    g_autofree char *missing = missing_in_files(how->sought, &arg, &files, call->values[1]);
    if (!search->mode.globs && !acr_instead_of_name(&reply, &arg, &scope, missing, error))
        return false;
    if (reply.hits->len > 0) {
        acr_suggest_file_contents(reply.tail, search, &files);
        return acr_named_finish(&reply, how->sought, &arg, out, error);
    }
    miss_in_file(&reply, how->sought, &arg, &files, call->values[1], out);
    return true;
}
