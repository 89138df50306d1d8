/* acr-host exec: runs a command on a private copy of a repository, in the sandbox. Passes on the
 * command's streams and exit code, or prints them as one JSON object. */
#include "verbs/verbs_private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "project/project.h"
#include "sandbox/sandbox.h"

/* The exit codes that `timeout` and `docker run` use, too. */
#define EXIT_TIMED_OUT 124
#define EXIT_SANDBOX 125
#define EXIT_SIGNAL 128

#define MB ((gint64)1024 * 1024)

/* Prints output as it arrives, up to the number of bytes that are kept of each stream. */
typedef struct {
    gsize left[2]; /* number of bytes that each stream may still print */
    int failed;    /* errno of a failed write; 0 if the reader only closed the pipe */
} Passing;

static void pass(void *ctx, bool is_stderr, const char *data, gsize len)
{
    Passing *passing = ctx;
    gsize n = MIN(len, passing->left[is_stderr]);
    passing->left[is_stderr] -= n;
    int err = n ? acr_fd_write_all(is_stderr ? STDERR_FILENO : STDOUT_FILENO, data, n) : 0;
    /* the reader closed the pipe; the command continues, because its exit code is still needed */
    if (err)
        passing->left[is_stderr] = 0;
    if (err && err != EPIPE)
        passing->failed = err;
}

static AcrJson *describe_execution(const AcrExecuted *executed)
{
    AcrJson *json = acr_json_new_object();
    acr_executed_to_json(executed, json);
    acr_executed_add_totals(executed, json);
    acr_json_set_int(json, "wall_ms", executed->wall_ms);
    gint64 peak_mb = (executed->peak_bytes + MB - 1) / MB;
    acr_json_set(json, "peak_mb", peak_mb ? acr_json_new_int(peak_mb) : acr_json_new_null());
    return json;
}

static int exit_code(const AcrExecuted *executed)
{
    if (executed->limit == ACR_LIMIT_WALL)
        return EXIT_TIMED_OUT;
    return executed->signal ? EXIT_SIGNAL + executed->signal : executed->exit_code;
}

static int fail_exec(AcrHost *host, const GError *error)
{
    int code = acr_verb_fail(host, error);
    return error->domain == ACR_SANDBOX_ERROR && code == ACR_EXIT_ENVIRONMENT ? EXIT_SANDBOX : code;
}

static int execute_command(AcrHost *host, const AcrRunSpec *spec, AcrSandbox *sandbox,
                           const AcrOverlay *overlay)
{
    g_autoptr(GError) error = NULL;
    gsize shown = spec->output_limit > 0 ? (gsize)spec->output_limit : G_MAXSIZE;
    Passing passing = {.left = {shown, shown}};
    AcrExecution execution = {
        .overlay = overlay,
        .argv = (const char *const *)spec->arguments,
        .inherit_input = true,
        .network = spec->network,
        .has_git = true,
        .limits = {.wall_ms = MAX(spec->timeout_ms, 0),
                   .memory_bytes = MAX(spec->memory_mb, 0) * MB,
                   .processes = (guint)MAX(spec->processes, 0),
                   .output_bytes = (gsize)MAX(spec->output_limit, 0)},
        .on_output = spec->json ? NULL : pass,
        .on_output_ctx = &passing,
    };
    g_auto(AcrExecuted) executed = {0};
    if (!acr_sandbox_run(sandbox, &execution, &executed, &error))
        return fail_exec(host, error);
    if (passing.failed) {
        acr_verb_say("cannot write to standard output or error: %s", g_strerror(passing.failed));
        return ACR_EXIT_ENVIRONMENT;
    }
    /* the exit code does not show that a limit was exceeded */
    if (!spec->json && executed.limit != ACR_LIMIT_NONE)
        acr_verb_say("the limit on %s was reached", acr_sandbox_limit_words(executed.limit));
    if (!spec->json)
        return exit_code(&executed);
    g_autoptr(AcrJson) json = describe_execution(&executed);
    return acr_out_exit(acr_out_json(json), ACR_EXIT_OK);
}

static int run_command(AcrHost *host, const AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrRepo) repo = acr_repo_open(spec->repo, &error);
    g_autoptr(AcrSnapshot) snapshot = repo ? acr_workspace_snapshot(repo, spec->rev, &error) : NULL;
    if (!snapshot)
        return acr_verb_fail(host, error);
    const char *place = acr_repo_workdir(repo);
    g_autofree char *work_tree = place ? acr_path_real(place) : NULL,
                    *cache = acr_host_default_cache(ACR_CACHE_SANDBOX);
    AcrSandboxOptions options = acr_sandbox_options_of(spec, host, snapshot, work_tree, cache);
    g_autoptr(AcrRefereeWorker) worker =
        acr_referee_worker_new(host->exe, ACR_REFEREE_VERB, host->interrupt);
    g_auto(AcrSetUp) set_up = {0};
    g_autoptr(AcrSandbox) sandbox = acr_project_open_sandbox(&options, worker, &set_up, &error);
    if (!sandbox)
        return fail_exec(host, error);
    if (spec->python && !spec->image &&
        !acr_task_check_python(acr_sandbox_python(sandbox, NULL), work_tree, &error))
        return acr_verb_usage(host, "%s", error->message);
    if (spec->verbose && set_up.command)
        acr_verb_say(ACR_SET_UP_LINE, set_up.command, set_up.why);
    const char *choice = acr_sandbox_choice(sandbox);
    if (spec->verbose && choice)
        acr_verb_say("%s", choice);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    if (spec->patch && !acr_verb_apply_patch(host, spec->patch, overlay, &error))
        return acr_verb_usage(host, "%s", error->message);
    int code = execute_command(host, spec, sandbox, overlay);
    for (const char *const *at = acr_sandbox_remarks(sandbox); spec->verbose && *at; at++)
        acr_verb_say("%s", *at); /* the execution has added remarks */
    return code;
}

static int clear_cache(AcrHost *host)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *cache = acr_host_default_cache(ACR_CACHE_SANDBOX);
    if (cache && !acr_sandbox_cache_clear(cache, &error))
        return fail_exec(host, error);
    return ACR_EXIT_OK;
}

static int run_exec(AcrHost *host, AcrRunSpec *spec)
{
    int code = spec->clear ? clear_cache(host) : ACR_EXIT_OK;
    if (code != ACR_EXIT_OK || !spec->repo)
        return code;
    if (!spec->arguments[0])
        return acr_verb_usage(host, "give a command after '--'");
    return run_command(host, spec);
}

const AcrVerb acr_verb_exec = {
    .name = "exec",
    .summary = "Run a command on a private copy of the repository, in the sandbox",
    .takes = ACR_FOR_EXEC,
    .arguments = "-- CMD…",
    .is_command = true,
    .uses_network = true,
    .examples = {{"Run a test in the sandbox, on a private copy",
                  "exec -- python3 -m pytest -q tests/test_add.py"},
                 {"The same with a patch applied",
                  "exec --patch patch.diff -- python3 -m pytest -q tests/test_add.py"}},
    .exits = "that of CMD, or 124 timeout, 125 broken sandbox, 128+N signal N; with --json, 0 "
             "unless acr-host fails",
    .run = run_exec,
};
