/* What one try may cost, reserved before it and settled after it (spend.c). */
#ifndef ACR_LLM_SPEND_H
#define ACR_LLM_SPEND_H

#include "llm/endpoint.h"
#include "llm/failure.h"

/* Prices and budget of one model; zero-initialise. */
typedef struct {
    AcrBudget *budget; /* borrowed; NULL: none */
    bool has_price;
    AcrPrice price;           /* what is reported; all members unset without has_price */
    AcrPrice assumed;         /* what is reserved where none is known */
    AcrPrice lowest, highest; /* what a stated cost lies between; all unset without prices */
    bool is_free;             /* a server of one's own: without price it costs nothing */
    bool refusals_are_free;   /* the provider's own address: what it refuses it does not bill */
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
/* Counts what the try, whose outcome is in `attempt`, has cost; takes counters and a cost that cannot be
 * out of its usage (acr_usage_judge), then fills its charged and usage.cost. A stated cost is believed
 * from what the fewest tokens cost at the lowest price of the model, or of any where its own is not
 * known, to what the most tokens cost at the highest price of any: so one of 0 only of a model whose
 * price is known to be 0. Where that cannot be written, the reservation stays and is what was charged; only a try that cost
 * more than it fails. */
bool acr_spend_settle(AcrSpend *spend, guint64 id, const AcrExchange *exchange,
                      AcrModelTry *attempt, GError **error) ACR_MUST_USE;

#endif
