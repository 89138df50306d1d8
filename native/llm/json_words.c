/*
 * Asking for JSON in words, where a server has no form for it or refused the form: a sentence for
 * the system prompt, with the schema behind it.
 */
#include "llm/llm_private.h"

#include <string.h>

bool acr_speaks_of_json(const AcrConversation *conversation, gsize from)
{
    for (gsize i = from; i < acr_conversation_size(conversation); i++) {
        const char *text = acr_conversation_message(conversation, i)->content;

        for (const char *at = strpbrk(text, "jJ"); at; at = strpbrk(at + 1, "jJ"))
            if (g_ascii_strncasecmp(at, "json", 4) == 0)
                return true;
    }
    return false;
}

char *acr_json_words(const AcrModelRequest *request, bool has_json, bool has_schema)
{
    g_autofree char *schema =
        request->schema && !has_schema ? acr_json_print(request->schema) : NULL;

    if (!request->json && !request->schema)
        return NULL;
    if (schema)
        return g_strdup_printf("Answer with one JSON object and nothing else. It must follow this "
                               "JSON schema:\n%s",
                               schema);
    if (has_schema || (has_json && acr_speaks_of_json(request->conversation, 0)))
        return NULL;
    return g_strdup(ACR_JSON_WORDS);
}
