/* Finds where the embedded Python is installed. It is the Python of the build or, with
 * ACR_PYTHON_ANY (in a wheel), the Python whose shared library was loaded. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "py/py_object_private.h"

/* Returns PREFIX of the loaded PREFIX/lib/libpython3.11.so.1.0; owned. In Debian, the library is in
 * a subfolder of lib for the architecture. */
static char *find_prefix(void)
{
    Dl_info info;
    char file[PATH_MAX];
    if (!ACR_PYTHON_ANY || !dladdr((void *)Py_GetVersion, &info) || !realpath(info.dli_fname, file))
        return g_strdup(ACR_PYTHON_PREFIX);
    char *folder = g_path_get_dirname(file);
    for (bool is_lib = false; !is_lib && strcmp(folder, "/") != 0;) {
        g_autofree char *below = folder, *name = g_path_get_basename(folder);
        is_lib = strcmp(name, "lib") == 0 || strcmp(name, "lib64") == 0;
        folder = g_path_get_dirname(below);
    }
    return folder;
}

static char *find_executable(void)
{
    g_auto(GStrv) version = g_strsplit(ACR_PYTHON_VERSION, ".", 3);
    if (!ACR_PYTHON_ANY)
        return g_strdup(ACR_PYTHON_EXECUTABLE);
    return g_strdup_printf("%s/bin/python%s.%s", acr_py_prefix(), version[0], version[1]);
}

const char *acr_py_prefix(void)
{
    static char *prefix;
    if (g_once_init_enter(&prefix))
        g_once_init_leave(&prefix, find_prefix());
    return prefix;
}

const char *acr_py_executable(void)
{
    static char *executable;
    if (g_once_init_enter(&executable))
        g_once_init_leave(&executable, find_executable());
    return executable;
}
