/* Validates a patch by the user's command. Exit code 0 is not enough, because a patch may keep
 * tests from running, skip them or mark them as expected failures. If the command prints a test
 * runner's summary without the patch, the summary with the patch must count at least as many tests
 * that passed or failed. */
#include "loops/attempt_work.h"

#include <string.h>

/* maximum number of lines shown of the output of a command that cannot run */
#define SHOWN_LINES 10u
#define SHOWN_WHY 300u /* maximum size of the reason of a refusal */

/* ---- Tests in a summary ---------------------------------------------------------------------- */

/* Returns the number of tests that passed or failed in "3 passed, 1 skipped"; -1 if the line has no
 * counts. */
static gint64 count_words(const char *line)
{
    static const char *const all[] = {"skipped", "xfailed", "xpassed", "expected"};
    static const char *const run[] = {"passed", "failed", "error", "exception"};
    gint64 sum = -1;
    g_auto(GStrv) parts = g_strsplit(line, ",", -1);
    for (char **at = parts; *at; at++) {
        char *word;
        gint64 number = g_ascii_strtoll(*at, &word, 10);
        g_strchug(word);
        for (guint i = 0; i < G_N_ELEMENTS(run); i++)
            if (g_str_has_prefix(word, run[i]))
                sum = MAX(sum, 0) + number;
        for (guint i = 0; i < G_N_ELEMENTS(all); i++)
            if (g_str_has_prefix(word, all[i]))
                sum = MAX(sum, 0);
    }
    return sum;
}

/* Returns the number of tests that neither passed nor failed in unittest's last line, "OK
 * (skipped=1, expected failures=2)"; 0 for other lines. */
static gint64 count_others(const char *line)
{
    static const char *const others[] = {"skipped=", "expected failures=", "unexpected successes="};
    gint64 sum = 0;
    if (!g_str_has_prefix(line, "OK (") && !g_str_has_prefix(line, "FAILED ("))
        return 0;
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        const char *at = strstr(line, others[i]);
        sum += at ? g_ascii_strtoll(at + strlen(others[i]), NULL, 10) : 0;
    }
    return sum;
}

/* Returns the number of tests that passed or failed, if the line looks like the summary of pytest
 * ("=== 3 passed, 1 failed in 0.2s"), of unittest and similar runners ("Ran 3 tests in 1s"), or of
 * sympy ("tests finished: 3 passed, …"); otherwise -1. */
static gint64 count_line(const char *line)
{
    static const char finished[] = "tests finished: ";
    const char *in = strstr(line, " in ");
    line += strspn(line, "= ");
    if (g_str_has_prefix(line, finished))
        line += strlen(finished);
    if (g_str_has_prefix(line, "Ran ") && strstr(line, " test"))
        return g_ascii_strtoll(line + strlen("Ran "), NULL, 10);
    return in && g_ascii_isdigit(in[4]) && g_ascii_isdigit(*line) ? count_words(line) : -1;
}

gint64 acr_tests_counted(GBytes *output)
{
    g_autofree char *text = acr_utf8_repair_bytes(output);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    gint64 others = 0;
    for (guint i = g_strv_length(lines); i > 0; i--) {
        gint64 count = count_line(lines[i - 1]);
        if (count >= 0)
            return MAX(count - others, 0);
        others += count_others(lines[i - 1]);
    }
    return -1;
}

static gint64 tests_of(const AcrExecuted *executed)
{
    return MAX(acr_tests_counted(executed->out), acr_tests_counted(executed->err));
}

/* ---- The validation -------------------------------------------------------------------------- */

/* Says why the command's success with the patch does not count; owned; NULL if it counts. */
static char *find_fault(const AcrExecuted *without, const AcrExecuted *with)
{
    gint64 before = tests_of(without), after = tests_of(with);
    if (after >= before)
        return NULL;
    g_autofree char *now = after < 0 ? g_strdup("printed no summary")
                                     : g_strdup_printf("ran %" G_GINT64_FORMAT, after);
    return g_strdup_printf("without the patch the command ran %" G_GINT64_FORMAT
                           " tests, with the patch it %s",
                           before, now);
}

/* Refuses a patch because of `fault` (taken), or, if NULL, because the command failed. */
static AcrStep refuse_validated(AcrAttemptWork *work, AcrCandidate *candidate,
                                const AcrExecuted *executed, char *fault)
{
    g_autofree char *output = acr_validation_text(executed), *own_fault = fault;
    g_autofree char *message = g_strjoin(fault ? "\n" : NULL, output, fault, NULL);
    g_autofree char *err = acr_bytes_last_line(executed->err),
                    *last = *err ? g_strdup(err) : acr_bytes_last_line(executed->out),
                    *ending = acr_validation_ending(executed),
                    *failed = *last ? g_strconcat(ending, ": ", last, NULL) : g_strdup(ending);
    g_autofree char *shown = acr_text_shorten(fault ? fault : failed, SHOWN_WHY);
    return acr_step_refuse(work, candidate,
                           g_strconcat("validation refused the patch: ", shown, NULL), message);
}

/* Returns whether no test ran: the shell did not find the command (127) or could not execute it
 * (126); pytest got wrong arguments or found no file (4), or found no test (5); or Python did not
 * find the module or file. */
static bool has_not_run(const char *command, const AcrExecuted *executed)
{
    int code = executed->limit == ACR_LIMIT_NONE && !executed->signal ? executed->exit_code : 0;
    bool is_pytest = strstr(command, "pytest") || strstr(command, "py.test");
    g_autofree char *err = acr_utf8_repair_bytes(executed->err);
    err[strcspn(err, "\n")] = '\0';
    bool is_missing = strstr(err, "python") &&
                      (strstr(err, ": No module named ") || strstr(err, ": can't open file "));
    return code == 126 || code == 127 || (is_pytest && (code == 4 || code == 5)) ||
           (code && is_missing);
}

/* Stops the run, because no patch can repair a command that cannot run. */
static AcrStep stop_unrun(const AcrTrial *trial, const AcrExecuted *executed, GError **error)
{
    g_autofree char *output = acr_validation_text(executed);
    g_auto(GStrv) lines = g_strsplit(output, "\n", -1);
    guint n = g_strv_length(lines);
    g_autofree char *last = g_strjoinv("\n", lines + (n > SHOWN_LINES ? n - SHOWN_LINES : 0));
    g_set_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_VALIDATION,
                "the --validate command '%s' cannot be run, with or without the patch; correct the "
                "command:\n%s",
                trial->command, last);
    return ACR_STEP_FAILED;
}

/* Runs the checks of the extensions. They come before the command, because it takes longer. */
static AcrStep ask_checks(AcrAttemptWork *work, AcrCandidate *candidate, GError **error)
{
    const AcrRun *run = work->run;
    g_autofree char *why = NULL;
    if (!acr_extensions_check(run->extensions, run->search, run->snapshot, candidate->overlay,
                              candidate->diff, &why, error))
        return ACR_STEP_FAILED;
    if (!why)
        return ACR_STEP_DONE;
    g_autofree char *line = acr_text_quote(why, 200);
    acr_loops_note(run, "an extension refused patch %u: %s", candidate->number, line);
    return acr_step_refuse(work, candidate,
                           g_strdup_printf("an extension refused the patch: %s", line), why);
}

AcrStep acr_step_validate(AcrAttemptWork *work, AcrCandidate *candidate, GError **error)
{
    AcrTrial trial = {.overlay = candidate->overlay, .command = work->run->validate};
    const AcrExecuted *with, *without;
    AcrStep step = ask_checks(work, candidate, error);
    if (step != ACR_STEP_DONE)
        return step;
    if (!trial.command) {
        candidate->is_validated = true;
        return ACR_STEP_DONE;
    }
    g_autofree char *what = g_strdup_printf("patch %u is not validated", candidate->number);
    step = acr_step_run(work, &trial, what, &with, error);
    if (step != ACR_STEP_DONE)
        return step;
    bool passed = with->exit_code == 0 && with->limit != ACR_LIMIT_WALL,
         has_run = passed || !has_not_run(trial.command, with);
    char *fault = NULL;
    if (passed || !has_run) {
        trial.overlay = NULL;
        step = acr_step_run(work, &trial, what, &without, error);
        if (step != ACR_STEP_DONE)
            return step;
        if (!has_run && has_not_run(trial.command, without))
            return stop_unrun(&trial, without, error);
        fault = passed ? find_fault(without, with) : NULL;
    }
    if (passed && !fault) {
        g_clear_pointer(&candidate->doubt, g_free);
        if (!acr_proof_is_barred(work, candidate->overlay, &candidate->doubt, error))
            return ACR_STEP_FAILED;
    }
    candidate->is_validated = true;
    acr_loops_note(work->run, "validation %s patch %u", passed && !fault ? "accepted" : "refused",
                   candidate->number);
    return passed && !fault ? ACR_STEP_DONE : refuse_validated(work, candidate, with, fault);
}
