/*
 * Fuzzes the reader of OpenAI's Responses: any bytes, under any status, are an answer of valid
 * text with sane usage or a failure with a class and a bounded message; what the failure says may
 * be learned from without harm.
 */
#include "llm/llm_private.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const AcrModelAnswer *answer)
{
    g_assert_true(acr_utf8_is_text(answer->content, strlen(answer->content)));
    g_assert_cmpint(answer->usage.input, >=, -1);
    g_assert_cmpint(answer->usage.cached, >=, -1);
    g_assert_cmpint(answer->usage.output, >=, -1);
}

static void check_failure(const AcrFailure *failure)
{
    AcrDialect dialect = {.model = "m", .temperature = 0.5};
    g_autofree char *shown = acr_llm_public_text(failure->message, NULL, ACR_LLM_MAX_MESSAGE);

    g_assert_cmpint((int)failure->code, <, ACR_LLM_ERRORS);
    g_assert_cmpuint(strlen(failure->message), <, 4 * ACR_LLM_MAX_MESSAGE);
    g_assert_true(g_utf8_validate(shown, -1, NULL));
    for (int corrections = 0; acr_provider_openai_responses.correct(&dialect, failure);
         corrections++)
        g_assert_cmpint(corrections, <, 8);
}

/* The bytes of a body, in pieces of a size that the data say. */
static void read_all(int status, const uint8_t *data, gsize size)
{
    g_autoptr(AcrReader) reader = acr_reader_new(&acr_provider_openai_responses, status, NULL);
    g_auto(AcrModelAnswer) answer = {0};
    g_auto(AcrFailure) failure = {0};
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    gsize piece = size > 0 ? 1 + data[size - 1] % 64 : 1;

    for (gsize at = 0; at < size; at += piece)
        if (!acr_reader_feed(reader, (const char *)data + at, MIN(piece, size - at)))
            break;
    if (acr_reader_end(reader, NULL, &answer, &usage, &failure))
        check_answer(&answer);
    else
        check_failure(&failure);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 400, 401, 429, 503};

    for (gsize i = 0; i < G_N_ELEMENTS(statuses); i++)
        read_all(statuses[i], data, size);
    return 0;
}
