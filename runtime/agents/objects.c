/*
 * JSON objects in answers. Models put fences and words around them, and write decisions in words or
 * as truth values: both are read.
 */
#include "agents/agents_private.h"

#include <string.h>

AcrJson *acr_agents_parse_object(const char *answer, GError **error)
{
    const char *first = strchr(answer, '{'), *last = strrchr(answer, '}');
    if (!first || !last || last < first) {
        g_set_error(error, ACR_AGENTS_ERROR, ACR_AGENTS_ERROR_FAILED,
                    "the answer holds no JSON object");
        return NULL;
    }
    g_autoptr(AcrJson) json = acr_json_parse(first, (gsize)(last - first) + 1, error);
    if (!json)
        g_prefix_error(error, "the answer is not valid JSON: ");
    return g_steal_pointer(&json);
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
    static const char *const yes[] = {"yes", "true"}, *const no[] = {"no", "false"};
    const char *given = acr_json_string(member);
    if (acr_json_type(member) == ACR_JSON_BOOL) {
        *out_yes = acr_json_bool(member);
        return true;
    }
    g_autofree char *text = given ? g_strstrip(g_strdup(given)) : NULL;
    for (guint i = 0; text && i < G_N_ELEMENTS(yes); i++) {
        bool is_yes = says(text, yes[i]);
        if (is_yes || says(text, no[i])) {
            *out_yes = is_yes;
            return true;
        }
    }
    return false;
}
