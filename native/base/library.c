/* Loads shared libraries when they are first needed, not when the program starts. */
#include "base/base_private.h"

#include <dlfcn.h>

bool acr_library_load(const AcrLibrary *library, void *table, GError **error)
{
    if (G_STRUCT_MEMBER(void *, table, library->functions[library->n - 1].at))
        return true; /* the library stays loaded, because other threads may be using it */
    void *loaded = dlopen(library->file, RTLD_NOW | library->scope);
    for (gsize i = 0; loaded && i < library->n; i++) {
        void *function = dlsym(loaded, library->functions[i].name);
        if (!function)
            break;
        G_STRUCT_MEMBER(void *, table, library->functions[i].at) = function;
        if (i + 1 == library->n)
            return true;
    }
    return acr_set_error(error, library->domain, library->code,
                         "cannot load %s (install Debian's package %s): %s", library->file,
                         library->package, dlerror());
}
