/* Private to verbs: what several subcommands share. */
#ifndef ACR_VERBS_PRIVATE_H
#define ACR_VERBS_PRIVATE_H

#include "verbs/verbs.h"

/* ---- Errors -------------------------------------------------------------------------------------
 */

/* The exit code of an error; 130 for any error once a signal came. */
AcrExit acr_exit_of(const AcrProgram *program, const GError *error);
/* Prints "acr-host VERB: message" as one line and returns the exit code. */
AcrExit acr_verb_fail(const AcrProgram *program, const char *verb, const GError *error);
/* Prints "acr-host VERB: message" as one line. */
void acr_verb_say(const char *verb, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Prints a usage message, with a hint at --help; ACR_EXIT_USAGE. */
AcrExit acr_verb_usage(const char *verb, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* ---- Standard output ----------------------------------------------------------------------------
 */

typedef enum {
    ACR_OUT_WRITTEN,
    ACR_OUT_CLOSED, /* the reader has gone away (| head): no error, and silence */
    ACR_OUT_FAILED, /* told on stderr */
} AcrOut;
/* Writes all to stdout. After anything but WRITTEN the caller writes no more. */
AcrOut acr_out(const void *data, gsize len) ACR_MUST_USE;
AcrOut acr_out_text(const char *text) ACR_MUST_USE;
AcrOut acr_out_json(const AcrJson *json) ACR_MUST_USE; /* one line */
/* `code`, unless what was to be written could not be. */
AcrExit acr_out_exit(AcrOut out, AcrExit code);

/* ---- Options ------------------------------------------------------------------------------------
 */

/*
 * Parses argv by `entries`; what is left stays in argv. `arguments` is what --help shows after the
 * verb's name. True when the verb goes on; false with *out_exit set.
 */
bool acr_options_parse(const AcrVerb *verb, const char *arguments, const GOptionEntry *entries,
                       int *argc, char ***argv, int *out_exit) ACR_MUST_USE;
/* Both lists as one; either may be NULL; owned (g_free). */
GOptionEntry *acr_options_join(const GOptionEntry *first, const GOptionEntry *second) ACR_MUST_USE;
/* Reads standard input to its end. Errors: TOO_BIG, FAILED of base; FAILED too when a signal came.
 */
GBytes *acr_read_stdin(gsize max, const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;

/* See the section on progress. */
typedef struct AcrConsole AcrConsole;

/* ---- Options of model calls ---------------------------------------------------------------------
 */

/* An amount of USD in decimals ("0.25"), exact to the pico-USD. False: it is none, or too large. */
bool acr_usd_parse(const char *text, gint64 *out_pico) ACR_MUST_USE;
/* Seconds above 0, fractions allowed, at most a year, in milliseconds. */
bool acr_seconds_parse(const char *text, gint64 *out_ms) ACR_MUST_USE;
/* A whole number from 0 to `max`. */
bool acr_count_parse(const char *text, gint64 max, gint64 *out) ACR_MUST_USE;
/* The same of an option's value (NULL: it was not given, and *out stays): false, with a usage
 * message printed, where it is none. Tokens are from 1 on. */
bool acr_usd_check(const char *verb, const char *option, const char *given,
                   gint64 *out_pico) ACR_MUST_USE;
bool acr_seconds_check(const char *verb, const char *option, const char *given,
                       gint64 *out_ms) ACR_MUST_USE;
bool acr_tokens_check(const char *verb, const char *option, const char *given, gint64 max,
                      gint64 *out) ACR_MUST_USE;
bool acr_range_check(const char *verb, const char *option, int value, int min,
                     int max) ACR_MUST_USE;
/* The retry_base_ms of model options that ACR_RETRY_BASE_MS asks for; 0: it is not set. False, with
 * a usage message printed, where it is no number of milliseconds. */
bool acr_retry_base(const char *verb, gint64 *out_ms) ACR_MUST_USE;
/* False, with a usage message printed, where one (NULL-terminated; may be NULL) cannot be sent. */
bool acr_headers_check(char *const *headers, const char *verb) ACR_MUST_USE;

/* ---- Ceilings -----------------------------------------------------------------------------------
 */

/* As given; strings are owned. Of `run`, max-… bound the run; of `swe-bench`, the batch. */
typedef struct {
    char *cost, *tokens, *time;
    char *task_cost, *task_tokens, *task_time;      /* of each task of a batch */
    char *batch_cost, *batch_tokens, *batch_ledger; /* told to a task of a batch */
    gint64 batch_deadline_us;                       /* likewise */
    gint64 deadline_us;       /* by acr_ceiling_options_check: when `time` is over; 0: never */
    AcrTaskCeilings ceilings; /* likewise: what they mean for `run` */
} AcrCeilingOptions;
#define ACR_CEILING_ENTRIES(options)                                                               \
    {"max-cost",                                                                                   \
     0,                                                                                            \
     0,                                                                                            \
     G_OPTION_ARG_STRING,                                                                          \
     &(options)->cost,                                                                             \
     "Spend at most so many USD; what a call may cost is reserved before it is sent",              \
     "USD"},                                                                                       \
        {"max-tokens-total",                                                                       \
         0,                                                                                        \
         0,                                                                                        \
         G_OPTION_ARG_STRING,                                                                      \
         &(options)->tokens,                                                                       \
         "Use at most so many tokens, sent and received",                                          \
         "N"},                                                                                     \
    {                                                                                              \
        "max-time", 0, 0, G_OPTION_ARG_STRING, &(options)->time,                                   \
            "Stop after so long, with what there is then", "SECONDS"                               \
    }
bool acr_ceiling_options_check(AcrCeilingOptions *options, const char *verb);
/* The ceilings of a batch whose ledger is `ledger`, as arguments of its tasks. */
void acr_ceiling_options_to_argv(const AcrCeilingOptions *options, const char *ledger,
                                 GPtrArray *argv);
void acr_ceiling_options_clear(AcrCeilingOptions *options);
/* What was used, in one line; owned; NULL: nothing is known of. */
char *acr_cost_line(const AcrCostSum *cost) ACR_MUST_USE;

/* ---- Options of verbs that run code -------------------------------------------------------------
 */

/* Where code is run. Strings are owned. */
typedef struct {
    char *sandbox, *image, *python, *setup, *setup_timeout;
    gboolean setup_network;
    gint64 setup_ms; /* by acr_code_options_check; 0: its default */
} AcrCodeOptions;
void acr_code_options_clear(AcrCodeOptions *options);
/* Makes paths absolute. False, with a usage message printed, when they cannot be together. */
bool acr_code_options_check(AcrCodeOptions *options, const char *verb) ACR_MUST_USE;
/* Appends them as arguments to an array of owned strings. */
void acr_code_options_to_argv(const AcrCodeOptions *options, GPtrArray *argv);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrCodeOptions, acr_code_options_clear)
#define ACR_CODE_ENTRIES(options)                                                                  \
    {"sandbox",                                                                                    \
     0,                                                                                            \
     0,                                                                                            \
     G_OPTION_ARG_STRING,                                                                          \
     &(options)->sandbox,                                                                          \
     "Where code is run: bubblewrap, container (with --image) or plain, which isolates nothing",   \
     "NAME"},                                                                                      \
        {"image",                                                                                  \
         0,                                                                                        \
         0,                                                                                        \
         G_OPTION_ARG_STRING,                                                                      \
         &(options)->image,                                                                        \
         "Container image that holds the project in /testbed",                                     \
         "NAME"},                                                                                  \
        {"python",                                                                                 \
         0,                                                                                        \
         0,                                                                                        \
         G_OPTION_ARG_FILENAME,                                                                    \
         &(options)->python,                                                                       \
         "The project's Python (default: .venv of the working tree, else the system's)",           \
         "PATH"},                                                                                  \
        {"setup",                                                                                  \
         0,                                                                                        \
         0,                                                                                        \
         G_OPTION_ARG_FILENAME,                                                                    \
         &(options)->setup,                                                                        \
         "Shell command that makes the project importable; run once for each tree, and kept",      \
         "CMD"},                                                                                   \
        {"setup-timeout",                                                                          \
         0,                                                                                        \
         0,                                                                                        \
         G_OPTION_ARG_STRING,                                                                      \
         &(options)->setup_timeout,                                                                \
         "End the set-up after so long (default 3600)",                                            \
         "SECONDS"},                                                                               \
    {                                                                                              \
        "setup-network", 0, 0, G_OPTION_ARG_NONE, &(options)->setup_network,                       \
            "Let the set-up use the network", NULL                                                 \
    }

/* The sandbox that they describe; owned. */
AcrSandbox *acr_code_options_open(const AcrCodeOptions *given, const AcrProgram *program,
                                  const AcrRepo *repo, AcrSnapshot *snapshot,
                                  GError **error) ACR_MUST_USE;

/* ---- Options of verbs that index ----------------------------------------------------------------
 */

/* The options of every verb that indexes. Strings are owned. */
typedef struct {
    char *jobs_given; /* as written; NULL: not at all */
    guint jobs;       /* by acr_indexing_options_check; 0: as many as there are processors */
    gboolean no_cache;
    char *cache; /* of acr_verb_host */
} AcrIndexingOptions;
void acr_indexing_options_clear(AcrIndexingOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrIndexingOptions, acr_indexing_options_clear)
#define ACR_INDEXING_ENTRIES(options)                                                              \
    {"no-cache",                                                                                   \
     0,                                                                                            \
     0,                                                                                            \
     G_OPTION_ARG_NONE,                                                                            \
     &(options)->no_cache,                                                                         \
     "Neither use nor keep outlines of earlier runs",                                              \
     NULL},                                                                                        \
    {                                                                                              \
        "jobs", 'j', 0, G_OPTION_ARG_STRING, &(options)->jobs_given,                               \
            "Processes that outline files (default: one a processor)", "N"                         \
    }
/* False, with a usage message printed, when they cannot be. */
bool acr_indexing_options_check(AcrIndexingOptions *options, const char *verb);
/* What the program brings with it; borrowed from its arguments. */
AcrHost acr_verb_host(const AcrProgram *program, AcrIndexingOptions *options,
                      const AcrProgress *progress);

/* How models are called, as `run`, `swe-bench` and `ask` are told. Strings are owned; cleared
 * together. */
typedef struct {
    char *effort, *base_url, *key_command, *key_file;
    char **headers; /* those of ACR_HEADERS too, by acr_client_options_check */
    char *prices;   /* made absolute by acr_client_options_check */
    double temperature;
    int retries;
    gint64 retry_base_ms; /* of ACR_RETRY_BASE_MS; 0: not set */
} AcrClientOptions;
#define ACR_CLIENT_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .retries = ACR_LLM_RETRIES, .temperature = -1                                              \
    }
/* `own` and these entries, bound to `options`; owned (g_free). */
GOptionEntry *acr_client_option_entries(AcrClientOptions *options,
                                        const GOptionEntry *own) ACR_MUST_USE;
/* Takes what ACR_HEADERS (one a line), ACR_KEY_COMMAND and ACR_KEY_FILE say into them, where what
 * was given goes before it, and out of the environment, where children would find it; called before
 * there are threads. False, with a usage message printed, when they cannot be. */
bool acr_client_options_check(AcrClientOptions *options, const char *verb) ACR_MUST_USE;
/* Appends what is no secret to a child's arguments (owned strings), and puts the rest into this
 * process's environment; called before there are threads. */
void acr_client_options_to_child(const AcrClientOptions *options, GPtrArray *argv);
void acr_client_options_clear(AcrClientOptions *options);

/* The options that `run` and `swe-bench` share. Strings are owned; cleared together. */
typedef struct {
    char **models; /* scripts made absolute by acr_run_options_check */
    char **models_as_given;
    char *fallback_model; /* likewise */
    char *fallback_as_given;
    int rounds, tries, attempts;
    int context; /* tokens; ACR_NOT_GIVEN: learnt */
    char *verify_name;
    AcrVerify verify;
    AcrCodeOptions code_given;
    char *validate;
    AcrTaskCode code; /* what they mean, by acr_run_options_check */
    char *prompts;
    char *shared_dir; /* told to a task of a batch */
    AcrClientOptions client;
    AcrCeilingOptions ceilings;
    AcrIndexingOptions indexing;
    gboolean verbose;
} AcrRunOptions;
#define ACR_NOT_GIVEN G_MININT
#define ACR_RUN_OPTIONS_INIT                                                                       \
    {                                                                                              \
        .rounds = ACR_ROUNDS_DEFAULT, .tries = ACR_TRIES_DEFAULT,                                  \
        .attempts = ACR_ATTEMPTS_DEFAULT, .context = ACR_NOT_GIVEN,                                \
        .client = ACR_CLIENT_OPTIONS_INIT                                                          \
    }
/* To be called before parsing: an option whose value may be left out (--verify) gets it. */
void acr_run_options_expand(int argc, char **argv);
/* `own` and the shared entries, bound to `options`; owned (g_free). */
GOptionEntry *acr_run_option_entries(AcrRunOptions *options, const GOptionEntry *own) ACR_MUST_USE;
/* False, with a usage message printed, when they cannot be. */
bool acr_run_options_check(AcrRunOptions *options, const char *verb) ACR_MUST_USE;
/* Appends the options as arguments to an array of owned strings, for a child process. */
void acr_run_options_to_argv(const AcrRunOptions *options, GPtrArray *argv);
void acr_run_options_clear(AcrRunOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRunOptions, acr_run_options_clear)

/* ---- Verbs on an issue --------------------------------------------------------------------------
 */

/* Strings are owned. */
typedef struct {
    char *repo, *rev, *file, *text, *instance_id, *out;
} AcrIssueOptions;
void acr_issue_options_clear(AcrIssueOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrIssueOptions, acr_issue_options_clear)
#define ACR_ISSUE_ENTRIES(options)                                                                 \
    {"repo",                                                                                       \
     'r',                                                                                          \
     0,                                                                                            \
     G_OPTION_ARG_FILENAME,                                                                        \
     &(options)->repo,                                                                             \
     "The repository: a working tree, a bare one, or a plain folder",                              \
     "DIR"},                                                                                       \
        {"rev",                                                                                    \
         0,                                                                                        \
         0,                                                                                        \
         G_OPTION_ARG_FILENAME,                                                                    \
         &(options)->rev,                                                                          \
         "Commit to work on (default: the working tree as it lies)",                               \
         "REV"},                                                                                   \
        {"issue",                                                                                  \
         'i',                                                                                      \
         0,                                                                                        \
         G_OPTION_ARG_FILENAME,                                                                    \
         &(options)->file,                                                                         \
         "File with the issue's text; - for standard input",                                       \
         "FILE"},                                                                                  \
        {"issue-text", 0, 0, G_OPTION_ARG_FILENAME, &(options)->text, "The issue's text", "TEXT"}, \
        {"out",                                                                                    \
         'o',                                                                                      \
         0,                                                                                        \
         G_OPTION_ARG_FILENAME,                                                                    \
         &(options)->out,                                                                          \
         "The run folder; the same command goes on in it",                                         \
         "DIR"},                                                                                   \
    {                                                                                              \
        "instance-id", 0, 0, G_OPTION_ARG_FILENAME, &(options)->instance_id,                       \
            "Name of a benchmark task", "ID"                                                       \
    }
/* False, with a usage message printed, where something is missing. */
bool acr_issue_options_check(const AcrIssueOptions *options, const char *verb);
/* The issue as UTF-8 text; owned. */
char *acr_issue_options_load(const AcrIssueOptions *options, const char *verb,
                             const AcrInterrupt *interrupt, AcrConsole *console,
                             GError **error) ACR_MUST_USE;
/* What makes the run; all borrowed from the arguments. */
AcrTaskOptions acr_issue_options_task(const AcrIssueOptions *options, const char *issue,
                                      const AcrRunOptions *run);

/* ---- Verbs on a repository ----------------------------------------------------------------------
 */

/* The options of the verbs that look at a repository without a model: search, patch, index. Strings
 * are owned. */
typedef struct {
    char *repo, *rev;
    gboolean json, verbose;
    AcrIndexingOptions indexing;
} AcrRepoOptions;
void acr_repo_options_clear(AcrRepoOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRepoOptions, acr_repo_options_clear)
/* As acr_options_parse. `own`: more entries, or NULL. */
bool acr_repo_options_parse(const AcrVerb *verb, const char *arguments, const GOptionEntry *own,
                            AcrRepoOptions *options, int *argc, char ***argv,
                            int *out_exit) ACR_MUST_USE;
/* False, with a usage message printed, where --repo is missing. */
bool acr_repo_options_check(const AcrRepoOptions *options, const AcrVerb *verb);
/* Opens and indexes the repository; on stderr it says what was left out of it and, with --verbose
 * but for JSON, what cannot be parsed. */
bool acr_repo_options_open(const AcrProgram *program, const AcrVerb *verb, AcrRepoOptions *options,
                           AcrWorkspace *out, GError **error) ACR_MUST_USE;
/* Its two halves: repository and snapshot; the index. */
bool acr_repo_options_begin(const AcrProgram *program, const AcrVerb *verb, AcrRepoOptions *options,
                            AcrWorkspace *out, GError **error) ACR_MUST_USE;
bool acr_repo_options_index(const AcrProgram *program, const AcrVerb *verb, AcrRepoOptions *options,
                            AcrWorkspace *workspace, GError **error) ACR_MUST_USE;

/* ---- Progress -----------------------------------------------------------------------------------
 */

/* Progress on stderr: a line that rewrites itself on a terminal; with `verbose` a line for each
 * step; else nothing. */
AcrConsole *acr_console_new(bool verbose) ACR_MUST_USE; /* owned */
void acr_console_free(AcrConsole *console);             /* wipes its line */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrConsole, acr_console_free)
const AcrProgress *acr_console_progress(AcrConsole *console); /* borrowed */
/* Shows `text` in place of the stage of one task, for a verb that runs many. Copied. */
void acr_console_status(AcrConsole *console, const char *text);
/* A line of progress that stays: on a terminal, or with `verbose`. */
void acr_console_log(AcrConsole *console, const char *line);
/* A line that stays, whatever the mode. */
void acr_console_say(AcrConsole *console, const char *format, ...) G_GNUC_PRINTF(2, 3);

#endif
