/*
 * acr-host pr: a draft pull or merge request from a run: its text, and on request a branch, a push and the
 * request itself. What can be refused is refused before anything is written, and the branch is written
 * before anything is sent.
 */
#include "verbs/pull_request.h"

#include <string.h>

#include "task/report_files.h"

#define MAX_TEMPLATE ((gsize)256 * 1024)
#define MAX_SHOWN_URL ((gsize)500)
#define FORM "pull request" /* of python/acr/report/service.py */

static void pull_clear(AcrPull *pull)
{
    acr_origin_clear(&pull->origin);
    acr_json_free(pull->text);
    acr_repo_unref(pull->repo);
    acr_branch_clear(&pull->branch);
    g_free(pull->url);
    g_free(pull->push_url);
    acr_json_free(pull->requests);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrPull, pull_clear)

/* ---- Its text ---- */

static bool add_template(const AcrRunSpec *spec, AcrReportFiles *files, GError **error)
{
    g_autoptr(GError) reason = NULL;
    if (!spec->template)
        return true;
    g_autoptr(GBytes) bytes = acr_file_read(spec->template, MAX_TEMPLATE, &reason);
    if (!bytes)
        return acr_task_refuse(error, "--template: %s", reason->message);
    return (acr_utf8_is_text(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes)) &&
            acr_report_files_add(files, "(template)", bytes)) ||
           acr_task_refuse(error, "--template: '%s' is not UTF-8 text", spec->template);
}

static bool add_changes(const AcrPull *pull, AcrReportFiles *files)
{
    g_autoptr(GPtrArray) changed = acr_changed_files(pull->origin.result.found.diff);
    g_ptr_array_add(changed, NULL);
    char *text = g_strjoinv("\n", (char **)changed->pdata);
    g_autoptr(GBytes) bytes = g_bytes_new_take(text, strlen(text));
    return acr_report_files_add(files, "(changes)", bytes);
}

static bool make_text(AcrPull *pull, GError **error)
{
    g_auto(AcrReportFiles) files = {0};
    g_autoptr(AcrPython) python = acr_python_new(pull->host->python_dir, error);
    if (!python || !acr_report_files_of_run(pull->spec->arguments[0], &files, error) ||
        !add_template(pull->spec, &files, error) || !add_changes(pull, &files))
        return false;
    g_autoptr(GBytes) made = acr_report_of_run(python, FORM, &files, error);
    pull->text = made ? acr_json_parse_bytes(made, error) : NULL;
    const char *fault = acr_json_get_string(pull->text, "error");
    return pull->text && (!fault || acr_task_refuse(error, "--template: %s", fault));
}

/* ---- Its branch, and where that goes ---- */

static bool make_branch(AcrPull *pull, AcrPullServer *server, GError **error)
{
    const AcrRunSpec *spec = pull->spec;
    if (!acr_branch_name_is_valid(spec->branch))
        return acr_task_refuse(error, "--branch: '%s' is not the name of a branch", spec->branch);
    g_autoptr(AcrOverlay) overlay = acr_origin_apply(&pull->origin, spec->repo, &pull->repo, error);
    if (!overlay ||
        (spec->push &&
         (!acr_repo_remote(pull->repo, spec->push, &pull->url, &pull->push_url, error) ||
          !acr_pull_check_address(pull, error))) ||
        (spec->open && !acr_pull_find_server(pull, server, error)))
        return false;
    return acr_branch_write(overlay, spec->branch, acr_json_get_string(pull->text, "message"),
                            spec->dry_run, &pull->branch, error);
}

static void add_branch(const AcrPull *pull, AcrJson *out)
{
    AcrJson *json = acr_json_new_object();
    const AcrBranch *branch = &pull->branch;
    acr_json_set_string(json, "ref", branch->ref);
    acr_json_set_string(json, "commit", *branch->commit ? branch->commit : NULL);
    acr_json_set_string(json, "tree", branch->tree);
    acr_json_set_string(json, "state",
                        branch->was_there     ? "was there"
                        : pull->spec->dry_run ? "planned"
                                              : "written");
    acr_json_set(out, "branch", json);
}

static bool push(AcrPull *pull, AcrJson *out, GError **error)
{
    bool is_new = false;
    g_autofree char *shown = acr_pull_shown_url(pull->push_url);
    if (!pull->spec->dry_run && !acr_pull_push(pull, &is_new, error))
        return false;
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "remote", pull->spec->push);
    acr_json_set_string(json, "url", shown);
    acr_json_set_string(json, "state",
                        pull->spec->dry_run ? "planned"
                        : is_new            ? "pushed"
                                            : "was there");
    acr_json_set(out, "push", json);
    return true;
}

/* What is done, as far as it came, is in `out`. */
static bool carry_out(AcrPull *pull, AcrJson *out, GError **error)
{
    g_auto(AcrPullServer) server = {0};
    const AcrRunSpec *spec = pull->spec;
    if (!spec->branch)
        return true;
    if (!make_branch(pull, &server, error))
        return false;
    add_branch(pull, out);
    if (spec->push && !push(pull, out, error))
        return false;
    AcrJson *request = spec->open ? acr_pull_open(pull, &server, error) : NULL;
    if (request)
        acr_json_set(out, "request", request);
    if (spec->dry_run)
        acr_json_set(out, "requests", acr_json_copy(pull->requests));
    return request || !spec->open;
}

/* ---- What is printed ---- */

static AcrJson *begin_json(const AcrPull *pull)
{
    static const char *const names[] = {"title", "body", "issue", "verdict", "files"};
    AcrJson *json = acr_json_new_object();
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        acr_json_set(json, names[i], acr_json_copy(acr_json_get(pull->text, names[i])));
    acr_json_set_string(json, "base_commit", pull->origin.commit);
    return json;
}

/* The title, the body, and in a dry run what would be done. */
static char *print_text(const AcrPull *pull, const AcrJson *out)
{
    GString *text = g_string_new(NULL);
    const AcrJson *sent = acr_json_get(out, "push");
    g_string_append_printf(text, "%s\n\n%s", acr_json_get_string(out, "title"),
                           acr_json_get_string(out, "body"));
    if (!pull->spec->dry_run)
        return g_string_free(text, FALSE);
    g_string_append(text, "\n---- dry run: nothing of this is done ----\n");
    if (pull->branch.ref)
        g_string_append_printf(text, "%s: %s with tree %s on commit %s\n", pull->branch.ref,
                               pull->branch.was_there ? "is there already," : "a commit",
                               pull->branch.tree, pull->origin.commit);
    if (sent)
        g_string_append_printf(text, "git push %s %s\n", acr_json_get_string(sent, "url"),
                               pull->branch.ref);
    g_autofree char *requests = acr_json_print_pretty(pull->requests);
    if (pull->spec->open)
        g_string_append(text, requests);
    return g_string_free(text, FALSE);
}

static void say_done(const AcrPull *pull, const AcrJson *out)
{
    const AcrJson *branch = acr_json_get(out, "branch"), *sent = acr_json_get(out, "push"),
                  *request = acr_json_get(out, "request");
    if (pull->spec->dry_run)
        return;
    if (branch)
        acr_verb_say("branch %s: %s, commit %s", pull->spec->branch,
                     acr_json_get_string(branch, "state"), pull->branch.commit);
    if (sent)
        acr_verb_say("push to %s: %s", pull->spec->push, acr_json_get_string(sent, "state"));
    const char *url = acr_json_get_string(request, "url");
    g_autofree char *shown = acr_text_shorten(url ? url : "without an address", MAX_SHOWN_URL);
    if (request)
        acr_verb_say("request: %s, %s", acr_json_get_string(request, "state"), shown);
}

static int run(AcrHost *host, AcrRunSpec *spec)
{
    if (g_strv_length(spec->arguments) != 1)
        return acr_verb_usage("give one run folder");
    g_auto(AcrPull) pull = {.host = host, .spec = spec, .requests = acr_json_new_array()};
    g_autoptr(GError) error = NULL;
    if (!acr_origin_read(spec->arguments[0], &pull.origin, &error) || !make_text(&pull, &error))
        return acr_verb_fail(host, error);
    g_autoptr(AcrJson) out = begin_json(&pull);
    bool ok = carry_out(&pull, out, &error);
    say_done(&pull, out);
    if (!ok)
        return acr_verb_fail(host, error);
    g_autofree char *text = spec->json ? NULL : print_text(&pull, out);
    return acr_out_exit(spec->json ? acr_out_json(out) : acr_out_text(text), ACR_EXIT_OK);
}

const AcrVerb acr_verb_pr = {
    .name = "pr",
    .summary = "Make a draft pull or merge request of a run, and on request open it",
    .takes = ACR_FOR_PR,
    .arguments = "OUT",
    .uses_network = true,
    .run = run,
};
