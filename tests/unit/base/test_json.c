/* Tests of JSON: what is parsed, rejected and printed, and that no operation takes quadratic
 * time. */
#include "test_base.h"

#include <math.h>
#include <string.h>

static AcrJson *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    AcrJson *json = made(acr_json_parse(text, strlen(text), &error), error);
    g_assert_nonnull(json);
    return json;
}

static void assert_prints(const char *text, const char *expected)
{
    g_autoptr(AcrJson) json = parse(text);
    assert_text(acr_json_print(json), expected);
}

static void assert_refused(const char *text, gsize len, AcrBaseError code, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) json = acr_json_parse(text, len, &error);
    g_assert_null(json);
    g_assert_error(error, ACR_BASE_ERROR, (int)code);
    g_assert_nonnull(strstr(error->message, message));
}

TEST("/base/json", valid_texts_are_read_and_printed)
{
    static const char *const cases[][2] = {
        {" {\"b\" : [1, 2.5, -3e2, true, false, null], \"a\":{}} ", "{\"b\":[1,2.5,-300,true,false,null],\"a\":{}}"},
        {"\"\\u00e9\\ud83d\\ude00\\n\\/\"", "\"\u00e9\U0001F600\\n/\""},
        {"[]", "[]"},
        {"0", "0"},
        {"-0.5", "-0.5"},
        {"\xEF\xBB\xBF[1]", "[1]"},
        {"\"\\u0001\\u001f\\u007f\\b\\f\"", "\"\\u0001\\u001f\\u007f\\u0008\\u000c\""},
        {"{\"\":1}", "{\"\":1}"}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_prints(cases[i][0], cases[i][1]);
}

TEST("/base/json", what_is_no_json_is_refused_with_its_offset)
{
    static const char *const cases[][2] = {
        {"", "byte 0"},         {"  ", "byte 2"},      {"[1,]", "byte 3"},        {"{bad: 1", "byte 1: unexpected"},
        {"[nul", "byte 1"},     {"[1 2]", "byte 3"},   {"{\"a\":1,}", "byte 7"},  {"{a:1}", "byte 1"},
        {"{\"a\"1}", "byte 4"}, {"01", "byte 1"},      {"1.", "byte 0"},          {"1e+", "byte 0"},
        {"+1", "byte 0"},       {"-", "byte 0"},       {"nul", "byte 0"},         {"true false", "byte 5"},
        {"\"a", "byte 0"},      {"\"\\x\"", "byte 1"}, {"\"\\u12g4\"", "byte 1"}, {"\"a\nb\"", "byte 2"},
        {"\"\\", "byte 1"},     {"\"\\u00", "byte 1"}, {"NaN", "byte 0"},         {"[\"\xff\"]", "byte 2"},
        {"{", "byte 1"},        {"[", "byte 1"}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        assert_refused(cases[i][0], strlen(cases[i][0]), ACR_BASE_ERROR_MALFORMED, cases[i][1]);
    }
    assert_refused("\"a\0b\"", 5, ACR_BASE_ERROR_MALFORMED, "byte 2");
    assert_refused("1\0", 2, ACR_BASE_ERROR_MALFORMED, "byte 1");
    assert_refused(NULL, 0, ACR_BASE_ERROR_MALFORMED, "byte 0");
}

TEST("/base/json", text_is_not_read_past_its_length)
{
    g_autofree char *exact = g_memdup2("[12345", 5);
    assert_refused(exact, 5, ACR_BASE_ERROR_MALFORMED, "byte 5");
    g_autofree char *number = g_memdup2("1234567", 3);
    g_autoptr(AcrJson) json = acr_json_parse(number, 3, NULL);
    g_assert_cmpint(acr_json_int(json, -1), ==, 123);
}

TEST("/base/json", nul_and_lone_surrogates_become_the_replacement_character)
{
    assert_prints("\"a\\u0000b\"", "\"a\uFFFDb\"");
    assert_prints("\"\\ud800\"", "\"\uFFFD\"");
    assert_prints("\"\\udc00x\"", "\"\uFFFDx\"");
    assert_prints("\"\\ud800\\ud83d\\ude00\"", "\"\uFFFD\U0001F600\"");
    assert_prints("\"\\ud83d\\u0041\"", "\"\uFFFDA\"");
    assert_prints("[\"\\u0000\",{\"k\\u0000\":\"\\udfff\"}]", "[\"\uFFFD\",{\"k\uFFFD\":\"\uFFFD\"}]");
}

TEST("/base/json", integers_up_to_2_53_are_exact)
{
    static const gint64 values[] = {0,
                                    -1,
                                    1000000,
                                    G_MAXINT32,
                                    G_MININT32,
                                    999999999999999,
                                    1000000000000001,
                                    9007199254740991,
                                    9007199254740992,
                                    -9007199254740991};
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autoptr(AcrJson) json = acr_json_new_int(values[i]);
        g_autofree char *printed = acr_json_print(json);
        g_autofree char *expected = g_strdup_printf("%" G_GINT64_FORMAT, values[i]);
        g_assert_cmpstr(printed, ==, expected);
        g_autoptr(AcrJson) again = parse(printed);
        g_assert_cmpint(acr_json_int(again, -7), ==, values[i]);
    }
}

TEST("/base/json", doubles_read_back_as_the_same_double)
{
    static const double values[] = {0.1, 1.0 / 3, 1e300, 5e-324, -2.5e-7, 1.7976931348623157e308, 123456789.123456789};
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autoptr(AcrJson) json = acr_json_new_double(values[i]);
        g_autofree char *printed = acr_json_print(json);
        g_autoptr(AcrJson) again = parse(printed);
        g_assert_true(acr_json_equal(json, again, NULL));
    }
    assert_prints("0.1", "0.1");
    g_autoptr(AcrJson) nan = acr_json_new_double(NAN);
    g_assert_cmpint(acr_json_type(nan), ==, ACR_JSON_NULL);
}

TEST("/base/json", numbers_too_long_or_too_large_are_read)
{
    assert_prints("0.3333333333333333333333333333333333333333333333333333333333333333333333333333333",
                  "0.3333333333333333");
    g_autoptr(AcrJson) huge = parse("[1e999,-1e999,1e-999]");
    assert_text(acr_json_print(huge), "[1.7976931348623157e+308,-1.7976931348623157e+308,0]");
}

TEST("/base/json", int_of_a_fraction_or_beyond_64_bits_is_the_default)
{
    g_autoptr(AcrJson) json = parse("{\"a\":1.5,\"b\":1e30,\"c\":\"7\",\"d\":7.0,\"e\":true}");
    g_assert_cmpint(acr_json_get_int(json, "a", -9), ==, -9);
    g_assert_cmpint(acr_json_get_int(json, "b", -9), ==, -9);
    g_assert_cmpint(acr_json_get_int(json, "c", -9), ==, -9);
    g_assert_cmpint(acr_json_get_int(json, "d", -9), ==, 7);
    g_assert_cmpint(acr_json_get_int(json, "missing", -9), ==, -9);
    g_assert_cmpfloat(acr_json_get_double(json, "a", 0), ==, 1.5);
    g_assert_cmpfloat(acr_json_get_double(json, "c", 4), ==, 4);
    g_assert_true(acr_json_get_bool(json, "e", false));
    g_assert_true(acr_json_get_bool(json, "a", true));
}

static char *nested(guint depth)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < depth; i++)
        g_string_append(text, i % 2 ? "{\"a\":" : "[");
    g_string_append(text, "1");
    for (guint i = depth; i-- > 0;)
        g_string_append(text, i % 2 ? "}" : "]");
    return g_string_free(text, FALSE);
}

TEST("/base/json", depth_values_and_bytes_have_their_ceilings)
{
    g_autofree char *allowed = nested(ACR_JSON_MAX_DEPTH);
    assert_prints(allowed, allowed);
    g_autofree char *deeper = nested(ACR_JSON_MAX_DEPTH + 1);
    assert_refused(deeper, strlen(deeper), ACR_BASE_ERROR_TOO_BIG, "deeper than 200");
    g_autofree char *bomb = g_strnfill(5000000, '[');
    assert_refused(bomb, 5000000, ACR_BASE_ERROR_TOO_BIG, "deeper than 200");
    const gsize elements = ACR_JSON_MAX_VALUES; /* the array itself is one more value */
    g_autofree char *many = g_strnfill(2 * elements + 1, '0');
    for (gsize i = 0; i <= elements; i++)
        many[2 * i] = i == 0 ? '[' : i == elements ? ']' : ',';
    assert_refused(many, 2 * elements + 1, ACR_BASE_ERROR_TOO_BIG, "values");
    assert_refused("x", (gsize)ACR_JSON_MAX_BYTES + 1, ACR_BASE_ERROR_TOO_BIG, "bytes");
}

TEST("/base/json", of_repeated_names_the_last_counts)
{
    assert_prints("{\"a\":1,\"b\":2,\"a\":3}", "{\"b\":2,\"a\":3}");
    assert_prints("[{\"a\":1,\"a\":{\"c\":1,\"c\":2},\"a\":4}]", "[{\"a\":4}]");
    assert_prints("{\"x\":{\"c\":1,\"c\":2}}", "{\"x\":{\"c\":2}}");
    GString *text = g_string_new("{");
    for (int i = 0; i < 1000; i++)
        g_string_append_printf(text, "%s\"k%d\":%d", i ? "," : "", i % 100, i);
    g_string_append(text, "}");
    g_autofree char *many = g_string_free(text, FALSE);
    g_autoptr(AcrJson) json = parse(many);
    g_assert_cmpuint(acr_json_size(json), ==, 100);
    g_assert_cmpint(acr_json_get_int(json, "k0", -1), ==, 900);
    g_assert_cmpint(acr_json_get_int(json, "k99", -1), ==, 999);
    acr_json_set_int(json, "new", 1);
    g_assert_cmpuint(acr_json_size(json), ==, 101);
}

TEST("/base/json", members_are_set_and_replaced_in_their_order)
{
    g_autoptr(AcrJson) json = acr_json_new_object();
    acr_json_set_string(json, "s", "text");
    acr_json_set_int(json, "i", 1);
    acr_json_set_bool(json, "t", true);
    acr_json_set(json, "n", NULL);
    acr_json_set_int(json, "i", 2);
    acr_json_set_string(json, "s", NULL);
    assert_text(acr_json_print(json), "{\"s\":null,\"i\":2,\"t\":true,\"n\":null}");
    acr_json_set_int(json, "I", 3);
    assert_text(acr_json_print(json), "{\"s\":null,\"i\":2,\"t\":true,\"n\":null,\"I\":3}");
    g_assert_cmpstr(acr_json_key(acr_json_first(json)), ==, "s");
    g_assert_null(acr_json_get(acr_json_first(json), "x"));
    g_assert_null(acr_json_get(NULL, "x"));
}

TEST("/base/json", pretty_print_is_indented_and_reads_back)
{
    g_autoptr(AcrJson) json = parse("{\"a\":[1,{\"b\":[]}],\"c\":{}}");
    g_autofree char *pretty = acr_json_print_pretty(json);
    g_assert_cmpstr(pretty, ==, "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}\n");
    g_autoptr(AcrJson) again = parse(pretty);
    g_assert_true(acr_json_equal(json, again, NULL));
}

TEST("/base/json", bytes_that_are_no_text_go_as_base64_and_come_back)
{
    static const struct {
        const char *data;
        gsize len;
        const char *printed;
    } cases[] = {{"plain", 5, "{\"k\":\"plain\"}"},
                 {"", 0, "{\"k\":\"\"}"},
                 {"a\0b", 3, "{\"k\":{\"base64\":\"YQBi\"}}"},
                 {"\xff\xfe", 2, "{\"k\":{\"base64\":\"//4=\"}}"}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(AcrJson) json = acr_json_new_object();
        acr_json_set(json, "k", acr_json_new_bytes(cases[i].data, cases[i].len));
        g_autofree char *printed = acr_json_print(json);
        g_assert_cmpstr(printed, ==, cases[i].printed);
        g_autoptr(GBytes) back = acr_json_get_bytes(json, "k");
        g_assert_cmpmem(g_bytes_get_data(back, NULL), g_bytes_get_size(back), cases[i].data, cases[i].len);
    }
    g_autoptr(AcrJson) string = acr_json_new_string("caf\xe9");
    g_assert_cmpstr(acr_json_get_string(string, "base64"), ==, "Y2Fm6Q==");
    g_autoptr(AcrJson) bad = parse("{\"a\":{\"base64\":\"Y*\"},\"b\":1,\"c\":{\"base64\":3},"
                                   "\"d\":{\"base64\":\"YQ\"}}");
    g_assert_null(acr_json_get_bytes(bad, "a"));
    g_assert_null(acr_json_get_bytes(bad, "b"));
    g_assert_null(acr_json_get_bytes(bad, "c"));
    g_assert_null(acr_json_get_bytes(bad, "d"));
    g_assert_null(acr_json_get_bytes(bad, "e"));
}

static void assert_equality(const char *a, const char *b, const char *ignore, bool expected)
{
    g_autoptr(AcrJson) left = parse(a);
    g_autoptr(AcrJson) right = parse(b);
    g_assert_cmpint(acr_json_equal(left, right, ignore), ==, expected);
    g_assert_cmpint(acr_json_equal(right, left, ignore), ==, expected);
}

TEST("/base/json", equality_ignores_order_and_the_named_member_at_every_depth)
{
    assert_equality("{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1}", NULL, true);
    assert_equality("{\"a\":1}", "{\"a\":1,\"b\":2}", NULL, false);
    assert_equality("{\"a\":1,\"c\":2}", "{\"a\":1,\"b\":2}", NULL, false);
    assert_equality("[1,2]", "[2,1]", NULL, false);
    assert_equality("[1]", "[1,2]", NULL, false);
    assert_equality("1", "\"1\"", NULL, false);
    assert_equality("null", "false", NULL, false);
    assert_equality("[{\"time\":1,\"a\":{\"time\":2,\"x\":1}}]", "[{\"a\":{\"x\":1,\"time\":9}}]", "time", true);
    assert_equality("{\"time\":1}", "{\"time\":2}", NULL, false);
    assert_equality("{\"a\":1,\"time\":1,\"b\":2}", "{\"time\":3,\"b\":2,\"a\":1}", "time", true);
    assert_equality("{\"a\":1,\"time\":1,\"b\":2}", "{\"b\":3,\"a\":1}", "time", false);
}

TEST("/base/json", copies_are_deep)
{
    g_autoptr(AcrJson) json = parse("{\"a\":{\"b\":[1]}}");
    g_autoptr(AcrJson) copy = acr_json_copy(json);
    g_assert_true(acr_json_equal(json, copy, NULL));
    acr_json_set_int(copy, "a", 1);
    assert_text(acr_json_print(json), "{\"a\":{\"b\":[1]}}");
}

/* If any step were quadratic, 300,000 elements would take minutes. */
TEST("/base/json", many_elements_take_linear_time)
{
    const int n = 300000;
    gint64 started = g_get_monotonic_time();
    g_autoptr(AcrJson) array = acr_json_new_array();
    for (int i = 0; i < n; i++)
        acr_json_append(array, acr_json_new_int(i));
    g_assert_cmpuint(acr_json_size(array), ==, n);
    g_autofree char *text = acr_json_print(array);
    g_autoptr(AcrJson) again = parse(text);
    g_assert_true(acr_json_equal(array, again, NULL));
    GString *forward = g_string_new("{\"x\":0"), *backward = g_string_new("{\"x\":0");
    for (int i = 0; i < n; i++) {
        g_string_append_printf(forward, ",\"k%d\":%d", i, i);
        g_string_append_printf(backward, ",\"k%d\":%d", n - 1 - i, n - 1 - i);
    }
    g_string_append_c(forward, '}');
    g_string_append_c(backward, '}');
    assert_equality(forward->str, backward->str, "x", true);
    g_string_free(forward, TRUE);
    g_string_free(backward, TRUE);
    g_assert_cmpint(g_get_monotonic_time() - started, <, 30 * G_USEC_PER_SEC);
}

TEST("/base/json", a_name_that_is_not_utf8_is_repaired)
{
    g_autoptr(AcrJson) json = acr_json_new_object();
    acr_json_set_int(json, "a\xff", 1);
    assert_text(acr_json_print(json), "{\"a\uFFFD\":1}");
}
