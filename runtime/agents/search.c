/*
 * The search agent: the model that reads the issue, asks for code round by round and names the
 * bug's places. Its two kinds of turn, choosing calls and analysing what they found, share one
 * conversation.
 */
#include "agents/agents.h"

char *acr_agent_calls_text(void)
{
    gsize n;
    const AcrCallSpec *specs = acr_search_call_specs(&n);
    GString *out = g_string_new(NULL);
    for (gsize i = 0; i < n; i++) {
        g_string_append_printf(out, "%s- %s(", i ? "\n" : "", specs[i].name);
        for (guint p = 0; p < ACR_CALL_MAX_PARAMS && specs[i].params[p].name; p++)
            g_string_append_printf(out, "%s%s: %s", p ? ", " : "", specs[i].params[p].name,
                                   specs[i].params[p].type == ACR_PARAM_INTEGER ? "int" : "str");
        g_string_append_printf(out, "): %s", specs[i].summary);
    }
    return g_string_free(out, FALSE);
}

char *acr_agent_search_question(const AcrPrompts *prompts, const char *issue)
{
    g_autofree char *calls = acr_agent_calls_text();
    return acr_prompts_render(prompts, ACR_PROMPT_SEARCH_START, "issue", issue, "calls", calls,
                              NULL);
}

void acr_agent_search_start(AcrConversation *conversation, const AcrPrompts *prompts,
                            const char *issue)
{
    g_autofree char *system = acr_prompts_render(prompts, ACR_PROMPT_SEARCH_SYSTEM, NULL);
    g_autofree char *question = acr_agent_search_question(prompts, issue);
    acr_conversation_add(conversation, ACR_ROLE_SYSTEM, system);
    acr_conversation_add(conversation, ACR_ROLE_USER, question);
}

bool acr_agent_ask(AcrModel *model, AcrConversation *conversation, const char *agent, guint round,
                   bool json, const char **out_text, GError **error)
{
    AcrModelRequest request = {
        .label = agent, .step = round, .conversation = conversation, .json = json};
    g_auto(AcrModelAnswer) answer = {0};
    if (!acr_model_complete(model, &request, &answer, error))
        return false;
    acr_conversation_add(conversation, ACR_ROLE_ASSISTANT, answer.content);
    *out_text =
        acr_conversation_message(conversation, acr_conversation_size(conversation) - 1)->content;
    return true;
}
