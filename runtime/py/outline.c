/* Outlines a file with Python's ast (python/acr/outline.py), and returns the versions on which its
 * rows depend. */
#include "py/py_private.h"

#define MAX_SOURCE_OF_OUTLINE (1024u * 1024)

/* There is no deadline: a caller that outlines many files kills a worker process that does not
 * answer. */
bool acr_python_outline(void *python, const char *path, GBytes *source, GBytes **out_rows,
                        GError **error)
{
    return acr_python_call(python, "outline", "outline", source, 0, out_rows, error);
}

char *acr_python_outline_version(const char *package_dir, GError **error)
{
    g_autoptr(GError) why = NULL;
    g_autofree char *path = g_build_filename(package_dir, "acr", "outline.py", NULL);
    g_autoptr(GBytes) source = acr_file_read(path, MAX_SOURCE_OF_OUTLINE, &why);
    if (!source)
        return ACR_NULL(
            acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT, "%s", why->message));
    g_autofree char *digest = acr_sha256_bytes(source);
    g_autofree char *python = acr_py_running_version();
    return g_strdup_printf("%d/%s/%.16s", ACR_OUTLINE_VERSION, python, digest);
}
