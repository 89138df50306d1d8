/* The modes of swe-bench that call no model. Each mode runs another verb for each task of a data
 * set: `--sbfl-only` runs `localize` to rank code, `--extract-patches` runs `patch` to turn saved
 * answers into predictions. OUT/ID keeps a task's output, so a rerun of the same command skips the
 * task. */
#include "verbs/batch_tools.h"

#include <pthread.h>
#include <string.h>

#include "layout/layout.h"

#define MAX_UNKNOWN 5u /* maximum number of unknown tasks that a warning names */
#define MAX_OUTPUT ((gsize)256 * 1024 * 1024)
#define CHILD "acr-host " ACR_BATCH_TASK_VERB ": " /* prefix of messages from a task's process */

typedef struct Tool Tool;

/* The state of all tasks, shared by several threads. */
typedef struct {
    const AcrHost *host;
    const AcrRunSpec *spec;
    const GPtrArray *instances;
    AcrBatchRows *rows; /* NULL if the options say where code runs */
    const Tool *tool;
    GHashTable *answers; /* the answers for --extract-patches, otherwise NULL */
    AcrConsole *console;
    gint64 deadline_us; /* 0: no deadline */
    pthread_mutex_t lock;
    guint next, ended, good, none, failed;
} Tools;

struct Tool {
    AcrForVerb verb;
    const char *file; /* name of the output file in OUT/ID */
    const char *good, *none, *where;
    /* Completes the options and arguments of a task. Returns false without an error if the task
     * needs no process. */
    bool (*prepare)(const Tools *tools, guint i, AcrRunSpec *task, GPtrArray *arguments,
                    AcrTaskPlace *place, GError **error);
    char *(*tell)(const AcrJson *outputs); /* describes the outputs in one line; owned */
    /* returns whether the task succeeded; NULL if only the exit code decides */
    bool (*is_good)(const AcrJson *outputs);
};

static const AcrInstance *instance_of(const Tools *tools, guint i)
{
    return tools->instances->pdata[i];
}

static char *path_of(const Tools *tools, guint i, const char *name)
{
    return g_build_filename(tools->spec->out, instance_of(tools, i)->instance_id, name, NULL);
}

/* ---- Ranking ---- */

static bool prepare_ranking(const Tools *tools, guint i, AcrRunSpec *task, GPtrArray *arguments,
                            AcrTaskPlace *place, GError **error)
{
    if (!tools->rows || !tools->rows->place)
        return true;
    if (!acr_batch_rows_place(tools->rows, i, NULL, tools->deadline_us, place, error))
        return false;
    task->sandbox = place->sandbox;
    task->image = place->image;
    task->python = place->python;
    task->setup = place->setup;
    task->test_command = place->test_command;
    if (!task->has_hidden_tests)
        return true;
    if (!place->python)
        return acr_task_refuse(error, "--hidden-tests needs --sandbox " ACR_IN_ENVIRONMENT);
    task->sandbox = (char *)ACR_IN_ENVIRONMENT;
    task->python = task->setup = task->repo = task->rev = NULL;
    task->test_command = tools->spec->test_command;
    return true;
}

static char *tell_ranking(const AcrJson *outputs)
{
    const AcrJson *output = acr_json_first(outputs),
                  *first = acr_json_first(acr_json_get(output, "methods"));
    const char *class = acr_json_get_string(first, "class"),
               *func = acr_json_get_string(first, "func"),
               *file = acr_json_get_string(first, "file");
    gsize n = acr_json_size(acr_json_get(output, "failing"));
    return g_strdup_printf("%" G_GSIZE_FORMAT " test%s; first: %s%s%s (%s)", n,
                           n == 1 ? " fails" : "s fail", class ? class : "", class ? "." : "",
                           func ? func : "no method", file ? file : "");
}

static const Tool ranking = {ACR_FOR_LOCALIZE,
                             ACR_FILE_SPECTRUM,
                             "ranked",
                             "without a ranking",
                             "rankings in '%s/ID/" ACR_FILE_SPECTRUM "'",
                             prepare_ranking,
                             tell_ranking,
                             NULL};

/* ---- Saved answers ---- */

/* Writes the answers of a task to files, because `patch` takes files as arguments. */
static bool prepare_answers(const Tools *tools, guint i, AcrRunSpec *task, GPtrArray *arguments,
                            AcrTaskPlace *place, GError **error)
{
    const GPtrArray *answers =
        g_hash_table_lookup(tools->answers, instance_of(tools, i)->instance_id);
    for (guint n = 0; answers && n < answers->len; n++) {
        const char *text = answers->pdata[n];
        g_autofree char *name = g_strdup_printf(ACR_FILE_PATCH_ANSWER, n + 1);
        char *path = path_of(tools, i, name);
        g_ptr_array_add(arguments, path);
        if (!acr_file_write_atomic(path, text, strlen(text), 0644, error))
            return false;
    }
    return answers != NULL;
}

/* Returns the output for the first applicable answer or, if there is none, for the first answer;
 * borrowed. */
static const AcrJson *choose_answer(const AcrJson *outputs)
{
    for (const AcrJson *at = acr_json_first(outputs); at; at = acr_json_next(at))
        if (acr_json_get_string(at, "diff"))
            return at;
    return acr_json_first(outputs);
}

/* Says how many edits were applied, or why the first edit was not applied; owned. If there are no
 * edits, gives the first sentence of the message. */
static char *tell_answers(const AcrJson *outputs)
{
    const AcrJson *chosen = choose_answer(outputs);
    const char *message = acr_json_get_string(chosen, "message");
    gsize n = acr_json_size(acr_json_get(chosen, "edits"));
    if (acr_json_get_string(chosen, "diff"))
        return g_strdup_printf("%" G_GSIZE_FORMAT " edit%s applied", n, n == 1 ? "" : "s");
    if (!chosen)
        return g_strdup("no saved answer");
    const char *edit = strstr(message, "\nEdit ");
    return edit ? g_strndup(edit + 1, strcspn(edit + 1, "\n"))
                : g_strndup(message, strcspn(message, ".\n"));
}

static bool has_patch(const AcrJson *outputs)
{
    return acr_json_get_string(choose_answer(outputs), "diff") != NULL;
}

static const Tool extraction = {ACR_FOR_PATCH,
                                ACR_FILE_EXTRACT_STATUS,
                                "with a patch",
                                "without",
                                "predictions in '%s/" ACR_FILE_PREDICTIONS "'",
                                prepare_answers,
                                tell_answers,
                                has_patch};

/* ---- One task ---- */

/* The input for the process of a task. `spec` borrows from the other members. */
typedef struct {
    AcrRunSpec spec;
    GPtrArray *arguments;
    AcrTaskPlace place;
    char *folder, *repo, *only[2];
} Asked;

static void asked_clear(Asked *asked)
{
    acr_task_place_clear(&asked->place);
    g_clear_pointer(&asked->arguments, g_ptr_array_unref);
    g_clear_pointer(&asked->folder, g_free);
    g_clear_pointer(&asked->repo, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Asked, asked_clear)

/* Prepares a task. Returns false without an error if the task needs no process. */
static bool prepare_task(const Tools *tools, guint i, Asked *out, GError **error)
{
    const AcrInstance *instance = instance_of(tools, i);
    g_autofree char *meta = path_of(tools, i, ACR_FILE_META);
    *out = (Asked){.spec = *tools->spec,
                   .arguments = g_ptr_array_new_with_free_func(g_free),
                   .folder = path_of(tools, i, NULL),
                   .repo = acr_dataset_repo(tools->spec->repos, instance->repo),
                   .only = {instance->instance_id}};
    out->spec.verb = tools->tool->verb;
    out->spec.repo = out->repo;
    out->spec.rev = instance->base_commit;
    out->spec.json = true;
    if (instance->fault)
        return acr_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET, "%s",
                             instance->fault);
    if (g_file_test(meta, G_FILE_TEST_EXISTS))
        return acr_task_refuse(error, "'%s' is a run folder; use another --out", out->folder);
    if (!acr_dir_make(out->folder, error) ||
        !tools->tool->prepare(tools, i, &out->spec, out->arguments, &out->place, error))
        return false;
    g_ptr_array_add(out->arguments, NULL);
    bool in_task = g_strcmp0(out->spec.sandbox, ACR_IN_ENVIRONMENT) == 0;
    out->spec.dataset = in_task ? tools->spec->dataset : NULL;
    out->spec.repos = in_task ? tools->spec->repos : NULL;
    out->spec.instances = in_task ? out->only : NULL;
    return true;
}

/* Returns a digest of the options and of the contents of argument files; owned. */
static char *digest_asked(const Asked *asked)
{
    g_autoptr(AcrJson) json = acr_run_spec_to_json(&asked->spec, 0);
    g_autofree char *printed = acr_json_print(json);
    g_autoptr(GString) text = g_string_new(printed);
    for (guint i = 0; asked->arguments->pdata[i]; i++) {
        g_autoptr(GBytes) bytes = acr_file_read(asked->arguments->pdata[i], MAX_OUTPUT, NULL);
        g_autofree char *digest = bytes ? acr_sha256_bytes(bytes) : g_strdup("");
        g_string_append(text, digest);
    }
    return acr_sha256_hex(text->str, text->len);
}

/* Returns the kept output if its options and arguments have this digest; owned; otherwise NULL. */
static AcrJson *read_kept(const char *path, const char *digest)
{
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_OUTPUT, NULL);
    g_autoptr(AcrJson) json = bytes ? acr_json_parse_bytes(bytes, NULL) : NULL;
    return g_strcmp0(acr_json_get_string(json, "asked"), digest) == 0 ? g_steal_pointer(&json)
                                                                      : NULL;
}

/* Parses the JSON lines that a process printed; owned array. */
static AcrJson *read_output(const AcrSpawnResult *ended)
{
    g_autofree char *text = acr_bytes_text(ended->out);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; lines[i]; i++) {
        AcrJson *line = *lines[i] ? acr_json_parse(lines[i], strlen(lines[i]), NULL) : NULL;
        if (line)
            acr_json_append(list, line);
    }
    return list;
}

/* Describes how the process of a task ended; owned. */
static AcrJson *describe_end(const AcrSpawnResult *ended, const char *digest)
{
    g_autofree char *said = acr_bytes_last_line(ended->err);
    const char *line = said;
    if (g_str_has_prefix(line, CHILD))
        line += strlen(CHILD);
    return acr_json_of(ACR_STRING("asked", digest),
                       ACR_INT("exit", ended->signal ? ACR_EXIT_ENVIRONMENT : ended->exit_code),
                       ACR_STRING("why", *line ? line : NULL),
                       ACR_JSON("output", read_output(ended)), NULL);
}

/* Runs the verb for a task, or reads the kept output; owned. */
static AcrJson *run_tool(const Tools *tools, guint i, GError **error)
{
    const char *const argv[] = {tools->host->exe, ACR_BATCH_TASK_VERB,
                                instance_of(tools, i)->instance_id, NULL};
    g_auto(Asked) asked = {0};
    g_auto(AcrSpawnResult) ended = {0};
    g_autoptr(GError) reason = NULL;
    if (!prepare_task(tools, i, &asked, &reason))
        return reason ? ACR_NULL(acr_pass_error(error, &reason))
                      : acr_json_of(ACR_INT("exit", ACR_EXIT_NONE), NULL);
    g_autofree char *text = acr_batch_task_text(&asked.spec,
                                                (const char *const *)asked.arguments->pdata),
                    *digest = digest_asked(&asked), *path = path_of(tools, i, tools->tool->file);
    AcrJson *kept = read_kept(path, digest);
    if (kept)
        return kept;
    AcrSpawn spawn = {.argv = argv,
                      .input = text,
                      .input_len = strlen(text),
                      .output_limit = MAX_OUTPUT,
                      .interrupt = tools->host->interrupt};
    if (!acr_spawn_run(&spawn, &ended, error))
        return NULL;
    g_autoptr(AcrJson) json = describe_end(&ended, digest);
    g_autofree char *printed = acr_json_print_pretty(json);
    bool is_kept = acr_json_get_int(json, "exit", 0) <= ACR_EXIT_NONE;
    return is_kept && !acr_file_write_atomic(path, printed, strlen(printed), 0644, error)
               ? NULL
               : g_steal_pointer(&json);
}

/* ---- All tasks ------ */

/* Counts a task that has ended, and prints its result. The caller holds the lock. */
static void account(Tools *tools, guint i, const AcrJson *json, const GError *error)
{
    gint64 code = json ? acr_json_get_int(json, "exit", 0)
                       : (gint64)acr_exit_of(error, tools->host->interrupt);
    if (code == ACR_EXIT_INTERRUPTED || acr_interrupted(tools->host->interrupt))
        return;
    const AcrJson *output = acr_json_get(json, "output");
    if (tools->tool->is_good && tools->tool->is_good(output))
        code = ACR_EXIT_OK;
    const char *why = json ? acr_json_get_string(json, "why") : error->message;
    g_autofree char *told = code == ACR_EXIT_OK || !why ? tools->tool->tell(output) : g_strdup(why),
                    *line = acr_one_line(told);
    tools->ended++;
    tools->good += code == ACR_EXIT_OK;
    tools->none += code == ACR_EXIT_NONE;
    tools->failed += code > ACR_EXIT_NONE;
    const char *id = instance_of(tools, i)->instance_id;
    if (code > ACR_EXIT_NONE)
        acr_console_say(tools->console, ACR_TONE_BAD, "%s: exit %d: %s", id, (int)code, line);
    else
        acr_console_log(tools->console, "%u/%u %s: %s", tools->ended, tools->instances->len, id,
                        line);
}

static bool is_over(const Tools *tools)
{
    return tools->next >= tools->instances->len || acr_interrupted(tools->host->interrupt) ||
           (tools->deadline_us && g_get_monotonic_time() >= tools->deadline_us) ||
           (tools->spec->fail_fast > 0 && tools->failed >= tools->spec->fail_fast);
}

static void *run_next_tools(void *data)
{
    Tools *tools = data;
    for (;;) {
        pthread_mutex_lock(&tools->lock);
        guint i = is_over(tools) ? G_MAXUINT : tools->next++;
        pthread_mutex_unlock(&tools->lock);
        if (i == G_MAXUINT)
            return NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(AcrJson) json = run_tool(tools, i, &error);
        if (tools->rows && tools->rows->place)
            acr_batch_rows_release(tools->rows, i, tools->deadline_us);
        pthread_mutex_lock(&tools->lock);
        account(tools, i, json, error);
        pthread_mutex_unlock(&tools->lock);
    }
}

/* Writes the predictions of all tasks with saved answers. The prediction is empty if none of the
 * task's answers applies. */
static bool write_patches(const Tools *tools, GError **error)
{
    g_autoptr(AcrJson) patches = acr_json_new_object();
    const AcrRunSpec *spec = tools->spec;
    g_autofree char *name = g_path_get_basename(spec->extract_patches),
                    *stem = g_strndup(name, strcspn(name, ".")),
                    *model = spec->model_name ? acr_batch_model(spec) : g_strdup(stem);
    for (guint i = 0; i < tools->instances->len; i++) {
        const char *id = instance_of(tools, i)->instance_id;
        g_autofree char *path = path_of(tools, i, tools->tool->file);
        g_autoptr(GBytes) bytes = acr_file_read(path, MAX_OUTPUT, NULL);
        g_autoptr(AcrJson) json = bytes ? acr_json_parse_bytes(bytes, NULL) : NULL;
        const char *diff = acr_json_get_string(choose_answer(acr_json_get(json, "output")), "diff");
        if (json && g_hash_table_contains(tools->answers, id))
            acr_json_set_string(patches, id, diff ? diff : "");
    }
    return acr_predictions_write_texts(tools->spec->out, model, patches, error);
}

/* Prints how many tasks had each result, and returns the exit code. */
static int report_tools(const Tools *tools)
{
    const Tool *tool = tools->tool;
    g_autoptr(GString) where = g_string_new(tool->where);
    g_string_replace(where, "%s", tools->spec->out, 1);
    acr_console_say(tools->console, ACR_TONE_PLAIN, "%u task%s: %u %s, %u %s, %u failed; %s",
                    tools->ended, tools->ended == 1 ? "" : "s", tools->good, tool->good,
                    tools->none, tool->none, tools->failed, where->str);
    guint left = tools->instances->len - tools->ended;
    if (left)
        acr_console_say(tools->console, ACR_TONE_BAD,
                        "%u task%s not finished; rerun the same command to resume", left,
                        left == 1 ? "" : "s");
    return acr_interrupted(tools->host->interrupt) ? ACR_EXIT_INTERRUPTED
           : tools->failed                         ? ACR_EXIT_ENVIRONMENT
           : left                                  ? ACR_EXIT_CEILING
           : tools->good                           ? ACR_EXIT_OK
                                                   : ACR_EXIT_NONE;
}

/* Warns of saved answers to tasks that the data set does not have. */
static void warn_of_unknown(const AcrHost *host, GHashTable *answers, char **ids)
{
    g_autoptr(GString) unknown = g_string_new(NULL);
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(answers), (GCompareFunc)strcmp);
    guint n = 0;
    for (const GList *at = names; at; at = at->next)
        if (!g_strv_contains((const char *const *)ids, at->data) && n++ < MAX_UNKNOWN)
            g_string_append_printf(unknown, "%s%s", n > 1 ? ", " : "", (const char *)at->data);
    g_autofree char *line = g_strdup_printf(
        "warning: %u task%s of the saved answers %s not in the data set: %s%s", n,
        n == 1 ? "" : "s", n == 1 ? "is" : "are", unknown->str, n > MAX_UNKNOWN ? ", …" : "");
    acr_progress_warn(host->progress, n ? line : NULL);
}

int acr_batch_tools_run(AcrHost *host, AcrRunSpec *spec, const GPtrArray *instances, char **ids)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    g_autoptr(GHashTable) answers = NULL;
    g_autoptr(AcrBatchRows) rows = NULL;
    host->progress = acr_console_progress(console);
    if (spec->shard)
        (void)acr_task_refuse(&error, "--shard cannot be combined with --sbfl-only or "
                                      "--extract-patches; use --slice to take a part of the tasks");
    else if (spec->has_hidden_tests && g_strcmp0(spec->sandbox, ACR_IN_ENVIRONMENT) != 0)
        (void)acr_task_refuse(&error, "--hidden-tests needs --sandbox " ACR_IN_ENVIRONMENT);
    else if (spec->extract_patches)
        answers = acr_saved_answers_read(spec->extract_patches, &error);
    else if (acr_batch_needs_rows(spec))
        rows = acr_batch_rows_new(host, spec, instances, &error);
    if (error)
        return acr_verb_fail_grading(host, error);
    if (answers)
        warn_of_unknown(host, answers, ids);
    Tools tools = {.host = host,
                   .spec = spec,
                   .instances = instances,
                   .rows = rows,
                   .tool = answers ? &extraction : &ranking,
                   .answers = answers,
                   .console = console,
                   .deadline_us =
                       spec->max_ms > 0 ? g_get_monotonic_time() + spec->max_ms * 1000 : 0,
                   .lock = PTHREAD_MUTEX_INITIALIZER};
    acr_batch_threads(spec->tasks_at_once, instances->len, run_next_tools, &tools);
    pthread_mutex_destroy(&tools.lock);
    acr_console_end(console);
    if (answers && !write_patches(&tools, &error))
        return acr_verb_fail(host, error);
    return report_tools(&tools);
}
