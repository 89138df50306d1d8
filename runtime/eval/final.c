/* Writes the files of a whole run: the final report, the summary beside the logs, and the file that
 * version 5 of the swebench package needs. python/acr/evaluation.py creates their contents. */
#include "eval/eval_private.h"

#include <stdio.h>
#include <string.h>

#define PYTHON_MS 120000
#define MODULE "evaluation"
#define MICROS 1e6
#define ENVIRONMENT "environment" /* class of tasks that could not be run on this machine */

AcrJson *acr_eval_row_of(const AcrPrediction *prediction, const AcrGraded *graded, bool is_graded,
                         AcrJson *sign)
{
    const AcrEvalCost *cost = &graded->cost;
    return acr_json_of(ACR_STRING("task", prediction->instance_id),
                       ACR_STRING("model", prediction->model), ACR_STRING("name", prediction->name),
                       ACR_STRING("repo", prediction->repo), ACR_INT("number", prediction->number),
                       ACR_STRING("grade", is_graded ? acr_grade_name(graded->grade) : NULL),
                       ACR_BOOL("late", graded->is_late), ACR_STRING("failure", graded->failure),
                       ACR_STRING("error", graded->error), ACR_STRING("no_tests", graded->no_tests),
                       ACR_STRING("doubt", graded->doubt),
                       ACR_STRING("ungradable", graded->ungradable), "not_counted",
                       graded->not_counted ? acr_json_copy(graded->not_counted) : NULL,
                       ACR_INT("not_counted_fail_to_pass", graded->uncounted_issue),
                       ACR_INT("total_ms", cost->total_ms), ACR_INT("tests_ms", cost->tests_ms),
                       ACR_INT("setup_ms", cost->setup_ms), ACR_INT("peak_bytes", cost->peak_bytes),
                       ACR_INT("image_bytes", cost->image_bytes), "sign", sign, "audit",
                       graded->audit ? acr_json_copy(graded->audit) : NULL, NULL);
}

int acr_eval_row_grade(const AcrJson *row)
{
    const char *grade = acr_json_get_string(row, "grade");
    for (AcrGrade i = ACR_GRADE_RESOLVED; grade && i <= ACR_GRADE_EMPTY; i++)
        if (strcmp(grade, acr_grade_name(i)) == 0)
            return (int)i;
    return -1;
}

void acr_eval_count(const AcrEvalSums *sums, AcrEvalResult *out)
{
    guint *const counts[] = {&out->resolved, &out->unresolved, &out->errors, &out->empty};
    out->tasks = (guint)acr_json_size(sums->tasks);
    for (const AcrJson *row = acr_json_first(sums->rows); row; row = acr_json_next(row)) {
        int grade = acr_eval_row_grade(row);
        out->predictions += grade >= 0;
        const char *class = acr_json_get_string(acr_json_get(row, "audit"), "class"),
                   *failure = acr_json_get_string(row, "failure");
        out->unrun += g_strcmp0(class ? class : failure, ENVIRONMENT) == 0;
        out->late += acr_json_get_bool(row, "late", false);
        if (grade >= 0)
            ++*counts[grade];
    }
}

AcrJson *acr_eval_read_other(AcrPython *python, const char *path, GError **error)
{
    g_autoptr(AcrJson) argument = acr_json_new_string(path);
    g_autoptr(AcrJson) other =
        acr_python_json(python, MODULE, "read_other", argument, PYTHON_MS, error);
    const char *fault = acr_json_get_string(other, "fault");
    if (!fault)
        return g_steal_pointer(&other);
    return ACR_NULL(acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_INPUT, "%s", fault));
}

/* True if the command selects only some tasks; then the other tasks keep their grades. */
static bool is_subset(const AcrRunSpec *spec)
{
    return spec->retry_failed || spec->slice || spec->instance_set || spec->instances;
}

/* Describes the run for python/acr/evaluation.py. `summary` is the path of the summary, which may
 * already exist. */
static AcrJson *describe_run(const AcrEvalSums *sums, const char *path, const char *summary)
{
    const gint64 *spent = sums->options->spent_microusd;
    return acr_json_of(
        "rules", acr_json_new_int(sums->options->spec->rules), "path", ACR_TEXT(path), "tasks",
        acr_json_copy(sums->tasks), "rows", acr_json_copy(sums->rows), "other",
        acr_json_copy(sums->other), "results", ACR_TEXT(sums->results_name), "keeps",
        ACR_TEXT(is_subset(sums->options->spec) ? summary : NULL), "run_id",
        ACR_TEXT(sums->options->spec->run_id), "dataset", ACR_TEXT(sums->options->spec->dataset),
        "batch", ACR_TEXT(spent ? sums->options->spec->out : NULL), "quiet",
        acr_json_new_bool(sums->options->spec->quiet), "usd",
        spent ? acr_json_new_double((double)*spent / MICROS) : acr_json_new_null(), NULL);
}

static bool write_text(const char *path, const char *text, GError **error)
{
    return acr_file_write_atomic(path, text, strlen(text), 0644, error);
}

/* Writes sound.jsonl: the rows of the tasks in which the audit found no fault, each with its audit.
 * If a row is unknown, writes only the task's id. */
static bool write_sound(const AcrEvalSums *sums, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; sums->instances && i < sums->instances->len; i++) {
        AcrInstance *task = sums->instances->pdata[i];
        g_hash_table_insert(known, task->instance_id, task->row);
    }
    bool is_audit = false;
    for (const AcrJson *row = acr_json_first(sums->rows); row; row = acr_json_next(row)) {
        const AcrJson *audit = acr_json_get(row, "audit");
        const char *id = acr_json_get_string(row, "task"),
                   *whole = g_hash_table_lookup(known, id ? id : "");
        is_audit = is_audit || audit;
        if (g_strcmp0(acr_json_get_string(audit, "class"), "sound") != 0)
            continue;
        g_autoptr(AcrJson) line = whole ? acr_json_parse(whole, strlen(whole), NULL) : NULL;
        if (!line)
            line = acr_json_of("instance_id", ACR_TEXT(id), NULL);
        acr_json_set(line, "audit", acr_json_copy(audit));
        g_autofree char *printed = acr_json_print(line);
        g_string_append_printf(text, "%s\n", printed);
    }
    g_autofree char *path = g_build_filename(sums->options->spec->out, ACR_FILE_SOUND, NULL);
    return !is_audit || write_text(path, text->str, error);
}

bool acr_eval_final(const AcrEvalSums *sums, AcrEvalResult *out, GError **error)
{
    const AcrRunSpec *spec = sums->options->spec;
    const char *model = acr_json_get_string(acr_json_first(sums->rows), "model");
    g_autofree char *old = g_strdup_printf(ACR_FILE_FINAL_REPORT, model, spec->run_id),
                    *before = g_build_filename(spec->out, old, NULL),
                    *name = g_strdelimit(g_strdup(old), ":", '_'); /* some systems forbid ":" */
    out->path = g_build_filename(spec->out, name, NULL);
    if (strcmp(old, name) != 0) /* older versions wrote the name `old` */
        (void)rename(before, out->path);
    g_autofree char *path =
        g_build_filename(spec->out, ACR_DIR_EVALUATIONS, spec->run_id, ACR_FILE_SUMMARY, NULL);
    g_autoptr(AcrJson) run = describe_run(sums, out->path, path);
    g_autoptr(AcrJson) told =
        acr_python_json(sums->options->python, MODULE, "finish", run, PYTHON_MS, error);
    if (!told || !acr_eval_write_final(spec, out->path, acr_json_get_string(told, "report"), error))
        return false;
    const AcrJson *line = acr_json_get(told, "line");
    const char *results = acr_json_get_string(told, "results");
    g_autofree char *pretty = acr_json_print_pretty(acr_json_get(line, "summary"));
    if (results) {
        g_autofree char *own = g_build_filename(spec->out, sums->results_name, NULL);
        if (!write_text(own, results, error))
            return false;
    }
    out->table = g_strdup(acr_json_get_string(told, "table"));
    out->sums = g_strdup(acr_json_get_string(told, "sums"));
    g_autofree char *object = acr_json_print(line);
    out->line = g_strconcat(object, "\n", NULL);
    g_autofree char *left =
        g_build_filename(spec->out, ACR_DIR_EVALUATIONS, spec->run_id, ACR_FILE_UNFINISHED, NULL);
    bool ok = write_text(path, pretty, error) && write_sound(sums, error);
    if (ok)
        (void)remove(left);
    return ok;
}

bool acr_eval_write_run(const AcrRunSpec *spec, GError **error)
{
    g_autofree char *path = g_build_filename(spec->out, ACR_DIR_EVALUATIONS, spec->run_id, NULL),
                    *file = g_build_filename(path, ACR_FILE_EVAL_RUN, NULL);
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S+00:00");
    g_autoptr(AcrJson) json = acr_json_of("dataset", ACR_TEXT(spec->dataset), "split",
                                          ACR_TEXT(spec->split ? spec->split : "test"), "task_repo",
                                          acr_json_new_null(), "created_at", ACR_TEXT(time), NULL);
    g_autofree char *text = acr_json_print_pretty(json);
    return spec->rules == 4 || write_text(file, text, error);
}
