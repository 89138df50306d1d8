/* Shows models which functions of the project the reproducer calls before it fails or, if there is
 * no reproducer, which functions a failing test calls. The script runs once more under a tracer
 * (python/acr/project/inside/call_tracer.py), without and with a patch; the executor records both
 * runs, so a replay gets the same result. A trace proves nothing about a patch. */
#include "loops/attempt_work.h"

#include <string.h>

#define TRACE_BYTES (6u * 1024)

/* Runs a script under the tracer, with a patch (NULL: without one). *out (owned) has the calls,
 * one on each line; NULL if the script calls no function of the project. */
static AcrStep trace_script(AcrAttemptWork *work, const char *script, const AcrOverlay *patch,
                            char **out, GError **error)
{
    static const char *const args[] = {"-", ACR_FILE_SCRIPT, NULL};
    const AcrExecuted *executed;
    g_autoptr(AcrOverlay) overlay =
        patch ? acr_overlay_copy(patch) : acr_overlay_new(work->run->snapshot);
    g_autoptr(GBytes) bytes = g_bytes_new_static(script, strlen(script));
    if (!acr_overlay_write(overlay, ACR_FILE_SCRIPT, ACR_MODE_FILE, bytes, error))
        return ACR_STEP_FAILED;
    AcrTrial trial = {
        .overlay = overlay, .test = script, .args = args, .experiment = ACR_EXPERIMENT_CALLS};
    AcrStep step = acr_step_run_aside(work, &trial, &executed, error);
    if (step != ACR_STEP_DONE)
        return step == ACR_STEP_FAILED ? step : ACR_STEP_DONE;
    g_autofree char *text = acr_utf8_repair_bytes(executed->out);
    if (*g_strstrip(text))
        *out = acr_text_shorten(text, TRACE_BYTES);
    return ACR_STEP_DONE;
}

static bool has_reproduced(const AcrAttemptWork *work)
{
    return work->reproducer.script && work->reproducer.before.result == ACR_TEST_REPRODUCED;
}

/* Traces the reproducer. *out is also NULL if tracing is off or the issue is not reproduced. */
static AcrStep trace_calls(AcrAttemptWork *work, const AcrOverlay *patch, char **out,
                           GError **error)
{
    *out = NULL;
    return work->run->is_traced && has_reproduced(work)
               ? trace_script(work, work->reproducer.script, patch, out, error)
               : ACR_STEP_DONE;
}

/* Returns a script that runs one test of the project by its id; owned; NULL if the test runner is
 * unknown. */
static char *test_script(const char *id)
{
    g_autoptr(AcrJson) json = acr_json_new_string(id);
    g_autofree char *quoted = acr_json_print(json);
    if (strstr(id, "::"))
        return g_strdup_printf(
            "import sys\n\nimport pytest\n\nsys.exit(pytest.main([\"-q\", \"-p\", "
            "\"no:cacheprovider\", %s]))\n",
            quoted);
    return strpbrk(id, " /(") ? NULL
                              : g_strdup_printf("import unittest\n\nunittest.main(module=None, "
                                                "argv=[\"unittest\", %s])\n",
                                                quoted);
}

static AcrStep trace_test(AcrAttemptWork *work, char **out, GError **error)
{
    const AcrRun *run = work->run;
    if (!run->is_traced || !run->may.trace_tests || !work->failing || has_reproduced(work) ||
        run->verify == ACR_VERIFY_NEVER)
        return ACR_STEP_DONE;
    g_autofree char *script = test_script(work->failing);
    return script ? trace_script(work, script, NULL, out, error) : ACR_STEP_DONE;
}

AcrStep acr_step_trace(AcrAttemptWork *work, GError **error)
{
    g_autofree char *calls = NULL, *subject = NULL;
    AcrStep step = trace_calls(work, NULL, &calls, error);
    subject = calls ? g_strdup("The script") : NULL;
    if (step == ACR_STEP_DONE && !calls) {
        step = trace_test(work, &calls, error);
        subject = g_strdup_printf("The failing test %s", work->failing);
    }
    g_autofree char *shown = calls ? acr_fence_text("", calls) : NULL;
    g_free(work->calls);
    work->calls = shown
                      ? g_strconcat(subject,
                                    " was also run under a tracer. These are its calls "
                                    "of the project's functions, the latest first, with those "
                                    "below them, their arguments and results. Values are cut, and "
                                    "of repeated calls only some are shown:\n\n",
                                    shown, NULL)
                      : NULL;
    return step;
}

static char *line_key(const char *line)
{
    const char *place = g_strrstr(line, "  [");
    return place ? g_strndup(line, (gsize)(place - line)) : g_strdup(line);
}

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
