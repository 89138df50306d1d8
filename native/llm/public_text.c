/*
 * Texts from servers and conversations made fit for a message or a file: one line, bounded, the
 * secrets taken out in every spelling in which a server may give them back. A needle is a secret or
 * what base64 makes of it; each of its characters is found as it is, percent-encoded, or escaped as
 * in JSON. In messages a part of a needle is enough, since servers, and ceilings, cut texts.
 */
#include "llm/llm_private.h"

#include <string.h>

#define REDACTED "[key]"
#define MIN_SECRET 4u  /* what is shorter is a placeholder, and taking it out spoils every text */
#define MIN_CODED 8u   /* bytes of a secret whose base64 is looked for */
#define MIN_END 8u     /* characters of a needle's beginning or end that are taken out alone */
#define MIN_PART 12u   /* likewise of its middle */
#define MIN_CUT_OF 16u /* of needles with at least so many */

/* ---- Needles ------------------------------------------------------------------------------------
 */

/* What base64 makes of the secret at `offset` of three bytes, without the characters that hold bits
 * of its neighbours; owned. */
static char *in_base64(const char *secret, gsize offset, bool url)
{
    gsize len = strlen(secret);
    guchar *padded = g_malloc0(offset + len + 1);
    char *all = NULL;
    char *inner = NULL;
    gsize first = (offset * 8 + 5) / 6;
    gsize last = (offset + len) * 8 / 6;

    memcpy(padded + offset, secret, len);
    all = g_base64_encode(padded, offset + len);
    if (url) {
        g_strdelimit(all, "+", '-');
        g_strdelimit(all, "/", '_');
    }
    inner = g_strndup(all + first, last > first ? last - first : 0);
    acr_wipe(all);
    explicit_bzero(padded, offset + len);
    g_free(padded);
    return inner;
}

/* Overwritten before they are freed: they are secrets too. */
static GPtrArray *needles_of(const GPtrArray *secrets, gsize min_len)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(acr_wipe);

    for (guint i = 0; secrets && i < secrets->len; i++) {
        const char *secret = secrets->pdata[i];

        if (!secret || strlen(secret) < min_len)
            continue;
        g_ptr_array_add(all, g_strdup(secret));
        for (gsize offset = 0; offset < 3 && strlen(secret) >= MIN_CODED; offset++) {
            g_ptr_array_add(all, in_base64(secret, offset, false));
            g_ptr_array_add(all, in_base64(secret, offset, true));
        }
    }
    return all;
}

/* ---- Finding ------------------------------------------------------------------------------------
 */

/* The byte that hexadecimal digits spell; -1: they are none. */
static int hex_byte(const char *digits)
{
    int high = g_ascii_xdigit_value(digits[0]);
    int low = high < 0 ? -1 : g_ascii_xdigit_value(digits[1]);

    return low < 0 ? -1 : high * 16 + low;
}

/* How many bytes at the start of `text` spell the character; 0: they do not. */
static gsize spelled(const char *text, char c)
{
    gsize slashes = 0;

    if (*text == '%' && hex_byte(text + 1) == (guchar)c)
        return 3;
    if (*text == c && c != '\\')
        return 1;
    if (*text != '\\')
        return 0;
    slashes = strspn(text, "\\");
    if (c == '\\')
        return slashes;
    if (text[slashes] == c)
        return slashes + 1;
    return g_str_has_prefix(text + slashes, "u00") && hex_byte(text + slashes + 3) == (guchar)c
               ? slashes + 5
               : 0;
}

/* How many characters of the needle stand at the start of `text`; their bytes in *out_bytes. */
static gsize matched(const char *text, const char *needle, gsize *out_bytes)
{
    gsize n = 0;

    *out_bytes = 0;
    for (gsize bytes = 0; needle[n] && (bytes = spelled(text + *out_bytes, needle[n])) > 0; n++)
        *out_bytes += bytes;
    return n;
}

/* The bytes at the start of `text` that are the needle or, with `parts`, tell of it; 0: none. */
static gsize found_at(const char *text, const char *needle, bool parts)
{
    gsize len = strlen(needle);
    gsize bytes = 0;
    gsize n = matched(text, needle, &bytes);
    gsize most = n == len || (parts && len >= MIN_CUT_OF && n >= MIN_END) ? bytes : 0;

    for (gsize from = 1; parts && len >= MIN_CUT_OF && from + MIN_END <= len; from++) {
        n = matched(text, needle + from, &bytes);
        if (n >= MIN_PART || (n >= MIN_END && from + n == len))
            most = MAX(most, bytes);
    }
    return most;
}

/* The text without the needle; owned; NULL: it does not hold it. */
static char *without(const char *text, const char *needle, bool parts)
{
    GString *out = NULL;
    const char *kept = text; /* what stands before it is in `out` */
    const char beginnings[] = {*needle, '%', '\\', '\0'};

    if (!*needle)
        return NULL;
    /* Answers are long: what cannot begin a needle is passed over at once. */
    for (const char *at = text; *(at += parts ? 0 : strcspn(at, beginnings));) {
        gsize bytes = found_at(at, needle, parts);

        if (bytes == 0) {
            at++;
            continue;
        }
        out = out ? out : g_string_new(NULL);
        g_string_append_len(out, kept, at - kept);
        g_string_append(out, REDACTED);
        at += bytes;
        kept = at;
    }
    if (!out)
        return NULL;
    g_string_append(out, kept);
    return g_string_free(out, FALSE);
}

/* The text (taken) without any needle; *out_found (may be NULL) is set if it held one. */
static char *without_all(char *text, const GPtrArray *needles, bool parts, bool *out_found)
{
    for (guint i = 0; i < needles->len; i++) {
        char *clean = without(text, needles->pdata[i], parts);

        if (!clean)
            continue;
        g_free(text);
        text = clean;
        if (out_found)
            *out_found = true;
    }
    return text;
}

/* ---- Showing ------------------------------------------------------------------------------------
 */

char *acr_llm_public_text(const char *text, const GPtrArray *secrets, gsize max)
{
    g_autoptr(GPtrArray) needles = needles_of(secrets, MIN_SECRET);
    g_autofree char *clean = without_all(acr_utf8_repair(text, strlen(text)), needles, true, NULL);
    char *shown = acr_text_shorten(clean, max);

    for (char *c = shown; *c; c++)
        if (g_ascii_iscntrl(*c))
            *c = ' ';
    return shown;
}

char *acr_llm_without_secrets(const char *text, const GPtrArray *secrets)
{
    g_autoptr(GPtrArray) needles = needles_of(secrets, ACR_SECRET_IN_ANSWER);
    g_autofree char *clean = NULL;
    bool found = false;

    clean = without_all(g_strdup(text), needles, false, &found);
    return found ? g_steal_pointer(&clean) : NULL;
}
