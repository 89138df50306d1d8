/*
 * Answers a call by the function of its row, after checking the arguments' bounds and repairing
 * text that is not UTF-8.
 */
#include <string.h>

#include "search/search_private.h"

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

/* An added call may leave parts out, or say too much. */
static void tidy(AcrAnswer *answer)
{
    if (!answer->places)
        answer->places = g_ptr_array_new_with_free_func((GDestroyNotify)acr_place_free);
    if (answer->places->len > ACR_SEARCH_MAX_PLACES)
        g_ptr_array_set_size(answer->places, ACR_SEARCH_MAX_PLACES);
    const char *output = answer->output ? answer->output : "";
    gsize len = strlen(output);
    if (answer->output && len <= ACR_SEARCH_MAX_OUTPUT &&
        g_utf8_validate(output, (gssize)len, NULL))
        return;
    g_autofree char *valid = acr_utf8_repair(output, len);
    g_free(answer->output);
    answer->output = acr_text_shorten(valid, ACR_SEARCH_MAX_OUTPUT);
}

bool acr_search_run(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    if (!call->spec || !call->spec->answer) {
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
    /* What an earlier call found out must not change the words of this one. */
    g_clear_pointer(&search->absent, g_free);
    g_auto(AcrAnswer) answer = {0};
    if (!call->spec->answer(search, &checked, &answer, error))
        return false;
    tidy(&answer);
    *out = answer;
    answer = (AcrAnswer){0};
    return true;
}
