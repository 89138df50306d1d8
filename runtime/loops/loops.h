/*
 * loops: drives the machines of machines.h with real models, searches and edits. Clock, model and
 * the place where artifacts go are passed in, so that a loop runs on scripted answers, and from a
 * journal, unawares.
 */
#ifndef ACR_LOOPS_H
#define ACR_LOOPS_H

#include <glib.h>
#include <stdbool.h>

#include "agents/agents.h"
#include "base/base.h"
#include "index/index.h"
#include "llm/llm.h"
#include "loops/machines.h"
#include "patch/patch.h"
#include "py/py.h"
#include "search/search.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_LOOPS_ERROR_FAILED,
    ACR_LOOPS_ERROR_INTERRUPTED,
    ACR_LOOPS_ERROR_UNAVAILABLE, /* --verify=always, and code cannot be run */
} AcrLoopsError;
#define ACR_LOOPS_ERROR acr_loops_error_quark()
GQuark acr_loops_error_quark(void);

#define ACR_ROUND_MAX_OUTPUT (192u * 1024) /* bytes of search results shown in one round */

/* Where files of the run folder go. `path` is relative to it ("attempt_0/extract_status.json"). */
typedef struct {
    void *ctx;
    bool (*write)(void *ctx, const char *path, const void *data, gsize len, GError **error);
} AcrArtifacts;

/* Told as the work goes on; for people only, nothing depends on it. Each function may be NULL. */
typedef struct {
    void *ctx;
    /* A stage begins: attempt from 0, round or try from 1 (0: none). */
    void (*stage)(void *ctx, guint attempt, const char *stage, guint number);
    /* One line about what happened, e.g. "search_class(\"A\"): 2 places". */
    void (*note)(void *ctx, const char *line);
    /* What the run has used so far. */
    void (*cost)(void *ctx, gint64 cost_microusd, gint64 tokens);
    /* One line that a user must not miss: something was left out or mended. */
    void (*warn)(void *ctx, const char *line);
} AcrProgress;

typedef enum { ACR_VERIFY_AUTO, ACR_VERIFY_ALWAYS, ACR_VERIFY_NEVER } AcrVerify;
const char *acr_verify_name(AcrVerify verify); /* "auto", "always", "never" */
/* False, and *out as it was, when `name` (may be NULL) is none of them. */
bool acr_verify_from_name(const char *name, AcrVerify *out);

/* What a run works with. All borrowed for the call. */
typedef struct {
    const char *issue; /* cleaned */
    AcrSnapshot *snapshot;
    AcrIndex *index;
    AcrSearch *search;
    AcrPython *python;
    const AcrReferee *referee; /* may be NULL: nothing is compiled then */
    const AcrPrompts *prompts;
    AcrModel *const *models; /* attempt k uses models[k % n_models] */
    gsize n_models;
    guint max_rounds, max_tries, max_attempts;
    AcrVerify verify;
    const AcrArtifacts *artifacts;
    const AcrProgress *progress;
    const AcrInterrupt *interrupt;
    gint64 deadline_us;         /* no step is begun after it (g_get_monotonic_time); 0: none */
    const char *deadline_scope; /* whose time it is, for the message: "run", "batch" */
} AcrRun;

/* ---- Retrieval ----------------------------------------------------------------------------------
 */

typedef struct {
    AcrRetrievalState state;       /* DONE or EXHAUSTED */
    GPtrArray *located;            /* owned; of AcrLocated; empty when EXHAUSTED */
    AcrConversation *conversation; /* owned */
    GPtrArray *results;            /* owned; private: which messages hold search results */
    gsize issue_bytes;             /* private: of the issue, as it is still shown; 0: all */
    bool dropped_turns;            /* private: the conversation lacks its oldest turns */
} AcrRetrieved;
void acr_retrieved_clear(AcrRetrieved *retrieved);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRetrieved, acr_retrieved_clear)

/*
 * Takes something out of a conversation that is too long, and says so in it: first what its reader
 * misses least. Older search results become their headings, earlier answers and the newest results
 * lose their middle, then the issue does; then its oldest turns go. What was done in words
 * (borrowed, static); NULL: nothing is left to take.
 */
const char *acr_retrieved_shorten(AcrRetrieved *retrieved, const AcrRun *run);

/* Runs the retrieval of one attempt. Errors: whatever made it FAILED or STOPPED (llm, py, vcs,
 * INTERRUPTED, artifacts'). */
bool acr_retrieval_run(const AcrRun *run, guint attempt, AcrModel *model, AcrRetrieved *out,
                       GError **error) ACR_MUST_USE;

/* ---- Attempts -----------------------------------------------------------------------------------
 */

typedef struct {
    AcrExtractStatus status;   /* of the selected candidate, or the best reached */
    GBytes *diff;              /* owned; NULL when no attempt gave a patch */
    AcrOverlay *overlay;       /* owned; NULL likewise */
    guint attempt, try_number; /* of the selected candidate; attempt from 0, try from 1 */
    char *reason;              /* owned; why the last attempt that gave no answer ended, or NULL */
} AcrRunResult;
void acr_run_result_clear(AcrRunResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRunResult, acr_run_result_clear)

/*
 * Runs the attempts and selects. True also when no patch came of it (diff NULL). Errors as of
 * acr_retrieval_run, and UNAVAILABLE. On a ceiling *out holds the best so far and the error is
 * ACR_LLM_ERROR_CEILING.
 */
bool acr_attempts_run(const AcrRun *run, AcrRunResult *out, GError **error) ACR_MUST_USE;

#endif
