/* Writes standard output and reads standard input (streams.c). */
#pragma once

#include "base/base.h"
#include "task/task.h"

typedef enum {
    ACR_OUT_WRITTEN,
    /* the reader closed the pipe (| head); not an error; nothing is printed */
    ACR_OUT_CLOSED,
    ACR_OUT_FAILED, /* the failure was already reported on stderr */
} AcrOut;
/* Writes data to stdout; on a terminal, makes them safe with acr_text_visible. After any result
 * except WRITTEN, the caller must stop writing. */
AcrOut acr_out_bytes(GBytes *bytes) ACR_MUST_USE; /* NULL: nothing */
AcrOut acr_out_diff(GBytes *diff) ACR_MUST_USE;   /* the same, coloured on a terminal */
/* The same for a text that a person reads; a terminal gets it wrapped. */
AcrOut acr_out_text(const char *text) ACR_MUST_USE;
AcrOut acr_out_json(const AcrJson *json) ACR_MUST_USE; /* one line */
/* Writes a text that is already safe for a terminal, such as one with colours. */
AcrOut acr_out_safe(const char *text) ACR_MUST_USE;
/* Like acr_out_safe, but on a terminal through the pager. (pager.c) */
AcrOut acr_out_paged(const char *text) ACR_MUST_USE;
/* Returns `code`, unless the output could not be written. */
AcrExit acr_out_exit(AcrOut out, AcrExit code);
/* Reads standard input to its end. Errors: TOO_BIG, FAILED of base (also after a signal). */
GBytes *acr_read_stdin(gsize max, const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;
