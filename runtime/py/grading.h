/*
 * grading: interprets logs of benchmark tasks by the rules of SWE-bench's package, version 4 or 5
 * (`rules`). Errors of all functions: those of acr_python_call.
 */
#ifndef ACR_PY_GRADING_H
#define ACR_PY_GRADING_H

#include "py/py.h"

/* How the tests of a task are run: in an image, or in an environment on this machine. All owned. */
typedef struct {
    char *script;
    char *image;    /* NULL: the tests run in an environment, which the next members describe */
    char *key;      /* names the environment: equal for the same Python and packages */
    char *python;   /* "3.9" */
    char *packages; /* "name==version", one a line */
    char *install;  /* a shell command in the project's folder; may be empty */
    char *kept;     /* files that the script puts back from /tmp/kept, one a line */
    char *row;  /* the row for grading in the environment: without tests that cannot pass there */
    char *test; /* the command that runs the project's tests; "": unknown */
    char *hidden_test; /* the same command for the files of the task's hidden tests only */
    char *folder;   /* the project's folder in the image; NULL: the tests run in an environment */
    char *checkout; /* a branch of the image's repository to check out first; "" or NULL: none */
    char *failing;  /* the hidden tests that must fail without a patch, one a line */
} AcrGradingPlan;
void acr_grading_plan_clear(AcrGradingPlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGradingPlan, acr_grading_plan_clear)
/*
 * Plans the run of a task in its image or environment; `recipes`: the user's own, JSON (NULL:
 * none). `row`: its row of the data set, JSON. Errors: BAD_CALL (for example, the row has no script
 * and its project is unknown).
 */
bool acr_grading_plan_image(AcrPython *python, const char *row, int rules, AcrGradingPlan *out,
                            GError **error) ACR_MUST_USE;
bool acr_grading_plan_environment(AcrPython *python, const char *row, int rules,
                                  const char *recipes, AcrGradingPlan *out,
                                  GError **error) ACR_MUST_USE;
/* Checks a user's recipes. Errors: BAD_CALL (says what is wrong with them). */
bool acr_grading_check_recipes(AcrPython *python, const char *recipes, GError **error) ACR_MUST_USE;
/* report.json for a patch whose tests left this log; owned. *out_failure: why it is not "resolved",
 * a word of grading/classes.py, owned; NULL: it is. *out_reward: what a Harbor task's
 * verifier wrote, owned; NULL: nothing; out_reward may be NULL. */
char *acr_grading_report(AcrPython *python, const char *row, int rules, GBytes *log,
                         char **out_failure, AcrJson **out_reward, GError **error) ACR_MUST_USE;

/* The part of the log that is passed to a parser; owned. */
char *acr_grading_output(AcrPython *python, GBytes *log, GError **error) ACR_MUST_USE;

/* The next run that decides whether to believe a resolved task (python/acr/grading/trust.py). All
 * owned. */
typedef struct {
    char *patch;  /* NULL: none */
    char *script; /* replaces the plan's script */
    char *kept;   /* files that the script puts back, one a line */
} AcrGradingTrial;
void acr_grading_trial_clear(AcrGradingTrial *trial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGradingTrial, acr_grading_trial_clear)
/* What is known about a resolved task; borrowed. */
typedef struct {
    const char *script, *patch;
    /* changed by the patch, one a line: "f path" for a file, "l path" for a link */
    const char *changed;
    const char *seed;         /* a secret from which all random choices are derived */
    const GPtrArray *outputs; /* GBytes: the outputs of the runs so far */
} AcrGradingTask;
/*
 * Sets `out` to the next run, or *out_verdict (owned JSON) to the verdict {"resolved", "why", "evidence", "weak"}; the other one stays empty. The same task and outputs give the same result.
 */
bool acr_grading_step(AcrPython *python, const char *row, int rules, const AcrGradingTask *task,
                      AcrGradingTrial *out, AcrJson **out_verdict, GError **error) ACR_MUST_USE;
/* The tests that count, and whether each passed: [{test that must pass now: bool}, {test that must
 * still pass: bool}]; owned JSON. */
AcrJson *acr_grading_tests(AcrPython *python, const char *row, int rules, GBytes *log,
                           GError **error) ACR_MUST_USE;

/* The first sign in the logs that blames the environment: a word, and "environment" or "ambiguous";
 * owned; both NULL: none. */
bool acr_grading_failure(AcrPython *python, GBytes *const *logs, guint n_logs, char **out_reason,
                         char **out_tier, GError **error) ACR_MUST_USE;

#endif
