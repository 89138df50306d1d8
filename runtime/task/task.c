/* Takes one task from its spec to its result: prepares or resumes the run folder, then runs the
 * attempts with models that the journal wraps. A replay compares artifacts instead. */
#include "task/live.h"
#include "task/recorded.h"

#include <string.h>

typedef struct {
    const AcrRunSpec *spec;
    const AcrHost *host;
    AcrLiveNote *live; /* NULL in a replay */
    bool is_replay;
    AcrFolder folder;
    AcrPrompts *prompts;
    GPtrArray *given;  /* array of GBytes: the patches given with --candidate; NULL in a replay */
    AcrLimits limits;  /* task_clear frees `models`, which use the limits, first */
    GPtrArray *models; /* live models before they are wrapped; NULL in a replay */
    AcrWorkspace workspace;
    char *git_dir; /* the repository's git folder when the run began; NULL before its snapshot */
} Task;

static void task_clear(Task *task)
{
    acr_workspace_clear(&task->workspace);
    g_clear_pointer(&task->models, g_ptr_array_unref);
    acr_limits_clear(&task->limits);
    g_clear_pointer(&task->prompts, acr_prompts_free);
    g_clear_pointer(&task->given, g_ptr_array_unref);
    acr_folder_clear(&task->folder);
    g_clear_pointer(&task->git_dir, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Task, task_clear)

/* ---- Beginning ---- */

static bool save_texts(Task *task, GError **error)
{
    const char *issue = task->spec->issue_text;
    if (!acr_folder_write(&task->folder, ACR_FILE_ISSUE, issue, strlen(issue), error))
        return false;
    for (guint i = 0; i < ACR_PROMPTS; i++) {
        g_autofree char *name = g_build_filename(ACR_DIR_PROMPTS, acr_prompt_file(i), NULL);
        const char *text = acr_prompts_text(task->prompts, i);
        if (!acr_folder_write(&task->folder, name, text, strlen(text), error))
            return false;
    }
    return true;
}

/* Checks that there is a Python file, so that no folder is created for an empty snapshot. */
static bool check_code(const Task *task, GError **error)
{
    return acr_workspace_n_code_files(task->workspace.snapshot) > 0 ||
           acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                         "'%s' has no Python files outside tests", task->spec->repo);
}

/* Returns the folder to which --apply writes, borrowed: the working tree, or the plain folder; NULL
 * for a bare repository. */
static const char *work_tree(const Task *task)
{
    return task->workspace.repo ? acr_repo_workdir(task->workspace.repo) : task->git_dir;
}

/* Checks that --apply would write to the run's repository, because the run folder may belong to
 * another repository. */
static bool check_repository(const Task *task, GError **error)
{
    g_autoptr(AcrRepo) given = acr_repo_open(task->spec->repo, error);
    if (!given)
        return false;
    g_autofree char *own = acr_path_real(acr_repo_path(given)),
                    *recorded = acr_path_real(task->git_dir);
    if (strcmp(own, recorded) == 0)
        return true;
    return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                         "not applied: the run in '%s' belongs to another repository, '%s'",
                         task->folder.path, recorded);
}

static bool check_work_tree(const Task *task, GError **error)
{
    if (!task->spec->apply)
        return true;
    if (task->git_dir && !check_repository(task, error))
        return false;
    return work_tree(task) ||
           acr_task_refuse(error, "--apply needs a working tree, but '%s' has none",
                           task->spec->repo);
}

static void warn_user(void *ctx, const char *line)
{
    acr_progress_warn(ctx, line);
}

/* Loads the extensions. The journal records their calls, so a replay starts no extension. */
static bool load_extensions(Task *task, AcrJournal *journal, AcrExtensions **out, GError **error)
{
    AcrChoices choices = acr_choices_read(task->spec, task->folder.meta);
    AcrExtensionOptions options = {
        .files = (const char *const *)task->spec->extensions,
        .exe = task->models ? task->host->exe : NULL,
        .repo = work_tree(task),
        .timeout_ms = task->spec->extension_ms,
        .journal = journal,
        .n_own_calls = choices.n_calls,
        .no_history = choices.no_history,
        .interrupt = task->host->interrupt,
        .ctx = (void *)task->host->progress,
        .warn = warn_user,
    };
    return acr_extensions_load(&options, out, error);
}

static bool check_named(Task *task, GError **error)
{
    g_autoptr(AcrExtensions) unused = NULL;
    return acr_task_check_named(task->spec, work_tree(task), error) &&
           acr_extensions_check_files((const char *const *)task->spec->extensions, work_tree(task),
                                      error) &&
           load_extensions(task, NULL, &unused, error);
}

/* Finds errors in the task itself (repository, revision, models, programs) before a folder is
 * created. */
static bool prepare_task(Task *task, GError **error)
{
    const char *rev = task->spec->rev;
    task->models = acr_task_models_new(task->spec, &task->limits, task->host, error);
    task->workspace.repo = task->models ? acr_repo_open(task->spec->repo, error) : NULL;
    if (!task->workspace.repo || !check_work_tree(task, error) || !check_named(task, error))
        return false;
    if (!rev) /* a working tree takes long to read; a commit does not, and may be missing */
        acr_progress_stage(task->host->progress, 0, "snapshot", 0);
    task->workspace.snapshot = acr_workspace_snapshot(task->workspace.repo, rev, error);
    if (rev && task->workspace.snapshot)
        acr_progress_stage(task->host->progress, 0, "snapshot", 0);
    if (!task->workspace.snapshot || !check_code(task, error) ||
        !acr_given_check(task->given, task->workspace.snapshot, task->spec, error))
        return false;
    acr_progress_warn(task->host->progress, acr_snapshot_remarks(task->workspace.snapshot));
    return true;
}

/* Writes all data that the run needs to the folder, and marks the folder "ready". `meta` is
 * taken. */
static bool begin_folder(Task *task, AcrJson *meta, GError **error)
{
    acr_json_free(task->folder.meta);
    task->folder.meta = meta;
    acr_json_set_int(meta, "format", ACR_META_FORMAT);
    acr_json_set_string(meta, "version", ACR_VERSION);
    g_autofree char *saved = acr_folder_path(&task->folder, ACR_DIR_SNAPSHOT);
    if ((!task->workspace.snapshot && !prepare_task(task, error)) ||
        !acr_folder_write_meta(&task->folder, meta, ACR_FOLDER_NEW, error))
        return false;
    acr_live_note_begin(task->live, task->folder.path, ACR_FILE_LIVE);
    if (!save_texts(task, error) ||
        !acr_given_save(task->given, task->spec, &task->folder, error) ||
        !acr_folder_check_parents(&task->folder, ACR_DIR_SNAPSHOT "/", error) ||
        !acr_snapshot_save(task->workspace.snapshot, saved, error))
        return false;
    acr_json_set(meta, "snapshot", acr_workspace_describe(&task->workspace));
    acr_choices_record(task->spec, acr_task_wants_tools(task->spec, task->models), meta);
    return acr_folder_write_meta(&task->folder, meta, ACR_FOLDER_READY, error);
}

static bool take_up(Task *task, GError **error)
{
    g_autoptr(AcrJson) bound = acr_meta_bound(task->spec, task->prompts);
    acr_given_describe(task->given, bound);
    if (task->folder.meta && !acr_meta_check(task->folder.meta, bound, task->spec->out, error))
        return false;
    if (task->folder.meta && task->folder.state != ACR_FOLDER_NEW) {
        /* another run has begun in the folder; use its snapshot */
        acr_workspace_clear(&task->workspace);
        return true;
    }
    return begin_folder(task, g_steal_pointer(&bound), error);
}

/* ---- The contents of the folder ---- */

/* Opens the run's repository at the given path, which has the working tree, if the path still leads
 * to the same repository; otherwise, at the recorded git folder. */
static AcrRepo *open_recorded(const Task *task, GError **error)
{
    g_autoptr(AcrRepo) given = acr_repo_open(task->spec->repo, NULL);
    g_autofree char *own = given ? acr_path_real(acr_repo_path(given)) : NULL,
                    *recorded = acr_path_real(task->git_dir);
    return g_strcmp0(own, recorded) == 0 ? g_steal_pointer(&given)
                                         : acr_repo_open(task->git_dir, error);
}

/* Loads the snapshot with which the run began, regardless of later changes of the working tree. */
static bool load_snapshot(Task *task, GError **error)
{
    const AcrJson *described = acr_json_get(task->folder.meta, "snapshot");
    g_autoptr(GBytes) git_dir = acr_json_get_bytes(described, "git_dir");
    g_autofree char *saved = acr_folder_path(&task->folder, ACR_DIR_SNAPSHOT);
    acr_progress_stage(task->host->progress, 0, "snapshot", 0);
    task->git_dir = acr_bytes_text(git_dir);
    if (acr_json_get_bool(described, "git", false)) {
        task->workspace.repo = open_recorded(task, error);
        if (!task->workspace.repo)
            return false;
    }
    task->workspace.snapshot = acr_snapshot_load(task->workspace.repo, saved, error);
    if (!task->workspace.snapshot)
        return false;
    g_autofree char *digest = acr_snapshot_digest(task->workspace.snapshot);
    return g_strcmp0(digest, acr_json_get_string(described, "digest")) == 0 ||
           acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                         "the snapshot in '%s' is damaged", task->folder.path);
}

/* Indexes the snapshot. Before any search, lists the files that cannot be outlined in meta.json. */
static bool index_workspace(Task *task, GError **error)
{
    const AcrJson *listed = acr_json_get(task->folder.meta, "not_outlined");
    g_autoptr(GHashTable) refused = acr_outlines_listed(listed);
    acr_progress_stage(task->host->progress, 0, "index", 0);
    if (!acr_workspace_index(&task->workspace, task->host, listed ? refused : NULL, error))
        return false;
    g_autoptr(AcrJson) failed = acr_outlines_failed(task->workspace.index);
    if (listed)
        return acr_outlines_check(failed, error);
    if (task->is_replay) /* a replay writes nothing */
        return true;
    acr_json_set(task->folder.meta, "not_outlined", g_steal_pointer(&failed));
    return acr_folder_write_meta(&task->folder, task->folder.meta, task->folder.state, error);
}

/* ---- The attempts ---- */

/* Wraps the run's models with the journal; owned. Takes the live models from `task`. */
static GPtrArray *make_recorded_models(Task *task, AcrRecorder *recorder)
{
    GPtrArray *models = g_ptr_array_new_with_free_func((GDestroyNotify)acr_model_free);
    for (guint i = 0; task->spec->models[i]; i++) {
        bool is_live = task->models && task->models->len;
        AcrModel *inner = is_live ? g_ptr_array_steal_index(task->models, 0) : NULL;
        g_ptr_array_add(models, acr_recorded_model_new(recorder, task->spec->models[i], inner,
                                                       MAX(task->spec->context, 0)));
    }
    return models;
}

static bool tell_verdict(const Task *task, AcrExtensions *extensions, const AcrRunResult *result,
                         GError **error)
{
    g_autofree char *diff = result->found.diff ? acr_utf8_repair_bytes(result->found.diff) : NULL;
    g_autoptr(AcrJson) data = acr_json_of(ACR_STRING("verdict", acr_verdict_name(result->verdict)),
                                          ACR_STRING("diff", diff), NULL);
    return acr_extensions_tell(extensions, task->workspace.search, "verdict", data, NULL, NULL,
                               error);
}

/* Wraps executions and tests with the journal. In a replay, the wrappers have no sandbox. */
static void init_code_runs(Task *task, AcrJournal *journal, AcrRecordedExecutor *executor,
                           AcrRecordedTests *tests)
{
    acr_recorded_executor_init(executor, journal);
    acr_recorded_tests_init(tests, executor, task->spec);
    if (!task->models)
        return;
    acr_recorded_executor_go_live(executor, task->spec, &task->workspace, work_tree(task),
                                  task->limits.budget, task->host);
    acr_recorded_tests_go_live(tests, task->spec, task->host);
}

static bool run_loops(const AcrRun *run, const AcrRunSpec *spec, AcrCost *cost, AcrRunResult *out,
                      GError **error)
{
    bool ok = spec->verb == ACR_FOR_REPRODUCE ? acr_reproduce_run(run, &out->found, error)
                                              : acr_attempts_run(run, &out->found, error);
    acr_result_judge(out, spec, acr_cost_total(cost));
    return ok;
}

/* Runs the attempts with wrapped models, referee and sandbox. *out is the result, even after a
 * failure. */
static bool run_attempts(Task *task, AcrJournal *journal, const AcrArtifacts *artifacts,
                         AcrCost *cost, AcrRunResult *out, GError **error)
{
    const AcrRunSpec *spec = task->spec;
    AcrWorkspace *workspace = &task->workspace;
    AcrChoices choices = acr_choices_read(spec, task->folder.meta);
    g_autoptr(AcrRecorder) recorder =
        acr_recorder_new(journal, cost, task->limits.budget, task->host->progress);
    g_autoptr(AcrCalls) calls = acr_calls_new(choices.n_calls, !choices.no_history);
    g_autoptr(GPtrArray) models = make_recorded_models(task, recorder),
                         given = acr_given_load(&task->folder, workspace->snapshot, error);
    AcrRecordedReferee referee;
    acr_recorded_referee_init(&referee, journal, acr_workspace_referee(workspace, task->host));
    g_auto(AcrRecordedExecutor) executor = {0};
    g_auto(AcrRecordedTests) tests = {0};
    init_code_runs(task, journal, &executor, &tests);
    g_autofree char *cleaned = acr_issue_clean(spec->issue_text),
                    *notes =
                        choices.has_notes ? acr_workspace_notes(workspace, task->prompts) : NULL;
    g_autoptr(AcrExtensions) extensions = NULL;
    if (!given || !load_extensions(task, journal, &extensions, error))
        return false;
    acr_recorder_observe(recorder, extensions, workspace->search);
    tests.given = given;
    AcrRun run = {
        .issue = cleaned,
        .snapshot = workspace->snapshot,
        .index = workspace->index,
        .search = workspace->search,
        .calls = extensions ? acr_extensions_calls(extensions) : calls,
        .extensions = extensions,
        .python = workspace->python,
        .referee = &referee.referee,
        .executor = &executor.executor,
        .validate = spec->validate,
        .verify = spec->verify < 0 ? ACR_VERIFY_AUTO : (AcrVerify)spec->verify,
        .regressions = acr_run_spec_regressions(spec),
        .sbfl = acr_run_spec_sbfl(spec),
        .may = choices.may,
        .is_traced = spec->trace == 0,
        .tests = &tests.comparer,
        .prompts = task->prompts,
        .notes = notes,
        .native_tools = choices.has_tools,
        .models = (AcrModel *const *)models->pdata,
        .n_models = models->len,
        .max_rounds = (guint)MAX(spec->rounds, 0),
        .max_tries = (guint)spec->tries,
        .max_attempts = (guint)spec->attempts,
        .max_samples = (guint)MAX(spec->samples, 1),
        .has_examples = choices.has_examples,
        .given = (AcrOverlay *const *)given->pdata,
        .n_given = given->len,
        .script = spec->script_text,
        .artifacts = artifacts,
        .progress = task->host->progress,
        .interrupt = task->host->interrupt,
    };
    return run_loops(&run, spec, cost, out, error) && tell_verdict(task, extensions, out, error);
}

/* ---- The run ---- */

static bool write_artifact(void *ctx, const char *path, const void *data, gsize len, GError **error)
{
    return acr_folder_write(ctx, path, data, len, error);
}

static AcrJournal *open_journal(const Task *task, AcrJournalMode mode, GError **error)
{
    g_autofree char *path = acr_folder_path(&task->folder, ACR_FILE_JOURNAL);
    AcrJournal *journal = acr_journal_open(path, mode, error);
    if (journal)
        acr_progress_warn(task->host->progress, acr_journal_remark(journal));
    return journal;
}

/* Opens the models and ledgers that a live run needs. */
static bool go_live(Task *task, GError **error)
{
    g_autofree char *ledger = acr_folder_path(&task->folder, ACR_FILE_LEDGER),
                    *journal = acr_folder_path(&task->folder, ACR_FILE_JOURNAL);
    if (!check_work_tree(task, error) ||
        (!task->models &&
         !(task->models = acr_task_models_new(task->spec, &task->limits, task->host, error))))
        return false;
    return acr_limits_open_run(&task->limits, task->spec, ledger, journal, error);
}

/* Writes the result of a finished run, or the best result so far if a limit stopped the run. */
static bool save_result(Task *task, const AcrArtifacts *artifacts, const AcrRunResult *result,
                        GError **error)
{
    return acr_result_save(artifacts, result, error) &&
           (result->error ||
            acr_folder_write_meta(&task->folder, task->folder.meta, ACR_FOLDER_DONE, error));
}

static bool apply_found(const Task *task, AcrRunResult *result, GError **error)
{
    const AcrOutcome *found = &result->found;
    g_autofree char *ignored = found->overlay ? acr_overlay_ignored(found->overlay) : NULL;
    acr_progress_warn(task->host->progress, ignored);
    return !task->spec->apply || !found->overlay || acr_proof_is_against(found->proof) ||
           acr_overlay_apply(found->overlay, work_tree(task), &result->was_applied, error);
}

/* Reads the saved result of a finished run, and applies its patch if --apply requests that. */
static bool take_saved(Task *task, AcrRunResult *out, GError **error)
{
    if (!acr_result_read(&task->folder, out, error))
        return false;
    out->was_finished = true;
    if (!task->spec->apply || !out->found.diff || acr_proof_is_against(out->found.proof))
        return true;
    gsize len;
    const void *diff = g_bytes_get_data(out->found.diff, &len);
    if (!load_snapshot(task, error) || !check_work_tree(task, error))
        return false;
    out->found.overlay = acr_overlay_new(task->workspace.snapshot);
    return acr_overlay_apply_diff(out->found.overlay, diff, len, error) &&
           apply_found(task, out, error);
}

/* Performs all steps in the folder. A run that ends inside its journal keeps the saved result. */
static bool work_in_folder(Task *task, AcrRunResult *out, GError **error)
{
    g_autoptr(AcrJournal) journal =
        go_live(task, error) ? open_journal(task, ACR_JOURNAL_APPEND, error) : NULL;
    if (journal && acr_journal_left(journal)) /* so that nobody fears to pay for them again */
        acr_progress_stage(task->host->progress, 0, "resume", acr_journal_left(journal));
    if (!journal || !index_workspace(task, error))
        return false;
    g_autoptr(AcrCost) cost = acr_cost_new();
    AcrArtifacts artifacts = {&task->folder, write_artifact};
    g_autoptr(GError) reason = NULL, late = NULL;
    bool is_over = run_attempts(task, journal, &artifacts, cost, out, &reason);
    bool is_stopped = g_error_matches(reason, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING);
    if (!is_over) /* the files of a finished run do not depend on interruptions */
        out->cost = *acr_cost_settle(cost, &task->limits, task->spec);
    if (reason)
        acr_run_result_fail(out, reason, task->host->interrupt);
    bool is_new = is_over || acr_journal_is_live(journal);
    bool is_kept =
        !is_new ||
        acr_artifacts_write_json(&artifacts, ACR_FILE_COST,
                                 acr_cost_to_json(cost, acr_limits_describe(&task->limits)), &late);
    if (is_new && (is_over || is_stopped)) {
        if (!is_kept)
            g_propagate_error(error, g_steal_pointer(&late));
        if (!is_kept || !save_result(task, &artifacts, out, error))
            return false;
    }
    if (is_over && !task->spec->json) /* only the last line tells what else the ledger has */
        out->cost = *acr_cost_settle(cost, &task->limits, task->spec);
    return is_over ? apply_found(task, out, error) : acr_pass_error(error, &reason);
}

static bool run_in_folder(Task *task, AcrRunResult *out, GError **error)
{
    const AcrRunSpec *spec = task->spec;
    task->prompts = acr_prompts_load(task->host->prompts_dir, spec->prompts, error);
    if (!task->prompts || !(task->given = acr_given_read(task->spec, task->host, error)) ||
        !acr_limits_init(&task->limits, spec, error) ||
        (!acr_folder_exists(spec->out) && !prepare_task(task, error)) ||
        !acr_folder_open(spec->out, &task->folder, error) || !take_up(task, error))
        return false;
    if (task->folder.state == ACR_FOLDER_DONE)
        return take_saved(task, out, error);
    acr_live_note_begin(task->live, task->folder.path, ACR_FILE_LIVE);
    return (task->workspace.snapshot || load_snapshot(task, error)) &&
           work_in_folder(task, out, error);
}

/* Keeps the result of an earlier command that stopped at a ceiling if this command fails: it gets
 * the new error, which is no usage error. */
static void keep_saved(Task *task, const GError *reason, AcrRunResult *out)
{
    AcrExit code = acr_exit_of(reason, task->host->interrupt);
    bool is_of_run = code == ACR_EXIT_ENVIRONMENT || code == ACR_EXIT_INTERRUPTED;
    AcrRunResult saved = {0};
    if (!is_of_run || !task->folder.lock || task->folder.state != ACR_FOLDER_READY ||
        !acr_result_read(&task->folder, &saved, NULL))
        return;
    saved.was_finished = out->cost.calls == 0; /* no further call was made */
    if (out->cost.calls > saved.cost.calls || out->cost.charged_pico > saved.cost.charged_pico)
        saved.cost = out->cost;
    acr_run_result_clear(out);
    *out = saved;
    acr_run_result_fail(out, reason, task->host->interrupt);
    AcrArtifacts artifacts = {&task->folder, write_artifact};
    g_autoptr(GError) late = NULL;
    if (!acr_artifacts_write_json(&artifacts, ACR_FILE_RESULT, acr_run_result_to_json(out), &late))
        acr_progress_warn(task->host->progress, late->message);
}

/* Frees the overlay and, if the run failed, sets the error in *result. Returns `ok`. */
static bool finish_task(bool ok, AcrRunResult *result, const AcrHost *host, GError *reason,
                        GError **error)
{
    /* the overlay uses the snapshot of the task, which is freed */
    g_clear_pointer(&result->found.overlay, acr_overlay_free);
    if (ok)
        return true;
    acr_run_result_fail(result, reason, host->interrupt);
    g_propagate_error(error, reason);
    return false;
}

bool acr_task_run(const AcrRunSpec *spec, const AcrHost *host, AcrRunResult *out, GError **error)
{
    AcrHost noted = *host;
    g_auto(Task) task = {.spec = spec, .host = &noted};
    /* declared first, so that it is cleared last, while the folder is still locked */
    g_auto(AcrLiveNote) live = {0};
    GError *reason = NULL;
    acr_live_note_init(&live, host->progress);
    noted.progress = &live.progress;
    task.live = &live;
    *out = (AcrRunResult){.verdict = ACR_VERDICT_NONE,
                          .found.proof = ACR_PROOF_NONE,
                          .is_reproduction = spec->verb == ACR_FOR_REPRODUCE};
    bool ok = run_in_folder(&task, out, &reason);
    if (!ok) {
        keep_saved(&task, reason, out);
        if (live.top) /* the command began its work; a rejected command changes nothing */
            acr_folder_keep_error(&task.folder, acr_message_of(reason, host->interrupt));
    }
    if (g_error_matches(reason, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DIVERGED))
        acr_meta_name_version(task.folder.meta, reason);
    return finish_task(ok, out, host, reason, error);
}

/* ---- Replay ---- */

static bool replay_attempts(Task *task, AcrRunResult *out, GError **error)
{
    g_autoptr(AcrJournal) journal = open_journal(task, ACR_JOURNAL_READ, error);
    if (!journal || !index_workspace(task, error))
        return false;
    g_autoptr(AcrCost) cost = acr_cost_new();
    g_autoptr(GHashTable) kept = acr_replayed_new();
    AcrArtifacts artifacts = acr_replayed_artifacts(kept);
    GError *reason = NULL;
    if (!run_attempts(task, journal, &artifacts, cost, out, &reason))
        return acr_replayed_fail(&task->folder, reason, error);
    return task->folder.state != ACR_FOLDER_DONE ||
           acr_replayed_check(&task->folder, kept, out, cost, error);
}

static char *read_text(const AcrFolder *folder, const char *name, GError **error)
{
    g_autoptr(GBytes) bytes = acr_folder_read_file(folder, name, ACR_ISSUE_MAX_BYTES, error);
    return bytes ? acr_utf8_repair_bytes(bytes) : NULL;
}

/* Reads the spec of the recorded run, and its issue, which is a file of the folder. */
static bool read_spec(const AcrFolder *folder, AcrRunSpec *out, GError **error)
{
    g_autofree char *issue = read_text(folder, ACR_FILE_ISSUE, error);
    if (!issue)
        return false;
    if (!acr_meta_read(folder->meta, out, error)) {
        g_prefix_error(error, "'%s': ", folder->path);
        return false;
    }
    out->issue_text = g_steal_pointer(&issue);
    return out->verb != ACR_FOR_VERIFY ||
           (out->script_text = read_text(folder, ACR_FILE_SCRIPT, error));
}

/* Checks that no prompt in the folder is a link, because the folder may be untrusted. */
static bool check_prompt_files(const Task *task, GError **error)
{
    for (guint i = 0; i < ACR_PROMPTS; i++) {
        g_autoptr(GError) reason = NULL;
        g_autofree char *name = g_build_filename(ACR_DIR_PROMPTS, acr_prompt_file(i), NULL);
        g_autoptr(GBytes) text =
            acr_folder_read_file(&task->folder, name, ACR_PROMPT_MAX_BYTES, &reason);
        if (!text && !g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
            return acr_pass_error(error, &reason);
    }
    return true;
}

bool acr_task_replay(const char *dir, const AcrHost *host, AcrRunResult *out, GError **error)
{
    g_auto(Task) task = {.host = host, .is_replay = true};
    g_auto(AcrRunSpec) spec = {0};
    GError *reason = NULL;
    *out = (AcrRunResult){.verdict = ACR_VERDICT_NONE, .found.proof = ACR_PROOF_NONE};
    bool ok = acr_folder_read(dir, &task.folder, &reason) &&
              read_spec(&task.folder, &spec, &reason) && check_prompt_files(&task, &reason);
    if (ok) {
        g_autofree char *prompts = acr_folder_path(&task.folder, ACR_DIR_PROMPTS);
        task.spec = &spec;
        task.prompts = acr_prompts_load(host->prompts_dir, prompts, &reason);
        ok = task.prompts && load_snapshot(&task, &reason) && replay_attempts(&task, out, &reason);
    }
    return finish_task(ok, out, host, reason, error);
}

bool acr_task_read(const char *dir, AcrRunSpec *out_spec, AcrRunResult *out_result,
                   bool *out_has_result, GError **error)
{
    g_auto(AcrFolder) folder = {0};
    *out_has_result = false;
    if (!acr_folder_read(dir, &folder, error) || !acr_meta_read(folder.meta, out_spec, error))
        return false;
    g_autofree char *path = acr_folder_path(&folder, ACR_FILE_RESULT);
    if (folder.state != ACR_FOLDER_DONE && !g_file_test(path, G_FILE_TEST_EXISTS))
        return true;
    if (!acr_result_read(&folder, out_result, error))
        return false;
    *out_has_result = folder.state == ACR_FOLDER_DONE || out_result->found.diff;
    return true;
}
