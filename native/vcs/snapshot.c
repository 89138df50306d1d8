/* A snapshot: a sorted array of entries, the locations of their contents, and the skipped paths.
 *
 * snapshot_commit.c and snapshot_worktree.c fill a snapshot and seal it. After sealing, the
 * snapshot never changes. snapshot_save.c saves and loads snapshots; snapshot_read.c reads
 * contents. */
#include <string.h>

#include "vcs_private.h"

void acr_vcs_blob_id(const void *data, gsize len, guint8 out_id[ACR_BLOB_ID_LEN])
{
    char head[40];
    int head_len = g_snprintf(head, sizeof head, "blob %" G_GSIZE_FORMAT, len);
    gsize id_len = ACR_BLOB_ID_LEN;
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
    g_checksum_update(sum, (const guchar *)head, head_len + 1);
    g_checksum_update(sum, data ? data : (const guchar *)"", (gssize)len);
    g_checksum_get_digest(sum, out_id, &id_len);
}

void acr_vcs_id_hex(const guint8 id[ACR_BLOB_ID_LEN], char out_hex[41])
{
    git_oid oid;
    acr_git.oid_fromraw(&oid, id);
    acr_git.oid_tostr(out_hex, 41, &oid);
}

guint acr_vcs_id_hash(gconstpointer id)
{
    guint value;
    memcpy(&value, id, sizeof value);
    return value;
}

gboolean acr_vcs_id_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, ACR_BLOB_ID_LEN) == 0;
}

bool acr_vcs_part_ok(const char *part, gsize len)
{
    if (len == 0 || memchr(part, '/', len) ||
        (part[0] == '.' && (len == 1 || (len == 2 && part[1] == '.'))))
        return false;
    return !(len == 4 && !g_ascii_strncasecmp(part, ".git", 4));
}

bool acr_vcs_path_ok(const char *path)
{
    if (strlen(path) > ACR_VCS_MAX_PATH)
        return false;
    for (const char *part = path;;) {
        gsize len = strcspn(part, "/");
        if (!acr_vcs_part_ok(part, len))
            return false;
        if (!part[len])
            return true;
        part += len + 1;
    }
}

AcrSnapshot *acr_vcs_snapshot_new(AcrRepo *repo)
{
    AcrSnapshot *snapshot = g_new0(AcrSnapshot, 1);
    g_atomic_ref_count_init(&snapshot->refs);
    snapshot->repo = repo ? acr_repo_ref(repo) : NULL;
    snapshot->paths = g_string_chunk_new(16 * 1024);
    snapshot->entries = g_array_new(FALSE, FALSE, sizeof(AcrEntry));
    snapshot->kept = g_hash_table_new_full(acr_vcs_id_hash, acr_vcs_id_equal, g_free,
                                           (GDestroyNotify)g_bytes_unref);
    for (gsize i = 0; i < ACR_VCS_LEFT_LAST; i++)
        snapshot->left[i] = g_ptr_array_new_with_free_func(g_free);
    return snapshot;
}

AcrSnapshot *acr_snapshot_ref(AcrSnapshot *snapshot)
{
    g_atomic_ref_count_inc(&snapshot->refs);
    return snapshot;
}

static void history_free(AcrVcsHistory *history)
{
    if (!history)
        return;
    g_array_unref(history->commits);
    g_hash_table_unref(history->tags);
    ACR_FREE(history->digest, history);
}

void acr_snapshot_unref(AcrSnapshot *snapshot)
{
    if (!snapshot || !g_atomic_ref_count_dec(&snapshot->refs))
        return;
    for (gsize i = 0; i < ACR_VCS_LEFT_LAST; i++)
        g_ptr_array_unref(snapshot->left[i]);
    g_hash_table_unref(snapshot->kept);
    g_array_unref(snapshot->entries);
    g_string_chunk_free(snapshot->paths);
    ACR_FREE(snapshot->blob_dir, snapshot->note, snapshot->remarks);
    acr_vcs_marks_free(snapshot->marks);
    history_free(snapshot->history);
    acr_repo_unref(snapshot->repo);
    g_free(snapshot);
}

bool acr_vcs_snapshot_add(AcrSnapshot *snapshot, const char *path, guint32 mode, const guint8 *id,
                          AcrVcsWhere where, guint8 on_disk, GError **error)
{
    if (snapshot->entries->len >= ACR_VCS_MAX_FILES)
        return acr_vcs_fail(error, ACR_VCS_ERROR_TOO_BIG, "more than %u files", ACR_VCS_MAX_FILES);
    AcrEntry entry = {.path = g_string_chunk_insert(snapshot->paths, path),
                      .mode = mode,
                      .where = (guint8)where,
                      .on_disk = on_disk};
    memcpy(entry.id, id, ACR_BLOB_ID_LEN);
    g_array_append_val(snapshot->entries, entry);
    return true;
}

void acr_vcs_snapshot_leave(AcrSnapshot *snapshot, AcrVcsLeft why, const char *path)
{
    g_ptr_array_add(snapshot->left[why], g_strdup(path));
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const AcrEntry *)a)->path, ((const AcrEntry *)b)->path);
}

/* Sorts the entries by path. If several entries have the same path, keeps the first. */
static void sort_entries(GArray *entries)
{
    guint kept = 0;
    g_array_sort(entries, compare_entries);
    for (guint i = 0; i < entries->len; i++) {
        AcrEntry *all = (AcrEntry *)(void *)entries->data;
        if (kept == 0 || compare_entries(&all[kept - 1], &all[i]) != 0)
            all[kept++] = all[i];
    }
    g_array_set_size(entries, kept);
}

static void append_left(GString *out, const GPtrArray *names, const char *one, const char *many)
{
    if (!names->len)
        return;
    if (out->len)
        g_string_append(out, "; ");
    g_string_append_printf(out, "%u %s", names->len, names->len == 1 ? one : many);
    for (guint i = 0; i < names->len && i < ACR_VCS_MAX_LEFT_SHOWN; i++) {
        g_autofree char *shown = acr_vcs_show_path(g_ptr_array_index(names, i));
        g_string_append_printf(out, "%s%s", i ? ", " : ": ", shown);
    }
    if (names->len > ACR_VCS_MAX_LEFT_SHOWN)
        g_string_append_printf(out, " and %u more", names->len - ACR_VCS_MAX_LEFT_SHOWN);
}

void acr_vcs_snapshot_seal(AcrSnapshot *snapshot)
{
    static const char *const words[ACR_VCS_LEFT_LAST][2] = {
        {"submodule was left out", "submodules were left out"},
        {"nested repository was left out", "nested repositories were left out"},
        {"path cannot be read and was left out", "paths cannot be read and were left out"},
        {"entry with a forbidden name was left out", "entries with forbidden names were left out"},
        {"file outside the sparse checkout was left out",
         "files outside the sparse checkout were left out"},
    };
    sort_entries(snapshot->entries);
    GString *out = g_string_new(snapshot->note);
    for (gsize i = 0; i < ACR_VCS_LEFT_LAST; i++) {
        g_ptr_array_sort(snapshot->left[i], acr_compare_names);
        append_left(out, snapshot->left[i], words[i][0], words[i][1]);
    }
    bool empty = out->len == 0;
    snapshot->remarks = g_string_free(out, empty);
}

gsize acr_snapshot_size(const AcrSnapshot *snapshot)
{
    return snapshot->entries->len;
}

const AcrEntry *acr_snapshot_entry(const AcrSnapshot *snapshot, gsize index)
{
    g_assert(index < snapshot->entries->len);
    return &g_array_index(snapshot->entries, AcrEntry, index);
}

gssize acr_snapshot_find(const AcrSnapshot *snapshot, const char *path)
{
    const AcrEntry wanted = {.path = path};
    guint at;
    return g_array_binary_search(snapshot->entries, &wanted, compare_entries, &at) ? (gssize)at
                                                                                   : -1;
}

const char *acr_snapshot_commit(const AcrSnapshot *snapshot)
{
    return snapshot->commit[0] ? snapshot->commit : NULL;
}

bool acr_snapshot_is_worktree(const AcrSnapshot *snapshot)
{
    return snapshot->worktree;
}

const char *acr_snapshot_remarks(const AcrSnapshot *snapshot)
{
    return snapshot->remarks;
}

char *acr_snapshot_digest(const AcrSnapshot *snapshot)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
    for (guint i = 0; i < snapshot->entries->len; i++) {
        const AcrEntry *entry = &g_array_index(snapshot->entries, AcrEntry, i);
        char mode[16];
        int len = g_snprintf(mode, sizeof mode, "%06o ", entry->mode);
        g_checksum_update(sum, (const guchar *)mode, len);
        g_checksum_update(sum, (const guchar *)entry->path, (gssize)strlen(entry->path) + 1);
        g_checksum_update(sum, entry->id, ACR_BLOB_ID_LEN);
    }
    return g_strdup(g_checksum_get_string(sum));
}
