/* Failures of a model's server: their classes, when to retry, and how long to wait. */
#pragma once

#include <string.h>

#include "llm/llm.h"

/* maximum number of bytes of a server's own message that an error quotes */
#define ACR_LLM_MAX_MESSAGE 1024u
#define ACR_LLM_BACKOFF_BASE_MS 1000
#define ACR_LLM_BACKOFF_CAP_MS 60000
/* maximum window in tokens; a larger window in an error message is ignored */
#define ACR_MAX_WINDOW ((gint64)1000000000)
#define ACR_MAX_RETRY_AFTER_MS ((gint64)24 * 3600 * 1000) /* a longer wait is cut to a day */

/* ---- Classes (failure.c, context_length_error.c) ---- */

/* The failure of a try. Zero-initialise. */
typedef struct {
    AcrLlmError code;
    bool retryable;
    gint64 retry_after_ms; /* wait that the server asks for; -1: unknown */
    char *message;         /* owned; one line of bounded length */
    char *param;           /* owned; the parameter that the server rejected, or NULL */
    /* for CONTEXT_OVERFLOW: tokens that fit, or 0 if the server does not say */
    gint64 window;
} AcrFailure;
void acr_failure_clear(AcrFailure *failure);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrFailure, acr_failure_clear)
/* Fills *out; always returns false. The class `code` determines whether a retry makes sense.
 * `message` is copied. */
bool acr_fail(AcrFailure *out, AcrLlmError code, const char *message);

/* Returns the error in a body: its "error" member, or the body itself if it has a message and no
 * answer; NULL if there is no error, or if its code means success. Borrowed. */
const AcrJson *acr_failure_in_body(const AcrJson *body);
/* Classifies a failed response. `body` is NULL if the response is not JSON; the message then
 * quotes `text`. */
void acr_failure_of_response(int status, const AcrJson *body, const char *text, gsize len,
                             GHashTable *headers, AcrFailure *out);
/* Returns the maximum number of retries for a class of failure, whatever the option says; 0:
 * failures of the class are never retried. */
guint acr_failure_retries(AcrLlmError code);
/* Whether a message (in lower case) says that the prompt is too long. If so, *out_window is the
 * number of tokens that fit, or 0 if the message does not say. */
bool acr_is_context_length_error(const char *text, gint64 *out_window);
/* Finds the integers in a text that are not part of a word; digits may be grouped by commas.
 * Stores at most `max` in `out` and returns their number. */
guint acr_numbers_in(const char *text, gint64 *out, guint max);
/* Whether the text contains one of the `words`, which are separated by '|'. */
static inline bool acr_says_any(const char *text, const char *words)
{
    g_auto(GStrv) list = g_strsplit(words, "|", -1);
    for (char **word = list; *word; word++)
        if (strstr(text, *word))
            return true;
    return false;
}
/* Returns the request id in the server's headers, borrowed; NULL if there is none. */
const char *acr_header_request_id(GHashTable *headers);

/* ---- When to retry (retry.c) -------- */

/* Returns the duration at the start of a text, in milliseconds; -1 if there is none. Examples:
 * "6m0s", "88ms", "1.5s", "2 minutes", or a bare number of seconds. */
gint64 acr_duration_ms(const char *text);
/* Returns the wait, in milliseconds, that an error's words ask for; -1 if they ask for none.
 * `prose` is the error's text in lower case. */
gint64 acr_retry_hint_ms(const AcrJson *error, const char *prose);
/* Returns the wait that the headers ask for, in milliseconds: retry-after-ms, else retry-after
 * (seconds or an HTTP date; `now_unix` in seconds), else x-amz-retry-after. Returns -1 if no header
 * is sent or can be parsed. At most ACR_MAX_RETRY_AFTER_MS. */
gint64 acr_retry_after_ms(GHashTable *headers, gint64 now_unix);

/* Returns a back-off with full jitter: `u`, in [0, 1), times min(cap, base * 2^retry). The wait
 * that the server asked for, plus up to 10 %, is the minimum. */
gint64 acr_backoff_ms(gint64 base_ms, guint retry, gint64 retry_after_ms, double u);
/* Waits `ms` milliseconds; returns false if interrupted before that. */
bool acr_llm_wait(gint64 ms, const AcrInterrupt *interrupt);
