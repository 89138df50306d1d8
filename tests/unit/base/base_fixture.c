/* What the tests of base share: folders. */
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
