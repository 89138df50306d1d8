#include "task/task.h"

#include "http/http.h"

G_DEFINE_QUARK(acr_task_error_quark, acr_task_error)

typedef struct {
    GQuark (*domain)(void);
    int code;
    AcrExit exit;
} ExitRow;

/* Maps errors to exit codes. Errors that are not in the table have the exit code ENVIRONMENT. */
static const ExitRow exit_rows[] = {
    {acr_task_error_quark, ACR_TASK_ERROR_USAGE, ACR_EXIT_USAGE},
    {acr_task_error_quark, ACR_TASK_ERROR_UNFINISHED, ACR_EXIT_NONE},
    {acr_task_error_quark, ACR_TASK_ERROR_DIFFERENT, ACR_EXIT_NONE},
    {acr_agents_error_quark, ACR_AGENTS_ERROR_PROMPT, ACR_EXIT_USAGE},
    {acr_llm_error_quark, ACR_LLM_ERROR_USAGE, ACR_EXIT_USAGE},
    {acr_llm_error_quark, ACR_LLM_ERROR_EXPECT, ACR_EXIT_NONE},
    {acr_llm_error_quark, ACR_LLM_ERROR_USED_UP, ACR_EXIT_NONE},
    {acr_llm_error_quark, ACR_LLM_ERROR_INCOMPLETE, ACR_EXIT_NONE},
    {acr_llm_error_quark, ACR_LLM_ERROR_CEILING, ACR_EXIT_CEILING},
    {acr_llm_error_quark, ACR_LLM_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
    {acr_money_error_quark, ACR_MONEY_ERROR_USAGE, ACR_EXIT_USAGE},
    {acr_money_error_quark, ACR_MONEY_ERROR_CEILING, ACR_EXIT_CEILING},
    {acr_loops_error_quark, ACR_LOOPS_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
    {acr_loops_error_quark, ACR_LOOPS_ERROR_VALIDATION, ACR_EXIT_USAGE},
    {acr_project_error_quark, ACR_PROJECT_ERROR_NO_RECIPE, ACR_EXIT_USAGE},
    {acr_extensions_error_quark, ACR_EXTENSIONS_ERROR_USAGE, ACR_EXIT_USAGE},
    {acr_extensions_error_quark, ACR_EXTENSIONS_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
    {acr_search_error_quark, ACR_SEARCH_ERROR_BAD_CALL, ACR_EXIT_USAGE},
    {acr_index_error_quark, ACR_INDEX_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
    {acr_sandbox_error_quark, ACR_SANDBOX_ERROR_USAGE, ACR_EXIT_USAGE},
    {acr_sandbox_error_quark, ACR_SANDBOX_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
    {acr_http_error_quark, ACR_HTTP_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
};

AcrExit acr_exit_of(const GError *error, const AcrInterrupt *interrupt)
{
    if (acr_interrupted(interrupt))
        return acr_time_is_over(interrupt) ? ACR_EXIT_CEILING : ACR_EXIT_INTERRUPTED;
    for (guint i = 0; i < G_N_ELEMENTS(exit_rows); i++)
        if (g_error_matches(error, exit_rows[i].domain(), exit_rows[i].code))
            return exit_rows[i].exit;
    return ACR_EXIT_ENVIRONMENT;
}

const char *acr_message_of(const GError *error, const AcrInterrupt *interrupt)
{
    if (acr_time_is_over(interrupt))
        return "limit --max-time reached; rerun with a higher limit";
    return acr_exit_of(error, interrupt) == ACR_EXIT_INTERRUPTED ? "interrupted" : error->message;
}
