/* Prints the result of a run, for all verbs that perform or replay a run. */
#include <string.h>

#include "layout/layout.h"
#include "loops/dead_end.h"
#include "verbs/verbs_private.h"

/* Adds the number of calls in each service tier, and the cost at the standard tier. */
static void add_tiers(GString *line, const AcrCostSum *cost)
{
    static const char *const names[] = {"flex", "priority", "batch"};
    const guint64 calls[] = {cost->flex_calls, cost->priority_calls, cost->batch_calls};
    for (gsize i = 0; i < G_N_ELEMENTS(calls); i++)
        if (calls[i] > 0)
            g_string_append_printf(line, ", %" G_GUINT64_FORMAT " at the %s tier", calls[i],
                                   names[i]);
    if (calls[0] + calls[1] + calls[2] > 0 && cost->standard_pico > 0)
        g_string_append_printf(line, " (%.6f USD at the standard tier)",
                               (double)acr_microusd(cost->standard_pico) / 1e6);
}

/* Describes the usage of the run in one line; owned; NULL if the usage is unknown. `is_cut`: an
 * error ended a run that may have sent a call, which the sum of the answers does not show. */
static char *cost_line(const AcrCostSum *cost, bool is_cut)
{
    gint64 sent = acr_usage_sent(&cost->usage);
    if (sent <= 0 && cost->usage.output <= 0 && cost->charged_pico <= 0 && cost->retries == 0)
        return NULL;
    double known = (double)acr_microusd(MAX(cost->usage.cost_pico, 0)) / 1e6,
           unanswered = (double)acr_microusd(cost->unanswered_pico) / 1e6;
    if (cost->calls == 0 && cost->unanswered_pico > 0)
        return g_strdup_printf("no answer; %.6f USD charged, as calls may be billed", unanswered);
    GString *line = g_string_new(NULL);
    g_string_append_printf(line,
                           "%" G_GUINT64_FORMAT " %s, %" G_GINT64_FORMAT
                           " tokens in (%.0f%% cached), %" G_GINT64_FORMAT " out, ",
                           cost->calls, cost->calls == 1 ? "call" : "calls", MAX(sent, 0),
                           acr_cost_cached_share(cost) * 100, cost->usage.output);
    if (cost->unknown_cost_calls == cost->calls) /* counts without a cost: the price is unknown */
        g_string_append(line, sent > 0 && cost->usage.output > 0
                                  ? "cost unknown"
                                  : "cost unknown (no plausible token counts)");
    else if (cost->unknown_cost_calls > 0)
        g_string_append_printf(line, "%.6f USD and %" G_GUINT64_FORMAT " calls of unknown cost",
                               known, cost->unknown_cost_calls);
    else if (known > 0 || cost->charged_pico > 0)
        g_string_append_printf(line, "%.6f USD", known);
    else
        g_string_append(line, "free");
    add_tiers(line, cost);
    if (cost->unanswered_pico > 0 || (cost->unknown_cost_calls > 0 && cost->charged_pico > 0))
        g_string_append_printf(line, ", %.6f USD charged",
                               (double)acr_microusd(cost->charged_pico) / 1e6);
    if (cost->unanswered_pico > 0)
        g_string_append_printf(line, " (%.6f USD of it for calls without an answer)", unanswered);
    g_string_append_printf(line, ", %.1f s between calls, %" G_GUINT64_FORMAT " %s",
                           (double)cost->wait_ms / 1000, cost->retries,
                           cost->retries == 1 ? "retry" : "retries");
    if (cost->calls > 0 && cost->replayed_calls == cost->calls && !is_cut)
        g_string_append(line, " (from the recorded run; nothing was sent)");
    else if (cost->replayed_calls > 0)
        g_string_append_printf(line, "; %" G_GUINT64_FORMAT " of the calls replayed",
                               cost->replayed_calls);
    return g_string_free(line, FALSE);
}

static void say_line(AcrConsole *console, AcrTone tone, const char *what, const char *why)
{
    g_autofree char *line = acr_one_line(why);
    acr_console_say(console, tone, "%s: %s%s", g_get_prgname(), what, line);
}

/* Advice for a run without a patch, by the status of its answers. */
static const char *const hints[] = {
    [ACR_NO_PATCH] = "another model, or more --attempts",
    [ACR_RAW_PATCH_BUT_UNPARSED] = "another model, or more --tries",
    [ACR_RAW_PATCH_BUT_UNMATCHED] = "more --tries, or another model",
    [ACR_MATCHED_BUT_BREAKS_SYNTAX] = "more --tries, or another model",
    [ACR_MATCHED_BUT_EMPTY_DIFF] = "more --attempts, or another model",
    [ACR_MATCHED_BUT_EMPTY_ORIGIN] = "more --tries, or another model",
    [ACR_APPLICABLE_PATCH] = "more --attempts",
};

/* Says in a sentence why a run ended without a patch; owned. */
static char *missing_words(const AcrRunResult *result)
{
    const AcrCostSum *cost = &result->cost;
    const char *why = result->found.why ? result->found.why : "";
    if (cost->overflows > 0 && cost->context > 0)
        return g_strdup_printf("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                               " %s did not fit the context of %" G_GINT64_FORMAT
                               " tokens; try a larger --context, or a model with a larger one",
                               cost->overflows, cost->calls,
                               cost->calls == 1 ? "request" : "requests", cost->context);
    AcrExtractStatus status = result->found.status;
    const char *what = status == ACR_APPLICABLE_PATCH ? "acr-host did not select the patch"
                                                      : acr_extract_status_words(status);
    if (status == ACR_RAW_PATCH_BUT_UNMATCHED && *why)
        what = ""; /* the reason names the code and the file */
    return g_strdup_printf("%s%s%s; try %s", what, *what && *why ? ": " : "", why,
                           acr_dead_end_is_repetition(why) ? "another model" : hints[status]);
}

/* Prints the last line for a run without a result. */
static void say_missing(const AcrRunSpec *spec, const AcrRunResult *result, AcrConsole *console)
{
    g_autofree char *words = result->is_reproduction
                                 ? g_strdup(result->found.why ? result->found.why
                                                              : "no script was written")
                                 : missing_words(result),
                    *place = spec->verb == ACR_FOR_REPLAY
                                 ? g_strdup(result->is_reproduction ? "" : "; as recorded")
                             : result->is_reproduction ? g_strdup("")
                                                       : g_strdup_printf("; see %s", spec->out),
                    *line = g_strconcat(words, place, NULL);
    say_line(console, ACR_TONE_BAD,
             result->is_reproduction ? "not reproduced: " : "no patch: ", line);
}

/* Prints the verdict on a patch and its reason. Prints nothing if the user did not want code to be
 * run. */
static void say_verdict(const AcrRunSpec *spec, const AcrRunResult *result, AcrConsole *console)
{
    static const char *const words[] = {"verified: yes", "validated: yes", "verified: no",
                                        "verified: no"};
    const AcrTestComparison *tests = result->found.tests;
    bool is_good = result->verdict <= ACR_VERDICT_VALIDATED,
         is_broken = tests && acr_test_comparison_regressions(tests) > 0;
    g_autofree char *why =
        g_strdup_printf("%s (%s)", words[result->verdict],
                        result->found.why ? result->found.why : "nothing was run");
    if (tests) {
        g_autofree char *line = acr_test_comparison_line(tests);
        say_line(console, is_broken ? ACR_TONE_BAD : ACR_TONE_PLAIN, "tests: ", line);
    }
    if (spec->verify != ACR_VERIFY_NEVER || spec->validate || tests ||
        result->verdict == ACR_VERDICT_REFUSED)
        say_line(console, is_good ? ACR_TONE_GOOD : ACR_TONE_BAD, "", why);
    if (result->verdict == ACR_VERDICT_REFUSED && spec->apply)
        say_line(console, ACR_TONE_BAD, "", "the patch is not applied");
}

static void say_result(const AcrRunSpec *spec, const AcrRunResult *result, bool is_over,
                       AcrConsole *console)
{
    bool is_replay = spec->verb == ACR_FOR_REPLAY;
    if (result->found.script && result->found.why)
        say_line(console, ACR_TONE_BAD, "review it before you use it: ", result->found.why);
    else if (result->found.diff && (!is_replay || result->verdict == ACR_VERDICT_REFUSED))
        say_verdict(spec, result, console);
    else if (!result->found.script && !result->found.diff && is_over)
        say_missing(spec, result, console);
}

/* Describes the result for programs, as in result.json and with the run folder if the run has
 * begun; owned. */
static AcrJson *describe_run_result(const AcrRunSpec *spec, const AcrRunResult *result)
{
    AcrJson *json = acr_run_result_to_json(result);
    const char *out = spec->verb == ACR_FOR_REPLAY ? spec->arguments[0] : spec->out;
    g_autofree char *meta = out ? g_build_filename(out, ACR_FILE_META, NULL) : NULL,
                    *folder = out ? acr_path_real(out) : NULL;
    if (folder && g_file_test(meta, G_FILE_TEST_EXISTS))
        acr_json_set(json, "folder", acr_json_new_bytes(folder, strlen(folder)));
    return json;
}

/* Formats the table of experiments; if `is_long`, with the changes and expectations; owned. */
static char *experiments_text(const AcrRunResult *result, bool is_long)
{
    GString *text = g_string_new(NULL);
    const AcrJson *table = acr_json_get(result->found.experiments, "table");
    for (const AcrJson *row = acr_json_first(table); row; row = acr_json_next(row)) {
        g_autofree char *happened = acr_one_line(acr_json_get_string(row, "happened")),
                        *changed = acr_one_line(acr_json_get_string(row, "changed"));
        /* the change is described in the same words as in python/acr/experiments/verdict.py */
        static const char without[] = ", without the patch";
        g_autofree char *name =
            g_strconcat(acr_json_get_string(row, "experiment"),
                        g_str_has_suffix(changed, without) ? without : NULL, NULL);
        g_string_append_printf(
            text, "%-12s  %s%s\n", name,
            acr_json_get_bool(row, "agrees", true) ? "" : "DISAGREES: ", happened);
        if (is_long && *changed)
            g_string_append_printf(text, "%-12s  changed: %s; expected: %s\n", "", changed,
                                   acr_json_get_string(row, "expected"));
    }
    return g_string_free(text, FALSE);
}

static AcrOut print_patch_or_script(const AcrRunSpec *spec, const AcrRunResult *result)
{
    g_autoptr(AcrJson) json = spec->json ? describe_run_result(spec, result) : NULL;
    if (json)
        return acr_out_json(json);
    g_autofree char *table =
        spec->verb == ACR_FOR_VERIFY ? experiments_text(result, spec->verbose) : NULL;
    if (table)
        return acr_out_text(table);
    bool is_shown = result->exit_code == ACR_EXIT_OK || result->exit_code == ACR_EXIT_CEILING;
    if (!is_shown || result->verdict == ACR_VERDICT_REFUSED)
        return ACR_OUT_WRITTEN; /* the results are in the run folder */
    g_autoptr(GBytes) script = result->found.script
                                   ? g_bytes_new(result->found.script, strlen(result->found.script))
                                   : NULL;
    return script ? acr_out_bytes(script) : acr_out_diff(result->found.diff);
}

/* ---- The changed files, and the next steps -------- */

#define MAX_SHOWN_FILES 10

static void log_files(const char *what, GBytes *diff, AcrConsole *console)
{
    g_autoptr(GPtrArray) files = acr_patch_files(diff);
    for (guint i = 0; i < MIN(files->len, MAX_SHOWN_FILES); i++)
        acr_console_log(console, "%s: %s", what, (const char *)files->pdata[i]);
    if (files->len > MAX_SHOWN_FILES)
        acr_console_log(console, "%s: and %u more files", what, files->len - MAX_SHOWN_FILES);
}

static void log_next(const AcrHost *host, const AcrRunSpec *spec, const char *patch,
                     AcrConsole *console)
{
    g_autofree char *run = acr_shell_word(spec->out), *repo = acr_shell_word(spec->repo),
                    *real = acr_path_real(patch), *word = acr_shell_word(real ? real : patch),
                    *git = g_strdup_printf("git -C %s apply %s", repo, word),
                    *replay = g_strconcat("acr-host replay ", run, NULL),
                    *again =
                        spec->resume
                            ? g_strdup_printf("the same command with --apply and --out %s", run)
                            : g_strconcat(host->command ? host->command : "the same command with",
                                          " --apply", NULL);
    acr_console_command(console, "next", git);
    if (!spec->rev && !spec->apply)
        acr_console_command(console, "or", again);
    acr_console_command(console, "or", replay);
}

/* Whether an error of a run means that --apply could not write the patch. */
static bool fails_to_apply(const AcrRunSpec *spec, const AcrRunResult *result)
{
    return spec->apply && result->found.diff && result->exit_code != ACR_EXIT_CEILING;
}

/* Prints which files changed, where the patch is, and the next steps. */
static void log_summary(const AcrHost *host, const AcrRunSpec *spec, const AcrRunResult *result,
                        bool is_over, AcrConsole *console)
{
    bool is_refused = result->verdict == ACR_VERDICT_REFUSED;
    if (!spec->out) /* a replay has no run folder of its own */
        return;
    if (result->was_finished)
        acr_console_log(console, "nothing was run: this is the saved result of '%s'", spec->out);
    if (result->found.script) {
        acr_console_log(console, "script: %s/%s", spec->out, ACR_FILE_SCRIPT);
    } else if (result->found.diff) {
        bool is_applied = spec->apply && is_over && !is_refused;
        g_autofree char *patch = g_build_filename(spec->out, ACR_FILE_PATCH, NULL);
        log_files(!is_applied           ? "changes"
                  : result->was_applied ? "already applied"
                                        : "written",
                  result->found.diff, console);
        acr_console_log(console, "%s: %s", is_refused ? "refused patch" : "patch", patch);
        if (!is_refused && !is_applied && spec->verb != ACR_FOR_VERIFY &&
            (is_over || !fails_to_apply(spec, result)))
            log_next(host, spec, patch, console);
    }
}

static void tell_result(const AcrRunSpec *spec, const AcrRunResult *result, const GError *error,
                        AcrConsole *console)
{
    g_autoptr(AcrJson) json = describe_run_result(spec, result);
    acr_progress_tell(acr_console_progress(console),
                      (AcrProgressEvent){.kind = ACR_PROGRESS_RESULT,
                                         .text = error ? error->message : NULL,
                                         .result = json});
}

/* Returns `command` with the placeholder HIGHER as the value of the option `limit`; owned. */
static char *raise_limit(const char *command, const char *limit)
{
    g_auto(GStrv) words = NULL;
    if (!g_shell_parse_argv(command, NULL, &words, NULL))
        return g_strdup(command);
    GString *line = g_string_new(NULL);
    for (guint i = 0; words[i]; i++) {
        bool is_value = i > 0 && strcmp(words[i - 1], limit) == 0;
        bool has_value = g_str_has_prefix(words[i], limit) && words[i][strlen(limit)] == '=';
        g_autofree char *word = is_value    ? g_strdup("HIGHER")
                                : has_value ? g_strconcat(limit, "=HIGHER", NULL)
                                            : acr_shell_word(words[i]);
        g_string_append_printf(line, "%s%s", i ? " " : "", word);
    }
    return g_string_free(line, FALSE);
}

/* Prints the command that resumes the run, and which limit to raise for it. */
static void say_how_to_resume(const AcrHost *host, const AcrRunResult *result, const GError *error,
                              AcrConsole *console)
{
    static const char *const limits[] = {"--max-cost", "--max-tokens-total", "--max-time"};
    const char *limit = NULL;
    for (gsize i = 0; result->exit_code == ACR_EXIT_CEILING && i < G_N_ELEMENTS(limits); i++)
        if (!limit && strstr(acr_message_of(error, host->interrupt), limits[i]))
            limit = limits[i];
    const char *when = result->exit_code == ACR_EXIT_ENVIRONMENT ? "once the cause is fixed, " : "";
    g_autofree char *label =
        g_strconcat(when, "to resume", limit ? ", with a higher " : "", limit, NULL);
    g_autofree char *raised =
        host->command && limit ? raise_limit(host->command, limit) : g_strdup(host->command);
    acr_console_command(console, label, raised ? raised : "rerun the same command");
}

int acr_run_result_print(AcrHost *host, const AcrRunSpec *spec, const AcrRunResult *result,
                         const GError *error, AcrConsole *console)
{
    bool is_cut = error && spec->verb != ACR_FOR_REPLAY;
    g_autofree char *cost =
        result->was_finished || spec->quiet ? NULL : cost_line(&result->cost, is_cut);
    acr_console_end(console);
    tell_result(spec, result, error, console);
    AcrOut out = acr_events_are_output(spec->events) /* the last event has the result */
                     ? ACR_OUT_WRITTEN
                     : print_patch_or_script(spec, result);
    bool is_told = error && fails_to_apply(spec, result);
    if (is_told)
        acr_verb_fail(host, error);
    log_summary(host, spec, result, !error, console);
    if (cost)
        acr_console_say(console, ACR_TONE_PLAIN, "%s: %s", g_get_prgname(), cost);
    if (!error || result->exit_code == ACR_EXIT_CEILING)
        say_result(spec, result, !error, console);
    /* the same command would repeat a mistake in it */
    bool may_resume =
        error && spec->out && !result->was_finished && result->exit_code != ACR_EXIT_USAGE;
    g_autofree char *meta = may_resume ? g_build_filename(spec->out, ACR_FILE_META, NULL) : NULL;
    if (meta && g_file_test(meta, G_FILE_TEST_EXISTS)) /* meta.json exists: the run had begun */
        say_how_to_resume(host, result, error, console);
    if (error && !is_told)
        acr_verb_fail(host, error);
    g_clear_pointer(&host->failure, g_free); /* the result contains it */
    return acr_out_exit(out, result->exit_code);
}
