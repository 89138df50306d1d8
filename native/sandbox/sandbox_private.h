#pragma once

#include <sys/stat.h>

#include "sandbox/helper_spec.h"
#include "sandbox/sandbox.h"

/* ---- Errors (error.c): both functions set one and return false, for `return` ---- */

#define acr_sandbox_fail(error, code, ...)                                                         \
    acr_set_error(error, ACR_SANDBOX_ERROR, code, __VA_ARGS__)
/* Sets FAILED with "WHAT 'PATH': " and the description of an errno. */
bool acr_sandbox_fail_errno(GError **error, int err, const char *what, const char *path);

/* ---- Why this machine refuses a user namespace (namespace_refusal.c) ---- */

/* Why the machine refuses namespaces, and the remedy, in one line; owned (g_free). `root` is the
 * folder that contains the machine's /proc, /run and so on ("" for this machine). `err` is the
 * errno of the failed step. */
char *acr_namespace_refusal(const char *root, int err) ACR_MUST_USE;

/* ---- Control groups (memory_group.c) ---- */

/* A control group counts all memory of an execution, even memory that no process has mapped:
 * System V shared memory, files in memory, the kernel's own buffers. Most users are not allowed
 * to make a control group. Zero-initialise. */
typedef struct {
    char *dir;   /* owned; NULL if no group could be created */
    bool is_old; /* the group belongs to control groups version 1 */
} AcrMemoryGroup;
/* The number in the first line of a kernel file that begins with these words; 0 if there is
 * none. */
gint64 acr_kernel_number(const char *text, const char *words);
/* The folder in which this process may make groups, found from the lines of /proc/self/cgroup.
 * `root` is where control groups are mounted. Owned; NULL if there is none. */
char *acr_memory_group_parent(const char *root, const char *lines, bool *out_is_old) ACR_MUST_USE;
/* Creates a group, if possible, that limits memory to `limit_bytes`. */
void acr_memory_group_make(gint64 limit_bytes, AcrMemoryGroup *out);
/* The file by which a process with one thread enters the group: the process writes a zero to it.
 * Owned; NULL if there is no group. */
char *acr_memory_group_entry(const AcrMemoryGroup *group) ACR_MUST_USE;
/* The memory that the group uses, not counting cached files of disks; 0 if unknown. */
gint64 acr_memory_group_bytes(const AcrMemoryGroup *group);
/* Whether the kernel killed a process of the group for lack of memory. */
bool acr_memory_group_was_short(const AcrMemoryGroup *group);
/* Removes the group after its processes have ended. If that fails, a later run removes it. */
void acr_memory_group_remove(AcrMemoryGroup *group);

/* ---- Filters of kernel calls (seccomp.c) ---- */

/* The filter of system calls for a command: an array of struct sock_filter, in the form that
 * bubblewrap reads. With `refuses_unmapped`, the filter also refuses calls for memory that no
 * process maps, because only a control group counts such memory. Owned. */
GBytes *acr_seccomp_walls(bool refuses_unmapped) ACR_MUST_USE;
/* Installs that filter for this process, and also forbids new processes and sockets. Threads are
 * allowed, and with `may_exec` the process may become another program. Returns false if the
 * kernel does not support this. */
bool acr_seccomp_alone(bool may_exec);

/* ---- The Python that a project is run with (find_python.c) ---- */

/* A Python, and the folders and links that it needs in the sandbox. All members are owned. */
typedef struct {
    /* path of the Python in the sandbox; links are not resolved, because the path tells Python
     * to which environment it belongs */
    char *path;
    char *venv; /* the folder of the Python's virtual environment, or NULL */
    /* array of char *: folders outside /usr that must be visible, beginning with the venv */
    GPtrArray *roots;
    /* array of char *: pairs of a symbolic link on the way to the executable and the link's
     * target */
    GPtrArray *links;
    char *remark;    /* which Python was chosen, and why */
    char *not_taken; /* which Python was not used, and why; otherwise NULL */
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

/* ---- Files as a tar archive, the form that container engines take (tar.c) ---- */

/* Makes a tar archive of regular files that belong to root. Paths may have any length and any
 * bytes (by pax headers if needed). Owned. */
GBytes *acr_tar_write(const GPtrArray *files) ACR_MUST_USE;
/* Whether the archive's first file, not counting folders, is a regular file with this content. */
bool acr_tar_holds(GBytes *archive, GBytes *content);

/* ---- Trees of files on disk (tree.c, tree_write.c) ---- */

/* Writes the files of the snapshot into the empty folder `dir`; they belong to `uid` (-1: this
 * user). Skips files that are too large to read; *out_remark (owned) names them, or is NULL. */
bool acr_tree_export(AcrSnapshot *snapshot, const char *dir, gint64 uid, char **out_remark,
                     GError **error) ACR_MUST_USE;
/* Writes and removes files (array of AcrHelperFile *) below the folder `root`, without following
 * links. New files belong to `uid` (-1: this user). */
bool acr_tree_write(int root, const GPtrArray *files, gint64 uid, GError **error) ACR_MUST_USE;
/* Copies a tree into the folder `to`, in which parts of the tree may already exist. Shares
 * blocks if the file system supports that. Symbolic links are copied as links; only files,
 * folders and links are copied. */
bool acr_tree_copy(const char *from, const char *to, GError **error) ACR_MUST_USE;
/* Creates a folder with this mode, whatever the umask is. An existing folder is not changed. */
bool acr_tree_folder(const char *path, mode_t mode, GError **error) ACR_MUST_USE;
/* Makes a user the owner of a tree, without following links. */
bool acr_tree_give(const char *path, gint64 uid, GError **error) ACR_MUST_USE;
/* Gives this user, who owns the tree, the right to read and copy all of it. */
bool acr_tree_open_up(const char *path, GError **error) ACR_MUST_USE;
/* Lists everything below a folder except folders: path -> struct stat *, owned
 * (g_hash_table_unref). NULL if the folder cannot be read. Skips unreadable folders in it. */
GHashTable *acr_tree_list(const char *path) ACR_MUST_USE;
/* Keeps in `now` only the entries that were added, changed or removed (with their old state)
 * since `before`, an earlier list of the same folder. */
void acr_tree_drop_same(GHashTable *now, GHashTable *before);
/* The disk space of a tree in bytes, as far as the tree is readable. */
gint64 acr_tree_bytes(const char *path);

/* ---- The steps of the helper (helper_mount.c, helper_supervise.c); their errors are FAILED ---- */

/* Makes namespaces, the stage and its mounts. *out_stage is a descriptor of the stage (owned). */
bool acr_helper_mount(const AcrHelperSpec *spec, int *out_stage, GError **error) ACR_MUST_USE;
/* Sets how early the kernel kills this process and its future children when memory runs out
 * (oom_score_adj); 1000 means before all others. */
void acr_helper_offer_to_end(const char *score);
/* Runs the command of a spec, and then kills all processes that the command left behind. Returns
 * the command's status as from wait(). */
bool acr_helper_supervise(const AcrHelperSpec *spec, int *out_status, GError **error) ACR_MUST_USE;
