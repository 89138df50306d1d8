/* Asks for JSON in words if the server has no parameter for JSON, or rejected the parameter. The
 * words are a sentence for the system prompt, followed by the schema. */
#include "llm/provider.h"

#include <string.h>

bool acr_mentions_json(const AcrConversation *conversation, gsize from)
{
    for (gsize i = from; i < acr_conversation_size(conversation); i++)
        if (strcasestr(acr_conversation_message(conversation, i)->content, "json"))
            return true;
    return false;
}

char *acr_json_instruction(const AcrModelRequest *request, bool has_json, bool has_schema)
{
    g_autofree char *schema =
        request->schema && !has_schema ? acr_json_print(request->schema) : NULL;
    if (!request->json && !request->schema)
        return g_strdup(request->tools ? request->tools_hint : NULL);
    if (schema)
        return g_strdup_printf(ACR_JSON_INSTRUCTION " It must follow this JSON schema:\n%s",
                               schema);
    if (has_schema || (has_json && acr_mentions_json(request->conversation, 0)))
        return NULL;
    return g_strdup(ACR_JSON_INSTRUCTION);
}
