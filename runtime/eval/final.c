/*
 * The files of a whole run: the final report, the summary beside the logs, and what version 5 notes of a run.
 */
#include "eval/eval_private.h"

#include <string.h>

static AcrJson *describe_run(const AcrEvalSums *sums)
{
    AcrJson *json = acr_json_new_object();
    AcrJson *ids = acr_json_new_array(), *endings = acr_json_new_object();
    acr_json_set(json, "tasks", ids);
    acr_json_set(json, "endings", endings);
    acr_json_set(json, "failures", acr_json_copy(sums->signs));
    acr_json_set(json, "engine", acr_json_new_null());
    for (guint i = 0; i < sums->tasks->len; i++)
        acr_json_append(
            ids, acr_json_new_string(((const AcrInstance *)sums->tasks->pdata[i])->instance_id));
    for (guint i = 0; i < sums->predictions->len; i++) {
        const AcrPrediction *prediction = sums->predictions->pdata[i];
        if (sums->is_graded[i])
            acr_json_set_string(endings, prediction->instance_id,
                                acr_grade_name(sums->graded[i].grade));
    }
    return json;
}

/* The file that the harness of the tasks' data set writes, beside the final report; its name stands in their rows. */
static bool write_results(const AcrEvalSums *sums, const AcrJson *told, GError **error)
{
    const AcrInstance *task = sums->tasks->len ? sums->tasks->pdata[0] : NULL;
    g_autoptr(AcrJson) row = task && task->row && strstr(task->row, "\"results\"")
                                 ? acr_json_parse(task->row, strlen(task->row), NULL)
                                 : NULL;
    const char *name = acr_json_get_string(row, "results");
    if (!name || !acr_name_is_safe(name, ""))
        return true;
    g_autofree char *text = acr_grading_results(sums->options->python, told, name, error),
                    *path = g_build_filename(sums->options->spec->out, name, NULL);
    return text && acr_file_write_atomic(path, text, strlen(text), 0644, error);
}

/* The report with the summary as one more member, on one line; owned. */
static char *join_summary(const char *report, AcrJson *summary)
{
    AcrJson *json = acr_json_parse(report, strlen(report), NULL);
    acr_json_set(json, "summary", summary);
    char *line = acr_json_print(json);
    acr_json_free(json);
    return line;
}

bool acr_eval_final(const AcrEvalSums *sums, AcrEvalResult *out, GError **error)
{
    const AcrRunSpec *spec = sums->options->spec;
    const AcrPrediction *first = sums->predictions->pdata[0];
    g_autoptr(AcrJson) told = describe_run(sums);
    g_autofree char *text = NULL, *line = NULL,
                    *name = g_strdup_printf(ACR_FILE_FINAL_REPORT, first->model, spec->run_id);
    if (!acr_grading_final(sums->options->python, told, (int)spec->rules, &text, &line, error))
        return false;
    out->path = g_build_filename(spec->out, name, NULL);
    if (!acr_eval_write_final(spec, out->path, text, error) || !write_results(sums, told, error))
        return false;
    AcrJson *summary = acr_eval_summary(sums, out);
    g_autofree char *pretty = acr_json_print_pretty(summary),
                    *path = g_build_filename(spec->out, ACR_DIR_EVALUATIONS, spec->run_id,
                                             ACR_FILE_SUMMARY, NULL);
    out->line = join_summary(line, summary);
    return acr_file_write_atomic(path, pretty, strlen(pretty), 0644, error);
}

bool acr_eval_write_run(const AcrRunSpec *spec, GError **error)
{
    g_autofree char *path = g_build_filename(spec->out, ACR_DIR_EVALUATIONS, spec->run_id, NULL),
                    *file = g_build_filename(path, ACR_FILE_EVAL_RUN, NULL);
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S+00:00");
    g_autoptr(AcrJson) json = acr_json_new_object();
    acr_json_set_string(json, "dataset", spec->dataset);
    acr_json_set_string(json, "split", spec->split ? spec->split : "test");
    acr_json_set_string(json, "task_repo", NULL);
    acr_json_set_string(json, "created_at", time);
    g_autofree char *text = acr_json_print_pretty(json);
    return spec->rules == 4 || acr_file_write_atomic(file, text, strlen(text), 0644, error);
}

void acr_eval_count(const AcrEvalSums *sums, AcrEvalResult *out)
{
    out->tasks = sums->tasks->len;
    for (guint i = 0; i < sums->predictions->len; i++) {
        guint *const counts[] = {&out->resolved, &out->unresolved, &out->errors, &out->empty};
        const AcrGraded *graded = &sums->graded[i];
        out->predictions += sums->is_graded[i];
        out->late += graded->is_late;
        if (sums->is_graded[i])
            ++*counts[graded->grade];
        out->doubted += graded->doubt != NULL;
        out->ungradable += graded->ungradable != NULL;
    }
}
