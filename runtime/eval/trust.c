/*
 * Whether a resolved task is believed: a second run of its tests, in which a witness says what
 * happened (python/acr/grading/trust.py), and repeated runs.
 */
#include "eval/eval_private.h"

static bool watch(const AcrEvalOptions *options, const AcrInstance *task,
                  const AcrGradingPlan *plan, const AcrGradingTrial *trial, const char *patch,
                  AcrEvalRun *run, AcrGradingWatched *out, GError **error)
{
    AcrEvalWay way = {.patch = patch, .trial = trial};
    if (!acr_eval_run_tests(options, task, plan, &way, run, error))
        return false;
    if (!run->output)
        run->output = g_bytes_new_static("", 0);
    *out = (AcrGradingWatched){run->output, run->told, run->word};
    return true;
}

static bool judge(const AcrEvalOptions *options, const AcrGradingPlan *plan,
                  const AcrGradingTrial *trial, const AcrGradingWatched *watched,
                  const AcrGradingWatched *baseline, AcrJson **out, GError **error)
{
    GBytes *const logs[] = {watched->log, baseline ? baseline->log : NULL};
    g_autofree char *row = acr_eval_row_with(options, plan->row, logs, baseline ? 2 : 1, error);
    return row && acr_grading_judge(options->python, row, (int)options->spec->rules, trial, watched,
                                    baseline, out, error);
}

bool acr_eval_trust(const AcrEvalOptions *options, const AcrInstance *task,
                    const AcrGradingPlan *plan, const char *patch, const AcrEvalRun *run,
                    AcrJson **out, GBytes **output, GError **error)
{
    g_auto(AcrGradingTrial) trial = {0};
    g_auto(AcrEvalRun) with = {.deadline_us = run->deadline_us},
                       without = {.deadline_us = run->deadline_us};
    AcrGradingWatched watched, baseline;
    AcrPython *python = options->python;
    if (!acr_grading_trial(python, plan->script, patch ? patch : "", run->changed, &trial, error) ||
        !watch(options, task, plan, &trial, patch, &with, &watched, error) ||
        !judge(options, plan, &trial, &watched, NULL, out, error))
        return false;
    *output = g_bytes_ref(with.output);
    if (*out)
        return true;
    return watch(options, task, plan, &trial, NULL, &without, &baseline, error) &&
           judge(options, plan, &trial, &watched, &baseline, out, error);
}

/* ---- Repeated runs ---- */

/* Adds what passed to the counts, [{test: times}, {test: times}] as acr_grading_tests has the tests. */
static bool count_passes(const AcrEvalOptions *options, const AcrGradingPlan *plan, GBytes *log,
                         AcrJson *const passes[2], GError **error)
{
    g_autoptr(GBytes) nothing = g_bytes_new_static("", 0);
    GBytes *const read = log ? log : nothing;
    g_autofree char *row = acr_eval_row_with(options, plan->row, &read, 1, error);
    g_autoptr(AcrJson) tests =
        row ? acr_grading_tests(options->python, row, (int)options->spec->rules, read, error)
            : NULL;
    const AcrJson *kind = acr_json_first(tests);
    for (guint i = 0; kind && i < 2; i++, kind = acr_json_next(kind))
        for (const AcrJson *at = acr_json_first(kind); at; at = acr_json_next(at)) {
            const char *test = acr_json_key(at);
            acr_json_set_int(passes[i], test,
                             acr_json_get_int(passes[i], test, 0) + acr_json_bool(at));
        }
    return tests != NULL;
}

/* Moves to `flaky` what did not pass `runs` times; the first of them, or NULL. */
static const AcrJson *find_flaky(const AcrJson *passes, gint64 runs, AcrJson *flaky)
{
    const AcrJson *first = NULL;
    for (const AcrJson *at = acr_json_first(passes); at; at = acr_json_next(at)) {
        if (acr_json_int(at, 0) == runs)
            continue;
        acr_json_set_int(flaky, acr_json_key(at), acr_json_int(at, 0));
        first = first ? first : at;
    }
    return first;
}

/* A run with its number's hash seed and time zone: the even ones have fixed ones. */
static bool run_again(const AcrEvalOptions *options, const AcrInstance *task,
                      const AcrGradingPlan *plan, const char *patch, gint64 number,
                      gint64 deadline_us, AcrJson *const passes[2], GError **error)
{
    static const char *const zones[] = {"UTC", "Pacific/Auckland", "America/New_York",
                                        "Asia/Kolkata"};
    gint64 other = number % 2 ? number : 0;
    g_autofree char *seed = g_strdup_printf("PYTHONHASHSEED=%" G_GINT64_FORMAT, other * 7919),
                    *zone = g_strconcat("TZ=", zones[other % (gint64)G_N_ELEMENTS(zones)], NULL);
    const char *const env[] = {seed, zone, NULL};
    AcrEvalWay way = {.patch = patch, .env = env};
    g_auto(AcrEvalRun) run = {.deadline_us = deadline_us};
    return acr_eval_run_tests(options, task, plan, &way, &run, error) &&
           count_passes(options, plan, run.output, passes, error);
}

bool acr_eval_repeat(const AcrEvalOptions *options, const AcrInstance *task,
                     const AcrGradingPlan *plan, const char *patch, const AcrEvalRun *run,
                     gint64 times, AcrJson **out, GError **error)
{
    g_autoptr(AcrJson) json = acr_json_new_object(), must = acr_json_new_object(),
                       stay = acr_json_new_object();
    AcrJson *const passes[2] = {must, stay}, *flaky = acr_json_new_object();
    gint64 runs = times + 1;
    acr_json_set_int(json, "runs", runs);
    acr_json_set(json, "flaky", flaky);
    if (!count_passes(options, plan, run->output, passes, error))
        return false;
    for (gint64 i = 0; i < times; i++)
        if (!run_again(options, task, plan, patch, i, run->deadline_us, passes, error))
            return false;
    const AcrJson *first = find_flaky(must, runs, flaky);
    g_autofree char *why = NULL;
    if (first)
        why = g_strdup_printf("%s passed in %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " runs",
                              acr_json_key(first), acr_json_int(first, 0), runs);
    acr_json_set_string(json, "why", why);
    (void)find_flaky(stay, runs, flaky);
    *out = g_steal_pointer(&json);
    return true;
}
