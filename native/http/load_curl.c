/* libcurl is loaded where a server is asked, not with the program. */
#include <dlfcn.h>

#include "http/http_private.h"

#define LIBRARY "libcurl.so.4"

AcrCurl acr_curl;

bool acr_http_load_curl(GError **error)
{
    static const struct {
        const char *name;
        gsize at;
    } functions[] = {
#define ROW(name) {"curl_" #name, G_STRUCT_OFFSET(AcrCurl, name)},
        ACR_CURL_FUNCTIONS(ROW)
#undef ROW
    };
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* stays until the process ends */

    for (gsize i = 0; library && i < G_N_ELEMENTS(functions); i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function)
            break;
        G_STRUCT_MEMBER(void *, &acr_curl, functions[i].at) = function;
        if (i + 1 == G_N_ELEMENTS(functions))
            return true;
    }
    return acr_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED,
                         "cannot load " LIBRARY " (Debian's package libcurl4): %s", dlerror());
}

const char *acr_http_library(void)
{
    return acr_http_load_curl(NULL) ? acr_curl.version_info(CURLVERSION_NOW)->version : NULL;
}
