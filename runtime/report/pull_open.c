/* Opens a draft request through the API of GitHub, GitLab or Gitea: gets the default branch,
 * looks for an open request from our branch, and opens one if there is none. The token is sent
 * only to the public server that issued it, or to the server that --api-url names; redirects are
 * not followed. */
#include <string.h>

#include "http/http.h"
#include "report/report_private.h"

#define TIMEOUT_MS 60000
#define MAX_ANSWER ((gsize)16 * 1024 * 1024)
/* maximum number of pages of open requests that are read, if the server cannot search by branch */
#define MAX_PAGES 20

/* The differences between the servers' APIs. */
typedef struct PullDialect {
    AcrForgeKind kind;
    /* path, after the project, of the open requests; the branch or page number follows */
    const char *list;
    /* number of rows on a page; 0 if there is only one page */
    guint page;
    const char *open;                       /* path, after the project, for opening a request */
    const char *head, *base, *title, *text; /* names of members of a new request */
    const char *draft;         /* prefix of a draft's title; NULL if the member "draft" marks it */
    const char *link, *number; /* names of members of an answer */
    const char *headers[3];
} PullDialect;

// clang-format off
static const PullDialect dialects[] = {
    [ACR_FORGE_GITHUB] = {ACR_FORGE_GITHUB, "/pulls?state=open&per_page=100&head=", 0, "/pulls",
                          "head", "base", "title", "body", NULL, "html_url", "number",
                          {"Accept: application/vnd.github+json", "X-GitHub-Api-Version: 2022-11-28"}},
    [ACR_FORGE_GITLAB] = {ACR_FORGE_GITLAB, "/merge_requests?state=opened&per_page=100&source_branch=", 0,
                          "/merge_requests", "source_branch", "target_branch", "title", "description",
                          "Draft: ", "web_url", "iid", {"Accept: application/json"}},
    [ACR_FORGE_GITEA] = {ACR_FORGE_GITEA, "/pulls?state=open&limit=50&page=", 50, "/pulls",
                         "head", "base", "title", "body", "WIP: ", "html_url", "number",
                         {"Accept: application/json"}},
};
// clang-format on

void acr_pull_server_clear(AcrPullServer *server)
{
    ACR_FREE(server->project, server->api, server->host, server->key);
}

/* Splits a remote's address into host and path: "https://host/owner/name.git",
 * "ssh://git@host:22/…", "git@host:owner/name". Owned. Returns false if there is no host. */
static bool split_remote(const char *url, char **out_host, char **out_path)
{
    gsize before = strcspn(url, "/");
    const char *colon = memchr(url, ':', before);
    if (strstr(url, "://")) {
        g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
        *out_host = uri ? g_strdup(g_uri_get_host(uri)) : NULL;
        *out_path = uri ? g_strdup(g_uri_get_path(uri)) : NULL;
    } else if (colon) {
        const char *at = memchr(url, '@', (gsize)(colon - url));
        *out_host = g_strndup(at ? at + 1 : url, (gsize)(colon - (at ? at + 1 : url)));
        *out_path = g_strdup(colon + 1);
    }
    return *out_host && **out_host;
}

/* Returns the project "owner/name" (or with more parts) in a path; owned; NULL if the path has no
 * such form. */
static char *project_of(const char *path)
{
    const char *begin = path + strspn(path, "/");
    g_autofree char *project = g_strdup(begin);
    while (g_str_has_suffix(project, "/"))
        project[strlen(project) - 1] = '\0';
    if (g_str_has_suffix(project, ".git"))
        project[strlen(project) - strlen(".git")] = '\0';
    g_auto(GStrv) parts = g_strsplit(project, "/", -1);
    guint n = g_strv_length(parts);
    for (guint i = 0; i < n; i++)
        if (!parts[i][strspn(parts[i], ".")] || /* rejects "", "." and ".." */
            parts[i][strspn(parts[i], G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._~+-")])
            return NULL;
    return n >= 2 ? g_steal_pointer(&project) : NULL;
}

static const AcrForge *find_forge(const AcrPull *pull, const char *host)
{
    if (pull->spec->forge != ACR_UNSET)
        return &acr_forges[pull->spec->forge];
    for (guint i = 0; i < acr_n_forges; i++)
        if (g_ascii_strcasecmp(host, acr_forges[i].host) == 0)
            return &acr_forges[i];
    return NULL;
}

static bool check_api(const char *api, GError **error)
{
    g_autofree char *authority = acr_http_url_authority(api);
    bool is_safe = g_str_has_prefix(api, "https://") ||
                   (g_str_has_prefix(api, "http://") && acr_http_url_is_loopback(api));
    return (authority && is_safe && !strpbrk(api, "?#@")) ||
           acr_task_refuse(error, "--api-url must be like https://HOST/api/v4");
}

bool acr_pull_find_server(const AcrPull *pull, AcrPullServer *out, GError **error)
{
    g_auto(AcrPullServer) server = {0};
    g_autofree char *host = NULL, *path = NULL, *shown = acr_pull_shown_url(pull->url);
    bool has_host = split_remote(pull->url, &host, &path);
    server.project = has_host ? project_of(path) : NULL;
    if (!server.project)
        return acr_task_refuse(error, "--open: the remote '%s' (%s) is not a project on a forge",
                               pull->spec->push, shown);
    const AcrForge *forge = find_forge(pull, host);
    const char *api = pull->spec->api_url;
    if (forge && !api && g_ascii_strcasecmp(host, forge->host) == 0)
        api = forge->api;
    if (!forge || !api)
        return acr_task_refuse(
            error,
            "--open: '%s' is not github.com, gitlab.com or gitea.com; give --forge and --api-url",
            host);
    if (!check_api(api, error))
        return false;
    server.dialect = &dialects[forge - acr_forges];
    server.api = acr_forge_project(forge, api, server.project);
    server.host = acr_http_url_authority(api);
    server.key = acr_forge_authorisation(forge);
    if (!server.key && !pull->spec->dry_run)
        return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                             "--open: set %s to a token for %s", forge->variables[0], server.host);
    *out = server;
    memset(&server, 0, sizeof server);
    return true;
}

/* Records a request instead of sending it, in a dry run. */
static void note(AcrPull *pull, const AcrPullServer *server, const char *url, const AcrJson *body)
{
    const PullDialect *dialect = server->dialect;
    AcrJson *headers = acr_json_new_array();
    g_autofree char *key = g_strconcat(acr_forges[dialect->kind].header, "(token)", NULL);
    AcrJson *request =
        acr_json_of(ACR_STRING("method", body ? "POST" : "GET"), ACR_STRING("url", url), NULL);
    for (guint i = 0; dialect->headers[i]; i++)
        acr_json_append(headers, acr_json_new_string(dialect->headers[i]));
    acr_json_append(headers, acr_json_new_string(key));
    if (body)
        acr_json_append(headers, acr_json_new_string("Content-Type: application/json"));
    acr_json_set(request, "headers", headers);
    acr_json_set(request, "body", body ? acr_json_copy(body) : acr_json_new_null());
    acr_json_append(pull->requests, request);
}

/* Returns the reason in a server's error; owned. "message" is a string (on GitLab sometimes an
 * array). */
static char *refusal_text(const AcrJson *answer)
{
    const AcrJson *message = acr_json_get(answer, "message");
    const char *text = acr_json_string(message);
    const char *more =
        acr_json_get_string(acr_json_first(acr_json_get(answer, "errors")), "message");
    g_autofree char *printed = message && !text ? acr_json_print(message) : NULL;
    g_autofree char *whole = g_strconcat(text      ? text
                                         : printed ? printed
                                                   : "no reason is given",
                                         more ? ": " : NULL, more, NULL);
    return acr_text_shorten(whole, 400);
}

static bool refuse_status(const AcrPullServer *server, int status, const AcrJson *answer,
                          GError **error)
{
    g_autofree char *why = refusal_text(answer);
    const char *variable = acr_forges[server->dialect->kind].variables[0];
    bool is_access = status == 401 || status == 403 || status == 404;
    bool is_draft = status == 422 && strcasestr(why, "draft");
    g_autofree char *hint =
        is_access  ? g_strdup_printf(" (check what the token in %s may access)", variable)
        : is_draft ? g_strdup("; the branch is pushed: rerun with --no-draft")
                   : NULL;
    return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                         "%s answered with status %d: %s%s", server->host, status,
                         status >= 300 && status < 400 ? "its API has moved; correct --api-url"
                                                       : why,
                         hint ? hint : "");
}

/* Sends a GET, or a POST of `body`, and returns the JSON of the answer; owned. */
static AcrJson *ask_server(const AcrPull *pull, const AcrPullServer *server, const char *url,
                           const AcrJson *body, GError **error)
{
    const char *headers[8] = {"User-Agent: acr-host", server->key};
    guint n = 2;
    for (guint i = 0; server->dialect->headers[i]; i++)
        headers[n++] = server->dialect->headers[i];
    if (body)
        headers[n++] = "Content-Type: application/json";
    g_autofree char *sent = body ? acr_json_print(body) : NULL;
    AcrHttpRequest request = {.url = url,
                              .headers = headers,
                              .body = sent,
                              .body_len = sent ? strlen(sent) : 0,
                              .total_timeout_ms = TIMEOUT_MS,
                              .body_limit = MAX_ANSWER,
                              .interrupt = pull->host->interrupt};
    g_auto(AcrHttpResponse) response = {0};
    if (!acr_http_exchange(NULL, &request, &response, error))
        return NULL;
    g_autoptr(AcrJson) answer = acr_json_parse_bytes(response.body, NULL);
    if (response.status != (body ? 201 : 200))
        return ACR_NULL(refuse_status(server, response.status, answer, error));
    if (!answer)
        return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                                      "the response of %s is not JSON", server->host));
    return g_steal_pointer(&answer);
}

static char *find_base_branch(AcrPull *pull, const AcrPullServer *server, GError **error)
{
    if (pull->spec->base)
        return g_strdup(pull->spec->base);
    if (pull->spec->dry_run) {
        note(pull, server, server->api, NULL);
        return g_strdup("(the default branch)");
    }
    g_autoptr(AcrJson) project = ask_server(pull, server, server->api, NULL, error);
    const char *name = acr_json_get_string(project, "default_branch");
    if (project && !name)
        acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                      "%s states no default branch; give --base", server->host);
    return g_strdup(name);
}

/* True if an open request is from our branch in the project itself, not from a fork. */
static bool is_ours(const PullDialect *dialect, const AcrJson *row, const char *branch)
{
    if (dialect->kind == ACR_FORGE_GITLAB)
        return g_strcmp0(acr_json_get_string(row, "source_branch"), branch) == 0 &&
               acr_json_get_int(row, "source_project_id", 0) ==
                   acr_json_get_int(row, "target_project_id", 0);
    const AcrJson *head = acr_json_get(row, "head"), *base = acr_json_get(row, "base");
    return g_strcmp0(acr_json_get_string(head, "ref"), branch) == 0 &&
           acr_json_get_int(acr_json_get(head, "repo"), "id", 0) ==
               acr_json_get_int(acr_json_get(base, "repo"), "id", 0);
}

static char *list_url(const AcrPull *pull, const AcrPullServer *server, guint page)
{
    const PullDialect *dialect = server->dialect;
    if (dialect->page)
        return g_strdup_printf("%s%s%u", server->api, dialect->list, page);
    g_autofree char *owner = g_strndup(server->project, strcspn(server->project, "/"));
    g_autofree char *branch = g_uri_escape_string(pull->spec->branch, NULL, false);
    g_autofree char *name = g_uri_escape_string(owner, NULL, false);
    return dialect->kind == ACR_FORGE_GITHUB
               ? g_strdup_printf("%s%s%s:%s", server->api, dialect->list, name, branch)
               : g_strconcat(server->api, dialect->list, branch, NULL);
}

static AcrJson *describe_request(const PullDialect *dialect, const AcrJson *answer,
                                 const char *state)
{
    return acr_json_of(ACR_STRING("url", acr_json_get_string(answer, dialect->link)),
                       ACR_INT("number", acr_json_get_int(answer, dialect->number, 0)),
                       ACR_STRING("state", state), NULL);
}

static bool find_open(AcrPull *pull, const AcrPullServer *server, AcrJson **out, GError **error)
{
    const PullDialect *dialect = server->dialect;
    gsize rows = G_MAXSIZE;
    for (guint page = 1; page <= MAX_PAGES && rows >= MAX(dialect->page, 1u); page++) {
        g_autofree char *url = list_url(pull, server, page);
        if (pull->spec->dry_run) {
            note(pull, server, url, NULL);
            return true;
        }
        g_autoptr(AcrJson) list = ask_server(pull, server, url, NULL, error);
        if (!list)
            return false;
        for (const AcrJson *row = acr_json_first(list); row; row = acr_json_next(row))
            if (is_ours(dialect, row, pull->spec->branch)) {
                *out = describe_request(dialect, row, "was open");
                return true;
            }
        rows = dialect->page ? acr_json_size(list) : 0;
    }
    return true;
}

static AcrJson *make_body(const AcrPull *pull, const PullDialect *dialect, const char *base)
{
    AcrJson *body = acr_json_new_object();
    bool is_draft = !pull->spec->no_draft;
    g_autofree char *title = g_strconcat(dialect->draft && is_draft ? dialect->draft : "",
                                         acr_json_get_string(pull->text, "title"), NULL);
    acr_json_set_string(body, dialect->title, title);
    acr_json_set_string(body, dialect->head, pull->spec->branch);
    acr_json_set_string(body, dialect->base, base);
    acr_json_set_string(body, dialect->text, acr_json_get_string(pull->text, "body"));
    if (!dialect->draft)
        acr_json_set_bool(body, "draft", is_draft);
    return body;
}

AcrJson *acr_pull_open(AcrPull *pull, const AcrPullServer *server, GError **error)
{
    const PullDialect *dialect = server->dialect;
    g_autoptr(AcrJson) found = NULL;
    g_autofree char *base = find_base_branch(pull, server, error),
                    *url = g_strconcat(server->api, dialect->open, NULL);
    if (!base || !find_open(pull, server, &found, error))
        return NULL;
    if (found)
        return g_steal_pointer(&found);
    g_autoptr(AcrJson) body = make_body(pull, dialect, base);
    if (pull->spec->dry_run) {
        note(pull, server, url, body);
        return describe_request(dialect, NULL, "planned");
    }
    g_autoptr(AcrJson) answer = ask_server(pull, server, url, body, error);
    return answer ? describe_request(dialect, answer, "opened") : NULL;
}
