/* Turns the bytes of a response into an answer or a failure (response_reader.c). */
#pragma once

#include "llm/provider.h"

/* A reader of one response. It has no side effects, and reads only the clock. */
typedef struct AcrReader AcrReader;
/* Makes a reader; owned (acr_reader_free). `headers` are as in AcrHttpResponse (a reference is
 * kept; may be NULL). */
AcrReader *acr_reader_new(const AcrProvider *provider, int status,
                          GHashTable *headers) ACR_MUST_USE;
void acr_reader_free(AcrReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrReader, acr_reader_free)
/* Feeds the next bytes to the reader. Returns false if the outcome is known, so that no more bytes
 * are needed. */
bool acr_reader_feed(AcrReader *reader, const char *data, gsize len) ACR_MUST_USE;
/* Ends the response after its last byte. Returns true with the answer, or false with *out_failure;
 * sets *out_usage in both cases. `cut` is the reason why the bytes ended early, or NULL. */
bool acr_reader_end(AcrReader *reader, const char *cut, AcrModelAnswer *out, AcrUsage *out_usage,
                    AcrFailure *out_failure) ACR_MUST_USE;
/* Returns the part of the answer that has arrived so far; borrowed. */
const AcrPartial *acr_reader_partial(const AcrReader *reader);
/* Whether the answer may be complete, so that later bytes are not needed. */
bool acr_reader_is_settled(const AcrReader *reader);
