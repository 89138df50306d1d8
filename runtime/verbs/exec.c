/*
 * acr-host exec: a command on a private copy of a repository, in the sandbox. Streams and exit code
 * pass through, or all of it is told in one JSON object.
 */
#include "verbs/verbs_private.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "http/http.h"
#include "sandbox/sandbox.h"

/* As of `timeout` and `docker run`. */
#define EXIT_TIMED_OUT 124
#define EXIT_SANDBOX 125
#define EXIT_SIGNAL 128

#define MAX_MEMORY_MB (16ll * 1024 * 1024)
#define MAX_OUTPUT_BYTES ((gint64)1024 * 1024 * 1024)
#define MAX_PATCH_BYTES ((gsize)64 * 1024 * 1024)

typedef struct {
    AcrCodeOptions code;
    char *repo, *rev, *patch, *timeout, *memory, *processes, *output_limit;
    gboolean network, json, verbose;
    AcrSandboxLimits limits;
    const char *const *command; /* borrowed */
} Options;

static void options_clear(Options *options)
{
    acr_code_options_clear(&options->code);
    g_free(options->repo);
    g_free(options->rev);
    g_free(options->patch);
    g_free(options->timeout);
    g_free(options->memory);
    g_free(options->processes);
    g_free(options->output_limit);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* ---- Options ------------------------------------------------------------------------------------
 */

static bool check_number(const char *option, const char *given, gint64 max, gint64 *out)
{
    if (!given || (acr_count_parse(given, max, out) && *out > 0))
        return true;
    acr_verb_usage(acr_verb_exec.name,
                   "--%s is a whole number from 1 to %" G_GINT64_FORMAT ", not '%s'", option, max,
                   given);
    return false;
}

static bool check(Options *options)
{
    gint64 memory = 0, processes = 0, output = 0;
    if (!acr_code_options_check(&options->code, acr_verb_exec.name))
        return false;
    if (!options->repo) {
        acr_verb_usage(acr_verb_exec.name, "--repo is missing");
        return false;
    }
    if (!acr_seconds_check(acr_verb_exec.name, "timeout", options->timeout,
                           &options->limits.wall_ms) ||
        !check_number("memory", options->memory, MAX_MEMORY_MB, &memory) ||
        !check_number("processes", options->processes, ACR_SANDBOX_MAX_PROCESSES, &processes) ||
        !check_number("output-limit", options->output_limit, MAX_OUTPUT_BYTES, &output))
        return false;
    options->limits.memory_bytes = memory * 1024 * 1024;
    options->limits.processes = (guint)processes;
    options->limits.output_bytes = (gsize)output;
    if (options->command[0])
        return true;
    acr_verb_usage(acr_verb_exec.name, "the command is missing (after --)");
    return false;
}

/* ---- Results ------------------------------------------------------------------------------------
 */

/* Output as it comes, until a stream has shown as much as is kept of it. */
typedef struct {
    guint64 left[2];
} Passing;

static void pass(void *ctx, bool is_stderr, const char *data, gsize len)
{
    Passing *passing = ctx;
    gsize n = (gsize)MIN((guint64)len, passing->left[is_stderr]);
    passing->left[is_stderr] -= n;
    int err = n ? acr_fd_write_all(is_stderr ? STDERR_FILENO : STDOUT_FILENO, data, n) : 0;
    if (err) /* nobody reads it any more; the command goes on, its exit code still counts */
        passing->left[is_stderr] = 0;
}

static gint64 in_mb(gint64 bytes)
{
    return (bytes + 1024 * 1024 - 1) / (1024 * 1024);
}

static AcrJson *describe(const AcrExecuted *executed)
{
    AcrJson *json = acr_json_new_object();
    acr_json_set(json, "exit",
                 executed->exit_code < 0 ? acr_json_new_null()
                                         : acr_json_new_int(executed->exit_code));
    acr_json_set(json, "signal",
                 executed->signal ? acr_json_new_int(executed->signal) : acr_json_new_null());
    acr_json_set(json, "stdout", acr_json_new_gbytes(executed->out));
    acr_json_set(json, "stderr", acr_json_new_gbytes(executed->err));
    acr_json_set_int(json, "stdout_bytes", (gint64)executed->out_total);
    acr_json_set_int(json, "stderr_bytes", (gint64)executed->err_total);
    acr_json_set_int(json, "wall_ms", executed->wall_ms);
    acr_json_set(json, "peak_mb",
                 executed->peak_bytes ? acr_json_new_int(in_mb(executed->peak_bytes))
                                      : acr_json_new_null());
    acr_json_set_string(json, "limit", acr_sandbox_limit_name(executed->limit));
    return json;
}

static int exit_code(const AcrExecuted *executed)
{
    if (executed->limit == ACR_LIMIT_WALL)
        return EXIT_TIMED_OUT;
    return executed->signal ? EXIT_SIGNAL + executed->signal : executed->exit_code;
}

/* What a user cannot see from the exit code alone. */
static void say_limit(const AcrExecuted *executed)
{
    if (executed->limit != ACR_LIMIT_NONE)
        acr_verb_say(acr_verb_exec.name, "the limit on %s was hit",
                     acr_sandbox_limit_words(executed->limit));
}

/* ---- The whole ----------------------------------------------------------------------------------
 */

static int fail(const AcrProgram *program, const GError *error)
{
    int code = acr_verb_fail(program, acr_verb_exec.name, error);
    return error->domain == ACR_SANDBOX_ERROR && code == ACR_EXIT_ENVIRONMENT ? EXIT_SANDBOX : code;
}

static int execute(const AcrProgram *program, const Options *options, AcrSandbox *sandbox,
                   const AcrOverlay *overlay)
{
    g_autoptr(GError) error = NULL;
    gsize shown = options->limits.output_bytes ? options->limits.output_bytes : G_MAXSIZE;
    Passing passing = {{shown, shown}};
    AcrExecution execution = {
        .overlay = overlay,
        .argv = options->command,
        .inherit_input = true,
        .network = options->network,
        .limits = options->limits,
        .on_output = options->json ? NULL : pass,
        .on_output_ctx = &passing,
    };
    g_auto(AcrExecuted) executed = {0};
    if (!acr_sandbox_run(sandbox, &execution, &executed, &error))
        return fail(program, error);
    if (!options->json) {
        say_limit(&executed);
        return exit_code(&executed);
    }
    g_autoptr(AcrJson) json = describe(&executed);
    return acr_out_exit(acr_out_json(json), ACR_EXIT_OK);
}

static bool take_patch(const AcrProgram *program, const Options *options, AcrOverlay *overlay,
                       GError **error)
{
    if (!options->patch)
        return true;
    bool is_stdin = strcmp(options->patch, "-") == 0;
    g_autoptr(GBytes) diff = is_stdin ? acr_read_stdin(MAX_PATCH_BYTES, program->interrupt, error)
                                      : acr_file_read(options->patch, MAX_PATCH_BYTES, error);
    if (!diff)
        return false;
    gsize len;
    const void *data = g_bytes_get_data(diff, &len);
    bool ok = acr_overlay_apply_diff(overlay, data ? data : "", len, error);
    if (!ok)
        g_prefix_error(error, "'%s': ", options->patch);
    return ok;
}

/* Says the remarks after the first `said`; how many there are. */
static guint say_remarks(const AcrSandbox *sandbox, guint said)
{
    const char *const *remarks = acr_sandbox_remarks(sandbox);
    guint i;
    for (i = 0; remarks[i]; i++)
        if (i >= said)
            acr_verb_say(acr_verb_exec.name, "%s", remarks[i]);
    return i;
}

static int run_options(const AcrProgram *program, Options *options)
{
    g_autoptr(GError) error = NULL;
    if (!acr_http_global_init(&error))
        return acr_verb_fail(program, acr_verb_exec.name, error);
    g_autoptr(AcrRepo) repo = acr_repo_open(options->repo, &error);
    g_autoptr(AcrSnapshot) snapshot =
        repo ? acr_workspace_snapshot(repo, options->rev, &error) : NULL;
    if (!snapshot)
        return acr_verb_fail(program, acr_verb_exec.name, error);
    g_autoptr(AcrSandbox) sandbox =
        acr_code_options_open(&options->code, program, repo, snapshot, &error);
    if (!sandbox)
        return fail(program, error);
    const char *choice = acr_sandbox_choice(sandbox);
    if (options->verbose && choice)
        acr_verb_say(acr_verb_exec.name, "%s", choice);
    guint said = options->verbose ? say_remarks(sandbox, 0) : 0;
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    if (!take_patch(program, options, overlay, &error))
        return acr_verb_usage(acr_verb_exec.name, "%s", error->message);
    int code = execute(program, options, sandbox, overlay);
    if (options->verbose)
        (void)say_remarks(sandbox, said); /* those that the execution has brought */
    return code;
}

/* The command is all that stands after "--". */
static char **take_command(int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            char **command = argv + i + 1;
            argv[i] = NULL;
            *argc = i;
            return command;
        }
    }
    return argv + *argc;
}

/* Without a repository the cache is all that is asked about. */
static int clear_cache(const AcrProgram *program)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *cache = acr_host_default_sandbox_cache();
    if (cache && !acr_sandbox_cache_clear(cache, &error))
        return fail(program, error);
    return ACR_EXIT_OK;
}

static int run(const AcrProgram *program, int argc, char **argv)
{
    g_auto(Options) options = {0};
    gboolean clear = FALSE;
    int code;
    const GOptionEntry own[] = {
        {"repo", 'r', 0, G_OPTION_ARG_FILENAME, &options.repo, "The repository", "DIR"},
        {"rev", 0, 0, G_OPTION_ARG_FILENAME, &options.rev,
         "Commit to copy (default: the working tree as it lies)", "REV"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json,
         "Print one JSON object in place of what the command prints", NULL},
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options.verbose,
         "Say which Python is taken, and what is left out", NULL},
        {"patch", 0, 0, G_OPTION_ARG_FILENAME, &options.patch,
         "Diff that is applied to the copy first; - for standard input", "FILE"},
        {"timeout", 0, 0, G_OPTION_ARG_STRING, &options.timeout,
         "End the command after so long (default 120)", "SECONDS"},
        {"memory", 0, 0, G_OPTION_ARG_STRING, &options.memory,
         "Memory of all its processes together (default 2048)", "MB"},
        {"processes", 0, 0, G_OPTION_ARG_STRING, &options.processes,
         "Processes and threads at once (default 256)", "N"},
        {"output-limit", 0, 0, G_OPTION_ARG_STRING, &options.output_limit,
         "Bytes that are kept of each stream (default 1048576)", "BYTES"},
        {"network", 0, 0, G_OPTION_ARG_NONE, &options.network, "Let it use the network", NULL},
        {"clear", 0, 0, G_OPTION_ARG_NONE, &clear,
         "Drop the kept trees and set-ups of all repositories first, but for images; without "
         "--repo "
         "that is all",
         NULL},
        ACR_CODE_ENTRIES(&options.code),
        G_OPTION_ENTRY_NULL,
    };
    options.command = (const char *const *)take_command(&argc, argv);
    if (!acr_options_parse(&acr_verb_exec, "-- CMD…", own, &argc, &argv, &code))
        return code;
    if (argc > 1)
        return acr_verb_usage(acr_verb_exec.name, "the command stands after --, not '%s'", argv[1]);
    if (clear && (code = clear_cache(program)) != ACR_EXIT_OK)
        return code;
    if (clear && !options.repo && !options.command[0])
        return ACR_EXIT_OK;
    if (!check(&options))
        return ACR_EXIT_USAGE;
    code = run_options(program, &options);
    acr_http_global_cleanup();
    return code;
}

const AcrVerb acr_verb_exec = {"exec", "Run a command on a private copy, in the sandbox", run};
