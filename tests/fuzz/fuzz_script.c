/* Fuzzes scripted models: any bytes must be a script, or be rejected with one line. A script must
 * answer a fixed sequence of rounds and attempts with valid text or with one of its errors, and
 * must end. */
#include "llm/llm_private.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(AcrModel *script, const AcrConversation *conversation, const char *agent, guint round)
{
    AcrModelRequest request = {.label = agent, .step = round, .conversation = conversation};
    g_auto(AcrModelAnswer) answer = {0};
    g_autoptr(GError) error = NULL;

    if (acr_model_complete(script, &request, &answer, &error)) {
        g_assert_true(acr_utf8_is_text(answer.content, strlen(answer.content)));
        return;
    }
    g_assert_true(g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USED_UP) ||
                  g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_EXPECT));
    g_assert_null(strchr(error->message, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const guint rounds[] = {1, 1, 2, 4, 0, 1, 2, 15, 3};
    static const char *const agents[] = {"search", "extract", "patch", "select", "nobody"};
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrModel) script =
        acr_script_parse((const char *)data, size, "fuzz", &(AcrModelOptions){.instance_id = "a__b-1"}, &error);
    g_autoptr(AcrConversation) conversation = acr_conversation_new("c");

    g_assert_true((script == NULL) == (error != NULL));
    if (!script) {
        g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE);
        g_assert_null(strchr(error->message, '\n'));
        return 0;
    }
    acr_conversation_add(conversation, ACR_ROLE_USER, "look at f and g");
    for (gsize i = 0; i < G_N_ELEMENTS(rounds); i++)
        for (gsize a = 0; a < G_N_ELEMENTS(agents); a++)
            ask(script, conversation, agents[a], rounds[i]);
    return 0;
}
