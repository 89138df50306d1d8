/* The table of search calls: name, parameters, a sentence that describes the call to the model, and
 * the function that answers the call. Models and users rely on the names, so names never change. A
 * run records the number of rows when it begins, so new calls must be added at the end of the
 * table. */
#include <string.h>

#include "base/trace.h"
#include "search/calls_private.h"

// clang-format off
#define CLASS_NAME {"class_name", ACR_PARAM_STRING, "Name of a class, also dotted: Outer.Inner, module.Class", NULL}
#define METHOD_NAME {"method_name", ACR_PARAM_STRING, "Name of a function or method, without parentheses", NULL}
#define CALLEE {"name", ACR_PARAM_STRING, "Name of a function, method or class; Class.method for those of one class", NULL}
#define HISTORY_TEXT {"text", ACR_PARAM_STRING, "Name of a function, method or class, Class.method, or a text", NULL}
#define FILE_NAME {"file_name", ACR_PARAM_STRING, "Name of a file, or the end of its path: core/add.py", NULL}
#define CODE_STR {"code_str", ACR_PARAM_STRING, "Text to find; re:PATTERN for a regular expression", NULL}
#define LINE_NUMBER {"line_number", ACR_PARAM_INTEGER, "Number of a line, from 1", NULL}
#define WINDOW_SIZE {"window_size", ACR_PARAM_INTEGER, "Lines to show before and after it, at most 500", NULL}
// clang-format on

static const AcrCallSpec calls[] = {
    {"search_class",
     {CLASS_NAME},
     "Shows the signatures of every class of that name: bases, methods with decorators, "
     "class-level assignments.",
     acr_answer_class},
    {"search_class_in_file",
     {CLASS_NAME, FILE_NAME},
     "Shows the whole source of a class in the files that file_name matches.",
     acr_answer_class_in_file},
    {"search_method",
     {METHOD_NAME},
     "Shows every function and method of that name in the repository.",
     acr_answer_method},
    {"search_method_in_file",
     {METHOD_NAME, FILE_NAME},
     "Shows the functions and methods of that name in the files that file_name matches.",
     acr_answer_method_in_file},
    {"search_method_in_class",
     {METHOD_NAME, CLASS_NAME},
     "Shows a method of a class, also one that the class inherits.",
     acr_answer_method_in_class},
    {"search_code",
     {CODE_STR},
     "Finds literal text in the Python files and shows the lines around each place; text that "
     "begins with re: is a regular expression.",
     acr_answer_code},
    {"search_code_in_file",
     {CODE_STR, FILE_NAME},
     "Finds literal text in the files that file_name matches and shows the lines around each "
     "place; text that begins with re: is a regular expression.",
     acr_answer_code_in_file},
    {"get_code_around_line",
     {FILE_NAME, LINE_NUMBER, WINDOW_SIZE},
     "Shows a line of a file with window_size lines before and after it.",
     acr_answer_around_line},
    {ACR_CALL_CALLERS,
     {CALLEE},
     "Shows the lines that call a function, method or class, with their enclosing functions.",
     acr_answer_callers},
    {ACR_CALL_HISTORY,
     {HISTORY_TEXT},
     "Lists the latest commits that change a function, method or class, or lines that contain a "
     "text, with date, subject and files.",
     acr_answer_history},
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

struct AcrCalls {
    GPtrArray *specs; /* array of borrowed AcrCallSpec */
};

AcrCalls *acr_calls_new(gsize n_own, bool has_history)
{
    AcrCalls *all = g_new0(AcrCalls, 1);
    all->specs = g_ptr_array_new();
    for (gsize i = 0; i < MIN(n_own, G_N_ELEMENTS(calls)); i++)
        if (has_history || strcmp(calls[i].name, ACR_CALL_HISTORY) != 0)
            g_ptr_array_add(all->specs, (void *)&calls[i]);
    return all;
}

AcrCalls *acr_calls_copy(const AcrCalls *all)
{
    AcrCalls *copy = acr_calls_new(0, false);
    for (gsize i = 0; i < acr_calls_n(all); i++)
        g_ptr_array_add(copy->specs, (void *)acr_calls_at(all, i));
    return copy;
}

void acr_calls_free(AcrCalls *all)
{
    if (!all)
        return;
    g_ptr_array_unref(all->specs);
    g_free(all);
}

gsize acr_calls_n(const AcrCalls *all)
{
    return all ? all->specs->len : G_N_ELEMENTS(calls);
}

const AcrCallSpec *acr_calls_at(const AcrCalls *all, gsize i)
{
    return all ? all->specs->pdata[i] : &calls[i];
}

const AcrCallSpec *acr_calls_find(const AcrCalls *all, const char *name)
{
    for (gsize i = 0; i < acr_calls_n(all); i++)
        if (strcmp(acr_calls_at(all, i)->name, name) == 0)
            return acr_calls_at(all, i);
    return NULL;
}

const char *acr_calls_nearest(const AcrCalls *all, const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (gsize i = 0; i < acr_calls_n(all); i++)
        g_ptr_array_add(names, (char *)acr_calls_at(all, i)->name);
    g_ptr_array_add(names, NULL);
    return acr_nearest_name(name, (const char *const *)names->pdata);
}

bool acr_calls_add(AcrCalls *all, const AcrCallSpec *spec)
{
    if (acr_calls_find(all, spec->name))
        return false;
    g_ptr_array_add(all->specs, (void *)spec);
    return true;
}

/* Returns a sentence for the model that says why `value` is invalid; owned; NULL if it is valid. */
static char *fault_of(const AcrParam *param, const char *value)
{
    if (strlen(value) > ACR_SEARCH_MAX_ARGUMENT)
        return g_strdup_printf("The argument %s is too long: at most %u bytes are searched for.\n",
                               param->name, ACR_SEARCH_MAX_ARGUMENT);
    while (g_ascii_isspace(*value))
        value++;
    return *value || param->otherwise
               ? NULL
               : g_strdup_printf("The argument %s is empty: say what to look for.\n", param->name);
}

bool acr_search_run(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    g_auto(AcrCall) checked = {.spec = call->spec};
    g_auto(AcrReply) reply = {0};
    acr_reply_init(&reply, search);
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && call->spec->params[i].name; i++) {
        const AcrParam *param = &call->spec->params[i];
        if (!call->values[i] && param->otherwise)
            continue;
        if (!call->values[i])
            return acr_set_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL,
                                 "%s: argument '%s' is missing", call->spec->name, param->name);
        char *fault = fault_of(param, call->values[i]);
        if (fault) {
            acr_reply_miss(&reply, fault, out);
            return true;
        }
        checked.values[i] = acr_utf8_repair(call->values[i], strlen(call->values[i]));
    }
    gint64 start = g_get_monotonic_time();
    if (!call->spec->answer(search, &checked, out, error))
        return false;
    acr_trace("search", "%s(\"%s\"): %u places, %s, in %d us", call->spec->name,
              checked.values[0] ? checked.values[0] : "", out->places ? out->places->len : 0,
              out->ok ? "found" : "nothing found", (int)(g_get_monotonic_time() - start));
    return true;
}
