/* Fuzzes the parser of server-sent events: any bytes must give the same events at once, byte by
 * byte or in pieces, and no events after a stop. */
#include <string.h>

#include "llm/llm_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    GString *text;
    guint left; /* number of events until the stop */
} Seen;

static bool on_event(void *ctx, const AcrEvent *event)
{
    Seen *seen = ctx;

    g_assert_cmpuint(seen->left, >, 0);
    g_assert_cmpint(event->data[event->len], ==, 0);
    g_string_append_printf(seen->text, "%s %zu ", event->name, event->len);
    g_string_append_len(seen->text, event->data, (gssize)event->len);
    return --seen->left > 0;
}

/* Up to `most` events; owned. */
static GString *events_of(const uint8_t *data, gsize size, gsize piece, guint most)
{
    Seen seen = {.text = g_string_new(NULL), .left = most};
    AcrSse *sse = acr_sse_new(on_event, &seen);

    for (gsize at = 0; at < size; at += piece)
        if (!acr_sse_feed(sse, (const char *)data + at, MIN(piece, size - at)))
            break;
    if (!acr_sse_end(sse))
        g_assert_cmpuint(seen.left, ==, 0);
    g_assert_false(acr_sse_is_too_big(sse));
    acr_sse_free(sse);
    return seen.text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    guint most = size > 0 && data[size - 1] % 4 == 0 ? 3 : G_MAXUINT;
    const gsize pieces[] = {1, size > 0 ? 1 + data[0] % 64 : 1};
    GString *whole = events_of(data, size, MAX(size, 1), most);

    for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++) {
        GString *split = events_of(data, size, pieces[i], most);

        g_assert_cmpmem(split->str, split->len, whole->str, whole->len);
        g_string_free(split, TRUE);
    }
    g_string_free(whole, TRUE);
    return 0;
}
