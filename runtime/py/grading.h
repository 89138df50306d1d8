/* grading: interprets the logs of benchmark tasks by the rules of the swebench package, version 4
 * or 5 (`rules`). Errors of all functions: those of acr_python_call. */
#pragma once

#include "py/py.h"

/* A plan for running the tests of a task, in an image or in an environment on this machine. All
 * members are owned. */
typedef struct {
    char *script;
    char *image;    /* NULL: the tests run in an environment, which the following members
                     * describe */
    char *key;      /* name of the environment; equal if Python and packages are equal */
    char *python;   /* "3.9" */
    char *packages; /* "name==version", one on each line */
    char *install;  /* shell command in the project's folder; may be empty */
    char *kept;     /* files that the script restores from /tmp/kept, one on each line */
    char *row;      /* row for grading in the environment, without tests that cannot pass there */
    char *test;     /* command that runs the project's tests; "" if unknown */
    char *hidden_test; /* command that runs only the files of the task's hidden tests */
    char *folder;      /* project's folder in the image; NULL: the tests run in an environment */
    /* branch of the image's repository to check out first; "" or NULL: none */
    char *checkout;
    char *failing; /* hidden tests that must fail without a patch, one on each line */
} AcrGradingPlan;
void acr_grading_plan_clear(AcrGradingPlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGradingPlan, acr_grading_plan_clear)
/* Plan the run of a task in its image or in an environment. `recipes` is JSON with the user's
 * recipes (NULL: none), `row` the JSON of the task's row in the data set. Errors: BAD_CALL (for
 * example, the row has no script and its project is unknown). */
bool acr_grading_plan_image(AcrPython *python, const char *row, int rules, AcrGradingPlan *out,
                            GError **error) ACR_MUST_USE;
bool acr_grading_plan_environment(AcrPython *python, const char *row, int rules,
                                  const char *recipes, AcrGradingPlan *out,
                                  GError **error) ACR_MUST_USE;
/* Checks the user's recipes. Errors: BAD_CALL (the message says what is wrong). */
bool acr_grading_check_recipes(AcrPython *python, const char *recipes, GError **error) ACR_MUST_USE;
/* Why no test ran. Both members are owned. */
typedef struct {
    char *why;  /* NULL: tests ran, or the reason is unknown */
    char *lack; /* the fault of the environment if `why` is the same without the patch; or NULL */
} AcrGradingStop;
void acr_grading_stop_clear(AcrGradingStop *stop);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGradingStop, acr_grading_stop_clear)

/* Returns the contents of report.json for a patch, from the log of its tests; owned. *out_failure
 * (owned) says why the task is not "resolved", in a word of grading/classes.py; NULL if it is
 * resolved. *out_stop (zero-initialised) says why no test ran. *out_reward (owned; out_reward may be NULL) is the
 * output of a Harbor task's verifier; NULL if there is none. */
char *acr_grading_report(AcrPython *python, const char *row, int rules, GBytes *log,
                         char **out_failure, AcrGradingStop *out_stop, AcrJson **out_reward,
                         GError **error) ACR_MUST_USE;

/* Returns the part of a log that is passed to the log's parser; owned. */
char *acr_grading_output(AcrPython *python, GBytes *log, GError **error) ACR_MUST_USE;

/* The next experiment for the decision whether to trust that a task is resolved
 * (python/acr/grading/trust.py). All members are owned. */
typedef struct {
    char *patch;  /* NULL: no patch */
    char *script; /* script that replaces the plan's script */
    char *kept;   /* files that the script restores, one on each line */
} AcrGradingTrial;
void acr_grading_trial_clear(AcrGradingTrial *trial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGradingTrial, acr_grading_trial_clear)
/* The input for the experiments with a resolved task. All members are borrowed. */
typedef struct {
    const char *script, *patch;
    /* files that the patch changes, one on each line: "f path" for a file, "l path" for a link */
    const char *changed;
    const char *seed;         /* secret from which all random choices are derived */
    const GPtrArray *outputs; /* array of GBytes: the outputs of the runs so far */
} AcrGradingTask;
/* Sets `out` to the next run, or *out_verdict (owned JSON) to the verdict {"resolved", "why",
 * "evidence", "weak"}; the other stays empty or NULL. The same task and outputs always give the
 * same result. */
bool acr_grading_step(AcrPython *python, const char *row, int rules, const AcrGradingTask *task,
                      AcrGradingTrial *out, AcrJson **out_verdict, GError **error) ACR_MUST_USE;
/* Returns for each test that the grade depends on whether it passed, as [{fail-to-pass test: bool},
 * {pass-to-pass test: bool}]; owned JSON. */
AcrJson *acr_grading_tests(AcrPython *python, const char *row, int rules, GBytes *log,
                           GError **error) ACR_MUST_USE;

/* Sets *out_reason and *out_tier to the first sign in the logs of a problem with the environment: a
 * word, and "environment" or "ambiguous"; owned; both are NULL if there is none. */
bool acr_grading_failure(AcrPython *python, GBytes *const *logs, guint n_logs, char **out_reason,
                         char **out_tier, GError **error) ACR_MUST_USE;
