/* Private to search.c: calls in words, and where the lines of an interactive search come from. */
#ifndef ACR_SEARCH_INPUT_H
#define ACR_SEARCH_INPUT_H

#include "verbs/verbs_private.h"

/* ---- Words (search_words.c) ---- */

#define ACR_SEARCH_WORD_WINDOW "10" /* lines before and after that of "line FILE:NUMBER" */

/* Whether it begins a call in words: "class", "method", "code", "line". */
bool acr_search_is_word(const char *word);
/* The call that the words and --in, --regex ask for. Errors: USAGE of task. */
bool acr_search_word_call(const char *word, const char *text, const AcrRunSpec *spec, AcrCall *out,
                          GError **error) ACR_MUST_USE;
/* Whether a line is such words; *out_word is owned, *out_text lies in the line. */
bool acr_search_split_words(const char *line, char **out_word, const char **out_text);
/* The calls with their signatures, a line each; owned. */
char *acr_search_list(const AcrCalls *calls) ACR_MUST_USE;

/* ---- Lines (search_input.c) ---- */

typedef struct {
    const AcrInterrupt *interrupt; /* borrowed */
    bool is_terminal;              /* read with a prompt, editing and history */
    char *history;                 /* the file of it; owned, NULL: none */
    GByteArray *waiting;           /* what has come; owned */
    gsize taken;                   /* of it, bytes that were given already */
    gsize searched;                /* up to where it holds no end of a line */
    bool is_ended;
} AcrSearchInput;

/*
 * Reads from standard input: at a terminal with readline, where that is installed; else what is there,
 * until its end or until its writer waits for an answer. Errors: TOO_BIG, FAILED of base.
 */
bool acr_search_input_open(const AcrInterrupt *interrupt, AcrSearchInput *out,
                           GError **error) ACR_MUST_USE;
void acr_search_input_clear(AcrSearchInput *input);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrSearchInput, acr_search_input_clear)
/* The next line that is not empty, stripped, as UTF-8; *out is owned, NULL: the input has ended, or a signal
 * came. Errors: TOO_BIG, FAILED of base. */
bool acr_search_input_next(AcrSearchInput *input, char **out, GError **error) ACR_MUST_USE;
/* Takes the lines that are left and not empty, and counts them; 0 where the input has not ended. */
guint acr_search_input_left(AcrSearchInput *input);

#endif
