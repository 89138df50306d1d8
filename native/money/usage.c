/* Checks whether token counts are plausible, and computes the cost of usages. Sums have 128 bits
 * and saturate, so that absurd counts give the largest amount, and never a small or negative
 * amount. The arithmetic is LiteLLM's: if a request exceeds a threshold, the price of the higher
 * tier applies to all tokens of the request; a kind of token without a price costs as much as other
 * input or output; and the price of reasoning applies only to the reasoning tokens of the
 * output. */
#include "money/price_private.h"

G_DEFINE_QUARK(acr_money_error_quark, acr_money_error)

typedef __int128 Wide;

static gint64 saturated(Wide sum)
{
    return sum > G_MAXINT64 ? G_MAXINT64 : (gint64)sum;
}

gint64 acr_usage_sent(const AcrUsage *usage)
{
    const gint64 counters[] = {usage->input, usage->cached, usage->written};
    Wide sum = 0;
    bool any = false;
    for (gsize i = 0; i < G_N_ELEMENTS(counters); i++) {
        any = any || counters[i] >= 0;
        sum += MAX(counters[i], 0);
    }
    return any ? saturated(sum) : -1;
}

gint64 acr_usage_tokens(const AcrUsage *usage)
{
    gint64 sent = acr_usage_sent(usage);
    return sent < 0 || usage->output < 0 ? -1 : saturated((Wide)sent + usage->output);
}

gint64 acr_microusd(gint64 pico)
{
    return pico < 0 ? -1 : pico / ACR_PICO_PER_MICRO + (pico % ACR_PICO_PER_MICRO != 0);
}

/* Returns the smallest plausible number of tokens for a text of `bytes` bytes. */
static gint64 densest(gint64 bytes)
{
    return bytes > 0 ? MAX(1, bytes / ACR_USAGE_DENSEST_BYTES) : 0;
}

AcrUsageBounds acr_usage_bounds(const AcrExchange *exchange)
{
    gint64 limit = exchange->limit > 0 ? exchange->limit : ACR_USAGE_MOST_OUTPUT;
    return (AcrUsageBounds){
        .least_sent = densest(exchange->asked),
        .most_sent = exchange->sent + ACR_USAGE_UNSEEN_TOKENS,
        .least_received = densest(exchange->answered),
        .most_received = MAX(limit, exchange->received) + ACR_USAGE_UNSEEN_TOKENS,
    };
}

static bool is_within(gint64 counter, gint64 least, gint64 most)
{
    return counter < 0 || (counter >= least && counter <= most);
}

void acr_usage_judge(AcrUsage *usage, const AcrUsageBounds *bounds)
{
    if (usage->output >= 0 && usage->reasoning > usage->output)
        usage->output = saturated((Wide)usage->output + usage->reasoning);
    if (!is_within(acr_usage_sent(usage), bounds->least_sent, bounds->most_sent) ||
        !is_within(usage->output, bounds->least_received, bounds->most_received))
        usage->input = usage->cached = usage->written = usage->output = usage->reasoning = -1;
}

static gint64 said(gint64 first, gint64 second, gint64 otherwise)
{
    return first >= 0 ? first : second >= 0 ? second : otherwise;
}

/* Returns the tier with missing prices taken from `base`. */
static AcrPriceTier whole_tier(const AcrPriceTier *tier, const AcrPriceTier *base)
{
    AcrPriceTier whole = {0};
    whole.input = said(tier->input, base->input, 0);
    whole.cached = said(tier->cached, base->cached, whole.input);
    whole.written = said(tier->written, base->written, whole.input);
    whole.output = said(tier->output, base->output, 0);
    whole.reasoning = said(tier->reasoning, base->reasoning, whole.output);
    return whole;
}

const char *acr_service_name(AcrService service)
{
    static const char *const names[ACR_SERVICES] = {NULL, "standard", "flex", "priority", "batch"};
    return service < ACR_SERVICES ? names[service] : NULL;
}

AcrPriceTier *acr_price_row(AcrPrice *price, int step, AcrService service)
{
    switch (service) {
    case ACR_SERVICE_FLEX:
        return step < 0 ? &price->flex : &price->tiers[step].flex;
    case ACR_SERVICE_PRIORITY:
        return step < 0 ? &price->priority : &price->tiers[step].priority;
    default:
        return step < 0 ? &price->base : &price->tiers[step].tier;
    }
}

/* Returns the prices of a service tier. A missing price is the higher of the prices in `standard`
 * and `least`. */
static AcrPriceTier service_tier(const AcrPriceTier *row, const AcrPriceTier *standard,
                                 const AcrPriceTier *least)
{
    AcrPriceTier tier = {
        .input = row->input > 0 ? row->input : MAX(standard->input, least->input),
        .output = row->output > 0 ? row->output : MAX(standard->output, least->output),
    };
    tier.cached = row->cached > 0 ? row->cached : tier.input;
    tier.written = row->written > 0 ? row->written : MAX(standard->written, tier.input);
    tier.reasoning = row->reasoning > 0 ? row->reasoning : tier.output;
    return tier;
}

static gint64 half(gint64 pico)
{
    return pico > 0 ? pico / 2 + pico % 2 : pico;
}

static void halve_tier(AcrPriceTier *tier)
{
    *tier = (AcrPriceTier){half(tier->input), half(tier->cached), half(tier->written),
                           half(tier->output), half(tier->reasoning)};
}

bool acr_price_for(const AcrPrice *price, AcrService service, AcrPrice *out)
{
    static const AcrPriceTier none = {0};
    AcrPrice made = *price;
    const AcrPriceTier *row = acr_price_row(&made, -1, service);
    *out = *price;
    if (service <= ACR_SERVICE_STANDARD)
        return true;
    if (service == ACR_SERVICE_BATCH) {
        halve_tier(&out->base);
        for (int i = 0; i < ACR_PRICE_TIERS && out->tiers[i].above > 0; i++)
            halve_tier(&out->tiers[i].tier);
        return true;
    }
    if (row->input <= 0 || row->output <= 0)
        return false;
    AcrPriceTier standard = whole_tier(&price->base, &price->base);
    out->base = service_tier(row, &standard, &none);
    for (int i = 0; i < ACR_PRICE_TIERS && price->tiers[i].above > 0; i++) {
        standard = whole_tier(&price->tiers[i].tier, &price->base);
        out->tiers[i].tier = service_tier(acr_price_row(&made, i, service), &standard, &out->base);
    }
    return true;
}

gint64 acr_price_of_usage(const AcrPrice *price, const AcrUsage *usage)
{
    gint64 sent = acr_usage_sent(usage), reasoning = CLAMP(usage->reasoning, 0, usage->output);
    AcrPriceTier tier = whole_tier(&price->base, &price->base);
    Wide sum = 0;
    if (usage->input < 0 || usage->output < 0)
        return -1;
    for (guint i = 0; i < ACR_PRICE_TIERS && price->tiers[i].above > 0; i++)
        if (sent > price->tiers[i].above)
            tier = whole_tier(&price->tiers[i].tier, &price->base);
    sum += (Wide)usage->input * tier.input;
    sum += (Wide)MAX(usage->cached, 0) * tier.cached;
    sum += (Wide)MAX(usage->written, 0) * tier.written;
    sum += (Wide)(usage->output - reasoning) * tier.output;
    sum += (Wide)reasoning * tier.reasoning;
    return saturated(sum);
}

/* Raises both prices to the highest prices of a complete tier. */
static void raise_sides(const AcrPriceTier *tier, gint64 *sent, gint64 *received)
{
    *sent = MAX(*sent, MAX(tier->written, MAX(tier->input, tier->cached)));
    *received = MAX(*received, MAX(tier->output, tier->reasoning));
}

gint64 acr_price_at_most(const AcrPrice *price, gint64 sent, gint64 received)
{
    AcrPriceTier tier = whole_tier(&price->base, &price->base);
    gint64 in = 0, out = 0;
    raise_sides(&tier, &in, &out);
    for (guint i = 0; i < ACR_PRICE_TIERS && price->tiers[i].above > 0; i++) {
        if (sent <= price->tiers[i].above)
            continue;
        tier = whole_tier(&price->tiers[i].tier, &price->base);
        raise_sides(&tier, &in, &out);
    }
    return saturated((Wide)MAX(sent, 0) * in + (Wide)MAX(received, 0) * out);
}

gint64 acr_price_of_issue(const AcrPrice *price, bool is_large)
{
    return is_large ? acr_price_at_most(price, 470000, 11500)
                    : acr_price_at_most(price, 30000, 3500);
}

static void lower_sides(const AcrPriceTier *tier, gint64 *sent, gint64 *received)
{
    *sent = MIN(*sent, MIN(tier->written, MIN(tier->input, tier->cached)));
    *received = MIN(*received, MIN(tier->output, tier->reasoning));
}

/* Finds the lowest prices of sent and of received tokens over all tiers. */
static void lowest_sides(const AcrPrice *price, gint64 *sent, gint64 *received)
{
    AcrPriceTier tier = whole_tier(&price->base, &price->base);
    *sent = *received = G_MAXINT64;
    lower_sides(&tier, sent, received);
    for (guint i = 0; i < ACR_PRICE_TIERS && price->tiers[i].above > 0; i++) {
        tier = whole_tier(&price->tiers[i].tier, &price->base);
        lower_sides(&tier, sent, received);
    }
}

gint64 acr_price_at_least(const AcrPrice *price, gint64 sent, gint64 received)
{
    gint64 in = 0, out = 0;
    lowest_sides(price, &in, &out);
    return saturated((Wide)MAX(sent, 0) * in + (Wide)MAX(received, 0) * out);
}

static void lower_to(gint64 *lowest, gint64 price)
{
    if (price > 0 && (*lowest <= 0 || price < *lowest))
        *lowest = price;
}

void acr_price_lower_to(AcrPrice *lowest, const AcrPrice *price)
{
    gint64 in = 0, out = 0;
    lowest_sides(price, &in, &out);
    lower_to(&lowest->base.input, in);
    lower_to(&lowest->base.output, out);
}

static void raise_tier(AcrPriceTier *tier, const AcrPriceTier *other)
{
    tier->input = MAX(tier->input, other->input);
    tier->cached = MAX(tier->cached, other->cached);
    tier->written = MAX(tier->written, other->written);
    tier->output = MAX(tier->output, other->output);
    tier->reasoning = MAX(tier->reasoning, other->reasoning);
}

void acr_price_raise_to(AcrPrice *highest, const AcrPrice *price)
{
    AcrPriceTier tier = whole_tier(&price->base, &price->base);
    raise_tier(&highest->base, &tier);
    for (guint i = 0; i < ACR_PRICE_TIERS && price->tiers[i].above > 0; i++) {
        tier = whole_tier(&price->tiers[i].tier, &price->base);
        raise_tier(&highest->base, &tier);
    }
}
