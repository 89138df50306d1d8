/* Tests of the frames of a command's output, split at every byte. */
#include "test_sandbox.h"

#include <string.h>

#include "sandbox/container_engine.h"

typedef struct {
    GString *out, *err;
} Taken;

static void take(void *ctx, bool is_stderr, const char *data, gsize len)
{
    Taken *taken = ctx;
    g_string_append_len(is_stderr ? taken->err : taken->out, data, (gssize)len);
}

static void add_frame(GByteArray *stream, guint8 kind, const char *text)
{
    gsize len = strlen(text);
    const guint8 head[] = {kind, 0, 0, 0, 0, 0, (guint8)(len >> 8), (guint8)len};
    g_byte_array_append(stream, head, sizeof head);
    g_byte_array_append(stream, (const guint8 *)text, (guint)len);
}

/* Feeds the bytes in two or three parts. */
static void expect(const GByteArray *stream, guint first, guint second, const char *out, const char *err)
{
    Taken taken = {g_string_new(NULL), g_string_new(NULL)};
    AcrFrames frames = {.take = take, .ctx = &taken};
    const char *data = (const char *)stream->data;
    g_assert_true(acr_frames_feed(&frames, data, first));
    g_assert_true(acr_frames_feed(&frames, data + first, second - first));
    g_assert_true(acr_frames_feed(&frames, data + second, stream->len - second));
    g_assert_cmpstr(taken.out->str, ==, out);
    g_assert_cmpstr(taken.err->str, ==, err);
    g_string_free(taken.out, TRUE);
    g_string_free(taken.err, TRUE);
}

TEST("/sandbox/engine_frames", they_may_be_cut_anywhere)
{
    g_autoptr(GByteArray) stream = g_byte_array_new();
    g_autofree char *longer = g_strnfill(300, 'l'), *out = g_strconcat("one ", longer, NULL);
    add_frame(stream, 1, "one ");
    add_frame(stream, 2, "error");
    add_frame(stream, 1, "");
    add_frame(stream, 1, longer);
    add_frame(stream, 2, "!");
    for (guint first = 0; first <= stream->len; first++)
        for (guint second = first; second <= stream->len; second += 7)
            expect(stream, first, second, out, "error!");
}

TEST("/sandbox/engine_frames", what_is_no_frame_is_refused)
{
    Taken taken = {g_string_new(NULL), g_string_new(NULL)};
    AcrFrames text = {.take = take, .ctx = &taken}, later = text;
    g_autoptr(GByteArray) stream = g_byte_array_new();
    g_assert_false(acr_frames_feed(&text, "plain text", 10));
    g_assert_cmpstr(taken.out->str, ==, "");
    add_frame(stream, 1, "good");
    g_byte_array_append(stream, (const guint8 *)"Error", 5);
    g_assert_false(acr_frames_feed(&later, (const char *)stream->data, stream->len));
    g_assert_cmpstr(taken.out->str, ==, "good");
    g_string_free(taken.out, TRUE);
    g_string_free(taken.err, TRUE);
}
