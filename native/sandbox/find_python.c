/* Finds the Python that runs the project, and the folders that this Python needs. The code reads
 * only file names, links and pyvenv.cfg, and executes nothing, because a virtual environment in the
 * repository is untrusted. */
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 32u
#define MAX_CONFIG_BYTES ((gsize)64 * 1024) /* maximum size of a pyvenv.cfg in bytes */
#define SYSTEM_PYTHON "/usr/bin/python3"

void acr_sandbox_python_clear(AcrSandboxPython *python)
{
    g_clear_pointer(&python->path, g_free);
    g_clear_pointer(&python->venv, g_free);
    g_clear_pointer(&python->roots, g_ptr_array_unref);
    g_clear_pointer(&python->links, g_ptr_array_unref);
    g_clear_pointer(&python->remark, g_free);
    g_clear_pointer(&python->not_taken, g_free);
    g_clear_pointer(&python->stamp, g_free);
}

static bool is_program(const char *path)
{
    return g_file_test(path, G_FILE_TEST_IS_REGULAR) && access(path, X_OK) == 0;
}

/* True if the program is a script (such as pyenv's), which selects a Python by settings of the user
 * that do not exist in the sandbox. */
static bool is_script(const char *path)
{
    char first[2] = "";
    ACR_AUTO_FD fd = acr_file_open(AT_FDCWD, path, true);
    ssize_t n = fd >= 0 ? read(fd, first, sizeof first) : -1;
    return n == (ssize_t)sizeof first && memcmp(first, "#!", sizeof first) == 0;
}

static bool has_entry(AcrSnapshot *snapshot, const char *path)
{
    return acr_snapshot_find(snapshot, path) >= 0;
}

/* Returns the Python of the virtual environment in the working tree. NULL if there is none, or if
 * it must not be used (*out_not says why). A virtual environment that is part of the project's
 * files is not used, because it is untrusted. */
static char *find_venv(const char *work_tree, AcrSnapshot *snapshot, const char **out_not)
{
    if (!work_tree)
        return NULL;
    g_autofree char *path = g_build_filename(work_tree, ".venv", "bin", "python", NULL);
    g_autofree char *config = g_build_filename(work_tree, ".venv", "pyvenv.cfg", NULL),
                    *git = g_build_filename(work_tree, ".git", NULL);
    struct stat st;
    if (lstat(path, &st) != 0)
        return NULL;
    if (has_entry(snapshot, ".venv/pyvenv.cfg") || has_entry(snapshot, ".venv/bin/python") ||
        has_entry(snapshot, ".venv"))
        *out_not = "it belongs to the project itself";
    else if (!g_file_test(git, G_FILE_TEST_EXISTS))
        *out_not = "it may belong to the project, which is not a git repository; use --python if "
                   "you trust it";
    else if (!g_file_test(config, G_FILE_TEST_IS_REGULAR))
        *out_not = "it has no pyvenv.cfg";
    else if (!is_program(path))
        *out_not = "its Python is not executable";
    else
        return g_steal_pointer(&path);
    return NULL;
}

/* Returns the first program `name` in PATH that is not a script. */
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

/* Returns pyenv's Python for the working tree, which its .python-version names; NULL if there is
 * none. pyenv's own programs are scripts. The file may be the project's, so its first word is used
 * only as a name in the user's folder of versions. */
static char *find_pyenv(const char *work_tree)
{
    static const char allowed[] = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-";
    const char *given = g_getenv("PYENV_ROOT"), *home = g_getenv("HOME");
    g_autofree char *root = given && *given ? g_strdup(given)
                                            : g_build_filename(home ? home : "/", ".pyenv", NULL),
                    *file = g_build_filename(work_tree ? work_tree : "/", ".python-version", NULL);
    g_autoptr(GBytes) bytes = work_tree ? acr_file_read(file, MAX_CONFIG_BYTES, NULL) : NULL;
    g_autofree char *text = acr_bytes_text(bytes);
    gsize len = strspn(text, allowed);
    if (len == 0 || text[0] == '.' || (text[len] && !g_ascii_isspace(text[len])))
        return NULL;
    text[len] = '\0';
    g_autofree char *python = g_build_filename(root, "versions", text, "bin", "python3", NULL);
    return g_path_is_absolute(python) && is_program(python) && !is_script(python)
               ? g_steal_pointer(&python)
               : NULL;
}

/* Returns the folder of the virtual environment that contains the executable `path`; NULL if there
 * is none. */
static char *venv_of(const char *path)
{
    g_autofree char *bin = g_path_get_dirname(path);
    g_autofree char *folder = g_path_get_dirname(bin);
    g_autofree char *config = g_build_filename(folder, "pyvenv.cfg", NULL);
    return g_file_test(config, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer(&folder) : NULL;
}

/* Returns the Python of the environment that the user has activated: of VIRTUAL_ENV, of
 * CONDA_PREFIX, or the first Python in PATH if it is in a virtual environment. NULL if there is
 * none, or if it must not be used (*out_not says why). */
static char *find_active(const char *work_tree, AcrSnapshot *snapshot, const char **out_not)
{
    static const char *const names[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    g_autofree char *path = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(names) && !path; i++) {
        const char *folder = g_getenv(names[i]);
        g_autofree char *python =
            folder && *folder ? g_build_filename(folder, "bin", "python", NULL) : NULL;
        if (python && g_path_is_absolute(python) && is_program(python) && !is_script(python))
            path = g_canonicalize_filename(python, NULL);
    }
    if (!path) {
        g_autofree char *first = find_in_path("python3"), *venv = first ? venv_of(first) : NULL;
        path = venv ? g_canonicalize_filename(first, NULL) : NULL;
    }
    if (path && work_tree && acr_path_is_below(path, work_tree) &&
        has_entry(snapshot, path + strlen(work_tree) + 1)) {
        *out_not = "it belongs to the project itself";
        return NULL;
    }
    return g_steal_pointer(&path);
}

static char *find_given(const char *given, GError **error)
{
    g_autofree char *path =
        strchr(given, '/') ? g_canonicalize_filename(given, NULL) : find_in_path(given);
    struct stat st;
    const char *why = !path                                 ? "is not in the PATH"
                      : stat(path, &st) == 0                ? NULL
                      : errno == ENOENT || errno == ENOTDIR ? "does not exist"
                                                            : "cannot be reached by this user";
    if (!why && !is_program(path))
        why = "cannot be run";
    else if (!why && is_script(path))
        why = "is a script";
    if (!why)
        return g_steal_pointer(&path);
    return ACR_NULL(
        acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE, "the Python '%s' %s", given, why));
}

static char *find_system(GError **error)
{
    char *path = is_program(SYSTEM_PYTHON) ? g_strdup(SYSTEM_PYTHON) : find_in_path("python3");
    if (!path)
        acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                         "there is no Python to run the project with; give one with --python");
    return path;
}

/* True if a Python seems to be installed in the folder: the folder has a file
 * lib/pythonX.Y/os.py. */
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
    if (acr_path_is_below(folder, "/usr"))
        return;
    for (guint i = 0; i < python->roots->len; i++)
        if (acr_path_is_below(folder, python->roots->pdata[i]))
            return;
    g_ptr_array_add(python->roots, g_strdup(folder));
}

static bool is_visible(const AcrSandboxPython *python, const char *path)
{
    if (acr_path_is_below(path, "/usr") || acr_path_is_below(path, "/bin") ||
        acr_path_is_below(path, "/lib"))
        return true;
    for (guint i = 0; i < python->roots->len; i++)
        if (acr_path_is_below(path, python->roots->pdata[i]))
            return true;
    return false;
}

/* Follows the links of the executable. Adds those outside the visible folders to python->links, so
 * that they are created again in the sandbox. */
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
                            "'%s': too many levels of symbolic links", python->path);
}

/* Returns the folder of the Python from which the virtual environment was created, which is named
 * in pyvenv.cfg ("home = /x/bin"). */
static char *read_home(const char *venv)
{
    g_autofree char *config = g_build_filename(venv, "pyvenv.cfg", NULL);
    g_autoptr(GBytes) bytes = acr_file_read(config, MAX_CONFIG_BYTES, NULL);
    g_autofree char *text = acr_bytes_text(bytes);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        char *value = strchr(lines[i], '=');
        if (!value)
            continue;
        *value++ = '\0';
        if (strcmp(g_strstrip(lines[i]), "home") == 0 && g_path_is_absolute(g_strstrip(value)))
            return acr_path_real(value);
    }
    return NULL;
}

/* Returns the folder in which the Python is installed: the parent of the program's folder. If the
 * virtual environment has a copy of the program, returns the parent of the original program's
 * folder. NULL if not found. */
static char *find_prefix(const AcrSandboxPython *python)
{
    g_autofree char *program = acr_path_real(python->path);
    g_autofree char *bin = g_path_get_dirname(program ? program : python->path);
    g_autofree char *prefix = g_path_get_dirname(bin);
    if (acr_path_is_below(prefix, "/usr") || is_prefix(prefix))
        return g_steal_pointer(&prefix);
    g_autofree char *home = python->venv ? read_home(python->venv) : NULL;
    g_autofree char *origin = home ? g_path_get_dirname(home) : NULL;
    return origin && (acr_path_is_below(origin, "/usr") || is_prefix(origin))
               ? g_steal_pointer(&origin)
               : NULL;
}

/* True if the folder contains the user's home folder, which would then be visible in the
 * sandbox. */
static bool holds_home(const char *folder)
{
    const char *home = g_getenv("HOME");
    g_autofree char *real = acr_path_real(home && *home ? home : g_get_home_dir());
    return strcmp(folder, "/") == 0 || (real && acr_path_is_below(real, folder));
}

static bool find_roots(AcrSandboxPython *python, GError **error)
{
    python->venv = venv_of(python->path);
    g_autofree char *prefix = find_prefix(python);
    if (!prefix)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                "'%s' is not inside an installed Python", python->path);
    if (holds_home(prefix) || (python->venv && holds_home(python->venv)))
        return acr_sandbox_fail(
            error, ACR_SANDBOX_ERROR_UNAVAILABLE,
            "the Python '%s' cannot be used: its folder contains your home folder", python->path);
    if (python->venv)
        g_ptr_array_add(python->roots, g_strdup(python->venv));
    add_root(python, prefix);
    return follow_links(python, error);
}

static void add_stamp(GString *out, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0)
        g_string_append_printf(out, "%s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT ".%09ld\n", path,
                               (gint64)st.st_size, (gint64)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* Returns AcrSandboxPython.stamp: the sizes and times of the program and, in a virtual environment,
 * of pyvenv.cfg and the package folder, which change when a package is added or removed. */
static char *make_stamp(const AcrSandboxPython *python)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_autofree char *program = acr_path_real(python->path);
    add_stamp(out, program ? program : python->path);
    if (python->venv) {
        g_autofree char *config = g_build_filename(python->venv, "pyvenv.cfg", NULL),
                        *lib = g_build_filename(python->venv, "lib", NULL);
        add_stamp(out, config);
        g_autoptr(GDir) dir = g_dir_open(lib, 0, NULL);
        for (const char *name; dir && (name = g_dir_read_name(dir));) {
            g_autofree char *packages = g_build_filename(lib, name, "site-packages", NULL);
            add_stamp(out, packages);
        }
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* Sets the members of `out` for the Python at `path` (taken). */
static bool take_python(char *path, AcrSandboxPython *out, GError **error)
{
    out->path = path;
    out->roots = g_ptr_array_new_with_free_func(g_free);
    out->links = g_ptr_array_new_with_free_func(g_free);
    if (!path || !find_roots(out, error)) {
        acr_sandbox_python_clear(out);
        return false;
    }
    out->stamp = make_stamp(out);
    return true;
}

bool acr_sandbox_python_find(const char *given, const char *work_tree, AcrSnapshot *snapshot,
                             AcrSandboxPython *out, GError **error)
{
    AcrSandboxPython python = {0};
    g_autoptr(GError) reason = NULL;
    const char *which = given ? "as --python says" : "the environment of the working tree";
    const char *place = "the '.venv' of the working tree", *not_taken = NULL;
    char *path = given ? find_given(given, error) : find_venv(work_tree, snapshot, &not_taken);
    if (!path && !given) {
        const char *not_active = NULL;
        path = find_active(work_tree, snapshot, &not_active);
        which = "the active environment";
        place = not_taken ? place : which;
        not_taken = not_taken ? not_taken : not_active;
    }
    if (!path && !given && (path = find_pyenv(work_tree)))
        which = "pyenv's, which '.python-version' names";
    bool ok = path && take_python(path, &python, given ? error : &reason);
    if (!ok && given)
        return false;
    if (!ok) {
        which = "the system's";
        not_taken = reason ? reason->message : not_taken;
        if (!take_python(find_system(error), &python, error))
            return false;
    }
    python.remark = g_strdup_printf("the Python is '%s', %s", python.path, which);
    if (not_taken)
        python.not_taken = g_strdup_printf("%s is not used: %s", place, not_taken);
    *out = python;
    return true;
}
