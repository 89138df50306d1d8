/* Formats the state of a batch or run as text and as JSON. The folder's files are untrusted, so
 * each string from them is first converted to one safe line. */
#include "verbs/watch.h"

#include <string.h>

#include "verbs/status_block.h"
#include "verbs/verbs_private.h"

#define MAX_SHOWN 40u /* maximum number of running tasks that are shown */
#define MAX_WORDS 8u  /* maximum number of counts in a line */
#define MAX_NAME 80u  /* maximum length of a task's name in bytes */
#define MAX_WHY 300u

/* ---- Words ---- */

/* Converts an untrusted string to one safe line of at most `max` bytes; owned. */
static char *line_of(const char *text, gsize max)
{
    g_autofree char *line = acr_one_line(text);
    return acr_text_shorten(line, max);
}

static gint by_count(gconstpointer a, gconstpointer b)
{
    const AcrJson *one = *(const AcrJson *const *)a, *other = *(const AcrJson *const *)b;
    gint64 n = acr_json_int(one, 0), m = acr_json_int(other, 0);
    return n != m ? (n < m ? 1 : -1) : strcmp(acr_json_key(one), acr_json_key(other));
}

/* Adds counts such as "2 with a patch, 1 failed", beginning with the most frequent word; `between`
 * separates the parts. */
static void add_word_counts(GString *text, const AcrJson *counts, const char *between)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    for (const AcrJson *at = acr_json_first(counts); at; at = acr_json_next(at))
        g_ptr_array_add(words, (gpointer)at);
    g_ptr_array_sort(words, by_count);
    for (guint i = 0; i < MIN(words->len, MAX_WORDS); i++) {
        g_autofree char *word = line_of(acr_json_key(words->pdata[i]), MAX_NAME);
        g_strdelimit(word, "_", ' '); /* not_begun, bad_row */
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT " %s%s", i ? between : "",
                               acr_json_int(words->pdata[i], 0),
                               strcmp(word, "patch") == 0 ? "with a " : "", word);
    }
    if (words->len > MAX_WORDS)
        g_string_append_printf(text, "%sand %u others", between, words->len - MAX_WORDS);
}

static void add_named(GString *text, const char *name, const AcrJson *counts)
{
    if (acr_json_size(counts) == 0)
        return;
    g_string_append(text, name);
    add_word_counts(text, counts, ", ");
}

char *acr_watched_stage(const AcrBatchRunning *running)
{
    const AcrDoing *doing = &running->run.doing;
    if (!acr_doing_has_begun(doing))
        return g_strdup("starts");
    g_autofree char *words = acr_progress_words(&doing->last[ACR_PROGRESS_STAGE]);
    return acr_one_line(words);
}

char *acr_watched_ending(const AcrBatchState *state, const char *id)
{
    const AcrJson *row = g_hash_table_lookup(state->ended, id);
    const char *status = acr_json_get_string(row, "status"),
               *why = acr_json_get_string(row, "error");
    g_autofree char *text = g_strconcat(status ? status : "unknown", why ? ": " : "", why, NULL);
    return line_of(text, MAX_WHY);
}

static const char *kind_name(const AcrBatchState *state)
{
    return state->is_run ? "run" : state->is_grading ? "grading" : "batch";
}

char *acr_watched_process(const AcrBatchState *state, const AcrBatchPart *part)
{
    g_autofree char *host = acr_one_line(part->process.host),
                    *name = part->name[0] ? g_strconcat(part->name, ": ", NULL) : g_strdup(""),
                    *why = part->why ? line_of(part->why, MAX_WHY) : NULL,
                    *out = state->is_run ? acr_shell_word(state->out) : NULL,
                    *again = g_strconcat("rerun the same command", out ? " with --out " : "",
                                         out ? out : "", " to resume", NULL);
    const char *what = kind_name(state);
    gint64 pid = part->process.pid;
    switch (part->state) {
    case ACR_PART_WAITS:
        return g_strconcat(name, "has not started", NULL);
    case ACR_PART_RUNS:
        return g_strdup_printf("%sprocess %" G_GINT64_FORMAT " is running", name, pid);
    case ACR_PART_ELSEWHERE:
        return g_strdup_printf("%sprocess %" G_GINT64_FORMAT
                               " on '%s' is still running or was killed",
                               name, pid, host);
    case ACR_PART_GONE:
        return g_strdup_printf("%sprocess %" G_GINT64_FORMAT
                               " has ended, and the %s is not finished; %s",
                               name, pid, what, again);
    default:
        return why ? g_strdup_printf("%snot finished: %s; %s", name, why, again)
                   : g_strconcat(name, "finished", NULL);
    }
}

/* ---- The block ---- */

/* Describes the state of a running task and the time since it began: "round 2: search · 34 s";
 * owned. */
static char *doing_of(const AcrBatchRunning *running)
{
    g_autofree char *text = acr_doing_text(&running->run.doing, running->begun_ms),
                    *time = acr_time_text(acr_now_ms() - running->begun_ms);
    return acr_doing_has_begun(&running->run.doing)
               ? acr_one_line(text)
               : g_strconcat("starts" ACR_WORDS_BETWEEN, time, NULL);
}

/* Adds a line about a running task: "bill-1 · round 2: search · 34 s · 0.0123 USD". */
static void add_running(GString *text, const AcrBatchRunning *running, bool with_cost)
{
    const AcrSpent *spent = acr_doing_spent(&running->run.doing);
    g_autofree char *id = line_of(running->id, MAX_NAME), *doing = doing_of(running);
    g_string_append_printf(text, "%s" ACR_WORDS_BETWEEN "%s", id, doing);
    gint64 microusd = MAX(spent->cost_microusd, spent->charged_microusd);
    if (with_cost && acr_doing_has_begun(&running->run.doing) && microusd > 0)
        g_string_append_printf(text, ACR_WORDS_BETWEEN "%.4f USD", (double)microusd / 1e6);
}

static void add_all_running(GString *text, const AcrBatchState *state, const char *before)
{
    const GPtrArray *running = state->running;
    for (guint i = 0; i < MIN(running->len, MAX_SHOWN); i++) {
        g_string_append(text, before);
        add_running(text, running->pdata[i], true);
    }
    if (running->len > MAX_SHOWN)
        g_string_append_printf(text, "%sand %u more tasks", before, running->len - MAX_SHOWN);
}

static void add_sums(GString *text, const AcrBatchState *state, const char *between)
{
    g_string_append_printf(text, "%u of %u %s", state->n_ended, state->total,
                           state->is_grading ? "graded" : "tasks");
    if (state->n_ended)
        g_string_append(text, between);
    add_word_counts(text, state->by_status, between);
    if (state->to_grade && !state->is_grading)
        g_string_append_printf(text, "%s%u of %u graded%s%u resolved", between, state->graded,
                               state->to_grade, between, state->resolved);
    if (state->left_ms >= 0) {
        g_autofree char *left = acr_forecast_text(state->left_ms, state->left_microusd);
        g_string_append_printf(text, "%s%s", between, left);
    }
}

char *acr_watched_block(const AcrBatchState *state)
{
    GString *text = g_string_new(NULL);
    if (state->is_run && state->running->len) {
        add_running(text, state->running->pdata[0], false);
        return g_string_free(text, FALSE);
    }
    add_sums(text, state, ACR_WORDS_BETWEEN);
    add_all_running(text, state, "\n");
    add_named(text, "\nverdicts: ", state->by_verdict);
    add_named(text, "\nerrors: ", state->by_error_class);
    return g_string_free(text, FALSE);
}

/* ---- For people ---- */

static void add_spent(GString *text, const AcrBatchState *state)
{
    const AcrSpent *spent = &state->spent;
    gint64 ceiling = state->ceiling.cost_microusd;
    g_autofree char *used = acr_spent_text(spent, NULL, ", ");
    g_string_append_printf(text, "\nspent: %s", used);
    if (ceiling > 0)
        g_string_append_printf(text, " (%.0f%% of %.2f USD)",
                               (double)spent->charged_microusd * 100 / (double)ceiling,
                               (double)ceiling / 1e6);
}

/* Adds how a single run ended: "patch" and the verdict, or the error. */
static void add_run_end(GString *text, const AcrBatchState *state)
{
    const AcrJson *const counts[] = {state->by_status, state->by_verdict, state->by_error_class};
    static const char *const names[] = {"run: ", "\nverdict: ", "\nerror: "};
    g_string_append(text, state->n_ended ? "" : "run: not finished");
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
        const AcrJson *first = acr_json_first(counts[i]);
        g_autofree char *word = first ? line_of(acr_json_key(first), MAX_NAME) : NULL;
        if (word)
            g_string_append_printf(text, "%s%s", names[i], word);
    }
}

char *acr_watched_text(const AcrBatchState *state)
{
    GString *text = g_string_new(NULL);
    if (state->is_run) {
        add_run_end(text, state);
    } else {
        add_sums(text, state, ", ");
        add_named(text, "\nverdicts: ", state->by_verdict);
        add_named(text, "\nerrors: ", state->by_error_class);
    }
    add_spent(text, state);
    for (guint i = 0; i < state->parts->len; i++) {
        g_autofree char *process = acr_watched_process(state, state->parts->pdata[i]);
        g_string_append_printf(text, "\n%s", process);
    }
    add_all_running(text, state, "\nruns: ");
    g_string_append_c(text, '\n');
    return g_string_free(text, FALSE);
}

/* ---- JSON ---- */

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
    AcrJson *json = acr_json_of(ACR_STRING("name", part->name),
                                ACR_STRING("state", state_name(part->state)), NULL);
    set_or_null(json, "pid", part->process.pid > 0 ? part->process.pid : -1);
    acr_json_set_string(json, "host", part->process.host[0] ? part->process.host : NULL);
    acr_json_set_string(json, "why", part->why);
    return json;
}

static AcrJson *running_to_json(gconstpointer item)
{
    const AcrBatchRunning *running = item;
    const AcrProgressEvent *stage = &running->run.doing.last[ACR_PROGRESS_STAGE];
    const AcrSpent *spent = acr_doing_spent(&running->run.doing);
    gint64 now = acr_now_ms();
    bool has_stage = acr_doing_has_begun(&running->run.doing);
    g_autofree char *doing = doing_of(running);
    AcrJson *json = acr_json_of(ACR_STRING("task", running->id), ACR_STRING("doing", doing),
                                ACR_STRING("stage", has_stage ? stage->stage : NULL),
                                ACR_INT("attempt", has_stage ? stage->attempt : 0),
                                ACR_INT("number", has_stage ? stage->number : 0),
                                ACR_INT("ms", MAX(now - running->begun_ms, 0)), NULL);
    set_or_null(json, "stage_ms", has_stage ? MAX(now - stage->time_ms, 0) : -1);
    acr_json_set_int(json, "calls", has_stage ? MAX(spent->calls, 0) : 0);
    acr_json_set_int(json, "cost_microusd", has_stage ? MAX(spent->cost_microusd, 0) : 0);
    return json;
}

static AcrJson *lists_to_json(const GPtrArray *items, AcrJson *(*to_json)(gconstpointer item))
{
    AcrJson *json = acr_json_new_array();
    for (guint i = 0; i < items->len; i++)
        acr_json_append(json, to_json(items->pdata[i]));
    return json;
}

AcrJson *acr_watched_to_json(const AcrBatchState *state)
{
    AcrJson *ceiling = acr_json_new_object(), *left = acr_json_new_object(),
            *graded = acr_json_new_object();
    acr_json_set_int(graded, "ended", state->graded);
    acr_json_set_int(graded, "total", state->to_grade);
    acr_json_set_int(graded, "resolved", state->resolved);
    set_or_null(ceiling, "cost_microusd", state->ceiling.cost_microusd);
    set_or_null(ceiling, "tokens", state->ceiling.tokens);
    set_or_null(ceiling, "ms", state->max_ms);
    set_or_null(left, "ms", state->left_ms);
    set_or_null(left, "cost_microusd", state->left_microusd);
    AcrJson *json = acr_json_of(
        ACR_STRING("kind", kind_name(state)), ACR_STRING("folder", state->out),
        ACR_STRING("state", state_name(acr_batch_state_of(state))),
        ACR_BOOL("finished", acr_batch_state_is_finished(state)), ACR_INT("total", state->total),
        ACR_INT("ended", state->n_ended), ACR_JSON("by_status", acr_json_copy(state->by_status)),
        ACR_JSON("by_verdict", acr_json_copy(state->by_verdict)),
        ACR_JSON("by_outcome", acr_json_copy(state->by_outcome)),
        ACR_JSON("by_error_class", acr_json_copy(state->by_error_class)), NULL);
    set_or_null(json, "ms", state->begun_ms ? MAX(acr_now_ms() - state->begun_ms, 0) : -1);
    acr_json_set(json, "spent", acr_spent_to_json(&state->spent));
    acr_json_set(json, "ceiling", ceiling);
    acr_json_set(json, "graded", graded);
    acr_json_set(json, "left", left);
    acr_json_set(json, "running", lists_to_json(state->running, running_to_json));
    acr_json_set(json, "parts", lists_to_json(state->parts, part_to_json));
    return json;
}
