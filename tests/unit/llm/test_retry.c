/* Tests of retries: what servers say about them, how long a wait is, and what ends the retries. */
#include "test_llm.h"

#include <string.h>

#define DAY_MS ((gint64)24 * 3600 * 1000)
#define NOW 784111747 /* Sun, 06 Nov 1994 08:49:07 GMT */

TEST("/llm/waits", retry_after_is_read_in_each_of_its_forms)
{
    static const struct {
        const char *ms, *after, *amazon;
        gint64 expected;
    } rows[] = {{NULL, NULL, NULL, -1},
                {"1500", "9", NULL, 1500},
                {"88.5", NULL, NULL, 88},
                {NULL, "2", NULL, 2000},
                {NULL, "2 ", NULL, 2000},
                {NULL, "0", NULL, 0},
                {NULL, "1.5", NULL, 1500},
                {"soon", "3", NULL, 3000},
                {NULL, "-5", NULL, -1},
                {NULL, "nan", NULL, -1},
                {NULL, "inf", NULL, DAY_MS},
                {NULL, "1e30", NULL, DAY_MS},
                {NULL, "7200", NULL, 7200000},
                {NULL, "Sun, 06 Nov 1994 08:49:37 GMT", NULL, 30000},
                {NULL, "Sun, 06 Nov 1994 08:49:00 GMT", NULL, 0},
                {NULL, "Sun, 06 Nov 9999 08:49:00 GMT", NULL, DAY_MS},
                {NULL, "Sun, 06 anF 1994 08:49:37 GMT", NULL, -1},
                {NULL, "Sun, 66 Nov 1994 08:49:37 GMT", NULL, -1},
                {NULL, "Sun, 06 Nov 1994 28:49:37 GMT", NULL, -1},
                {NULL, "tomorrow", NULL, -1},
                {"", "", NULL, -1},
                {NULL, NULL, "1500", 1500},
                {NULL, "2", "1500", 2000},
                {NULL, NULL, "soon", -1}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GHashTable) headers = g_hash_table_new(g_str_hash, g_str_equal);
        if (rows[i].ms)
            g_hash_table_insert(headers, "retry-after-ms", (gpointer)rows[i].ms);
        if (rows[i].after)
            g_hash_table_insert(headers, "retry-after", (gpointer)rows[i].after);
        if (rows[i].amazon)
            g_hash_table_insert(headers, "x-amz-retry-after", (gpointer)rows[i].amazon);
        g_assert_cmpint(acr_retry_after_ms(headers, NOW), ==, rows[i].expected);
    }
    g_assert_cmpint(acr_retry_after_ms(NULL, 0), ==, -1);
}

TEST("/llm/waits", a_duration_is_numbers_with_units)
{
    static const struct {
        const char *text;
        gint64 expected;
    } rows[] = {{"6m0s", 360000},
                {"88ms", 88},
                {"5.289s. More", 5289},
                {"34.074824224s", 34074},
                {"1h2m3s", 3723000},
                {"1m30.5s, please", 90500},
                {"2 minutes", 120000},
                {"7 seconds 3", 7000},
                {"12", 12000},
                {"12.", 12000},
                {"3d", DAY_MS},
                {"99999999999999999999999999999999999999s", -1},
                {"1.2.3s", -1},
                {"5x", 5000},
                {"", -1},
                {"s", -1},
                {"-5s", -1},
                {".5s", -1},
                {"1e9s", 1000}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(acr_duration_ms(rows[i].text), ==, rows[i].expected);
}

TEST("/llm/waits", a_message_may_say_when_to_try_again)
{
    static const struct {
        const char *prose;
        gint64 expected;
    } rows[] = {{"limit 9. please try again in 20ms.", 20},
                {"please retry after 6 seconds", 6000},
                {"please retry in 34.07s.", 34070},
                {"you must wait 2 minutes", 120000},
                {"try again in a while", -1},
                {"try again in", -1},
                {"", -1}};
    static const char info[] = "{\"details\":[{\"reason\":\"x\"},{\"retryDelay\":\"1.5s\"}]}";
    g_autoptr(AcrJson) error = acr_json_parse(info, strlen(info), NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(acr_retry_hint_ms(NULL, rows[i].prose), ==, rows[i].expected);
    g_assert_cmpint(acr_retry_hint_ms(error, "try again in 9s"), ==, 1500);
}

TEST("/llm/waits", waits_double_up_to_a_cap_and_are_spread_over_their_whole_length)
{
    g_assert_cmpint(acr_backoff_ms(1000, 0, -1, 0.0), ==, 0);
    g_assert_cmpint(acr_backoff_ms(1000, 0, -1, 0.5), ==, 500);
    g_assert_cmpint(acr_backoff_ms(1000, 3, -1, 0.5), ==, 4000);
    g_assert_cmpint(acr_backoff_ms(1000, 6, -1, 0.5), ==, 30000);
    g_assert_cmpint(acr_backoff_ms(1000, 4000000000u, -1, 0.5), ==, 30000);
    g_assert_cmpint(acr_backoff_ms(G_MAXINT64, 0, -1, 0.5), ==, 30000);
    g_assert_cmpint(acr_backoff_ms(1000, 0, 20000, 0.0), ==, 20000);
    g_assert_cmpint(acr_backoff_ms(1000, 0, 20000, 0.5), ==, 21000);
    g_assert_cmpint(acr_backoff_ms(1000, 1, 0, 0.5), ==, 1000);
}

TEST("/llm/waits", a_wait_ends_when_interrupted)
{
    AcrInterrupt interrupt = {.signal = SIGTERM};
    gint64 start = g_get_monotonic_time();
    g_assert_false(acr_llm_wait(60000, &interrupt));
    g_assert_false(acr_llm_wait(0, &interrupt));
    g_assert_cmpint(g_get_monotonic_time() - start, <, 30 * G_USEC_PER_SEC);
    interrupt.signal = 0;
    g_assert_true(acr_llm_wait(60, &interrupt));
    g_assert_true(acr_llm_wait(0, NULL));
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 60000);
}
