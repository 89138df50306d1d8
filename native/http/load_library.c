/* Loads libcurl and libmicrohttpd when a verb needs them, not when the program starts. */
#include "http/http_private.h"
#include "http/server_private.h"

#include <dlfcn.h>

AcrCurl acr_curl;
AcrMhd acr_mhd;

static bool load_symbol(const char *file, const char *package, const AcrLibraryFunction *functions,
                        gsize n, void *table, GError **error)
{
    AcrLibrary library = {
        file, package, functions, n, RTLD_LOCAL, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED};
    return acr_library_load(&library, table, error);
}

bool acr_http_load_curl(GError **error)
{
    static const AcrLibraryFunction functions[] = {
#define ROW(name) {"curl_" #name, G_STRUCT_OFFSET(AcrCurl, name)},
        ACR_CURL_FUNCTIONS(ROW)
#undef ROW
    };
    return load_symbol("libcurl.so.4", "libcurl4", functions, G_N_ELEMENTS(functions), &acr_curl,
                       error);
}

bool acr_http_load_mhd(GError **error)
{
    static const AcrLibraryFunction functions[] = {
#define ROW(name) {"MHD_" #name, G_STRUCT_OFFSET(AcrMhd, name)},
        ACR_MHD_FUNCTIONS(ROW)
#undef ROW
    };
    return load_symbol("libmicrohttpd.so.12", "libmicrohttpd12", functions, G_N_ELEMENTS(functions),
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
