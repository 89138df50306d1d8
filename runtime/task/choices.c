/* Choices that a run makes when it begins. A later version that resumes the run must keep them,
 * because the journal answers only the same requests. meta.json records the choices. */
#include "task/run_folder.h"

#define META_TOOLS "native_tools"
#define META_NOTES "repo_notes"        /* whether the patch writer sees the repository's notes */
#define META_CALLS "search_calls"      /* number of built-in search calls that the models see */
#define META_HISTORY "search_history"  /* whether search_history is a built-in search call */
#define META_EXAMPLES "issue_examples" /* whether the examples are run with candidates */
/* number of the last REQUESTS_… of the version that began the run; 0 for older versions */
#define META_REQUESTS "requests"

/* Further kinds of requests that a run makes, in the order in which versions added them. */
enum {
    REQUESTS_PROBE = 1,
    REQUESTS_FLIP,
    REQUESTS_DRAFT,
    REQUESTS_TESTS,
    REQUESTS_REFUTED,
    REQUESTS_DISPUTE,
    REQUESTS_NOW = REQUESTS_DISPUTE
};

void acr_choices_record(const AcrRunSpec *spec, bool has_tools, AcrJson *meta)
{
    acr_json_set_bool(meta, META_TOOLS, has_tools);
    acr_json_set_int(meta, META_CALLS, (gint64)acr_calls_n(NULL));
    acr_json_set_bool(meta, META_HISTORY,
                      spec->history != ACR_HISTORY_NEVER &&
                          !(spec->verb & (ACR_FOR_REPRODUCE | ACR_FOR_VERIFY)));
    acr_json_set_bool(meta, META_EXAMPLES, true);
    acr_json_set_string(meta, ACR_META_PLACE, acr_run_spec_place(spec));
    acr_json_set_int(meta, META_REQUESTS, REQUESTS_NOW);
    acr_json_set_bool(meta, META_NOTES, spec->repo_notes != ACR_REPO_NOTES_NEVER);
}

AcrChoices acr_choices_read(const AcrRunSpec *spec, const AcrJson *meta)
{
    gint64 requests = acr_json_get_int(meta, META_REQUESTS, 0);
    if (!meta)
        return (AcrChoices){.n_calls = acr_calls_n(NULL)};
    return (AcrChoices){
        .has_tools = acr_json_get_bool(meta, META_TOOLS, false),
        .has_examples = acr_json_get_bool(meta, META_EXAMPLES, false),
        .has_notes = acr_json_get_bool(meta, META_NOTES, false),
        .n_calls = (gsize)acr_json_get_int(meta, META_CALLS, ACR_CALLS_OF_OLD),
        .no_history = !acr_json_get_bool(meta, META_HISTORY, true),
        .may.probe = spec->probe != ACR_PROBE_NEVER && requests >= REQUESTS_PROBE,
        .may.reviewer_probes = spec->probe == ACR_PROBE_AUTO,
        .may.trace_tests = requests >= REQUESTS_TESTS,
        .may.dispute = requests >= REQUESTS_DISPUTE,
        .may.draft = requests >= REQUESTS_DRAFT,
        .may.flip = requests >= REQUESTS_FLIP,
        .may.refute = requests >= REQUESTS_REFUTED,
    };
}
