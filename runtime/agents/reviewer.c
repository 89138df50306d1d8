/*
 * The reviewer agent: sees issue, test, patch and what the test did without and with the patch, and
 * says of each whether it is right, and what to do about it.
 */
#include "agents/agents_private.h"

void acr_review_answer_clear(AcrReviewAnswer *answer)
{
    g_clear_pointer(&answer->patch_analysis, g_free);
    g_clear_pointer(&answer->patch_advice, g_free);
    g_clear_pointer(&answer->test_analysis, g_free);
    g_clear_pointer(&answer->test_advice, g_free);
}

static bool take_decision(const AcrJson *json, const char *key, bool *out, char **out_problem)
{
    const AcrJson *member = acr_json_get(json, key);
    if (acr_agents_decision(member, out))
        return true;
    *out_problem = member ? g_strdup_printf("\"%s\" is neither yes nor no", key)
                          : g_strdup_printf("\"%s\" is missing", key);
    return false;
}

/* A text; what is none, as a list of things to do, is taken as it is written. */
static char *take_text(const AcrJson *json, const char *key)
{
    const AcrJson *member = acr_json_get(json, key);
    const char *text = acr_json_string(member);
    AcrJsonType type = acr_json_type(member);
    if (!text && (type == ACR_JSON_ARRAY || type == ACR_JSON_OBJECT))
        return acr_json_print(member);
    return g_strdup(text ? text : "");
}

bool acr_agent_review_read(const char *answer, AcrReviewAnswer *out, char **out_problem)
{
    g_autoptr(AcrJson) json = acr_agents_parse_object(answer, out_problem);
    AcrReviewAnswer read = {0};
    if (!json || !take_decision(json, "patch-correct", &read.patch_correct, out_problem) ||
        !take_decision(json, "test-correct", &read.test_correct, out_problem))
        return false;
    read.patch_analysis = take_text(json, "patch-analysis");
    read.patch_advice = take_text(json, "patch-advice");
    read.test_analysis = take_text(json, "test-analysis");
    read.test_advice = take_text(json, "test-advice");
    *out = read;
    return true;
}
