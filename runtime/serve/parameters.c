/*
 * What the methods share: parameters of a request, and why something could not be answered.
 */
#include <string.h>

#include "serve/serve_private.h"

const char *acr_serve_param(const AcrServeRequest *request, const char *name, AcrServeFault *fault)
{
    const char *text = acr_json_get_string(request->message->params, name);
    if (!text)
        acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS, "%s needs params.%s, a string",
                         request->message->method, name);
    return text;
}

bool acr_serve_one_page(const AcrServeRequest *request, AcrServeFault *fault)
{
    if (acr_json_type(acr_json_get(request->message->params, "cursor")) == ACR_JSON_NULL)
        return true;
    acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS,
                     "the list has one page: there is no such cursor");
    return false;
}

char *acr_serve_told(const AcrServeRequest *request, const GError *error)
{
    if (acr_time_is_over(request->interrupt))
        return g_strdup_printf("this took longer than %g s (--timeout); what was indexed is kept",
                               (double)request->options->call_ms / 1000);
    return acr_utf8_repair(error->message, strlen(error->message));
}
