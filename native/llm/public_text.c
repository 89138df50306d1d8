/*
 * Texts from servers and conversations made fit for a message or a file: one line, bounded, the
 * secrets taken out in every spelling in which a server may give them back (as they are, escaped in
 * JSON, percent-encoded, in base64), and the parts of one that a cut has left.
 */
#include "llm/llm_private.h"

#include <string.h>

#define REDACTED "[key]"
#define MIN_SECRET 4u  /* what is shorter is a placeholder, and taking it out spoils every text */
#define MIN_CUT 8u     /* a shorter beginning or end of a secret tells nothing */
#define MIN_CUT_OF 16u /* of secrets with at least so many bytes */

/* ---- Spellings ----------------------------------------------------------------------------------
 */

/* Adds a spelling (taken) unless it is there already. */
static void add_spelling(GPtrArray *all, char *spelling)
{
    if (*spelling && !g_ptr_array_find_with_equal_func(all, spelling, g_str_equal, NULL))
        g_ptr_array_add(all, spelling);
    else
        g_free(spelling);
}

/* As in a JSON string; `escapes` are the characters that some writers spell as \uXXXX, `slash`
 * whether "/" is "\/". */
static char *in_json(const char *secret, const char *escapes, bool slash)
{
    GString *out = g_string_new(NULL);

    for (const char *c = secret; *c; c++) {
        if (strchr(escapes, *c))
            g_string_append_printf(out, "\\u%04x", (guint)(guchar)*c);
        else if (*c == '"' || *c == '\\' || (slash && *c == '/'))
            g_string_append_printf(out, "\\%c", *c);
        else
            g_string_append_c(out, *c);
    }
    return g_string_free(out, FALSE);
}

/* With all bytes as %XX but those in no need of it; `format` says how the digits are spelled. */
static char *in_url(const char *secret, const char *keep, bool lower)
{
    GString *out = g_string_new(NULL);

    for (const char *c = secret; *c; c++) {
        if (g_ascii_isalnum(*c) || strchr(keep, *c))
            g_string_append_c(out, *c);
        else if (lower)
            g_string_append_printf(out, "%%%02x", (guint)(guchar)*c);
        else
            g_string_append_printf(out, "%%%02X", (guint)(guchar)*c);
    }
    return g_string_free(out, FALSE);
}

/* What base64 makes of the secret at `offset` of three bytes, without the characters that hold bits
 * of its neighbours; owned. */
static char *in_base64(const char *secret, gsize offset, bool url)
{
    gsize len = strlen(secret);
    g_autofree guchar *padded = g_malloc0(offset + len + 1);
    g_autofree char *all = NULL;
    gsize first = (offset * 8 + 5) / 6;
    gsize last = (offset + len) * 8 / 6;

    memcpy(padded + offset, secret, len);
    all = g_base64_encode(padded, offset + len);
    if (url) {
        g_strdelimit(all, "+", '-');
        g_strdelimit(all, "/", '_');
    }
    return g_strndup(all + first, last > first ? last - first : 0);
}

static void add_spellings(GPtrArray *all, const char *secret)
{
    add_spelling(all, g_strdup(secret));
    add_spelling(all, in_json(secret, "", false));
    add_spelling(all, in_json(secret, "", true));
    add_spelling(all, in_json(secret, "&<>", false));
    add_spelling(all, in_json(secret, "&<>'+", true));
    for (int lower = 0; lower <= 1; lower++) {
        add_spelling(all, in_url(secret, "-._~", lower));
        add_spelling(all, in_url(secret, "-._~!$&'()*+,;=:@/", lower));
        add_spelling(all, in_url(secret, "", lower));
    }
    for (gsize offset = 0; offset < 3 && strlen(secret) >= MIN_CUT; offset++) {
        add_spelling(all, in_base64(secret, offset, false));
        add_spelling(all, in_base64(secret, offset, true));
    }
}

static gint longest_first(gconstpointer a, gconstpointer b)
{
    gsize len_a = strlen(*(const char *const *)a), len_b = strlen(*(const char *const *)b);

    return len_a < len_b ? 1 : len_a > len_b ? -1 : 0;
}

/* Overwritten before they are freed: they are secrets too. */
static GPtrArray *spellings_of(const GPtrArray *secrets, gsize min_len)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(acr_wipe);

    for (guint i = 0; secrets && i < secrets->len; i++)
        if (secrets->pdata[i] && strlen(secrets->pdata[i]) >= min_len)
            add_spellings(all, secrets->pdata[i]);
    g_ptr_array_sort(all, longest_first);
    return all;
}

/* ---- Taking out ---------------------------------------------------------------------------------
 */

/* How many bytes at the start of `text` are a beginning of the secret. */
static gsize beginning_at(const char *text, const char *secret)
{
    gsize n = 0;

    while (secret[n] && text[n] == secret[n])
        n++;
    return n;
}

/* How many bytes before `end` are an end of the secret. */
static gsize end_before(const char *text, const char *end, const char *secret)
{
    gsize n = 0, len = strlen(secret);

    while (n < len && end - n > text && end[-1 - (gssize)n] == secret[len - 1 - n])
        n++;
    return n;
}

/* Beginnings and ends of a secret that a server, or a ceiling, has cut. */
static void take_cut_parts(GString *text, const char *secret)
{
    for (gsize i = 0; i < text->len; i++) {
        gsize n = beginning_at(text->str + i, secret);

        if (n >= MIN_CUT) {
            g_string_erase(text, (gssize)i, (gssize)n);
            g_string_insert(text, (gssize)i, REDACTED);
        }
    }
    for (gsize i = text->len; i > 0; i--) {
        gsize n = end_before(text->str, text->str + i, secret);

        if (n >= MIN_CUT) {
            g_string_erase(text, (gssize)(i - n), (gssize)n);
            g_string_insert(text, (gssize)(i - n), REDACTED);
            i = i - n + 1;
        }
    }
}

static void take_out(GString *text, const GPtrArray *spellings)
{
    for (guint i = 0; i < spellings->len; i++)
        if (strstr(text->str, spellings->pdata[i]))
            g_string_replace(text, spellings->pdata[i], REDACTED, 0);
}

char *acr_llm_public_text(const char *text, const GPtrArray *secrets, gsize max)
{
    g_autofree char *repaired = acr_utf8_repair(text, strlen(text));
    g_autoptr(GString) clean = g_string_new(repaired);
    g_autoptr(GPtrArray) spellings = spellings_of(secrets, MIN_SECRET);
    char *shown = NULL;

    take_out(clean, spellings);
    for (guint i = 0; i < spellings->len; i++)
        if (strlen(spellings->pdata[i]) >= MIN_CUT_OF)
            take_cut_parts(clean, spellings->pdata[i]);
    shown = acr_text_shorten(clean->str, max);
    for (char *c = shown; *c; c++)
        if (g_ascii_iscntrl(*c))
            *c = ' ';
    return shown;
}

char *acr_llm_without_secrets(const char *text, const GPtrArray *secrets)
{
    g_autoptr(GPtrArray) spellings = spellings_of(secrets, ACR_SECRET_IN_ANSWER);
    GString *clean = NULL;

    for (guint i = 0; i < spellings->len; i++)
        if (strstr(text, spellings->pdata[i])) {
            clean = clean ? clean : g_string_new(text);
            take_out(clean, spellings);
        }
    return clean ? g_string_free(clean, FALSE) : NULL;
}

char *acr_llm_quote(const char *text, gsize max)
{
    g_autofree char *shown = acr_text_shorten(text, max);
    g_autoptr(AcrJson) string = acr_json_new_string(shown);

    return acr_json_print(string);
}
