/* Properties of the response parser of every provider: any bytes, with any status, must give an
 * answer of valid text with plausible usage, or a failure with a class and a bounded message;
 * corrections can safely be learned from the failure; and the result must not depend on how the
 * bytes are split. */
#pragma once

#include <string.h>

#include "../unit/llm/pieces.h"

/* A dialect with tighter limits sets its own before it includes this header. */
#ifndef MAX_CORRECTIONS
#define MAX_CORRECTIONS 8
#endif
#ifndef MAX_TOKENS
#define MAX_TOKENS G_MAXINT64
#endif

static inline void check_usage(const AcrUsage *usage)
{
    const gint64 counters[] = {usage->input, usage->cached, usage->written, usage->output, usage->reasoning};

    for (gsize i = 0; i < G_N_ELEMENTS(counters); i++)
        g_assert_true(counters[i] >= -1 && counters[i] <= MAX_TOKENS);
    g_assert_cmpint(usage->cost_pico, >=, -1);
    g_assert_cmpint(acr_usage_tokens(usage), >=, -1);
}

static inline void check_failure(const AcrProvider *provider, const AcrFailure *failure)
{
    AcrDialect dialect = {.model = "m", .temperature = 0.5, .effort = "low"};
    g_autofree char *shown = acr_redact_line(failure->message, NULL, ACR_LLM_MAX_MESSAGE);

    g_assert_cmpint((int)failure->code, <, ACR_LLM_ERRORS);
    g_assert_cmpuint(strlen(failure->message), <, 4 * ACR_LLM_MAX_MESSAGE);
    g_assert_true(g_utf8_validate(shown, -1, NULL));
    for (int corrections = 0; acr_correct(provider, &dialect, failure); corrections++)
        g_assert_cmpint(corrections, <, MAX_CORRECTIONS);
}

/* The result for a body that is fed in pieces of that size: the answer's text, or the class of the
 * failure; owned. */
static inline char *outcome_of(const AcrProvider *provider, int status, const uint8_t *data, gsize size, gsize piece)
{
    g_auto(Outcome) outcome = read_pieces(provider, status, NULL, (const char *)data, size, piece);

    check_usage(&outcome.usage);
    if (outcome.ok) {
        const char *content = outcome.answer.content;

        check_usage(&outcome.answer.usage);
        g_assert_true(acr_utf8_is_text(content, strlen(content)));
        return g_strdup(content);
    }
    check_failure(provider, &outcome.failure);
    return g_strdup_printf("class %d", (int)outcome.failure.code);
}

static inline void fuzz_reading(const AcrProvider *provider, const uint8_t *data, gsize size)
{
    static const int statuses[] = {200, 400, 401, 429, 503};
    gsize piece = size > 0 ? 1 + data[size - 1] % 64 : 1;

    for (gsize i = 0; i < G_N_ELEMENTS(statuses); i++) {
        g_autofree char *split = outcome_of(provider, statuses[i], data, size, piece);
        g_autofree char *whole = outcome_of(provider, statuses[i], data, size, MAX(size, 1));

        g_assert_cmpstr(split, ==, whole);
    }
}
