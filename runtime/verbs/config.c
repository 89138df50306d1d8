/* acr-host config: prints the values of a verb's options, and where each value comes from. */
#include <string.h>

#include "verbs/verbs_private.h"

enum { FROM_DEFAULT, FROM_VARIABLE, FROM_FILE, FROM_NOTHING };
static const char *const sources[] = {"default", "environment", "file", "not set"};

static const AcrVerb *find_verb(const char *name)
{
    for (const AcrVerb *const *at = acr_verbs; *at; at++)
        if ((*at)->summary && (*at)->takes && strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

/* Returns whether the option can be set outside the command line. */
static bool is_config_option(const AcrOption *option, guint verb)
{
    return (option->verbs & verb) && ((option->flags & ACR_OPTION_CONFIG) || option->variable);
}

/* Formats the value as a user would write it, or as "(hidden)" if it is secret; owned. */
static char *config_value(const AcrRunSpec *spec, const AcrOption *option, int source)
{
    g_autofree char *key = acr_option_key(option);
    if (source == FROM_DEFAULT)
        return g_strdup(option->default_value ? option->default_value : option->implied_value);
    if (source == FROM_NOTHING || (option->flags & ACR_OPTION_SECRET))
        return source == FROM_NOTHING ? NULL : g_strdup("(hidden)");
    g_autoptr(AcrJson) all = acr_run_spec_to_json(spec, 0);
    return acr_option_value(option, acr_json_get(all, key));
}

/* Makes a row for each option: name, value (null if there is none), source, variable; owned. */
static AcrJson *describe_config(const AcrRunSpec *spec, const guint8 *from)
{
    AcrJson *rows = acr_json_new_array();
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        if (!is_config_option(option, spec->verb))
            continue;
        bool has_default = option->default_value || option->implied_value;
        int source = from[i] == FROM_NOTHING && has_default ? FROM_DEFAULT : from[i];
        g_autofree char *value = config_value(spec, option, source);
        acr_json_add(rows, ACR_STRING("option", option->name), ACR_STRING("value", value),
                     ACR_STRING("source", sources[source]),
                     ACR_STRING("variable", option->variable));
    }
    return rows;
}

/* Sets the source of the options that this source has set. */
static void note_source(const AcrRunSpec *spec, int source, guint8 *from)
{
    for (guint i = 0; i < acr_n_options; i++)
        if (from[i] == FROM_NOTHING && is_config_option(&acr_options[i], spec->verb) &&
            acr_run_spec_is_given(spec, &acr_options[i]))
            from[i] = (guint8)source;
}

static AcrOut print(const char *path, const AcrJson *rows)
{
    bool is_there = path && g_file_test(path, G_FILE_TEST_EXISTS);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "# %s%s\n",
                           path ? path
                                : "there is no home folder, so there is no configuration file",
                           is_there || !path ? "" : " (not there)");
    for (const AcrJson *at = acr_json_first(rows); at; at = acr_json_next(at)) {
        const char *value = acr_json_get_string(at, "value");
        g_string_append_printf(text, "%-18s %-12s %s\n", acr_json_get_string(at, "option"),
                               acr_json_get_string(at, "source"), value ? value : "-");
    }
    return acr_out_text(text->str);
}

static int run_config(AcrHost *host, AcrRunSpec *spec)
{
    const char *name = spec->arguments[0] ? spec->arguments[0] : "run";
    const AcrVerb *verb = find_verb(name);
    const char *nearest = verb ? NULL : acr_verb_nearest(name);
    g_autoptr(GError) error = NULL;
    if (spec->arguments[0] && spec->arguments[1])
        return acr_verb_usage(host, "give one verb, not several");
    if (!verb)
        return acr_verb_usage(host, "there is no verb '%s'%s%s%s", name,
                              nearest ? "; did you mean '" : "", nearest ? nearest : "",
                              nearest ? "'?" : "");
    g_auto(AcrRunSpec) shown = acr_run_spec_of(verb->takes);
    g_autofree guint8 *from = g_malloc(acr_n_options);
    g_autofree char *path = acr_user_path("XDG_CONFIG_HOME", ".config", "config");
    memset(from, FROM_NOTHING, acr_n_options);
    if (!acr_run_spec_take_environment(&shown, &error))
        return acr_verb_fail(host, error);
    note_source(&shown, FROM_VARIABLE, from);
    if (path && !acr_run_spec_take_file(&shown, path, &error))
        return acr_verb_fail(host, error);
    note_source(&shown, FROM_FILE, from);
    g_autoptr(AcrJson) rows = describe_config(&shown, from);
    return acr_out_exit(spec->json ? acr_out_json(rows) : print(path, rows), ACR_EXIT_OK);
}

const AcrVerb acr_verb_config = {
    .name = "config",
    .summary = "Show the options that a verb would use, and where each comes from",
    .takes = ACR_FOR_CONFIG,
    .arguments = "[VERB]",
    .arguments_note = "default: run",
    .examples = {{"Show where each option of `run` gets its value", "config run"}},
    .run = run_config,
};
