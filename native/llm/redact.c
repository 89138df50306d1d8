/* Removes secrets from texts that servers sent, and shortens these texts to one line for messages.
 * A secret is found as plain text, percent-encoded, and escaped as in JSON. In messages, long parts
 * of a secret are removed too, because servers and our limits cut texts. A secret that the server
 * encodes in another way (base64, hexadecimal) is not found. */
#include "llm/llm_private.h"

#include <string.h>

#define REDACTED "[key]"
/* minimum length of a key; a shorter key is a placeholder, not a secret */
#define MIN_SECRET 4u
#define MIN_END 8u   /* minimum length of a removed beginning or end of a secret */
#define MIN_PART 12u /* minimum length of a removed middle part of a secret */
/* minimum length of a secret that is also removed in parts */
#define MIN_CUT_OF 16u

void acr_wipe(gpointer text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    g_free(text);
}

/* Returns the byte that two hexadecimal digits denote; -1 if they are not digits. */
static int hex_byte(const char *digits)
{
    int high = g_ascii_xdigit_value(digits[0]);
    int low = high < 0 ? -1 : g_ascii_xdigit_value(digits[1]);
    return low < 0 ? -1 : high * 16 + low;
}

/* Returns the number of bytes at the start of `text` that encode the character `c`; 0 if `text`
 * does not begin with the character. */
static gsize spelled(const char *text, char c)
{
    if (*text == '%' && hex_byte(text + 1) == (guchar)c)
        return 3;
    if (*text == c && c != '\\')
        return 1;
    if (*text != '\\')
        return 0;
    gsize slashes = strspn(text, "\\");
    if (c == '\\')
        return slashes;
    if (text[slashes] == c)
        return slashes + 1;
    return g_str_has_prefix(text + slashes, "u00") && hex_byte(text + slashes + 3) == (guchar)c
               ? slashes + 5
               : 0;
}

/* Returns the number of characters of the secret with which `text` begins; *out_bytes is the number
 * of bytes that encode these characters. */
static gsize matched(const char *text, const char *secret, gsize *out_bytes)
{
    gsize n = 0;
    *out_bytes = 0;
    for (gsize bytes = 0; secret[n] && (bytes = spelled(text + *out_bytes, secret[n])) > 0; n++)
        *out_bytes += bytes;
    return n;
}

/* Returns the number of bytes at the start of `text` that are the secret or, with `parts`, a long
 * part of the secret; 0 if there are none. */
static gsize found_at(const char *text, const char *secret, bool parts)
{
    gsize len = strlen(secret);
    gsize bytes = 0;
    gsize n = matched(text, secret, &bytes);
    gsize most = n == len || (parts && len >= MIN_CUT_OF && n >= MIN_END) ? bytes : 0;
    for (gsize from = 1; parts && len >= MIN_CUT_OF && from + MIN_END <= len; from++) {
        n = matched(text, secret + from, &bytes);
        if (n >= MIN_PART || (n >= MIN_END && from + n == len))
            most = MAX(most, bytes);
    }
    return most;
}

/* Returns the text without the secret, owned; NULL if the text does not contain the secret. With
 * `parts`, removes long parts of the secret, too. */
static char *without(const char *text, const char *secret, bool parts)
{
    GString *out = NULL;
    const char *kept = text; /* the text before `kept` is already in `out` */
    const char beginnings[] = {*secret, '%', '\\', '\0'};
    /* Answers are long, so the loop quickly skips bytes that cannot begin a secret. */
    for (const char *at = text; *(at += parts ? 0 : strcspn(at, beginnings));) {
        gsize bytes = found_at(at, secret, parts);
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

/* Returns the text without any secret of at least `min_len` bytes, owned; NULL if the text contains
 * no secret. */
static char *without_all(const char *text, const GPtrArray *secrets, gsize min_len, bool parts)
{
    char *clean = NULL;
    for (guint i = 0; secrets && i < secrets->len; i++) {
        const char *secret = secrets->pdata[i];
        char *next = secret && strlen(secret) >= min_len
                         ? without(clean ? clean : text, secret, parts)
                         : NULL;
        if (next) {
            g_free(clean);
            clean = next;
        }
    }
    return clean;
}

char *acr_redact_line(const char *text, const GPtrArray *secrets, gsize max)
{
    g_autofree char *repaired = acr_utf8_repair(text, strlen(text));
    g_autofree char *clean = without_all(repaired, secrets, MIN_SECRET, true);
    char *shown = acr_text_shorten(clean ? clean : repaired, max);
    for (char *c = shown; *c; c++)
        if (g_ascii_iscntrl(*c))
            *c = ' ';
    return shown;
}

char *acr_redact_answer(const char *text, const GPtrArray *secrets)
{
    return without_all(text, secrets, ACR_SECRET_IN_ANSWER, false);
}

void acr_redact_model_answer(AcrModelAnswer *answer, char **request_id, const GPtrArray *secrets)
{
    char **const texts[] = {request_id,
                            answer ? &answer->content : NULL,
                            answer ? &answer->finish : NULL,
                            answer ? &answer->model : NULL,
                            answer ? &answer->request_id : NULL,
                            answer ? &answer->thoughts : NULL};
    for (gsize i = 0; i < (answer ? G_N_ELEMENTS(texts) : 1); i++) {
        char *clean = *texts[i] ? acr_redact_answer(*texts[i], secrets) : NULL;
        if (clean) {
            g_free(*texts[i]);
            *texts[i] = clean;
        }
    }
}

void acr_finish_tools(AcrModelAnswer *answer, bool are_asked, const char *model,
                      const GPtrArray *secrets)
{
    g_autofree char *text = are_asked && answer->tools ? acr_json_print(answer->tools) : NULL;
    g_autofree char *clean = text ? acr_redact_answer(text, secrets) : NULL;
    g_clear_pointer(&answer->tools, acr_json_free);
    if (!text)
        return;
    answer->tools = acr_json_parse(clean ? clean : text, strlen(clean ? clean : text), NULL);
    if (answer->tools)
        acr_json_set_string(answer->tools, "by", model);
}
