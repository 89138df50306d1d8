/*
 * The options of `run` and `swe-bench` that say how a model is reached: a second model, the key,
 * headers, effort. What may be secret goes to the processes of a batch by the environment, never by
 * their arguments, which every user of the machine can read; a user may give it that way too.
 */
#include "verbs/verbs_private.h"

#include <string.h>

#define HEADERS_VARIABLE "ACR_HEADERS" /* one a line */
#define COMMAND_VARIABLE "ACR_KEY_COMMAND"
#define FILE_VARIABLE "ACR_KEY_FILE"
#define MAX_HEADERS 100

GOptionEntry *acr_client_option_entries(AcrClientOptions *options, const GOptionEntry *own)
{
    const GOptionEntry entries[] = {
        {"fallback-model", 0, 0, G_OPTION_ARG_FILENAME, &options->fallback_as_given,
         "Model that takes over where one has failed for good", "MODEL"},
        {"effort", 0, 0, G_OPTION_ARG_FILENAME, &options->effort,
         "Effort of reasoning, in the provider's words (low, medium, high)", "WORD"},
        {"base-url", 0, 0, G_OPTION_ARG_FILENAME, &options->base_url,
         "Address of the first model's provider in place of its own", "URL"},
        {"key-command", 0, 0, G_OPTION_ARG_FILENAME, &options->key_command,
         "Command that prints the key of that provider", "COMMAND"},
        {"key-file", 0, 0, G_OPTION_ARG_FILENAME, &options->key_file,
         "File that holds it, for its owner alone (mode 0600)", "FILE"},
        {"header", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->headers,
         "One more request header for that provider; may be repeated. " HEADERS_VARIABLE
         " in the environment holds more, one a line",
         "'NAME: VALUE'"},
        {"shared-dir", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, &options->shared_dir, NULL,
         NULL},
        G_OPTION_ENTRY_NULL,
    };
    return acr_options_join(own, entries);
}

/* Takes a variable out of the environment, so that no child of ours finds it there; owned. */
static char *take_variable(const char *name)
{
    const char *value = g_getenv(name);
    char *taken = value && *value ? g_strdup(value) : NULL;
    g_unsetenv(name);
    return taken;
}

/* The environment's headers stand before those that were given, which win. */
static void add_headers(char ***headers)
{
    g_autofree char *text = take_variable(HEADERS_VARIABLE);
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", MAX_HEADERS), given = *headers;
    GPtrArray *all = g_ptr_array_new();
    for (guint i = 0; lines[i]; i++)
        if (*g_strstrip(lines[i]))
            g_ptr_array_add(all, g_strdup(lines[i]));
    for (guint i = 0; given && given[i]; i++)
        g_ptr_array_add(all, g_strdup(given[i]));
    g_ptr_array_add(all, NULL);
    *headers = (char **)g_ptr_array_free(all, FALSE);
}

void acr_credentials_from_environment(char ***headers, char **key_command, char **key_file)
{
    g_autofree char *command = take_variable(COMMAND_VARIABLE),
                    *file = take_variable(FILE_VARIABLE);
    add_headers(headers);
    if (*key_command || *key_file)
        return;
    *key_command = g_steal_pointer(&command);
    *key_file = *key_command ? NULL : g_steal_pointer(&file);
}

bool acr_client_options_check(AcrClientOptions *options, const char *verb)
{
    if (options->key_command && options->key_file) {
        acr_verb_usage(verb, "give the key by --key-command or by --key-file, one of them");
        return false;
    }
    acr_credentials_from_environment(&options->headers, &options->key_command, &options->key_file);
    if (options->fallback_as_given)
        options->fallback_model = acr_model_settle(options->fallback_as_given);
    return acr_retry_base(verb, &options->retry_base_ms) &&
           acr_headers_check(options->headers, verb);
}

void acr_client_options_to_child(const AcrClientOptions *options, GPtrArray *argv)
{
    if (options->fallback_model)
        g_ptr_array_add(argv, g_strdup_printf("--fallback-model=%s", options->fallback_model));
    if (options->effort)
        g_ptr_array_add(argv, g_strdup_printf("--effort=%s", options->effort));
    if (options->base_url)
        g_ptr_array_add(argv, g_strdup_printf("--base-url=%s", options->base_url));
    if (options->key_file)
        g_ptr_array_add(argv, g_strdup_printf("--key-file=%s", options->key_file));
    if (options->key_command)
        g_setenv(COMMAND_VARIABLE, options->key_command, TRUE);
    if (options->headers && options->headers[0]) {
        g_autofree char *lines = g_strjoinv("\n", options->headers);
        g_setenv(HEADERS_VARIABLE, lines, TRUE);
    }
}

void acr_client_options_clear(AcrClientOptions *options)
{
    char *const strings[] = {options->fallback_as_given, options->fallback_model, options->effort,
                             options->base_url,          options->key_command,    options->key_file,
                             options->shared_dir};
    for (gsize i = 0; i < G_N_ELEMENTS(strings); i++)
        g_free(strings[i]);
    g_strfreev(options->headers);
    *options = (AcrClientOptions){0};
}
