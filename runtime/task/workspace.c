/*
 * A snapshot with its index: what search, patch and index work on, and every task.
 */
#include "task/task_private.h"

AcrSnapshot *acr_workspace_snapshot(AcrRepo *repo, const char *rev, GError **error)
{
    if (rev && !*rev) { /* a script's unset variable, which is not HEAD */
        g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_NOT_FOUND,
                    "there is no revision '' in '%s'", acr_repo_path(repo));
        return NULL;
    }
    if (rev || acr_repo_is_bare(repo))
        return acr_snapshot_of_commit(repo, rev ? rev : "HEAD", error);
    return acr_snapshot_of_worktree(repo, error);
}

/*
 * Whether all code can be read, as far as git holds it. What is too large or cannot be parsed stays
 * so, but an object that is missing now may be there next time: the index would then be another
 * one, and the run would not repeat.
 */
static bool check_readable(const AcrWorkspace *workspace, GError **error)
{
    for (gsize i = 0; i < acr_index_n_files(workspace->index); i++) {
        const AcrIndexFile *file = acr_index_file(workspace->index, i);
        g_autoptr(GError) why = NULL;
        g_autoptr(GBytes) bytes =
            file->unparsed ? acr_snapshot_read(workspace->snapshot, file->entry, &why) : NULL;
        if (why && !g_error_matches(why, ACR_VCS_ERROR, ACR_VCS_ERROR_TOO_BIG)) {
            g_propagate_error(error, g_steal_pointer(&why));
            return false;
        }
    }
    return true;
}

/* A run that goes on must not go on with another index. */
static bool check_record(const AcrOutlineRecord *record, GError **error)
{
    if (!record || !record->late)
        return true;
    g_set_error_literal(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT, record->late);
    return false;
}

bool acr_workspace_index(AcrWorkspace *workspace, const AcrHost *host, AcrOutlineRecord *record,
                         GError **error)
{
    gint64 start = g_get_monotonic_time();
    workspace->python = acr_python_new(host->python_dir, error);
    if (!workspace->python)
        return false;
    gint64 started = g_get_monotonic_time();
    const AcrOutliner *outliner = acr_python_outliner(workspace->python);
    AcrOutliner recorded = record ? acr_outline_record_table(record, outliner) : *outliner;
    workspace->index = acr_index_build(workspace->snapshot, &recorded, host->interrupt, error);
    if (!workspace->index || !check_readable(workspace, error) || !check_record(record, error))
        return false;
    workspace->search = acr_search_new(workspace->index);
    workspace->python_ms = (started - start) / 1000;
    workspace->index_ms = (g_get_monotonic_time() - started) / 1000;
    return true;
}

bool acr_workspace_open(const char *repo, const char *rev, const AcrHost *host, AcrWorkspace *out,
                        GError **error)
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
    if (!acr_workspace_index(&workspace, host, NULL, error))
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
