/* Turns the bytes of a response into an answer or a failure. There are three kinds of body: an
 * error of any form (collected up to a limit, then classified), one JSON value, or a stream in
 * the provider's framing. The provider decides when a stream is complete. A stream without its
 * final event was truncated, even if the connection ended properly. */
#include "llm/response_reader.h"

#include <string.h>

#include "http/http.h"

/* maximum number of bytes of an error response that are read */
#define MAX_ERROR_BYTES (1024u * 1024)
#define SHOWN 40u /* number of bytes shown of a body that is not JSON */

typedef enum {
    BODY_UNKNOWN, /* the response is successful, but the first byte of its body has not arrived */
    BODY_ERROR,
    BODY_JSON,
    BODY_SSE,
    BODY_EVENTSTREAM,
} Body;

struct AcrReader {
    const AcrProvider *provider;
    int status;
    GHashTable *headers; /* shared; NULL: none */
    Body body;
    GByteArray *whole; /* the whole body, for the kinds ERROR and JSON */
    AcrSse *sse;
    AcrEventStream *frames;
    AcrPartial partial;
    AcrParseStep step;
    bool is_ending; /* no more bytes follow, so an event may be truncated */
    /* the first half of a surrogate pair, such as "\ud83c", while the second half has not
     * arrived */
    char half[7];
};

static AcrParseStep fail_response(AcrReader *reader, AcrLlmError code, const char *why)
{
    return reader->step = acr_partial_fail(&reader->partial, code, why);
}

/* Fails permanently, because the response to a retry would be too large again. */
static void fail_for_good(AcrReader *reader, const char *why)
{
    fail_response(reader, ACR_LLM_ERROR_MALFORMED, why);
    reader->partial.failure.retryable = false;
}

/* Whether `at` begins with the escape of one half of a surrogate pair: "\u", 'd' and one of
 * `digits`. */
static bool is_half(const char *at, const char *digits)
{
    return at[0] == '\\' && at[1] == 'u' && (at[2] | ' ') == 'd' &&
           strchr(digits, at[3] | (g_ascii_isalpha(at[3]) ? ' ' : 0)) && at[3];
}

/* Joins surrogate pairs, because some servers cut an answer between the two escapes of a pair.
 * Moves the first half from the end of one event's text to the beginning of the next event's text.
 * Returns the event's text, owned. */
static char *join_halves(AcrReader *reader, const AcrEvent *event)
{
    GString *text = g_string_new_len(event->data, (gssize)event->len);
    for (gsize i = 0; i + 7 < text->len; i++) {
        const char *at = text->str + i;
        if (*at == '"' && *reader->half && is_half(at + 1, "cdef")) {
            g_string_insert(text, (gssize)i + 1, reader->half);
            *reader->half = '\0';
        } else if (is_half(at, "89ab") && at[6] == '"' && (i == 0 || at[-1] != '\\')) {
            memcpy(reader->half, at, 6);
            g_string_erase(text, (gssize)i, 6);
        }
    }
    return g_string_free(text, FALSE);
}

/* Returns the JSON in an event's data, owned; NULL if the data are not JSON. */
static AcrJson *parse_event(AcrReader *reader, const AcrEvent *event)
{
    bool has_half = *reader->half || strstr(event->data, "\\ud") || strstr(event->data, "\\uD");
    g_autofree char *joined = has_half && reader->sse ? join_halves(reader, event) : NULL;
    return joined ? acr_json_parse(joined, strlen(joined), NULL)
                  : acr_json_parse(event->data, event->len, NULL);
}

static AcrParseStep read_event(AcrReader *reader, const AcrEvent *event, const AcrJson *json)
{
    AcrPartial *partial = &reader->partial;
    bool is_object = acr_json_type(json) == ACR_JSON_OBJECT;
    bool is_error = strcmp(event->name, "error") == 0 ||
                    g_strcmp0(acr_json_get_string(json, "type"), "error") == 0;
    partial->began = true;
    if (!event->is_exception && (is_error || acr_failure_in_body(json)))
        return acr_partial_fail_json(partial, json, event->data);
    if (is_object || event->is_exception)
        return reader->provider->event(partial, event, json);
    if (g_str_has_prefix(event->data, "[DONE]"))
        return reader->provider->event(partial, event, NULL);
    /* Other data only show that the server still works. At the end of the stream, they may be
     * the beginning of a truncated event. */
    if (reader->is_ending || (reader->sse && (json || event->data[0] != '{')))
        return ACR_PARSE_MORE;
    return acr_partial_fail(partial, ACR_LLM_ERROR_MALFORMED,
                            "the server sent an event that is not a JSON object");
}

static bool on_event(void *ctx, const AcrEvent *event)
{
    AcrReader *reader = ctx;
    if (event->len == 0 && reader->sse) /* the event is a heartbeat or has only a name */
        return true;
    g_autoptr(AcrJson) json = parse_event(reader, event);
    reader->step = read_event(reader, event, json);
    if (reader->step == ACR_PARSE_DONE)
        reader->partial.is_complete = true;
    return reader->step == ACR_PARSE_MORE;
}

AcrReader *acr_reader_new(const AcrProvider *provider, int status, GHashTable *headers)
{
    AcrReader *reader = g_new0(AcrReader, 1);
    reader->provider = provider;
    reader->status = status;
    reader->headers = headers ? g_hash_table_ref(headers) : NULL;
    reader->body = status >= 200 && status < 300 ? BODY_UNKNOWN : BODY_ERROR;
    reader->whole = g_byte_array_new();
    acr_partial_init(&reader->partial);
    acr_partial_set(&reader->partial.request_id, acr_header_request_id(headers));
    acr_partial_set(&reader->partial.tier, acr_http_header(headers, "x-gemini-service-tier"));
    return reader;
}

void acr_reader_free(AcrReader *reader)
{
    if (!reader)
        return;
    acr_sse_free(reader->sse);
    acr_eventstream_free(reader->frames);
    g_byte_array_unref(reader->whole);
    if (reader->headers)
        g_hash_table_unref(reader->headers);
    acr_partial_clear(&reader->partial);
    g_free(reader);
}

static bool is_of_type(const AcrReader *reader, const char *type)
{
    const char *sent = acr_http_header(reader->headers, "content-type");
    return sent && g_ascii_strncasecmp(sent, type, strlen(type)) == 0;
}

/* Determines the kind of body from its content type. If the type is unknown, uses the first
 * byte, because some servers send a wrong type. */
static Body body_of(const AcrReader *reader, char first)
{
    bool is_stream = is_of_type(reader, "text/event-stream");
    if (reader->provider->framing == ACR_FRAMES_EVENTSTREAM &&
        !is_of_type(reader, "application/json") && first != '{')
        return BODY_EVENTSTREAM;
    if (is_stream)
        return first == '{' || first == '[' ? BODY_JSON : BODY_SSE;
    /* an event stream can begin with "d", "e", "i", "r" or ":", but JSON cannot */
    return first && strchr("deir:", first) ? BODY_SSE : BODY_JSON;
}

/* Skips white space at the beginning of a body, and determines the kind of the body. Returns the
 * number of bytes skipped. */
static gsize begin_body(AcrReader *reader, const char *data, gsize len)
{
    gsize blank = 0;
    while (blank < len && g_ascii_isspace(data[blank]))
        blank++;
    if (blank == len) /* some servers send blank lines while they work */
        return len;
    reader->body = body_of(reader, data[blank]);
    if (reader->body == BODY_SSE)
        reader->sse = acr_sse_new(on_event, reader);
    else if (reader->body == BODY_EVENTSTREAM)
        reader->frames = acr_eventstream_new(on_event, reader);
    return blank;
}

static bool keep_bytes(AcrReader *reader, const char *data, gsize len)
{
    gsize most = reader->body == BODY_ERROR ? MAX_ERROR_BYTES : ACR_HTTP_MAX_BODY_BYTES;
    gsize room = most - reader->whole->len;
    if (reader->body == BODY_ERROR || len <= room) {
        g_byte_array_append(reader->whole, (const guint8 *)data, (guint)MIN(len, room));
        return reader->body == BODY_JSON || len < room;
    }
    g_autofree char *why =
        g_strdup_printf("the response is larger than %u bytes", ACR_HTTP_MAX_BODY_BYTES);
    fail_for_good(reader, why);
    return false;
}

bool acr_reader_feed(AcrReader *reader, const char *data, gsize len)
{
    gsize skipped = reader->body == BODY_UNKNOWN ? begin_body(reader, data, len) : 0;
    data += skipped;
    len -= skipped;
    switch (reader->body) {
    case BODY_SSE:
        return acr_sse_feed(reader->sse, data, len);
    case BODY_EVENTSTREAM:
        return acr_eventstream_feed(reader->frames, data, len);
    case BODY_UNKNOWN:
        return true;
    default:
        return keep_bytes(reader, data, len);
    }
}

static void read_error(AcrReader *reader)
{
    const char *text = (const char *)reader->whole->data;
    gsize len = reader->whole->len;
    g_autoptr(AcrJson) json = len ? acr_json_parse(text, len, NULL) : NULL;
    acr_failure_clear(&reader->partial.failure);
    acr_failure_of_response(reader->status, json, text ? text : "", len, reader->headers,
                            &reader->partial.failure);
    reader->step = ACR_PARSE_FAILED;
}

static void fail_without_json(AcrReader *reader)
{
    g_autofree char *text = acr_utf8_repair(reader->whole->data, MIN(reader->whole->len, SHOWN));
    g_autofree char *shown = acr_text_quote(text, SHOWN);
    g_autofree char *why = g_strdup_printf(
        "the server's answer is not JSON (HTTP %d, it starts with %s); check the base URL",
        reader->status, shown);
    fail_response(reader, ACR_LLM_ERROR_MALFORMED, why);
}

static void read_json(AcrReader *reader, const char *cut)
{
    g_autoptr(AcrJson) json =
        acr_json_parse((const char *)reader->whole->data, reader->whole->len, NULL);
    if (!json && cut) {
        fail_response(reader, ACR_LLM_ERROR_TRUNCATED, cut);
    } else if (!json) {
        fail_without_json(reader);
    } else if (acr_failure_in_body(json)) {
        read_error(reader);
    } else {
        reader->partial.began = true;
        reader->step = reader->provider->answer(&reader->partial, json);
        reader->partial.is_complete = reader->step == ACR_PARSE_DONE;
    }
}

static void end_stream(AcrReader *reader, const char *cut)
{
    const char *problem = reader->frames ? acr_eventstream_problem(reader->frames) : NULL;
    reader->is_ending = true;
    if (reader->step == ACR_PARSE_MORE && reader->sse && !acr_sse_end(reader->sse) &&
        acr_sse_is_too_big(reader->sse))
        fail_for_good(reader, "the server sent an event that is too large");
    if (reader->step == ACR_PARSE_MORE && problem)
        fail_response(reader, ACR_LLM_ERROR_MALFORMED, problem);
    AcrParseStep end =
        reader->partial.finish || reader->partial.is_blocked ? ACR_PARSE_DONE : ACR_PARSE_MORE;
    if (reader->step == ACR_PARSE_MORE &&
        reader->provider->stream_end >= (cut ? ACR_END_BY_REASON : ACR_END_IN_ORDER))
        reader->step = end;
    if (reader->step == ACR_PARSE_MORE)
        fail_response(reader, ACR_LLM_ERROR_TRUNCATED,
                      cut ? cut : "the stream ended before the answer was complete");
}

/* Fails for a successful response without a body: a stream that broke off before its first event,
 * or an empty answer. */
static void read_nothing(AcrReader *reader, const char *cut)
{
    bool was_stream = is_of_type(reader, "text/event-stream") ||
                      reader->provider->framing == ACR_FRAMES_EVENTSTREAM;
    g_autofree char *why = g_strdup_printf("HTTP %d without an answer%s%s", reader->status,
                                           cut ? ": " : "", cut ? cut : "");
    fail_response(reader, cut || was_stream ? ACR_LLM_ERROR_TRUNCATED : ACR_LLM_ERROR_MALFORMED,
                  why);
}

/* Whether the finish reason says that the model ended the answer; other reasons mean that the
 * server stopped in the middle. */
static bool is_end(const char *finish)
{
    static const char *const ends[] = {"stop", "tool_calls", "length", "content_filter", NULL};
    return !finish || g_strv_contains(ends, finish);
}

/* Classifies a complete response that has no text or was stopped early. */
static void judge_response(AcrReader *reader)
{
    const AcrPartial *partial = &reader->partial;
    bool is_empty = partial->content->len == 0;
    if (partial->is_blocked) {
        fail_response(reader, ACR_LLM_ERROR_CONTENT_FILTER,
                      "the prompt was blocked by a content filter");
    } else if (partial->refusal->len > 0 || g_strcmp0(partial->finish, "refusal") == 0) {
        g_autofree char *shown = acr_text_shorten(partial->refusal->str, ACR_LLM_MAX_MESSAGE);
        g_autofree char *why = g_strdup_printf("the model refused%s%s", *shown ? ": " : "", shown);
        fail_response(reader, ACR_LLM_ERROR_REFUSAL, why);
    } else if (is_empty && g_strcmp0(partial->finish, "content_filter") == 0) {
        fail_response(reader, ACR_LLM_ERROR_CONTENT_FILTER,
                      "the answer was removed by a content filter");
    } else if (is_empty && !partial->finish && !partial->has_calls) {
        fail_response(reader, ACR_LLM_ERROR_MALFORMED,
                      "the answer has neither text nor a finish reason");
    } else if (g_strcmp0(partial->finish, ACR_FINISH_WINDOW) == 0) {
        fail_response(reader, ACR_LLM_ERROR_CONTEXT_OVERFLOW,
                      "the answer did not fit the model's context window");
    } else if (!is_end(partial->finish)) {
        g_autofree char *why =
            g_strdup_printf("the server aborted the answer (finish reason '%s')", partial->finish);
        fail_response(reader, ACR_LLM_ERROR_TRUNCATED, why);
    }
}

/* Uses the cost in a gateway's header if the body states no cost. */
static void read_cost_header(AcrReader *reader)
{
    const char *text = acr_http_header(reader->headers, "x-litellm-response-cost");
    char *end = NULL;
    double usd = text ? g_ascii_strtod(text, &end) : -1;
    if (text && end != text && !*end && !reader->partial.usage.cost_stated)
        acr_usage_set_cost(&reader->partial.usage, usd);
}

/* Drops all counters, because one invalid counter makes the others doubtful. The stated cost
 * stays. */
static void forget_counters(AcrUsage *usage)
{
    AcrUsage unknown = ACR_USAGE_UNKNOWN;
    unknown.cost_pico = usage->cost_pico;
    unknown.cost_stated = usage->cost_stated;
    *usage = unknown;
}

/* Returns the model's thoughts, owned; NULL if the server does not show them. */
static char *partial_thoughts(AcrPartial *partial)
{
    return partial->shown_thoughts->len
               ? g_string_free(g_steal_pointer(&partial->shown_thoughts), FALSE)
               : NULL;
}

bool acr_reader_end(AcrReader *reader, const char *cut, AcrModelAnswer *out, AcrUsage *out_usage,
                    AcrFailure *out_failure)
{
    if (reader->body == BODY_ERROR)
        read_error(reader);
    else if (reader->body == BODY_SSE || reader->body == BODY_EVENTSTREAM)
        end_stream(reader, cut);
    else if (reader->body == BODY_UNKNOWN)
        read_nothing(reader, cut);
    else if (reader->step == ACR_PARSE_MORE)
        read_json(reader, cut);
    if (reader->step == ACR_PARSE_DONE) {
        reader->partial.is_complete = true;
        if (reader->provider->settle)
            reader->provider->settle(&reader->partial);
        read_cost_header(reader);
        acr_partial_refuse_calls(&reader->partial);
        judge_response(reader);
    }
    if (reader->partial.is_nonsense)
        forget_counters(&reader->partial.usage);
    *out_usage = reader->partial.usage;
    if (!reader->partial.is_complete) /* the counters of a broken stream are not final */
        *out_usage = (AcrUsage)ACR_USAGE_UNKNOWN;
    if (reader->step == ACR_PARSE_DONE) {
        AcrJson *tools = acr_partial_tools(&reader->partial);
        char *finish = g_steal_pointer(&reader->partial.finish);
        *out = (AcrModelAnswer){
            .tools = tools,
            .thoughts = partial_thoughts(&reader->partial),
            .content = g_string_free(g_steal_pointer(&reader->partial.content), FALSE),
            /* without a finish reason, the end of the stream implies "stop" */
            .finish = finish ? finish : g_strdup("stop"),
            .model = g_steal_pointer(&reader->partial.model),
            .request_id = g_strdup(reader->partial.request_id),
            .usage = reader->partial.usage,
        };
        return true;
    }
    *out_failure = reader->partial.failure;
    reader->partial.failure = (AcrFailure){0};
    return false;
}

const AcrPartial *acr_reader_partial(const AcrReader *reader)
{
    return &reader->partial;
}

bool acr_reader_is_settled(const AcrReader *reader)
{
    return reader->provider->stream_end == ACR_END_BY_REASON && reader->step == ACR_PARSE_MORE &&
           (reader->partial.finish || reader->partial.is_blocked);
}
