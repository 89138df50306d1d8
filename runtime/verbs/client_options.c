/*
 * The options of `run`, `swe-bench` and `ask` that say how a model is called: its server, the key,
 * headers, effort, retries, prices. What may be secret goes to the processes of a batch by the
 * environment, never by their arguments, which every user of the machine can read; a user may give
 * it that way too.
 */
#include "verbs/verbs_private.h"

#include <string.h>

#define HEADERS_VARIABLE "ACR_HEADERS" /* one a line */
#define COMMAND_VARIABLE "ACR_KEY_COMMAND"
#define FILE_VARIABLE "ACR_KEY_FILE"
#define MAX_HEADERS 100
#define MAX_RETRIES 20
#define MAX_TEMPERATURE 2

GOptionEntry *acr_client_option_entries(AcrClientOptions *options, const GOptionEntry *own)
{
    const GOptionEntry entries[] = {
        {"effort", 0, 0, G_OPTION_ARG_FILENAME, &options->effort,
         "Effort of reasoning, in the provider's words (low, medium, high)", "WORD"},
        {"base-url", 0, 0, G_OPTION_ARG_FILENAME, &options->base_url,
         "Address of the (first) model's provider in place of its own", "URL"},
        {"key-command", 0, 0, G_OPTION_ARG_FILENAME, &options->key_command,
         "Command that prints the key of that provider", "COMMAND"},
        {"key-file", 0, 0, G_OPTION_ARG_FILENAME, &options->key_file,
         "File that holds it, for its owner alone (mode 0600)", "FILE"},
        {"header", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->headers,
         "One more request header for that provider; may be repeated. " HEADERS_VARIABLE
         " in the environment holds more, one a line",
         "'NAME: VALUE'"},
        {"temperature", 0, 0, G_OPTION_ARG_DOUBLE, &options->temperature,
         "Sampling temperature (default: the model's)", "T"},
        {"retries", 0, 0, G_OPTION_ARG_INT, &options->retries,
         "How often a call that failed for the moment is made again (default 8)", "N"},
        {"prices", 0, 0, G_OPTION_ARG_FILENAME, &options->prices,
         "Prices of models, in LiteLLM's or genai-prices' form, that go before the built-in ones",
         "FILE"},
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

/* What was given goes before what the environment says. */
static void take_credentials(AcrClientOptions *options)
{
    g_autofree char *command = take_variable(COMMAND_VARIABLE),
                    *file = take_variable(FILE_VARIABLE);
    add_headers(&options->headers);
    if (options->key_command || options->key_file)
        return;
    options->key_command = g_steal_pointer(&command);
    options->key_file = options->key_command ? NULL : g_steal_pointer(&file);
}

static bool check_temperature(double temperature, const char *verb)
{
    if (temperature == -1 || (temperature >= 0 && temperature <= MAX_TEMPERATURE)) /* no NaN */
        return true;
    acr_verb_usage(verb, "--temperature must be from 0 to %d", MAX_TEMPERATURE);
    return false;
}

bool acr_client_options_check(AcrClientOptions *options, const char *verb)
{
    if (options->key_command && options->key_file) {
        acr_verb_usage(verb, "give the key by --key-command or by --key-file, one of them");
        return false;
    }
    take_credentials(options);
    if (options->prices) {
        g_autofree char *given = g_steal_pointer(&options->prices);
        options->prices = g_canonicalize_filename(given, NULL);
    }
    return check_temperature(options->temperature, verb) &&
           acr_range_check(verb, "retries", options->retries, 0, MAX_RETRIES) &&
           acr_retry_base(verb, &options->retry_base_ms) &&
           acr_headers_check(options->headers, verb);
}

void acr_client_options_to_child(const AcrClientOptions *options, GPtrArray *argv)
{
    g_ptr_array_add(argv, g_strdup_printf("--retries=%d", options->retries));
    if (options->temperature >= 0) {
        char number[G_ASCII_DTOSTR_BUF_SIZE];
        g_ptr_array_add(
            argv, g_strconcat("--temperature=",
                              g_ascii_dtostr(number, sizeof number, options->temperature), NULL));
    }
    if (options->prices)
        g_ptr_array_add(argv, g_strdup_printf("--prices=%s", options->prices));
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
    char *const strings[] = {options->effort, options->base_url, options->key_command,
                             options->key_file, options->prices};
    for (gsize i = 0; i < G_N_ELEMENTS(strings); i++)
        g_free(strings[i]);
    g_strfreev(options->headers);
    *options = (AcrClientOptions){0};
}
