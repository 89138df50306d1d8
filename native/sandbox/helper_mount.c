/*
 * The helper's namespaces and mounts. Everything is put together on the stage, a file system in
 * memory that only this process sees: its own mount namespace hides it from the machine, and it
 * goes with the last process in it. Sources are opened before the stage covers them.
 *
 * As root the stage is made with root's own rights, and left by becoming another user; else a user
 * namespace gives the rights. In both, the command's namespaces lie below a user namespace that is
 * made here, so that the limit on processes counts those of this sandbox alone.
 */
#include "sandbox/helper_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define INODE_BYTES 4096 /* of the stage for each file that it may hold */
#define MIN_INODES 4096
#define HOST_NAME "sandbox"

static bool fail(GError **error, AcrSandboxError code, const char *what)
{
    g_set_error(error, ACR_SANDBOX_ERROR, code, "%s: %s", what, g_strerror(errno));
    return false;
}

static bool fail_at(GError **error, const char *what, const char *path)
{
    g_autofree char *message = g_strdup_printf("%s '%s'", what, path);
    return fail(error, ACR_SANDBOX_ERROR_FAILED, message);
}

static bool write_file(const char *path, const char *text, GError **error)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int err = fd < 0 ? errno : acr_fd_write_all(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    errno = err;
    return !err || fail_at(error, "cannot write", path);
}

/* What the kernel says at its limit on them would send the user to look at a disk. */
static bool fail_refused(GError **error)
{
    const char *why = errno == ENOSPC ? "there may be no more of them" : g_strerror(errno);
    g_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE,
                "user namespaces are refused here, as in many containers: %s", why);
    return false;
}

/* A user namespace in which this user and group have the numbers that they have outside. */
static bool enter_user_namespace(int more_flags, GError **error)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER | more_flags) != 0)
        return fail_refused(error);
    g_autofree char *users = g_strdup_printf("%u %u 1", uid, uid),
                    *groups = g_strdup_printf("%u %u 1", gid, gid);
    return write_file("/proc/self/setgroups", "deny", error) &&
           write_file("/proc/self/uid_map", users, error) &&
           write_file("/proc/self/gid_map", groups, error);
}

static bool enter_mount_namespace(const AcrHelperSpec *spec, bool *out_is_root, GError **error)
{
    *out_is_root = spec->uid >= 0 && unshare(CLONE_NEWNS) == 0;
    if (!*out_is_root && !enter_user_namespace(CLONE_NEWNS, error))
        return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        return true;
    if (errno == EINVAL) { /* the root is no mount; the kernel allows no user namespaces there */
        g_set_error_literal(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE,
                            "bubblewrap cannot work in a chroot");
        return false;
    }
    return fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE, "cannot make the mounts private");
}

/* A name of its own, which bubblewrap's namespace takes over. Containers may forbid that: the
 * machine's name is then seen. */
static void hide_name(void)
{
    if (unshare(CLONE_NEWUTS) == 0 && sethostname(HOST_NAME, strlen(HOST_NAME)) != 0)
        g_debug("sethostname: %s", g_strerror(errno));
}

/* ---- Sources ---- */

/* Descriptors of all sources, uppers and works, in their order; a path is then named by its number,
 * whatever is mounted over it. */
static int open_path(const char *path, GArray *fds, GError **error)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        fail_at(error, "cannot open", path);
    else
        g_array_append_val(fds, fd);
    return fd;
}

static bool open_sources(const AcrHelperSpec *spec, GArray *fds, GError **error)
{
    for (guint i = 0; i < spec->mounts->len; i++) {
        const AcrHelperMount *row = spec->mounts->pdata[i];
        for (guint k = 0; k < row->sources->len; k++)
            if (open_path(row->sources->pdata[k], fds, error) < 0)
                return false;
        if (row->upper &&
            (open_path(row->upper, fds, error) < 0 || open_path(row->work, fds, error) < 0))
            return false;
    }
    return true;
}

static void close_all(GArray *fds)
{
    for (guint i = 0; i < fds->len; i++)
        close(g_array_index(fds, int, i));
    g_array_unref(fds);
}

static void append_fd(GString *out, const char *prefix, const GArray *fds, guint number)
{
    g_string_append_printf(out, "%s/proc/self/fd/%d", prefix, g_array_index(fds, int, number));
}

/* ---- Mounts ---- */

static bool make_stage(const AcrHelperSpec *spec, GError **error)
{
    gint64 inodes = MAX(spec->stage_bytes / INODE_BYTES, MIN_INODES);
    g_autofree char *options =
        g_strdup_printf("size=%" G_GINT64_FORMAT ",nr_inodes=%" G_GINT64_FORMAT ",mode=711",
                        spec->stage_bytes, inodes);
    return mount("stage", spec->stage, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0 ||
           fail_at(error, "cannot mount a file system in memory on", spec->stage);
}

/* A folder of the stage, made with its parents; that of the command's user. */
static char *make_folder(const AcrHelperSpec *spec, const char *name, mode_t mode, GError **error)
{
    g_autofree char *path = g_build_filename(spec->stage, name, NULL);
    if (g_mkdir_with_parents(path, 0755) != 0 || chmod(path, mode) != 0 ||
        (spec->uid >= 0 && chown(path, (uid_t)spec->uid, (gid_t)spec->uid) != 0)) {
        fail_at(error, "cannot make the folder", path);
        return NULL;
    }
    return g_steal_pointer(&path);
}

/* The upper layer of an overlay: on disk, or on the stage as upper_N, where the host looks for it.
 */
static bool append_upper(const AcrHelperSpec *spec, guint number, const GArray *fds, guint *at,
                         GString *options, GError **error)
{
    const AcrHelperMount *row = spec->mounts->pdata[number];
    if (row->upper) {
        append_fd(options, ",upperdir=", fds, (*at)++);
        append_fd(options, ",workdir=", fds, (*at)++);
        return true;
    }
    g_autofree char *upper_name = g_strdup_printf("upper_%u", number),
                    *work_name = g_strdup_printf("work_%u", number);
    g_autofree char *upper = make_folder(spec, upper_name, 0755, error);
    g_autofree char *work = upper ? make_folder(spec, work_name, 0700, error) : NULL;
    if (work)
        g_string_append_printf(options, ",upperdir=%s,workdir=%s", upper, work);
    return work != NULL;
}

static bool mount_overlay(const AcrHelperSpec *spec, guint number, const GArray *fds, guint *at,
                          const char *where, GError **error)
{
    const AcrHelperMount *row = spec->mounts->pdata[number];
    /* Its own marks as any user can write them: what one mount wrote another must understand. */
    g_autoptr(GString) options = g_string_new("userxattr");
    for (guint k = 0; k < row->sources->len; k++)
        append_fd(options, k ? ":" : ",lowerdir=", fds, (*at)++);
    if (row->is_writable && !append_upper(spec, number, fds, at, options, error))
        return false;
    return mount("overlay", where, "overlay", MS_NOSUID | MS_NODEV, options->str) == 0 ||
           fail_at(error, "cannot mount an overlay over", row->sources->pdata[0]);
}

static bool mount_bind(const AcrHelperMount *row, const GArray *fds, guint *at, const char *where,
                       GError **error)
{
    g_autoptr(GString) source = g_string_new(NULL);
    append_fd(source, "", fds, (*at)++);
    return mount(source->str, where, NULL, MS_BIND | MS_REC, NULL) == 0 ||
           fail_at(error, "cannot mount", row->sources->pdata[0]);
}

/* A file, as a mount point for another. */
static bool make_file(const char *path, GError **error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail_at(error, "cannot make", path);
    close(fd);
    return true;
}

static bool is_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode);
}

static bool mount_rows(const AcrHelperSpec *spec, const GArray *fds, GError **error)
{
    guint at = 0;
    for (guint i = 0; i < spec->mounts->len; i++) {
        const AcrHelperMount *row = spec->mounts->pdata[i];
        bool to_file = row->sources->len && is_file(g_array_index(fds, int, at));
        g_autofree char *parent = g_path_get_dirname(row->at);
        mode_t mode = row->mode && !to_file ? (mode_t)row->mode : 0755;
        g_autofree char *folder = make_folder(spec, to_file ? parent : row->at, mode, error);
        g_autofree char *where = folder ? g_build_filename(spec->stage, row->at, NULL) : NULL;
        if (!where || (to_file && !make_file(where, error)))
            return false;
        bool ok = row->sources->len == 0 || /* a folder of the stage itself */
                  (row->is_overlay ? mount_overlay(spec, i, fds, &at, where, error)
                                   : mount_bind(row, fds, &at, where, error));
        if (!ok)
            return false;
    }
    return true;
}

/* ---- The whole ---- */

/* Files of the tree, and the stage's own small ones. */
static bool lay_files(const AcrHelperSpec *spec, int stage, GError **error)
{
    if (!acr_helper_write_files(stage, spec->texts, -1, error))
        return false;
    if (!spec->files->len)
        return true;
    int root = openat(stage, spec->files_at, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return fail_at(error, "cannot open", spec->files_at);
    bool ok = acr_helper_write_files(root, spec->files, spec->uid, error);
    close(root);
    return ok;
}

/* Gives up root's rights for good. */
static bool become(gint64 uid, GError **error)
{
    gid_t group = (gid_t)uid;
    if (setgroups(0, NULL) != 0 || setresgid(group, group, group) != 0 ||
        setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) != 0)
        return fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE, "cannot become another user");
    /* Else its own folder in /proc, with the maps of the next namespace, would be root's. */
    return prctl(PR_SET_DUMPABLE, 1) == 0 || fail(error, ACR_SANDBOX_ERROR_FAILED, "prctl");
}

bool acr_helper_mount(const AcrHelperSpec *spec, int *out_stage, GError **error)
{
    bool is_root = false;
    if (!enter_mount_namespace(spec, &is_root, error))
        return false;
    hide_name();
    GArray *fds = g_array_new(FALSE, FALSE, sizeof(int));
    int stage = -1;
    bool ok =
        open_sources(spec, fds, error) && make_stage(spec, error) && mount_rows(spec, fds, error);
    close_all(fds);
    if (ok) {
        stage = open(spec->stage, O_PATH | O_DIRECTORY | O_CLOEXEC);
        ok = (stage >= 0 || fail_at(error, "cannot open", spec->stage)) &&
             lay_files(spec, stage, error) &&
             (!is_root || (become(spec->uid, error) && enter_user_namespace(0, error)));
    }
    if (ok)
        *out_stage = stage;
    else if (stage >= 0)
        close(stage);
    return ok;
}
