/*
 * grading: what logs of benchmark tasks say, by the rules of SWE-bench's package, version 4 or 5
 * (`rules`). Errors of all: those of acr_python_call.
 */
#ifndef ACR_PY_GRADING_H
#define ACR_PY_GRADING_H

#include "py/py.h"

/* How the tests of a task are run: in an image, or in an environment of this machine. All owned. */
typedef struct {
    char *script;
    char *image;    /* NULL: it is for an environment, described by what follows */
    char *key;      /* names the environment: same Python, same packages */
    char *python;   /* "3.9" */
    char *packages; /* "name==version", one a line */
    char *install;  /* a shell command in the project's folder; may be empty */
    char *kept;     /* files that the script puts back from /tmp/kept, one a line */
    char *row;      /* as the task is graded there: without tests that cannot pass */
} AcrGradingPlan;
void acr_grading_plan_clear(AcrGradingPlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGradingPlan, acr_grading_plan_clear)
/*
 * Plans the run of a task in its image, or in its environment: `recipes` are the user's own, JSON (NULL:
 * none). `row`: its row of the data set, JSON. Errors: BAD_CALL (the row has no script and its project
 * is not known, or the like).
 */
bool acr_grading_plan_image(AcrPython *python, const char *row, int rules, AcrGradingPlan *out,
                            GError **error) ACR_MUST_USE;
bool acr_grading_plan_environment(AcrPython *python, const char *row, int rules,
                                  const char *recipes, AcrGradingPlan *out,
                                  GError **error) ACR_MUST_USE;
/* The content of report.json for a patch whose tests left this log; owned. */
char *acr_grading_report(AcrPython *python, const char *row, int rules, GBytes *log,
                         bool *out_resolved, GError **error) ACR_MUST_USE;
/* The first sign in the logs that the environment is at fault, a word, and "environment" or
 * "ambiguous"; owned; NULL in both: there is none. */
bool acr_grading_failure(AcrPython *python, GBytes *const *logs, guint n_logs, char **out_reason,
                         char **out_tier, GError **error) ACR_MUST_USE;
/*
 * The final report, as its file has it and on one line; owned. `told`: {"tasks": [id], "endings": {id:
 * "resolved" | "unresolved" | "error" | "empty"}, "failures": {id: [reason, tier]}, "engine": null |
 * {"containers": [name], "images": [name]}}.
 */
bool acr_grading_final(AcrPython *python, const AcrJson *told, int rules, char **out_text,
                       char **out_line, GError **error) ACR_MUST_USE;

#endif
