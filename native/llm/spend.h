/* What one try may cost: reserved before it, settled after it (spend.c). */
#ifndef ACR_LLM_SPEND_H
#define ACR_LLM_SPEND_H

#include "llm/endpoint.h"
#include "llm/failure.h"

/* Prices and budget of one model; zero-initialise. */
typedef struct {
    AcrBudget *budget; /* borrowed; NULL: none */
    bool has_price;
    AcrPrice price;   /* the model's price, for reports; all members unset without has_price */
    AcrPrice assumed; /* the price by which is reserved if the model's is unknown */
    AcrPrice lowest, highest; /* the range of plausible stated costs; all unset without prices */
    bool is_free;             /* a server of the user's own: without a price it costs nothing */
    bool refusals_are_free;   /* the provider's own server: it does not bill rejected requests */
    const AcrInterrupt *interrupt; /* borrowed; ends waits for others */
    void (*on_wait)(void *ctx, const char *why, gint64 wait_ms);
    void *on_wait_ctx;
} AcrSpend;
void acr_spend_init(AcrSpend *spend, const AcrModelOptions *options, const AcrEndpoint *endpoint);
/* The answer limit to send for a wanted one (0: none wanted); `room` as in AcrModelRequest; 0: send
 * none. */
guint acr_spend_limit(const AcrSpend *spend, guint wanted, guint room);
/*
 * Reserves the worst case of a body of that many bytes and that limit, in `attempt`. If it does not
 * fit but a smaller limit does, lowers *limit and returns false with *again: the body must be
 * printed anew. Otherwise false with CEILING. *out_id is for the settlement.
 */
bool acr_spend_reserve(AcrSpend *spend, gsize body_len, guint *limit, bool *out_again,
                       AcrModelTry *attempt, guint64 *out_id, AcrFailure *failure) ACR_MUST_USE;
/* Settles the try in `attempt`: removes implausible counters and costs from its usage
 * (acr_usage_judge), then fills in what is charged and usage.cost. A stated cost is plausible
 * between the fewest tokens at the lowest price of the model (of any model if its price is unknown)
 * and the most tokens at the highest price of any; so a cost of 0 is believed only for a model
 * whose known price is 0. If the settlement cannot be written, the reservation stays and is
 * charged; the call fails only if the try cost more than that. */
bool acr_spend_settle(AcrSpend *spend, guint64 id, const AcrExchange *exchange,
                      AcrModelTry *attempt, GError **error) ACR_MUST_USE;

#endif
