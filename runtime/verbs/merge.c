/*
 * acr-host merge: the parts of a batch as one.
 */
#include "batch/shards.h"
#include "verbs/verbs_private.h"

#define MAX_LINES 10u /* shards that are named */

static int run(AcrHost *host, AcrRunSpec *spec)
{
    if (g_strv_length(spec->arguments) != 1)
        return acr_verb_usage("give one folder");
    const char *out = spec->arguments[0];
    g_autoptr(GError) error = NULL;
    g_auto(AcrMerged) merged = {0};
    if (!acr_shards_merge(out, &merged, &error)) {
        (void)acr_verb_fail(host, error);
        return error->domain == ACR_BATCH_ERROR ? ACR_EXIT_USAGE : ACR_EXIT_ENVIRONMENT;
    }
    guint missing = merged.missing->len;
    for (guint i = 0; i < MIN(missing, MAX_LINES); i++)
        acr_verb_say("%s", (const char *)merged.missing->pdata[i]);
    if (missing > MAX_LINES)
        acr_verb_say("and %u more shards are not complete", missing - MAX_LINES);
    if (!merged.text)
        return ACR_EXIT_NONE;
    acr_verb_say("%u tasks; predictions in '%s/preds.jsonl'", merged.tasks, out);
    return acr_out_exit(acr_out_text(merged.text), missing ? ACR_EXIT_NONE : ACR_EXIT_OK);
}

const AcrVerb acr_verb_merge = {
    .name = "merge",
    .summary = "Make one result of the shards of a swe-bench batch",
    .takes = ACR_FOR_MERGE,
    .arguments = "OUT",
    .run = run,
};
