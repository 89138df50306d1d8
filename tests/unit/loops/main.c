/* The unit tests of loops. */
#include <glib.h>

#include "test_loops.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    register_machines_tests();
    register_review_tests();
    register_candidates_tests();
    register_dead_end_tests();
    register_execution_verdict_tests();
    register_context_overflow_tests();
    register_validation_tests();
    register_steps_tests();
    register_regressions_tests();
    register_shown_tests();
    register_selection_tests();
    register_progress_tests();
    return g_test_run();
}
