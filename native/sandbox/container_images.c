/* Pulls, builds and removes images. An engine sends status 200 before it starts to pull or build,
 * and then reports its progress in lines of JSON. Only these lines tell whether the pull or build
 * succeeded. */
#include "sandbox/container_engine_private.h"
#include "sandbox/container_images.h"

#include <string.h>
#include <sys/statvfs.h>

/* maximum time without output; a pull or build that is silent for longer fails */
#define SILENCE_MS ((gint64)900 * 1000)
#define WORK_MS ((gint64)4 * 3600 * 1000)
#define MAX_LINE_BYTES ((gsize)256 * 1024)
#define MAX_CONTEXT_BYTES ((gsize)1024 * 1024 * 1024)

struct AcrImages {
    AcrEngine *engine;
};

AcrImages *acr_images_open(const AcrInterrupt *interrupt, GError **error)
{
    AcrEngine *engine = acr_engine_open(interrupt, error);
    if (!engine)
        return NULL;
    acr_engine_sweep(engine);
    AcrImages *images = g_new0(AcrImages, 1);
    images->engine = engine;
    return images;
}

void acr_images_free(AcrImages *images)
{
    if (!images)
        return;
    acr_engine_free(images->engine);
    g_free(images);
}

bool acr_images_have(AcrImages *images, const char *name)
{
    return acr_engine_has_image(images->engine, name);
}

char **acr_images_list(AcrImages *images)
{
    g_autoptr(GError) reason = NULL;
    g_auto(AcrEngineAnswer) answer = {0};
    if (!acr_engine_call(images->engine, &(AcrEngineCall){.method = "GET", .path = "/images/json"},
                         &answer, &reason) ||
        answer.status != 200)
        return NULL;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const AcrJson *at = acr_json_first(answer.json); at; at = acr_json_next(at)) {
        const AcrJson *tags = acr_json_get(at, "RepoTags");
        for (const AcrJson *tag = acr_json_first(tags); tag; tag = acr_json_next(tag))
            g_ptr_array_add(names, g_strdup(acr_json_string(tag)));
    }
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_steal(names, NULL);
}

typedef struct {
    GString *line;
    bool is_too_long; /* the rest of the line is skipped */
    int status;
    char *message; /* owned; why the pull or build failed; NULL if no error was reported */
} Telling;

static void take_progress_line(Telling *telling)
{
    g_autoptr(AcrJson) json = acr_json_parse(telling->line->str, telling->line->len, NULL);
    const char *error = acr_json_get_string(json, "error");
    if (!error)
        error = telling->status < 200 || telling->status > 299
                    ? acr_json_get_string(json, "message")
                    : NULL;
    if (error && !telling->message)
        telling->message = g_strdup(error);
    g_string_truncate(telling->line, 0);
    telling->is_too_long = false;
}

static AcrHttpNext on_pull_body(void *ctx, const AcrHttpHead *head, const char *data, gsize len)
{
    Telling *telling = ctx;
    telling->status = head->status;
    for (gsize i = 0; i < len; i++) {
        telling->is_too_long |= telling->line->len >= MAX_LINE_BYTES;
        if (data[i] == '\n')
            take_progress_line(telling);
        else if (!telling->is_too_long)
            g_string_append_c(telling->line, data[i]);
    }
    return ACR_HTTP_MORE;
}

static bool is_disk_full(const char *message)
{
    g_autofree char *text = g_ascii_strdown(message, -1);
    return strstr(text, "no space left on device") || strstr(text, "disk quota exceeded");
}

/* Returns true if the pull or build succeeded. `what` names it in the error message: "pull the
 * image 'x'". */
static bool judge_pull(const Telling *telling, const char *what, GError **error)
{
    if (!telling->message && telling->status / 100 == 2)
        return true;
    g_autofree char *message =
        acr_text_shorten(telling->message ? telling->message : "no reason is given", 1000);
    for (char *c = message; *c; c++)
        if (g_ascii_iscntrl(*c))
            *c = ' ';
    return acr_sandbox_fail(
        error, is_disk_full(message) ? ACR_SANDBOX_ERROR_NO_SPACE : ACR_SANDBOX_ERROR_FAILED,
        "the container engine cannot %s: %s", what, g_strchomp(message));
}

static bool work(AcrEngine *engine, const char *path, GBytes *tar, const char *what, GError **error)
{
    g_autoptr(GString) line = g_string_new(NULL);
    Telling telling = {.line = line};
    g_autofree char *url = g_strconcat(engine->api, path, NULL);
    static const char *const headers[] = {"Content-Type: application/x-tar", NULL};
    gsize len = 0;
    AcrHttpRequest request = {
        .method = "POST",
        .url = url,
        .unix_socket = engine->socket,
        .headers = tar ? headers : NULL,
        .body = tar ? g_bytes_get_data(tar, &len) : "",
        .total_timeout_ms = WORK_MS,
        .idle_timeout_ms = SILENCE_MS,
        .body_limit = G_MAXSSIZE,
        .on_body = on_pull_body,
        .on_body_ctx = &telling,
        .interrupt = engine->interrupt,
    };
    request.body_len = len;
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) reason = NULL;
    bool ok = acr_http_exchange(NULL, &request, &response, &reason);
    telling.status = response.status;
    take_progress_line(&telling);
    g_autofree char *message = telling.message;
    if (ok || message)
        return judge_pull(&telling, what, error);
    bool is_interrupt = g_error_matches(reason, ACR_HTTP_ERROR, ACR_HTTP_ERROR_INTERRUPTED);
    return acr_sandbox_fail(
        error, is_interrupt ? ACR_SANDBOX_ERROR_INTERRUPTED : ACR_SANDBOX_ERROR_UNAVAILABLE,
        "the container engine cannot %s: %s", what, reason->message);
}

/* Returns the tag or digest in an image name, with its separator; NULL if there is none. A pull
 * without a tag would pull all tags. */
static const char *tag_of(const char *name)
{
    const char *digest = strchr(name, '@'), *slash = strrchr(name, '/');
    return digest ? digest : strchr(slash ? slash : name, ':');
}

bool acr_images_pull(AcrImages *images, const char *name, GError **error)
{
    const char *tag = tag_of(name);
    g_autofree char *repository = g_strndup(name, tag ? (gsize)(tag - name) : strlen(name)),
                    *from = g_uri_escape_string(repository, NULL, FALSE),
                    *which = g_uri_escape_string(tag ? tag + 1 : "latest", NULL, FALSE),
                    *path = g_strdup_printf("/images/create?fromImage=%s&tag=%s", from, which),
                    *what = g_strdup_printf("pull the image '%s'", name);
    if (!work(images->engine, path, NULL, what, error))
        return false;
    /* check that the image exists, because an interrupted transfer may look complete */
    return acr_images_have(images, name) ||
           acr_sandbox_fail(
               error, ACR_SANDBOX_ERROR_FAILED,
               "the container engine cannot %s: the pull succeeded, but the image is missing",
               what);
}

static GBytes *pack(const char *folder, const AcrInterrupt *interrupt, GError **error)
{
    const char *const argv[] = {"tar", "-cf", "-", "-C", folder, ".", NULL};
    AcrSpawn spawn = {.argv = argv,
                      .timeout_ms = SILENCE_MS,
                      .output_limit = MAX_CONTEXT_BYTES,
                      .flood_limit = MAX_CONTEXT_BYTES,
                      .interrupt = interrupt};
    g_auto(AcrSpawnResult) spawned = {0};
    g_autoptr(GError) reason = NULL;
    bool ok = acr_spawn_run(&spawn, &spawned, &reason);
    if (ok && spawned.exit_code == 0 && spawned.out_total <= MAX_CONTEXT_BYTES)
        return g_bytes_ref(spawned.out);
    if (ok && spawned.interrupted)
        return ACR_NULL(acr_sandbox_fail(error, ACR_SANDBOX_ERROR_INTERRUPTED, "interrupted"));
    return ACR_NULL(acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                                     "the folder '%s' cannot be packed: %s", folder,
                                     !ok               ? reason->message
                                     : spawned.flooded ? "the folder is larger than 1 GiB"
                                                       : "tar fails"));
}

bool acr_images_build(AcrImages *images, const char *name, const char *folder, GError **error)
{
    g_autoptr(GBytes) tar = pack(folder, images->engine->interrupt, error);
    g_autofree char *tag = g_uri_escape_string(name, NULL, FALSE),
                    *path = g_strdup_printf(
                        "/build?t=%s&rm=1&forcerm=1&networkmode=host&dockerfile=Dockerfile", tag),
                    *what = g_strdup_printf("build the image '%s' from '%s'", name, folder);
    return tar && work(images->engine, path, tar, what, error);
}

bool acr_images_remove(AcrImages *images, const char *name, GError **error)
{
    g_autofree char *escaped = g_uri_escape_string(name, "/:@", FALSE),
                    *path = g_strdup_printf("/images/%s", escaped),
                    *purpose = g_strdup_printf("remove the image '%s'", name);
    g_auto(AcrEngineAnswer) answer = {0};
    return acr_engine_demand(images->engine, &(AcrEngineCall){.method = "DELETE", .path = path},
                             purpose, &answer, error);
}

gint64 acr_images_room(AcrImages *images, char **out_folder)
{
    g_autoptr(GError) reason = NULL;
    g_auto(AcrEngineAnswer) answer = {0};
    struct statvfs room;
    *out_folder = NULL;
    if (!acr_engine_call(images->engine, &(AcrEngineCall){.method = "GET", .path = "/info"},
                         &answer, &reason))
        return -1;
    const char *folder = acr_json_get_string(answer.json, "DockerRootDir");
    if (!folder || statvfs(folder, &room) != 0)
        return -1;
    *out_folder = g_strdup(folder);
    return (gint64)room.f_bavail * (gint64)room.f_frsize;
}
