/* verbs: the subcommands of the program. Each verb's file ends with the verb's table entry.
 * Results go to stdout, progress and messages to stderr. */
#pragma once

#include "base/base.h"
#include "task/task.h"

/* Seconds within which the program ends after an interrupt or timeout. */
#define ACR_GRACE_S 10

/* A task, and the words after "acr-host" that do it. */
typedef struct {
    const char *task, *words;
} AcrExample;

typedef struct AcrVerb AcrVerb;
struct AcrVerb {
    const char *name, *short_name; /* short_name is NULL if there is none */
    /* one line for the list of verbs; NULL if the verb is not listed */
    const char *summary;
    /* the verb's bit in the table of options; 0 if `start` parses the arguments itself */
    AcrForVerb takes;
    /* the arguments besides options, as text for --help; NULL if there are none */
    const char *arguments;
    const char *arguments_note; /* what the arguments mean, for --help; NULL if it is obvious */
    AcrExample examples[5];     /* for --help and the manual page; ends with an empty one */
    const char *exits;          /* the exit codes that differ from the general ones; NULL if none */
    bool is_command;            /* the arguments are a command after "--" */
    bool uses_network;
    /* Performs the verb; returns an AcrExit, or for `exec` the command's exit code. `host` has the
     * program's files and settings, with the cache and jobs from the options; the verb sets
     * host->progress. */
    int (*run)(AcrHost *host, AcrRunSpec *spec);
    int (*start)(AcrHost *host, int argc, char **argv);
};

/* All verbs in the order of --help; NULL-terminated. */
extern const AcrVerb *const acr_verbs[];

/* Finds a verb by its name or short name. Returns NULL if there is none. */
const AcrVerb *acr_verb_find(const char *name);
/* Returns the name of the verb most similar to a mistyped `name`; NULL if none is similar. */
const char *acr_verb_nearest(const char *name);
/* Prints --version: one line, or one JSON object with the libraries' versions. Returns an
 * AcrExit. */
int acr_version_print(bool as_json);
/* Runs a verb with options from argv (argv[0] is its name), the environment and the configuration
 * file. Returns the program's exit code. */
int acr_verb_start(AcrHost *host, const AcrVerb *verb, int argc, char **argv);

extern const AcrVerb acr_verb_run;
extern const AcrVerb acr_verb_search;
extern const AcrVerb acr_verb_patch;
extern const AcrVerb acr_verb_index;
extern const AcrVerb acr_verb_swe_bench;
extern const AcrVerb acr_verb_eval;
extern const AcrVerb acr_verb_replay;
extern const AcrVerb acr_verb_ask;
extern const AcrVerb acr_verb_reproduce;
extern const AcrVerb acr_verb_exec;
extern const AcrVerb acr_verb_mcp;
extern const AcrVerb acr_verb_acp;
extern const AcrVerb acr_verb_tests;
extern const AcrVerb acr_verb_verify;
extern const AcrVerb acr_verb_help;
extern const AcrVerb acr_verb_localize;
extern const AcrVerb acr_verb_merge;
extern const AcrVerb acr_verb_config;
extern const AcrVerb acr_verb_doctor;
extern const AcrVerb acr_verb_report;
extern const AcrVerb acr_verb_runs;
extern const AcrVerb acr_verb_demo;
extern const AcrVerb acr_verb_watch;
extern const AcrVerb acr_verb_pr;
extern const AcrVerb acr_verb_describe;
extern const AcrVerb acr_verb_batch_task;
extern const AcrVerb acr_verb_outline_worker;
extern const AcrVerb acr_verb_referee_worker;
extern const AcrVerb acr_verb_extension_worker;
extern const AcrVerb acr_verb_extensions;
extern const AcrVerb acr_verb_sandbox_helper;
