/* Makes frames of application/vnd.amazon.eventstream, for tests of their readers. All functions
 * append to a byte array; only frame_add_prelude can write a wrong length. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <string.h>

static inline guint32 frame_sum(const guint8 *data, gsize len)
{
    static guint32 sums[256];
    for (guint32 i = 0; !sums[255] && i < G_N_ELEMENTS(sums); i++) {
        sums[i] = i;
        for (int bit = 0; bit < 8; bit++)
            sums[i] = sums[i] & 1 ? sums[i] >> 1 ^ 0xedb88320 : sums[i] >> 1;
    }
    guint32 sum = 0xffffffff;
    for (gsize i = 0; i < len; i++)
        sum = sum >> 8 ^ sums[(sum ^ data[i]) & 0xff];
    return ~sum;
}

static inline void frame_add_number(GByteArray *bytes, guint32 value)
{
    guint32 wire = GUINT32_TO_BE(value);
    g_byte_array_append(bytes, (const guint8 *)&wire, sizeof wire);
}

static inline void frame_add_prelude(GByteArray *bytes, guint32 total, guint32 headers)
{
    gsize start = bytes->len;
    frame_add_number(bytes, total);
    frame_add_number(bytes, headers);
    frame_add_number(bytes, frame_sum(bytes->data + start, 8));
}

static inline void frame_add_header(GByteArray *headers, const char *name, guint8 type, const char *value, gsize len)
{
    guint8 name_len = (guint8)strlen(name);
    guint8 value_len[2] = {(guint8)(len >> 8), (guint8)len};
    g_byte_array_append(headers, &name_len, 1);
    g_byte_array_append(headers, (const guint8 *)name, name_len);
    g_byte_array_append(headers, &type, 1);
    g_byte_array_append(headers, value_len, 2);
    g_byte_array_append(headers, (const guint8 *)value, (guint)len);
}

static inline void frame_add_raw(GByteArray *bytes, const GByteArray *headers, const char *payload, gsize len)
{
    gsize start = bytes->len;
    frame_add_prelude(bytes, (guint32)(16 + headers->len + len), headers->len);
    if (headers->len > 0)
        g_byte_array_append(bytes, headers->data, headers->len);
    g_byte_array_append(bytes, (const guint8 *)payload, (guint)len);
    frame_add_number(bytes, frame_sum(bytes->data + start, bytes->len - start));
}

/* Appends a frame as Bedrock sends it. `message_type`: "event" or "exception"; NULL: omit that
 * header. */
static inline void frame_add(GByteArray *bytes, const char *message_type, const char *name, const char *payload)
{
    g_autoptr(GByteArray) headers = g_byte_array_new();
    bool is_exception = message_type && strcmp(message_type, "exception") == 0;
    frame_add_header(headers, is_exception ? ":exception-type" : ":event-type", 7, name, strlen(name));
    frame_add_header(headers, ":content-type", 7, "application/json", 16);
    if (message_type)
        frame_add_header(headers, ":message-type", 7, message_type, strlen(message_type));
    frame_add_raw(bytes, headers, payload, strlen(payload));
}
