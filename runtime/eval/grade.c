/*
 * One prediction: what an earlier run left of it is kept where it was made of the same, else its tests
 * are run; their log is graded. verdict.json is written last: without it, nothing counts.
 */
#include "eval/eval_private.h"

#include <string.h>

#define VERDICT_VERSION 1

typedef struct {
    const AcrEvalOptions *options;
    const AcrInstance *task;
    const AcrPrediction *prediction;
    AcrEvalFolder folder;
    AcrGradingPlan plan;
    char *digest; /* of all that the verdict depends on */
    AcrEvalRun run;
} Work;

static void work_clear(Work *work)
{
    acr_eval_folder_clear(&work->folder);
    acr_grading_plan_clear(&work->plan);
    g_free(work->digest);
    acr_eval_run_clear(&work->run);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Work, work_clear)

void acr_graded_clear(AcrGraded *graded)
{
    g_clear_pointer(&graded->error, g_free);
}

const char *acr_grade_name(AcrGrade grade)
{
    static const char *const names[] = {"resolved", "unresolved", "error", "empty"};
    return names[grade];
}

static const char *patch_of(const Work *work)
{
    return work->prediction->patch ? work->prediction->patch : "";
}

/* Of patch, script, place, rules and row, each with its length. */
static char *make_digest(const Work *work)
{
    const AcrGradingPlan *plan = &work->plan;
    const char *const parts[] = {patch_of(work), plan->script,
                                 plan->image ? plan->image : plan->key,
                                 plan->install ? plan->install : "", plan->row};
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "%d %" G_GINT64_FORMAT " %d\n", VERDICT_VERSION,
                           work->options->spec->rules, work->options->spec->network);
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
        g_string_append_printf(text, "%" G_GSIZE_FORMAT "\n%s", strlen(parts[i]), parts[i]);
    return acr_sha256_hex(text->str, text->len);
}

/* ---- What an earlier run left ---- */

/* A verdict that was made of the same, with its report; one of the environment's failures is none. */
static bool take_kept(const Work *work, AcrGraded *out)
{
    g_autoptr(GBytes) bytes = acr_eval_folder_read(&work->folder, ACR_EVAL_VERDICT),
                      report = acr_eval_folder_read(&work->folder, ACR_EVAL_REPORT);
    g_autoptr(AcrJson) verdict = bytes ? acr_json_parse_bytes(bytes, NULL) : NULL;
    const char *error = acr_json_get_string(verdict, "error");
    if (g_strcmp0(acr_json_get_string(verdict, "digest"), work->digest) != 0 || (!report && !error))
        return false;
    bool is_resolved = acr_json_get_bool(verdict, "official_resolved", false);
    *out = (AcrGraded){
        .grade = error         ? ACR_GRADE_ERROR
                 : is_resolved ? ACR_GRADE_RESOLVED
                               : ACR_GRADE_UNRESOLVED,
        .is_kept = true,
        .error = g_strdup(error),
    };
    return true;
}

/* ---- Running ---- */

/* What the harness's own log would tell. */
static char *make_log(const Work *work)
{
    const AcrEvalRun *run = &work->run;
    const char *mark = run->applied_by           ? ">>>>> Applied Patch"
                       : work->prediction->patch ? ">>>>> Patch Apply Failed"
                                                 : "No patch";
    g_autofree char *timed_out =
        run->timed_out
            ? g_strdup_printf("Test timed out after %" G_GINT64_FORMAT " ms.\n", run->wall_ms)
            : g_strdup("");
    return g_strdup_printf("%s:\n%s\nTest runtime: %" G_GINT64_FORMAT ".%03d seconds\n%s", mark,
                           run->log, run->wall_ms / 1000, (int)(run->wall_ms % 1000), timed_out);
}

static bool write_output(Work *work, GError **error)
{
    if (!work->run.output)
        return true;
    gsize len;
    const char *data = g_bytes_get_data(work->run.output, &len);
    g_autoptr(GString) text = g_string_new_len(data, (gssize)len);
    if (work->run.timed_out)
        g_string_append_printf(text, "\n\nTimeout error: %" G_GINT64_FORMAT " seconds exceeded.",
                               work->run.wall_ms / 1000);
    return acr_eval_folder_write(&work->folder, ACR_EVAL_OUTPUT, text->str, text->len, error);
}

static bool run_tests(Work *work, GError **error)
{
    const AcrEvalFolder *folder = &work->folder;
    const char *patch = patch_of(work);
    acr_eval_folder_remove(folder, ACR_EVAL_VERDICT);
    acr_eval_folder_remove(folder, ACR_EVAL_REPORT);
    acr_eval_folder_remove(folder, ACR_EVAL_OUTPUT);
    if (!acr_eval_folder_write(folder, ACR_EVAL_PATCH, patch, strlen(patch), error) ||
        !acr_eval_folder_write(folder, ACR_EVAL_SCRIPT, work->plan.script,
                               strlen(work->plan.script), error) ||
        !acr_eval_run_tests(work->options, work->task, &work->plan, work->prediction->patch,
                            &work->run, error))
        return false;
    g_autofree char *log = make_log(work);
    return acr_eval_folder_write(folder, ACR_EVAL_LOG, log, strlen(log), error) &&
           write_output(work, error);
}

/* ---- Grading ---- */

static AcrJson *describe(const Work *work, const AcrGraded *graded)
{
    const AcrEvalRun *run = &work->run;
    AcrJson *json = acr_json_new_object();
    acr_json_set_int(json, "schema_version", VERDICT_VERSION);
    acr_json_set_string(json, "digest", work->digest);
    acr_json_set_bool(json, "official_resolved", graded->grade == ACR_GRADE_RESOLVED);
    acr_json_set_string(json, "error", graded->error);
    if (!run->log)
        return json;
    acr_json_set_string(json, "image", work->plan.image);
    acr_json_set_string(json, "environment", work->plan.key);
    acr_json_set_string(json, "applied_by", run->applied_by);
    acr_json_set_int(json, "exit", run->exit_code);
    acr_json_set_string(json, "limit", run->limit);
    acr_json_set_int(json, "wall_ms", run->wall_ms);
    acr_json_set_int(json, "peak_bytes", run->peak_bytes);
    return json;
}

static bool write_verdict(const Work *work, const AcrGraded *graded, GError **error)
{
    g_autoptr(AcrJson) json = describe(work, graded);
    g_autofree char *text = acr_json_print_pretty(json);
    return acr_eval_folder_write(&work->folder, ACR_EVAL_VERDICT, text, strlen(text), error);
}

/* Why a run of the tests gives no report; owned; NULL: it gives one. */
static char *find_failure(const Work *work)
{
    if (work->prediction->patch && !work->run.applied_by)
        return g_strdup("the patch does not apply");
    if (work->run.timed_out)
        return g_strdup_printf("the tests did not end within %" G_GINT64_FORMAT " s",
                               work->run.wall_ms / 1000);
    if (g_strcmp0(work->run.limit, "output") == 0)
        return g_strdup("the tests printed more than is kept");
    return NULL;
}

static bool grade_log(Work *work, GBytes *log, AcrGraded *out, GError **error)
{
    bool is_resolved = false;
    g_autofree char *report =
        acr_grading_report(work->options->python, work->plan.row, (int)work->options->spec->rules,
                           log, &is_resolved, error);
    if (!report ||
        !acr_eval_folder_write(&work->folder, ACR_EVAL_REPORT, report, strlen(report), error))
        return false;
    out->grade = is_resolved ? ACR_GRADE_RESOLVED : ACR_GRADE_UNRESOLVED;
    return write_verdict(work, out, error);
}

static bool run_and_grade(Work *work, AcrGraded *out, GError **error)
{
    if (!run_tests(work, error))
        return false;
    out->error = find_failure(work);
    out->grade = ACR_GRADE_ERROR;
    return out->error ? write_verdict(work, out, error)
                      : grade_log(work, work->run.output, out, error);
}

/* The official harness grades again what has a log, and nothing else. */
static bool grade_again(Work *work, AcrGraded *out, GError **error)
{
    g_autoptr(GBytes) log = acr_eval_folder_read(&work->folder, ACR_EVAL_OUTPUT);
    if (log)
        return grade_log(work, log, out, error);
    return acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED,
                         "there is no saved output '%s/" ACR_EVAL_OUTPUT "'", work->folder.path);
}

static bool prepare(Work *work, GError **error)
{
    const AcrRunSpec *spec = work->options->spec;
    bool is_planned =
        work->options->in_environment
            ? acr_grading_plan_environment(work->options->python, work->task->row, (int)spec->rules,
                                           work->options->recipes, &work->plan, error)
            : acr_grading_plan_image(work->options->python, work->task->row, (int)spec->rules,
                                     &work->plan, error);
    if (!is_planned ||
        !acr_eval_folder_open(spec, work->prediction, !spec->regrade, &work->folder, error))
        return false;
    work->digest = make_digest(work);
    return true;
}

void acr_eval_prediction(const AcrEvalOptions *options, const AcrInstance *task,
                         const AcrPrediction *prediction, AcrGraded *out)
{
    g_auto(Work) work = {.options = options, .task = task, .prediction = prediction};
    g_autoptr(GError) error = NULL;
    *out = (AcrGraded){.grade = ACR_GRADE_EMPTY};
    if (!prediction->patch && !prediction->is_baseline)
        return;
    bool ok = prepare(&work, &error);
    if (ok && options->spec->regrade)
        ok = grade_again(&work, out, &error);
    else if (ok && !take_kept(&work, out))
        ok = run_and_grade(&work, out, &error);
    if (ok)
        return;
    out->grade = ACR_GRADE_ERROR;
    g_free(out->error);
    out->error = g_strdup(error->message);
}
