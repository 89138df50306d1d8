/* acr-host describe: prints the verbs and their options as one JSON object, from which the build
 * makes the manual pages and shell completions. --help does not list the verb. */
#include <string.h>

#include "verbs/verbs_private.h"

static AcrJson *describe_option(const AcrOption *option, const char *group)
{
    g_autofree char *values = acr_option_values(option);
    char letter[2] = {option->letter, '\0'};
    return acr_json_of(
        ACR_STRING("name", option->name), ACR_STRING("letter", option->letter ? letter : NULL),
        ACR_STRING("argument", option->argument), ACR_STRING("help", option->help),
        ACR_STRING("group", group), ACR_STRING("values", values),
        ACR_STRING("implicit", option->implicit_value), ACR_STRING("words", option->words),
        ACR_STRING("variable", option->variable),
        ACR_BOOL("is_path", option->type == ACR_OPTION_PATH || option->type == ACR_OPTION_PROGRAM),
        ACR_BOOL("is_config", option->flags & ACR_OPTION_CONFIG),
        ACR_BOOL("is_rare", option->flags & ACR_OPTION_RARE), NULL);
}

static AcrJson *describe_verb(const AcrVerb *verb)
{
    AcrJson *options = acr_json_new_array();
    for (const AcrOptionGroup *group = acr_option_groups; group->heading; group++) {
        g_auto(GStrv) names = g_strsplit(group->names, " ", -1);
        for (guint i = 0; names[i] && (group->verbs & verb->takes); i++) {
            const AcrOption *option = acr_option_find(names[i], strlen(names[i]), verb->takes);
            if (option)
                acr_json_append(options, describe_option(option, group->heading));
        }
    }
    AcrJson *examples = acr_json_new_array();
    for (const AcrExample *at = verb->examples; at->task; at++)
        acr_json_append(examples, acr_json_of(ACR_STRING("task", at->task),
                                              ACR_STRING("words", at->words), NULL));
    return acr_json_of(
        ACR_STRING("name", verb->name), ACR_STRING("short_name", verb->short_name),
        ACR_STRING("summary", verb->summary), ACR_STRING("arguments", verb->arguments),
        ACR_STRING("arguments_note", verb->arguments_note), ACR_STRING("exits", verb->exits),
        ACR_JSON("options", options), ACR_JSON("examples", examples), NULL);
}

static int start_describe(AcrHost *host, int argc, char **argv)
{
    g_autoptr(GPtrArray) topics = acr_help_topics(host);
    AcrJson *verbs = acr_json_new_array();
    for (const AcrVerb *const *at = acr_verbs; *at; at++)
        if ((*at)->summary)
            acr_json_append(verbs, describe_verb(*at));
    g_autoptr(AcrJson) json = acr_json_of(
        ACR_STRING("version", ACR_VERSION), ACR_JSON("topics", acr_json_new_texts(topics)),
        ACR_JSON("providers", acr_llm_describe_providers()), ACR_JSON("verbs", verbs), NULL);
    return acr_out_exit(acr_out_json(json), ACR_EXIT_OK);
}

const AcrVerb acr_verb_describe = {.name = "describe", .start = start_describe};
