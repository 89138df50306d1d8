/* Runs the tests of base, and holds what its files share. */
#include "test_base.h"

char *test_folder(void)
{
    g_autoptr(GError) error = NULL;
    char *path = g_dir_make_tmp("acr-base-XXXXXX", &error);
    g_assert_no_error(error);
    return path;
}

void test_folder_remove(const char *path)
{
    g_autoptr(GError) error = NULL;
    bool ok = acr_dir_remove(path, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_spawn_option_tests(); /* before what makes this process large */
    add_json_tests();
    add_text_tests();
    add_file_tests();
    add_spawn_tests();
    add_trace_tests();
    return g_test_run();
}
