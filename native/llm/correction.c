/*
 * What a model or a server may refuse of a request, learnt from the words of its refusal, so that
 * the next request goes without it: shared by the dialects, each of which names its own words.
 */
#include "llm/provider.h"

#include <string.h>

static bool is_name_char(char c)
{
    return g_ascii_isalnum(c) || c == '_';
}

/* Whether the text that stands before `at` ends in a word after which a parameter is named. */
static bool follows_a_noun(const char *text, const char *at)
{
    static const char *const nouns[] = {
        "parameter ", "parameter: ", "argument ", "argument: ", "field ", "support ", "supplied: "};

    for (gsize i = 0; i < G_N_ELEMENTS(nouns); i++) {
        gsize len = strlen(nouns[i]);

        if ((gsize)(at - text) >= len && memcmp(at - len, nouns[i], len) == 0)
            return true;
    }
    return false;
}

bool acr_failure_is_about(const AcrFailure *failure, const char *param)
{
    const char *text = failure->message ? failure->message : "";
    const char *named = failure->param;
    gsize len = strlen(param);

    if (named && *named && strcmp(named, "None") != 0)
        return g_str_has_prefix(named, param) && !is_name_char(named[len]);
    for (const char *at = strstr(text, param); at; at = strstr(at + 1, param)) {
        char before = at > text ? at[-1] : ' ';

        if (is_name_char(before) || is_name_char(at[len]))
            continue;
        if (strchr("'\"`", before) || at[len] == ':' || follows_a_noun(text, at))
            return true;
    }
    return false;
}

bool acr_failure_says(const AcrFailure *failure, const char *const *words)
{
    g_autofree char *text = g_ascii_strdown(failure->message ? failure->message : "", -1);

    for (; *words; words++)
        if (strstr(text, *words))
            return true;
    return false;
}

bool acr_learn(bool *flag, bool is_so)
{
    if (*flag || !is_so)
        return false;
    *flag = true;
    return true;
}

bool acr_drop_temperature(AcrDialect *dialect, bool is_so)
{
    if (dialect->temperature < 0 || !is_so)
        return false;
    dialect->temperature = -1;
    return true;
}

bool acr_drop_effort(AcrDialect *dialect, bool is_so)
{
    if (!dialect->effort || !is_so)
        return false;
    dialect->effort = NULL;
    return true;
}

/* A refusal that names nothing may mean the tools: the request is tried once without them. */
static bool correct_tools(AcrDialect *dialect, const AcrFailure *failure)
{
    static const char *const words[] = {"tool", "function", NULL};
    bool names_tools = acr_failure_says(failure, words);
    bool is_refusal = failure->code == ACR_LLM_ERROR_BAD_REQUEST ||
                      (failure->code == ACR_LLM_ERROR_SERVER && names_tools);

    if (!dialect->asks_tools || dialect->no_tools || !is_refusal)
        return false;
    return acr_learn(&dialect->no_strict, acr_failure_says(failure, ACR_STRINGS("strict"))) ||
           acr_learn(&dialect->no_tools, true);
}

bool acr_correct(const AcrProvider *provider, AcrDialect *dialect, const AcrFailure *failure)
{
    return (failure->code == ACR_LLM_ERROR_BAD_REQUEST && provider->correct(dialect, failure)) ||
           correct_tools(dialect, failure);
}
