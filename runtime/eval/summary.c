/*
 * What a run has come to, beyond the official report: how sure its share of resolved tasks is, its failures
 * by class, and what it took.
 */
#include "eval/eval_private.h"

#include <string.h>

#define MB (1024.0 * 1024)
#define MICROS 1e6
#define MAX_NAMED 5u /* ids of a class that are printed */

/* Classes of failures, as people read them. Others stand for themselves. */
static const char *const words[][2] = {
    {"patch_does_not_apply", "the patch does not apply"},
    {"issue_remains", "tests of the issue fail"},
    {"tests_break", "other tests fail"},
    {"no_tests_found", "no tests were found in the output"},
    {"script_ended_early", "the script ended before the tests did"},
    {"time_out", "the tests took too long"},
    {"too_much_output", "the tests printed too much"},
    {"environment", "it could not be run here"},
};

static const char *in_words(const char *failure)
{
    for (guint i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(words[i][0], failure) == 0)
            return words[i][1];
    return failure;
}

static const char *id_of(const AcrEvalSums *sums, guint i)
{
    return ((const AcrPrediction *)sums->predictions->pdata[i])->instance_id;
}

/* ---- Each task ---- */

static void add_summary_row(GString *table, int width, const char *id, const AcrGraded *graded)
{
    g_autofree char *time = g_strdup_printf("%.1f s", (double)graded->cost.total_ms / 1000),
                    *memory = g_strdup_printf("%.0f MB", (double)graded->cost.peak_bytes / MB);
    const char *why = graded->grade == ACR_GRADE_EMPTY ? "there is no patch"
                      : graded->failure                ? in_words(graded->failure)
                                                       : "";
    bool was_run = graded->cost.total_ms > 0;
    g_autofree char *row =
        g_strdup_printf("%-*s  %-10s  %9s  %8s  %s", width, id, acr_grade_name(graded->grade),
                        was_run ? time : "-", was_run ? memory : "-", why);
    g_string_append_printf(table, "%s\n", g_strchomp(row));
}

static char *make_table(const AcrEvalSums *sums)
{
    GString *table = g_string_new(NULL);
    int width = (int)strlen("task");
    for (guint i = 0; i < sums->predictions->len; i++)
        if (sums->is_graded[i])
            width = MAX(width, (int)strlen(id_of(sums, i)));
    g_string_append_printf(table, "%-*s  %-10s  %9s  %8s  %s\n", width, "task", "grade", "time",
                           "memory", "why");
    for (guint i = 0; i < sums->predictions->len; i++)
        if (sums->is_graded[i])
            add_summary_row(table, width, id_of(sums, i), &sums->graded[i]);
    return g_string_free(table, FALSE);
}

static AcrJson *describe_cost(const AcrGraded *graded)
{
    const AcrEvalCost *cost = &graded->cost;
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "grade", acr_grade_name(graded->grade));
    acr_json_set_string(json, "failure", graded->failure);
    acr_json_set(json, "seconds", acr_json_new_double((double)cost->total_ms / 1000));
    acr_json_set(json, "test_seconds", acr_json_new_double((double)cost->tests_ms / 1000));
    acr_json_set_int(json, "peak_bytes", cost->peak_bytes);
    acr_json_set_int(json, "image_bytes", cost->image_bytes);
    return json;
}

/* ---- Failures ---- */

/* {class: [id]}, the classes in the order of their first tasks. */
static AcrJson *describe_failures(const AcrEvalSums *sums)
{
    AcrJson *classes = acr_json_new_object();
    g_autoptr(GHashTable) lists = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < sums->predictions->len; i++) {
        char *failure = sums->graded[i].failure;
        AcrJson *list = failure ? g_hash_table_lookup(lists, failure) : NULL;
        if (!sums->is_graded[i] || !failure)
            continue;
        if (!list) {
            acr_json_set(classes, failure, list = acr_json_new_array());
            g_hash_table_insert(lists, failure, list);
        }
        acr_json_append(list, acr_json_new_string(id_of(sums, i)));
    }
    return classes;
}

static void tell_failures(const AcrJson *classes, GString *lines)
{
    for (const AcrJson *at = acr_json_first(classes); at; at = acr_json_next(at)) {
        guint n = 0;
        g_string_append_printf(lines, "%5" G_GSIZE_FORMAT "  %s:", acr_json_size(at),
                               in_words(acr_json_key(at)));
        for (const AcrJson *id = acr_json_first(at); id && n < MAX_NAMED; id = acr_json_next(id))
            g_string_append_printf(lines, "%s %s", n++ ? "," : "", acr_json_string(id));
        g_string_append(lines, acr_json_size(at) > MAX_NAMED ? ", …\n" : "\n");
    }
}

/* ---- All together ---- */

static void tell_counts(const AcrEvalResult *result, double low, double high, GString *lines)
{
    guint without = result->tasks - result->predictions - result->late;
    double share = result->tasks ? 100.0 * result->resolved / result->tasks : 0;
    g_string_append_printf(
        lines,
        "%u of %u tasks resolved (%.1f%%; 95%%: %.1f to %.1f%%): %u unresolved, %u with an error, "
        "%u with an empty patch, %u without a prediction; report in '%s'\n",
        result->resolved, result->tasks, share, 100 * low, 100 * high, result->unresolved,
        result->errors, result->empty, without, result->path);
    if (result->late)
        g_string_append_printf(lines, "%5u  not graded within the time\n", result->late);
}

/* What grading took, the greatest memory of one task, and images as often as they were used. */
static void add_costs(const AcrEvalSums *sums, AcrJson *json, GString *lines)
{
    AcrEvalCost all = {0};
    for (guint i = 0; i < sums->predictions->len; i++) {
        const AcrEvalCost *cost = &sums->graded[i].cost;
        all.total_ms += cost->total_ms;
        all.tests_ms += cost->tests_ms;
        all.peak_bytes = MAX(all.peak_bytes, cost->peak_bytes);
        all.image_bytes += cost->image_bytes;
    }
    acr_json_set(json, "seconds", acr_json_new_double((double)all.total_ms / 1000));
    acr_json_set(json, "test_seconds", acr_json_new_double((double)all.tests_ms / 1000));
    acr_json_set_int(json, "peak_bytes", all.peak_bytes);
    acr_json_set_int(json, "image_bytes", all.image_bytes);
    if (all.total_ms == 0)
        return;
    g_string_append_printf(lines, "graded in %.1f s of all jobs, tests %.1f s; memory %.0f MB",
                           (double)all.total_ms / 1000, (double)all.tests_ms / 1000,
                           (double)all.peak_bytes / MB);
    if (all.image_bytes)
        g_string_append_printf(lines, "; images %.0f MB", (double)all.image_bytes / MB);
    g_string_append_c(lines, '\n');
}

static void add_money(const AcrEvalSums *sums, guint resolved, AcrJson *json, GString *lines)
{
    if (!sums->options->spent_microusd)
        return;
    double usd = (double)*sums->options->spent_microusd / MICROS;
    acr_json_set(json, "usd", acr_json_new_double(usd));
    acr_json_set(json, "usd_per_resolved",
                 resolved ? acr_json_new_double(usd / resolved) : acr_json_new_null());
    g_string_append_printf(lines, "%.6f USD", usd);
    if (resolved)
        g_string_append_printf(lines, ", %.6f USD for each resolved task", usd / resolved);
    g_string_append_c(lines, '\n');
}

static AcrJson *describe_interval(double low, double high)
{
    AcrJson *json = acr_json_new_array();
    acr_json_append(json, acr_json_new_double(low));
    acr_json_append(json, acr_json_new_double(high));
    return json;
}

AcrJson *acr_eval_summary(const AcrEvalSums *sums, AcrEvalResult *out)
{
    AcrJson *json = acr_json_new_object(), *instances = acr_json_new_object(), *failures;
    GString *lines = g_string_new(NULL);
    double low, high;
    acr_wilson(out->resolved, out->tasks, &low, &high);
    tell_counts(out, low, high, lines);
    acr_json_set_int(json, "tasks", out->tasks);
    acr_json_set_int(json, "resolved", out->resolved);
    acr_json_set(json, "interval_95", describe_interval(low, high));
    acr_json_set(json, "failures", failures = describe_failures(sums));
    tell_failures(failures, lines);
    add_costs(sums, json, lines);
    add_money(sums, out->resolved, json, lines);
    if (sums->other)
        acr_json_set(json, "comparison", acr_eval_compare(sums, lines));
    acr_json_set(json, "instances", instances);
    for (guint i = 0; i < sums->predictions->len; i++)
        if (sums->is_graded[i])
            acr_json_set(instances, id_of(sums, i), describe_cost(&sums->graded[i]));
    out->table = make_table(sums);
    out->sums = g_strchomp(g_string_free(lines, FALSE));
    return json;
}
