/*
 * What holds for the reader of every dialect: any bytes, under any status, are an answer of valid
 * text with sane usage or a failure with a class and a bounded message; what the failure says may
 * be learned from without harm; and into which pieces the bytes come does not matter.
 */
#ifndef ACR_FUZZ_READING_H
#define ACR_FUZZ_READING_H

#include <string.h>

#include "llm/llm_private.h"

#define MAX_CORRECTIONS 8

static inline void check_answer(const AcrModelAnswer *answer)
{
    const AcrUsage *usage = &answer->usage;
    const gint64 counters[] = {usage->input,  usage->cached,    usage->written,  usage->written_1h,
                               usage->output, usage->reasoning, usage->cost_pico};

    g_assert_true(acr_utf8_is_text(answer->content, strlen(answer->content)));
    for (gsize i = 0; i < G_N_ELEMENTS(counters); i++)
        g_assert_cmpint(counters[i], >=, -1);
    g_assert_cmpint(acr_usage_tokens(usage), >=, -1);
}

static inline void check_failure(const AcrProvider *provider, const AcrFailure *failure)
{
    AcrDialect dialect = {.model = "m", .temperature = 0.5, .effort = "low"};
    g_autofree char *shown = acr_llm_public_text(failure->message, NULL, ACR_LLM_MAX_MESSAGE);

    g_assert_cmpint((int)failure->code, <, ACR_LLM_ERRORS);
    g_assert_cmpuint(strlen(failure->message), <, 4 * ACR_LLM_MAX_MESSAGE);
    g_assert_true(g_utf8_validate(shown, -1, NULL));
    for (int corrections = 0; provider->correct(&dialect, failure); corrections++)
        g_assert_cmpint(corrections, <, MAX_CORRECTIONS);
}

/* What the bytes of a body, fed in pieces of that size, are: the answer's text, or the class of the
 * failure; owned. */
static inline char *outcome_of(const AcrProvider *provider, int status, const uint8_t *data,
                               gsize size, gsize piece)
{
    g_autoptr(AcrReader) reader = acr_reader_new(provider, status, NULL);
    g_auto(AcrModelAnswer) answer = {0};
    g_auto(AcrFailure) failure = {0};
    AcrUsage usage = ACR_USAGE_UNKNOWN;

    for (gsize at = 0; at < size; at += piece)
        if (!acr_reader_feed(reader, (const char *)data + at, MIN(piece, size - at)))
            break;
    if (acr_reader_end(reader, NULL, &answer, &usage, &failure)) {
        check_answer(&answer);
        return g_strdup(answer.content);
    }
    check_failure(provider, &failure);
    return g_strdup_printf("class %d", (int)failure.code);
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

#endif
