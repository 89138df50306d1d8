/* Reads a response in pieces, as from a connection; for unit tests and fuzz targets. */
#pragma once

#include "llm/response_reader.h"

/* The result of reading a response: an answer if `ok`, else a failure. */
typedef struct {
    bool ok;
    AcrModelAnswer answer;
    AcrUsage usage;
    AcrFailure failure;
} Outcome;

static inline void outcome_clear(Outcome *outcome)
{
    acr_model_answer_clear(&outcome->answer);
    acr_failure_clear(&outcome->failure);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Outcome, outcome_clear)

/* Reads `len` bytes of a response in pieces of `piece` bytes, until the reader wants no more. The
 * caller clears the outcome. */
static inline Outcome read_pieces(const AcrProvider *provider, int status, GHashTable *headers, const char *data,
                                  gsize len, gsize piece)
{
    g_autoptr(AcrReader) reader = acr_reader_new(provider, status, headers);
    Outcome outcome = {.usage = ACR_USAGE_UNKNOWN};
    for (gsize at = 0; at < len; at += piece)
        if (!acr_reader_feed(reader, data + at, MIN(piece, len - at)))
            break;
    outcome.ok = acr_reader_end(reader, NULL, &outcome.answer, &outcome.usage, &outcome.failure);
    return outcome;
}
