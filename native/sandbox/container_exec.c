/* Runs a command in a container. The command's streams arrive over one connection. The host reads
 * no more than it keeps, and the engine blocks a command whose output nobody reads, so the amount
 * that a command can write is limited. The engine cannot kill a single command; to end a command,
 * the caller removes the container. */
#include "sandbox/container_engine_private.h"

#include <string.h>

#define KILLED 137
#define MAX_EXIT 255

static guint32 length_of(const guint8 *head)
{
    return (guint32)head[4] << 24 | (guint32)head[5] << 16 | (guint32)head[6] << 8 | head[7];
}

bool acr_frames_feed(AcrFrames *frames, const char *data, gsize len)
{
    while (len > 0) {
        if (frames->left > 0) {
            gsize n = MIN(len, frames->left);
            frames->take(frames->ctx, frames->head[0] == 2, data, n);
            frames->left -= (guint32)n;
            data += n;
            len -= n;
            continue;
        }
        if (frames->have == sizeof frames->head)
            frames->have = 0;
        frames->head[frames->have++] = (guint8)*data++;
        len--;
        if (frames->have == 1 && frames->head[0] > 2)
            return false;
        if (frames->have == sizeof frames->head)
            frames->left = length_of(frames->head);
    }
    return true;
}

typedef struct {
    AcrEngineExec *exec;
    AcrFrames frames;
    AcrEnds streams[2];
    bool is_broken;
} Reading;

static void take_piece(void *ctx, bool is_stderr, const char *data, gsize len)
{
    Reading *reading = ctx;
    acr_ends_add(&reading->streams[is_stderr], data, len);
    if (reading->exec->on_output)
        reading->exec->on_output(reading->exec->on_output_ctx, is_stderr, data, len);
}

static AcrHttpNext on_exec_body(void *ctx, const AcrHttpHead *head, const char *data, gsize len)
{
    Reading *reading = ctx;
    if (head->status != 200)
        return ACR_HTTP_MORE;
    if (!acr_frames_feed(&reading->frames, data, len)) {
        reading->is_broken = true;
        return ACR_HTTP_STOP;
    }
    bool flooded =
        MAX(reading->streams[0].total, reading->streams[1].total) > reading->exec->flood_limit;
    reading->exec->spawned.flooded = flooded;
    return flooded ? ACR_HTTP_STOP : ACR_HTTP_MORE;
}

static void init_reading(Reading *reading, AcrEngineExec *exec)
{
    *reading = (Reading){.exec = exec, .frames = {.take = take_piece}};
    reading->frames.ctx = reading;
    for (guint i = 0; i < G_N_ELEMENTS(reading->streams); i++)
        acr_ends_init(&reading->streams[i], exec->output_limit, true);
}

static AcrJson *command_json(const AcrEngine *engine, const char *const *argv)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    acr_engine_walls_words(engine, words);
    for (gsize i = 0; argv[i]; i++)
        g_ptr_array_add(words, g_strdup(argv[i]));
    g_ptr_array_add(words, NULL);
    return acr_json_new_strings((const char *const *)words->pdata);
}

static char *create(AcrEngine *engine, const char *id, const AcrEngineExec *exec, GError **error)
{
    g_autofree char *path = g_strdup_printf("/containers/%s/exec", id);
    g_auto(AcrEngineAnswer) answer = {0};
    g_autoptr(AcrJson) json = acr_json_of(
        ACR_BOOL("AttachStdout", true), ACR_BOOL("AttachStderr", true),
        ACR_STRING("WorkingDir", exec->dir), ACR_JSON("Cmd", command_json(engine, exec->argv)),
        ACR_JSON("Env", acr_json_new_strings(exec->env)), NULL);
    if (!acr_engine_demand(engine, &(AcrEngineCall){.method = "POST", .path = path, .json = json},
                           "prepare a command", &answer, error))
        return NULL;
    const char *exec_id = acr_json_get_string(answer.json, "Id");
    if (!exec_id)
        acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                         "the container engine sent a malformed reply: no command id");
    return g_strdup(exec_id);
}

/* Starts the command and reads its streams until they end or a limit is reached. */
static bool stream(AcrEngine *engine, const char *exec_id, Reading *reading, GError **error)
{
    static const char body[] = "{\"Detach\":false,\"Tty\":false}";
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    AcrEngineExec *exec = reading->exec;
    g_autofree char *path = g_strdup_printf("/exec/%s/start", exec_id);
    g_autofree char *url = g_strconcat(engine->api, path, NULL);
    AcrHttpRequest request = {
        .method = "POST",
        .url = url,
        .unix_socket = engine->socket,
        .headers = headers,
        .body = body,
        .body_len = strlen(body),
        .total_timeout_ms = exec->timeout_ms,
        .idle_timeout_ms = exec->timeout_ms,
        .body_limit = G_MAXSSIZE,
        .on_body = on_exec_body,
        .on_body_ctx = reading,
        .interrupt = engine->interrupt,
    };
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) reason = NULL;
    bool ok = acr_http_exchange(NULL, &request, &response, &reason);
    exec->spawned.timed_out = g_error_matches(reason, ACR_HTTP_ERROR, ACR_HTTP_ERROR_TIMEOUT);
    if (g_error_matches(reason, ACR_HTTP_ERROR, ACR_HTTP_ERROR_INTERRUPTED))
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_INTERRUPTED, "interrupted");
    if ((ok && response.status == 200) || exec->spawned.timed_out || exec->spawned.flooded)
        return true;
    return acr_sandbox_fail(
        error, ok || reading->is_broken ? ACR_SANDBOX_ERROR_FAILED : ACR_SANDBOX_ERROR_UNAVAILABLE,
        "the container engine cannot run a command: %s",
        reading->is_broken ? "the engine sent malformed output"
        : ok               ? "it refuses"
                           : reason->message);
}

static bool ask_exit(AcrEngine *engine, const char *exec_id, AcrEngineExec *exec, GError **error)
{
    g_autofree char *path = g_strdup_printf("/exec/%s/json", exec_id);
    g_auto(AcrEngineAnswer) answer = {0};
    if (!acr_engine_demand(engine, &(AcrEngineCall){.method = "GET", .path = path},
                           "report how a command ended", &answer, error))
        return false;
    gint64 code = acr_json_get_int(answer.json, "ExitCode", KILLED);
    exec->spawned.exit_code = code >= 0 && code <= MAX_EXIT ? (int)code : KILLED;
    return true;
}

bool acr_engine_exec(AcrEngine *engine, const char *id, AcrEngineExec *exec, GError **error)
{
    g_autofree char *exec_id = create(engine, id, exec, error);
    if (!exec_id)
        return false;
    Reading reading;
    init_reading(&reading, exec);
    gint64 started = g_get_monotonic_time();
    bool ok = stream(engine, exec_id, &reading, error);
    exec->spawned.wall_ms = (g_get_monotonic_time() - started) / 1000;
    exec->spawned.out_total = reading.streams[0].total;
    exec->spawned.err_total = reading.streams[1].total;
    exec->spawned.out = acr_ends_finish(&reading.streams[0]);
    exec->spawned.err = acr_ends_finish(&reading.streams[1]);
    exec->spawned.exit_code = KILLED;
    bool was_cut = exec->spawned.timed_out || exec->spawned.flooded;
    return ok && (was_cut || ask_exit(engine, exec_id, exec, error));
}
