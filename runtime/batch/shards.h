/* Runs a batch or an evaluation in several shards. Shard I of N takes every Nth task, beginning
 * with the Ith, and writes to its own folder, OUT/shard-I-of-N, with its share of the limits.
 * Shards may be started and restarted by any program, on any machine that can access OUT. Merging
 * creates the files that a single process would have written. */
#pragma once

#include "batch/batch.h"

#define ACR_MAX_SHARDS 10000

/* Data, besides the tasks, that must be equal in all shards. */
typedef struct {
    const char *options;     /* digest of the options */
    const char *predictions; /* digest of an evaluation's predictions; NULL for a batch */
} AcrShardBound;
/* Restricts a batch or evaluation to one shard: `spec->shard` is "I/N", or "N" if I comes from the
 * environment (SLURM_ARRAY_TASK_ID, which begins at 1; JOB_COMPLETION_INDEX, which begins at 0).
 * Keeps only the shard's tasks in `rows` (none if there are more shards than tasks, or if
 * --retry-failed finds none), and sets the shard's folder and limits in `spec`. Writes nothing.
 * *out_note (owned) describes the shard; NULL without --shard. Errors: DATASET (no such shard;
 * another batch left shards in `spec->out`), those of base. */
bool acr_shard_narrow(AcrRunSpec *spec, const AcrShardBound *bound, GPtrArray *rows,
                      AcrJson **out_note, GError **error) ACR_MUST_USE;
/* Locks the folder of a shard or, if `note` is NULL, of a batch, until *out_lock (owned) is freed.
 * Writes the shard's note. Errors: DATASET (another batch uses `spec->out`, or began this shard),
 * those of acr_lock_take and base. */
bool acr_shard_lock(const AcrRunSpec *spec, const AcrJson *note, AcrLock **out_lock,
                    GError **error) ACR_MUST_USE;

/* Returns the number of shards of the batch or evaluation in `out`, according to the names of their
 * folders; 0 if there are none, or if they belong to several batches. */
guint acr_shards_count(const char *out);
/* Returns the name of a shard's folder; owned. Shards are numbered from 1. */
char *acr_shard_name(guint number, guint of) ACR_MUST_USE;
/* Sets *out_own to the number of tasks of a shard, and *out_total to that of the whole batch, from
 * the shard's note. Changes nothing if the shard has not begun. */
void acr_shard_plan(const char *out, guint number, guint of, gint64 *out_own, gint64 *out_total);

/* The shards in a folder, with indexes from 0. All shards that have begun belong to the same
 * batch. */
typedef struct {
    const char *out; /* borrowed */
    guint of;
    /* owned array of AcrJson *: the note of each shard; NULL if the shard has not begun */
    GPtrArray *notes;
    const AcrJson *first; /* the first existing note; borrowed; NULL if there is none */
    GHashTable *parts;    /* owned; id of a task -> number of its shard, from 1 */
    bool is_eval;         /* the shards grade predictions */
} AcrShards;
/* Reads all shards. The caller clears `shards`, even after a failure. Errors: DATASET (there are
 * no shards; they belong to different batches; one is damaged), those of base. */
bool acr_shards_read(const char *out, AcrShards *shards, GError **error) ACR_MUST_USE;
void acr_shards_clear(AcrShards *shards);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrShards, acr_shards_clear)
char *acr_shards_folder(const AcrShards *shards, guint number) ACR_MUST_USE; /* owned */
/* Returns the ids of the tasks in the order of the data set: the first task of each shard, then the
 * second task of each shard, and so on. Owned; the ids are borrowed. */
GPtrArray *acr_shards_tasks(const AcrShards *shards) ACR_MUST_USE;

typedef struct {
    const char *otherwise; /* verb phrase for missing tasks: "have no result" */
    /* Returns true if a task is present; called once for each task. */
    bool (*is_there)(void *ctx, guint number, const char *id);
    void *ctx;
} AcrShardsWanted;
/* Returns one line for each shard that has not begun, or that lacks tasks; owned. */
GPtrArray *acr_shards_missing(const AcrShards *shards, const AcrShardsWanted *wanted) ACR_MUST_USE;

typedef struct {
    GPtrArray *missing; /* owned; from acr_shards_missing */
    /* owned; the summary for people; NULL if no shard has begun, so that nothing was written */
    char *text;
    guint tasks; /* number of tasks that have ended */
    gint64 spent_microusd;
} AcrMerged;
void acr_merged_clear(AcrMerged *merged);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrMerged, acr_merged_clear)
/* Writes OUT/preds.jsonl and OUT/summary.json from the shards of a batch, in the order of the
 * data set, atomically (merged_batch.c). Errors: DATASET (OUT already has the result of a batch
 * without shards; a shard is damaged), those of base. */
bool acr_shards_merge(const AcrShards *shards, AcrMerged *merged, GError **error) ACR_MUST_USE;
