/*
 * The spec on its way from the host to the helper: the length of a JSON text as eight bytes, the
 * text, then the contents of the files, one after the other. It is written and read by the same
 * program, so there is one format and no version.
 */
#include "sandbox/helper.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/sandbox.h"

#define HEAD_BYTES sizeof(guint64)
#define MAX_BYTES ((gsize)1024 * 1024 * 1024)

static void mount_free(gpointer data)
{
    AcrHelperMount *mount = data;
    g_free(mount->at);
    g_free(mount->upper);
    g_free(mount->work);
    g_ptr_array_unref(mount->sources);
    g_free(mount);
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
        .texts = g_ptr_array_new_with_free_func(acr_helper_file_free),
        .argv = g_ptr_array_new_with_free_func(g_free),
        .env = g_ptr_array_new_with_free_func(g_free),
    };
}

void acr_helper_spec_clear(AcrHelperSpec *spec)
{
    GPtrArray **const arrays[] = {&spec->mounts, &spec->files, &spec->texts, &spec->argv,
                                  &spec->env};
    for (gsize i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_clear_pointer(arrays[i], g_ptr_array_unref);
    g_clear_pointer(&spec->stage, g_free);
    g_clear_pointer(&spec->files_at, g_free);
    g_clear_pointer(&spec->cwd, g_free);
}

/* ---- Filling ---- */

static AcrHelperMount *add_mount(AcrHelperSpec *spec, const char *at)
{
    AcrHelperMount *mount = g_new0(AcrHelperMount, 1);
    mount->at = g_strdup(at);
    mount->sources = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(spec->mounts, mount);
    return mount;
}

AcrHelperMount *acr_helper_folder(AcrHelperSpec *spec, const char *at, guint32 mode)
{
    AcrHelperMount *mount = add_mount(spec, at);
    mount->mode = mode;
    return mount;
}

AcrHelperMount *acr_helper_bind(AcrHelperSpec *spec, const char *at, const char *source)
{
    AcrHelperMount *mount = add_mount(spec, at);
    g_ptr_array_add(mount->sources, g_strdup(source));
    return mount;
}

AcrHelperMount *acr_helper_overlay(AcrHelperSpec *spec, const char *at, const char *const *sources,
                                   bool is_writable)
{
    AcrHelperMount *mount = add_mount(spec, at);
    mount->is_overlay = true;
    mount->is_writable = is_writable;
    for (; *sources; sources++)
        g_ptr_array_add(mount->sources, g_strdup(*sources));
    return mount;
}

void acr_helper_file(GPtrArray *files, const char *path, guint32 mode, GBytes *content)
{
    AcrHelperFile *file = g_new0(AcrHelperFile, 1);
    file->path = g_strdup(path);
    file->mode = content ? mode : 0;
    file->content = content ? g_bytes_ref(content) : NULL;
    g_ptr_array_add(files, file);
}

void acr_helper_text(AcrHelperSpec *spec, const char *path, const char *text)
{
    g_autoptr(GBytes) content = g_bytes_new(text, strlen(text));
    acr_helper_file(spec->texts, path, ACR_MODE_FILE, content);
}

void acr_helper_words(GPtrArray *words, ...)
{
    va_list arguments;
    va_start(arguments, words);
    for (const char *word; (word = va_arg(arguments, const char *));)
        g_ptr_array_add(words, g_strdup(word));
    va_end(arguments);
}

/* ---- Writing ---- */

/* Paths and words need not be UTF-8. */
static AcrJson *bytes_json(const char *text)
{
    return text ? acr_json_new_bytes(text, strlen(text)) : acr_json_new_null();
}

static AcrJson *words_json(const GPtrArray *words)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; i < words->len; i++)
        acr_json_append(list, bytes_json(words->pdata[i]));
    return list;
}

static AcrJson *mounts_json(const GPtrArray *mounts)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; i < mounts->len; i++) {
        const AcrHelperMount *mount = mounts->pdata[i];
        AcrJson *json = acr_json_new_object();
        acr_json_set(json, "at", bytes_json(mount->at));
        acr_json_set(json, "sources", words_json(mount->sources));
        acr_json_set_int(json, "mode", mount->mode);
        acr_json_set_bool(json, "is_overlay", mount->is_overlay);
        acr_json_set_bool(json, "is_writable", mount->is_writable);
        acr_json_set(json, "upper", bytes_json(mount->upper));
        acr_json_set(json, "work", bytes_json(mount->work));
        acr_json_append(list, json);
    }
    return list;
}

static AcrJson *files_json(const GPtrArray *files)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; i < files->len; i++) {
        const AcrHelperFile *file = files->pdata[i];
        AcrJson *json = acr_json_new_object();
        acr_json_set(json, "path", bytes_json(file->path));
        acr_json_set_int(json, "mode", file->mode);
        acr_json_set_int(json, "bytes",
                         file->content ? (gint64)g_bytes_get_size(file->content) : 0);
        acr_json_append(list, json);
    }
    return list;
}

static char *spec_text(const AcrHelperSpec *spec)
{
    g_autoptr(AcrJson) json = acr_json_new_object();
    acr_json_set_bool(json, "is_plain", spec->is_plain);
    acr_json_set_int(json, "parent", spec->parent);
    acr_json_set_int(json, "uid", spec->uid);
    acr_json_set(json, "stage", bytes_json(spec->stage));
    acr_json_set_int(json, "stage_bytes", spec->stage_bytes);
    acr_json_set(json, "mounts", mounts_json(spec->mounts));
    acr_json_set(json, "files_at", bytes_json(spec->files_at));
    acr_json_set(json, "files", files_json(spec->files));
    acr_json_set(json, "texts", files_json(spec->texts));
    acr_json_set_int(json, "cpu_s", spec->cpu_s);
    acr_json_set_int(json, "data_bytes", spec->data_bytes);
    acr_json_set_int(json, "file_bytes", spec->file_bytes);
    acr_json_set_int(json, "processes", spec->processes);
    acr_json_set(json, "cwd", bytes_json(spec->cwd));
    acr_json_set(json, "argv", words_json(spec->argv));
    acr_json_set(json, "env", words_json(spec->env));
    return acr_json_print(json);
}

static int write_contents(int fd, const GPtrArray *files)
{
    int err = 0;
    for (guint i = 0; i < files->len && !err; i++) {
        const AcrHelperFile *file = files->pdata[i];
        gsize len = 0;
        const void *data = file->content ? g_bytes_get_data(file->content, &len) : NULL;
        err = len ? acr_fd_write_all(fd, data, len) : 0;
    }
    return err;
}

int acr_helper_spec_write(const AcrHelperSpec *spec, GError **error)
{
    g_autofree char *text = spec_text(spec);
    guint64 len = strlen(text);
    int fd = memfd_create("sandbox", MFD_CLOEXEC);
    int err = fd < 0 ? errno : acr_fd_write_all(fd, &len, sizeof len);
    if (!err)
        err = acr_fd_write_all(fd, text, len);
    if (!err)
        err = write_contents(fd, spec->files);
    if (!err)
        err = write_contents(fd, spec->texts);
    if (!err && lseek(fd, 0, SEEK_SET) != 0)
        err = errno;
    if (!err)
        return fd;
    if (fd >= 0)
        close(fd);
    g_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED,
                "cannot prepare the sandbox: %s", g_strerror(err));
    return -1;
}

/* ---- Reading ---- */

static char *take_text(const AcrJson *json, const char *key)
{
    gsize len = 0;
    g_autoptr(GBytes) bytes = acr_json_get_bytes(json, key);
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    return bytes ? g_strndup(data ? data : "", len) : NULL;
}

/* False where one of them is no text. */
static bool take_words(const AcrJson *json, const char *key, GPtrArray *out)
{
    const AcrJson *list = acr_json_get(json, key);
    for (const AcrJson *at = acr_json_first(list); at; at = acr_json_next(at)) {
        g_autoptr(AcrJson) wrapped = acr_json_new_object();
        acr_json_set(wrapped, "word", acr_json_copy(at));
        char *word = take_text(wrapped, "word");
        if (!word)
            return false;
        g_ptr_array_add(out, word);
    }
    return true;
}

static bool take_mounts(const AcrJson *json, AcrHelperSpec *out)
{
    for (const AcrJson *at = acr_json_first(acr_json_get(json, "mounts")); at;
         at = acr_json_next(at)) {
        g_autofree char *where = take_text(at, "at");
        AcrHelperMount *mount = add_mount(out, where);
        bool ok = take_words(at, "sources", mount->sources);
        mount->mode = (guint32)acr_json_get_int(at, "mode", 0);
        mount->is_overlay = acr_json_get_bool(at, "is_overlay", false);
        mount->is_writable = acr_json_get_bool(at, "is_writable", false);
        mount->upper = take_text(at, "upper");
        mount->work = take_text(at, "work");
        if (!ok || !where || !mount->upper != !mount->work)
            return false;
    }
    return true;
}

/* Appends the files of a list, whose contents follow one another from *at on. */
static bool take_files(const AcrJson *json, const char *key, GBytes *all, gsize *at, GPtrArray *out)
{
    for (const AcrJson *row = acr_json_first(acr_json_get(json, key)); row;
         row = acr_json_next(row)) {
        g_autofree char *path = take_text(row, "path");
        guint32 mode = (guint32)acr_json_get_int(row, "mode", 0);
        gint64 len = acr_json_get_int(row, "bytes", -1);
        if (!path || len < 0 || (gsize)len > g_bytes_get_size(all) - *at)
            return false;
        g_autoptr(GBytes) content = mode ? g_bytes_new_from_bytes(all, *at, (gsize)len) : NULL;
        acr_helper_file(out, path, mode, content);
        *at += (gsize)len;
    }
    return true;
}

static bool take_spec(const AcrJson *json, GBytes *all, gsize at, AcrHelperSpec *out)
{
    out->is_plain = acr_json_get_bool(json, "is_plain", false);
    out->parent = acr_json_get_int(json, "parent", 0);
    out->uid = acr_json_get_int(json, "uid", -1);
    out->stage = take_text(json, "stage");
    out->stage_bytes = acr_json_get_int(json, "stage_bytes", 0);
    out->files_at = take_text(json, "files_at");
    out->cpu_s = acr_json_get_int(json, "cpu_s", 0);
    out->data_bytes = acr_json_get_int(json, "data_bytes", 0);
    out->file_bytes = acr_json_get_int(json, "file_bytes", 0);
    out->processes = acr_json_get_int(json, "processes", 0);
    out->cwd = take_text(json, "cwd");
    return take_mounts(json, out) && take_words(json, "argv", out->argv) &&
           take_words(json, "env", out->env) && take_files(json, "files", all, &at, out->files) &&
           take_files(json, "texts", all, &at, out->texts) && out->argv->len > 0 &&
           (out->files_at || !out->files->len) && (out->stage || out->is_plain);
}

/* A file in memory, as long as bytes of it are referred to. */
typedef struct {
    void *data;
    gsize len;
} Mapping;

static void unmap(gpointer user)
{
    Mapping *mapping = user;
    munmap(mapping->data, mapping->len);
    g_free(mapping);
}

static GBytes *map_file(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size < (off_t)HEAD_BYTES || (gsize)st.st_size > MAX_BYTES)
        return NULL;
    gsize len = (gsize)st.st_size;
    void *data = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return NULL;
    Mapping *mapping = g_new(Mapping, 1);
    *mapping = (Mapping){data, len};
    return g_bytes_new_with_free_func(data, len, unmap, mapping);
}

bool acr_helper_spec_read(int fd, AcrHelperSpec *out, GError **error)
{
    g_auto(AcrHelperSpec) spec;
    acr_helper_spec_init(&spec);
    g_autoptr(GBytes) all = map_file(fd);
    gsize size = 0;
    const char *data = all ? g_bytes_get_data(all, &size) : NULL;
    guint64 len = G_MAXUINT64;
    if (data)
        memcpy(&len, data, sizeof len);
    bool is_whole = data && len <= size - HEAD_BYTES;
    g_autoptr(AcrJson) json = is_whole ? acr_json_parse(data + HEAD_BYTES, (gsize)len, NULL) : NULL;
    if (!json || !take_spec(json, all, HEAD_BYTES + (gsize)len, &spec)) {
        g_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED,
                    "what the sandbox is to do cannot be read");
        return false;
    }
    *out = spec;
    memset(&spec, 0, sizeof spec);
    return true;
}
