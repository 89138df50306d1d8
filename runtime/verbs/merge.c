/* acr-host merge: joins the shards of a batch or evaluation. */
#include "verbs/grading.h"

#define MAX_LINES 10u /* maximum number of shards that a message names */

static void tell_missing(const GPtrArray *missing)
{
    for (guint i = 0; i < MIN(missing->len, MAX_LINES); i++)
        acr_verb_say("%s", (const char *)missing->pdata[i]);
    if (missing->len > MAX_LINES)
        acr_verb_say("%u more shards are not complete", missing->len - MAX_LINES);
}

/* Merges the grades, if there are any. Returns `code` (of the batch's merge), or the exit code of a
 * failure. */
static int merge_grades(AcrHost *host, const AcrShards *shards, const gint64 *spent_microusd,
                        AcrExit code)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) missing = NULL;
    g_auto(AcrEvalResult) result = {0};
    if (!acr_eval_merge(host, shards, spent_microusd, &missing, &result, &error))
        return acr_verb_fail_grading(host, error);
    if (code == ACR_EXIT_OK) /* otherwise the missing shards were listed before */
        tell_missing(missing);
    code = missing->len ? ACR_EXIT_NONE : code;
    if (!result.path)
        return code;
    AcrOut out = acr_verb_tell_grades(&result, result.table);
    return acr_out_exit(out, acr_verb_grades_exit(&result, code));
}

static int merge_batch(AcrHost *host, const AcrShards *shards)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrMerged) merged = {0};
    if (!acr_shards_merge(shards, &merged, &error))
        return acr_verb_fail_grading(host, error);
    tell_missing(merged.missing);
    if (!merged.text)
        return ACR_EXIT_NONE;
    acr_verb_say("%u tasks; predictions in '%s/preds.jsonl'", merged.tasks, shards->out);
    AcrExit code = merged.missing->len ? ACR_EXIT_NONE : ACR_EXIT_OK;
    AcrOut out = acr_out_text(merged.text);
    if (out != ACR_OUT_WRITTEN)
        return acr_out_exit(out, code);
    return merge_grades(host, shards, &merged.spent_microusd, code);
}

static int run_merge(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrShards) shards = {0};
    if (g_strv_length(spec->arguments) != 1)
        return acr_verb_usage(host, "give one folder");
    if (!acr_shards_read(spec->arguments[0], &shards, &error))
        return acr_verb_fail_grading(host, error);
    return shards.is_eval ? merge_grades(host, &shards, NULL, ACR_EXIT_OK)
                          : merge_batch(host, &shards);
}

const AcrVerb acr_verb_merge = {
    .name = "merge",
    .summary = "Merge the shards of a batch or an evaluation into one result",
    .takes = ACR_FOR_MERGE,
    .arguments = "OUT",
    .examples = {{"Make one result of all shards", "merge out"}},
    .exits = "1 a shard is missing",
    .run = run_merge,
};
