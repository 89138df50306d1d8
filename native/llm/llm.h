/* llm: sends a conversation to a model and returns the answer with its usage. A backend implements
 * one table of functions; this library has two kinds, HTTP providers and scripted answers, and
 * runtime/task wraps them with the journal. Before a call is sent, its highest possible cost is
 * reserved in a budget (native/money). Labels and steps say what a call is for; llm does not
 * interpret them. */
#pragma once

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

/* A message. `content` is the whole message as text, including tool calls and results; servers
 * without tools and other models get this text. `tools` holds the same in structured form; NULL:
 * the message is only text. From the assistant: {"by": model, "text", "calls": [{"id" (may be
 * null), "name", "arguments": JSON as text}], "kept": items that must be sent back to the provider
 * unchanged}. From the user, for all calls of the previous message: {"by", "results": [{"id",
 * "name", "text"}]}. */
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
/* The tool calls of the last message, an array; borrowed; NULL: none. */
const AcrJson *acr_conversation_calls(const AcrConversation *conversation);
gsize acr_conversation_size(const AcrConversation *conversation);
gsize acr_conversation_bytes(
    const AcrConversation *conversation); /* bytes of the texts of all messages */
const AcrMessage *acr_conversation_message(const AcrConversation *conversation,
                                           gsize n); /* borrowed */
/* Replaces a message's text, for example to shorten a result. Tool calls of the message, and
 * their results, then become text. */
void acr_conversation_replace(AcrConversation *conversation, gsize n, const char *content);
/* Removes `n` messages, starting with number `first`. */
void acr_conversation_remove(AcrConversation *conversation, gsize first, gsize n);
/* An array of {"role","content"}, starting with message `from`. */
AcrJson *acr_conversation_to_json(const AcrConversation *conversation, gsize from) ACR_MUST_USE;

/* ---- Request and answer ---- */

/* minimum temperature of a varied call, if a temperature is sent at all */
#define ACR_VARIED_TEMPERATURE 0.8

/* Zero-initialise; all members are borrowed for the call. */
typedef struct {
    const char *label; /* what the call is for; a script has one queue per label */
    guint step;        /* number of the step, from 1; 0: the call has no step */
    const AcrConversation *conversation;
    /* tools that may be called: [{"name", "description", "schema"}]; NULL: none. They are left out
     * for a server that rejects them */
    const AcrJson *tools;
    /* text that is added to the system prompt if tools are sent; NULL: none */
    const char *tools_hint;
    bool json; /* use the provider's JSON mode, or ask for JSON in words */
    /* raise a low temperature, because the model has already answered the same question */
    bool is_varied;
    const AcrJson *schema; /* JSON schema of the answer, an object; NULL: none. Implies `json` */
    guint max_tokens;      /* maximum number of tokens of the answer; 0: the model's default */
    /* tokens that the model's window leaves for the answer; 0: unknown. If a ceiling requires a
     * limit and max_tokens sets none, the limit is at most `room` */
    guint room;
} AcrModelRequest;

typedef struct {
    char *content; /* owned; valid UTF-8 without NUL, may be "" */
    /* owned; in OpenAI's words for all providers: "stop", "length", "tool_calls",
     * "content_filter" */
    char *finish;
    char *thoughts; /* owned; the model's reasoning, never parsed; NULL: not shown */
    /* owned; the model as the provider's answer names it, otherwise the requested name; or NULL */
    char *model;
    char *request_id; /* owned; or NULL */
    AcrJson *tools;   /* owned; the tool calls, as in AcrMessage; NULL: none */
    AcrUsage usage;
} AcrModelAnswer;
void acr_model_answer_clear(AcrModelAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrModelAnswer, acr_model_answer_clear)

/* Moves the thoughts in the text to `thoughts` (see acr_thoughts_split). Call it once, when the
 * answer arrives. */
void acr_model_answer_split(AcrModelAnswer *answer);
/* Why an answer is incomplete, such as "it was cut off …"; static; NULL if it is complete. */
const char *acr_model_answer_problem(const AcrModelAnswer *answer);
/* The answer's text, followed by its calls as `name(argument="value")`; owned (g_free). */
char *acr_model_answer_text(const AcrModelAnswer *answer) ACR_MUST_USE;
/* Adds an answer. If the answer calls tools, the user's next message answers all calls: its whole
 * text becomes the result of the first call, unless acr_conversation_set_results divides it. */
void acr_conversation_add_answer(AcrConversation *conversation, const AcrModelAnswer *answer);
/* Sets the results of the tool calls that the last message (the user's) answers: call n gets
 * text n. */
void acr_conversation_set_results(AcrConversation *conversation, const GPtrArray *texts);

/* ---- Model ---- */

/* One request (a try) of a call, even if it was not sent. */
typedef struct {
    const char *model;    /* which of several models was called; borrowed from the model */
    bool ok;              /* this request brought the answer */
    bool sent;            /* a part of the request may have reached the server */
    bool streamed;        /* an answer began to arrive */
    AcrLlmError code;     /* why it failed */
    int status;           /* HTTP status; 0: none */
    char *request_id;     /* owned, or NULL */
    gint64 wait_ms;       /* wait before the request: back-off, and waiting for a slot */
    gint64 first_byte_ms; /* 0: no byte arrived */
    gint64 wall_ms;
    AcrUsage usage;
    gint64 reserved_pico, reserved_tokens; /* 0 without a budget */
    gint64 charged_pico, charged_tokens;   /* the amount counted in the budget */
    /* the service tier that was asked for, and the one that served it; ANY: none named */
    AcrService asked, served;
    gint64 standard_pico; /* the cost at the standard tier; -1: unknown, or no tier was named */
} AcrModelTry;

void acr_model_try_clear(gpointer attempt); /* for a GArray of tries */

/* What the model did in its last call, also after a failure. */
typedef struct {
    GArray *tries; /* AcrModelTry, in order; NULL or empty: no request was needed */
    gint64 window; /* after CONTEXT_OVERFLOW: tokens that fit, if the server tells; else 0 */
} AcrModelReport;

/* What is known about a model before it is called. Borrowed from the model. */
typedef struct {
    const char *address; /* "host:port", or a socket's path; NULL: it is a script */
    const char *key;     /* source of the key: a variable or "option"; NULL: no key */
    AcrPrice price;      /* the price by which calls are charged */
    bool has_price;      /* false: the price is unknown, and `price` is an assumption */
    bool is_free;        /* it costs nothing */
    /* calls go to the provider's own server, and its models are trained to call tools */
    bool calls_tools;
} AcrModelFacts;

/* The functions of a backend, whose state begins with an AcrModel. */
typedef struct AcrModel AcrModel;
typedef struct {
    bool (*complete)(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                     GError **error);
    void (*free)(AcrModel *model);
    /* Called instead of `complete` when the journal has answered: the backend changes its state
     * as if it had answered. May be NULL. */
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
    bool is_varied; /* set by the caller between calls: all following requests are varied */
};

/* Makes one call; the backend retries failed requests. One thread at a time. Errors: any
 * AcrLlmError. */
bool acr_model_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                        GError **error) ACR_MUST_USE;
/* Tells the model that the journal has answered this call, so that a script skips its line. */
void acr_model_skip(AcrModel *model, const AcrModelRequest *request);
/* What the model did in its last call; borrowed until the next call; never NULL. */
const AcrModelReport *acr_model_report(AcrModel *model);
guint acr_report_sent(const AcrModelReport *report); /* number of requests that were sent */
/* Reports facts about the model without sending anything. A fallback model must be asked through
 * each of its models. */
void acr_model_facts(AcrModel *model, AcrModelFacts *out);
/* Whether the server answers: sends a GET to its base URL, without key, user's headers or body; any
 * status means yes. *out_status is 0 for a script. Errors: NETWORK, TIMEOUT, INTERRUPTED. */
bool acr_model_reach(AcrModel *model, gint64 timeout_ms, int *out_status,
                     GError **error) ACR_MUST_USE;
void acr_model_free(AcrModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrModel, acr_model_free)

/* ---- Making a model ---- */

/* Zero-initialise; borrowed for the call of acr_model_new unless noted otherwise. */
typedef struct {
    /* use the script's lines for this task; NULL: ignore lines that name a task */
    const char *instance_id;
    const char *const *labels; /* labels that a script may use; NULL-terminated; NULL: any */
    double temperature;        /* negative: not sent */
    AcrService service;        /* the service tier to ask for; its price must be known */
    const char *broker;        /* address of a batch broker (llm/batch_broker.h); NULL: none */
    const char *effort;        /* reasoning effort ("low", "medium", "high", …); NULL: not sent */
    /* NULL: from the environment, else the provider's. May be unix:PATH[:/v1] or
     * http+unix://PERCENT-ENCODED-PATH/v1 */
    const char *base_url;
    const char *const *headers; /* more request headers, "Name: value", NULL-terminated; or NULL */
    const char *key_command;    /* command that prints the key; NULL: none */
    /* file that holds the key and only its owner may read (mode 0600); NULL: none */
    const char *key_file;
    /* file of certificates; NULL: SSL_CERT_FILE, CURL_CA_BUNDLE, else the system's */
    const char *ca_file;
    gint64 timeout_ms;    /* for one try including its stream; 0: 30 minutes, 60 at flex */
    guint max_tokens;     /* limit of an answer whose request sets none; 0: the model's default */
    gint64 first_byte_ms; /* until the response begins; 0: 10 minutes, 30 at flex */
    gint64 idle_ms;       /* between pieces of the answer's content; 0: 2 minutes, 10 at flex */
    /* in one call, for each retryable class of failure; 0: no retries; the program's default is
     * ACR_LLM_RETRIES */
    guint max_retries;
    gint64
        retry_base_ms; /* upper limit of the first wait, which doubles with each retry; 0: 1,000 */
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
     * NULL. `begun_ms`: when the request was sent, in ms since 1970; `tokens`: length of the
     * answer so far, estimated if the server does not count. */
    void (*on_answer)(void *ctx, gint64 begun_ms, gint64 tokens);
    void *on_answer_ctx;
} AcrModelOptions;
#define ACR_LLM_RETRIES 8

/* `name` is PROVIDER/NAME ("openai/gpt-4.1"), a NAME that only one provider has, or "script:FILE".
 * Sends nothing, but fails if the key is missing. Errors: USAGE, AUTH. */
AcrModel *acr_model_new(const char *name, const AcrModelOptions *options,
                        GError **error) ACR_MUST_USE;

/* Whether `name` is a valid name of a model. Errors: USAGE. */
bool acr_llm_check_name(const char *name, GError **error) ACR_MUST_USE;
/* "PROVIDER (VARIABLE)" for each provider whose key is in the environment; owned (g_strfreev). */
char **acr_llm_keys_set(void) ACR_MUST_USE;
/* For each provider {"name", "keys", "addresses"}: the environment variables that hold its key
 * and its address; owned. */
AcrJson *acr_llm_describe_providers(void) ACR_MUST_USE;
/* The environment (taken) without the variables that hold keys of providers, for starting
 * another program; owned (g_strfreev). */
char **acr_llm_without_keys(char **environment) ACR_MUST_USE;
/* Whether both names belong to providers that read the same key. */
bool acr_llm_same_key(const char *a, const char *b);

/* A model that calls `first` until it fails permanently, for a reason that `second` may not share,
 * and from then on always `second` (both taken). It has the name of `first`. */
AcrModel *acr_fallback_model_new(AcrModel *first, AcrModel *second) ACR_MUST_USE;

/* Why processes that share the folder are paused after a failure of the key or the account: one
 * line, owned (g_free); NULL if they are not. */
char *acr_llm_paused(const char *shared_dir) ACR_MUST_USE;
/* Ends the pause that acr_llm_paused reports, when new work begins. */
bool acr_llm_resume(const char *shared_dir, GError **error) ACR_MUST_USE;
