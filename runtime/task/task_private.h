/* Private to task: the model and the referee that ask the journal first, what a run cost, and the
 * run folder. */
#ifndef ACR_TASK_PRIVATE_H
#define ACR_TASK_PRIVATE_H

#include "journal/journal.h"
#include "task/task.h"

/* ---- Cost ---------------------------------------------------------------------------------------
 */

/* What one call used, all of its requests together: counters that are unknown count as 0. */
typedef struct {
    AcrUsage usage;
    gint64 charged_pico; /* what budgets count for it */
    gint64 wait_ms;
    guint retries;
    bool has_unknown_cost;
} AcrCallCost;
/* Adds known counters; saturates. */
void acr_usage_add(AcrUsage *sum, const AcrUsage *usage);

/* Calls and tokens by role, recorded and live ones alike: the same journal gives the same sums. */
typedef struct AcrCost AcrCost;
AcrCost *acr_cost_new(void) ACR_MUST_USE;
void acr_cost_free(AcrCost *cost);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrCost, acr_cost_free)
/* `stage` as conversations are named ("attempt_0/search"); `replayed`: the journal answered. */
void acr_cost_add(AcrCost *cost, const char *agent, const char *stage, const AcrCallCost *call,
                  bool replayed);
/* Which prices were known (taken; may be NULL). */
void acr_cost_set_prices(AcrCost *cost, AcrJson *described);
/* The sums of all roles. Borrowed. */
const AcrCostSum *acr_cost_total(const AcrCost *cost);
/* cost.json: {"total": SUM, "cached_share", "by_agent": {"search": SUM, …}, "by_stage":
 * {"attempt_0/search": SUM, …}, "prices"}. In a SUM, input_tokens are those that were neither read
 * from a cache nor written to one; cost_microusd sums the known costs, charged_microusd what
 * ceilings count. */
AcrJson *acr_cost_to_json(const AcrCost *cost) ACR_MUST_USE;

/* ---- Window -------------------------------------------------------------------------------------
 */

/* What a model's context takes, and how many bytes make a token. */
typedef struct {
    gint64 tokens; /* 0: not known yet */
    bool is_given; /* by the user: refusals do not change it */
    double seen_bytes, seen_tokens;
} AcrWindow;
/* `tokens` 0: to be learnt. */
void acr_window_init(AcrWindow *window, gint64 tokens);
/* From the usage of a call that was answered, now or by the journal. */
void acr_window_learn_answer(AcrWindow *window, const AcrConversation *conversation,
                             const AcrUsage *usage);
/* From a refusal that names a window of so many tokens; 0: it names none. */
void acr_window_learn_refusal(AcrWindow *window, const AcrConversation *conversation,
                              gint64 tokens);
/* About how many tokens the conversation has, rather too many than too few. */
gint64 acr_window_estimate(const AcrWindow *window, const AcrConversation *conversation);
/* About how many tokens it leaves for an answer, at least 1; 0: no window is known. */
guint acr_window_room(const AcrWindow *window, const AcrConversation *conversation);
/* Whether the request leaves room for an answer; else CONTEXT_OVERFLOW. True where no window is
 * known. */
bool acr_window_fits(const AcrWindow *window, const AcrModelRequest *request,
                     GError **error) ACR_MUST_USE;

/* ---- What the journal keeps of a call (model_record.c) ------------------------------------------
 */

#define ACR_PICO 1000000 /* pico-USD in a millionth of a USD */
AcrJson *acr_record_answer(const AcrModelAnswer *answer) ACR_MUST_USE;
void acr_record_read_answer(const AcrJson *record, AcrModelAnswer *out); /* *out owned */
void acr_record_add_tries(AcrJson *record, const AcrModelReport *report);
void acr_record_cost(const AcrJson *record, AcrCallCost *out);

/* ---- Spending (spending.c) ----------------------------------------------------------------------
 */

/* Prices and ceilings of a run. Zero-initialise. */
typedef struct {
    AcrPrices *prices;
    AcrBudget *budget;   /* without ledgers until acr_spending_open */
    char *prices_digest; /* of the file of prices; NULL: none was given */
    gint64 deadline_us;  /* g_get_monotonic_time; 0: none */
    const char *scope;   /* of the deadline: "run" or "batch" */
} AcrSpending;
/* Begins the run's time. Errors: USAGE of llm (the file of prices). */
bool acr_spending_init(AcrSpending *spending, const AcrTaskOptions *options,
                       GError **error) ACR_MUST_USE;
/* Opens the ledgers: the run's at `path`, and the batch's. Under a ceiling the run's must be there
 * if anything is recorded in `journal`. */
bool acr_spending_open(AcrSpending *spending, const AcrTaskOptions *options, const char *path,
                       const char *journal, GError **error) ACR_MUST_USE;
/* Which prices are known, for cost.json; owned. */
AcrJson *acr_spending_describe(const AcrSpending *spending) ACR_MUST_USE;
void acr_spending_clear(AcrSpending *spending);

/* ---- Recorded model -----------------------------------------------------------------------------
 */

/* What has been asked in each conversation, so that a record holds only what is new; shared by a
 * run's models. */
typedef struct AcrRecorder AcrRecorder;
/* All borrowed; must outlive the recorder. `progress` (may be NULL) is told the sums. */
AcrRecorder *acr_recorder_new(AcrJournal *journal, AcrCost *cost,
                              const AcrProgress *progress) ACR_MUST_USE;
void acr_recorder_free(AcrRecorder *recorder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrRecorder, acr_recorder_free)
guint64 acr_recorder_live_calls(const AcrRecorder *recorder);

/*
 * A model that asks the journal first and `inner` (taken; NULL in a replay) after it, and records
 * each of its answers. Recorded are answers and those failures that decide how the run goes on
 * (context overflow, used-up script); a failure that ends the run is not, so that the run can be
 * gone on with.
 */
AcrModel *acr_recorded_model_new(AcrRecorder *recorder, const char *name,
                                 AcrModel *inner) ACR_MUST_USE;
/* Sends nothing that does not fit so many tokens (0: learnt from refusals); it fails as if it had
 * been refused, and is recorded so. */
void acr_recorded_model_set_window(AcrModel *model, gint64 tokens);

/* ---- Recorded referee ---------------------------------------------------------------------------
 */

/* A referee that asks the journal first for what the linter says, and `inner` after it. */
typedef struct {
    AcrReferee referee;
    AcrJournal *journal;
    const AcrReferee *inner;
} AcrRecordedReferee;
/* Both borrowed; must outlive it. `self->referee` is valid as long as `self` stays where it is. */
void acr_recorded_referee_init(AcrRecordedReferee *self, AcrJournal *journal,
                               const AcrReferee *inner);

/* ---- Recorded executor (executor.c) -------------------------------------------------------------
 */

/* An executor that asks the journal first what came of a trial, and a sandbox after it. */
typedef struct {
    AcrExecutor executor;
    AcrJournal *journal;
    AcrSnapshot *snapshot;
    GHashTable *known; /* request as text -> AcrExecuted */
    bool is_open, is_available;
    char *text, *dir; /* what opening it said */
    /* Beyond the journal: */
    bool is_live;
    bool is_demanded;    /* a sandbox that cannot be had ends the run, and is not recorded */
    AcrSandbox *sandbox; /* NULL until it is needed */
    AcrSandboxOptions options;
    char *work_tree, *cache;
    const AcrInterrupt *interrupt;
    const AcrProgress *progress; /* may be NULL */
    gint64 deadline_us;          /* of the run; 0: none */
    const char *deadline_scope;
} AcrRecordedExecutor;
/* Both borrowed; must outlive it. `self->executor` is valid as long as `self` stays where it is. */
void acr_recorded_executor_init(AcrRecordedExecutor *self, AcrJournal *journal,
                                AcrSnapshot *snapshot);
/* Lets it go on with a sandbox where the journal ends, until the run's time is over. `work_tree`
 * may be NULL; the scope in `spending` must outlive it. */
void acr_recorded_executor_go_live(AcrRecordedExecutor *self, const AcrTaskCode *code,
                                   const char *work_tree, bool is_demanded,
                                   const AcrSpending *spending, const AcrHost *host);
void acr_recorded_executor_clear(AcrRecordedExecutor *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRecordedExecutor, acr_recorded_executor_clear)

/* ---- Outlines -----------------------------------------------------------------------------------
 */

/* Files that the outliner failed on when the run began. Zero-initialise with `failures` set. */
struct AcrOutlineRecord {
    AcrJson *failures; /* owned; [{"file","why"}]; added to unless `settled` */
    bool settled;      /* the run has begun with this list */
    char *late;        /* owned; a failure that the run did not begin with, or NULL */
};
/* Obeys and fills the record. Valid while the record lives. */
AcrOutlineFate acr_outline_record_fate(AcrOutlineRecord *record);
void acr_outline_record_clear(AcrOutlineRecord *record);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrOutlineRecord, acr_outline_record_clear)

/* ---- Run folder ---------------------------------------------------------------------------------
 */

#define ACR_META_FORMAT 2
#define ACR_META_REPRODUCER "reproducer" /* in meta.json; nothing for a patch */
#define ACR_META_MAX_BYTES (16u * 1024 * 1024)

typedef enum {
    ACR_FOLDER_NEW,   /* begun, what the run stands on is not yet complete in it */
    ACR_FOLDER_READY, /* complete; the journal may hold records */
    ACR_FOLDER_DONE,
} AcrFolderState;

typedef struct {
    char *path;
    AcrLock *lock; /* NULL in a replay */
    AcrFolderState state;
    AcrJson *meta; /* NULL in a new folder */
} AcrFolder;

/* Whether `path` is a run folder already, in whatever state. */
bool acr_folder_exists(const char *path);
/* Opens `path` for a run: made if missing; one that holds anything else than a run is refused
 * (USAGE) untouched. */
bool acr_folder_open(const char *path, AcrFolder *out, GError **error) ACR_MUST_USE;
/* Opens an existing run folder for reading only. */
bool acr_folder_read(const char *path, AcrFolder *out, GError **error) ACR_MUST_USE;
void acr_folder_clear(AcrFolder *folder);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrFolder, acr_folder_clear)
/* A path in it; owned (g_free). */
char *acr_folder_path(const AcrFolder *folder, const char *name) ACR_MUST_USE;
/* Writes a file in it, its folders made. */
bool acr_folder_write(const AcrFolder *folder, const char *name, const void *data, gsize len,
                      GError **error) ACR_MUST_USE;
/* Writes indented JSON (taken). */
bool acr_folder_write_json(const AcrFolder *folder, const char *name, AcrJson *json,
                           GError **error) ACR_MUST_USE;
/* Writes meta.json in the given state. `meta` is changed (member "state") and borrowed. */
bool acr_folder_write_meta(AcrFolder *folder, AcrJson *meta, AcrFolderState state,
                           GError **error) ACR_MUST_USE;

/* ---- Results (result.c) -------------------------------------------------------------------------
 */

/* What the run is for. */
AcrGoal acr_folder_goal(const AcrFolder *folder);
/* Writes what a run has come to so far: patch.diff and selected_patch.json, or the reproducer. */
bool acr_result_save(const AcrFolder *folder, const AcrArtifacts *artifacts,
                     const AcrOutcome *result, GError **error) ACR_MUST_USE;
/* The same, and that it is over. */
bool acr_result_finish(AcrFolder *folder, const AcrArtifacts *artifacts, const AcrOutcome *result,
                       GError **error) ACR_MUST_USE;
/* Of a run that is over. *out owned. */
bool acr_result_read(const AcrFolder *folder, AcrTaskResult *out, GError **error) ACR_MUST_USE;

/* ---- Meta ---------------------------------------------------------------------------------------
 */

/* The part of meta.json that a folder is bound to:
 * {"repo","rev","issue","models","rounds",…,"prompts": {file: sha256}}. */
AcrJson *acr_meta_options(const AcrTaskOptions *options, const AcrPrompts *prompts) ACR_MUST_USE;
/* Whether both are equal; else USAGE, naming the first field that differs and both values. */
bool acr_meta_check(const AcrJson *recorded, const AcrJson *given, const char *folder,
                    GError **error) ACR_MUST_USE;

/* ---- Models -------------------------------------------------------------------------------------
 */

/* The models that are asked when the journal has no answer, each with the fallback behind it; owned
 * array of AcrModel. `spending` and `host` must outlive them. Errors: those of acr_model_new. */
GPtrArray *acr_task_models_new(const AcrTaskOptions *task, const AcrSpending *spending,
                               const AcrHost *host, GError **error) ACR_MUST_USE;

/* ---- cost.json of a run that is replayed --------------------------------------------------------
 */

#define ACR_COST_FILE "cost.json"
/* Takes over which prices were known then: nothing else tells it. */
void acr_cost_take_prices(AcrCost *cost, const AcrFolder *folder);
/* Whether the file of that name is a cost.json of before there were stages, as is not made any
 * more. */
bool acr_cost_is_older(const AcrFolder *folder, const char *name);

#endif
