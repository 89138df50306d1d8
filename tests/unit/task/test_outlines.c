/* Which files could not be outlined when a run began, and what becomes of them later. */
#include "test_task.h"

#include <string.h>

static void test_failures_of_the_beginning_are_listed(void)
{
    g_auto(AcrOutlineRecord) record = {.failures = acr_json_new_array()};
    AcrOutlineFate fate = acr_outline_record_fate(&record);
    g_assert_null(fate.refuse(fate.ctx, "a\xff.py"));
    fate.failed(fate.ctx, "a\xff.py", "too slow today");
    g_assert_null(fate.refuse(fate.ctx, "a\xff.py"));
    g_autofree char *text = acr_json_print(record.failures);
    g_assert_cmpstr(text, ==, "[{\"file\":{\"base64\":\"Yf8ucHk=\"},\"why\":\"too slow today\"}]");
    g_assert_null(record.late);
}

static void test_a_listed_file_stays_out_though_it_could_be_outlined_now(void)
{
    const char *listed = "[{\"file\":{\"base64\":\"Yf8ucHk=\"},\"why\":\"too slow\"}]";
    g_auto(AcrOutlineRecord)
        record = {.failures = acr_json_parse(listed, strlen(listed), NULL), .settled = true};
    AcrOutlineFate fate = acr_outline_record_fate(&record);
    g_assert_cmpstr(fate.refuse(fate.ctx, "a\xff.py"), ==, "too slow");
    g_assert_null(fate.refuse(fate.ctx, "a.py"));
}

static void test_a_failure_that_the_run_did_not_begin_with_is_told(void)
{
    g_auto(AcrOutlineRecord) record = {.failures = acr_json_new_array(), .settled = true};
    AcrOutlineFate fate = acr_outline_record_fate(&record);
    fate.failed(fate.ctx, "a.py", "too slow today");
    g_assert_nonnull(strstr(record.late, "'a.py'"));
    g_assert_cmpuint(acr_json_size(record.failures), ==, 0);
}

#define ADD(name) g_test_add_func("/task/outlines/" #name, test_##name)

void add_outlines_tests(void)
{
    ADD(failures_of_the_beginning_are_listed);
    ADD(a_listed_file_stays_out_though_it_could_be_outlined_now);
    ADD(a_failure_that_the_run_did_not_begin_with_is_told);
}
