/* Private to sandbox: trees of files on disk. */
#ifndef ACR_SANDBOX_TREE_H
#define ACR_SANDBOX_TREE_H

#include <sys/stat.h>

#include "sandbox/helper_spec.h"

/* Writes the files of the snapshot into the empty folder `dir`, owned by `uid` (-1: this user).
 * Files that are too large to be read are left out and named in *out_remark (owned; NULL: none). */
bool acr_tree_export(AcrSnapshot *snapshot, const char *dir, gint64 uid, char **out_remark,
                     GError **error) ACR_MUST_USE;
/* Writes and removes files (AcrHelperFile *) below the folder `root`, without following links; they
 * belong to `uid` (-1: this user). */
bool acr_tree_write(int root, const GPtrArray *files, gint64 uid, GError **error) ACR_MUST_USE;
/* Copies a tree into the folder `to`, parts of which may exist, sharing blocks if the file system
 * can; links stay links; other kinds than files, folders and links are skipped. */
bool acr_tree_copy(const char *from, const char *to, GError **error) ACR_MUST_USE;
/* Makes a folder with this mode, whatever the umask is; an existing one is not changed. */
bool acr_tree_folder(const char *path, mode_t mode, GError **error) ACR_MUST_USE;
/* Gives a tree to a user, without following links. */
bool acr_tree_give(const char *path, gint64 uid, GError **error) ACR_MUST_USE;
/* Gives this user, its owner, the right to read and copy the whole tree. */
bool acr_tree_open_up(const char *path, GError **error) ACR_MUST_USE;
/* Everything except folders below a folder: path -> struct stat *, owned (g_hash_table_unref). NULL
 * if the folder cannot be read; unreadable folders in it are skipped. */
GHashTable *acr_tree_list(const char *path) ACR_MUST_USE;
/* Keeps in `now` what was added, changed or removed (with its old state) since `before`, a list of
 * the same folder. */
void acr_tree_drop_same(GHashTable *now, GHashTable *before);
/* Bytes on disk of a tree, as far as it is readable. */
gint64 acr_tree_bytes(const char *path);

#endif
