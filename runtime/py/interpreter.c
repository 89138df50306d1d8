/* Starts CPython on the calling thread, isolated from the user's environment and from the `python3`
 * in PATH, and checks that its version is the version of the build. */
#include "py/py_object_private.h"

#include <string.h>

#define environment_error(error, ...)                                                              \
    acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT, __VA_ARGS__)

/* Compares only the major and minor version, because only they determine the ABI; an upgrade of the
 * system may change the rest. */
bool acr_py_version_fits(const char *built, const char *running)
{
    const char *dot = strchr(built, '.');
    gsize len = dot ? (gsize)(dot - built) + 1 + strcspn(dot + 1, ".") : strlen(built);
    return strncmp(built, running, len) == 0 && !g_ascii_isdigit(running[len]);
}

/* Returns a copy, because Python 3.11 rewrites the string at each call of Py_GetVersion, in one
 * buffer for all threads. */
const char *acr_py_version(void)
{
    static char *version;
    if (g_once_init_enter(&version))
        g_once_init_leave(&version, g_strdup(Py_GetVersion()));
    return version;
}

char *acr_py_running_version(void)
{
    const char *version = acr_py_version(); /* "3.11.2 (main, …" */
    return g_strndup(version, strcspn(version, " "));
}

static PyStatus preinitialize(void)
{
    PyPreConfig config;
    PyPreConfig_InitIsolatedConfig(&config);
    config.utf8_mode = 1; /* in the C locale, file names and streams would otherwise be ASCII */
#ifdef ACR_SANITIZED
    /* use malloc, so that the sanitizer sees each block */
    config.allocator = PYMEM_ALLOCATOR_MALLOC;
#endif
    return Py_PreInitialize(&config);
}

static PyStatus configure(PyConfig *config)
{
    PyConfig_InitIsolatedConfig(config);
    config->write_bytecode = 0;
    /* only the linter needs installed packages, and it adds the path of these packages itself */
    config->site_import = 0;
    config->use_hash_seed = 1; /* with seed 0, sets have the same order in each run */
    config->hash_seed = 0;
    /* without this, libpython would use the standard library of the `python3` in PATH */
    PyStatus status = PyConfig_SetBytesString(config, &config->executable, acr_py_executable());
    if (PyStatus_Exception(status))
        return status;
    return Py_InitializeFromConfig(config);
}

static bool initialize(GError **error)
{
    PyStatus status = preinitialize();
    if (PyStatus_Exception(status))
        return acr_py_error_status(status, error);
    PyConfig config;
    status = configure(&config);
    PyConfig_Clear(&config);
    return !PyStatus_Exception(status) || acr_py_error_status(status, error);
}

static bool check_prefix(GError **error)
{
    PyObject *prefix = PySys_GetObject("base_prefix"); /* borrowed */
    const char *text = prefix && PyUnicode_Check(prefix) ? PyUnicode_AsUTF8(prefix) : NULL;
    PyErr_Clear();
    if (text && strcmp(text, acr_py_prefix()) == 0)
        return true;
    return environment_error(
        error, "Python's standard library is in '%s', but acr-host was built for '%s' (%s)",
        text ? text : "?", acr_py_prefix(), acr_py_executable());
}

static bool add_package(const char *package_dir, GError **error)
{
    g_autoptr(GError) why = NULL;
    PyObject *path = PySys_GetObject("path"); /* borrowed */
    PyObject *dir = PyUnicode_DecodeFSDefault(package_dir);
    bool ok = path && dir && PyList_Check(path) && PyList_Insert(path, 0, dir) == 0;
    Py_XDECREF(dir);
    PyObject *calls = ok ? PyImport_ImportModule("acr.calls") : NULL;
    ok = calls != NULL;
    Py_XDECREF(calls);
    if (ok)
        return true;
    acr_py_error_take(0, &why);
    return environment_error(
        error, "cannot import acr-host's Python files from '%s': %s; install acr-host again",
        package_dir, why->message);
}

static bool bar_slow_codecs(GError **error)
{
    g_auto(GStrv) names = g_strsplit(ACR_PY_SLOW_CODECS, " ", 0);
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    for (gsize i = 0; names[i]; i++) {
        if (PyDict_SetItemString(modules, names[i], Py_None) == 0)
            continue;
        acr_py_error_take(0, error);
        return false;
    }
    return true;
}

bool acr_py_start(const char *package_dir, GError **error)
{
    g_autofree char *init = g_build_filename(package_dir, "acr", "__init__.py", NULL);
    if (!g_file_test(init, G_FILE_TEST_IS_REGULAR))
        return environment_error(
            error, "acr-host's Python files are missing: no '%s'; install acr-host again", init);
    if (!acr_py_version_fits(ACR_PYTHON_VERSION, acr_py_version()))
        return environment_error(error, "libpython is version %.20s, but acr-host was built for %s",
                                 acr_py_version(), ACR_PYTHON_VERSION);
    if (Py_IsInitialized())
        return environment_error(error, "this process already has a Python interpreter");
    if (!initialize(error))
        return false;
    if (check_prefix(error) && bar_slow_codecs(error) && add_package(package_dir, error))
        return true;
    (void)Py_FinalizeEx();
    return false;
}

PyObject *acr_py_call(const char *module, const char *function, GBytes *argument)
{
    gsize len = 0;
    const char *data = argument ? g_bytes_get_data(argument, &len) : "";
    g_autofree char *name = g_strconcat("acr.", module, NULL);
    PyObject *imported = PyImport_ImportModule(name);
    PyObject *bytes = imported ? PyBytes_FromStringAndSize(data, (Py_ssize_t)len) : NULL;
    PyObject *result = bytes ? PyObject_CallMethod(imported, function, "O", bytes) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(imported);
    if (result && !PyBytes_Check(result)) {
        PyErr_Format(PyExc_TypeError, "%s.%s returned %s, not bytes", name, function,
                     Py_TYPE(result)->tp_name);
        Py_CLEAR(result);
    }
    return result;
}

char *acr_python_library(void)
{
    return acr_py_running_version();
}
