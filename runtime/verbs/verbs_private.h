/* Private to verbs: what several subcommands share. */
#ifndef ACR_VERBS_PRIVATE_H
#define ACR_VERBS_PRIVATE_H

#include "verbs/verbs.h"

/* ---- Messages (messages.c) ---- */

/* Prints on stderr, as acr_text_visible has it: texts of models, repositories and servers may be in it. */
void acr_verb_tell(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* A text as one line, visible, whatever stands in the paths, names and foreign texts that it repeats;
 * owned. */
char *acr_one_line(const char *text) ACR_MUST_USE;
/* Prints "acr-host VERB: message" as one line and returns the exit code; VERB is the one that was
 * started (g_get_prgname). `error` may be NULL once a signal came. */
AcrExit acr_verb_fail(AcrHost *host, const GError *error);
/* Prints "acr-host VERB: message" as one line. */
void acr_verb_say(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* A text as a shell's word; owned. */
char *acr_shell_word(const char *text) ACR_MUST_USE;
/* Prints a usage message, with a hint at --help; ACR_EXIT_USAGE. */
AcrExit acr_verb_usage(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* ---- Standard output and input (streams.c) ---- */

typedef enum {
    ACR_OUT_WRITTEN,
    ACR_OUT_CLOSED, /* the reader has gone away (| head): no error, and silence */
    ACR_OUT_FAILED, /* told on stderr */
} AcrOut;
/* Writes all to stdout: as it is, for it is data, but to a terminal as acr_text_visible has it. After
 * anything but WRITTEN the caller writes no more. */
AcrOut acr_out_bytes(GBytes *bytes) ACR_MUST_USE; /* NULL: nothing */
AcrOut acr_out_text(const char *text) ACR_MUST_USE;
AcrOut acr_out_json(const AcrJson *json) ACR_MUST_USE; /* one line */
/* `code`, unless what was to be written could not be. */
AcrExit acr_out_exit(AcrOut out, AcrExit code);
/* Reads standard input to its end. Errors: TOO_BIG, FAILED of base; FAILED too when a signal came. */
GBytes *acr_read_stdin(gsize max, const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;

/* ---- Options (command_line.c, help.c) ---- */

/* Sets options and arguments from argv, without defaults. Errors: USAGE of task. */
bool acr_command_line_parse(const AcrVerb *verb, int argc, char **argv, AcrRunSpec *spec,
                            GError **error) ACR_MUST_USE;
/* Sets what a spec says of the cache, of jobs, and of time: a SIGALRM comes ACR_GRACE_S after its end, or
 * at it where it is to end the verb (ends_at_alarm).
 * The cache's path, which the host borrows; owned. */
char *acr_verb_take_host_options(AcrHost *host, const AcrRunSpec *spec) ACR_MUST_USE;
/* Fills what names no repository or run folder: the repository that encloses the current folder, a new run folder,
 * which is made, and told on stderr. Errors: USAGE, ENVIRONMENT of task. (places.c) */
bool acr_verb_fill_places(AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* The names of the guides that `help` prints, sorted (char *); owned. (help_topic.c) */
GPtrArray *acr_help_topics(const AcrHost *host) ACR_MUST_USE;
/* The values that an option usually has, and its defaults, as --help shows them: "auto, never; default: auto"; owned. */
char *acr_option_values(const AcrOption *option) ACR_MUST_USE;
/* What --help prints, with rare options too for --help-all; owned. */
char *acr_help_text(const AcrVerb *verb, bool is_all) ACR_MUST_USE;

/* ---- Events (events.c) ---- */

/* Progress as JSON lines, from any thread. */
typedef struct AcrEvents AcrEvents;
/* `where`: the number of a descriptor, or a file, which is made, or goes on if it holds events. Errors: USAGE
 * of task. */
AcrEvents *acr_events_open(const char *where, GError **error) ACR_MUST_USE; /* owned */
void acr_events_free(AcrEvents *events);
const AcrProgress *acr_events_progress(const AcrEvents *events); /* borrowed */

/* ---- Progress (console.c) ---- */

/* Progress on stderr: on a terminal a block that is drawn again and again, elsewhere a dated line for each
 * stage; with --verbose each step too, with --quiet neither. While there is a block nothing but the console
 * writes to the terminal. Its functions may be called in any thread. */
typedef struct AcrConsole AcrConsole;
/* By --verbose, --quiet and the ceilings of `spec`, of which each share is shown. Owned. */
AcrConsole *acr_console_new(const AcrRunSpec *spec) ACR_MUST_USE;
void acr_console_free(AcrConsole *console); /* ends it */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrConsole, acr_console_free)
const AcrProgress *acr_console_progress(AcrConsole *console); /* borrowed */
/* From now on progress goes to `where` (NULL: nowhere) too. Errors: those of acr_events_open. */
bool acr_console_open_events(AcrConsole *console, const char *where, GError **error) ACR_MUST_USE;
/* Shows `text` in place of the stage of one task, for a verb that runs many: its first line before what was
 * used, the others in lines of their own. Copied. */
void acr_console_status(AcrConsole *console, const char *text);
/* A line of progress that stays, dated where there is no terminal; none with --quiet. */
void acr_console_log(AcrConsole *console, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Likewise one that is not needed where the block shows the same, unless with --verbose. */
void acr_console_step(AcrConsole *console, const char *line);
/* What is shown began `ms` ago in another process, under these ceilings (members not above 0: none). */
void acr_console_follow(AcrConsole *console, gint64 ms, const AcrSpent *ceiling, gint64 max_ms);
/* Wipes the block, which does not come back: anybody may write now. */
void acr_console_end(AcrConsole *console);
typedef enum {
    ACR_TONE_PLAIN,
    ACR_TONE_GOOD,
    ACR_TONE_BAD
} AcrTone; /* a colour, where there are any */
/* A line that stays, whatever the mode. */
void acr_console_say(AcrConsole *console, AcrTone tone, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* ---- A repository (repository.c) ---- */

/* Opens the repository of `spec`; on stderr it says what was left out of it. */
bool acr_repository_open(AcrHost *host, const AcrRunSpec *spec, AcrWorkspace *out,
                         GError **error) ACR_MUST_USE;
/* Indexes it; with --verbose but for JSON it says what cannot be parsed. */
bool acr_repository_index(AcrHost *host, const AcrRunSpec *spec, AcrWorkspace *workspace,
                          GError **error) ACR_MUST_USE;

/* Loads the extensions of `spec` for the repository in `workdir` (may be NULL); reports failures on
 * stderr. Errors: those of acr_extensions_check_files and acr_extensions_load. (extensions.c) */
bool acr_verb_load_extensions(AcrHost *host, const AcrRunSpec *spec, const char *workdir,
                              AcrExtensions **out, GError **error) ACR_MUST_USE;

/* Finds those that are named by an entry point. Errors: those of acr_extensions_locate. (extensions.c) */
bool acr_verb_find_extensions(AcrHost *host, AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* What the extensions of `spec` (NULL: none) give before a run begins: the text of an issue of theirs
 * ("jira:ABC-12"), and their prompts. Errors: those of acr_extensions_issue. (extensions.c) */
bool acr_verb_ask_extensions(AcrHost *host, AcrRunSpec *spec, GError **error) ACR_MUST_USE;

/* Applies the diff of a file ("-": standard input). Errors: those of vcs and base. */
bool acr_verb_apply_patch(AcrHost *host, const char *path, AcrOverlay *overlay,
                          GError **error) ACR_MUST_USE;

/* ---- Runs (run.c, run_result.c, issue_text.c) ---- */

/* Prints what `run` would do (dry_run.c); an AcrExit. */
int acr_dry_run(AcrHost *host, const AcrRunSpec *spec);
/* Runs what `spec` asks for and reports it. */
int acr_run_and_report(AcrHost *host, AcrRunSpec *spec);

/* Whether --issue is an address, and the issue that lies there as text; owned. Errors: USAGE and
 * ENVIRONMENT of task. (issue_page.c) */
bool acr_issue_is_page(const char *text);
GBytes *acr_issue_page_read(const AcrRunSpec *spec, const AcrInterrupt *interrupt,
                            GError **error) ACR_MUST_USE;

/* Makes `issue_text` the issue as UTF-8, wherever it comes from. Errors: USAGE of task. */
bool acr_issue_text_load(AcrRunSpec *spec, const AcrInterrupt *interrupt, AcrConsole *console,
                         GError **error) ACR_MUST_USE;
/* The files that a diff as git writes it changes: "path (+2 -1)" of each (char *), in its order. Owned.
 * `diff` may be NULL. */
GPtrArray *acr_changed_files(GBytes *diff) ACR_MUST_USE;
/* Prints the result of a run: the patch or the script on stdout, or with --json the result; then on
 * stderr what to do with it, what it cost, its verdict and what ended it (`error`, or NULL). Returns the
 * exit code. */
int acr_run_result_print(AcrHost *host, const AcrRunSpec *spec, const AcrRunResult *result,
                         const GError *error, AcrConsole *console);

#endif
