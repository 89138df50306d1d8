/* Describes scripts and their executions for models. Texts are shortened, and enclosed in fences
 * and tags that the texts cannot close. */
#include "loops/attempt_work.h"

#include <string.h>

#define SHOWN_BYTES (8u * 1024) /* maximum number of bytes shown of each stream */

char *acr_fence_text(const char *language, const char *text)
{
    gsize longest = 2;
    for (const char *at = strchr(text, '`'); at; at = strchr(at + strspn(at, "`"), '`'))
        longest = MAX(longest, strspn(at, "`"));
    g_autofree char *fence = g_strnfill(longest + 1, '`');
    return g_strdup_printf("%s%s\n%s%s%s", fence, language, text,
                           g_str_has_suffix(text, "\n") || !*text ? "" : "\n", fence);
}

char *acr_stream_text(GBytes *stream)
{
    g_autofree char *text = acr_utf8_repair_bytes(stream);
    return acr_text_shorten(text, SHOWN_BYTES);
}

static void append_stream(GString *out, const char *name, GBytes *stream)
{
    g_autofree char *shown = acr_stream_text(stream), *tag = g_strdup(name);
    if (!*shown) {
        g_string_append_printf(out, "Its %s is empty.\n", name);
        return;
    }
    for (guint i = 2;; i++) {
        g_autofree char *end = g_strdup_printf("</%s>", tag);
        if (!strstr(shown, end))
            break;
        g_free(tag);
        tag = g_strdup_printf("%s_%u", name, i);
    }
    g_string_append_printf(out, "Its %s:\n<%s>\n%s%s</%s>\n", name, tag, shown,
                           g_str_has_suffix(shown, "\n") ? "" : "\n", tag);
}

char *acr_execution_text(const char *when, const AcrTestVerdict *verdict)
{
    const AcrExecuted *executed = verdict->executed;
    GString *out = g_string_new(when);
    if (executed->signal)
        g_string_append_printf(out, ", the script was ended by signal %d", executed->signal);
    else
        g_string_append_printf(out, ", the script exited with %d", executed->exit_code);
    g_string_append_printf(out, " (%s).\n", verdict->why);
    for (guint i = 0; i < verdict->doubts->len; i++)
        g_string_append_printf(out, "Note: %s.\n", (const char *)verdict->doubts->pdata[i]);
    append_stream(out, "stdout", executed->out);
    append_stream(out, "stderr", executed->err);
    return g_string_free(out, FALSE);
}

char *acr_validation_ending(const AcrExecuted *executed)
{
    if (executed->limit != ACR_LIMIT_NONE && executed->limit != ACR_LIMIT_OUTPUT)
        return g_strdup_printf("it was stopped at its limit of %s",
                               acr_sandbox_limit_words(executed->limit));
    return executed->signal ? g_strdup_printf("signal %d ended it", executed->signal)
                            : g_strdup_printf("exit code %d", executed->exit_code);
}

char *acr_validation_text(const AcrExecuted *executed)
{
    GString *text = g_string_new(NULL);
    GBytes *const streams[] = {executed->out, executed->err};
    for (guint i = 0; i < G_N_ELEMENTS(streams); i++) {
        g_autofree char *whole = acr_utf8_repair_bytes(streams[i]);
        g_autofree char *shown = acr_text_shorten(g_strchomp(whole), SHOWN_BYTES);
        g_string_append_printf(text, "%s%s", shown, *shown ? "\n" : "");
    }
    g_autofree char *ending = acr_validation_ending(executed);
    g_string_append_printf(text, "(%s)", ending);
    return g_string_free(text, FALSE);
}
