/* Decides whether to trust that a task is resolved. python/acr/grading/trust.py chooses the runs
 * and judges their logs; this file makes the runs. It also repeats runs for --repeat. */
#include "eval/eval_private.h"

#define CANARIES 1u /* number of the run with canaries */
#define MAX_RUNS 8u

static bool ask_next(const AcrEvalOptions *options, const AcrGradingPlan *plan,
                     const AcrGradingTask *known, AcrGradingTrial *trial, AcrJson **out,
                     GError **error)
{
    g_autofree char *row = acr_eval_row_with(
        options, plan->row, (GBytes *const *)known->outputs->pdata, known->outputs->len, error);
    return row && acr_grading_step(options->python, row, (int)options->spec->rules, known, trial,
                                   out, error);
}

static bool run_trial(const AcrEvalOptions *options, const AcrInstance *task,
                      const AcrGradingPlan *plan, const AcrGradingTrial *trial, gint64 deadline_us,
                      GPtrArray *outputs, GError **error)
{
    AcrEvalWay way = {.patch = trial->patch, .trial = trial};
    g_auto(AcrEvalRun) run = {.deadline_us = deadline_us};
    if (!acr_eval_run_tests(options, task, plan, &way, &run, error))
        return false;
    g_ptr_array_add(outputs, run.output ? g_bytes_ref(run.output) : g_bytes_new_static("", 0));
    return true;
}

bool acr_eval_trust(const AcrEvalOptions *options, const AcrInstance *task,
                    const AcrGradingPlan *plan, const char *patch, const AcrEvalRun *run,
                    AcrJson **out, GBytes **output, GError **error)
{
    g_autoptr(GPtrArray) outputs = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    g_autofree char *seed = g_uuid_string_random();
    AcrGradingTask known = {plan->script, patch, run->changed, seed, outputs};
    while (outputs->len <= MAX_RUNS) {
        g_auto(AcrGradingTrial) trial = {0};
        if (!ask_next(options, plan, &known, &trial, out, error))
            return false;
        if (*out) {
            *output = outputs->len > CANARIES ? g_bytes_ref(outputs->pdata[CANARIES]) : NULL;
            return true;
        }
        if (!run_trial(options, task, plan, &trial, run->deadline_us, outputs, error))
            return false;
    }
    g_assert_not_reached();
}

/* Adds the passed tests in a log to `passes`, the counts [{test: times}, {test: times}] of the two
 * kinds of tests that acr_grading_tests returns. */
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

/* Adds the tests that passed fewer than `runs` times to `flaky`. Returns the first of these tests;
 * NULL if there is none. */
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

char **acr_eval_varied_env(gint64 number)
{
    static const char *const zones[] = {"UTC", "Pacific/Auckland", "America/New_York",
                                        "Asia/Kolkata"};
    char **env = g_new0(char *, 3);
    env[0] = g_strdup_printf("PYTHONHASHSEED=%" G_GINT64_FORMAT, number * 7919);
    env[1] = g_strconcat("TZ=", zones[number % (gint64)G_N_ELEMENTS(zones)], NULL);
    return env;
}

static bool run_again(const AcrEvalOptions *options, const AcrInstance *task,
                      const AcrGradingPlan *plan, const char *patch, gint64 number,
                      gint64 deadline_us, AcrJson *const passes[2], GError **error)
{
    g_auto(GStrv) env = acr_eval_varied_env(number % 2 ? number : 0);
    AcrEvalWay way = {.patch = patch, .env = (const char *const *)env};
    g_auto(AcrEvalRun) run = {.deadline_us = deadline_us};
    return acr_eval_run_tests(options, task, plan, &way, &run, error) &&
           count_passes(options, plan, run.output, passes, error);
}

bool acr_eval_repeat(const AcrEvalOptions *options, const AcrInstance *task,
                     const AcrGradingPlan *plan, const char *patch, const AcrEvalRun *run,
                     gint64 times, AcrJson **out, GError **error)
{
    g_autoptr(AcrJson) must = acr_json_new_object(), stay = acr_json_new_object();
    AcrJson *const passes[2] = {must, stay}, *flaky = acr_json_new_object();
    gint64 runs = times + 1;
    g_autoptr(AcrJson) json = acr_json_of(ACR_INT("runs", runs), ACR_JSON("flaky", flaky), NULL);
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
