/* Tests of AWS Signature Version 4: the POST with a content type from AWS's published test suite,
 * and paths with colons, compared with botocore. tests/e2e/test_signatures.py makes many random
 * comparisons. */
#include "test_llm.h"

#define SUITE_TIME 1440938160 /* 20150830T123600Z */
#define SUITE_URL "https://example.amazonaws.com"

static GPtrArray *sign(const char *url, const char *type, const char *body, char *token)
{
    AcrAwsCredentials keys = {.access_key = (char *)"AKIDEXAMPLE",
                              .secret_key = (char *)"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                              .session_token = token,
                              .region = (char *)"us-east-1"};
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    acr_sigv4_sign(&keys, "service", url, type, body, strlen(body), SUITE_TIME, out);
    return out;
}

TEST("/llm/sigv4", the_published_vector_holds)
{
    g_autoptr(GPtrArray) out = sign(SUITE_URL "/", "application/x-www-form-urlencoded", "Param1=value1", NULL);
    g_assert_cmpuint(out->len, ==, 2);
    g_assert_cmpstr(out->pdata[0], ==, "X-Amz-Date: 20150830T123600Z");
    g_assert_cmpstr(out->pdata[1], ==,
                    "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/"
                    "aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature="
                    "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
}

TEST("/llm/sigv4", a_session_token_is_sent_and_signed)
{
    g_autoptr(GPtrArray) out = sign(SUITE_URL, "application/json", "{}", (char *)"TOKEN");
    g_assert_cmpuint(out->len, ==, 3);
    g_assert_cmpstr(out->pdata[1], ==, "X-Amz-Security-Token: TOKEN");
    g_assert_nonnull(strstr(out->pdata[2], "host;x-amz-date;x-amz-security-token,"));
}

/* The signature must match what libcurl sends: no default port, and "/" for an empty path. */
TEST("/llm/sigv4", addresses_are_signed_as_they_are_sent)
{
    static const char *const same[][2] = {{SUITE_URL, SUITE_URL "/"},
                                          {SUITE_URL ":443/x", SUITE_URL "/x"},
                                          {"http://127.0.0.1:80/", "http://127.0.0.1/"}};
    for (gsize i = 0; i < G_N_ELEMENTS(same); i++) {
        g_autoptr(GPtrArray) one = sign(same[i][0], "application/json", "{}", NULL);
        g_autoptr(GPtrArray) other = sign(same[i][1], "application/json", "{}", NULL);
        g_assert_cmpstr(one->pdata[1], ==, other->pdata[1]);
    }
}
