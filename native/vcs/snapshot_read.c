/* Reads contents: one at a time through the repository's handle, under its lock, or many in
 * parallel.
 *
 * libgit2 takes one lock for all readers of a handle, so each thread of a bulk read opens its own
 * handle. A content is checked against its id only if the caller requests the check, because the
 * check takes longer than decompressing; git itself leaves the check to fsck. */
#include <unistd.h>

#include "vcs_private.h"

#define READ_BATCH 16u /* number of entries that a thread takes at a time */

static GBytes *fail_too_big(const AcrEntry *entry, GError **error)
{
    return ACR_NULL(acr_vcs_fail(error, ACR_VCS_ERROR_TOO_BIG, "'%s' is larger than %u MiB",
                                 entry->path, ACR_VCS_MAX_FILE_BYTES / (1024 * 1024)));
}

static GBytes *fail_missing(const AcrEntry *entry, const char *where, GError **error)
{
    char hex[41];
    acr_vcs_id_hex(entry->id, hex);
    return ACR_NULL(acr_vcs_fail(error, ACR_VCS_ERROR_MISSING, "object %s of '%s' is not in '%s'",
                                 hex, entry->path, where));
}

/* Returns bytes that borrow from the git_odb_object. The object is freed with the last reference to
 * the bytes. */
static GBytes *bytes_of_object(git_odb_object *object)
{
    return g_bytes_new_with_free_func(acr_git.odb_object_data(object),
                                      acr_git.odb_object_size(object),
                                      (GDestroyNotify)acr_git.odb_object_free, object);
}

static GBytes *fail_object(const AcrRepo *repo, const AcrEntry *entry, const char *what,
                           GError **error)
{
    return ACR_NULL(acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "the object of '%s' in '%s' %s",
                                 entry->path, repo->path, what));
}

static bool is_of_id(git_odb_object *object)
{
    git_oid id;
    int rc = acr_git.odb_hash(&id, acr_git.odb_object_data(object), acr_git.odb_object_size(object),
                              GIT_OBJECT_BLOB);
    return rc == 0 && acr_git.oid_equal(&id, acr_git.odb_object_id(object));
}

static GBytes *read_object(const AcrRepo *repo, git_odb *odb, const AcrEntry *entry, bool check,
                           GError **error)
{
    g_autoptr(git_odb_object) object = NULL;
    git_oid id;
    size_t size = 0;
    git_object_t type = GIT_OBJECT_ANY;
    acr_git.oid_fromraw(&id, entry->id);
    int rc = acr_git.odb_read_header(&size, &type, odb, &id);
    if (rc == 0 && size > ACR_VCS_MAX_FILE_BYTES)
        return fail_too_big(entry, error);
    if (rc == 0 && type != GIT_OBJECT_BLOB)
        return fail_object(repo, entry, "is not a blob", error);
    if (rc == 0)
        rc = acr_git.odb_read(&object, odb, &id);
    if (rc == 0 && check && !is_of_id(object))
        return fail_object(repo, entry, "is damaged", error);
    if (rc == 0)
        return bytes_of_object(g_steal_pointer(&object));
    if (rc == GIT_ENOTFOUND)
        return fail_missing(entry, repo->path, error);
    return ACR_NULL(acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot read '%s' from '%s'",
                                     entry->path, repo->path));
}

static GBytes *read_locked(AcrRepo *repo, const AcrEntry *entry, bool check, GError **error)
{
    g_autoptr(git_odb) odb = NULL;
    GBytes *bytes = NULL;
    pthread_mutex_lock(&repo->lock);
    if (acr_git.repository_odb(&odb, repo->git) == 0)
        bytes = read_object(repo, odb, entry, check, error);
    else
        acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot read objects of '%s'", repo->path);
    pthread_mutex_unlock(&repo->lock);
    return bytes;
}

/* Reads a content that was saved earlier, from the file that is named by the content's id. */
static GBytes *read_saved(const AcrSnapshot *snapshot, const AcrEntry *entry, GError **error)
{
    char hex[41];
    guint8 id[ACR_BLOB_ID_LEN];
    g_autoptr(GError) cause = NULL;
    acr_vcs_id_hex(entry->id, hex);
    g_autofree char *file = g_build_filename(snapshot->blob_dir, hex, NULL);
    g_autoptr(GBytes) bytes = acr_file_read(file, ACR_VCS_MAX_FILE_BYTES, &cause);
    if (!bytes && g_error_matches(cause, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        return fail_missing(entry, snapshot->blob_dir, error);
    if (!bytes)
        return ACR_NULL(acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "%s", cause->message));
    acr_vcs_blob_id(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), id);
    if (!acr_vcs_id_equal(id, entry->id))
        return ACR_NULL(acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "'%s' is damaged", file));
    return g_steal_pointer(&bytes);
}

/* Reads the content of an entry. `odb` is a handle of the calling thread; NULL: the repository's
 * handle, under its lock. */
static GBytes *read_entry(const AcrSnapshot *snapshot, git_odb *odb, gsize index, bool check,
                          GError **error)
{
    const AcrEntry *entry = acr_snapshot_entry(snapshot, index);
    if (entry->where == ACR_VCS_NOT_KEPT)
        return fail_too_big(entry, error);
    if (entry->where == ACR_VCS_KEPT) {
        GBytes *kept = g_hash_table_lookup(snapshot->kept, entry->id);
        return kept ? g_bytes_ref(kept) : read_saved(snapshot, entry, error);
    }
    return odb ? read_object(snapshot->repo, odb, entry, check, error)
               : read_locked(snapshot->repo, entry, check, error);
}

GBytes *acr_snapshot_read(AcrSnapshot *snapshot, gsize index, GError **error)
{
    return read_entry(snapshot, NULL, index, true, error);
}

gsize acr_snapshot_content_size(AcrSnapshot *snapshot, gsize index)
{
    const AcrEntry *entry = acr_snapshot_entry(snapshot, index);
    g_autoptr(git_odb) odb = NULL;
    git_oid id;
    size_t size = 0;
    git_object_t type;
    GBytes *kept = g_hash_table_lookup(snapshot->kept, entry->id);
    if (kept || entry->where != ACR_VCS_IN_ODB)
        return kept ? g_bytes_get_size(kept) : 0;
    acr_git.oid_fromraw(&id, entry->id);
    pthread_mutex_lock(&snapshot->repo->lock);
    if (acr_git.repository_odb(&odb, snapshot->repo->git) == 0)
        (void)acr_git.odb_read_header(&size, &type, odb, &id);
    pthread_mutex_unlock(&snapshot->repo->lock);
    return size;
}

/* Data that the threads of a bulk read share. All members except `next` are constant. */
typedef struct {
    const AcrSnapshot *snapshot;
    const gsize *entries;
    gsize n;
    gsize next;    /* the first entry that no thread has taken yet */
    char *objects; /* the folder of the repository's objects, or NULL */
    bool check;    /* check contents against their ids */
    AcrSnapshotSink *sink;
    void *user;
} Reading;

static void *read_share(void *data)
{
    Reading *reading = data;
    g_autoptr(git_odb) odb =
        reading->objects
            ? acr_vcs_odb_open(reading->objects, acr_repo_workdir(reading->snapshot->repo), NULL)
            : NULL;
    for (;;) {
        gsize from = __atomic_fetch_add(&reading->next, READ_BATCH, __ATOMIC_RELAXED);
        if (from >= reading->n)
            return NULL;
        for (gsize i = from; i < MIN(from + READ_BATCH, reading->n); i++) {
            g_autoptr(GError) error = NULL;
            gsize index = reading->entries[i];
            g_autoptr(GBytes) bytes =
                read_entry(reading->snapshot, odb, index, reading->check, &error);
            reading->sink(reading->user, index, bytes, error);
        }
    }
}

static char *objects_folder(AcrRepo *repo)
{
    git_buf path = {0};
    if (!repo || !repo->git)
        return NULL;
    pthread_mutex_lock(&repo->lock);
    bool found = acr_git.repository_item_path(&path, repo->git, GIT_REPOSITORY_ITEM_OBJECTS) == 0;
    pthread_mutex_unlock(&repo->lock);
    char *copy = found ? g_strdup(path.ptr) : NULL;
    acr_git.buf_dispose(&path);
    return copy;
}

static guint threads_for(gsize n)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    gsize batches = n / READ_BATCH + 1;
    return (guint)MIN(batches, (gsize)CLAMP(cores, 1, (long)ACR_VCS_MAX_READERS));
}

void acr_snapshot_read_many(AcrSnapshot *snapshot, const gsize *entries, gsize n, bool check,
                            AcrSnapshotSink *sink, void *user)
{
    pthread_t threads[ACR_VCS_MAX_READERS];
    Reading reading = {.snapshot = snapshot,
                       .entries = entries,
                       .n = n,
                       .check = check,
                       .sink = sink,
                       .user = user};
    g_autofree char *objects = reading.objects = objects_folder(snapshot->repo);
    guint wanted = threads_for(n), started = 0;
    while (started + 1 < wanted &&
           pthread_create(&threads[started], NULL, read_share, &reading) == 0)
        started++;
    read_share(&reading);
    for (guint i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
