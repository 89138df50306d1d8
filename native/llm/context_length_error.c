/* Recognises errors that say that the prompt is too long. No two servers share an error code for
 * long prompts, so we look in the message for a noun such as "prompt" together with words such as
 * "too long". Most messages also say how many tokens fit; the caller uses this number to shorten
 * the next prompt. */
#include "llm/failure.h"

#include <string.h>

/* maximum number of bytes between the words of BEFORE_WINDOW and the number */
#define MAX_BETWEEN 24u
#define MAX_NUMBERS 16u /* maximum number of numbers that are read in one message */

/* Words before the number that states the size of the window. */
#define BEFORE_WINDOW                                                                              \
    "context length is|context length of|prompt length is|context length is only|"                 \
    "context size (|tokens allowed|configured limit of|model token limit:|"                        \
    "max input tokens:|context window of|limit of|length should be [1,|must have less than|"       \
    "must be <=|cannot exceed|n_ctx:|maximum input length|max_seq_len|model with|"                 \
    "while limit is|maximum length|tokens limit|maximum number of|max size:|"                      \
    "maximum context length:"
/* Words for a prompt (NOUNS), words for "too long" (VERBS), and words that show that an error is
 * about another limit (OTHERS). */
#define NOUNS                                                                                      \
    "context|prompt|input|token count|tokens to keep|total tokens|too many tokens|"                \
    "message tokens|messages|text bytes|request body|request (|token limit|requested tokens"
#define VERBS                                                                                      \
    "exceed|too long|too large|longer than|greater than|must be <=|less than|is only|"             \
    "overflow|too many|reduce the length|over the limit|should be [1,|"                            \
    "maximum context length|maximum prompt length|\xe8\xb6\x85|\xe8\xbf\x87\xe9\x95\xbf"
#define OTHERS                                                                                     \
    "per minute|per day|rate limit|quota|credit|balance|tools|budget|tpm|api key|stop|"            \
    "schema|image"
/* Error codes that alone show that the prompt is too long. */
#define CODES                                                                                      \
    "contextwindowexceedederror|exceed_context_size_error|context_length_exceeded|"                \
    "tokens_limit_reached|model_max_prompt_tokens_exceeded"

guint acr_numbers_in(const char *text, gint64 *out, guint max)
{
    guint n = 0;
    for (const char *at = text; *at && n < max;) {
        bool is_part = at > text && (g_ascii_isalnum(at[-1]) || strchr("_-.#:", at[-1]));
        gint64 number = 0;
        if (!g_ascii_isdigit(*at)) {
            at++;
            continue;
        }
        for (; g_ascii_isdigit(*at) || (*at == ',' && g_ascii_isdigit(at[1])); at++)
            if (*at != ',' && number <= ACR_MAX_WINDOW)
                number = number * 10 + (*at - '0');
        is_part =
            is_part || g_ascii_isalpha(*at) || *at == '_' || (*at == '.' && g_ascii_isdigit(at[1]));
        if (!is_part && number > 0 && number <= ACR_MAX_WINDOW)
            out[n++] = number;
    }
    return n;
}

/* Returns the number that follows `words` in the text within MAX_BETWEEN bytes; 0 if there is
 * none. */
static gint64 number_behind(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    gint64 number = 0;
    if (!at)
        return 0;
    at += strlen(words);
    for (guint i = 0; i < MAX_BETWEEN && *at && !g_ascii_isdigit(*at); i++)
        at++;
    return acr_numbers_in(at, &number, 1) && g_ascii_isdigit(*at) ? number : 0;
}

/* Returns the number of tokens that fit, as the text states it; 0 if the text does not state it. */
static gint64 window_in(const char *text)
{
    gint64 numbers[MAX_NUMBERS], most = 0, next = 0;
    guint n = acr_numbers_in(text, numbers, MAX_NUMBERS);
    g_auto(GStrv) before = g_strsplit(BEFORE_WINDOW, "|", -1);
    /* a message with "… > 200000" compares the sum of prompt and answer with the window */
    const char *sign = strstr(text, "> ");
    if (sign && acr_numbers_in(sign + 2, &most, 1) && g_ascii_isdigit(sign[2]))
        return most;
    for (char **words = before; *words; words++)
        if ((most = number_behind(text, *words)) > 1)
            return most;
    /* the largest number is the number of tokens sent; the next smaller number may be the window */
    for (guint i = 0; i < n; i++) {
        next = numbers[i] > most ? most : MAX(next, numbers[i] < most ? numbers[i] : 0);
        most = MAX(most, numbers[i]);
    }
    return next > 1 ? next : 0;
}

bool acr_is_context_length_error(const char *text, gint64 *out_window)
{
    bool is_meant =
        acr_says_any(text, CODES) ||
        (acr_says_any(text, NOUNS) && acr_says_any(text, VERBS) && !acr_says_any(text, OTHERS));
    *out_window = is_meant ? window_in(text) : 0;
    return is_meant;
}
