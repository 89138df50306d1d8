/*
 * The options that `run` and `swe-bench` share: models, bounds of the loops, prompts.
 */
#include "verbs/verbs_private.h"

#include <string.h>

#define MAX_ROUNDS 1000
#define MAX_TRIES 100
#define MAX_ATTEMPTS 100
#define MAX_RETRIES 20
#define MIN_CONTEXT 2048 /* less does not hold the prompts */
#define MAX_CONTEXT 1000000000
#define SCRIPT "script:"

void acr_run_options_expand(int argc, char **argv)
{
    static char alone[] = "--verify=always";
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--verify") == 0 && (i + 1 == argc || argv[i + 1][0] == '-'))
            argv[i] = alone;
}

GOptionEntry *acr_run_option_entries(AcrRunOptions *options, const GOptionEntry *own)
{
    const GOptionEntry shared[] = {
        {"model", 'm', 0, G_OPTION_ARG_FILENAME_ARRAY, &options->models_as_given,
         "PROVIDER/NAME or script:FILE; several: attempts take them in turn", "MODEL"},
        {"rounds", 0, 0, G_OPTION_ARG_INT, &options->rounds,
         "Retrieval rounds at most (default 15)", "N"},
        {"tries", 0, 0, G_OPTION_ARG_INT, &options->tries,
         "Answers of the patch writer at most (default 3)", "N"},
        {"attempts", 0, 0, G_OPTION_ARG_INT, &options->attempts,
         "Fresh attempts at most (default 1)", "N"},
        {"retries", 0, 0, G_OPTION_ARG_INT, &options->retries,
         "How often a model call that failed for the moment is made again (default 8)", "N"},
        {"verify", 0, 0, G_OPTION_ARG_FILENAME, &options->verify_name,
         "Prove the patch by running code: auto, always or never (default auto; --verify alone: "
         "always)",
         "WHEN"},
        {"temperature", 0, 0, G_OPTION_ARG_DOUBLE, &options->temperature,
         "Sampling temperature (default: the model's)", "T"},
        {"context", 0, 0, G_OPTION_ARG_INT, &options->context,
         "Tokens that the model takes at once (default: learnt from its first refusal)", "TOKENS"},
        {"prompts", 0, 0, G_OPTION_ARG_FILENAME, &options->prompts,
         "Folder of prompts that take the place of the built-in ones", "DIR"},
        ACR_CEILING_ENTRIES(&options->ceilings),
        {"prices", 0, 0, G_OPTION_ARG_FILENAME, &options->prices,
         "Prices of models, in LiteLLM's or genai-prices' form, that go before the built-in ones",
         "FILE"},
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose,
         "Show each step on stderr, also when piped", NULL},
        {"no-cache", 0, 0, G_OPTION_ARG_NONE, &options->indexing.no_cache,
         "Neither use nor keep outlines of earlier runs", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autofree GOptionEntry *clients = acr_client_option_entries(&options->client, shared);
    return acr_options_join(own, clients);
}

static bool check_range(const char *verb, const char *name, int value, int min, int max)
{
    if (value >= min && value <= max)
        return true;
    acr_verb_usage(verb, "--%s must be from %d to %d, not %d", name, min, max, value);
    return false;
}

static bool check_verify(AcrRunOptions *options, const char *verb)
{
    if (!options->verify_name || acr_verify_from_name(options->verify_name, &options->verify))
        return true;
    acr_verb_usage(verb, "--verify is auto, always or never, not '%s'", options->verify_name);
    return false;
}

char *acr_model_settle(const char *given)
{
    if (!g_str_has_prefix(given, SCRIPT))
        return g_strdup(given);
    g_autofree char *path = g_canonicalize_filename(given + strlen(SCRIPT), NULL);
    return g_strconcat(SCRIPT, path, NULL);
}

bool acr_run_options_check(AcrRunOptions *options, const char *verb)
{
    if (!options->models_as_given || !options->models_as_given[0]) {
        acr_verb_usage(verb, "--model is missing");
        return false;
    }
    guint n = g_strv_length(options->models_as_given);
    options->models = g_new0(char *, n + 1);
    for (guint i = 0; i < n; i++)
        options->models[i] = acr_model_settle(options->models_as_given[i]);
    if (options->prices) {
        char *given = g_steal_pointer(&options->prices);
        options->prices = g_canonicalize_filename(given, NULL);
        g_free(given);
    }
    if (options->temperature != -1 &&
        !(options->temperature >= 0 && options->temperature <= 2)) { /* a NaN too */
        acr_verb_usage(verb, "--temperature must be from 0 to 2");
        return false;
    }
    return check_range(verb, "rounds", options->rounds, 1, MAX_ROUNDS) &&
           check_range(verb, "tries", options->tries, 1, MAX_TRIES) &&
           check_range(verb, "attempts", options->attempts, 1, MAX_ATTEMPTS) &&
           check_range(verb, "retries", options->retries, 0, MAX_RETRIES) &&
           (options->context == 0 ||
            check_range(verb, "context", options->context, MIN_CONTEXT, MAX_CONTEXT)) &&
           check_verify(options, verb) && acr_client_options_check(&options->client, verb) &&
           acr_ceiling_options_check(&options->ceilings, verb) &&
           acr_indexing_options_check(&options->indexing, verb);
}

void acr_run_options_to_argv(const AcrRunOptions *options, GPtrArray *argv)
{
    for (guint i = 0; options->models[i]; i++)
        g_ptr_array_add(argv, g_strdup_printf("--model=%s", options->models[i]));
    g_ptr_array_add(argv, g_strdup_printf("--rounds=%d", options->rounds));
    g_ptr_array_add(argv, g_strdup_printf("--tries=%d", options->tries));
    g_ptr_array_add(argv, g_strdup_printf("--attempts=%d", options->attempts));
    g_ptr_array_add(argv, g_strdup_printf("--retries=%d", options->retries));
    if (options->context > 0)
        g_ptr_array_add(argv, g_strdup_printf("--context=%d", options->context));
    if (options->verify_name)
        g_ptr_array_add(argv, g_strdup_printf("--verify=%s", options->verify_name));
    if (options->temperature >= 0) {
        char number[G_ASCII_DTOSTR_BUF_SIZE];
        g_ptr_array_add(
            argv, g_strconcat("--temperature=",
                              g_ascii_dtostr(number, sizeof number, options->temperature), NULL));
    }
    if (options->prompts)
        g_ptr_array_add(argv, g_strdup_printf("--prompts=%s", options->prompts));
    if (options->prices)
        g_ptr_array_add(argv, g_strdup_printf("--prices=%s", options->prices));
    if (options->indexing.no_cache)
        g_ptr_array_add(argv, g_strdup("--no-cache"));
    acr_client_options_to_child(&options->client, argv);
}

void acr_run_options_clear(AcrRunOptions *options)
{
    acr_indexing_options_clear(&options->indexing);
    acr_client_options_clear(&options->client);
    g_strfreev(options->models);
    g_strfreev(options->models_as_given);
    g_free(options->verify_name);
    g_free(options->prompts);
    g_free(options->prices);
    acr_ceiling_options_clear(&options->ceilings);
    *options = (AcrRunOptions){0};
}
