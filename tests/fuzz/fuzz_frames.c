/* Fuzzes the frames of a container engine's stream. The first byte selects the size of the pieces.
 * However the bytes are split, each stream must get the same bytes as from a simple parser that has
 * all of them, and errors must occur at the same place. */
#include <string.h>

#include "sandbox/container_engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    GByteArray *streams[2];
} Out;

static void take(void *ctx, bool is_stderr, const char *data, gsize len)
{
    Out *out = ctx;

    g_assert_cmpuint(len, >, 0);
    g_byte_array_append(out->streams[is_stderr], (const guint8 *)data, (guint)len);
}

static void init(Out *out)
{
    out->streams[0] = g_byte_array_new();
    out->streams[1] = g_byte_array_new();
}

static void clear(Out *out)
{
    g_byte_array_unref(out->streams[0]);
    g_byte_array_unref(out->streams[1]);
}

/* A simple parser, after the description of the format, for all bytes at once. */
static bool read_plainly(const uint8_t *data, size_t size, Out *out)
{
    while (size > 0) {
        if (data[0] > 2)
            return false;
        if (size < 8)
            return true;
        size_t len = (size_t)data[4] << 24 | (size_t)data[5] << 16 | (size_t)data[6] << 8 | data[7];
        size_t n = MIN(len, size - 8);
        g_byte_array_append(out->streams[data[0] == 2], data + 8, (guint)n);
        data += 8 + n;
        size -= 8 + n;
    }
    return true;
}

static bool feed(const uint8_t *data, size_t size, size_t piece, Out *out)
{
    AcrFrames frames = {.take = take, .ctx = out};

    for (size_t at = 0; at < size; at += piece)
        if (!acr_frames_feed(&frames, (const char *)data + at, MIN(piece, size - at)))
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Out ours, plain;

    if (size < 1)
        return 0;
    init(&ours);
    init(&plain);
    bool ok = feed(data + 1, size - 1, (size_t)data[0] + 1, &ours);
    g_assert_true(ok == read_plainly(data + 1, size - 1, &plain));
    for (int i = 0; i < 2; i++)
        g_assert_cmpmem(ours.streams[i]->data, ours.streams[i]->len, plain.streams[i]->data, plain.streams[i]->len);
    clear(&ours);
    clear(&plain);
    return 0;
}
