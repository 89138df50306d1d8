/* The folders of a run and of a prediction, in the layout of SWE-bench's harness. The grading
 * process holds a lock on the run's folder, so it can safely remove unfinished files of killed
 * processes. */
#include "eval/eval_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void sweep_folder(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (acr_file_is_temporary(entry->d_name))
            (void)unlinkat(folder, entry->d_name, 0);
    if (dir)
        closedir(dir);
    else
        acr_fd_close(&fd);
}

int acr_eval_run_open(const AcrRunSpec *spec, GError **error)
{
    g_autofree char *path = g_build_filename(spec->out, ACR_DIR_EVALUATIONS, spec->run_id, NULL);
    if (!acr_dir_make(path, error))
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        sweep_folder(fd);
        return fd;
    }
    acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED, "cannot use the folder '%s': %s",
                  path,
                  errno == EWOULDBLOCK ? "another process is grading in it" : g_strerror(errno));
    acr_fd_close(&fd);
    return -1;
}

bool acr_eval_write_final(const AcrRunSpec *spec, const char *path, const char *text,
                          GError **error)
{
    g_autofree char *name = g_path_get_basename(path),
                    *made =
                        g_build_filename(spec->out, ACR_DIR_EVALUATIONS, spec->run_id, name, NULL);
    return acr_file_write_atomic(made, text, strlen(text), 0644, error) &&
           (rename(made, path) == 0 ||
            acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED, "cannot write '%s': %s",
                          path, g_strerror(errno)));
}

void acr_eval_folder_clear(AcrEvalFolder *folder)
{
    if (folder->path)
        acr_fd_close(&folder->fd);
    g_clear_pointer(&folder->path, g_free);
}

bool acr_eval_folder_open(const AcrRunSpec *spec, const AcrPrediction *prediction, bool make,
                          AcrEvalFolder *out, GError **error)
{
    g_autofree char *name = g_build_filename(ACR_DIR_EVALUATIONS, spec->run_id, prediction->model,
                                             prediction->instance_id, NULL);
    *out = (AcrEvalFolder){.fd = -1, .path = g_build_filename(spec->out, name, NULL)};
    if (make && !acr_dir_make(spec->out, error))
        return false;
    ACR_AUTO_FD top = open(spec->out, O_PATH | O_DIRECTORY | O_CLOEXEC);
    g_autofree char *inside = g_build_filename(name, ".", NULL);
    out->fd = top < 0 ? -1 : acr_dir_open_beneath(top, inside, make);
    if (make && out->fd >= 0)
        sweep_folder(out->fd);
    return out->fd >= 0 || (!make && errno == ENOENT) ||
           acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED,
                         "the folder '%s' cannot be used: %s", out->path,
                         errno == ELOOP ? "a part of its path is a symbolic link"
                                        : g_strerror(errno));
}

GBytes *acr_eval_folder_read(const AcrEvalFolder *folder, const char *name)
{
    if (folder->fd < 0)
        return NULL;
    ACR_AUTO_FD fd = acr_file_open(folder->fd, name, false);
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
