/*
 * agents: asks each role of the model, and reads its answers. Prompts are text files with
 * {{placeholders}}. A function makes at most one model call; the loops decide what comes next.
 */
#ifndef ACR_AGENTS_H
#define ACR_AGENTS_H

#include "agents/roles.h"
#include "base/base.h"
#include "llm/llm.h"
#include "py/py.h"
#include "search/search.h"

typedef enum {
    ACR_AGENTS_ERROR_FAILED,
    ACR_AGENTS_ERROR_PROMPT, /* a prompt file is missing, or has the wrong placeholders */
} AcrAgentsError;
#define ACR_AGENTS_ERROR acr_agents_error_quark()
GQuark acr_agents_error_quark(void);

/* ---- Prompts (prompts.c) --------------------------------------------------------------------- */

/* The texts of all prompts, checked. Immutable. */
typedef struct AcrPrompts AcrPrompts;

#define ACR_PROMPT_MAX_BYTES (1u * 1024 * 1024)

/*
 * Loads every prompt from `override_dir` (may be NULL) if it has that file, else from `dir`.
 * Errors: PROMPT (a file in the override folder that is not a prompt's, a missing file, a missing
 * or unknown placeholder).
 */
AcrPrompts *acr_prompts_load(const char *dir, const char *override_dir,
                             GError **error) ACR_MUST_USE; /* owned */
void acr_prompts_free(AcrPrompts *prompts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrPrompts, acr_prompts_free)
const char *acr_prompt_file(AcrPromptId id); /* "search_start.txt" */
const char *acr_prompts_text(const AcrPrompts *prompts,
                             AcrPromptId id); /* borrowed, placeholders not filled in */

/*
 * The text with its placeholders filled in; owned (g_free). The arguments are name, value pairs
 * ended by NULL; every placeholder must be given (else g_assert fails: a programming error), other
 * names are ignored.
 */
char *acr_prompts_render(const AcrPrompts *prompts, AcrPromptId id,
                         ...) G_GNUC_NULL_TERMINATED ACR_MUST_USE;

/* ---- Conversations (roles.c) --------------------------------------------------------------- */

/* Adds a role's system prompt and its first question; the pairs fill the placeholders of both. */
void acr_agent_start(AcrConversation *conversation, const AcrPrompts *prompts, AcrAgent agent,
                     ...) G_GNUC_NULL_TERMINATED;
/* Adds a prompt as a message to the model. */
void acr_agent_tell(AcrConversation *conversation, const AcrPrompts *prompts, AcrPromptId id,
                    ...) G_GNUC_NULL_TERMINATED;
/* Sends the conversation and adds the answer to it. `round`: the round of the retrieval, 0 outside
 * it. The answer's text is borrowed until the conversation changes. */
bool acr_agent_ask(AcrModel *model, AcrConversation *conversation, AcrAgent agent, guint round,
                   const char **out_text, GError **error) ACR_MUST_USE;
/* The same with tools and a text about them for the system prompt; both may be NULL. */
bool acr_agent_ask_with(AcrModel *model, AcrConversation *conversation, AcrAgent agent, guint round,
                        const AcrJson *tools, const char *hint, const char **out_text,
                        GError **error) ACR_MUST_USE;

/* ---- Issue (issue.c) ------------------------------------------------------------------------- */

#define ACR_ISSUE_MAX_BYTES (4u * 1024 * 1024)

/*
 * The issue text for models: HTML comments outside code are removed, with the blank lines around
 * them; line ends become LF; owned (g_free).
 */
char *acr_issue_clean(const char *text) ACR_MUST_USE;

/* ---- Extract, the proxy (extract.c) ---------------------------------------------------------- */

/* Lists the calls of the registry for models, one a line; owned (g_free). */
char *acr_agent_calls_text(const AcrCalls *calls) ACR_MUST_USE;

#define ACR_EXTRACT_MAX_CALLS 30u /* calls in one answer; a remark says that more were left out */
#define ACR_EXTRACT_MAX_LOCATIONS 30u

/* The contents of an extract answer. `problem` is set if it is unusable: no JSON, or neither valid
 * calls nor locations. */
typedef struct {
    GPtrArray *calls; /* owned; AcrCall: valid and bound */
    /* owned; char *: what is wrong with invalid calls, and which calls were left out */
    GPtrArray *remarks;
    GPtrArray *locations; /* owned; of AcrBugLocation */
    /* owned; of char *: the reply to each tool call, NULL for a search call, in the order of the
     * calls; NULL: an answer in text */
    GPtrArray *replies;
    char *problem; /* owned; for the next try; NULL if the answer can be used */
} AcrExtraction;
void acr_extraction_clear(AcrExtraction *extraction);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrExtraction, acr_extraction_clear)
/* Parses an answer. Errors: only Python's own (lost, memory); an invalid answer is a `problem`. */
bool acr_agent_extract_read(AcrPython *python, const AcrCalls *calls, const char *answer,
                            AcrExtraction *out, GError **error) ACR_MUST_USE;

/* The calls of the registry, and one for reporting bug locations, as tools for a request; owned. */
AcrJson *acr_agent_tools(const AcrCalls *calls) ACR_MUST_USE;
/* Parses an answer with tool calls (`asked`, an array). There is no `problem`: an invalid call gets
 * a reply that says so. */
void acr_agent_tools_read(const AcrCalls *calls, const AcrJson *asked, AcrExtraction *out);

/* ---- Patch writer (patch_conversation.c) ----------------------------------------------------- */

/* The most code that a patch writer is shown at its start, in bytes. */
#define ACR_PATCH_CODE_BYTES (192u * 1024)
/*
 * Starts the conversation from located code (AcrLocated). Shows at most `code_bytes` of it, bug
 * locations before their context; code that does not fit loses its middle, or only its name is
 * given.
 */
void acr_agent_patch_start(AcrConversation *conversation, const AcrPrompts *prompts,
                           const char *issue, const GPtrArray *located, gsize code_bytes);
/* Starts the conversation from the retrieval conversation, if no location was found. */
void acr_agent_patch_start_from(AcrConversation *conversation, const AcrPrompts *prompts,
                                const AcrConversation *retrieval);

/* The most that is quoted of the repository's own notes, in bytes. */
#define ACR_PATCH_NOTES_BYTES (4u * 1024)
/* The message that quotes the beginning of a file of the repository, AGENTS.md, without HTML
 * comments, and says that it is no instruction; owned. NULL: the file says nothing. */
char *acr_agent_patch_notes(const AcrPrompts *prompts, const char *file,
                            const char *text) ACR_MUST_USE;

/* ---- Reproducer (answers.c) ------------------------------------------------------------------ */

/* larger scripts are rejected, because other roles are shown the whole script */
#define ACR_TEST_MAX_BYTES (64u * 1024)

/* Reads whether the issue can be reproduced: the member "reproducible", else the only yes or no.
 * False: *out_problem (owned) says why it cannot be read. */
bool acr_agent_reproducible_read(const char *answer, bool *out_yes,
                                 char **out_problem) ACR_MUST_USE;
/* The script in an answer: its last fenced block of Python, else the last block without a language,
 * or the whole answer if it is only code; owned; ends in a line feed. NULL: *out_problem (owned)
 * says why there is none. */
char *acr_agent_test_read(const char *answer, char **out_problem) ACR_MUST_USE;

/* ---- Reviewer (answers.c) ------------------------------------------------------------------- */

/* Strings are owned; "" if the answer lacks them; values that are no strings are kept as JSON. */
typedef struct {
    bool patch_correct, test_correct;
    char *patch_analysis, *patch_advice, *test_analysis, *test_advice;
} AcrReviewAnswer;
void acr_review_answer_clear(AcrReviewAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrReviewAnswer, acr_review_answer_clear)
/*
 * Reads {"patch-correct", "test-correct", "patch-analysis", "patch-advice", "test-analysis",
 * "test-advice"}; decisions are yes, no or booleans. False: *out_problem (owned) says what is
 * missing.
 */
bool acr_agent_review_read(const char *answer, AcrReviewAnswer *out,
                           char **out_problem) ACR_MUST_USE;
/* The snippet in a reviewer's answer {"probe": "…"}, owned; NULL: the answer is none. */
char *acr_agent_probe_read(const char *answer) ACR_MUST_USE;
/* Sets the same members in `json`. */
void acr_agent_review_to_json(const AcrReviewAnswer *answer, AcrJson *json);
/* Reads {"expected", "reason"}: whether the issue asks for the test's failure, and why (owned).
 * False: *out_problem (owned) says what is missing. */
bool acr_agent_regression_read(const char *answer, bool *out_expected, char **out_reason,
                               char **out_problem) ACR_MUST_USE;
/* The same for {"choice", "reason"}: a number from 1 to `n`, also as text. */
bool acr_agent_choice_read(const char *answer, guint n, guint *out_choice, char **out_reason,
                           char **out_problem) ACR_MUST_USE;

#endif
