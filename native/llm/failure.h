/* Failures of a model's server: their class, when to try again, waits. */
#ifndef ACR_LLM_FAILURE_H
#define ACR_LLM_FAILURE_H

#include <string.h>

#include "llm/llm.h"

#define ACR_LLM_MAX_MESSAGE 1024u /* bytes of a server's own words in an error */
#define ACR_LLM_BACKOFF_BASE_MS 1000
#define ACR_LLM_BACKOFF_CAP_MS 60000
#define ACR_MAX_WINDOW ((gint64)1000000000)               /* tokens; a larger one is nonsense */
#define ACR_MAX_RETRY_AFTER_MS ((gint64)24 * 3600 * 1000) /* a longer wait is cut to this one */

/* ---- Classes (failure.c, context_length_error.c) ---- */

/* Zero-initialise. */
typedef struct {
    AcrLlmError code;
    bool retryable;
    gint64 retry_after_ms; /* -1: not said */
    char *message;         /* owned; one line, bounded */
    char *param;           /* owned; the request's parameter that the server refused, or NULL */
    gint64 window; /* of CONTEXT_OVERFLOW: tokens that fit, where the server says it; else 0 */
} AcrFailure;
void acr_failure_clear(AcrFailure *failure);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrFailure, acr_failure_clear)
/* Fills *out, retryable by its class; false always. `message` is copied. */
bool acr_fail(AcrFailure *out, AcrLlmError code, const char *message);

/* The error in a body: its "error" member, or the body itself where it has a message and no answer;
 * NULL: none, or one whose code says success. */
const AcrJson *acr_failure_in_body(const AcrJson *body);
/* Classifies a response that failed. `body` may be NULL: no JSON; then `text` is shown. */
void acr_failure_of_response(int status, const AcrJson *body, const char *text, gsize len,
                             GHashTable *headers, AcrFailure *out);
/* How often a call that fails so is retried at most, whatever the option says; 0: never. */
guint acr_failure_retries(AcrLlmError code);
/* Whether a message (in lower case) says that the prompt is too long; *out_window then is how many
 * tokens fit, 0 where it does not say so. */
bool acr_is_context_length_error(const char *text, gint64 *out_window);
/* The whole numbers of a text that stand by themselves, commas between their digits or not; how many
 * of them, at most `max`, are in `out`. */
guint acr_numbers_in(const char *text, gint64 *out, guint max);
/* Whether the text holds one of the words, which '|' parts. */
static inline bool acr_says_any(const char *text, const char *words)
{
    g_auto(GStrv) list = g_strsplit(words, "|", -1);
    for (char **word = list; *word; word++)
        if (strstr(text, *word))
            return true;
    return false;
}
/* The request's id as the server names it, in whichever header; borrowed; NULL: it does not. */
const char *acr_header_request_id(GHashTable *headers);

/* ---- When to try again (retry.c) ---- */

/*
 * The milliseconds of "6m0s", "88ms", "1.5s", "2 minutes", or of a bare number of seconds, at the
 * start of a text; -1: none.
 */
gint64 acr_duration_ms(const char *text);
/* The wait that an error's own words ask for: `prose` is its text in lower case; -1: none. */
gint64 acr_retry_hint_ms(const AcrJson *error, const char *prose);
/* retry-after-ms, else retry-after in seconds or as an HTTP date (`now_unix` seconds), else
 * x-amz-retry-after; -1: not sent or unreadable. At most ACR_MAX_RETRY_AFTER_MS. */
gint64 acr_retry_after_ms(GHashTable *headers, gint64 now_unix);

/* Full jitter: `u` in [0, 1) of min(cap, base * 2^retry); what the server asked for is a floor,
 * plus up to 10 %. */
gint64 acr_backoff_ms(gint64 base_ms, guint retry, gint64 retry_after_ms, double u);
/* False if interrupted before `ms` have passed. */
bool acr_llm_wait(gint64 ms, const AcrInterrupt *interrupt);

#endif
