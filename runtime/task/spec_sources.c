/* Sources of options besides the command line: the environment and the user's configuration file.
 * Each source sets only options that no earlier source has set. The file cannot set options that
 * belong to one provider (key, headers, address), because these would be sent to the provider of
 * any model that the user names. No file of a repository is ever read as a configuration file. */
#include "task/run_spec.h"

#include <stddef.h>
#include <string.h>

#include "task/task.h"

#define MAX_CONFIG_BYTES ((gsize)1024 * 1024)

/* Returns whether the option, or an option that conflicts with it, is already set. */
static bool is_settled(const AcrRunSpec *spec, const AcrOption *option)
{
    return acr_run_spec_is_given(spec, option) || acr_option_conflict(spec, option);
}

/* Inserts the lines of the variable before the values that the option already has. */
static bool take_lines(AcrRunSpec *spec, const AcrOption *option, const char *text, GError **error)
{
    g_auto(AcrRunSpec) all = acr_run_spec_of(spec->verb);
    char ***given = (char ***)(void *)((char *)spec + option->offset);
    char ***merged = (char ***)(void *)((char *)&all + option->offset);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++)
        if (*g_strstrip(lines[i]) &&
            !acr_run_spec_set(&all, option, option->variable, lines[i], error))
            return false;
    for (guint i = 0; *given && (*given)[i]; i++)
        if (!acr_run_spec_set(&all, option, option->name, (*given)[i], error))
            return false;
    g_strfreev(*given);
    *given = g_steal_pointer(merged);
    return true;
}

bool acr_run_spec_take_environment(AcrRunSpec *spec, GError **error)
{
    AcrRunSpec before = *spec; /* the spec before this source; its members are borrowed */
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        if (!option->variable || !(option->verbs & spec->verb))
            continue;
        g_autofree char *text = g_strdup(g_getenv(option->variable));
        g_unsetenv(option->variable);
        if (!text || !*text)
            continue;
        if (option->type == ACR_OPTION_HEADERS) {
            if (!take_lines(spec, option, text, error))
                return false;
        } else if (!is_settled(&before, option) &&
                   !acr_run_spec_set(spec, option, option->variable, text, error)) {
            return false;
        }
    }
    return true;
}

char *acr_user_path(const char *variable, const char *in_home, const char *name)
{
    const char *set = g_getenv(variable), *home = g_get_home_dir();
    if (set && g_path_is_absolute(set)) /* the XDG specification says to ignore a relative path */
        return g_build_filename(set, "acr-host", name, NULL);
    if (home && g_path_is_absolute(home))
        return g_build_filename(home, in_home, "acr-host", name, NULL);
    return NULL; /* a path must never be relative to the current folder */
}

/* Rejects a line. Quotes only the word that may be an option's name; the rest may be a secret. */
static bool refuse_line(GError **error, const char *name, const char *why)
{
    bool is_name = *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz-")];
    return acr_task_refuse(error, is_name ? "'%s' %s" : "%s%s", is_name ? name : "", why);
}

static bool refuse_option(GError **error, const AcrOption *option)
{
    bool is_address = option->offset == offsetof(AcrRunSpec, base_url);
    const char *variable = is_address ? "a variable such as OPENAI_BASE_URL" : option->variable;
    g_autofree char *why =
        variable ? g_strdup_printf(
                       "applies to one provider; give it on the command line, or with %s", variable)
                 : g_strdup("can only be given on the command line");
    return refuse_line(error, option->name, why);
}

/* Returns the option `name` that a configuration file may set, if the verb has it (0: any verb);
 * otherwise NULL. */
static const AcrOption *find_for_file(const char *name, guint verb)
{
    for (guint i = 0; i < acr_n_options; i++)
        if ((acr_options[i].flags & ACR_OPTION_CONFIG) && strcmp(acr_options[i].name, name) == 0 &&
            (verb == 0 || (acr_options[i].verbs & verb)))
            return &acr_options[i];
    return NULL;
}

/* Sets the option of one line in `out`, unless `before` (the spec without the file) already has it.
 * Ignores options that only other verbs have. */
static bool take_setting(AcrRunSpec *out, const AcrRunSpec *before, char *line, GError **error)
{
    if (!*g_strstrip(line) || *line == '#')
        return true;
    char *equals = strchr(line, '=');
    if (!equals)
        return refuse_line(error, "", "must be 'name = value'");
    *equals = '\0';
    const char *name = g_strstrip(line), *value = g_strstrip(equals + 1);
    const AcrOption *option = find_for_file(name, before->verb),
                    *own = acr_option_find(name, strlen(name), before->verb),
                    *any = acr_option_find(name, strlen(name), 0);
    const char *nearest = any ? NULL : acr_option_nearest(name, 0);
    g_autofree char *hint =
        g_strdup_printf("is not an option%s%s%s", nearest ? "; did you mean '" : "",
                        nearest ? nearest : "", nearest ? "'?" : "");
    if (!any || (any->flags & ACR_OPTION_INNER))
        return refuse_line(error, name, hint);
    if (!option)
        return !own || find_for_file(name, 0) || refuse_option(error, own);
    return acr_run_spec_is_given(before, option) ||
           acr_run_spec_set(out, option, name, value, error);
}

/* Removes settings of the file that conflict with given options or need options that were not
 * given. The file is for all commands, so its options need not fit each command. */
static void leave_out(AcrRunSpec *spec, const AcrRunSpec *before)
{
    if (!spec->setup) {
        spec->setup_network = before->setup_network;
        spec->setup_ms = before->setup_ms;
    }
    char **const of_place[] = {&spec->python, &spec->setup, &spec->image, &spec->sandbox};
    char *const given[] = {before->python, before->setup, before->image, before->sandbox};
    for (guint i = 0; before->environment && i < G_N_ELEMENTS(given); i++)
        if (!given[i])
            g_clear_pointer(of_place[i], g_free);
    if (before->sandbox && !before->image && strcmp(before->sandbox, ACR_IN_CONTAINER) != 0)
        g_clear_pointer(&spec->image, g_free);
    if (before->image && !before->sandbox)
        g_clear_pointer(&spec->sandbox, g_free);
    bool asks_first = spec->verb == ACR_FOR_ASK && spec->models && !before->models;
    for (guint i = 1; asks_first && spec->models[i]; i++)
        g_clear_pointer(&spec->models[i], g_free);
}

/* Returns the lines of the file, owned; empty if there is no file. Errors: USAGE. */
static char **read_file_lines(const char *path, GError **error)
{
    g_autoptr(GError) reason = NULL;
    /* Check the file itself, because its folder may be missing, too. */
    if (!g_file_test(path, G_FILE_TEST_EXISTS) && !g_file_test(path, G_FILE_TEST_IS_SYMLINK))
        return g_new0(char *, 1);
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_CONFIG_BYTES, &reason);
    if (!bytes)
        return ACR_NULL(
            acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE, "%s", reason->message));
    g_autofree char *text = acr_bytes_text(bytes);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    if (strlen(text) == g_bytes_get_size(bytes))
        return g_steal_pointer(&lines);
    return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE,
                                  "'%s' line %u: contains a NUL byte", path,
                                  MAX(g_strv_length(lines), 1)));
}

bool acr_run_spec_take_file(AcrRunSpec *spec, const char *path, GError **error)
{
    g_auto(GStrv) lines = read_file_lines(path, error);
    if (!lines)
        return false;
    AcrRunSpec before = *spec; /* the spec without the file; its members are borrowed */
    for (guint i = 0; lines[i]; i++) {
        if (take_setting(spec, &before, lines[i], error))
            continue;
        g_prefix_error(error, "'%s' line %u: ", path, i + 1);
        return false;
    }
    leave_out(spec, &before);
    return true;
}
