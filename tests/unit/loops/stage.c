/* Helpers for tests of single steps. */
#include "stage.h"

#include <string.h>

#include "llm/llm_private.h"

static bool open_executor(void *ctx, bool *out_available, char **out_text, GError **error)
{
    const Stage *stage = ctx;
    *out_available = stage->is_available;
    *out_text = g_strdup(stage->about);
    return true;
}

static const char *tree(void *ctx)
{
    return "/srv/p";
}

static bool run_trial(void *ctx, const AcrTrial *trial, const AcrExecuted **out, GError **error)
{
    Stage *stage = ctx;
    if (trial->test)
        g_string_append_printf(stage->trials, "script %u\n", trial->repeat);
    else
        g_string_append_printf(stage->trials, "%s %s\n", trial->command, trial->overlay ? "with" : "without");
    g_assert_cmpuint(stage->ran, <, stage->given->len);
    *out = stage->given->pdata[stage->ran++];
    return *out || acr_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE, "the disk is gone");
}

static const char *draw_seed(void *ctx, GError **error)
{
    return "seed";
}

/* Returns the prepared result of the project's tests; if it is NULL, the tests cannot run. */
static bool compare(void *ctx, const AcrOverlay *patch, bool is_whole, const GPtrArray *only,
                    const AcrTestComparison **out, GError **error)
{
    Stage *stage = ctx;
    stage->compared++;
    *out = is_whole && stage->whole_tests ? stage->whole_tests : stage->tests;
    return *out || acr_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE, "no test could be run");
}

static bool write_file(void *ctx, const char *path, const void *data, gsize len, GError **error)
{
    Stage *stage = ctx;
    g_hash_table_insert(stage->files, g_strdup(path), g_strndup(data, len));
    return true;
}

static void take_event(void *ctx, const AcrProgressEvent *event)
{
    if (event->kind == ACR_PROGRESS_NOTE || event->kind == ACR_PROGRESS_ACTION)
        g_string_append_printf(((Stage *)ctx)->notes, "%s\n", event->text);
}

static void executed_free(gpointer data)
{
    AcrExecuted *executed = data;
    if (executed)
        acr_executed_clear(executed);
    g_free(executed);
}

void stage_set_up(Stage *stage, gconstpointer script)
{
    g_autoptr(GError) error = NULL;
    stage->prompts = acr_prompts_load(ACR_SOURCE_DIR "/prompts", NULL, &error);
    g_assert_no_error(error);
    stage->python = acr_python_new(ACR_SOURCE_DIR "/python", &error);
    g_assert_no_error(error);
    stage->model = acr_script_parse(script, strlen(script), "answers", &(AcrModelOptions){0}, &error);
    g_assert_no_error(error);
    stage->notes = g_string_new(NULL);
    stage->trials = g_string_new(NULL);
    stage->files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    stage->given = g_ptr_array_new_with_free_func(executed_free);
    stage->is_available = true;
    stage->about = "Python 3.11";
    stage->executor = (AcrExecutor){stage, open_executor, tree, run_trial, draw_seed, NULL};
    stage->comparer = (AcrTestComparer){.ctx = stage, .compare = compare};
    stage->artifacts = (AcrArtifacts){stage, write_file};
    stage->progress = (AcrProgress){.ctx = stage, .take = take_event};
    stage->run = (AcrRun){.sbfl = ACR_VERIFY_NEVER,
                          .issue = "double(3) is 7",
                          .python = stage->python,
                          .prompts = stage->prompts,
                          .models = &stage->model,
                          .n_models = 1,
                          .max_tries = 3,
                          .max_attempts = 2,
                          .executor = &stage->executor,
                          .tests = &stage->comparer,
                          .artifacts = &stage->artifacts,
                          .progress = &stage->progress,
                          .interrupt = &stage->interrupt};
    acr_attempt_work_begin(&stage->work, &stage->run, 0, NULL);
}

void stage_tear_down(Stage *stage, gconstpointer script)
{
    if (stage->folder)
        g_assert_true(acr_dir_remove(stage->folder, NULL));
    g_free(stage->folder);
    acr_snapshot_unref(stage->run.snapshot);
    acr_attempt_work_clear(&stage->work);
    acr_model_free(stage->model);
    acr_python_free(stage->python);
    acr_prompts_free(stage->prompts);
    g_ptr_array_unref(stage->given);
    g_hash_table_unref(stage->files);
    g_string_free(stage->notes, TRUE);
    g_string_free(stage->trials, TRUE);
}

/* The next trial ends with that exit code and standard error. */
AcrExecuted *stage_give(Stage *stage, int exit_code, const char *err)
{
    AcrExecuted *executed = g_new0(AcrExecuted, 1);
    executed->exit_code = exit_code;
    executed->out = g_bytes_new_static("", 0);
    executed->err = g_bytes_new(err, strlen(err));
    g_ptr_array_add(stage->given, executed);
    return executed;
}

const char *stage_file(const Stage *stage, const char *path)
{
    return g_hash_table_lookup(stage->files, path);
}

void stage_assert_noted(const Stage *stage, const char *words)
{
    if (!strstr(stage->notes->str, words))
        g_error("not noted: %s; but:\n%s", words, stage->notes->str);
}

AcrCandidate *stage_add_patch(Stage *stage, GPtrArray *candidates, guint number)
{
    g_autoptr(GError) error = NULL;
    if (!stage->folder) {
        stage->folder = g_dir_make_tmp("acr-loops-XXXXXX", NULL);
        g_autofree char *file = g_build_filename(stage->folder, "a.py", NULL);
        g_assert_true(g_file_set_contents(file, "x = 1\n", -1, NULL));
        g_autoptr(AcrRepo) repo = made(acr_repo_open(stage->folder, &error), error);
        stage->run.snapshot = acr_snapshot_of_worktree(repo, &error);
        g_assert_no_error(error);
    }
    g_autoptr(GBytes) text = g_bytes_new_static("x = 2\n", 6);
    AcrOverlay *overlay = acr_overlay_new(stage->run.snapshot);
    g_assert_true(acr_overlay_write(overlay, "a.py", ACR_MODE_FILE, text, NULL));
    GBytes *diff = made(acr_overlay_diff(overlay, &error), error);
    return acr_candidates_add(
        candidates, (AcrCandidate){.overlay = overlay, .diff = diff, .number = number, .proof = ACR_PROOF_NONE});
}
