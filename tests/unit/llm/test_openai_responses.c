/* OpenAI's Responses without a network: requests as JSON, answers from events and from JSON. */
#include "endpoints.h"
#include "pieces.h"
#include "test_llm.h"

#define PROVIDER (&acr_provider_openai_responses)
#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define CREATED                                                                                    \
    EVENT("response.created", ",\"response\":{\"status\":\"in_progress\",\"model\":\"gpt-5\","     \
                              "\"output\":[],\"error\":null,\"usage\":null}")
#define DELTA(text) EVENT("response.output_text.delta", ",\"delta\":\"" text "\"")
#define USAGE                                                                                      \
    "\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":64},"             \
    "\"output_tokens\":30,\"output_tokens_details\":{\"reasoning_tokens\":20}}"
#define MESSAGE(text)                                                                              \
    "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\"}]}"
#define WHOLE(status, output, rest)                                                                \
    "{\"status\":\"" status "\",\"model\":\"gpt-5-2025\",\"error\":null,\"output\":[" output       \
    "]" rest "}"
#define END(status, output, rest)                                                                  \
    EVENT("response." status, ",\"response\":" WHOLE(status, output, rest))

/* ---- Requests ---- */

/* The body for a conversation of these messages; `system` may be NULL. Owned. */
static char *request_text(const AcrDialect *dialect, const char *system, AcrModelRequest request)
{
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    g_autoptr(AcrJson) body = NULL;

    if (system)
        acr_conversation_add(c, ACR_ROLE_SYSTEM, system);
    acr_conversation_add(c, ACR_ROLE_USER, "where?");
    acr_conversation_add(c, ACR_ROLE_ASSISTANT, "here");
    request.conversation = c;
    body = PROVIDER->request(dialect, &request);
    return acr_json_print(body);
}

static void a_request_holds_what_is_asked_for_and_no_more(void)
{
    AcrDialect bare = {.model = "gpt-4.1", .temperature = -1};
    AcrDialect full = {.model = "gpt-5", .temperature = 0.25, .effort = "high"};
    g_autofree char *least = request_text(&bare, NULL, (AcrModelRequest){0});
    g_autofree char *most = request_text(&full, "be brief", (AcrModelRequest){.max_tokens = 9});

    g_assert_cmpstr(least, ==,
                    "{\"model\":\"gpt-4.1\",\"input\":[{\"role\":\"user\",\"content\":\"where?\"},"
                    "{\"role\":\"assistant\",\"content\":\"here\"}],\"store\":false,"
                    "\"stream\":true}");
    g_assert_cmpstr(most, ==,
                    "{\"model\":\"gpt-5\",\"instructions\":\"be brief\",\"input\":["
                    "{\"role\":\"user\",\"content\":\"where?\"},"
                    "{\"role\":\"assistant\",\"content\":\"here\"}],\"temperature\":0.25,"
                    "\"reasoning\":{\"effort\":\"high\"},\"max_output_tokens\":9,\"store\":false,"
                    "\"stream\":true}");
}

static void json_mode_has_its_word_in_the_input(void)
{
    AcrDialect dialect = {.model = "m", .temperature = -1};
    g_autofree char *text =
        request_text(&dialect, "You speak JSON.", (AcrModelRequest){.json = true});

    g_assert_nonnull(strstr(text, "\"instructions\":\"You speak JSON.\",\"input\":[{\"role\":"
                                  "\"developer\",\"content\":\"" ACR_JSON_INSTRUCTION "\"},"
                                  "{\"role\":\"user\""));
    g_assert_nonnull(strstr(text, "\"text\":{\"format\":{\"type\":\"json_object\"}}"));
}

static void a_schema_is_sent_flat_and_later_in_words(void)
{
    g_autoptr(AcrJson) schema = acr_json_parse("{\"type\":\"object\"}", 17, NULL);
    AcrDialect dialect = {.model = "m", .temperature = -1};
    AcrModelRequest request = {.schema = schema};
    g_autofree char *formal = request_text(&dialect, NULL, request);
    g_autofree char *half = NULL;
    g_autofree char *words = NULL;

    g_assert_nonnull(strstr(formal, "\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":"
                                    "\"answer\",\"schema\":{\"type\":\"object\"},"
                                    "\"strict\":true}}"));
    g_assert_null(strstr(formal, "instructions"));
    dialect.no_schema = true;
    half = request_text(&dialect, NULL, request);
    g_assert_nonnull(strstr(half, "{\"type\":\"json_object\"}"));
    g_assert_nonnull(strstr(half, "{\\\"type\\\":\\\"object\\\"}"));
    dialect.no_json = true;
    words = request_text(&dialect, NULL, request);
    g_assert_null(strstr(words, "\"text\":"));
    g_assert_nonnull(strstr(words, "{\\\"type\\\":\\\"object\\\"}"));
}

static bool correct(AcrDialect *dialect, const char *param)
{
    g_autofree char *body =
        g_strdup_printf("{\"error\":{\"message\":\"Unsupported parameter\",\"param\":\"%s\","
                        "\"type\":\"invalid_request_error\",\"code\":\"unsupported_parameter\"}}",
                        param);
    g_auto(AcrFailure) failure = {0};
    AcrModelAnswer answer = {0};

    g_assert_false(read_response(PROVIDER, 400, body, &answer, &failure));
    return acr_correct(PROVIDER, dialect, &failure);
}

static void each_correction_is_made_once(void)
{
    AcrDialect dialect = {.model = "m", .temperature = 0.5, .effort = "low", .asks_schema = true};
    AcrDialect plain = {.model = "m", .temperature = -1};
    AcrDialect json = {.model = "m", .temperature = -1};

    g_assert_true(correct(&json, "text.format"));
    g_assert_true(json.no_json && !json.no_schema);
    g_assert_true(correct(&dialect, "temperature"));
    g_assert_true(dialect.temperature < 0);
    g_assert_false(correct(&dialect, "temperature"));
    g_assert_true(correct(&dialect, "reasoning.effort"));
    g_assert_true(!dialect.effort);
    g_assert_true(correct(&dialect, "text.format.schema"));
    g_assert_true(dialect.no_schema && !dialect.no_json);
    g_assert_true(correct(&dialect, "text.format"));
    g_assert_true(dialect.no_json);
    g_assert_false(correct(&dialect, "text.format"));
    g_assert_true(correct(&dialect, "stream"));
    g_assert_false(correct(&dialect, "stream"));
    g_assert_false(correct(&plain, "temperature"));
    g_assert_false(correct(&plain, "input"));
}

/* ---- Answers ---- */

static Outcome read_body(const char *text, gsize piece)
{
    return read_pieces(PROVIDER, 200, NULL, text, strlen(text), piece);
}

static void assert_answer(const char *text, const char *content, const char *finish)
{
    for (gsize piece = 1; piece <= 1000; piece *= 10) {
        g_auto(Outcome) outcome = read_body(text, piece);

        if (!outcome.ok)
            g_error("%s: %s", text, outcome.failure.message);
        g_assert_cmpstr(outcome.answer.content, ==, content);
        g_assert_cmpstr(outcome.answer.finish, ==, finish);
    }
}

static void assert_failure(const char *text, AcrLlmError code, const char *words)
{
    g_auto(Outcome) outcome = read_body(text, 7);

    g_assert_false(outcome.ok);
    g_assert_cmpstr(acr_llm_error_name(outcome.failure.code), ==, acr_llm_error_name(code));
    if (!strstr(outcome.failure.message, words))
        g_error("'%s' is not in: %s", words, outcome.failure.message);
}

static void a_stream_is_read_to_its_terminal_event(void)
{
    static const char text[] =
        CREATED EVENT("response.output_item.added", ",\"item\":{\"type\":\"reasoning\"}")
            EVENT("response.reasoning_summary_text.delta", ",\"delta\":\"hm\"")
                EVENT("response.something_new", ",\"delta\":7") DELTA("h\xc3\xa4") DELTA("llo")
                    END("completed", MESSAGE("h\xc3\xa4llo"),
                        "," USAGE) "data: this is not read any more\n\n";
    g_auto(Outcome) outcome = read_body(text, 3);

    assert_answer(text, "h\xc3\xa4llo", "stop");
    g_assert_true(outcome.ok);
    g_assert_cmpstr(outcome.answer.model, ==, "gpt-5-2025");
    g_assert_cmpint(outcome.usage.input, ==, 36);
    g_assert_cmpint(outcome.usage.cached, ==, 64);
    g_assert_cmpint(outcome.usage.output, ==, 30);
    g_assert_cmpint(outcome.usage.reasoning, ==, 20);
    g_assert_cmpint(acr_usage_sent(&outcome.usage), ==, 100);
}

static void the_terminal_event_goes_before_the_pieces(void)
{
    assert_answer(CREATED DELTA("lost") END("completed", MESSAGE("whole"), ""), "whole", "stop");
    assert_answer(CREATED DELTA("pieces") END("completed", "", ""), "pieces", "stop");
    assert_answer(END("completed", MESSAGE("a") "," MESSAGE("b"), ""), "ab", "stop");
}

static void an_incomplete_answer_says_why(void)
{
#define REASON(word) ",\"incomplete_details\":{\"reason\":\"" word "\"}"
    assert_answer(DELTA("cu") END("incomplete", MESSAGE("cut"), REASON("max_output_tokens")), "cut",
                  "length");
    assert_answer(DELTA("cu") END("incomplete", MESSAGE("cut"), REASON("content_filter")), "cut",
                  "content_filter");
    assert_answer(END("incomplete", "{\"type\":\"reasoning\"}", REASON("max_output_tokens")), "",
                  "length");
    assert_failure(END("incomplete", "", REASON("content_filter")), ACR_LLM_ERROR_CONTENT_FILTER,
                   "filter");
#undef REASON
}

static void calls_alone_are_an_empty_answer(void)
{
    assert_answer(CREATED EVENT("response.function_call_arguments.delta", ",\"delta\":\"{\"")
                      END("completed",
                          "{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"{}\"}", ""),
                  "", "tool_calls");
}

static void refusals_and_failures_have_their_class(void)
{
    assert_failure(CREATED EVENT("response.refusal.delta", ",\"delta\":\"I can\"")
                       END("completed",
                           "{\"type\":\"message\",\"content\":[{\"type\":\"refusal\","
                           "\"refusal\":\"I cannot\"}]}",
                           ""),
                   ACR_LLM_ERROR_REFUSAL, "refused: I cannot");
    assert_failure(EVENT("response.failed",
                         ",\"response\":{\"status\":\"failed\",\"error\":{\"code\":"
                         "\"rate_limit_exceeded\",\"message\":\"slow down\"}}"),
                   ACR_LLM_ERROR_RATE_LIMIT, "slow down");
    assert_failure(EVENT("response.failed", ",\"response\":{\"status\":\"failed\",\"error\":null}"),
                   ACR_LLM_ERROR_SERVER, "without a reason");
    assert_failure(DELTA("x") EVENT("error", ",\"code\":\"server_error\",\"message\":\"it broke\","
                                             "\"param\":null"),
                   ACR_LLM_ERROR_SERVER, "it broke");
    assert_failure("data: {\"error\":{\"code\":\"insufficient_quota\",\"message\":\"no money\"}}"
                   "\n\n",
                   ACR_LLM_ERROR_BILLING, "no money");
}

static void a_failure_s_tokens_are_counted(void)
{
    g_auto(Outcome) outcome = read_body(
        EVENT("response.failed", ",\"response\":{\"status\":\"failed\",\"error\":{\"code\":"
                                 "\"server_error\",\"message\":\"x\"}," USAGE "}"),
        50);

    g_assert_false(outcome.ok);
    g_assert_cmpint(outcome.usage.output, ==, 30);
}

static void a_stream_without_terminal_event_was_cut(void)
{
    g_auto(Outcome) outcome = read_body(CREATED DELTA("half"), 9);

    assert_failure(CREATED DELTA("half"), ACR_LLM_ERROR_TRUNCATED, "before the answer");
    assert_failure(CREATED DELTA("half") "data: [DONE]\n\n", ACR_LLM_ERROR_TRUNCATED, "before");
    g_assert_false(outcome.ok);
    g_assert_cmpint(outcome.usage.output, ==, -1);
}

static void what_is_no_answer_is_malformed(void)
{
    static const char *const texts[] = {
        "{}",
        "{\"output\":{}}",
        "{\"output\":[]}",
        "{\"output\":[],\"status\":\"queued\"}",
        EVENT("response.completed", ""),
        EVENT("response.completed", ",\"response\":[]"),
        "data: 7\n\n",
        "data: nonsense\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"\xff\"}}\n\n",
    };

    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        assert_failure(texts[i], ACR_LLM_ERROR_MALFORMED, "");
}

static void a_whole_answer_is_read_too(void)
{
    g_auto(Outcome) outcome = read_body(WHOLE("completed", MESSAGE("hi"), ""), 5);

    g_assert_true(outcome.ok);
    g_assert_cmpstr(outcome.answer.content, ==, "hi");
    g_assert_cmpint(outcome.usage.input, ==, -1);
    g_assert_cmpint(outcome.usage.cached, ==, -1);
    assert_failure("{\"status\":\"failed\",\"output\":[],\"error\":{\"code\":\"server_error\","
                   "\"message\":\"broke\"}}",
                   ACR_LLM_ERROR_SERVER, "broke");
}

static void the_address_and_the_key_are_openai_s(void)
{
    AcrModelOptions options = {.base_url = "https://gateway.example/v1/"};
    g_auto(AcrTestEndpoint) made = {0};

    g_setenv("OPENAI_API_KEY", "sk-test-0123456789", TRUE);
    make_endpoint(&made, "openai-responses", "gpt-5", &options);
    g_assert_cmpstr(made.endpoint.url, ==, "https://gateway.example/v1/responses");
    g_assert_cmpstr(header_of(&made, "Authorization"), ==, "Bearer sk-test-0123456789");
    g_unsetenv("OPENAI_API_KEY");
}

#define TEST(name) g_test_add_func("/llm/responses/" #name, name)

void add_responses_tests(void)
{
    TEST(a_request_holds_what_is_asked_for_and_no_more);
    TEST(json_mode_has_its_word_in_the_input);
    TEST(a_schema_is_sent_flat_and_later_in_words);
    TEST(each_correction_is_made_once);
    TEST(a_stream_is_read_to_its_terminal_event);
    TEST(the_terminal_event_goes_before_the_pieces);
    TEST(an_incomplete_answer_says_why);
    TEST(calls_alone_are_an_empty_answer);
    TEST(refusals_and_failures_have_their_class);
    TEST(a_failure_s_tokens_are_counted);
    TEST(a_stream_without_terminal_event_was_cut);
    TEST(what_is_no_answer_is_malformed);
    TEST(a_whole_answer_is_read_too);
    TEST(the_address_and_the_key_are_openai_s);
}
