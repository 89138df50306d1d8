/* Bytes of a response to an answer or a failure (response_reader.c). */
#ifndef ACR_LLM_RESPONSE_READER_H
#define ACR_LLM_RESPONSE_READER_H

#include "llm/provider.h"

/* Pure but for the clock. */
typedef struct AcrReader AcrReader;
/* `headers` as in AcrHttpResponse (a reference is kept; may be NULL). Owned (acr_reader_free). */
AcrReader *acr_reader_new(const AcrProvider *provider, int status,
                          GHashTable *headers) ACR_MUST_USE;
void acr_reader_free(AcrReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrReader, acr_reader_free)
/* False: nothing more is wanted, the outcome is known. */
bool acr_reader_feed(AcrReader *reader, const char *data, gsize len) ACR_MUST_USE;
/* The answer, once the bytes have ended or are not wanted; false, with *out_failure. `cut` (may be
 * NULL): why they ended before their time. *out_usage is filled in either case. */
bool acr_reader_end(AcrReader *reader, const char *cut, AcrModelAnswer *out, AcrUsage *out_usage,
                    AcrFailure *out_failure) ACR_MUST_USE;
/* What has come so far; borrowed. */
const AcrPartial *acr_reader_partial(const AcrReader *reader);
/* It may be whole: what still comes is a postscript. */
bool acr_reader_is_settled(const AcrReader *reader);

#endif
