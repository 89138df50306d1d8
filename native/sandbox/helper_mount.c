/* Creates the helper's namespaces and mounts. All files are put on the stage, a file system in
 * memory in its own mount namespace. The rest of the machine does not see the stage, and the stage
 * disappears with the last process that uses it. Sources of mounts are opened before the stage
 * hides them.
 *
 * Root creates the stage with its own rights and then becomes another user; other users get the
 * rights from a user namespace. In both cases the command's namespaces are children of a user
 * namespace that the helper creates, so that the limit on processes counts only the processes of
 * this sandbox. */
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define INODE_BYTES 4096 /* bytes of the stage per inode; determines the maximum number of files */
#define MIN_INODES 4096
#define HOST_NAME "sandbox"

static bool fail_mount(GError **error, AcrSandboxError code, const char *what)
{
    return acr_sandbox_fail(error, code, "%s: %s", what, g_strerror(errno));
}

static bool fail_refused(GError **error, int err)
{
    g_autofree char *why = acr_namespace_refusal("", err);
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE, "%s", why);
}

/* Writes `text` to the file `path`. Permission is denied if a security module allowed the namespace
 * but grants no rights in it; the error then explains the refusal. */
static bool write_map(const char *path, const char *text, GError **error)
{
    ACR_AUTO_FD fd = open(path, O_WRONLY | O_CLOEXEC);
    int err = fd < 0 ? errno : acr_fd_write_all(fd, text, strlen(text));
    return !err || (err == EACCES || err == EPERM
                        ? fail_refused(error, err)
                        : acr_sandbox_fail_errno(error, err, "cannot write", path));
}

/* Enters a user namespace in which the current user and group keep their ids. */
static bool enter_user_namespace(int more_flags, GError **error)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER | more_flags) != 0)
        return fail_refused(error, errno);
    g_autofree char *users = g_strdup_printf("%u %u 1", uid, uid),
                    *groups = g_strdup_printf("%u %u 1", gid, gid);
    return write_map("/proc/self/setgroups", "deny", error) &&
           write_map("/proc/self/uid_map", users, error) &&
           write_map("/proc/self/gid_map", groups, error);
}

static bool enter_mount_namespace(const AcrHelperSpec *spec, bool *out_is_root, GError **error)
{
    *out_is_root = spec->uid >= 0 && unshare(CLONE_NEWNS) == 0;
    if (!*out_is_root && !enter_user_namespace(CLONE_NEWNS, error))
        return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        return true;
    /* the root folder is not a mount point, and then the kernel allows no user namespaces */
    if (errno == EINVAL)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                "bubblewrap cannot work in a chroot");
    return fail_refused(error, errno);
}

/* Sets a host name, which bubblewrap's namespace inherits. If acr-host runs in a container, setting
 * it may be forbidden; the command then sees the machine's name. */
static void hide_name(const AcrHelperSpec *spec)
{
    const char *name = *spec->host_name ? spec->host_name : HOST_NAME;
    if (unshare(CLONE_NEWUTS) == 0 && sethostname(name, strlen(name)) != 0)
        g_debug("sethostname: %s", g_strerror(errno));
}

/* Opens a folder and appends its descriptor to `fds`; -1 if the path is empty. */
static bool open_source(const char *path, GArray *fds, GError **error)
{
    int fd = *path ? open(path, O_PATH | O_CLOEXEC) : -1;
    g_array_append_val(fds, fd);
    return fd >= 0 || !*path || acr_sandbox_fail_errno(error, errno, "cannot open", path);
}

/* Appends to `fds` the descriptors of the two folders of each mount. A folder stays accessible by
 * its descriptor after something is mounted over it. */
static bool open_sources(const AcrHelperSpec *spec, GArray *fds, GError **error)
{
    for (guint i = 0; i < spec->mounts->len; i++) {
        const AcrHelperMount *row = spec->mounts->pdata[i];
        if (!open_source(row->source, fds, error) || !open_source(row->above, fds, error))
            return false;
    }
    return true;
}

static void close_all(GArray *fds)
{
    for (guint i = 0; i < fds->len; i++)
        acr_fd_close(&g_array_index(fds, int, i));
    g_array_unref(fds);
}

static bool make_stage(const AcrHelperSpec *spec, GError **error)
{
    gint64 inodes = MAX(spec->stage_bytes / INODE_BYTES, MIN_INODES);
    g_autofree char *options =
        g_strdup_printf("size=%" G_GINT64_FORMAT ",nr_inodes=%" G_GINT64_FORMAT ",mode=711",
                        spec->stage_bytes, inodes);
    return mount("stage", spec->stage, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0 ||
           acr_sandbox_fail_errno(error, errno, "cannot mount a tmpfs on", spec->stage);
}

/* Creates a folder of the stage with its parent folders, and makes the command's user its owner.
 * Returns the path, owned. */
static char *make_folder(const AcrHelperSpec *spec, const char *name, mode_t mode, GError **error)
{
    g_autofree char *path = g_build_filename(spec->stage, name, NULL);
    if (g_mkdir_with_parents(path, 0755) != 0 || chmod(path, mode) != 0 ||
        (spec->uid >= 0 && chown(path, (uid_t)spec->uid, (gid_t)spec->uid) != 0))
        return ACR_NULL(acr_sandbox_fail_errno(error, errno, "cannot create the folder", path));
    return g_steal_pointer(&path);
}

/* Mounts at `where` an overlay over `source`, one or two folders separated by a colon. The overlay
 * uses two folders of the stage: upper_N, in which the host looks for written files, and work_N. */
static bool mount_overlay(const AcrHelperSpec *spec, guint number, const char *source,
                          const char *where, GError **error)
{
    g_autofree char *upper_name = g_strdup_printf("upper_%u", number),
                    *work_name = g_strdup_printf("work_%u", number);
    g_autofree char *upper = make_folder(spec, upper_name, 0755, error);
    g_autofree char *work = upper ? make_folder(spec, work_name, 0700, error) : NULL;
    if (!work)
        return false;
    /* With userxattr, the overlay marks removed files by extended attributes that any user may
     * write, so that another user can mount the same folders later. */
    g_autofree char *options =
        g_strdup_printf("userxattr,lowerdir=%s,upperdir=%s,workdir=%s", source, upper, work);
    return mount("overlay", where, "overlay", MS_NOSUID | MS_NODEV, options) == 0 ||
           acr_sandbox_fail_errno(error, errno, "cannot mount an overlay over",
                                  ((const AcrHelperMount *)spec->mounts->pdata[number])->source);
}

static bool mount_row(const AcrHelperSpec *spec, guint number, int fd, int above, GError **error)
{
    const AcrHelperMount *row = spec->mounts->pdata[number];
    g_autofree char *source = g_strdup_printf("/proc/self/fd/%d", fd),
                    *both = g_strdup_printf("/proc/self/fd/%d:%s", above, source);
    g_autofree char *where = make_folder(spec, row->at, row->mode ? row->mode : 0755, error);
    if (!where)
        return false;
    if (row->is_overlay)
        return mount_overlay(spec, number, above < 0 ? source : both, where, error);
    return fd < 0 || mount(source, where, NULL, MS_BIND | MS_REC, NULL) == 0 ||
           acr_sandbox_fail_errno(error, errno, "cannot mount", row->source);
}

static bool mount_rows(const AcrHelperSpec *spec, const GArray *fds, GError **error)
{
    for (guint i = 0; i < spec->mounts->len; i++)
        if (!mount_row(spec, i, g_array_index(fds, int, 2 * i), g_array_index(fds, int, 2 * i + 1),
                       error))
            return false;
    return true;
}

/* Writes the files of /etc whose contents must differ from the machine's. */
static bool write_etc(const AcrHelperSpec *spec, GError **error)
{
    static const char *const files[][2] = {
        {"passwd", "root:x:0:0:root:/:/usr/sbin/nologin\n"
                   "sandbox:x:1000:1000:sandbox:" ACR_HELPER_HOME ":/bin/sh\n"
                   "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"},
        {"group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"},
        {"hosts", "127.0.0.1 localhost\n::1 localhost\n"},
        {"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"},
    };
    g_autofree char *folder = g_build_filename(spec->stage, "etc", NULL);
    if (mkdir(folder, 0755) != 0)
        return acr_sandbox_fail_errno(error, errno, "cannot create the folder", folder);
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(folder, files[i][0], NULL);
        if (!g_file_set_contents(path, files[i][1], -1, error))
            return false;
    }
    return true;
}

static bool write_files(const AcrHelperSpec *spec, GError **error)
{
    if (!spec->files->len)
        return true;
    g_autofree char *path = g_build_filename(spec->stage, spec->files_at, NULL);
    ACR_AUTO_FD root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return acr_sandbox_fail_errno(error, errno, "cannot open", path);
    return acr_tree_write(root, spec->files, spec->uid, error);
}

/* Gives up root's rights permanently and becomes the user `uid`. */
static bool become(gint64 uid, GError **error)
{
    gid_t group = (gid_t)uid;
    if (setgroups(0, NULL) != 0 || setresgid(group, group, group) != 0 ||
        setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) != 0)
        return fail_mount(error, ACR_SANDBOX_ERROR_UNAVAILABLE, "cannot become another user");
    /* otherwise root would own this process's folder in /proc, which contains the id maps of the
     * next namespace */
    return prctl(PR_SET_DUMPABLE, 1) == 0 || fail_mount(error, ACR_SANDBOX_ERROR_FAILED, "prctl");
}

bool acr_helper_mount(const AcrHelperSpec *spec, int *out_stage, GError **error)
{
    bool is_root = false;
    if (!enter_mount_namespace(spec, &is_root, error))
        return false;
    hide_name(spec);
    GArray *fds = g_array_new(FALSE, FALSE, sizeof(int));
    bool ok = open_sources(spec, fds, error) && make_stage(spec, error) &&
              mount_rows(spec, fds, error) && write_etc(spec, error) && write_files(spec, error);
    close_all(fds);
    if (!ok)
        return false;
    ACR_AUTO_FD stage = open(spec->stage, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (stage < 0)
        return acr_sandbox_fail_errno(error, errno, "cannot open", spec->stage);
    if (is_root && !(become(spec->uid, error) && enter_user_namespace(0, error)))
        return false;
    *out_stage = g_steal_fd(&stage);
    return true;
}
