/* run_spec: the options and arguments of a command, as one value. Each option is one row of a table
 * (options.c). The row determines how the option is parsed, shown by --help, saved in meta.json,
 * passed to a batch's task, and compared on a resume. */
#pragma once

#include "base/base.h"

/* The verbs that have options, as bits. */
typedef enum {
    ACR_FOR_RUN = 1 << 0,
    ACR_FOR_REPRODUCE = 1 << 1,
    ACR_FOR_SWE_BENCH = 1 << 2,
    ACR_FOR_REPLAY = 1 << 3,
    ACR_FOR_SEARCH = 1 << 4,
    ACR_FOR_PATCH = 1 << 5,
    ACR_FOR_INDEX = 1 << 6,
    ACR_FOR_ASK = 1 << 7,
    ACR_FOR_EXEC = 1 << 8,
    ACR_FOR_EVAL = 1 << 9,
    ACR_FOR_MCP = 1 << 10,
    ACR_FOR_TESTS = 1 << 11,
    ACR_FOR_CONFIG = 1 << 12,
    ACR_FOR_DOCTOR = 1 << 13,
    ACR_FOR_REPORT = 1 << 14,
    ACR_FOR_EXTENSIONS = 1 << 15,
    ACR_FOR_LOCALIZE = 1 << 16,
    ACR_FOR_MERGE = 1 << 17,
    ACR_FOR_WATCH = 1 << 18,
    ACR_FOR_PR = 1 << 19,
    ACR_FOR_RUNS = 1 << 20,
    ACR_FOR_ACP = 1 << 21,
    ACR_FOR_VERIFY = 1 << 22,
} AcrForVerb;

#define ACR_MAX_CANDIDATES 64u              /* maximum number of patches given with --candidate */
#define ACR_WORKING_TREE "the working tree" /* as a patch: the changes since --rev */
#define ACR_UNSET (-1) /* marks a number that was not given and has no default */

/* Strings and lists are owned, and NULL if not given; numbers are ACR_UNSET if not given.
 * acr_run_spec_of makes an empty spec; the command line, the environment and the configuration
 * file fill it. */
typedef struct {
    AcrForVerb verb;
    char **arguments; /* the words of the command line that are not options */

    /* The repository and the issue. */
    char *repo, *rev, *issue_file, *issue_text, *issue_before, *issue_api, *instance_id, *out;
    char **repositories; /* only for `mcp` */
    bool http;
    gint64 port;
    char *dataset, *split, *repos, **instances;
    bool apply, dry_run;
    char *tag;
    char **extensions;
    gint64 extension_ms;

    /* Which tasks of a batch to run, and when to stop starting tasks. */
    char *instance_set, *slice, *shard;
    gint64 shuffle, fail_fast;
    bool retry_failed;

    /* What `swe-bench` does with its tasks instead of solving them. */
    bool reproduce_only, sbfl_only;
    char *extract_patches; /* a file or folder with saved answers of models */
    char *model_name;      /* the model_name_or_path of predictions; NULL: the models' names */

    /* The models, and how they are called. */
    char **models, *fallback_model, *effort;
    char *base_url, *key_command, *key_file, **headers, *prices, *prompts;
    double temperature;
    gint64 context, retries, retry_base_ms;
    gint64 repo_notes;   /* an AcrRepoNotes; ACR_UNSET means AUTO */
    gint64 history;      /* an AcrHistoryMode; ACR_UNSET means AUTO, but NEVER in `swe-bench` */
    gint64 tools;        /* an AcrToolsMode; ACR_UNSET means AUTO */
    gint64 service_tier; /* index in ACR_SERVICE_WORDS */

    char **candidates; /* files of patches to add as candidates, or ACR_WORKING_TREE */
    char *script_file, *script_text; /* only for `verify` */

    /* Limits of the loops. */
    gint64 rounds, tries, attempts, samples;

    /* How to run code. */
    gint64 verify, regressions, sbfl; /* an AcrVerify each */
    gint64 trace;                     /* index of the word: 0 is auto */
    /* an AcrProbeMode; ACR_UNSET: only the search agent may run snippets */
    gint64 probe;
    char *sandbox, *image, *python, *setup, *validate;
    char *environment; /* the name of a recipe */
    char *place;       /* where the code of a batch's task runs; NULL: as `sandbox` says */
    gint64 setup_ms;
    bool setup_network;

    /* Limits of a run; for swe-bench, limits of the batch and of each of its tasks. Money is in
     * pico-USD. In a task of a batch, members named `batch_…` are the limits of the batch. */
    gint64 max_cost, max_tokens_total, max_ms;
    gint64 task_max_cost, task_max_tokens, task_max_ms;
    gint64 batch_max_cost, batch_max_tokens;
    gint64 batch_deadline_us; /* as g_get_monotonic_time, which is the same in all processes */
    bool batch_api;
    char *batch_broker; /* address and token of the broker of batch interfaces */
    char *shared_dir;   /* folder in which the tasks of a batch share limits */

    /* Parallel work, cache and output. */
    gint64 jobs, tasks_at_once;
    bool no_cache, json, verbose, quiet, clear;
    char *events; /* number of a file descriptor, or a file name */

    /* Only for `ask`. */
    char *system, *schema, *ledger;
    gint64 max_tokens, timeout_ms;
    gint64 answer_ms; /* maximum time of a call in `run`; `ask` uses timeout_ms */
    bool json_mode;

    /* Only for `exec`. */
    char *patch;
    gint64 memory_mb, processes, output_limit;
    bool network;
    bool trust_git_links;

    /* Only for `doctor`. */
    bool online;

    /* Options of `report`, which also has the member `compare`. */
    gint64 report_form; /* index of the word in --format */

    bool once; /* only for `watch` */
    char *report_file;

    /* Options of `run` and `reproduce`, and of `runs`. */
    bool resume, prune, yes;

    /* Only for `pr`. */
    char *template, *branch, *push, *base, *api_url;
    gint64 forge; /* an AcrForgeKind; ACR_UNSET: derived from the remote's address */
    bool open, no_draft;
    gint64 assisted_by; /* index of the word: 0 is always, 1 is never */

    /* Only for `search`. */
    char *in_file;
    /* options that ask for what search does anyway, as users of grep expect */
    bool fixed_strings, as_usual;
    bool regex, any_case, whole_words, with_tests, files_only, counts_only, vimgrep;
    gint64 context_around, context_before, context_after; /* numbers of lines */
    gint64 limit;  /* number of results; ACR_UNSET: all, but only the first are shown in full */
    bool show_all; /* show all results in full */

    /* Only for `localize`. */
    char **failing_tests;
    bool has_hidden_tests, has_imports;
    gint64 formula; /* an AcrSpectrumFormula */

    /* Options of `tests`, `run` and `swe-bench`. */
    char *test_command;
    gint64 test_ms;
    bool list; /* also for `search` */

    /* Only for `eval`. */
    char *predictions, *run_id, *environments, *compare;
    gint64 rules, repeat, audit; /* `audit` is the number of runs of each kind; 0: no audit */
    gint64 grade;                /* only for `swe-bench`: an AcrGradePlace */
    bool regrade, ignore_unknown, official_only, baseline;
    char *image_template, *dockerfiles;
    gint64 cache_level, min_free_mb; /* index of the word of --cache-level */
    bool no_pull;
} AcrRunSpec;

/* Sets the options of `spec` that are given in `from`, a spec of the same verb; strings and lists
 * are borrowed. */
void acr_run_spec_override(AcrRunSpec *spec, const AcrRunSpec *from);

/* Values of --sandbox and --grade that are not names of backends: the bubblewrap sandbox with the
 * Python of a recipe, and the first place that works. */
#define ACR_IN_ENVIRONMENT "environment"
#define ACR_IN_AUTO "auto"

typedef enum { ACR_REPO_NOTES_AUTO, ACR_REPO_NOTES_NEVER } AcrRepoNotes;
typedef enum { ACR_HISTORY_AUTO, ACR_HISTORY_NEVER } AcrHistoryMode;
typedef enum { ACR_PROBE_AUTO, ACR_PROBE_NEVER } AcrProbeMode;
typedef enum { ACR_TOOLS_AUTO, ACR_TOOLS_NATIVE, ACR_TOOLS_TEXT } AcrToolsMode;
typedef enum { ACR_FORGE_GITHUB, ACR_FORGE_GITLAB, ACR_FORGE_GITEA } AcrForgeKind;
typedef enum { ACR_GRADE_IN_CONTAINER, ACR_GRADE_IN_ENVIRONMENT } AcrGradePlace;

/* Returns the word for the place where code runs: a backend of the sandbox, or ACR_IN_ENVIRONMENT;
 * borrowed. */
const char *acr_run_spec_place(const AcrRunSpec *spec);

/* Makes an empty spec for a verb. */
AcrRunSpec acr_run_spec_of(AcrForVerb verb);
void acr_run_spec_clear(AcrRunSpec *spec);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRunSpec, acr_run_spec_clear)

/* ---- The table ---- */

typedef enum {
    ACR_OPTION_TEXT,    /* char * */
    ACR_OPTION_PATH,    /* char *; a resumed run must name a file with the same contents */
    ACR_OPTION_PROGRAM, /* char *; a path is made absolute, a bare name is looked up in PATH */
    ACR_OPTION_MODEL,   /* char *; the path of a script is made absolute */
    ACR_OPTION_MODELS,  /* char **; may be repeated */
    ACR_OPTION_LIST,    /* char **; may be repeated */
    ACR_OPTION_FILES,   /* char **; may be repeated; paths are made absolute */
    ACR_OPTION_HEADERS, /* char **; "Name: value", may be repeated */
    ACR_OPTION_COUNT,   /* gint64 from `min` to `max` */
    ACR_OPTION_USD,     /* gint64, pico-USD */
    ACR_OPTION_SECONDS, /* gint64, milliseconds; above 0, and at most a year */
    ACR_OPTION_NUMBER,  /* double from `min` to `max` */
    ACR_OPTION_WORD,    /* gint64, index of the word in `words` */
    ACR_OPTION_FLAG,    /* bool */
} AcrOptionType;

enum {
    /* stored in the run folder; a resumed run must repeat the value */
    ACR_OPTION_BOUND = 1 << 0,
    ACR_OPTION_RARE = 1 << 1,   /* shown only by --help-all */
    ACR_OPTION_SECRET = 1 << 2, /* the option's value is never shown in a message */
    ACR_OPTION_CONFIG = 1 << 3, /* the configuration file may set it */
    ACR_OPTION_INNER = 1 << 4,  /* not on the command line; set only for the tasks of a batch */
};

typedef struct {
    const char *name;
    char letter; /* 0 if there is no short form */
    AcrOptionType type;
    gsize offset; /* position of the member in AcrRunSpec */
    guint verbs;  /* AcrForVerb bits of the verbs that have the option */
    guint flags;
    const char *argument; /* the name of the option's value in --help */
    const char *help;
    gint64 min, max;
    const char *default_value;  /* the default as a user would write it; NULL if there is none */
    const char *implied_value;  /* the same, but the member of AcrRunSpec stays 0 */
    const char *variable;       /* environment variable that also sets the option */
    const char *needs;          /* an option that this option requires; NULL if there is none */
    const char *conflicts_with; /* an option that excludes this option; NULL if there is none */
    const char *words;          /* for words, "auto|always|never"; for a string, its usual values */
    /* the value if the option is given without a value; NULL if a value is required */
    const char *implicit_value;
    guint required; /* AcrForVerb bits of the verbs that require the option */
} AcrOption;
extern const AcrOption acr_options[];
extern const guint acr_n_options;

/* The order of options in --help and the manual, as groups of names. Common options come first.
 * Each option that users can set is in exactly one group; the last row has no heading. */
typedef struct {
    const char *heading, *names;
    guint verbs; /* AcrForVerb bits of the verbs that have this group */
} AcrOptionGroup;
extern const AcrOptionGroup acr_option_groups[];

/* Finds the option of a verb (0: any verb) by its name, which has `len` bytes. Returns NULL if
 * there is none. */
const AcrOption *acr_option_find(const char *name, gsize len, guint verb);
/* Returns the name of the verb's option that is most similar to a mistyped `word`; with `verb` 0,
 * of the options that a configuration file may set. NULL if none is similar. */
const char *acr_option_nearest(const char *word, guint verb);
/* Returns whether the option has a value; after acr_run_spec_complete, defaults are values, too. */
bool acr_run_spec_is_given(const AcrRunSpec *spec, const AcrOption *option);
/* Returns the option that conflicts with `option`, if it is given; otherwise NULL. */
const AcrOption *acr_option_conflict(const AcrRunSpec *spec, const AcrOption *option);

/* ---- Setting ---- */

/* Sets an option from a user's text; error messages call the option `label` ("--rounds"). Errors:
 * USAGE of task. */
bool acr_run_spec_set(AcrRunSpec *spec, const AcrOption *option, const char *label,
                      const char *text, GError **error) ACR_MUST_USE;
/* Sets defaults, and checks options that depend on each other. Errors: USAGE. */
bool acr_run_spec_complete(AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Sets options from the environment, unless the command line has set them, and removes secrets from
 * the environment, so that no child process gets them. Call before threads start. Errors: USAGE. */
bool acr_run_spec_take_environment(AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Sets options from a file of `name = value` lines, unless they are already set. A missing file
 * sets no options. Errors: USAGE (names file and line). */
bool acr_run_spec_take_file(AcrRunSpec *spec, const char *path, GError **error) ACR_MUST_USE;
/* Returns the path $VARIABLE/acr-host/NAME or, if the variable is not set,
 * HOME/`in_home`/acr-host/NAME; owned (g_free); NULL if neither path is absolute. */
char *acr_user_path(const char *variable, const char *in_home, const char *name) ACR_MUST_USE;

/* ---- As JSON ---- */

/* Makes a JSON object with a member for each of the verb's options that have all of `flags`; owned.
 * A member is null if its option is not given. `flags` 0 means all options, even secrets. */
AcrJson *acr_run_spec_to_json(const AcrRunSpec *spec, guint flags) ACR_MUST_USE;
/* Sets options that have all of `flags` from the members of `json`; ignores other members.
 * Errors: USAGE (wrong type or out of range). */
bool acr_run_spec_from_json(AcrRunSpec *spec, guint flags, const AcrJson *json,
                            GError **error) ACR_MUST_USE;
/* Returns the name of an option's JSON member, with "_" instead of "-"; owned. */
char *acr_option_key(const AcrOption *option) ACR_MUST_USE;
/* Formats a JSON value as a user would write it; a list is written in one line; owned. */
char *acr_option_value(const AcrOption *option, const AcrJson *value) ACR_MUST_USE;
/* Formats an option and its JSON value as a user would write them: "--rounds 15"; one line of
 * UTF-8, owned. */
char *acr_option_written(const AcrOption *option, const AcrJson *value) ACR_MUST_USE;

/* ---- Values (amounts.c) ---- */

/* Reads decimal USD ("0.25", "1e-06"), exact to the pico-USD. Returns false if `text` is not a
 * number, or too large. */
bool acr_usd_parse(const char *text, gint64 *out_pico) ACR_MUST_USE;
/* Reads a number of seconds above 0, with fractions, at most a year; *out_ms is in milliseconds. */
bool acr_seconds_parse(const char *text, gint64 *out_ms) ACR_MUST_USE;
/* Reads a whole number from 0 to `max`. */
bool acr_count_parse(const char *text, gint64 max, gint64 *out) ACR_MUST_USE;
