/* Saves a snapshot to a folder, and loads it.
 *
 * The file `entries` is written last, atomically: a serialised GVariant and its checksum. For a
 * commit, `entries` contains only the id and the digest. For a working tree, it contains every
 * entry, and the files `blobs/ID` contain the contents that HEAD lacks. */
#include <string.h>

#include "vcs_private.h"

#define FORMAT 2u
/* The format of `entries`. Paths are byte strings. A skipped path is (reason, path); an entry is
 * (mode with `on_disk` in the upper bits, where, id, path). */
#define DISK_SHIFT 24
#define LEFT_TYPE "a(yay)"
#define ENTRIES_TYPE "a(uyayay)"
#define MANIFEST_TYPE "(ubssay" LEFT_TYPE ENTRIES_TYPE ")"
/* the "^" makes GVariant convert a C string */
#define MANIFEST_FORMAT "(ubss^ay@" LEFT_TYPE "@" ENTRIES_TYPE ")"
#define SUM_BYTES 64u /* length of a SHA-256 in hex digits */
#define MAX_MANIFEST_BYTES (1024u * 1024 * 1024)

static bool save_blob(AcrSnapshot *snapshot, gsize index, const char *folder, GError **error)
{
    char hex[41];
    gsize len;
    const AcrEntry *entry = acr_snapshot_entry(snapshot, index);
    acr_vcs_id_hex(entry->id, hex);
    g_autofree char *file = g_build_filename(folder, hex, NULL);
    g_autoptr(GBytes) bytes = acr_snapshot_read(snapshot, index, error);
    if (!bytes)
        return false;
    const void *data = g_bytes_get_data(bytes, &len);
    return acr_file_write_atomic(file, data, len, 0, error);
}

static bool save_blobs(AcrSnapshot *snapshot, const char *dir, GError **error)
{
    g_autofree char *folder = g_build_filename(dir, "blobs", NULL);
    if (!acr_dir_make(folder, error))
        return false;
    for (gsize i = 0; i < snapshot->entries->len; i++)
        if (acr_snapshot_entry(snapshot, i)->where == ACR_VCS_KEPT &&
            !save_blob(snapshot, i, folder, error))
            return false;
    return true;
}

static GVariant *left_of(const AcrSnapshot *snapshot)
{
    GVariantBuilder list;
    g_variant_builder_init(&list, G_VARIANT_TYPE(LEFT_TYPE));
    for (guint why = 0; why < ACR_VCS_LEFT_LAST; why++) {
        const GPtrArray *paths = snapshot->left[why];
        for (guint i = 0; i < paths->len; i++)
            g_variant_builder_add(&list, "(y^ay)", why, paths->pdata[i]);
    }
    return g_variant_builder_end(&list);
}

static GVariant *entries_of(const AcrSnapshot *snapshot)
{
    GVariantBuilder list;
    g_variant_builder_init(&list, G_VARIANT_TYPE(ENTRIES_TYPE));
    for (guint i = 0; snapshot->worktree && i < snapshot->entries->len; i++) {
        const AcrEntry *entry = acr_snapshot_entry(snapshot, i);
        g_variant_builder_add(
            &list, "(uy@ay^ay)", entry->mode | (guint32)entry->on_disk << DISK_SHIFT, entry->where,
            g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, entry->id, ACR_BLOB_ID_LEN, 1),
            entry->path);
    }
    return g_variant_builder_end(&list);
}

bool acr_snapshot_save(AcrSnapshot *snapshot, const char *dir, GError **error)
{
    if (!acr_dir_make(dir, error) || (snapshot->worktree && !save_blobs(snapshot, dir, error)))
        return false;
    g_autofree char *digest = acr_snapshot_digest(snapshot);
    g_autoptr(GVariant) manifest = g_variant_ref_sink(g_variant_new(
        MANIFEST_FORMAT, FORMAT, snapshot->worktree, snapshot->commit, digest,
        snapshot->note ? snapshot->note : "", left_of(snapshot), entries_of(snapshot)));
    gsize len = g_variant_get_size(manifest);
    g_autoptr(GString) out = g_string_new_len(g_variant_get_data(manifest), (gssize)len);
    g_autofree char *sum = acr_sha256_hex(out->str, out->len);
    g_string_append(out, sum);
    g_autofree char *file = g_build_filename(dir, "entries", NULL);
    return acr_file_write_atomic(file, out->str, out->len, 0, error);
}

static GVariant *read_manifest(GBytes *bytes)
{
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);
    if (len <= SUM_BYTES)
        return NULL;
    len -= SUM_BYTES;
    g_autofree char *sum = acr_sha256_hex(data, len);
    if (memcmp(data + len, sum, SUM_BYTES) != 0)
        return NULL;
    g_autoptr(GBytes) body = g_bytes_new_from_bytes(bytes, 0, len);
    return g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(MANIFEST_TYPE), body, FALSE));
}

static bool take_left(GVariant *left, AcrSnapshot *snapshot)
{
    for (gsize i = 0; i < g_variant_n_children(left); i++) {
        guchar why;
        g_autofree char *path = NULL;
        g_variant_get_child(left, i, "(y^ay)", &why, &path);
        if (why >= ACR_VCS_LEFT_LAST)
            return false;
        acr_vcs_snapshot_leave(snapshot, (AcrVcsLeft)why, path);
    }
    return true;
}

static bool take_entry(GVariant *entries, gsize index, AcrSnapshot *snapshot)
{
    guint32 mode;
    guchar where;
    gsize len;
    g_autoptr(GVariant) id = NULL;
    g_autofree char *path = NULL;
    g_variant_get_child(entries, index, "(uy@ay^ay)", &mode, &where, &id, &path);
    const guint8 *bytes = g_variant_get_fixed_array(id, &len, 1);
    guint8 on_disk = (guint8)(mode >> DISK_SHIFT);
    mode &= (1u << DISK_SHIFT) - 1;
    return len == ACR_BLOB_ID_LEN && where < ACR_VCS_WHERE_LAST && acr_vcs_path_ok(path) &&
           (mode == ACR_MODE_FILE || mode == ACR_MODE_EXEC || mode == ACR_MODE_LINK) &&
           acr_vcs_snapshot_add(snapshot, path, mode, bytes, (AcrVcsWhere)where, on_disk, NULL);
}

/* Fills an empty snapshot from its manifest. Returns false if the manifest is malformed or has
 * another format number. */
static bool take_manifest(GVariant *manifest, AcrSnapshot *snapshot, char **out_digest)
{
    guint32 format;
    gboolean is_worktree;
    g_autofree char *commit = NULL;
    g_autoptr(GVariant) left = NULL, entries = NULL;
    g_variant_get(manifest, MANIFEST_FORMAT, &format, &is_worktree, &commit, out_digest,
                  &snapshot->note, &left, &entries);
    bool ok = format == FORMAT && take_left(left, snapshot);
    for (gsize i = 0; ok && i < g_variant_n_children(entries); i++)
        ok = take_entry(entries, i, snapshot);
    snapshot->worktree = is_worktree;
    g_strlcpy(snapshot->commit, commit, sizeof snapshot->commit);
    return ok;
}

static bool needs_repo(const AcrSnapshot *snapshot)
{
    bool needed = !snapshot->worktree;
    for (guint i = 0; i < snapshot->entries->len && !needed; i++)
        needed = acr_snapshot_entry(snapshot, i)->where == ACR_VCS_IN_ODB;
    return needed;
}

static AcrSnapshot *find_snapshot(AcrSnapshot *saved, const char *dir, GError **error)
{
    if (needs_repo(saved) && (!saved->repo || !saved->repo->git))
        return ACR_NULL(acr_vcs_fail(error, ACR_VCS_ERROR_MISSING,
                                     "no repository with the run's commit %s was found",
                                     saved->commit));
    if (saved->worktree) {
        saved->blob_dir = g_build_filename(dir, "blobs", NULL);
        acr_vcs_snapshot_seal(saved);
        return acr_snapshot_ref(saved);
    }
    AcrSnapshot *snapshot = acr_snapshot_of_commit(saved->repo, saved->commit, error);
    if (!snapshot && g_error_matches(*error, ACR_VCS_ERROR, ACR_VCS_ERROR_NOT_FOUND))
        (*error)->code = ACR_VCS_ERROR_MISSING;
    return snapshot;
}

AcrSnapshot *acr_snapshot_load(AcrRepo *repo, const char *dir, GError **error)
{
    GError *failure = NULL;
    g_autoptr(GError) cause = NULL;
    g_autofree char *file = g_build_filename(dir, "entries", NULL), *saved_digest = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(file, MAX_MANIFEST_BYTES, &cause);
    if (!bytes) {
        bool missing = g_error_matches(cause, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND);
        return ACR_NULL(acr_vcs_fail(
            error, missing ? ACR_VCS_ERROR_NOT_FOUND : ACR_VCS_ERROR_FAILED, "%s", cause->message));
    }
    g_autoptr(GVariant) manifest = read_manifest(bytes);
    g_autoptr(AcrSnapshot) saved = acr_vcs_snapshot_new(repo), snapshot = NULL;
    if (manifest && take_manifest(manifest, saved, &saved_digest))
        snapshot = find_snapshot(saved, dir, &failure);
    g_autofree char *digest = snapshot ? acr_snapshot_digest(snapshot) : NULL;
    if (digest && g_str_equal(digest, saved_digest))
        return g_steal_pointer(&snapshot);
    if (failure)
        g_propagate_prefixed_error(error, failure, "cannot load '%s': ", dir);
    else
        acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "'%s' is damaged", file);
    return NULL;
}
