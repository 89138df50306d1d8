/*
 * batch_broker: batch interfaces of providers. Models of many processes hand their requests to one
 * broker on loopback instead of the provider. It pools them into batches, which cost half, and
 * hands each result back as the answer of its request. What it sends and receives is in a file
 * before it is used, so a batch is never sent twice, and a repeated request finds its result.
 */
#ifndef ACR_LLM_BATCH_BROKER_H
#define ACR_LLM_BATCH_BROKER_H

#include "base/base.h"
#include "http/http.h"
#include "llm/llm.h"

#define ACR_BATCH_MAX_WAIT_MS (26ll * 60 * 60 * 1000) /* providers end a batch after 24 hours */

#define ACR_BATCH_NO_ANSWER                                                                        \
    529 /* to a call without a result: models take it for a tier that is overloaded */

typedef struct AcrBatchBroker AcrBatchBroker;

/* Zero-initialise. Borrowed for the broker's life. */
typedef struct {
    const char *path; /* the file of what was sent and received; made if it is missing */
    gint64 scale_ms;  /* requests are pooled for 2 of these, batches polled every 15; 0: 1,000 */
    const char *ca_file;
    const AcrInterrupt *interrupt;
    /* Called in the broker's thread with one line about a batch; may be NULL. */
    void (*on_note)(void *ctx, const char *line);
    void *ctx;
} AcrBatchBrokerOptions;

/* Owned. Errors: those of http and base (the file cannot be used). */
AcrBatchBroker *acr_batch_broker_start(const AcrBatchBrokerOptions *options,
                                       GError **error) ACR_MUST_USE;
/* Stops pooling and polling; batches that were sent go on, and a later broker with the same file
 * takes their results. */
void acr_batch_broker_stop(AcrBatchBroker *broker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBatchBroker, acr_batch_broker_stop)
/* What models need to reach it: "http://127.0.0.1:PORT/ TOKEN"; borrowed. A secret. */
const char *acr_batch_broker_address(const AcrBatchBroker *broker);

/* ---- For models (batch_request.c) ---- */

/* What an exchange with the broker needs; all owned. */
typedef struct {
    char *url, *token, *body;
    const char *headers[3];
} AcrBatchRequest;
void acr_batch_request_clear(AcrBatchRequest *request);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBatchRequest, acr_batch_request_clear)
/* Sends the exchange to the broker instead of the provider. The call is known by its task, its
 * conversation and the number of retries, so that a repeated call finds its result. */
void acr_batch_address(AcrBatchRequest *out, const char *broker, const char *instance,
                       const AcrModelRequest *call, guint retries, AcrHttpRequest *request);
/* The body of the broker's answer with ACR_BATCH_NO_ANSWER; owned. */
char *acr_batch_refusal(const char *why) ACR_MUST_USE;
/* Whether the provider may have got the request; `request` may be empty. */
bool acr_batch_was_sent(const AcrBatchRequest *request, const AcrHttpResponse *response);

/* ---- The interfaces of providers (batch_dialect.c) ---- */

typedef struct {
    char *key;  /* letters and digits, at most 64 */
    char *url;  /* the whole URL that the request would have been sent to */
    char *body; /* the request */
} AcrBatchCall;
AcrBatchCall *acr_batch_call_new(const char *key, const char *url, const char *body) ACR_MUST_USE;
void acr_batch_call_free(gpointer call);

/* The result of one call of a batch; `body` is that of a plain response, owned. Status 0: there is
 * none, so the call must be sent again. */
typedef struct {
    char *key;
    int status;
    char *body;
} AcrBatchAnswer;
void acr_batch_answer_free(gpointer answer);

typedef enum { ACR_BATCH_RUNS, ACR_BATCH_ENDED } AcrBatchState;

/* An exchange with the provider: method, URL, type and body; owned result or NULL. */
typedef struct {
    const char *const *headers; /* with the key */
    const char *ca_file;
    const AcrInterrupt *interrupt;
} AcrBatchWire;

/* Whether requests to that URL can be pooled. */
bool acr_batch_url_is_known(const char *url);
/* Sends calls to one URL as a batch. *out_status: of the refusing response; 0: none came. NULL:
 * refused, or nothing is known (with 0); the reason is in `error`. Owned id. */
char *acr_batch_send(const AcrBatchWire *wire, const GPtrArray *calls, const char *nonce,
                     int *out_status, GError **error) ACR_MUST_USE;
/* The id of a batch that was sent with that nonce, which lacks an answer; owned; NULL: there is
 * none (or, with an error, it cannot be told). `known`: ids that are others. */
char *acr_batch_find(const AcrBatchWire *wire, const char *url, const char *nonce, gint64 sent_s,
                     GHashTable *known, GError **error) ACR_MUST_USE;
/* Asks how a batch stands; when it has ended, *out gets what came back: array of AcrBatchAnswer, in
 * any order, perhaps not of all calls. */
bool acr_batch_poll(const AcrBatchWire *wire, const char *url, const char *id,
                    AcrBatchState *out_state, GPtrArray *out, GError **error) ACR_MUST_USE;

#endif
