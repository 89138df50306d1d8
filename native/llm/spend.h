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
    /* Prices of the service tiers, where has_row; and whether they are reserved, too: of the tier
     * that is asked for, and of dearer ones that an answer has named. */
    AcrPrice rows[ACR_SERVICES];
    bool has_row[ACR_SERVICES], is_reserved[ACR_SERVICES];
    bool is_free; /* a server of the user's own: without a price it costs nothing */
    bool is_own;  /* the provider's own server: it does not bill rejected requests, and is believed
                    that it served a cheaper tier than was asked for */
    const AcrInterrupt *interrupt; /* borrowed; ends waits for others */
    void (*on_wait)(void *ctx, const char *why, gint64 wait_ms);
    void *on_wait_ctx;
} AcrSpend;
void acr_spend_init(AcrSpend *spend, const AcrModelOptions *options, const AcrEndpoint *endpoint);
/* Reserves the prices of a service tier, too. False: they are not known. */
bool acr_spend_add_service(AcrSpend *spend, AcrService service);
/* Does so for the tier in the options. Errors: USAGE (the provider of the model `name` does not have
 * it, or its price is not known). */
bool acr_spend_take_service(AcrSpend *spend, const AcrEndpoint *endpoint, const char *name,
                            const AcrModelOptions *options, GError **error) ACR_MUST_USE;
/* The prices of a service tier, or those that are assumed. */
AcrPrice acr_spend_price(const AcrSpend *spend, AcrService service);
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
 * whose known price is 0. Tokens cost what the tier that the answer names costs; if it names none, the
 * dearer of the asked and the standard one. The budget counts no less than the asked tier costs,
 * unless the provider's own server served a cheaper one, and for a tier that was not asked for no
 * more than was reserved, so that no answer's word exceeds a ceiling; a dearer tier is reserved from
 * then on. If the settlement cannot be written, the reservation stays and is
 * charged; the call fails only if the try cost more than that. */
bool acr_spend_settle(AcrSpend *spend, guint64 id, const AcrExchange *exchange,
                      AcrModelTry *attempt, GError **error) ACR_MUST_USE;

#endif
