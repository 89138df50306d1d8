/*
 * A batch, or an evaluation, in several parts: shard I of N takes each Nth task, from the Ith, into a folder of its own,
 * OUT/shard-I-of-N, with its share of the ceilings. Any engine may start the parts, on any machine that sees
 * OUT, and start them again; merging makes of their folders what one process would have left.
 */
#ifndef ACR_BATCH_SHARDS_H
#define ACR_BATCH_SHARDS_H

#include "batch/batch.h"

#define ACR_MAX_SHARDS 10000

/* What all parts have alike beside their tasks. */
typedef struct {
    const char *options;     /* a digest */
    const char *predictions; /* of an evaluation, a digest; NULL: of a batch */
} AcrShardBound;
/*
 * Makes of a batch, or of an evaluation, that one of its parts: `spec->shard` is "I/N", or "N" where the number of
 * this part stands in the environment (SLURM_ARRAY_TASK_ID, from 1; JOB_COMPLETION_INDEX, from 0). Leaves its
 * tasks in `rows`, none where there are more parts than tasks or --retry-failed finds none, and its folder and
 * ceilings in `spec`; holds the folder until *out_lock (owned) is freed. Nothing is done without --shard.
 * Errors: DATASET (no such part; `spec->out` has parts of something else), those of acr_lock_take and base.
 */
bool acr_shard_enter(AcrRunSpec *spec, const AcrShardBound *bound, GPtrArray *rows,
                     AcrLock **out_lock, GError **error) ACR_MUST_USE;

/* How many parts the batch or the evaluation in `out` has, by their folders; 0: it is not in parts, or those of
 * several are there. */
guint acr_shards_count(const char *out);
char *acr_shard_name(guint number, guint of) ACR_MUST_USE; /* of its folder; owned; from 1 */
/* What a part has noted when it began, if it has: how many tasks are its own, and how many there are in all. */
void acr_shard_plan(const char *out, guint number, guint of, gint64 *out_own, gint64 *out_total);

/* The parts below a folder, by number from 0; those that have begun are of one whole. */
typedef struct {
    const char *out; /* borrowed */
    guint of;
    GPtrArray *notes;     /* owned; of AcrJson *, as each has begun; NULL: it has not */
    const AcrJson *first; /* of these that is there; borrowed, NULL: none is */
    GHashTable *parts;    /* owned; id -> the number of its part, from 1 */
    bool is_eval;         /* they grade predictions */
} AcrShards;
/* `shards` is to be cleared, also on failure. Errors: DATASET (no parts; parts of different wholes; one is damaged),
 * those of base. */
bool acr_shards_read(const char *out, AcrShards *shards, GError **error) ACR_MUST_USE;
void acr_shards_clear(AcrShards *shards);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrShards, acr_shards_clear)
char *acr_shards_folder(const AcrShards *shards, guint number) ACR_MUST_USE; /* owned */
/* Their tasks in the order of the data set: the first of each part, then the second of each. Owned; ids,
 * borrowed. */
GPtrArray *acr_shards_tasks(const AcrShards *shards) ACR_MUST_USE;

typedef struct {
    const char *otherwise; /* of tasks that are not there: "have no result" */
    bool (*is_there)(void *ctx, guint number, const char *id); /* called once for each */
    void *ctx;
} AcrShardsWanted;
/* Parts that have not begun, and those with tasks that are not there: a line each. Owned. */
GPtrArray *acr_shards_missing(const AcrShards *shards, const AcrShardsWanted *wanted) ACR_MUST_USE;

typedef struct {
    GPtrArray *missing; /* owned; as acr_shards_missing has it */
    char *text;  /* owned; the summary for people; NULL: no part has begun, nothing was written */
    guint tasks; /* that have ended */
    gint64 spent_microusd;
} AcrMerged;
void acr_merged_clear(AcrMerged *merged);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrMerged, acr_merged_clear)
/*
 * Makes OUT/preds.jsonl and OUT/summary.json of the parts of a batch, in the order of the data set, atomically
 * (merged_batch.c). Errors: DATASET (there is the result of a batch that was not in parts; a part is damaged),
 * those of base.
 */
bool acr_shards_merge(const AcrShards *shards, AcrMerged *merged, GError **error) ACR_MUST_USE;

#endif
