/* Writes standard output and reads standard input (streams.c). */
#pragma once

#include "base/base.h"
#include "task/task.h"

typedef enum {
    ACR_OUT_WRITTEN,
    /* the reader closed the pipe (| head); no error, and no message is printed */
    ACR_OUT_CLOSED,
    ACR_OUT_FAILED, /* the failure was already reported on stderr */
} AcrOut;
/* Writes data to stdout; on a terminal, makes them safe with acr_text_visible. After any result
 * except WRITTEN, the caller must stop writing. */
AcrOut acr_out_bytes(GBytes *bytes) ACR_MUST_USE; /* NULL: writes nothing */
AcrOut acr_out_diff(GBytes *diff) ACR_MUST_USE;   /* as above, coloured on a terminal */
/* Writes a text for a person like acr_out_bytes, but wrapped on a terminal. */
AcrOut acr_out_text(const char *text) ACR_MUST_USE;
AcrOut acr_out_json(const AcrJson *json) ACR_MUST_USE; /* writes one line */
/* Writes a text that is already safe for a terminal, such as a text with colours. */
AcrOut acr_out_safe(const char *text) ACR_MUST_USE;
/* Writes like acr_out_safe, but on a terminal through the pager. (pager.c) */
AcrOut acr_out_paged(const char *text) ACR_MUST_USE;
/* Returns `code`, or an error's exit code if the output could not be written. */
AcrExit acr_out_exit(AcrOut out, AcrExit code);
/* Reads standard input to its end. Errors: TOO_BIG, FAILED of base (also after a signal). */
GBytes *acr_read_stdin(gsize max, const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;
