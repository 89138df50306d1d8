/* Fuzzes the parser of AWS's binary event stream: any bytes, fed at once or in pieces, must give
 * the same events and the same problem; names must be text, and every payload must be followed by
 * NUL. The first byte of the input says how it is fed, and whether checksums (and a last length
 * beyond the end) are corrected first, because otherwise hardly any input would pass the first
 * checksum. */
#include "llm/llm_private.h"

#include <string.h>

#include "../unit/llm/frame.h"

#define FIX_SUMS 1u
#define FIX_HEADERS 2u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    GChecksum *sum; /* of all reported events */
    guint count;
    guint stop_after;
} Seen;

static bool on_event(void *ctx, const AcrEvent *event)
{
    Seen *seen = ctx;
    guint8 kind = event->is_exception;

    g_assert_true(acr_utf8_is_text(event->name, strlen(event->name)));
    g_assert_cmpuint(event->len, <=, ACR_MAX_EVENT_BYTES);
    g_assert_cmpint(event->data[event->len], ==, '\0');
    g_checksum_update(seen->sum, (const guchar *)event->name, (gssize)strlen(event->name) + 1);
    g_checksum_update(seen->sum, (const guchar *)event->data, (gssize)event->len + 1);
    g_checksum_update(seen->sum, &kind, 1);
    seen->count++;
    return seen->count != seen->stop_after;
}

static void write_number(guint8 *at, guint32 value)
{
    value = GUINT32_TO_BE(value);
    memcpy(at, &value, sizeof value);
}

static guint32 read_number(const guint8 *at)
{
    guint32 value = 0;

    memcpy(&value, at, sizeof value);
    return GUINT32_FROM_BE(value);
}

/* Corrects the checksums of the frames, whose lengths stay if they fit. */
static void fix(guint8 *data, gsize len, bool headers_too)
{
    while (len >= 16) {
        gsize total = read_number(data);

        if (total < 16 || total > len)
            total = len;
        write_number(data, (guint32)total);
        if (headers_too)
            write_number(data + 4, read_number(data + 4) % (guint32)(total - 15));
        write_number(data + 8, frame_sum(data, 8));
        write_number(data + total - 4, frame_sum(data, total - 4));
        data += total;
        len -= total;
    }
}

/* A checksum of the events and the problem; owned. */
static char *run(const guint8 *data, gsize len, gsize step, guint stop_after)
{
    Seen seen = {.sum = g_checksum_new(G_CHECKSUM_SHA256), .stop_after = stop_after};
    AcrEventStream *stream = acr_eventstream_new(on_event, &seen);
    bool more = true;
    char *out = NULL;

    for (gsize at = 0; more && at < len; at += step) {
        g_autofree char *piece = g_memdup2(data + at, MIN(step, len - at));

        more = acr_eventstream_feed(stream, piece, MIN(step, len - at));
    }
    g_assert_true(more || acr_eventstream_problem(stream) || (stop_after && seen.count == stop_after));
    out = g_strdup_printf("%s %u %s", g_checksum_get_string(seen.sum), seen.count,
                          acr_eventstream_problem(stream) ? acr_eventstream_problem(stream) : "");
    acr_eventstream_free(stream);
    g_checksum_free(seen.sum);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree guint8 *copy = NULL;
    g_autofree char *whole = NULL, *pieces = NULL;
    guint8 mode = size > 0 ? data[0] : 0;
    gsize step = (mode >> 4) + 1u;
    guint stop_after = mode >> 2 & 3u;

    if (size < 2)
        return 0;
    copy = g_memdup2(data + 1, size - 1);
    if (mode & FIX_SUMS)
        fix(copy, size - 1, mode & FIX_HEADERS);
    whole = run(copy, size - 1, size, stop_after);
    pieces = run(copy, size - 1, step, stop_after);
    g_assert_cmpstr(whole, ==, pieces);
    return 0;
}
