/*
 * A snapshot with its index: what search, patch and index work on, and every task.
 */
#include "task/task.h"

AcrSnapshot *acr_workspace_snapshot(AcrRepo *repo, const char *rev, GError **error)
{
    if (rev || acr_repo_is_bare(repo))
        return acr_snapshot_of_commit(repo, rev ? rev : "HEAD", error);
    return acr_snapshot_of_worktree(repo, error);
}

bool acr_workspace_index(AcrWorkspace *workspace, const AcrHost *host, GError **error)
{
    gint64 start = g_get_monotonic_time();
    workspace->python = acr_python_new(host->python_dir, error);
    if (!workspace->python)
        return false;
    gint64 started = g_get_monotonic_time();
    workspace->index =
        acr_index_build(workspace->snapshot, acr_python_outliner(workspace->python), host->interrupt, error);
    if (!workspace->index)
        return false;
    workspace->search = acr_search_new(workspace->index);
    workspace->python_ms = (started - start) / 1000;
    workspace->index_ms = (g_get_monotonic_time() - started) / 1000;
    return true;
}

bool acr_workspace_open(const char *repo, const char *rev, const AcrHost *host, AcrWorkspace *out, GError **error)
{
    g_auto(AcrWorkspace) workspace = {0};
    gint64 start = g_get_monotonic_time();
    workspace.repo = acr_repo_open(repo, error);
    if (!workspace.repo)
        return false;
    workspace.snapshot = acr_workspace_snapshot(workspace.repo, rev, error);
    if (!workspace.snapshot)
        return false;
    workspace.snapshot_ms = (g_get_monotonic_time() - start) / 1000;
    if (!acr_workspace_index(&workspace, host, error))
        return false;
    *out = workspace;
    workspace = (AcrWorkspace){0};
    return true;
}

void acr_workspace_clear(AcrWorkspace *workspace)
{
    g_clear_pointer(&workspace->search, acr_search_free);
    g_clear_pointer(&workspace->index, acr_index_unref);
    g_clear_pointer(&workspace->snapshot, acr_snapshot_unref);
    g_clear_pointer(&workspace->repo, acr_repo_unref);
    g_clear_pointer(&workspace->python, acr_python_free);
}
