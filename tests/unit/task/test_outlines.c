/* Which files could not be outlined when a run began, and what becomes of them later. */
#include "test_task.h"

#include <string.h>

typedef struct {
    guint asked;
    bool fails;
} Fake;

static bool fake_outline(void *ctx, const char *path, GBytes *source, GBytes **out_rows,
                         GError **error)
{
    Fake *fake = ctx;
    fake->asked++;
    if (fake->fails) {
        g_set_error_literal(error, ACR_PY_ERROR, ACR_PY_ERROR_TIMEOUT, "too slow today");
        return false;
    }
    *out_rows = g_bytes_new_static("C\tA\t1\t1\t1\t1\t\n", 13);
    return true;
}

static bool ask(AcrOutlineRecord *record, Fake *fake, const char *path, char **out_rows)
{
    AcrOutliner inner = {fake, fake_outline}, table = acr_outline_record_table(record, &inner);
    g_autoptr(GBytes) source = g_bytes_new_static("", 0), rows = NULL;
    g_autoptr(GError) error = NULL;
    bool ok = table.outline(table.ctx, path, source, &rows, &error);
    g_assert_cmpint(ok, ==, error == NULL);
    *out_rows = ok ? g_strndup(g_bytes_get_data(rows, NULL), g_bytes_get_size(rows)) : NULL;
    return ok;
}

static void test_failures_of_the_beginning_are_listed(void)
{
    g_auto(AcrOutlineRecord) record = {.failures = acr_json_new_array()};
    Fake slow = {.fails = true}, quick = {0};
    g_autofree char *rows = NULL, *other = NULL;
    g_assert_false(ask(&record, &slow, "a\xff.py", &rows));
    g_assert_true(ask(&record, &quick, "b.py", &other));
    g_autofree char *text = acr_json_print(record.failures);
    g_assert_cmpstr(text, ==, "[{\"file\":{\"base64\":\"Yf8ucHk=\"},\"why\":\"too slow today\"}]");
    g_assert_null(record.late);
}

static void test_a_listed_file_stays_out_though_it_could_be_outlined_now(void)
{
    const char *listed = "[{\"file\":{\"base64\":\"Yf8ucHk=\"},\"why\":\"too slow\"}]";
    g_auto(AcrOutlineRecord)
        record = {.failures = acr_json_parse(listed, strlen(listed), NULL), .settled = true};
    Fake quick = {0};
    g_autofree char *rows = NULL, *other = NULL;
    g_assert_true(ask(&record, &quick, "a\xff.py", &rows));
    g_assert_true(g_str_has_prefix(rows, "X\t"));
    g_assert_cmpuint(quick.asked, ==, 0);
    g_assert_true(ask(&record, &quick, "a.py", &other));
    g_assert_true(g_str_has_prefix(other, "C\t"));
}

static void test_a_failure_that_the_run_did_not_begin_with_is_told(void)
{
    g_auto(AcrOutlineRecord) record = {.failures = acr_json_new_array(), .settled = true};
    Fake slow = {.fails = true};
    g_autofree char *rows = NULL;
    g_assert_false(ask(&record, &slow, "a.py", &rows));
    g_assert_nonnull(strstr(record.late, "'a.py'"));
    g_assert_cmpuint(acr_json_size(record.failures), ==, 0);
}

void add_outlines_tests(void)
{
    g_test_add_func("/task/outlines/failures_of_the_beginning_are_listed",
                    test_failures_of_the_beginning_are_listed);
    g_test_add_func("/task/outlines/a_listed_file_stays_out_though_it_could_be_outlined_now",
                    test_a_listed_file_stays_out_though_it_could_be_outlined_now);
    g_test_add_func("/task/outlines/a_failure_that_the_run_did_not_begin_with_is_told",
                    test_a_failure_that_the_run_did_not_begin_with_is_told);
}
