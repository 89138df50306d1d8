/* Code shared by the verbs that grade predictions: options, progress, and the final table. */
#include "verbs/grading.h"

#define MAX_RECIPES_BYTES ((gsize)16 * 1024 * 1024)

bool acr_verb_check_grading(const AcrRunSpec *spec, char **out_recipes, GError **error)
{
    *out_recipes = NULL;
    if (!acr_name_is_safe(spec->run_id, ""))
        return acr_task_refuse(error, "--run-id: '%s' cannot be used as a folder name",
                               spec->run_id);
    return acr_verb_read_recipes(spec, out_recipes, error);
}

bool acr_verb_read_recipes(const AcrRunSpec *spec, char **out_recipes, GError **error)
{
    *out_recipes = NULL;
    if (!spec->environments)
        return true;
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(spec->environments, MAX_RECIPES_BYTES, &reason);
    g_autoptr(AcrJson) json = bytes ? acr_json_parse_bytes(bytes, &reason) : NULL;
    if (!json)
        return acr_task_refuse(error, "--environments: '%s': %s", spec->environments,
                               reason->message);
    *out_recipes = acr_json_print(json);
    return true;
}

bool acr_verb_check_recipes(AcrPython *python, const AcrRunSpec *spec, const char *recipes,
                            GError **error)
{
    g_autoptr(GError) reason = NULL;
    if (!recipes || acr_grading_check_recipes(python, recipes, &reason))
        return true;
    return acr_task_refuse(error, "--environments: '%s': %s", spec->environments, reason->message);
}

int acr_verb_fail_grading(AcrHost *host, const GError *error)
{
    int code = acr_verb_fail(host, error);
    bool is_usage = g_error_matches(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_INPUT) ||
                    (error && error->domain == ACR_BATCH_ERROR);
    return is_usage ? ACR_EXIT_USAGE : code;
}

AcrExit acr_verb_grades_exit(const AcrEvalResult *result, AcrExit code)
{
    if (code > ACR_EXIT_NONE || result->unrun == 0)
        return code;
    if (result->unrun + result->empty < result->predictions)
        acr_verb_say("%u of %u tasks could not be graded on this machine; see the column 'why'",
                     result->unrun, result->predictions);
    else
        acr_verb_say("no task could be run on this machine; see the column 'why'");
    return ACR_EXIT_ENVIRONMENT;
}

AcrOut acr_verb_tell_grades(const AcrEvalResult *result, const char *text)
{
    AcrOut out = acr_out_text(text);
    acr_verb_tell("%s\n", result->sums);
    return out;
}
