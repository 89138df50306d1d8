/*
 * llm: one function sends a conversation and returns an answer with its usage. Backends stand behind
 * one vtable: HTTP providers and scripted answers here; the journal wraps any of them from outside.
 * What a call may cost is reserved in a budget (money) before it is sent. What a call is for is the
 * caller's affair: its label and step are opaque here.
 */
#ifndef ACR_LLM_H
#define ACR_LLM_H

#include "base/base.h"
#include "money/money.h"

/* Classes of failure, from the client's taxonomy; a caller branches on CONTEXT_OVERFLOW, USED_UP,
 * INCOMPLETE, EXPECT, CEILING. */
typedef enum {
    ACR_LLM_ERROR_FAILED,
    ACR_LLM_ERROR_USAGE, /* unknown provider, unusable option, missing or malformed script */
    ACR_LLM_ERROR_AUTH,  /* no key, or refused */
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
    ACR_LLM_ERROR_UNREACHABLE, /* no such host, or nothing listens; shown as "network" */
    ACR_LLM_ERROR_TRUNCATED,
    ACR_LLM_ERROR_MALFORMED,
    ACR_LLM_ERROR_INCOMPLETE, /* the caller's: no answer came to its end, however often it was asked */
    ACR_LLM_ERROR_USED_UP,    /* script: no line is left for that label */
    ACR_LLM_ERROR_EXPECT,     /* script: the request lacks a string that the line expects */
    ACR_LLM_ERROR_CEILING,    /* money, tokens or time */
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
 * `content` says all of a message, tool calls and their results as text too: where tools are not sent,
 * or another model is asked, it is what is sent. `tools` is the same in parts; NULL: text alone.
 * Of the assistant: {"by": the model's name, "text", "calls": [{"id" (null: it has none), "name",
 * "arguments": JSON as a text}], "kept": what the provider wants back as it was}. Of the user, who answers all calls of the
 * message before: {"by", "results": [{"id", "name", "text"}]}.
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
/* The calls of the last message, a list; borrowed; NULL: it calls none. */
const AcrJson *acr_conversation_calls(const AcrConversation *conversation);
gsize acr_conversation_size(const AcrConversation *conversation);
gsize acr_conversation_bytes(const AcrConversation *conversation); /* of all messages' texts */
const AcrMessage *acr_conversation_message(const AcrConversation *conversation,
                                           gsize n); /* borrowed */
/* Replaces a message's text, e.g. to shorten a result. Calls in it, and their results, are text then. */
void acr_conversation_replace(AcrConversation *conversation, gsize n, const char *content);
/* Takes out `n` messages from number `first` on. */
void acr_conversation_remove(AcrConversation *conversation, gsize first, gsize n);
/* [{"role","content"}], from message `from` on. */
AcrJson *acr_conversation_to_json(const AcrConversation *conversation, gsize from) ACR_MUST_USE;

/* ---- Request and answer ---- */

/* Zero-initialise; all borrowed for the call. */
typedef struct {
    const char *label; /* what the call is for, in the caller's words; picks a script's queue */
    guint step;        /* of calls that come in numbered steps, from 1; 0: of none */
    const AcrConversation *conversation;
    const AcrJson *tools; /* that may be called: [{"name", "description", "schema"}]; NULL: none. A
                              server that refuses them is asked without */
    const char *tools_hint; /* for the system prompt where they are sent; NULL: none */
    bool json;              /* JSON mode, in the provider's form, else asked for in words */
    const AcrJson *schema;  /* JSON schema of the answer, an object; NULL: none. Implies `json` */
    guint max_tokens;       /* of the answer; 0: the model's default */
    guint room;             /* tokens that the model's window leaves for the answer: where a ceiling
                              asks for a limit and max_tokens does not, this bounds it; 0: unknown */
} AcrModelRequest;

typedef struct {
    char *content;    /* owned; valid UTF-8 without NUL, maybe "" */
    char *finish;     /* owned; in OpenAI's words, whoever answers: "stop", "length", "tool_calls",
                         "content_filter" */
    char *thoughts;   /* owned; what the model thought aloud: never parsed; NULL: not shown */
    char *model;      /* owned; as the provider names it, else as it was asked for; or NULL */
    char *request_id; /* owned; or NULL */
    AcrJson *tools;   /* owned; the tools that it calls, as in AcrMessage; NULL: none */
    AcrUsage usage;
} AcrModelAnswer;
void acr_model_answer_clear(AcrModelAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrModelAnswer, acr_model_answer_clear)

/* Splits off the thoughts that stand in the text (see acr_thoughts_split): once, where it comes in. */
void acr_model_answer_split(AcrModelAnswer *answer);
/* Why an answer is not a whole one: a phrase such as "it was cut off …"; static; NULL: it is. */
const char *acr_model_answer_problem(const AcrModelAnswer *answer);
/* What an answer says, its calls behind its text as `name(argument="value")`; owned (g_free). */
char *acr_model_answer_text(const AcrModelAnswer *answer) ACR_MUST_USE;
/* Adds an answer. If it calls tools, the user's next message answers all its calls: the first of them
 * with all that it says, until its results are set. */
void acr_conversation_add_answer(AcrConversation *conversation, const AcrModelAnswer *answer);
/* The last message, the user's, answers each call of the one before by the text of its number. */
void acr_conversation_set_results(AcrConversation *conversation, const GPtrArray *texts);

/* ---- Model ---- */

/* One request of a call, sent or kept back. */
typedef struct {
    const char *model;    /* borrowed from the model: which one of several was asked */
    bool ok;              /* it brought the answer */
    bool sent;            /* it may have reached the server */
    bool streamed;        /* an answer began to come */
    AcrLlmError code;     /* where it failed */
    int status;           /* HTTP; 0: none came */
    char *request_id;     /* owned, or NULL */
    gint64 wait_ms;       /* before it: back-off, and for a slot */
    gint64 first_byte_ms; /* 0: no byte came */
    gint64 wall_ms;
    AcrUsage usage;
    gint64 reserved_pico, reserved_tokens; /* 0 without budget */
    gint64 charged_pico, charged_tokens;   /* what the budget counts for it */
} AcrModelTry;

void acr_model_try_clear(gpointer attempt); /* for arrays of them */

/* What the last call of a model did, whatever its outcome. */
typedef struct {
    GArray *tries; /* AcrModelTry, in order; NULL or empty: nothing was to be sent */
    gint64 window; /* after CONTEXT_OVERFLOW: tokens that fit, where the server says it; else 0 */
} AcrModelReport;

/* What is known of a model before it is asked. All borrowed from it. */
typedef struct {
    const char *address; /* "host:port", or a socket's path; NULL: nowhere, it is a script */
    const char *key;     /* where its key comes from, a variable or "option"; NULL: it has none */
    AcrPrice price;      /* as it is charged */
    bool has_price;      /* else its price is assumed */
    bool is_free;        /* nothing is charged */
    bool calls_tools;    /* the provider's own address, and its models are made to call tools */
} AcrModelFacts;

/* A backend's functions; its state begins with an AcrModel. */
typedef struct AcrModel AcrModel;
typedef struct {
    bool (*complete)(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                     GError **error);
    void (*free)(AcrModel *model);
    /* May be NULL: a call was answered from a journal; the backend's state moves on as if it had
     * answered it. */
    void (*skip)(AcrModel *model, const AcrModelRequest *request);
    /* May be NULL: nothing to report. Borrowed until the next call. */
    const AcrModelReport *(*report)(AcrModel *model);
    /* May be NULL both: a script. */
    void (*facts)(AcrModel *model, AcrModelFacts *out);
    bool (*reach)(AcrModel *model, gint64 timeout_ms, int *out_status, GError **error);
} AcrModelOps;
struct AcrModel {
    const AcrModelOps *ops;
    char *name;   /* owned (g_free by the backend); as given by the user, "openai/gpt-4.1" */
    char *remark; /* owned likewise; a warning for the user, or NULL */
};

/* One call, with the backend's own retries. One thread at a time. Errors: any of AcrLlmError. */
bool acr_model_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                        GError **error) ACR_MUST_USE;
/* A journal has answered this call in the backend's place: a script skips its line. */
void acr_model_skip(AcrModel *model, const AcrModelRequest *request);
/* Of the last call; borrowed until the next one; never NULL. */
const AcrModelReport *acr_model_report(AcrModel *model);
guint acr_report_sent(const AcrModelReport *report); /* requests that were sent */
/* Nothing is sent for it. Not of a fallback model: ask for those of each. */
void acr_model_facts(AcrModel *model, AcrModelFacts *out);
/*
 * Whether its server answers at all: one GET of its base URL, without key, headers of the user's or body; any
 * status will do. *out_status 0: a script. Errors: NETWORK, TIMEOUT, INTERRUPTED.
 */
bool acr_model_reach(AcrModel *model, gint64 timeout_ms, int *out_status,
                     GError **error) ACR_MUST_USE;
void acr_model_free(AcrModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrModel, acr_model_free)

/* ---- Making a model ---- */

/* Zero-initialise; borrowed for the call of acr_model_new unless said otherwise. */
typedef struct {
    const char *instance_id;   /* which lines of a script are for this task; NULL: lines that name a
                                  task are left out */
    const char *const *labels; /* that lines of a script may name; NULL-terminated; NULL: any */
    double temperature;        /* below 0: not sent */
    const char *effort;        /* of reasoning ("low", "medium", "high", …); NULL: not sent */
    const char *base_url;      /* NULL: the environment's, else the provider's. Also
                                unix:PATH[:/v1] and http+unix://PERCENT-ENCODED-PATH/v1 */
    const char *const *headers; /* more request headers, "Name: value", NULL-terminated; or NULL */
    const char *key_command;    /* prints the key; NULL: none */
    const char *key_file;       /* holds the key, for its owner alone (mode 0600); NULL: none */
    const char *ca_file;        /* NULL: SSL_CERT_FILE's, CURL_CA_BUNDLE's, else the system's */
    gint64 timeout_ms;          /* of one try, a stream that still flows included; 0: 30 minutes */
    guint max_tokens;     /* of each answer whose request sets no limit; 0: the model's default */
    gint64 first_byte_ms; /* until the response begins; 0: 10 minutes */
    gint64 idle_ms;       /* between pieces of its content; 0: 2 minutes */
    guint max_retries;    /* of one call, for retryable classes, each within a number of its own; 0:
                          none; the program's default is ACR_LLM_RETRIES */
    gint64
        retry_base_ms; /* upper bound of the first wait, doubled for each further one; 0: 1,000 */
    const AcrPrices *prices; /* kept; must outlive the model; NULL: no cost is known */
    AcrBudget *budget;       /* kept; must outlive the model; NULL: none */
    const char *shared_dir;  /* folder where processes that use one endpoint and key keep to its
                                limits together; made if missing; NULL: each for itself */
    const AcrInterrupt *interrupt; /* kept; must outlive the model */
    void (*on_wait)(void *ctx, const char *why,
                    gint64 wait_ms); /* called before each wait; may be NULL */
    void *on_wait_ctx;
    /* Called when a request is sent, and at most twice a second while its answer comes; may be NULL. `begun_ms`: since
     * 1970, when it was sent; `tokens`: of the answer so far, an estimate where the server does not count them. */
    void (*on_answer)(void *ctx, gint64 begun_ms, gint64 tokens);
    void *on_answer_ctx;
} AcrModelOptions;
#define ACR_LLM_RETRIES 8

/*
 * `name` is PROVIDER/NAME ("openai/gpt-4.1"), a NAME that only one provider has, or "script:FILE".
 * Providers are rows of a table in this library. Nothing is sent yet, but a key that is missing is
 * found now. Errors: USAGE, AUTH.
 */
AcrModel *acr_model_new(const char *name, const AcrModelOptions *options,
                        GError **error) ACR_MUST_USE;

/* Whether a model can have that name. Errors: USAGE. */
bool acr_llm_check_name(const char *name, GError **error) ACR_MUST_USE;
/* For each provider whose key is in the environment, "PROVIDER (VARIABLE)"; owned (g_strfreev). */
char **acr_llm_keys_set(void) ACR_MUST_USE;
/* An environment (taken) without the keys of all providers, for another program; owned (g_strfreev). */
char **acr_llm_without_keys(char **environment) ACR_MUST_USE;
/* Whether both names are of providers that read the same key. */
bool acr_llm_same_key(const char *a, const char *b);

/*
 * Asks `second` (both taken) after a permanent failure of `first` that another model may not
 * have, and from then on at once. Its name is first's.
 */
AcrModel *acr_fallback_model_new(AcrModel *first, AcrModel *second) ACR_MUST_USE;

/* The pause that a failure of key or account has put on the users of a shared folder: one line,
 * why; owned (g_free); NULL: none. */
char *acr_llm_paused(const char *shared_dir) ACR_MUST_USE;
/* Takes it off, when work begins anew. */
bool acr_llm_resume(const char *shared_dir, GError **error) ACR_MUST_USE;

#endif
