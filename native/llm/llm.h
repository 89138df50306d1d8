/*
 * llm: one function sends a conversation and returns an answer with its usage. Backends implement
 * one table of functions: HTTP providers and scripted answers are here; the journal wraps any
 * backend from outside. The highest possible cost of a call is reserved in a budget (money) before
 * it is sent. Labels and steps tell what a call is for; llm gives them no meaning.
 */
#ifndef ACR_LLM_H
#define ACR_LLM_H

#include "base/base.h"
#include "money/money.h"

/* Classes of failure. Callers branch on CONTEXT_OVERFLOW, USED_UP, INCOMPLETE, EXPECT and
 * CEILING. */
typedef enum {
    ACR_LLM_ERROR_FAILED,
    ACR_LLM_ERROR_USAGE, /* unknown provider, invalid option, missing or malformed script */
    ACR_LLM_ERROR_AUTH,  /* no key, or the key is rejected */
    ACR_LLM_ERROR_BILLING,
    ACR_LLM_ERROR_RATE_LIMIT,
    ACR_LLM_ERROR_OVERLOADED,
    ACR_LLM_ERROR_SERVER,
    ACR_LLM_ERROR_TIMEOUT,
    ACR_LLM_ERROR_CONTEXT_OVERFLOW,
    ACR_LLM_ERROR_CONTENT_FILTER,
    ACR_LLM_ERROR_REFUSAL,
    ACR_LLM_ERROR_BAD_REQUEST,
    ACR_LLM_ERROR_NETWORK,
    ACR_LLM_ERROR_UNREACHABLE, /* no such host, or nothing listens there; shown as "network" */
    ACR_LLM_ERROR_TRUNCATED,
    ACR_LLM_ERROR_MALFORMED,
    ACR_LLM_ERROR_INCOMPLETE, /* set by the caller: every answer was truncated */
    ACR_LLM_ERROR_USED_UP,    /* script: no line is left for the label */
    ACR_LLM_ERROR_EXPECT,     /* script: the request lacks a string that the line expects */
    ACR_LLM_ERROR_CEILING,    /* a limit on money, tokens or time was reached */
    ACR_LLM_ERROR_INTERRUPTED,
    ACR_LLM_ERRORS,
} AcrLlmError;
#define ACR_LLM_ERROR acr_llm_error_quark()
GQuark acr_llm_error_quark(void);
const char *acr_llm_error_name(AcrLlmError code); /* "rate_limit", "context_overflow", … */

#define ACR_LLM_MAX_ANSWER (32u * 1024 * 1024) /* bytes of one answer's text */

/* ---- Conversation ---- */

typedef enum { ACR_ROLE_SYSTEM, ACR_ROLE_USER, ACR_ROLE_ASSISTANT } AcrRole;
const char *acr_role_name(AcrRole role); /* "system", "user", "assistant" */

/*
 * A message. `content` holds all of it, including tool calls and results as text; it is sent to
 * servers without tools, or to another model. `tools` holds the same in parts; NULL: text only.
 * From the assistant: {"by": model, "text", "calls": [{"id" (may be null), "name", "arguments":
 * JSON as text}], "kept": what the provider wants back unchanged}. From the user, who answers all
 * calls of the message before: {"by", "results": [{"id", "name", "text"}]}.
 */
typedef struct {
    AcrRole role;
    char *content;  /* owned; valid UTF-8 */
    AcrJson *tools; /* owned, or NULL */
} AcrMessage;

/* Messages in order, under a name that is unique within a run ("attempt_0/search"). */
typedef struct AcrConversation AcrConversation;
AcrConversation *acr_conversation_new(const char *name) ACR_MUST_USE; /* owned */
void acr_conversation_free(AcrConversation *conversation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrConversation, acr_conversation_free)
const char *acr_conversation_name(const AcrConversation *conversation);
void acr_conversation_add(AcrConversation *conversation, AcrRole role,
                          const char *content); /* copied, repaired if not UTF-8 */
/* The calls of the last message, an array; borrowed; NULL: none. */
const AcrJson *acr_conversation_calls(const AcrConversation *conversation);
gsize acr_conversation_size(const AcrConversation *conversation);
gsize acr_conversation_bytes(
    const AcrConversation *conversation); /* bytes of the texts of all messages */
const AcrMessage *acr_conversation_message(const AcrConversation *conversation,
                                           gsize n); /* borrowed */
/* Replaces a message's text, for example to shorten a result. Its calls and their results then
 * become text. */
void acr_conversation_replace(AcrConversation *conversation, gsize n, const char *content);
/* Removes `n` messages, starting with number `first`. */
void acr_conversation_remove(AcrConversation *conversation, gsize first, gsize n);
/* An array of {"role","content"}, starting with message `from`. */
AcrJson *acr_conversation_to_json(const AcrConversation *conversation, gsize from) ACR_MUST_USE;

/* ---- Request and answer ---- */

/* lowest temperature of a varied call, if a temperature is sent at all */
#define ACR_VARIED_TEMPERATURE 0.8

/* Zero-initialise; all members are borrowed for the call. */
typedef struct {
    const char *label; /* what the call is for; a script has one queue per label */
    guint step;        /* number of the step, from 1; 0: the call has no step */
    const AcrConversation *conversation;
    /* tools that may be called: [{"name", "description", "schema"}]; NULL: none. They are left out
     * for a server that rejects them */
    const AcrJson *tools;
    const char *tools_hint; /* text for the system prompt, if tools are sent; NULL: none */
    bool json;              /* use the provider's JSON mode, or ask for JSON in words */
    bool is_varied;         /* raise a low temperature: the same question was answered before */
    const AcrJson *schema;  /* JSON schema of the answer, an object; NULL: none. Implies `json` */
    guint max_tokens;       /* limit of the answer; 0: the model's default */
    /* tokens that the model's window leaves for the answer; bounds the limit that a ceiling
     * requires if max_tokens sets none; 0: unknown */
    guint room;
} AcrModelRequest;

typedef struct {
    char *content; /* owned; valid UTF-8 without NUL, may be "" */
    /* owned; in OpenAI's words for all providers: "stop", "length", "tool_calls",
     * "content_filter" */
    char *finish;
    char *thoughts;   /* owned; the model's reasoning, never parsed; NULL: not shown */
    char *model;      /* owned; the provider's name of the model, else the requested one; or NULL */
    char *request_id; /* owned; or NULL */
    AcrJson *tools;   /* owned; the tool calls, as in AcrMessage; NULL: none */
    AcrUsage usage;
} AcrModelAnswer;
void acr_model_answer_clear(AcrModelAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrModelAnswer, acr_model_answer_clear)

/* Moves the thoughts in the text to `thoughts` (see acr_thoughts_split). Call it once, when the
 * answer arrives. */
void acr_model_answer_split(AcrModelAnswer *answer);
/* Why an answer is incomplete, such as "it was cut off …"; static; NULL: it is complete. */
const char *acr_model_answer_problem(const AcrModelAnswer *answer);
/* The answer's text, followed by its calls as `name(argument="value")`; owned (g_free). */
char *acr_model_answer_text(const AcrModelAnswer *answer) ACR_MUST_USE;
/* Adds an answer. If it calls tools, the user's next message answers all of its calls: its whole
 * text goes to the first call, until acr_conversation_set_results is called. */
void acr_conversation_add_answer(AcrConversation *conversation, const AcrModelAnswer *answer);
/* Makes the last message, the user's, answer the calls of the message before: call n gets text
 * n. */
void acr_conversation_set_results(AcrConversation *conversation, const GPtrArray *texts);

/* ---- Model ---- */

/* One request of a call, even one that was not sent. */
typedef struct {
    const char *model;    /* borrowed from the model; tells which of several models was called */
    bool ok;              /* this request brought the answer */
    bool sent;            /* part of it may have reached the server */
    bool streamed;        /* an answer began to arrive */
    AcrLlmError code;     /* why it failed */
    int status;           /* HTTP status; 0: none */
    char *request_id;     /* owned, or NULL */
    gint64 wait_ms;       /* before the request: back-off, and waiting for a slot */
    gint64 first_byte_ms; /* 0: no byte arrived */
    gint64 wall_ms;
    AcrUsage usage;
    gint64 reserved_pico, reserved_tokens; /* 0 without a budget */
    gint64 charged_pico, charged_tokens;   /* the amount that the budget counts */
    AcrService asked, served;              /* the service tier; ANY: none */
    gint64 standard_pico; /* the cost at the standard tier; -1: unknown, or no tier was named */
} AcrModelTry;

void acr_model_try_clear(gpointer attempt); /* for arrays of them */

/* What the model did in its last call, also after a failure. */
typedef struct {
    GArray *tries; /* AcrModelTry, in order; NULL or empty: no request was needed */
    gint64 window; /* after CONTEXT_OVERFLOW: tokens that fit, if the server tells; else 0 */
} AcrModelReport;

/* What is known about a model before it is called. Borrowed from the model. */
typedef struct {
    const char *address; /* "host:port", or a socket's path; NULL: it is a script */
    const char *key;     /* source of the key: a variable or "option"; NULL: no key */
    AcrPrice price;      /* the price at which it is charged */
    bool has_price;      /* false: `price` is an assumption */
    bool is_free;        /* it costs nothing */
    bool calls_tools;    /* the provider's own server, whose models are made to call tools */
} AcrModelFacts;

/* The functions of a backend, whose state begins with an AcrModel. */
typedef struct AcrModel AcrModel;
typedef struct {
    bool (*complete)(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                     GError **error);
    void (*free)(AcrModel *model);
    /* The journal has answered the call: the backend moves on as if it had answered. May be
     * NULL. */
    void (*skip)(AcrModel *model, const AcrModelRequest *request);
    /* Borrowed until the next call. May be NULL: nothing to report. */
    const AcrModelReport *(*report)(AcrModel *model);
    /* Both are NULL for a script. */
    void (*facts)(AcrModel *model, AcrModelFacts *out);
    bool (*reach)(AcrModel *model, gint64 timeout_ms, int *out_status, GError **error);
} AcrModelOps;
struct AcrModel {
    const AcrModelOps *ops;
    char *name;     /* owned (g_free by the backend); as given by the user, "openai/gpt-4.1" */
    char *remark;   /* owned like `name`; a warning for the user, or NULL */
    bool is_varied; /* set by the caller between calls: applies to all its requests */
};

/* Makes one call, with retries of the backend. One thread at a time. Errors: any AcrLlmError. */
bool acr_model_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                        GError **error) ACR_MUST_USE;
/* Tells the model that a journal has answered this call: a script skips its line. */
void acr_model_skip(AcrModel *model, const AcrModelRequest *request);
/* What the model did in the last call; borrowed until the next one; never NULL. */
const AcrModelReport *acr_model_report(AcrModel *model);
guint acr_report_sent(const AcrModelReport *report); /* number of requests that were sent */
/* Reports facts without sending anything. For a fallback model, ask each of its models. */
void acr_model_facts(AcrModel *model, AcrModelFacts *out);
/*
 * Whether the server answers: sends a GET to its base URL, without key, user's headers or body; any
 * status counts. *out_status 0: a script. Errors: NETWORK, TIMEOUT, INTERRUPTED.
 */
bool acr_model_reach(AcrModel *model, gint64 timeout_ms, int *out_status,
                     GError **error) ACR_MUST_USE;
void acr_model_free(AcrModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrModel, acr_model_free)

/* ---- Making a model ---- */

/* Zero-initialise; borrowed for the call of acr_model_new unless noted otherwise. */
typedef struct {
    /* play the script's lines for this task; NULL: ignore lines that name a task */
    const char *instance_id;
    const char *const *labels; /* labels that a script may use; NULL-terminated; NULL: any */
    double temperature;        /* below 0: not sent */
    AcrService service;        /* the service tier to ask for; its price must be known */
    const char *broker;        /* of batch interfaces (llm/batch_broker.h); NULL: none */
    const char *effort;        /* reasoning effort ("low", "medium", "high", …); NULL: not sent */
    /* NULL: from the environment, else the provider's. May be unix:PATH[:/v1] or
     * http+unix://PERCENT-ENCODED-PATH/v1 */
    const char *base_url;
    const char *const *headers; /* more request headers, "Name: value", NULL-terminated; or NULL */
    const char *key_command;    /* command that prints the key; NULL: none */
    /* file that holds the key and only its owner may read (mode 0600); NULL: none */
    const char *key_file;
    const char *ca_file;  /* NULL: SSL_CERT_FILE, CURL_CA_BUNDLE, else the system's */
    gint64 timeout_ms;    /* for one try including its stream; 0: 30 minutes, 60 at flex */
    guint max_tokens;     /* for answers whose request sets no limit; 0: the model's default */
    gint64 first_byte_ms; /* until the response begins; 0: 10 minutes, 30 at flex */
    gint64 idle_ms;       /* between pieces of the answer's content; 0: 2 minutes, 10 at flex */
    /* in one call, for each retryable class of failures; 0: none; the program's default is
     * ACR_LLM_RETRIES */
    guint max_retries;
    gint64
        retry_base_ms; /* upper limit of the first wait, doubled for each further one; 0: 1,000 */
    const AcrPrices *prices; /* kept; must outlive the model; NULL: no cost is known */
    AcrBudget *budget;       /* kept; must outlive the model; NULL: none */
    /* folder in which processes that use one endpoint and key share its limits; made if missing;
     * NULL: not shared */
    const char *shared_dir;
    const AcrInterrupt *interrupt; /* kept; must outlive the model */
    /* called before each wait, and with -1 ms if a tier is refused; may be NULL */
    void (*on_wait)(void *ctx, const char *why, gint64 wait_ms);
    void *on_wait_ctx;
    /* Called when a request is sent, and at most twice a second while its answer arrives; may be
     * NULL. `begun_ms`: when it was sent, since 1970; `tokens`: of the answer so far, estimated if
     * the server does not count them. */
    void (*on_answer)(void *ctx, gint64 begun_ms, gint64 tokens);
    void *on_answer_ctx;
} AcrModelOptions;
#define ACR_LLM_RETRIES 8

/*
 * `name` is PROVIDER/NAME ("openai/gpt-4.1"), a NAME that only one provider has, or "script:FILE".
 * Sends nothing, but fails if the key is missing. Errors: USAGE, AUTH.
 */
AcrModel *acr_model_new(const char *name, const AcrModelOptions *options,
                        GError **error) ACR_MUST_USE;

/* Whether `name` is a valid name of a model. Errors: USAGE. */
bool acr_llm_check_name(const char *name, GError **error) ACR_MUST_USE;
/* "PROVIDER (VARIABLE)" for each provider whose key is in the environment; owned (g_strfreev). */
char **acr_llm_keys_set(void) ACR_MUST_USE;
/* {"name", "keys", "addresses"} of each provider: the environment variables that it reads; owned. */
AcrJson *acr_llm_describe_providers(void) ACR_MUST_USE;
/* The environment (taken) without the keys of all providers, to start another program; owned
 * (g_strfreev). */
char **acr_llm_without_keys(char **environment) ACR_MUST_USE;
/* Whether both names belong to providers that read the same key. */
bool acr_llm_same_key(const char *a, const char *b);

/*
 * A model that calls `second` (both taken) after a permanent failure of `first` that the other may
 * not have, and from then on always. Its name is that of `first`.
 */
AcrModel *acr_fallback_model_new(AcrModel *first, AcrModel *second) ACR_MUST_USE;

/* Why the users of a shared folder are paused after a failure of key or account: one line; owned
 * (g_free); NULL: they are not. */
char *acr_llm_paused(const char *shared_dir) ACR_MUST_USE;
/* Ends that pause, when new work begins. */
bool acr_llm_resume(const char *shared_dir, GError **error) ACR_MUST_USE;

#endif
