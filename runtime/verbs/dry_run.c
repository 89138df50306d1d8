/* --dry-run: prints the plan of a run (as lines or as one JSON object) or of a batch (as lines). */
#include <string.h>

#include "layout/layout.h"
#include "verbs/grading.h"

#define NO_TESTS "none (use --regressions to run the project's tests)"

static G_GNUC_PRINTF(3, 4) void put_row(GString *text, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *value = g_strdup_vprintf(format, arguments), *line = acr_one_line(value);
    va_end(arguments);
    g_string_append_printf(text, "%-11s %s\n", name, line);
}

static const char *text_or(const AcrJson *json, const char *key, const char *otherwise)
{
    const char *text = acr_json_get_string(json, key);
    return text ? text : otherwise;
}

static void add_model(GString *text, const AcrJson *model)
{
    const char *price = acr_json_get_string(model, "price"),
               *address = acr_json_get_string(model, "address"),
               *key = acr_json_get_string(model, "key"),
               *near = acr_json_get_string(model, "nearest");
    g_autofree char *mean = near ? g_strdup_printf("; did you mean '%s'?", near) : g_strdup("");
    g_autofree char *rate =
        strcmp(price, "free") == 0
            ? g_strdup("free")
            : g_strdup_printf("%g USD per million tokens in, %g USD out%s%s",
                              acr_json_get_double(model, "usd_per_million_in", 0),
                              acr_json_get_double(model, "usd_per_million_out", 0),
                              strcmp(price, "known") == 0
                                  ? ""
                                  : " (its price is not known; the highest known price is charged)",
                              mean);
    put_row(text, "model", "%s (%s)%s%s%s%s; %s", acr_json_get_string(model, "model"),
            acr_json_get_string(model, "use"), address ? " at " : "", address ? address : "",
            key       ? ", key from "
            : address ? ", without key"
                      : "",
            key ? key : "", rate);
    if (acr_json_get_string(model, "missing_key"))
        put_row(text, "key", "missing: %s", acr_json_get_string(model, "missing_key"));
}

static void add_models(GString *text, const AcrJson *plan)
{
    for (const AcrJson *at = acr_json_first(acr_json_get(plan, "models")); at;
         at = acr_json_next(at))
        add_model(text, at);
}

/* Adds the cost of one attempt, or of all samples, for each task. Returns that of typical issues in
 * micro-USD; 0: unknown. */
static double add_estimate(GString *text, const AcrJson *plan, guint tasks)
{
    const AcrJson *first = acr_json_first(acr_json_get(plan, "models")),
                  *loops = acr_json_get(plan, "loops");
    gint64 samples = acr_json_get_int(loops, "samples", 1);
    double n = (double)tasks * (double)samples,
           typical = (double)acr_json_get_int(first, "typical_microusd", 0) * n / 1e6,
           large = (double)acr_json_get_int(first, "large_microusd", 0) * n / 1e6;
    if (strcmp(text_or(first, "price", ""), "known") != 0)
        return 0;
    put_row(text, "estimate",
            "%.2f USD for typical issues, %.2f USD for large ones (%u %s, first model, %s)",
            typical, large, tasks, tasks == 1 ? "issue" : "issues",
            samples > 1 ? "all samples" : "one attempt");
    return typical * 1e6;
}

/* `has_reviews`: scripts run, and a reviewer judges each patch */
static void add_loops(GString *text, const AcrJson *loops, bool has_reviews)
{
    gint64 attempts = acr_json_get_int(loops, "attempts", 0),
           samples = acr_json_get_int(loops, "samples", 1),
           tries = acr_json_get_int(loops, "tries", 0);
    g_autofree char *reviews =
        has_reviews ? g_strdup_printf("; up to %d reviews, each of which may ask for another patch",
                                      ACR_REVIEW_ROUNDS)
                    : g_strdup("");
    put_row(text, "loops",
            "at most %" G_GINT64_FORMAT " attempt%s, each with %" G_GINT64_FORMAT
            " retrieval rounds; %" G_GINT64_FORMAT " answer%s for each patch%s",
            attempts, attempts == 1 ? "" : "s", acr_json_get_int(loops, "rounds", 0), tries,
            tries == 1 ? "" : "s", reviews);
    if (samples > 1)
        put_row(text, "samples", "up to %" G_GINT64_FORMAT " candidates, one is chosen", samples);
}

/* `estimate`: micro-USD */
static void add_cost(GString *text, const AcrJson *limits, double estimate)
{
    gint64 most = acr_json_get_int(limits, "most_microusd", -1),
           tokens = acr_json_get_int(limits, "max_tokens", -1),
           ms = acr_json_get_int(limits, "max_time_ms", -1);
    if (most < 0)
        put_row(text, "cost", "not limited; set a limit with --max-cost USD");
    else
        put_row(text, "cost", "at most %" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT " USD%s",
                most / 1000000, most % 1000000,
                (double)most < estimate ? "; less than the estimate for typical issues" : "");
    if (tokens >= 0)
        put_row(text, "tokens", "at most %" G_GINT64_FORMAT, tokens);
    if (ms >= 0)
        put_row(text, "time", "at most %.1f s", (double)ms / 1000);
}

static void add_code(GString *text, const AcrRunSpec *spec, const AcrJson *code)
{
    const char *setup = acr_json_get_string(code, "setup");
    if (acr_json_get_bool(code, "runs", false))
        put_row(text, "sandbox", "%s; %s", acr_json_get_string(code, "where"),
                text_or(code, "python", "the Python of the image"));
    else
        put_row(text, "sandbox", "none, so no patch can be verified: %s",
                text_or(code, "why_not", ""));
    if (setup)
        put_row(text, "set-up", "%s", setup);
    if (acr_json_get_string(code, "validate"))
        put_row(text, "validation", "%s", acr_json_get_string(code, "validate"));
    gint64 last_ms = acr_json_get_int(code, "last_ms", -1);
    g_autofree char *time = acr_time_text(last_ms),
                    *last = last_ms < 0 ? g_strdup("")
                                        : g_strdup_printf("; the tests took %s last time", time);
    if (acr_json_get_bool(code, "regressions", false))
        put_row(text, "tests",
                "%s%s; run once without a patch, unless that result is cached, and once with each "
                "patch, at most %" G_GINT64_FORMAT " s each time; failures are run again",
                text_or(code, "test_command", "the project's own tests, found in its files"), last,
                spec->test_ms / 1000);
    else
        put_row(text, "tests", NO_TESTS);
}

static char *write_plan(const AcrRunSpec *spec, const AcrJson *plan)
{
    GString *text = g_string_new(NULL);
    const AcrJson *repository = acr_json_get(plan, "repository"),
                  *folder = acr_json_get(plan, "folder");
    gint64 n_files = acr_json_get_int(repository, "python_files", 0);
    put_row(text, "repository", "%s, %s; %" G_GINT64_FORMAT " Python file%s outside tests",
            acr_json_get_string(repository, "path"),
            text_or(repository, "commit", "the working tree as it is"), n_files,
            n_files == 1 ? "" : "s");
    put_row(text, "issue", "%s", spec->issue_file ? spec->issue_file : "given with --issue-text");
    if (acr_json_get_string(folder, "path"))
        put_row(text, "run folder", "%s (%s)", acr_json_get_string(folder, "path"),
                acr_json_get_string(folder, "state"));
    else
        put_row(text, "run folder", "a new folder in your state folder");
    add_models(text, plan);
    double estimate = add_estimate(text, plan, 1);
    add_cost(text, acr_json_get(plan, "limits"), estimate);
    add_loops(text, acr_json_get(plan, "loops"),
              acr_json_get_bool(acr_json_get(plan, "code"), "runs", false) &&
                  spec->verify != ACR_VERIFY_NEVER);
    add_code(text, spec, acr_json_get(plan, "code"));
    put_row(text, "writes", "%s",
            spec->apply ? "the run folder and, unless the patch is refused, the working tree"
                        : "the run folder");
    return g_string_free(text, FALSE);
}

/* ---- A batch ---- */

/* Returns the batch's maximum cost in micro-USD: its ceiling or that of all tasks; -1: no limit. */
static gint64 most_of_batch(const AcrRunSpec *spec, guint tasks, gint64 most)
{
    gint64 each = acr_microusd(spec->task_max_cost);
    gint64 all = each < 0 ? -1 : each * tasks;
    return most < 0 ? all : all < 0 ? most : MIN(most, all);
}

static void add_batch_limits(GString *text, const AcrRunSpec *spec, guint tasks,
                             const AcrJson *limits, double estimate)
{
    g_autoptr(AcrJson) own = acr_json_copy(limits);
    gint64 most = acr_json_get_int(limits, "most_microusd", -1);
    acr_json_set_int(own, "most_microusd", most_of_batch(spec, tasks, most));
    add_cost(text, own, estimate);
    if (spec->task_max_cost >= 0)
        put_row(text, "each task", "at most %.6f USD",
                (double)acr_microusd(spec->task_max_cost) / 1e6);
}

/* Adds how many tasks there are, the first unfinished task, and how many run in parallel. */
static void add_tasks(GString *text, const AcrRunSpec *spec, guint tasks, const GPtrArray *left)
{
    const AcrInstance *first = left->len ? left->pdata[0] : NULL;
    put_row(text, "data set", "%s", spec->dataset);
    put_row(text, "tasks", "%u%s%s%s; %u already finished, %u in parallel", tasks,
            first ? ", first " : "", first ? first->instance_id : "",
            spec->reproduce_only ? "; only scripts that show the issues" : "", tasks - left->len,
            (guint)MIN(spec->tasks_at_once, tasks));
}

char *acr_dry_run_of_batch(const AcrRunSpec *spec, guint tasks, const GPtrArray *left,
                           const char *place, const AcrJson *plan)
{
    static const char *const graded[] = {[ACR_GRADE_IN_CONTAINER] = ACR_IN_CONTAINER,
                                         [ACR_GRADE_IN_ENVIRONMENT] = ACR_IN_ENVIRONMENT};
    GString *text = g_string_new(NULL);
    g_autofree char *faults = acr_dataset_faults(left);
    add_tasks(text, spec, tasks, left);
    if (faults)
        put_row(text, "warning", "%s", faults);
    add_models(text, plan);
    double estimate = add_estimate(text, plan, left->len);
    add_batch_limits(text, spec, left->len, acr_json_get(plan, "limits"), estimate);
    add_loops(text, acr_json_get(plan, "loops"), spec->verify != ACR_VERIFY_NEVER);
    put_row(text, "sandbox", "%s",
            spec->verify == ACR_VERIFY_NEVER && !spec->validate
                ? "none: no code runs (--verify=never)"
            : place         ? place
            : spec->sandbox ? spec->sandbox
                            : "the default sandbox, with this machine's Python");
    bool has_tests = acr_run_spec_regressions(spec) != ACR_VERIFY_NEVER;
    put_row(text, "tests", "%s", has_tests ? "the project's, without and with a patch" : NO_TESTS);
    put_row(text, "grading", "%s%s", spec->grade >= 0 ? "in each task's " : "none (use --grade)",
            spec->grade >= 0 ? graded[spec->grade] : "");
    put_row(text, "writes", "run folders, " ACR_FILE_PREDICTIONS " and " ACR_FILE_SUMMARY " in %s",
            spec->out ? spec->out : "the folder that --out names");
    return g_string_free(text, FALSE);
}

int acr_dry_run(AcrHost *host, const AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) plan = NULL;
    /* load the extensions only to check them, as a run does */
    g_autoptr(AcrExtensions) unused = NULL;
    g_autoptr(AcrRepo) repo = acr_repo_open(spec->repo, &error);
    if (!repo || !acr_verb_load_extensions(host, spec, acr_repo_workdir(repo), &unused, &error) ||
        !acr_task_plan(spec, host, &plan, &error))
        return acr_verb_fail(host, error);
    g_autofree char *text = spec->json ? NULL : write_plan(spec, plan);
    return acr_out_exit(text ? acr_out_text(text) : acr_out_json(plan), ACR_EXIT_OK);
}
