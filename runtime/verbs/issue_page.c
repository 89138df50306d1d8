/* Reads an issue (title, text and comments) from its URL on GitHub or GitLab, or on a server
 * with the same API. A token is sent only to the public server that issued it, or to the server
 * that --issue-api names. */
#include "verbs/verbs_private.h"

#include <string.h>

#include "http/http.h"
#include "report/report.h"

#define PAGE 100      /* number of comments in one answer, the maximum of both servers */
#define MAX_PAGES 100 /* maximum number of pages of comments to read */
#define TIMEOUT_MS 60000
#define MAX_MOVES 3

/* The differences between the servers' APIs. */
typedef struct {
    AcrForgeKind kind;
    const char *api_path; /* path of the API on the user's own server */
    /* path of the comments, between the issue's address and the page number */
    const char *comments;
    const char *text, *author, *handle;
} Dialect;

// clang-format off
static const Dialect dialects[] = {
    {ACR_FORGE_GITLAB, "/api/v4", "/notes?sort=asc&order_by=created_at&per_page=100&page=",
     "description", "author", "username"},
    {ACR_FORGE_GITHUB, "/api/v3", "/comments?per_page=100&page=", "body", "user", "login"},
};
// clang-format on

/* The parts of an issue's address. Strings are owned. */
typedef struct {
    const Dialect *dialect;
    char *api;       /* URL of the issue in the API */
    char *host;      /* name of the server, for messages */
    bool is_trusted; /* the user's token is meant for this host */
    guint moves;
} Page;

static void page_clear(Page *page)
{
    ACR_FREE(page->api, page->host);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Page, page_clear)

bool acr_issue_is_page(const char *text)
{
    return g_str_has_prefix(text, "https://") || g_str_has_prefix(text, "http://");
}

/* Finds the dialect, project and number in a URL. Accepts URLs of pages (also GitLab's work items
 * and old form) and of APIs. */
static const Dialect *find_dialect(const char *host, const char *path, char **out_project,
                                   char **out_number)
{
    static const char *const apis[] = {"/api/v4/projects/", "/api/v3/repos/", "/repos/"};
    static const char *const marks[] = {"/-/issues/", "/-/work_items/", "/issues/"};
    bool is_gitlab = strcasestr(host, "gitlab") != NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(apis); i++)
        if (g_str_has_prefix(path, apis[i]) && (i < 2 || g_str_has_prefix(host, "api."))) {
            path += strlen(apis[i]) - 1;
            is_gitlab = i == 0;
        }
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++) {
        const char *mark = strstr(path, marks[i]);
        gsize digits = mark ? strspn(mark + strlen(marks[i]), G_CSET_DIGITS) : 0;
        const char *end = mark ? mark + strlen(marks[i]) + digits : "";
        if (digits == 0 || strchr("/", *end) == NULL || mark == path)
            continue;
        *out_project = g_strndup(path + 1, (gsize)(mark - path - 1));
        *out_number = g_strndup(end - digits, digits);
        return &dialects[is_gitlab || i < 2 ? 0 : 1];
    }
    return NULL;
}

static bool read_page(const char *text, const char *api, Page *out, GError **error)
{
    g_autoptr(GUri) uri = g_uri_parse(text, G_URI_FLAGS_NONE, NULL);
    g_autofree char *project = NULL, *number = NULL, *authority = NULL;
    const char *host = uri ? g_uri_get_host(uri) : NULL;
    out->dialect = host ? find_dialect(host, g_uri_get_path(uri), &project, &number) : NULL;
    if (!out->dialect || g_uri_get_userinfo(uri))
        return acr_task_refuse(
            error,
            "'%s' is not the address of an issue; give one such as "
            "https://github.com/OWNER/NAME/issues/1 or https://gitlab.com/GROUP/NAME/-/issues/1",
            text);
    const AcrForge *forge = &acr_forges[out->dialect->kind];
    bool is_named = g_ascii_strcasecmp(host, forge->host) == 0 ||
                    g_ascii_strcasecmp(host, "api.github.com") == 0;
    bool is_public =
        is_named && g_uri_get_port(uri) == -1 && g_str_equal(g_uri_get_scheme(uri), "https");
    authority = acr_http_url_authority(text);
    g_autofree char *own =
        g_strdup_printf("%s://%s%s", g_uri_get_scheme(uri), authority, out->dialect->api_path);
    const char *base = api ? api : is_public ? forge->api : own;
    g_autofree char *place = acr_forge_project(forge, base, project);
    out->api = g_strdup_printf("%s/issues/%s", place, number);
    out->host = acr_http_url_authority(base);
    out->is_trusted = api || is_public;
    return out->host || acr_task_refuse(error, "--issue-api must be an http or https URL");
}

/* ---- Requests ---- */

static bool refuse_status(const Page *page, int status, GError **error)
{
    const char *why = status == 404 || status == 410
                          ? "the issue does not exist, or it is not public"
                      : status == 401 || status == 403 || status == 429
                          ? "the server refuses access; set a token, or try again later"
                      : status >= 300 && status < 400 ? "the issue has moved; give its new address"
                                                      : "the server failed";
    return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                         "%s answered with status %d: %s (%s%s%s)", page->host, status, why,
                         "token: ", acr_forges[page->dialect->kind].variables[0],
                         page->is_trusted ? "" : ", sent only with --issue-api");
}

/* Returns the redirected URL of a renamed repository, if it is on the same server; owned. */
static char *moved_to(const char *url, const AcrHttpResponse *response)
{
    const char *place = acr_http_header(response->headers, "location");
    gsize origin = (gsize)(strchr(strstr(url, "://") + 3, '/') - url);
    if (response->status < 300 || response->status >= 400 || !place)
        return NULL;
    if (*place == '/' && place[1] != '/')
        return g_strdup_printf("%.*s%s", (int)origin, url, place);
    return strncmp(place, url, origin + 1) == 0 ? g_strdup(place) : NULL;
}

static AcrJson *ask_forge(Page *page, const char *behind, const AcrInterrupt *interrupt,
                          GError **error)
{
    const AcrForge *forge = &acr_forges[page->dialect->kind];
    g_autofree char *url = g_strconcat(page->api, behind, NULL);
    g_autofree char *key = page->is_trusted ? acr_forge_authorisation(forge) : NULL;
    const char *const headers[] = {"Accept: application/json", "User-Agent: acr-host", key, NULL};
    AcrHttpRequest request = {.url = url,
                              .headers = headers,
                              .total_timeout_ms = TIMEOUT_MS,
                              .body_limit = ACR_ISSUE_MAX_BYTES,
                              .interrupt = interrupt};
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) reason = NULL;
    if (!acr_http_exchange(NULL, &request, &response, &reason))
        return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT, "%s",
                                      reason->message));
    g_autofree char *place = page->moves < MAX_MOVES ? moved_to(url, &response) : NULL;
    if (place && g_str_has_suffix(place, behind)) {
        page->moves++;
        g_free(page->api);
        page->api = g_strndup(place, strlen(place) - strlen(behind));
        return ask_forge(page, behind, interrupt, error);
    }
    if (response.status != 200)
        return ACR_NULL(refuse_status(page, response.status, error));
    AcrJson *json = acr_json_parse_bytes(response.body, &reason);
    if (!json)
        acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                      "%s does not answer like an issue server: %s", page->host, reason->message);
    return json;
}

/* ---- The text ---- */

static void add_page_text(GString *text, const char *more)
{
    const char *body = more ? more : "";
    g_string_append(text, body);
    if (*body && body[strlen(body) - 1] != '\n')
        g_string_append_c(text, '\n');
}

/* Adds a person's comment, if it was made before `before` (a day or time; NULL: always). All times
 * have the same form (UTC), so they are compared as strings. */
static void add_comment(const Dialect *dialect, const AcrJson *comment, const char *before,
                        GString *text)
{
    const char *when = acr_json_get_string(comment, "created_at");
    const AcrJson *author = acr_json_get(comment, dialect->author);
    const char *name = acr_json_get_string(author, dialect->handle);
    if (acr_json_get_bool(comment, "system", false) ||
        (before && (!when || strcmp(when, before) >= 0)))
        return;
    g_string_append_printf(text, "\n---\nComment by %s, %s:\n\n", name ? name : "?",
                           when ? when : "?");
    add_page_text(text, acr_json_get_string(comment, "body"));
}

static bool add_comments(Page *page, const char *before, const AcrInterrupt *interrupt,
                         GString *text, GError **error)
{
    for (int number = 1; number <= MAX_PAGES; number++) {
        g_autofree char *behind = g_strdup_printf("%s%d", page->dialect->comments, number);
        g_autoptr(AcrJson) comments = ask_forge(page, behind, interrupt, error);
        if (!comments)
            return false;
        for (const AcrJson *at = acr_json_first(comments); at; at = acr_json_next(at))
            add_comment(page->dialect, at, before, text);
        if (acr_json_size(comments) < PAGE || text->len > ACR_ISSUE_MAX_BYTES)
            break;
    }
    return text->len <= ACR_ISSUE_MAX_BYTES ||
           acr_task_refuse(error, "the issue is longer than %u bytes", ACR_ISSUE_MAX_BYTES);
}

static bool is_date(const char *text)
{
    g_autofree char *whole = strlen(text) == strlen("2024-05-31")
                                 ? g_strconcat(text, "T00:00:00Z", NULL)
                                 : g_strdup(text);
    g_autoptr(GDateTime) date = g_date_time_new_from_iso8601(whole, NULL);
    return date && strlen(whole) == strlen("2024-05-31T00:00:00Z") && g_str_has_suffix(whole, "Z");
}

GBytes *acr_issue_page_read(const AcrRunSpec *spec, const AcrInterrupt *interrupt, GError **error)
{
    g_auto(Page) page = {0};
    if (spec->issue_before && !is_date(spec->issue_before))
        return ACR_NULL(acr_task_refuse(
            error, "--issue-before must be like 2024-05-31 or 2024-05-31T16:00:00Z, not '%s'",
            spec->issue_before));
    if (!read_page(spec->issue_file, spec->issue_api, &page, error))
        return NULL;
    g_autoptr(AcrJson) issue = ask_forge(&page, "", interrupt, error);
    const char *title = acr_json_get_string(issue, "title");
    if (!issue)
        return NULL;
    if (!title)
        return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                                      "%s does not answer like an issue server: no title",
                                      page.host));
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "# %s\n\n", title);
    add_page_text(text, acr_json_get_string(issue, page.dialect->text));
    if (add_comments(&page, spec->issue_before, interrupt, text, error))
        return g_string_free_to_bytes(text);
    g_string_free(text, TRUE);
    return NULL;
}
