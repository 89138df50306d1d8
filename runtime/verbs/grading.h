/* Private to verbs: what the verbs that grade share. */
#ifndef ACR_VERBS_GRADING_H
#define ACR_VERBS_GRADING_H

#include "eval/eval.h"
#include "verbs/verbs_private.h"

/* Checks --run-id and reads the user's recipes; *out_recipes: owned, NULL: none. Errors: USAGE of
 * task, those of base. */
bool acr_verb_check_grading(const AcrRunSpec *spec, char **out_recipes,
                            GError **error) ACR_MUST_USE;

/* Rejects invalid recipes of the user, before any task starts; `recipes` may be NULL. */
bool acr_verb_check_recipes(AcrPython *python, const AcrRunSpec *spec, const char *recipes,
                            GError **error) ACR_MUST_USE;

/* Prints the grades: a table on stdout, or JSON; the sums on stderr. */
AcrOut acr_verb_tell_grades(const AcrEvalResult *result, bool as_json) ACR_MUST_USE;

/* Like acr_verb_fail; invalid input counts as a usage error. */
int acr_verb_fail_grading(AcrHost *host, const GError *error);

/* ---- Of a batch, as its tasks end (batch_grading.c) ---- */

typedef struct AcrBatchGrading AcrBatchGrading;
/* Prepares grading of the predictions for `instances`; all borrowed; `spent_microusd` is read at
 * the end. Owned. Errors: USAGE of task, those of batch, eval and py. */
AcrBatchGrading *acr_batch_grading_new(AcrHost *host, AcrRunSpec *spec, const GPtrArray *instances,
                                       const gint64 *spent_microusd, GError **error) ACR_MUST_USE;
void acr_batch_grading_free(AcrBatchGrading *grading);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBatchGrading, acr_batch_grading_free)
/* For AcrBatchOptions. */
void acr_batch_grading_take(void *grading, guint instance, gint64 deadline_us);
/* Writes the final report and prints the grades; *out_code: `code` of the batch, or that of a
 * failure here. */
bool acr_batch_grading_finish(AcrBatchGrading *grading, int code, int *out_code,
                              GError **error) ACR_MUST_USE;

#endif
