/*
 * One task from options to result: prepares the run folder (or takes up what it holds), then runs
 * the attempts with the journal in front of the model. A finished folder is answered from its
 * files, unless the change is to be applied.
 */
#include "task/task_private.h"

#include <string.h>

typedef struct {
    const AcrTaskOptions *options;
    const AcrHost *host;
    AcrFolder folder;
    AcrPrompts *prompts;
    AcrSpending spending; /* of the models, which it outlives */
    GPtrArray *models;    /* live ones, before they stand behind the journal */
    AcrWorkspace workspace;
    char *git_dir; /* where the run's repository was when it began; NULL before the snapshot is
                      loaded */
} Task;

static void task_clear(Task *task)
{
    acr_workspace_clear(&task->workspace);
    g_clear_pointer(&task->models, g_ptr_array_unref);
    acr_spending_clear(&task->spending);
    g_clear_pointer(&task->prompts, acr_prompts_free);
    acr_folder_clear(&task->folder);
    g_clear_pointer(&task->git_dir, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Task, task_clear)

void acr_task_result_clear(AcrTaskResult *result)
{
    g_clear_pointer(&result->diff, g_bytes_unref);
    g_clear_pointer(&result->reason, g_free);
    g_clear_pointer(&result->proof_why, g_free);
    g_clear_pointer(&result->script, g_free);
}

static void warn(const AcrHost *host, const char *line)
{
    if (line && host->progress && host->progress->warn)
        host->progress->warn(host->progress->ctx, line);
}

static void stage(const AcrHost *host, const char *name)
{
    if (host->progress && host->progress->stage)
        host->progress->stage(host->progress->ctx, 0, name, 0);
}

/* ---- Models -------------------------------------------------------------------------------------
 */

/* The run's models by their recorded names, each behind the journal; `live` (may be NULL) is
 * emptied into them. */
static GPtrArray *make_recorded_models(const Task *task, GPtrArray *live, AcrRecorder *recorder)
{
    const AcrJson *bound = acr_json_get(task->folder.meta, "options");
    const AcrJson *names = acr_json_get(bound, "model");
    GPtrArray *models = g_ptr_array_new_with_free_func((GDestroyNotify)acr_model_free);
    for (const AcrJson *at = acr_json_first(names); at; at = acr_json_next(at)) {
        const char *name = acr_json_string(at);
        AcrModel *inner = live && live->len ? g_ptr_array_steal_index(live, 0) : NULL;
        AcrModel *model = acr_recorded_model_new(recorder, name ? name : "", inner);
        acr_recorded_model_set_window(model, acr_json_get_int(bound, "context", 0));
        g_ptr_array_add(models, model);
    }
    return models;
}

/* ---- Beginning ----------------------------------------------------------------------------------
 */

static bool save_texts(Task *task, GError **error)
{
    const char *issue = task->options->issue;
    if (!acr_folder_write(&task->folder, "issue.md", issue, strlen(issue), error))
        return false;
    for (guint i = 0; i < ACR_PROMPTS; i++) {
        g_autofree char *name = g_build_filename("prompts", acr_prompt_file(i), NULL);
        const char *text = acr_prompts_text(task->prompts, i);
        if (!acr_folder_write(&task->folder, name, text, strlen(text), error))
            return false;
    }
    return true;
}

static AcrJson *describe_snapshot(const Task *task)
{
    AcrSnapshot *snapshot = task->workspace.snapshot;
    g_autofree char *digest = acr_snapshot_digest(snapshot);
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "commit", acr_snapshot_commit(snapshot));
    acr_json_set_string(json, "digest", digest);
    acr_json_set_bool(json, "worktree", acr_snapshot_is_worktree(snapshot));
    acr_json_set_bool(json, "git", acr_repo_is_git(task->workspace.repo));
    acr_json_set_string(json, "git_dir", acr_repo_path(task->workspace.repo));
    return json;
}

static AcrJson *new_meta(AcrJson *bound)
{
    AcrJson *meta = acr_json_new_object();
    acr_json_set_int(meta, "format", ACR_META_FORMAT);
    acr_json_set_string(meta, "version", ACR_VERSION);
    acr_json_set(meta, "options", bound);
    return meta;
}

/* Whether there is a file to work on: found before a folder is made that would be bound to a
 * snapshot without any. */
static bool check_code(const Task *task, GError **error)
{
    const AcrSnapshot *snapshot = task->workspace.snapshot;
    for (gsize i = 0; i < acr_snapshot_size(snapshot); i++) {
        const AcrEntry *entry = acr_snapshot_entry(snapshot, i);
        if (entry->mode != ACR_MODE_LINK && g_str_has_suffix(entry->path, ".py") &&
            !acr_index_is_test_path(entry->path))
            return true;
    }
    g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                "no Python files outside tests in '%s'", task->options->repo);
    return false;
}

/* The folder that --apply writes to, borrowed: that of the repository, or the plain folder; NULL in
 * a bare repository. */
static const char *work_tree(const Task *task)
{
    if (task->workspace.repo)
        return acr_repo_is_git(task->workspace.repo) ? acr_repo_workdir(task->workspace.repo)
                                                     : acr_repo_path(task->workspace.repo);
    return task->git_dir;
}

static bool check_work_tree(const Task *task, GError **error)
{
    if (!task->options->apply || work_tree(task))
        return true;
    g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE,
                "--apply needs a working tree, and '%s' has none", task->options->repo);
    return false;
}

/* What can be wrong with the task itself is found before a folder is made: repository, revision,
 * models. */
static bool prepare(Task *task, GError **error)
{
    stage(task->host, "snapshot");
    task->models = acr_task_models_new(task->options, &task->spending, task->host, error);
    task->workspace.repo = task->models ? acr_repo_open(task->options->repo, error) : NULL;
    if (!task->workspace.repo || !check_work_tree(task, error))
        return false;
    task->workspace.snapshot =
        acr_workspace_snapshot(task->workspace.repo, task->options->rev, error);
    if (!task->workspace.snapshot || !check_code(task, error))
        return false;
    warn(task->host, acr_snapshot_remarks(task->workspace.snapshot));
    return true;
}

/* Puts all that the run stands on into the folder; "ready" when it is there. `bound` taken. */
static bool begin(Task *task, AcrJson *bound, GError **error)
{
    g_autoptr(AcrJson) meta = new_meta(bound);
    if (!task->workspace.snapshot && !prepare(task, error))
        return false;
    g_autofree char *saved = acr_folder_path(&task->folder, "snapshot");
    if (!acr_folder_write_meta(&task->folder, meta, ACR_FOLDER_NEW, error) ||
        !save_texts(task, error) || !acr_snapshot_save(task->workspace.snapshot, saved, error))
        return false;
    acr_json_set(meta, "snapshot", describe_snapshot(task));
    if (!acr_folder_write_meta(&task->folder, meta, ACR_FOLDER_READY, error))
        return false;
    acr_json_free(task->folder.meta);
    task->folder.meta = g_steal_pointer(&meta);
    return true;
}

/* The path of the recorded repository, which need not be UTF-8; owned; "" where there is none. */
static char *recorded_git_dir(const AcrJson *described)
{
    gsize len = 0;
    g_autoptr(GBytes) bytes = acr_json_get_bytes(described, "git_dir");
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    return g_strndup(data ? data : "", len);
}

/* The snapshot that the folder was begun with, whatever has become of the working tree. */
static bool load_snapshot(Task *task, GError **error)
{
    const AcrJson *described = acr_json_get(task->folder.meta, "snapshot");
    g_autofree char *saved = acr_folder_path(&task->folder, "snapshot");
    stage(task->host, "snapshot");
    task->git_dir = recorded_git_dir(described);
    if (acr_json_get_bool(described, "git", false)) {
        task->workspace.repo = acr_repo_open(task->git_dir, error);
        if (!task->workspace.repo)
            return false;
    }
    task->workspace.snapshot = acr_snapshot_load(task->workspace.repo, saved, error);
    if (!task->workspace.snapshot)
        return false;
    g_autofree char *digest = acr_snapshot_digest(task->workspace.snapshot);
    if (g_strcmp0(digest, acr_json_get_string(described, "digest")) == 0)
        return true;
    g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                "the snapshot in '%s' is damaged", task->folder.path);
    return false;
}

/* ---- Index --------------------------------------------------------------------------------------
 */

/* Indexes the snapshot. Files that cannot be outlined are listed in meta.json before anything is
 * found in the rest. */
static bool index_workspace(Task *task, GError **error)
{
    const AcrJson *listed = acr_json_get(task->folder.meta, "not_outlined");
    g_auto(AcrOutlineRecord) record = {.settled = listed != NULL};
    record.failures = listed ? acr_json_copy(listed) : acr_json_new_array();
    if (!acr_workspace_index(&task->workspace, task->host, &record, error))
        return false;
    if (listed || !task->folder.lock) /* a replay writes nothing */
        return true;
    acr_json_set(task->folder.meta, "not_outlined", g_steal_pointer(&record.failures));
    return acr_folder_write_meta(&task->folder, task->folder.meta, task->folder.state, error);
}

/* ---- Artifacts ----------------------------------------------------------------------------------
 */

static bool write_artifact(void *ctx, const char *path, const void *data, gsize len, GError **error)
{
    return acr_folder_write(ctx, path, data, len, error);
}

/* ---- The run ------------------------------------------------------------------------------------
 */

static bool run_attempts(Task *task, AcrJournal *journal, const GPtrArray *models,
                         const AcrArtifacts *artifacts, const char *issue, AcrOutcome *out,
                         GError **error)
{
    const AcrJson *bound = acr_json_get(task->folder.meta, "options");
    AcrRecordedReferee referee;
    acr_recorded_referee_init(&referee, journal, acr_python_referee(task->workspace.python));
    AcrGoal goal = acr_folder_goal(&task->folder);
    AcrVerify verify = ACR_VERIFY_AUTO;
    (void)acr_verify_from_name(acr_json_get_string(bound, "verify"), &verify);
    g_auto(AcrRecordedExecutor) executor;
    acr_recorded_executor_init(&executor, journal, task->workspace.snapshot);
    if (task->options)
        acr_recorded_executor_go_live(&executor, task->options->code, work_tree(task),
                                      verify == ACR_VERIFY_ALWAYS || goal == ACR_GOAL_REPRODUCER,
                                      &task->spending, task->host);
    g_autofree char *cleaned = acr_issue_clean(issue);
    AcrRun run = {
        .issue = cleaned,
        .snapshot = task->workspace.snapshot,
        .index = task->workspace.index,
        .search = task->workspace.search,
        .python = task->workspace.python,
        .referee = &referee.referee,
        .executor = &executor.executor,
        .validate = acr_json_get_string(bound, "validate"),
        .verify = verify,
        .prompts = task->prompts,
        .models = (AcrModel *const *)models->pdata,
        .n_models = models->len,
        .max_rounds = (guint)acr_json_get_int(bound, "rounds", ACR_ROUNDS_DEFAULT),
        .max_tries = (guint)acr_json_get_int(bound, "tries", ACR_TRIES_DEFAULT),
        .max_attempts = (guint)acr_json_get_int(bound, "attempts", ACR_ATTEMPTS_DEFAULT),
        .artifacts = artifacts,
        .progress = task->host->progress,
        .interrupt = task->host->interrupt,
        .deadline_us = task->spending.deadline_us,
        .deadline_scope = task->spending.scope,
    };
    return goal == ACR_GOAL_REPRODUCER ? acr_reproduce_run(&run, out, error)
                                       : acr_attempts_run(&run, out, error);
}

static void take_result(const Task *task, AcrOutcome *result, AcrTaskResult *out)
{
    out->goal = acr_folder_goal(&task->folder);
    out->status = result->status;
    out->diff = g_steal_pointer(&result->diff);
    out->reason = g_steal_pointer(&result->reason);
    out->proof = result->proof;
    out->script = g_steal_pointer(&result->script);
    out->proof_why = g_steal_pointer(&result->proof_why);
}

/* Whether the run stopped at a ceiling: then there may be a result all the same. */
static bool is_ceiling(GError **error)
{
    return error && g_error_matches(*error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING);
}

/* Everything after the folder is ready: index, journal, attempts, result. */
static bool work(Task *task, const char *issue, AcrTaskResult *out, GError **error)
{
    if (!check_work_tree(task, error))
        return false;
    /* Of a finished run the journal has every answer: no key or script is needed. */
    bool is_over = task->folder.state == ACR_FOLDER_DONE;
    if (!is_over && !task->models &&
        !(task->models = acr_task_models_new(task->options, &task->spending, task->host, error)))
        return false;
    g_autofree char *ledger_path = acr_folder_path(&task->folder, "ledger.jsonl");
    g_autofree char *journal_path = acr_folder_path(&task->folder, "journal.jsonl");
    if (!is_over &&
        !acr_spending_open(&task->spending, task->options, ledger_path, journal_path, error))
        return false;
    g_autoptr(AcrJournal) journal = acr_journal_open(journal_path, ACR_JOURNAL_APPEND, error);
    if (!journal)
        return false;
    warn(task->host, acr_journal_remark(journal));
    g_autoptr(AcrCost) cost = acr_cost_new();
    g_autoptr(AcrRecorder) recorder = acr_recorder_new(journal, cost, task->host->progress);
    g_autoptr(GPtrArray) models = make_recorded_models(task, task->models, recorder);
    stage(task->host, "index");
    if (!index_workspace(task, error))
        return false;
    AcrArtifacts artifacts = {&task->folder, write_artifact};
    g_auto(AcrOutcome) result = {0};
    bool ok = run_attempts(task, journal, models, &artifacts, issue, &result, error);
    out->model_calls = acr_recorder_live_calls(recorder);
    out->cost = *acr_cost_total(cost);
    acr_cost_set_prices(cost, acr_spending_describe(&task->spending));
    GError **keep_first = ok ? error : NULL;
    if (!acr_folder_write_json(&task->folder, ACR_COST_FILE, acr_cost_to_json(cost), keep_first) &&
        ok)
        return false;
    bool stopped = !ok && is_ceiling(error);
    if (!ok && !(stopped && acr_result_save(&task->folder, &artifacts, &result, NULL)))
        return false;
    if (ok && !acr_result_finish(&task->folder, &artifacts, &result, error))
        return false;
    bool apply = task->options->apply && result.overlay && !acr_proof_is_against(result.proof);
    if (ok && apply && !acr_overlay_apply(result.overlay, work_tree(task), error))
        return false;
    take_result(task, &result, out);
    return ok;
}

/* --apply needs a working tree, and a change that is against it as it lies. */
static bool check_apply(const AcrTaskOptions *options, GError **error)
{
    if (!options->apply || !options->rev)
        return true;
    g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE,
                "--apply works on the working tree, so it cannot go with --rev");
    return false;
}

static bool take_up(Task *task, AcrJson *bound, GError **error)
{
    g_autoptr(AcrJson) owned = bound;
    if (task->folder.meta && !acr_meta_check(acr_json_get(task->folder.meta, "options"), owned,
                                             task->options->out, error))
        return false;
    if (task->folder.meta && task->folder.state != ACR_FOLDER_NEW) {
        acr_workspace_clear(&task->workspace); /* another run was quicker to begin here: its
                                                  snapshot holds, not ours */
        return true;
    }
    return begin(task, g_steal_pointer(&owned), error);
}

bool acr_task_run(const AcrTaskOptions *options, const AcrHost *host, AcrTaskResult *out,
                  GError **error)
{
    g_auto(Task) task = {.options = options, .host = host};
    g_auto(AcrTaskResult) result = {0};
    if (!check_apply(options, error))
        return false;
    task.prompts = acr_prompts_load(host->prompts_dir, options->prompts, error);
    if (!task.prompts || !acr_spending_init(&task.spending, options, error) ||
        (!acr_folder_exists(options->out) && !prepare(&task, error)) ||
        !acr_folder_open(options->out, &task.folder, error) ||
        !take_up(&task, acr_meta_options(options, task.prompts), error))
        return false;
    result.was_finished = task.folder.state == ACR_FOLDER_DONE;
    bool ok;
    if (result.was_finished && !options->apply)
        ok = acr_result_read(&task.folder, &result, error);
    else
        ok = (task.workspace.snapshot || load_snapshot(&task, error)) &&
             work(&task, options->issue, &result, error);
    bool stopped = !ok && is_ceiling(error);
    if (ok || stopped) {
        *out = result;
        memset(&result, 0, sizeof result);
    }
    return ok;
}

/* ---- Replay -------------------------------------------------------------------------------------
 */

/* In a replay nothing is written: what would be is kept, and compared with the folder when the run
 * is over. */
static bool keep_artifact(void *ctx, const char *path, const void *data, gsize len, GError **error)
{
    g_hash_table_insert(ctx, g_strdup(path), g_bytes_new(data, len));
    return true;
}

/* The first artifact, by name, that differs from the one in the folder; owned, NULL if there is
 * none. */
static char *find_difference(const AcrFolder *folder, GHashTable *artifacts)
{
    g_autoptr(GList) paths = g_list_sort(g_hash_table_get_keys(artifacts), (GCompareFunc)g_strcmp0);
    for (GList *at = paths; at; at = at->next) {
        g_autofree char *full = acr_folder_path(folder, at->data);
        g_autoptr(GBytes) recorded = acr_file_read(full, G_MAXINT32, NULL);
        if ((!recorded || !g_bytes_equal(recorded, g_hash_table_lookup(artifacts, at->data))) &&
            !acr_cost_is_older(folder, at->data))
            return g_strdup(at->data);
    }
    return NULL;
}

/* Compares what a run that is over has written with what it would write now. */
static bool check_result(const AcrFolder *folder, GHashTable *kept, const AcrOutcome *result,
                         const AcrCost *cost, GError **error)
{
    const AcrArtifacts artifacts = {kept, keep_artifact};
    g_autoptr(AcrJson) spent = acr_cost_to_json(cost);
    char *text = acr_json_print_pretty(spent);
    g_hash_table_insert(kept, g_strdup(ACR_COST_FILE), g_bytes_new_take(text, strlen(text)));
    if (!acr_result_save(folder, &artifacts, result, error))
        return false;
    g_autofree char *different = find_difference(folder, kept);
    if (!different)
        return true;
    g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_DIFFERENT,
                "the replay of '%s' gives another %s than was recorded", folder->path, different);
    return false;
}

/* What a journal's own error means for a replay. */
static void tell_replay_error(const AcrFolder *folder, GError **error)
{
    g_autoptr(GError) reason = error ? g_steal_pointer(error) : NULL;
    if (g_error_matches(reason, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_ENDED))
        g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_UNFINISHED,
                    "the run in '%s' is not finished: its journal ends here", folder->path);
    else if (g_error_matches(reason, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DIVERGED))
        g_set_error_literal(error, ACR_TASK_ERROR, ACR_TASK_ERROR_DIFFERENT, reason->message);
    else if (reason)
        g_propagate_error(error, g_steal_pointer(&reason));
}

static bool replay_attempts(Task *task, AcrTaskResult *out, GError **error)
{
    g_autofree char *issue_path = acr_folder_path(&task->folder, "issue.md");
    g_autofree char *journal_path = acr_folder_path(&task->folder, "journal.jsonl");
    g_autoptr(GBytes) issue = acr_file_read(issue_path, ACR_ISSUE_MAX_BYTES, error);
    g_autoptr(AcrJournal) journal =
        issue ? acr_journal_open(journal_path, ACR_JOURNAL_READ, error) : NULL;
    if (!journal || !index_workspace(task, error))
        return false;
    warn(task->host, acr_journal_remark(journal));
    gsize len;
    const char *data = g_bytes_get_data(issue, &len);
    g_autofree char *text = acr_utf8_repair(data, len);
    g_autoptr(AcrCost) cost = acr_cost_new();
    g_autoptr(AcrRecorder) recorder = acr_recorder_new(journal, cost, task->host->progress);
    g_autoptr(GPtrArray) models = make_recorded_models(task, NULL, recorder);
    g_autoptr(GHashTable) kept =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    AcrArtifacts artifacts = {kept, keep_artifact};
    g_auto(AcrOutcome) result = {0};
    bool ok = run_attempts(task, journal, models, &artifacts, text, &result, error);
    if (!ok)
        tell_replay_error(&task->folder, error);
    if (ok && task->folder.state == ACR_FOLDER_DONE) {
        acr_cost_take_prices(cost, &task->folder);
        ok = check_result(&task->folder, kept, &result, cost, error);
    }
    out->cost = *acr_cost_total(cost);
    if (ok)
        take_result(task, &result, out);
    return ok;
}

bool acr_task_replay(const char *dir, const AcrHost *host, AcrTaskResult *out, GError **error)
{
    g_auto(Task) task = {.host = host};
    g_auto(AcrTaskResult) result = {0};
    if (!acr_folder_read(dir, &task.folder, error))
        return false;
    g_autofree char *prompts = acr_folder_path(&task.folder, "prompts");
    task.prompts = acr_prompts_load(prompts, NULL, error);
    if (!task.prompts || !load_snapshot(&task, error) || !replay_attempts(&task, &result, error))
        return false;
    *out = result;
    memset(&result, 0, sizeof result);
    return true;
}
