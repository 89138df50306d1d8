/*
 * A conversation: messages in order, under a name. It holds valid UTF-8 only, so that whatever is
 * sent, journaled or compared later needs no further check.
 */
#include "llm/llm.h"

#include <string.h>

struct AcrConversation {
    char *name;       /* owned */
    GArray *messages; /* AcrMessage */
};

static void clear_message(gpointer data)
{
    AcrMessage *message = data;

    g_free(message->content);
}

const char *acr_role_name(AcrRole role)
{
    static const char *const names[] = {"system", "user", "assistant"};

    g_assert((gsize)role < G_N_ELEMENTS(names));
    return names[role];
}

AcrConversation *acr_conversation_new(const char *name)
{
    AcrConversation *conversation = g_new0(AcrConversation, 1);

    conversation->name = g_strdup(name);
    conversation->messages = g_array_new(FALSE, FALSE, sizeof(AcrMessage));
    g_array_set_clear_func(conversation->messages, clear_message);
    return conversation;
}

void acr_conversation_free(AcrConversation *conversation)
{
    if (!conversation)
        return;
    g_array_unref(conversation->messages);
    g_free(conversation->name);
    g_free(conversation);
}

const char *acr_conversation_name(const AcrConversation *conversation)
{
    return conversation->name;
}

void acr_conversation_add(AcrConversation *conversation, AcrRole role, const char *content)
{
    AcrMessage message = {.role = role, .content = acr_utf8_repair(content, strlen(content))};

    g_array_append_val(conversation->messages, message);
}

gsize acr_conversation_size(const AcrConversation *conversation)
{
    return conversation->messages->len;
}

gsize acr_conversation_bytes(const AcrConversation *conversation)
{
    gsize bytes = 0;

    for (gsize i = 0; i < conversation->messages->len; i++)
        bytes += strlen(acr_conversation_message(conversation, i)->content);
    return bytes;
}

const AcrMessage *acr_conversation_message(const AcrConversation *conversation, gsize n)
{
    g_assert(n < conversation->messages->len);
    return &g_array_index(conversation->messages, AcrMessage, n);
}

void acr_conversation_replace(AcrConversation *conversation, gsize n, const char *content)
{
    char *text =
        acr_utf8_repair(content, strlen(content)); /* first: `content` may be the old text */

    g_assert(n < conversation->messages->len);
    AcrMessage *message = &g_array_index(conversation->messages, AcrMessage, n);
    g_free(message->content);
    message->content = text;
}

void acr_conversation_remove(AcrConversation *conversation, gsize first, gsize n)
{
    g_assert(first <= conversation->messages->len && n <= conversation->messages->len - first);
    if (n > 0)
        g_array_remove_range(conversation->messages, (guint)first, (guint)n);
}

AcrJson *acr_conversation_to_json(const AcrConversation *conversation, gsize from)
{
    AcrJson *array = acr_json_new_array();

    for (gsize i = from; i < conversation->messages->len; i++) {
        const AcrMessage *message = acr_conversation_message(conversation, i);
        AcrJson *object = acr_json_new_object();

        acr_json_set_string(object, "role", acr_role_name(message->role));
        acr_json_set_string(object, "content", message->content);
        acr_json_append(array, object);
    }
    return array;
}
