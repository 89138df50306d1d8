/* Texts without secrets (redact.c). */
#ifndef ACR_LLM_REDACT_H
#define ACR_LLM_REDACT_H

#include "base/base.h"

/* Every occurrence of each of the `secrets` (strings; may be NULL), or of a long part of one, taken
 * out, also percent-encoded or escaped as in JSON; control characters made spaces, at most `max`
 * bytes; owned. */
char *acr_redact_line(const char *text, const GPtrArray *secrets, gsize max) ACR_MUST_USE;
/* A copy of an answer's text with the secrets taken out, those with fewer bytes than
 * ACR_SECRET_IN_ANSWER left (a word that an answer may well use); owned; NULL: it holds none. */
#define ACR_SECRET_IN_ANSWER 12u
char *acr_redact_answer(const char *text, const GPtrArray *secrets) ACR_MUST_USE;
/* Overwrites a text and frees it; NULL is nothing. */
void acr_wipe(gpointer text);

#endif
