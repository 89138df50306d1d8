/* The groups of tests of llm; each file adds its own. */
#pragma once

#include <string.h>

#include "http/http.h"
#include "llm/llm_private.h"
#include "llm/response_reader.h"
#include "llm/spend.h"
#include "unit/cases.h"

/* Reads a complete body of that status as a response of the provider. */
static inline bool read_response(const AcrProvider *provider, int status, const char *text, AcrModelAnswer *out,
                                 AcrFailure *out_failure)
{
    g_autoptr(AcrReader) reader = acr_reader_new(provider, status, NULL);
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    bool more = acr_reader_feed(reader, text, strlen(text));
    g_assert_true(more || status < 300);
    return acr_reader_end(reader, NULL, out, &usage, out_failure);
}

/* The main function of another process of this program: takes a slot and keeps it. */
int hold_a_slot(const char *dir);
