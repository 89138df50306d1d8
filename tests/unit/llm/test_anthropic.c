/* Anthropic's Messages dialect without a network: where it is asked, requests, streams, answers. */
#include "shown.h"

#define P &acr_provider_anthropic
#define EVENT(name, data) "event: " name "\ndata: {'type':'" name "'" data "}\n\n"

/* ---- Where it is asked ---- */

static void clear_variables(void)
{
    g_unsetenv("ANTHROPIC_API_KEY");
    g_unsetenv("ANTHROPIC_AUTH_TOKEN");
    g_unsetenv("ANTHROPIC_BASE_URL");
    g_unsetenv("ANTHROPIC_API_VERSION");
    g_unsetenv("ANTHROPIC_CUSTOM_HEADERS");
}

static void assert_auth(const char *const *headers, const char *version, const char *api_key,
                        const char *bearer)
{
    AcrEndpoint endpoint = {0};

    make_endpoint(P, "m", NULL, headers, &endpoint);
    assert_header(&endpoint, "anthropic-version", version);
    assert_header(&endpoint, "x-api-key", api_key);
    assert_header(&endpoint, "Authorization", bearer);
    g_assert_cmpint(endpoint.no_sampling, ==, strcmp(version, "2026-10-21") >= 0);
    acr_endpoint_clear(&endpoint);
}

static void each_version_has_its_way_to_send_a_key(void)
{
    const char *const newer[] = {"Anthropic-Version: 2026-10-21", NULL};

    clear_variables();
    g_setenv("ANTHROPIC_AUTH_TOKEN", " login-0123456789 ", TRUE);
    assert_auth(NULL, "2023-06-01", NULL, "Bearer login-0123456789");
    g_setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789", TRUE);
    assert_auth(NULL, "2023-06-01", "sk-ant-0123456789", NULL);
    assert_auth(newer, "2026-10-21", NULL, "Bearer sk-ant-0123456789");
    g_setenv("ANTHROPIC_API_VERSION", "2026-10-21", TRUE);
    assert_auth(NULL, "2026-10-21", NULL, "Bearer sk-ant-0123456789");
    g_setenv("ANTHROPIC_API_VERSION", "2027-01-31", TRUE);
    assert_auth(NULL, "2027-01-31", NULL, "Bearer sk-ant-0123456789");
    clear_variables();
}

static void a_key_is_needed_and_all_its_variables_are_named(void)
{
    AcrModelOptions own = {.temperature = -1};
    AcrEndpoint endpoint = {0};
    g_autoptr(GError) error = NULL;

    clear_variables();
    g_assert_false(acr_endpoint_make(P, "anthropic/m", "m", &own, &endpoint, &error));
    g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH);
    g_assert_nonnull(strstr(error->message, "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"));
}

static void assert_url(const char *base, const char *url)
{
    AcrEndpoint endpoint = {0};

    make_endpoint(P, "m", base, NULL, &endpoint);
    g_assert_cmpstr(endpoint.url, ==, url);
    acr_endpoint_clear(&endpoint);
}

static void addresses_hold_the_version_once(void)
{
    clear_variables();
    g_setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789", TRUE);
    assert_url("http://127.0.0.1:9", "http://127.0.0.1:9/v1/messages");
    assert_url("http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/messages");
    assert_url("http://127.0.0.1:9/anthropic", "http://127.0.0.1:9/anthropic/v1/messages");
    assert_url("unix:/run/llm.sock", "http://localhost/v1/messages");
    g_setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:8", TRUE);
    assert_url(NULL, "http://127.0.0.1:8/v1/messages");
    g_unsetenv("ANTHROPIC_BASE_URL");
    assert_url(NULL, "https://api.anthropic.com/v1/messages");
    clear_variables();
}

static void headers_of_the_environment_go_before_ours_and_behind_the_options(void)
{
    const char *const given[] = {"X-Team: first", "x-team: given", NULL};
    AcrEndpoint endpoint = {0};
    g_autofree char *shown = NULL;

    clear_variables();
    g_setenv("ANTHROPIC_CUSTOM_HEADERS",
             "X-Api-Key: gateway-0123456789\r\nX-Team: custom\n\nno header\n : nameless\n"
             "anthropic-beta:  one,two ",
             TRUE);
    g_setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789", TRUE);
    make_endpoint(P, "m", NULL, given, &endpoint);
    assert_header(&endpoint, "x-api-key", "gateway-0123456789");
    assert_header(&endpoint, "anthropic-beta", "one,two");
    assert_header(&endpoint, "X-Team", "given");
    shown = acr_redact_line("gateway-0123456789 sk-ant-0123456789", endpoint.secrets, 200);
    g_assert_null(strstr(shown, "0123456789"));
    acr_endpoint_clear(&endpoint);
    clear_variables();
}

/* ---- Requests ---- */

#define WORDS                                                                                      \
    "Answer with one JSON object and nothing else. It must follow this JSON schema:\\n"            \
    "{\\'type\\':\\'object\\'}"

static void a_request_holds_what_is_asked_for_and_a_limit(void)
{
    AcrDialect bare = {.model = "claude", .temperature = -1};
    AcrDialect full = {.model = "claude", .temperature = 0.5, .effort = "low", .max_output = 64000};
    AcrDialect refused = {.model = "claude", .temperature = 0.5, .effort = "low"};

    assert_request(P, &bare, TALK("u", "hi"), NULL, false, 0,
                   "{'model':'claude','max_tokens':8192,'messages':[{'role':'user','content':["
                   "{'type':'text','text':'hi'}]}],'stream':true}");
    assert_request(P, &full, TALK("s", "be", "s", "brief", "u", "hi"), "{'type':'object'}", true, 0,
                   "{'model':'claude','max_tokens':32000,'system':[{'type':'text','text':'be'},"
                   "{'type':'text','text':'brief','cache_control':{'type':'ephemeral'}}],"
                   "'messages':[{'role':'user','content':[{'type':'text','text':'hi'}]}],"
                   "'temperature':0.5,'output_config':{'format':{'type':'json_schema','schema':"
                   "{'type':'object'}},'effort':'low'},'stream':true}");
    refused.temperature = -1;
    refused.effort = NULL;
    refused.no_schema = true;
    refused.no_cache = refused.no_stream = true;
    assert_request(P, &refused, TALK("s", "be brief", "u", "hi"), "{'type':'object'}", false, 70000,
                   "{'model':'claude','max_tokens':70000,'system':[{'type':'text','text':"
                   "'be brief'},{'type':'text','text':'" WORDS "'}],'messages':[{'role':'user',"
                   "'content':[{'type':'text','text':'hi'}]}]}");
}

static void json_mode_is_asked_for_in_words(void)
{
    AcrDialect bare = {.model = "m", .temperature = -1};

    assert_request(P, &bare, TALK("u", "hi"), NULL, true, 5,
                   "{'model':'m','max_tokens':5,'system':[{'type':'text','text':'Answer with one "
                   "JSON object and nothing else.'}],'messages':[{'role':'user','content':["
                   "{'type':'text','text':'hi'}]}],'stream':true}");
}

static void a_conversation_that_grows_is_marked_where_it_ended_before(void)
{
    AcrDialect bare = {.model = "m", .temperature = -1};

    assert_request(
        P, &bare,
        TALK("s", "S", "u", "1", "u", "2", "a", "x", "u", "3", "a", "y", "u", "4", "u", "5"), NULL,
        false, 5,
        "{'model':'m','max_tokens':5,"
        "'system':[{'type':'text','text':'S','cache_control':{'type':'ephemeral'}}],"
        "'messages':["
        "{'role':'user','content':[{'type':'text','text':'1'},{'type':'text','text':'2'}]},"
        "{'role':'assistant','content':[{'type':'text','text':'x'}]},"
        "{'role':'user','content':[{'type':'text','text':'3','cache_control':"
        "{'type':'ephemeral'}}]},"
        "{'role':'assistant','content':[{'type':'text','text':'y'}]},"
        "{'role':'user','content':[{'type':'text','text':'4'},"
        "{'type':'text','text':'5','cache_control':{'type':'ephemeral'}}]}],'stream':true}");
}

static void the_user_speaks_first_and_nobody_says_nothing(void)
{
    AcrDialect bare = {.model = "m", .temperature = -1, .no_cache = true};

    assert_request(P, &bare, TALK("s", "S"), NULL, false, 5,
                   "{'model':'m','max_tokens':5,'system':[{'type':'text','text':'S'}],"
                   "'messages':[{'role':'user','content':[{'type':'text','text':'Begin.'}]}],"
                   "'stream':true}");
    assert_request(P, &bare, TALK("a", "x", "u", " \n\t", "a", "y", "s", "late", "u", "z"), NULL,
                   false, 5,
                   "{'model':'m','max_tokens':5,'system':[{'type':'text','text':'late'}],"
                   "'messages':[{'role':'user','content':[{'type':'text','text':'Begin.'}]},"
                   "{'role':'assistant','content':[{'type':'text','text':'x'},"
                   "{'type':'text','text':'y'}]},"
                   "{'role':'user','content':[{'type':'text','text':'z'}]}],'stream':true}");
}

/* ---- Corrections ---- */

#define REFUSED(message)                                                                           \
    "{'type':'error','error':{'type':'invalid_request_error','message':'" message                  \
    "'},'request_id':'req_1'}"

static void each_correction_is_made_once(void)
{
    static const char *const refusals[] = {
        REFUSED("`temperature` is deprecated for this model."),
        REFUSED("system.0.cache_control: Extra inputs are not permitted"),
        REFUSED("This model does not support the effort parameter."),
        REFUSED("output_config.format.schema: Invalid schema"),
    };
    AcrDialect dialect = {.model = "m", .temperature = 0.2, .effort = "low", .max_output = 64000};

    g_assert_false(learns(P, &dialect, 400, REFUSED("messages: at least one is required")));
    g_assert_false(learns(P, &dialect, 403, refusals[0]));
    for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++) {
        g_assert_true(learns(P, &dialect, 400, refusals[i]));
        g_assert_false(learns(P, &dialect, 400, refusals[i]));
    }
    g_assert_true(dialect.temperature < 0 && dialect.no_cache && !dialect.effort &&
                  dialect.no_schema && !dialect.no_stream);
    g_assert_false(learns(P, &dialect, 400, REFUSED("max_tokens: 64000 > 8192")));
}

static void what_was_not_sent_teaches_nothing(void)
{
    AcrDialect dialect = {.model = "m", .temperature = -1};

    g_assert_false(learns(P, &dialect, 400, REFUSED("temperature: no")));
    g_assert_false(learns(P, &dialect, 400, REFUSED("the effort parameter is unknown")));
    g_assert_false(learns(P, &dialect, 400, REFUSED("max_tokens: Field required")));
    g_assert_false(learns(P, &dialect, 400, REFUSED("max_tokens: 5 > 0, which")));
}

static void an_older_server_without_output_config_loses_schema_and_effort(void)
{
    AcrDialect dialect = {.model = "m", .temperature = -1, .effort = "low"};
    static const char refusal[] = REFUSED("output_config: Extra inputs are not permitted");

    g_assert_true(learns(P, &dialect, 400, refusal));
    g_assert_true(learns(P, &dialect, 400, refusal));
    g_assert_false(learns(P, &dialect, 400, refusal));
    g_assert_true(dialect.no_schema && !dialect.effort);
}

/* ---- Streams ---- */

#define START(usage)                                                                               \
    EVENT("message_start",                                                                         \
          ",'message':{'id':'msg_1','type':'message','role':'assistant',"                          \
          "'content':[],'model':'claude-x','stop_reason':null,'usage':{" usage "}}")
#define TEXT(text)                                                                                 \
    EVENT("content_block_delta", ",'index':0,'delta':{'type':'text_delta','text':'" text "'}")
#define END(reason, usage)                                                                         \
    EVENT("message_delta", ",'delta':{'stop_reason':'" reason "'},'usage':{" usage "}")
#define STOP EVENT("message_stop", "")

static void a_stream_is_an_answer_by_its_message_stop_alone(void)
{
    static const char stream[] =
        "event: message_start\ndata: {'type':'message_start','message':{'id':'msg_1',"
        "'type':'message','role':'assistant','content':[],'model':'claude-x','stop_reason':null,"
        "'usage':{'input_tokens':10,'cache_creation_input_tokens':null,'output_tokens':1}}}\n\n"
        "event: content_block_start\ndata: {'type':'content_block_start','index':0,"
        "'content_block':{'type':'text','text':''}}\n\n"
        "event: ping\ndata: {'type':'ping'}\n\n"
        "event: content_block_delta\ndata: {'type':'content_block_delta','index':0,"
        "'delta':{'type':'text_delta','text':'h\xc3\xa9'}}\n\n"
        ": a comment\n\n"
        "event: content_block_delta\ndata: {'type':'content_block_delta','index':0,"
        "'delta':{'type':'text_delta','text':'llo \\ud83d\\ude00'}}\n\n"
        "event: content_block_stop\ndata: {'type':'content_block_stop','index':0}\n\n"
        "event: message_delta\ndata: {'type':'message_delta','delta':{'stop_reason':'end_turn',"
        "'stop_sequence':null},'usage':{'output_tokens':7}}\n\n"
        "event: message_stop\ndata: {'type':'message_stop'}\n\n"
        "event: error\ndata: {'type':'error'}\n\n";

    assert_stream(P, stream, "event: message_stop",
                  "h\xc3\xa9llo \xf0\x9f\x98\x80|stop|claude-x|10+-1+-1>7(-1)");
}

static void thoughts_are_no_content_and_calls_are_told(void)
{
    static const char stream[] =
        "data: {'type':'message_start','message':{'model':'claude-x','usage':{'input_tokens':3}}}"
        "\n\n"
        "data: {'type':'content_block_start','content_block':{'type':'thinking','thinking':''}}\n\n"
        "data: {'type':'content_block_delta','delta':{'type':'thinking_delta','thinking':'h'}}\n\n"
        "data: {'type':'content_block_delta','delta':{'type':'signature_delta','signature':'x'}}"
        "\n\n"
        "data: {'type':'content_block_start','content_block':{'type':'tool_use','id':'t',"
        "'name':'f','input':{}}}\n\n"
        "data: {'type':'content_block_delta','delta':{'type':'input_json_delta',"
        "'partial_json':'{\\'a'}}\n\n"
        "data: {'type':'message_delta','delta':{'stop_reason':'tool_use'},'usage':"
        "{'output_tokens':9,'output_tokens_details':{'thinking_tokens':4}}}\n\n"
        "data: {'type':'message_stop'}\n\n";

    assert_stream(P, stream, "data: {'type':'message_stop'", "|tool_calls|claude-x|3+-1+-1>9(4)");
}

static void counters_of_a_stream_are_cumulative_and_disjoint(void)
{
    /* read and written, however long it is kept */
    assert_shown(P,
                 START("'input_tokens':4,'cache_creation_input_tokens':50,'cache_read_input_"
                       "tokens':1000,'cache_creation':{'ephemeral_5m_input_tokens':30,"
                       "'ephemeral_1h_input_tokens':20}") TEXT("x")
                     END("end_turn", "'input_tokens':4,'cache_creation_input_tokens':50,"
                                     "'cache_read_input_tokens':1000,'output_tokens':2") STOP,
                 "x|stop|claude-x|4+1000+50>2(-1)");
    /* told at the end only, and more than at first */
    assert_shown(P,
                 START("'input_tokens':0,'output_tokens':0") TEXT("x")
                     END("end_turn", "'input_tokens':40,'cache_read_input_tokens':5,'cache_"
                                     "creation_input_tokens':6,'output_tokens':2") STOP,
                 "x|stop|claude-x|40+5+6>2(-1)");
}

static void nonsense_in_counters_is_unknown(void)
{
    /* what message_start says of the output is not its end */
    assert_shown(P, START("'input_tokens':1,'output_tokens':1") TEXT("x") STOP,
                 "x|-|claude-x|1+-1+-1>-1(-1)");
    assert_shown(P, START("'input_tokens':-1") TEXT("x") END("end_turn", "'output_tokens':-5") STOP,
                 "x|stop|claude-x|-1+-1+-1>-1(-1)");
    assert_shown(P,
                 START("'input_tokens':1e300") TEXT("x")
                     END("end_turn", "'output_tokens':99999999999999999999") STOP,
                 "x|stop|claude-x|-1+-1+-1>-1(-1)");
    assert_shown(P,
                 START("'input_tokens':'7','cache_creation':7") TEXT("x")
                     EVENT("message_delta", ",'delta':{'stop_reason':'end_turn'},'usage':null")
                         STOP,
                 "x|stop|claude-x|-1+-1+-1>-1(-1)");
}

static void every_reason_to_stop_has_its_meaning(void)
{
    assert_shown(P, TEXT("x") END("stop_sequence", "") STOP, "x|stop|-|-1+-1+-1>-1(-1)");
    assert_shown(P, TEXT("x") END("pause_turn", "") STOP, "x|stop|-|-1+-1+-1>-1(-1)");
    assert_shown(P, TEXT("x") END("max_tokens", "") STOP, "x|length|-|-1+-1+-1>-1(-1)");
    assert_shown(P, END("max_tokens", "") STOP, "|length|-|-1+-1+-1>-1(-1)");
    assert_shown(P, TEXT("x") END("novelty", "") STOP, "x|novelty|-|-1+-1+-1>-1(-1)");
    assert_shown(P, TEXT("x") END("model_context_window_exceeded", "") STOP,
                 "x|length|-|-1+-1+-1>-1(-1)");
    assert_class(P, 200, END("model_context_window_exceeded", "") STOP, "context_overflow: ");
    assert_class(P, 200, TEXT("x") END("refusal", "") STOP, "refusal: the model refused");
    assert_class(P, 200,
                 EVENT("message_delta", ",'delta':{'stop_reason':'refusal','stop_details':{"
                                        "'explanation':'not this'}}") STOP,
                 "refusal: the model refused: not this");
    assert_class(P, 200, START("'input_tokens':1") STOP, "malformed: the answer has neither");
}

static void errors_within_a_stream_have_their_class(void)
{
#define MID(type)                                                                                  \
    START("'input_tokens':1")                                                                      \
    TEXT("x") EVENT("error", ",'error':{'type':'" type "','message':'M'}")
    assert_class(P, 200, MID("overloaded_error"), "overloaded: HTTP 200 overloaded_error: M");
    assert_class(P, 200, MID("api_error"), "server: ");
    assert_class(P, 200, MID("rate_limit_error"), "rate_limit: ");
    assert_class(P, 200, MID("timeout_error"), "timeout: ");
    assert_class(P, 200, MID("invalid_request_error"), "bad_request: ");
    assert_class(P, 200, TEXT("x") "event: error\ndata: out of order\n\n", "server: HTTP 200: out");
    assert_class(P, 200, TEXT("x") "data: {'error':{'message':'gateway'}}\n\n",
                 "server: HTTP 200: gateway");
    assert_class(P, 200,
                 TEXT("x") "{'type':'error','error':{'type':'overloaded_error',"
                           "\n'message':'plain'}}\n",
                 "overloaded: ");
    assert_class(P, 200, TEXT("x") "event: content_block_delta\ndata: {'type\n\n", "malformed: ");
    assert_class(P, 200, TEXT("\xff"), "malformed: ");
    assert_class(P, 200, TEXT("x") "data: []\n\n", "malformed: ");
    assert_shown(P,
                 TEXT("x") "event: ping\ndata: pong\n\n" EVENT("novelty", ",'a':[1]")
                     END("end_turn", "") STOP,
                 "x|stop|-|-1+-1+-1>-1(-1)");
}

/* ---- Whole answers and refusals ---- */

static void whole_answers_are_read_too(void)
{
    assert_shown(P,
                 "{'type':'message','model':'claude-x','content':[{'type':'thinking',"
                 "'thinking':'hm'},{'type':'text','text':'a'},{'type':'text',"
                 "'text':'b'}],'stop_reason':'end_turn','usage':{'input_tokens':5,"
                 "'cache_read_input_tokens':6,'output_tokens':7,'output_tokens_details':{"
                 "'thinking_tokens':3}}}",
                 "ab|stop|claude-x|5+6+-1>7(3)");
    assert_shown(P, "{'content':[],'stop_reason':'end_turn'}", "|stop|-|-1+-1+-1>-1(-1)");
    assert_class(P, 200, "{'content':[],'stop_reason':'refusal'}", "refusal: ");
    assert_class(P, 200, "{'content':[],'stop_reason':'model_context_window_exceeded'}",
                 "context_overflow: ");
    assert_class(P, 200, "{'content':[]}", "malformed: ");
    assert_class(P, 200, "{'content':'x'}", "malformed: ");
    assert_class(P, 200, "[]", "malformed: ");
}

static void refusals_have_their_class(void)
{
#define ERROR(type, message)                                                                       \
    "{'type':'error','error':{'type':'" type "','message':'" message "'},'request_id':'req_7'}"
    assert_class(
        P, 400,
        ERROR("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "context_overflow: HTTP 400 invalid_request_error: prompt is too long");
    assert_class(P, 400, ERROR("invalid_request_error", "messages: no"), "bad_request: ");
    assert_class(P, 400, ERROR("invalid_request_error", "Your credit balance is too low"),
                 "billing: ");
    assert_class(P, 401, ERROR("authentication_error", "invalid x-api-key"), "auth: ");
    assert_class(P, 402, ERROR("billing_error", "no money"), "billing: ");
    assert_class(P, 403, ERROR("permission_error", "no"), "auth: ");
    assert_class(P, 404, ERROR("not_found_error", "model: m"), "bad_request: ");
    assert_class(P, 409, ERROR("conflict_error", "twice"), "server: ");
    assert_class(P, 413, "<html>too large</html>", "bad_request: ");
    assert_class(P, 429, ERROR("rate_limit_error", "slow"), "rate_limit: ");
    assert_class(P, 429,
                 "{'type':'error','error':{'type':'rate_limit_error','message':'M',"
                 "'details':{'error_code':'enforced_spend_limit_reached'}}}",
                 "billing: ");
    assert_class(P, 500, ERROR("api_error", "oh"), "server: ");
    assert_class(P, 504, ERROR("timeout_error", "late"), "server: ");
    assert_class(P, 529, ERROR("overloaded_error", "busy"), "overloaded: ");
}

#define TEST(name) g_test_add_func("/llm/anthropic/" #name, name)

void add_anthropic_tests(void)
{
    TEST(each_version_has_its_way_to_send_a_key);
    TEST(a_key_is_needed_and_all_its_variables_are_named);
    TEST(addresses_hold_the_version_once);
    TEST(headers_of_the_environment_go_before_ours_and_behind_the_options);
    TEST(a_request_holds_what_is_asked_for_and_a_limit);
    TEST(json_mode_is_asked_for_in_words);
    TEST(a_conversation_that_grows_is_marked_where_it_ended_before);
    TEST(the_user_speaks_first_and_nobody_says_nothing);
    TEST(each_correction_is_made_once);
    TEST(what_was_not_sent_teaches_nothing);
    TEST(an_older_server_without_output_config_loses_schema_and_effort);
    TEST(a_stream_is_an_answer_by_its_message_stop_alone);
    TEST(thoughts_are_no_content_and_calls_are_told);
    TEST(counters_of_a_stream_are_cumulative_and_disjoint);
    TEST(nonsense_in_counters_is_unknown);
    TEST(every_reason_to_stop_has_its_meaning);
    TEST(errors_within_a_stream_have_their_class);
    TEST(whole_answers_are_read_too);
    TEST(refusals_have_their_class);
}
