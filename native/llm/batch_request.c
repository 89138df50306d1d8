/* Redirects a request from the provider to the broker of batch interfaces. */
#include "llm/batch_broker.h"

#include <string.h>

#include "llm/llm_private.h"

void acr_batch_request_clear(AcrBatchRequest *request)
{
    g_clear_pointer(&request->url, g_free);
    g_clear_pointer(&request->token, acr_wipe);
    g_clear_pointer(&request->body, acr_wipe); /* the body contains the provider's key */
}

static char *name_call(const char *instance, const AcrModelRequest *call, guint retries,
                       const char *body)
{
    g_autofree char *text =
        g_strdup_printf("%s\n%s\n%s\n%" G_GSIZE_FORMAT "\n%u\n%s", instance ? instance : "",
                        call->label, acr_conversation_name(call->conversation),
                        acr_conversation_size(call->conversation), retries, body);
    return acr_sha256_hex(text, strlen(text));
}

void acr_batch_address(AcrBatchRequest *out, const char *broker, const char *instance,
                       const AcrModelRequest *call, guint retries, AcrHttpRequest *request)
{
    const char *space = strchr(broker, ' ');
    g_autofree char *key = name_call(instance, call, retries, request->body);
    g_autoptr(AcrJson) json =
        acr_json_of(ACR_STRING("key", key), ACR_STRING("url", request->url),
                    ACR_JSON("headers", acr_json_new_strings(request->headers)),
                    ACR_STRING("body", request->body), NULL);
    *out = (AcrBatchRequest){.url = g_strndup(broker, (gsize)(space - broker)),
                             .token = g_strconcat("Authorization: Bearer", space, NULL),
                             .body = acr_json_print(json)};
    out->headers[0] = "Content-Type: application/json";
    out->headers[1] = out->token;
    request->url = out->url;
    request->unix_socket = NULL;
    request->headers = out->headers;
    request->body = out->body;
    request->body_len = strlen(out->body);
}

char *acr_batch_refusal(const char *why)
{
    g_autofree char *text = g_strconcat("the batch API gave no answer: ", why, NULL);
    AcrJson *error =
        acr_json_of(ACR_STRING("type", "overloaded_error"), ACR_STRING("message", text), NULL);
    g_autoptr(AcrJson) json =
        acr_json_of(ACR_STRING("type", "error"), ACR_JSON("error", error), NULL);
    return acr_json_print(json);
}

bool acr_batch_was_sent(const AcrBatchRequest *request, const AcrHttpResponse *response)
{
    return response->sent && !(request->url && response->status == ACR_BATCH_NO_ANSWER);
}
