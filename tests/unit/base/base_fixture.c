/* Helpers that the tests of base share. */
#include "test_base.h"

char *test_folder(void)
{
    g_autoptr(GError) error = NULL;
    char *path = made(g_dir_make_tmp("acr-base-XXXXXX", &error), error);
    return path;
}

void test_folder_remove(const char *path)
{
    g_autoptr(GError) error = NULL;
    assert_ok(acr_dir_remove(path, &error), error);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}
