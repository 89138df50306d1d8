/* Handles the files of extensions before they run: finds files by name, rejects files inside the
 * repository, and finds the prompts beside a file. */
#include "extensions/extensions_private.h"

#include <string.h>

bool acr_extensions_locate(char **files, const AcrExtensionOptions *options, GError **error)
{
    for (; files && *files; files++) {
        g_autofree char *name = g_path_get_basename(*files);
        g_autoptr(AcrJson) found = NULL;
        if (g_str_has_suffix(name, ".py") || g_file_test(*files, G_FILE_TEST_EXISTS))
            continue;
        if (!acr_extension_process_locate(options, name, &found, error))
            return false;
        const char *path = acr_json_get_string(found, "path"),
                   *why = acr_json_get_string(found, "error");
        if (!path)
            return acr_set_error(
                error, ACR_EXTENSIONS_ERROR, ACR_EXTENSIONS_ERROR_USAGE,
                "--extension: '%s' is not a file, and no extension '%s' is installed%s%s", *files,
                name, why ? ": " : "", why ? why : "");
        g_free(*files);
        *files = g_strdup(path);
    }
    return true;
}

bool acr_extensions_check_files(const char *const *files, const char *workdir, GError **error)
{
    g_autofree char *tree = workdir ? acr_path_real(workdir) : NULL;
    for (; files && *files; files++) {
        g_autofree char *real = acr_path_real(*files);
        g_autoptr(GError) reason = NULL;
        g_autoptr(GBytes) source = acr_file_read(*files, ACR_EXTENSION_MAX_SOURCE, &reason);
        gsize len = tree ? strlen(tree) : 0;
        while (len > 1 && tree[len - 1] == '/')
            len--;
        if (!source)
            return acr_set_error(error, ACR_EXTENSIONS_ERROR, ACR_EXTENSIONS_ERROR_USAGE,
                                 "--extension: %s", reason->message);
        if (tree && strncmp(real, tree, len) == 0 && (real[len] == '/' || len == 1))
            return acr_set_error(error, ACR_EXTENSIONS_ERROR, ACR_EXTENSIONS_ERROR_USAGE,
                                 "--extension '%s' is inside the repository, and acr-host never "
                                 "loads code from there; copy the file elsewhere",
                                 *files);
    }
    return true;
}

char *acr_extension_prompts(const char *file)
{
    gsize len = strlen(file) - (g_str_has_suffix(file, ".py") ? strlen(".py") : 0);
    g_autofree char *folder = g_strdup_printf("%.*s_prompts", (int)len, file);
    return g_file_test(folder, G_FILE_TEST_IS_DIR) ? g_steal_pointer(&folder) : NULL;
}
