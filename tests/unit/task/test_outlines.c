/* Which files could not be outlined when a run began. */
#include "test_task.h"

#include <string.h>

static void test_a_listed_file_stays_out_by_the_bytes_of_its_name(void)
{
    const char *text =
        "[{\"file\":{\"base64\":\"Yf8ucHk=\"},\"why\":\"too slow\"},{\"file\":\"b.py\"}]";
    g_autoptr(AcrJson) list = acr_json_parse(text, strlen(text), NULL);
    g_autoptr(GHashTable) files = acr_outlines_listed(list), none = acr_outlines_listed(NULL);
    g_assert_cmpstr(g_hash_table_lookup(files, "a\xff.py"), ==, "too slow");
    g_assert_nonnull(g_hash_table_lookup(files, "b.py"));
    g_assert_null(g_hash_table_lookup(files, "a.py"));
    g_assert_cmpuint(g_hash_table_size(none), ==, 0);
}

static void test_a_failure_that_the_run_did_not_begin_with_is_told(void)
{
    const char *text = "[{\"file\":\"a.py\",\"why\":\"too slow today\"}]";
    g_autoptr(AcrJson) late = acr_json_parse(text, strlen(text), NULL),
                       none = acr_json_parse("[]", 2, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(acr_outlines_check(none, &error));
    g_assert_false(acr_outlines_check(late, &error));
    g_assert_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT);
    g_assert_nonnull(strstr(error->message, "'a.py'"));
}

#define ADD(name) g_test_add_func("/task/outlines/" #name, test_##name)

void add_outlines_tests(void)
{
    ADD(a_listed_file_stays_out_by_the_bytes_of_its_name);
    ADD(a_failure_that_the_run_did_not_begin_with_is_told);
}
