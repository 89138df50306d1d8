/* Tests of parsing server-sent events: line ends, fields, limits, and input that is split
 * anywhere. */
#include "test_llm.h"

/* Events as text: "[NAME|DATA]" for each. */
typedef struct {
    GString *seen;
    guint stop_after; /* number of events; 0: never stop */
    guint count;
} Seen;

static bool on_event(void *ctx, const AcrEvent *event)
{
    Seen *seen = ctx;
    g_assert_cmpuint(event->data[event->len], ==, 0);
    g_string_append_printf(seen->seen, "[%s|", event->name);
    g_string_append_len(seen->seen, event->data, (gssize)event->len);
    g_string_append_c(seen->seen, ']');
    seen->count++;
    return seen->count != seen->stop_after;
}

/* The events of the text, fed in pieces that end at `cuts` (ascending offsets); owned. */
static char *events_of(const char *text, gsize len, const gsize *cuts, gsize n_cuts)
{
    Seen seen = {.seen = g_string_new(NULL)};
    AcrSse *sse = acr_sse_new(on_event, &seen);
    gsize at = 0;
    for (gsize i = 0; i <= n_cuts; i++) {
        gsize end = i < n_cuts ? cuts[i] : len;
        g_assert_true(acr_sse_feed(sse, text + at, end - at));
        at = end;
    }
    g_assert_true(acr_sse_end(sse));
    acr_sse_free(sse);
    return g_string_free(seen.seen, FALSE);
}

/* Feeds the text at once, and split in two at each byte. */
static void assert_events(const char *text, gsize len, const char *expected)
{
    for (gsize cut = 0; cut <= len; cut++) {
        assert_text(events_of(text, len, &cut, 1), expected);
    }
}
#define EVENTS(text, expected) assert_events(text, sizeof text - 1, expected)

TEST("/llm/sse", fields_are_read_by_the_standard)
{
    EVENTS("data:a\n\n", "[|a]");
    EVENTS("data:  a \n\n", "[| a ]");
    EVENTS("data\n\n", "[|]");
    EVENTS("data:\n\n", "[|]");
    EVENTS("data: a:b\n\n", "[|a:b]");
    EVENTS("data: a\ndata: b\ndata\ndata:\n\n", "[|a\nb\n\n]");
    EVENTS("event: e\ndata: a\n\ndata: b\n\n", "[e|a][|b]");
    EVENTS("event: e\nevent: f\ndata: a\n\n", "[f|a]");
    EVENTS("data: a\nevent: e\nid: 7\nretry: 9\nother: x\nDATA: y\n data: z\n\n", "[e|a]");
}

TEST("/llm/sse", comments_and_events_without_data_are_nothing)
{
    EVENTS(": ping\n\n:\n\n: data: x\n\n", "");
    EVENTS("event: e\n\n", "");
    EVENTS("event: e\n\ndata: a\n\n", "[|a]");
    EVENTS("data: a\n: between\ndata: b\n\n", "[|a\nb]");
    EVENTS("\n\n\r\n\r", "");
    EVENTS("", "");
}

TEST("/llm/sse", a_byte_order_mark_is_dropped_at_the_start_alone)
{
    EVENTS("\xef\xbb\xbf"
           "data: a\n\n",
           "[|a]");
    EVENTS("\xef\xbb\xbf\ndata: a\n\n", "[|a]");
    EVENTS("data: a\n\n\xef\xbb\xbf"
           "data: b\n\n",
           "[|a]");
    EVENTS("data: \xef\xbb\xbf"
           "a\n\n",
           "[|\xef\xbb\xbf"
           "a]");
}

TEST("/llm/sse", a_nul_is_a_byte_of_data)
{
    static const char text[] = "data: a\0b\n\n";
    Seen seen = {.seen = g_string_new(NULL)};
    AcrSse *sse = acr_sse_new(on_event, &seen);
    g_assert_true(acr_sse_feed(sse, text, sizeof text - 1));
    g_assert_cmpmem(seen.seen->str, seen.seen->len, "[|a\0b]", 6);
    acr_sse_free(sse);
    g_string_free(seen.seen, TRUE);
}

static int by_offset(const void *a, const void *b)
{
    gsize x = *(const gsize *)a, y = *(const gsize *)b;
    return x < y ? -1 : x > y;
}

TEST("/llm/sse", it_does_not_matter_where_bytes_are_split)
{
    static const char *const atoms[] = {"data: ", "data", ":",        "a",        "\n", "\r\n",
                                        "\r",     "\n\n", "event: e", "\r\n\r\n", " ",  "\xef\xbb\xbf"};
    g_autoptr(GRand) rand = g_rand_new_with_seed(20261122);
    for (guint round = 0; round < 3000; round++) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *whole = NULL;
        g_autofree char *split = NULL;
        gsize cuts[12];
        for (guint n = (guint)g_rand_int_range(rand, 1, 40); n > 0; n--)
            g_string_append(text, atoms[g_rand_int_range(rand, 0, G_N_ELEMENTS(atoms))]);
        for (gsize i = 0; i < G_N_ELEMENTS(cuts); i++)
            cuts[i] = (gsize)g_rand_int_range(rand, 0, (gint32)text->len + 1);
        qsort(cuts, G_N_ELEMENTS(cuts), sizeof *cuts, by_offset);
        whole = events_of(text->str, text->len, NULL, 0);
        split = events_of(text->str, text->len, cuts, G_N_ELEMENTS(cuts));
        g_assert_cmpstr(split, ==, whole);
    }
}

TEST("/llm/sse", nothing_is_read_after_a_stop)
{
    static const char text[] = "data: a\n\ndata: b\n\ndata: c\n\n";
    Seen seen = {.seen = g_string_new(NULL), .stop_after = 2};
    AcrSse *sse = acr_sse_new(on_event, &seen);
    g_assert_false(acr_sse_feed(sse, text, strlen(text)));
    g_assert_false(acr_sse_feed(sse, text, strlen(text)));
    g_assert_false(acr_sse_end(sse));
    g_assert_false(acr_sse_is_too_big(sse));
    g_assert_cmpstr(seen.seen->str, ==, "[|a][|b]");
    acr_sse_free(sse);
    g_string_free(seen.seen, TRUE);
}

TEST("/llm/sse", lines_of_bare_json_are_data_and_other_lines_nothing)
{
    static const char text[] = "data: a\n\n{\n  \"error\": {\"code\": 5}\n}\n\n: note\nid: 7\n"
                               "no field\ndata\n\n{\"error\":\"x\"}";
    Seen seen = {.seen = g_string_new(NULL)};
    AcrSse *sse = acr_sse_new(on_event, &seen);
    for (gsize i = 0; i < strlen(text); i++)
        g_assert_true(acr_sse_feed(sse, text + i, 1));
    g_assert_true(acr_sse_end(sse));
    g_assert_cmpstr(seen.seen->str, ==, "[|a][|{\n  \"error\": {\"code\": 5}\n}][|][|{\"error\":\"x\"}]");
    acr_sse_free(sse);
    g_string_free(seen.seen, TRUE);
}

static bool count_bytes(void *ctx, const AcrEvent *event)
{
    *(gsize *)ctx += event->len;
    return true;
}

TEST("/llm/sse", long_lines_work_up_to_the_ceiling)
{
    const gsize mega = 1024 * 1024;
    g_autofree char *filler = g_strnfill(mega, 'x');
    gsize bytes = 0;
    AcrSse *sse = acr_sse_new(count_bytes, &bytes);
    g_assert_true(acr_sse_feed(sse, "data:", 5));
    for (gsize i = 0; i < mega; i += 1000)
        g_assert_true(acr_sse_feed(sse, filler, MIN(1000, mega - i)));
    g_assert_true(acr_sse_feed(sse, "\n\n", 2));
    g_assert_cmpuint(bytes, ==, mega);
    g_assert_true(acr_sse_feed(sse, "data:", 5));
    for (gsize i = 0; i + 1 < ACR_MAX_EVENT_BYTES / mega; i++)
        g_assert_true(acr_sse_feed(sse, filler, mega));
    g_assert_false(acr_sse_is_too_big(sse));
    g_assert_false(acr_sse_feed(sse, filler, mega)); /* with "data:" before it */
    g_assert_true(acr_sse_is_too_big(sse));
    g_assert_false(acr_sse_feed(sse, "\n\n", 2));
    g_assert_false(acr_sse_end(sse));
    g_assert_cmpuint(bytes, ==, mega);
    acr_sse_free(sse);
}

TEST("/llm/sse", many_lines_of_one_event_are_bounded_too)
{
    g_autofree char *filler = g_strnfill(1024 * 1024, 'x');
    gsize bytes = 0;
    AcrSse *sse = acr_sse_new(count_bytes, &bytes);
    guint lines = 0;
    for (bool more = true; more && lines < 100; lines += more)
        more = acr_sse_feed(sse, "data:", 5) && acr_sse_feed(sse, filler, strlen(filler)) && acr_sse_feed(sse, "\n", 1);
    g_assert_cmpuint(lines, ==, ACR_MAX_EVENT_BYTES / (1024 * 1024) - 1);
    g_assert_true(acr_sse_is_too_big(sse));
    g_assert_cmpuint(bytes, ==, 0);
    acr_sse_free(sse);
}
