/*
 * application/vnd.amazon.eventstream, the binary frames that AWS streams answers in. A message is
 * its length, its headers' length and a CRC-32 of both (4 bytes each, big endian), headers,
 * payload, and a CRC-32 of all before it. Bytes come cut anywhere and are gathered until a message
 * is whole; lengths are believed only after their own sum and their limits were checked, and even
 * then memory grows with the bytes that came, not with what a length promises. Payloads are not
 * looked into.
 */
#include "llm/framing.h"

#include <string.h>
#include <zlib.h>

#define PRELUDE_BYTES 12u
#define SUM_BYTES 4u
#define FRAME_BYTES (PRELUDE_BYTES + SUM_BYTES)
#define MAX_HEADER_BYTES (128u * 1024) /* of all headers of a message */

enum { TYPE_BYTES = 6, TYPE_STRING = 7 };

struct AcrEventStream {
    AcrOnEvent on_event;
    void *ctx;
    GByteArray *message; /* the bytes of the message that is coming */
    gsize wanted;        /* its length; 0: its prelude is not whole yet */
    const char *problem; /* static */
    bool is_over;        /* stopped, or a problem */
};

/* A header's value, inside the message; NULL: not there. */
typedef struct {
    const guint8 *data;
    gsize len;
} Value;

/* The headers that count, all of them strings. */
typedef struct {
    Value message_type, event_type, exception_type, error_code, error_message;
} Headers;

AcrEventStream *acr_eventstream_new(AcrOnEvent on_event, void *ctx)
{
    AcrEventStream *stream = g_new0(AcrEventStream, 1);

    stream->on_event = on_event;
    stream->ctx = ctx;
    stream->message = g_byte_array_new();
    return stream;
}

void acr_eventstream_free(AcrEventStream *stream)
{
    if (!stream)
        return;
    g_byte_array_unref(stream->message);
    g_free(stream);
}

const char *acr_eventstream_problem(const AcrEventStream *stream)
{
    return stream->problem;
}

static bool fail(AcrEventStream *stream, const char *problem)
{
    stream->problem = problem;
    stream->is_over = true;
    return false;
}

static guint32 read_u32(const guint8 *at)
{
    return (guint32)at[0] << 24 | (guint32)at[1] << 16 | (guint32)at[2] << 8 | at[3];
}

static guint32 crc32_of(const guint8 *data, gsize len)
{
    return (guint32)crc32_z(0, data, len);
}

/* ---- Headers ---- */

/* Takes `n` bytes off the front; NULL: so many are not there. */
static const guint8 *take(Value *left, gsize n)
{
    const guint8 *at = left->data;

    if (n > left->len)
        return NULL;
    left->data += n;
    left->len -= n;
    return at;
}

/* Takes a value of that type. False: no such type, or it is cut short. */
static bool take_value(Value *left, guint8 type, Value *out)
{
    static const guint8 sizes[] = {0, 0, 1, 2, 4, 8, 0, 0, 8, 16}; /* by type */
    const guint8 *size = NULL;

    if (type >= G_N_ELEMENTS(sizes))
        return false;
    out->len = sizes[type];
    if (type == TYPE_BYTES || type == TYPE_STRING) {
        size = take(left, 2);
        if (!size)
            return false;
        out->len = (gsize)size[0] << 8 | size[1];
    }
    out->data = take(left, out->len);
    return out->data;
}

static Value *slot(Headers *headers, const guint8 *name, gsize len)
{
    const struct {
        const char *name;
        Value *value;
    } slots[] = {
        {":message-type", &headers->message_type},     {":event-type", &headers->event_type},
        {":exception-type", &headers->exception_type}, {":error-code", &headers->error_code},
        {":error-message", &headers->error_message},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(slots); i++)
        if (strlen(slots[i].name) == len && memcmp(slots[i].name, name, len) == 0)
            return slots[i].value;
    return NULL;
}

/* False: they are malformed, or one that counts is no string or comes twice. */
static bool read_headers(const guint8 *data, gsize len, Headers *out)
{
    Value left = {data, len};

    while (left.len > 0) {
        const guint8 *size = take(&left, 1), *name = NULL, *type = NULL;
        Value value = {0}, *wanted = NULL;

        name = take(&left, *size);
        type = name ? take(&left, 1) : NULL;
        if (!type || !take_value(&left, *type, &value))
            return false;
        wanted = slot(out, name, *size);
        if (wanted && (wanted->data || *type != TYPE_STRING))
            return false;
        if (wanted)
            *wanted = value;
    }
    return true;
}

static bool value_is(const Value *value, const char *word)
{
    return value->len == strlen(word) && memcmp(value->data, word, value->len) == 0;
}

static char *value_text(const Value *value)
{
    return value->data ? acr_utf8_repair(value->data, value->len) : g_strdup("");
}

/* ---- Messages ---- */

/* An error without payload has its words in a header: they are given out as a payload would be. */
static char *error_payload(const Headers *headers)
{
    g_autoptr(AcrJson) json = acr_json_new_object();
    g_autofree char *text = value_text(&headers->error_message);

    acr_json_set_string(json, "message", text);
    return acr_json_print(json);
}

/* Gives the message out. `payload` has a NUL behind its end. */
static bool give_out(AcrEventStream *stream, const Headers *headers, const char *payload, gsize len)
{
    bool is_error = headers->message_type.data && value_is(&headers->message_type, "error");
    bool is_exception =
        is_error || (headers->message_type.data && value_is(&headers->message_type, "exception"));
    g_autofree char *name = value_text(is_error       ? &headers->error_code
                                       : is_exception ? &headers->exception_type
                                                      : &headers->event_type);
    g_autofree char *words = is_error && len == 0 ? error_payload(headers) : NULL;
    AcrEvent event = {
        .name = name,
        .data = words ? words : payload,
        .len = words ? strlen(words) : len,
        .is_exception = is_exception,
    };

    if (stream->on_event(stream->ctx, &event))
        return true;
    stream->is_over = true;
    return false;
}

static bool check_prelude(AcrEventStream *stream)
{
    const guint8 *data = stream->message->data;
    gsize total = read_u32(data), headers = read_u32(data + 4);

    if (crc32_of(data, PRELUDE_BYTES - SUM_BYTES) != read_u32(data + PRELUDE_BYTES - SUM_BYTES))
        return fail(stream, "the sum of an event's lengths is wrong");
    if (total < FRAME_BYTES || headers > total - FRAME_BYTES)
        return fail(stream, "an event's lengths contradict each other");
    if (headers > MAX_HEADER_BYTES || total - FRAME_BYTES - headers > ACR_MAX_EVENT_BYTES)
        return fail(stream, "an event is too large");
    stream->wanted = total;
    return true;
}

static bool read_message(AcrEventStream *stream)
{
    guint8 *data = stream->message->data;
    gsize end = stream->wanted - SUM_BYTES;
    gsize headers_len = read_u32(data + 4);
    guint8 *payload = data + PRELUDE_BYTES + headers_len;
    Headers headers = {0};

    if (crc32_of(data, end) != read_u32(data + end))
        return fail(stream, "the sum of an event is wrong");
    if (!read_headers(data + PRELUDE_BYTES, headers_len, &headers))
        return fail(stream, "an event's headers are malformed");
    data[end] = '\0'; /* in place of the sum */
    if (!give_out(stream, &headers, (char *)payload, (gsize)(data + end - payload)))
        return false;
    g_byte_array_set_size(stream->message, 0);
    stream->wanted = 0;
    return true;
}

bool acr_eventstream_feed(AcrEventStream *stream, const char *data, gsize len)
{
    while (!stream->is_over && len > 0) {
        gsize until = stream->wanted ? stream->wanted : PRELUDE_BYTES;
        gsize part = MIN(len, until - stream->message->len);

        g_byte_array_append(stream->message, (const guint8 *)data, (guint)part);
        data += part;
        len -= part;
        if (stream->message->len < until)
            break;
        if (!stream->wanted)
            check_prelude(stream);
        else
            read_message(stream);
    }
    return !stream->is_over;
}
