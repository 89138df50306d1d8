/* acr-host pr: makes a draft pull or merge request from a run. Prints the request and, if
 * options say so, opens it. */
#include <string.h>

#include "report/report.h"
#include "verbs/verbs_private.h"

static const char *state_of(const AcrJson *out, const char *step)
{
    return acr_json_get_string(acr_json_get(out, step), "state");
}

/* Adds the steps that a dry run leaves out. */
static void add_plan(GString *text, const AcrJson *out)
{
    static const char *const texts[] = {"body", "description"}; /* of GitHub and GitLab */
    const AcrJson *branch = acr_json_get(out, "branch"), *sent = acr_json_get(out, "push");
    const char *ref = acr_json_get_string(branch, "ref");
    g_string_append(text, "\n---- dry run: the steps below are not performed ----\n");
    if (!branch)
        g_string_append(text, "no branch, because --branch NAME was not given\n");
    else
        g_string_append_printf(
            text, "%s: %s with tree %s on commit %s\n", ref,
            strcmp(state_of(out, "branch"), "was there") == 0 ? "exists already," : "a commit",
            acr_json_get_string(branch, "tree"), acr_json_get_string(out, "base_commit"));
    if (!sent)
        g_string_append(text, "no push, because --push REMOTE (a git remote) was not given\n");
    else
        g_string_append_printf(text, "git push %s %s\n", acr_json_get_string(sent, "url"), ref);
    if (acr_json_get(out, "request")) {
        g_autoptr(AcrJson) sends = acr_json_copy(acr_json_get(out, "requests"));
        for (const AcrJson *at = acr_json_first(sends); at; at = acr_json_next(at)) {
            AcrJson *body = (AcrJson *)acr_json_get(at, "body");
            for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
                if (acr_json_get_string(body, texts[i]))
                    acr_json_set_string(body, texts[i], "(the text above)");
        }
        g_autofree char *requests = acr_json_print_pretty(sends);
        g_string_append(text, requests);
    }
}

static AcrOut print_request(const AcrRunSpec *spec, const AcrJson *out)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (spec->json)
        return acr_out_json(out);
    g_string_append_printf(text, "%s\n\n%s", acr_json_get_string(out, "title"),
                           acr_json_get_string(out, "body"));
    if (spec->dry_run)
        add_plan(text, out);
    return acr_out_text(text->str);
}

static void say_done(const AcrRunSpec *spec, const AcrJson *out)
{
    const AcrJson *branch = acr_json_get(out, "branch"), *request = acr_json_get(out, "request");
    if (branch)
        acr_verb_say("branch %s: %s, commit %s", spec->branch, state_of(out, "branch"),
                     acr_json_get_string(branch, "commit"));
    if (acr_json_get(out, "push"))
        acr_verb_say("push to %s: %s", spec->push, state_of(out, "push"));
    const char *url = acr_json_get_string(request, "url");
    g_autofree char *shown = acr_text_shorten(url ? url : "URL unknown", 500);
    if (request)
        acr_verb_say("request: %s, %s", state_of(out, "request"), shown);
}

/* Prints the repository's policy on patches by AI, before anything is written. */
static void say_policy(const AcrRunSpec *spec)
{
    g_autoptr(AcrJson) policy = acr_pull_policy(spec);
    const AcrJson *lines = acr_json_get(policy, "lines");
    if (!policy)
        return;
    g_autofree char *path = acr_one_line(acr_json_get_string(policy, "path"));
    acr_verb_say("'%s' is a policy on patches by AI; read it before you open a request", path);
    for (const AcrJson *line = acr_json_first(lines); line; line = acr_json_next(line))
        acr_verb_say("%s: %s", path, acr_json_string(line));
}

static int run_pr(AcrHost *host, AcrRunSpec *spec)
{
    if (g_strv_length(spec->arguments) != 1)
        return acr_verb_refuse_runs(host, spec);
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) out = NULL;
    if (spec->no_draft)
        acr_verb_say("the request will not be a draft (--no-draft)");
    say_policy(spec);
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    bool sends = !spec->dry_run && (spec->push || spec->open);
    acr_console_await(console,
                      sends ? "preparing and sending the request" : "preparing the request");
    bool ok = acr_pull_request(host, spec, &out, &error);
    acr_console_end(console);
    if (acr_json_get(out, "warning"))
        acr_verb_say("%s", acr_json_get_string(out, "warning"));
    if (out && !spec->dry_run)
        say_done(spec, out);
    return ok ? acr_out_exit(print_request(spec, out), ACR_EXIT_OK) : acr_verb_fail(host, error);
}

const AcrVerb acr_verb_pr = {
    .name = "pr",
    .summary = "Prepare a draft pull or merge request for a run, and open it if asked",
    .takes = ACR_FOR_PR,
    .arguments = "[OUT]",
    .uses_network = true,
    .examples = {{"See the branch and the request that would be made",
                  "pr out --branch fix --push origin --open --dry-run"},
                 {"Make them", "pr out --branch fix --push origin --open"}},
    .run = run_pr,
};
