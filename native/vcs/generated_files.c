/* Finds Python files that a build has put into the packages of a working tree and that git ignores,
 * such as _version.py. A package cannot be imported without these files, so a copy of the tree
 * needs them, too.
 *
 * Only small files are taken whose name or first lines show that they are generated, because other
 * ignored files may be large or secret. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "vcs_private.h"

/* maximum size of a generated file in bytes; larger files are skipped */
#define MAX_BYTES (64u * 1024)
#define MAX_FILES 200u
/* number of bytes at the beginning of a file that are searched for words such as "generated" */
#define HEAD_BYTES 400u

static bool is_generated(const char *name, GBytes *content)
{
    static const char *const words[] = {"generated", "do not edit", "do not modify", "don't change",
                                        "do not change"};
    gsize len;
    const char *data = g_bytes_get_data(content, &len);
    g_autofree char *head = g_strndup(data ? data : "", MIN(len, HEAD_BYTES)),
                    *lower = g_ascii_strdown(head, -1);
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(lower, words[i]))
            return true;
    return strstr(name, "version") != NULL;
}

/* Opens the folder `path` below `root` without following links. Returns -1 if it cannot be
 * opened. */
static int open_package(int root, const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
    for (gsize i = 0; parts[i] && *parts[i] && fd >= 0; i++) {
        ACR_AUTO_FD parent = fd;
        fd = openat(parent, parts[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    return fd;
}

/* Adds the generated files of a package to `out` (path -> content). `folder` ends in a slash, or is
 * empty. */
static void find_in_package(const AcrSnapshot *snapshot, int root, const char *folder,
                            GHashTable *out)
{
    ACR_AUTO_FD fd = open_package(root, folder);
    int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir)
        acr_fd_close(&copy);
    for (const struct dirent *entry;
         dir && g_hash_table_size(out) < MAX_FILES && (entry = readdir(dir));) {
        g_autofree char *path = g_strconcat(folder, entry->d_name, NULL);
        if (!g_str_has_suffix(path, ".py") || acr_snapshot_find(snapshot, path) >= 0 ||
            !acr_vcs_path_ok(path))
            continue;
        ACR_AUTO_FD file = acr_file_open(fd, entry->d_name, false);
        g_autoptr(GBytes) content = file < 0 ? NULL : acr_fd_read_file(file, "", MAX_BYTES, NULL);
        if (content && is_generated(entry->d_name, content))
            g_hash_table_insert(out, g_steal_pointer(&path), g_steal_pointer(&content));
    }
    if (dir)
        closedir(dir);
}

GHashTable *acr_snapshot_generated(const AcrSnapshot *snapshot)
{
    static const char init[] = "__init__.py";
    GHashTable *out =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    bool is_tree = snapshot->worktree && snapshot->repo && snapshot->repo->git;
    ACR_AUTO_FD root =
        is_tree ? open(snapshot->repo->workdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    for (gsize i = 0; root >= 0 && i < acr_snapshot_size(snapshot); i++) {
        const char *path = acr_snapshot_entry(snapshot, i)->path, *slash = strrchr(path, '/');
        if (!slash || strcmp(slash + 1, init) != 0)
            continue;
        g_autofree char *folder = g_strndup(path, (gsize)(slash - path) + 1);
        find_in_package(snapshot, root, folder, out);
    }
    return out;
}
