/*
 * The state of a batch or run in words, and as JSON. What stands in its files is foreign: whatever is shown of
 * it is made one visible line first.
 */
#include "verbs/watch.h"

#include <string.h>

#include "verbs/status_block.h"
#include "verbs/verbs_private.h"

#define MAX_SHOWN 40u /* tasks that run */
#define MAX_WORDS 8u  /* counts in a line */
#define MAX_NAME 80u  /* bytes of a task's name */
#define MAX_WHY 300u

void acr_watched_clear(AcrWatched *watched)
{
    acr_batch_state_clear(&watched->state);
    g_clear_pointer(&watched->out, g_free);
}

bool acr_watched_read(const char *out, AcrWatched *watched, GError **error)
{
    bool is_run = acr_folder_exists(out);
    *watched = (AcrWatched){0};
    if (!g_file_test(out, G_FILE_TEST_EXISTS))
        return acr_task_refuse(error, "'%s' does not exist", out);
    if (!is_run && !acr_batch_exists(out))
        return acr_task_refuse(
            error, "'%s' is neither a run folder nor one of swe-bench that has begun", out);
    *watched = (AcrWatched){.out = g_strdup(out), .is_run = is_run};
    if (is_run)
        acr_batch_state_read_run(out, &watched->state);
    else
        acr_batch_state_read(out, &watched->state);
    return true;
}

bool acr_watched_is_finished(const AcrWatched *watched)
{
    const AcrBatchState *state = &watched->state;
    for (guint i = 0; i < state->parts->len; i++) {
        const AcrBatchPart *part = state->parts->pdata[i];
        if (part->state != ACR_PART_OVER || part->why)
            return false;
    }
    return true;
}

/* ---- Words ---- */

/* One line of a foreign text, not longer than that. */
static char *line_of(const char *text, gsize max)
{
    g_autofree char *line = acr_one_line(text);
    return acr_text_shorten(line, max);
}

static gint by_count(gconstpointer a, gconstpointer b, gpointer counts)
{
    const char *one = *(const char *const *)a, *other = *(const char *const *)b;
    guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, one)),
          m = GPOINTER_TO_UINT(g_hash_table_lookup(counts, other));
    return n != m ? (n < m ? 1 : -1) : strcmp(one, other);
}

/* The words of counts, the most frequent first; owned, of borrowed texts. */
static GPtrArray *words_of(GHashTable *counts)
{
    GPtrArray *words = g_ptr_array_new();
    GHashTableIter each;
    gpointer word;
    g_hash_table_iter_init(&each, counts);
    while (g_hash_table_iter_next(&each, &word, NULL))
        g_ptr_array_add(words, word);
    g_ptr_array_sort_with_data(words, by_count, counts);
    return words;
}

/* Adds "2 patch, 1 failed", with `between` them. */
static void add_counts(GString *text, GHashTable *counts, const char *between)
{
    g_autoptr(GPtrArray) words = words_of(counts);
    for (guint i = 0; i < MIN(words->len, MAX_WORDS); i++) {
        g_autofree char *word = line_of(words->pdata[i], MAX_NAME);
        g_string_append_printf(text, "%s%u %s", i ? between : "",
                               GPOINTER_TO_UINT(g_hash_table_lookup(counts, words->pdata[i])),
                               word);
    }
    if (words->len > MAX_WORDS)
        g_string_append_printf(text, "%sand %u others", between, words->len - MAX_WORDS);
}

static void add_named(GString *text, const char *name, GHashTable *counts)
{
    if (g_hash_table_size(counts) == 0)
        return;
    g_string_append(text, name);
    add_counts(text, counts, ", ");
}

char *acr_watched_stage(const AcrBatchRunning *running)
{
    const AcrLiveRun *run = &running->run;
    g_autofree char *stage = acr_one_line(run->stage);
    return run->process.state == ACR_LIVE_NONE || !*stage
               ? g_strdup("starts")
               : acr_stage_text(run->attempt, stage, run->number);
}

char *acr_watched_ending(const AcrWatched *watched, const char *id)
{
    const AcrJson *row = g_hash_table_lookup(watched->state.ended, id);
    const char *status = acr_json_get_string(row, "status"),
               *why = acr_json_get_string(row, "error");
    g_autofree char *text = g_strconcat(status ? status : "unknown", why ? ": " : "", why, NULL);
    return line_of(text, MAX_WHY);
}

char *acr_watched_process(const AcrWatched *watched, const AcrBatchPart *part)
{
    g_autofree char *host = acr_one_line(part->process.host),
                    *name = part->name[0] ? g_strconcat(part->name, ": ", NULL) : g_strdup(""),
                    *why = part->why ? line_of(part->why, MAX_WHY) : NULL;
    const char *what = watched->is_run ? "run" : "batch";
    gint64 pid = part->process.pid;
    switch (part->state) {
    case ACR_PART_WAITS:
        return g_strconcat(name, "has not begun", NULL);
    case ACR_PART_RUNS:
        return g_strdup_printf("%sprocess %" G_GINT64_FORMAT " is at work", name, pid);
    case ACR_PART_ELSEWHERE:
        return g_strdup_printf("%sprocess %" G_GINT64_FORMAT " on '%s' is at work, or was killed",
                               name, pid, host);
    case ACR_PART_GONE:
        return g_strdup_printf("%sprocess %" G_GINT64_FORMAT " is gone, and the %s is not "
                               "finished; rerun the same command to resume",
                               name, pid, what);
    default:
        return why ? g_strdup_printf("%snot finished: %s; rerun the same command to resume", name,
                                     why)
                   : g_strconcat(name, "finished", NULL);
    }
}

/* ---- The block ---- */

/* A task that runs, in parts: "bill-1 · round 2: search · 34 s · $0.0123". */
static void add_running(GString *text, const AcrBatchRunning *running, bool with_cost)
{
    const AcrSpent *spent = &running->run.spent;
    g_autofree char *id = line_of(running->id, MAX_NAME), *stage = acr_watched_stage(running),
                    *time = acr_time_text(acr_live_now_ms() - running->begun_ms);
    bool has_stage = running->run.process.state != ACR_LIVE_NONE;
    g_string_append_printf(text, "%s" ACR_STATUS_BETWEEN "%s" ACR_STATUS_BETWEEN "%s", id, stage,
                           time);
    gint64 microusd = MAX(spent->cost_microusd, spent->charged_microusd);
    if (with_cost && has_stage && microusd > 0)
        g_string_append_printf(text, ACR_STATUS_BETWEEN "$%.4f", (double)microusd / 1e6);
}

static void add_all_running(GString *text, const AcrWatched *watched, const char *before)
{
    const GPtrArray *running = watched->state.running;
    for (guint i = 0; i < MIN(running->len, MAX_SHOWN); i++) {
        g_string_append(text, before);
        add_running(text, running->pdata[i], true);
    }
    if (running->len > MAX_SHOWN)
        g_string_append_printf(text, "%sand %u tasks more", before, running->len - MAX_SHOWN);
}

static void add_sums(GString *text, const AcrBatchState *state, const char *between)
{
    g_string_append_printf(text, "%u of %u tasks", state->n_ended, state->total);
    if (state->n_ended)
        g_string_append(text, between);
    add_counts(text, state->by_status, between);
    if (state->left_ms >= 0) {
        g_autofree char *left = acr_forecast_text(state->left_ms, state->left_microusd);
        g_string_append_printf(text, "%s%s", between, left);
    }
}

char *acr_watched_block(const AcrWatched *watched)
{
    const AcrBatchState *state = &watched->state;
    GString *text = g_string_new(NULL);
    if (watched->is_run && state->running->len) {
        add_running(text, state->running->pdata[0], false);
        return g_string_free(text, FALSE);
    }
    add_sums(text, state, ACR_STATUS_BETWEEN);
    add_all_running(text, watched, "\n");
    add_named(text, "\nverdicts: ", state->by_verdict);
    add_named(text, "\nerrors: ", state->by_error_class);
    return g_string_free(text, FALSE);
}

/* ---- For people ---- */

static void add_spent(GString *text, const AcrBatchState *state)
{
    const AcrSpent *spent = &state->spent;
    bool is_known = spent->cost_microusd >= spent->charged_microusd;
    gint64 microusd = MAX(spent->cost_microusd, spent->charged_microusd);
    g_string_append_printf(
        text, "\nspent: %" G_GUINT64_FORMAT " calls, %" G_GINT64_FORMAT " tokens, $%.4f%s",
        spent->calls, spent->tokens, (double)microusd / 1e6, is_known ? "" : " charged");
    if (state->ceiling.pico > 0)
        g_string_append_printf(text, " (%.0f%% of $%.2f)",
                               (double)spent->charged_microusd * 1e8 / (double)state->ceiling.pico,
                               (double)state->ceiling.pico / 1e12);
}

char *acr_watched_text(const AcrWatched *watched)
{
    const AcrBatchState *state = &watched->state;
    GString *text = g_string_new(NULL);
    add_sums(text, state, ", ");
    add_named(text, "\nverdicts: ", state->by_verdict);
    add_named(text, "\nerrors: ", state->by_error_class);
    add_spent(text, state);
    for (guint i = 0; i < state->parts->len; i++) {
        g_autofree char *process = acr_watched_process(watched, state->parts->pdata[i]);
        g_string_append_printf(text, "\n%s", process);
    }
    add_all_running(text, watched, "\nruns: ");
    g_string_append_c(text, '\n');
    return g_string_free(text, FALSE);
}

/* ---- JSON ---- */

static AcrJson *counts_to_json(GHashTable *counts)
{
    AcrJson *json = acr_json_new_object();
    g_autoptr(GPtrArray) words = words_of(counts);
    for (guint i = 0; i < MIN(words->len, 1000); i++)
        acr_json_set_int(json, words->pdata[i],
                         GPOINTER_TO_UINT(g_hash_table_lookup(counts, words->pdata[i])));
    return json;
}

static void set_or_null(AcrJson *json, const char *key, gint64 value)
{
    acr_json_set(json, key, value < 0 ? acr_json_new_null() : acr_json_new_int(value));
}

static const char *state_name(AcrPartState state)
{
    static const char *const names[] = {[ACR_PART_WAITS] = "waiting",
                                        [ACR_PART_RUNS] = "running",
                                        [ACR_PART_ELSEWHERE] = "elsewhere",
                                        [ACR_PART_OVER] = "over",
                                        [ACR_PART_GONE] = "gone"};
    return names[state];
}

static AcrJson *part_to_json(gconstpointer item)
{
    const AcrBatchPart *part = item;
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "name", part->name);
    acr_json_set_string(json, "state", state_name(part->state));
    set_or_null(json, "pid", part->process.pid > 0 ? part->process.pid : -1);
    acr_json_set_string(json, "host", part->process.host[0] ? part->process.host : NULL);
    acr_json_set_string(json, "why", part->why);
    return json;
}

static AcrJson *running_to_json(gconstpointer item)
{
    const AcrBatchRunning *running = item;
    const AcrLiveRun *run = &running->run;
    gint64 now = acr_live_now_ms();
    bool has_stage = run->process.state != ACR_LIVE_NONE;
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "task", running->id);
    acr_json_set_string(json, "stage", has_stage ? run->stage : NULL);
    acr_json_set_int(json, "attempt", has_stage ? run->attempt : 0);
    acr_json_set_int(json, "number", has_stage ? run->number : 0);
    acr_json_set_int(json, "ms", MAX(now - running->begun_ms, 0));
    set_or_null(json, "stage_ms", has_stage ? MAX(now - run->stage_ms, 0) : -1);
    acr_json_set_int(json, "calls", has_stage ? (gint64)run->spent.calls : 0);
    acr_json_set_int(json, "cost_microusd", has_stage ? MAX(run->spent.cost_microusd, 0) : 0);
    return json;
}

static AcrJson *lists_to_json(const GPtrArray *items, AcrJson *(*to_json)(gconstpointer item))
{
    AcrJson *json = acr_json_new_array();
    for (guint i = 0; i < items->len; i++)
        acr_json_append(json, to_json(items->pdata[i]));
    return json;
}

AcrJson *acr_watched_to_json(const AcrWatched *watched)
{
    const AcrBatchState *state = &watched->state;
    gint64 micro = acr_microusd(state->ceiling.pico);
    AcrJson *json = acr_json_new_object(), *ceiling = acr_json_new_object(),
            *left = acr_json_new_object();
    set_or_null(ceiling, "cost_microusd", micro);
    set_or_null(ceiling, "tokens", state->ceiling.tokens);
    set_or_null(ceiling, "ms", state->max_ms);
    set_or_null(left, "ms", state->left_ms);
    set_or_null(left, "cost_microusd", state->left_microusd);
    acr_json_set_string(json, "kind", watched->is_run ? "run" : "batch");
    acr_json_set_string(json, "folder", watched->out);
    acr_json_set_string(json, "state", state_name(acr_batch_state_of(state)));
    acr_json_set_bool(json, "finished", acr_watched_is_finished(watched));
    acr_json_set_int(json, "total", state->total);
    acr_json_set_int(json, "ended", state->n_ended);
    acr_json_set(json, "by_status", counts_to_json(state->by_status));
    acr_json_set(json, "by_verdict", counts_to_json(state->by_verdict));
    acr_json_set(json, "by_error_class", counts_to_json(state->by_error_class));
    set_or_null(json, "ms", state->begun_ms ? MAX(acr_live_now_ms() - state->begun_ms, 0) : -1);
    acr_json_set(json, "spent", acr_spent_to_json(&state->spent));
    acr_json_set(json, "ceiling", ceiling);
    acr_json_set(json, "left", left);
    acr_json_set(json, "running", lists_to_json(state->running, running_to_json));
    acr_json_set(json, "parts", lists_to_json(state->parts, part_to_json));
    return json;
}
