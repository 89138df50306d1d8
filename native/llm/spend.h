/* Reserves the cost of one try before the request is sent, and settles it after the answer
 * (spend.c). */
#pragma once

#include "llm/endpoint.h"
#include "llm/failure.h"

/* Prices and budget of one model; zero-initialise. */
typedef struct {
    AcrBudget *budget; /* borrowed; NULL: none */
    bool has_price;
    const char
        *nearest;     /* a name of known price that is near to the model's; NULL if there is none */
    AcrPrice price;   /* the model's price, for reports; unset unless has_price */
    AcrPrice assumed; /* the price used for reservations if the model's price is unknown */
    /* lowest and highest price to check the cost that a server states; unset if no prices are
     * known */
    AcrPrice lowest, highest;
    /* Prices of the service tiers (valid if has_row), and whether reservations include them.
     * Reservations include the requested tier, and more expensive tiers that an answer has
     * named. */
    AcrPrice rows[ACR_SERVICES];
    bool has_row[ACR_SERVICES], is_reserved[ACR_SERVICES];
    bool is_free; /* the server is the user's own: calls are free unless a price is known */
    /* the server is the provider's own: it does not bill rejected requests, and we believe it if
     * it says that it served a cheaper tier than requested */
    bool is_own;
    /* borrowed from the endpoint; the model's name if its price is not known although the server is
     * on this machine, so that another provider's name would make it free; NULL otherwise */
    const char *free_name;
    const AcrInterrupt *interrupt; /* borrowed; an interrupt ends waits for other processes */
    void (*on_wait)(void *ctx, const char *why, gint64 wait_ms);
    void *on_wait_ctx;
} AcrSpend;
void acr_spend_init(AcrSpend *spend, const AcrModelOptions *options, const AcrEndpoint *endpoint);
/* Includes the prices of a service tier in reservations. Returns false if they are unknown. */
bool acr_spend_add_service(AcrSpend *spend, AcrService service);
/* Includes the prices of the tier in the options. Errors: USAGE (the provider of the model
 * `name` has no such tier, or its price is unknown). */
bool acr_spend_take_service(AcrSpend *spend, const AcrEndpoint *endpoint, const char *name,
                            const AcrModelOptions *options, GError **error) ACR_MUST_USE;
/* Returns a remark about a model whose price is not known, owned; NULL if it is known. */
char *acr_spend_remark(const AcrSpend *spend, const char *name) ACR_MUST_USE;
/* Returns the prices of a service tier, or the assumed prices if the tier's prices are unknown. */
AcrPrice acr_spend_price(const AcrSpend *spend, AcrService service);
/* Returns the answer limit to send if the request wants `wanted` tokens (0: the request wants no
 * limit). `room` is as in AcrModelRequest. Returns 0 if no limit is to be sent. */
guint acr_spend_limit(const AcrSpend *spend, guint wanted, guint room);
/* Reserves the highest possible cost of a request with a body of `body_len` bytes and the answer
 * limit *limit, and records the reservation in `attempt`. If only a smaller limit fits the budget,
 * lowers *limit, sets *out_again and returns false: the caller must then print the body again. If
 * no limit fits, fails with CEILING. acr_spend_settle needs *out_id. */
bool acr_spend_reserve(AcrSpend *spend, gsize body_len, guint *limit, bool *out_again,
                       AcrModelTry *attempt, guint64 *out_id, AcrFailure *failure) ACR_MUST_USE;
/* Settles the try in `attempt`: removes implausible counters and costs from its usage
 * (acr_usage_judge), then sets the charged amounts and usage.cost. A cost that the server states is
 * plausible if it lies between the fewest tokens at the model's lowest price (the lowest of all
 * models if its price is unknown) and the most tokens at the highest price of all models. Therefore
 * a cost of 0 is believed only for a model whose known price is 0. Tokens are charged at the price
 * of the tier that the answer names; if the answer names no tier, at the price of the requested or
 * the standard tier, whichever is higher. The budget is charged at least the price of the requested
 * tier, unless the provider's own server served a cheaper tier. For a tier that was not requested,
 * the budget is charged at most the reserved amount, so that an answer cannot make the charge
 * exceed a ceiling; later reservations then include that tier. If the settlement cannot be written,
 * the reservation stays and is charged; the call fails only if the try cost more. */
bool acr_spend_settle(AcrSpend *spend, guint64 id, const AcrExchange *exchange,
                      AcrModelTry *attempt, GError **error) ACR_MUST_USE;
/* Returns the end of the message about a call that failed after these tries (AcrModelTry), owned:
 * how many there were, and why the budget was charged for those that the server rejected. */
char *acr_spend_tries_text(const GArray *tries, const char *authority) ACR_MUST_USE;
