/* grading: interprets logs of benchmark tasks by the rules of the swebench package, version 4 or 5
 * (`rules`). Errors of all functions: those of acr_python_call. */
#pragma once

#include "py/py.h"

/* A plan for running the tests of a task, in an image or in an environment on this machine. All
 * owned. */
typedef struct {
    char *script;
    char *image;    /* NULL: the tests run in an environment, described by the next members */
    char *key;      /* name of the environment; equal if Python and packages are equal */
    char *python;   /* "3.9" */
    char *packages; /* "name==version", one a line */
    char *install;  /* a shell command in the project's folder; may be empty */
    char *kept;     /* files that the script restores from /tmp/kept, one a line */
    char *row;  /* the row for grading in the environment, without tests that cannot pass there */
    char *test; /* the command that runs the project's tests; "": unknown */
    char *hidden_test; /* the command that runs only the files of the task's hidden tests */
    char *folder;   /* the project's folder in the image; NULL: the tests run in an environment */
    char *checkout; /* a branch of the image's repository to check out first; "" or NULL: none */
    char *failing;  /* the hidden tests that must fail without a patch, one a line */
} AcrGradingPlan;
void acr_grading_plan_clear(AcrGradingPlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGradingPlan, acr_grading_plan_clear)
/* Plans the run of a task in its image or environment; `recipes`: JSON of the user's recipes (NULL:
 * none). `row`: JSON of the task's row in the data set. Errors: BAD_CALL (for example, the row has
 * no script and its project is unknown). */
bool acr_grading_plan_image(AcrPython *python, const char *row, int rules, AcrGradingPlan *out,
                            GError **error) ACR_MUST_USE;
bool acr_grading_plan_environment(AcrPython *python, const char *row, int rules,
                                  const char *recipes, AcrGradingPlan *out,
                                  GError **error) ACR_MUST_USE;
/* Checks the user's recipes. Errors: BAD_CALL (the message says what is wrong). */
bool acr_grading_check_recipes(AcrPython *python, const char *recipes, GError **error) ACR_MUST_USE;
/* Makes report.json for a patch from the log of its tests; owned. *out_failure (owned): why the
 * task is not "resolved", a word of grading/classes.py; NULL if it is. *out_reward (owned;
 * out_reward may be NULL): the output of a Harbor task's verifier; NULL: none. */
char *acr_grading_report(AcrPython *python, const char *row, int rules, GBytes *log,
                         char **out_failure, AcrJson **out_reward, GError **error) ACR_MUST_USE;

/* The part of a log that its parser gets; owned. */
char *acr_grading_output(AcrPython *python, GBytes *log, GError **error) ACR_MUST_USE;

/* The next experiment to decide whether to believe a resolved task
 * (python/acr/grading/trust.py). All owned. */
typedef struct {
    char *patch;  /* NULL: none */
    char *script; /* replaces the plan's script */
    char *kept;   /* files that the script restores, one a line */
} AcrGradingTrial;
void acr_grading_trial_clear(AcrGradingTrial *trial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGradingTrial, acr_grading_trial_clear)
/* The input for the experiments with a resolved task; borrowed. */
typedef struct {
    const char *script, *patch;
    /* files that the patch changes, one a line: "f path" for a file, "l path" for a link */
    const char *changed;
    const char *seed;         /* a secret from which all random choices are derived */
    const GPtrArray *outputs; /* GBytes: the outputs of the runs so far */
} AcrGradingTask;
/* Sets `out` to the next run, or *out_verdict (owned JSON) to the verdict {"resolved", "why",
 * "evidence", "weak"}; the other one is empty or NULL. The same task and outputs give the same
 * result. */
bool acr_grading_step(AcrPython *python, const char *row, int rules, const AcrGradingTask *task,
                      AcrGradingTrial *out, AcrJson **out_verdict, GError **error) ACR_MUST_USE;
/* Whether each of the tests that count passed: [{fail-to-pass test: bool}, {pass-to-pass test:
 * bool}]; owned JSON. */
AcrJson *acr_grading_tests(AcrPython *python, const char *row, int rules, GBytes *log,
                           GError **error) ACR_MUST_USE;

/* The first sign in the logs of a problem of the environment: a word, and "environment" or
 * "ambiguous"; owned; both NULL: none. */
bool acr_grading_failure(AcrPython *python, GBytes *const *logs, guint n_logs, char **out_reason,
                         char **out_tier, GError **error) ACR_MUST_USE;
