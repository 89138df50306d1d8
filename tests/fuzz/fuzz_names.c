/*
 * Fuzzes the record of a copy: what it says of a folder is believed only as far as the folder is
 * so. Whatever it says, nothing beside the folder goes, and a copy that is called whole is as the
 * record says, which is then read again.
 */
#include <sys/stat.h>

#include "sandbox/sandbox_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool fill(void *ctx, const char *dir, GError **error)
{
    g_autofree char *path = g_build_filename(dir, "file", NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS) || g_file_set_contents(path, "x\n", -1, error);
}

/* Mends the folder by the record: it has no file the first time. */
static void mend(const char *dir, const char *record, const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL, again = NULL;
    g_assert_true(g_file_set_contents(record, (const char *)data, (gssize)size, NULL));
    AcrCopy *copy = acr_copy_new(dir, record);
    bool ok = acr_copy_mend(copy, fill, NULL, &error);
    g_assert_true(ok || error);
    const GPtrArray *changed = ok ? acr_copy_changed(copy, &again) : NULL;
    g_assert_true(!ok || (changed && changed->len == 0));
    acr_copy_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *top = g_dir_make_tmp("acr-fuzz-XXXXXX", NULL);
    g_assert_nonnull(top);
    g_autofree char *dir = g_build_filename(top, "copy", NULL),
                    *record = g_build_filename(top, "record", NULL),
                    *beside = g_build_filename(top, "file", NULL);
    g_assert_true(mkdir(dir, 0755) == 0 && g_file_set_contents(beside, "mine", -1, NULL));
    mend(dir, record, data, size);
    mend(dir, record, data, size);
    g_assert_true(g_file_test(beside, G_FILE_TEST_IS_REGULAR));
    g_assert_true(acr_dir_remove(top, NULL));
    return 0;
}
