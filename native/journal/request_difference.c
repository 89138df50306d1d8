/* Says where two requests differ: walks both trees together to the first place that is not equal,
 * and shows both sides of the difference. A string is shown around its first different byte, as a
 * JSON string, so that the message stays one line. */
#include "journal/journal_private.h"

#define SHOWN_BEFORE 60u /* number of equal bytes shown before the difference */
#define SHOWN 260u       /* number of bytes shown of each side */
#define MAX_PATH 300u    /* maximum length of a path in bytes */

/* Returns the text from some bytes before `at` on, as JSON, beginning at the start of a character;
 * owned. */
static char *excerpt(const char *text, gsize at)
{
    gsize from = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
    while (from > 0 && ((guchar)text[from] & 0xC0) == 0x80)
        from--;
    g_autofree char *quoted = acr_text_quote(text + from, SHOWN);
    return g_strconcat(from > 0 ? "…" : "", quoted, NULL);
}

static char *shorten(const char *text, gsize max)
{
    return g_strdelimit(acr_text_shorten(text, max), "\n", ' ');
}

static char *shown(const AcrJson *value)
{
    g_autofree char *text = value ? acr_json_print(value) : g_strdup("nothing");
    return shorten(text, SHOWN);
}

static char *describe_difference(const char *path, const AcrJson *recorded, const AcrJson *asked)
{
    const char *then = acr_json_string(recorded), *now = acr_json_string(asked);
    bool is_text = then && now;
    gsize at = 0;
    while (is_text && then[at] && then[at] == now[at])
        at++;
    g_autofree char *place = shorten(path, MAX_PATH),
                    *first = is_text ? excerpt(then, at) : shown(recorded),
                    *second = is_text ? excerpt(now, at) : shown(asked),
                    *byte = is_text ? g_strdup_printf(", byte %zu", at) : g_strdup("");
    return g_strdup_printf("request%s%s: recorded %s, now %s", place, byte, first, second);
}

/* Returns the member of `other` with the same name as `child`, or if `child` has no name, element
 * number `n`; NULL if there is none. */
static const AcrJson *counterpart(const AcrJson *other, const AcrJson *child, gsize n)
{
    if (acr_json_key(child))
        return acr_json_get(other, acr_json_key(child));
    const AcrJson *at = acr_json_first(other);
    while (at && n-- > 0)
        at = acr_json_next(at);
    return at;
}

static char *find_difference(GString *path, const AcrJson *recorded, const AcrJson *asked);

/* Describes the first difference below the children of `asked` or of `recorded`; owned, or NULL.
 * With is_asked, only children of `asked` that `recorded` lacks count. */
static char *find_below(GString *path, const AcrJson *recorded, const AcrJson *asked, bool is_asked)
{
    gsize len = path->len, n = 0;
    const AcrJson *at = acr_json_first(is_asked ? asked : recorded);
    for (; at; at = acr_json_next(at), n++) {
        const AcrJson *other = counterpart(is_asked ? recorded : asked, at, n);
        const char *key = acr_json_key(at);
        if ((is_asked && other) || g_strcmp0(key, "time") == 0)
            continue;
        if (key)
            g_string_append_printf(path, ".%s", key);
        else
            g_string_append_printf(path, "[%zu]", n);
        char *found =
            is_asked ? describe_difference(path->str, NULL, at) : find_difference(path, at, other);
        if (found)
            return found;
        g_string_truncate(path, len);
    }
    return NULL;
}

/* Describes the first difference at or below `path`; owned; NULL if there is none. */
static char *find_difference(GString *path, const AcrJson *recorded, const AcrJson *asked)
{
    AcrJsonType type = acr_json_type(recorded);
    if (recorded && asked && acr_json_equal(recorded, asked, "time"))
        return NULL;
    if (!recorded || !asked || type != acr_json_type(asked) ||
        (type != ACR_JSON_OBJECT && type != ACR_JSON_ARRAY))
        return describe_difference(path->str, recorded, asked);
    char *found = find_below(path, recorded, asked, false);
    return found ? found : find_below(path, recorded, asked, true);
}

char *acr_journal_difference(const AcrJson *recorded, const AcrJson *asked)
{
    g_autoptr(GString) path = g_string_new(NULL);
    char *found = find_difference(path, recorded, asked);
    return found ? found : describe_difference("", recorded, asked);
}
