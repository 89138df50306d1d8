/* Resources: `acr-host://NAME/map`, the map of a repository, and `acr-host://NAME/file/PATH`, a
 * file in its current state, whose path is percent-encoded. Lists are sorted by repository and
 * path, and have pages. A cursor is the address of the last entry of a page, so a list continues
 * correctly even if files were added or removed. */
#include "serve/serve_private.h"

#include <string.h>

#define SCHEME "acr-host://"
#define MAP "map"
#define FILES "file/"
#define MAX_SHOWN 200u

/* Endings of file names with their media types. Other files are listed without a type. */
static const struct {
    const char *end, *mime;
} types[] = {
    {".py", "text/x-python"},      {".pyi", "text/x-python"},    {".md", "text/markdown"},
    {".rst", "text/x-rst"},        {".txt", "text/plain"},       {".json", "application/json"},
    {".toml", "application/toml"}, {".cfg", "text/plain"},       {".ini", "text/plain"},
    {".yaml", "application/yaml"}, {".yml", "application/yaml"}, {".html", "text/html"},
};

static const char *mime_of(const char *path)
{
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        if (g_str_has_suffix(path, types[i].end))
            return types[i].mime;
    return NULL;
}

typedef struct {
    int repository;
    char *path; /* owned; NULL if the address is the address of the map */
} Address;

static void address_clear(Address *address)
{
    g_free(address->path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Address, address_clear)

static char *address_print(const AcrServeRepositories *all, guint repository, const char *path)
{
    const char *name = acr_serve_repository_name(all, repository);
    if (!path)
        return g_strdup_printf(SCHEME "%s/" MAP, name);
    g_autofree char *escaped = g_uri_escape_string(path, "/", FALSE);
    return g_strdup_printf(SCHEME "%s/" FILES "%s", name, escaped);
}

static bool address_read(const AcrServeRepositories *all, const char *uri, Address *out)
{
    if (!g_str_has_prefix(uri, SCHEME))
        return false;
    const char *name = uri + strlen(SCHEME), *slash = strchr(name, '/');
    g_autofree char *only = slash ? g_strndup(name, (gsize)(slash - name)) : NULL;
    *out = (Address){.repository = only ? acr_serve_repository_find(all, only) : -1};
    if (out->repository < 0)
        return false;
    if (strcmp(slash + 1, MAP) == 0)
        return true;
    if (g_str_has_prefix(slash + 1, FILES))
        out->path = g_uri_unescape_string(slash + 1 + strlen(FILES), NULL);
    return out->path != NULL;
}

static AcrJson *resource_json(char *uri, const char *name, const char *mime)
{
    g_autofree char *address = uri, *text = acr_utf8_repair(name, strlen(name));
    return acr_json_of("uri", ACR_TEXT(address), "name", ACR_TEXT(text), "mimeType",
                       mime ? ACR_TEXT(mime) : NULL, NULL);
}

/* A page of a list while it is filled. */
typedef struct {
    const AcrServeRequest *request;
    AcrJson *resources; /* owned */
    guint n;
    char *last; /* owned; address of the last entry */
} Page;

static void page_add(Page *page, guint repository, const char *path)
{
    const AcrServeRepositories *all = page->request->repositories;
    g_autofree char *map = g_strdup_printf("map of %s", acr_serve_repository_name(all, repository));
    g_free(page->last);
    page->last = address_print(all, repository, path);
    acr_json_append(page->resources, resource_json(g_strdup(page->last), path ? path : map,
                                                   path ? mime_of(path) : "text/plain"));
    page->n++;
}

/* Adds the map and the files of a repository that come after `from` (NULL: all). Returns false if
 * the page is full. */
static bool page_add_files(Page *page, guint repository, const AcrSnapshot *snapshot,
                           const Address *from)
{
    if (!from && page->n == ACR_SERVE_PAGE)
        return false;
    if (!from)
        page_add(page, repository, NULL);
    for (gsize i = 0; i < acr_snapshot_size(snapshot); i++) {
        const AcrEntry *entry = acr_snapshot_entry(snapshot, i);
        if (entry->mode == ACR_MODE_LINK ||
            (from && from->path && strcmp(entry->path, from->path) <= 0))
            continue;
        if (page->n == ACR_SERVE_PAGE)
            return false;
        page_add(page, repository, entry->path);
    }
    return true;
}

static AcrJson *fail_resource(const AcrServeRequest *request, AcrServeFault *fault,
                              const GError *error)
{
    g_autofree char *why = acr_serve_told(request, error);
    return acr_serve_refuse(fault, ACR_SERVE_INTERNAL, "%s", why);
}

static bool view_of(const AcrServeRequest *request, guint repository, AcrServeView *out,
                    AcrServeFault *fault)
{
    g_autoptr(GError) error = NULL;
    if (acr_serve_repository_view(request->repositories, repository, request->since_us,
                                  request->interrupt, out, &error))
        return true;
    fail_resource(request, fault, error);
    return false;
}

AcrJson *acr_serve_resources_list(const AcrServeRequest *request, AcrServeFault *fault)
{
    const AcrJson *given = acr_json_get(request->message->params, "cursor");
    const char *cursor = acr_json_string(given);
    g_auto(Address) from = {0};
    AcrServeView view;
    if (given && (!cursor || !address_read(request->repositories, cursor, &from)))
        return acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS,
                                "the cursor does not belong to this list");
    g_autoptr(AcrJson) list = acr_json_new_array();
    Page page = {.request = request, .resources = list};
    bool is_all = true;
    guint n = acr_serve_repositories_n(request->repositories);
    for (guint i = cursor ? (guint)from.repository : 0; i < n && is_all && !fault->code; i++)
        if (view_of(request, i, &view, fault))
            is_all = page_add_files(&page, i, view.snapshot,
                                    cursor && i == (guint)from.repository ? &from : NULL);
    g_autofree char *last = page.last;
    if (fault->code)
        return NULL;
    AcrJson *result = acr_json_new_object();
    acr_json_set(result, "resources", g_steal_pointer(&list));
    if (!is_all)
        acr_json_set_string(result, "nextCursor", last);
    acr_serve_set_ttl(result, request->message, 0);
    return result;
}

AcrJson *acr_serve_templates_list(const AcrServeRequest *request, AcrServeFault *fault)
{
    if (!acr_serve_one_page(request->message, fault))
        return NULL;
    AcrJson *result = acr_json_new_object(), *templates = acr_json_new_array();
    for (guint i = 0; i < acr_serve_repositories_n(request->repositories); i++) {
        const char *name = acr_serve_repository_name(request->repositories, i);
        g_autofree char *uri = g_strdup_printf(SCHEME "%s/" FILES "{+path}", name),
                        *title = g_strdup_printf("a file of %s", name);
        acr_json_add(templates, ACR_STRING("uriTemplate", uri), ACR_STRING("name", title));
    }
    acr_json_set(result, "resourceTemplates", templates);
    acr_serve_set_ttl(result, request->message, ACR_SERVE_KEEP_MS);
    return result;
}

static AcrJson *no_resource(const AcrServeRequest *request, const char *uri, AcrServeFault *fault)
{
    g_autofree char *shown = acr_text_quote(uri, MAX_SHOWN);
    bool is_later = request->message->era == ACR_SERVE_STATELESS;
    fault->data = acr_json_new_object();
    acr_json_set_string(fault->data, "uri", uri);
    return acr_serve_refuse(fault, is_later ? ACR_SERVE_INVALID_PARAMS : ACR_SERVE_NO_RESOURCE,
                            "there is no resource %s", shown);
}

/* Returns the contents of a resource as JSON: as text if the bytes are UTF-8, otherwise as
 * base64. */
static AcrJson *contents_of(const char *uri, const char *mime, GBytes *bytes)
{
    gsize len;
    const void *data = g_bytes_get_data(bytes, &len);
    bool is_text = acr_utf8_is_text(data, len);
    g_autofree char *text = is_text ? g_strndup(data ? data : "", len) : g_base64_encode(data, len);
    AcrJson *contents = acr_json_of(ACR_STRING("uri", uri),
                                    ACR_STRING("mimeType", mime      ? mime
                                                           : is_text ? "text/plain"
                                                                     : "application/octet-stream"),
                                    NULL);
    acr_json_set_string(contents, is_text ? "text" : "blob", text);
    return contents;
}

static GBytes *read_resource(const AcrServeRequest *request, const AcrServeView *view, gsize entry,
                             AcrServeFault *fault)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = acr_snapshot_read(view->snapshot, entry, &error);
    if (!bytes) {
        fail_resource(request, fault, error);
        return NULL;
    }
    if (g_bytes_get_size(bytes) <= ACR_SERVE_MAX_RESOURCE)
        return g_steal_pointer(&bytes);
    acr_serve_refuse(
        fault, ACR_SERVE_INVALID_PARAMS,
        "the file has %" G_GSIZE_FORMAT
        " bytes, but a resource may have at most %u; get_code_around_line shows parts of the file",
        g_bytes_get_size(bytes), ACR_SERVE_MAX_RESOURCE);
    return NULL;
}

static GBytes *read_address(const AcrServeRequest *request, const Address *address, const char *uri,
                            AcrServeFault *fault)
{
    AcrServeView view;
    if (!view_of(request, (guint)address->repository, &view, fault))
        return NULL;
    if (!address->path) {
        char *map = acr_search_map(view.index);
        return g_bytes_new_take(map, strlen(map));
    }
    gssize entry = acr_snapshot_find(view.snapshot, address->path);
    if (entry >= 0 && acr_snapshot_entry(view.snapshot, (gsize)entry)->mode != ACR_MODE_LINK)
        return read_resource(request, &view, (gsize)entry, fault);
    no_resource(request, uri, fault);
    return NULL;
}

AcrJson *acr_serve_resources_read(const AcrServeRequest *request, AcrServeFault *fault)
{
    const char *uri = acr_serve_param(request->message, "uri", fault);
    g_auto(Address) address = {0};
    if (!uri)
        return NULL;
    if (!address_read(request->repositories, uri, &address))
        return no_resource(request, uri, fault);
    g_autoptr(GBytes) bytes = read_address(request, &address, uri, fault);
    if (!bytes)
        return NULL;
    AcrJson *result = acr_json_new_object(), *list = acr_json_new_array();
    const char *mime = address.path ? mime_of(address.path) : "text/plain";
    acr_json_append(list, contents_of(uri, mime, bytes));
    acr_json_set(result, "contents", list);
    acr_serve_set_ttl(result, request->message, 0);
    return result;
}
