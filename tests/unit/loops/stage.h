/* The environment for tests of single steps: a scripted model, prepared results of trials, and an
 * in-memory run folder. */
#pragma once

#include "loops/attempt_work.h"
#include "unit/cases.h"

typedef struct {
    AcrPrompts *prompts;
    AcrPython *python;
    AcrModel *model;
    GString *notes;    /* one per line */
    GHashTable *files; /* path -> text */
    GPtrArray *given;  /* array of AcrExecuted: the results of the trials; NULL: the sandbox fails */
    GString *trials;   /* "script REPEAT\n" or "COMMAND with\n", "COMMAND without\n" */
    guint ran, compared;
    const AcrTestComparison *tests; /* the result of the project's tests; NULL: they cannot run */
    AcrTestComparison *whole_tests; /* the result of a complete comparison; NULL: `tests` */
    bool is_available;
    const char *about; /* the executor's description of itself */
    AcrInterrupt interrupt;
    AcrExecutor executor;
    AcrTestComparer comparer;
    AcrArtifacts artifacts;
    AcrProgress progress;
    AcrRun run;
    AcrAttemptWork work;
    char *folder; /* the snapshot's folder; NULL if it does not exist yet */
} Stage;

void stage_set_up(Stage *stage, gconstpointer script);
void stage_tear_down(Stage *stage, gconstpointer script);

#define STAGE_TEST(group, name, lines)                                                                                 \
    TEST_WITH(group, name, Stage, stage, script, lines, stage_set_up, stage_tear_down)
/* Makes the next trial end with that exit code and standard error; borrowed. */
AcrExecuted *stage_give(Stage *stage, int exit_code, const char *err);
/* The text of a file in the run folder; borrowed, NULL if there is none. */
const char *stage_file(const Stage *stage, const char *path);
/* Adds a patch for the only file of a snapshot; borrowed from the candidates. */
AcrCandidate *stage_add_patch(Stage *stage, GPtrArray *candidates, guint number);
void stage_assert_noted(const Stage *stage, const char *words);
