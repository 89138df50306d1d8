/* Private to sandbox: trees of files on disk. */
#ifndef ACR_SANDBOX_TREE_H
#define ACR_SANDBOX_TREE_H

#include <sys/stat.h>

#include "sandbox/helper_spec.h"

/* Writes the files of the snapshot into the empty folder `dir`, as `uid`'s (-1: this user's). Files
 * that are too large to be read are left out and named in *out_remark (owned; NULL: none). */
bool acr_tree_export(AcrSnapshot *snapshot, const char *dir, gint64 uid, char **out_remark,
                     GError **error) ACR_MUST_USE;
/* Writes and removes files (AcrHelperFile *) below the folder `root`, no link followed, as `uid`'s (-1:
 * this user's). */
bool acr_tree_write(int root, const GPtrArray *files, gint64 uid, GError **error) ACR_MUST_USE;
/* Copies a tree into the folder `to`, whose folders may be there already, sharing blocks where the
 * file system can; links as links; only files, folders and links. */
bool acr_tree_copy(const char *from, const char *to, GError **error) ACR_MUST_USE;
/* Makes a folder of this mode, whatever the user's umask is; one that is there stays as it is. */
bool acr_tree_folder(const char *path, mode_t mode, GError **error) ACR_MUST_USE;
/* Gives a tree to a user, links not followed. */
bool acr_tree_give(const char *path, gint64 uid, GError **error) ACR_MUST_USE;
/* Gives this user, its owner, the rights to read and copy all of a tree. */
bool acr_tree_open_up(const char *path, GError **error) ACR_MUST_USE;
/* All but folders below a folder: path -> struct stat *, owned (g_hash_table_unref). NULL where it
 * cannot be looked through; what is in a folder that may not be read is passed over. */
GHashTable *acr_tree_list(const char *path) ACR_MUST_USE;
/* Leaves in a list what came, changed or went (as it was) since another list of the same folder. */
void acr_tree_drop_same(GHashTable *now, GHashTable *before);
/* Bytes on disk of a tree, as far as it can be read. */
gint64 acr_tree_bytes(const char *path);

#endif
