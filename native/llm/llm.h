/* llm: sends a conversation to a model and returns the answer with its usage. A backend implements
 * one table of functions. This library has two kinds of backends, HTTP providers and scripted
 * answers; runtime/task wraps them with the journal. Before a call is sent, its highest possible
 * cost is reserved in a budget (native/money). Labels and steps say the purpose of a call; this
 * library does not interpret them. */
#pragma once

#include "base/base.h"
#include "money/money.h"

/* Classes of failure. Callers branch on CONTEXT_OVERFLOW, USED_UP, INCOMPLETE, EXPECT and
 * CEILING. */
typedef enum {
    ACR_LLM_ERROR_FAILED,
    ACR_LLM_ERROR_USAGE, /* unknown provider, invalid option, missing or malformed script */
    ACR_LLM_ERROR_AUTH,  /* no key is set, or the server rejects the key */
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
    /* the host does not exist, or no server listens on its port; shown as "network" */
    ACR_LLM_ERROR_UNREACHABLE,
    ACR_LLM_ERROR_TRUNCATED,
    ACR_LLM_ERROR_MALFORMED,
    ACR_LLM_ERROR_INCOMPLETE, /* every answer was truncated; set by the caller */
    ACR_LLM_ERROR_USED_UP,    /* a script has no line left for the label */
    ACR_LLM_ERROR_EXPECT,     /* the request lacks a string that the script's line expects */
    ACR_LLM_ERROR_CEILING,    /* a limit on money, tokens or time was reached */
    ACR_LLM_ERROR_INTERRUPTED,
    ACR_LLM_ERRORS,
} AcrLlmError;
#define ACR_LLM_ERROR acr_llm_error_quark()
GQuark acr_llm_error_quark(void);
const char *acr_llm_error_name(AcrLlmError code); /* such as "rate_limit" */

#define ACR_LLM_MAX_ANSWER (32u * 1024 * 1024) /* maximum number of bytes of one answer's text */

/* ---- Conversation ---- */

typedef enum { ACR_ROLE_SYSTEM, ACR_ROLE_USER, ACR_ROLE_ASSISTANT } AcrRole;
const char *acr_role_name(AcrRole role); /* returns "system", "user" or "assistant" */

/* A message. `content` is the whole message as text, including tool calls and results; servers
 * without tools, and all models except the caller of the tools, get this text. `tools` holds the
 * tool calls or results in structured form; NULL if the message is only text. The assistant's
 * `tools` are {"by": model, "text", "calls": [{"id" (may be null), "name", "arguments": JSON as
 * text}], "kept": items that must be sent back to the provider unchanged}. The user's `tools`, for
 * all calls of the previous message, are {"by", "results": [{"id", "name", "text"}]}. */
typedef struct {
    AcrRole role;
    char *content;  /* owned; valid UTF-8 */
    AcrJson *tools; /* owned, or NULL */
} AcrMessage;

/* A named list of messages. The name is unique within a run ("attempt_0/search"). */
typedef struct AcrConversation AcrConversation;
AcrConversation *acr_conversation_new(const char *name) ACR_MUST_USE; /* owned */
void acr_conversation_free(AcrConversation *conversation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrConversation, acr_conversation_free)
const char *acr_conversation_name(const AcrConversation *conversation);
void acr_conversation_add(AcrConversation *conversation, AcrRole role,
                          /* `content` is copied, and repaired if it is not valid UTF-8 */
                          const char *content);
/* Returns the tool calls of the last message, as an array; borrowed; NULL if there are none. */
const AcrJson *acr_conversation_calls(const AcrConversation *conversation);
gsize acr_conversation_size(const AcrConversation *conversation);
gsize acr_conversation_bytes(
    const AcrConversation *conversation); /* returns the number of bytes of all messages */
const AcrMessage *acr_conversation_message(const AcrConversation *conversation,
                                           gsize n); /* borrowed */
/* Replaces a message's text, for example to shorten a result. The message's tool calls or
 * results, and the other half of the exchange, then become text too. */
void acr_conversation_replace(AcrConversation *conversation, gsize n, const char *content);
/* Removes `n` messages, beginning with number `first`. */
void acr_conversation_remove(AcrConversation *conversation, gsize first, gsize n);
/* Returns an array of {"role","content"}, beginning with message `from`; owned. */
AcrJson *acr_conversation_to_json(const AcrConversation *conversation, gsize from) ACR_MUST_USE;

/* ---- Request and answer ---- */

/* minimum temperature of a varied call, if a temperature is sent at all */
#define ACR_VARIED_TEMPERATURE 0.8

/* A request to a model. Zero-initialise; all members are borrowed for the call. */
typedef struct {
    const char *label; /* purpose of the call; a script has one queue of answers per label */
    guint step;        /* number of the step, from 1; 0 if the call belongs to no step */
    const AcrConversation *conversation;
    /* the tools that may be called: [{"name", "description", "schema"}]; NULL: none. They are not
     * sent to a server that rejects tools */
    const AcrJson *tools;
    /* text to add to the system prompt if tools are sent; NULL: nothing */
    const char *tools_hint;
    bool json; /* use the provider's JSON mode, or ask for JSON in words */
    /* raise a low temperature, because the model has already answered the same question */
    bool is_varied;
    const AcrJson *schema; /* JSON schema of the answer, an object; NULL: none. Implies `json` */
    guint max_tokens;      /* maximum number of tokens of the answer; 0: the model's default */
    /* number of tokens that the model's window leaves for the answer; 0: unknown. If a ceiling
     * requires a limit and max_tokens sets none, the limit is at most `room` */
    guint room;
} AcrModelRequest;

typedef struct {
    char *content; /* owned; valid UTF-8 without NUL, may be "" */
    /* owned; why the answer ended, in OpenAI's words for all providers: "stop", "length",
     * "tool_calls", "content_filter" */
    char *finish;
    char *thoughts; /* owned; the model's reasoning, which is never parsed; NULL if not shown */
    /* owned; the model's name in the provider's answer, otherwise the requested name; or NULL */
    char *model;
    char *request_id; /* owned; or NULL */
    AcrJson *tools;   /* owned; the tool calls, as in AcrMessage; NULL if there are none */
    AcrUsage usage;
} AcrModelAnswer;
void acr_model_answer_clear(AcrModelAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrModelAnswer, acr_model_answer_clear)

/* Moves the thoughts in the text to `thoughts` (see acr_thoughts_split). Call it once, after the
 * answer has arrived. */
void acr_model_answer_split(AcrModelAnswer *answer);
/* Returns why an answer is incomplete, such as "it was cut off …"; static. Returns NULL if the
 * answer is complete. */
const char *acr_model_answer_problem(const AcrModelAnswer *answer);
/* Returns the answer's text, followed by its calls as `name(argument="value")`; owned (g_free). */
char *acr_model_answer_text(const AcrModelAnswer *answer) ACR_MUST_USE;
/* Adds an answer. If the answer calls tools, the user's next message answers all calls: its whole
 * text becomes the result of the first call, unless acr_conversation_set_results divides it. */
void acr_conversation_add_answer(AcrConversation *conversation, const AcrModelAnswer *answer);
/* Sets the results of the tool calls that the user's last message answers: call n gets text n of
 * `texts`. */
void acr_conversation_set_results(AcrConversation *conversation, const GPtrArray *texts);

/* ---- Model ---- */

/* One try of a call: a request, even if it was not sent. */
typedef struct {
    /* name of the model that was called, if there are several; borrowed from the model */
    const char *model;
    bool ok;          /* the try's request brought the answer */
    bool sent;        /* a part of the request may have reached the server */
    bool streamed;    /* an answer began to arrive */
    AcrLlmError code; /* class of the try's failure */
    int status;       /* HTTP status; 0 if there was no response */
    char *request_id; /* owned, or NULL */
    /* how long the try waited before its request, for back-off and for a slot */
    gint64 wait_ms;
    gint64 first_byte_ms; /* time until the first byte of the response; 0 if no byte arrived */
    gint64 wall_ms;
    AcrUsage usage;
    gint64 reserved_pico, reserved_tokens; /* the reserved amounts; 0 if there is no budget */
    gint64 charged_pico, charged_tokens;   /* the amounts charged to the budget */
    /* the requested service tier, and the tier that served the request; ANY if no tier is named */
    AcrService asked, served;
    /* the cost at the standard tier; -1 if it is unknown or no tier was named */
    gint64 standard_pico;
} AcrModelTry;

void acr_model_try_clear(gpointer attempt); /* frees the members of a try; for a GArray of tries */

/* Reports the tries of the model's last call, even if the call failed. */
typedef struct {
    GArray *tries; /* array of AcrModelTry, in order; NULL or empty if no request was needed */
    /* after CONTEXT_OVERFLOW: number of tokens that fit, or 0 if the server does not say */
    gint64 window;
} AcrModelReport;

/* Facts about a model that are known before a call. Borrowed from the model. */
typedef struct {
    const char *address; /* "host:port", or the path of a socket; NULL: the model is a script */
    /* source of the key: the name of a variable, or "option"; NULL: there is no key */
    const char *key;
    const char *missing_key; /* how to set the key that is missing (may_lack_key); NULL: none is */
    AcrPrice price;          /* price at which calls are charged */
    bool has_price;          /* false if the price is unknown; `price` is then an assumption */
    const char *nearest;     /* then a name of known price that is near to the model's, or NULL */
    bool is_free;            /* calls cost nothing */
    /* calls go to the provider's own server, and its models are trained to call tools */
    bool calls_tools;
} AcrModelFacts;

/* The functions of a backend. The state of a backend begins with an AcrModel. */
typedef struct AcrModel AcrModel;
typedef struct {
    bool (*complete)(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                     GError **error);
    void (*free)(AcrModel *model);
    /* Replaces `complete` for a call that the journal has answered: changes the backend's state as
     * if the backend had given the answer. May be NULL. */
    void (*skip)(AcrModel *model, const AcrModelRequest *request);
    /* Returns the report, borrowed until the next call. May be NULL if there is nothing to
     * report. */
    const AcrModelReport *(*report)(AcrModel *model);
    /* `facts` and `reach` are NULL for a script. */
    void (*facts)(AcrModel *model, AcrModelFacts *out);
    bool (*reach)(AcrModel *model, gint64 timeout_ms, int *out_status, GError **error);
} AcrModelOps;
struct AcrModel {
    const AcrModelOps *ops;
    /* owned by the backend (g_free); the name as the user gave it, "openai/gpt-4.1" */
    char *name;
    char *remark; /* owned by the backend (g_free); a warning for the user, or NULL */
    /* set by the caller between calls: all following requests are treated as varied */
    bool is_varied;
};

/* Makes one call; the backend retries failed requests. Only one thread at a time may call it.
 * Errors: any AcrLlmError. */
bool acr_model_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                        GError **error) ACR_MUST_USE;
/* Tells the model that the journal has answered a call, so that a script skips the call's line. */
void acr_model_skip(AcrModel *model, const AcrModelRequest *request);
/* Returns the report of the model's last call; borrowed until the next call; never NULL. */
const AcrModelReport *acr_model_report(AcrModel *model);
/* Returns the number of tries, including connections that failed. `report` may be NULL. */
guint acr_report_tries(const AcrModelReport *report);
/* Says what an interrupted call counts for ceilings; owned; NULL: nothing. `report` may be NULL. */
char *acr_report_charge_text(const AcrModelReport *report, const GError *failure) ACR_MUST_USE;
/* Reports facts about the model without sending anything. A fallback model must be asked through
 * each of its models. */
void acr_model_facts(AcrModel *model, AcrModelFacts *out);
/* Whether the server answers. Sends a GET to the server's base URL, without key, user's headers
 * or body; any status means yes. *out_status is 0 for a script. Errors: NETWORK, TIMEOUT,
 * INTERRUPTED. */
bool acr_model_reach(AcrModel *model, gint64 timeout_ms, int *out_status,
                     GError **error) ACR_MUST_USE;
void acr_model_free(AcrModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrModel, acr_model_free)

/* ---- Making a model ---- */

/* Options of a model. Zero-initialise; members are borrowed for the call of acr_model_new unless
 * noted otherwise. */
typedef struct {
    /* use the script's lines for the task with this id; NULL: ignore lines that name a task */
    const char *instance_id;
    /* NULL-terminated list of the labels that a script may use; NULL: any */
    const char *const *labels;
    double temperature; /* temperature of requests; negative: not sent */
    AcrService service; /* the service tier to request; its price must be known */
    const char *broker; /* address and token of a batch broker (llm/batch_broker.h); NULL: none */
    const char *effort; /* reasoning effort ("low", "medium", "high", …); NULL: not sent */
    /* base URL; NULL: from the environment, else the provider's own; may be unix:PATH[:/v1] or
     * http+unix://PERCENT-ENCODED-PATH/v1 */
    const char *base_url;
    /* additional request headers, "Name: value", NULL-terminated; or NULL */
    const char *const *headers;
    const char *key_command; /* command that prints the key; NULL: none */
    /* file that contains the key, and that only its owner may read (mode 0600); NULL: none */
    const char *key_file;
    /* file of certificates; NULL: the file of SSL_CERT_FILE or CURL_CA_BUNDLE, else the system's */
    const char *ca_file;
    /* make a model even if its key is missing, to describe it without a call */
    bool may_lack_key;
    /* time limit of one try including its stream; 0: 30 minutes, 60 at the flex tier */
    gint64 timeout_ms;
    const char *timeout_option; /* option that sets timeout_ms, for messages; static, or NULL */
    /* maximum number of tokens of an answer whose request sets no limit; 0: the model's default */
    guint max_tokens;
    /* time limit until the response begins; 0: 10 minutes, 30 at the flex tier */
    gint64 first_byte_ms;
    /* time limit between two pieces of the answer's content; 0: 2 minutes, 10 at the flex tier */
    gint64 idle_ms;
    /* maximum number of retries in one call, for each retryable class of failure; 0: none; the
     * program's default is ACR_LLM_RETRIES */
    guint max_retries;
    gint64
        retry_base_ms; /* upper limit of the first wait, which doubles with each retry; 0: 1,000 */
    const AcrPrices *prices; /* kept; must outlive the model; NULL: no price is known */
    AcrBudget *budget;       /* kept; must outlive the model; NULL: none */
    /* folder in which processes with the same endpoint and key share their rate limits; created if
     * missing; NULL: limits are not shared */
    const char *shared_dir;
    const AcrInterrupt *interrupt; /* kept; must outlive the model */
    /* called before each wait, and with -1 ms when a tier is refused; may be NULL */
    void (*on_wait)(void *ctx, const char *why, gint64 wait_ms);
    void *on_wait_ctx;
    /* Reports progress when a request is sent, and at most twice a second while its answer arrives;
     * may be NULL. `begun_ms` is the time when the request was sent, in ms since 1970; `tokens` is
     * the length of the answer so far, estimated if the server does not count. */
    void (*on_answer)(void *ctx, gint64 begun_ms, gint64 tokens);
    void *on_answer_ctx;
} AcrModelOptions;
#define ACR_LLM_RETRIES 8

/* Makes a model; owned. `name` is PROVIDER/NAME ("openai/gpt-4.1"), a NAME that only one provider
 * has, or "script:FILE". Sends nothing, but fails if the key is missing. Errors: USAGE, AUTH. */
AcrModel *acr_model_new(const char *name, const AcrModelOptions *options,
                        GError **error) ACR_MUST_USE;

/* Whether `name` is a valid name of a model. Errors: USAGE. */
bool acr_llm_check_name(const char *name, GError **error) ACR_MUST_USE;
/* Returns "PROVIDER (VARIABLE)" for each provider with a key in the environment; owned
 * (g_strfreev). */
char **acr_llm_keys_set(void) ACR_MUST_USE;
/* Returns an array with, for each provider, {"name", "keys", "addresses"}, where keys and addresses
 * are the environment variables that hold the provider's key and address; owned. */
AcrJson *acr_llm_describe_providers(void) ACR_MUST_USE;
/* Returns the environment (taken) without the variables that hold providers' keys, for starting
 * another program; owned (g_strfreev). */
char **acr_llm_without_keys(char **environment) ACR_MUST_USE;
/* Whether both names belong to providers that read the same key. */
bool acr_llm_same_key(const char *a, const char *b);

/* Makes a model that calls `first` until it fails permanently for a reason that `second` may not
 * share. From then on it always calls `second`. Both are taken. The model has the name of
 * `first`. */
AcrModel *acr_fallback_model_new(AcrModel *first, AcrModel *second) ACR_MUST_USE;

/* Returns the reason of a pause, if processes that share the folder are paused after a failure of
 * the key or the account: one line, owned (g_free). Otherwise returns NULL. */
char *acr_llm_paused(const char *shared_dir) ACR_MUST_USE;
/* Ends the pause that acr_llm_paused reports. Call it when new work begins. */
bool acr_llm_resume(const char *shared_dir, GError **error) ACR_MUST_USE;
