/* Helpers of the drivers: they write files to the run folder, report stages and notes to the user,
 * and check for an interrupt between steps. */
#include "loops/loops_private.h"

#include <stdarg.h>
#include <string.h>

char *acr_loops_folder(guint attempt)
{
    return attempt == ACR_GIVEN_ATTEMPT ? g_strdup(ACR_DIR_GIVEN)
                                        : g_strdup_printf(ACR_DIR_ATTEMPT, attempt);
}

static bool write_artifact(const AcrRun *run, guint attempt, const void *data, gsize len,
                           GError **error, const char *format, va_list args)
{
    g_autofree char *name = g_strdup_vprintf(format, args);
    g_autofree char *folder = acr_loops_folder(attempt);
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return run->artifacts->write(run->artifacts->ctx, path, data, len, error);
}

bool acr_loops_write(const AcrRun *run, guint attempt, const void *data, gsize len, GError **error,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool ok = write_artifact(run, attempt, data, len, error, format, args);
    va_end(args);
    return ok;
}

bool acr_loops_write_json(const AcrRun *run, guint attempt, AcrJson *json, GError **error,
                          const char *format, ...)
{
    va_list args;
    g_autoptr(AcrJson) owned = json;
    g_autofree char *text = acr_json_print_pretty(owned);
    va_start(args, format);
    bool ok = write_artifact(run, attempt, text, strlen(text), error, format, args);
    va_end(args);
    return ok;
}

void acr_loops_note_overflow(const AcrRun *run, const char *what)
{
    acr_loops_note(run, "the context overflowed, %s", what ? what : "nothing is left to shorten");
}

bool acr_loops_in_time(const AcrBudget *budget, GError **error)
{
    g_autoptr(GError) reason = NULL;
    if (!budget || acr_budget_is_in_time(budget, &reason))
        return true;
    return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING, "%s", reason->message);
}

bool acr_loops_go_on(const AcrRun *run, GError **error)
{
    if (!acr_interrupted(run->interrupt))
        return true;
    return acr_set_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_INTERRUPTED, "interrupted");
}
