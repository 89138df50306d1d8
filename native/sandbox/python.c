/*
 * Which Python the project is run with, and what of the machine must be visible for it to run. It
 * is found by names, links and pyvenv.cfg alone: nothing is executed, since a virtual environment
 * that lies in the repository is as little trusted as the repository.
 */
#include "sandbox/sandbox_private.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 32u
#define SYSTEM_PYTHON "/usr/bin/python3"

void acr_sandbox_python_clear(AcrSandboxPython *python)
{
    g_clear_pointer(&python->path, g_free);
    g_clear_pointer(&python->venv, g_free);
    g_clear_pointer(&python->roots, g_ptr_array_unref);
    g_clear_pointer(&python->links, g_ptr_array_unref);
    g_clear_pointer(&python->remark, g_free);
}

static bool is_program(const char *path)
{
    return g_file_test(path, G_FILE_TEST_IS_REGULAR) && access(path, X_OK) == 0;
}

/* A launcher that picks another program by the user's settings, which are not there inside. */
static bool is_script(const char *path)
{
    char first[2] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, first, sizeof first) : -1;
    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof first && memcmp(first, "#!", sizeof first) == 0;
}

static bool is_below(const char *path, const char *folder)
{
    gsize len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* ---- Which one ----------------------------------------------------------------------------------
 */

/* The virtual environment of the working tree, unless it came with the project's own files. */
static char *find_venv(const char *work_tree, AcrSnapshot *snapshot)
{
    if (!work_tree)
        return NULL;
    g_autofree char *path = g_build_filename(work_tree, ".venv", "bin", "python", NULL);
    g_autofree char *config = g_build_filename(work_tree, ".venv", "pyvenv.cfg", NULL);
    bool is_tracked = acr_snapshot_find(snapshot, ".venv/pyvenv.cfg") >= 0 ||
                      acr_snapshot_find(snapshot, ".venv/bin/python") >= 0 ||
                      acr_snapshot_find(snapshot, ".venv") >= 0;
    return !is_tracked && is_program(path) && g_file_test(config, G_FILE_TEST_IS_REGULAR)
               ? g_steal_pointer(&path)
               : NULL;
}

/* The first Python in PATH that is no script. */
static char *find_in_path(const char *name)
{
    const char *path = g_getenv("PATH");
    g_auto(GStrv) folders = g_strsplit(path ? path : "/usr/local/bin:/usr/bin:/bin", ":", -1);
    for (guint i = 0; folders[i]; i++) {
        g_autofree char *candidate = g_build_filename(folders[i], name, NULL);
        if (g_path_is_absolute(candidate) && is_program(candidate) && !is_script(candidate))
            return g_steal_pointer(&candidate);
    }
    return NULL;
}

static char *choose(const char *given, const char *work_tree, AcrSnapshot *snapshot,
                    const char **out_why, GError **error)
{
    char *path = NULL;
    if (given) {
        *out_why = "as --python says";
        path = strchr(given, '/') ? g_canonicalize_filename(given, NULL) : find_in_path(given);
        if (path && is_program(path) && !is_script(path))
            return path;
        g_free(path);
        acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE, "'%s' is no Python that can be run",
                         given);
        return NULL;
    }
    *out_why = "the environment of the working tree";
    if ((path = find_venv(work_tree, snapshot)))
        return path;
    *out_why = "the system's";
    path = is_program(SYSTEM_PYTHON) ? g_strdup(SYSTEM_PYTHON) : find_in_path("python3");
    if (!path)
        acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                         "there is no Python to run the project with (give one by --python)");
    return path;
}

/* ---- What it needs ------------------------------------------------------------------------------
 */

/* Whether a folder looks like one that a Python is installed in: lib/pythonX.Y/os.py. */
static bool is_prefix(const char *folder)
{
    g_autofree char *lib = g_build_filename(folder, "lib", NULL);
    g_autoptr(GDir) dir = g_dir_open(lib, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *module = g_build_filename(lib, name, "os.py", NULL);
        if (g_str_has_prefix(name, "python") && g_file_test(module, G_FILE_TEST_IS_REGULAR))
            return true;
    }
    return false;
}

static void add_root(AcrSandboxPython *python, const char *folder)
{
    if (is_below(folder, "/usr"))
        return;
    for (guint i = 0; i < python->roots->len; i++)
        if (is_below(folder, python->roots->pdata[i]))
            return;
    g_ptr_array_add(python->roots, g_strdup(folder));
}

static bool is_visible(const AcrSandboxPython *python, const char *path)
{
    if (is_below(path, "/usr") || is_below(path, "/bin") || is_below(path, "/lib"))
        return true;
    for (guint i = 0; i < python->roots->len; i++)
        if (is_below(path, python->roots->pdata[i]))
            return true;
    return false;
}

/* Follows the executable's links; those that lie in no folder that is visible are made inside. */
static bool follow_links(AcrSandboxPython *python, GError **error)
{
    g_autofree char *at = g_strdup(python->path);
    for (guint i = 0; i < MAX_LINKS; i++) {
        g_autofree char *target = g_file_read_link(at, NULL);
        if (!target)
            return true;
        if (!is_visible(python, at)) {
            g_ptr_array_add(python->links, g_strdup(at));
            g_ptr_array_add(python->links, g_strdup(target));
        }
        g_autofree char *folder = g_path_get_dirname(at);
        g_autofree char *next = g_canonicalize_filename(target, folder);
        g_free(at);
        at = g_steal_pointer(&next);
    }
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                            "'%s' is a link to too many links", python->path);
}

/* The folder of the virtual environment that the executable stands in, or NULL. */
static char *venv_of(const char *path)
{
    g_autofree char *bin = g_path_get_dirname(path);
    g_autofree char *folder = g_path_get_dirname(bin);
    g_autofree char *config = g_build_filename(folder, "pyvenv.cfg", NULL);
    return g_file_test(config, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer(&folder) : NULL;
}

static bool find_roots(AcrSandboxPython *python, GError **error)
{
    g_autofree char *program = acr_path_real(python->path);
    g_autofree char *bin = g_path_get_dirname(program);
    g_autofree char *prefix = g_path_get_dirname(bin);
    python->venv = venv_of(python->path);
    if (python->venv)
        g_ptr_array_add(python->roots, g_strdup(python->venv));
    if (!is_below(prefix, "/usr") && !is_prefix(prefix))
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                "'%s' is not in a folder that a Python is installed in",
                                python->path);
    add_root(python, prefix);
    return follow_links(python, error);
}

bool acr_sandbox_python_find(const char *given, const char *work_tree, AcrSnapshot *snapshot,
                             AcrSandboxPython *out, GError **error)
{
    const char *why = NULL;
    g_auto(AcrSandboxPython) python = {0};
    python.roots = g_ptr_array_new_with_free_func(g_free);
    python.links = g_ptr_array_new_with_free_func(g_free);
    python.path = choose(given, work_tree, snapshot, &why, error);
    if (!python.path || !find_roots(&python, error))
        return false;
    python.remark = g_strdup_printf("the Python is '%s', %s", python.path, why);
    *out = python;
    memset(&python, 0, sizeof python);
    return true;
}
