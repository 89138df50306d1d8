/*
 * Refusals of a prompt that is too long, in the words of the servers: the one thing for which no
 * two of them have the same code. Where the words hold the number of tokens that fit, it is read,
 * so that the next prompt can be made to fit in advance.
 */
#include "llm/failure.h"

#include <string.h>

#define MAX_BETWEEN 24u /* bytes between the words and their number */

typedef struct {
    const char *words; /* in lower case */
    enum { NOWHERE, BEHIND, BEFORE } number;
} Phrase;

/* Those with a number first: the first that is found counts. */
static const Phrase phrases[] = {
    {"maximum context length is", BEHIND},
    {"maximum context length of", BEHIND},
    {"maximum prompt length is", BEHIND},
    {"context length is only", BEHIND},
    {"the available context size (", BEHIND},
    {"maximum number of tokens allowed", BEHIND},
    {"exceed the configured limit of", BEHIND},
    {"exceeded model token limit:", BEHIND},
    {"max input tokens:", BEHIND},
    {" maximum context length", BEFORE},
    {"prompt is too long", NOWHERE}, /* "…: 215049 tokens > 200000 maximum" */
    {"exceed context limit", NOWHERE},
    {"maximum context length", NOWHERE},
    {"exceeds the available context size", NOWHERE},
    {"exceeds the context length", NOWHERE},
    {"exceeds the context window", NOWHERE},
    {"input is too long for requested model", NOWHERE},
    {"too many total text bytes", NOWHERE},
    {"maximum number of tokens allowed", NOWHERE},
    {"too many input tokens", NOWHERE},
    {"contextwindowexceedederror", NOWHERE},
    {"exceed_context_size_error", NOWHERE},
    {"context_length_exceeded", NOWHERE},
};

/* The number at `at`, with commas between its digits; 0: none that can be a window. */
static gint64 number_at(const char *at)
{
    gint64 number = 0;

    for (; g_ascii_isdigit(*at) || (*at == ',' && number > 0 && g_ascii_isdigit(at[1])); at++) {
        if (*at != ',')
            number = number * 10 + (*at - '0');
        if (number > ACR_MAX_WINDOW)
            return 0;
    }
    return number;
}

/* The number that stands where the phrase says, which begins at `at` in the text. */
static gint64 number_of(const Phrase *phrase, const char *text, const char *at)
{
    const char *end = at + strlen(phrase->words);
    const char *sign = strstr(end, "> "); /* "… > 200000": what the sum is compared with */

    if (phrase->number == NOWHERE)
        return sign ? number_at(sign + 2) : 0;
    if (phrase->number == BEHIND) {
        for (guint i = 0; i < MAX_BETWEEN && *end && !g_ascii_isdigit(*end); i++)
            end++;
        return number_at(end);
    }
    while (at > text && g_ascii_isspace(at[-1]))
        at--;
    while (at > text && (g_ascii_isdigit(at[-1]) || at[-1] == ','))
        at--;
    return number_at(at + (*at == ','));
}

bool acr_is_context_length_error(const char *text, gint64 *out_window)
{
    for (gsize i = 0; i < G_N_ELEMENTS(phrases); i++) {
        const char *at = strstr(text, phrases[i].words);

        *out_window = at ? number_of(&phrases[i], text, at) : 0;
        if (*out_window > 0 || (at && phrases[i].number == NOWHERE))
            return true;
    }
    return false;
}
