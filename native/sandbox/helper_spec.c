/* Passes the spec from the host to the helper, as one serialised GVariant in a file in memory. The
 * same program writes and reads the spec, so the spec needs no version number and no checks of its
 * values. */
#include "sandbox/helper_spec.h"
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_BYTES ((gsize)1024 * 1024 * 1024)

static void mount_free(gpointer data)
{
    AcrHelperMount *mount = data;
    ACR_FREE(mount->at, mount->source, mount->above, mount);
}

void acr_helper_file_free(gpointer data)
{
    AcrHelperFile *file = data;
    g_free(file->path);
    g_clear_pointer(&file->content, g_bytes_unref);
    g_free(file);
}

void acr_helper_spec_init(AcrHelperSpec *spec)
{
    *spec = (AcrHelperSpec){
        .uid = -1,
        .mounts = g_ptr_array_new_with_free_func(mount_free),
        .files = g_ptr_array_new_with_free_func(acr_helper_file_free),
        .argv = g_ptr_array_new_with_free_func(g_free),
        .env = g_ptr_array_new_with_free_func(g_free),
    };
}

void acr_helper_spec_clear(AcrHelperSpec *spec)
{
    GPtrArray **const arrays[] = {&spec->mounts, &spec->files, &spec->argv, &spec->env};
    for (gsize i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_clear_pointer(arrays[i], g_ptr_array_unref);
    g_clear_pointer(&spec->stage, g_free);
    g_clear_pointer(&spec->files_at, g_free);
    g_clear_pointer(&spec->cwd, g_free);
    g_clear_pointer(&spec->host_name, g_free);
    g_clear_pointer(&spec->group, g_free);
}

static void add_mount(AcrHelperSpec *spec, const char *at, const char *source, const char *above,
                      guint32 mode, bool is_overlay)
{
    AcrHelperMount *mount = g_new(AcrHelperMount, 1);
    *mount = (AcrHelperMount){g_strdup(at), g_strdup(source), g_strdup(above ? above : ""), mode,
                              is_overlay};
    g_ptr_array_add(spec->mounts, mount);
}

void acr_helper_folder(AcrHelperSpec *spec, const char *at, guint32 mode)
{
    add_mount(spec, at, "", NULL, mode, false);
}

void acr_helper_bind(AcrHelperSpec *spec, const char *at, const char *source)
{
    add_mount(spec, at, source, NULL, 0, false);
}

void acr_helper_overlay(AcrHelperSpec *spec, const char *at, const char *source, const char *above)
{
    add_mount(spec, at, source, above, 0, true);
}

void acr_helper_file(GPtrArray *files, const char *path, guint32 mode, GBytes *content)
{
    AcrHelperFile *file = g_new0(AcrHelperFile, 1);
    file->path = g_strdup(path);
    file->mode = content ? mode : 0;
    file->content = content ? g_bytes_ref(content) : NULL;
    g_ptr_array_add(files, file);
}

void acr_helper_words(GPtrArray *words, ...)
{
    va_list arguments;
    va_start(arguments, words);
    for (const char *word; (word = va_arg(arguments, const char *));)
        g_ptr_array_add(words, g_strdup(word));
    va_end(arguments);
}

/* Strings are byte strings, which need not be UTF-8. The "^" makes GVariant convert them to char
 * *. */
#define MOUNTS "a(ayayayub)"
#define FILES "a(ayumay)"
#define SPEC_TYPE "(bxxayxayxxxayayayaayaay" MOUNTS FILES ")"
#define SPEC_FORMAT "(bxx^ayx^ayxxx^ay^ay^ay@aay@aay@" MOUNTS "@" FILES ")"

static GVariant *words_of(const GPtrArray *words)
{
    return g_variant_new_bytestring_array((const char *const *)words->pdata, words->len);
}

static GVariant *mounts_of(const GPtrArray *mounts)
{
    GVariantBuilder list;
    g_variant_builder_init(&list, G_VARIANT_TYPE(MOUNTS));
    for (guint i = 0; i < mounts->len; i++) {
        const AcrHelperMount *mount = mounts->pdata[i];
        g_variant_builder_add(&list, "(^ay^ay^ayub)", mount->at, mount->source, mount->above,
                              mount->mode, mount->is_overlay);
    }
    return g_variant_builder_end(&list);
}

static GVariant *files_of(const GPtrArray *files)
{
    GVariantBuilder list;
    g_variant_builder_init(&list, G_VARIANT_TYPE(FILES));
    for (guint i = 0; i < files->len; i++) {
        const AcrHelperFile *file = files->pdata[i];
        GVariant *content =
            file->content ? g_variant_new_from_bytes(G_VARIANT_TYPE_BYTESTRING, file->content, TRUE)
                          : NULL;
        g_variant_builder_add(&list, "(^ayu@may)", file->path, file->mode,
                              g_variant_new_maybe(G_VARIANT_TYPE_BYTESTRING, content));
    }
    return g_variant_builder_end(&list);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static GVariant *variant_of(const AcrHelperSpec *spec)
{
    GVariant *variant = g_variant_new(
        SPEC_FORMAT, spec->is_plain, spec->parent, spec->uid, or_empty(spec->stage),
        spec->stage_bytes, or_empty(spec->files_at), spec->cpu_s, spec->file_bytes, spec->processes,
        or_empty(spec->cwd), or_empty(spec->host_name), or_empty(spec->group), words_of(spec->argv),
        words_of(spec->env), mounts_of(spec->mounts), files_of(spec->files));
    return g_variant_ref_sink(variant);
}

int acr_helper_spec_write(const AcrHelperSpec *spec, GError **error)
{
    g_autoptr(GVariant) variant = variant_of(spec);
    ACR_AUTO_FD fd = memfd_create("sandbox", MFD_CLOEXEC);
    int err = fd < 0
                  ? errno
                  : acr_fd_write_all(fd, g_variant_get_data(variant), g_variant_get_size(variant));
    if (!err && lseek(fd, 0, SEEK_SET) != 0)
        err = errno;
    if (!err)
        return g_steal_fd(&fd);
    acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "cannot prepare the sandbox: %s",
                     g_strerror(err));
    return -1;
}

/* Appends the strings of `array` (taken) to `out`. */
static void take_words(GVariant *array, GPtrArray *out)
{
    g_autoptr(GVariant) taken = array;
    g_autofree char **words = g_variant_dup_bytestring_array(array, NULL);
    for (char **word = words; *word; word++)
        g_ptr_array_add(out, *word);
}

static void take_mounts(GVariant *array, AcrHelperSpec *out)
{
    g_autoptr(GVariant) taken = array;
    for (gsize i = 0; i < g_variant_n_children(array); i++) {
        g_autofree char *at = NULL, *source = NULL, *above = NULL;
        guint32 mode = 0;
        gboolean is_overlay = FALSE;
        g_variant_get_child(array, i, "(^ay^ay^ayub)", &at, &source, &above, &mode, &is_overlay);
        add_mount(out, at, source, above, mode, is_overlay);
    }
}

static void take_files(GVariant *array, GPtrArray *out)
{
    g_autoptr(GVariant) taken = array;
    for (gsize i = 0; i < g_variant_n_children(array); i++) {
        g_autofree char *path = NULL;
        guint32 mode = 0;
        g_autoptr(GVariant) maybe = NULL;
        g_variant_get_child(array, i, "(^ayu@may)", &path, &mode, &maybe);
        g_autoptr(GVariant) bytes = g_variant_get_maybe(maybe);
        g_autoptr(GBytes) content = bytes ? g_variant_get_data_as_bytes(bytes) : NULL;
        acr_helper_file(out, path, mode, content);
    }
}

static void take_spec(GVariant *variant, AcrHelperSpec *out)
{
    GVariant *argv = NULL, *env = NULL, *mounts = NULL, *files = NULL;
    gboolean is_plain = FALSE;
    g_variant_get(variant, SPEC_FORMAT, &is_plain, &out->parent, &out->uid, &out->stage,
                  &out->stage_bytes, &out->files_at, &out->cpu_s, &out->file_bytes, &out->processes,
                  &out->cwd, &out->host_name, &out->group, &argv, &env, &mounts, &files);
    out->is_plain = is_plain;
    take_words(argv, out->argv);
    take_words(env, out->env);
    take_mounts(mounts, out);
    take_files(files, out->files);
}

bool acr_helper_spec_read(int fd, AcrHelperSpec *out, GError **error)
{
    g_autoptr(GBytes) bytes = acr_fd_read_file(fd, "spec", MAX_BYTES, NULL);
    g_autoptr(GVariant) variant =
        bytes
            ? g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(SPEC_TYPE), bytes, FALSE))
            : NULL;
    if (!variant || !g_variant_is_normal_form(variant))
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                                "the description of what to run is malformed");
    acr_helper_spec_init(out);
    take_spec(variant, out);
    return true;
}
