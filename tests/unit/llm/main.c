/* Runs the tests of llm. */
#include "test_llm.h"

#include <string.h>

#include "http/http.h"

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--hold-a-slot") == 0)
        return hold_a_slot(argv[2]);
    g_assert_true(acr_http_global_init(NULL));
    return run_tests(argc, argv);
}
