/* Runs the tests of llm. */
#include "test_llm.h"

#include <string.h>

#include "http/http.h"

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--hold-a-slot") == 0)
        return hold_a_slot(argv[2]);
    g_test_init(&argc, &argv, NULL);
    g_assert_true(acr_http_global_init(NULL));
    add_conversation_tests();
    add_script_tests();
    add_failure_tests();
    add_wait_tests();
    add_redact_tests();
    add_key_tests();
    add_limiter_tests();
    add_shared_tests();
    add_responses_tests();
    add_compatible_tests();
    add_http_model_tests();
    add_endpoint_tests();
    add_sigv4_tests();
    add_eventstream_tests();
    add_spend_tests();
    add_bedrock_tests();
    add_aws_credentials_tests();
    add_anthropic_tests();
    add_gemini_tests();
    add_sse_tests();
    add_reader_tests();
    return g_test_run();
}
