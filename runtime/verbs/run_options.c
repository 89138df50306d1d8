/*
 * The options that `run` and `swe-bench` share: models, bounds of the loops, prompts.
 */
#include "verbs/verbs_private.h"

#include <string.h>

#define MAX_ROUNDS 1000
#define MAX_TRIES 100
#define MAX_ATTEMPTS 100
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
        {"fallback-model", 0, 0, G_OPTION_ARG_FILENAME, &options->fallback_as_given,
         "Model that takes over where one has failed for good", "MODEL"},
        {"rounds", 0, 0, G_OPTION_ARG_INT, &options->rounds,
         "Retrieval rounds at most (default 15)", "N"},
        {"tries", 0, 0, G_OPTION_ARG_INT, &options->tries,
         "Answers of the patch writer at most (default 3)", "N"},
        {"attempts", 0, 0, G_OPTION_ARG_INT, &options->attempts,
         "Fresh attempts at most (default 1)", "N"},
        {"verify", 0, 0, G_OPTION_ARG_FILENAME, &options->verify_name,
         "Prove the patch by running code: auto, always or never (default auto; --verify alone: "
         "always)",
         "WHEN"},
        {"validate", 0, 0, G_OPTION_ARG_FILENAME, &options->validate,
         "Shell command that is run on each patched copy; it refuses the patch by its exit code, "
         "and "
         "what it prints goes back to the model",
         "CMD"},
        ACR_CODE_ENTRIES(&options->code_given),
        {"context", 0, 0, G_OPTION_ARG_INT, &options->context,
         "Tokens that the model takes at once (default: learnt from its first refusal)", "TOKENS"},
        {"prompts", 0, 0, G_OPTION_ARG_FILENAME, &options->prompts,
         "Folder of prompts that take the place of the built-in ones", "DIR"},
        ACR_CEILING_ENTRIES(&options->ceilings),
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose,
         "Show each step on stderr, also when piped", NULL},
        {"no-cache", 0, 0, G_OPTION_ARG_NONE, &options->indexing.no_cache,
         "Neither use nor keep outlines of earlier runs", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autofree GOptionEntry *clients = acr_client_option_entries(&options->client, shared);
    return acr_options_join(own, clients);
}

static bool check_verify(AcrRunOptions *options, const char *verb)
{
    if (!options->verify_name || acr_verify_from_name(options->verify_name, &options->verify))
        return true;
    acr_verb_usage(verb, "--verify is auto, always or never, not '%s'", options->verify_name);
    return false;
}

static bool check_code(AcrRunOptions *options, const char *verb)
{
    const AcrCodeOptions *given = &options->code_given;
    if (!acr_code_options_check(&options->code_given, verb))
        return false;
    if (options->validate && !*options->validate) {
        acr_verb_usage(verb, "--validate is empty");
        return false;
    }
    options->code = (AcrTaskCode){
        .sandbox = given->sandbox,
        .image = given->image,
        .python = given->python,
        .setup = given->setup,
        .setup_network = given->setup_network,
        .setup_ms = given->setup_ms,
        .validate = options->validate,
    };
    return true;
}

/* The name with the path of a script made absolute, the same file from wherever the command is
 * given again; owned. */
static char *settle(const char *given)
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
        options->models[i] = settle(options->models_as_given[i]);
    if (options->fallback_as_given)
        options->fallback_model = settle(options->fallback_as_given);
    return acr_range_check(verb, "rounds", options->rounds, 1, MAX_ROUNDS) &&
           acr_range_check(verb, "tries", options->tries, 1, MAX_TRIES) &&
           acr_range_check(verb, "attempts", options->attempts, 1, MAX_ATTEMPTS) &&
           (options->context == ACR_NOT_GIVEN ||
            acr_range_check(verb, "context", options->context, MIN_CONTEXT, MAX_CONTEXT)) &&
           check_verify(options, verb) && check_code(options, verb) &&
           acr_client_options_check(&options->client, verb) &&
           acr_ceiling_options_check(&options->ceilings, verb) &&
           acr_indexing_options_check(&options->indexing, verb);
}

void acr_run_options_to_argv(const AcrRunOptions *options, GPtrArray *argv)
{
    for (guint i = 0; options->models[i]; i++)
        g_ptr_array_add(argv, g_strdup_printf("--model=%s", options->models[i]));
    if (options->fallback_model)
        g_ptr_array_add(argv, g_strdup_printf("--fallback-model=%s", options->fallback_model));
    g_ptr_array_add(argv, g_strdup_printf("--rounds=%d", options->rounds));
    g_ptr_array_add(argv, g_strdup_printf("--tries=%d", options->tries));
    g_ptr_array_add(argv, g_strdup_printf("--attempts=%d", options->attempts));
    if (options->context > 0)
        g_ptr_array_add(argv, g_strdup_printf("--context=%d", options->context));
    if (options->verify_name)
        g_ptr_array_add(argv, g_strdup_printf("--verify=%s", options->verify_name));
    acr_code_options_to_argv(&options->code_given, argv);
    if (options->validate)
        g_ptr_array_add(argv, g_strdup_printf("--validate=%s", options->validate));
    if (options->prompts)
        g_ptr_array_add(argv, g_strdup_printf("--prompts=%s", options->prompts));
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
    acr_code_options_clear(&options->code_given);
    g_free(options->validate);
    g_free(options->prompts);
    g_free(options->fallback_model);
    g_free(options->fallback_as_given);
    g_free(options->shared_dir);
    acr_ceiling_options_clear(&options->ceilings);
    *options = (AcrRunOptions){0};
}
