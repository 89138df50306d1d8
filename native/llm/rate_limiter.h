/* Limits that all processes with one endpoint and key share (rate_limiter.c). */
#ifndef ACR_LLM_RATE_LIMITER_H
#define ACR_LLM_RATE_LIMITER_H

#include "llm/llm.h"

typedef struct AcrLimiter AcrLimiter;
/* The limiter of one endpoint and key, in the folder `dir`; owned (acr_limiter_free). Errors:
 * FAILED. */
AcrLimiter *acr_limiter_open(const char *dir, const char *endpoint, const char *key,
                             GError **error) ACR_MUST_USE;
void acr_limiter_free(AcrLimiter *limiter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrLimiter, acr_limiter_free)
typedef enum {
    ACR_LIMITER_ENTERED,
    ACR_LIMITER_INTERRUPTED,
    ACR_LIMITER_TOO_LATE, /* no slot is free before `deadline_us` */
    ACR_LIMITER_PAUSED,   /* the circuit breaker is open; *out_why says why */
} AcrLimiterEntry;
/* Waits until sending is allowed and takes a slot. `deadline_us`: g_get_monotonic_time; 0: none.
 * `on_wait` (may be NULL) is called once if it must wait. *out_why owned. */
AcrLimiterEntry acr_limiter_enter(AcrLimiter *limiter, gint64 deadline_us,
                                  const AcrInterrupt *interrupt,
                                  void (*on_wait)(void *ctx, const char *why, gint64 wait_ms),
                                  void *on_wait_ctx, gint64 *out_waited_ms, char **out_why);
/* Returns the slot. `throttled`: no one sends before `hold_ms` have passed (a few seconds if it is
 * not above 0), and then one process after the other begins. */
void acr_limiter_leave(AcrLimiter *limiter, bool throttled, gint64 hold_ms);
/* Opens the circuit breaker for all users of the endpoint and key: no try begins until
 * acr_llm_resume. `why` begins with the name of the error class and contains no secrets. */
void acr_limiter_pause(AcrLimiter *limiter, const char *why);
/* The error class at the beginning of a pause's text. */
AcrLlmError acr_llm_paused_class(const char *why);

#endif
