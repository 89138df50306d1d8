/* Runs the tests of http. */
#include "test_http.h"

int main(int argc, char **argv)
{
    static const char *const variables[] = {"http_proxy", "https_proxy", "HTTPS_PROXY",   "all_proxy",     "ALL_PROXY",
                                            "no_proxy",   "NO_PROXY",    "SSL_CERT_FILE", "CURL_CA_BUNDLE"};
    for (gsize i = 0; i < G_N_ELEMENTS(variables); i++)
        g_unsetenv(variables[i]); /* the machine's settings must not affect the tests */
    g_assert_true(acr_http_global_init(NULL));
    return run_tests(argc, argv);
}
