/* What the helper is told, written and read again. */
#include "test_sandbox.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_ok(const AcrHelperSpec *spec, AcrHelperSpec *out)
{
    g_autoptr(GError) error = NULL;
    int fd = acr_helper_spec_write(spec, &error);
    g_assert_no_error(error);
    bool ok = acr_helper_spec_read(fd, out, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    close(fd); /* what was read lives on */
}

static void everything_comes_back(void)
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
    spec.data_bytes = 2;
    spec.file_bytes = 3;
    spec.processes = 4;
    spec.cwd = g_strdup("/a\nb");
    acr_helper_folder(&spec, "home", 0700);
    acr_helper_bind(&spec, "venv", "/v");
    AcrHelperMount *overlay =
        acr_helper_overlay(&spec, "tree", (const char *const[]){"/top", "/\xfe", NULL}, true);
    overlay->upper = g_strdup("/u");
    overlay->work = g_strdup("/w");
    acr_helper_file(spec.files, "odd\n\xff", ACR_MODE_EXEC, odd);
    acr_helper_file(spec.files, "removed", ACR_MODE_FILE, NULL);
    acr_helper_file(spec.files, "empty", ACR_MODE_FILE, empty);
    acr_helper_text(&spec, "etc/passwd", "root\n");
    acr_helper_words(spec.argv, "/bin/sh", "-c", "echo \xff\n", "", NULL);
    acr_helper_words(spec.env, "A=1=2", NULL);
    read_ok(&spec, &read);
    g_assert_false(read.is_plain);
    g_assert_cmpint(read.parent, ==, 12);
    g_assert_cmpint(read.uid, ==, 64711);
    g_assert_cmpint(read.stage_bytes, ==, 5);
    g_assert_true(read.cpu_s == 1 && read.data_bytes == 2 && read.file_bytes == 3 &&
                  read.processes == 4);
    g_assert_cmpstr(read.stage, ==, "/tmp/\xff");
    g_assert_cmpstr(read.files_at, ==, "tree");
    g_assert_cmpstr(read.cwd, ==, "/a\nb");
    g_assert_cmpuint(read.argv->len, ==, 4);
    g_assert_cmpstr(read.argv->pdata[2], ==, "echo \xff\n");
    g_assert_cmpstr(read.argv->pdata[3], ==, "");
    g_assert_cmpuint(read.env->len, ==, 1);
    g_assert_cmpstr(read.env->pdata[0], ==, "A=1=2");
    const AcrHelperMount *home = read.mounts->pdata[0], *venv = read.mounts->pdata[1],
                         *tree = read.mounts->pdata[2];
    g_assert_cmpuint(read.mounts->len, ==, 3);
    g_assert_true(home->mode == 0700 && home->sources->len == 0 && !home->is_overlay);
    g_assert_cmpstr(venv->sources->pdata[0], ==, "/v");
    g_assert_true(tree->is_overlay && tree->is_writable && tree->sources->len == 2);
    g_assert_cmpstr(tree->sources->pdata[1], ==, "/\xfe");
    g_assert_cmpstr(tree->upper, ==, "/u");
    g_assert_cmpstr(tree->work, ==, "/w");
    const AcrHelperFile *first = read.files->pdata[0], *removed = read.files->pdata[1],
                        *last = read.files->pdata[2], *text = read.texts->pdata[0];
    g_assert_cmpstr(first->path, ==, "odd\n\xff");
    g_assert_cmphex(first->mode, ==, ACR_MODE_EXEC);
    g_assert_true(g_bytes_equal(first->content, odd) && g_bytes_equal(last->content, empty));
    g_assert_null(removed->content);
    g_assert_cmpmem(g_bytes_get_data(text->content, NULL), g_bytes_get_size(text->content),
                    "root\n", 5);
}

static void expect_refused(const char *json, const char *rest)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrHelperSpec) spec = {0};
    guint64 len = strlen(json);
    int fd = memfd_create("test", MFD_CLOEXEC);
    g_assert_true(acr_fd_write_all(fd, &len, sizeof len) == 0 &&
                  acr_fd_write_all(fd, json, len) == 0 &&
                  acr_fd_write_all(fd, rest, strlen(rest)) == 0);
    g_test_message("%s", json);
    g_assert_false(acr_helper_spec_read(fd, &spec, &error));
    g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED);
    close(fd);
}

static void what_is_not_whole_is_refused(void)
{
    static const char *const specs[] = {
        "",
        "{}",
        "[]",
        "{\"is_plain\":true,\"argv\":[]}",
        "{\"is_plain\":true,\"argv\":[7]}",
        "{\"is_plain\":false,\"argv\":[\"x\"]}",
        "{\"is_plain\":true,\"argv\":[\"x\"],\"mounts\":[{\"sources\":[]}]}",
        "{\"is_plain\":true,\"argv\":[\"x\"],\"mounts\":[{\"at\":\"a\",\"upper\":\"/u\"}]}",
        "{\"is_plain\":true,\"argv\":[\"x\"],\"files\":[{\"path\":\"a\",\"mode\":33188,\"bytes\":1}"
        "]}",
        "{\"is_plain\":true,\"argv\":[\"x\"],\"files_at\":\"/\",\"files\":[{\"path\":\"a\","
        "\"mode\":33188,\"bytes\":9}]}",
        "{\"is_plain\":true,\"argv\":[\"x\"],\"files_at\":\"/\",\"files\":[{\"path\":\"a\","
        "\"mode\":33188,\"bytes\":-1}]}",
        "{\"is_plain\":true,\"argv\":[\"x\"],\"files_at\":\"/\",\"files\":[{\"mode\":33188,"
        "\"bytes\":1}]}",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(specs); i++)
        expect_refused(specs[i], "x");
}

static void a_length_beyond_the_end_is_refused(void)
{
    static const guint64 lengths[] = {3, 8, G_MAXUINT64, G_MAXUINT64 - 7};
    for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(AcrHelperSpec) spec = {0};
        int fd = memfd_create("test", MFD_CLOEXEC);
        g_assert_true(acr_fd_write_all(fd, &lengths[i], sizeof lengths[i]) == 0 &&
                      acr_fd_write_all(fd, "{}", 2) == 0);
        g_assert_false(acr_helper_spec_read(fd, &spec, &error));
        g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED);
        close(fd);
    }
}

void add_spec_tests(void)
{
    g_test_add_func("/sandbox/spec/everything_comes_back", everything_comes_back);
    g_test_add_func("/sandbox/spec/what_is_not_whole_is_refused", what_is_not_whole_is_refused);
    g_test_add_func("/sandbox/spec/a_length_beyond_the_end_is_refused",
                    a_length_beyond_the_end_is_refused);
}
