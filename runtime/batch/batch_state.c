/*
 * A batch's state, by its note. The order of tasks is the batch's: those before "next" that are not
 * in "running" have ended, and what became of them stands in the summary, which is written before the note.
 */
#include "batch/batch_state.h"

#include <string.h>

#include "batch/batch_summary.h"
#include "batch/shards.h"
#include "task/cost.h"

#define MOST (1ll << 45) /* of an amount that is believed: sums of all tasks stay below 2^63 */

/* What is read of one part. */
typedef struct {
    const char *out, *name; /* of its folder, "": the whole */
    AcrBatchState *state;
    AcrBatchPart *part;
    AcrJson *note;  /* owned, or NULL */
    gint64 planned; /* its tasks by the note of the shard; -1: there is none */
} Reader;

static void free_part(gpointer data)
{
    AcrBatchPart *part = data;
    g_free(part->name);
    g_free(part->why);
    g_free(part);
}

static void free_running(gpointer data)
{
    AcrBatchRunning *running = data;
    acr_live_run_clear(&running->run);
    g_free(running->id);
    g_free(running);
}

/* A number of foreign JSON as it can be; -1 where it is none. */
static gint64 number_of(const AcrJson *json, const char *key, gint64 most)
{
    gint64 number = acr_json_get_int(json, key, -1);
    return CLAMP(number, -1, most);
}

static void count(GHashTable *counts, const char *word)
{
    guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, word));
    g_hash_table_replace(counts, g_strdup(word), GUINT_TO_POINTER(n + 1));
}

static void add_spent(AcrSpent *sum, const AcrSpent *more)
{
    sum->calls += more->calls;
    sum->tokens += CLAMP(more->tokens, 0, MOST);
    sum->cost_microusd += CLAMP(more->cost_microusd, 0, MOST);
    sum->charged_microusd += CLAMP(more->charged_microusd, 0, MOST);
}

/* What the "cost" of a row says. */
static AcrSpent spent_of(const AcrJson *cost)
{
    static const char *const tokens[] = {"input_tokens", "cached_tokens", "written_tokens",
                                         "output_tokens"};
    AcrSpent spent = {.calls = (guint64)MAX(number_of(cost, "calls", MOST), 0),
                      .cost_microusd = number_of(cost, "cost_microusd", MOST),
                      .charged_microusd = number_of(cost, "charged_microusd", MOST)};
    for (guint i = 0; i < G_N_ELEMENTS(tokens); i++)
        spent.tokens += MAX(number_of(cost, tokens[i], MOST / 4), 0);
    return spent;
}

/* `row` is borrowed while the state is there. */
static void take_row(AcrBatchState *state, const char *id, const AcrJson *row)
{
    const char *status = acr_json_get_string(row, "status"),
               *verdict = acr_json_get_string(row, "verdict"),
               *error_class = acr_json_get_string(row, "error_class");
    const AcrSpent spent = spent_of(acr_json_get(row, "cost"));
    add_spent(&state->spent, &spent);
    g_hash_table_insert(state->ended, g_strdup(id), (gpointer)row);
    count(state->by_status, status ? status : "unknown");
    if (verdict)
        count(state->by_verdict, verdict);
    if (error_class)
        count(state->by_error_class, error_class);
}

/* Takes the rows of the summary: those in `wanted` (a set), or NULL: all. */
static guint take_rows(Reader *reader, GHashTable *wanted)
{
    AcrBatchState *state = reader->state;
    g_autofree char *path = g_build_filename(reader->name, ACR_SUMMARY_FILE, NULL);
    AcrJson *summary = acr_live_read(reader->out, path);
    const AcrJson *rows = acr_json_get(summary, "tasks");
    guint taken = 0;
    for (const AcrJson *row = acr_json_first(rows); row; row = acr_json_next(row)) {
        const char *id = acr_json_get_string(row, "instance_id");
        if (!id || (wanted && !g_hash_table_contains(wanted, id)) ||
            g_hash_table_contains(state->ended, id))
            continue;
        take_row(state, id, row);
        taken++;
    }
    if (summary)
        g_ptr_array_add(state->files, summary);
    return taken;
}

/* Takes a task that runs, and out of the set of those that have ended. */
static void take_running(Reader *reader, const AcrJson *task, GHashTable *ended)
{
    const char *id = acr_json_get_string(task, "task");
    gint64 begun_ms = number_of(task, "begun_ms", MOST);
    if (!id || !acr_name_is_safe(id, NULL) || !g_hash_table_remove(ended, id))
        return;
    g_autofree char *inside = g_build_filename(reader->name, id, NULL);
    AcrBatchRunning *running = g_new0(AcrBatchRunning, 1);
    running->id = g_strdup(id);
    running->begun_ms = begun_ms;
    acr_live_run_read(reader->out, inside, &running->run);
    if (running->run.process.begun_ms < begun_ms) /* of an earlier command */
        running->run.process.state = ACR_LIVE_NONE;
    else
        add_spent(&reader->state->spent, &running->run.spent);
    g_ptr_array_add(reader->state->running, running);
}

static void take_forecast(Reader *reader, guint left)
{
    AcrBatchState *state = reader->state;
    const AcrJson *pace = acr_json_get(reader->note, "pace");
    const AcrBatchPace by = {(guint)MAX(number_of(pace, "tasks", G_MAXINT32), 0),
                             MAX(number_of(pace, "ms", MOST), 0),
                             MAX(number_of(pace, "microusd", MOST), 0)};
    gint64 ms = 0, microusd = 0;
    if (!acr_batch_forecast(&by, number_of(reader->note, "jobs", G_MAXINT32), left, &ms, &microusd))
        return;
    state->left_ms = MAX(state->left_ms, ms);
    state->left_microusd = MAX(state->left_microusd, 0) + microusd;
}

/* By the batch's own note. */
static void take_tasks(Reader *reader)
{
    AcrBatchState *state = reader->state;
    const AcrJson *tasks = acr_json_get(reader->note, "tasks"),
                  *running = acr_json_get(reader->note, "running");
    gint64 next = number_of(reader->note, "next", G_MAXINT32);
    g_autoptr(GHashTable) ended = g_hash_table_new(g_str_hash, g_str_equal);
    guint total = 0;
    for (const AcrJson *at = acr_json_first(tasks); at; at = acr_json_next(at), total++)
        if (total < next && acr_json_string(at))
            g_hash_table_add(ended, (gpointer)acr_json_string(at));
    for (const AcrJson *at = acr_json_first(running); at; at = acr_json_next(at))
        take_running(reader, at, ended);
    guint n = g_hash_table_size(ended), taken = take_rows(reader, ended);
    for (guint i = taken; i < n; i++)
        count(state->by_status, ACR_STATUS_STOPPED); /* not begun, as a ceiling was reached */
    state->n_ended += n;
    state->total += total;
    if (reader->part->state != ACR_PART_OVER)
        take_forecast(reader, total - MIN(n, total));
}

static void take_ceilings(Reader *reader, guint parts)
{
    AcrBatchState *state = reader->state;
    const AcrJson *ceilings = acr_json_get(reader->note, "ceilings");
    gint64 microusd = number_of(ceilings, "cost_microusd", MOST),
           tokens = number_of(ceilings, "tokens", MOST);
    state->ceiling.pico =
        microusd < 0 ? ACR_UNSET : MIN(microusd * parts, G_MAXINT64 / ACR_PICO) * ACR_PICO;
    state->ceiling.tokens = tokens < 0 ? ACR_UNSET : tokens * parts;
    state->max_ms = parts > 1 ? ACR_UNSET : number_of(ceilings, "ms", MOST);
}

static AcrPartState state_of_note(const AcrJson *note, const AcrLiveProcess *process)
{
    return acr_json_get_bool(note, "over", false) ? ACR_PART_OVER
           : process->state == ACR_LIVE_RUNS      ? ACR_PART_RUNS
           : process->state == ACR_LIVE_ELSEWHERE ? ACR_PART_ELSEWHERE
                                                  : ACR_PART_GONE;
}

static void take_part(Reader *reader, guint parts)
{
    AcrBatchState *state = reader->state;
    AcrBatchPart *part = reader->part;
    g_autofree char *path = acr_batch_note_path(reader->name);
    g_autoptr(AcrJson) note = acr_live_read(reader->out, path);
    reader->note = note;
    if (!note) { /* of an earlier version, or a part without tasks */
        guint taken = take_rows(reader, NULL);
        part->state = taken || reader->planned == 0 || parts == 1 ? ACR_PART_OVER : ACR_PART_WAITS;
        state->n_ended += taken;
        state->total += MAX(taken, (guint)MAX(reader->planned, 0));
        return;
    }
    acr_live_process_from_json(acr_json_get(note, "process"), &part->process);
    part->state = state_of_note(note, &part->process);
    part->why = g_strdup(acr_json_get_string(note, "why"));
    gint64 begun_ms = part->process.begun_ms;
    state->begun_ms = state->begun_ms && state->begun_ms < begun_ms ? state->begun_ms : begun_ms;
    take_ceilings(reader, parts);
    take_tasks(reader);
}

static void begin(AcrBatchState *state)
{
    GHashTable **const counts[] = {&state->by_status, &state->by_verdict, &state->by_error_class};
    *state = (AcrBatchState){
        .ceiling = {ACR_UNSET, ACR_UNSET}, .max_ms = ACR_UNSET, .left_ms = -1, .left_microusd = -1};
    state->parts = g_ptr_array_new_with_free_func(free_part);
    state->running = g_ptr_array_new_with_free_func(free_running);
    state->files = g_ptr_array_new_with_free_func((GDestroyNotify)acr_json_free);
    state->ended = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        *counts[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

void acr_batch_state_read(const char *out, AcrBatchState *state)
{
    guint parts = acr_shards_count(out);
    gint64 whole = -1;
    begin(state);
    for (guint i = 0; i < MAX(parts, 1); i++) {
        AcrBatchPart *part = g_new0(AcrBatchPart, 1);
        Reader reader = {.out = out, .state = state, .part = part, .planned = -1};
        part->name = parts ? acr_shard_name(i + 1, parts) : g_strdup("");
        reader.name = part->name;
        if (parts)
            acr_shard_plan(out, i + 1, parts, &reader.planned, &whole);
        g_ptr_array_add(state->parts, part);
        take_part(&reader, MAX(parts, 1));
    }
    state->total = MAX(state->total, (guint)CLAMP(whole, 0, G_MAXINT32));
}

void acr_batch_state_clear(AcrBatchState *state)
{
    g_clear_pointer(&state->ended, g_hash_table_unref);
    g_clear_pointer(&state->by_status, g_hash_table_unref);
    g_clear_pointer(&state->by_verdict, g_hash_table_unref);
    g_clear_pointer(&state->by_error_class, g_hash_table_unref);
    g_clear_pointer(&state->parts, g_ptr_array_unref);
    g_clear_pointer(&state->running, g_ptr_array_unref);
    g_clear_pointer(&state->files, g_ptr_array_unref);
}

void acr_batch_state_read_run(const char *out, AcrBatchState *state)
{
    AcrBatchPart *part = g_new0(AcrBatchPart, 1);
    AcrBatchRunning *running = g_new0(AcrBatchRunning, 1);
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    g_auto(AcrRunResult) result = {0};
    bool has_result = false;
    begin(state);
    state->total = 1;
    part->name = g_strdup("");
    g_ptr_array_add(state->parts, part);
    running->id = g_path_get_basename(out);
    acr_live_run_read(out, NULL, &running->run);
    part->process = running->run.process;
    running->begun_ms = state->begun_ms = part->process.begun_ms;
    part->state =
        part->process.state == ACR_LIVE_NONE ? ACR_PART_OVER : state_of_note(NULL, &part->process);
    if (part->state != ACR_PART_OVER) {
        add_spent(&state->spent, &running->run.spent);
        g_ptr_array_add(state->running, running);
        return;
    }
    if (acr_task_read(out, &spec, &result, &has_result, NULL) && has_result) {
        AcrJson *row = acr_batch_summary_row(running->id, &result, 0);
        g_ptr_array_add(state->files, row);
        take_row(state, running->id, row);
        state->n_ended = 1;
    } else {
        part->why = g_strdup("it ended without a result");
    }
    free_running(running);
}

AcrPartState acr_batch_state_of(const AcrBatchState *state)
{
    AcrPartState worst = ACR_PART_OVER;
    for (guint i = 0; i < state->parts->len; i++) {
        AcrPartState own = ((const AcrBatchPart *)state->parts->pdata[i])->state;
        if (own < ACR_PART_OVER)
            return ACR_PART_RUNS;
        worst = MAX(worst, own);
    }
    return worst;
}

bool acr_batch_exists(const char *out)
{
    g_autofree char *note = acr_batch_note_path(""), *live = g_build_filename(out, note, NULL),
                    *summary = g_build_filename(out, ACR_SUMMARY_FILE, NULL);
    return g_file_test(live, G_FILE_TEST_EXISTS) || g_file_test(summary, G_FILE_TEST_EXISTS) ||
           acr_shards_count(out) > 0;
}
