/*
 * verbs: the subcommands of the program, one file each, each ending in its table entry. Results go
 * to stdout, progress and messages to stderr.
 */
#ifndef ACR_VERBS_H
#define ACR_VERBS_H

#include <glib.h>
#include <stdbool.h>

#include "base/base.h"
#include "loops/loops.h"
#include "task/task.h"

/* Exit codes: a contract. */
typedef enum {
    ACR_EXIT_OK = 0,   /* a patch (or result) was produced */
    ACR_EXIT_NONE = 1, /* the work ended without one */
    ACR_EXIT_USAGE = 2,
    ACR_EXIT_ENVIRONMENT = 3, /* missing tool, key, repository; a disk that is full */
    ACR_EXIT_CEILING = 4,     /* money, tokens or time, also when a patch was written */
    ACR_EXIT_INTERRUPTED = 130,
} AcrExit;

/* What main.c found out about this process. Borrowed by the verbs. */
typedef struct {
    const char *exe; /* this binary */
    const char *python_dir;
    const char *prompts_dir;
    AcrInterrupt *interrupt;
} AcrProgram;

typedef struct {
    const char *name;
    const char *summary; /* one line, for the list of verbs; NULL: not listed */
    /* argv[0] is the verb. Returns an AcrExit. */
    int (*run)(const AcrProgram *program, int argc, char **argv);
} AcrVerb;

/* All verbs, in the order in which they are listed; NULL-terminated. */
extern const AcrVerb *const acr_verbs[];

extern const AcrVerb acr_verb_run;
extern const AcrVerb acr_verb_search;
extern const AcrVerb acr_verb_patch;
extern const AcrVerb acr_verb_index;
extern const AcrVerb acr_verb_swe_bench;
extern const AcrVerb acr_verb_replay;
extern const AcrVerb acr_verb_ask;
extern const AcrVerb acr_verb_reproduce;
extern const AcrVerb acr_verb_exec;
extern const AcrVerb acr_verb_outline_worker;
extern const AcrVerb acr_verb_sandbox_helper;

#endif
