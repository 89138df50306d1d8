/* Selects the files of a run folder, or of a folder of many runs, for a report. Reads the files
 * within limits and never through a link; the report lists unreadable files. */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "layout/layout.h"
#include "report/report_private.h"
#include "task/live.h"

#define TIMEOUT_MS 120000
#define MAX_BYTES ((gsize)1024 * 1024 * 1024) /* maximum total size of all files in bytes */
#define MAX_JOURNAL ((gsize)128 * 1024 * 1024)
#define MAX_FILE ((gsize)8 * 1024 * 1024)
#define MAX_FINAL_REPORT ((gsize)64 * 1024 * 1024)
#define MAX_ATTEMPTS 100u
#define MAX_FILES 2000u /* maximum number of files of an attempt */

bool acr_report_files_add(AcrReportFiles *files, const char *name, GBytes *bytes)
{
    if (!files->fields)
        files->fields = g_byte_array_new();
    if (files->fields->len + g_bytes_get_size(bytes) > MAX_BYTES)
        return false;
    acr_py_fields_add(files->fields, name, strlen(name));
    acr_py_fields_add_bytes(files->fields, bytes);
    files->n++;
    return true;
}

void acr_report_files_clear(AcrReportFiles *files)
{
    g_clear_pointer(&files->fields, g_byte_array_unref);
    files->n = 0;
}

typedef struct {
    const AcrFolder *folder;
    bool with_calls; /* the format shows the search calls of each round */
    AcrReportFiles *files;
    GString *unread;
} Reader;

static void take_file(Reader *reader, const char *name, gsize max)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_folder_read_file(reader->folder, name, max, &reason);
    if (bytes && acr_report_files_add(reader->files, name, bytes))
        return;
    if (!g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        g_string_append_printf(reader->unread, "%s\n", reason ? reason->message : name);
}

static void take_attempt(Reader *reader, const char *attempt)
{
    static const char *const formats[] = {ACR_FILE_EXTRACT_STATUS, ACR_FILE_REPRODUCER,
                                          ACR_FILE_EXECUTION,      ACR_FILE_REVIEW,
                                          ACR_FILE_REGRESSION,     NULL};
    g_autofree char *path = acr_folder_path(reader->folder, attempt);
    g_autoptr(GPtrArray) names = acr_report_list_names(path, formats, MAX_FILES);
    g_autofree char *places = g_build_filename(attempt, ACR_DIR_SEARCH ACR_FILE_LOCATIONS, NULL),
                    *calls = g_build_filename(attempt, ACR_DIR_SEARCH ACR_FILE_TOOL_CALLS, NULL);
    take_file(reader, places, MAX_FILE);
    if (reader->with_calls)
        take_file(reader, calls, MAX_FILE);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *name = g_build_filename(attempt, names->pdata[i], NULL);
        take_file(reader, name, MAX_FILE);
    }
}

/* Adds the files of a run folder. An extra file lists the unreadable ones. */
static bool add_run(const char *dir, const char *form, AcrReportFiles *files, GError **error)
{
    static const char *const names[] = {ACR_FILE_META,  ACR_FILE_RESULT, ACR_FILE_COST,
                                        ACR_FILE_ISSUE, ACR_FILE_PATCH,  ACR_FILE_SELECTED,
                                        ACR_FILE_ERROR};
    static const char *const formats[] = {ACR_DIR_ATTEMPT, NULL};
    g_auto(AcrFolder) folder = {0};
    g_autoptr(GString) unread = g_string_new(NULL);
    g_autoptr(AcrJson) result = NULL;
    if (!acr_folder_read(dir, &folder, error) ||
        (folder.state == ACR_FOLDER_DONE &&
         !(result = acr_folder_read_json(&folder, ACR_FILE_RESULT, error))))
        return false;
    bool with_calls = strcmp(form, "json") == 0 || strcmp(form, "atif") == 0;
    Reader reader = {&folder, with_calls, files, unread};
    g_autofree char *path = g_canonicalize_filename(dir, NULL);
    g_autoptr(GBytes) place = g_bytes_new(path, strlen(path));
    acr_report_files_add(files, "(folder)", place);
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        take_file(&reader, names[i], MAX_FILE);
    take_file(&reader, ACR_FILE_JOURNAL, MAX_JOURNAL);
    if (acr_report_is_running(&folder))
        take_file(&reader, ACR_FILE_LIVE, MAX_FILE);
    g_autoptr(GPtrArray) attempts = acr_report_list_names(folder.path, formats, MAX_ATTEMPTS);
    for (guint i = 0; i < attempts->len; i++)
        take_attempt(&reader, attempts->pdata[i]);
    g_autoptr(GBytes) lines = g_bytes_new(unread->str, unread->len);
    if (unread->len)
        acr_report_files_add(files, "(unread)", lines);
    return true;
}

static void add_report_text(const char *folder, const char *kind, const char *text,
                            AcrReportFiles *files)
{
    g_autofree char *inside = g_build_filename(folder, kind, NULL);
    g_autoptr(GBytes) bytes = g_bytes_new(text, strlen(text));
    acr_report_files_add(files, inside, bytes);
}

/* Adds a task. `part` is the folder of its shard, for the path of the task's page; "" if there
 * are no shards. */
static void take_task(const char *dir, const char *part, const char *name, AcrReportFiles *files)
{
    static const char *const names[] = {ACR_FILE_RESULT, ACR_FILE_COST, ACR_FILE_LIVE};
    g_auto(AcrFolder) folder = {0};
    g_autofree char *path = g_build_filename(dir, name, NULL);
    if (!acr_folder_exists(path) || !acr_folder_read(path, &folder, NULL))
        return;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *inside = g_build_filename(name, names[i], NULL);
        g_autoptr(GBytes) bytes = acr_folder_read_file(&folder, names[i], MAX_FILE, NULL);
        g_autoptr(GBytes) nothing = g_bytes_new_static("{}", 2);
        acr_report_files_add(files, inside, bytes ? bytes : nothing);
    }
    g_autofree char *page = g_build_filename(part, name, ACR_FILE_REPORT, NULL);
    add_report_text(name, "(page)", page, files);
    g_autofree char *facts = acr_report_run_facts(&folder);
    if (facts)
        add_report_text(name, "(run)", facts, files);
}

/* Adds a final report. `part` is the folder of its shard; "" if there are no shards. The
 * report may be missing, because a shard may have no task. */
static void take_final_report(const char *dir, const char *part, const char *name,
                              AcrReportFiles *files)
{
    const AcrFolder folder = {.path = (char *)dir};
    g_autofree char *told = g_strconcat(part, name, NULL);
    g_autoptr(GBytes) bytes = acr_folder_read_file(&folder, name, MAX_FINAL_REPORT, NULL);
    g_autoptr(AcrJson) summary =
        bytes && strcmp(name, ACR_FILE_SUMMARY) == 0 ? acr_json_parse_bytes(bytes, NULL) : NULL;
    const AcrJson *tasks = acr_json_get(summary, "tasks");
    bool is_empty = acr_json_type(tasks) == ACR_JSON_ARRAY && acr_json_size(tasks) == 0;
    if (bytes && !is_empty &&
        (strchr(name, '/') || strcmp(name, ACR_FILE_SUMMARY) == 0 ||
         g_strstr_len(g_bytes_get_data(bytes, NULL), (gssize)g_bytes_get_size(bytes),
                      "\"resolved_ids\"")))
        acr_report_files_add(files, told, bytes);
}

#define GRADING "(grading)" /* folder of the files of a run's grading, for python/acr/report/ */

/* Returns the JSON file `name` of an evaluation; owned; NULL if the file does not exist. */
static AcrJson *read_evaluation(const char *dir, const char *run_id, const char *name)
{
    g_autofree char *inside = g_build_filename(ACR_DIR_EVALUATIONS, run_id, name, NULL);
    return acr_live_read(dir, inside);
}

/* Adds the report and the verdict on a prediction as files of `name`, and as "log" the path of its
 * tests' output from `base`. Returns false if the prediction was not graded. */
static bool take_prediction(const char *base, const char *inside, const char *name, const char *log,
                            AcrReportFiles *files)
{
    static const char *const kinds[] = {ACR_FILE_EVAL_REPORT, ACR_FILE_VERDICT, ACR_FILE_PATCH};
    g_autofree char *task = g_build_filename(base, inside, NULL),
                    *output = g_build_filename(inside, ACR_FILE_EVAL_OUTPUT, NULL),
                    *whole = g_build_filename(base, output, NULL);
    const AcrFolder folder = {.path = task};
    bool is_graded = false, is_link = g_file_test(task, G_FILE_TEST_IS_SYMLINK);
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *kept = g_build_filename(name, kinds[i], NULL);
        g_autoptr(GBytes) bytes =
            is_link ? NULL : acr_folder_read_file(&folder, kinds[i], MAX_FILE, NULL);
        bool is_added = bytes && acr_report_files_add(files, kept, bytes);
        is_graded = is_graded || (is_added && strcmp(kinds[i], ACR_FILE_PATCH) != 0);
    }
    if (is_graded && g_file_test(whole, G_FILE_TEST_IS_REGULAR))
        add_report_text(name, log, output, files);
    return is_graded;
}

/* Adds the reports and verdicts on a model's predictions, which give reasons and failing tests. */
static void take_predictions(const char *dir, const char *part, const char *inside,
                             AcrReportFiles *files)
{
    g_autofree char *folder = g_build_filename(dir, inside, NULL),
                    *base = *part ? g_path_get_dirname(dir) : g_strdup(dir);
    g_autoptr(GPtrArray) names = acr_report_list_names(folder, NULL, ACR_REPORT_MAX_TASKS);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *task = g_build_filename(part, inside, names->pdata[i], NULL);
        take_prediction(base, task, names->pdata[i], "(log)", files);
    }
}

/* The newest evaluation of a batch; both members are owned. */
typedef struct {
    char *batch, *run_id; /* run_id is NULL if the batch has no evaluation */
} Newest;

static void clear_newest(Newest *newest)
{
    ACR_FREE(newest->batch, newest->run_id);
    *newest = (Newest){0};
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Newest, clear_newest)

/* Adds the files of the newest grading of a run's patch, in the evaluations of the run's batch.
 * Updates `newest` (initially zero) if it is of another batch. */
static void take_grading(const char *run, Newest *newest, AcrReportFiles *files)
{
    g_autofree char *dir = g_canonicalize_filename(run, NULL), *id = g_path_get_basename(dir),
                    *batch = g_path_get_dirname(dir);
    if (g_strcmp0(newest->batch, batch) != 0) {
        clear_newest(newest);
        newest->batch = g_strdup(batch);
        (void)!acr_report_choose_evaluation(batch, NULL, &newest->run_id, NULL, NULL);
    }
    const char *run_id = newest->run_id;
    if (!run_id)
        return;
    g_autofree char *whole = acr_report_evaluation_path(batch, run_id);
    g_autoptr(GPtrArray) models = acr_report_list_names(whole, NULL, ACR_REPORT_MAX_TASKS);
    bool is_found = false;
    for (guint i = 0; !is_found && i < models->len; i++) {
        g_autofree char *inside =
            g_build_filename("..", ACR_DIR_EVALUATIONS, run_id, models->pdata[i], id, NULL);
        is_found = !g_str_has_prefix(models->pdata[i], "baseline-") &&
                   take_prediction(dir, inside, GRADING, "log", files);
    }
    if (is_found)
        add_report_text(GRADING, "name", id, files);
}

/* Adds the list of the tasks of an evaluation that did not end. Its process holds a lock. */
static void take_unfinished(const char *run, const char *prefix, const AcrJson *unfinished,
                            AcrReportFiles *files)
{
    g_autoptr(AcrJson) told = acr_json_copy(unfinished);
    g_autofree char *name = g_strconcat(prefix, "(unfinished)", NULL);
    ACR_AUTO_FD fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    acr_json_set_bool(told, "runs", fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0);
    g_autofree char *text = acr_json_print(told);
    g_autoptr(GBytes) bytes = g_bytes_new(text, strlen(text));
    acr_report_files_add(files, name, bytes);
}

static bool has_model(const AcrJson *json, const char *model)
{
    g_auto(GStrv) known = acr_json_strings(acr_json_get(json, "models"));
    for (guint i = 0; known && known[i]; i++)
        if (acr_report_is_of(model, known[i]))
            return true;
    return false;
}

/* Adds times, reasons and failing tests of an evaluation, which final reports lack. `model` is the
 * model of the final report (NULL: there is none). The summary is that of the last command. */
static void take_evaluation(const char *dir, const char *part, const char *run_id,
                            const char *model, AcrReportFiles *files)
{
    g_autofree char *run = acr_report_evaluation_path(dir, run_id),
                    *prefix = g_strconcat(part, run_id, NULL);
    g_autoptr(AcrJson) summary = read_evaluation(dir, run_id, ACR_FILE_SUMMARY),
                       unfinished = read_evaluation(dir, run_id, ACR_FILE_UNFINISHED);
    g_auto(GStrv) known = acr_json_strings(acr_json_get(summary, "models"));
    if (g_file_test(run, G_FILE_TEST_IS_SYMLINK))
        return;
    bool is_last = !model || !known || !known[0] || has_model(summary, model);
    if (is_last)
        take_final_report(run, prefix, ACR_FILE_SUMMARY, files);
    if (unfinished && (!model || has_model(unfinished, model)))
        take_unfinished(run, prefix, unfinished, files);
    g_autoptr(GPtrArray) models = acr_report_list_names(run, NULL, ACR_REPORT_MAX_TASKS);
    for (guint i = 0; i < models->len; i++) {
        const char *name = models->pdata[i];
        g_autofree char *folder = g_build_filename(run, name, NULL),
                        *inside = g_build_filename(ACR_DIR_EVALUATIONS, run_id, name, NULL);
        bool is_wanted = !is_last            ? acr_report_is_of(model, name)
                         : known && known[0] ? g_strv_contains((const char *const *)known, name)
                                             : !g_str_has_prefix(name, "baseline-");
        if (is_wanted && !g_file_test(folder, G_FILE_TEST_IS_SYMLINK))
            take_predictions(dir, part, inside, files);
    }
}

/* Adds the files of a folder of many runs, except for the files of the batch itself. Of the final
 * reports, adds only that of the evaluation and model (`run_id` NULL: all of them). */
static void take_many(const char *dir, const char *part, const char *run_id, const char *model,
                      AcrReportFiles *files)
{
    g_autoptr(GPtrArray) names = acr_report_list_names(dir, NULL, ACR_REPORT_MAX_TASKS);
    g_autofree char *final = g_strdup_printf(ACR_FILE_FINAL_REPORT, model ? model : "", run_id);
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        if (!g_str_has_suffix(name, ".json"))
            take_task(dir, part, name, files);
        else if (strcmp(name, ACR_FILE_SUMMARY) == 0 ||
                 (!run_id && strcmp(name, ACR_FILE_SHARD) != 0 &&
                  strcmp(name, ACR_FILE_GRADES) != 0) ||
                 (run_id && model && acr_report_is_of(final, name)))
            take_final_report(dir, part, name, files);
    }
    take_final_report(dir, part, ACR_DIR_SHARED "/" ACR_FILE_LIVE, files); /* names all tasks */
    if (run_id)
        take_evaluation(dir, part, run_id, model, files);
}

/* Returns the run folders of a batch and of its shards; owned. */
static GPtrArray *list_runs(const char *dir)
{
    GPtrArray *runs = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) places = acr_report_list_places(dir);
    for (guint i = 0; i < places->len; i++) {
        g_autoptr(GPtrArray) names =
            acr_report_list_names(places->pdata[i], NULL, ACR_REPORT_MAX_TASKS);
        for (guint j = 0; j < names->len && runs->len < ACR_REPORT_MAX_TASKS; j++) {
            g_autofree char *run = g_build_filename(places->pdata[i], names->pdata[j], NULL);
            if (acr_folder_exists(run) && !g_file_test(run, G_FILE_TEST_IS_SYMLINK))
                g_ptr_array_add(runs, g_steal_pointer(&run));
        }
    }
    return runs;
}

/* Adds the data of the page's title: the models, the data set, the evaluation, and the day of the
 * results. */
static void take_about(const char *dir, const char *run_id, const char *model,
                       AcrReportFiles *files)
{
    g_autoptr(GPtrArray) runs = list_runs(dir);
    g_autoptr(AcrJson) summary = acr_live_read(dir, ACR_FILE_SUMMARY),
                       graded = run_id ? read_evaluation(dir, run_id, ACR_FILE_SUMMARY) : NULL,
                       run = run_id ? read_evaluation(dir, run_id, ACR_FILE_EVAL_RUN) : NULL,
                       left = run_id ? read_evaluation(dir, run_id, ACR_FILE_UNFINISHED) : NULL,
                       about = acr_json_of(ACR_STRING("folder", dir), NULL), meta = NULL;
    g_auto(AcrFolder) folder = {0};
    if (runs->len && acr_folder_read(runs->pdata[0], &folder, NULL))
        meta = acr_folder_read_json(&folder, ACR_FILE_META, NULL);
    const AcrJson *options = acr_json_get(meta, "options"),
                  *models =
                      meta ? acr_json_get(options, "model") : acr_json_get(graded, "model_names");
    g_autoptr(AcrJson) named = model && graded && !has_model(graded, model)
                                   ? acr_json_new_strings((const char *const[]){model, NULL})
                                   : NULL;
    models = models ? models : acr_json_get(graded, "models"); /* of an earlier version */
    models = named ? named : models ? models : acr_json_get(left, "models");
    const AcrJson *const sources[] = {summary, graded, run, left};
    const char *dataset = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(sources) && !dataset; i++)
        dataset = acr_json_get_string(sources[i], "dataset");
    if (models)
        acr_json_set(about, "models", acr_json_copy(models));
    acr_json_set_string(about, "tag", acr_json_get_string(options, "tag"));
    if (meta)
        acr_json_set_bool(about, "search_history",
                          acr_json_get_bool(meta, "search_history", false));
    acr_json_set_int(about, "charged_microusd",
                     acr_json_get_int(acr_json_get(summary, "totals"), "charged_microusd", 0));
    acr_json_set_string(about, "dataset", dataset);
    acr_json_set_string(about, "run_id", run_id);
    g_autofree char *whole = run_id ? acr_report_evaluation_path(dir, run_id) : NULL,
                    *path = g_build_filename(meta || !whole ? dir : whole, ACR_FILE_SUMMARY, NULL);
    gint64 at_ns = acr_report_modified_ns(path);
    g_autoptr(GDateTime) time =
        at_ns ? g_date_time_new_from_unix_utc(at_ns / ACR_REPORT_NS_PER_S) : NULL;
    g_autofree char *day = time ? g_date_time_format(time, "%Y-%m-%d") : NULL;
    acr_json_set_string(about, "date", day);
    g_autofree char *text = acr_json_print(about);
    g_autoptr(GBytes) told = g_bytes_new(text, strlen(text));
    acr_report_files_add(files, "(about)", told);
}

/* Adds the results of the run folders inside a folder, and one evaluation of them. */
static bool add_many(const AcrReportOptions *of, bool may_be_empty, AcrReportFiles *files,
                     GPtrArray *notes, GError **error)
{
    g_autofree char *named = NULL, *run_id = NULL, *model = NULL,
                    *top = acr_report_folder_of(of->dir, &named, &model);
    const char *dir = top ? top : of->dir;
    g_autoptr(GPtrArray) places = acr_report_list_places(dir);
    if (!acr_report_choose_evaluation(dir, of->run_id ? of->run_id : named, &run_id, notes, error))
        return false;
    if (of->model || (run_id && !model)) {
        g_free(model);
        model = of->model ? g_strdup(of->model) : acr_report_newest_model(dir, run_id, notes);
    }
    for (guint i = 0; i < places->len; i++) { /* the folder itself comes last */
        g_autofree char *name = g_path_get_basename(places->pdata[i]);
        take_many(places->pdata[i], i + 1 < places->len ? name : "", run_id, model, files);
    }
    g_autofree char *why = files->n == 0 && !may_be_empty ? acr_report_why_none(dir) : NULL;
    if (why)
        return acr_task_refuse(error, "'%s' %s", of->dir, why);
    take_about(dir, run_id, model, files);
    return true;
}

static GBytes *call_service(AcrPython *python, const char *function, GByteArray *fields,
                            GError **error)
{
    g_autoptr(GBytes) argument = g_byte_array_free_to_bytes(fields);
    GBytes *result = NULL;
    return acr_python_call(python, "report.service", function, argument, TIMEOUT_MS, &result, error)
               ? result
               : NULL;
}

static void pack_word(GByteArray *fields, const char *text)
{
    acr_py_fields_add(fields, text, strlen(text));
}

static void add_packed(GByteArray *fields, const AcrReportFiles *files)
{
    if (files && files->fields)
        g_byte_array_append(fields, files->fields->data, files->fields->len);
}

static GBytes *report_run(AcrPython *python, const char *dir, const char *form,
                          const AcrReportFiles *more, Newest *newest, GError **error)
{
    g_auto(AcrReportFiles) files = {0};
    if (!add_run(dir, form, &files, error))
        return NULL;
    take_grading(dir, newest, &files);
    GByteArray *fields = g_byte_array_new();
    pack_word(fields, form);
    pack_word(fields, ACR_VERSION);
    add_packed(fields, &files);
    add_packed(fields, more);
    return call_service(python, "run", fields, error);
}

GBytes *acr_report_of_run(AcrPython *python, const char *dir, const char *form,
                          const AcrReportFiles *more, GError **error)
{
    g_auto(Newest) newest = {0};
    return report_run(python, dir, form, more, &newest, error);
}

static bool add_only(const char *const *names, AcrReportFiles *files)
{
    char *text = names ? g_strjoinv("\n", (char **)names) : NULL;
    g_autoptr(GBytes) list = text ? g_bytes_new_take(text, strlen(text)) : NULL;
    return !list || acr_report_files_add(files, "(instances)", list);
}

static GBytes *report_many(AcrPython *python, const AcrReportOptions *options, GPtrArray *notes,
                           GError **error)
{
    g_auto(AcrReportFiles) files = {0}, others = {0};
    const char *compare = options->compare;
    bool is_live = strcmp(options->form, "live") == 0;
    const AcrReportOptions other = {.dir = compare};
    if (!add_many(options, is_live, &files, notes, error) ||
        (compare && !add_many(&other, false, &others, notes, error)) ||
        !add_only(options->only, &files))
        return NULL;
    GByteArray *fields = g_byte_array_new();
    pack_word(fields, options->form);
    pack_word(fields, ACR_VERSION);
    g_autofree char *n = g_strdup_printf("%u", files.n);
    pack_word(fields, compare ? "1" : "0");
    pack_word(fields, n);
    add_packed(fields, &files);
    add_packed(fields, &others);
    return call_service(python, "tasks", fields, error);
}

static GBytes *report_pair(AcrPython *python, const char *dir, const char *form, const char *other,
                           GError **error)
{
    g_auto(AcrReportFiles) files = {0};
    g_autoptr(GBytes) nothing = g_bytes_new_static("", 0);
    return acr_report_files_add(&files, "(other run)", nothing) &&
                   add_run(other, form, &files, error)
               ? acr_report_of_run(python, dir, form, &files, error)
               : NULL;
}

/* Returns when the newest evaluation of a batch ended, in nanoseconds; 0 if there is none. */
static gint64 last_grading_ns(const char *dir)
{
    g_autofree char *run_id = NULL;
    gint64 last_ns = 0;
    g_autoptr(GPtrArray) places = acr_report_list_places(dir);
    if (!acr_report_choose_evaluation(dir, NULL, &run_id, NULL, NULL) || !run_id)
        return 0;
    for (guint i = 0; i < places->len; i++) {
        g_autofree char *whole = acr_report_evaluation_path(places->pdata[i], run_id),
                        *path = g_build_filename(whole, ACR_FILE_SUMMARY, NULL);
        last_ns = MAX(last_ns, acr_report_modified_ns(path));
    }
    return last_ns;
}

bool acr_report_write_pages(AcrPython *python, const char *dir, const AcrInterrupt *interrupt,
                            GError **error)
{
    g_autoptr(GPtrArray) runs = list_runs(dir);
    g_auto(Newest) newest = {0};
    gint64 graded_ns = last_grading_ns(dir);
    for (guint i = 0; i < runs->len && !acr_interrupted(interrupt); i++) {
        g_autofree char *page = g_build_filename(runs->pdata[i], ACR_FILE_REPORT, NULL),
                        *journal = g_build_filename(runs->pdata[i], ACR_FILE_JOURNAL, NULL);
        gint64 made_ns = acr_report_modified_ns(page), changed_ns = acr_report_modified_ns(journal);
        if (changed_ns && made_ns > MAX(changed_ns, graded_ns))
            continue;
        g_autoptr(GBytes) report = report_run(python, runs->pdata[i], "html", NULL, &newest, error);
        gsize len = 0;
        const void *data = report ? g_bytes_get_data(report, &len) : NULL;
        if (!data || !acr_file_write_atomic(page, data, len, 0600, error))
            return false;
    }
    return true;
}

GBytes *acr_report_make(AcrPython *python, const AcrReportOptions *options, GPtrArray *notes,
                        GError **error)
{
    const char *dir = options->dir, *form = options->form, *compare = options->compare;
    bool is_run = acr_folder_exists(dir);
    if (is_run && (options->only || options->run_id))
        return ACR_NULL(acr_task_refuse(error, "%s needs a folder of many runs",
                                        options->only ? "--instances" : "--run-id"));
    if (is_run && compare && strcmp(form, "html") != 0 && strcmp(form, "text") != 0)
        return ACR_NULL(
            acr_task_refuse(error, "--compare of two runs supports only --format html and text"));
    if (compare && !is_run && acr_folder_exists(compare))
        return ACR_NULL(acr_task_refuse(
            error, "--compare: '%s' is the folder of one run, but '%s' is a folder of many runs",
            compare, dir));
    if (is_run && compare)
        return report_pair(python, dir, form, compare, error);
    if (compare && strcmp(form, "junit") == 0)
        return ACR_NULL(acr_task_refuse(error, "--compare does not support --format junit"));
    if (!is_run && (strcmp(form, "sarif") == 0 || strcmp(form, "atif") == 0))
        return ACR_NULL(acr_task_refuse(error, "--format %s needs the folder of one run", form));
    if (is_run && strcmp(form, "csv") == 0)
        return ACR_NULL(acr_task_refuse(error, "--format csv needs a folder of many runs"));
    return is_run ? acr_report_of_run(python, dir, form, NULL, error)
                  : report_many(python, options, notes, error);
}
