/* libcurl and libmicrohttpd are loaded where a server is asked, or is one, not with the program. */
#include <dlfcn.h>

#include "http/http_private.h"
#include "http/server_private.h"

typedef struct {
    const char *name;
    gsize at; /* in the table */
} Function;

AcrCurl acr_curl;
AcrMhd acr_mhd;

/* Fills a table from a library, which stays until the process ends. `package` is Debian's. */
static bool load(const char *library, const char *package, const Function *functions, gsize n,
                 void *table, GError **error)
{
    if (G_STRUCT_MEMBER(void *, table, functions[n - 1].at)) /* others may be using it */
        return true;
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    for (gsize i = 0; loaded && i < n; i++) {
        void *function = dlsym(loaded, functions[i].name);
        if (!function)
            break;
        G_STRUCT_MEMBER(void *, table, functions[i].at) = function;
        if (i + 1 == n)
            return true;
    }
    return acr_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED,
                         "cannot load %s (Debian's package %s): %s", library, package, dlerror());
}

bool acr_http_load_curl(GError **error)
{
    static const Function functions[] = {
#define ROW(name) {"curl_" #name, G_STRUCT_OFFSET(AcrCurl, name)},
        ACR_CURL_FUNCTIONS(ROW)
#undef ROW
    };
    return load("libcurl.so.4", "libcurl4", functions, G_N_ELEMENTS(functions), &acr_curl, error);
}

bool acr_http_load_mhd(GError **error)
{
    static const Function functions[] = {
#define ROW(name) {"MHD_" #name, G_STRUCT_OFFSET(AcrMhd, name)},
        ACR_MHD_FUNCTIONS(ROW)
#undef ROW
    };
    return load("libmicrohttpd.so.12", "libmicrohttpd12", functions, G_N_ELEMENTS(functions),
                &acr_mhd, error);
}

const char *acr_http_library(void)
{
    return acr_http_load_curl(NULL) ? acr_curl.version_info(CURLVERSION_NOW)->version : NULL;
}

const char *acr_http_server_library(void)
{
    return acr_http_load_mhd(NULL) ? acr_mhd.get_version() : NULL;
}
