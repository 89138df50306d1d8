/*
 * The rules by which genai-prices says which names a price is for: comparisons of texts, joined by
 * "or" and "and". Names are compared in lower case. A "regex" is matched here if it is a sequence
 * of characters and classes with repeats, which is what dated names need ("^gpt-5-\d{4}$"); one
 * with groups or assertions matches nothing, so that its model has no price rather than a wrong
 * one.
 */
#include "money/price_private.h"

#include <string.h>

#define MAX_RULES 1000u /* of one "or" or "and" */
#define MAX_REPEATS 100u
#define MAX_STEPS 100000u /* of matching one pattern */
#define MAX_PATTERN 500u  /* bytes */

typedef enum { EQUALS, STARTS, ENDS, CONTAINS, REGEX, OR, AND } Kind;
static const char *const kinds[] = {"equals", "starts_with", "ends_with", "contains",
                                    "regex",  "or",          "and"};

struct AcrPriceMatch {
    Kind kind;
    char *text;       /* owned; of a comparison, in lower case but for patterns */
    bool is_usable;   /* of a pattern */
    GPtrArray *rules; /* of "or" and "and" */
};

void acr_price_match_free(AcrPriceMatch *match)
{
    if (!match)
        return;
    g_free(match->text);
    if (match->rules)
        g_ptr_array_unref(match->rules);
    g_free(match);
}

static void free_rule(gpointer rule)
{
    acr_price_match_free(rule);
}

/* ---- Patterns -----------------------------------------------------------------------------------
 */

typedef struct {
    const char *end; /* behind the atom and its repeat */
    gsize len;       /* of the atom */
    guint min, max;
} Atom;

/* The repeat behind an atom. False: not of a form that is known here. */
static bool read_repeat(const char *p, Atom *atom)
{
    char *behind = NULL;
    guint64 n = 0;

    atom->end = p + 1;
    if (*p == '?' || *p == '*' || *p == '+') {
        atom->min = *p == '+';
        atom->max = *p == '?' ? 1 : G_MAXUINT;
        return !strchr("?*+{", p[1]) || !p[1];
    }
    if (*p != '{') {
        *atom = (Atom){.end = p, .len = atom->len, .min = 1, .max = 1};
        return true;
    }
    n = g_ascii_strtoull(p + 1, &behind, 10);
    if (!g_ascii_isdigit(p[1]) || *behind != '}' || n > MAX_REPEATS)
        return false;
    *atom = (Atom){.end = behind + 1, .len = atom->len, .min = (guint)n, .max = (guint)n};
    return true;
}

/* The atom that `p` begins with. False: none that is known here. */
static bool read_atom(const char *p, Atom *atom)
{
    const char *close = NULL;

    *atom = (Atom){.len = 1};
    if (strchr("^$()|?*+{", *p))
        return false;
    if (*p == '[') {
        close = p[1] && p[1] != '^' ? strpbrk(p + 2, "]\\") : NULL;
        if (!close || *close != ']')
            return false;
        atom->len = (gsize)(close + 1 - p);
    } else if (*p == '\\') {
        if (!p[1] || (g_ascii_isalnum(p[1]) && p[1] != 'd'))
            return false;
        atom->len = 2;
    }
    return read_repeat(p + atom->len, atom);
}

static bool class_holds(const char *class, gsize len, char c)
{
    for (gsize i = 1; i + 1 < len; i++) {
        if (class[i + 1] == '-' && i + 3 < len) {
            if (c >= class[i] && c <= class[i + 2])
                return true;
            i += 2;
        } else if (class[i] == c) {
            return true;
        }
    }
    return false;
}

static bool atom_holds(const char *p, const Atom *atom, char c)
{
    if (!c)
        return false;
    if (*p == '\\')
        return p[1] == 'd' ? g_ascii_isdigit(c) : c == p[1];
    return *p == '[' ? class_holds(p, atom->len, c) : *p == '.' || *p == c;
}

/* Whether what is left of the pattern holds from `text` on. */
static bool holds_from(const char *p, const char *text, guint *steps)
{
    Atom atom = {0};
    guint n = 0;

    if (!*p)
        return true;
    if (strcmp(p, "$") == 0)
        return !*text;
    if (!read_atom(p, &atom) || ++*steps > MAX_STEPS)
        return false;
    while (n < atom.max && atom_holds(p, &atom, text[n]))
        n++;
    for (; n + 1 > atom.min; n--) {
        if (holds_from(atom.end, text + n, steps))
            return true;
        if (n == 0)
            break;
    }
    return false;
}

static bool pattern_holds(const char *pattern, const char *text)
{
    guint steps = 0;

    if (*pattern == '^')
        return holds_from(pattern + 1, text, &steps);
    for (;; text++) {
        if (holds_from(pattern, text, &steps))
            return true;
        if (!*text)
            return false;
    }
}

static bool pattern_is_usable(const char *pattern)
{
    const char *p = pattern + (*pattern == '^');
    Atom atom = {0};

    if (strlen(pattern) > MAX_PATTERN)
        return false;
    while (*p && strcmp(p, "$") != 0) {
        if (!read_atom(p, &atom))
            return false;
        p = atom.end;
    }
    return true;
}

/* ---- Rules --------------------------------------------------------------------------------------
 */

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
    match->text = match->kind == REGEX ? g_strdup(text) : g_ascii_strdown(text, -1);
    match->is_usable = match->kind == REGEX && pattern_is_usable(text);
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
        return match->is_usable && pattern_holds(match->text, name);
    case OR:
    case AND:
        break;
    }
    for (guint i = 0; i < match->rules->len; i++)
        if (acr_price_match(match->rules->pdata[i], name) == (match->kind == OR))
            return match->kind == OR;
    return match->kind == AND;
}
