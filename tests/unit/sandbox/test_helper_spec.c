/* Tests of writing and reading the helper's spec. */
#include "test_sandbox.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_ok(const AcrHelperSpec *spec, AcrHelperSpec *out)
{
    g_autoptr(GError) error = NULL;
    int fd = made(acr_helper_spec_write(spec, &error), error);
    assert_ok(acr_helper_spec_read(fd, out, &error), error);
    close(fd); /* the spec must not depend on the closed file */
}

TEST("/sandbox/helper_spec", everything_comes_back)
{
    g_auto(AcrHelperSpec) spec, read = {0};
    g_autoptr(GBytes) odd = g_bytes_new("\0\xff\n", 3), empty = g_bytes_new("", 0);
    acr_helper_spec_init(&spec);
    spec.parent = 12;
    spec.uid = 64711;
    spec.stage = g_strdup("/tmp/\xff");
    spec.stage_bytes = 5;
    spec.files_at = g_strdup("tree");
    spec.cpu_s = 1;
    spec.file_bytes = 3;
    spec.processes = 4;
    spec.cwd = g_strdup("/a\nb");
    spec.host_name = g_strdup("name");
    spec.group = g_strdup("/sys/\xfd");
    acr_helper_folder(&spec, "home", 0700);
    acr_helper_bind(&spec, "venv", "/v");
    acr_helper_overlay(&spec, "tree", "/\xfe", "/\xff");
    acr_helper_file(spec.files, "odd\n\xff", ACR_MODE_EXEC, odd);
    acr_helper_file(spec.files, "removed", ACR_MODE_FILE, NULL);
    acr_helper_file(spec.files, "empty", ACR_MODE_FILE, empty);
    acr_helper_words(spec.argv, "/bin/sh", "-c", "echo \xff\n", "", NULL);
    acr_helper_words(spec.env, "A=1=2", NULL);
    read_ok(&spec, &read);
    g_assert_false(read.is_plain);
    g_assert_cmpint(read.parent, ==, 12);
    g_assert_cmpint(read.uid, ==, 64711);
    g_assert_cmpint(read.stage_bytes, ==, 5);
    g_assert_true(read.cpu_s == 1 && read.file_bytes == 3 && read.processes == 4);
    g_assert_cmpstr(read.stage, ==, "/tmp/\xff");
    g_assert_cmpstr(read.files_at, ==, "tree");
    g_assert_cmpstr(read.cwd, ==, "/a\nb");
    g_assert_cmpstr(read.host_name, ==, "name");
    g_assert_cmpstr(read.group, ==, "/sys/\xfd");
    g_assert_cmpuint(read.argv->len, ==, 4);
    g_assert_cmpstr(read.argv->pdata[2], ==, "echo \xff\n");
    g_assert_cmpstr(read.argv->pdata[3], ==, "");
    g_assert_cmpuint(read.env->len, ==, 1);
    g_assert_cmpstr(read.env->pdata[0], ==, "A=1=2");
    const AcrHelperMount *home = read.mounts->pdata[0], *venv = read.mounts->pdata[1], *tree = read.mounts->pdata[2];
    g_assert_cmpuint(read.mounts->len, ==, 3);
    g_assert_true(home->mode == 0700 && !*home->source && !home->is_overlay);
    g_assert_cmpstr(venv->source, ==, "/v");
    g_assert_true(tree->is_overlay && !venv->is_overlay);
    g_assert_cmpstr(tree->source, ==, "/\xfe");
    g_assert_cmpstr(tree->above, ==, "/\xff");
    const AcrHelperFile *first = read.files->pdata[0], *removed = read.files->pdata[1], *last = read.files->pdata[2];
    g_assert_cmpstr(first->path, ==, "odd\n\xff");
    g_assert_cmphex(first->mode, ==, ACR_MODE_EXEC);
    g_assert_true(g_bytes_equal(first->content, odd) && g_bytes_equal(last->content, empty));
    g_assert_null(removed->content);
}

static void expect_refused(const void *data, gsize len)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrHelperSpec) spec = {0};
    int fd = memfd_create("test", MFD_CLOEXEC);
    g_assert_true(acr_fd_write_all(fd, data, len) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    assert_fails_with(acr_helper_spec_read(fd, &spec, &error), error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED);
    close(fd);
}

TEST("/sandbox/helper_spec", a_spec_that_is_cut_is_refused)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrHelperSpec) spec;
    acr_helper_spec_init(&spec);
    spec.is_plain = true;
    acr_helper_words(spec.argv, "/bin/sh", "-c", "true", NULL);
    int fd = made(acr_helper_spec_write(&spec, &error), error);
    g_autoptr(GBytes) whole = made(acr_fd_read_file(fd, "spec", 4096, &error), error);
    close(fd);
    for (gsize len = 0; len < g_bytes_get_size(whole); len++)
        expect_refused(g_bytes_get_data(whole, NULL), len);
    expect_refused("{}", 2);
}
