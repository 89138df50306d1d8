/* Runs the tests of search. */
#include "fixture.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_pattern_tests();
    add_large_tests();
    add_bound_tests();
    add_locate_tests();
    add_case_tests();
    add_schema_tests();
    return g_test_run();
}
