/*
 * A batch in several parts: shard I of N takes each Nth task, from the Ith, into a folder of its own,
 * OUT/shard-I-of-N, with its share of the ceilings. Any engine may start the parts, on any machine that sees
 * OUT, and start them again; merging makes of their folders what one batch would have left.
 */
#ifndef ACR_BATCH_SHARDS_H
#define ACR_BATCH_SHARDS_H

#include "batch/batch.h"

#define ACR_MAX_SHARDS 10000

/*
 * Makes of a batch that one of its parts: `spec->shard` is "I/N", or "N" where the number of this part stands
 * in the environment (SLURM_ARRAY_TASK_ID, from 1; JOB_COMPLETION_INDEX, from 0). `options` is a digest of what
 * all parts have alike beside their tasks. Leaves its tasks in `rows`, none where there are more parts than
 * tasks or --retry-failed finds none, and its folder and ceilings in `spec`; holds the folder until *out_lock
 * (owned) is freed. Nothing is done without --shard.
 * Errors: DATASET (no such part; `spec->out` has parts of another batch), those of acr_lock_take and base.
 */
bool acr_shard_enter(AcrRunSpec *spec, const char *options, GPtrArray *rows, AcrLock **out_lock,
                     GError **error) ACR_MUST_USE;

/* How many parts the batch in `out` has, by their folders; 0: it is not in parts, or those of several batches
 * are there. */
guint acr_shards_count(const char *out);
char *acr_shard_name(guint number, guint of) ACR_MUST_USE; /* of its folder; owned; from 1 */
/* What a part has noted when it began, if it has: how many tasks are its own, and how many there are in all. */
void acr_shard_plan(const char *out, guint number, guint of, gint64 *out_own, gint64 *out_total);

typedef struct {
    GPtrArray *
        missing; /* owned; of char *: parts that are not there, tasks that have not ended, a line each */
    char *text;  /* owned; the summary for people; NULL: no part has begun, nothing was written */
    guint tasks; /* that have ended */
} AcrMerged;
void acr_merged_clear(AcrMerged *merged);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrMerged, acr_merged_clear)
/*
 * Makes OUT/preds.jsonl and OUT/summary.json of the parts below `out`, in the order of the data set,
 * atomically. Errors: DATASET (no parts; parts of different batches; one is damaged; there is the result of a
 * batch that was not in parts), those of base.
 */
bool acr_shards_merge(const char *out, AcrMerged *merged, GError **error) ACR_MUST_USE;

#endif
