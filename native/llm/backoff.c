/* How long to wait before another try, and the wait itself. Random numbers are passed in. */
#include "llm/failure.h"

#include <poll.h>

#define SLICE_MS 50 /* how often an interrupt is looked for */

gint64 acr_backoff_ms(gint64 base_ms, guint retry, gint64 retry_after_ms, double u)
{
    gint64 bound = MIN(base_ms, ACR_LLM_BACKOFF_CAP_MS);

    if (retry_after_ms > 0)
        return retry_after_ms + (gint64)((double)retry_after_ms * 0.1 * u);
    for (guint i = 0; i < retry && bound < ACR_LLM_BACKOFF_CAP_MS; i++)
        bound = MIN(bound * 2, ACR_LLM_BACKOFF_CAP_MS);
    return (gint64)((double)bound * u);
}

bool acr_llm_wait(gint64 ms, const AcrInterrupt *interrupt)
{
    gint64 end_us = g_get_monotonic_time() + ms * 1000;

    for (gint64 left_us = ms * 1000; left_us > 0; left_us = end_us - g_get_monotonic_time()) {
        if (acr_interrupted(interrupt))
            return false;
        (void)poll(
            NULL, 0,
            (int)MIN(left_us / 1000 + 1, SLICE_MS)); /* a signal cuts it short: that is wanted */
    }
    return !acr_interrupted(interrupt);
}
