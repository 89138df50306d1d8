/* Implements conversations: named lists of messages. All text in a conversation is valid UTF-8, so
 * that later code need not check it before sending, recording or comparing. */
#include "llm/provider.h"

#include <string.h>

struct AcrConversation {
    char *name;       /* owned */
    GArray *messages; /* array of AcrMessage */
};

static void clear_message(gpointer data)
{
    AcrMessage *message = data;
    g_free(message->content);
    acr_json_free(message->tools);
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
    ACR_FREE(conversation->name, conversation);
}

const char *acr_conversation_name(const AcrConversation *conversation)
{
    return conversation->name;
}

static AcrMessage *message_at(const AcrConversation *conversation, gsize n)
{
    g_assert(n < conversation->messages->len);
    return &g_array_index(conversation->messages, AcrMessage, n);
}

const AcrJson *acr_conversation_calls(const AcrConversation *conversation)
{
    gsize size = conversation->messages->len;
    return size ? acr_json_get(message_at(conversation, size - 1)->tools, "calls") : NULL;
}

/* Returns the results of the tool calls in `asked`: call n gets text n of `texts`. Without a text,
 * the first call gets the whole message. */
static AcrJson *answer_calls(const AcrJson *asked, const char *content, const GPtrArray *texts)
{
    AcrJson *results = acr_json_new_array();
    guint n = 0;
    for (const AcrJson *call = acr_json_first(acr_json_get(asked, "calls")); call;
         call = acr_json_next(call), n++) {
        const char *text = n ? "(see the first result)" : content;
        g_autofree char *own = texts && n < texts->len
                                   ? acr_utf8_repair(texts->pdata[n], strlen(texts->pdata[n]))
                                   : NULL;
        acr_json_add(results, "id", ACR_MEMBER(call, "id"), "name", ACR_MEMBER(call, "name"),
                     "text", ACR_TEXT(own ? own : text));
    }
    return acr_json_of("by", ACR_MEMBER(asked, "by"), "results", results, NULL);
}

void acr_conversation_add(AcrConversation *conversation, AcrRole role, const char *content)
{
    AcrMessage message = {.role = role, .content = acr_utf8_repair(content, strlen(content))};
    gsize size = conversation->messages->len;
    if (acr_conversation_calls(conversation))
        message.tools =
            answer_calls(message_at(conversation, size - 1)->tools, message.content, NULL);
    g_array_append_val(conversation->messages, message);
}

/* Appends a call in Python's syntax, except that values are written with JSON's true, false and
 * null. */
static void append_call(GString *out, const AcrJson *call)
{
    g_autoptr(AcrJson) arguments = acr_tool_arguments(call);
    g_string_append_printf(out, "%s%s(", out->len ? "\n" : "", acr_json_get_string(call, "name"));
    for (const AcrJson *at = acr_json_first(arguments); at; at = acr_json_next(at)) {
        g_autofree char *value = acr_json_print(at);
        g_string_append_printf(out, "%s%s=%s", at == acr_json_first(arguments) ? "" : ", ",
                               acr_json_key(at), value);
    }
    g_string_append_c(out, ')');
}

char *acr_model_answer_text(const AcrModelAnswer *answer)
{
    GString *out = g_string_new(answer->content);
    const AcrJson *calls = acr_json_get(answer->tools, "calls");
    if (calls && out->len)
        g_string_append_c(out, '\n');
    for (const AcrJson *at = acr_json_first(calls); at; at = acr_json_next(at))
        append_call(out, at);
    return g_string_free(out, FALSE);
}

void acr_conversation_add_answer(AcrConversation *conversation, const AcrModelAnswer *answer)
{
    g_autofree char *text = acr_model_answer_text(answer);
    acr_conversation_add(conversation, ACR_ROLE_ASSISTANT, text);
    if (answer->tools)
        message_at(conversation, conversation->messages->len - 1)->tools =
            acr_json_copy(answer->tools);
}

void acr_conversation_set_results(AcrConversation *conversation, const GPtrArray *texts)
{
    gsize last = conversation->messages->len - 1;
    AcrMessage *message = message_at(conversation, last);
    g_assert(message->tools && last > 0);
    acr_json_free(message->tools);
    message->tools =
        answer_calls(message_at(conversation, last - 1)->tools, message->content, texts);
}

/* Turns message `n` into plain text, and also the message that holds the matching calls or
 * results. */
static void flatten(AcrConversation *conversation, gsize n)
{
    AcrMessage *message = message_at(conversation, n);
    bool is_answer = message->role == ACR_ROLE_ASSISTANT;
    gsize other = is_answer ? n + 1 : n - 1;
    if (!message->tools)
        return;
    g_clear_pointer(&message->tools, acr_json_free);
    if ((is_answer || n > 0) && other < conversation->messages->len)
        g_clear_pointer(&message_at(conversation, other)->tools, acr_json_free);
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
    return message_at(conversation, n);
}

void acr_conversation_replace(AcrConversation *conversation, gsize n, const char *content)
{
    /* copy the new text before the old content is freed, because `content` may point into it */
    char *text = acr_utf8_repair(content, strlen(content));
    AcrMessage *message = message_at(conversation, n);
    flatten(conversation, n);
    g_free(message->content);
    message->content = text;
}

void acr_conversation_remove(AcrConversation *conversation, gsize first, gsize n)
{
    g_assert(first <= conversation->messages->len && n <= conversation->messages->len - first);
    for (gsize i = first; i < first + n; i++)
        flatten(conversation, i);
    if (n > 0)
        g_array_remove_range(conversation->messages, (guint)first, (guint)n);
}

AcrJson *acr_conversation_to_json(const AcrConversation *conversation, gsize from)
{
    AcrJson *array = acr_json_new_array();
    for (gsize i = from; i < conversation->messages->len; i++) {
        const AcrMessage *message = acr_conversation_message(conversation, i);
        acr_json_add(array, "role", ACR_TEXT(acr_role_name(message->role)), "content",
                     ACR_TEXT(message->content));
    }
    return array;
}

char *acr_conversation_begin_digest(const AcrConversation *conversation)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (gsize i = 0; i < MIN(acr_conversation_size(conversation), 2); i++)
        g_string_append(text, acr_conversation_message(conversation, i)->content);
    return acr_sha256_hex(text->str, text->len);
}
