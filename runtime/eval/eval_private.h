/* Private to eval. */
#ifndef ACR_EVAL_PRIVATE_H
#define ACR_EVAL_PRIVATE_H

#include "eval/eval.h"

#define ACR_EVAL_LOGS "logs/run_evaluation" /* below OUT */

/* The files of a prediction's folder, OUT/logs/run_evaluation/RUN_ID/MODEL/ID. */
#define ACR_EVAL_PATCH "patch.diff"
#define ACR_EVAL_SCRIPT "eval.sh"
#define ACR_EVAL_LOG "run_instance.log"
#define ACR_EVAL_OUTPUT "test_output.txt"
#define ACR_EVAL_REPORT "report.json"
#define ACR_EVAL_VERDICT "verdict.json"
#define ACR_EVAL_MAX_BYTES ((gsize)1024 * 1024 * 1024)

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

/* What running a task's tests with a patch gave. Texts are owned. */
typedef struct {
    GBytes *output;   /* of the script, both streams in one; NULL: it was not run */
    char *log;        /* what was done, in lines */
    char *applied_by; /* the command that took the patch; NULL: none did, or there was none */
    bool timed_out;
    int exit_code;
    gint64 wall_ms, peak_bytes;
    const char *limit; /* that was hit, borrowed; NULL: none */
} AcrEvalRun;
void acr_eval_run_clear(AcrEvalRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEvalRun, acr_eval_run_clear)
/* Applies the patch (NULL: none) to a fresh copy of the project, and runs the plan's script there.
 * Errors: those of sandbox, vcs; FAILED. */
bool acr_eval_run_tests(const AcrEvalOptions *options, const AcrInstance *task,
                        const AcrGradingPlan *plan, const char *patch, AcrEvalRun *out,
                        GError **error) ACR_MUST_USE;

/*
 * The Python of a plan's environment, which is made where it is not there yet: a virtual environment
 * below `cache`, shared by all tasks with the same Python and packages; owned path. What packages do
 * when they are installed happens in bubblewrap, with the network, and nothing of the user's in sight.
 * Errors: FAILED (no such Python here, a package cannot be installed), those of base.
 */
char *acr_eval_environment(const AcrGradingPlan *plan, const char *cache,
                           const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;

/* Grades one prediction: by what an earlier run left, or by running its tests. */
void acr_eval_prediction(const AcrEvalOptions *options, const AcrInstance *task,
                         const AcrPrediction *prediction, AcrGraded *out);

#endif
