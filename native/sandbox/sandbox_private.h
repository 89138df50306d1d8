#pragma once

#include <sys/stat.h>

#include "sandbox/helper_spec.h"
#include "sandbox/sandbox.h"

/* Last folder of PATH in a sandbox of bubblewrap; has the program `python`. */
#define ACR_SANDBOX_PROGRAMS "/run/acr-host"

/* ---- Errors (error.c): acr_sandbox_fail and acr_sandbox_fail_errno set an error and return false
 * ---- */

#define acr_sandbox_fail(error, code, ...)                                                         \
    acr_set_error(error, ACR_SANDBOX_ERROR, code, __VA_ARGS__)
/* Sets FAILED with the message "WHAT 'PATH': " and the description of the errno `err`. */
bool acr_sandbox_fail_errno(GError **error, int err, const char *what, const char *path);

/* ---- Refused user namespaces (namespace_refusal.c) ---- */

/* Returns one line that says why the machine refuses namespaces, and the remedy; owned (g_free).
 * `root` is the folder that contains the machine's /proc, /sys and so on ("" for this machine).
 * `err` is the errno of the failed step. */
char *acr_namespace_refusal(const char *root, int err) ACR_MUST_USE;

/* ---- Control groups (memory_group.c) ---- */

/* A control group, which counts all memory of an execution, even memory that no process maps:
 * System V shared memory, files in memory, the kernel's own buffers. Most users may not create
 * control groups. Zero-initialise. */
typedef struct {
    char *dir;   /* owned; NULL if no group could be created */
    bool is_old; /* the group belongs to control groups version 1 */
} AcrMemoryGroup;
/* Returns the number in the first line of a kernel file that begins with `words`; 0 if there is no
 * such line. */
gint64 acr_kernel_number(const char *text, const char *words);
/* Returns the folder in which this process may create control groups, found from `lines`, the
 * contents of /proc/self/cgroup. `root` is the folder at which control groups are mounted. Owned;
 * NULL if there is none. */
char *acr_memory_group_parent(const char *root, const char *lines, bool *out_is_old) ACR_MUST_USE;
/* Creates a control group that limits memory to `limit_bytes`. If that is impossible, out->dir
 * stays NULL. */
void acr_memory_group_make(gint64 limit_bytes, AcrMemoryGroup *out);
/* Returns the file through which a process with one thread enters the group, by writing "0" to it.
 * Owned; NULL if there is no group. */
char *acr_memory_group_entry(const AcrMemoryGroup *group) ACR_MUST_USE;
/* Returns the memory in bytes that the group uses, not counting cached files of disks; 0 if
 * unknown. */
gint64 acr_memory_group_bytes(const AcrMemoryGroup *group);
/* True if the kernel killed a process of the group for lack of memory. */
bool acr_memory_group_was_short(const AcrMemoryGroup *group);
/* Removes the group after its processes have ended. If removing fails, a later run removes the
 * group. */
void acr_memory_group_remove(AcrMemoryGroup *group);

/* ---- System call filters (seccomp.c) ---- */

/* Returns the system call filter for a command: an array of struct sock_filter, in the form that
 * bubblewrap reads. With `refuses_unmapped`, the filter also refuses calls that allocate memory
 * that no process maps, because only a control group counts such memory. Owned. */
GBytes *acr_seccomp_walls(bool refuses_unmapped) ACR_MUST_USE;
/* Installs the filter of acr_seccomp_walls for this process, and also forbids new processes and
 * sockets. Threads are allowed. With `may_exec`, the process may execute another program. Returns
 * false if the kernel does not support filters. */
bool acr_seccomp_alone(bool may_exec);

/* ---- The Python that runs the project (find_python.c) ---- */

/* A Python, and the folders and links that it needs in the sandbox. All members are owned. */
typedef struct {
    /* path of the Python in the sandbox; links are not resolved, because Python finds its virtual
     * environment by this path */
    char *path;
    char *venv; /* the folder of the Python's virtual environment, or NULL */
    /* array of char *: folders outside /usr that must be visible, beginning with `venv` */
    GPtrArray *roots;
    /* array of char *: pairs of a symbolic link on the way to the executable, and the target of the
     * link */
    GPtrArray *links;
    char *remark;    /* which Python was chosen, and why */
    char *not_taken; /* which virtual environment was not used, and why; otherwise NULL */
    char *stamp;     /* a string that changes when the Python or its packages change */
} AcrSandboxPython;
void acr_sandbox_python_clear(AcrSandboxPython *python);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrSandboxPython, acr_sandbox_python_clear)
/* Finds the Python. Uses the first that exists of: `given` (a path, or a name in PATH),
 * `work_tree`/.venv if it is not part of the snapshot, the Python of the active environment
 * (VIRTUAL_ENV, CONDA_PREFIX, a virtual environment in PATH), the system's Python. Executes
 * nothing. Errors: UNAVAILABLE. */
bool acr_sandbox_python_find(const char *given, const char *work_tree, AcrSnapshot *snapshot,
                             AcrSandboxPython *out, GError **error) ACR_MUST_USE;

/* ---- Tar archives, in which container engines receive files (tar.c) ---- */

/* Returns a tar archive of regular files that belong to root. Paths may have any length and any
 * bytes (in pax headers if needed). Owned. */
GBytes *acr_tar_write(const GPtrArray *files) ACR_MUST_USE;
/* True if the archive's first file, not counting pax headers, is a regular file with this
 * content. */
bool acr_tar_holds(GBytes *archive, GBytes *content);

/* ---- Trees of files on disk (tree.c, tree_write.c) ---- */

/* Writes the files of the snapshot into the empty folder `dir`; the files belong to `uid` (-1: the
 * current user). Skips files that are too large to read; *out_remark (owned) names the skipped
 * files, or is NULL. */
bool acr_tree_export(AcrSnapshot *snapshot, const char *dir, gint64 uid, char **out_remark,
                     GError **error) ACR_MUST_USE;
/* Writes and removes files (array of AcrHelperFile *) below the folder `root`, without following
 * links. New files belong to `uid` (-1: the current user). */
bool acr_tree_write(int root, const GPtrArray *files, gint64 uid, GError **error) ACR_MUST_USE;
/* Copies the tree `from` into the folder `to`, in which folders of the tree may already exist.
 * Shares blocks if the file system supports that. Copies only files, folders and symbolic links;
 * links are copied as links. */
bool acr_tree_copy(const char *from, const char *to, GError **error) ACR_MUST_USE;
/* Creates a folder with `mode`, whatever the umask is. An existing folder is not changed. */
bool acr_tree_folder(const char *path, mode_t mode, GError **error) ACR_MUST_USE;
/* Makes the user `uid` the owner of a tree, without following links. */
bool acr_tree_give(const char *path, gint64 uid, GError **error) ACR_MUST_USE;
/* Gives the current user, who owns the tree, the right to read and copy all of it. */
bool acr_tree_open_up(const char *path, GError **error) ACR_MUST_USE;
/* Lists everything below a folder except folders: path -> struct stat *, owned
 * (g_hash_table_unref). NULL if the folder cannot be read. Skips unreadable subfolders. */
GHashTable *acr_tree_list(const char *path) ACR_MUST_USE;
/* Removes from `now` the entries that are the same in `before`, an earlier list of the same folder,
 * and adds the entries of `before` that `now` lacks. `now` then has the added, changed and removed
 * entries. */
void acr_tree_drop_same(GHashTable *now, GHashTable *before);
/* Returns the disk space in bytes of the readable part of a tree. */
gint64 acr_tree_bytes(const char *path);

/* ---- Steps of the helper (helper_mount.c, helper_supervise.c); all errors are FAILED ---- */

/* Creates namespaces, the stage (the file system in memory) and its mounts. *out_stage is a
 * descriptor of the stage (owned). */
bool acr_helper_mount(const AcrHelperSpec *spec, int *out_stage, GError **error) ACR_MUST_USE;
/* Sets how early the kernel kills this process and its future children when memory runs out
 * (oom_score_adj); "1000" means before all others. */
void acr_helper_offer_to_end(const char *score);
/* Runs the command of a spec, and then kills all processes that the command left behind.
 * *out_status is the command's status as from wait(). */
bool acr_helper_supervise(const AcrHelperSpec *spec, int *out_status, GError **error) ACR_MUST_USE;
