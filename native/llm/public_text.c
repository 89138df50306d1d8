/*
 * Texts from servers and conversations made fit for a message: one line, bounded, the key taken
 * out.
 */
#include "llm/llm_private.h"

#include <string.h>

char *acr_llm_public_text(const char *text, const char *secret, gsize max)
{
    g_autofree char *repaired = acr_utf8_repair(text, strlen(text));
    g_autoptr(GString) clean = g_string_new(repaired);
    char *shown = NULL;

    if (secret && *secret)
        g_string_replace(clean, secret, "[key]", 0);
    shown = acr_text_shorten(clean->str, max);
    for (char *c = shown; *c; c++)
        if (g_ascii_iscntrl(*c))
            *c = ' ';
    return shown;
}

char *acr_llm_quote(const char *text, gsize max)
{
    g_autofree char *shown = acr_text_shorten(text, max);
    g_autoptr(AcrJson) string = acr_json_new_string(shown);

    return acr_json_print(string);
}
