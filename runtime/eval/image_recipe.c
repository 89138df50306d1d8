/* Creates the build context of a missing image from a recipe: a base image, the project at its
 * commit, and the set-up command. The project is a shallow clone. The commit keeps its id, because
 * scripts check out files from it; later commits are missing. */
#include <string.h>

#include "eval/eval_private.h"
#include "eval/images.h"

#define GIT_MS ((gint64)1800 * 1000)
#define SERVE "git -c safe.directory=* -c uploadpack.allowAnySHA1InWant=true upload-pack"

static bool git(const AcrEvalOptions *options, const char *folder, const char *const *argv,
                GError **error)
{
    AcrSpawn spawn = {
        .argv = argv, .cwd = folder, .timeout_ms = GIT_MS, .interrupt = options->host->interrupt};
    g_auto(AcrSpawnResult) spawned = {0};
    if (!acr_spawn_run(&spawn, &spawned, error))
        return false;
    g_autofree char *last = acr_bytes_last_line(spawned.err);
    return spawned.exit_code == 0 ||
           acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED,
                         "cannot copy the project for its image: %s", last);
}

static bool lay_project(const AcrEvalOptions *options, const AcrInstance *task, const char *folder,
                        GError **error)
{
    g_autofree char *path = acr_dataset_repo(options->spec->repos, task->repo);
    if (!path || !task->base_commit)
        return acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED,
                             path ? "the row has no \"base_commit\""
                                  : "cannot find a repository of '%s' in '%s'",
                             task->repo, options->spec->repos);
    g_autofree char *real = acr_path_real(path), *from = g_strconcat("file://", real, NULL);
    const char *const init[] = {"git", "init", "-q", NULL};
    const char *const fetch[] = {"git", "fetch", "-q", "--depth=1",       "--upload-pack",
                                 SERVE, "--",    from, task->base_commit, NULL};
    const char *const checkout[] = {"git", "checkout", "-q", "FETCH_HEAD", NULL};
    return acr_dir_make(folder, error) && git(options, folder, init, error) &&
           git(options, folder, fetch, error) && git(options, folder, checkout, error);
}

char *acr_eval_image_context(const AcrEvalOptions *options, const AcrInstance *task, GError **error)
{
    const AcrRunSpec *spec = options->spec;
    g_autofree char *folder = g_dir_make_tmp("acr-image-XXXXXX", error);
    if (!folder)
        return NULL;
    g_autofree char *project = g_build_filename(folder, "project", NULL),
                    *script = g_build_filename(folder, "setup.sh", NULL),
                    *file = g_build_filename(folder, "Dockerfile", NULL),
                    *text = g_strdup_printf("FROM %s\nRUN rm -rf " ACR_SANDBOX_IMAGE_DIR
                                            "\nCOPY project " ACR_SANDBOX_IMAGE_DIR
                                            "\nCOPY setup.sh /\nWORKDIR " ACR_SANDBOX_IMAGE_DIR
                                            "\nRUN [\"/bin/sh\", \"/setup.sh\"]\n",
                                            spec->image);
    if (lay_project(options, task, project, error) &&
        acr_file_write_atomic(script, spec->setup, strlen(spec->setup), 0755, error) &&
        acr_file_write_atomic(file, text, strlen(text), 0644, error))
        return g_steal_pointer(&folder);
    if (!acr_dir_remove(folder, NULL))
        g_debug("cannot remove '%s'", folder);
    return NULL;
}
