/* task: works on one issue in one run folder. Opens repository, snapshot and index, wraps the model
 * with the journal, runs the attempts, and writes the artifacts. Resume and replay run the same
 * code, with a journal that already has records. */
#pragma once

#include "base/base.h"
#include "index/index.h"
#include "llm/llm.h"
#include "loops/loops.h"
#include "project/project.h"
#include "py/py.h"
#include "search/search.h"
#include "task/limits.h"
#include "task/run_spec.h"
#include "vcs/vcs.h"

typedef enum {
    /* options are wrong, or differ from those of the folder's first run */
    ACR_TASK_ERROR_USAGE,
    ACR_TASK_ERROR_ENVIRONMENT, /* an error with the folder, the repository or the disk */
    ACR_TASK_ERROR_UNFINISHED,  /* replay: the journal ends before the run is complete */
    ACR_TASK_ERROR_DIFFERENT,   /* replay: the result differs from the recorded result */
} AcrTaskError;
#define ACR_TASK_ERROR acr_task_error_quark()
GQuark acr_task_error_quark(void);
/* Sets a USAGE error and returns false. */
#define acr_task_refuse(error, ...)                                                                \
    acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE, __VA_ARGS__)

/* Exit codes. Scripts rely on them, so they never change. */
typedef enum {
    ACR_EXIT_OK = 0,   /* there is a patch (or another result), which nothing rejected */
    ACR_EXIT_NONE = 1, /* the work ended without a result, or the patch was rejected */
    ACR_EXIT_USAGE = 2,
    ACR_EXIT_ENVIRONMENT = 3, /* a tool, key or repository is missing, or a disk is full */
    /* a limit on money, tokens or time was reached, even if a patch was written */
    ACR_EXIT_CEILING = 4,
    ACR_EXIT_INTERRUPTED = 130,
} AcrExit;
/* Returns the exit code for an error (may be NULL after a signal): 130 after a signal, 4 after the
 * time limit. */
AcrExit acr_exit_of(const GError *error, const AcrInterrupt *interrupt);
/* Returns the message of an error (may have several lines); borrowed from the error, or static. */
const char *acr_message_of(const GError *error, const AcrInterrupt *interrupt);

/* The program's own files and settings. All members are borrowed. */
typedef struct {
    const char *python_dir; /* the folder that contains the package acr */
    const char *prompts_dir;
    const char *exe;   /* this program, also started as outliner; NULL: outline in this process */
    const char *cache; /* path of the outline cache; NULL if there is none */
    guint jobs;        /* number of outliner processes; 0: one for each processor */
    AcrInterrupt *interrupt; /* the signal handlers set it */
    const char *command;     /* resumes the run in its folder; NULL if the user named the folder */
    const AcrProgress *progress;
    char *failure; /* why the verb failed, in one line; owned by acr_verb_start; NULL: unknown */
} AcrHost;
#define ACR_OUTLINE_VERB "outline-worker" /* the verb that starts an outliner */
#define ACR_REFEREE_VERB "referee-worker"
#define ACR_BATCH_TASK_VERB "batch-task" /* the verb that starts a task of a batch */
/* Returns the path of a cache in $XDG_CACHE_HOME or ~/.cache; owned (g_free); NULL if neither is an
 * absolute path. */
char *acr_host_default_cache(const char *name) ACR_MUST_USE;
#define ACR_CACHE_OUTLINES "outlines.sqlite"
#define ACR_CACHE_SANDBOX "sandbox" /* name of the cache folder for the sandboxes' trees */

/* ---- Workspace ---- */

/* A snapshot with its index, for search, patch, index and every task. All members are owned, and
 * acr_workspace_clear frees them together. */
typedef struct {
    AcrRepo *repo; /* NULL if a saved snapshot needs no repository */
    AcrSnapshot *snapshot;
    AcrPython *python;
    AcrRefereeWorker *referee; /* set by acr_workspace_referee */
    AcrIndex *index;
    AcrSearch *search;
    char *remark; /* a message about the cache for the user, or NULL */
    gint64 snapshot_ms, index_ms;
} AcrWorkspace;

/* Takes a snapshot of `rev` or, if `rev` is NULL, of the working tree (in a bare repository, of
 * HEAD); owned. */
AcrSnapshot *acr_workspace_snapshot(AcrRepo *repo, const char *rev, GError **error) ACR_MUST_USE;
/* Returns the number of Python files in the snapshot that are not tests. */
gsize acr_workspace_n_code_files(const AcrSnapshot *snapshot);
/* Returns {"commit", "digest", "worktree", "git", "git_dir"} of the snapshot; owned. */
AcrJson *acr_workspace_describe(const AcrWorkspace *workspace) ACR_MUST_USE;
/* Makes the message that quotes the repository's AGENTS.md to the patch writer; owned; NULL if the
 * file is missing, empty or a link. */
char *acr_workspace_notes(const AcrWorkspace *workspace, const AcrPrompts *prompts) ACR_MUST_USE;
/* Opens `repo` at `rev` without index and search. Meanwhile starts Python, which takes a quarter of
 * the time of a short call: in the referee's process if `for_patches`, in this process if
 * `for_calls` (calls are parsed by Python). Errors: those of vcs and py. */
bool acr_workspace_begin(const char *repo, const char *rev, const AcrHost *host, bool for_patches,
                         bool for_calls, AcrWorkspace *out, GError **error) ACR_MUST_USE;
/* Returns the workspace's Python, and starts it if necessary; borrowed. Errors: those of py. */
AcrPython *acr_workspace_python(AcrWorkspace *workspace, const AcrHost *host,
                                GError **error) ACR_MUST_USE;
/* Starts Python and indexes the snapshot in `workspace`. `refused` is as in AcrIndexOptions. */
bool acr_workspace_index(AcrWorkspace *workspace, const AcrHost *host, GHashTable *refused,
                         GError **error) ACR_MUST_USE;
/* Indexes the snapshot like acr_workspace_index, but without Python in this process, so that calls
 * written as text cannot be parsed. `host->exe` must be set. */
bool acr_workspace_index_alone(AcrWorkspace *workspace, const AcrHost *host, GHashTable *refused,
                               GError **error) ACR_MUST_USE;
/* Returns whether the workspace is indexed and its snapshot has the same files as `snapshot`. */
bool acr_workspace_has_tree(const AcrWorkspace *workspace, const AcrSnapshot *snapshot);
/* Returns the referee for edited code, which runs in a separate process; borrowed. */
const AcrReferee *acr_workspace_referee(AcrWorkspace *workspace, const AcrHost *host);
void acr_workspace_clear(AcrWorkspace *workspace);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrWorkspace, acr_workspace_clear)

/* ---- The result of a run ---- */

/* Sums over model calls. The members of `usage` are sums of the known values. */
typedef struct {
    AcrUsage usage;
    gint64 charged_pico; /* the amount that counts for ceilings */
    /* the part of charged_pico that counts for calls without an answer; only the ledger has it */
    gint64 unanswered_pico;
    gint64 wait_ms;
    guint64 calls, replayed_calls, unknown_cost_calls, retries;
    /* numbers of calls served by each service tier */
    guint64 flex_calls, priority_calls, batch_calls;
    gint64 standard_pico; /* the known costs, at the prices of the standard tier */
    /* Number of calls that did not fit into the model's context, and the size of the context in
     * tokens (0 if unknown). Files do not contain these members. */
    guint64 overflows;
    gint64 context;
} AcrCostSum;
/* Returns the share of sent tokens that came from a cache, from 0 to 1. */
double acr_cost_cached_share(const AcrCostSum *sum);

/* The verdict on a patch, from best to worst. */
typedef enum {
    ACR_VERDICT_VERIFIED,  /* a script fails without the patch and passes with it */
    ACR_VERDICT_VALIDATED, /* the patch is not verified, but --validate accepted it */
    /* the patch is neither verified nor validated, and nothing rejected it */
    ACR_VERDICT_UNVERIFIED,
    ACR_VERDICT_REFUSED, /* the validation or the reviewer rejected the patch */
    ACR_VERDICT_NONE,    /* there is no patch */
} AcrVerdict;
const char *acr_verdict_name(AcrVerdict verdict); /* "verified", … */

/* The result of a run, however it ended. It is saved in result.json of the run folder, and printed
 * by `--json` and by a batch's task. Zero-initialise the struct; all members are owned. */
typedef struct {
    AcrOutcome found; /* set by the loops; found.overlay is freed when the run ends */
    AcrVerdict verdict;
    bool is_reproduction; /* the run was `reproduce` */
    bool was_finished;    /* the folder already had the result, so no step was run */
    bool was_applied;     /* --apply found the patch already in the files, so it wrote nothing */
    AcrCostSum cost;      /* cost of the whole run, including calls that the journal answered */
    int exit_code;        /* an AcrExit */
    char *error;          /* why the run ended early; NULL if it ended normally */
    char *tag;            /* --tag of the spec, or NULL */
    char *error_class;    /* acr_llm_error_name of the error, also of usage errors, or NULL */
} AcrRunResult;
void acr_run_result_clear(AcrRunResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRunResult, acr_run_result_clear)
AcrJson *acr_run_result_to_json(const AcrRunResult *result) ACR_MUST_USE; /* owned */
/* Reads a result. Returns false if the JSON is not a result. */
bool acr_run_result_from_json(const AcrJson *json, AcrRunResult *out) ACR_MUST_USE;

/* Sets the result of a run that failed with an error. */
void acr_run_result_fail(AcrRunResult *result, const GError *error, const AcrInterrupt *interrupt);

/* ---- Runs ---- */

/* Performs `run` or `reproduce` as `spec` says (the issue is in `issue_text`). Starts or resumes
 * the run, or reads the result of a finished run. *out is always set; after an error, the same call
 * resumes the run. Errors: USAGE, ENVIRONMENT, and those of vcs, py, index, llm, journal, loops,
 * agents. */
bool acr_task_run(const AcrRunSpec *spec, const AcrHost *host, AcrRunResult *out,
                  GError **error) ACR_MUST_USE;

/* Describes the models of a run or a batch, with their keys and prices, and the limits, as in the
 * members "models" and "limits" of acr_task_plan; owned. Calls no model. Errors: those of
 * acr_model_new (a key or a file is missing), USAGE. */
bool acr_task_plan_models(const AcrRunSpec *spec, const AcrHost *host, AcrJson **out,
                          GError **error) ACR_MUST_USE;
/* Makes the plan of acr_task_run: {"folder", "repository", "models", "limits", "loops", "code"}
 * (owned); see plan.c. Calls no model, and writes only to the sandbox's cache. Errors: those of a
 * run before its first call, as far as they can be detected. */
bool acr_task_plan(const AcrRunSpec *spec, const AcrHost *host, AcrJson **out,
                   GError **error) ACR_MUST_USE;

/* Repeats the run of a folder from its journal, without network, script or working tree; writes
 * nothing. All artifacts and the patch must equal the recorded ones. *out is always set. Errors:
 * UNFINISHED, DIFFERENT, ENVIRONMENT. */
bool acr_task_replay(const char *dir, const AcrHost *host, AcrRunResult *out,
                     GError **error) ACR_MUST_USE;

/* Reads a run folder: the options that a resumed run must repeat, and the result. *out_has_result
 * is true if the run finished, or stopped at a limit with a patch. Errors: USAGE (not a run
 * folder), ENVIRONMENT (the options or the result are damaged; *out_spec is set nevertheless). */
bool acr_task_read(const char *dir, AcrRunSpec *out_spec, AcrRunResult *out_result,
                   bool *out_has_result, GError **error) ACR_MUST_USE;

/* ---- Options in the form that other libraries take ---- */

/* Checks that the program `python` prints a version of Python for -V. A program that lies in
 * `work_tree` (may be NULL) is not run: only the sandbox runs the repository's code. Errors: USAGE. */
bool acr_task_check_python(const char *python, const char *work_tree, GError **error) ACR_MUST_USE;
/* Checks that --python and the first programs of --test-cmd and --validate exist. `work_tree` is
 * the repository's folder; NULL if unknown. Errors: USAGE. */
bool acr_task_check_named(const AcrRunSpec *spec, const char *work_tree,
                          GError **error) ACR_MUST_USE;

/* Returns the options for models; borrowed from the arguments. Omits address, key and headers,
 * because they are only for the provider of the first model. */
AcrModelOptions acr_model_options_of(const AcrRunSpec *spec, const AcrLimits *limits,
                                     const AcrInterrupt *interrupt);
/* Makes a model by its name. The model gets address, key and headers only if they belong to its
 * provider. Errors: those of acr_model_new. */
AcrModel *acr_model_of(const AcrRunSpec *spec, const char *name, const AcrModelOptions *options,
                       GError **error) ACR_MUST_USE;
/* Returns the options for running code; borrowed from the arguments. `work_tree` and `cache` may be
 * NULL. */
AcrSandboxOptions acr_sandbox_options_of(const AcrRunSpec *spec, const AcrHost *host,
                                         AcrSnapshot *snapshot, const char *work_tree,
                                         const char *cache);
/* Returns the options for running the project's tests, without the sandbox; borrowed from the
 * arguments. */
AcrProject acr_task_project(const AcrRunSpec *spec, const AcrHost *host);
/* Returns whether a run compares the project's tests: only if the user requests it, because a test
 * suite may take long. */
AcrVerify acr_run_spec_regressions(const AcrRunSpec *spec);
/* Returns whether a run traces the project's tests to rank code. */
AcrVerify acr_run_spec_sbfl(const AcrRunSpec *spec);
/* Returns a string of all inputs on which a baseline depends, besides the tree and the Python;
 * owned. */
char *acr_task_test_environment(const AcrSandboxOptions *options) ACR_MUST_USE;
/* Returns the folder for cached baselines; owned; NULL if there is none. */
char *acr_task_baselines(void) ACR_MUST_USE;
