/*
 * Answers a call: pairs each row of the table of calls with its function, checks the arguments'
 * bounds, and repairs text that is not UTF-8 before anything looks at it.
 */
#include <string.h>

#include "search/search_private.h"

static const struct {
    const char *name;
    AcrCallAnswer answer;
} answers[] = {
    {"search_class", acr_answer_class},
    {"search_class_in_file", acr_answer_class_in_file},
    {"search_method", acr_answer_method},
    {"search_method_in_file", acr_answer_method_in_file},
    {"search_method_in_class", acr_answer_method_in_class},
    {"search_code", acr_answer_code},
    {"search_code_in_file", acr_answer_code_in_file},
    {"get_code_around_line", acr_answer_around_line},
};

static AcrCallAnswer answer_of(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(answers); i++) {
        if (strcmp(answers[i].name, name) == 0)
            return answers[i].answer;
    }
    return NULL;
}

/* Says in `reply` what is wrong with an argument; false when nothing is. */
static bool refuse(AcrReply *reply, const AcrParam *param, const char *value, AcrAnswer *out)
{
    g_autofree char *trimmed = g_strstrip(g_strdup(value));
    if (strlen(value) > ACR_SEARCH_MAX_ARGUMENT) {
        acr_reply_miss(
            reply,
            g_strdup_printf("The argument %s is too long: at most %u bytes are searched for.\n",
                            param->name, ACR_SEARCH_MAX_ARGUMENT),
            out);
        return true;
    }
    if (!*trimmed) {
        acr_reply_miss(
            reply,
            g_strdup_printf("The argument %s is empty: say what to look for.\n", param->name), out);
        return true;
    }
    return false;
}

bool acr_search_run(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    AcrCallAnswer answer = call->spec ? answer_of(call->spec->name) : NULL;
    if (!answer) {
        g_set_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL, "no search call '%s'",
                    call->spec ? call->spec->name : "");
        return false;
    }
    g_auto(AcrCall) checked = {.spec = call->spec};
    g_auto(AcrReply) reply;
    acr_reply_init(&reply, search);
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && call->spec->params[i].name; i++) {
        if (!call->values[i]) {
            g_set_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL,
                        "%s: argument '%s' is missing", call->spec->name,
                        call->spec->params[i].name);
            return false;
        }
        if (refuse(&reply, &call->spec->params[i], call->values[i], out))
            return true;
        checked.values[i] = acr_utf8_repair(call->values[i], strlen(call->values[i]));
    }
    return answer(search, &checked, out, error);
}
