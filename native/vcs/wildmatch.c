/*
 * Git's wildcards, as gitignore(5) states them: "*" and "?" stop at slashes, "**" between slashes
 * does not.
 *
 * Backtracking, as a pattern may hold several stars; its steps are counted, so that no pattern
 * takes long.
 */
#include <string.h>

#include "vcs_private.h"

#define MAX_STEPS 200000u

typedef struct {
    bool fold; /* ignore case */
    guint steps;
} Match;

static bool match(Match *m, const char *p, const char *text, const char *start);

static char fold(const Match *m, char c)
{
    return m->fold ? g_ascii_tolower(c) : c;
}

/* A named class such as "alpha" of `len` bytes. */
static bool in_class(const char *name, gsize len, guchar c)
{
    static const struct {
        const char *name;
        GAsciiType type;
    } classes[] = {
        {"alnum", G_ASCII_ALNUM}, {"alpha", G_ASCII_ALPHA},   {"cntrl", G_ASCII_CNTRL},
        {"digit", G_ASCII_DIGIT}, {"graph", G_ASCII_GRAPH},   {"lower", G_ASCII_LOWER},
        {"print", G_ASCII_PRINT}, {"punct", G_ASCII_PUNCT},   {"space", G_ASCII_SPACE},
        {"upper", G_ASCII_UPPER}, {"xdigit", G_ASCII_XDIGIT},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(classes); i++) {
        if (strlen(classes[i].name) == len && !memcmp(classes[i].name, name, len))
            return (g_ascii_table[c] & classes[i].type) != 0;
    }
    return len == 5 && !memcmp(name, "blank", 5) && (c == ' ' || c == '\t');
}

/* Takes one character of a bracket, unescaped; NULL at the pattern's end. */
static const char *bracket_char(const char *p, char *out)
{
    if (*p == '\\')
        p++;
    *out = *p;
    return *p ? p + 1 : NULL;
}

/*
 * Matches one character against the bracket that begins behind `p`'s "[". Returns what follows its
 * "]", or NULL if it has none; *out_in says whether the character is in it.
 */
static const char *match_bracket(const Match *m, const char *p, char text, bool *out_in)
{
    bool negated = *p == '!' || *p == '^';
    guchar c = (guchar)fold(m, text);
    bool in = false;
    p += negated;
    for (bool first = true; first || *p != ']'; first = false) {
        const char *end = p[0] == '[' && p[1] == ':' ? strchr(p + 2, ']') : NULL;
        if (end && end > p + 2 && end[-1] == ':') {
            in |= in_class(p + 2, (gsize)(end - p - 3), c);
            p = end + 1;
            continue;
        }
        char low, high;
        p = bracket_char(p, &low);
        if (!p)
            return NULL;
        high = low;
        if (p[0] == '-' && p[1] && p[1] != ']' && !(p = bracket_char(p + 1, &high)))
            return NULL;
        in |= c >= (guchar)fold(m, low) && c <= (guchar)fold(m, high);
        if (!*p)
            return NULL;
    }
    *out_in = in != negated && text != '/';
    return p + 1;
}

/* Tries what follows a star at every place it may reach. */
static bool match_star(Match *m, const char *rest, const char *text, const char *start,
                       bool over_slashes)
{
    for (;; text++) {
        if (match(m, rest, text, start))
            return true;
        if (!*text || (*text == '/' && !over_slashes) || m->steps >= MAX_STEPS)
            return false;
    }
}

static bool match_stars(Match *m, const char *p, const char *text, const char *start, bool at_part)
{
    const char *rest = p;
    while (*rest == '*')
        rest++;
    bool whole_part = rest - p >= 2 && at_part && (*rest == '/' || !*rest);
    if (whole_part && *rest == '/' && match(m, rest + 1, text, start))
        return true; /* "**" may stand for no folder at all */
    return match_star(m, rest, text, start, whole_part);
}

static bool match(Match *m, const char *p, const char *text, const char *start)
{
    for (bool in; *p; text++) {
        if (++m->steps >= MAX_STEPS)
            return false;
        if (*p == '*')
            return match_stars(m, p, text, start, p == start || p[-1] == '/');
        if (!*text)
            return false;
        switch (*p) {
        case '?':
            in = *text != '/';
            p++;
            break;
        case '[':
            p = match_bracket(m, p + 1, *text, &in);
            break;
        case '\\':
            p += p[1] != '\0';
            /* fall through */
        default:
            in = fold(m, *p) == fold(m, *text);
            p++;
        }
        if (!p || !in)
            return false;
    }
    return !*text;
}

bool acr_vcs_wildmatch(const char *pattern, const char *text, bool ignore_case)
{
    Match m = {.fold = ignore_case};
    return match(&m, pattern, text, pattern);
}
