/* Private to verbs: the place where a project's own tests run. */
#pragma once

#include "verbs/verbs_private.h"

#include "project/project.h"

/* All members are owned. Zero-initialise the struct. */
typedef struct {
    AcrWorkspace workspace; /* without an index */
    AcrSandbox *sandbox;
    AcrRefereeWorker *worker;
    AcrGradingPlan plan; /* set only for a benchmark task */
    AcrSetUp set_up;     /* the command that --setup auto has chosen */
    char *work_tree, *python, *cache, *baselines, *environment;
} AcrTestPlace;
void acr_test_place_clear(AcrTestPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestPlace, acr_test_place_clear)
/* Opens the repository of --repo or the task of --dataset, and the sandbox. */
bool acr_test_place_open(AcrHost *host, const AcrRunSpec *spec, AcrTestPlace *place,
                         GError **error) ACR_MUST_USE;
/* Returns the project for the functions that run tests; borrowed from the place. */
AcrProject acr_test_place_project(const AcrTestPlace *place, const AcrHost *host,
                                  const AcrRunSpec *spec);
int acr_test_place_fail(AcrHost *host, const GError *error);

/* Creates the environment of --environment, if the option is given, and sets --python, --setup and
 * --test-cmd accordingly. Errors: USAGE of task, those of project and vcs. */
bool acr_verb_take_environment(AcrHost *host, AcrRunSpec *spec, GError **error) ACR_MUST_USE;

/* Makes the console show which test runs. */
void acr_test_place_show(AcrProject *project, AcrConsole *console);
