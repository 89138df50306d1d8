/* Tests that the tar command can read the archives. */
#include "test_sandbox.h"

#include <string.h>
#include <sys/stat.h>

#include "sandbox/sandbox_private.h"

static void add(GPtrArray *files, const char *path, guint32 mode, const char *text, gsize len)
{
    g_autoptr(GBytes) content = text ? g_bytes_new(text, len) : NULL;
    acr_helper_file(files, path, mode, content);
}

/* Writes the archive, unpacks it into "out", and returns what `tar tv` lists; owned. */
static char *unpack(const Box *box, const GPtrArray *files)
{
    g_autoptr(GBytes) tar = acr_tar_write(files);
    g_autofree char *path = box_path(box, "a.tar");
    gsize len;
    const char *data = g_bytes_get_data(tar, &len);
    g_assert_cmpuint(len % 512, ==, 0);
    g_assert_true(g_file_set_contents(path, data, (gssize)len, NULL));
    box_make(box, "out");
    g_autofree char *said =
        box_run(box, (const char *const[]){"tar", "-xf", "a.tar", "-C", "out", "--no-same-owner", NULL});
    return box_run(box,
                   (const char *const[]){"tar", "-tvf", "a.tar", "--numeric-owner", "--quoting-style=escape", NULL});
}

static void expect_file(const Box *box, const char *path, const char *data, gsize len)
{
    g_autofree char *name = g_build_filename("out", path, NULL), *whole = box_path(box, name), *text = NULL;
    gsize got = 0;
    g_assert_true(g_file_get_contents(whole, &text, &got, NULL));
    g_assert_cmpmem(text, got, data, len);
}

BOX_TEST("/sandbox/tar", names_of_any_length_and_bytes)
{
    static const guint lengths[] = {1, 98, 99, 100, 101, 155, 200, 254};
    static const char *const odd[] = {"two\nlines", "\xff\xfe", "caf\xc3\xa9", "a b", "-x", "'\"\\"};
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    g_autofree char *part = g_strnfill(200, 'p'), *deep = g_strjoin("/", part, part, part, part, "end", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
        g_autofree char *name = g_strnfill(lengths[i], (char)('a' + (int)i));
        add(files, name, ACR_MODE_FILE, name, lengths[i]);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(odd); i++)
        add(files, odd[i], ACR_MODE_FILE, odd[i], strlen(odd[i]));
    add(files, deep, ACR_MODE_FILE, "deep", 4);
    g_autofree char *listed = unpack(box, files);
    for (guint i = 0; i + 1 < files->len; i++) {
        const AcrHelperFile *file = files->pdata[i];
        expect_file(box, file->path, file->path, strlen(file->path));
    }
    expect_file(box, deep, "deep", 4);
    g_auto(GStrv) lines = g_strsplit(g_strchomp(listed), "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, files->len);
}

BOX_TEST("/sandbox/tar", contents_of_any_size_and_modes)
{
    static const gsize sizes[] = {0, 1, 511, 512, 513, 1024, 100000};
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    g_autofree char *data = g_malloc0(100000);
    for (gsize i = 0; i < 100000; i += 3)
        data[i] = (char)i;
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *name = g_strdup_printf("size_%" G_GSIZE_FORMAT, sizes[i]);
        add(files, name, ACR_MODE_FILE, data, sizes[i]);
    }
    add(files, "run", ACR_MODE_EXEC, "#!/bin/sh\n", 10);
    add(files, "removed", 0, NULL, 0);
    g_autofree char *listed = unpack(box, files);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *name = g_strdup_printf("size_%" G_GSIZE_FORMAT, sizes[i]);
        expect_file(box, name, data, sizes[i]);
    }
    g_assert_false(box_has(box, "out/removed"));
    g_assert_nonnull(strstr(listed, "-rwxr-xr-x 0/0"));
    g_assert_nonnull(strstr(listed, "-rw-r--r-- 0/0"));
}

/* Changed files must not be older than code that was compiled from them earlier. */
BOX_TEST("/sandbox/tar", files_were_changed_just_now)
{
    struct stat st;
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    gint64 before = g_get_real_time() / G_USEC_PER_SEC;
    add(files, "a.py", ACR_MODE_FILE, "x", 1);
    g_autofree char *listed = unpack(box, files), *path = box_path(box, "out/a.py");
    g_assert_cmpint(stat(path, &st), ==, 0);
    g_assert_cmpint(st.st_mtim.tv_sec, >=, before);
    g_assert_cmpint(st.st_mtim.tv_sec, <=, g_get_real_time() / G_USEC_PER_SEC);
}

BOX_TEST("/sandbox/tar", an_archive_of_nothing_is_one)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    assert_text(unpack(box, files), "");
    assert_text(box_names(box, "out"), "");
}

static void expect_holds(const char *path, const char *text, const char *wanted, bool holds)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    g_autoptr(GBytes) content = g_bytes_new(wanted, strlen(wanted));
    add(files, path, ACR_MODE_FILE, text, strlen(text));
    g_autoptr(GBytes) tar = acr_tar_write(files);
    g_assert_true(acr_tar_holds(tar, content) == holds);
    for (gsize len = 0; len < g_bytes_get_size(tar); len += 100) { /* a truncated archive */
        g_autoptr(GBytes) start = g_bytes_new_from_bytes(tar, 0, len);
        g_assert_true(holds || !acr_tar_holds(start, content));
    }
}

TEST("/sandbox/tar", what_a_file_holds_is_compared)
{
    g_autofree char *longer = g_strnfill(300, 'n');
    expect_holds("a.py", "x = 1\n", "x = 1\n", true);
    expect_holds("a.py", "", "", true);
    expect_holds(longer, "x = 1\n", "x = 1\n", true);
    expect_holds("a.py", "x = 1\n", "x = 2\n", false);
    expect_holds("a.py", "x = 1\n", "x = 1", false);
    expect_holds("a.py", "x = 1\n", "", false);
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    add(files, "a.py", ACR_MODE_FILE, "x = 1\n", 6);
    g_autoptr(GBytes) whole = acr_tar_write(files), wanted = g_bytes_new("x = 1\n", 6);
    for (gsize cut = 0; cut < 2; cut++) { /* an archive may end with the file's last byte */
        g_autoptr(GBytes) start = g_bytes_new_from_bytes(whole, 0, 512 + 6 - cut);
        g_assert_true(acr_tar_holds(start, wanted) == (cut == 0));
    }
    g_ptr_array_set_size(files, 0);
    g_autoptr(GBytes) nothing = g_bytes_new("", 0), empty = acr_tar_write(files);
    g_assert_false(acr_tar_holds(empty, nothing));
}
