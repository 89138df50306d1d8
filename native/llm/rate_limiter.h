/* Limits that all processes with one endpoint and key keep together (rate_limiter.c). */
#ifndef ACR_LLM_RATE_LIMITER_H
#define ACR_LLM_RATE_LIMITER_H

#include "llm/llm.h"

typedef struct AcrLimiter AcrLimiter;
/* Of one endpoint and key in the folder `dir`; owned (acr_limiter_free). Errors: FAILED. */
AcrLimiter *acr_limiter_open(const char *dir, const char *endpoint, const char *key,
                             GError **error) ACR_MUST_USE;
void acr_limiter_free(AcrLimiter *limiter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrLimiter, acr_limiter_free)
typedef enum {
    ACR_LIMITER_ENTERED,
    ACR_LIMITER_INTERRUPTED,
    ACR_LIMITER_TOO_LATE, /* no slot before `deadline_us` */
    ACR_LIMITER_PAUSED,   /* the circuit breaker is open: *out_why */
} AcrLimiterEntry;
/* Waits until the group may send and takes a slot. `deadline_us`: g_get_monotonic_time; 0: none.
 * `on_wait` (may be NULL) is called once if it must wait. *out_why owned. */
AcrLimiterEntry acr_limiter_enter(AcrLimiter *limiter, gint64 deadline_us,
                                  const AcrInterrupt *interrupt,
                                  void (*on_wait)(void *ctx, const char *why, gint64 wait_ms),
                                  void *on_wait_ctx, gint64 *out_waited_ms, char **out_why);
/* Gives the slot back. `throttled`: nobody sends before `hold_ms` have passed, some seconds where it
 * is not above 0, and then one after the other begins. */
void acr_limiter_leave(AcrLimiter *limiter, bool throttled, gint64 hold_ms);
/* Opens the circuit breaker for all users of the endpoint and key: no try is begun until
 * acr_llm_resume. `why` begins with the class's name; without secrets. */
void acr_limiter_pause(AcrLimiter *limiter, const char *why);
/* The class that a pause's text begins with. */
AcrLlmError acr_llm_paused_class(const char *why);

#endif
