/* Handles rows whose logs are parsed by an extension or by code in the data set. Adds the parsed
 * results to the row, where the rules find them (python/acr/grading/parsers.py). A data set's code
 * runs only in bubblewrap, on an empty tree. */
#include "eval/eval_private.h"

#include <glib/gstdio.h>
#include <string.h>

#include "sandbox/sandbox.h"

#define OUTCOMES "log_outcomes"
#define SOURCE "parser_source"
#define RUNNER "acr/dataset/run_parser.py"
#define PARSER_MS ((gint64)60 * 1000)
#define PARSER_OUTPUT ((gsize)16 * 1024 * 1024)
#define MAX_SAID 200u /* maximum number of bytes of a parser's error that are quoted */

static bool fail_parser(const AcrExecuted *executed, GError **error)
{
    g_autofree char *told = acr_bytes_last_line(executed->err);
    g_autofree char *line = acr_text_shorten(told, MAX_SAID);
    for (char *at = line; *at; at++)
        if (g_ascii_iscntrl(*at))
            *at = ' ';
    return acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED,
                         "the data set's log parser found no test outcomes: %s",
                         executed->limit ? acr_sandbox_limit_name(executed->limit)
                         : *line         ? line
                                         : "the parser printed nothing");
}

static bool run_source(AcrSandbox *sandbox, const char *program, const char *source,
                       const char *output, AcrJson **out, GError **error)
{
    g_autoptr(AcrJson) given =
        acr_json_of(ACR_STRING("source", source), ACR_STRING("log", output), NULL);
    g_autofree char *text = acr_json_print(given);
    g_autoptr(GBytes) input = g_bytes_new(text, strlen(text));
    const char *python = acr_sandbox_python(sandbox, error);
    const char *const argv[] = {python, "-I", "-c", program, NULL};
    AcrExecution execution = {.argv = argv,
                              .input = input,
                              .limits = {.wall_ms = PARSER_MS, .output_bytes = PARSER_OUTPUT}};
    g_auto(AcrExecuted) executed = {0};
    if (!python || !acr_sandbox_run(sandbox, &execution, &executed, error))
        return false;
    g_autofree char *last = acr_bytes_last_line(executed.out);
    if (executed.exit_code == 0)
        *out = acr_json_parse(last, strlen(last), NULL);
    return *out || fail_parser(&executed, error);
}

/* Runs the row's own parser, and sets *out to its result {test: outcome}. Returns false with an
 * error. */
static bool parse_by_source(const AcrEvalOptions *options, const char *source, const char *output,
                            AcrJson **out, GError **error)
{
    g_autofree char *folder = g_dir_make_tmp("acr-host-parser-XXXXXX", error),
                    *path = g_build_filename(options->host->python_dir, RUNNER, NULL);
    g_autoptr(GBytes) runner = folder ? acr_file_read(path, PARSER_OUTPUT, error) : NULL;
    g_autoptr(AcrRepo) repo = runner ? acr_repo_open(folder, error) : NULL;
    g_autoptr(AcrSnapshot) snapshot = repo ? acr_snapshot_of_worktree(repo, error) : NULL;
    AcrSandboxOptions sandbox_options = {.backend = ACR_IN_BUBBLEWRAP,
                                         .snapshot = snapshot,
                                         .exe = options->host->exe,
                                         .interrupt = options->host->interrupt};
    g_autoptr(AcrSandbox) sandbox = snapshot ? acr_sandbox_open(&sandbox_options, error) : NULL;
    g_autofree char *program = runner ? acr_bytes_text(runner) : NULL;
    bool ok = sandbox && run_source(sandbox, program, source, output, out, error);
    if (folder)
        (void)g_rmdir(folder);
    return ok;
}

/* Returns the row with the digest of its parser; NULL if neither an extension nor the row provides
 * a parser. *out_name is the parser's name in the row. */
static AcrJson *take_up(const AcrEvalOptions *options, const char *row, const char **out_name)
{
    bool may_have = options->extensions || strstr(row, "\"" SOURCE "\"");
    g_autoptr(AcrJson) json = may_have ? acr_json_parse(row, strlen(row), NULL) : NULL;
    *out_name = acr_json_get_string(json, "log_parser");
    const char *digest = acr_extensions_parser(options->extensions, *out_name);
    if (!digest && !acr_json_get_string(json, SOURCE))
        return NULL;
    acr_json_set_string(json, "log_parser_digest", digest);
    acr_json_set(json, OUTCOMES, acr_json_new_object());
    return g_steal_pointer(&json);
}

char *acr_eval_row(const AcrEvalOptions *options, const char *row)
{
    const char *name;
    g_autoptr(AcrJson) json = take_up(options, row, &name);
    return json ? acr_json_print(json) : g_strdup(row);
}

char *acr_eval_row_with(const AcrEvalOptions *options, const char *row, GBytes *const *logs,
                        guint n, GError **error)
{
    const char *name;
    g_autoptr(AcrJson) json = take_up(options, row, &name);
    g_autoptr(AcrJson) all = acr_json_new_object();
    if (!json)
        return g_strdup(row);
    for (guint i = 0; i < n; i++) {
        g_autofree char *output = acr_grading_output(options->python, logs[i], error);
        g_autoptr(AcrJson) said = NULL;
        const char *source = acr_json_get_string(json, SOURCE);
        if (!output ||
            !(source ? parse_by_source(options, source, output, &said, error)
                     : acr_extensions_parse(options->extensions, name, output, &said, error)))
            return NULL;
        g_autoptr(GBytes) bytes = g_bytes_new(output, strlen(output));
        g_autofree char *digest = acr_sha256_bytes(bytes);
        if (said)
            acr_json_set(all, digest, g_steal_pointer(&said));
    }
    acr_json_set(json, OUTCOMES, g_steal_pointer(&all));
    return acr_json_print(json);
}
