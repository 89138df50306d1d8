/* --version: prints the program's version; with --json, also the versions of the libraries. */
#include "http/http.h"
#include "http/server.h"
#include "verbs/verbs_private.h"

int acr_version_print(bool as_json)
{
    if (!as_json)
        return acr_out_exit(acr_out_text("acr-host " ACR_VERSION "\n"), ACR_EXIT_OK);
    g_autofree char *git2 = acr_vcs_library(), *pcre2 = acr_search_library(),
                    *python = acr_python_library(),
                    *glib = g_strdup_printf("%u.%u.%u", glib_major_version, glib_minor_version,
                                            glib_micro_version);
    const struct {
        const char *name, *version;
    } rows[] = {{"python", python},
                {"glib", glib},
                {"libgit2", git2},
                {"libcurl", acr_http_library()},
                {"libmicrohttpd", acr_http_server_library()},
                {"cjson", acr_json_library()},
                {"sqlite", acr_index_library()},
                {"pcre2", pcre2}};
    AcrJson *libraries = acr_json_new_object();
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        acr_json_set_string(libraries, rows[i].name, rows[i].version);
    g_autoptr(AcrJson) json =
        acr_json_of(ACR_STRING("version", ACR_VERSION), ACR_JSON("libraries", libraries), NULL);
    return acr_out_exit(acr_out_json(json), ACR_EXIT_OK);
}
