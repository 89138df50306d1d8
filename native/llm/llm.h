/*
 * llm: one function sends a conversation for a role and returns an answer with its usage. Backends
 * stand behind one vtable: HTTP providers and scripted answers here; the journal wraps any of them
 * from outside.
 */
#ifndef ACR_LLM_H
#define ACR_LLM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

/* Classes of failure, from the client's taxonomy; a caller branches on CONTEXT_OVERFLOW, USED_UP,
 * EXPECT, CEILING. */
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
    ACR_LLM_ERROR_TRUNCATED,
    ACR_LLM_ERROR_MALFORMED,
    ACR_LLM_ERROR_USED_UP, /* script: no line is left for that agent */
    ACR_LLM_ERROR_EXPECT,  /* script: the request lacks a string that the line expects */
    ACR_LLM_ERROR_CEILING, /* money, tokens or time */
    ACR_LLM_ERROR_INTERRUPTED,
    ACR_LLM_ERRORS,
} AcrLlmError;
#define ACR_LLM_ERROR acr_llm_error_quark()
GQuark acr_llm_error_quark(void);
const char *acr_llm_error_name(AcrLlmError code); /* "rate_limit", "context_overflow", … */

#define ACR_LLM_MAX_ANSWER (32u * 1024 * 1024) /* bytes of one answer's text */

/* ---- Conversation -------------------------------------------------------------------------------
 */

typedef enum { ACR_ROLE_SYSTEM, ACR_ROLE_USER, ACR_ROLE_ASSISTANT } AcrRole;
const char *acr_role_name(AcrRole role); /* "system", "user", "assistant" */

typedef struct {
    AcrRole role;
    char *content; /* owned; valid UTF-8 */
} AcrMessage;

/* Messages in order, under a name that is unique within a run ("attempt_0/search"). */
typedef struct AcrConversation AcrConversation;
AcrConversation *acr_conversation_new(const char *name) ACR_MUST_USE; /* owned */
void acr_conversation_free(AcrConversation *conversation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrConversation, acr_conversation_free)
const char *acr_conversation_name(const AcrConversation *conversation);
void acr_conversation_add(AcrConversation *conversation, AcrRole role,
                          const char *content); /* copied, repaired if not UTF-8 */
gsize acr_conversation_size(const AcrConversation *conversation);
const AcrMessage *acr_conversation_message(const AcrConversation *conversation,
                                           gsize n); /* borrowed */
/* Replaces a message's text, e.g. to shorten a result. */
void acr_conversation_replace(AcrConversation *conversation, gsize n, const char *content);
/* [{"role","content"}], from message `from` on. */
AcrJson *acr_conversation_to_json(const AcrConversation *conversation, gsize from) ACR_MUST_USE;

/* ---- Request and answer -------------------------------------------------------------------------
 */

/* Zero-initialise; all borrowed for the call. */
typedef struct {
    const char *agent; /* "search", "extract", "patch", … */
    guint round;       /* retrieval round from 1; 0 outside retrieval */
    const AcrConversation *conversation;
    bool json;        /* JSON mode */
    guint max_tokens; /* 0: the model's default */
} AcrModelRequest;

/* Disjoint counters, in tokens; -1: the provider did not say. cost in millionths of a USD. */
typedef struct {
    gint64 input, cached, output;
    gint64 cost_microusd;
} AcrUsage;

typedef struct {
    char *content; /* owned; valid UTF-8 without NUL, maybe "" */
    char *finish;  /* owned; the provider's word: "stop", "length", … */
    char *model;   /* owned; as the provider names it, or NULL */
    AcrUsage usage;
} AcrModelAnswer;
void acr_model_answer_clear(AcrModelAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrModelAnswer, acr_model_answer_clear)

/* ---- Model --------------------------------------------------------------------------------------
 */

/* A backend's functions; its state begins with an AcrModel. */
typedef struct AcrModel AcrModel;
typedef struct {
    bool (*complete)(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                     GError **error);
    void (*free)(AcrModel *model);
    /* May be NULL: a call was answered from a journal; the backend's state moves on as if it had
     * answered it. */
    void (*skip)(AcrModel *model, const AcrModelRequest *request);
} AcrModelOps;
struct AcrModel {
    const AcrModelOps *ops;
    char *name; /* owned (g_free by the backend); as given by the user, "openai/gpt-4.1" */
};

/* One call, with the backend's own retries. One thread at a time. Errors: any of AcrLlmError. */
bool acr_model_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                        GError **error) ACR_MUST_USE;
/* Tells the backend that a journal has answered this call in its place, so that a script goes on
 * after that line. */
void acr_model_skip(AcrModel *model, const AcrModelRequest *request);
void acr_model_free(AcrModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrModel, acr_model_free)

/* Zero-initialise; borrowed for the call of acr_model_new. */
typedef struct {
    const char *instance_id; /* which lines of a script are for this task; NULL: lines that name a
                                task are left out */
    double temperature;      /* below 0: not sent */
    const char *base_url;    /* NULL: the environment's, else the provider's */
    const char *ca_file;     /* NULL: the system's; for tests against a server of their own */
    gint64 timeout_ms;       /* total for one call, its retries and waits included; 0: 30 minutes */
    guint max_retries; /* of one call, for retryable classes; 0: none; the program's default is
                          ACR_LLM_RETRIES */
    gint64
        retry_base_ms; /* upper bound of the first wait, doubled for each further one; 0: 1,000 */
    const AcrInterrupt *interrupt; /* kept; must outlive the model */
    void (*on_wait)(void *ctx, const char *why,
                    gint64 wait_ms); /* told before each retry; may be NULL */
    void *on_wait_ctx;
} AcrModelOptions;
#define ACR_LLM_RETRIES 6

/*
 * `name` is PROVIDER/NAME ("openai/gpt-4.1") or "script:FILE". Providers are rows of a table in
 * this library. Nothing is sent yet, but a key that is missing is found now. Errors: USAGE, AUTH.
 */
AcrModel *acr_model_new(const char *name, const AcrModelOptions *options,
                        GError **error) ACR_MUST_USE;

#endif
