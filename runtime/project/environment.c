/* Handles environments: finds the recipe for a checkout, and makes a cached virtual environment
 * with the recipe's packages, from a Python of this machine. */
#include "project/project_private.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define READY "acr-host-ready" /* name of the file that marks a complete environment */
#define BUILD_MS ((gint64)1800 * 1000)
#define WAIT_US 200000

#define refuse(error, ...)                                                                         \
    acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_FAILED, __VA_ARGS__)

/* ---- Choosing the Python ---- */

/* Returns pyenv's newest Python of a version such as "3.9"; owned; NULL if there is none. */
static char *find_pyenv(const char *version)
{
    const char *given = g_getenv("PYENV_ROOT"), *home = g_get_home_dir();
    g_autofree char *root = given ? g_strdup(given) : g_build_filename(home, ".pyenv", NULL),
                    *versions = g_build_filename(root, "versions", NULL),
                    *prefix = g_strconcat(version, ".", NULL), *best = NULL;
    g_autoptr(GDir) dir = g_dir_open(versions, 0, NULL);
    guint64 newest = 0;
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        guint64 patch = 0;
        if (g_str_has_prefix(name, prefix) &&
            g_ascii_string_to_unsigned(name + strlen(prefix), 10, 0, 9999, &patch, NULL) &&
            (!best || patch > newest)) {
            newest = patch;
            g_free(best);
            best = g_build_filename(versions, name, "bin", "python", NULL);
        }
    }
    return best && access(best, X_OK) == 0 ? g_steal_pointer(&best) : NULL;
}

/* pyenv comes first because the Python in PATH may be a pyenv shim. */
char *acr_project_base_python(const char *version, GError **error)
{
    g_autofree char *name = g_strdup_printf("python%s", version);
    char *found = find_pyenv(version);
    if (!found)
        found = acr_program_find(name);
    if (!found)
        refuse(error, "%s is neither in the PATH nor in pyenv; install it (pyenv install %s)", name,
               version);
    return found;
}

/* ---- Creating the environment ---- */

static void add_bind(GPtrArray *argv, const char *how, const char *path)
{
    g_ptr_array_add(argv, g_strdup(how));
    g_ptr_array_add(argv, g_strdup(path));
    g_ptr_array_add(argv, g_strdup(path));
}

/* Mounts the system, the Python `base`, and the network settings that are needed to install
 * packages. */
static void add_sight(GPtrArray *argv, const char *base, const char *folder)
{
    static const char system[] =
        "/usr /bin /sbin /lib /lib64 /etc/ssl /etc/hosts /etc/passwd /etc/group /etc/resolv.conf "
        "/etc/pip.conf /etc/nsswitch.conf /etc/ld.so.cache /etc/alternatives /etc/localtime "
        "/usr/local/share/ca-certificates";
    g_auto(GStrv) paths = g_strsplit(system, " ", -1);
    g_autofree char *program = acr_path_real(base), *bin = g_path_get_dirname(program),
                    *prefix = g_path_get_dirname(bin);
    for (guint i = 0; paths[i]; i++)
        add_bind(argv, "--ro-bind-try", paths[i]);
    const char *wheels = g_getenv("PIP_FIND_LINKS");
    if (wheels && g_path_is_absolute(wheels))
        add_bind(argv, "--ro-bind-try", wheels);
    if (!g_str_has_prefix(prefix, "/usr"))
        add_bind(argv, "--ro-bind", prefix);
    add_bind(argv, "--bind", folder);
}

/* Makes the environment of pip: the user's variables for pip, certificates and proxies; owned. */
static char **make_build_environment(void)
{
    static const char *const kept[] = {"PIP_",        "SSL_CERT_",   "REQUESTS_CA_",
                                       "http_proxy",  "https_proxy", "HTTP_PROXY",
                                       "HTTPS_PROXY", "no_proxy",    "NO_PROXY"};
    g_auto(GStrv) all = g_get_environ();
    GPtrArray *left = g_ptr_array_new();
    for (guint i = 0; all[i]; i++)
        for (guint k = 0; k < G_N_ELEMENTS(kept); k++)
            if (g_str_has_prefix(all[i], kept[k]))
                g_ptr_array_add(left, g_strdup(all[i]));
    g_ptr_array_add(left, g_strdup("PATH=/usr/local/bin:/usr/bin:/bin"));
    g_ptr_array_add(left, g_strdup("HOME=/tmp"));
    g_ptr_array_add(left, g_strdup("LANG=C.UTF-8"));
    g_ptr_array_add(left, NULL);
    return (char **)g_ptr_array_free(left, FALSE);
}

static const char build_script[] =
    "\"$1\" -m venv \"$2\" >&2 || exit; d=$2; shift 2; [ $# = 0 ] || "
    "exec \"$d/bin/python\" -m pip install -q --no-input --no-cache-dir \"$@\"";

static GPtrArray *make_command(const AcrGradingPlan *plan, const char *base, const char *folder)
{
    static const char *const first[] = {
        "bwrap", "--unshare-all", "--share-net", "--die-with-parent", "--new-session", "--proc",
        "/proc", "--dev",         "/dev",        "--tmpfs",           "/tmp"};
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < G_N_ELEMENTS(first); i++)
        g_ptr_array_add(argv, g_strdup(first[i]));
    add_sight(argv, base, folder);
    const char *const last[] = {"--chdir",    "/tmp", "--", "/bin/sh", "-c",
                                build_script, "sh",   base, folder};
    for (guint i = 0; i < G_N_ELEMENTS(last); i++)
        g_ptr_array_add(argv, g_strdup(last[i]));
    g_auto(GStrv) packages = g_strsplit(plan->packages, "\n", -1);
    for (guint i = 0; packages[i]; i++)
        if (*packages[i])
            g_ptr_array_add(argv, g_strdup(packages[i]));
    g_ptr_array_add(argv, NULL);
    return argv;
}

static bool build_environment(const AcrGradingPlan *plan, const char *folder, gint64 deadline_us,
                              const AcrInterrupt *interrupt, GError **error)
{
    g_autofree char *base = acr_project_base_python(plan->python, error),
                    *ready = g_build_filename(folder, READY, NULL);
    if (!base || !acr_dir_remove(folder, error) || !acr_dir_make(folder, error))
        return false;
    g_autoptr(GPtrArray) argv = make_command(plan, base, folder);
    g_auto(GStrv) environment = make_build_environment();
    AcrSpawn spawn = {
        .argv = (const char *const *)argv->pdata,
        .envp = (const char *const *)environment,
        .timeout_ms = acr_project_time_left(deadline_us, BUILD_MS),
        .keep_ends = true,
        .interrupt = interrupt,
    };
    g_auto(AcrSpawnResult) ended = {0};
    if (!acr_spawn_run(&spawn, &ended, error))
        return false;
    if (ended.exit_code == 0)
        return acr_file_write_atomic(ready, "", 0, 0644, error);
    g_autofree char *said = acr_sandbox_failure_line(ended.err);
    return refuse(error, "cannot create the environment of Python %s: %s", plan->python,
                  ended.timed_out ? "the installation took too long" : said);
}

AcrLock *acr_project_lock(const char *path, gint64 deadline_us, const AcrInterrupt *interrupt,
                          GError **error)
{
    for (;;) {
        g_autoptr(GError) reason = NULL;
        AcrLock *lock = acr_lock_take(path, &reason);
        if (lock)
            return lock;
        if (!g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_BUSY) ||
            acr_interrupted(interrupt) || acr_project_time_left(deadline_us, 2) < 2)
            return ACR_NULL(acr_pass_error(error, &reason));
        g_usleep(WAIT_US);
    }
}

bool acr_project_has_environment(const AcrGradingPlan *plan, const char *cache)
{
    g_autofree char *ready = g_build_filename(cache, plan->key, READY, NULL),
                    *python = g_build_filename(cache, plan->key, "bin", "python", NULL);
    return g_file_test(ready, G_FILE_TEST_EXISTS) && access(python, X_OK) == 0;
}

char *acr_project_environment(const AcrGradingPlan *plan, const char *cache, gint64 deadline_us,
                              const AcrInterrupt *interrupt, GError **error)
{
    g_autofree char *folder = g_build_filename(cache, plan->key, NULL),
                    *lock_path = g_strconcat(folder, ".lock", NULL),
                    *python = g_build_filename(folder, "bin", "python", NULL);
    if (!acr_project_has_environment(plan, cache)) {
        g_autoptr(AcrLock) lock = NULL;
        if (acr_dir_make(cache, error))
            lock = acr_project_lock(lock_path, deadline_us, interrupt, error);
        if (!lock || (!acr_project_has_environment(plan, cache) &&
                      !build_environment(plan, folder, deadline_us, interrupt, error)))
            return NULL;
    }
    return g_steal_pointer(&python);
}

/* ---- Choosing the recipe ---- */

bool acr_project_find_recipe(AcrRefereeWorker *worker, AcrSnapshot *snapshot, const char *recipe,
                             AcrGradingPlan *out, char **out_name, GError **error)
{
    const AcrProject project = {.worker = worker, .snapshot = snapshot, .command = recipe};
    g_autoptr(AcrJson) found =
        acr_project_ask_about_files(&project, "recipe_files", "recipe", error);
    const char *fault = acr_json_get_string(found, "fault");
    if (!found || fault)
        return fault && acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_NO_RECIPE,
                                      "--environment: %s", fault);
    *out = (AcrGradingPlan){
        .key = g_strdup(acr_json_get_string(found, "key")),
        .python = g_strdup(acr_json_get_string(found, "python")),
        .packages = g_strdup(acr_json_get_string(found, "packages")),
        .install = g_strdup(acr_json_get_string(found, "install")),
        .test = g_strdup(acr_json_get_string(found, "test")),
    };
    *out_name = g_strdup(acr_json_get_string(found, "name"));
    return true;
}
