/* Texts without secrets (redact.c). */
#ifndef ACR_LLM_REDACT_H
#define ACR_LLM_REDACT_H

#include "base/base.h"

/* Makes one line of at most `max` bytes: removes every occurrence of the `secrets` (strings; may be
 * NULL) and of long parts of them, also percent-encoded or escaped as in JSON, and replaces control
 * characters by spaces; owned. */
char *acr_redact_line(const char *text, const GPtrArray *secrets, gsize max) ACR_MUST_USE;
/* An answer's text without secrets; secrets shorter than ACR_SECRET_IN_ANSWER bytes stay, since
 * they may be ordinary words; owned; NULL: it contains none. */
#define ACR_SECRET_IN_ANSWER 12u
char *acr_redact_answer(const char *text, const GPtrArray *secrets) ACR_MUST_USE;
/* Overwrites a text and frees it; accepts NULL. */
void acr_wipe(gpointer text);

#endif
