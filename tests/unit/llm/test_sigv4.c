/*
 * AWS Signature Version 4: the published vectors of AWS's test suite (where a service other than S3
 * signs so: paths once encoded there are raw here, since a signature encodes them once more), and
 * what they lack: paths that are sent encoded, headers that hops may change. The comparison with
 * botocore over many random requests is tests/e2e/test_signatures.py.
 */
#include "test_llm.h"

#include <string.h>

#include "llm/llm_private.h"

#define SUITE_TIME 1440938160 /* 20150830T123600Z */
#define MAX_HEADERS 5

typedef struct {
    const char *name, *method, *path, *query;
    const char *headers[MAX_HEADERS];
    const char *body, *signed_names, *signature, *token;
} Vector;

static const Vector vectors[] = {
    {"get-header-key-duplicate",
     "GET",
     "/",
     "",
     {"My-Header1:value2", "My-Header1:value2", "My-Header1:value1"},
     "",
     "host;my-header1;x-amz-date",
     "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
     NULL},
    {"get-header-value-multiline",
     "GET",
     "/",
     "",
     {"My-Header1:value1   value2      value3"},
     "",
     "host;my-header1;x-amz-date",
     "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd",
     NULL},
    {"get-header-value-order",
     "GET",
     "/",
     "",
     {"My-Header1:value4", "My-Header1:value1", "My-Header1:value3", "My-Header1:value2"},
     "",
     "host;my-header1;x-amz-date",
     "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
     NULL},
    {"get-header-value-trim",
     "GET",
     "/",
     "",
     {"My-Header1: value1", "My-Header2: \"a   b   c\""},
     "",
     "host;my-header1;my-header2;x-amz-date",
     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
     NULL},
    {"get-unreserved",
     "GET",
     "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
     NULL},
    {"get-utf8",
     "GET",
     "/\341\210\264",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
     NULL},
    {"get-vanilla-query-order-encoded",
     "GET",
     "/",
     "Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
     {NULL},
     "",
     "host;x-amz-date",
     "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
     NULL},
    {"get-vanilla-query-order-key-case",
     "GET",
     "/",
     "Param2=value2&Param1=value1",
     {NULL},
     "",
     "host;x-amz-date",
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
     NULL},
    {"get-vanilla-query-order-key",
     "GET",
     "/",
     "Param1=value2&Param1=Value1",
     {NULL},
     "",
     "host;x-amz-date",
     "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1",
     NULL},
    {"get-vanilla-query-order-value",
     "GET",
     "/",
     "Param1=value2&Param1=value1",
     {NULL},
     "",
     "host;x-amz-date",
     "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694",
     NULL},
    {"get-vanilla-query-unreserved",
     "GET",
     "/",
     "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~"
     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
     {NULL},
     "",
     "host;x-amz-date",
     "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
     NULL},
    {"get-vanilla",
     "GET",
     "/",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
     NULL},
    {"get-relative-relative",
     "GET",
     "/example1/example2/../..",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
     NULL},
    {"get-relative",
     "GET",
     "/example/..",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
     NULL},
    {"get-slash-dot-slash",
     "GET",
     "/./",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
     NULL},
    {"get-slash-pointless-dot",
     "GET",
     "/./example",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
     NULL},
    {"get-slash",
     "GET",
     "//",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
     NULL},
    {"get-slashes",
     "GET",
     "//example//",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
     NULL},
    {"get-space",
     "GET",
     "/example space/",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
     NULL},
    {"get-special-character",
     "GET",
     "/example/$delete",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "a853c9b21b528b19643d00910d35b83a10c366a10833ceefb45edd6c80e40f27",
     NULL},
    {"post-header-key-sort",
     "POST",
     "/",
     "",
     {"My-Header1:value1"},
     "",
     "host;my-header1;x-amz-date",
     "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
     NULL},
    {"post-header-value-case",
     "POST",
     "/",
     "",
     {"My-Header1:VALUE1"},
     "",
     "host;my-header1;x-amz-date",
     "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
     NULL},
    {"post-sts-header-before",
     "POST",
     "/",
     "",
     {NULL},
     "",
     "host;x-amz-date;x-amz-security-token",
     "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
     "AQoDYXdzEPT//////////"
     "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthA"
     "x7mSEI/qkPpKPi/"
     "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHN"
     "VXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
     "scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="},
    {"post-vanilla-query",
     "POST",
     "/",
     "Param1=value1",
     {NULL},
     "",
     "host;x-amz-date",
     "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
     NULL},
    {"post-vanilla",
     "POST",
     "/",
     "",
     {NULL},
     "",
     "host;x-amz-date",
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
     NULL},
    {"post-x-www-form-urlencoded-parameters",
     "POST",
     "/",
     "",
     {"Content-Type:application/x-www-form-urlencoded; charset=utf8"},
     "Param1=value1",
     "content-type;host;x-amz-date",
     "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe",
     NULL},
    {"post-x-www-form-urlencoded",
     "POST",
     "/",
     "",
     {"Content-Type:application/x-www-form-urlencoded"},
     "Param1=value1",
     "content-type;host;x-amz-date",
     "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
     NULL},
};

static GPtrArray *sign(const AcrAwsKeys *keys, const char *method, const char *path,
                       const char *query, const char *const *headers, const char *body)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);

    acr_sigv4_sign(keys, method, "example.amazonaws.com", path, query, headers, body, strlen(body),
                   SUITE_TIME, out);
    return out;
}

static AcrAwsKeys suite_keys(void)
{
    return (AcrAwsKeys){
        .access_key = "AKIDEXAMPLE",
        .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        .region = "us-east-1",
        .service = "service",
    };
}

static void the_published_vectors_hold(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(vectors); i++) {
        const Vector *v = &vectors[i];
        AcrAwsKeys keys = suite_keys();
        g_autoptr(GPtrArray) out = NULL;
        g_autofree char *expected =
            g_strdup_printf("Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/"
                            "us-east-1/service/aws4_request, SignedHeaders=%s, Signature=%s",
                            v->signed_names, v->signature);

        keys.session_token = v->token;
        out = sign(&keys, v->method, v->path, v->query, v->headers, v->body);
        g_test_message("%s", v->name);
        g_assert_cmpstr(out->pdata[0], ==, "X-Amz-Date: 20150830T123600Z");
        g_assert_cmpstr(out->pdata[out->len - 1], ==, expected);
        g_assert_cmpuint(out->len, ==, v->token ? 3 : 2);
    }
}

/* The part of the authorization behind `key` up to the next comma. */
static char *part(const GPtrArray *headers, const char *key)
{
    const char *at = strstr(headers->pdata[headers->len - 1], key);

    g_assert_nonnull(at);
    at += strlen(key);
    return g_strndup(at, strcspn(at, ","));
}

static char *signature_of(const char *path, const char *query, const char *const *headers)
{
    AcrAwsKeys keys = suite_keys();
    g_autoptr(GPtrArray) out = sign(&keys, "POST", path, query, headers, "{}");

    return part(out, "Signature=");
}

static char *names_of(const char *const *headers)
{
    AcrAwsKeys keys = suite_keys();
    g_autoptr(GPtrArray) out = sign(&keys, "POST", "/", NULL, headers, "{}");

    return part(out, "SignedHeaders=");
}

/* Sums by botocore.auth.SigV4Auth. */
static void a_path_is_encoded_once_more_than_it_is_sent(void)
{
    g_autofree char *raw = signature_of("/model/a.b-v1:0/converse", NULL, NULL);
    g_autofree char *sent = signature_of("/model/a.b-v1%3A0/converse", NULL, NULL);
    g_autofree char *arn = signature_of(
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx/converse", "", NULL);

    g_assert_cmpstr(raw, ==, "a8957a6a1694e127c37e3406bb46f54c10ec7c0fdc575062c0167821fb2b7787");
    g_assert_cmpstr(sent, ==, "2529185f4f4fe726cdac635ffcd190c32cbf23d850cf4aa96812b72b54e1a32d");
    g_assert_cmpstr(arn, ==, "448289eae9930db3881ede482f2b3b9f127ed3ad09bab2e114426c3692ba9909");
}

static void a_query_is_sorted_by_name_before_value(void)
{
    g_autofree char *one = signature_of("/", "a-b=1&a=2&a=1&c", NULL);
    g_autofree char *other = signature_of("/", "c=&a=1&a=2&a-b=1", NULL);

    g_assert_cmpstr(one, ==, "d0b7f37ff1a3ba30b784b439ad1da1b6428b26a5a4adc5913ee70d0fe630c136");
    g_assert_cmpstr(other, ==, one);
}

static void headers_that_hops_change_are_not_signed(void)
{
    static const char *const changing[] = {"Connection: close",
                                           "Expect: 100-continue",
                                           "User-Agent: acr-host",
                                           "Transfer-Encoding: x",
                                           "TE: trailers",
                                           "Trailer: x",
                                           "Upgrade: h2c",
                                           "Keep-Alive: 5",
                                           "X-Amzn-Trace-Id: Root=1",
                                           "Authorization: old",
                                           "x-amz-date: old",
                                           "X-Amz-Security-Token: old",
                                           "Accept:",
                                           "Expect: ",
                                           NULL};
    static const char *const kept[] = {"X-A-B: 1", "x-a: 2", "Empty;", "Host: other:8080", NULL};
    g_autofree char *none = names_of(changing);
    g_autofree char *some = names_of(kept);
    g_autofree char *bare = signature_of("/", NULL, NULL);
    g_autofree char *same = signature_of("/", NULL, changing);

    g_assert_cmpstr(none, ==, "host;x-amz-date");
    g_assert_cmpstr(same, ==, bare);
    g_assert_cmpstr(some, ==, "empty;host;x-a;x-a-b;x-amz-date");
}

static void a_sum_that_is_sent_stands_for_the_body(void)
{
    static const char *const right[] = {
        "X-Amz-Content-SHA256: 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        NULL};
    static const char *const none[] = {"X-Amz-Content-SHA256: UNSIGNED-PAYLOAD", NULL};
    AcrAwsKeys keys = suite_keys();
    g_autoptr(GPtrArray) braces = sign(&keys, "POST", "/", NULL, none, "{}");
    g_autoptr(GPtrArray) list = sign(&keys, "POST", "/", NULL, none, "[]");
    g_autofree char *stated = signature_of("/", NULL, right);

    g_assert_cmpstr(braces->pdata[1], ==, list->pdata[1]);
    g_assert_cmpstr(stated, ==, "5b44b333e6121a5f356e62b8b10ab906f5b61303a9ec54e6527a5e698a33360d");
}

#define TEST(name) g_test_add_func("/llm/sigv4/" #name, name)

void add_sigv4_tests(void)
{
    TEST(the_published_vectors_hold);
    TEST(a_path_is_encoded_once_more_than_it_is_sent);
    TEST(a_query_is_sorted_by_name_before_value);
    TEST(headers_that_hops_change_are_not_signed);
    TEST(a_sum_that_is_sent_stands_for_the_body);
}
