/* batch_broker: uses the batch interfaces of providers. The models of many processes send their
 * requests to one broker on loopback, not to the provider. The broker pools requests into batches,
 * which cost half, and answers each request with its result. It writes to a file before it sends a
 * batch and before it uses a result. Therefore no batch is sent twice, and a repeated request gets
 * the saved result. */
#pragma once

#include "base/base.h"
#include "http/http.h"
#include "llm/llm.h"

#define ACR_BATCH_MAX_WAIT_MS (26ll * 60 * 60 * 1000) /* providers end a batch after 24 hours */

#define ACR_BATCH_NO_ANSWER                                                                        \
    529 /* status for a call without a result; models treat it like an overloaded service tier */

typedef struct AcrBatchBroker AcrBatchBroker;

/* Zero-initialise. All members are borrowed while the broker exists. */
typedef struct {
    /* the file in which the broker saves batches and results; created if it is missing */
    const char *path;
    /* unit of time in milliseconds; requests are pooled for 2 units, and batches are polled every
     * 15 units; 0 = 1,000 */
    gint64 scale_ms;
    const char *ca_file;
    const AcrInterrupt *interrupt;
    /* Reports one line about a batch, in the broker's thread; may be NULL. */
    void (*on_note)(void *ctx, const char *line);
    void *ctx;
} AcrBatchBrokerOptions;

/* Starts a broker, and returns it (owned, acr_batch_broker_stop). Errors: the errors of http and
 * base (the file cannot be used). */
AcrBatchBroker *acr_batch_broker_start(const AcrBatchBrokerOptions *options,
                                       GError **error) ACR_MUST_USE;
/* Stops pooling and polling. The provider continues with batches that were sent, and a later
 * broker with the same file fetches their results. */
void acr_batch_broker_stop(AcrBatchBroker *broker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBatchBroker, acr_batch_broker_stop)
/* Returns "http://127.0.0.1:PORT/ TOKEN": the broker's address, and the token that models need to
 * use the broker. Borrowed. The token is a secret. */
const char *acr_batch_broker_address(const AcrBatchBroker *broker);

/* ---- Requests to the broker (batch_request.c) ---- */

typedef struct {
    char *url, *token, *body;
    const char *headers[3];
} AcrBatchRequest;
void acr_batch_request_clear(AcrBatchRequest *request);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBatchRequest, acr_batch_request_clear)
/* Changes `request` so that it goes to the broker instead of the provider; `out` owns its strings.
 * The broker identifies the call by its task, its conversation and the number of retries, so that a
 * repeated call gets the saved result. */
void acr_batch_address(AcrBatchRequest *out, const char *broker, const char *instance,
                       const AcrModelRequest *call, guint retries, AcrHttpRequest *request);
/* Returns the response body for ACR_BATCH_NO_ANSWER, which contains the reason `why`; owned. */
char *acr_batch_refusal(const char *why) ACR_MUST_USE;
/* Whether the provider may have received the request. `request` may be empty. */
bool acr_batch_was_sent(const AcrBatchRequest *request, const AcrHttpResponse *response);

/* ---- The interfaces of providers (batch_dialect.c) ---- */

/* One call of a batch. Immutable and shared (g_atomic_rc_box_acquire, acr_batch_call_unref). */
typedef struct {
    char *key;  /* at most 64 letters and digits */
    char *url;  /* the whole URL to which the request would have been sent */
    char *body; /* the body of the request */
} AcrBatchCall;
AcrBatchCall *acr_batch_call_new(const char *key, const char *url, const char *body) ACR_MUST_USE;
void acr_batch_call_unref(gpointer call);

/* The result of one call of a batch; `body` (owned) is as in the response to a single call. If the
 * status is 0, there is no result, and the call must be sent again. */
typedef struct {
    char *key;
    int status;
    char *body;
} AcrBatchAnswer;
void acr_batch_answer_free(gpointer answer);

typedef enum { ACR_BATCH_RUNS, ACR_BATCH_ENDED } AcrBatchState;

/* Settings of all exchanges with the provider. */
typedef struct {
    const char *const *headers; /* the headers of the requests, which contain the key */
    const char *ca_file;
    const AcrInterrupt *interrupt;
} AcrBatchWire;

/* Whether requests to the URL `url` can be sent in batches. */
bool acr_batch_url_is_known(const char *url);
/* Sends calls to one URL as a batch; returns the batch's id (owned), or NULL with an error. If,
 * after an error, *out_status is not 0, the provider refused the batch with that status; if it is
 * 0, no response arrived, and the provider may have accepted the batch. */
char *acr_batch_send(const AcrBatchWire *wire, const GPtrArray *calls, const char *nonce,
                     int *out_status, GError **error) ACR_MUST_USE;
/* Finds the id of a batch that was sent with the nonce `nonce` and whose response was lost; owned.
 * Returns NULL without an error if the provider has no such batch, and NULL with an error if the
 * search failed. `known` holds the ids of other batches, which are skipped. */
char *acr_batch_find(const AcrBatchWire *wire, const char *url, const char *nonce, gint64 sent_s,
                     GHashTable *known, GError **error) ACR_MUST_USE;
/* Asks for the state of a batch. If the batch has ended, appends its results to `out`, an array of
 * AcrBatchAnswer, in any order. Some calls may have no result. */
bool acr_batch_poll(const AcrBatchWire *wire, const char *url, const char *id,
                    AcrBatchState *out_state, GPtrArray *out, GError **error) ACR_MUST_USE;
