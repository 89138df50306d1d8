/* Writes a batch's note and derives the state of the batch from it. Tasks are in the batch's order.
 * Tasks before number "next" that are not in "running" have ended. Their results are in the
 * summary, which is written before the note. */
#include "batch/batch_state.h"

#include <string.h>

#include "layout/layout.h"
#include "batch/batch_summary.h"
#include "batch/shards.h"
#include "task/cost.h"

#define MAX_ERROR_BYTES ((gsize)1024 * 1024)
#define MAX_WHY 200
#define NOT_BEGUN "not_begun" /* word for tasks that a limit kept from starting */
#define NOTE ACR_FILE_LIVE    /* name of the note in the shared folder of each shard or batch */

char *acr_batch_note_path(const char *part, const char *name)
{
    g_autofree char *shared = acr_batch_shared_dir(part);
    return g_build_filename(shared, name, NULL);
}

void acr_batch_note_write(const AcrBatchNote *note)
{
    AcrJson *tasks = acr_json_new_array(), *running = acr_json_new_array();
    const AcrRunSpec *spec = note->spec;
    for (guint i = 0; i < note->instances->len; i++) {
        const AcrInstance *instance = note->instances->pdata[i];
        const char *id = instance->instance_id;
        acr_json_append(tasks, acr_json_new_string(id));
        if (!note->task_begun_ms[i])
            continue;
        acr_json_add(running, ACR_STRING("task", id), ACR_STRING("repo", instance->repo),
                     ACR_INT("begun_ms", note->task_begun_ms[i]));
    }
    AcrJson *left =
        acr_json_of(ACR_INT("ms", note->left_ms), ACR_INT("cost_microusd", note->left_microusd),
                    ACR_INT("mean_ms", note->mean_ms), ACR_INT("made_ms", note->made_ms), NULL);
    g_autoptr(AcrJson) json = acr_json_of(
        ACR_JSON("process", acr_live_process_to_json(note->begun_ms)),
        ACR_BOOL("over", note->is_over), ACR_STRING("why", note->why), ACR_INT("next", note->next),
        ACR_JSON("running", running), ACR_JSON("left", left), NULL);
    AcrJson *ceilings = acr_json_of(
        ACR_INT("cost_microusd", spec->max_cost < 0 ? ACR_UNSET : acr_microusd(spec->max_cost)),
        ACR_INT("tokens", spec->max_tokens_total), ACR_INT("ms", spec->max_ms), NULL);
    acr_json_set(json, "ceilings", ceilings);
    acr_json_set(json, "tasks", tasks);
    g_autofree char *name = acr_batch_note_path("", NOTE);
    acr_live_write(note->spec->out, name, json);
}

/* The files of one shard, or of a batch without shards. */
typedef struct {
    const char *out, *name; /* `name` is the name of the shard's folder; "": the whole batch */
    AcrBatchState *state;
    AcrBatchPart *part;
    AcrJson *note;  /* owned, or NULL */
    gint64 planned; /* number of tasks in the shard's note; -1 if there is no note */
} Reader;

static void free_part(gpointer data)
{
    AcrBatchPart *part = data;
    ACR_FREE(part->name, part->why, part);
}

static void free_running(gpointer data)
{
    AcrBatchRunning *running = data;
    acr_doing_clear(&running->run.doing);
    ACR_FREE(running->id, running);
}

/* Returns the number `key` in untrusted JSON, limited to -1..`most`; -1 if it is not a number. */
static gint64 bounded_number(const AcrJson *json, const char *key, gint64 most)
{
    gint64 number = acr_json_get_int(json, key, -1);
    return CLAMP(number, -1, most);
}

static void add_count(AcrJson *counts, const char *word, guint more)
{
    if (word && more)
        acr_json_set_int(counts, word, acr_json_get_int(counts, word, 0) + more);
}

/* Adds a row of the summary to the state; `row` must live as long as the state. */
static void take_row(AcrBatchState *state, const char *id, const AcrJson *row)
{
    const char *status = acr_json_get_string(row, "status");
    AcrCostSum cost;
    acr_cost_sum_from_json(acr_json_get(row, "cost"), &cost);
    const AcrSpent spent = acr_cost_spent(&cost);
    acr_spent_add(&state->spent, &spent);
    g_hash_table_insert(state->ended, g_strdup(id), (gpointer)row);
    const char *verdict = acr_json_get_string(row, "verdict");
    bool has_verdict = verdict && strcmp(verdict, acr_verdict_name(ACR_VERDICT_NONE)) != 0 &&
                       g_strcmp0(status, ACR_STATUS_REPRODUCED) != 0;
    status = status ? status : "unknown";
    add_count(state->by_status, status, 1);
    add_count(state->by_verdict, verdict, 1);
    add_count(state->by_outcome, has_verdict ? verdict : status, 1);
    add_count(state->by_error_class, acr_json_get_string(row, "error_class"), 1);
}

/* Adds those rows of the summary that are in `wanted` (a set of ids; NULL: all), and returns their
 * number. */
static guint take_rows(Reader *reader, GHashTable *wanted)
{
    AcrBatchState *state = reader->state;
    g_autofree char *path = g_build_filename(reader->name, ACR_FILE_SUMMARY, NULL);
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

static void take_running(Reader *reader, const AcrJson *task, GHashTable *ended)
{
    const char *id = acr_json_get_string(task, "task");
    gint64 begun_ms = bounded_number(task, "begun_ms", ACR_BATCH_MOST);
    if (!id || !acr_name_is_safe(id, NULL) || !g_hash_table_remove(ended, id))
        return;
    g_autofree char *inside = g_build_filename(reader->name, id, NULL);
    AcrBatchRunning *running = g_new0(AcrBatchRunning, 1);
    running->id = g_strdup(id);
    running->begun_ms = begun_ms;
    acr_live_run_read(reader->out, inside, &running->run);
    if (running->run.process.begun_ms < begun_ms) /* the run's note is from an earlier command */
        acr_doing_clear(&running->run.doing);
    acr_spent_add(&reader->state->spent, acr_doing_spent(&running->run.doing));
    g_ptr_array_add(reader->state->running, running);
}

static void take_tasks(Reader *reader)
{
    AcrBatchState *state = reader->state;
    const AcrJson *tasks = acr_json_get(reader->note, "tasks"),
                  *running = acr_json_get(reader->note, "running");
    gint64 next = bounded_number(reader->note, "next", G_MAXINT32);
    g_autoptr(GHashTable) ended = g_hash_table_new(g_str_hash, g_str_equal);
    guint total = 0;
    for (const AcrJson *at = acr_json_first(tasks); at; at = acr_json_next(at), total++)
        if (total < next && acr_json_string(at))
            g_hash_table_add(ended, (gpointer)acr_json_string(at));
    for (const AcrJson *at = acr_json_first(running); at; at = acr_json_next(at))
        take_running(reader, at, ended);
    guint n = g_hash_table_size(ended), taken = take_rows(reader, ended);
    /* the other tasks were kept from starting by limits */
    add_count(state->by_status, NOT_BEGUN, n - MIN(taken, n));
    add_count(state->by_outcome, NOT_BEGUN, n - MIN(taken, n));
    state->n_ended += n;
    state->total += total;
    const AcrJson *left = acr_json_get(reader->note, "left");
    gint64 left_ms = bounded_number(left, "ms", ACR_BATCH_MOST);
    if (reader->part->state == ACR_PART_OVER || left_ms < 0)
        return;
    gint64 made_ms = bounded_number(left, "made_ms", ACR_BATCH_MOST);
    if (made_ms >= 0)
        left_ms =
            acr_forecast_moved(left_ms, bounded_number(left, "mean_ms", ACR_BATCH_MOST), made_ms);
    state->left_ms = MAX(state->left_ms, left_ms);
    state->left_microusd = MAX(state->left_microusd, 0) +
                           MAX(bounded_number(left, "cost_microusd", ACR_BATCH_MOST), 0);
}

static void take_ceilings(Reader *reader, guint parts)
{
    AcrBatchState *state = reader->state;
    const AcrJson *ceilings = acr_json_get(reader->note, "ceilings");
    gint64 microusd = bounded_number(ceilings, "cost_microusd", ACR_BATCH_MOST),
           tokens = bounded_number(ceilings, "tokens", ACR_BATCH_MOST);
    state->ceiling.cost_microusd = microusd < 0 ? -1 : microusd * parts;
    state->ceiling.tokens = tokens < 0 ? -1 : tokens * parts;
    state->max_ms = parts > 1 ? ACR_UNSET : bounded_number(ceilings, "ms", ACR_BATCH_MOST);
}

static AcrPartState state_of_note(const AcrJson *note, const AcrLiveProcess *process)
{
    return acr_json_get_bool(note, "over", false) ? ACR_PART_OVER
           : process->state == ACR_LIVE_RUNS      ? ACR_PART_RUNS
           : process->state == ACR_LIVE_ELSEWHERE ? ACR_PART_ELSEWHERE
                                                  : ACR_PART_GONE;
}

/* Reads the progress of grading; an evaluation without a batch has no other note. Returns true if
 * there is a note of grading. */
static bool take_grading(Reader *reader, bool has_batch)
{
    AcrBatchState *state = reader->state;
    AcrBatchPart *part = reader->part;
    g_autofree char *path = acr_batch_note_path(reader->name, ACR_FILE_GRADING);
    g_autoptr(AcrJson) note = acr_live_read(reader->out, path);
    g_auto(AcrDoing) doing = {0};
    acr_doing_from_json(note, &doing);
    const AcrProgressEvent *last = &doing.last[ACR_PROGRESS_GRADED];
    state->to_grade += last->total;
    state->graded += last->ended;
    state->resolved += last->good;
    if (!note || has_batch)
        return note;
    acr_live_process_from_json(acr_json_get(note, "process"), &part->process);
    bool is_gone = part->process.state == ACR_LIVE_GONE;
    part->state =
        is_gone && last->ended == last->total ? ACR_PART_OVER : state_of_note(note, &part->process);
    state->is_grading = true;
    state->total += last->total;
    state->n_ended += last->ended;
    const char *good = last->made && *last->made ? last->made : "resolved";
    g_autofree char *bad = g_strconcat("not ", good, NULL);
    AcrJson *const counts[] = {state->by_status, state->by_outcome};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
        add_count(counts[i], good, last->good);
        add_count(counts[i], bad, last->ended - MIN(last->good, last->ended));
    }
    return true;
}

static void take_part(Reader *reader, guint parts)
{
    AcrBatchState *state = reader->state;
    AcrBatchPart *part = reader->part;
    g_autofree char *path = acr_batch_note_path(reader->name, NOTE);
    g_autoptr(AcrJson) note = acr_live_read(reader->out, path);
    reader->note = note;
    bool is_graded = take_grading(reader, note);
    if (!note && is_graded)
        return;
    if (!note) { /* an earlier version wrote the folder, or the shard has no tasks */
        guint taken = take_rows(reader, NULL);
        part->state = taken || reader->planned == 0 || parts == 1 ? ACR_PART_OVER : ACR_PART_WAITS;
        state->n_ended += taken;
        state->total += MAX(taken, (guint)MAX(reader->planned, 0));
        return;
    }
    acr_live_process_from_json(acr_json_get(note, "process"), &part->process);
    part->state = state_of_note(note, &part->process);
    part->why = g_strdup(acr_json_get_string(note, "why"));
    take_ceilings(reader, parts);
    take_tasks(reader);
}

static void read_batch(AcrBatchState *state)
{
    guint parts = acr_shards_count(state->out);
    gint64 whole = -1;
    for (guint i = 0; i < MAX(parts, 1); i++) {
        AcrBatchPart *part = g_new0(AcrBatchPart, 1);
        Reader reader = {.out = state->out, .state = state, .part = part, .planned = -1};
        part->name = parts ? acr_shard_name(i + 1, parts) : g_strdup("");
        reader.name = part->name;
        if (parts)
            acr_shard_plan(state->out, i + 1, parts, &reader.planned, &whole);
        g_ptr_array_add(state->parts, part);
        gint64 before = state->spent.charged_microusd,
               charged = acr_batch_charged(state->out, part->name);
        take_part(&reader, MAX(parts, 1));
        state->spent.charged_microusd = MAX(state->spent.charged_microusd, before + charged);
        gint64 begun_ms = part->process.begun_ms;
        if (begun_ms && (!state->begun_ms || begun_ms < state->begun_ms))
            state->begun_ms = begun_ms;
    }
    if (!state->is_grading) /* in an evaluation, some tasks may have no prediction */
        state->total = MAX(state->total, (guint)CLAMP(whole, 0, G_MAXINT32));
}

void acr_batch_state_clear(AcrBatchState *state)
{
    g_clear_pointer(&state->ended, g_hash_table_unref);
    g_clear_pointer(&state->by_status, acr_json_free);
    g_clear_pointer(&state->by_verdict, acr_json_free);
    g_clear_pointer(&state->by_outcome, acr_json_free);
    g_clear_pointer(&state->by_error_class, acr_json_free);
    g_clear_pointer(&state->parts, g_ptr_array_unref);
    g_clear_pointer(&state->running, g_ptr_array_unref);
    g_clear_pointer(&state->files, g_ptr_array_unref);
    g_clear_pointer(&state->out, g_free);
}

char *acr_batch_stop_of(const AcrFolder *folder)
{
    g_autoptr(GBytes) error = acr_folder_read_file(folder, ACR_FILE_ERROR, MAX_ERROR_BYTES, NULL);
    g_autofree char *text = error ? acr_bytes_text(error) : NULL;
    if (!text || !*text)
        return NULL;
    const char *host = g_str_has_prefix(text, "model '") ? strstr(text, "' at ") : NULL,
               *after = host ? strstr(host, ": ") : NULL, *at = after ? after + strlen(": ") : text;
    const char *end = strstr(at, "; ");
    g_autofree char *part = end ? g_strndup(at, (gsize)(end - at)) : g_strdup(at),
                    *line = acr_text_visible(part);
    return acr_text_shorten(g_strdelimit(line, "\n\r\t", ' '), MAX_WHY);
}

/* Reads what a run that has ended without a result left: why it stopped, and what it spent. */
static void read_stopped_run(AcrBatchState *state, AcrBatchPart *part)
{
    const AcrFolder folder = {.path = state->out};
    g_autoptr(AcrJson) cost = acr_folder_read_json(&folder, ACR_FILE_COST, NULL);
    AcrCostSum sum;
    acr_cost_sum_from_json(acr_json_get(cost, "total"), &sum);
    AcrSpent spent = acr_cost_spent(&sum);
    acr_spent_add(&state->spent, &spent);
    part->why = acr_batch_stop_of(&folder);
    part->why = part->why ? part->why : g_strdup("the process ended without a result");
}

static bool read_run(AcrBatchState *state, GError **error)
{
    AcrBatchPart *part = g_new0(AcrBatchPart, 1);
    AcrBatchRunning *running = g_new0(AcrBatchRunning, 1);
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    g_auto(AcrRunResult) result = {0};
    bool has_result = false;
    state->total = 1;
    part->name = g_strdup("");
    g_ptr_array_add(state->parts, part);
    running->id = g_path_get_basename(state->out);
    acr_live_run_read(state->out, NULL, &running->run);
    part->process = running->run.process;
    running->begun_ms = state->begun_ms = part->process.begun_ms;
    part->state =
        part->process.state == ACR_LIVE_NONE ? ACR_PART_OVER : state_of_note(NULL, &part->process);
    if (part->state != ACR_PART_OVER) {
        acr_spent_add(&state->spent, acr_doing_spent(&running->run.doing));
        g_ptr_array_add(state->running, running);
        return true;
    }
    bool is_read = acr_task_read(state->out, &spec, &result, &has_result, error);
    if (is_read && has_result) {
        AcrJson *row = acr_batch_summary_row(running->id, &result, 0);
        g_ptr_array_add(state->files, row);
        take_row(state, running->id, row);
        state->n_ended = 1;
    } else {
        read_stopped_run(state, part);
    }
    free_running(running);
    return is_read;
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

bool acr_batch_state_is_finished(const AcrBatchState *state)
{
    for (guint i = 0; i < state->parts->len; i++) {
        const AcrBatchPart *part = state->parts->pdata[i];
        if (part->state != ACR_PART_OVER || part->why)
            return false;
    }
    return true;
}

/* True if `out` is the folder of a batch that this or an earlier version created. */
static bool is_batch(const char *out)
{
    g_autofree char *live = acr_batch_note_path("", NOTE),
                    *grading = acr_batch_note_path("", ACR_FILE_GRADING);
    const char *const names[] = {live, grading, ACR_FILE_SUMMARY};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(out, names[i], NULL);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            return true;
    }
    return acr_shards_count(out) > 0;
}

/* True if a folder inside `out` is a run folder. */
static bool holds_runs(const char *out)
{
    g_autoptr(GDir) dir = g_dir_open(out, 0, NULL);
    bool is_found = false;
    for (const char *name; dir && !is_found && (name = g_dir_read_name(dir));) {
        g_autofree char *path = g_build_filename(out, name, NULL);
        is_found = acr_folder_exists(path);
    }
    return is_found;
}

bool acr_batch_state_read(const char *out, AcrBatchState *state, GError **error)
{
    bool is_run = acr_folder_exists(out);
    *state = (AcrBatchState){0};
    if (!g_file_test(out, G_FILE_TEST_EXISTS))
        return acr_task_refuse(error, "'%s' does not exist", out);
    if (!is_run && !is_batch(out))
        return acr_task_refuse(error,
                               holds_runs(out) ? "'%s' holds several run folders, but is not the "
                                                 "folder of a batch; watch one of them, or print "
                                                 "all with 'acr-host report'"
                                               : "'%s' is neither a run folder nor a batch folder",
                               out);
    *state = (AcrBatchState){
        .out = g_strdup(out),
        .is_run = is_run,
        .parts = g_ptr_array_new_with_free_func(free_part),
        .running = g_ptr_array_new_with_free_func(free_running),
        .files = g_ptr_array_new_with_free_func((GDestroyNotify)acr_json_free),
        .ended = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .by_status = acr_json_new_object(),
        .by_verdict = acr_json_new_object(),
        .by_outcome = acr_json_new_object(),
        .by_error_class = acr_json_new_object(),
        .ceiling = {.tokens = -1, .cost_microusd = -1},
        .max_ms = ACR_UNSET,
        .left_ms = -1,
        .left_microusd = -1,
    };
    if (is_run)
        return read_run(state, error);
    read_batch(state);
    return true;
}
