/* Installs the system call filter in containers. The folder ACR_ENGINE_WALLS contains a program
 * through which all processes of the container start, and the filter that this program installs.
 * The folder is in the cache and is mounted read-only, so that not even root in the container can
 * change its files. If an engine on another machine cannot mount the folder, the files are copied
 * into the container. */
#include "sandbox/container_engine_private.h"
#include "sandbox/sandbox_private.h"

#include <fcntl.h>
#include <string.h>

#define ENTER "enter"
#define FILTER "filter"
#define KEY_LENGTH 24

extern const char acr_sandbox_enter[];
extern const unsigned acr_sandbox_enter_size;

static GPtrArray *list_hidden_files(const char *folder)
{
    GPtrArray *files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    g_autoptr(GBytes) enter = g_bytes_new_static(acr_sandbox_enter, acr_sandbox_enter_size),
                      filter = acr_seccomp_walls(false);
    g_autofree char *enter_at = g_strconcat(folder, ENTER, NULL),
                    *filter_at = g_strconcat(folder, FILTER, NULL);
    acr_helper_file(files, enter_at, ACR_MODE_EXEC, enter);
    acr_helper_file(files, filter_at, ACR_MODE_FILE, filter);
    return files;
}

static bool make(void *ctx, const char *dir, GError **error)
{
    g_autofree char *tree = g_build_filename(dir, ACR_SANDBOX_TREE, NULL);
    g_autoptr(GPtrArray) files = list_hidden_files("");
    if (!acr_tree_folder(tree, 0755, error))
        return false;
    ACR_AUTO_FD root = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return acr_tree_write(root, files, -1, error);
}

char *acr_engine_walls_folder(AcrTreeCache *cache, GError **error)
{
    g_autoptr(GBytes) filter = acr_seccomp_walls(false);
    g_autofree char *one = acr_sha256_hex(acr_sandbox_enter, acr_sandbox_enter_size),
                    *other = acr_sha256_bytes(filter);
    g_autofree char *key = g_strdup_printf("walls-%.*s-%.*s", KEY_LENGTH, one, KEY_LENGTH, other);
    g_autofree char *dir = acr_tree_cache_get(cache, key, make, NULL, error);
    return dir ? g_build_filename(dir, ACR_SANDBOX_TREE, NULL) : NULL;
}

void acr_engine_walls_mount(const char *folder, AcrJson *host_config)
{
    AcrJson *mounts = acr_json_new_array();
    acr_json_add(mounts, ACR_STRING("Type", "bind"), ACR_STRING("Source", folder),
                 ACR_STRING("Target", ACR_ENGINE_WALLS), ACR_BOOL("ReadOnly", true));
    acr_json_set(host_config, "Mounts", mounts);
}

GBytes *acr_engine_walls_tar(void)
{
    g_autoptr(GPtrArray) files = list_hidden_files(&ACR_ENGINE_WALLS "/"[1]);
    return acr_tar_write(files);
}

void acr_engine_walls_words(const AcrEngine *engine, GPtrArray *argv)
{
    if (engine->walls != ACR_WALLS_NONE)
        acr_helper_words(argv, ACR_ENGINE_WALLS "/" ENTER, ACR_ENGINE_WALLS "/" FILTER, NULL);
}

AcrWalls acr_engine_walls(const AcrEngine *engine)
{
    return engine->walls;
}

bool acr_engine_lower_walls(AcrEngine *engine)
{
    if (engine->walls == ACR_WALLS_NONE)
        return false;
    engine->walls++;
    return true;
}
