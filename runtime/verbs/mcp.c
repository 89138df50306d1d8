/* acr-host mcp: serves search calls to other agents by the Model Context Protocol, either on
 * standard input and output until the input ends, or over HTTP until it is interrupted. */
#include "verbs/verbs_private.h"

#include <unistd.h>

#include "serve/serve.h"

/* The text for a person who starts the verb by hand. */
static const char connecting[] =
    "Other agents start acr-host mcp and talk to it over the Model Context Protocol (stdio). Set "
    "it up like this:\n"
    "  Claude Code  claude mcp add acr-host -- acr-host mcp --repo DIR\n"
    "  Codex        codex mcp add acr-host -- acr-host mcp --repo DIR\n"
    "  VS Code      .vscode/mcp.json: {\"servers\": {\"acr-host\": {\"command\": \"acr-host\", "
    "\"args\": [\"mcp\", \"--repo\", \"DIR\"]}}}\n"
    "  others       {\"mcpServers\": {\"acr-host\": {\"command\": \"acr-host\", "
    "\"args\": [\"mcp\", \"--repo\", \"DIR\"]}}}\n"
    "--http serves over HTTP on 127.0.0.1. Waiting for requests; Ctrl-D ends it.\n";

/* Checks that no extension lies in one of the repositories. */
static bool check_extensions(const AcrRunSpec *spec, const char *const *paths, GError **error)
{
    for (; spec->extensions && *paths; paths++) {
        g_autoptr(AcrRepo) repo = acr_repo_open(*paths, error);
        if (!repo || !acr_extensions_check_files((const char *const *)spec->extensions,
                                                 acr_repo_workdir(repo), error))
            return false;
    }
    return true;
}

static int run_mcp(AcrHost *host, AcrRunSpec *spec)
{
    static const char *const here[] = {".", NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrPrompts) prompts = acr_prompts_load(host->prompts_dir, spec->prompts, &error);
    if (!prompts)
        return acr_verb_fail(host, error);
    g_autoptr(AcrExtensions) extensions = NULL;
    const char *const *paths = spec->repositories ? (const char *const *)spec->repositories : here;
    if (!check_extensions(spec, paths, &error) ||
        !acr_verb_load_extensions(host, spec, NULL, &extensions, &error))
        return acr_verb_fail(host, error);
    AcrServeOptions options = {
        .host = host,
        .prompts = prompts,
        .calls = acr_extensions_calls(extensions),
        .paths = paths,
        .tests = spec->with_tests,
        .call_ms = spec->timeout_ms,
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
        .port = (guint)MAX(spec->port, 0),
        .say = acr_verb_say,
    };
    if (spec->repositories && g_strv_length(spec->repositories) > ACR_SERVE_MAX_REPOSITORIES)
        return acr_verb_usage(host, "--repo may be given at most %u times",
                              ACR_SERVE_MAX_REPOSITORIES);
    if (!spec->http && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        acr_verb_tell("%s", connecting);
    AcrServeEnd end =
        spec->http ? acr_serve_http(&options, &error) : acr_serve_stdio(&options, &error);
    if (end == ACR_SERVE_BUSY_STILL)
        _exit(acr_interrupted(host->interrupt) ? ACR_EXIT_INTERRUPTED : ACR_EXIT_OK);
    if (end == ACR_SERVE_FAILED)
        return acr_verb_fail(host, error);
    return acr_interrupted(host->interrupt) ? ACR_EXIT_INTERRUPTED : ACR_EXIT_OK;
}

const AcrVerb acr_verb_mcp = {
    .name = "mcp",
    .summary = "Serve search calls to other agents (Model Context Protocol)",
    .takes = ACR_FOR_MCP,
    .examples = {{"Serve the search calls to Claude Code", "mcp --repo ~/project"}},
    .run = run_mcp,
};
