/* Functions that all roles of the model share: the table of roles, the start of a conversation,
 * and the call. */
#include "agents/agents_private.h"

#include <stdarg.h>

/* Maximum number of requests for one answer while the answers are truncated, because half of a
 * change must not be applied. */
#define MAX_ASKED 3u
#define INCOMPLETE                                                                                 \
    "Your last answer is incomplete: %s. No part of it was used. Write the whole answer again, "   \
    "as short as the task allows."

typedef struct {
    const char *name;
    bool json;
    AcrPromptId system, first;
} Role;

#define ROLE_ROW(id, name, json, system, first) [ACR_AGENT_##id] = {name, json, system, first},
#define ROLE_NAME(id, name, ...) name,
static const Role roles[ACR_AGENTS] = {ACR_AGENT_TABLE(ROLE_ROW)};
static const char *const names[] = {ACR_AGENT_TABLE(ROLE_NAME) NULL};

const char *const *acr_role_names(void)
{
    return names;
}

void acr_agent_start(AcrConversation *conversation, const AcrPrompts *prompts, AcrAgent agent, ...)
{
    const AcrPromptId ids[] = {roles[agent].system, roles[agent].first};
    for (guint i = 0; i < G_N_ELEMENTS(ids); i++) {
        va_list args;
        va_start(args, agent);
        g_autofree char *text = acr_prompts_render_list(prompts, ids[i], args);
        va_end(args);
        acr_conversation_add(conversation, i == 0 ? ACR_ROLE_SYSTEM : ACR_ROLE_USER, text);
    }
}

void acr_agent_tell(AcrConversation *conversation, const AcrPrompts *prompts, AcrPromptId id, ...)
{
    va_list args;
    va_start(args, id);
    g_autofree char *text = acr_prompts_render_list(prompts, id, args);
    va_end(args);
    acr_conversation_add(conversation, ACR_ROLE_USER, text);
}

bool acr_agent_ask(AcrModel *model, AcrConversation *conversation, AcrAgent agent, guint round,
                   const char **out_text, GError **error)
{
    return acr_agent_ask_with(model, conversation, agent, round, NULL, NULL, out_text, error);
}

bool acr_agent_ask_with(AcrModel *model, AcrConversation *conversation, AcrAgent agent, guint round,
                        const AcrJson *tools, const char *hint, const char **out_text,
                        GError **error)
{
    AcrModelRequest request = {.label = roles[agent].name,
                               .step = round,
                               .conversation = conversation,
                               .tools = tools,
                               .tools_hint = hint,
                               .json = roles[agent].json};
    for (guint asked = 1;; asked++) {
        g_auto(AcrModelAnswer) answer = {0};
        if (!acr_model_complete(model, &request, &answer, error))
            return false;
        acr_conversation_add_answer(conversation, &answer);
        *out_text = acr_conversation_message(conversation, acr_conversation_size(conversation) - 1)
                        ->content;
        const char *problem = acr_model_answer_problem(&answer);
        if (!problem)
            return true;
        if (asked == MAX_ASKED)
            return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_INCOMPLETE,
                                 "the model's answer is incomplete: %s, %u times", problem, asked);
        g_autofree char *told = g_strdup_printf(INCOMPLETE, problem);
        acr_conversation_add(conversation, ACR_ROLE_USER, told);
    }
}
