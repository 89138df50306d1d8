/* Shared inside the library: backends, the dialects that HTTP backends speak, error classes and
 * waits. */
#ifndef ACR_LLM_PRIVATE_H
#define ACR_LLM_PRIVATE_H

#include "http/http.h"
#include "llm/llm.h"

/* ---- Scripted answers (script.c) ----------------------------------------------------------------
 */

#define ACR_SCRIPT_MAX_BYTES (512u * 1024 * 1024) /* of the file */
#define ACR_SCRIPT_MAX_LINES 1000000u
#define ACR_SCRIPT_MAX_EXPECT 1000u /* strings of one line */

typedef struct AcrScript AcrScript;

/*
 * Parses a script for one task. `instance_id` as in AcrModelOptions, `name` for messages. Owned
 * (acr_script_free). Errors: USAGE (names the line).
 */
AcrScript *acr_script_parse(const char *text, gsize len, const char *name, const char *instance_id,
                            GError **error) ACR_MUST_USE;
void acr_script_free(AcrScript *script);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrScript, acr_script_free)
/* The next answer for the request. Errors: USED_UP, EXPECT. */
bool acr_script_answer(AcrScript *script, const AcrModelRequest *request, AcrModelAnswer *out,
                       GError **error) ACR_MUST_USE;
/* Moves on past the line that would have served the request, which a journal has answered. */
void acr_script_skip(AcrScript *script, const AcrModelRequest *request);

/* A model for "script:FILE"; owned (acr_model_free). */
AcrModel *acr_script_model_new(const char *name, const char *path, const AcrModelOptions *options,
                               GError **error) ACR_MUST_USE;

/* ---- HTTP providers -----------------------------------------------------------------------------
 */

/* What an HTTP backend knows about its server and model beyond the request: corrections learned
 * from refusals. */
typedef struct {
    const char *model;          /* borrowed; the provider's name of it */
    double temperature;         /* below 0: not sent */
    bool no_temperature;        /* refused once */
    bool max_completion_tokens; /* the name of the limit: this, or max_tokens */
    bool renamed_limit;         /* the other name was tried already */
} AcrDialect;

/* A failure as the server told it; zero-initialise. */
typedef struct {
    AcrLlmError code;
    bool retryable;
    gint64 retry_after_ms; /* -1: not said */
    char *message;         /* owned; one line, bounded */
    char *param;           /* owned; the request's parameter that the server refused, or NULL */
} AcrFailure;
void acr_failure_clear(AcrFailure *failure);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrFailure, acr_failure_clear)

/* A provider: one const entry, listed in providers.c. */
typedef struct {
    const char *name;         /* before the slash of a model's name */
    const char *key_variable; /* environment variables; NULL: none */
    const char *base_variable;
    const char *base_url; /* the provider's own */
    const char *path;     /* joined to the base */
    /* Appends the headers that carry the key (may be NULL) and the account: owned strings. */
    void (*headers)(GPtrArray *headers, const char *key);
    /* The request's body; owned (acr_json_free). */
    AcrJson *(*request)(const AcrDialect *dialect, const AcrModelRequest *request);
    /* Reads a successful response's body. Errors: MALFORMED, REFUSAL, CONTENT_FILTER. */
    bool (*answer)(const AcrJson *body, AcrModelAnswer *out, GError **error);
    /* Learns from a refusal's message and body; true: the changed request may pass. Each change is
     * made once. */
    bool (*correct)(AcrDialect *dialect, const AcrFailure *failure);
} AcrProvider;

extern const AcrProvider acr_provider_openai;
const AcrProvider *acr_provider_find(const char *name, gsize len); /* NULL: none of that name */
char *acr_provider_names(void) ACR_MUST_USE; /* "openai, …", owned (g_free) */

/* A model behind HTTP; owned (acr_model_free). Errors: USAGE, AUTH. */
AcrModel *acr_http_model_new(const AcrProvider *provider, const char *name,
                             const AcrModelOptions *options, GError **error) ACR_MUST_USE;

/*
 * Reads a whole response of any status: an answer, or (false) what failed. `headers` of
 * AcrHttpResponse, may be NULL. Pure but for the clock that a retry-after date needs.
 */
bool acr_llm_read_response(const AcrProvider *provider, int status, const char *text, gsize len,
                           GHashTable *headers, AcrModelAnswer *out,
                           AcrFailure *out_failure) ACR_MUST_USE;

/* base and path with exactly one slash between; owned (g_free). */
char *acr_llm_join_url(const char *base, const char *path) ACR_MUST_USE;

/* ---- Failures and waits (failure.c, wait.c) -----------------------------------------------------
 */

#define ACR_LLM_MAX_MESSAGE 1024u /* bytes of a server's own words in an error */
#define ACR_LLM_BACKOFF_BASE_MS 1000
#define ACR_LLM_BACKOFF_CAP_MS 60000

/* The error that a body tells of, or NULL: its "error" member, or the body itself where a message
 * stands there. */
const AcrJson *acr_failure_in_body(const AcrJson *body);
/* Classifies a response that is no answer. `body` may be NULL: no JSON; then `text` is shown. */
void acr_failure_of_response(int status, const AcrJson *body, const char *text, gsize len,
                             GHashTable *headers, AcrFailure *out);
bool acr_failure_is_retryable(AcrLlmError code);
/* retry-after-ms, else retry-after in seconds or as a date (`now_unix` seconds); -1: not said or
 * unreadable. */
gint64 acr_retry_after_ms(GHashTable *headers, gint64 now_unix);
/* Full jitter: `u` in [0, 1) of min(cap, base * 2^retry); what the server asked for is a floor,
 * plus up to 10 %. */
gint64 acr_backoff_ms(gint64 base_ms, guint retry, gint64 retry_after_ms, double u);
/* False if interrupted before `ms` have passed. */
bool acr_llm_wait(gint64 ms, const AcrInterrupt *interrupt);
/* Every occurrence of `secret` (may be NULL) taken out, control characters made spaces, at most
 * `max` bytes; owned. */
char *acr_llm_public_text(const char *text, const char *secret, gsize max) ACR_MUST_USE;
/* `text` as a JSON string of at most about `max` bytes, for messages; owned (g_free). */
char *acr_llm_quote(const char *text, gsize max) ACR_MUST_USE;

#endif
