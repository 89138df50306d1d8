/* Normalises a name as a model writes it: removes quotes, keywords, decorator signs, parentheses
 * and parameters until a dotted name is left. If no dotted name is left, the argument is kept
 * unchanged, and matches no symbol. */
#include <string.h>

#include "search/search_private.h"

static const char *const prefixes[] = {"async ", "def ",     "class ",  "@",         "self.",
                                       "cls.",   "super().", "method ", "function ", "await "};
static const char *const suffixes[] = {"class", "method", "function", "decorator", "property"};

static bool is_quote(char c)
{
    return c == '\'' || c == '"' || c == '`';
}

char *acr_search_trim(const char *argument)
{
    g_autofree char *text = g_strdup(argument);
    char *start = g_strstrip(text);
    gsize len = strlen(start);
    while (len >= 2 && is_quote(start[0]) && start[len - 1] == start[0]) {
        start[len - 1] = '\0';
        start = g_strstrip(start + 1);
        len = strlen(start);
    }
    return g_strdup(start);
}

char *acr_search_shown(const char *text)
{
    g_autofree char *valid = acr_utf8_repair(text, strlen(text));
    char *shown = acr_text_shorten(valid, ACR_SEARCH_MAX_NAME);
    for (char *at = shown; *at; at++)
        if ((guchar)*at < 0x20 || *at == 0x7f)
            *at = ' ';
    return shown;
}

/* Returns the length of the dotted name at the start of `text`; 0 if there is none. */
static gsize name_length(const char *text)
{
    gsize at = 0, end = 0;
    while (acr_is_word(text[at]) && !g_ascii_isdigit(text[at])) {
        while (acr_is_word(text[at]))
            at++;
        end = at;
        if (text[at] != '.')
            break;
        at++;
    }
    return end;
}

/* True if the text after a name can be ignored: parentheses, punctuation, or one of `suffixes`. */
static bool is_tail(const char *rest)
{
    while (g_ascii_isspace(*rest))
        rest++;
    if (*rest == '\0' || strchr("([:=", *rest))
        return true;
    if (strchr(").,;`'\"", *rest))
        return is_tail(rest + 1);
    for (gsize i = 0; i < G_N_ELEMENTS(suffixes); i++)
        if (g_ascii_strcasecmp(rest, suffixes[i]) == 0)
            return true;
    return false;
}

/* Returns the start of the name inside `text`, after quotes, blanks and the allowed prefixes. */
static const char *skip_prefixes(const char *text)
{
    bool again = true;
    while (again) {
        again = false;
        while (g_ascii_isspace(*text) || is_quote(*text) || *text == '(' || *text == '.')
            text++;
        for (gsize i = 0; i < G_N_ELEMENTS(prefixes) && !again; i++) {
            if (g_str_has_prefix(text, prefixes[i]) && text[strlen(prefixes[i])]) {
                text += strlen(prefixes[i]);
                again = true;
            }
        }
    }
    return text;
}

void acr_name_arg_init(AcrNameArg *arg, const char *argument)
{
    g_autofree char *trimmed = acr_search_trim(argument);
    g_autoptr(GString) plain = g_string_new(trimmed);
    g_string_replace(plain, "::", ".", 0);
    const char *start = skip_prefixes(plain->str);
    gsize len = name_length(start);
    *arg = (AcrNameArg){0};
    if (len == 0 || !is_tail(start + len)) {
        arg->text = g_steal_pointer(&trimmed);
        arg->last = g_strdup(arg->text);
        return;
    }
    arg->is_name = true;
    arg->text = g_strndup(start, len);
    const char *dot = strrchr(arg->text, '.');
    arg->last = g_strdup(dot ? dot + 1 : arg->text);
    arg->qualifier = dot ? g_strndup(arg->text, (gsize)(dot - arg->text)) : NULL;
}

void acr_name_arg_clear(AcrNameArg *arg)
{
    g_clear_pointer(&arg->text, g_free);
    g_clear_pointer(&arg->last, g_free);
    g_clear_pointer(&arg->qualifier, g_free);
}
