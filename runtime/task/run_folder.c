/* A folder with meta.json is a run folder. meta.json is written three times, each time atomically:
 * first with the state "new", then when all files that the run needs are in the folder ("ready"),
 * and finally with the result ("done"). A folder with other contents is never changed. */
#include "task/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SWEEP_DEPTH 3u /* depth to which temporary files are searched: that of attempt_0/search/… */
#define GITIGNORE "*\n"

static const char *const state_names[] = {
    [ACR_FOLDER_NEW] = "new", [ACR_FOLDER_READY] = "ready", [ACR_FOLDER_DONE] = "done"};

void acr_folder_clear(AcrFolder *folder)
{
    g_clear_pointer(&folder->path, g_free);
    g_clear_pointer(&folder->lock, acr_lock_free);
    g_clear_pointer(&folder->meta, acr_json_free);
}

char *acr_folder_path(const AcrFolder *folder, const char *name)
{
    return g_build_filename(folder->path, name, NULL);
}

static bool refuse_folder(GError **error, const char *path, const char *why)
{
    return acr_task_refuse(error, "'%s' %s", path, why);
}

/* Converts the errno of an open call to an error code of base. */
static AcrBaseError base_code(int err)
{
    return err == ENOENT                                    ? ACR_BASE_ERROR_NOT_FOUND
           : err == ENOSPC || err == EDQUOT || err == EROFS ? ACR_BASE_ERROR_NO_SPACE
                                                            : ACR_BASE_ERROR_FAILED;
}

bool acr_folder_check_parents(const AcrFolder *folder, const char *name, GError **error)
{
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        g_autofree char *parent = g_strndup(name, (gsize)(slash - name)),
                        *path = acr_folder_path(folder, parent);
        if (g_file_test(path, G_FILE_TEST_IS_SYMLINK))
            return refuse_folder(error, path,
                                 "is a symbolic link, not a folder; use another --out");
    }
    return true;
}

/* Opens the parent folder of the file `name`, never through a link. Returns -1 on failure. */
static int open_parent_folder(const AcrFolder *folder, const char *name, bool make, GError **error)
{
    g_autofree char *path = acr_folder_path(folder, name);
    ACR_AUTO_FD root = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = root < 0 ? -1 : acr_dir_open_beneath(root, name, make);
    int err = errno;
    if (fd < 0 && err == ELOOP)
        refuse_folder(error, path, "has a symbolic link in its path; use another --out");
    else if (fd < 0)
        acr_set_error(error, ACR_BASE_ERROR, base_code(err), "cannot open the folder of '%s': %s",
                      path, g_strerror(err));
    return fd;
}

bool acr_folder_write(const AcrFolder *folder, const char *name, const void *data, gsize len,
                      GError **error)
{
    g_autofree char *path = acr_folder_path(folder, name), *leaf = g_path_get_basename(name);
    ACR_AUTO_FD parent = open_parent_folder(folder, name, true, error);
    return parent >= 0 && acr_file_write_atomic_at(parent, leaf, path, data, len, 0644, error);
}

GBytes *acr_folder_read_file(const AcrFolder *folder, const char *name, gsize max, GError **error)
{
    g_autofree char *path = acr_folder_path(folder, name), *leaf = g_path_get_basename(name);
    ACR_AUTO_FD parent = open_parent_folder(folder, name, false, error);
    if (parent < 0)
        return NULL;
    ACR_AUTO_FD fd = acr_file_open(parent, leaf, false);
    if (fd >= 0)
        return acr_fd_read_file(fd, path, max, error);
    int err = errno;
    if (err == ELOOP)
        refuse_folder(error, path, "is a symbolic link, not a file; use another --out");
    else
        acr_set_error(error, ACR_BASE_ERROR, base_code(err), "cannot open '%s': %s", path,
                      g_strerror(err));
    return NULL;
}

AcrJson *acr_folder_read_json(const AcrFolder *folder, const char *name, GError **error)
{
    g_autoptr(GBytes) bytes = acr_folder_read_file(folder, name, ACR_JSON_FILE_MAX_BYTES, error);
    AcrJson *json = acr_json_parse_bytes(bytes, error);
    if (bytes && !json)
        g_prefix_error(error, "'%s/%s' is damaged: ", folder->path, name);
    return json;
}

bool acr_folder_write_meta(AcrFolder *folder, AcrJson *meta, AcrFolderState state, GError **error)
{
    acr_json_set_string(meta, "state", state_names[state]);
    g_autofree char *text = acr_json_print_pretty(meta);
    if (!acr_folder_write(folder, ACR_FILE_META, text, strlen(text), error))
        return false;
    folder->state = state;
    g_autofree char *failed = acr_folder_path(folder, ACR_FILE_ERROR);
    if (state == ACR_FOLDER_DONE) /* what interrupted the run before is of no interest now */
        (void)unlink(failed);
    return true;
}

void acr_folder_keep_error(const AcrFolder *folder, const char *why)
{
    if (folder->lock && folder->state == ACR_FOLDER_READY)
        (void)!acr_folder_write(folder, ACR_FILE_ERROR, why, strlen(why), NULL);
}

/* Returns whether a file is regular (not a link) and either is empty or contains only the text
 * `own`. If `own` is NULL, the text must be a process id and a line feed. */
static bool holds_own(const char *path, const char *own)
{
    g_autoptr(GBytes) bytes =
        g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : acr_file_read(path, 32, NULL);
    g_autofree char *text = acr_bytes_text(bytes);
    gsize digits = own ? 0 : strspn(text, "0123456789");
    bool is_own = own ? strcmp(text, own) == 0 : digits > 0 && strcmp(text + digits, "\n") == 0;
    return bytes && strlen(text) == g_bytes_get_size(bytes) && (!*text || is_own);
}

/* Returns whether a run that was killed at its very beginning may have left the file, so that it is
 * not a user's file of the same name. */
static bool is_beginning(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    if (strcmp(name, ACR_FILE_LOCK) == 0)
        return holds_own(path, NULL);
    if (strcmp(name, ".gitignore") == 0)
        return holds_own(path, GITIGNORE);
    return acr_file_is_temporary(name) && g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

/* Checks that a folder without meta.json may become a run folder: it is missing or empty, or a run
 * was killed while it created the folder. */
static bool check_free(const char *path, GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return true;
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    if (!dir)
        return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                             "cannot read the folder '%s'", path);
    /* if the folder has meta.json now, another run has begun in it meanwhile */
    for (const char *name; (name = g_dir_read_name(dir));)
        if (!is_beginning(path, name) && !acr_folder_exists(path))
            return refuse_folder(
                error, path,
                "is not empty and is not a run folder; give a new or empty one as --out");
    return true;
}

static bool read_state(AcrFolder *folder, GError **error)
{
    const char *state = acr_json_get_string(folder->meta, "state");
    for (guint i = 0; i < G_N_ELEMENTS(state_names); i++) {
        if (g_strcmp0(state, state_names[i]) == 0) {
            folder->state = (AcrFolderState)i;
            return true;
        }
    }
    return refuse_folder(error, folder->path,
                         "has a meta.json that is not from a run; use another --out");
}

static bool check_format(const AcrFolder *folder, GError **error)
{
    gint64 format = acr_json_get_int(folder->meta, "format", 0);
    const char *version = acr_json_get_string(folder->meta, "version");
    if (format == ACR_META_FORMAT)
        return true;
    if (format <= 0)
        return refuse_folder(error, folder->path,
                             "has a meta.json that is not from a run; use another --out");
    return acr_task_refuse(error,
                           "'%s' was created by acr-host %s (format %" G_GINT64_FORMAT
                           "), and this is acr-host " ACR_VERSION " (format %d); use another --out",
                           folder->path, version ? version : "of an unknown version", format,
                           ACR_META_FORMAT);
}

/* Reads meta.json. Returns true also if there is no meta.json. */
static bool read_meta(AcrFolder *folder, GError **error)
{
    if (g_file_test(folder->path, G_FILE_TEST_EXISTS) &&
        !g_file_test(folder->path, G_FILE_TEST_IS_DIR))
        return refuse_folder(error, folder->path, "is not a folder");
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes =
        acr_folder_read_file(folder, ACR_FILE_META, ACR_META_MAX_BYTES, &reason);
    if (!bytes) {
        if (g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
            return true;
        return acr_pass_error(error, &reason);
    }
    folder->meta = acr_json_parse_bytes(bytes, NULL);
    if (acr_json_type(folder->meta) != ACR_JSON_OBJECT)
        return refuse_folder(error, folder->path,
                             "has a meta.json that is not from a run; use another --out");
    return check_format(folder, error) && read_state(folder, error);
}

/* Hides a new folder from git by a .gitignore, because it may lie in a working tree. The caller
 * holds the lock, so no other process writes files. */
static bool hide(const AcrFolder *folder, GError **error)
{
    return acr_folder_write(folder, ".gitignore", GITIGNORE, strlen(GITIGNORE), error);
}

bool acr_folder_exists(const char *path)
{
    g_autofree char *meta = g_build_filename(path, ACR_FILE_META, NULL);
    return g_file_test(meta, G_FILE_TEST_EXISTS);
}

/* Locks the folder. Rejects a lock file that is a link, because acr-host writes to the file, and
 * the folder may be untrusted. */
static bool take_lock(AcrFolder *folder, const char *path, GError **error)
{
    g_autofree char *lock = acr_folder_path(folder, ACR_FILE_LOCK);
    bool exists =
        g_file_test(lock, G_FILE_TEST_EXISTS) || g_file_test(lock, G_FILE_TEST_IS_SYMLINK);
    if (exists && !holds_own(lock, NULL))
        return refuse_folder(error, path,
                             "has a lock file that is not from a run; use another --out");
    folder->lock = acr_lock_take(lock, error);
    if (folder->lock)
        return true;
    if (error && g_error_matches(*error, ACR_BASE_ERROR, ACR_BASE_ERROR_BUSY))
        g_prefix_error(error, "another run is using '%s': ", path);
    return false;
}

/* Removes temporary files that killed processes left behind. The caller holds the lock, so no other
 * process uses these files. Files that cannot be removed are harmless. */
static void sweep_folder(const char *path, guint depth)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *entry = g_build_filename(path, name, NULL);
        if (g_file_test(entry, G_FILE_TEST_IS_SYMLINK))
            continue;
        if (acr_file_is_temporary(name) && g_file_test(entry, G_FILE_TEST_IS_REGULAR))
            (void)unlink(entry);
        else if (depth < SWEEP_DEPTH && g_file_test(entry, G_FILE_TEST_IS_DIR))
            sweep_folder(entry, depth + 1);
    }
}

/* Makes the folder private, because it contains private code and answers. Accepts file systems
 * without modes. */
static bool make_private(const char *path, GError **error)
{
    if (!acr_dir_make(path, error))
        return false;
    return chmod(path, 0700) == 0 || errno == EPERM ||
           acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                         "cannot restrict access to '%s': %s", path, g_strerror(errno));
}

bool acr_folder_open(const char *path, AcrFolder *out, GError **error)
{
    g_auto(AcrFolder) folder = {.path = g_canonicalize_filename(path, NULL)};
    if (!read_meta(&folder, error))
        return false;
    if (!folder.meta && (!check_free(folder.path, error) || !make_private(folder.path, error)))
        return false;
    if (!take_lock(&folder, path, error))
        return false;
    g_clear_pointer(&folder.meta, acr_json_free);
    /* read meta.json again: another process may have written it before this process had the lock */
    if (!read_meta(&folder, error))
        return false;
    if (!folder.meta && !hide(&folder, error))
        return false;
    if (folder.state != ACR_FOLDER_DONE)
        sweep_folder(folder.path, 0);
    *out = folder;
    memset(&folder, 0, sizeof folder);
    return true;
}

bool acr_folder_read(const char *path, AcrFolder *out, GError **error)
{
    g_auto(AcrFolder) folder = {.path = g_canonicalize_filename(path, NULL)};
    if (!read_meta(&folder, error))
        return false;
    if (!folder.meta || folder.state == ACR_FOLDER_NEW) {
        g_autofree char *summary = g_build_filename(path, ACR_FILE_SUMMARY, NULL);
        return refuse_folder(error, path,
                             g_file_test(summary, G_FILE_TEST_EXISTS)
                                 ? "is the folder of a batch; name one of its runs, FOLDER/ID"
                                 : "is not a run folder");
    }
    *out = folder;
    memset(&folder, 0, sizeof folder);
    return true;
}
