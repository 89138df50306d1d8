/* An overlay: a snapshot together with the files that differ from the snapshot, by path. Writing
 * the snapshot's own bytes to a path removes the path from the overlay, so the overlay contains
 * exactly the files that a diff shows. */
#include <string.h>

#include "vcs_private.h"

static void change_free(AcrVcsChange *change)
{
    if (change->content)
        g_bytes_unref(change->content);
    g_free(change);
}

AcrOverlay *acr_overlay_new(AcrSnapshot *snapshot)
{
    AcrOverlay *overlay = g_new0(AcrOverlay, 1);
    overlay->snapshot = acr_snapshot_ref(snapshot);
    overlay->changes =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)change_free);
    return overlay;
}

AcrOverlay *acr_overlay_copy(const AcrOverlay *overlay)
{
    AcrOverlay *copy = acr_overlay_new(overlay->snapshot);
    GHashTableIter iter;
    gpointer path, value;
    g_hash_table_iter_init(&iter, overlay->changes);
    while (g_hash_table_iter_next(&iter, &path, &value)) {
        AcrVcsChange *change = g_memdup2(value, sizeof *change);
        if (change->content)
            g_bytes_ref(change->content);
        g_hash_table_insert(copy->changes, g_strdup(path), change);
    }
    return copy;
}

void acr_overlay_free(AcrOverlay *overlay)
{
    if (!overlay)
        return;
    g_hash_table_unref(overlay->changes);
    acr_snapshot_unref(overlay->snapshot);
    g_free(overlay);
}

static bool snapshot_has_folder(const AcrSnapshot *snapshot, const char *path)
{
    g_autofree char *prefix = g_strconcat(path, "/", NULL);
    guint low = 0, high = snapshot->entries->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (strcmp(g_array_index(snapshot->entries, AcrEntry, middle).path, prefix) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < snapshot->entries->len &&
           g_str_has_prefix(g_array_index(snapshot->entries, AcrEntry, low).path, prefix);
}

static bool was_left_out(const AcrSnapshot *snapshot, const char *path)
{
    for (gsize why = 0; why < ACR_VCS_LEFT_LAST; why++)
        if (g_ptr_array_find_with_equal_func(snapshot->left[why], path, g_str_equal, NULL))
            return true;
    return false;
}

/* True if `folder`, the beginning of a path to be written, exists and is not a folder. */
static bool blocks(const AcrOverlay *overlay, const char *folder)
{
    const AcrVcsChange *change = g_hash_table_lookup(overlay->changes, folder);
    return (change && change->content) || acr_snapshot_find(overlay->snapshot, folder) >= 0 ||
           was_left_out(overlay->snapshot, folder);
}

static bool overlay_has_folder(const AcrOverlay *overlay, const char *path)
{
    gsize len = strlen(path);
    GHashTableIter iter;
    gpointer name, change;
    g_hash_table_iter_init(&iter, overlay->changes);
    while (g_hash_table_iter_next(&iter, &name, &change))
        if (((AcrVcsChange *)change)->content && g_str_has_prefix(name, path) &&
            ((char *)name)[len] == '/')
            return true;
    return false;
}

/* Returns why the path must not be changed; NULL if it may be changed. A symlink may be removed,
 * but not overwritten. */
static const char *refusal(const AcrOverlay *overlay, const char *path, bool removing)
{
    if (!acr_vcs_path_ok(path))
        return "the path is not allowed";
    g_autofree char *part = g_strdup(path);
    for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (blocks(overlay, part))
            return "a parent folder in the path is a file or a symlink, or was left out";
        *slash = '/';
    }
    gssize at = acr_snapshot_find(overlay->snapshot, path);
    if (removing)
        return NULL;
    if (at >= 0 && acr_snapshot_entry(overlay->snapshot, (gsize)at)->mode == ACR_MODE_LINK)
        return "it is a symlink";
    if (at < 0 &&
        (snapshot_has_folder(overlay->snapshot, path) || overlay_has_folder(overlay, path)))
        return "it is a folder";
    return was_left_out(overlay->snapshot, path) ? "it was left out of the snapshot" : NULL;
}

bool acr_overlay_path_ok(const AcrOverlay *overlay, const char *path)
{
    return refusal(overlay, path, false) == NULL;
}

static bool check_path(const AcrOverlay *overlay, const char *path, bool removing, GError **error)
{
    const char *why = refusal(overlay, path, removing);
    return !why || acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "cannot %s '%s': %s",
                                removing ? "remove" : "write", path, why);
}

bool acr_overlay_write(AcrOverlay *overlay, const char *path, guint32 mode, GBytes *content,
                       GError **error)
{
    g_assert(mode == 0 || mode == ACR_MODE_FILE || mode == ACR_MODE_EXEC || mode == ACR_MODE_LINK);
    if (!check_path(overlay, path, false, error))
        return false;
    gssize at = acr_snapshot_find(overlay->snapshot, path);
    const AcrEntry *entry = at < 0 ? NULL : acr_snapshot_entry(overlay->snapshot, (gsize)at);
    AcrVcsChange *change = g_new0(AcrVcsChange, 1);
    change->mode = mode ? mode : entry ? entry->mode : ACR_MODE_FILE;
    change->content = g_bytes_ref(content);
    acr_vcs_blob_id(g_bytes_get_data(content, NULL), g_bytes_get_size(content), change->id);
    if (entry && entry->mode == change->mode && acr_vcs_id_equal(entry->id, change->id)) {
        g_hash_table_remove(overlay->changes, path);
        change_free(change);
    } else {
        g_hash_table_insert(overlay->changes, g_strdup(path), change);
    }
    return true;
}

bool acr_overlay_remove(AcrOverlay *overlay, const char *path, GError **error)
{
    if (!check_path(overlay, path, true, error))
        return false;
    if (!acr_overlay_has(overlay, path))
        return acr_vcs_fail(error, ACR_VCS_ERROR_NOT_FOUND, "no file '%s'", path);
    if (acr_snapshot_find(overlay->snapshot, path) < 0)
        g_hash_table_remove(overlay->changes, path);
    else
        g_hash_table_insert(overlay->changes, g_strdup(path), g_new0(AcrVcsChange, 1));
    return true;
}

GBytes *acr_overlay_read(const AcrOverlay *overlay, const char *path, GError **error)
{
    const AcrVcsChange *change = g_hash_table_lookup(overlay->changes, path);
    if (change && change->content)
        return g_bytes_ref(change->content);
    gssize at = change ? -1 : acr_snapshot_find(overlay->snapshot, path);
    if (at >= 0)
        return acr_snapshot_read(overlay->snapshot, (gsize)at, error);
    return ACR_NULL(acr_vcs_fail(error, ACR_VCS_ERROR_NOT_FOUND, "no file '%s'", path));
}

bool acr_overlay_has(const AcrOverlay *overlay, const char *path)
{
    return acr_overlay_mode(overlay, path) != 0;
}

guint32 acr_overlay_mode(const AcrOverlay *overlay, const char *path)
{
    const AcrVcsChange *change = g_hash_table_lookup(overlay->changes, path);
    if (change)
        return change->content ? change->mode : 0;
    gssize at = acr_snapshot_find(overlay->snapshot, path);
    return at < 0 ? 0 : acr_snapshot_entry(overlay->snapshot, (gsize)at)->mode;
}

char **acr_overlay_changed(const AcrOverlay *overlay)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    GHashTableIter iter;
    gpointer path;
    g_hash_table_iter_init(&iter, overlay->changes);
    while (g_hash_table_iter_next(&iter, &path, NULL))
        g_ptr_array_add(names, g_strdup(path));
    g_ptr_array_sort(names, acr_compare_names);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

bool acr_overlay_is_stored(const AcrOverlay *overlay)
{
    AcrRepo *repo = overlay->snapshot->repo;
    g_autoptr(git_odb) odb = NULL;
    GHashTableIter iter;
    gpointer value;
    if (!repo || !repo->git || acr_git.repository_odb(&odb, repo->git) != 0)
        return false;
    guint n = 0;
    g_hash_table_iter_init(&iter, overlay->changes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const AcrVcsChange *change = value;
        git_oid id;
        if (!change->content)
            continue;
        acr_git.oid_fromraw(&id, change->id);
        if (!acr_git.odb_exists(odb, &id))
            return false;
        n++;
    }
    return n > 0;
}
