/* Runs the tests of money. */
#include "test_money.h"

#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "budget-worker") == 0)
        return budget_worker(argc, argv);
    return run_tests(argc, argv);
}
