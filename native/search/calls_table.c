/*
 * The table of search calls: names, parameters, the sentence that the model reads about each, and
 * the function that answers it, called here after the arguments' bounds were checked. The names are
 * a contract.
 */
#include <string.h>

#include "search/calls_private.h"

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
     acr_answer_class},
    {"search_class_in_file",
     {STR("class_name"), STR("file_name")},
     "Shows the whole source of a class in the files of that name.",
     acr_answer_class_in_file},
    {"search_method",
     {STR("method_name")},
     "Shows every function and method of that name in the repository.",
     acr_answer_method},
    {"search_method_in_file",
     {STR("method_name"), STR("file_name")},
     "Shows the functions and methods of that name in the files of that name.",
     acr_answer_method_in_file},
    {"search_method_in_class",
     {STR("method_name"), STR("class_name")},
     "Shows a method of a class, also one that the class inherits.",
     acr_answer_method_in_class},
    {"search_code",
     {STR("code_str")},
     "Finds literal text in the Python files and shows the lines around each place; text that "
     "begins with re: is a regular expression.",
     acr_answer_code},
    {"search_code_in_file",
     {STR("code_str"), STR("file_name")},
     "Finds literal text in the files of that name and shows the lines around each place; text "
     "that begins with re: is a regular expression.",
     acr_answer_code_in_file},
    {"get_code_around_line",
     {STR("file_name"), INT("line_number"), INT("window_size")},
     "Shows a line of a file with window_size lines before and after it.",
     acr_answer_around_line},
};

const AcrCallSpec *acr_search_call_specs(gsize *out_n)
{
    *out_n = G_N_ELEMENTS(calls);
    return calls;
}

const AcrCallSpec *acr_search_call_spec(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(calls); i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

/* What is wrong with an argument, as a sentence for the model; owned; NULL when nothing is. */
static char *fault_of(const AcrParam *param, const char *value)
{
    if (strlen(value) > ACR_SEARCH_MAX_ARGUMENT)
        return g_strdup_printf("The argument %s is too long: at most %u bytes are searched for.\n",
                               param->name, ACR_SEARCH_MAX_ARGUMENT);
    while (g_ascii_isspace(*value))
        value++;
    return *value
               ? NULL
               : g_strdup_printf("The argument %s is empty: say what to look for.\n", param->name);
}

bool acr_search_run(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    g_auto(AcrCall) checked = {.spec = call->spec};
    g_auto(AcrReply) reply = {0};
    acr_reply_init(&reply, search);
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && call->spec->params[i].name; i++) {
        if (!call->values[i])
            return acr_set_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL,
                                 "%s: argument '%s' is missing", call->spec->name,
                                 call->spec->params[i].name);
        char *fault = fault_of(&call->spec->params[i], call->values[i]);
        if (fault) {
            acr_reply_miss(&reply, fault, out);
            return true;
        }
        checked.values[i] = acr_utf8_repair(call->values[i], strlen(call->values[i]));
    }
    return call->spec->answer(search, &checked, out, error);
}
