/*
 * What the drivers share: where artifacts go, how progress is told, and the check for an interrupt
 * between steps. Also the words of --verify.
 */
#include "loops/loops_private.h"

#include <stdarg.h>
#include <string.h>

G_DEFINE_QUARK(acr - loops - error - quark, acr_loops_error)

static const char *const verify_names[] = {"auto", "always", "never"};

const char *acr_verify_name(AcrVerify verify)
{
    g_assert((gsize)verify < G_N_ELEMENTS(verify_names));
    return verify_names[verify];
}

bool acr_verify_from_name(const char *name, AcrVerify *out)
{
    for (guint i = 0; i < G_N_ELEMENTS(verify_names); i++) {
        if (g_strcmp0(name, verify_names[i]) == 0) {
            *out = (AcrVerify)i;
            return true;
        }
    }
    return false;
}

static char *artifact_path(guint attempt, const char *format, va_list args)
{
    g_autofree char *name = g_strdup_vprintf(format, args);
    return g_strdup_printf("attempt_%u/%s", attempt, name);
}

bool acr_loops_write(const AcrRun *run, guint attempt, const void *data, gsize len, GError **error,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *path = artifact_path(attempt, format, args);
    va_end(args);
    return run->artifacts->write(run->artifacts->ctx, path, data, len, error);
}

bool acr_loops_write_json(const AcrRun *run, guint attempt, AcrJson *json, GError **error,
                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *path = artifact_path(attempt, format, args);
    va_end(args);
    g_autoptr(AcrJson) owned = json;
    g_autofree char *text = acr_json_print_pretty(owned);
    return run->artifacts->write(run->artifacts->ctx, path, text, strlen(text), error);
}

void acr_loops_stage(const AcrRun *run, guint attempt, const char *stage, guint number)
{
    if (run->progress && run->progress->stage)
        run->progress->stage(run->progress->ctx, attempt, stage, number);
}

void acr_loops_note(const AcrRun *run, const char *format, ...)
{
    if (!run->progress || !run->progress->note)
        return;
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    run->progress->note(run->progress->ctx, line);
}

char *acr_loops_fence(const char *language, const char *text)
{
    gsize longest = 2;
    for (const char *at = strchr(text, '`'); at; at = strchr(at + strspn(at, "`"), '`'))
        longest = MAX(longest, strspn(at, "`"));
    g_autofree char *fence = g_strnfill(longest + 1, '`');
    return g_strdup_printf("%s%s\n%s%s%s", fence, language, text,
                           g_str_has_suffix(text, "\n") || !*text ? "" : "\n", fence);
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
    g_set_error_literal(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING, reason->message);
    return false;
}

bool acr_loops_go_on(const AcrRun *run, GError **error)
{
    if (acr_interrupted(run->interrupt)) {
        g_set_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_INTERRUPTED, "interrupted");
        return false;
    }
    return acr_loops_in_time(run->budget, error);
}
