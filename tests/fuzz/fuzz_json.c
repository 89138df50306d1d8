/* Fuzzes the JSON parser: a parsed value must print as text that parses to an equal value and
 * prints the same again, on one line and indented; no bytes may cause a crash or a leak. */
#include "base/base.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_reads_back(const AcrJson *json, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) again = acr_json_parse(text, strlen(text), &error);
    g_assert_no_error(error);
    g_assert_true(acr_json_equal(json, again, NULL));
    g_autofree char *line = acr_json_print(json);
    g_autofree char *line_again = acr_json_print(again);
    g_assert_cmpstr(line, ==, line_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) json = acr_json_parse((const char *)data, size, &error);
    g_assert_true((json == NULL) == (error != NULL));
    if (!json)
        return 0;
    g_autofree char *line = acr_json_print(json);
    g_assert_true(g_utf8_validate(line, -1, NULL));
    g_assert_null(strchr(line, '\n'));
    assert_reads_back(json, line);
    g_autofree char *pretty = acr_json_print_pretty(json);
    assert_reads_back(json, pretty);
    g_autoptr(AcrJson) copy = acr_json_copy(json);
    g_assert_true(acr_json_equal(json, copy, "time"));
    return 0;
}
