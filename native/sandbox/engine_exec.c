/*
 * One command in a container. Its streams come over one connection, which is read as far as is
 * kept: an engine holds a command back whose output nobody reads, so that a flood ends with the
 * connection. A command cannot be ended by itself; who stops reading removes the container.
 */
#include "sandbox/engine_private.h"

#include <string.h>

#include "http/http.h"

#define KILLED 137
#define MAX_EXIT 255

/* A stream's two ends. */
typedef struct {
    GByteArray *head, *tail;
    gsize head_limit, tail_limit;
    guint64 total;
} Ends;

typedef struct {
    AcrEngineExec *exec;
    AcrFrames frames;
    Ends streams[2];
    bool is_broken;
} Reading;

static void keep(Ends *ends, const char *data, gsize len)
{
    gsize in_head = MIN(len, ends->head_limit - ends->head->len);
    g_byte_array_append(ends->head, (const guint8 *)data, (guint)in_head);
    ends->total += len;
    g_byte_array_append(ends->tail, (const guint8 *)data + in_head, (guint)(len - in_head));
    if (ends->tail->len > 2 * ends->tail_limit)
        g_byte_array_remove_range(ends->tail, 0, ends->tail->len - (guint)ends->tail_limit);
}

static void take_piece(void *ctx, bool is_stderr, const char *data, gsize len)
{
    Reading *reading = ctx;
    keep(&reading->streams[is_stderr], data, len);
    if (reading->exec->on_output)
        reading->exec->on_output(reading->exec->on_output_ctx, is_stderr, data, len);
}

static AcrHttpNext on_body(void *ctx, const AcrHttpHead *head, const char *data, gsize len)
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
    for (guint i = 0; i < G_N_ELEMENTS(reading->streams); i++) {
        Ends *ends = &reading->streams[i];
        ends->head = g_byte_array_new();
        ends->tail = g_byte_array_new();
        ends->tail_limit = exec->output_limit / 2;
        ends->head_limit = exec->output_limit - ends->tail_limit;
    }
}

static GBytes *finish(Ends *ends, guint64 *out_total)
{
    guint tail = (guint)MIN(ends->tail->len, ends->tail_limit);
    if (tail)
        g_byte_array_append(ends->head, ends->tail->data + ends->tail->len - tail, tail);
    g_byte_array_unref(ends->tail);
    *out_total = ends->total;
    return g_byte_array_free_to_bytes(ends->head);
}

/* ---- Calls ---- */

static char *create(AcrEngine *engine, const char *id, const AcrEngineExec *exec, GError **error)
{
    g_autoptr(AcrJson) json = acr_json_new_object();
    g_autofree char *path = g_strdup_printf("/containers/%s/exec", id);
    g_auto(AcrEngineAnswer) answer = {0};
    acr_json_set_bool(json, "AttachStdout", true);
    acr_json_set_bool(json, "AttachStderr", true);
    acr_json_set_string(json, "WorkingDir", exec->dir);
    acr_json_set(json, "Cmd", acr_engine_strings(exec->argv));
    acr_json_set(json, "Env", acr_engine_strings(exec->env));
    if (!acr_engine_demand(engine, &(AcrEngineCall){.method = "POST", .path = path, .json = json},
                           "prepare a command", &answer, error))
        return NULL;
    const char *exec_id = acr_json_get_string(answer.json, "Id");
    if (!exec_id)
        acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                         "the container engine names no command that it prepared");
    return g_strdup(exec_id);
}

/* Starts the command and reads its streams until they end, or a limit does. */
static bool stream(AcrEngine *engine, const char *exec_id, Reading *reading, GError **error)
{
    static const char body[] = "{\"Detach\":false,\"Tty\":false}";
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    AcrEngineExec *exec = reading->exec;
    g_autofree char *path = g_strdup_printf("/exec/%s/start", exec_id);
    g_autofree char *url = acr_engine_url(path);
    AcrHttpRequest request = {
        .method = "POST",
        .url = url,
        .unix_socket = acr_engine_socket(engine),
        .headers = headers,
        .body = body,
        .body_len = strlen(body),
        .total_timeout_ms = exec->timeout_ms,
        .idle_timeout_ms = exec->timeout_ms,
        .body_limit = G_MAXSSIZE,
        .on_body = on_body,
        .on_body_ctx = reading,
        .interrupt = acr_engine_interrupt(engine),
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
        reading->is_broken ? "its output is in no known format"
        : ok               ? "it refuses"
                           : reason->message);
}

static bool ask_exit(AcrEngine *engine, const char *exec_id, AcrEngineExec *exec, GError **error)
{
    g_autofree char *path = g_strdup_printf("/exec/%s/json", exec_id);
    g_auto(AcrEngineAnswer) answer = {0};
    if (!acr_engine_demand(engine, &(AcrEngineCall){.method = "GET", .path = path},
                           "tell how a command ended", &answer, error))
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
    exec->spawned.out = finish(&reading.streams[0], &exec->spawned.out_total);
    exec->spawned.err = finish(&reading.streams[1], &exec->spawned.err_total);
    exec->spawned.exit_code = KILLED;
    bool was_cut = exec->spawned.timed_out || exec->spawned.flooded;
    return ok && (was_cut || ask_exit(engine, exec_id, exec, error));
}
