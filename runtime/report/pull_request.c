/* Prepares a draft pull or merge request from a run. Python makes its text from the run folder.
 * If options request it, acr-host creates a branch, pushes it and opens the request. */
#include <string.h>

#include "report/report_private.h"

#define MAX_TEMPLATE ((gsize)256 * 1024)
#define FORM "pull request" /* name of the format in python/acr/report/service.py */

static void pull_clear(AcrPull *pull)
{
    acr_origin_clear(&pull->origin);
    acr_json_free(pull->text);
    acr_repo_unref(pull->repo);
    acr_branch_clear(&pull->branch);
    ACR_FREE(pull->url, pull->push_url);
    acr_json_free(pull->requests);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrPull, pull_clear)

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

static bool make_text(AcrPull *pull, GError **error)
{
    g_auto(AcrReportFiles) more = {0};
    g_autoptr(AcrPython) python = acr_python_new(pull->host->python_dir, error);
    if (!python || !add_template(pull->spec, &more, error))
        return false;
    g_autoptr(GBytes) made =
        acr_report_of_run(python, pull->spec->arguments[0], FORM, &more, error);
    pull->text = made ? acr_json_parse_bytes(made, error) : NULL;
    const char *fault = acr_json_get_string(pull->text, "error");
    return pull->text && (!fault || acr_task_refuse(error, "--template: %s", fault));
}

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
    const char *message = acr_json_get_string(pull->text, "message");
    const char *trailer = acr_json_get_string(pull->text, "trailer");
    g_autofree char *whole =
        g_strconcat(message, spec->assisted_by == 0 && trailer ? trailer : "", NULL);
    return acr_branch_write(overlay, spec->branch, whole, spec->dry_run, &pull->branch, error);
}

static void add_branch(const AcrPull *pull, AcrJson *out)
{
    const AcrBranch *branch = &pull->branch;
    AcrJson *json = acr_json_of(ACR_STRING("ref", branch->ref),
                                ACR_STRING("commit", *branch->commit ? branch->commit : NULL),
                                ACR_STRING("tree", branch->tree),
                                ACR_STRING("state", branch->was_there     ? "was there"
                                                    : pull->spec->dry_run ? "planned"
                                                                          : "written"),
                                NULL);
    acr_json_set(out, "branch", json);
}

static bool push_branch(AcrPull *pull, AcrJson *out, GError **error)
{
    bool is_new = false;
    g_autofree char *shown = acr_pull_shown_url(pull->push_url);
    if (!pull->spec->dry_run && !acr_pull_push(pull, &is_new, error))
        return false;
    AcrJson *json = acr_json_of(ACR_STRING("remote", pull->spec->push), ACR_STRING("url", shown),
                                ACR_STRING("state", pull->spec->dry_run ? "planned"
                                                    : is_new            ? "pushed"
                                                                        : "was there"),
                                NULL);
    acr_json_set(out, "push", json);
    return true;
}

/* Performs the steps that the options request, and records each in `out`. */
static bool carry_out(AcrPull *pull, AcrJson *out, GError **error)
{
    g_auto(AcrPullServer) server = {0};
    const AcrRunSpec *spec = pull->spec;
    if (!spec->branch) {
        g_autoptr(GError) reason = NULL;
        g_autoptr(AcrOverlay) overlay =
            pull->origin.is_changed
                ? acr_origin_apply(&pull->origin, spec->repo, &pull->repo, &reason)
                : NULL;
        if (reason)
            acr_json_set_string(out, "warning", reason->message);
        return true;
    }
    if (!make_branch(pull, &server, error))
        return false;
    add_branch(pull, out);
    if (spec->push && !push_branch(pull, out, error))
        return false;
    AcrJson *request = spec->open ? acr_pull_open(pull, &server, error) : NULL;
    if (request)
        acr_json_set(out, "request", request);
    if (spec->dry_run)
        acr_json_set(out, "requests", acr_json_copy(pull->requests));
    return request || !spec->open;
}

static AcrJson *begin_json(const AcrPull *pull)
{
    static const char *const names[] = {"title", "body", "issue", "verdict", "files"};
    AcrJson *json = acr_json_new_object();
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        acr_json_set(json, names[i], acr_json_copy(acr_json_get(pull->text, names[i])));
    acr_json_set_string(json, "base_commit", pull->origin.commit);
    return json;
}

bool acr_pull_request(AcrHost *host, const AcrRunSpec *spec, AcrJson **out, GError **error)
{
    g_auto(AcrPull) pull = {.host = host, .spec = spec, .requests = acr_json_new_array()};
    if (!acr_origin_read(spec->arguments[0], &pull.origin, error) || !make_text(&pull, error))
        return false;
    *out = begin_json(&pull);
    return carry_out(&pull, *out, error);
}
