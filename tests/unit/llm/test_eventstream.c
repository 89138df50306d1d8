/* Tests of the binary event stream: frames from the tests of AWS's clients, truncated anywhere,
 * with wrong checksums or wrong lengths. frame.h builds our own frames, with an independent CRC. */
#include "test_llm.h"

#include <string.h>

#include "frame.h"

/* The events that the reader reported: "name|data|", or "name!data|" for an exception. */
typedef struct {
    GString *seen;
    guint stop_after; /* number of events; 0: never stop */
    guint count;
} Log;

static bool on_event(void *ctx, const AcrEvent *event)
{
    Log *log = ctx;
    g_assert_cmpint(event->data[event->len], ==, '\0');
    g_string_append_printf(log->seen, "%s%c", event->name, event->is_exception ? '!' : '|');
    g_string_append_len(log->seen, event->data, (gssize)event->len);
    g_string_append_c(log->seen, '\n');
    log->count++;
    return log->count != log->stop_after;
}

/* Feeds the bytes in steps of `step` (0: all at once). Returns the reported events, owned, and the
 * problem. */
static char *read_frames(const GByteArray *bytes, gsize step, const char **out_problem)
{
    Log log = {.seen = g_string_new(NULL)};
    AcrEventStream *stream = acr_eventstream_new(on_event, &log);
    bool more = true;
    step = step ? step : MAX(bytes->len, 1);
    for (gsize at = 0; more && at < bytes->len; at += step) {
        g_autofree char *piece = g_memdup2(bytes->data + at, MIN(step, bytes->len - at));
        more = acr_eventstream_feed(stream, piece, MIN(step, bytes->len - at));
    }
    g_assert_true(more == !acr_eventstream_problem(stream));
    if (!more)
        g_assert_false(acr_eventstream_feed(stream, "x", 1));
    *out_problem = acr_eventstream_problem(stream);
    acr_eventstream_free(stream);
    return g_string_free(log.seen, FALSE);
}

static void assert_reads(const GByteArray *bytes, const char *seen, const char *problem)
{
    static const gsize steps[] = {0, 1, 3, 16};
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
        const char *found = NULL;
        assert_text(read_frames(bytes, steps[i], &found), seen);
        g_assert_cmpstr(found, ==, problem);
    }
}

static void assert_literal_reads(const char *data, gsize len, const char *seen, const char *problem)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)data, (guint)len);
    assert_reads(bytes, seen, problem);
}
#define ASSERT_LITERAL(text, seen, problem) assert_literal_reads(text, sizeof(text) - 1, seen, problem)

/* These bytes come from the tests of AWS's Python client. */
TEST("/llm/eventstream", frames_of_other_clients_are_read)
{
    ASSERT_LITERAL("\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2H\xeb}\x98\xc8\xff", "|\n", NULL);
    ASSERT_LITERAL("\x00\x00\x00\x1d\x00\x00\x00\x00\xfdR\x8cZ{'foo':'bar'}\xc3"
                   "e96",
                   "|{'foo':'bar'}\n", NULL);
    ASSERT_LITERAL("\x00\x00\x00=\x00\x00\x00 \x07\xfd\x83\x96\x0c"
                   "content-type\x07\x00\x10"
                   "application/json{'foo':'bar'}\x8d\x9c\x08\xb1",
                   "|{'foo':'bar'}\n", NULL);
    ASSERT_LITERAL("\x00\x00\x00\x62\x00\x00\x00\x52\x03\xb5\xcb\x9c\x01"
                   "0\x00\x01"
                   "1\x01\x01"
                   "2\x02\x02\x01"
                   "3\x03\x00\x03\x01"
                   "4\x04\x00\x00\x00\x04\x01"
                   "5\x05\x00\x00\x00\x00\x00\x00\x00\x05\x01"
                   "6\x06\x00\x05"
                   "bytes\x01"
                   "7\x07\x00\x04"
                   "utf8\x01"
                   "8\x08\x00\x00\x00\x00\x00\x00\x00\x08\x01"
                   "9\x09"
                   "0123456789abcdef"
                   "\x63\x35\x36\x71",
                   "|\n", NULL);
    ASSERT_LITERAL("\x00\x00\x00\x52\x00\x00\x00\x42\xbf\x23\x63\x7e\x0d:message-type\x07\x00\x05"
                   "error\x0b:error-code\x07\x00\x04"
                   "code\x0e:error-message\x07\x00\x07message\x6b\x6c\xea\x3d",
                   "code!{\"message\":\"message\"}\n", NULL);
}

TEST("/llm/eventstream", wrong_sums_are_found_at_once)
{
    static const char lengths[] = "the checksum of an event's lengths is wrong";
    static const char whole[] = "the checksum of an event is wrong";
    ASSERT_LITERAL("\x00\x00\x00=\xff\x00\x01\x02\x07\xfd\x83\x96", "", lengths);
    ASSERT_LITERAL("\x01\x00\x00\x1d\x00\x00\x00\x00\xfdR\x8cZ{'foo':'bar'}\xc3"
                   "e96",
                   "", lengths);
    ASSERT_LITERAL("\x00\x00\x00=\x00\x00\x00 \x07\xfd\x83\x96\x0c"
                   "content+type\x07\x00\x10"
                   "application/json{'foo':'bar'}\x8d\x9c\x08\xb1",
                   "", whole);
    ASSERT_LITERAL("\x00\x00\x00\x1d\x00\x00\x00\x00\xfdR\x8cZ{'foo':'bar'\x8d\xc3"
                   "e96",
                   "", whole);
    ASSERT_LITERAL("data: {\"text\":\"no such stream\"}\n\n", "", lengths);
}

TEST("/llm/eventstream", events_are_told_from_exceptions)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    frame_add(bytes, "event", "messageStart", "{\"role\":\"assistant\"}");
    frame_add(bytes, "event", "metadata", "");
    frame_add(bytes, "exception", "throttlingException", "{\"message\":\"slow\"}");
    frame_add(bytes, NULL, "nameless", "x");
    frame_add(bytes, "event", "half", "cut here");
    g_byte_array_set_size(bytes, bytes->len - 1); /* the last frame is incomplete */
    assert_reads(bytes,
                 "messageStart|{\"role\":\"assistant\"}\nmetadata|\n"
                 "throttlingException!{\"message\":\"slow\"}\nnameless|x\n",
                 NULL);
}

TEST("/llm/eventstream", names_that_are_no_text_are_repaired)
{
    g_autoptr(GByteArray) headers = g_byte_array_new();
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    const char *problem = NULL;
    g_autofree char *seen = NULL;
    frame_add_header(headers, ":event-type", 7, "a\xff", 2);
    frame_add_raw(bytes, headers, "\xff\x00x", 3);
    seen = read_frames(bytes, 1, &problem);
    g_assert_null(problem);
    g_assert_cmpmem(seen, 9, "a\xef\xbf\xbd|\xff\x00x\n", 9);
}

static void assert_headers(const char *data, gsize len, const char *seen, const char *problem)
{
    g_autoptr(GByteArray) headers = g_byte_array_new();
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_byte_array_append(headers, (const guint8 *)data, (guint)len);
    frame_add_raw(bytes, headers, "p", 1);
    assert_reads(bytes, seen, problem);
}
#define ASSERT_HEADERS(text, seen, problem) assert_headers(text, sizeof(text) - 1, seen, problem)

TEST("/llm/eventstream", malformed_headers_are_a_problem)
{
    static const char problem[] = "an event's headers are malformed";
    ASSERT_HEADERS("\x03"
                   "abc\x07\x00\x00",
                   "|p\n", NULL);
    ASSERT_HEADERS("\x01", "", problem); /* no name */
    ASSERT_HEADERS("\xff"
                   "abc\x07\x00\x00",
                   "", problem); /* the name is longer than the headers */
    ASSERT_HEADERS("\x03"
                   "abc",
                   "", problem); /* no type */
    ASSERT_HEADERS("\x03"
                   "abc\x0a",
                   "", problem); /* no such type */
    ASSERT_HEADERS("\x03"
                   "abc\x07\x00",
                   "", problem); /* half a length */
    ASSERT_HEADERS("\x03"
                   "abc\x07\xff\xff",
                   "", problem); /* the value is missing */
    ASSERT_HEADERS("\x03"
                   "abc\x05\x00\x00",
                   "", problem);                                        /* a truncated number */
    ASSERT_HEADERS("\x0b:event-type\x04\x00\x00\x00\x01", "", problem); /* not a string */
    ASSERT_HEADERS("\x0b:event-type\x07\x00\x01"
                   "a\x0b:event-type\x07\x00\x01"
                   "b",
                   "", problem); /* the header occurs twice */
}

static void assert_prelude(guint32 total, guint32 headers, const char *problem)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    frame_add_prelude(bytes, total, headers);
    assert_reads(bytes, "", problem);
}

TEST("/llm/eventstream", lengths_are_checked_before_they_are_believed)
{
    static const char contradiction[] = "an event's lengths contradict each other";
    static const char size[] = "an event is too large";
    assert_prelude(0, 0, contradiction);
    assert_prelude(15, 0, contradiction);
    assert_prelude(16, 1, contradiction);
    assert_prelude(16, 0xffffffff, contradiction);
    assert_prelude(0xffffffff, 0xffffffff, contradiction);
    assert_prelude(0xffffffff, 0, size);
    assert_prelude(0xffffffff, 0xffffffef, size);
    assert_prelude(16 + 128 * 1024 + 1, 128 * 1024 + 1, size);
    assert_prelude(16 + 24 * 1024 * 1024 + 1, 0, size);
    assert_prelude(16 + 128 * 1024 + 24 * 1024 * 1024, 128 * 1024, NULL);
}

TEST("/llm/eventstream", the_largest_payload_is_read)
{
    g_autofree char *text = g_strnfill(ACR_MAX_EVENT_BYTES, 'a');
    g_autoptr(GByteArray) headers = g_byte_array_new();
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    const char *problem = NULL;
    g_autofree char *seen = NULL;
    frame_add_raw(bytes, headers, text, ACR_MAX_EVENT_BYTES);
    seen = read_frames(bytes, 16 * 1024, &problem);
    g_assert_null(problem);
    g_assert_cmpuint(strlen(seen), ==, ACR_MAX_EVENT_BYTES + 2);
}

TEST("/llm/eventstream", nothing_is_read_after_a_stop)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    Log log = {.seen = g_string_new(NULL), .stop_after = 2};
    AcrEventStream *stream = acr_eventstream_new(on_event, &log);
    for (int i = 0; i < 3; i++)
        frame_add(bytes, "event", "e", "x");
    g_assert_false(acr_eventstream_feed(stream, (const char *)bytes->data, bytes->len));
    g_assert_false(acr_eventstream_feed(stream, (const char *)bytes->data, bytes->len));
    g_assert_cmpuint(log.count, ==, 2);
    g_assert_null(acr_eventstream_problem(stream));
    acr_eventstream_free(stream);
    acr_eventstream_free(NULL);
    g_string_free(log.seen, TRUE);
}
