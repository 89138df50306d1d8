/*
 * The result of a run, printed in one place for all verbs that make or repeat one.
 */
#include "verbs/verbs_private.h"

/* USD with six digits behind the point. */
static char *usd(gint64 pico)
{
    gint64 micro = acr_microusd(MAX(pico, 0));
    return g_strdup_printf("%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT, micro / 1000000,
                           micro % 1000000);
}

/* What was used, in one line; owned; NULL: nothing is known of. */
static char *cost_line(const AcrCostSum *cost)
{
    gint64 sent = acr_usage_sent(&cost->usage);
    if (sent <= 0 && cost->usage.output <= 0 && cost->charged_pico <= 0 && cost->retries == 0)
        return NULL;
    g_autofree char *known = usd(cost->usage.cost_pico);
    GString *line = g_string_new(NULL);
    g_string_append_printf(line,
                           "%" G_GUINT64_FORMAT " calls, %" G_GINT64_FORMAT
                           " tokens in (%.0f%% cached), %" G_GINT64_FORMAT " out, ",
                           cost->calls, MAX(sent, 0), acr_cost_cached_share(cost) * 100,
                           cost->usage.output);
    if (cost->unknown_cost_calls == cost->calls)
        g_string_append(line, "cost unknown");
    else if (cost->unknown_cost_calls > 0)
        g_string_append_printf(line, "%s USD and %" G_GUINT64_FORMAT " calls of unknown cost",
                               known, cost->unknown_cost_calls);
    else
        g_string_append_printf(line, "%s USD", known);
    g_string_append_printf(line, ", %.1f s waited, %" G_GUINT64_FORMAT " retries",
                           (double)cost->wait_ms / 1000, cost->retries);
    if (cost->replayed_calls == cost->calls)
        g_string_append(line, " (from the recorded run; nothing was sent)");
    else if (cost->replayed_calls > 0)
        g_string_append_printf(line, "; %" G_GUINT64_FORMAT " of the calls replayed",
                               cost->replayed_calls);
    return g_string_free(line, FALSE);
}

static void say_line(AcrConsole *console, const char *what, const char *why)
{
    g_autofree char *line = acr_one_line(why);
    acr_console_say(console, "%s: %s%s", g_get_prgname(), what, line);
}

/* The last line of a run without a result. */
static void say_missing(const AcrRunSpec *spec, const AcrRunResult *result, AcrConsole *console)
{
    bool is_replay = spec->verb == ACR_FOR_REPLAY;
    g_autofree char *place =
        is_replay ? g_strdup(", as recorded") : g_strdup_printf("; see %s", spec->out);
    const char *reason = result->found.why ? result->found.why : "";
    g_autofree char *why =
        result->is_reproduction
            ? g_strconcat(*reason ? reason : "no script was written", is_replay ? place : "", NULL)
            : g_strdup_printf("(%s%s%s)%s", acr_extract_status_name(result->found.status),
                              *reason ? ": " : "", reason, place);
    say_line(console, result->is_reproduction ? "not reproduced: " : "no patch ", why);
}

/* Whether the patch was proved by running code, or why not; nothing where none was to be run. */
static void say_verdict(const AcrRunSpec *spec, const AcrRunResult *result, AcrConsole *console)
{
    bool is_proved = result->verdict == ACR_VERDICT_VERIFIED;
    g_autofree char *why =
        g_strdup_printf("%s (%s)", is_proved ? "yes" : "no",
                        result->found.why ? result->found.why : "nothing was run");
    if (spec->verify != ACR_VERIFY_NEVER || spec->validate)
        say_line(console, "verified: ", why);
    if (result->verdict == ACR_VERDICT_REFUSED && spec->apply)
        say_line(console, "not applied: ",
                 result->found.proof == ACR_PROOF_REFUSED ? "validation rejected the patch"
                                                          : "review rejected the patch");
}

static void say_result(const AcrRunSpec *spec, const AcrRunResult *result, bool is_over,
                       AcrConsole *console)
{
    if (result->found.script && result->found.why)
        say_line(console, "look at it before you trust it: ", result->found.why);
    else if (result->found.diff && spec->verb != ACR_FOR_REPLAY)
        say_verdict(spec, result, console);
    else if (result->verdict == ACR_VERDICT_REFUSED)
        say_line(console, "the patch was rejected, as recorded: ",
                 result->found.why ? result->found.why : "");
    else if (!result->found.script && !result->found.diff && is_over)
        say_missing(spec, result, console);
}

static AcrOut print_result(const AcrRunSpec *spec, const AcrRunResult *result)
{
    if (spec->json) {
        g_autoptr(AcrJson) json = acr_run_result_to_json(result);
        return acr_out_json(json);
    }
    bool is_shown = result->exit_code == ACR_EXIT_OK || result->exit_code == ACR_EXIT_CEILING;
    if (!is_shown || result->verdict == ACR_VERDICT_REFUSED)
        return ACR_OUT_WRITTEN; /* what there is, is in the run folder */
    return result->found.script ? acr_out_text(result->found.script)
                                : acr_out_bytes(result->found.diff);
}

int acr_report(AcrHost *host, const AcrRunSpec *spec, const AcrRunResult *result,
               const GError *error, AcrConsole *console)
{
    g_autofree char *cost = result->was_finished ? NULL : cost_line(&result->cost);
    if (cost)
        acr_console_say(console, "%s: %s", g_get_prgname(), cost);
    if (!error || result->exit_code == ACR_EXIT_CEILING)
        say_result(spec, result, !error, console);
    AcrOut out = print_result(spec, result);
    if (error) {
        acr_console_end(console);
        acr_verb_fail(host, error);
    }
    return acr_out_exit(out, result->exit_code);
}
