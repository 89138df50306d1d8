#include <string.h>

#include "task/run_folder.h"

#define NOTES "AGENTS.md"
/* maximum number of bytes of the notes that are read; fewer bytes are quoted */
#define MAX_NOTES_BYTES ((gsize)64 * 1024)
#define MAX_NAMED_CHANGES 10

AcrSnapshot *acr_workspace_snapshot(AcrRepo *repo, const char *rev, GError **error)
{
    /* an unset variable in a user's script gives an empty string, which must not mean HEAD */
    if (rev && !*rev) {
        return ACR_NULL(acr_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_NOT_FOUND,
                                      "--rev is empty; give a revision of '%s'",
                                      acr_repo_path(repo)));
    }
    if (rev || acr_repo_is_bare(repo))
        return acr_snapshot_of_commit(repo, rev ? rev : "HEAD", error);
    return acr_snapshot_of_worktree(repo, error);
}

char *acr_host_default_cache(const char *name)
{
    return acr_user_path("XDG_CACHE_HOME", ".cache", name);
}

/* Checks that git has all objects of Python files. A missing object could exist later; then the
 * index would differ, and the run could not be repeated. (A file that is too large or cannot be
 * parsed will not change.) */
static bool check_readable(const AcrIndex *index, GError **error)
{
    for (gsize i = 0; i < acr_index_n_files(index); i++) {
        const AcrIndexFile *file = acr_index_file(index, i);
        if (!file->missing)
            continue;
        return acr_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING, "%s", file->unparsed);
    }
    return true;
}

static bool outline_here(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    return acr_outline_one_by_one(batch, acr_python_outline, ctx, error);
}

static bool outline_by_copies(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    const AcrHost *host = ctx;
    const char *const argv[] = {host->exe, ACR_OUTLINE_VERB, NULL};
    AcrOutlineWorkers workers = {.argv = argv, .jobs = host->jobs};
    return acr_outline_by_workers(batch, &workers, error);
}

static bool build_index(AcrWorkspace *workspace, const AcrHost *host, const char *version,
                        GHashTable *refused, GError **error)
{
    AcrOutliner here = {workspace->python, version, outline_here},
                copies = {(void *)host, version, outline_by_copies};
    g_autoptr(AcrIndexCache) cache =
        host->cache ? acr_index_cache_open(host->cache, ACR_INDEX_CACHE_DEFAULT_BYTES) : NULL;
    AcrIndexOptions options = {.outliner = host->exe ? &copies : &here,
                               .cache = cache,
                               .refused = refused,
                               .interrupt = host->interrupt};
    workspace->index = acr_index_build(workspace->snapshot, &options, error);
    workspace->remark = cache ? g_strdup(acr_index_cache_remark(cache)) : NULL;
    return workspace->index && check_readable(workspace->index, error);
}

bool acr_workspace_index_alone(AcrWorkspace *workspace, const AcrHost *host, GHashTable *refused,
                               GError **error)
{
    gint64 start = g_get_monotonic_time();
    g_autofree char *version = acr_python_outline_version(host->python_dir, error);
    if (!version || !build_index(workspace, host, version, refused, error))
        return false;
    workspace->search = acr_search_new(workspace->index);
    workspace->index_ms = (g_get_monotonic_time() - start) / 1000;
    return true;
}

AcrPython *acr_workspace_python(AcrWorkspace *workspace, const AcrHost *host, GError **error)
{
    if (!workspace->python)
        workspace->python = acr_python_start(host->python_dir, error);
    return workspace->python;
}

bool acr_workspace_index(AcrWorkspace *workspace, const AcrHost *host, GHashTable *refused,
                         GError **error)
{
    gint64 start = g_get_monotonic_time();
    if (!acr_workspace_python(workspace, host, error) ||
        !acr_workspace_index_alone(workspace, host, refused, error) ||
        !acr_python_await(workspace->python, error))
        return false;
    workspace->index_ms = (g_get_monotonic_time() - start) / 1000;
    return true;
}

bool acr_workspace_has_tree(const AcrWorkspace *workspace, const AcrSnapshot *snapshot)
{
    if (!workspace->search)
        return false;
    g_autofree char *old = acr_snapshot_digest(workspace->snapshot),
                    *new = acr_snapshot_digest(snapshot);
    return strcmp(old, new) == 0;
}

const AcrReferee *acr_workspace_referee(AcrWorkspace *workspace, const AcrHost *host)
{
    if (!workspace->referee)
        workspace->referee = acr_referee_worker_new(host->exe, ACR_REFEREE_VERB, host->interrupt);
    return acr_referee_worker_referee(workspace->referee);
}

bool acr_workspace_begin(const char *repo, const char *rev, const AcrHost *host, bool for_patches,
                         bool for_calls, AcrWorkspace *out, GError **error)
{
    g_auto(AcrWorkspace) workspace = {0};
    gint64 start = g_get_monotonic_time();
    /* Start Python in the background: with a warm cache, repository and index do not need it. */
    if (for_patches) {
        (void)acr_workspace_referee(&workspace, host);
        acr_referee_worker_start(workspace.referee);
    } else if (for_calls && !(workspace.python = acr_python_start(host->python_dir, error))) {
        return false;
    }
    workspace.repo = acr_repo_open(repo, error);
    if (!workspace.repo)
        return false;
    workspace.snapshot = acr_workspace_snapshot(workspace.repo, rev, error);
    if (!workspace.snapshot)
        return false;
    workspace.snapshot_ms = (g_get_monotonic_time() - start) / 1000;
    *out = workspace;
    workspace = (AcrWorkspace){0};
    return true;
}

void acr_workspace_clear(AcrWorkspace *workspace)
{
    g_clear_pointer(&workspace->referee, acr_referee_worker_free);
    g_clear_pointer(&workspace->remark, g_free);
    g_clear_pointer(&workspace->search, acr_search_free);
    g_clear_pointer(&workspace->index, acr_index_unref);
    g_clear_pointer(&workspace->snapshot, acr_snapshot_unref);
    g_clear_pointer(&workspace->repo, acr_repo_unref);
    g_clear_pointer(&workspace->python, acr_python_free);
}

gsize acr_workspace_n_code_files(const AcrSnapshot *snapshot)
{
    gsize n = 0;
    for (gsize i = 0; i < acr_snapshot_size(snapshot); i++) {
        const AcrEntry *entry = acr_snapshot_entry(snapshot, i);
        n += entry->mode != ACR_MODE_LINK && g_str_has_suffix(entry->path, ".py") &&
             !acr_index_is_test_path(entry->path);
    }
    return n;
}

char *acr_workspace_notes(const AcrWorkspace *workspace, const AcrPrompts *prompts)
{
    AcrSnapshot *snapshot = workspace->snapshot;
    gssize at = acr_snapshot_find(snapshot, NOTES);
    bool is_file = at >= 0 && acr_snapshot_entry(snapshot, (gsize)at)->mode != ACR_MODE_LINK;
    g_autoptr(GBytes) bytes = is_file ? acr_snapshot_read(snapshot, (gsize)at, NULL) : NULL;
    if (!bytes)
        return NULL;
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);
    g_autofree char *text = acr_utf8_repair(data ? data : "", MIN(len, MAX_NOTES_BYTES));
    return acr_agent_patch_notes(prompts, NOTES, text);
}

/* Returns the number and first names of the files with uncommitted changes; NULL if none; owned. */
static AcrJson *describe_changes(AcrSnapshot *snapshot)
{
    g_autoptr(AcrSnapshot) committed = acr_snapshot_committed(snapshot, NULL);
    AcrSnapshot *sides[] = {snapshot, committed};
    g_autoptr(AcrJson) files = acr_json_new_array();
    gint64 count = 0;
    for (guint side = 0; committed && side < 2; side++)
        for (gsize i = 0; i < acr_snapshot_size(sides[side]); i++) {
            const AcrEntry *entry = acr_snapshot_entry(sides[side], i);
            gssize at = acr_snapshot_find(sides[1 - side], entry->path);
            const AcrEntry *other = at >= 0 ? acr_snapshot_entry(sides[1 - side], (gsize)at) : NULL;
            if (other && (side == 1 || (entry->mode == other->mode &&
                                        memcmp(entry->id, other->id, ACR_BLOB_ID_LEN) == 0)))
                continue;
            if (count++ < MAX_NAMED_CHANGES)
                acr_json_append(files, acr_json_new_bytes(entry->path, strlen(entry->path)));
        }
    AcrJson *named = count ? g_steal_pointer(&files) : NULL;
    return named ? acr_json_of(ACR_INT("count", count), ACR_JSON("files", named), NULL) : NULL;
}

AcrJson *acr_workspace_describe(const AcrWorkspace *workspace)
{
    AcrSnapshot *snapshot = workspace->snapshot;
    g_autofree char *digest = acr_snapshot_digest(snapshot);
    AcrJson *changes = acr_snapshot_commit(snapshot) ? describe_changes(snapshot) : NULL;
    return acr_json_of(
        ACR_STRING("commit", acr_snapshot_commit(snapshot)), ACR_STRING("digest", digest),
        ACR_BOOL("worktree", acr_snapshot_is_worktree(snapshot)),
        ACR_BOOL("git", acr_repo_is_git(workspace->repo)),
        ACR_STRING("git_dir", acr_repo_path(workspace->repo)), ACR_JSON("changes", changes), NULL);
}
