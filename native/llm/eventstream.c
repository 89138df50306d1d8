/* Parses application/vnd.amazon.eventstream, the binary frames in which AWS streams answers. A
 * message consists of its length, the length of its headers and a CRC-32 of both (4 bytes each, big
 * endian), its headers, its payload, and a CRC-32 of all preceding bytes. Bytes may be cut anywhere
 * and are collected until a message is complete. We use a length only after we have verified its
 * checksum and compared it with the limit, and memory grows with the bytes that arrived, not with
 * the announced length. This file does not parse payloads. */
#include "llm/llm_private.h"

#include <string.h>
#include <zlib.h>

#define PRELUDE_BYTES 12u
#define SUM_BYTES 4u
#define FRAME_BYTES (PRELUDE_BYTES + SUM_BYTES)
#define MAX_HEADER_BYTES (128u * 1024) /* maximum size of all headers of a message in bytes */

enum { TYPE_BYTES = 6, TYPE_STRING = 7 };

struct AcrEventStream {
    AcrOnEvent on_event;
    void *ctx;
    GByteArray *message; /* the bytes of the incomplete message */
    gsize wanted;        /* length of the current message; 0 if not known yet */
    const char *problem; /* static */
    bool is_over;        /* on_event stopped the stream, or the bytes are invalid */
};

/* A range of bytes inside the message. */
typedef struct {
    const guint8 *data;
    gsize len;
} Value;

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

static bool fail_stream(AcrEventStream *stream, const char *problem)
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

/* Removes `n` bytes from the front of `left`, and returns them. Returns NULL if `left` has fewer
 * bytes. */
static const guint8 *take_bytes(Value *left, gsize n)
{
    const guint8 *at = left->data;
    if (n > left->len)
        return NULL;
    left->data += n;
    left->len -= n;
    return at;
}

/* Takes a header value of the type `type` from `left`. Returns false if the type is unknown or
 * bytes are missing. */
static bool take_value(Value *left, guint8 type, Value *out)
{
    /* size of a value in bytes, by type */
    static const guint8 sizes[] = {0, 0, 1, 2, 4, 8, 0, 0, 8, 16};
    const guint8 *size = NULL;
    if (type >= G_N_ELEMENTS(sizes))
        return false;
    out->len = sizes[type];
    if (type == TYPE_BYTES || type == TYPE_STRING) {
        size = take_bytes(left, 2);
        if (!size)
            return false;
        out->len = (gsize)size[0] << 8 | size[1];
    }
    out->data = take_bytes(left, out->len);
    return out->data;
}

/* Reads the headers of type string into a table, name -> value; owned. Returns NULL if the headers
 * are malformed, a name occurs twice, or one of the format's own headers (":message-type", …) is
 * not a string. */
static GHashTable *read_headers(const guint8 *data, gsize len)
{
    g_autoptr(GHashTable) headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    Value left = {data, len};
    while (left.len > 0) {
        const guint8 *size = take_bytes(&left, 1);
        const guint8 *name = take_bytes(&left, *size);
        const guint8 *type = name ? take_bytes(&left, 1) : NULL;
        Value value = {0};
        if (!type || !take_value(&left, *type, &value))
            return NULL;
        if (*type != TYPE_STRING && *size > 0 && *name == ':')
            return NULL;
        if (*type == TYPE_STRING &&
            !g_hash_table_insert(headers, g_strndup((const char *)name, *size),
                                 acr_utf8_repair(value.data, value.len)))
            return NULL;
    }
    return g_steal_pointer(&headers);
}

static const char *text_of_header(GHashTable *headers, const char *name)
{
    const char *text = g_hash_table_lookup(headers, name);
    return text ? text : "";
}

/* Passes a message to on_event. `payload` is followed by a NUL. An error without a payload has its
 * text in a header, which then replaces the payload. */
static bool give_out(AcrEventStream *stream, GHashTable *headers, const char *payload, gsize len)
{
    const char *type = text_of_header(headers, ":message-type");
    bool is_error = strcmp(type, "error") == 0;
    bool is_exception = is_error || strcmp(type, "exception") == 0;
    g_autoptr(AcrJson) json = acr_json_new_object();
    acr_json_set_string(json, "message", text_of_header(headers, ":error-message"));
    g_autofree char *words = is_error && len == 0 ? acr_json_print(json) : NULL;
    AcrEvent event = {
        .name = text_of_header(headers, is_error       ? ":error-code"
                                        : is_exception ? ":exception-type"
                                                       : ":event-type"),
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
        return fail_stream(stream, "the checksum of an event's lengths is wrong");
    if (total < FRAME_BYTES || headers > total - FRAME_BYTES)
        return fail_stream(stream, "an event's lengths contradict each other");
    if (headers > MAX_HEADER_BYTES || total - FRAME_BYTES - headers > ACR_MAX_EVENT_BYTES)
        return fail_stream(stream, "an event is too large");
    stream->wanted = total;
    return true;
}

static bool read_message(AcrEventStream *stream)
{
    guint8 *data = stream->message->data;
    gsize end = stream->wanted - SUM_BYTES;
    gsize headers_len = read_u32(data + 4);
    guint8 *payload = data + PRELUDE_BYTES + headers_len;
    if (crc32_of(data, end) != read_u32(data + end))
        return fail_stream(stream, "the checksum of an event is wrong");
    g_autoptr(GHashTable) headers = read_headers(data + PRELUDE_BYTES, headers_len);
    if (!headers)
        return fail_stream(stream, "an event's headers are malformed");
    data[end] = '\0'; /* the NUL after the payload overwrites the checksum */
    if (!give_out(stream, headers, (char *)payload, (gsize)(data + end - payload)))
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
