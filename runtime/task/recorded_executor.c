/* The executor of a run. It takes two kinds of events from the journal first, and then from the
 * trial runner: whether code can be run ("sandbox"), and the result of each trial ("execution"). A
 * failure of the sandbox is recorded, too, because the next steps of the run depend on it. */
#include "task/recorded.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* Returns whether an error concerns only this run, and says nothing about the project. */
static bool is_of_run(const AcrRecordedExecutor *self, const GError *error)
{
    return g_error_matches(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_INTERRUPTED) ||
           g_error_matches(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_USAGE) ||
           g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING) ||
           acr_interrupted(self->runner.options.interrupt);
}

bool acr_recorded_executor_ends_run(const AcrRecordedExecutor *self, bool is_demanded,
                                    GError *failure)
{
    bool ends_run = is_demanded || is_of_run(self, failure);
    /* With the code UNAVAILABLE, the run would continue without the sandbox. */
    if (ends_run && g_error_matches(failure, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE))
        failure->code = ACR_SANDBOX_ERROR_FAILED;
    return ends_run;
}

bool acr_recorded_executor_take_failure(const AcrJson *answer, GError **error)
{
    const char *failure = acr_json_get_string(answer, "error");
    if (failure)
        g_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE, "%s", failure);
    return failure == NULL;
}

/* ---- Whether code can be run ---- */

/* Reports which sandbox was chosen, and which protection it lacks. */
static void tell_choice(const AcrRecordedExecutor *self)
{
    const AcrSandbox *sandbox = self->runner.sandbox;
    const char *choice = acr_sandbox_choice(sandbox);
    const AcrSetUp *set_up = &self->runner.set_up;
    for (const char *const *at = acr_sandbox_remarks(sandbox); *at; at++)
        acr_progress_warn(self->progress, *at);
    if (choice)
        acr_progress_note(self->progress, "the sandbox is %s; %s", acr_sandbox_backend(sandbox),
                          choice);
    if (set_up->command)
        acr_progress_note(self->progress, ACR_SET_UP_LINE, set_up->command, set_up->why);
}

/* Finds out whether code can be run. Records an unavailable sandbox, unless it is required. */
static AcrJson *open_live(void *call, AcrJson *time, GError **error)
{
    AcrRecordedExecutor *self = call;
    g_autoptr(GError) reason = NULL;
    g_autofree char *python = acr_trial_runner_probe(&self->runner, &reason);
    if (self->runner.sandbox)
        tell_choice(self);
    if (!python && acr_recorded_executor_ends_run(self, false, reason))
        return ACR_NULL(acr_pass_error(error, &reason));
    if (!python && self->is_demanded)
        return ACR_NULL(g_set_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_UNAVAILABLE,
                                    "code cannot be run here: %s", reason->message));
    AcrJson *json = acr_json_of(ACR_BOOL("available", python != NULL),
                                ACR_STRING("text", python ? python : reason->message), NULL);
    if (!python)
        return json;
    acr_json_set_string(json, "dir", acr_sandbox_dir(self->runner.sandbox));
    acr_json_set_string(json, "backend", acr_sandbox_backend(self->runner.sandbox));
    return json;
}

static const AcrJournalPort opening_port = {.event = "sandbox", .live = open_live};

static bool open_executor(void *ctx, bool *out_available, char **out_text, GError **error)
{
    AcrRecordedExecutor *self = ctx;
    AcrJson *const *opened = acr_recorded_once(self->journal, &opening_port, self, error);
    if (!opened)
        return false;
    self->opened = *opened;
    *out_available = acr_json_get_bool(self->opened, "available", false);
    *out_text = g_strdup(acr_json_get_string(self->opened, "text"));
    return true;
}

static const char *executor_dir(void *ctx)
{
    const char *dir = acr_json_get_string(((const AcrRecordedExecutor *)ctx)->opened, "dir");
    return dir ? dir : "";
}

/* ---- Trials ---- */

typedef struct {
    AcrRecordedExecutor *self;
    const AcrTrial *trial;
} TrialCall;

static AcrJson *encode_trial(void *call, GError **error)
{
    const AcrTrial *trial = ((TrialCall *)call)->trial;
    g_autofree char *patch = NULL,
                    *test = trial->test ? acr_sha256_hex(trial->test, strlen(trial->test)) : NULL;
    if (trial->overlay) {
        g_autoptr(GBytes) diff = acr_overlay_diff(trial->overlay, error);
        if (!diff)
            return NULL;
        patch = acr_sha256_bytes(diff);
    }
    AcrJson *json =
        acr_json_of(ACR_STRING("patch", patch), ACR_STRING("test", test),
                    ACR_STRING("command", trial->command), ACR_INT("repeat", trial->repeat), NULL);
    if (trial->experiment)
        acr_json_set_string(json, "experiment", trial->experiment);
    return json;
}

static AcrJson *run_live(void *call, AcrJson *time, GError **error)
{
    const TrialCall *asked = call;
    g_auto(AcrExecuted) executed = {0};
    if (!acr_trial_runner_run(&asked->self->runner, asked->trial, &executed, error))
        return NULL;
    AcrJson *json = acr_json_new_object();
    acr_executed_to_json(&executed, json);
    acr_executed_add_totals(&executed, json);
    acr_executed_add_changed(&executed, json);
    if (asked->trial->experiment) /* a replay must report the same duration */
        acr_json_set_int(json, "wall_ms", executed.wall_ms);
    acr_json_set_int(time, "wall_ms", executed.wall_ms);
    acr_json_set_int(time, "peak_bytes", executed.peak_bytes);
    return json;
}

static bool trial_is_fatal(void *call, GError **failure)
{
    const AcrRecordedExecutor *self = ((TrialCall *)call)->self;
    return acr_recorded_executor_ends_run(self, self->is_demanded, *failure);
}

static bool read_executed(void *call, const AcrJson *answer, void *out, GError **error)
{
    if (!acr_recorded_executor_take_failure(answer, error))
        return false;
    acr_executed_from_json(answer, out);
    ((AcrExecuted *)out)->wall_ms = acr_json_get_int(answer, "wall_ms", 0);
    return true;
}

static const AcrJournalPort trial_port = {
    .event = "execution",
    .encode = encode_trial,
    .live = run_live,
    .is_fatal = trial_is_fatal,
    .decode = read_executed,
    .out_size = sizeof(AcrExecuted),
    .clear = (GDestroyNotify)acr_executed_clear,
};

static bool run_trial(void *ctx, const AcrTrial *trial, const AcrExecuted **out, GError **error)
{
    AcrRecordedExecutor *self = ctx;
    TrialCall call = {self, trial};
    *out = acr_recorded_once(self->journal, &trial_port, &call, error);
    return *out != NULL;
}

/* ---- Random numbers ---- */

#define SEED_BYTES 16

/* Makes the random seed for a run's experiments. Journals of older versions have no seed. */
static AcrJson *draw_live(void *call, AcrJson *time, GError **error)
{
    guint8 bytes[SEED_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return ACR_NULL(acr_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED,
                                      "the system gives no random numbers: %s", g_strerror(errno)));
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < sizeof bytes; i++)
        g_string_append_printf(text, "%02x", bytes[i]);
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "seed", text->str);
    g_string_free(text, TRUE);
    return json;
}

static const AcrJournalPort random_port = {.event = "random", .live = draw_live};

static const char *draw_seed(void *ctx, GError **error)
{
    AcrRecordedExecutor *self = ctx;
    AcrJson *const *drawn = acr_recorded_once(self->journal, &random_port, self, error);
    return drawn ? acr_json_get_string(*drawn, "seed") : NULL;
}

static bool is_isolated(void *ctx)
{
    const char *backend =
        acr_json_get_string(((const AcrRecordedExecutor *)ctx)->opened, "backend");
    return backend && strcmp(backend, "plain") != 0;
}

/* ---- Lifecycle ---- */

void acr_recorded_executor_init(AcrRecordedExecutor *self, AcrJournal *journal)
{
    *self = (AcrRecordedExecutor){
        .executor = {self, open_executor, executor_dir, run_trial, draw_seed, is_isolated},
        .journal = journal,
    };
}

void acr_recorded_executor_go_live(AcrRecordedExecutor *self, const AcrRunSpec *spec,
                                   AcrWorkspace *workspace, const char *work_tree,
                                   const AcrBudget *budget, const AcrHost *host)
{
    self->is_demanded = spec->verify == ACR_VERIFY_ALWAYS;
    self->progress = host->progress;
    acr_trial_runner_init(&self->runner, spec, workspace, work_tree, budget, host);
}

void acr_recorded_executor_clear(AcrRecordedExecutor *self)
{
    acr_trial_runner_clear(&self->runner);
}
