/* agents: the prompts and answers of each role of the model. Prompts are text files with
 * {{placeholders}}. A function makes at most one model call; the loops decide which call is
 * next. */
#pragma once

#include "agents/roles.h"
#include "base/base.h"
#include "llm/llm.h"
#include "py/py.h"
#include "search/search.h"

typedef enum {
    ACR_AGENTS_ERROR_FAILED,
    ACR_AGENTS_ERROR_PROMPT, /* a prompt file is missing or has wrong placeholders */
} AcrAgentsError;
#define ACR_AGENTS_ERROR acr_agents_error_quark()
GQuark acr_agents_error_quark(void);

/* ---- Prompts (prompts.c) --------------------------------------------------------------------- */

/* The texts of all prompts, checked when they are loaded. Immutable. */
typedef struct AcrPrompts AcrPrompts;

#define ACR_PROMPT_MAX_BYTES (1u * 1024 * 1024)

/* Loads every prompt from `override_dir` (may be NULL) if that folder has the file, otherwise
 * from `dir`. Errors: PROMPT (a missing file, an unknown file in the override folder, a missing
 * or unknown placeholder). */
AcrPrompts *acr_prompts_load(const char *dir, const char *override_dir,
                             GError **error) ACR_MUST_USE; /* owned */
void acr_prompts_free(AcrPrompts *prompts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrPrompts, acr_prompts_free)
const char *acr_prompt_file(AcrPromptId id); /* such as "search_start.txt" */
const char *acr_prompts_text(const AcrPrompts *prompts,
                             /* borrowed; the text of a prompt with its placeholders */
                             AcrPromptId id);

/* Returns the text with its placeholders filled in; owned (g_free). The arguments are name, value
 * pairs ended by NULL; every placeholder of the prompt must be among the names (asserted); other
 * names are ignored. */
char *acr_prompts_render(const AcrPrompts *prompts, AcrPromptId id,
                         ...) G_GNUC_NULL_TERMINATED ACR_MUST_USE;

/* ---- Conversations (roles.c) --------------------------------------------------------------- */

/* Adds a role's system prompt and its first question. The pairs fill the placeholders of both. */
void acr_agent_start(AcrConversation *conversation, const AcrPrompts *prompts, AcrAgent agent,
                     ...) G_GNUC_NULL_TERMINATED;
/* Adds a prompt as a message to the model. */
void acr_agent_tell(AcrConversation *conversation, const AcrPrompts *prompts, AcrPromptId id,
                    ...) G_GNUC_NULL_TERMINATED;
/* Sends the conversation and adds the answer to it. `round` is the number of the retrieval round,
 * or 0 outside of the retrieval. The answer's text is borrowed until the conversation changes. */
bool acr_agent_ask(AcrModel *model, AcrConversation *conversation, AcrAgent agent, guint round,
                   const char **out_text, GError **error) ACR_MUST_USE;
/* Like acr_agent_ask, with tools and a text about the tools for the system prompt; both may be
 * NULL. */
bool acr_agent_ask_with(AcrModel *model, AcrConversation *conversation, AcrAgent agent, guint round,
                        const AcrJson *tools, const char *hint, const char **out_text,
                        GError **error) ACR_MUST_USE;

/* ---- Issue (issue.c) ------------------------------------------------------------------------- */

#define ACR_ISSUE_MAX_BYTES (4u * 1024 * 1024)

/* Returns the issue's text for models, with LF line ends, and without HTML comments outside code
 * and the blank lines around them; owned (g_free). */
char *acr_issue_clean(const char *text) ACR_MUST_USE;

/* ---- Extract, the proxy (extract.c) ---------------------------------------------------------- */

/* Lists the calls of the registry for models, one on each line; owned (g_free). */
char *acr_agent_calls_text(const AcrCalls *calls) ACR_MUST_USE;

/* maximum number of calls in one answer; a remark says that further calls were ignored */
#define ACR_EXTRACT_MAX_CALLS 30u
#define ACR_EXTRACT_MAX_LOCATIONS 30u

/* The contents of an extract answer. `problem` is set if the answer is unusable: it has no JSON,
 * or neither valid calls nor locations. */
typedef struct {
    GPtrArray *calls; /* owned array of AcrCall: the valid calls, with their arguments */
    /* owned array of char *: the errors of invalid calls, and the calls that were ignored */
    GPtrArray *remarks;
    GPtrArray *locations; /* owned; of AcrBugLocation */
    /* owned array of char *: the reply to each tool call in order, or NULL for a search call;
     * NULL if the answer is text */
    GPtrArray *replies;
    char *problem; /* owned; the error message for the next try; NULL if the answer can be used */
} AcrExtraction;
void acr_extraction_clear(AcrExtraction *extraction);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrExtraction, acr_extraction_clear)
/* Parses an answer. Errors: only those of Python itself (its process is lost, or out of memory); an
 * invalid answer sets `problem`. */
bool acr_agent_extract_read(AcrPython *python, const AcrCalls *calls, const char *answer,
                            AcrExtraction *out, GError **error) ACR_MUST_USE;

/* Returns the calls of the registry, and a call for reporting bug locations, as tools for a
 * request; owned. */
AcrJson *acr_agent_tools(const AcrCalls *calls) ACR_MUST_USE;
/* Parses an answer with tool calls (`asked`, an array). Never sets `problem`, because the reply
 * to an invalid call is its error. */
void acr_agent_tools_read(const AcrCalls *calls, const AcrJson *asked, AcrExtraction *out);

/* ---- Patch writer (patch_conversation.c) ----------------------------------------------------- */

/* Maximum size of the code shown to a patch writer at its start, in bytes. */
#define ACR_PATCH_CODE_BYTES (192u * 1024)
/* Starts the conversation from located code (array of AcrLocated). Shows at most `code_bytes` of
 * the code; bug locations come before their context. If code does not fit, its middle is
 * omitted, or only its name is shown. */
void acr_agent_patch_start(AcrConversation *conversation, const AcrPrompts *prompts,
                           const char *issue, const GPtrArray *located, gsize code_bytes);
/* Starts the conversation from the retrieval conversation, if no location was found. */
void acr_agent_patch_start_from(AcrConversation *conversation, const AcrPrompts *prompts,
                                const AcrConversation *retrieval);

/* Maximum size of the text quoted from the repository's own notes, in bytes. */
#define ACR_PATCH_NOTES_BYTES (4u * 1024)
/* Returns the message that quotes the beginning of the repository's AGENTS.md, without HTML
 * comments, and says that the text is not an instruction; owned. NULL if the file is empty. */
char *acr_agent_patch_notes(const AcrPrompts *prompts, const char *file,
                            const char *text) ACR_MUST_USE;

/* ---- Reproducer (answers.c) ------------------------------------------------------------------ */

/* maximum size of a script in bytes; larger scripts are rejected, because other roles are shown
 * the whole script */
#define ACR_TEST_MAX_BYTES (64u * 1024)

/* Reads whether the issue can be reproduced: from the member "reproducible" or, if that member is
 * missing, from the only member that says yes or no. On failure, returns false, and *out_problem
 * (owned) says why. */
bool acr_agent_reproducible_read(const char *answer, bool *out_yes,
                                 char **out_problem) ACR_MUST_USE;
/* Returns the script in an answer: the last fenced block of Python, otherwise the last block
 * without a language, or the answer itself if it is code. Owned; ends in a line feed. If there is
 * no script, returns NULL, and *out_problem (owned) says why. */
char *acr_agent_test_read(const char *answer, char **out_problem) ACR_MUST_USE;

/* ---- Reviewer (answers.c) ------------------------------------------------------------------- */

/* The strings are owned, and "" if the answer lacks them. Other JSON values are kept as JSON
 * text. */
typedef struct {
    bool patch_correct, test_correct;
    char *patch_analysis, *patch_advice, *test_analysis, *test_advice;
} AcrReviewAnswer;
void acr_review_answer_clear(AcrReviewAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrReviewAnswer, acr_review_answer_clear)
/* Reads {"patch-correct", "test-correct", "patch-analysis", "patch-advice", "test-analysis",
 * "test-advice"}; decisions are yes, no or booleans. If a member is missing, returns false, and
 * *out_problem (owned) says which. */
bool acr_agent_review_read(const char *answer, AcrReviewAnswer *out,
                           char **out_problem) ACR_MUST_USE;
/* Returns the snippet in a reviewer's answer {"probe": "…"}, owned; NULL if the answer has no
 * snippet. */
char *acr_agent_probe_read(const char *answer) ACR_MUST_USE;
/* Sets the members of `json` from an AcrReviewAnswer. */
void acr_agent_review_to_json(const AcrReviewAnswer *answer, AcrJson *json);
/* Reads {"expected", "reason"}: whether the issue expects the test's failure, and why (owned). If a
 * member is missing, returns false, and *out_problem (owned) says which. */
bool acr_agent_regression_read(const char *answer, bool *out_expected, char **out_reason,
                               char **out_problem) ACR_MUST_USE;
/* Reads {"choice", "reason"}: a number from 1 to `n`, which may be a string. On failure, returns
 * false, and *out_problem (owned) says what is missing. */
bool acr_agent_choice_read(const char *answer, guint n, guint *out_choice, char **out_reason,
                           char **out_problem) ACR_MUST_USE;
