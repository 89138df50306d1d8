/* Private to eval: folders, rows, and the steps of grading. */
#pragma once

#include "eval/eval.h"
#include "layout/layout.h"

#define ACR_EVAL_MAX_BYTES ((gsize)1024 * 1024 * 1024)

/* Creates and locks the folder of a run, so that no other process grades in it. Returns an open
 * descriptor, or -1 with an error (FAILED, or an error of base). */
int acr_eval_run_open(const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Writes the final report to `path`. A truncated report of a killed process is replaced by the next
 * run. */
bool acr_eval_write_final(const AcrRunSpec *spec, const char *path, const char *text,
                          GError **error) ACR_MUST_USE;

/* Returns the row to plan with: `row`, with the digest of the parser if an extension provides the
 * row's log parser. Owned. */
char *acr_eval_row(const AcrEvalOptions *options, const char *row) ACR_MUST_USE;
/* Returns the row to grade with: `row`, with the results that the log parser of an extension or of
 * the row reads from the logs; owned. Errors: those of acr_extensions_parse and of py; FAILED. */
char *acr_eval_row_with(const AcrEvalOptions *options, const char *row, GBytes *const *logs,
                        guint n, GError **error) ACR_MUST_USE;

/* An open folder for writing. Error messages name `path`. */
typedef struct {
    int fd;
    char *path;
} AcrEvalFolder;
void acr_eval_folder_clear(AcrEvalFolder *folder);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEvalFolder, acr_eval_folder_clear)
/* Opens the folder of a prediction without following links; with `make`, creates it. out->fd is -1
 * if the folder does not exist. Errors: FAILED. */
bool acr_eval_folder_open(const AcrRunSpec *spec, const AcrPrediction *prediction, bool make,
                          AcrEvalFolder *out, GError **error) ACR_MUST_USE;
/* Reads a file in the folder; owned; NULL if the file is missing or unreadable. */
GBytes *acr_eval_folder_read(const AcrEvalFolder *folder, const char *name) ACR_MUST_USE;
bool acr_eval_folder_write(const AcrEvalFolder *folder, const char *name, const void *data,
                           gsize len, GError **error) ACR_MUST_USE;
void acr_eval_folder_remove(const AcrEvalFolder *folder, const char *name);

/* Reads another evaluation to compare with, in the form that python/acr/evaluation.py needs. `path`
 * is a final report, a folder that contains one, or the reports of single predictions (by acr-host
 * or by the swebench package). Owned JSON. Errors: INPUT, those of py. */
AcrJson *acr_eval_read_other(AcrPython *python, const char *path, GError **error) ACR_MUST_USE;

/* The results of a whole run, for the run's report. All members are borrowed. */
typedef struct {
    const AcrEvalOptions *options;
    const AcrJson *tasks;       /* array of task ids */
    const AcrJson *rows;        /* array of the predictions' rows, in order */
    const AcrJson *other;       /* from acr_eval_read_other; NULL if nothing is compared */
    const GPtrArray *instances; /* array of AcrInstance with rows; NULL if the rows are unknown */
    /* name of the results file of the data set's own harness; NULL if there is none */
    const char *results_name;
} AcrEvalSums;

/* Returns the row of a prediction in grades.json. `sign` (taken, may be NULL) is [reason, tier] if
 * the logs show a problem with the environment. Owned. */
AcrJson *acr_eval_row_of(const AcrPrediction *prediction, const AcrGraded *graded, bool is_graded,
                         AcrJson *sign) ACR_MUST_USE;
/* Returns the grade in a row (AcrGrade); -1 if it is missing or unknown. */
int acr_eval_row_grade(const AcrJson *row) ACR_MUST_USE;

/* ---- The whole run (final.c) ---- */

void acr_eval_count(const AcrEvalSums *sums, AcrEvalResult *out);
/* Writes OUT/MODEL.RUN_ID.json (MODEL is the model of the first prediction), and the summary beside
 * the logs. Sets the members of `out` except for the counts. Errors: FAILED, those of base and
 * py. */
bool acr_eval_final(const AcrEvalSums *sums, AcrEvalResult *out, GError **error) ACR_MUST_USE;
/* Writes the file about the run that version 5 of the swebench package needs in order to grade the
 * run again. Errors: those of base. */
bool acr_eval_write_run(const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Writes the result of a shard (parts.c), with a row for each task of the shard. Keeps rows of
 * earlier runs. Errors: those of base. */
bool acr_eval_part_write(const AcrEvalSums *sums, GError **error) ACR_MUST_USE;

/* The result of running a task's tests with a patch. Strings are owned. */
typedef struct {
    /* set by the caller: the monotonic time at which the tests must end; 0: never */
    gint64 deadline_us;
    /* stdout and stderr of the script, interleaved; NULL if the script did not run */
    GBytes *output;
    char *log; /* log of the steps, one line for each */
    /* the command that applied the patch; NULL if none succeeded, or if there is no patch */
    char *applied_by;
    bool timed_out;
    int exit_code;
    gint64 wall_ms, peak_bytes, image_bytes;
    gint64 setup_ms;   /* time to prepare the environment or the image; added to its value */
    const char *limit; /* name of the limit that was exceeded, borrowed; NULL if there is none */
    /* files that the patch changed, one on each line: "f path", or "l path" for a link */
    char *changed;
} AcrEvalRun;
void acr_eval_run_clear(AcrEvalRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEvalRun, acr_eval_run_clear)
/* How to run the tests. All members are borrowed. */
typedef struct {
    const char *patch;            /* NULL: none */
    const AcrGradingTrial *trial; /* a trial, whose script replaces the plan's script; NULL for the
                                   * official run */
    const char *const *env;       /* additional variables, "NAME=VALUE"; NULL: none */
} AcrEvalWay;
/* Returns git's first reason for rejecting a patch, from the output of git's commands; owned; NULL
 * if there is none. */
char *acr_eval_refusal(const char *log) ACR_MUST_USE;
/* Applies the patch to a fresh copy of the project, and runs the plan's script in the copy. Errors:
 * those of sandbox, vcs; FAILED. */
bool acr_eval_run_tests(const AcrEvalOptions *options, const AcrInstance *task,
                        const AcrGradingPlan *plan, const AcrEvalWay *way, AcrEvalRun *out,
                        GError **error) ACR_MUST_USE;

/* Decides by experiments, each in a fresh copy, whether to trust that `run` resolved the task
 * (python/acr/grading/trust.py). *out is {"resolved", "why", "evidence", "weak"}, owned. *output is
 * the output of the run with canaries, owned; NULL if no such run was needed. Errors: those of
 * running the tests, and of grading. */
bool acr_eval_trust(const AcrEvalOptions *options, const AcrInstance *task,
                    const AcrGradingPlan *plan, const char *patch, const AcrEvalRun *run,
                    AcrJson **out, GBytes **output, GError **error) ACR_MUST_USE;
/* Returns variables that set the hash seed and the time zone of varied run `number`; owned
 * (g_strfreev). */
char **acr_eval_varied_env(gint64 number) ACR_MUST_USE;
/* Runs the tests `times` times more, every other time with a fixed hash seed and time zone. *out
 * (owned) is {"runs", "flaky": {test: how often it passed}, "why"} for the tests that the grade
 * depends on. "why" is set if a test that the patch must fix does not always pass. */
bool acr_eval_repeat(const AcrEvalOptions *options, const AcrInstance *task,
                     const AcrGradingPlan *plan, const char *patch, const AcrEvalRun *run,
                     gint64 times, AcrJson **out, GError **error) ACR_MUST_USE;

/* Returns the task's tree at its base commit; owned. Errors: FAILED, those of vcs. */
AcrSnapshot *acr_eval_tree(const AcrRunSpec *spec, const AcrInstance *task,
                           GError **error) ACR_MUST_USE;
/* Audits a task by `audit` runs (an option) with the reference patch, including `first`, and as
 * many runs without a patch. *out is the judgement of python/acr/grading/audit.py, owned. Errors:
 * those of running the tests, and of grading. */
bool acr_eval_audit(const AcrEvalOptions *options, const AcrInstance *task,
                    const AcrGradingPlan *plan, const char *patch, const AcrEvalRun *first,
                    AcrJson **out, GError **error) ACR_MUST_USE;

/* Grades one prediction: takes the grade from the files of an earlier run, or runs the tests. The
 * tests must end before `deadline_us` (monotonic time; 0: none). */
void acr_eval_prediction(const AcrEvalOptions *options, const AcrInstance *task,
                         const AcrPrediction *prediction, gint64 deadline_us, AcrGraded *out);
