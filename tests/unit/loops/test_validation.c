/* Tests of how many tests a runner's output reports as run. */
#include <glib.h>

#include <string.h>

#include "loops/attempt_work.h"
#include "unit/cases.h"

TEST("/loops/validation", tests_of_a_summary_are_counted)
{
    static const struct {
        const char *output;
        gint64 count;
    } rows[] = {{"..F\n===== 1 failed, 2 passed, 3 skipped, 4 warnings in 0.12s =====\n", 3},
                {"5 passed in 0.01s\n", 5},
                {"=== 1 passed, 2 deselected, 1 xfailed, 1 xpassed in 61.02s (0:01:01) ===\n", 1},
                {"2 errors in 0.10s\n", 2},
                {"no tests ran in 0.00s\n", -1},
                {"----\nRan 7 tests in 0.001s\n\nOK (skipped=1)\n", 6},
                {"Ran 1 test in 0.001s\n\nFAILED (errors=1)\n", 1},
                {"Ran 9 tests in 1s\n\nOK (skipped=2, expected failures=3, unexpected successes=1)\n", 3},
                {"=== 4 skipped in 0.10s ===\n", 0},
                {"tests finished: 34 passed, 2 skipped, 1 expected to fail, in 1.55 seconds\n", 34},
                {"1 passed in 0.01s\n3 passed in 0.02s\n", 3},
                {"3 files found in 2 folders\n", -1},
                {"passed in 3 s\n", -1},
                {"", -1}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GBytes) output = g_bytes_new_static(rows[i].output, strlen(rows[i].output));
        g_assert_cmpint(acr_tests_counted(output), ==, rows[i].count);
    }
}
