/* Writes an overlay to a working tree. No other code writes to a working tree.
 *
 * There are three passes over the changed files. Check: each file is unchanged since the snapshot.
 * Stage: write the new contents to temporary files beside them. Commit: rename and unlink, after a
 * last check that the file has not changed in the meantime. A file that already has its new bytes
 * is skipped, so that the next run with --apply completes an interrupted run. All names are opened
 * relative to their folder, part by part, and no part may be a symlink. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rules_private.h"

typedef struct {
    const char *path;           /* borrowed from the list of paths */
    const AcrVcsChange *change; /* borrowed from the overlay */
    const AcrEntry *entry;      /* the snapshot's entry; NULL for a new file */
    struct stat seen;           /* state of an existing file at the time of the check */
    char *temp;                 /* name of the staged file in the same folder, or NULL */
    bool done;                  /* the file already has its new contents */
} Step;

static void step_clear(Step *step)
{
    g_free(step->temp);
}

static bool fail_path(GError **error, const char *path, const char *what)
{
    return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "'%s' %s", path, what);
}

static bool fail_worktree(GError **error, const char *path, const char *what)
{
    return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "cannot %s '%s': %s", what, path,
                        g_strerror(errno));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Opens the folder that contains `path`; the caller closes the descriptor. With `make`, creates
 * missing folders. Returns -1 and sets errno on failure: ENOENT (a folder is missing), ELOOP or
 * ENOTDIR (a part is a symlink or a file). */
static int open_parent_beneath(int root, const char *path, bool make)
{
    int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
    for (const char *slash; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        ACR_AUTO_FD parent = fd;
        g_autofree char *part = g_strndup(path, (gsize)(slash - path));
        if (make && mkdirat(parent, part, 0777) < 0 && errno != EEXIST)
            return -1;
        fd = openat(parent, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    return fd;
}

/* What exists at a path: a file, a link, or nothing. */
typedef struct {
    guint32 mode; /* git's mode; 0 if nothing exists */
    guint8 id[ACR_BLOB_ID_LEN];
} Found;

static GBytes *read_target(int folder, const char *name)
{
    char target[ACR_VCS_MAX_PATH + 1];
    gssize len = readlinkat(folder, name, target, sizeof target);
    return len < 0 || len == sizeof target ? NULL : g_bytes_new(target, (gsize)len);
}

static GBytes *read_worktree_file(int folder, const char *name)
{
    ACR_AUTO_FD fd = acr_file_open(folder, name, false);
    return fd < 0 ? NULL : acr_fd_read_file(fd, "", ACR_VCS_MAX_FILE_BYTES, NULL);
}

/* Sets *out to what exists at a path. Returns false if the path is unreadable, or neither a file
 * nor a link. `entry` is the snapshot's entry, or NULL. */
static bool look_at_file(int folder, const char *name, const AcrEntry *entry, struct stat *out_st,
                         Found *out)
{
    if (fstatat(folder, name, out_st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT;
    bool is_link = S_ISLNK(out_st->st_mode), is_file = S_ISREG(out_st->st_mode);
    g_autoptr(GBytes) content = is_link   ? read_target(folder, name)
                                : is_file ? read_worktree_file(folder, name)
                                          : NULL;
    if (!content)
        return false;
    guint8 on_disk = entry && is_file ? entry->on_disk : 0;
    g_autoptr(GBytes) stored = on_disk & ACR_VCS_DISK_CRLF ? acr_vcs_crlf_to_lf(content) : NULL;
    GBytes *compared = stored ? stored : content;
    out->mode = is_link                       ? ACR_MODE_LINK
                : on_disk & ACR_VCS_DISK_MODE ? entry->mode
                : out_st->st_mode & S_IXUSR   ? ACR_MODE_EXEC
                                              : ACR_MODE_FILE;
    acr_vcs_blob_id(g_bytes_get_data(compared, NULL), g_bytes_get_size(compared), out->id);
    return true;
}

static bool is_found(const Found *found, guint32 mode, const guint8 *id)
{
    return found->mode == mode && (!mode || acr_vcs_id_equal(found->id, id));
}

static bool check_worktree(int root, Step *step, GError **error)
{
    Found found = {0};
    ACR_AUTO_FD folder = open_parent_beneath(root, step->path, false);
    if (folder < 0 && errno != ENOENT)
        return fail_worktree(error, step->path, "open the folder of");
    const AcrEntry *entry = step->entry;
    bool is_known =
        folder < 0 || look_at_file(folder, base_name(step->path), entry, &step->seen, &found);
    bool is_unchanged =
        is_known && is_found(&found, entry ? entry->mode : 0, entry ? entry->id : NULL);
    /* the file already has its new contents, from an interrupted run with --apply or from the
     * user */
    step->done = is_known && is_found(&found, step->change->mode, step->change->id);
    return is_unchanged || step->done ||
           fail_path(error, step->path,
                     entry ? "has changed since the run began; nothing was written"
                           : "exists already; nothing was written");
}

static bool write_all_bytes(int fd, GBytes *content)
{
    gsize len;
    const void *data = g_bytes_get_data(content, &len);
    return (errno = acr_fd_write_all(fd, data, len)) == 0 && fsync(fd) == 0;
}

/* Copies the permissions and, if possible, the owner of the replaced file. If the change makes the
 * file executable or not executable, changes the x bits. */
static bool copy_permissions(int fd, const Step *step)
{
    mode_t mode = step->seen.st_mode & 07777;
    if (step->change->mode == ACR_MODE_EXEC && step->entry->mode != ACR_MODE_EXEC)
        mode |= (mode & 0444) >> 2;
    if (step->change->mode == ACR_MODE_FILE && step->entry->mode == ACR_MODE_EXEC)
        mode &= ~(mode_t)0111;
    if (fchown(fd, step->seen.st_uid, step->seen.st_gid) < 0 && errno != EPERM)
        return false;
    return fchmod(fd, mode) == 0;
}

static bool stage_link(int folder, Step *step)
{
    g_autofree char *target = acr_bytes_text(step->change->content);
    return symlinkat(target, folder, step->temp) == 0;
}

static bool stage_file(int folder, Step *step)
{
    mode_t mode =
        step->change->mode == ACR_MODE_EXEC ? 0777 : 0666; /* the umask also applies, as in git */
    ACR_AUTO_FD fd =
        openat(folder, step->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    bool regular = step->entry && step->entry->mode != ACR_MODE_LINK;
    bool is_crlf = step->entry && step->entry->on_disk & ACR_VCS_DISK_CRLF;
    g_autoptr(GBytes) content =
        is_crlf ? acr_vcs_lf_to_crlf(step->change->content) : g_bytes_ref(step->change->content);
    return fd >= 0 && write_all_bytes(fd, content) && (!regular || copy_permissions(fd, step));
}

static bool stage(int root, Step *step, GError **error)
{
    if (!step->change->content)
        return true;
    ACR_AUTO_FD folder = open_parent_beneath(root, step->path, true);
    if (folder < 0)
        return fail_worktree(error, step->path, "create the folder of");
    g_autofree char *hash = acr_sha256_hex(step->path, strlen(step->path));
    step->temp = g_strdup_printf(".acr-%.16s.tmp", hash);
    unlinkat(folder, step->temp, 0); /* remove the file that an interrupted run with --apply left
                                      * behind */
    bool is_link = step->change->mode == ACR_MODE_LINK;
    return (is_link ? stage_link(folder, step) : stage_file(folder, step)) ||
           fail_worktree(error, step->path, "write");
}

static void unstage(int root, Step *step)
{
    ACR_AUTO_FD folder = step->temp ? open_parent_beneath(root, step->path, false) : -1;
    if (folder >= 0)
        unlinkat(folder, step->temp, 0);
}

static bool same_stat(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mode == b->st_mode && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool put_file(int folder, Step *step, GError **error)
{
    struct stat now;
    const char *name = base_name(step->path);
    bool there = fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0;
    if (there != (step->entry != NULL) || (there && !same_stat(&now, &step->seen)))
        return fail_path(error, step->path, "changed while the patch was being applied");
    if (!step->change->content)
        return unlinkat(folder, name, 0) == 0 || fail_worktree(error, step->path, "remove");
    if (renameat(folder, step->temp, folder, name) < 0)
        return fail_worktree(error, step->path, "replace");
    g_clear_pointer(&step->temp, g_free);
    return true;
}

static void remove_empty_folders(int root, const char *path)
{
    g_autofree char *folder = g_strdup(path);
    for (char *slash; (slash = strrchr(folder, '/'));) {
        *slash = '\0';
        ACR_AUTO_FD parent = open_parent_beneath(root, folder, false);
        if (parent < 0 || unlinkat(parent, base_name(folder), AT_REMOVEDIR) != 0)
            return;
    }
}

static bool commit(int root, Step *step, GError **error)
{
    ACR_AUTO_FD folder = open_parent_beneath(root, step->path, false);
    if (folder < 0)
        return fail_worktree(error, step->path, "open the folder of");
    if (!put_file(folder, step, error))
        return false;
    if (fsync(folder) < 0 && errno != EINVAL)
        return fail_worktree(error, step->path, "sync the folder of");
    if (!step->change->content)
        remove_empty_folders(root, step->path);
    return true;
}

typedef bool (*Pass)(int root, Step *step, GError **error);

static bool run_passes(int root, GArray *steps, GError **error)
{
    static const Pass passes[] = {check_worktree, stage, commit};
    for (gsize pass = 0; pass < G_N_ELEMENTS(passes); pass++) {
        for (guint i = 0; i < steps->len; i++) {
            Step *step = &g_array_index(steps, Step, i);
            if (!step->done && !passes[pass](root, step, error))
                return false;
        }
    }
    return true;
}

bool acr_overlay_apply(const AcrOverlay *overlay, const char *workdir, bool *out_known,
                       GError **error)
{
    g_auto(GStrv) paths = acr_overlay_changed(overlay);
    g_autoptr(GArray) steps = g_array_new(FALSE, TRUE, sizeof(Step));
    g_array_set_clear_func(steps, (GDestroyNotify)step_clear);
    for (gsize i = 0; paths[i]; i++) {
        gssize at = acr_snapshot_find(overlay->snapshot, paths[i]);
        Step step = {.path = paths[i], .change = g_hash_table_lookup(overlay->changes, paths[i])};
        step.entry = at < 0 ? NULL : acr_snapshot_entry(overlay->snapshot, (gsize)at);
        g_array_append_val(steps, step);
    }
    ACR_AUTO_FD root = open(workdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return fail_worktree(error, workdir, "open");
    bool done = run_passes(root, steps, error);
    *out_known = true;
    for (guint i = 0; i < steps->len; i++) {
        *out_known = *out_known && g_array_index(steps, Step, i).done;
        unstage(root, &g_array_index(steps, Step, i));
    }
    return done;
}
