/* The table of forges. Tokens come only from the environment. A token is sent only to the host
 * in this table, or to the address that the user gave. */
#include "report/report.h"

#include <string.h>

// clang-format off
const AcrForge acr_forges[] = {
    [ACR_FORGE_GITHUB] = {"github.com", "https://api.github.com", "/repos/", false,
                          "Authorization: Bearer ", {"GITHUB_TOKEN", "GH_TOKEN"}},
    [ACR_FORGE_GITLAB] = {"gitlab.com", "https://gitlab.com/api/v4", "/projects/", true,
                          "PRIVATE-TOKEN: ", {"GITLAB_TOKEN", "GL_TOKEN"}},
    [ACR_FORGE_GITEA] = {"gitea.com", "https://gitea.com/api/v1", "/repos/", false,
                         "Authorization: token ", {"GITEA_TOKEN"}},
};
// clang-format on
const guint acr_n_forges = G_N_ELEMENTS(acr_forges);

char *acr_forge_authorisation(const AcrForge *forge)
{
    const char *token = NULL;
    for (gsize i = 0; (!token || !*token) && forge->variables[i]; i++)
        token = g_getenv(forge->variables[i]);
    return token && *token ? g_strconcat(forge->header, token, NULL) : NULL;
}

char *acr_forge_project(const AcrForge *forge, const char *api, const char *project)
{
    gsize len = strlen(api) - (g_str_has_suffix(api, "/") ? 1 : 0);
    g_autofree char *id = g_uri_escape_string(project, forge->is_escaped ? NULL : "/", false);
    return g_strdup_printf("%.*s%s%s", (int)len, api, forge->projects, id);
}
