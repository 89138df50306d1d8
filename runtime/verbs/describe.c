/*
 * acr-host describe: the verbs and their options as one JSON object, from which the build makes the manual pages
 * and the completions of shells. Not listed.
 */
#include <string.h>

#include "verbs/verbs_private.h"

static AcrJson *describe_option(const AcrOption *option, const char *group)
{
    g_autofree char *values = acr_option_values(option);
    char letter[2] = {option->letter, '\0'};
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "name", option->name);
    acr_json_set_string(json, "letter", option->letter ? letter : NULL);
    acr_json_set_string(json, "argument", option->argument);
    acr_json_set_string(json, "help", option->help);
    acr_json_set_string(json, "group", group);
    acr_json_set_string(json, "values", values);
    acr_json_set_string(json, "implicit", option->implicit_value);
    acr_json_set_string(json, "words", option->words);
    acr_json_set_string(json, "variable", option->variable);
    acr_json_set_bool(json, "is_path",
                      option->type == ACR_OPTION_PATH || option->type == ACR_OPTION_PROGRAM);
    acr_json_set_bool(json, "is_rare", option->flags & ACR_OPTION_RARE);
    return json;
}

static AcrJson *describe_verb(const AcrVerb *verb)
{
    AcrJson *json = acr_json_new_object(), *options = acr_json_new_array();
    for (const AcrOptionGroup *group = acr_option_groups; group->heading; group++) {
        g_auto(GStrv) names = g_strsplit(group->names, " ", -1);
        for (guint i = 0; names[i] && verb->takes; i++) {
            const AcrOption *option = acr_option_find(names[i], strlen(names[i]), verb->takes);
            if (option)
                acr_json_append(options, describe_option(option, group->heading));
        }
    }
    acr_json_set_string(json, "name", verb->name);
    acr_json_set_string(json, "summary", verb->summary);
    acr_json_set_string(json, "arguments", verb->arguments);
    acr_json_set(json, "options", options);
    return json;
}

static int start_describe(AcrHost *host, int argc, char **argv)
{
    g_autoptr(AcrJson) json = acr_json_new_object();
    g_autoptr(GPtrArray) topics = acr_help_topics(host);
    AcrJson *verbs = acr_json_new_array();
    for (const AcrVerb *const *at = acr_verbs; *at; at++)
        if ((*at)->summary)
            acr_json_append(verbs, describe_verb(*at));
    acr_json_set_string(json, "version", ACR_VERSION);
    acr_json_set(json, "topics", acr_json_new_texts(topics));
    acr_json_set(json, "providers", acr_llm_describe_providers());
    acr_json_set(json, "verbs", verbs);
    return acr_out_exit(acr_out_json(json), ACR_EXIT_OK);
}

const AcrVerb acr_verb_describe = {.name = "describe", .start = start_describe};
