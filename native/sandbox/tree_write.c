/* Writes the files of a snapshot, and changed files, into a tree. The tree may contain any links.
 * In order to follow no link, the code opens the folders of a path one by one. */
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The time of all files of a tree: 1980-01-02, the first day that archives can express in every
 * time zone. A changed file gets the current time, because Python uses old compiled code if the
 * time and size of the source match. */
#define TREE_TIME ((time_t)315619200)

/* How files are written. */
typedef struct {
    int root;
    gint64 uid;       /* the owner of written files; -1: the current user */
    bool is_snapshot; /* files get TREE_TIME; otherwise they get the current time */
} Writing;

static int give(int fd, gint64 uid)
{
    return uid < 0 || fchown(fd, (uid_t)uid, (gid_t)uid) == 0 ? 0 : errno;
}

/* Opens a folder inside `parent`; with `make`, creates the folder if it is missing. Returns -1 and
 * sets errno on failure. */
static int open_folder(int parent, const char *name, bool make, gint64 uid)
{
    bool made = make && mkdirat(parent, name, 0755) == 0;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* set the mode regardless of the umask, because another user may have to read the folder */
    int err = fd < 0 ? errno : !made ? 0 : fchmod(fd, 0755) == 0 ? give(fd, uid) : errno;
    if (err)
        acr_fd_close(&fd);
    errno = err;
    return fd;
}

/* Opens the folder that contains the file with the path `parts`; with `make`, creates missing
 * folders. Returns -1 and sets errno on failure. */
static int open_parent_in_tree(const Writing *how, char *const *parts, guint n_parts, bool make)
{
    int at = fcntl(how->root, F_DUPFD_CLOEXEC, 0);
    for (guint i = 0; at >= 0 && i + 1 < n_parts; i++) {
        ACR_AUTO_FD parent = at;
        at = open_folder(parent, parts[i], make, how->uid);
    }
    return at;
}

static int write_link(const Writing *how, int parent, const char *name, GBytes *content)
{
    g_autofree char *target = acr_bytes_text(content);
    uid_t uid = (uid_t)how->uid;
    if (symlinkat(target, parent, name) != 0)
        return errno;
    return how->uid < 0 || fchownat(parent, name, uid, uid, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

static int write_regular(const Writing *how, int parent, const char *name, mode_t mode,
                         GBytes *content)
{
    const struct timespec times[] = {{.tv_sec = TREE_TIME}, {.tv_sec = TREE_TIME}};
    gsize len;
    const void *data = g_bytes_get_data(content, &len);
    ACR_AUTO_FD fd =
        openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    int err = fd < 0 ? errno : acr_fd_write_all(fd, data, len);
    if (!err && fchmod(fd, mode) != 0)
        err = errno;
    if (!err)
        err = give(fd, how->uid);
    if (!err && how->is_snapshot && futimens(fd, times) != 0)
        err = errno;
    return err;
}

static bool is_plain_name(const char *part)
{
    return *part && strcmp(part, ".") != 0 && strcmp(part, "..") != 0;
}

/* Writes a file and replaces an existing one, or removes the file if `content` is NULL. Returns 0
 * or an errno. */
static int write_tree_file(const Writing *how, const char *path, guint32 mode, GBytes *content)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    guint n = g_strv_length(parts);
    for (guint i = 0; i < n; i++)
        if (!is_plain_name(parts[i]))
            return EINVAL;
    if (!n)
        return EINVAL;
    const char *name = parts[n - 1];
    ACR_AUTO_FD parent = open_parent_in_tree(how, parts, n, content != NULL);
    if (parent < 0)
        return !content && errno == ENOENT ? 0 : errno;
    int err = unlinkat(parent, name, 0) == 0 || errno == ENOENT ? 0 : errno;
    if (err || !content)
        return err;
    return mode == ACR_MODE_LINK
               ? write_link(how, parent, name, content)
               : write_regular(how, parent, name, mode == ACR_MODE_EXEC ? 0755 : 0644, content);
}

bool acr_tree_write(int root, const GPtrArray *files, gint64 uid, GError **error)
{
    const Writing how = {root, uid, false};
    for (guint i = 0; i < files->len; i++) {
        const AcrHelperFile *file = files->pdata[i];
        int err = write_tree_file(&how, file->path, file->mode, file->content);
        if (err)
            return acr_sandbox_fail_errno(
                error, err, file->content ? "cannot write" : "cannot remove", file->path);
    }
    return true;
}

/* State that the writing threads share. */
typedef struct {
    AcrSnapshot *snapshot;
    const char *dir;
    Writing how;
    pthread_mutex_t lock; /* protects all following members */
    GError *error;        /* the first error */
    GString *too_big;     /* names of files that are too large */
} Export;

/* Writes the entry at `index`; called by several threads. */
static void take_entry(void *user, gsize index, GBytes *bytes, const GError *error)
{
    Export *self = user;
    const AcrEntry *entry = acr_snapshot_entry(self->snapshot, index);
    int err = bytes ? write_tree_file(&self->how, entry->path, entry->mode, bytes) : 0;
    if (bytes && !err)
        return;
    pthread_mutex_lock(&self->lock);
    if (err && !self->error)
        acr_sandbox_fail(&self->error, ACR_SANDBOX_ERROR_FAILED, "cannot write '%s' in '%s': %s",
                         entry->path, self->dir, g_strerror(err));
    else if (error && error->code == ACR_VCS_ERROR_TOO_BIG)
        g_string_append_printf(self->too_big, "%s'%s'", self->too_big->len ? ", " : "",
                               entry->path);
    else if (error && !self->error)
        acr_sandbox_fail(&self->error, ACR_SANDBOX_ERROR_FAILED, "cannot read '%s': %s",
                         entry->path, error->message);
    pthread_mutex_unlock(&self->lock);
}

bool acr_tree_export(AcrSnapshot *snapshot, const char *dir, gint64 uid, char **out_remark,
                     GError **error)
{
    ACR_AUTO_FD root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || (uid >= 0 && fchown(root, (uid_t)uid, (gid_t)uid) != 0))
        return acr_sandbox_fail_errno(error, errno, "cannot use the folder", dir);
    Export self = {.snapshot = snapshot, .dir = dir, .how = {root, uid, true}};
    gsize n = acr_snapshot_size(snapshot);
    g_autofree gsize *all = g_new(gsize, n + 1);
    for (gsize i = 0; i < n; i++)
        all[i] = i;
    self.too_big = g_string_new(NULL);
    pthread_mutex_init(&self.lock, NULL);
    acr_snapshot_read_many(snapshot, all, n, true, take_entry, &self);
    pthread_mutex_destroy(&self.lock);
    *out_remark = self.too_big->len
                      ? g_strdup_printf("too large for the sandbox: %s", self.too_big->str)
                      : NULL;
    g_string_free(self.too_big, TRUE);
    if (!self.error)
        return true;
    g_clear_pointer(out_remark, g_free);
    g_propagate_error(error, self.error);
    return false;
}
