/* Runs the tests of money. */
#include "test_money.h"

#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "budget-worker") == 0)
        return budget_worker(argc, argv);
    g_test_init(&argc, &argv, NULL);
    add_prices_tests();
    add_budget_tests();
    add_ledger_tests();
    return g_test_run();
}
