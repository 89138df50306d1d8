/* Converts a conversation for servers that accept only alternating turns of user and assistant.
 * System messages are collected separately, consecutive messages of one side become one turn with
 * several blocks, and the first turn is the user's. Blank texts are omitted, because the servers
 * reject them. */
#include "llm/provider.h"

#include <string.h>

/* text of the user's first turn, if the conversation begins with an answer or is empty */
#define OPENING "Begin."

static bool is_blank_turn(const char *text)
{
    return text[strspn(text, " \t\r\n\v\f")] == '\0';
}

/* Appends a block of text to a list of blocks; returns the block, borrowed. */
static AcrJson *append_text(AcrJson *blocks, const AcrTurnForm *form, const char *text)
{
    return acr_json_add(blocks, "type", form->is_typed ? ACR_TEXT("text") : NULL, "text",
                        ACR_TEXT(text));
}

/* Appends a turn without text; returns its list of blocks, borrowed from the turn. */
static AcrJson *append_turn(AcrJson *messages, const AcrTurnForm *form, AcrRole role)
{
    AcrJson *blocks = acr_json_new_array();
    const char *name = role == ACR_ROLE_ASSISTANT ? form->assistant : acr_role_name(role);
    acr_json_add(messages, "role", ACR_TEXT(name), form->list, blocks);
    return blocks;
}

/* Appends the blocks of an answer with calls, or of the results of calls; returns the last block
 * with a call or result. */
static AcrJson *append_tools(AcrJson *blocks, const AcrTurnForm *form, const AcrJson *tools)
{
    const AcrJson *results = acr_json_get(tools, "results");
    const char *text = acr_json_get_string(tools, "text");
    AcrJson *last = NULL;
    for (const AcrJson *at = acr_json_first(results); at; at = acr_json_next(at))
        last = form->append_result(blocks, at);
    for (const AcrJson *at = acr_json_first(acr_json_get(tools, "kept")); at;
         at = acr_json_next(at))
        acr_json_append(blocks, acr_json_copy(at));
    if (results || form->keeps_all)
        return last;
    if (text && !is_blank_turn(text))
        append_text(blocks, form, text);
    for (const AcrJson *at = acr_json_first(acr_json_get(tools, "calls")); at;
         at = acr_json_next(at))
        last = form->append_call(blocks, at);
    return last;
}

void acr_turns_init(AcrTurns *turns, const AcrDialect *dialect, const AcrModelRequest *request,
                    const AcrTurnForm *form)
{
    const AcrConversation *conversation = request->conversation;
    AcrRole speaker = ACR_ROLE_SYSTEM; /* role of the last turn; SYSTEM if there is no turn yet */
    AcrJson *blocks = NULL;            /* blocks of the last turn */
    *turns = (AcrTurns){.system = acr_json_new_array(), .messages = acr_json_new_array()};
    for (gsize i = 0; i < acr_conversation_size(conversation); i++) {
        const AcrMessage *message = acr_conversation_message(conversation, i);
        const AcrJson *tools = acr_message_tools(dialect, request, message);
        AcrJson *block = NULL;
        if (is_blank_turn(message->content))
            continue;
        if (message->role == ACR_ROLE_SYSTEM) {
            turns->system_end = append_text(turns->system, form, message->content);
            continue;
        }
        if (speaker == ACR_ROLE_SYSTEM && message->role != ACR_ROLE_USER)
            append_text(append_turn(turns->messages, form, ACR_ROLE_USER), form, OPENING);
        if (speaker != message->role) {
            blocks = append_turn(turns->messages, form, message->role);
            if (message->role == ACR_ROLE_USER) {
                turns->user_ends[1] = turns->user_ends[0];
                turns->user_blocks[1] = turns->user_blocks[0];
                turns->user_blocks[0] = blocks;
            }
        }
        speaker = message->role;
        block =
            tools ? append_tools(blocks, form, tools) : append_text(blocks, form, message->content);
        if (speaker == ACR_ROLE_USER)
            turns->user_ends[0] = block;
    }
    if (speaker == ACR_ROLE_SYSTEM)
        append_text(append_turn(turns->messages, form, ACR_ROLE_USER), form, OPENING);
}

/* Moves the system blocks to the beginning of the user's first turn. */
static void move_system(AcrTurns *turns, const AcrTurnForm *form)
{
    AcrTurns moved = {.system = acr_json_new_array(), .messages = acr_json_new_array()};
    AcrJson *blocks = acr_json_copy(turns->system);
    for (const AcrJson *at = acr_json_first(turns->messages); at; at = acr_json_next(at)) {
        AcrJson *turn = acr_json_copy(at);
        const AcrJson *block = blocks ? acr_json_first(acr_json_get(at, form->list)) : NULL;
        for (; block; block = acr_json_next(block))
            acr_json_append(blocks, acr_json_copy(block));
        if (blocks)
            acr_json_set(turn, form->list, g_steal_pointer(&blocks));
        acr_json_append(moved.messages, turn);
    }
    acr_turns_clear(turns);
    *turns = moved;
}

void acr_turns_add_system(AcrTurns *turns, const AcrDialect *dialect, const AcrTurnForm *form,
                          const char *text)
{
    if (text)
        append_text(turns->system, form, text);
    if (dialect->no_system && acr_json_size(turns->system) > 0)
        move_system(turns, form);
}

void acr_turns_clear(AcrTurns *turns)
{
    acr_json_free(turns->system);
    acr_json_free(turns->messages);
    memset(turns, 0, sizeof *turns);
}
