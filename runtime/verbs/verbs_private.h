#pragma once

#include "verbs/streams.h"
#include "verbs/verbs.h"

/* ---- Messages (messages.c) ---- */

/* Prints on stderr. Makes the text safe with acr_text_visible, because it may quote models,
 * repositories and servers. */
void acr_verb_tell(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Returns the text in one line that is safe for a terminal; owned. */
char *acr_one_line(const char *text) ACR_MUST_USE;
/* Prints "acr-host VERB: message" in one line, and returns the exit code for `error` (may be NULL
 * after a signal). VERB is the current verb (g_get_prgname). Sets host->failure. */
AcrExit acr_verb_fail(AcrHost *host, const GError *error);
/* Prints "acr-host VERB: message" in one line. */
void acr_verb_say(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Quotes a text for a shell; owned. */
char *acr_shell_word(const char *text) ACR_MUST_USE;
/* Prints a usage message that points to --help; returns ACR_EXIT_USAGE. Sets host->failure. */
AcrExit acr_verb_usage(AcrHost *host, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* ---- Options (command_line.c, help.c) ---- */

/* Sets options and arguments from argv, without defaults. Errors: USAGE of task. */
bool acr_command_line_parse(const AcrVerb *verb, int argc, char **argv, AcrRunSpec *spec,
                            GError **error) ACR_MUST_USE;
/* Applies the cache, jobs and time limit of `spec`. At the time limit, SIGALRM ends a verb with
 * ends_at_alarm; other verbs get the signal ACR_GRACE_S later. Returns the path of the cache,
 * owned; the host borrows it. */
char *acr_verb_take_host_options(AcrHost *host, const AcrRunSpec *spec) ACR_MUST_USE;
/* Sets default places: the enclosing repository, and a new run folder, which is created and
 * reported on stderr. Errors: USAGE, ENVIRONMENT of task. (places.c) */
bool acr_verb_fill_places(AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Prints the usage error for arguments other than one run folder. (places.c) */
AcrExit acr_verb_refuse_runs(AcrHost *host, const AcrRunSpec *spec);
/* Creates a new run folder in the state folder; owned. Errors: those of task. (places.c) */
char *acr_verb_new_run_folder(const char *repo, GError **error) ACR_MUST_USE;
/* Returns the sorted names (char *) of the guides that `help` prints; owned. (help_topic.c) */
GPtrArray *acr_help_topics(const AcrHost *host) ACR_MUST_USE;
/* Describes the usual values of an option and its default, for --help: "auto, never; default:
 * auto"; owned. */
char *acr_option_values(const AcrOption *option) ACR_MUST_USE;
/* Makes the text of `acr-host --help`; owned. (help_topic.c) */
char *acr_usage_text(const AcrHost *host) ACR_MUST_USE;
/* Makes the text of --help or, with `is_all`, of --help-all; owned. */
char *acr_help_text(const AcrVerb *verb, bool is_all) ACR_MUST_USE;

/* ---- Events (events.c) ---- */

/* Writes progress events as JSON lines, from any thread. */
typedef struct AcrEvents AcrEvents;
/* Opens `where`, the number of a descriptor, or a file, which is created, or extended if it
 * contains events. Errors: USAGE of task. */
AcrEvents *acr_events_open(const char *where, GError **error) ACR_MUST_USE; /* owned */
/* Whether `where` (NULL: no events) is standard output. */
bool acr_events_are_output(const char *where);
void acr_events_free(AcrEvents *events);
const AcrProgress *acr_events_progress(const AcrEvents *events); /* borrowed */

/* ---- Progress (console.c) ---- */

/* Shows progress on stderr: on a terminal as a block that is redrawn, otherwise as a dated line for
 * each stage. --verbose shows each step, --quiet nothing. While there is a block, only the console
 * writes to the terminal. Thread-safe. */
typedef struct AcrConsole AcrConsole;
/* Makes a console; owned. Reads --verbose, --quiet and the limits from `spec`, and shows how much
 * of the limits is used. */
AcrConsole *acr_console_new(const AcrRunSpec *spec) ACR_MUST_USE;
void acr_console_free(AcrConsole *console); /* calls acr_console_end first */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrConsole, acr_console_free)
const AcrProgress *acr_console_progress(AcrConsole *console); /* borrowed */
/* Also writes progress events to `where` from now on (NULL: nowhere). Errors: those of
 * acr_events_open. */
bool acr_console_open_events(AcrConsole *console, const char *where, GError **error) ACR_MUST_USE;
/* Shows `text` (copied) instead of the stage of a run. Its first line is shown before the usage,
 * each further line on its own line. */
void acr_console_status(AcrConsole *console, const char *text);
/* Shows `line` (copied), the reason why the verb waits; NULL ends the wait. The block shows it;
 * without a terminal, or with --verbose, it is printed once. */
void acr_console_await(AcrConsole *console, const char *line);
/* Writes a permanent line of progress, with its date if stderr is not a terminal. Silent
 * with --quiet. */
void acr_console_log(AcrConsole *console, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Writes "WHAT: COMMAND" like acr_console_log, but unwrapped, so that the user can copy it. */
void acr_console_command(AcrConsole *console, const char *what, const char *command);
/* Writes a line like acr_console_log; if the block shows `line`, only with --verbose. */
void acr_console_step(AcrConsole *console, const char *line);
/* Shows the progress of another process that began `ms` ago, with `ceiling` (a member <= 0 is no
 * ceiling) and `max_ms`. */
void acr_console_follow(AcrConsole *console, gint64 ms, const AcrSpent *ceiling, gint64 max_ms);
/* Erases the block permanently. Afterwards other code may write to the terminal. */
void acr_console_end(AcrConsole *console);
typedef enum {
    ACR_TONE_PLAIN,
    ACR_TONE_GOOD,
    ACR_TONE_BAD
} AcrTone; /* the colour of a line, if colours are used */
/* Writes a permanent line, even with --quiet. */
void acr_console_say(AcrConsole *console, AcrTone tone, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* ---- A repository (repository.c) ---- */

/* Opens the repository of `spec`, and reports skipped files on stderr. */
bool acr_repository_open(AcrHost *host, const AcrRunSpec *spec, AcrWorkspace *out,
                         GError **error) ACR_MUST_USE;
/* Indexes the repository. With --verbose, but not --json, reports files that cannot be
 * parsed. */
bool acr_repository_index(AcrHost *host, const AcrRunSpec *spec, AcrWorkspace *workspace,
                          GError **error) ACR_MUST_USE;
/* Indexes the working tree again if it has changed. *latest (owned; NULL at first) is the snapshot
 * that was compared last. */
bool acr_repository_follow(AcrHost *host, AcrWorkspace *workspace, AcrSnapshot **latest,
                           GError **error) ACR_MUST_USE;

/* Loads the extensions of `spec` for the repository in `workdir` (may be NULL); reports failures on
 * stderr. Errors: those of acr_extensions_check_files and acr_extensions_load. (extensions.c) */
bool acr_verb_load_extensions(AcrHost *host, const AcrRunSpec *spec, const char *workdir,
                              AcrExtensions **out, GError **error) ACR_MUST_USE;

/* Replaces extensions named by an entry point by their files. Errors: those of
 * acr_extensions_locate. (extensions.c) */
bool acr_verb_find_extensions(AcrHost *host, AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Gets data for a run from the extensions of `spec`: the text of an issue that they provide
 * ("jira:ABC-12"), and their prompts. Errors: those of acr_extensions_issue. (extensions.c) */
bool acr_verb_ask_extensions(AcrHost *host, AcrRunSpec *spec, GError **error) ACR_MUST_USE;

/* Applies the diff in a file ("-" is standard input) to `overlay`. Errors: those of vcs and
 * base. */
bool acr_verb_apply_patch(AcrHost *host, const char *path, AcrOverlay *overlay,
                          GError **error) ACR_MUST_USE;

/* ---- Runs (run.c, run_result.c, issue_text.c) ---- */

/* Lists the run folders of one repository (NULL: of all), beginning with the latest, as in `runs
 * --json`; owned. */
AcrJson *acr_runs_list(const char *repo) ACR_MUST_USE;
/* Returns the latest run folder of a repository in the user's state folder (with `is_finished`, of
 * the finished runs); owned; NULL if there is none. (run_list.c) */
char *acr_runs_latest(const char *repo, bool is_finished) ACR_MUST_USE;
/* Returns the folder of the latest unfinished run that has the verb, the issue and the options of
 * `spec`; owned. Errors: USAGE of task if there is none. */
char *acr_runs_unfinished(const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Prints the plan of `run` (dry_run.c); returns an AcrExit. */
int acr_dry_run(AcrHost *host, const AcrRunSpec *spec);
/* Performs `run`, `reproduce` or `verify`, and prints the result. */
int acr_run_and_report(AcrHost *host, AcrRunSpec *spec);

/* acr_issue_is_page returns whether --issue is a URL. acr_issue_page_read fetches the issue as
 * text; owned. Errors: USAGE and ENVIRONMENT of task. (issue_page.c) */
bool acr_issue_is_page(const char *text);
GBytes *acr_issue_page_read(const AcrRunSpec *spec, const AcrInterrupt *interrupt,
                            GError **error) ACR_MUST_USE;

/* Sets `issue_text` to the issue as UTF-8, from the source in `spec`. Errors: USAGE of task. */
bool acr_issue_text_load(AcrRunSpec *spec, const AcrInterrupt *interrupt, AcrConsole *console,
                         GError **error) ACR_MUST_USE;
/* Prints the result of a run. Stdout gets the patch or the script, or with --json the result;
 * stderr gets the next steps, the cost, the verdict, and `error` (may be NULL). Returns the exit
 * code. */
int acr_run_result_print(AcrHost *host, const AcrRunSpec *spec, const AcrRunResult *result,
                         const GError *error, AcrConsole *console);
