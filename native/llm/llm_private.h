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

/* ---- Failures -----------------------------------------------------------------------------------
 */

/* A failure as the server told it; zero-initialise. */
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

/* ---- Server-sent events, event streams (sse.c, eventstream.c) -----------------------------------
 */

#define ACR_MAX_EVENT_BYTES (24u * 1024 * 1024) /* of one event's data, or of one line */

typedef struct {
    const char *name; /* borrowed; of the event, "" where none is said */
    const char *data; /* borrowed; NUL-terminated behind `len` */
    gsize len;
    bool is_exception; /* event streams: :message-type is exception or error */
} AcrEvent;
/* False stops: what follows is not read. */
typedef bool (*AcrOnEvent)(void *ctx, const AcrEvent *event);

/* Bytes to server-sent events, cut anywhere; LF, CRLF and CR end a line. */
typedef struct AcrSse AcrSse;
AcrSse *acr_sse_new(AcrOnEvent on_event, void *ctx) ACR_MUST_USE; /* owned */
void acr_sse_free(AcrSse *sse);
/* False: on_event stopped it, or a line or an event is larger than ACR_MAX_EVENT_BYTES (then
 * acr_sse_is_too_big). */
bool acr_sse_feed(AcrSse *sse, const char *data, gsize len) ACR_MUST_USE;
/* The end of the bytes: an event without its empty line is given out all the same. */
bool acr_sse_end(AcrSse *sse) ACR_MUST_USE;
bool acr_sse_is_too_big(const AcrSse *sse);
/* The lines, up to a number of bytes, that are no fields: some servers write an error so. Borrowed
 * until more is fed; NUL-terminated. */
const char *acr_sse_stray(const AcrSse *sse);

/* Bytes to the messages of application/vnd.amazon.eventstream, sums checked. */
typedef struct AcrEventStream AcrEventStream;
AcrEventStream *acr_eventstream_new(AcrOnEvent on_event, void *ctx) ACR_MUST_USE; /* owned */
void acr_eventstream_free(AcrEventStream *stream);
/* False: on_event stopped it, or (acr_eventstream_problem) the bytes are no such stream. */
bool acr_eventstream_feed(AcrEventStream *stream, const char *data, gsize len) ACR_MUST_USE;
/* What is wrong with the bytes; NULL: nothing. Borrowed, static. */
const char *acr_eventstream_problem(const AcrEventStream *stream);

/* ---- What an answer grows from (draft.c) --------------------------------------------------------
 */

/* An answer while it comes. */
typedef struct {
    GString *content;
    GString *refusal; /* the model's own words of refusal */
    char *finish;     /* owned; as in AcrModelAnswer; NULL: not said yet */
    char *model;      /* owned */
    char *request_id; /* owned */
    AcrUsage usage;
    bool began;         /* the server has begun to answer */
    bool is_complete;   /* the provider's terminal event came */
    bool has_calls;     /* tool calls */
    bool is_blocked;    /* the prompt was blocked: CONTENT_FILTER whatever else came */
    AcrFailure failure; /* of ACR_DRAFT_FAILED */
    gint64 content_us;  /* when content, not a ping, came last (g_get_monotonic_time) */
} AcrDraft;
typedef enum {
    ACR_DRAFT_MORE,
    ACR_DRAFT_DONE,   /* the terminal event: what follows does not count */
    ACR_DRAFT_FAILED, /* `failure` says why */
} AcrDraftStep;
void acr_draft_init(AcrDraft *draft);
void acr_draft_clear(AcrDraft *draft);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrDraft, acr_draft_clear)
/* Appends text (may be NULL). False: the answer passes ACR_LLM_MAX_ANSWER, told in `failure`. */
bool acr_draft_add(AcrDraft *draft, const char *text) ACR_MUST_USE;
/* Replaces a word (copied); NULL changes nothing. */
void acr_draft_set(char **word, const char *value);
/* Sets `finish` by a table of {the provider's word, ours} ended by {NULL}; an unknown word stays as
 * it is; NULL changes nothing. */
typedef struct {
    const char *word, *ours;
} AcrWord;
void acr_draft_finish(AcrDraft *draft, const AcrWord *table, const char *word);
AcrDraftStep acr_draft_fail(AcrDraft *draft, AcrLlmError code, const char *message);
/* The error object of a stream, classified; FAILED. */
AcrDraftStep acr_draft_fail_json(AcrDraft *draft, const AcrJson *error);
#define ACR_MAX_COUNTER ((gint64)1 << 53) /* beyond it a JSON number is no exact count */
/* A counter; -1 where the server says none or nonsense. */
gint64 acr_counter(const AcrJson *object, const char *key);
/* Counters of a server whose count of the prompt includes what was cached and written (each -1: not
 * said), as disjoint ones; all others unknown. */
AcrUsage acr_usage_of_prompt(gint64 prompt, gint64 cached, gint64 written);
/* An amount that a server states, in pico-USD; -1: nonsense. */
gint64 acr_pico_of_usd(double usd);
/* A stated amount of USD (a number) in pico-USD; -1: none or nonsense. */
gint64 acr_stated_cost(const AcrJson *object, const char *key);

/* ---- HTTP providers -----------------------------------------------------------------------------
 */

/* What an HTTP backend knows about its server and model beyond the request: options, and
 * corrections learned from refusals. */
typedef struct {
    const char *model;          /* borrowed; the provider's name of it */
    double temperature;         /* below 0: not sent */
    const char *effort;         /* borrowed; NULL: not sent */
    bool no_temperature;        /* refused once */
    bool no_effort;             /* likewise */
    bool max_completion_tokens; /* the name of the limit: this, or max_tokens */
    bool renamed_limit;         /* the other name was tried already, or the limit was learnt */
    gint64 max_output; /* tokens of one answer, by the table or learnt; not above 0: unknown */
    bool asks_schema;  /* the request at hand has one */
    bool no_schema, no_json; /* response formats that were refused: asked for in words */
    bool no_stream_options;
    bool no_stream; /* asked for whole */
    bool no_cache;  /* marks of what to cache were refused */
} AcrDialect;

typedef struct AcrProvider AcrProvider;

/* Where and how a model is asked; made once with it. Cleared, keys are wiped. */
typedef struct {
    const AcrProvider *provider;
    const char *shown_name;   /* borrowed; as the user gave it, for messages */
    const char *model;        /* borrowed; the provider's name of it */
    char *base_url;           /* owned; without a slash at its end */
    char *url;                /* owned; to POST to */
    char *unix_socket;        /* owned; NULL: TCP */
    GPtrArray *headers;       /* owned strings "Name: value"; NULL-terminated once made */
    char *key;                /* owned; NULL: none */
    GPtrArray *secrets;       /* owned strings that are never shown: the key and others */
    bool is_own;              /* the provider's own address, over TLS */
    bool is_official_dialect; /* no base URL was given: newer names hold */
    bool no_sampling;         /* the version of the API knows no temperature */
    gpointer state;           /* of the provider (sign); freed by free_state */
    void (*free_state)(gpointer state);
} AcrEndpoint;
void acr_endpoint_clear(AcrEndpoint *endpoint);
/* Adds a header unless there is one of that name, which is the user's own; what it holds of secrets
 * is wiped when cleared. */
void acr_endpoint_header(AcrEndpoint *endpoint, const char *name, const char *value);
/* The value of a header that is set; borrowed until the next one is; NULL: none. */
const char *acr_endpoint_find_header(const AcrEndpoint *endpoint, const char *name);
/* Authorization: Bearer KEY, if there is a key. */
void acr_endpoint_bearer(AcrEndpoint *endpoint);
/* Headers of the user's own in an environment variable, one "Name: value" a line. */
void acr_endpoint_headers_from(AcrEndpoint *endpoint, const char *variable);
/* The same if the environment variable is set and not empty. */
void acr_endpoint_header_from(AcrEndpoint *endpoint, const char *name, const char *variable);
/* Whether there is a key, or none is needed: for servers on this machine, and those that people run
 * themselves. Errors: AUTH, naming the provider's variables. */
bool acr_endpoint_need_key(const AcrEndpoint *endpoint, GError **error) ACR_MUST_USE;
/* Keeps a text out of everything shown (copied). */
void acr_endpoint_secret(AcrEndpoint *endpoint, const char *secret);
/* The value of an environment variable that is set and not empty; NULL: none. */
const char *acr_variable(const char *name);
/* The first of NULL-terminated variables that is set; its name in *out_name (may be NULL). */
const char *acr_first_variable(const char *const *names, const char **out_name);

/* A provider: one const entry in a file, listed in providers.c. */
struct AcrProvider {
    const char *name;                  /* before the slash of a model's name */
    const char *const *key_variables;  /* NULL-terminated, the first that is set counts; or NULL */
    const char *const *base_variables; /* likewise */
    const char *base_url;              /* the provider's own; NULL: it must be given */
    bool needs_no_key;                 /* servers that people run themselves */
    bool is_local; /* such a server: what it answers costs nothing to anybody else */
    enum { ACR_FRAMES_SSE, ACR_FRAMES_EVENTSTREAM } framing;
    /* Finds the base URL in other ways than option, variables, own one; may be NULL. Owned; NULL
     * without error: none found. */
    char *(*base)(GError **error);
    /*
     * Completes the endpoint, whose base_url, model and key (NULL: none) are set: url and headers.
     * Errors: USAGE, AUTH.
     */
    bool (*prepare)(AcrEndpoint *endpoint, GError **error);
    /* Appends headers that depend on the request's body and time; may be NULL. */
    bool (*sign)(const AcrEndpoint *endpoint, const char *body, gsize len, GPtrArray *headers,
                 GError **error);
    /* The request's body; owned (acr_json_free). */
    AcrJson *(*request)(const AcrDialect *dialect, const AcrModelRequest *request);
    /* Reads one event of a stream. `json` is its data parsed; NULL where it is no JSON. */
    AcrDraftStep (*event)(AcrDraft *draft, const AcrEvent *event, const AcrJson *json);
    /* Reads the whole body of an answer that was not streamed. Never MORE. */
    AcrDraftStep (*answer)(AcrDraft *draft, const AcrJson *body);
    /* The end of a stream without terminal event; may be NULL: it was cut. MORE: likewise. With it
     * a stream may be whole as soon as a reason of its end, or of a blocked prompt, has come. */
    AcrDraftStep (*ended)(AcrDraft *draft);
    /* Learns from a refusal's message; true: the changed request may pass. Each change is made
     * once. */
    bool (*correct)(AcrDialect *dialect, const AcrFailure *failure);
};

const AcrProvider *acr_provider_find(const char *name, gsize len); /* NULL: none of that name */
char *acr_provider_names(void) ACR_MUST_USE; /* "openai, …", owned (g_free) */

extern const AcrProvider acr_provider_openai, acr_provider_openai_responses, acr_provider_azure;
extern const AcrProvider acr_provider_groq, acr_provider_deepseek, acr_provider_openrouter,
    acr_provider_litellm, acr_provider_vllm, acr_provider_llamacpp, acr_provider_llama_cpp,
    acr_provider_ollama;
extern const AcrProvider acr_provider_bedrock;
/* OpenAI's chat dialect, for servers that imitate it (compatible.c has their rows). */
bool acr_openai_prepare(AcrEndpoint *endpoint, GError **error);
AcrJson *acr_openai_request(const AcrDialect *dialect, const AcrModelRequest *request);
AcrDraftStep acr_openai_event(AcrDraft *draft, const AcrEvent *event, const AcrJson *json);
AcrDraftStep acr_openai_answer(AcrDraft *draft, const AcrJson *body);
bool acr_openai_correct(AcrDialect *dialect, const AcrFailure *failure);
/* Adds OpenAI's own headers: the key's, and those of the environment, the user's own first. */
void acr_openai_headers(AcrEndpoint *endpoint);
/* Whether the refusal is about that parameter: by its `param`, or by a message that quotes it. */
bool acr_failure_is_about(const AcrFailure *failure, const char *param);
/* Sets a flag of the dialect if the refusal is about that parameter; true: for the first time. */
bool acr_learn(bool *flag, const AcrFailure *failure, const char *param);
/* The same if its message holds one of the words (in lower case; NULL-terminated). */
bool acr_learn_from_words(bool *flag, const AcrFailure *failure, const char *const *words);
extern const AcrProvider acr_provider_anthropic;
extern const AcrProvider acr_provider_gemini;

/* How a dialect writes turns of user and assistant (turns.c). */
typedef struct {
    const char *assistant; /* the name of its role */
    const char *list;      /* the member of a turn that holds its blocks */
    bool is_typed;         /* a block says that it is of type text */
} AcrTurnForm;
/* A conversation in turns. The blocks that end something, and the lists of turns, are borrowed, so
 * that a dialect can mark them; NULL: there is none. */
typedef struct {
    AcrJson *system, *messages; /* owned */
    AcrJson *system_end;
    AcrJson *user_ends[2];   /* of the last turn of the user, and of the one before it */
    AcrJson *user_blocks[2]; /* the lists of these two turns */
} AcrTurns;
void acr_turns_init(AcrTurns *turns, const AcrConversation *conversation, const AcrTurnForm *form);
void acr_turns_clear(AcrTurns *turns);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTurns, acr_turns_clear)
/* One more block of the system prompt, behind the conversation's own; `text` may be NULL. */
void acr_turns_add_system(AcrTurns *turns, const AcrTurnForm *form, const char *text);
/* The system prompt's blocks; owned (acr_json_free); NULL: none. */
AcrJson *acr_turns_take_system(AcrTurns *turns) ACR_MUST_USE;

/* Where a model is asked, by options and environment (endpoint.c). Errors: USAGE, AUTH. */
bool acr_endpoint_make(const AcrProvider *provider, const char *shown_name, const char *model,
                       const AcrModelOptions *options, AcrEndpoint *out,
                       GError **error) ACR_MUST_USE;
/* A model behind HTTP; owned (acr_model_free). `name` as the user gave it, `model` the provider's
 * part. Errors: USAGE, AUTH. */
AcrModel *acr_http_model_new(const AcrProvider *provider, const char *name, const char *model,
                             const AcrModelOptions *options, GError **error) ACR_MUST_USE;
/* What must be asked for in words, since the request has no form for it (or the server wants the
 * word too): a sentence for the system prompt, owned (g_free); NULL: nothing. */
char *acr_json_words(const AcrModelRequest *request, bool has_json, bool has_schema) ACR_MUST_USE;
#define ACR_JSON_WORDS "Answer with one JSON object and nothing else."
/* Whether a message from `from` on speaks of JSON: servers with a JSON mode refuse what does not.
 */
bool acr_speaks_of_json(const AcrConversation *conversation, gsize from);
/* base and path with exactly one slash between; owned (g_free). */
char *acr_llm_join_url(const char *base, const char *path) ACR_MUST_USE;
/* Text with each byte that may not stand in a path's segment as %XX; owned (g_free). */
char *acr_llm_escape_segment(const char *text) ACR_MUST_USE;

/* ---- What a try may cost (spend.c) --------------------------------------------------------------
 */

/* Prices and budget of one model; zero-initialise. */
typedef struct {
    AcrBudget *budget; /* borrowed; NULL: none */
    bool has_price;
    AcrPrice price;         /* what is reported; all members unset without has_price */
    AcrPrice assumed;       /* what is reserved where none is known */
    bool is_free;           /* a server of one's own: without price it costs nothing */
    bool refusals_are_free; /* the provider's own address: what it refuses it does not bill */
    const AcrInterrupt *interrupt; /* borrowed; of waits for others */
    void (*on_wait)(void *ctx, const char *why, gint64 wait_ms);
    void *on_wait_ctx;
} AcrSpend;
void acr_spend_init(AcrSpend *spend, const AcrModelOptions *options, const AcrEndpoint *endpoint);
/* The limit of the answer to send for a wanted one (0: none wanted), with `room` as in
 * AcrModelRequest; 0: none is sent. */
guint acr_spend_limit(const AcrSpend *spend, guint wanted, guint room);
/*
 * Reserves the worst case of a body of that many bytes and that limit, in `attempt`. Where it does
 * not fit, *limit is made smaller if that helps (false with *again: print the body once more), else
 * false with CEILING. *out_id is for the settlement.
 */
bool acr_spend_reserve(AcrSpend *spend, gsize body_len, guint *limit, bool *out_again,
                       AcrModelTry *attempt, guint64 *out_id, AcrFailure *failure) ACR_MUST_USE;
/* Counts what the try, whose outcome is in `attempt`, has cost; fills its charged and usage.cost.
 * Where that cannot be written, the reservation stays and is what was charged; only a try that cost
 * more than it fails. */
bool acr_spend_settle(AcrSpend *spend, guint64 id, AcrModelTry *attempt,
                      GError **error) ACR_MUST_USE;

/* ---- Keys (keys.c) ------------------------------------------------------------------------------
 */

#define ACR_KEY_MAX_BYTES (16u * 1024)
#define ACR_KEY_COMMAND_TIMEOUT_MS 60000

/*
 * The key that the options' command or file gives; *out_key owned (wiped by acr_wipe), NULL where
 * neither is given. Errors: AUTH (the command fails or prints nothing; the file is missing, may be
 * read by others, or is no regular file). No error holds anything that was read.
 */
bool acr_key_from_options(const AcrModelOptions *options, char **out_key,
                          GError **error) ACR_MUST_USE;
/* Whether a key can stand in a header: AUTH else, naming `source` ("OPENAI_API_KEY"). */
bool acr_key_check(const char *key, const char *source, GError **error) ACR_MUST_USE;
/* Overwrites a text and frees it; NULL is nothing. */
void acr_wipe(gpointer text);

/* ---- Signatures (sigv4.c) -----------------------------------------------------------------------
 */

typedef struct {
    const char *access_key, *secret_key;
    const char *session_token; /* NULL: none */
    const char *region, *service;
} AcrAwsKeys;
/*
 * Appends X-Amz-Date, X-Amz-Security-Token and Authorization of AWS Signature Version 4 (owned
 * strings). `path` as it is sent, percent-encoded once; it is encoded once more for the signature.
 * `query` without "?" (may be "" or NULL); `host` with its port where that is not the scheme's;
 * `headers` NULL-terminated, all of them are signed but for those that proxies change. Pure.
 */
void acr_sigv4_sign(const AcrAwsKeys *keys, const char *method, const char *host, const char *path,
                    const char *query, const char *const *headers, const void *body, gsize len,
                    gint64 now_unix, GPtrArray *out_headers);

/* ---- Reading a response (reader.c) --------------------------------------------------------------
 */

/* Bytes of a response to an answer or a failure. Pure but for the clock. */
typedef struct AcrReader AcrReader;
/* `headers` as in AcrHttpResponse (a reference is kept; may be NULL). Owned (acr_reader_free). */
AcrReader *acr_reader_new(const AcrProvider *provider, int status,
                          GHashTable *headers) ACR_MUST_USE;
void acr_reader_free(AcrReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrReader, acr_reader_free)
/* False: nothing more is wanted, the outcome is known. */
bool acr_reader_feed(AcrReader *reader, const char *data, gsize len) ACR_MUST_USE;
/* The answer, once the bytes have ended or are not wanted; false, with *out_failure. `cut` (may be
 * NULL): why they ended before their time. *out_usage is filled in either case. */
bool acr_reader_end(AcrReader *reader, const char *cut, AcrModelAnswer *out, AcrUsage *out_usage,
                    AcrFailure *out_failure) ACR_MUST_USE;
bool acr_reader_began(const AcrReader *reader); /* an answer began to come */
bool acr_reader_is_settled(
    const AcrReader *reader); /* it may be whole: what comes is a postscript */
gint64 acr_reader_content_us(const AcrReader *reader);      /* when content came last */
const char *acr_reader_request_id(const AcrReader *reader); /* borrowed; NULL: not said */

/* ---- Limits that processes share (limiter.c) ----------------------------------------------------
 */

typedef struct AcrLimiter AcrLimiter;
/* Of one endpoint and key in the folder `dir`; owned (acr_limiter_free). Errors: FAILED. */
AcrLimiter *acr_limiter_open(const char *dir, const char *endpoint, const char *key,
                             GError **error) ACR_MUST_USE;
void acr_limiter_free(AcrLimiter *limiter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrLimiter, acr_limiter_free)
typedef enum {
    ACR_LIMITER_ENTERED,
    ACR_LIMITER_INTERRUPTED,
    ACR_LIMITER_TOO_LATE, /* no slot before `deadline_us` */
    ACR_LIMITER_PAUSED,   /* the breaker is open: *out_why */
} AcrLimiterEntry;
/* Waits until the group may send and takes a slot. `deadline_us`: g_get_monotonic_time. `on_wait`
 * (may be NULL) is told once if it must wait. *out_why owned. */
AcrLimiterEntry acr_limiter_enter(AcrLimiter *limiter, gint64 deadline_us,
                                  const AcrInterrupt *interrupt,
                                  void (*on_wait)(void *ctx, const char *why, gint64 wait_ms),
                                  void *on_wait_ctx, gint64 *out_waited_ms, char **out_why);
/* Gives the slot back. `hold_ms` above 0: nobody sends before that has passed (throttled). */
void acr_limiter_leave(AcrLimiter *limiter, bool ok, bool throttled, gint64 hold_ms);
/* Opens the breaker for all users of the endpoint and key: no try is begun until acr_llm_resume.
 * `why` begins with the class's name; without secrets. */
void acr_limiter_pause(AcrLimiter *limiter, const char *why);
/* The class that a pause's text begins with. */
AcrLlmError acr_llm_paused_class(const char *why);
/* How long the response's headers say that nothing is left of a limit (x-ratelimit-…,
 * anthropic-ratelimit-…): milliseconds; 0: they do not say so. */
gint64 acr_limit_reset_ms(GHashTable *headers, gint64 now_unix);

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
/* How often a call that fails so is made again at most, whatever the option says. */
guint acr_failure_retries(AcrLlmError code);
#define ACR_MAX_WINDOW ((gint64)1000000000) /* tokens; a larger one is nonsense */
/* Whether a message (in lower case) says that the prompt is too long; *out_window then is how many
 * tokens fit, 0 where it does not say so (overflow.c). */
bool acr_overflow_in_text(const char *text, gint64 *out_window);

/* ---- Times that servers tell (retry_after.c) ----------------------------------------------------
 */

#define ACR_MAX_RETRY_AFTER_MS ((gint64)24 * 3600 * 1000) /* a longer wait is told as this one */

/*
 * The milliseconds of "6m0s", "88ms", "1.5s", "2 minutes", or of a bare number of seconds, at the
 * start of a text; -1: none. *out_end (may be NULL) points behind it.
 */
gint64 acr_duration_ms(const char *text, const char **out_end);
/* Seconds since the epoch of an HTTP date in any of its three forms; -1: none. */
gint64 acr_http_date(const char *text, gint64 now_unix);
/* The wait that an error's own words ask for: `prose` is its text in lower case; -1: none. */
gint64 acr_retry_hint_ms(const AcrJson *error, const char *prose);
/* retry-after-ms, else retry-after in seconds or as a date (`now_unix` seconds), else
 * x-amz-retry-after; -1: not said or unreadable. At most ACR_MAX_RETRY_AFTER_MS. */
gint64 acr_retry_after_ms(GHashTable *headers, gint64 now_unix);
/* Full jitter: `u` in [0, 1) of min(cap, base * 2^retry); what the server asked for is a floor,
 * plus up to 10 %. */
gint64 acr_backoff_ms(gint64 base_ms, guint retry, gint64 retry_after_ms, double u);
/* False if interrupted before `ms` have passed. */
bool acr_llm_wait(gint64 ms, const AcrInterrupt *interrupt);
/* Every occurrence of each of the `secrets` (strings; may be NULL) taken out, also in the ways that
 * texts escape them; control characters made spaces, at most `max` bytes; owned. */
char *acr_llm_public_text(const char *text, const GPtrArray *secrets, gsize max) ACR_MUST_USE;
/* A copy of an answer's text with the secrets taken out, those with fewer bytes than
 * ACR_SECRET_IN_ANSWER left (a word that an answer may well use); owned; NULL: it holds none. */
#define ACR_SECRET_IN_ANSWER 12u
char *acr_llm_without_secrets(const char *text, const GPtrArray *secrets) ACR_MUST_USE;

#endif
