/*
 * What one try may cost, before and after it. Before: every byte of the body is taken for a token,
 * and the answer for as long as its limit allows; that is reserved. After: what the provider says,
 * or all that was reserved where it says nothing. A model without a known price is reserved at the
 * dearest known one.
 */
#include "llm/llm_private.h"

#include <string.h>

#define DEFAULT_LIMIT                                                                              \
    8192u              /* tokens of an answer, where a limit must be sent and none is known        \
                        */
#define MIN_LIMIT 256u /* a smaller limit than this, or than the one wanted, is no answer */

void acr_spend_init(AcrSpend *spend, const AcrModelOptions *options, const AcrEndpoint *endpoint)
{
    g_autofree char *name = g_strconcat(endpoint->provider->name, "/", endpoint->model, NULL);

    *spend = (AcrSpend){.budget = options->budget, .refusals_are_free = endpoint->is_own};
    if (!options->prices)
        return;
    spend->has_price = acr_prices_find(options->prices, name, &spend->price);
    if (spend->has_price)
        spend->assumed = spend->price;
    else
        acr_prices_dearest(options->prices, &spend->assumed);
    spend->is_free = !spend->has_price && endpoint->provider->is_local &&
                     (endpoint->unix_socket || acr_http_url_is_loopback(endpoint->base_url));
}

guint acr_spend_limit(const AcrSpend *spend, guint wanted)
{
    gint64 most = spend->has_price && spend->price.max_output > 0 ? spend->price.max_output : 0;

    if (wanted > 0 || !spend->budget || !acr_budget_is_bounded(spend->budget))
        return wanted;
    return most > 0 ? (guint)MIN(most, G_MAXINT32) : DEFAULT_LIMIT;
}

static AcrAmount worst_case(const AcrSpend *spend, gsize body_len, guint limit)
{
    gint64 sent = (gint64)body_len;

    return (AcrAmount){
        .pico = spend->is_free ? 0 : acr_price_at_most(&spend->assumed, sent, limit),
        .tokens = sent + limit,
    };
}

/* The largest limit below `limit` whose worst case is within `left`; 0: none that makes sense. */
static guint fitting_limit(const AcrSpend *spend, gsize body_len, guint limit,
                           const AcrAmount *left)
{
    guint low = MIN(MIN_LIMIT, limit);
    guint high = limit;
    guint best = 0;

    while (low <= high) {
        guint middle = low + (high - low) / 2;
        AcrAmount amount = worst_case(spend, body_len, middle);

        if (amount.pico <= left->pico && amount.tokens <= left->tokens) {
            best = middle;
            low = middle + 1;
        } else {
            if (middle == 0)
                break;
            high = middle - 1;
        }
    }
    return best < limit ? best : 0;
}

static bool fail_with(AcrFailure *failure, const GError *error)
{
    AcrLlmError code = g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING)
                           ? ACR_LLM_ERROR_CEILING
                           : ACR_LLM_ERROR_FAILED;

    return acr_fail(failure, code, error->message);
}

bool acr_spend_reserve(AcrSpend *spend, gsize body_len, guint *limit, bool *out_again,
                       AcrModelTry *attempt, guint64 *out_id, AcrFailure *failure)
{
    AcrAmount amount = worst_case(spend, body_len, *limit);
    AcrAmount left = {0};
    guint smaller = 0;
    g_autoptr(GError) error = NULL;

    *out_again = false;
    if (!spend->budget)
        return true;
    attempt->reserved_pico = amount.pico;
    attempt->reserved_tokens = amount.tokens;
    if (acr_budget_reserve(spend->budget, &amount, attempt->model, out_id, &error))
        return true;
    attempt->reserved_pico = 0;
    attempt->reserved_tokens = 0;
    if (g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING) && *limit > 0 &&
        acr_budget_left(spend->budget, &left, NULL))
        smaller = fitting_limit(spend, body_len, *limit, &left);
    if (smaller == 0)
        return fail_with(failure, error);
    *limit = smaller;
    *out_again = true;
    return false;
}

/* Whether nobody bills the try: it was not sent, or refused by who says that this is free. */
static bool is_unbilled(const AcrSpend *spend, const AcrModelTry *attempt)
{
    return !attempt->sent || (!attempt->ok && attempt->status >= 400 && spend->refusals_are_free);
}

bool acr_spend_settle(AcrSpend *spend, guint64 id, AcrModelTry *attempt, GError **error)
{
    AcrUsage *usage = &attempt->usage;
    AcrAmount spent = {attempt->reserved_pico, attempt->reserved_tokens};
    gint64 tokens = acr_usage_tokens(usage);
    gint64 assumed = -1;

    if (!usage->cost_stated)
        usage->cost_pico = spend->has_price ? acr_price_of_usage(&spend->price, usage) : -1;
    if (!spend->budget)
        return true;
    assumed = spend->is_free ? 0 : acr_price_of_usage(&spend->assumed, usage);
    if (is_unbilled(spend, attempt)) {
        spent = (AcrAmount){0, 0};
    } else {
        if (tokens >= 0)
            spent.tokens = tokens;
        if (usage->cost_pico >= 0 || assumed >= 0)
            spent.pico = usage->cost_pico >= 0 ? usage->cost_pico : assumed;
    }
    attempt->charged_pico = spent.pico;
    attempt->charged_tokens = spent.tokens;
    return acr_budget_settle(spend->budget, id, &spent, error);
}
