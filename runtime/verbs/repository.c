#include "verbs/verbs_private.h"

#include <string.h>
#include <unistd.h>

#define MAX_PATCH_BYTES ((gsize)64 * 1024 * 1024)

static void say_unparsed(const AcrIndex *index)
{
    for (gsize i = 0; i < acr_index_n_files(index); i++) {
        const AcrIndexFile *file = acr_index_file(index, i);
        if (file->unparsed)
            acr_verb_say("'%s' cannot be parsed; it is searched as plain text: %s", file->path,
                         file->unparsed);
    }
}

bool acr_repository_open(AcrHost *host, const AcrRunSpec *spec, AcrWorkspace *out, GError **error)
{
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    g_autofree char *path = g_canonicalize_filename(spec->repo ? spec->repo : ".", NULL),
                    *git = g_build_filename(path, ".git", NULL),
                    *line = g_strdup_printf("reading the files of %s", path);
    bool is_shown = isatty(STDERR_FILENO) || !g_file_test(git, G_FILE_TEST_EXISTS);
    if (is_shown && !spec->rev && !spec->verbose)
        acr_console_await(console, line);
    const char *call = spec->verb == ACR_FOR_SEARCH ? spec->arguments[0] : "";
    bool ok = acr_workspace_begin(spec->repo, spec->rev, host, spec->verb == ACR_FOR_PATCH,
                                  !call || strchr(call, '('), out, error);
    acr_console_end(console);
    if (!ok)
        return false;
    if (acr_snapshot_remarks(out->snapshot))
        acr_verb_say("%s", acr_snapshot_remarks(out->snapshot));
    return true;
}

/* Shows that the Python files are being indexed. */
static void await_index(const AcrWorkspace *workspace, AcrConsole *console)
{
    const char *folder = acr_repo_workdir(workspace->repo);
    g_autofree char *path = g_canonicalize_filename(
                        folder ? folder : acr_repo_path(workspace->repo), NULL),
                    *name = g_path_get_basename(path);
    gsize n = acr_workspace_n_code_files(workspace->snapshot);
    g_autofree char *line = g_strdup_printf("indexing %s: %" G_GSIZE_FORMAT " Python file%s", name,
                                            n, n == 1 ? "" : "s");
    acr_console_await(console, line);
}

bool acr_repository_index(AcrHost *host, const AcrRunSpec *spec, AcrWorkspace *workspace,
                          GError **error)
{
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    if (!spec->verbose) /* with --verbose, lines about the files follow instead */
        await_index(workspace, console);
    bool ok = acr_workspace_index_alone(workspace, host, NULL, error);
    acr_console_end(console);
    if (!ok)
        return false;
    if (workspace->remark)
        acr_verb_say("%s", workspace->remark);
    if (spec->verbose && !spec->json)
        say_unparsed(workspace->index);
    return true;
}

bool acr_verb_apply_patch(AcrHost *host, const char *path, AcrOverlay *overlay, GError **error)
{
    bool is_stdin = strcmp(path, "-") == 0;
    g_autoptr(GBytes) diff = is_stdin ? acr_read_stdin(MAX_PATCH_BYTES, host->interrupt, error)
                                      : acr_file_read(path, MAX_PATCH_BYTES, error);
    if (!diff)
        return false;
    gsize len;
    const void *data = g_bytes_get_data(diff, &len);
    bool ok = acr_overlay_apply_diff(overlay, data ? data : "", len, error);
    if (!ok)
        g_prefix_error(error, "'%s': ", path);
    return ok;
}

bool acr_repository_follow(AcrHost *host, AcrWorkspace *workspace, AcrSnapshot **latest,
                           GError **error)
{
    if (!acr_snapshot_is_worktree(workspace->snapshot) ||
        (*latest && acr_snapshot_is_current(*latest)))
        return true;
    g_clear_pointer(latest, acr_snapshot_unref);
    *latest = acr_snapshot_of_worktree_marked(workspace->repo, error);
    if (!*latest)
        return false;
    if (acr_workspace_has_tree(workspace, *latest))
        return true;
    g_auto(AcrWorkspace) fresh = {.snapshot = acr_snapshot_ref(*latest)};
    if (!acr_workspace_index_alone(&fresh, host, NULL, error))
        return false;
    fresh.python = g_steal_pointer(&workspace->python);
    fresh.repo = g_steal_pointer(&workspace->repo);
    acr_workspace_clear(workspace);
    *workspace = fresh;
    fresh = (AcrWorkspace){0};
    return true;
}
