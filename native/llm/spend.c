/* Reserves and charges the cost of one try. Before the try, the worst case is reserved: every byte
 * of the body is a token, and the answer is as long as its limit allows. After the try, the usage
 * that the provider states is charged if it is plausible; otherwise the whole reservation is
 * charged. For a model of unknown price, the highest known price is assumed. A call that does not
 * fit the budget waits while calls in flight hold money that they may release. Then the call's
 * answer limit is lowered; if no limit fits, the call is refused. */
#include "llm/spend.h"

#include "http/http.h"
#include "llm/provider.h"

/* answer limit to send if the server requires one and the model's own limit is unknown */
#define DEFAULT_LIMIT 8192u
/* the smallest limit that leaves room for an answer; smaller limits are used only if the caller
 * asked for them */
#define MIN_LIMIT 256u
#define NO_PRICE                                                                                   \
    "; the price of the model is not known, so the highest is assumed: give --prices FILE"
#define LOCAL_MODEL                                                                                \
    "; a server on your machine is free if you name it as --model vllm/%s, llamacpp/%s or "        \
    "ollama/%s with --base-url"
/* interval between checks whether other processes have settled */
#define POLL_MS 50
#define MAX_HELD_MS (60ll * 60 * 1000) /* upper bound of the time that a try can take */

void acr_spend_init(AcrSpend *spend, const AcrModelOptions *options, const AcrEndpoint *endpoint)
{
    g_autofree char *name = g_strconcat(endpoint->provider->name, "/", endpoint->model, NULL);
    *spend = (AcrSpend){.budget = options->budget,
                        .is_own = endpoint->is_own,
                        .interrupt = options->interrupt,
                        .on_wait = options->on_wait,
                        .on_wait_ctx = options->on_wait_ctx};
    if (!options->prices)
        return;
    spend->has_price = acr_prices_find(options->prices, name, &spend->price);
    acr_prices_highest(options->prices, &spend->highest);
    spend->nearest = spend->has_price ? NULL : acr_prices_nearest(options->prices, name);
    spend->assumed = spend->has_price ? spend->price : spend->highest;
    if (spend->has_price)
        spend->lowest = spend->price;
    else
        acr_prices_lowest(options->prices, &spend->lowest);
    for (AcrService i = ACR_SERVICE_STANDARD; spend->has_price && i < ACR_SERVICES; i++)
        spend->has_row[i] = acr_price_for(&spend->price, i, &spend->rows[i]);
    bool may_be_free = !spend->has_price && acr_endpoint_is_loopback(endpoint);
    spend->is_free = may_be_free && endpoint->provider->is_local;
    spend->free_name = may_be_free && !spend->is_free ? endpoint->model : NULL;
}

/* Returns advice about free servers to append to a message, owned; "" if it does not apply. */
static char *free_hint(const AcrSpend *spend)
{
    const char *name = spend->free_name;
    return name ? g_strdup_printf(LOCAL_MODEL, name, name, name) : g_strdup("");
}

char *acr_spend_remark(const AcrSpend *spend, const char *name)
{
    g_autofree char *hint = free_hint(spend);
    const char *near = spend->nearest;
    if (spend->highest.base.input <= 0 || spend->has_price || spend->is_free)
        return NULL;
    return g_strdup_printf("the price of model '%s' is not known%s%s%s: its tokens are charged at "
                           "the highest known price, "
                           "unless the server states the cost (--prices FILE sets the price)%s",
                           name, near ? " (did you mean '" : "", near ? near : "",
                           near ? "'?)" : "", hint);
}

bool acr_spend_add_service(AcrSpend *spend, AcrService service)
{
    if (!spend->has_price || !spend->has_row[service])
        return false;
    spend->is_reserved[service] = true;
    if (service == ACR_SERVICE_FLEX || service == ACR_SERVICE_BATCH)
        spend->lowest = spend->rows[service];
    return true;
}

static guint usual_limit(const AcrSpend *spend)
{
    gint64 most = spend->has_price ? spend->price.max_output : 0;
    return most > 0 ? (guint)MIN(most, G_MAXINT32) : DEFAULT_LIMIT;
}

guint acr_spend_limit(const AcrSpend *spend, guint wanted, guint room)
{
    if (wanted > 0 || !spend->budget || !acr_budget_is_bounded(spend->budget))
        return wanted;
    /* Some servers reject a limit that exceeds the rest of the window after the prompt. */
    return room > 0 ? MIN(usual_limit(spend), MAX(room, MIN_LIMIT)) : usual_limit(spend);
}

/* Returns the highest cost of the tokens at any tier that reservations include. */
static gint64 most_pico(const AcrSpend *spend, gint64 sent, gint64 received)
{
    gint64 most = acr_price_at_most(&spend->assumed, sent, received);
    for (AcrService i = ACR_SERVICE_STANDARD; i < ACR_SERVICES; i++)
        if (spend->is_reserved[i])
            most = MAX(most, acr_price_at_most(&spend->rows[i], sent, received));
    return most;
}

/* Returns the most that one request can cost. A request without an answer limit, which is sent only
 * if there is no ceiling, counts with the model's usual limit. */
static AcrAmount worst_case(const AcrSpend *spend, gsize body_len, guint limit)
{
    gint64 sent = (gint64)body_len;
    limit = limit > 0 ? limit : usual_limit(spend);
    return (AcrAmount){
        .pico = spend->is_free ? 0 : most_pico(spend, sent, limit),
        .tokens = sent + limit,
    };
}

/* Returns the largest limit below `limit` whose worst case fits into `left`; 0 if the fitting limit
 * leaves no room for an answer. */
static guint fitting_limit(const AcrSpend *spend, gsize body_len, guint limit,
                           const AcrAmount *left)
{
    guint low = MIN(MIN_LIMIT, limit);
    guint high = limit; /* a limit that does not fit */
    while (low < high) {
        guint middle = low + (high - low) / 2;
        AcrAmount amount = worst_case(spend, body_len, middle);
        if (amount.pico <= left->pico && amount.tokens <= left->tokens)
            low = middle + 1;
        else
            high = middle;
    }
    return high > MIN(MIN_LIMIT, limit) ? high - 1 : 0;
}

/* Reserves the amount. If it does not fit, but `least` would fit without the reservations of other
 * calls, waits until these calls settle. */
static bool reserve(AcrSpend *spend, const AcrAmount *amount, const AcrAmount *least,
                    const char *note, guint64 *out_id, gint64 *out_wait_ms, GError **error)
{
    gint64 start_us = g_get_monotonic_time();
    gint64 deadline_us = acr_budget_deadline(spend->budget);
    for (;;) {
        g_autoptr(GError) failure = NULL;
        bool ok = acr_budget_reserve(spend->budget, amount, note, out_id, &failure);
        bool is_held = false;
        *out_wait_ms = (g_get_monotonic_time() - start_us) / 1000;
        if (ok)
            return true;
        if (!g_error_matches(failure, ACR_MONEY_ERROR, ACR_MONEY_ERROR_CEILING) ||
            (deadline_us && g_get_monotonic_time() >= deadline_us) || *out_wait_ms > MAX_HELD_MS ||
            !acr_budget_is_held(spend->budget, least, &is_held, NULL) || !is_held)
            return acr_pass_error(error, &failure);
        if (*out_wait_ms < POLL_MS && spend->on_wait)
            spend->on_wait(spend->on_wait_ctx,
                           "waiting until other calls release their reserved budget", POLL_MS);
        if (!acr_llm_wait(POLL_MS, spend->interrupt))
            return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_INTERRUPTED, "interrupted");
    }
}

bool acr_spend_reserve(AcrSpend *spend, gsize body_len, guint *limit, bool *out_again,
                       AcrModelTry *attempt, guint64 *out_id, AcrFailure *failure)
{
    AcrAmount amount = worst_case(spend, body_len, *limit),
              least = worst_case(spend, body_len, MIN(MIN_LIMIT, *limit)), left = {0};
    guint smaller = 0;
    gint64 wait_ms = 0;
    g_autoptr(GError) error = NULL;
    *out_again = false;
    if (!spend->budget)
        return true;
    attempt->reserved_pico = amount.pico;
    attempt->reserved_tokens = amount.tokens;
    if (reserve(spend, &amount, &least, attempt->model, out_id, &wait_ms, &error)) {
        attempt->wait_ms += wait_ms >= POLL_MS ? wait_ms : 0;
        return true;
    }
    attempt->reserved_pico = 0;
    attempt->reserved_tokens = 0;
    bool is_ceiling = g_error_matches(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_CEILING);
    if (is_ceiling && *limit > 0 && acr_budget_left(spend->budget, &left, NULL))
        smaller = fitting_limit(spend, body_len, *limit, &left);
    if (smaller == 0) {
        bool is_guess = is_ceiling && !spend->has_price && !spend->is_free;
        g_autofree char *hint = free_hint(spend),
                        *why = g_strconcat(error->message, is_guess ? NO_PRICE : "",
                                           is_guess ? hint : "", NULL);
        return acr_fail(failure,
                        is_ceiling                       ? ACR_LLM_ERROR_CEILING
                        : error->domain == ACR_LLM_ERROR ? (AcrLlmError)error->code
                                                         : ACR_LLM_ERROR_FAILED,
                        why);
    }
    *limit = smaller;
    *out_again = true;
    return false;
}

/* Whether the usage covers the whole try. A try that broke off reports at most a part of its
 * usage. */
static bool is_whole(const AcrModelTry *attempt)
{
    return attempt->ok || attempt->code == ACR_LLM_ERROR_REFUSAL ||
           attempt->code == ACR_LLM_ERROR_CONTENT_FILTER;
}

AcrPrice acr_spend_price(const AcrSpend *spend, AcrService service)
{
    return spend->has_row[service] ? spend->rows[service] : spend->assumed;
}

/* Returns the cost at a service tier; -1 if a required count is unknown. */
static gint64 cost_at(const AcrSpend *spend, const AcrUsage *usage, AcrService service)
{
    const AcrPrice price = acr_spend_price(spend, service);
    return acr_price_of_usage(&price, usage);
}

/* Returns the cost at the tier that the answer names. If the answer names none, returns the cost at
 * the requested or the standard tier, whichever is higher. */
static gint64 cost_served(const AcrSpend *spend, const AcrModelTry *attempt)
{
    gint64 named = cost_at(spend, &attempt->usage, attempt->served);
    return attempt->served ? named : MAX(named, cost_at(spend, &attempt->usage, attempt->asked));
}

/* Returns the cost at the tier that we believe served the answer. Only the provider's own server
 * may name a tier that is cheaper than requested. */
static gint64 cost_trusted(const AcrSpend *spend, const AcrModelTry *attempt)
{
    gint64 asked = cost_at(spend, &attempt->usage, attempt->asked),
           standard = cost_at(spend, &attempt->usage, ACR_SERVICE_STANDARD),
           served = cost_served(spend, attempt);
    if (!spend->is_own)
        served = MAX(served, asked);
    return MIN(served, MAX(attempt->reserved_pico, MAX(asked, standard)));
}

/* Returns the amount for a billed try: from the usage if the server states it, otherwise the
 * reserved amount. */
static AcrAmount amount_of(const AcrSpend *spend, const AcrModelTry *attempt)
{
    const AcrUsage *usage = &attempt->usage;
    AcrAmount reserved = {attempt->reserved_pico, attempt->reserved_tokens}, spent = reserved;
    gint64 tokens = acr_usage_tokens(usage), pico = usage->cost_pico;
    if (!usage->cost_stated)
        pico = spend->is_free ? 0 : cost_trusted(spend, attempt);
    if (tokens >= 0)
        spent.tokens = tokens;
    if (pico >= 0)
        spent.pico = pico;
    if (is_whole(attempt))
        return spent;
    return (AcrAmount){MAX(spent.pico, reserved.pico), MAX(spent.tokens, reserved.tokens)};
}

/* Removes implausible counters and costs from the usage. */
static void judge_spending(const AcrSpend *spend, const AcrExchange *exchange, AcrUsage *usage)
{
    AcrUsageBounds bounds = acr_usage_bounds(exchange);
    bool has_range = spend->highest.base.input > 0;
    gint64 least = spend->is_free ? 0
                                  : acr_price_at_least(&spend->lowest, bounds.least_sent,
                                                       bounds.least_received),
           most = acr_price_at_most(&spend->highest, bounds.most_sent, bounds.most_received);
    acr_usage_judge(usage, &bounds);
    if (usage->cost_stated && has_range && (usage->cost_pico < least || usage->cost_pico > most))
        usage->cost_stated = false;
}

bool acr_spend_settle(AcrSpend *spend, guint64 id, const AcrExchange *exchange,
                      AcrModelTry *attempt, GError **error)
{
    AcrUsage *usage = &attempt->usage;
    AcrAmount spent = {0, 0};
    /* A rejected request is billed only by servers other than the provider's own. */
    bool is_billed = attempt->sent && (attempt->ok || attempt->status < 400 || !spend->is_own);
    g_autoptr(GError) failure = NULL;
    judge_spending(spend, exchange, usage);
    if (!usage->cost_stated && spend->is_free)
        usage->cost_pico = 0;
    else if (!usage->cost_stated)
        usage->cost_pico = spend->has_price && is_whole(attempt) ? cost_served(spend, attempt) : -1;
    attempt->standard_pico = -1;
    if (spend->has_price && is_whole(attempt) && (attempt->asked || attempt->served))
        attempt->standard_pico = cost_at(spend, usage, ACR_SERVICE_STANDARD);
    if (attempt->served && cost_at(spend, usage, attempt->served) > attempt->standard_pico)
        spend->is_reserved[attempt->served] = spend->has_row[attempt->served];
    if (!spend->budget)
        return true;
    if (is_billed)
        spent = amount_of(spend, attempt);
    attempt->charged_pico = spent.pico;
    attempt->charged_tokens = spent.tokens;
    if (acr_budget_settle(spend->budget, id, &spent, &failure))
        return true;
    if (spent.pico > attempt->reserved_pico || spent.tokens > attempt->reserved_tokens)
        return acr_pass_error(error, &failure);
    /* Charge the whole reservation, so that the ceiling holds. Keep the answer, because it is paid
     * for. */
    attempt->charged_pico = attempt->reserved_pico;
    attempt->charged_tokens = attempt->reserved_tokens;
    return true;
}

char *acr_spend_tries_text(const GArray *tries, const char *authority)
{
    gint64 pico = 0;
    GString *text = g_string_new(NULL);
    if (tries->len > 1)
        g_string_append_printf(text, "; tried %u times", tries->len);
    for (guint i = 0; i < tries->len; i++) {
        const AcrModelTry *attempt = &g_array_index(tries, AcrModelTry, i);
        pico += attempt->status >= 400 ? attempt->charged_pico : 0;
    }
    if (pico > 0)
        g_string_append_printf(text,
                               "; %.6f USD charged, because %s is not the provider's own "
                               "address, and may bill what it refuses",
                               (double)acr_microusd(pico) / 1e6, authority);
    return g_string_free(text, FALSE);
}
