/*
 * The bytes of a response become an answer or a failure. Three kinds of body: an error of any shape
 * (gathered whole, up to a ceiling, and classified), one JSON value, or a stream in the provider's
 * framing. What a stream is worth is the provider's word alone: without its terminal event it was
 * cut, however well the connection ended.
 */
#include "llm/llm_private.h"

#include <string.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define MAX_ERROR_BYTES (1024u * 1024) /* of a refusal's body: more is not looked at */

typedef enum {
    BODY_UNKNOWN, /* a success whose first byte has not come */
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
    gsize mark_len;    /* of a byte order mark that has come */
    GByteArray *whole; /* of ERROR and JSON */
    AcrSse *sse;
    AcrEventStream *frames;
    AcrDraft draft;
    AcrDraftStep step;
    bool is_ending; /* no byte follows: an event may be half of one */
};

static const char *header(const AcrReader *reader, const char *name)
{
    return reader->headers ? g_hash_table_lookup(reader->headers, name) : NULL;
}

/* ---- Events -------------------------------------------------------------------------------------
 */

/* Whether data that are no JSON look like the beginning of some, or of "[DONE]". */
static bool is_cut_off(const AcrEvent *event)
{
    return event->len > 0 && (event->data[0] == '{' || event->data[event->len - 1] != ']');
}

static bool on_event(void *ctx, const AcrEvent *event)
{
    AcrReader *reader = ctx;
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) json = NULL;

    if (event->len == 0 && reader->sse) /* a sign of life, or the beginning of an event */
        return true;
    reader->draft.began = true;
    json = acr_json_parse(event->data, event->len, &error);
    if (reader->is_ending && !json && is_cut_off(event))
        return true;
    reader->step = reader->provider->event(&reader->draft, event, json);
    if (reader->step == ACR_DRAFT_DONE)
        reader->draft.is_complete = true;
    return reader->step == ACR_DRAFT_MORE;
}

/* ---- Feeding ------------------------------------------------------------------------------------
 */

AcrReader *acr_reader_new(const AcrProvider *provider, int status, GHashTable *headers)
{
    static const char *const id_headers[] = {"x-request-id",    "request-id",
                                             "apim-request-id", "x-amzn-requestid",
                                             "x-generation-id", "x-litellm-call-id"};
    AcrReader *reader = g_new0(AcrReader, 1);

    reader->provider = provider;
    reader->status = status;
    reader->headers = headers ? g_hash_table_ref(headers) : NULL;
    reader->body = status >= 200 && status < 300 ? BODY_UNKNOWN : BODY_ERROR;
    reader->whole = g_byte_array_new();
    acr_draft_init(&reader->draft);
    for (gsize i = 0; i < G_N_ELEMENTS(id_headers) && !reader->draft.request_id; i++)
        acr_draft_set(&reader->draft.request_id, header(reader, id_headers[i]));
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
    acr_draft_clear(&reader->draft);
    g_free(reader);
}

/* Whether a stream of events may begin so, and no JSON. */
static bool begins_stream(char first)
{
    return first && strchr("deir:", first) != NULL;
}

static bool is_stream_by_type(const AcrReader *reader)
{
    const char *type = header(reader, "content-type");

    return type && g_ascii_strncasecmp(type, "text/event-stream", 17) == 0;
}

/* By its type where it has one of ours; else by its first byte, as servers are careless. */
static Body settle_body(const AcrReader *reader, char first)
{
    const char *type = header(reader, "content-type");

    if (reader->provider->framing == ACR_FRAMES_EVENTSTREAM &&
        !(type && g_str_has_prefix(type, "application/json")) && first != '{')
        return BODY_EVENTSTREAM;
    if (is_stream_by_type(reader))
        return first == '{' || first == '[' ? BODY_JSON : BODY_SSE;
    if (first == '\xef' && type && g_ascii_strncasecmp(type, "application/json", 16) == 0)
        return BODY_JSON; /* a byte order mark stands before either */
    return begins_stream(first) ? BODY_SSE : BODY_JSON;
}

/* Passes over the white space before a body, and settles what it is; how many bytes that were. */
static gsize begin_body(AcrReader *reader, const char *data, gsize len)
{
    gsize blank = 0;

    while (blank < len && g_ascii_isspace(data[blank]))
        blank++;
    if (blank == len) /* some servers send blank lines while they are busy */
        return len;
    reader->body = settle_body(reader, data[blank]);
    if (reader->body == BODY_SSE)
        reader->sse = acr_sse_new(on_event, reader);
    else if (reader->body == BODY_EVENTSTREAM)
        reader->frames = acr_eventstream_new(on_event, reader);
    return blank;
}

static bool keep_error(AcrReader *reader, const char *data, gsize len)
{
    gsize room = MAX_ERROR_BYTES - reader->whole->len;

    g_byte_array_append(reader->whole, (const guint8 *)data, (guint)MIN(len, room));
    return len < room;
}

/* What is too large once will be so again. */
static AcrDraftStep fail_for_good(AcrReader *reader, const char *why)
{
    AcrDraftStep step = acr_draft_fail(&reader->draft, ACR_LLM_ERROR_MALFORMED, why);

    reader->draft.failure.retryable = false;
    return step;
}

static bool keep_json(AcrReader *reader, const char *data, gsize len)
{
    g_autofree char *why = NULL;

    if (len <= ACR_HTTP_MAX_BODY_BYTES - reader->whole->len) {
        g_byte_array_append(reader->whole, (const guint8 *)data, (guint)len);
        return true;
    }
    why = g_strdup_printf("the response is larger than %u bytes", ACR_HTTP_MAX_BODY_BYTES);
    reader->step = fail_for_good(reader, why);
    return false;
}

/* A byte order mark is no part of the body that it stands before. */
static gsize skip_mark(AcrReader *reader, const char *data, gsize len)
{
    gsize at = 0;

    while (at < len && reader->mark_len < strlen(BYTE_ORDER_MARK) &&
           data[at] == BYTE_ORDER_MARK[reader->mark_len]) {
        at++;
        reader->mark_len++;
    }
    if (at < len)
        reader->mark_len = strlen(BYTE_ORDER_MARK); /* its place is over */
    return at;
}

bool acr_reader_feed(AcrReader *reader, const char *data, gsize len)
{
    gsize skipped = skip_mark(reader, data, len);

    if (reader->body == BODY_UNKNOWN)
        skipped += begin_body(reader, data + skipped, len - skipped);
    data += skipped;
    len -= skipped;
    switch (reader->body) {
    case BODY_SSE:
        return acr_sse_feed(reader->sse, data, len);
    case BODY_EVENTSTREAM:
        return acr_eventstream_feed(reader->frames, data, len);
    case BODY_UNKNOWN:
        return true;
    case BODY_ERROR:
        return keep_error(reader, data, len);
    default:
        return keep_json(reader, data, len);
    }
}

/* ---- The end ------------------------------------------------------------------------------------
 */

static void read_error(AcrReader *reader)
{
    const char *text = (const char *)reader->whole->data;
    g_autoptr(AcrJson) json =
        reader->whole->len ? acr_json_parse(text, reader->whole->len, NULL) : NULL;

    acr_failure_clear(&reader->draft.failure);
    acr_failure_of_response(reader->status, json, text ? text : "", reader->whole->len,
                            reader->headers, &reader->draft.failure);
    reader->step = ACR_DRAFT_FAILED;
}

static void read_json(AcrReader *reader, const char *cut)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) json =
        acr_json_parse((const char *)reader->whole->data, reader->whole->len, &error);

    if (!json && cut) {
        reader->step = acr_draft_fail(&reader->draft, ACR_LLM_ERROR_TRUNCATED, cut);
    } else if (!json) {
        g_autofree char *why = g_strdup_printf("HTTP %d with a body that is no JSON: %s",
                                               reader->status, error->message);

        reader->step = acr_draft_fail(&reader->draft, ACR_LLM_ERROR_MALFORMED, why);
    } else if (acr_json_get(json, "error") && acr_failure_in_body(json)) {
        read_error(reader);
    } else {
        reader->draft.began = true;
        reader->step = reader->provider->answer(&reader->draft, json);
        reader->draft.is_complete = reader->step == ACR_DRAFT_DONE;
    }
}

/* An error that was written into a stream as it is, not as an event. */
static bool read_stray(AcrReader *reader)
{
    const char *text = reader->sse ? acr_sse_stray(reader->sse) : "";
    g_autoptr(AcrJson) json = *text ? acr_json_parse(text, strlen(text), NULL) : NULL;

    if (!json || !acr_failure_in_body(json))
        return false;
    reader->step = acr_draft_fail_json(&reader->draft, json);
    return true;
}

static void end_stream(AcrReader *reader, const char *cut)
{
    const char *problem = reader->frames ? acr_eventstream_problem(reader->frames) : NULL;
    bool is_too_big = reader->sse && acr_sse_is_too_big(reader->sse);

    reader->is_ending = true;
    if (reader->step == ACR_DRAFT_MORE && reader->sse && !is_too_big)
        is_too_big = !acr_sse_end(reader->sse) && acr_sse_is_too_big(reader->sse);
    if (reader->step == ACR_DRAFT_MORE && is_too_big)
        reader->step = fail_for_good(reader, "an event of the stream is too large");
    if (reader->step == ACR_DRAFT_MORE && problem)
        reader->step = acr_draft_fail(&reader->draft, ACR_LLM_ERROR_MALFORMED, problem);
    if (reader->step == ACR_DRAFT_MORE && reader->provider->ended)
        reader->step = reader->provider->ended(&reader->draft);
    if (reader->step == ACR_DRAFT_MORE && !read_stray(reader))
        reader->step =
            acr_draft_fail(&reader->draft, ACR_LLM_ERROR_TRUNCATED,
                           cut ? cut : "the stream ended before the answer was complete");
}

/* A success without a body: a stream that was cut before its first event, or no answer at all. */
static void read_nothing(AcrReader *reader, const char *cut)
{
    bool was_stream =
        is_stream_by_type(reader) || reader->provider->framing == ACR_FRAMES_EVENTSTREAM;
    g_autofree char *why = g_strdup_printf("HTTP %d without an answer%s%s", reader->status,
                                           cut ? ": " : "", cut ? cut : "");

    reader->step = acr_draft_fail(
        &reader->draft, cut || was_stream ? ACR_LLM_ERROR_TRUNCATED : ACR_LLM_ERROR_MALFORMED, why);
}

/* What a complete answer without text means. */
static void judge(AcrReader *reader)
{
    AcrDraft *draft = &reader->draft;

    if (draft->is_blocked) {
        reader->step = acr_draft_fail(draft, ACR_LLM_ERROR_CONTENT_FILTER,
                                      "the prompt was blocked by a content filter");
    } else if (draft->refusal->len > 0 || g_strcmp0(draft->finish, "refusal") == 0) {
        g_autofree char *shown = acr_text_shorten(draft->refusal->str, ACR_LLM_MAX_MESSAGE);
        g_autofree char *why = g_strdup_printf("the model refused%s%s", *shown ? ": " : "", shown);

        reader->step = acr_draft_fail(draft, ACR_LLM_ERROR_REFUSAL, why);
    } else if (draft->content->len == 0 && g_strcmp0(draft->finish, "content_filter") == 0) {
        reader->step = acr_draft_fail(draft, ACR_LLM_ERROR_CONTENT_FILTER,
                                      "the answer was taken away by a content filter");
    } else if (draft->content->len == 0 && !draft->finish && !draft->has_calls) {
        reader->step =
            acr_draft_fail(draft, ACR_LLM_ERROR_MALFORMED, "the answer holds neither text nor end");
    }
}

/* A cost that a gateway states in a header counts where the body states none. */
static void read_cost_header(AcrReader *reader)
{
    const char *text = header(reader, "x-litellm-response-cost");
    char *end = NULL;
    double usd = text ? g_ascii_strtod(text, &end) : -1;

    gint64 pico = acr_pico_of_usd(usd);

    if (!text || end == text || *end || reader->draft.usage.cost_stated || pico < 0)
        return;
    reader->draft.usage.cost_pico = pico;
    reader->draft.usage.cost_stated = true;
}

static void hand_over(AcrReader *reader, AcrModelAnswer *out)
{
    AcrDraft *draft = &reader->draft;
    g_autofree char *text = g_string_free(g_steal_pointer(&draft->content), FALSE);

    *out = (AcrModelAnswer){
        .content = g_steal_pointer(&text),
        .finish = g_steal_pointer(&draft->finish),
        .model = g_steal_pointer(&draft->model),
        .request_id = g_strdup(draft->request_id),
        .usage = draft->usage,
    };
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
    else if (reader->step == ACR_DRAFT_MORE)
        read_json(reader, cut);
    if (reader->step == ACR_DRAFT_DONE) {
        reader->draft.is_complete = true;
        read_cost_header(reader);
        judge(reader);
    }
    *out_usage = reader->draft.usage;
    if (!reader->draft.is_complete) /* what a broken stream said of it was not its last word */
        *out_usage = (AcrUsage)ACR_USAGE_UNKNOWN;
    if (reader->step == ACR_DRAFT_DONE) {
        hand_over(reader, out);
        return true;
    }
    *out_failure = reader->draft.failure;
    reader->draft.failure = (AcrFailure){0};
    return false;
}

bool acr_reader_began(const AcrReader *reader)
{
    return reader->draft.began;
}

bool acr_reader_is_settled(const AcrReader *reader)
{
    return reader->provider->ended && reader->step == ACR_DRAFT_MORE &&
           (reader->draft.finish || reader->draft.is_blocked);
}

gint64 acr_reader_content_us(const AcrReader *reader)
{
    return reader->draft.content_us;
}

const char *acr_reader_request_id(const AcrReader *reader)
{
    return reader->draft.request_id;
}
