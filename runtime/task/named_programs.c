/* Checks that the programs named in options exist, before a run folder is created and before a
 * model costs money. Programs in a container, and programs that --setup installs, cannot be
 * checked. */
#include "sandbox/container_images.h"
#include "task/recorded.h"

#include <string.h>

/* Shell built-ins and keywords with which commands often begin. Most have no program file. */
static const char *const shell_words[] = {
    "!",     "(",     ".",      ":",     "[",      "alias", "case", "cd",   "command",
    "echo",  "eval",  "exec",   "exit",  "export", "false", "for",  "if",   "printf",
    "pwd",   "set",   "source", "test",  "time",   "trap",  "true", "type", "ulimit",
    "umask", "unset", "until",  "while", "{",      NULL};

static bool is_in_folder(const char *folder, const char *inside, const char *name)
{
    g_autofree char *path = folder ? g_build_filename(folder, inside, name, NULL) : NULL;
    return path && g_file_test(path, G_FILE_TEST_EXISTS);
}

/* Returns whether the first program of a command can be found where the command will run. */
static bool may_find_program(const AcrRunSpec *spec, const char *name, const char *work_tree)
{
    static const char *const environments[] = {".venv/bin", "venv/bin", "env/bin", ".env/bin"};
    g_autofree char *beside = spec->python ? g_path_get_dirname(spec->python) : NULL,
                    *found = g_find_program_in_path(name);
    if (strchr(name, '/'))
        return found || (name[0] != '/' && (!work_tree || spec->rev)) ||
               is_in_folder(work_tree, "", name);
    for (guint i = 0; i < G_N_ELEMENTS(environments); i++)
        if (is_in_folder(work_tree, environments[i], name))
            return true;
    /* A sandbox adds the folder of its own Python to PATH. */
    return found || g_str_has_prefix(name, "python") || is_in_folder(beside, "", name);
}

static bool check_command(const AcrRunSpec *spec, const char *option, const char *command,
                          const char *work_tree, GError **error)
{
    const char *start = command ? command + strspn(command, " \t\n") : "";
    g_autofree char *name = g_strndup(start, strcspn(start, " \t\n"));
    bool is_plain = *name && !name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_./-+")];
    if (!is_plain || g_strv_contains(shell_words, name) || may_find_program(spec, name, work_tree))
        return true;
    return acr_task_refuse(error, "%s: there is no program '%s'; install it or name it by its path",
                           option, name);
}

static bool check_engine(const AcrRunSpec *spec, GError **error)
{
    if (spec->dry_run || (spec->verify == ACR_VERIFY_NEVER && !spec->validate &&
                          acr_run_spec_regressions(spec) == ACR_VERIFY_NEVER))
        return true;
    g_autoptr(AcrImages) images = acr_images_open(NULL, error);
    return images != NULL;
}

bool acr_task_check_python(const char *python, const char *work_tree, GError **error)
{
    const char *const argv[] = {python, "-V", NULL}, *const env[] = {"PATH=/usr/bin:/bin", NULL};
    g_autofree char *real = acr_path_real(python),
                    *tree = work_tree ? acr_path_real(work_tree) : NULL;
    g_auto(AcrSpawnResult) ended = {0};
    if (real && tree && acr_path_is_below(real, tree))
        return true;
    AcrSpawn spawn = {.argv = argv, .envp = env, .timeout_ms = 20000, .output_limit = 1000};
    bool has_run = acr_spawn_run(&spawn, &ended, NULL);
    g_autofree char *out = has_run ? acr_bytes_text(ended.out) : NULL,
                    *err = has_run ? acr_bytes_text(ended.err) : NULL;
    if (has_run && (ended.timed_out || strstr(out, "Py") || strstr(err, "Py")))
        return true;
    return acr_task_refuse(
        error, "--python: '%s' is not a Python interpreter: -V prints no version", python);
}

bool acr_task_check_named(const AcrRunSpec *spec, const char *work_tree, GError **error)
{
    static const char *const elsewhere[] = {ACR_IN_CONTAINER, ACR_IN_ENVIRONMENT, ACR_IN_AUTO,
                                            NULL};
    bool is_elsewhere = spec->image || (spec->sandbox && g_strv_contains(elsewhere, spec->sandbox));
    g_autofree char *python =
        spec->python && !is_elsewhere ? g_find_program_in_path(spec->python) : NULL;
    if (is_elsewhere)
        return !spec->image || check_engine(spec, error);
    if (spec->sandbox && !acr_sandbox_check_name(spec->sandbox, error))
        return false;
    if (spec->python && !python)
        return acr_task_refuse(
            error, "--python: '%s' is not an executable program; name a Python interpreter",
            spec->python);
    if (python && !spec->environment && !acr_task_check_python(python, work_tree, error))
        return false;
    return spec->setup ||
           (check_command(spec, "--test-cmd", spec->test_command, work_tree, error) &&
            check_command(spec, "--validate", spec->validate, work_tree, error));
}
