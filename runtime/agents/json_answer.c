/*
 * JSON objects in answers. Models put fences and words around them, and write decisions in words or
 * as truth values: both are read.
 */
#include "agents/agents_private.h"

#include <string.h>

AcrJson *acr_agents_parse_object(const char *answer, char **out_problem)
{
    const char *first = strchr(answer, '{'), *last = strrchr(answer, '}');
    if (!first || !last || last < first) {
        *out_problem = g_strdup("the answer holds no JSON object");
        return NULL;
    }
    g_autoptr(GError) reason = NULL;
    AcrJson *json = acr_json_parse(first, (gsize)(last - first) + 1, &reason);
    if (!json)
        *out_problem = g_strdup_printf("the answer is not valid JSON: %s", reason->message);
    return json;
}

/* Whether a text is the word, or begins with it as a sentence's own part: "No.", "yes, but …". */
static bool says(const char *text, const char *word)
{
    gsize len = strlen(word);
    return g_ascii_strncasecmp(text, word, len) == 0 &&
           (text[len] == '\0' || strchr(".,;:!", text[len]));
}

bool acr_agents_decision(const AcrJson *member, bool *out_yes)
{
    g_autofree char *text = g_strdup(acr_json_string(member));
    bool is_bool = acr_json_type(member) == ACR_JSON_BOOL;
    if (text)
        g_strstrip(text);
    bool yes = is_bool ? acr_json_bool(member) : text && (says(text, "yes") || says(text, "true"));
    bool no = is_bool ? !yes : text && (says(text, "no") || says(text, "false"));
    if (yes || no)
        *out_yes = yes;
    return yes || no;
}
