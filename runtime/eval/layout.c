/*
 * The folder of a prediction, laid out as SWE-bench's harness does it.
 */
#include "eval/eval_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void acr_eval_folder_clear(AcrEvalFolder *folder)
{
    if (folder->path)
        acr_fd_close(&folder->fd);
    g_clear_pointer(&folder->path, g_free);
}

bool acr_eval_folder_open(const AcrRunSpec *spec, const AcrPrediction *prediction, bool make,
                          AcrEvalFolder *out, GError **error)
{
    g_autofree char *name = g_build_filename(ACR_EVAL_LOGS, spec->run_id, prediction->model,
                                             prediction->instance_id, NULL);
    *out = (AcrEvalFolder){.fd = -1, .path = g_build_filename(spec->out, name, NULL)};
    if (make && !acr_dir_make(spec->out, error))
        return false;
    ACR_AUTO_FD top = open(spec->out, O_PATH | O_DIRECTORY | O_CLOEXEC);
    g_autofree char *inside = g_build_filename(name, ".", NULL);
    out->fd = top < 0 ? -1 : acr_dir_open_beneath(top, inside, make);
    return out->fd >= 0 || (!make && errno == ENOENT) ||
           acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED,
                         "the folder '%s' cannot be used: %s", out->path,
                         errno == ELOOP ? "a part of it is a link" : g_strerror(errno));
}

GBytes *acr_eval_folder_read(const AcrEvalFolder *folder, const char *name)
{
    if (folder->fd < 0)
        return NULL;
    ACR_AUTO_FD fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? NULL : acr_fd_read_file(fd, name, ACR_EVAL_MAX_BYTES, NULL);
}

bool acr_eval_folder_write(const AcrEvalFolder *folder, const char *name, const void *data,
                           gsize len, GError **error)
{
    g_autofree char *path = g_build_filename(folder->path, name, NULL);
    return acr_file_write_atomic_at(folder->fd, name, path, data, len, 0644, error);
}

void acr_eval_folder_remove(const AcrEvalFolder *folder, const char *name)
{
    (void)unlinkat(folder->fd, name, 0);
}
