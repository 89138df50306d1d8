/* Private to eval. */
#ifndef ACR_EVAL_PRIVATE_H
#define ACR_EVAL_PRIVATE_H

#include "eval/eval.h"
#include "layout/layout.h"

#define ACR_EVAL_MAX_BYTES ((gsize)1024 * 1024 * 1024)

/* Makes and locks the folder of a run, which nobody else then grades in; an open descriptor; -1: an error,
 * FAILED or of base. */
int acr_eval_run_open(const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Writes the final report; a kill leaves a part of it only where the next run replaces it. */
bool acr_eval_write_final(const AcrRunSpec *spec, const char *path, const char *text,
                          GError **error) ACR_MUST_USE;

/* The row, where its parser of logs is an extension's with what names that, as it is planned; owned. */
char *acr_eval_row(const AcrEvalOptions *options, const char *row) ACR_MUST_USE;
/* The row with what the extension reads in the logs, as these are graded; owned. Errors: those of
 * acr_extensions_parse and of py. */
char *acr_eval_row_with(const AcrEvalOptions *options, const char *row, GBytes *const *logs,
                        guint n, GError **error) ACR_MUST_USE;

/* An open folder that is written to; `path` is what errors call it. */
typedef struct {
    int fd;
    char *path;
} AcrEvalFolder;
void acr_eval_folder_clear(AcrEvalFolder *folder);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEvalFolder, acr_eval_folder_clear)
/* Opens, or with `make` makes, the folder of a prediction, never through a link; `fd` is -1 where
 * there is none and none is made. Errors: FAILED. */
bool acr_eval_folder_open(const AcrRunSpec *spec, const AcrPrediction *prediction, bool make,
                          AcrEvalFolder *out, GError **error) ACR_MUST_USE;
/* A file of it; owned; NULL: there is none, or it cannot be read. */
GBytes *acr_eval_folder_read(const AcrEvalFolder *folder, const char *name) ACR_MUST_USE;
/* Errors: of base. */
bool acr_eval_folder_write(const AcrEvalFolder *folder, const char *name, const void *data,
                           gsize len, GError **error) ACR_MUST_USE;
void acr_eval_folder_remove(const AcrEvalFolder *folder, const char *name);

/*
 * Another run to compare with, as python/acr/evaluation.py reads it: of a final report, a folder that holds one, or
 * the reports of a run's predictions, ours or the package's. Owned JSON. Errors: INPUT, those of py.
 */
AcrJson *acr_eval_read_other(AcrPython *python, const char *path, GError **error) ACR_MUST_USE;

/* A whole run, for its report; all borrowed. */
typedef struct {
    const AcrEvalOptions *options;
    const AcrJson *tasks; /* [id] */
    const AcrJson *rows;  /* of each prediction, in their order */
    const AcrJson *other; /* as acr_eval_read_other gives it; NULL: there is none to compare with */
    const char *results_name; /* of the file that the data set's own harness writes; NULL: none */
} AcrEvalSums;

/* What became of a prediction, as grades.json has it; `sign`: what in its logs says that the environment is at
 * fault, [reason, tier], taken, may be NULL. Owned. */
AcrJson *acr_eval_row_of(const AcrPrediction *prediction, const AcrGraded *graded, bool is_graded,
                         AcrJson *sign) ACR_MUST_USE;
/* Its grade; -1: it has none, or not one of ours. */
int acr_eval_row_grade(const AcrJson *row) ACR_MUST_USE;

/* ---- The whole run (final.c) ---- */

/* Sets the counts of `out`. */
void acr_eval_count(const AcrEvalSums *sums, AcrEvalResult *out);
/* Writes OUT/MODEL.RUN_ID.json, of the first prediction's model, and the summary beside the logs; sets all of
 * `out` but the counts, which are set. Errors: FAILED, those of base and py. */
bool acr_eval_final(const AcrEvalSums *sums, AcrEvalResult *out, GError **error) ACR_MUST_USE;
/* What version 5 notes of a run, so that it can be graded again. Errors: of base. */
bool acr_eval_write_run(const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Writes what a shard has come to (parts.c): its row for each task, beside those of tasks that it graded
 * before. Errors: of base. */
bool acr_eval_part_write(const AcrEvalSums *sums, GError **error) ACR_MUST_USE;

/* What running a task's tests with a patch gave. Texts are owned. */
typedef struct {
    gint64 deadline_us; /* set before: by then it ends; 0: none */
    GBytes *output;     /* of the script, both streams in one; NULL: it was not run */
    char *log;          /* what was done, in lines */
    char *applied_by;   /* the command that took the patch; NULL: none did, or there was none */
    bool timed_out;
    int exit_code;
    gint64 wall_ms, peak_bytes, image_bytes;
    const char *limit; /* that was hit, borrowed; NULL: none */
    char *changed;     /* files that the patch changed, "f path" or (a link) "l path" a line */
} AcrEvalRun;
void acr_eval_run_clear(AcrEvalRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEvalRun, acr_eval_run_clear)
/* How it is run; all borrowed. */
typedef struct {
    const char *patch;            /* NULL: none */
    const AcrGradingTrial *trial; /* whose script is run; NULL: as the package does it */
    const char *const *env;       /* "NAME=VALUE"; NULL: nothing is added */
} AcrEvalWay;
/* Applies the patch to a fresh copy of the project, and runs the plan's script there.
 * Errors: those of sandbox, vcs; FAILED. */
bool acr_eval_run_tests(const AcrEvalOptions *options, const AcrInstance *task,
                        const AcrGradingPlan *plan, const AcrEvalWay *way, AcrEvalRun *out,
                        GError **error) ACR_MUST_USE;

/*
 * Whether a task that `run` resolved is believed: by experiments with its tests, each in a fresh copy
 * (python/acr/grading/trust.py). *out: {"resolved", "why", "evidence", "weak"}, owned. `output` is that of the
 * run with canaries, owned; NULL: it was not needed. Errors: those of running the tests, and of grading.
 */
bool acr_eval_trust(const AcrEvalOptions *options, const AcrInstance *task,
                    const AcrGradingPlan *plan, const char *patch, const AcrEvalRun *run,
                    AcrJson **out, GBytes **output, GError **error) ACR_MUST_USE;
/*
 * Runs the tests `times` more, every other time with a fixed hash seed and time zone, else with others.
 * *out: {"runs", "flaky": {test: how often it passed}, "why"}, of the tests that count, with the first
 * run; "why": a test that was to be mended does not always pass. Owned.
 */
bool acr_eval_repeat(const AcrEvalOptions *options, const AcrInstance *task,
                     const AcrGradingPlan *plan, const char *patch, const AcrEvalRun *run,
                     gint64 times, AcrJson **out, GError **error) ACR_MUST_USE;

/* Grades one prediction: by what an earlier run left, or by running its tests before `deadline_us`. */
void acr_eval_prediction(const AcrEvalOptions *options, const AcrInstance *task,
                         const AcrPrediction *prediction, gint64 deadline_us, AcrGraded *out);

#endif
