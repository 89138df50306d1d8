/*
 * Says where two requests differ: both trees are walked together until the first place that is not
 * equal, and the two sides are shown there. Texts are shown around their first different byte, as
 * JSON strings so that the message stays one line.
 */
#include "journal/journal_private.h"

#include <string.h>

#define SHOWN_BEFORE 60u /* bytes of equal text before the difference */
#define SHOWN_AFTER 200u
#define MAX_PATH 300u /* bytes */

typedef struct {
    GString *path; /* of the place looked at: ".messages[2].content" */
    char *text;    /* owned; the finding, once there is one */
} Walk;

static bool walk(Walk *w, const AcrJson *recorded, const AcrJson *asked);

/* JSON text of the bytes around `at`, cut at character borders. */
static char *excerpt(const char *text, gsize at)
{
    gsize len = strlen(text);
    gsize from = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
    gsize to = MIN(len, at + SHOWN_AFTER);
    g_autofree char *cut = NULL;
    g_autofree char *quoted = NULL;
    g_autoptr(AcrJson) string = NULL;

    while (from > 0 && ((guchar)text[from] & 0xC0) == 0x80)
        from--;
    while (to < len && ((guchar)text[to] & 0xC0) == 0x80)
        to++;
    cut = g_strndup(text + from, to - from);
    string = acr_json_new_string(cut);
    quoted = acr_json_print(string);
    return g_strconcat(from > 0 ? "…" : "", quoted, to < len ? "…" : "", NULL);
}

/* At most `max` bytes of `text` on one line. */
static char *shorten(const char *text, gsize max)
{
    return g_strdelimit(acr_text_shorten(text, max), "\n", ' ');
}

static char *shown(const AcrJson *value)
{
    g_autofree char *text = NULL;

    if (!value)
        return g_strdup("nothing");
    text = acr_json_print(value);
    return shorten(text, SHOWN_BEFORE + SHOWN_AFTER);
}

static bool found(Walk *w, char *recorded, char *asked)
{
    g_autofree char *path = shorten(w->path->str, MAX_PATH);

    w->text = g_strdup_printf("request%s: recorded %s, now %s", path, recorded, asked);
    g_free(recorded);
    g_free(asked);
    return true;
}

static bool found_string(Walk *w, const char *recorded, const char *asked)
{
    gsize at = 0;

    while (recorded[at] && recorded[at] == asked[at])
        at++;
    g_string_append_printf(w->path, ", byte %zu", at);
    return found(w, excerpt(recorded, at), excerpt(asked, at));
}

static bool walk_member(Walk *w, const char *key, const AcrJson *recorded, const AcrJson *asked)
{
    gsize len = w->path->len;

    g_string_append_printf(w->path, ".%s", key);
    if (walk(w, recorded, asked))
        return true;
    g_string_truncate(w->path, len);
    return false;
}

static bool walk_object(Walk *w, const AcrJson *recorded, const AcrJson *asked)
{
    for (const AcrJson *m = acr_json_first(recorded); m; m = acr_json_next(m)) {
        const char *key = acr_json_key(m);

        if (strcmp(key, "time") != 0 && walk_member(w, key, m, acr_json_get(asked, key)))
            return true;
    }
    for (const AcrJson *m = acr_json_first(asked); m; m = acr_json_next(m)) {
        const char *key = acr_json_key(m);

        if (strcmp(key, "time") != 0 && !acr_json_get(recorded, key))
            return walk_member(w, key, NULL, m);
    }
    return false;
}

static bool walk_array(Walk *w, const AcrJson *recorded, const AcrJson *asked)
{
    const AcrJson *a = acr_json_first(recorded);
    const AcrJson *b = acr_json_first(asked);

    for (gsize i = 0; a || b;
         i++, a = a ? acr_json_next(a) : NULL, b = b ? acr_json_next(b) : NULL) {
        gsize len = w->path->len;

        g_string_append_printf(w->path, "[%zu]", i);
        if (walk(w, a, b))
            return true;
        g_string_truncate(w->path, len);
    }
    return false;
}

static bool walk(Walk *w, const AcrJson *recorded, const AcrJson *asked)
{
    if (recorded && asked && acr_json_equal(recorded, asked, "time"))
        return false;
    if (!recorded || !asked || acr_json_type(recorded) != acr_json_type(asked))
        return found(w, shown(recorded), shown(asked));
    switch (acr_json_type(recorded)) {
    case ACR_JSON_STRING:
        return found_string(w, acr_json_string(recorded), acr_json_string(asked));
    case ACR_JSON_OBJECT:
        return walk_object(w, recorded, asked);
    case ACR_JSON_ARRAY:
        return walk_array(w, recorded, asked);
    default:
        return found(w, shown(recorded), shown(asked));
    }
}

char *acr_journal_difference(const AcrJson *recorded, const AcrJson *asked)
{
    g_autoptr(GString) path = g_string_new(NULL);
    Walk w = {.path = path};

    if (!walk(&w, recorded, asked))
        (void)found(&w, shown(recorded), shown(asked));
    return w.text;
}
