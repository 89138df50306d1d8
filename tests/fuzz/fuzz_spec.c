/*
 * Fuzzes the spec of the sandbox's helper: any bytes are a spec or are refused in one line. One
 * that is read is whole (all that the helper takes for granted is there), and written and read
 * again it is the same.
 */
#include "sandbox/helper_spec.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sandbox/sandbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_whole(const AcrHelperSpec *spec)
{
    g_assert_true(spec->argv->len > 0 && spec->argv->pdata[0]);
    g_assert_true(spec->is_plain || *spec->stage);
    g_assert_true(*spec->files_at || spec->files->len == 0);
    for (guint i = 0; i < spec->mounts->len; i++) {
        const AcrHelperMount *mount = spec->mounts->pdata[i];
        g_assert_true(*mount->at && (*mount->source || !mount->is_overlay));
    }
}

static void check_words(const GPtrArray *a, const GPtrArray *b)
{
    g_assert_cmpuint(a->len, ==, b->len);
    for (guint i = 0; i < a->len; i++)
        g_assert_cmpstr(a->pdata[i], ==, b->pdata[i]);
}

static void check_files(const GPtrArray *a, const GPtrArray *b)
{
    g_assert_cmpuint(a->len, ==, b->len);
    for (guint i = 0; i < a->len; i++) {
        const AcrHelperFile *left = a->pdata[i], *right = b->pdata[i];
        g_assert_cmpstr(left->path, ==, right->path);
        g_assert_cmpuint(left->mode, ==, right->mode);
        g_assert_true((left->content == NULL) == (right->content == NULL));
        g_assert_true(!left->content || g_bytes_equal(left->content, right->content));
    }
}

static void check_mounts(const GPtrArray *a, const GPtrArray *b)
{
    g_assert_cmpuint(a->len, ==, b->len);
    for (guint i = 0; i < a->len; i++) {
        const AcrHelperMount *left = a->pdata[i], *right = b->pdata[i];
        g_assert_cmpstr(left->at, ==, right->at);
        g_assert_cmpstr(left->source, ==, right->source);
        g_assert_cmpuint(left->mode, ==, right->mode);
        g_assert_true(left->is_overlay == right->is_overlay);
    }
}

static void check_same(const AcrHelperSpec *a, const AcrHelperSpec *b)
{
    g_assert_true(a->is_plain == b->is_plain);
    g_assert_true(a->parent == b->parent && a->uid == b->uid && a->stage_bytes == b->stage_bytes);
    g_assert_true(a->cpu_s == b->cpu_s && a->file_bytes == b->file_bytes &&
                  a->processes == b->processes);
    g_assert_cmpstr(a->stage, ==, b->stage);
    g_assert_cmpstr(a->files_at, ==, b->files_at);
    g_assert_cmpstr(a->cwd, ==, b->cwd);
    check_words(a->argv, b->argv);
    check_words(a->env, b->env);
    check_mounts(a->mounts, b->mounts);
    check_files(a->files, b->files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrHelperSpec) spec = {0}, again = {0};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    g_assert_cmpint(fd, >=, 0);
    g_assert_true(acr_fd_write_all(fd, data, size) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    bool ok = acr_helper_spec_read(fd, &spec, &error);
    close(fd);
    g_assert_true(ok == (error == NULL));
    if (!ok) {
        g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED);
        return 0;
    }
    check_whole(&spec);
    fd = acr_helper_spec_write(&spec, &error);
    g_assert_no_error(error);
    g_assert_true(acr_helper_spec_read(fd, &again, &error));
    close(fd);
    check_same(&spec, &again);
    return 0;
}
