/* Grades one prediction. Keeps an earlier result that was made from the same input; otherwise runs
 * the tests and grades their log. verdict.json is written last; if it is missing, the other files
 * are ignored. */
#include "eval/eval_private.h"

#include <string.h>

#include "eval/images.h"

#define VERDICT_VERSION 3 /* version of verdict.json; verdicts of other versions are not used */

typedef struct {
    const AcrEvalOptions *options;
    const AcrInstance *task;
    const AcrPrediction *prediction;
    AcrEvalFolder folder;
    AcrGradingPlan plan;
    char *digest; /* digest of all inputs of the verdict */
    AcrEvalRun run;
    gint64 begun_us;
    char *ungradable; /* why the task cannot be graded on this machine; NULL if it can be graded */
    bool is_partial;  /* the tests could not run, or not run again, so the verdict is not reused */
    /* results of the checks of a resolved task; NULL if the task was not checked */
    AcrJson *trust, *repeats;
    AcrJson *reward;      /* written by the verifier of a Harbor task; NULL if there is none */
    AcrJson *saved;       /* with --regrade: the saved verdict; NULL if there is none */
    AcrJson *not_counted; /* the expected tests that the recipe excludes; NULL if there are none */
    gint64 uncounted_issue; /* number of them that are FAIL_TO_PASS */
} Work;

static void grading_clear(Work *work)
{
    acr_eval_folder_clear(&work->folder);
    acr_grading_plan_clear(&work->plan);
    g_free(work->digest);
    acr_eval_run_clear(&work->run);
    g_free(work->ungradable);
    acr_json_free(work->trust);
    acr_json_free(work->repeats);
    acr_json_free(work->reward);
    acr_json_free(work->saved);
    acr_json_free(work->not_counted);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Work, grading_clear)

void acr_graded_clear(AcrGraded *graded)
{
    g_clear_pointer(&graded->error, g_free);
    g_clear_pointer(&graded->failure, g_free);
    g_clear_pointer(&graded->doubt, g_free);
    g_clear_pointer(&graded->no_tests, g_free);
    g_clear_pointer(&graded->ungradable, g_free);
    g_clear_pointer(&graded->not_counted, acr_json_free);
    g_clear_pointer(&graded->audit, acr_json_free);
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

/* Returns a digest of patch, script, place, rules and row, each preceded by its length; owned. */
static char *digest_grading(const Work *work)
{
    const AcrGradingPlan *plan = &work->plan;
    const char *const parts[] = {patch_of(work), plan->script,
                                 plan->image ? plan->image : plan->key,
                                 plan->install ? plan->install : "", plan->row};
    g_autoptr(GString) text = g_string_new(NULL);
    const AcrRunSpec *spec = work->options->spec;
    g_string_append_printf(text, "%" G_GINT64_FORMAT " %d %d %" G_GINT64_FORMAT "\n", spec->rules,
                           spec->network, spec->official_only || work->prediction->is_reference,
                           MAX(spec->repeat, 1)); /* the swebench package has no --repeat */
    g_string_append(text, work->ungradable ? work->ungradable : "");
    if (spec->audit > 0)
        g_string_append_printf(text, "audit %" G_GINT64_FORMAT "\n", spec->audit);
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
        g_string_append_printf(text, "%" G_GSIZE_FORMAT "\n%s", strlen(parts[i]), parts[i]);
    return acr_sha256_hex(text->str, text->len);
}

/* Returns the verdict in the folder; owned; NULL if there is none of this version. */
static AcrJson *read_verdict(const Work *work)
{
    g_autoptr(GBytes) bytes = acr_eval_folder_read(&work->folder, ACR_FILE_VERDICT);
    g_autoptr(AcrJson) verdict = bytes ? acr_json_parse_bytes(bytes, NULL) : NULL;
    bool is_known = acr_json_get_int(verdict, "schema_version", 0) == VERDICT_VERSION;
    return is_known ? g_steal_pointer(&verdict) : NULL;
}

static AcrEvalCost read_cost(const AcrJson *verdict)
{
    return (AcrEvalCost){
        acr_json_get_int(verdict, "total_ms", 0), acr_json_get_int(verdict, "wall_ms", 0),
        acr_json_get_int(verdict, "setup_ms", 0), acr_json_get_int(verdict, "peak_bytes", 0),
        acr_json_get_int(verdict, "image_bytes", 0)};
}

static AcrGraded read_grade(const AcrJson *verdict)
{
    const char *error = acr_json_get_string(verdict, "error");
    bool is_resolved = acr_json_get_bool(verdict, "official_resolved", false);
    const AcrJson *audit = acr_json_get(verdict, "audit");
    return (AcrGraded){
        .grade = error         ? ACR_GRADE_ERROR
                 : is_resolved ? ACR_GRADE_RESOLVED
                               : ACR_GRADE_UNRESOLVED,
        .is_kept = true,
        .error = g_strdup(error),
        .failure = g_strdup(acr_json_get_string(verdict, "failure")),
        .no_tests = g_strdup(acr_json_get_string(verdict, "no_tests")),
        .cost = read_cost(verdict),
        .doubt = is_resolved ? g_strdup(acr_json_get_string(verdict, "why")) : NULL,
        .audit = audit ? acr_json_copy(audit) : NULL,
    };
}

/* Sets *out from an earlier verdict that was made from the same input and has a report or an error.
 * Returns false if there is no such verdict. */
static bool take_kept_grade(const Work *work, AcrGraded *out)
{
    g_autoptr(GBytes) report = acr_eval_folder_read(&work->folder, ACR_FILE_EVAL_REPORT);
    g_autoptr(AcrJson) verdict = read_verdict(work);
    g_autoptr(AcrJson) reported = report ? acr_json_parse_bytes(report, NULL) : NULL;
    const char *error = acr_json_get_string(verdict, "error");
    const AcrJson *task = acr_json_get(reported, work->task->instance_id);
    bool is_whole = acr_json_type(acr_json_get(task, "resolved")) == ACR_JSON_BOOL;
    if (!verdict || g_strcmp0(acr_json_get_string(verdict, "digest"), work->digest) != 0 ||
        (!is_whole && !error))
        return false;
    *out = read_grade(verdict);
    return true;
}

/* Reads the saved verdict. --regrade keeps the verdict's trust, times and memory, because it runs
 * no tests that could measure them again. */
static void take_saved_verdict(Work *work)
{
    work->saved = read_verdict(work);
    const AcrJson *repeats = acr_json_get(work->saved, "repeats"),
                  *evidence = acr_json_get(work->saved, "evidence");
    work->ungradable = g_strdup(acr_json_get_string(work->saved, "why_not_gradable"));
    work->is_partial = work->saved && !acr_json_get_string(work->saved, "digest");
    work->repeats = repeats ? acr_json_copy(repeats) : NULL;
    if (acr_json_get_bool(work->saved, "has_experiments", false))
        work->trust =
            acr_json_of("evidence", evidence ? acr_json_copy(evidence) : acr_json_new_array(),
                        ACR_BOOL("weak", acr_json_get_bool(work->saved, "is_weak", false)), NULL);
}

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
    return acr_eval_folder_write(&work->folder, ACR_FILE_EVAL_OUTPUT, text->str, text->len, error);
}

static bool run_task_tests(Work *work, GError **error)
{
    const AcrEvalFolder *folder = &work->folder;
    const char *patch = patch_of(work);
    AcrEvalWay way = {.patch = work->prediction->patch};
    gint64 start_us = g_get_monotonic_time();
    if (work->plan.image && work->options->images &&
        !acr_eval_images_take(work->options->images, work->task->instance_id, &work->plan.image,
                              error))
        return false;
    work->run.setup_ms += (g_get_monotonic_time() - start_us) / 1000;
    acr_eval_folder_remove(folder, ACR_FILE_VERDICT);
    acr_eval_folder_remove(folder, ACR_FILE_EVAL_REPORT);
    acr_eval_folder_remove(folder, ACR_FILE_EVAL_OUTPUT);
    acr_eval_folder_remove(folder, ACR_FILE_WATCHED_OUTPUT);
    if (!acr_eval_folder_write(folder, ACR_FILE_PATCH, patch, strlen(patch), error) ||
        !acr_eval_folder_write(folder, ACR_FILE_EVAL_SCRIPT, work->plan.script,
                               strlen(work->plan.script), error) ||
        !acr_eval_run_tests(work->options, work->task, &work->plan, &way, &work->run, error))
        return false;
    g_autofree char *log = make_log(work);
    return acr_eval_folder_write(folder, ACR_FILE_EVAL_LOG, log, strlen(log), error) &&
           write_output(work, error);
}

/* Adds the member "resolved" of acr-host: true if the task is resolved and the result is trusted;
 * false if not; null if the result was not checked. */
static void describe_trust(const Work *work, const AcrGraded *graded, AcrJson *json)
{
    const AcrJson *evidence = acr_json_get(work->trust, "evidence");
    if (graded->grade != ACR_GRADE_RESOLVED || graded->doubt || work->ungradable)
        acr_json_set_bool(json, "resolved", false);
    else
        acr_json_set(json, "resolved", work->trust ? acr_json_new_bool(true) : acr_json_new_null());
    if (graded->doubt || !work->saved) /* with --regrade, keep the saved reason, because other rules
                                        * may resolve the task again */
        acr_json_set_string(json, "why", graded->doubt);
    acr_json_set_bool(json, "is_gradable", !work->ungradable);
    acr_json_set_string(json, "why_not_gradable", work->ungradable);
    acr_json_set_bool(json, "has_experiments", work->trust != NULL);
    acr_json_set_bool(json, "is_weak", acr_json_get_bool(work->trust, "weak", false));
    acr_json_set(json, "evidence", evidence ? acr_json_copy(evidence) : acr_json_new_array());
    if (work->repeats)
        acr_json_set(json, "repeats", acr_json_copy(work->repeats));
}

static void find_not_counted(Work *work)
{
    g_autoptr(AcrJson) row =
        work->plan.row ? acr_json_parse(work->plan.row, strlen(work->plan.row), NULL) : NULL;
    const AcrJson *ids = acr_json_get(row, "not_counted");
    work->not_counted = ids ? acr_json_copy(ids) : NULL;
    work->uncounted_issue = acr_json_get_int(row, "not_counted_fail_to_pass", 0);
}

static AcrJson *describe_verdict(const Work *work, const AcrGraded *graded)
{
    const AcrEvalRun *run = &work->run;
    AcrJson *json = work->saved ? acr_json_copy(work->saved) : acr_json_new_object();
    acr_json_set_int(json, "schema_version", VERDICT_VERSION);
    acr_json_set_string(json, "digest", work->is_partial ? NULL : work->digest);
    acr_json_set_bool(json, "official_resolved", graded->grade == ACR_GRADE_RESOLVED);
    acr_json_set_int(json, "not_counted_fail_to_pass", work->uncounted_issue);
    acr_json_set_string(json, "error", graded->error);
    acr_json_set_string(json, "failure", graded->failure);
    acr_json_set_string(json, "no_tests", graded->no_tests);
    describe_trust(work, graded, json);
    if (work->not_counted)
        acr_json_set(json, "not_counted", acr_json_copy(work->not_counted));
    if (graded->audit)
        acr_json_set(json, "audit", acr_json_copy(graded->audit));
    if (work->reward)
        acr_json_set(json, "reward", acr_json_copy(work->reward));
    if (!run->log)
        return json;
    acr_json_set_string(json, "image", work->plan.image);
    acr_json_set_string(json, "environment", work->plan.key);
    acr_json_set_string(json, "applied_by", run->applied_by);
    acr_json_set_int(json, "exit", run->exit_code);
    acr_json_set_string(json, "limit", run->limit);
    acr_json_set_int(json, "wall_ms", run->wall_ms);
    acr_json_set_int(json, "total_ms", graded->cost.total_ms);
    acr_json_set_int(json, "setup_ms", run->setup_ms);
    acr_json_set_int(json, "peak_bytes", run->peak_bytes);
    acr_json_set_int(json, "image_bytes", run->image_bytes);
    return json;
}

static bool write_verdict(const Work *work, AcrGraded *graded, GError **error)
{
    const AcrEvalRun *run = &work->run;
    gint64 total_ms = (g_get_monotonic_time() - work->begun_us) / 1000 - run->setup_ms;
    graded->cost = work->saved ? read_cost(work->saved)
                               : (AcrEvalCost){total_ms, run->wall_ms, run->setup_ms,
                                               run->peak_bytes, run->image_bytes};
    g_autoptr(AcrJson) json = describe_verdict(work, graded);
    g_autofree char *text = acr_json_print_pretty(json);
    return acr_eval_folder_write(&work->folder, ACR_FILE_VERDICT, text, strlen(text), error);
}

/* Sets the reason and returns true if the run of the tests cannot give a report. */
static bool find_failure(const Work *work, AcrGraded *out)
{
    const char *failure = NULL;
    if (work->prediction->patch && !work->run.applied_by) {
        failure = "patch_does_not_apply";
        g_autofree char *said = acr_eval_refusal(work->run.log);
        out->error = g_strconcat("the patch does not apply", said ? ": " : NULL, said, NULL);
    } else if (work->run.timed_out) {
        failure = "time_out";
        out->error = g_strdup_printf("the tests did not end within %" G_GINT64_FORMAT " s",
                                     work->run.wall_ms / 1000);
    } else if (g_strcmp0(work->run.limit, "output") == 0) {
        failure = "too_much_output";
        out->error = g_strdup("the tests printed more output than acr-host keeps");
    }
    out->failure = g_strdup(failure);
    return failure != NULL;
}

/* Runs the tests of a resolved task again, to decide whether to trust the result. Returns false
 * with an error. */
static bool look_closer(Work *work, AcrGraded *out, GError **error)
{
    const AcrEvalOptions *options = work->options;
    const AcrRunSpec *spec = options->spec;
    const AcrPrediction *prediction = work->prediction;
    g_autoptr(GBytes) output = NULL;
    if (prediction->is_reference)
        return true;
    if (spec->repeat > 1 && !acr_eval_repeat(options, work->task, &work->plan, prediction->patch,
                                             &work->run, spec->repeat - 1, &work->repeats, error))
        return false;
    if (!spec->official_only && !acr_eval_trust(options, work->task, &work->plan, prediction->patch,
                                                &work->run, &work->trust, &output, error))
        return false;
    const char *flaky = acr_json_get_string(work->repeats, "why");
    out->doubt = g_strdup(flaky ? flaky : acr_json_get_string(work->trust, "why"));
    gsize len = 0;
    const char *data = output ? g_bytes_get_data(output, &len) : NULL;
    return !output ||
           acr_eval_folder_write(&work->folder, ACR_FILE_WATCHED_OUTPUT, data, len, error);
}

/* True if the time limit has been reached, so that the result of stopped tests means nothing. */
static bool is_late(const Work *work)
{
    return work->run.deadline_us && g_get_monotonic_time() >= work->run.deadline_us;
}

/* Checks a resolved task. If the check fails, keeps the official result, and the next run repeats
 * the check. */
static void doubt(Work *work, AcrGraded *out)
{
    g_autoptr(GError) error = NULL;
    if (out->grade != ACR_GRADE_RESOLVED)
        return;
    if (!work->run.output) {
        out->doubt = g_strdup(acr_json_get_string(work->saved, "why"));
        return;
    }
    bool is_seen = look_closer(work, out, &error);
    if (is_seen && !is_late(work))
        return;
    g_free(out->doubt);
    out->doubt = is_seen ? g_strdup("limit --max-time reached while the tests were repeated")
                         : g_strdup_printf("the tests could not be run again: %s", error->message);
    work->is_partial = true;
}

static char *read_report(Work *work, GBytes *log, char **out_failure, AcrGradingStop *out_stop,
                         GError **error)
{
    const AcrEvalOptions *options = work->options;
    g_autofree char *row = acr_eval_row_with(options, work->plan.row, &log, 1, error);
    g_clear_pointer(&work->reward, acr_json_free);
    return row ? acr_grading_report(options->python, row, (int)options->spec->rules, log,
                                    out_failure, out_stop, &work->reward, error)
               : NULL;
}

/* Makes the grade an error if no test ran with the patch, and none runs without it for the same
 * reason. A saved log does not show what happens without the patch. */
static bool blame_environment(Work *work, const AcrGradingStop *stop, AcrGraded *out,
                              GError **error)
{
    const AcrEvalWay way = {0};
    g_auto(AcrEvalRun) run = {.deadline_us = work->run.deadline_us};
    g_auto(AcrGradingStop) without = {0};
    g_autofree char *report = NULL, *failure = NULL;
    if (!stop->lack || work->options->spec->regrade)
        return true;
    bool has_run = work->prediction->patch;
    if (has_run &&
        (!acr_eval_run_tests(work->options, work->task, &work->plan, &way, &run, error) ||
         !(report = read_report(work, run.output, &failure, &without, error))))
        return false;
    if (has_run && g_strcmp0(without.why, stop->why) != 0)
        return true;
    ACR_FREE(out->failure, work->ungradable);
    out->failure = g_strdup("environment");
    out->error = g_strdup(stop->lack);
    work->ungradable = g_strdup(stop->lack);
    work->is_partial = true;
    return true;
}

static bool grade_log(Work *work, GBytes *log, AcrGraded *out, GError **error)
{
    g_auto(AcrGradingStop) stop = {0};
    g_autofree char *report = read_report(work, log, &out->failure, &stop, error);
    if (!report || !blame_environment(work, &stop, out, error) ||
        !acr_eval_folder_write(&work->folder, ACR_FILE_EVAL_REPORT, report, strlen(report), error))
        return false;
    out->grade = out->error     ? ACR_GRADE_ERROR
                 : out->failure ? ACR_GRADE_UNRESOLVED
                                : ACR_GRADE_RESOLVED;
    out->no_tests = g_steal_pointer(&stop.why);
    doubt(work, out);
    return write_verdict(work, out, error);
}

static bool run_and_grade(Work *work, AcrGraded *out, GError **error)
{
    out->is_late = is_late(work);
    if (out->is_late)
        return true;
    if (!run_task_tests(work, error)) {
        out->is_late = is_late(work);
        return false;
    }
    out->is_late = work->run.timed_out && is_late(work);
    if (out->is_late)
        return true;
    if (work->options->spec->audit > 0 &&
        !acr_eval_audit(work->options, work->task, &work->plan, work->prediction->patch, &work->run,
                        &out->audit, error))
        return false;
    out->grade = ACR_GRADE_ERROR;
    return find_failure(work, out) ? write_verdict(work, out, error)
                                   : grade_log(work, work->run.output, out, error);
}

/* Grades the existing log again. Fails if a prediction has no log, as the official harness does.
 * Keeps a saved error (the patch does not apply, the tests took too long), because errors are not
 * in a log. */
static bool grade_again(Work *work, AcrGraded *out, GError **error)
{
    if (acr_json_get_string(work->saved, "error")) {
        *out = read_grade(work->saved);
        return true;
    }
    g_autoptr(GBytes) log = acr_eval_folder_read(&work->folder, ACR_FILE_EVAL_OUTPUT);
    if (log)
        return grade_log(work, log, out, error);
    return acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED,
                         "there is no saved output '%s/" ACR_FILE_EVAL_OUTPUT "'",
                         work->folder.path);
}

static bool make_plan(Work *work, GError **error)
{
    const AcrEvalOptions *options = work->options;
    int rules = (int)options->spec->rules;
    g_autoptr(GError) reason = NULL;
    bool is_planned = acr_eval_plan(options, work->task, &work->plan, &reason);
    if (is_planned || !options->spec->regrade)
        return is_planned || acr_pass_error(error, &reason);
    /* No script is needed, because the log already exists. */
    g_autofree char *row = acr_eval_row(options, work->task->row);
    g_autoptr(AcrJson) json = acr_json_parse(row, strlen(row), error);
    if (!json)
        return false;
    acr_json_set_string(json, "eval_script", ":");
    g_autofree char *bare = acr_json_print(json);
    return acr_grading_plan_image(options->python, bare, rules, &work->plan, error);
}

static bool prepare_grading(Work *work, GError **error)
{
    const AcrRunSpec *spec = work->options->spec;
    bool is_planned = make_plan(work, error);
    find_not_counted(work);
    if (!is_planned ||
        !acr_eval_folder_open(spec, work->prediction, !spec->regrade, &work->folder, error))
        return false;
    if (spec->regrade)
        take_saved_verdict(work);
    work->digest = digest_grading(work);
    return true;
}

/* Model names for the runs with the reference patch and without a patch. The results are kept like
 * those of other models. */
#define GOLD "baseline-gold"
#define EMPTY "baseline-empty"

static AcrGrade grade_reference(const AcrEvalOptions *options, const AcrInstance *task,
                                const char *model, const char *patch, AcrEvalRun *run,
                                char **out_error)
{
    AcrPrediction prediction = {.instance_id = task->instance_id,
                                .model = (char *)model,
                                .patch = (char *)patch,
                                .is_baseline = true,
                                .is_reference = true};
    g_auto(AcrGraded) graded = {0};
    acr_eval_prediction(options, task, &prediction, run->deadline_us, &graded);
    run->setup_ms += graded.is_kept ? 0 : graded.cost.setup_ms;
    *out_error = g_steal_pointer(&graded.error);
    return graded.grade;
}

/* Returns why the tests cannot grade the task: they pass without a patch, or fail with the
 * reference patch. Owned; NULL if the tests can grade the task. */
static char *find_ungradable(const AcrEvalOptions *options, const AcrInstance *task,
                             AcrEvalRun *run)
{
    g_autoptr(AcrJson) row = acr_json_parse(task->row, strlen(task->row), NULL);
    const char *patch = acr_json_get_string(row, "patch");
    g_autofree char *why = NULL, *why_gold = NULL;
    if (!patch || !*patch)
        return g_strdup("the data set has no reference patch for this task");
    if (grade_reference(options, task, EMPTY, NULL, run, &why) == ACR_GRADE_RESOLVED)
        return g_strdup("the task's tests pass without a patch");
    if (grade_reference(options, task, GOLD, patch, run, &why_gold) == ACR_GRADE_RESOLVED)
        return NULL;
    return g_strconcat("the task's tests fail with the reference patch", why_gold ? ": " : NULL,
                       why_gold, NULL);
}

void acr_eval_prediction(const AcrEvalOptions *options, const AcrInstance *task,
                         const AcrPrediction *prediction, gint64 deadline_us, AcrGraded *out)
{
    g_auto(Work) work = {.options = options,
                         .task = task,
                         .prediction = prediction,
                         .begun_us = g_get_monotonic_time(),
                         .run.deadline_us = deadline_us};
    g_autoptr(GError) error = NULL;
    *out = (AcrGraded){.grade = ACR_GRADE_EMPTY};
    if (!prediction->patch && !prediction->is_baseline)
        return;
    if (options->spec->baseline && !prediction->is_reference && !options->spec->regrade)
        work.ungradable = find_ungradable(options, task, &work.run);
    bool ok = prepare_grading(&work, &error);
    if (ok && options->spec->regrade)
        ok = grade_again(&work, out, &error);
    else if (ok && !take_kept_grade(&work, out))
        ok = run_and_grade(&work, out, &error);
    out->ungradable = g_strdup(work.ungradable);
    out->not_counted = g_steal_pointer(&work.not_counted);
    out->uncounted_issue = work.uncounted_issue;
    if (ok)
        return;
    out->grade = ACR_GRADE_ERROR;
    out->stops = g_error_matches(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_STOP);
    ACR_FREE(out->error, out->failure);
    out->error = g_strdup(error->message);
    out->failure = g_strdup("environment");
    if (options->spec->audit > 0 && !out->audit)
        out->audit = acr_json_of(ACR_STRING("class", "environment"),
                                 ACR_STRING("why", error->message), NULL);
}
