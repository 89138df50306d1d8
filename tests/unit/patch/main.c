/*
 * The tests of patch, in one executable.
 */
#include "support.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_parse_tests();
    add_case_tests();
    add_property_tests();
    add_limit_tests();
    add_referee_tests();
    add_feedback_tests();
    add_placeholder_tests();
    return g_test_run();
}
