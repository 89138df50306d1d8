/* acr-host run: fixes one issue of one repository. Prints the patch on stdout, and saves it in the
 * run folder. */
#include <string.h>

#include "verbs/test_place.h"

/* Returns whether to load the issue: always, except that a dry run fetches nothing from a URL. */
static bool needs_issue(const AcrRunSpec *spec)
{
    return !spec->dry_run || !spec->issue_file || !acr_issue_is_page(spec->issue_file);
}

/* Logs how long the project's tests took last time, if that is known. */
static void log_test_time(const AcrRunSpec *spec, AcrConsole *console)
{
    g_autofree char *baselines = acr_task_baselines();
    gint64 last_ms = acr_project_last_ms(baselines, spec->repo);
    g_autofree char *time = acr_time_text(last_ms);
    if (last_ms >= 0)
        acr_console_log(console, "the project's tests took %s last time", time);
}

/* Prints the path of the new run folder when the run begins to use it, because a run that cannot
 * begin leaves no folder. */
typedef struct {
    AcrProgress progress;
    AcrConsole *console;
    const char *folder; /* NULL if it was already printed, or if the user chose the folder */
} FolderNote;

static void take_folder_note(void *ctx, const AcrProgressEvent *event)
{
    FolderNote *note = ctx;
    if (event->kind != ACR_PROGRESS_STAGE || !note->folder || strcmp(event->stage, "snapshot") == 0)
        return;
    acr_console_say(note->console, ACR_TONE_PLAIN, "%s: the run folder is %s", g_get_prgname(),
                    note->folder);
    note->folder = NULL;
}

int acr_run_and_report(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    FolderNote note = {.console = console,
                       .folder = host->command && !spec->quiet ? spec->out : NULL};
    note.progress = (AcrProgress){&note, take_folder_note, acr_console_progress(console)};
    host->progress = &note.progress;
    g_auto(AcrRunResult) result = {.verdict = ACR_VERDICT_NONE, .found.proof = ACR_PROOF_NONE};
    if (!acr_console_open_events(console, spec->events, &error))
        return acr_verb_fail(host, error);
    bool ok = acr_verb_ask_extensions(host, spec, &error) &&
              acr_verb_take_environment(host, spec, &error);
    ok = ok && (!needs_issue(spec) || acr_issue_text_load(spec, host->interrupt, console, &error));
    if (ok && spec->resume && (ok = (spec->out = acr_runs_unfinished(spec, &error)) != NULL))
        acr_console_log(console, "the run folder is %s", spec->out);
    if (ok && spec->dry_run)
        return acr_dry_run(host, spec);
    if (ok && acr_run_spec_regressions(spec) != ACR_VERIFY_NEVER)
        log_test_time(spec, console);
    if (ok)
        ok = acr_task_run(spec, host, &result, &error);
    else
        acr_run_result_fail(&result, error, host->interrupt);
    return acr_run_result_print(host, spec, &result, ok ? NULL : error, console);
}

const AcrVerb acr_verb_run = {
    .name = "run",
    .summary = "Fix one issue of a repository and print the patch",
    .takes = ACR_FOR_RUN,
    .uses_network = true,
    .examples =
        {{"Fix an issue of the enclosing repository",
          "run --issue issue.md --model openai/gpt-4.1"},
         {"See what that would do and cost at most",
          "run --issue issue.md --model openai/gpt-4.1 --dry-run"},
         {"Fix an issue on GitHub for at most a dollar; write the patch to the working tree",
          "run --issue https://github.com/OWNER/NAME/issues/1 --model openai/gpt-4.1 --max-cost 1 "
          "--apply"},
         {"Reject patches that break tests or fail a command of yours",
          "run --issue issue.md --model ollama/qwen3 --regressions --validate 'python3 -m pytest "
          "tests/test_add.py'"}},
    .run = acr_run_and_report,
};
