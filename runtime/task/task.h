/*
 * task: one issue, one run folder. Opens repository, snapshot and index, wraps the model so that
 * the journal answers first, runs the attempts, and leaves the artifacts. Resume and replay are the
 * same path with a fuller journal.
 */
#ifndef ACR_TASK_H
#define ACR_TASK_H

#include <glib.h>
#include <stdbool.h>

#include "base/base.h"
#include "index/index.h"
#include "llm/llm.h"
#include "loops/loops.h"
#include "py/py.h"
#include "search/search.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_TASK_ERROR_FAILED,
    ACR_TASK_ERROR_USAGE, /* options that cannot be, or differ from those that the folder was begun
                             with */
    ACR_TASK_ERROR_ENVIRONMENT, /* the folder, the repository or the disk does not allow it */
    ACR_TASK_ERROR_UNFINISHED,  /* replay: the journal ends before the run does */
    ACR_TASK_ERROR_DIFFERENT,   /* replay: gives something else than was recorded */
} AcrTaskError;
#define ACR_TASK_ERROR acr_task_error_quark()
GQuark acr_task_error_quark(void);

/* What the program brings with it. All borrowed. */
typedef struct {
    const char *python_dir; /* holds the package acr */
    const char *prompts_dir;
    const char *exe;   /* this program, whose copies outline; NULL: outlined in this process */
    const char *cache; /* file that outlines are kept in; NULL: none */
    guint jobs;        /* such copies at once; 0: as many as there are processors */
    const AcrInterrupt *interrupt;
    const AcrProgress *progress;
} AcrHost;
#define ACR_OUTLINE_VERB "outline-worker" /* what a copy is started with */
/* The file that outlines are kept in by default, under $XDG_CACHE_HOME or ~/.cache; owned (g_free);
 * NULL where neither is an absolute path. */
char *acr_host_default_cache(void) ACR_MUST_USE;
/* The folder beside it for the trees of sandboxes; likewise. */
char *acr_host_default_sandbox_cache(void) ACR_MUST_USE;

/* ---- Workspace ----------------------------------------------------------------------------------
 */

/* A snapshot with its index, as search, patch and index need it, and every task. All owned; cleared
 * together. */
typedef struct {
    AcrRepo *repo; /* NULL where a saved snapshot needs none */
    AcrSnapshot *snapshot;
    AcrPython *python;
    AcrIndex *index;
    AcrSearch *search;
    char *remark; /* what the user should be told once of the cache, or NULL */
    gint64 snapshot_ms, index_ms;
} AcrWorkspace;

/* Snapshot of `rev`, or where that is NULL of the working tree (of HEAD in a bare repository).
 * Owned. */
AcrSnapshot *acr_workspace_snapshot(AcrRepo *repo, const char *rev, GError **error) ACR_MUST_USE;
/* Opens `repo` at `rev` and indexes it. Errors: those of vcs, py and index. */
bool acr_workspace_open(const char *repo, const char *rev, const AcrHost *host, AcrWorkspace *out,
                        GError **error) ACR_MUST_USE;
/* The same without index and search. */
bool acr_workspace_begin(const char *repo, const char *rev, const AcrHost *host, AcrWorkspace *out,
                         GError **error) ACR_MUST_USE;
/* Which files the outliner failed on, for a run that must find the same again; private to task. */
typedef struct AcrOutlineRecord AcrOutlineRecord;
/* Starts Python and indexes a snapshot that is already in `workspace`; `record` may be NULL. */
bool acr_workspace_index(AcrWorkspace *workspace, const AcrHost *host, AcrOutlineRecord *record,
                         GError **error) ACR_MUST_USE;
void acr_workspace_clear(AcrWorkspace *workspace);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrWorkspace, acr_workspace_clear)

/* ---- Task ---------------------------------------------------------------------------------------
 */

/* What a run may use. All borrowed. */
typedef struct {
    AcrAmount run, batch;     /* members below 0 (ACR_NO_CEILING): none */
    const char *batch_ledger; /* shared by the tasks of a batch; NULL: none */
    gint64 time_ms;           /* of this call; 0: none */
    gint64 batch_deadline_us; /* g_get_monotonic_time, which all processes share; 0: none */
} AcrTaskCeilings;

/* Where a run may run code, and what validates its patches: as in AcrSandboxOptions.
 * Zero-initialise; all borrowed. */
typedef struct {
    const char *sandbox, *image, *python, *setup;
    bool setup_network;
    gint64 setup_ms;      /* not one of those that a run folder is bound to */
    const char *validate; /* a shell command, or NULL */
} AcrTaskCode;

/* What makes a run. A run folder is bound to all of it but `out`, `retries`, `apply`, `ceilings`,
 * `price_file` and how the models are reached. All borrowed. */
typedef struct {
    const char *out; /* the run folder */
    const char *repo;
    const char *rev;           /* NULL: the working tree as it lies */
    const char *issue;         /* as given; UTF-8 */
    const char *instance_id;   /* of a benchmark task, or NULL */
    const char *const *models; /* NULL-terminated, at least one */
    guint rounds, tries, attempts;
    guint retries; /* of a model call that failed for the moment */
    AcrGoal goal;
    AcrVerify verify;
    const AcrTaskCode *code;    /* where code is run */
    double temperature;         /* below 0: the model's own */
    const char *fallback_model; /* takes over where a model has failed for good; or NULL */
    const char *effort;         /* of reasoning, or NULL */
    /* How models of the first one's provider are reached; for others the environment holds. */
    const char *base_url, *key_command, *key_file; /* as in AcrModelOptions */
    const char *const *headers;                    /* NULL-terminated, or NULL */
    const char *shared_dir;                        /* as in AcrModelOptions */
    gint64 retry_base_ms;                          /* likewise; 0: its default */
    gint64 context;      /* tokens that a model takes at once; 0: learnt from its refusals */
    const char *prompts; /* folder of prompts that take the place of the program's, or NULL */
    bool apply;          /* write the change into the working tree after success */
    const AcrTaskCeilings *ceilings; /* NULL: none */
    const char *price_file;          /* or NULL */
} AcrTaskOptions;

/* Sums over model calls. Counters and costs of `usage` hold what is known of each. */
typedef struct {
    AcrUsage usage;
    gint64 charged_pico; /* what ceilings count */
    gint64 wait_ms;
    guint64 calls, replayed_calls, unknown_cost_calls, retries;
} AcrCostSum;
/* Of the tokens sent, from 0 to 1. */
double acr_cost_cached_share(const AcrCostSum *sum);

typedef struct {
    AcrGoal goal;        /* what the run was for */
    GBytes *diff;        /* owned; NULL when the work ended without a patch */
    char *script;        /* owned; with ACR_GOAL_REPRODUCER; NULL: the issue was not reproduced */
    char *reason;        /* owned; why a model gave no answer to make one of, or NULL */
    bool was_finished;   /* the folder held the result already */
    guint64 model_calls; /* live ones, of this process */
    AcrCostSum cost;     /* of the run, replayed calls included; none of one that was finished */
    AcrExtractStatus status;
    AcrProof proof;
    char *proof_why; /* owned; in a line, or NULL; of a script: what to look at in it */
} AcrTaskResult;
void acr_task_result_clear(AcrTaskResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTaskResult, acr_task_result_clear)

/*
 * Runs a task, or goes on with it, or returns the result of a finished one. After an error the
 * folder can be gone on with by the same call. Errors: USAGE, ENVIRONMENT, and those of vcs, py,
 * index, llm, journal, loops, agents.
 */
bool acr_task_run(const AcrTaskOptions *options, const AcrHost *host, AcrTaskResult *out,
                  GError **error) ACR_MUST_USE;

/*
 * Repeats the run of a folder from its journal: no network, no script, no working tree; writes
 * nothing. Every artifact and the patch must come out as recorded. Errors: UNFINISHED, DIFFERENT,
 * ENVIRONMENT.
 */
bool acr_task_replay(const char *dir, const AcrHost *host, AcrTaskResult *out,
                     GError **error) ACR_MUST_USE;

#endif
