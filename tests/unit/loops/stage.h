/* What tests of single steps work on: a scripted model, trials whose results are given beforehand, and a run folder in memory. */
#pragma once

#include "loops/attempt_work.h"
#include "unit/cases.h"

typedef struct {
    AcrPrompts *prompts;
    AcrPython *python;
    AcrModel *model;
    GString *notes;    /* a line each */
    GHashTable *files; /* path -> text */
    GPtrArray *given;  /* of AcrExecuted: what the trials come to; NULL: the sandbox fails */
    GString *trials;   /* "script REPEAT\n" or "COMMAND with\n", "COMMAND without\n" */
    guint ran, compared;
    const AcrTestComparison *tests; /* what the project's tests come to; NULL: they cannot be run */
    AcrTestComparison *whole_tests; /* of a whole comparison; NULL: `tests` */
    bool is_available;
    const char *about; /* what the executor says of itself */
    AcrInterrupt interrupt;
    AcrExecutor executor;
    AcrTestComparer comparer;
    AcrArtifacts artifacts;
    AcrProgress progress;
    AcrRun run;
    AcrAttemptWork work;
    char *folder; /* of the snapshot; NULL: there is none yet */
} Stage;

void stage_set_up(Stage *stage, gconstpointer script);
void stage_tear_down(Stage *stage, gconstpointer script);

#define STAGE_TEST(group, name, lines)                                                             \
    TEST_WITH(group, name, Stage, stage, script, lines, stage_set_up, stage_tear_down)
/* The next trial ends with that exit code and standard error; borrowed. */
AcrExecuted *stage_give(Stage *stage, int exit_code, const char *err);
/* A file of the run folder; borrowed, NULL: it is not there. */
const char *stage_file(const Stage *stage, const char *path);
/* A patch of the only file of a snapshot; borrowed from the candidates. */
AcrCandidate *stage_add_patch(Stage *stage, GPtrArray *candidates, guint number);
void stage_assert_noted(const Stage *stage, const char *words);
