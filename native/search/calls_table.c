/*
 * The table of search calls: names, parameters, the sentence that the model reads about each, and
 * the function that answers it. The names are a contract. A search may be given further rows, which
 * then count like these; a name is never given twice.
 */
#include <string.h>

#include "search/search_private.h"

#define STR(param)                                                                                 \
    {                                                                                              \
        param, ACR_PARAM_STRING                                                                    \
    }
#define INT(param)                                                                                 \
    {                                                                                              \
        param, ACR_PARAM_INTEGER                                                                   \
    }

static const AcrCallSpec calls[] = {
    {"search_class",
     {STR("class_name")},
     "Shows the signatures of every class of that name: bases, methods with decorators, "
     "class-level assignments.",
     acr_answer_class,
     NULL},
    {"search_class_in_file",
     {STR("class_name"), STR("file_name")},
     "Shows the whole source of a class in the files of that name.",
     acr_answer_class_in_file,
     NULL},
    {"search_method",
     {STR("method_name")},
     "Shows every function and method of that name in the repository.",
     acr_answer_method,
     NULL},
    {"search_method_in_file",
     {STR("method_name"), STR("file_name")},
     "Shows the functions and methods of that name in the files of that name.",
     acr_answer_method_in_file,
     NULL},
    {"search_method_in_class",
     {STR("method_name"), STR("class_name")},
     "Shows a method of a class, also one that the class inherits.",
     acr_answer_method_in_class,
     NULL},
    {"search_code",
     {STR("code_str")},
     "Finds literal text in the Python files and shows the lines around each place; text that "
     "begins with re: is a regular expression.",
     acr_answer_code,
     NULL},
    {"search_code_in_file",
     {STR("code_str"), STR("file_name")},
     "Finds literal text in the files of that name and shows the lines around each place; text "
     "that begins with re: is a regular expression.",
     acr_answer_code_in_file,
     NULL},
    {"get_code_around_line",
     {STR("file_name"), INT("line_number"), INT("window_size")},
     "Shows a line of a file with window_size lines before and after it.",
     acr_answer_around_line,
     NULL},
};

const AcrCallSpec *acr_search_call_specs(gsize *out_n)
{
    *out_n = G_N_ELEMENTS(calls);
    return calls;
}

const AcrCallSpec *acr_search_call_spec(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(calls); i++) {
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    }
    return NULL;
}

const AcrCallSpec *acr_search_find_call(const AcrSearch *search, const char *name)
{
    const AcrCallSpec *found = acr_search_call_spec(name);
    for (guint i = 0; i < search->calls->len && !found; i++) {
        const AcrCallSpec *spec = g_ptr_array_index(search->calls, i);
        if (strcmp(spec->name, name) == 0)
            found = spec;
    }
    return found;
}

GPtrArray *acr_search_calls(const AcrSearch *search)
{
    GPtrArray *rows = g_ptr_array_new();
    for (gsize i = 0; i < G_N_ELEMENTS(calls); i++)
        g_ptr_array_add(rows, (void *)&calls[i]);
    for (guint i = 0; i < search->calls->len; i++)
        g_ptr_array_add(rows, g_ptr_array_index(search->calls, i));
    return rows;
}

static bool is_identifier(const char *name)
{
    if (!name || !(g_ascii_isalpha(*name) || *name == '_') || strlen(name) > ACR_SEARCH_MAX_NAME)
        return false;
    while (g_ascii_isalnum(*name) || *name == '_')
        name++;
    return *name == '\0';
}

/* What is wrong with a row, or NULL. */
static const char *fault_of(const AcrSearch *search, const AcrCallSpec *spec)
{
    if (!is_identifier(spec->name))
        return "its name is no identifier";
    if (!spec->answer || !spec->summary)
        return "it has no function or no summary";
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && spec->params[i].name; i++) {
        if (!is_identifier(spec->params[i].name))
            return "the name of a parameter is no identifier";
    }
    if (acr_search_find_call(search, spec->name))
        return "there is a call of that name";
    return G_N_ELEMENTS(calls) + search->calls->len >= ACR_SEARCH_MAX_CALLS ? "there are too many"
                                                                            : NULL;
}

bool acr_search_add_call(AcrSearch *search, const AcrCallSpec *spec, GError **error)
{
    const char *fault = fault_of(search, spec);
    if (fault) {
        g_autofree char *shown = acr_search_shown(spec->name ? spec->name : "");
        g_set_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL,
                    "cannot add the call '%s': %s", shown, fault);
        return false;
    }
    g_ptr_array_add(search->calls, (void *)spec);
    return true;
}
