/* recorded: wrappers for the model, the referee and the executor of a run. Each wrapper answers
 * first from the journal and then from the object that it wraps. With these wrappers, the loops can
 * be resumed and replayed without knowing about the journal. */
#pragma once

#include "journal/journal.h"
#include "project/project.h"
#include "task/cost.h"
#include "task/task.h"

/* ---- Window (window.c) ---- */

/* The size of a model's context in tokens, and the number of bytes per token. */
typedef struct {
    gint64 tokens; /* 0 if the size is not known yet */
    bool is_given; /* the user set the size, so errors from the server do not change it */
    double seen_bytes, seen_tokens;
} AcrWindow;
/* Initialises a window. If `tokens` is 0, the size is learnt from errors. */
void acr_window_init(AcrWindow *window, gint64 tokens);
/* Adjusts the number of bytes per token to the usage that an answer (live or recorded) reports. */
void acr_window_learn_answer(AcrWindow *window, const AcrConversation *conversation,
                             const AcrUsage *usage);
/* Learns the size from an error that states a context of `tokens` (0: the error states no size). */
void acr_window_learn_refusal(AcrWindow *window, const AcrConversation *conversation,
                              gint64 tokens);
/* Estimates the number of tokens of the conversation, rather too high than too low. */
gint64 acr_window_estimate(const AcrWindow *window, const AcrConversation *conversation);
/* Returns the estimated number of tokens that remain for an answer, at least 1; 0 if the window's
 * size is unknown. */
guint acr_window_room(const AcrWindow *window, const AcrConversation *conversation);
/* Returns whether the request leaves room for an answer, or the window's size is unknown; otherwise
 * sets CONTEXT_OVERFLOW. */
bool acr_window_fits(const AcrWindow *window, const AcrModelRequest *request,
                     GError **error) ACR_MUST_USE;

/* ---- The journal's record of a call (model_record.c) ------ */

AcrJson *acr_record_answer(const AcrModelAnswer *answer) ACR_MUST_USE;
void acr_record_read_answer(const AcrJson *record, AcrModelAnswer *out); /* *out is owned */
void acr_record_add_tries(AcrJson *record, const AcrModelReport *report);
/* Sums up the usage of all requests of a call from the call's record. `replayed` means that the
 * journal answered the call. */
void acr_record_cost(const AcrJson *record, bool replayed, AcrCostSum *out);

/* ---- Model (recorded_model.c) ---- */

/* Remembers which messages of each conversation were sent, for all models of a run, so that a
 * record contains only new messages. */
typedef struct AcrRecorder AcrRecorder;
/* Makes a recorder. All arguments are borrowed and must outlive it. No live call begins after the
 * deadline of `budget` (may be NULL), but the journal still answers. `progress` (may be NULL)
 * receives the sums. */
AcrRecorder *acr_recorder_new(AcrJournal *journal, AcrCost *cost, const AcrBudget *budget,
                              const AcrProgress *progress) ACR_MUST_USE;
/* Makes the recorder report each answer to the extensions. The arguments are borrowed and must
 * outlive the recorder's models. */
void acr_recorder_observe(AcrRecorder *recorder, AcrExtensions *extensions, AcrSearch *search);
void acr_recorder_free(AcrRecorder *recorder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrRecorder, acr_recorder_free)

/* Makes a model that answers from the journal first, and then from `inner` (taken; NULL in a
 * replay), whose answers it records. It also records failures on which the next steps depend
 * (context overflow, used-up script), but not failures that end the run, so that the run can be
 * resumed. A request that does not fit into `window` tokens (0: the size is learnt from errors) is
 * not sent. It fails as if the server had rejected it, and the failure is recorded. */
AcrModel *acr_recorded_model_new(AcrRecorder *recorder, const char *name, AcrModel *inner,
                                 gint64 window) ACR_MUST_USE;

/* ---- Referee (recorded_referee.c) ---- */

/* A referee that takes the linter's answer from the journal first, and then from `inner`. */
typedef struct {
    AcrReferee referee;
    AcrJournal *journal;
    const AcrReferee *inner;
} AcrRecordedReferee;
/* Initialises a referee. The arguments are borrowed and must outlive `self`. `self->referee` is
 * invalid after `self` is moved. */
void acr_recorded_referee_init(AcrRecordedReferee *self, AcrJournal *journal,
                               const AcrReferee *inner);

/* ---- Trials (trial_runner.c) ---- */

/* Runs trials in the sandbox of a run; records nothing. Zero-initialise the struct. */
typedef struct {
    AcrSnapshot *snapshot;
    AcrRefereeWorker *worker; /* borrowed */
    AcrSandbox *sandbox;      /* NULL until the first trial needs it */
    AcrJson *import_folders;  /* folders of the project's packages; NULL until they are needed */
    bool is_compiled;         /* what the first script imports was compiled, as far as possible */
    AcrSandboxOptions options;
    AcrSetUp set_up; /* the command that --setup auto has chosen */
    char *work_tree, *cache;
    const char *python_dir;  /* the folder that contains the package acr */
    const AcrBudget *budget; /* has the run's deadline; NULL in a replay */
} AcrTrialRunner;
/* Initialises a runner. `work_tree` may be NULL; the other arguments must outlive the runner. */
void acr_trial_runner_init(AcrTrialRunner *self, const AcrRunSpec *spec, AcrWorkspace *workspace,
                           const char *work_tree, const AcrBudget *budget, const AcrHost *host);
void acr_trial_runner_clear(AcrTrialRunner *self);
/* Returns the path of the project's Python in the sandbox, which is opened and set up first;
 * borrowed. Errors: those of sandbox; CEILING of llm if the run's time limit interrupted the
 * set-up. */
const char *acr_trial_runner_python(AcrTrialRunner *self, GError **error) ACR_MUST_USE;
/* Runs the project's Python once to find its version ("Python 3.9.18"); owned. */
char *acr_trial_runner_probe(AcrTrialRunner *self, GError **error) ACR_MUST_USE;
/* Runs a trial. Errors: those of acr_trial_runner_python, vcs and py. */
bool acr_trial_runner_run(AcrTrialRunner *self, const AcrTrial *trial, AcrExecuted *out,
                          GError **error) ACR_MUST_USE;

/* ---- Executor (recorded_executor.c) ---- */

/* An executor that takes the result of a trial from the journal first, and then from a trial
 * runner. */
typedef struct {
    AcrExecutor executor;
    AcrJournal *journal;
    /* whether code can be run, and the sandbox's Python and tree; NULL if not known yet */
    const AcrJson *opened;
    /* The members below serve live executions, after the end of the journal: */
    bool is_demanded; /* an unavailable sandbox ends the run, and is not recorded */
    AcrTrialRunner runner;
    const AcrProgress *progress; /* may be NULL */
} AcrRecordedExecutor;
/* Initialises an executor. The journal is borrowed and must outlive `self`. `self->executor` is
 * invalid after `self` is moved. */
void acr_recorded_executor_init(AcrRecordedExecutor *self, AcrJournal *journal);
/* Makes `self` run trials in a sandbox after the end of the journal, until the deadline of
 * `budget`. `work_tree` may be NULL; the other arguments must outlive `self`. */
void acr_recorded_executor_go_live(AcrRecordedExecutor *self, const AcrRunSpec *spec,
                                   AcrWorkspace *workspace, const char *work_tree,
                                   const AcrBudget *budget, const AcrHost *host);
void acr_recorded_executor_clear(AcrRecordedExecutor *self);
/* Returns whether a failure to run code ends the run without a record: code must be run
 * (`is_demanded`), or the failure says nothing about the project (interrupt, wrong options, time
 * limit). */
bool acr_recorded_executor_ends_run(const AcrRecordedExecutor *self, bool is_demanded,
                                    GError *failure);
/* Returns false with UNAVAILABLE of sandbox if a recorded answer is a failure. */
bool acr_recorded_executor_take_failure(const AcrJson *answer, GError **error) ACR_MUST_USE;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRecordedExecutor, acr_recorded_executor_clear)

/* ---- The project's own tests (recorded_tests.c) ---- */

/* Takes the results of tests from the journal first, and then from the executor's sandbox. */
typedef struct {
    AcrTestComparer comparer;
    AcrRecordedExecutor *executor;
    const char *const *failing; /* ids of the tests that the user named; NULL if there are none */
    bool is_sbfl_demanded;
    /* array of AcrOverlay *: given patches; tests near their changes run first; NULL if there are
     * none */
    const GPtrArray *given;
    /* The members below serve live tests, after the end of the journal: */
    AcrBaseline baseline; /* empty until the first comparison makes it */
    AcrProject project;   /* the sandbox sets the members that are still missing */
    AcrRefereeWorker *worker;
    char *cache;       /* folder for cached baselines; NULL: baselines are not cached */
    char *environment; /* result of acr_task_test_environment */
    /* files that the given patches change; NULL if unknown, or if there are no given patches */
    char **near;
} AcrRecordedTests;
/* Initialises the tests. The arguments are borrowed and must outlive `self`. `self->comparer` is
 * invalid after `self` is moved. */
void acr_recorded_tests_init(AcrRecordedTests *self, AcrRecordedExecutor *executor,
                             const AcrRunSpec *spec);
/* Makes `self` run tests in the sandbox after the end of the journal; the arguments are borrowed
 * and must outlive `self`. */
void acr_recorded_tests_go_live(AcrRecordedTests *self, const AcrRunSpec *spec,
                                const AcrHost *host);
void acr_recorded_tests_clear(AcrRecordedTests *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRecordedTests, acr_recorded_tests_clear)

/* ---- Live models (models.c) ---- */

/* Makes the models for calls that the journal cannot answer, each with its fallback model; owned
 * array of AcrModel. `limits` and `host` must outlive them. Errors: those of acr_model_new. */
GPtrArray *acr_task_models_new(const AcrRunSpec *spec, const AcrLimits *limits, const AcrHost *host,
                               GError **error) ACR_MUST_USE;
/* Returns whether the models get the search calls as tools. By default, they do only if all models
 * are known to support tools. */
bool acr_task_wants_tools(const AcrRunSpec *spec, const GPtrArray *models);
