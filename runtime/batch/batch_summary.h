/* OUT/summary.json: the result of each task that has ended, in this command or an earlier one, and
 * the totals. */
#pragma once

#include "batch/batch.h"

/* The values of "status" in a task's row. */
#define ACR_STATUS_PATCH "patch"
#define ACR_STATUS_REPRODUCED "reproduced" /* with --reproduce-only: there is a script */
/* there is a patch, but the review or the validation refused it */
#define ACR_STATUS_REFUSED "refused"
#define ACR_STATUS_NONE "none"       /* the task ended without a patch */
#define ACR_STATUS_STOPPED "stopped" /* a limit stopped the task */
#define ACR_STATUS_FAILED "failed"
#define ACR_STATUS_INTERRUPTED "interrupted"
const char *acr_batch_status(const AcrRunResult *result);

/* maximum of amounts in notes and ledgers, so that the sums of all tasks stay below 2^63 */
#define ACR_BATCH_MOST (1ll << 45)

/* The summary: {"date": when the last task ended, "dataset", "models",
 *  "options": {given options that affect results},
 *  "tasks": [{"instance_id", "status", "verdict", "exit", "error", "error_class", "not_compared",
 *             "seconds", "cost": SUM, "repo", "setup_seconds", "grade": if it was graded}],
 *  "totals": {"tasks", "by_status", "by_verdict", "by_error_class", "seconds", "setup_seconds", "cost": SUM,
 *             "charged_microusd"}}. A SUM is as in cost.json. Tasks are in the data set's order. */
typedef struct AcrBatchSummary AcrBatchSummary;
/* Reads the summary in a batch's folder; a missing file counts as empty. Owned. Errors: those of
 * base; DATASET if the file is damaged. */
AcrBatchSummary *acr_batch_summary_open(const char *out, GError **error) ACR_MUST_USE;
void acr_batch_summary_free(AcrBatchSummary *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBatchSummary, acr_batch_summary_free)
/* Returns an empty summary that will be written to the folder `out`; owned. */
AcrBatchSummary *acr_batch_summary_new(const char *out) ACR_MUST_USE;
/* Copies the row of the task `id` from `from`, if `from` has one. */
void acr_batch_summary_take(AcrBatchSummary *summary, const AcrBatchSummary *from, const char *id);
/* Sets the members that describe the batch, and sorts the tasks in the order of `ids`, the ids of
 * the whole data set. */
void acr_batch_summary_describe(AcrBatchSummary *summary, const AcrRunSpec *spec, char **ids);
/* Returns the status of a task; borrowed; NULL if the task has not ended. */
const char *acr_batch_summary_status(const AcrBatchSummary *summary, const char *id);
/* Returns the sum of the costs of all tasks, in millionths of a dollar. */
gint64 acr_batch_summary_microusd(const AcrBatchSummary *summary);
/* Returns the part of the charged amount that counts for calls with an answer. */
gint64 acr_batch_summary_answered(const AcrBatchSummary *summary);
/* Returns the row of a task; owned. */
AcrJson *acr_batch_summary_row(const char *id, const AcrRunResult *result,
                               double seconds) ACR_MUST_USE;
/* Adds the row of a task, or replaces it. */
void acr_batch_summary_add(AcrBatchSummary *summary, const AcrBatchTask *task);
/* Sets the grade of a task. */
void acr_batch_summary_grade(AcrBatchSummary *summary, const char *id, const char *grade);
/* Returns the object that the file contains; owned. */
AcrJson *acr_batch_summary_json(const AcrBatchSummary *summary) ACR_MUST_USE;
/* Writes the file, atomically. */
bool acr_batch_summary_write(const AcrBatchSummary *summary, GError **error) ACR_MUST_USE;
/* Returns the tasks that this command added, as a table and a few lines for people; owned. */
char *acr_batch_summary_text(const AcrBatchSummary *summary) ACR_MUST_USE;
/* Returns a one-line warning if the project's tests could not be compared for several patches;
 * owned; otherwise NULL. */
char *acr_batch_summary_warning(const AcrBatchSummary *summary) ACR_MUST_USE;
