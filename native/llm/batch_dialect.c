/* Implements the batch interfaces of OpenAI (a file of requests, a batch of the file, files of
 * results) and Anthropic (a list of requests, a stream of results). */
#include "llm/batch_broker.h"

#include <string.h>

#include "llm/llm_private.h"

#define TIMEOUT_MS (10ll * 60 * 1000)
#define MAX_RESULT_BYTES ((gsize)1 << 30)
#define BOUNDARY "acr-host-part-7d5b1c9e"

void acr_batch_answer_free(gpointer data)
{
    AcrBatchAnswer *answer = data;
    ACR_FREE(answer->key, answer->body, answer);
}

AcrBatchCall *acr_batch_call_new(const char *key, const char *url, const char *body)
{
    AcrBatchCall *call = g_atomic_rc_box_new(AcrBatchCall);
    *call = (AcrBatchCall){g_strdup(key), g_strdup(url), g_strdup(body)};
    return call;
}

static void clear_call(gpointer data)
{
    AcrBatchCall *call = data;
    ACR_FREE(call->key, call->url, call->body);
}

void acr_batch_call_unref(gpointer call)
{
    g_atomic_rc_box_release_full(call, clear_call);
}

static bool is_anthropic(const char *url)
{
    return g_str_has_suffix(url, "/messages");
}

bool acr_batch_url_is_known(const char *url)
{
    return is_anthropic(url) || g_str_has_suffix(url, "/chat/completions") ||
           g_str_has_suffix(url, "/responses");
}

/* Returns `url` with `path` in place of the interface's name at its end; owned. */
static char *openai_url(const char *url, const char *path)
{
    gsize len = strlen(url) -
                strlen(g_str_has_suffix(url, "/responses") ? "/responses" : "/chat/completions");
    return g_strdup_printf("%.*s%s", (int)len, url, path);
}

/* ---- Exchanges ---- */

/* Returns the headers of the calls with the content type `type` (NULL: without a content type);
 * owned. */
static GPtrArray *headers_with(const AcrBatchWire *wire, const char *type)
{
    GPtrArray *headers = g_ptr_array_new_with_free_func(g_free);
    for (const char *const *at = wire->headers; *at; at++)
        if (g_ascii_strncasecmp(*at, "content-type:", 13) != 0 &&
            g_ascii_strncasecmp(*at, "accept:", 7) != 0)
            g_ptr_array_add(headers, g_strdup(*at));
    if (type)
        g_ptr_array_add(headers, g_strconcat("Content-Type: ", type, NULL));
    g_ptr_array_add(headers, NULL);
    return headers;
}

/* Performs an exchange and returns the body of a 2xx response (owned), otherwise NULL with an
 * error. *out_status is 0 if no response arrived. */
static GBytes *exchange(const AcrBatchWire *wire, const char *url, const char *type,
                        const char *body, int *out_status, GError **error)
{
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GPtrArray) headers = headers_with(wire, type);
    AcrHttpRequest request = {.url = url,
                              .headers = (const char *const *)headers->pdata,
                              .body = body,
                              .body_len = body ? strlen(body) : 0,
                              .unpacks = true,
                              .total_timeout_ms = TIMEOUT_MS,
                              .body_limit = MAX_RESULT_BYTES,
                              .ca_file = wire->ca_file,
                              .interrupt = wire->interrupt};
    bool ok = acr_http_exchange(NULL, &request, &response, error);
    *out_status = ok ? response.status : 0;
    if (!ok)
        return NULL;
    if (response.status / 100 == 2)
        return g_bytes_ref(response.body);
    g_autofree char *text = acr_utf8_repair_bytes(response.body),
                    *shown = acr_redact_line(text, NULL, 300);
    return ACR_NULL(acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_SERVER,
                                  "the batch API answered with status %d: %s", response.status,
                                  shown));
}

/* Performs an exchange like `exchange`, but parses the response as JSON. */
static AcrJson *exchange_json(const AcrBatchWire *wire, const char *url, const char *type,
                              const char *body, int *out_status, GError **error)
{
    g_autoptr(GBytes) bytes = exchange(wire, url, type, body, out_status, error);
    return bytes ? acr_json_parse_bytes(bytes, error) : NULL;
}

/* Returns the member "id" of a response, owned. Fails if the id is missing or has other characters
 * than letters, digits, "-" and "_". */
static char *take_id(const AcrJson *json, GError **error)
{
    const char *id = acr_json_get_string(json, "id");
    for (const char *at = id; at && *at; at++)
        if (!g_ascii_isalnum(*at) && *at != '-' && *at != '_')
            id = NULL; /* a path contains the id, so other characters are not allowed */
    if (id && *id)
        return g_strdup(id);
    return ACR_NULL(acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_MALFORMED,
                                  "the batch API returned no usable id"));
}

/* ---- Sending ---- */

static char *openai_lines(const GPtrArray *calls)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < calls->len; i++) {
        const AcrBatchCall *call = calls->pdata[i];
        g_autoptr(AcrJson) body = acr_json_parse(call->body, strlen(call->body), NULL);
        g_autofree char *root = openai_url(call->url, ""),
                        *path = g_strconcat("/v1", call->url + strlen(root), NULL);
        g_autoptr(AcrJson) line =
            acr_json_of(ACR_STRING("custom_id", call->key), ACR_STRING("method", "POST"),
                        ACR_STRING("url", path), ACR_JSON("body", g_steal_pointer(&body)), NULL);
        g_autofree char *printed = acr_json_print(line);
        g_string_append_printf(text, "%s\n", printed);
    }
    return g_strdup(text->str);
}

static char *send_openai(const AcrBatchWire *wire, const GPtrArray *calls, const char *nonce,
                         int *out_status, GError **error)
{
    const AcrBatchCall *first = calls->pdata[0];
    g_autofree char *files = openai_url(first->url, "/files"),
                    *batches = openai_url(first->url, "/batches"),
                    *root = openai_url(first->url, ""),
                    *path = g_strconcat("/v1", first->url + strlen(root), NULL),
                    *lines = openai_lines(calls),
                    *form = g_strconcat(
                        "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n"
                        "batch\r\n--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"file\"; "
                        "filename=\"requests.jsonl\"\r\nContent-Type: application/jsonl\r\n\r\n",
                        lines, "\r\n--" BOUNDARY "--\r\n", NULL);
    g_autoptr(AcrJson) uploaded = exchange_json(
        wire, files, "multipart/form-data; boundary=" BOUNDARY, form, out_status, error);
    g_autofree char *file = uploaded ? take_id(uploaded, error) : NULL;
    if (!file)
        return NULL;
    g_autoptr(AcrJson) asked =
        acr_json_of(ACR_STRING("input_file_id", file), ACR_STRING("endpoint", path),
                    ACR_STRING("completion_window", "24h"),
                    ACR_JSON("metadata", acr_json_of(ACR_STRING("acr_host", nonce), NULL)), NULL);
    g_autofree char *text = acr_json_print(asked);
    g_autoptr(AcrJson) made =
        exchange_json(wire, batches, "application/json", text, out_status, error);
    return made ? take_id(made, error) : NULL;
}

static char *send_anthropic(const AcrBatchWire *wire, const GPtrArray *calls, int *out_status,
                            GError **error)
{
    g_autofree char *url =
        g_strconcat(((const AcrBatchCall *)calls->pdata[0])->url, "/batches", NULL);
    g_autoptr(AcrJson) asked = acr_json_new_object();
    AcrJson *requests = acr_json_new_array();
    acr_json_set(asked, "requests", requests);
    for (guint i = 0; i < calls->len; i++) {
        const AcrBatchCall *call = calls->pdata[i];
        acr_json_add(requests, ACR_STRING("custom_id", call->key),
                     ACR_JSON("params", acr_json_parse(call->body, strlen(call->body), NULL)));
    }
    g_autofree char *text = acr_json_print(asked);
    g_autoptr(AcrJson) made = exchange_json(wire, url, "application/json", text, out_status, error);
    return made ? take_id(made, error) : NULL;
}

char *acr_batch_send(const AcrBatchWire *wire, const GPtrArray *calls, const char *nonce,
                     int *out_status, GError **error)
{
    const AcrBatchCall *first = calls->pdata[0];
    return is_anthropic(first->url) ? send_anthropic(wire, calls, out_status, error)
                                    : send_openai(wire, calls, nonce, out_status, error);
}

/* ---- Finding sent batches ---- */

char *acr_batch_find(const AcrBatchWire *wire, const char *url, const char *nonce, gint64 sent_s,
                     GHashTable *known, GError **error)
{
    int status = 0;
    bool is_list = is_anthropic(url);
    g_autofree char *place = is_list ? g_strconcat(url, "/batches?limit=100", NULL)
                                     : openai_url(url, "/batches?limit=100");
    g_autoptr(AcrJson) json = exchange_json(wire, place, NULL, NULL, &status, error);
    const AcrJson *list = acr_json_get(json, "data");
    for (const AcrJson *at = acr_json_first(list); at; at = acr_json_next(at)) {
        const char *id = acr_json_get_string(at, "id"),
                   *own = acr_json_get_string(acr_json_get(at, "metadata"), "acr_host"),
                   *made = acr_json_get_string(at, "created_at");
        g_autoptr(GDateTime) time = made ? g_date_time_new_from_iso8601(made, NULL) : NULL;
        bool is_ours =
            is_list ? time && g_date_time_to_unix(time) >= sent_s - 60 : g_strcmp0(own, nonce) == 0;
        if (id && is_ours && !g_hash_table_contains(known, id))
            return take_id(at, error);
    }
    return NULL;
}

/* ---- Results ---- */

static void add_answer(GPtrArray *out, const char *key, int status, AcrJson *body)
{
    AcrBatchAnswer *answer = g_new0(AcrBatchAnswer, 1);
    *answer = (AcrBatchAnswer){g_strdup(key), status, body ? acr_json_print(body) : NULL};
    acr_json_free(body);
    g_ptr_array_add(out, answer);
}

/* Appends the result in a line of OpenAI's result file. The response in the line names the service
 * tier of single calls, which we replace by "batch". */
static void take_openai(const AcrJson *line, GPtrArray *out)
{
    const AcrJson *response = acr_json_get(line, "response"),
                  *body = acr_json_get(response, "body");
    int status = (int)acr_json_get_int(response, "status_code", 0);
    AcrJson *own = acr_json_type(body) == ACR_JSON_OBJECT ? acr_json_copy(body) : NULL;
    if (own && status == 200)
        acr_json_set_string(own, "service_tier", "batch");
    add_answer(out, acr_json_get_string(line, "custom_id"), own && status < 500 ? status : 0, own);
}

static void take_anthropic(const AcrJson *line, GPtrArray *out)
{
    const AcrJson *result = acr_json_get(line, "result"),
                  *message = acr_json_get(result, "message"),
                  *error = acr_json_get(result, "error"), *inner = acr_json_get(error, "error");
    const char *type = acr_json_get_string(result, "type"),
               *why = acr_json_get_string(inner ? inner : error, "type");
    bool is_good = g_strcmp0(type, "succeeded") == 0 && acr_json_type(message) == ACR_JSON_OBJECT,
         is_bad = g_strcmp0(why, "invalid_request_error") == 0;
    const AcrJson *body = is_good ? message : is_bad ? error : NULL;
    add_answer(out, acr_json_get_string(line, "custom_id"),
               is_good  ? 200
               : is_bad ? 400
                        : 0,
               body ? acr_json_copy(body) : NULL);
}

/* Reads a stream of results. Skips lines that are not results, because calls without a result are
 * sent again. */
static bool read_results(const AcrBatchWire *wire, const char *url,
                         void (*take)(const AcrJson *line, GPtrArray *out), GPtrArray *out,
                         GError **error)
{
    int status = 0;
    g_autoptr(GBytes) bytes = exchange(wire, url, NULL, NULL, &status, error);
    if (!bytes)
        return false;
    g_autofree char *text = acr_bytes_text(bytes);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        g_autoptr(AcrJson) line = acr_json_parse(lines[i], strlen(lines[i]), NULL);
        if (acr_json_get_string(line, "custom_id"))
            take(line, out);
    }
    return true;
}

static bool read_result_file(const AcrBatchWire *wire, const char *url, const char *file,
                             GPtrArray *out, GError **error)
{
    g_autoptr(AcrJson) json = acr_json_of(ACR_STRING("id", file), NULL);
    g_autofree char *id = take_id(json, error),
                    *path = id ? g_strdup_printf("/files/%s/content", id) : NULL,
                    *place = path ? openai_url(url, path) : NULL;
    return place && read_results(wire, place, take_openai, out, error);
}

static bool poll_openai(const AcrBatchWire *wire, const char *url, const char *id,
                        AcrBatchState *out_state, GPtrArray *out, GError **error)
{
    static const char *const ended[] = {"completed", "failed", "expired", "cancelled", NULL};
    int status = 0;
    g_autofree char *path = g_strconcat("/batches/", id, NULL), *place = openai_url(url, path);
    g_autoptr(AcrJson) json = exchange_json(wire, place, NULL, NULL, &status, error);
    if (!json)
        return false;
    const char *state = acr_json_get_string(json, "status"),
               *good = acr_json_get_string(json, "output_file_id"),
               *bad = acr_json_get_string(json, "error_file_id");
    *out_state = state && g_strv_contains(ended, state) ? ACR_BATCH_ENDED : ACR_BATCH_RUNS;
    return *out_state == ACR_BATCH_RUNS ||
           ((!good || read_result_file(wire, url, good, out, error)) &&
            (!bad || read_result_file(wire, url, bad, out, error)));
}

static bool poll_anthropic(const AcrBatchWire *wire, const char *url, const char *id,
                           AcrBatchState *out_state, GPtrArray *out, GError **error)
{
    int status = 0;
    g_autofree char *place = g_strconcat(url, "/batches/", id, NULL),
                    *results = g_strconcat(place, "/results", NULL);
    g_autoptr(AcrJson) json = exchange_json(wire, place, NULL, NULL, &status, error);
    if (!json)
        return false;
    *out_state = g_strcmp0(acr_json_get_string(json, "processing_status"), "ended") == 0
                     ? ACR_BATCH_ENDED
                     : ACR_BATCH_RUNS;
    return *out_state == ACR_BATCH_RUNS || read_results(wire, results, take_anthropic, out, error);
}

bool acr_batch_poll(const AcrBatchWire *wire, const char *url, const char *id,
                    AcrBatchState *out_state, GPtrArray *out, GError **error)
{
    return (is_anthropic(url) ? poll_anthropic : poll_openai)(wire, url, id, out_state, out, error);
}
