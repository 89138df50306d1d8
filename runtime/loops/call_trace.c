/*
 * Shows models which functions of the project the reproducer calls before it fails. The script runs
 * once more under a tracer (python/acr/project/inside/call_tracer.py), without and with a patch;
 * the executor records both, so a replay shows the same. A trace proves nothing about a patch.
 */
#include "loops/attempt_work.h"

#include <string.h>

#define TRACE_BYTES (6u * 1024)

/* Runs the latest script traced, with a patch (NULL: without one). *out (owned): the calls, one a
 * line; NULL: tracing is off, the script did not reproduce the issue, or it calls nothing of the
 * project. */
static AcrStep trace_calls(AcrAttemptWork *work, const AcrOverlay *patch, char **out,
                           GError **error)
{
    static const char *const args[] = {"-", ACR_FILE_SCRIPT, NULL};
    const AcrReproducer *reproducer = &work->reproducer;
    const AcrExecuted *executed;
    *out = NULL;
    if (!work->run->is_traced || !reproducer->script ||
        reproducer->before.result != ACR_TEST_REPRODUCED)
        return ACR_STEP_DONE;
    g_autoptr(AcrOverlay) overlay =
        patch ? acr_overlay_copy(patch) : acr_overlay_new(work->run->snapshot);
    g_autoptr(GBytes) script = g_bytes_new_static(reproducer->script, strlen(reproducer->script));
    if (!acr_overlay_write(overlay, ACR_FILE_SCRIPT, ACR_MODE_FILE, script, error))
        return ACR_STEP_FAILED;
    AcrTrial trial = {.overlay = overlay,
                      .test = reproducer->script,
                      .args = args,
                      .experiment = ACR_EXPERIMENT_CALLS};
    AcrStep step = acr_step_run_aside(work, &trial, &executed, error);
    if (step != ACR_STEP_DONE)
        return step == ACR_STEP_FAILED ? step : ACR_STEP_DONE;
    g_autofree char *text = acr_utf8_repair_bytes(executed->out);
    if (*g_strstrip(text))
        *out = acr_text_shorten(text, TRACE_BYTES);
    return ACR_STEP_DONE;
}

AcrStep acr_step_trace(AcrAttemptWork *work, GError **error)
{
    g_autofree char *calls = NULL;
    AcrStep step = trace_calls(work, NULL, &calls, error);
    g_autofree char *shown = calls ? acr_fence_text("", calls) : NULL;
    g_free(work->calls);
    work->calls = shown
                      ? g_strconcat("The script was also run under a tracer. These are its calls "
                                    "of the project's functions, the latest first, with those "
                                    "below them, their arguments and results. Values are cut, and "
                                    "of repeated calls only some are shown:\n\n",
                                    shown, NULL)
                      : NULL;
    return step;
}

/* A line without the function's place, because a patch may move it. */
static char *line_key(const char *line)
{
    const char *place = g_strrstr(line, "  [");
    return place ? g_strndup(line, (gsize)(place - line)) : g_strdup(line);
}

/* Appends the lines of `text` that `other` does not contain. */
static void add_own_lines(GString *out, const char *text, const char *other, char mark)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1), others = g_strsplit(other, "\n", -1);
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (char **at = others; *at; at++)
        g_hash_table_add(known, line_key(*at));
    for (char **at = lines; *at; at++) {
        g_autofree char *key = line_key(*at);
        if (!g_hash_table_contains(known, key))
            g_string_append_printf(out, "%c %s\n", mark, *at);
    }
}

AcrStep acr_step_compare_traces(AcrAttemptWork *work, char **out, GError **error)
{
    g_autofree char *before = NULL, *after = NULL;
    *out = g_strdup("");
    AcrStep step = trace_calls(work, NULL, &before, error);
    if (step == ACR_STEP_DONE)
        step = trace_calls(work, work->writer.latest->overlay, &after, error);
    if (step != ACR_STEP_DONE || !before || !after)
        return step;
    g_autoptr(GString) changed = g_string_new(NULL);
    add_own_lines(changed, before, after, '-');
    add_own_lines(changed, after, before, '+');
    g_autofree char *shown = acr_fence_text("", changed->str);
    g_free(*out);
    *out = changed->len
               ? g_strconcat("\nThe script's calls of the project's functions that differ, without "
                             "the patch (-) and with it (+):\n\n",
                             shown, "\n", NULL)
               : g_strdup("\nThe script's calls of the project's functions, their arguments and "
                          "their results are the same without and with the patch.\n");
    return ACR_STEP_DONE;
}
