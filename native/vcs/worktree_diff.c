/* The diff from a commit to the working tree. */
#include <string.h>

#include "vcs_private.h"

/* Changes the overlay of `base` so that it has the files of `now`, except `omitted` (may be
 * NULL). */
static bool copy_changes(AcrOverlay *overlay, AcrSnapshot *base, AcrSnapshot *now,
                         const char *omitted, GError **error)
{
    for (gsize i = 0; i < acr_snapshot_size(base); i++) { /* remove files first, to make room for
                                                           * new folders */
        const char *path = acr_snapshot_entry(base, i)->path;
        if (acr_snapshot_find(now, path) < 0 && !acr_overlay_remove(overlay, path, error))
            return false;
    }
    for (gsize i = 0; i < acr_snapshot_size(now); i++) {
        const AcrEntry *entry = acr_snapshot_entry(now, i);
        gssize at = acr_snapshot_find(base, entry->path);
        const AcrEntry *before = at < 0 ? NULL : acr_snapshot_entry(base, (gsize)at);
        if (g_strcmp0(entry->path, omitted) == 0 ||
            (before && before->mode == entry->mode &&
             memcmp(before->id, entry->id, ACR_BLOB_ID_LEN) == 0))
            continue;
        g_autoptr(GBytes) content = acr_snapshot_read(now, i, error);
        if (!content || !acr_overlay_write(overlay, entry->path, entry->mode, content, error))
            return false;
    }
    return true;
}

GBytes *acr_worktree_diff(AcrRepo *repo, const char *rev, const char *omitted, GError **error)
{
    g_autoptr(AcrSnapshot) base = acr_snapshot_of_commit(repo, rev, error);
    g_autoptr(AcrSnapshot) now = base ? acr_snapshot_of_worktree(repo, error) : NULL;
    if (!now)
        return NULL;
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(base);
    g_autofree char *file = acr_path_real(omitted), *root = acr_path_real(acr_repo_workdir(repo)),
                    *start = g_strconcat(root, "/", NULL);
    bool is_inside = file && g_str_has_prefix(file, start);
    return copy_changes(overlay, base, now, is_inside ? file + strlen(start) : NULL, error)
               ? acr_overlay_diff(overlay, error)
               : NULL;
}
