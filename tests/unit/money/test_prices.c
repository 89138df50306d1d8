/* Tests of prices: costs compared with figures calculated by hand, the names in the built-in table,
 * and price files. */
#include "test_money.h"

#include <glib/gstdio.h>
#include <string.h>

#include "money/price_private.h"

#define PICO_PER_USD 1000000000000

static AcrUsage usage_of(gint64 input, gint64 cached, gint64 written, gint64 output, gint64 reasoning)
{
    return (AcrUsage){.input = input,
                      .cached = cached,
                      .written = written,
                      .output = output,
                      .reasoning = reasoning,
                      .cost_pico = -1};
}

static AcrPrice price_of(const char *model)
{
    g_autoptr(AcrPrices) prices = acr_prices_new(NULL, NULL);
    AcrPrice price = {0};
    g_assert_true(acr_prices_find(prices, model, &price));
    return price;
}

/* ---- Counters ---- */

/* Whether these token counts are plausible for a request of 6,400 bytes of text in a body of 7,000
 * bytes, an answer of 320 bytes in a body of 1,000, and this limit. */
static bool is_believed(gint64 limit, AcrUsage usage)
{
    AcrExchange exchange = {.asked = 6400, .sent = 7000, .answered = 320, .received = 1000, .limit = limit};
    AcrUsageBounds bounds = acr_usage_bounds(&exchange);
    acr_usage_judge(&usage, &bounds);
    g_assert_true((usage.output < 0) == (acr_usage_sent(&usage) < 0));
    return usage.output >= 0;
}

TEST("/money/prices", counters_are_believed_as_far_as_they_can_be)
{
    g_assert_true(is_believed(100, usage_of(1600, -1, -1, 80, -1)));
    /* All kinds of sent tokens count. */
    g_assert_true(is_believed(100, usage_of(0, 150, 50, 10, -1)));
    g_assert_false(is_believed(100, usage_of(0, 150, 49, 10, -1)));
    g_assert_false(is_believed(100, usage_of(199, -1, -1, 10, -1)));
    g_assert_false(is_believed(100, usage_of(0, 0, 0, 10, -1)));
    g_assert_false(is_believed(100, usage_of(1600, -1, -1, 9, -1)));
    g_assert_false(is_believed(100, usage_of(1600, -1, -1, 0, -1)));
    /* Allow for templates and searches, and for hidden reasoning within the limit, but not beyond
     * it. */
    g_assert_true(is_believed(100, usage_of(7000 + 65536, -1, -1, 80, -1)));
    g_assert_false(is_believed(100, usage_of(7000 + 65537, -1, -1, 80, -1)));
    g_assert_true(is_believed(200000, usage_of(1600, -1, -1, 200000 + 65536, 200000)));
    g_assert_false(is_believed(200000, usage_of(1600, -1, -1, 200000 + 65537, -1)));
    g_assert_true(is_believed(100, usage_of(1600, -1, -1, 1000 + 65536, -1)));
    g_assert_false(is_believed(100, usage_of(1600, -1, -1, 1000 + 65537, -1)));
    g_assert_true(is_believed(0, usage_of(1600, -1, -1, 1000000, -1)));
    g_assert_false(is_believed(0, usage_of(1600, -1, -1, 2000000, -1)));
    g_assert_false(is_believed(0, usage_of(G_MAXINT64, G_MAXINT64, 1, G_MAXINT64, G_MAXINT64)));
}

TEST("/money/prices", reasoning_beyond_the_output_is_added_to_it)
{
    AcrExchange exchange = {.asked = 10, .sent = 100, .answered = 10, .limit = 1000};
    AcrUsageBounds bounds = acr_usage_bounds(&exchange);
    AcrUsage inside = usage_of(5, -1, -1, 30, 30), beside = usage_of(5, -1, -1, 30, 31);
    acr_usage_judge(&inside, &bounds);
    acr_usage_judge(&beside, &bounds);
    g_assert_cmpint(inside.output, ==, 30);
    g_assert_cmpint(beside.output, ==, 61);
}

TEST("/money/prices", of_no_text_no_token_is_enough)
{
    AcrExchange exchange = {.asked = 1, .sent = 100, .limit = 10};
    AcrUsageBounds bounds = acr_usage_bounds(&exchange);
    AcrUsage usage = usage_of(1, -1, -1, 0, -1);
    acr_usage_judge(&usage, &bounds);
    g_assert_cmpint(usage.output, ==, 0);
    g_assert_cmpint(usage.input, ==, 1);
}

TEST("/money/prices", counters_add_up_and_unknown_ones_are_left_out)
{
    AcrUsage unknown = ACR_USAGE_UNKNOWN, some = usage_of(700, 200, 100, 50, -1);
    g_assert_cmpint(acr_usage_sent(&unknown), ==, -1);
    g_assert_cmpint(acr_usage_tokens(&unknown), ==, -1);
    g_assert_cmpint(acr_usage_sent(&some), ==, 1000);
    g_assert_cmpint(acr_usage_tokens(&some), ==, 1050);
    some.output = -1;
    g_assert_cmpint(acr_usage_tokens(&some), ==, -1);
    some = usage_of(G_MAXINT64, G_MAXINT64, 1, G_MAXINT64, 0);
    g_assert_cmpint(acr_usage_sent(&some), ==, G_MAXINT64);
    g_assert_cmpint(acr_usage_tokens(&some), ==, G_MAXINT64);
}

TEST("/money/prices", millionths_are_rounded_up)
{
    g_assert_cmpint(acr_microusd(-1), ==, -1);
    g_assert_cmpint(acr_microusd(0), ==, 0);
    g_assert_cmpint(acr_microusd(1), ==, 1);
    g_assert_cmpint(acr_microusd(1000000), ==, 1);
    g_assert_cmpint(acr_microusd(1000001), ==, 2);
    g_assert_cmpint(acr_microusd(G_MAXINT64), ==, G_MAXINT64 / 1000000 + 1);
}

/* ---- Arithmetic ---- */

/* 700 * 3 + 200 * 0.3 + 100 * 3.75 + 50 * 15 = 3,285 millionths of a USD. */
TEST("/money/prices", each_kind_of_token_has_its_price)
{
    AcrPrice price = price_of("anthropic/claude-sonnet-4-5");
    AcrUsage usage = usage_of(700, 200, 100, 50, 0);
    g_assert_cmpint(acr_price_of_usage(&price, &usage), ==, 3285000000);
    g_assert_cmpint(acr_microusd(3285000000), ==, 3285);
}

TEST("/money/prices", a_kind_without_price_costs_what_its_side_costs)
{
    AcrPrice price = {.base = {100, -1, -1, 1000, -1}};
    AcrUsage usage = usage_of(1, 2, 12, 3, 2);
    g_assert_cmpint(acr_price_of_usage(&price, &usage), ==, 1500 + 3000);
    price.base.written = 200;
    g_assert_cmpint(acr_price_of_usage(&price, &usage), ==, 300 + 2400 + 3000);
}

TEST("/money/prices", only_the_reasoning_part_has_the_price_of_reasoning)
{
    AcrPrice price = {.base = {0, -1, -1, 10, 1000}};
    AcrUsage usage = usage_of(0, -1, -1, 7, 3);
    g_assert_cmpint(acr_price_of_usage(&price, &usage), ==, 4 * 10 + 3 * 1000);
    usage.reasoning = 100; /* more reasoning tokens than answer tokens */
    g_assert_cmpint(acr_price_of_usage(&price, &usage), ==, 7 * 1000);
    usage.reasoning = -1;
    g_assert_cmpint(acr_price_of_usage(&price, &usage), ==, 7 * 10);
}

/* Above 200,000 tokens, all tokens of the request cost 2.5, 0.25 and 15 instead of 1.25, 0.125 and
 * 10. */
TEST("/money/prices", a_threshold_prices_the_whole_request_anew)
{
    AcrPrice price = price_of("gemini/gemini-2.5-pro");
    AcrUsage at = usage_of(150000, 50000, 0, 1000, 500), above = usage_of(150001, 50000, 0, 1000, 500);
    g_assert_cmpint(acr_price_of_usage(&price, &at), ==, 150000ll * 1250000 + 50000ll * 125000 + 1000ll * 10000000);
    g_assert_cmpint(acr_price_of_usage(&price, &above), ==, 150001ll * 2500000 + 50000ll * 250000 + 1000ll * 15000000);
}

TEST("/money/prices", a_tier_leaves_open_what_the_base_says)
{
    AcrPrice price = {.base = {10, 1, -1, 20, 40}, .tiers = {{100, {30, -1, -1, -1, -1}}}};
    AcrUsage usage = usage_of(100, 1, 1, 2, 1);
    g_assert_cmpint(acr_price_of_usage(&price, &usage), ==, 3000 + 1 + 30 + 20 + 40);
}

TEST("/money/prices", a_cost_without_its_counters_is_unknown)
{
    AcrPrice price = {.base = {10, 1, -1, 20, -1}};
    AcrUsage no_input = usage_of(-1, 5, 0, 5, 0), no_output = usage_of(5, 0, 0, -1, 0),
             absurd = usage_of(G_MAXINT64, G_MAXINT64, 0, G_MAXINT64, 0);
    g_assert_cmpint(acr_price_of_usage(&price, &no_input), ==, -1);
    g_assert_cmpint(acr_price_of_usage(&price, &no_output), ==, -1);
    g_assert_cmpint(acr_price_of_usage(&price, &absurd), ==, G_MAXINT64);
    g_assert_cmpint(acr_price_at_most(&price, G_MAXINT64, G_MAXINT64), ==, G_MAXINT64);
}

TEST("/money/prices", the_most_takes_the_highest_price_of_each_side)
{
    AcrPrice price = price_of("anthropic/claude-sonnet-4-5");
    g_assert_cmpint(acr_price_at_most(&price, 1000, 50), ==, 1000ll * 3750000 + 50ll * 15000000);
    price = price_of("gemini/gemini-2.5-pro");
    g_assert_cmpint(acr_price_at_most(&price, 200000, 10), ==, 200000ll * 1250000 + 10ll * 10000000);
    g_assert_cmpint(acr_price_at_most(&price, 200001, 10), ==, 200001ll * 2500000 + 10ll * 15000000);
}

static gint64 random_price(void)
{
    return g_test_rand_int_range(0, 4) == 0 ? -1 : g_test_rand_int_range(0, 1000000);
}

static AcrPriceTier random_tier(void)
{
    return (AcrPriceTier){random_price(), random_price(), random_price(), random_price(), random_price()};
}

TEST("/money/prices", no_split_of_tokens_costs_more_than_the_most)
{
    for (int i = 0; i < 20000; i++) {
        AcrPrice price = {.base = random_tier()};
        AcrUsage usage =
            usage_of(g_test_rand_int_range(0, 300), g_test_rand_int_range(-1, 300), g_test_rand_int_range(-1, 300),
                     g_test_rand_int_range(0, 300), g_test_rand_int_range(-1, 400));
        gint64 sent = acr_usage_sent(&usage), cost = 0;
        for (int tier = 0, above = 0; tier < g_test_rand_int_range(0, ACR_PRICE_TIERS + 1); tier++) {
            above += g_test_rand_int_range(1, 400);
            price.tiers[tier].above = above;
            price.tiers[tier].tier = random_tier();
        }
        cost = acr_price_of_usage(&price, &usage);
        g_assert_cmpint(cost, >=, 0);
        g_assert_cmpint(cost, <=, acr_price_at_most(&price, sent, usage.output));
        g_assert_cmpint(cost, >=, acr_price_at_least(&price, sent, usage.output));
        g_assert_cmpint(cost, <=, acr_price_at_most(&price, sent + 5, usage.output + 7));
    }
}

/* ---- The built-in table ---- */

/* The rows of the built-in table, which the program reads as it reads a user's file. */
static GHashTable *read_table(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) json = acr_json_parse(acr_price_table, strlen(acr_price_table), &error);
    GHashTable *rows = json ? acr_price_rows_read(json, &error) : NULL;
    g_assert_no_error(error);
    return rows;
}

TEST("/money/prices", the_table_s_prices_can_be)
{
    g_autoptr(AcrPrices) prices = acr_prices_new(NULL, NULL);
    g_autoptr(GHashTable) table = read_table();
    GHashTableIter rows;
    gpointer row = NULL;
    g_assert_cmpuint(g_hash_table_size(table), >, 400);
    g_hash_table_iter_init(&rows, table);
    while (g_hash_table_iter_next(&rows, NULL, &row)) {
        const AcrPrice *price = row;
        gint64 above = 0;
        g_assert_cmpint(price->base.input, >, 0);
        g_assert_cmpint(price->base.output, >, 0);
        g_assert_cmpint(price->base.output, <=, ACR_PRICE_MAX);
        for (guint tier = 0; tier < ACR_PRICE_TIERS && price->tiers[tier].above > 0; tier++) {
            g_assert_cmpint(price->tiers[tier].above, >, above);
            above = price->tiers[tier].above;
        }
    }
    g_assert_cmpuint(strlen(acr_prices_date(prices)), ==, strlen("2026-11-20"));
}

TEST("/money/prices", names_are_found_in_all_their_spellings)
{
    static const struct {
        const char *model;
        gint64 input, output;
    } rows[] = {{"openai/gpt-4.1", 2000000, 8000000},
                {"openai/gpt-4.1-2025-04-14", 2000000, 8000000},
                {"openai-responses/gpt-4.1", 2000000, 8000000},
                {"openai/gpt-4o-2024-05-13", 5000000, 15000000},
                {"openai/gpt-4o-2031-01-01", 2500000, 10000000},
                {"azure/gpt-4.1", 2000000, 8000000},
                {"anthropic/claude-sonnet-4-5-20250929", 3000000, 15000000},
                {"anthropic/claude-sonnet-4-5-latest", 3000000, 15000000},
                {"anthropic/claude-sonnet-4-5@20250929", 3000000, 15000000},
                {"bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", 3000000, 15000000},
                {"bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0", 3000000, 15000000},
                {"bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3300000, 16500000},
                {"bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/"
                 "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                 3300000, 16500000},
                {"gemini/gemini-2.5-pro", 1250000, 10000000},
                {"gemini/gemini-2.5-flash-001", 300000, 2500000},
                {"openrouter/anthropic/claude-sonnet-4.5", 3000000, 15000000},
                {"openrouter/google/gemini-2.5-pro", 1250000, 10000000}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        AcrPrice price = price_of(rows[i].model);
        g_test_message("%s", rows[i].model);
        g_assert_cmpint(price.base.input, ==, rows[i].input);
        g_assert_cmpint(price.base.output, ==, rows[i].output);
    }
    g_assert_cmpint(price_of("openai/gpt-4.1").max_output, ==, 32768);
}

TEST("/money/prices", unknown_names_have_no_price)
{
    static const char *const models[] = {"openai/gpt-41",
                                         "openai/",
                                         "openai",
                                         "",
                                         "groq/gpt-4.1",
                                         "ollama/gpt-4.1",
                                         "vllm/x",
                                         "openrouter/meta/llama",
                                         "openrouter/openai/gpt-oss-120b",
                                         "azure/my-own-name"};
    g_autoptr(AcrPrices) prices = acr_prices_new(NULL, NULL);
    AcrPrice price;
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++)
        g_assert_false(acr_prices_find(prices, models[i], &price));
}

TEST("/money/prices", the_highest_and_lowest_prices_are_those_of_any)
{
    g_autoptr(AcrPrices) prices = acr_prices_new(NULL, NULL);
    g_autoptr(GHashTable) table = read_table();
    GHashTableIter rows;
    gpointer row = NULL;
    AcrPrice highest, lowest;
    acr_prices_highest(prices, &highest);
    acr_prices_lowest(prices, &lowest);
    g_assert_cmpint(acr_price_at_least(&lowest, 1, 0), >, 0);
    g_assert_cmpint(acr_price_at_least(&lowest, 0, 1), >, 0);
    g_assert_cmpint(highest.tiers[0].above, ==, 0);
    g_hash_table_iter_init(&rows, table);
    while (g_hash_table_iter_next(&rows, NULL, &row)) {
        g_assert_cmpint(acr_price_at_most(row, 1000000, 1000), <=, acr_price_at_most(&highest, 1000000, 1000));
        g_assert_cmpint(acr_price_at_most(row, 1000000, 1000), >=, acr_price_at_least(&lowest, 1000000, 1000));
    }
}

TEST("/money/prices", bare_names_belong_to_a_provider_or_to_none)
{
    static const char *const rows[][2] = {{"gpt-4.1", "openai"},
                                          {"gpt-99", "openai"},
                                          {"o1", "openai"},
                                          {"o3-mini", "openai"},
                                          {"o4-mini-2025-04-16", "openai"},
                                          {"o2", NULL},
                                          {"o", NULL},
                                          {"", NULL},
                                          {"chatgpt-4o-latest", "openai"},
                                          {"claude-sonnet-4-5", "anthropic"},
                                          {"gemini-2.5-pro", "gemini"},
                                          {"deepseek-chat", "deepseek"},
                                          {"deepseek-r1", NULL},
                                          {"gpt-oss-120b", NULL},
                                          {"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock"},
                                          {"amazon.nova-pro-v1:0", "bedrock"},
                                          {"llama3", NULL},
                                          {"openai/gpt-4.1", NULL}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpstr(acr_prices_provider_of(rows[i][0]), ==, rows[i][1]);
}

/* ---- Files ---- */

static AcrPrices *prices_from(const char *text, GError **error)
{
    g_autofree char *path = NULL;
    AcrPrices *prices = NULL;
    int fd = g_file_open_tmp("acr-prices-XXXXXX", &path, NULL);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(acr_fd_write_all(fd, text, strlen(text)), ==, 0);
    g_assert_true(g_close(fd, NULL));
    prices = acr_prices_new(path, error);
    g_assert_cmpint(g_unlink(path), ==, 0);
    return prices;
}

TEST("/money/prices", litellm_rows_go_before_the_table)
{
    static const char text[] = "{\"sample_spec\":{\"input_cost_per_token\":\"text\"},"
                               "\"picture\":{\"mode\":\"image_generation\",\"input_cost_per_token\":\"free\"},"
                               "\"gpt-4.1\":{\"litellm_provider\":\"openai\",\"mode\":\"chat\",\"max_tokens\":77,"
                               "\"input_cost_per_token\":1e-06,\"output_cost_per_token\":0.000002,"
                               "\"output_cost_per_token_above_200k_tokens\":3e-06,"
                               "\"input_cost_per_token_above_128k_tokens\":2e-06,"
                               "\"cache_creation_input_token_cost_above_200k_tokens\":5e-06,"
                               "\"input_cost_per_token_batches\":\"ignored\",\"cache_read_input_token_cost\":null},"
                               "\"us.x.m-v1:0\":{\"litellm_provider\":\"bedrock_converse\",\"mode\":\"chat\","
                               "\"input_cost_per_token\":1e-07,\"output_cost_per_token\":0},"
                               "\"mine\":{\"input_cost_per_token\":0,\"output_cost_per_token\":0}}";
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrPrices) prices = prices_from(text, &error);
    AcrPrice price;
    g_assert_no_error(error);
    g_assert_true(acr_prices_find(prices, "openai/gpt-4.1-2025-04-14", &price));
    g_assert_cmpint(price.base.input, ==, 1000000);
    g_assert_cmpint(price.base.cached, ==, -1);
    g_assert_cmpint(price.base.output, ==, 2000000);
    g_assert_cmpint(price.max_output, ==, 77);
    g_assert_cmpint(price.tiers[0].above, ==, 128000);
    g_assert_cmpint(price.tiers[0].tier.input, ==, 2000000);
    g_assert_cmpint(price.tiers[1].above, ==, 200000);
    g_assert_cmpint(price.tiers[1].tier.output, ==, 3000000);
    g_assert_cmpint(price.tiers[1].tier.written, ==, 5000000);
    g_assert_true(acr_prices_find(prices, "bedrock/us.x.m-v1:0", &price));
    g_assert_cmpint(price.base.input, ==, 100000);
    g_assert_true(acr_prices_find(prices, "vllm/mine", &price));
    g_assert_cmpint(price.base.input, ==, 0);
    g_assert_true(acr_prices_find(prices, "openai/gpt-4o", &price));
    g_assert_cmpint(price.base.input, ==, 2500000);
}

/* A tier's price must not be lower than what the provider may charge: missing prices become the
 * highest possible. */
TEST("/money/prices", service_tiers_have_prices_of_their_own)
{
    static const char text[] = "{\"openai/m\":{\"input_cost_per_token\":4e-06,\"output_cost_per_token\":8e-06,"
                               "\"cache_read_input_token_cost\":1e-06,\"cache_creation_input_token_cost\":5e-06,"
                               "\"input_cost_per_token_above_200k_tokens\":6e-06,"
                               "\"input_cost_per_token_flex\":2e-06,\"output_cost_per_token_flex\":4e-06,"
                               "\"input_cost_per_token_above_200k_tokens_flex\":3e-06,"
                               "\"input_cost_per_token_priority\":9e-06,\"output_cost_per_token_priority\":2e-05,"
                               "\"cache_read_input_token_cost_priority\":2e-06},"
                               "\"openai/plain\":{\"input_cost_per_token\":1e-06,\"output_cost_per_token\":1e-06,"
                               "\"input_cost_per_token_flex\":1e-07}}";
    static const struct {
        AcrService service;
        AcrPriceTier base, above;
    } rows[] = {{ACR_SERVICE_ANY, {4000000, 1000000, 5000000, 8000000, -1}, {6000000, -1, -1, -1, -1}},
                {ACR_SERVICE_FLEX,
                 {2000000, 2000000, 5000000, 4000000, 4000000},
                 {3000000, 3000000, 5000000, 8000000, 8000000}},
                {ACR_SERVICE_PRIORITY,
                 {9000000, 2000000, 9000000, 20000000, 20000000},
                 {9000000, 9000000, 9000000, 20000000, 20000000}}};
    g_autoptr(AcrPrices) prices = prices_from(text, NULL);
    AcrPrice price, served;
    g_assert_true(acr_prices_find(prices, "openai/m", &price));
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_true(acr_price_for(&price, rows[i].service, &served));
        g_assert_cmpmem(&served.base, sizeof served.base, &rows[i].base, sizeof served.base);
        g_assert_cmpmem(&served.tiers[0].tier, sizeof served.base, &rows[i].above, sizeof served.base);
    }
    g_assert_true(acr_prices_find(prices, "openai/plain", &price));
    g_assert_false(acr_price_for(&price, ACR_SERVICE_FLEX, &served));
    g_assert_true(acr_prices_find(prices, "openai/gpt-5.4", &price));
    g_assert_true(acr_price_for(&price, ACR_SERVICE_FLEX, &served));
    g_assert_cmpint(served.base.input * 2, ==, price.base.input);
}

/* The first price of such a row would not bound the others. */
TEST("/money/prices", rows_of_ranges_are_left_out)
{
    static const char text[] = "{\"dashscope/q\":{\"litellm_provider\":\"dashscope\",\"mode\":\"chat\","
                               "\"input_cost_per_token\":1e-9,\"output_cost_per_token\":1e-9,\"tiered_pricing\":["
                               "{\"range\":[0,100],\"input_cost_per_token\":1e-9,\"output_cost_per_token\":1e-9},"
                               "{\"range\":[100,200],\"input_cost_per_token\":2e-9,\"output_cost_per_token\":2e-9}]},"
                               "\"mine\":{\"input_cost_per_token\":0,\"output_cost_per_token\":0}}";
    g_autoptr(AcrPrices) prices = prices_from(text, NULL);
    AcrPrice price;
    g_assert_true(acr_prices_find(prices, "vllm/mine", &price));
    g_assert_false(acr_prices_find(prices, "dashscope/q", &price));
}

TEST("/money/prices", a_malformed_file_is_told_with_its_member)
{
#define ABOVE(n) "\"input_cost_per_token_above_" n "k_tokens\":0,"
    static const struct {
        const char *text, *told;
    } rows[] = {{"", "prices"},
                {"7", "not a JSON object"},
                {"{}", "no price"},
                {"[]", "not a JSON object"},
                {"{\"m\":7}", "\"m\""},
                {"{\"m\":{\"input_cost_per_token\":\"1\"}}", "input_cost_per_token"},
                {"{\"m\":{\"input_cost_per_token\":-1e-6}}", "input_cost_per_token"},
                {"{\"m\":{\"output_cost_per_token\":0.02}}", "output_cost_per_token"},
                {"{\"m\":{\"output_cost_per_token\":1e999}}", "output_cost_per_token"},
                {"{\"m\":{\"max_output_tokens\":\"many\"}}", "max_output_tokens"},
                {"{\"m\":{\"max_output_tokens\":-3}}", "max_output_tokens"},
                {"{\"m\":{\"tiered_pricing\":[{}]}}", "no price"},
                {"{\"m\":{" ABOVE("1") ABOVE("2") ABOVE("3") ABOVE("4") ABOVE("5") ABOVE("6") ABOVE("7")
                     ABOVE("8") "\"output_cost_per_token_above_9k_tokens\":0}}",
                 "more price thresholds than"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_test_message("%s", rows[i].text);
        g_assert_null(prices_from(rows[i].text, &error));
        g_assert_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE);
        g_assert_nonnull(strstr(error->message, rows[i].told));
    }
}

TEST("/money/prices", a_missing_file_is_wrong_usage)
{
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_prices_new("/nonexistent/prices.json", &error), error, ACR_MONEY_ERROR,
                      ACR_MONEY_ERROR_USAGE);
}
