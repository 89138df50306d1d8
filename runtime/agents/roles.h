/* The roles that a model plays, and the prompts, one row each. To add a role, add a row to
 * ACR_AGENT_TABLE; for each of its prompts, add a file in prompts/ and a row to ACR_PROMPT_TABLE.
 */
#pragma once

/* Columns: id; name in requests, journals, costs and scripts; whether the role answers in JSON;
 * its system prompt and its first question. */
#define ACR_AGENT_TABLE(ROW)                                                                       \
    ROW(SEARCH, "search", false, ACR_PROMPT_SEARCH_SYSTEM, ACR_PROMPT_SEARCH_START)                \
    ROW(EXTRACT, "extract", true, ACR_PROMPT_EXTRACT_SYSTEM, ACR_PROMPT_EXTRACT)                   \
    ROW(PATCH, "patch", false, ACR_PROMPT_PATCH_SYSTEM, ACR_PROMPT_PATCH_LOCATIONS)                \
    ROW(REPRODUCIBLE, "reproducible", true, ACR_PROMPT_REPRODUCIBLE_SYSTEM,                        \
        ACR_PROMPT_REPRODUCIBLE)                                                                   \
    ROW(TEST, "test", false, ACR_PROMPT_TEST_SYSTEM, ACR_PROMPT_TEST)                              \
    ROW(REVIEW, "review", true, ACR_PROMPT_REVIEW_SYSTEM, ACR_PROMPT_REVIEW)                       \
    ROW(SELECT, "select", true, ACR_PROMPT_SELECT_SYSTEM, ACR_PROMPT_SELECT)

/* Columns: id; file; the {{placeholders}} that the file must contain (NULL: none). */
#define ACR_PROMPT_TABLE(ROW)                                                                      \
    ROW(SEARCH_SYSTEM, "search_system.txt", NULL)                                                  \
    ROW(SEARCH_START, "search_start.txt", "issue", "calls")                                        \
    ROW(SEARCH_TOOLS, "search_tools.txt", NULL) /* used if the model calls tools */                \
    ROW(SEARCH_RESULTS, "search_results.txt", "results")                                           \
    ROW(SEARCH_NEXT, "search_next.txt", NULL)                                                      \
    ROW(SEARCH_CHECK_CALLS, "search_check_calls.txt", "problem", "calls")                          \
    ROW(SEARCH_NO_PLACE, "search_no_place.txt", "locations")                                       \
    ROW(SEARCH_CLUE, "search_clue.txt", "test", "stderr") /* the reproducer's failure */           \
    ROW(SEARCH_SUSPECTS, "search_suspects.txt", "tests", "methods")                                \
    ROW(EXTRACT_SYSTEM, "extract_system.txt", "calls")                                             \
    ROW(EXTRACT, "extract.txt", "text")                                                            \
    ROW(EXTRACT_RETRY, "extract_retry.txt", "problem")                                             \
    ROW(PATCH_SYSTEM, "patch_system.txt", NULL)                                                    \
    ROW(PATCH_LOCATIONS, "patch_locations.txt", "issue", "locations")                              \
    ROW(PATCH_CONVERSATION, "patch_conversation.txt", NULL)                                        \
    ROW(PATCH_NOTES, "patch_notes.txt", "file", "notes") /* text of AGENTS.md */                   \
    ROW(PATCH_RETRY, "patch_retry.txt", "feedback")                                                \
    /* For a patch that was rejected by the review (perhaps with its test) or the validation. */   \
    ROW(PATCH_REVIEWED, "patch_reviewed.txt", "test", "executions", "advice")                      \
    ROW(PATCH_BOTH_REVIEWED, "patch_both_reviewed.txt", "test", "executions", "advice",            \
        "test_advice")                                                                             \
    ROW(PATCH_REFUSED, "patch_refused.txt", "message")                                             \
    ROW(REPRODUCIBLE_SYSTEM, "reproducible_system.txt", NULL)                                      \
    ROW(REPRODUCIBLE, "reproducible.txt", "issue")                                                 \
    ROW(REPRODUCIBLE_RETRY, "reproducible_retry.txt", "problem")                                   \
    ROW(TEST_SYSTEM, "test_system.txt", "python")                                                  \
    ROW(TEST, "test.txt", "issue")                                                                 \
    ROW(TEST_EXAMPLES, "test_examples.txt", "script") /* the issue's examples */                   \
    ROW(TEST_RETRY, "test_retry.txt", "problem", "execution")                                      \
    ROW(TEST_FLIP, "test_flip.txt", "problem", "execution") /* asks for a script that passes */    \
    ROW(TEST_REVIEWED, "test_reviewed.txt", "patch", "executions", "advice")                       \
    ROW(REVIEW_SYSTEM, "review_system.txt", NULL)                                                  \
    ROW(REVIEW, "review.txt", "issue", "test", "patch", "executions")                              \
    ROW(REVIEW_PROBE, "review_probe.txt", "left") /* says how to run snippets */                   \
    ROW(REVIEW_RETRY, "review_retry.txt", "problem")                                               \
    /* Asks which of several equal patches is best. */                                             \
    ROW(SELECT_SYSTEM, "select_system.txt", NULL)                                                  \
    ROW(SELECT, "select.txt", "issue", "patches")                                                  \
    ROW(SELECT_RETRY, "select_retry.txt", "problem")                                               \
    /* Asks whether the issue expects that a test fails which passed without the patch. */         \
    ROW(REGRESSION_SYSTEM, "regression_system.txt", NULL)                                          \
    ROW(REGRESSION, "regression.txt", "issue", "patch", "test", "failure")                         \
    ROW(REGRESSION_RETRY, "regression_retry.txt", "problem")

#define ACR_AGENT_ID(id, ...) ACR_AGENT_##id,
#define ACR_PROMPT_ID(id, ...) ACR_PROMPT_##id,
typedef enum { ACR_AGENT_TABLE(ACR_AGENT_ID) ACR_AGENTS } AcrAgent;
typedef enum { ACR_PROMPT_TABLE(ACR_PROMPT_ID) ACR_PROMPTS } AcrPromptId;
#undef ACR_AGENT_ID
#undef ACR_PROMPT_ID

/* The names of all roles, NULL-terminated; static. */
const char *const *acr_role_names(void);
