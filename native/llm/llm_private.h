/* Private declarations of llm, except for endpoints, failures and providers. */
#pragma once

#include "llm/llm.h"

/* ---- Texts without secrets (redact.c) ---- */

/* Makes one line of at most `max` bytes: removes every occurrence of the `secrets` (strings; may be
 * NULL), of long parts of them, and of their percent-encoded or JSON-escaped forms, and replaces
 * control characters by spaces. Returns the line, owned. */
char *acr_redact_line(const char *text, const GPtrArray *secrets, gsize max) ACR_MUST_USE;
/* Returns an answer's text without the secrets, owned; NULL if the text contains no secret. Secrets
 * shorter than ACR_SECRET_IN_ANSWER bytes stay, because they may be ordinary words. */
#define ACR_SECRET_IN_ANSWER 12u
char *acr_redact_answer(const char *text, const GPtrArray *secrets) ACR_MUST_USE;
/* Returns a digest of the first two messages; owned. All requests of a conversation share the
 * digest, even if another conversation continues the conversation. */
char *acr_conversation_begin_digest(const AcrConversation *conversation) ACR_MUST_USE;
/* Removes our keys from an answer (may be NULL) and from the id of its request. The server may have
 * echoed the keys, and the journal must never contain them. */
void acr_redact_model_answer(AcrModelAnswer *answer, char **request_id, const GPtrArray *secrets);
/* Completes the answer's calls: adds `model`, the name of the model that made them, and removes
 * secrets. If the request allowed no calls, drops them. */
void acr_finish_tools(AcrModelAnswer *answer, bool are_asked, const char *model,
                      const GPtrArray *secrets);
/* Overwrites a string and frees it; accepts NULL. */
void acr_wipe(gpointer text);

/* ---- A user's AWS credentials and region (aws_credentials.c), signatures (sigv4.c) ---- */

/* AWS credentials: both keys or neither, and a session token only together with keys.
 * acr_aws_credentials_clear wipes them. */
typedef struct {
    char *access_key, *secret_key; /* owned; NULL if not found */
    char *session_token;           /* owned, or NULL */
    /* owned; NULL if not found; consists of lower-case letters, digits and "-" */
    char *region;
} AcrAwsCredentials;
void acr_aws_credentials_clear(AcrAwsCredentials *credentials);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAwsCredentials, acr_aws_credentials_clear)

/* Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and
 * AWS_DEFAULT_REGION. Settings that are missing in the environment come from the profile's section
 * in ~/.aws/credentials and ~/.aws/config (or the files that AWS_SHARED_CREDENTIALS_FILE and
 * AWS_CONFIG_FILE name). A missing file counts as empty. Errors: AUTH (one key without the other;
 * an unreadable file), USAGE (an invalid region name). */
bool acr_aws_credentials_read(AcrAwsCredentials *out, GError **error) ACR_MUST_USE;
/* Returns the value of AWS_PROFILE or AWS_DEFAULT_PROFILE, or "default". Borrowed from the
 * environment. */
const char *acr_aws_profile(void);

/* Signs a POST of JSON to `url`, which has no query, by AWS Signature Version 4: appends the
 * headers X-Amz-Date, X-Amz-Security-Token and Authorization (owned strings). `now_unix` is in
 * seconds. Has no side effects. */
void acr_sigv4_sign(const AcrAwsCredentials *keys, const char *service, const char *url,
                    const char *content_type, const void *body, gsize len, gint64 now_unix,
                    GPtrArray *out_headers);

/* ---- Parsers of streams (sse.c, eventstream.c) ---- */

/* maximum number of bytes of an event's data, and of one line */
#define ACR_MAX_EVENT_BYTES (24u * 1024 * 1024)

typedef struct {
    const char *name; /* borrowed; "" if the event has no name */
    const char *data; /* borrowed; followed by a NUL */
    gsize len;
    /* the message is an exception or error (according to :message-type in AWS's frames) */
    bool is_exception;
} AcrEvent;
typedef bool (*AcrOnEvent)(void *ctx, const AcrEvent *event);

/* Parses server-sent events from bytes that may be cut anywhere. LF, CRLF and CR end a line. Lines
 * of bare JSON are treated as data, because some servers write errors as bare JSON (sse.c). */
typedef struct AcrSse AcrSse;
AcrSse *acr_sse_new(AcrOnEvent on_event, void *ctx) ACR_MUST_USE; /* owned */
void acr_sse_free(AcrSse *sse);
/* Feeds bytes to the parser. Returns false if on_event stopped the stream, or if a line or an event
 * exceeds ACR_MAX_EVENT_BYTES (acr_sse_is_too_big is then true). */
bool acr_sse_feed(AcrSse *sse, const char *data, gsize len) ACR_MUST_USE;
/* Ends the stream. An event that lacks its final empty line is still passed on. */
bool acr_sse_end(AcrSse *sse) ACR_MUST_USE;
bool acr_sse_is_too_big(const AcrSse *sse);

/* Parses messages of application/vnd.amazon.eventstream and verifies their checksums
 * (eventstream.c). */
typedef struct AcrEventStream AcrEventStream;
AcrEventStream *acr_eventstream_new(AcrOnEvent on_event, void *ctx) ACR_MUST_USE; /* owned */
void acr_eventstream_free(AcrEventStream *stream);
/* Feeds bytes to the parser. Returns false if on_event stopped the stream, or if the bytes are
 * invalid (acr_eventstream_problem then returns why). */
bool acr_eventstream_feed(AcrEventStream *stream, const char *data, gsize len) ACR_MUST_USE;
/* Returns why the bytes are invalid, static; NULL if they are valid. */
const char *acr_eventstream_problem(const AcrEventStream *stream);

/* ---- Limits that all processes with one endpoint and key share (rate_limiter.c) ---- */

typedef struct AcrLimiter AcrLimiter;
/* Opens the rate limiter of one endpoint and key, in the folder `dir`; owned (acr_limiter_free).
 * Errors: FAILED. */
AcrLimiter *acr_limiter_open(const char *dir, const char *endpoint, const char *key,
                             GError **error) ACR_MUST_USE;
void acr_limiter_free(AcrLimiter *limiter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrLimiter, acr_limiter_free)
typedef enum {
    ACR_LIMITER_ENTERED,
    ACR_LIMITER_INTERRUPTED,
    ACR_LIMITER_TOO_LATE, /* no slot becomes free before `deadline_us` */
    ACR_LIMITER_PAUSED,   /* the circuit breaker is open; *out_why gives the reason */
} AcrLimiterEntry;
/* Waits until sending is allowed, and takes a slot. `deadline_us` is compared with
 * g_get_monotonic_time; 0 means no deadline. `on_wait` (may be NULL) is called once if the
 * caller must wait. *out_why is owned. */
AcrLimiterEntry acr_limiter_enter(AcrLimiter *limiter, gint64 deadline_us,
                                  const AcrInterrupt *interrupt,
                                  void (*on_wait)(void *ctx, const char *why, gint64 wait_ms),
                                  void *on_wait_ctx, gint64 *out_waited_ms, char **out_why);
/* Frees the slot. With `throttled`, no process sends before `hold_ms` have passed (a few seconds if
 * hold_ms <= 0); then processes start one by one. */
void acr_limiter_leave(AcrLimiter *limiter, bool throttled, gint64 hold_ms);
/* Opens the circuit breaker for all processes that use the endpoint and key: no request is sent
 * until acr_llm_resume. `why` begins with the name of the error class and contains no secrets. */
void acr_limiter_pause(AcrLimiter *limiter, const char *why);
/* Returns the error class at the beginning of the reason of a pause. */
AcrLlmError acr_llm_paused_class(const char *why);

/* ---- Scripted answers: "script:FILE" (scripted_model.c) ---- */

#define ACR_SCRIPT_MAX_BYTES (512u * 1024 * 1024) /* maximum size of the script file in bytes */

/* Makes a model that answers from the text of a script. The model's name and its error messages
 * contain `path`. Owned (acr_model_free). Errors: USAGE (names the line); calls fail with USED_UP
 * or EXPECT. */
AcrModel *acr_script_parse(const char *text, gsize len, const char *path,
                           const AcrModelOptions *options, GError **error) ACR_MUST_USE;
/* Makes a model like acr_script_parse, but reads the script from a file. */
AcrModel *acr_script_model_new(const char *path, const AcrModelOptions *options,
                               GError **error) ACR_MUST_USE;
