/* Tests of Bedrock's settings: the environment, the user's two files, headers, errors. */
#include "test_llm.h"

#include <glib/gstdio.h>

static const char *const variables[] = {"AWS_BEARER_TOKEN_BEDROCK",
                                        "AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "AWS_REGION",
                                        "AWS_DEFAULT_REGION",
                                        "AWS_PROFILE",
                                        "AWS_DEFAULT_PROFILE",
                                        "AWS_CONFIG_FILE",
                                        "AWS_SHARED_CREDENTIALS_FILE",
                                        "AWS_ENDPOINT_URL",
                                        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
                                        "AWS_USE_FIPS_ENDPOINT"};

/* A folder with the two files, and an environment that only points to them. */
typedef struct {
    char *dir, *config, *credentials;
} Place;

static void set_up(Place *place, gconstpointer data)
{
    place->dir = g_dir_make_tmp("aws-XXXXXX", NULL);
    place->config = g_build_filename(place->dir, "config", NULL);
    place->credentials = g_build_filename(place->dir, "credentials", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(variables); i++)
        g_unsetenv(variables[i]);
    g_setenv("AWS_CONFIG_FILE", place->config, TRUE);
    g_setenv("AWS_SHARED_CREDENTIALS_FILE", place->credentials, TRUE);
}

static void tear_down(Place *place, gconstpointer data)
{
    for (gsize i = 0; i < G_N_ELEMENTS(variables); i++)
        g_unsetenv(variables[i]);
    g_assert_true(acr_dir_remove(place->dir, NULL));
    g_free(place->dir);
    g_free(place->config);
    g_free(place->credentials);
}

#define PLACE_TEST(group, name) TEST_WITH(group, name, Place, place, data, NULL, set_up, tear_down)

static void write_file(const char *path, const char *text)
{
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void assert_settings(const char *access, const char *secret, const char *token, const char *region)
{
    g_auto(AcrAwsCredentials) settings = {0};
    g_autoptr(GError) error = NULL;
    assert_ok(acr_aws_credentials_read(&settings, &error), error);
    g_assert_cmpstr(settings.access_key, ==, access);
    g_assert_cmpstr(settings.secret_key, ==, secret);
    g_assert_cmpstr(settings.session_token, ==, token);
    g_assert_cmpstr(settings.region, ==, region);
}

static void assert_no_settings(AcrLlmError code, const char *words)
{
    g_auto(AcrAwsCredentials) settings = {0};
    g_autoptr(GError) error = NULL;
    g_assert_false(acr_aws_credentials_read(&settings, &error));
    g_assert_error(error, ACR_LLM_ERROR, (int)code);
    if (!strstr(error->message, words))
        g_error("'%s' is not in: %s", words, error->message);
    g_assert_null(settings.access_key);
}

PLACE_TEST("/llm/aws_settings", files_are_read_as_other_tools_read_them)
{
    assert_settings(NULL, NULL, NULL, NULL); /* the files do not exist */
    write_file(place->config, "# mine\r\n[default]\r\nregion=eu-west-1 ; near\r\n"
                              "s3 =\r\n  region = nested\r\n[profile  work ]\r\n"
                              "region = us-west-2\r\n[profile \"two words\"]\r\n"
                              "aws_access_key_id = C\r\naws_secret_access_key = D=#\r\n");
    write_file(place->credentials, "[other]\naws_access_key_id = X\n[default]\n"
                                   "aws_access_key_id = A\n;aws_access_key_id = Z\n"
                                   "aws_secret_access_key =\tb/+= \n[work]\n"
                                   "aws_access_key_id=W\naws_secret_access_key=V\n"
                                   "aws_session_token=T\n[\"]\naws_access_key_id=Q\n"
                                   "aws_secret_access_key=R\n");
    assert_settings("A", "b/+=", NULL, "eu-west-1");
    g_setenv("AWS_PROFILE", "work", TRUE);
    assert_settings("W", "V", "T", "us-west-2");
    g_setenv("AWS_PROFILE", "two words", TRUE);
    assert_settings("C", "D=#", NULL, NULL);
    g_setenv("AWS_PROFILE", "\"", TRUE); /* a single quotation mark quotes nothing */
    assert_settings("Q", "R", NULL, NULL);
    g_setenv("AWS_PROFILE", "other", TRUE); /* half a pair of keys is ignored */
    assert_settings(NULL, NULL, NULL, NULL);
    g_setenv("AWS_PROFILE", "nobody", TRUE);
    assert_settings(NULL, NULL, NULL, NULL);
}

PLACE_TEST("/llm/aws_settings", the_environment_goes_before_the_files)
{
    write_file(place->config, "[default]\nregion=eu-west-1\n");
    write_file(place->credentials, "[default]\naws_access_key_id=A\naws_secret_access_key=b\n"
                                   "aws_session_token=c\n");
    g_setenv("AWS_ACCESS_KEY_ID", "E", TRUE);
    g_setenv("AWS_SECRET_ACCESS_KEY", "f", TRUE);
    assert_settings("E", "f", NULL, "eu-west-1"); /* the token in the file belongs to other keys */
    g_setenv("AWS_SESSION_TOKEN", "g", TRUE);
    g_setenv("AWS_DEFAULT_REGION", "sa-east-1", TRUE);
    assert_settings("E", "f", "g", "sa-east-1");
    g_setenv("AWS_REGION", "us-east-1", TRUE);
    assert_settings("E", "f", "g", "us-east-1");
}

PLACE_TEST("/llm/aws_settings", what_cannot_be_used_is_named_without_its_value)
{
    g_setenv("AWS_SECRET_ACCESS_KEY", "f", TRUE);
    assert_no_settings(ACR_LLM_ERROR_AUTH, "AWS_ACCESS_KEY_ID is not");
    g_setenv("AWS_ACCESS_KEY_ID", "E", TRUE);
    g_setenv("AWS_REGION", "evil.example/", TRUE);
    assert_no_settings(ACR_LLM_ERROR_USAGE, "region");
    g_setenv("AWS_REGION", "us-east-1", TRUE);
    g_setenv("AWS_SESSION_TOKEN", "two words\nHost: x", TRUE);
    assert_no_settings(ACR_LLM_ERROR_AUTH, "session token");
    g_unsetenv("AWS_SESSION_TOKEN");
    g_unsetenv("AWS_REGION");
    g_assert_cmpint(g_mkdir(place->config, 0700), ==, 0);
    assert_no_settings(ACR_LLM_ERROR_AUTH, place->config);
}

/* ---- The endpoint ---- */

static bool make(const char *model, const char *base_url, const char *const *headers, AcrEndpoint *out, GError **error)
{
    AcrModelOptions options = {.temperature = -1, .base_url = base_url, .headers = headers};
    return acr_endpoint_make(&acr_provider_bedrock, "bedrock/m", model, &options, out, error);
}

static void assert_url(const char *model, const char *base_url, const char *url, bool is_own)
{
    AcrEndpoint endpoint = {0};
    g_autoptr(GError) error = NULL;
    if (!make(model, base_url, NULL, &endpoint, &error))
        g_error("%s", error->message);
    g_assert_cmpstr(endpoint.url, ==, url);
    g_assert_cmpint(endpoint.is_own, ==, is_own);
    acr_endpoint_clear(&endpoint);
}

PLACE_TEST("/llm/aws_settings", addresses_follow_the_region_unless_given)
{
    g_setenv("AWS_BEARER_TOKEN_BEDROCK", "bearer-0123456789", TRUE);
    g_setenv("AWS_REGION", "eu-west-1", TRUE);
    assert_url("a.b-v1:0", NULL, "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a.b-v1%3A0/converse-stream",
               true);
    assert_url("arn:aws:bedrock:us-east-1:1:inference-profile/us.a-v1:0", NULL,
               "https://bedrock-runtime.eu-west-1.amazonaws.com/model/"
               "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.a-v1%3A0/"
               "converse-stream",
               true);
    g_setenv("AWS_REGION", "cn-north-1", TRUE);
    assert_url("m", NULL, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/m/converse-stream", true);
    g_setenv("AWS_USE_FIPS_ENDPOINT", "true", TRUE);
    g_setenv("AWS_REGION", "us-east-1", TRUE);
    assert_url("m", NULL, "https://bedrock-runtime-fips.us-east-1.amazonaws.com/model/m/converse-stream", true);
    g_setenv("AWS_ENDPOINT_URL", "https://bedrock-runtime.evil.example/x.amazonaws.com/", TRUE);
    assert_url("m", NULL, "https://bedrock-runtime.evil.example/x.amazonaws.com/model/m/converse-stream", false);
    g_setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:9", TRUE);
    assert_url("m", NULL, "http://127.0.0.1:9/model/m/converse-stream", false);
    assert_url("m", "https://gateway.example/aws", "https://gateway.example/aws/model/m/converse-stream", false);
}

static void assert_refused(const char *base_url, AcrLlmError code, const char *words)
{
    AcrEndpoint endpoint = {0};
    g_autoptr(GError) error = NULL;
    g_assert_false(make("m", base_url, NULL, &endpoint, &error));
    g_assert_error(error, ACR_LLM_ERROR, (int)code);
    if (!strstr(error->message, words))
        g_error("'%s' is not in: %s", words, error->message);
}

PLACE_TEST("/llm/aws_settings", a_missing_key_is_told_with_its_variables)
{
    assert_refused(NULL, ACR_LLM_ERROR_AUTH, "AWS_BEARER_TOKEN_BEDROCK");
    assert_refused("https://gateway.example", ACR_LLM_ERROR_AUTH, "AWS_SECRET_ACCESS_KEY");
    g_setenv("AWS_REGION", "us-east-1", TRUE);
    assert_refused(NULL, ACR_LLM_ERROR_AUTH, "AWS_ACCESS_KEY_ID");
    assert_refused("http://127.0.0.1:9", ACR_LLM_ERROR_AUTH, "AWS_ACCESS_KEY_ID");
    g_unsetenv("AWS_REGION");
    g_setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", TRUE);
    g_setenv("AWS_SECRET_ACCESS_KEY", "secret-0123456789", TRUE);
    assert_refused(NULL, ACR_LLM_ERROR_USAGE, "AWS_REGION");
    assert_refused("https://gateway.example", ACR_LLM_ERROR_USAGE, "AWS_REGION");
}

/* The headers of one request, beginning with those of the endpoint. */
static char *headers_of(const char *base_url, const char *const *given)
{
    AcrEndpoint endpoint = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) added = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *shown = NULL;
    GString *out = g_string_new(NULL);
    g_assert_true(make("m", base_url, given, &endpoint, &error));
    acr_provider_bedrock.sign(&endpoint, "{}", 2, added);
    for (guint i = 0; i + 1 < endpoint.headers->len; i++)
        g_string_append_printf(out, "%s\n", (char *)endpoint.headers->pdata[i]);
    for (guint i = 0; i < added->len; i++)
        g_string_append_printf(out, "%s\n", (char *)added->pdata[i]);
    shown = acr_redact_line("AKIDEXAMPLE secret-0123456789 token-0123456789 bearer-0123456789", endpoint.secrets, 200);
    g_string_append_printf(out, "%s\n", shown);
    acr_endpoint_clear(&endpoint);
    return g_string_free(out, FALSE);
}

static void assert_holds(const char *text, const char *words)
{
    if (!strstr(text, words))
        g_error("'%s' is not in:\n%s", words, text);
}

PLACE_TEST("/llm/aws_settings", requests_are_signed_with_the_keys)
{
    static const char *const extra[] = {"X-Team: blue", NULL};
    static const char *const other[] = {"authorization: Bearer of-a-gateway", NULL};
    g_autofree char *plain = NULL, *with_token = NULL, *replaced = NULL;
    g_setenv("AWS_REGION", "us-east-1", TRUE);
    g_setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", TRUE);
    g_setenv("AWS_SECRET_ACCESS_KEY", "secret-0123456789", TRUE);
    plain = headers_of(NULL, extra);
    assert_holds(plain, "/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;"
                        "x-amz-date, Signature=");
    g_assert_null(strstr(plain, "secret-0123456789"));
    g_assert_null(strstr(plain, "X-Amz-Security-Token"));
    g_setenv("AWS_SESSION_TOKEN", "token-0123456789", TRUE);
    with_token = headers_of("http://127.0.0.1:80", NULL);
    assert_holds(with_token, "X-Amz-Security-Token: token-0123456789\n");
    assert_holds(with_token, "content-type;host;x-amz-date;x-amz-security-token, Signature=");
    replaced = headers_of(NULL, other);
    assert_holds(replaced, "authorization: Bearer of-a-gateway\n");
    g_assert_null(strstr(replaced, "AWS4-HMAC"));
}

PLACE_TEST("/llm/aws_settings", a_bearer_key_goes_before_signatures)
{
    g_autofree char *headers = NULL;
    g_setenv("AWS_REGION", "us-east-1", TRUE);
    g_setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", TRUE);
    g_setenv("AWS_SECRET_ACCESS_KEY", "secret-0123456789", TRUE);
    g_setenv("AWS_BEARER_TOKEN_BEDROCK", "bearer-0123456789", TRUE);
    headers = headers_of(NULL, NULL);
    assert_holds(headers, "Authorization: Bearer bearer-0123456789\n");
    g_assert_null(strstr(headers, "AWS4-HMAC"));
    /* not in the text that is shown */
    g_assert_null(g_strrstr(headers, "0123456789 bearer-0123456789"));
}
