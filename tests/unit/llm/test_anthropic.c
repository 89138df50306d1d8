/* Tests of Anthropic's Messages dialect without a network: URLs, requests, streams, answers. */
#include "shown.h"

#define P &acr_provider_anthropic
#define EVENT(name, data) "event: " name "\ndata: {'type':'" name "'" data "}\n\n"

/* ---- The endpoint --------- */

static void clear_variables(void)
{
    g_unsetenv("ANTHROPIC_API_KEY");
    g_unsetenv("ANTHROPIC_AUTH_TOKEN");
    g_unsetenv("ANTHROPIC_BASE_URL");
    g_unsetenv("ANTHROPIC_API_VERSION");
    g_unsetenv("ANTHROPIC_CUSTOM_HEADERS");
}

static void assert_auth(const char *const *headers, const char *version, const char *api_key, const char *bearer)
{
    AcrEndpoint endpoint = {0};
    make_endpoint(P, "m", NULL, headers, &endpoint);
    assert_header(&endpoint, "anthropic-version", version);
    assert_header(&endpoint, "x-api-key", api_key);
    assert_header(&endpoint, "Authorization", bearer);
    g_assert_cmpint(endpoint.no_sampling, ==, strcmp(version, "2026-10-21") >= 0);
    acr_endpoint_clear(&endpoint);
}

TEST("/llm/anthropic", each_version_has_its_way_to_send_a_key)
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

TEST("/llm/anthropic", headers_of_the_environment_go_before_ours_and_behind_the_options)
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

TEST("/llm/anthropic", a_conversation_that_grows_is_marked_where_it_ended_before)
{
    AcrDialect bare = {.model = "m", .temperature = -1};
    assert_request(P, &bare, TALK("s", "S", "u", "1", "u", "2", "a", "x", "u", "3", "a", "y", "u", "4", "u", "5"), NULL,
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

/* ---- Corrections ---- */

#define REFUSED(message)                                                                                               \
    "{'type':'error','error':{'type':'invalid_request_error','message':'" message "'},'request_id':'req_1'}"

TEST("/llm/anthropic", each_correction_is_made_once)
{
    static const char *const refusals[] = {REFUSED("`temperature` is deprecated for this model."),
                                           REFUSED("system.0.cache_control: Extra inputs are not permitted"),
                                           REFUSED("This model does not support the effort parameter."),
                                           REFUSED("output_config.format.schema: Invalid schema")};
    AcrDialect dialect = {.model = "m", .temperature = 0.2, .effort = "low", .max_output = 64000};
    g_assert_false(learns(P, &dialect, 400, REFUSED("messages: at least one is required")));
    g_assert_false(learns(P, &dialect, 403, refusals[0]));
    for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++) {
        g_assert_true(learns(P, &dialect, 400, refusals[i]));
        g_assert_false(learns(P, &dialect, 400, refusals[i]));
    }
    g_assert_true(dialect.temperature < 0 && dialect.no_cache && !dialect.effort && dialect.no_schema &&
                  !dialect.no_stream);
    g_assert_false(learns(P, &dialect, 400, REFUSED("max_tokens: 64000 > 8192")));
}

TEST("/llm/anthropic", an_older_server_without_output_config_loses_schema_and_effort)
{
    AcrDialect dialect = {.model = "m", .temperature = -1, .effort = "low"};
    static const char refusal[] = REFUSED("output_config: Extra inputs are not permitted");
    g_assert_true(learns(P, &dialect, 400, refusal));
    g_assert_true(learns(P, &dialect, 400, refusal));
    g_assert_false(learns(P, &dialect, 400, refusal));
    g_assert_true(dialect.no_schema && !dialect.effort);
}

/* ---- Streams ---- */

#define START(usage)                                                                                                   \
    EVENT("message_start", ",'message':{'id':'msg_1','type':'message','role':'assistant',"                             \
                           "'content':[],'model':'claude-x','stop_reason':null,'usage':{" usage "}}")
#define TEXT(text) EVENT("content_block_delta", ",'index':0,'delta':{'type':'text_delta','text':'" text "'}")
#define END(reason, usage) EVENT("message_delta", ",'delta':{'stop_reason':'" reason "'},'usage':{" usage "}")
#define STOP EVENT("message_stop", "")

TEST("/llm/anthropic", counters_of_a_stream_are_cumulative_and_disjoint)
{
    /* tokens read from the cache, and written to it for either lifetime */
    assert_shown(P,
                 START("'input_tokens':4,'cache_creation_input_tokens':50,'cache_read_input_"
                       "tokens':1000,'cache_creation':{'ephemeral_5m_input_tokens':30,"
                       "'ephemeral_1h_input_tokens':20}") TEXT("x")
                     END("end_turn", "'input_tokens':4,'cache_creation_input_tokens':50,"
                                     "'cache_read_input_tokens':1000,'output_tokens':2") STOP,
                 "x|stop|claude-x|4+1000+50>2(-1)");
    /* the final usage exceeds the first one */
    assert_shown(P,
                 START("'input_tokens':0,'output_tokens':0") TEXT("x")
                     END("end_turn", "'input_tokens':40,'cache_read_input_tokens':5,'cache_"
                                     "creation_input_tokens':6,'output_tokens':2") STOP,
                 "x|stop|claude-x|40+5+6>2(-1)");
}
