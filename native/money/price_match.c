/*
 * The rules by which genai-prices says which names a price is for: comparisons of texts, joined by
 * "or" and "and", and patterns. Names are compared in lower case. A pattern that cannot be used
 * matches nothing, so that its model has no price rather than a wrong one.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "money/price_private.h"

#include <pcre2.h>
#include <string.h>

#define MAX_RULES 1000u   /* of one "or" or "and" */
#define MAX_STEPS 100000u /* of matching one pattern */
#define MAX_PATTERN 500u  /* bytes */

typedef enum { EQUALS, STARTS, ENDS, CONTAINS, REGEX, OR, AND } Kind;
static const char *const kinds[] = {"equals", "starts_with", "ends_with", "contains",
                                    "regex",  "or",          "and"};

struct AcrPriceMatch {
    Kind kind;
    char *text;          /* owned; of a comparison, in lower case but for patterns */
    pcre2_code *pattern; /* NULL: unusable */
    GPtrArray *rules;    /* of "or" and "and" */
};

void acr_price_match_free(AcrPriceMatch *match)
{
    if (!match)
        return;
    g_free(match->text);
    pcre2_code_free(match->pattern);
    if (match->rules)
        g_ptr_array_unref(match->rules);
    g_free(match);
}

static void free_rule(gpointer rule)
{
    acr_price_match_free(rule);
}

/* ---- Patterns ---- */

/* NULL: not one that can be used; it then matches nothing. */
static pcre2_code *compile(const char *pattern)
{
    int code = 0;
    PCRE2_SIZE at = 0;

    return strlen(pattern) > MAX_PATTERN
               ? NULL
               : pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);
}

static bool pattern_holds(const pcre2_code *pattern, const char *text)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    int rc = 0;

    pcre2_set_match_limit(limits, MAX_STEPS);
    rc = pcre2_match(pattern, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, 0, data, limits);
    pcre2_match_context_free(limits);
    pcre2_match_data_free(data);
    return rc >= 0;
}

/* ---- Rules ---- */

static AcrPriceMatch *read_rule(const AcrJson *rule, const char *where, guint depth,
                                GError **error);

static bool read_rules(AcrPriceMatch *match, const AcrJson *rules, const char *where, guint depth,
                       GError **error)
{
    match->rules = g_ptr_array_new_with_free_func(free_rule);
    if (acr_json_type(rules) != ACR_JSON_ARRAY || depth == 0 || acr_json_size(rules) > MAX_RULES) {
        g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "%s: '%s' is no list of rules",
                    where, kinds[match->kind]);
        return false;
    }
    for (const AcrJson *each = acr_json_first(rules); each; each = acr_json_next(each)) {
        AcrPriceMatch *inner = read_rule(each, where, depth - 1, error);
        if (!inner)
            return false;
        g_ptr_array_add(match->rules, inner);
    }
    return true;
}

static AcrPriceMatch *read_rule(const AcrJson *rule, const char *where, guint depth, GError **error)
{
    g_autoptr(AcrPriceMatch) match = g_new0(AcrPriceMatch, 1);
    const AcrJson *value = NULL;
    const char *text = NULL;
    gsize kind = 0;

    while (kind < G_N_ELEMENTS(kinds) && !(value = acr_json_get(rule, kinds[kind])))
        kind++;
    match->kind = (Kind)kind;
    if (!value) {
        g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "%s: 'match' is no rule", where);
        return NULL;
    }
    if (match->kind == OR || match->kind == AND)
        return read_rules(match, value, where, depth, error) ? g_steal_pointer(&match) : NULL;
    text = acr_json_string(value);
    if (!text) {
        g_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE, "%s: '%s' is no text", where,
                    kinds[kind]);
        return NULL;
    }
    match->text = g_ascii_strdown(text, -1);
    match->pattern = match->kind == REGEX ? compile(text) : NULL;
    return g_steal_pointer(&match);
}

AcrPriceMatch *acr_price_match_new(const AcrJson *rule, const char *where, GError **error)
{
    return read_rule(rule, where, ACR_PRICE_MATCH_DEPTH, error);
}

bool acr_price_match(const AcrPriceMatch *match, const char *name)
{
    switch (match->kind) {
    case EQUALS:
        return strcmp(name, match->text) == 0;
    case STARTS:
        return g_str_has_prefix(name, match->text);
    case ENDS:
        return g_str_has_suffix(name, match->text);
    case CONTAINS:
        return strstr(name, match->text) != NULL;
    case REGEX:
        return match->pattern && pattern_holds(match->pattern, name);
    case OR:
    case AND:
        break;
    }
    for (guint i = 0; i < match->rules->len; i++)
        if (acr_price_match(match->rules->pdata[i], name) == (match->kind == OR))
            return match->kind == OR;
    return match->kind == AND;
}
