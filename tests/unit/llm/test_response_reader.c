/* Tests of turning the bytes of a response into an answer or a failure: the kind of body, its end,
 * its limits. */
#include "http/http.h"
#include "shown.h"

#define P &acr_provider_openai
#define CHUNK(text, finish) "data: {'choices':[{'delta':{'content':'" text "'},'finish_reason':" finish "}]}\n\n"
#define STREAM CHUNK("a", "null") CHUNK("b", "'stop'") "data: [DONE]\n\n"
#define WHOLE "{'choices':[{'message':{'content':'ab'},'finish_reason':'stop'}]}"
#define ANSWER "ab|stop|-|-1+-1+-1>-1(-1)"

/* A table of headers from NULL-terminated pairs; owned. */
static GHashTable *headers_of(const char *const *pairs)
{
    GHashTable *headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (; *pairs; pairs += 2)
        g_hash_table_insert(headers, g_strdup(pairs[0]), g_strdup(pairs[1]));
    return headers;
}
#define HEADERS(...) headers_of((const char *const[]){__VA_ARGS__, NULL})

static void assert_typed(const char *type, const char *text, const char *expected)
{
    g_autoptr(GHashTable) headers = HEADERS("content-type", type);
    g_autofree char *json = quoted(text);
    for (gsize piece = 1; piece <= strlen(json); piece = piece < 4 ? piece + 1 : piece * 3) {
        g_autofree char *shown = show_response(P, 200, headers, json, strlen(json), piece);
        if (!g_str_has_prefix(shown, expected))
            g_error("as %s: '%s' is not the beginning of: %s", type, expected, shown);
    }
}

TEST("/llm/reader", a_body_is_known_by_its_type_and_by_its_first_byte)
{
    static const char *const types[] = {"text/event-stream",
                                        "text/event-stream; charset=utf-8",
                                        "Text/Event-Stream",
                                        "application/json",
                                        "application/json; charset=utf-8",
                                        "text/plain",
                                        ""};
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
        assert_typed(types[i], STREAM, ANSWER);
        assert_typed(types[i], ": ping\n\n" STREAM, ANSWER);
        assert_typed(types[i], "\n\r\n \n" STREAM, ANSWER);
        assert_typed(types[i], " \t" STREAM, ANSWER);
        assert_typed(types[i], "event: x\n" STREAM, ANSWER);
        assert_typed(types[i], "id: 1\n" STREAM, ANSWER);
        assert_typed(types[i], "retry: 1\n" STREAM, ANSWER);
        assert_typed(types[i], WHOLE, ANSWER);
        assert_typed(types[i], "\n\n\n" WHOLE "\n", ANSWER);
        assert_typed(types[i], "{'error':{'message':'M','code':503}}", "overloaded: ");
    }
    assert_shown(P, STREAM, ANSWER); /* without headers */
    assert_shown(P, WHOLE, ANSWER);
    assert_class(P, 200, "<html>", "malformed: the server's answer is not JSON (HTTP 200, it starts with \"<html>\")");
    assert_class(P, 200, "", "malformed: ");
    assert_class(P, 200, "\n\n", "malformed: ");
    assert_typed("text/event-stream", "\n", "truncated_stream: ");
}

TEST("/llm/reader", what_comes_after_the_end_is_not_wanted)
{
    g_autofree char *text = quoted(STREAM CHUNK("more", "null"));
    g_autoptr(AcrReader) reader = acr_reader_new(P, 200, NULL);
    g_auto(AcrModelAnswer) answer = {0};
    g_auto(AcrFailure) failure = {0};
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    g_assert_false(acr_reader_feed(reader, text, strlen(text)));
    g_assert_true(acr_reader_end(reader, "cut all the same", &answer, &usage, &failure));
    g_assert_cmpstr(answer.content, ==, "ab");
}

/* The class and message for a body that ended because of `cut`, and whether its usage is known. */
static char *end_of(const char *text, const char *cut, bool *out_knows_usage)
{
    g_autofree char *json = quoted(text);
    g_autoptr(AcrReader) reader = acr_reader_new(P, 200, NULL);
    g_auto(AcrModelAnswer) answer = {0};
    g_auto(AcrFailure) failure = {0};
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    bool ok = false;
    g_assert_true(acr_reader_feed(reader, json, strlen(json)));
    ok = acr_reader_end(reader, cut, &answer, &usage, &failure);
    *out_knows_usage = usage.output >= 0;
    return ok ? g_strdup(answer.content) : g_strdup_printf("%s: %s", acr_llm_error_name(failure.code), failure.message);
}

static void assert_end(const char *text, const char *cut, const char *expected)
{
    bool knows_usage = false;
    assert_text(end_of(text, cut, &knows_usage), expected);
    g_assert_false(knows_usage);
}

TEST("/llm/reader", a_body_that_is_cut_is_truncated_and_its_usage_unknown)
{
#define USED "data: {'choices':[],'usage':{'prompt_tokens':1,'completion_tokens':1}}\n\n"
    bool knows_usage = false;
    g_autofree char *whole = end_of(WHOLE, "one byte is missing", &knows_usage);
    assert_end(CHUNK("a", "null") USED, NULL, "truncated_stream: the stream ended before the answer was complete");
    assert_end(CHUNK("a", "'stop'") USED, "the peer is gone", "truncated_stream: the peer is gone");
    assert_end("{'choices':[{'message':{'content':'a", "the peer is gone", "truncated_stream: the peer is gone");
    assert_end("", "the peer is gone", "truncated_stream: HTTP 200 without an answer: the peer is gone");
    assert_end(CHUNK("a", "null") "data: {'choices'", "the peer is gone", "truncated_stream: the peer is gone");
    assert_end("data: {'choices'", NULL, "truncated_stream: the stream ended before the answer was complete");
    g_assert_cmpstr(whole, ==, "ab"); /* the answer is complete */
}

TEST("/llm/reader", an_error_that_is_written_into_a_stream_is_found)
{
    assert_class(P, 200, CHUNK("a", "null") "{'error':{'message':'M','code':503}}\n", "overloaded: HTTP 200: M");
    assert_class(P, 200, CHUNK("a", "null") "{\n'error':\n{'message':'M',\n'code':429}\n}", "rate_limit: ");
    assert_class(P, 200, CHUNK("a", "null") "{'note':'no error'}\n", "truncated_stream: ");
    assert_class(P, 200, CHUNK("a", "null") "upstream closed\n", "truncated_stream: ");
}

TEST("/llm/reader", a_refusal_is_read_up_to_a_ceiling)
{
    static const gsize mega = 1024 * 1024;
    g_autofree char *filler = g_strnfill(mega, 'x');
    g_autoptr(AcrReader) reader = acr_reader_new(P, 503, NULL);
    AcrModelAnswer answer = {0};
    g_auto(AcrFailure) failure = {0};
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    g_assert_true(acr_reader_feed(reader, filler, mega - 1));
    g_assert_false(acr_reader_feed(reader, filler, mega));
    g_assert_false(acr_reader_feed(reader, filler, mega));
    g_assert_false(acr_reader_end(reader, NULL, &answer, &usage, &failure));
    g_assert_cmpint((int)failure.code, ==, ACR_LLM_ERROR_OVERLOADED);
    g_assert_cmpuint(strlen(failure.message), <, 2 * ACR_LLM_MAX_MESSAGE);
}

/* Feeds `first`, then filler until the reader wants no more; returns the number of accepted
 * bytes. */
static gsize fill(const char *first, AcrFailure *out)
{
    static const gsize mega = 1024 * 1024;
    g_autofree char *filler = g_strnfill(mega, 'x');
    g_autoptr(AcrReader) reader = acr_reader_new(P, 200, NULL);
    AcrModelAnswer answer = {0};
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    gsize taken = strlen(first);
    g_assert_true(acr_reader_feed(reader, first, strlen(first)));
    while (acr_reader_feed(reader, filler, mega)) {
        taken += mega;
        g_assert_cmpuint(taken, <=, ACR_HTTP_MAX_BODY_BYTES);
    }
    g_assert_false(acr_reader_end(reader, NULL, &answer, &usage, out));
    return taken;
}

TEST("/llm/reader", what_passes_a_ceiling_is_malformed_for_good)
{
    g_auto(AcrFailure) body = {0};
    g_auto(AcrFailure) event = {0};
    g_assert_cmpuint(fill("{\"choices\":[{\"message\":{\"content\":\"", &body), >=,
                     ACR_HTTP_MAX_BODY_BYTES - 1024 * 1024);
    g_assert_cmpint((int)body.code, ==, ACR_LLM_ERROR_MALFORMED);
    g_assert_false(body.retryable);
    g_assert_cmpuint(fill("data: ", &event), >=, ACR_MAX_EVENT_BYTES - 1024 * 1024);
    g_assert_cmpint((int)event.code, ==, ACR_LLM_ERROR_MALFORMED);
    g_assert_cmpstr(event.message, ==, "the server sent an event that is too large");
    g_assert_false(event.retryable);
}

/* The cost of an answer with this header and member; -1: no cost is stated. */
static gint64 cost_of(const char *said_by_header, const char *said_by_body)
{
    g_autoptr(GHashTable) headers = HEADERS("x-litellm-response-cost", said_by_header);
    g_autofree char *text =
        g_strdup_printf("{'choices':[{'message':{'content':'a'}}],'usage':{'prompt_tokens':1%s}}", said_by_body);
    g_autofree char *json = quoted(text);
    g_autoptr(AcrReader) reader = acr_reader_new(P, 200, headers);
    g_auto(AcrModelAnswer) answer = {0};
    g_auto(AcrFailure) failure = {0};
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    g_assert_true(acr_reader_feed(reader, json, strlen(json)));
    g_assert_true(acr_reader_end(reader, NULL, &answer, &usage, &failure));
    g_assert_cmpint(usage.cost_stated, ==, usage.cost_pico >= 0);
    return usage.cost_pico;
}

TEST("/llm/reader", a_stated_cost_is_the_bodys_or_else_the_headers)
{
    g_assert_cmpint(cost_of("0.0025", ""), ==, 2500000000);
    g_assert_cmpint(cost_of("1.5e-06", ""), ==, 1500000);
    g_assert_cmpint(cost_of("0.0025", ",'cost':0.5"), ==, 500000000000);
    g_assert_cmpint(cost_of("0", ""), ==, 0);
    g_assert_cmpint(cost_of("", ""), ==, -1);
    g_assert_cmpint(cost_of("-1", ""), ==, -1);
    g_assert_cmpint(cost_of("nan", ""), ==, -1);
    g_assert_cmpint(cost_of("1e300", ""), ==, -1);
    g_assert_cmpint(cost_of("1 USD", ""), ==, -1);
    g_assert_cmpint(cost_of("0.5", ",'cost':-3"), ==, 500000000000);
}

TEST("/llm/reader", a_cost_at_another_provider_is_added)
{
#define BYOK(more) ",'cost':0.5,'is_byok':" more
    g_assert_cmpint(cost_of("", BYOK("true,'cost_details':{'upstream_inference_cost':2}")), ==, 2500000000000);
    g_assert_cmpint(cost_of("", BYOK("false,'cost_details':{'upstream_inference_cost':2}")), ==, 500000000000);
    g_assert_cmpint(cost_of("", BYOK("true,'cost_details':{'upstream_inference_cost':1e400}")), ==, -1);
    g_assert_cmpint(cost_of("", BYOK("true")), ==, -1); /* only a part of the cost is stated */
#undef BYOK
}

/* ---- Impossible counters -------- */

#define USAGE(members) "{'choices':[],'usage':{" members "}}"
/* Reads a stream with a piece of text followed by these usages, and compares the result. */
static void assert_usages(const char *first, const char *second, const char *expected)
{
    g_autofree char *text =
        g_strconcat(CHUNK("a", "'stop'"), "data: ", first, "\n\ndata: ", second, "\n\ndata: [DONE]\n\n", NULL);
    assert_shown(P, text, expected);
}

TEST("/llm/reader", of_two_usages_the_larger_counts)
{
    static const char large[] = USAGE("'prompt_tokens':90,'completion_tokens':70"),
                      small[] = USAGE("'prompt_tokens':8,'completion_tokens':7"),
                      mixed[] = USAGE("'prompt_tokens':5,'completion_tokens':80"),
                      none[] = "{'choices':[],'usage':null}";
    assert_usages(large, small, "a|stop|-|90+-1+-1>70(-1)");
    assert_usages(small, large, "a|stop|-|90+-1+-1>70(-1)");
    assert_usages(large, mixed, "a|stop|-|90+-1+-1>80(-1)");
    assert_usages(large, none, "a|stop|-|90+-1+-1>70(-1)");
    assert_usages(none, large, "a|stop|-|90+-1+-1>70(-1)");
    assert_usages(large, "{'choices':[]}", "a|stop|-|90+-1+-1>70(-1)");
}

TEST("/llm/reader", an_output_that_was_counted_before_the_text_is_unknown)
{
    static const char text[] = "data: " USAGE("'prompt_tokens':9,'completion_tokens':1") "\n\n" STREAM;
    assert_shown(P, text, "ab|stop|-|9+-1+-1>-1(-1)");
}

TEST("/llm/reader", what_a_total_holds_beyond_its_parts_is_output)
{
#define TOTAL(n) USAGE("'prompt_tokens':9,'completion_tokens':5,'total_tokens':" n)
    assert_usages(TOTAL("14"), TOTAL("114"), "a|stop|-|9+-1+-1>105(-1)");
    assert_usages(TOTAL("3"), TOTAL("0"), "a|stop|-|9+-1+-1>5(-1)");
    assert_usages(TOTAL("14"), TOTAL("'x'"), "a|stop|-|-1+-1+-1>-1(-1)");
#undef TOTAL
}

/* For each counter of each dialect: if one counter is implausible, the others are not believed
 * either. */
TEST("/llm/reader", a_counter_that_is_no_number_of_tokens_makes_all_unknown)
{
    static const struct {
        const AcrProvider *provider;
        /* `body` has % for the usage; `expected` is the result for that usage */
        const char *body, *expected;
        const char *members[8];
    } rows[] = {{P,
                 "{'choices':[{'message':{'content':'a'},'finish_reason':'stop'}],'usage':%}",
                 "a|stop|-|17+2+1>9(4)",
                 {"'prompt_tokens':20", "'completion_tokens':9", "'total_tokens':29",
                  "'prompt_tokens_details':{'cached_tokens':2,'cache_write_tokens':1}",
                  "'completion_tokens_details':{'reasoning_tokens':4}"}},
                {&acr_provider_openai_responses,
                 "{'status':'completed','output':[{'type':'message','content':[{'type':'output_text',"
                 "'text':'a'}]}],'usage':%}",
                 "a|stop|-|18+2+-1>9(4)",
                 {"'input_tokens':20", "'output_tokens':9", "'total_tokens':29",
                  "'input_tokens_details':{'cached_tokens':2}", "'output_tokens_details':{'reasoning_tokens':4}"}},
                {&acr_provider_anthropic,
                 "{'content':[{'type':'text','text':'a'}],'stop_reason':'end_turn','usage':%}",
                 "a|stop|-|20+2+1>9(4)",
                 {"'input_tokens':20", "'output_tokens':9", "'cache_read_input_tokens':2",
                  "'cache_creation_input_tokens':1", "'output_tokens_details':{'thinking_tokens':4}"}},
                {&acr_provider_gemini,
                 "{'candidates':[{'content':{'parts':[{'text':'a'}]},'finishReason':'STOP'}],"
                 "'usageMetadata':%}",
                 "a|stop|-|21+2+-1>13(4)",
                 {"'promptTokenCount':20", "'candidatesTokenCount':9", "'cachedContentTokenCount':2",
                  "'thoughtsTokenCount':4", "'toolUsePromptTokenCount':3"}},
                {&acr_provider_bedrock,
                 "{'output':{'message':{'content':[{'text':'a'}]}},'stopReason':'end_turn','usage':%}",
                 "a|stop|-|20+2+1>9(-1)",
                 {"'inputTokens':20", "'outputTokens':9", "'totalTokens':29", "'cacheReadInputTokens':2",
                  "'cacheWriteInputTokens':1"}}};
    static const char *const nonsense[] = {"-1", "0.5", "'7'", "true", "[]", "1e18", "1e400", "9223372036854775808"};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(GStrv) halves = g_strsplit(rows[i].body, "%", 2);
        for (gsize bad = 0; rows[i].members[bad]; bad++) {
            for (gsize n = 0; n <= G_N_ELEMENTS(nonsense); n++) {
                g_autofree char *members = g_strjoinv(",", (char **)rows[i].members);
                const char *number = strpbrk(strstr(members, rows[i].members[bad]), "0123456789");
                bool is_whole = n == G_N_ELEMENTS(nonsense);
                g_autofree char *changed = is_whole
                                               ? g_strdup(members)
                                               : g_strdup_printf("%.*s%s%s", (int)(number - members), members,
                                                                 nonsense[n], number + strspn(number, "0123456789"));
                g_autofree char *body = g_strdup_printf("%s{%s}%s", halves[0], changed, halves[1]);
                assert_shown(rows[i].provider, body, is_whole ? rows[i].expected : "a|stop|-|-1+-1+-1>-1(-1)");
            }
        }
    }
}

TEST("/llm/reader", pings_are_no_content)
{
    g_autofree char *text = quoted(CHUNK("a", "null"));
    g_autoptr(AcrReader) reader = acr_reader_new(P, 200, NULL);
    gint64 begun_us = acr_reader_partial(reader)->content_us, content_us = 0;
    g_usleep(2000);
    g_assert_false(acr_reader_partial(reader)->began);
    g_assert_true(acr_reader_feed(reader, ": ping\n\ndata: {\"choices\":[]}\n\n", 30));
    g_assert_cmpint(acr_reader_partial(reader)->content_us, ==, begun_us);
    g_assert_true(acr_reader_feed(reader, text, strlen(text)));
    content_us = acr_reader_partial(reader)->content_us;
    g_assert_cmpint(content_us, >=, begun_us + 2000);
    g_assert_true(acr_reader_partial(reader)->began);
    g_assert_true(acr_reader_feed(reader, "\n\n: ping\n", 9));
    g_assert_cmpint(acr_reader_partial(reader)->content_us, ==, content_us);
}
