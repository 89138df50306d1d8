/* acr-host watch: shows a running batch or run from the files in its folder, without writing or
 * locking any of them. */
#include <string.h>

#include "verbs/verbs_private.h"
#include "verbs/watch_page.h"

#define EVERY_MS 500
#define STEP_MS 50
#define LINGER_MS 5000 /* time in which browsers can still fetch the last state */

/* The output of `watch`, and what it has already shown. */
typedef struct {
    AcrConsole *console;
    AcrWatchPage *page; /* NULL if no page is served */
    GHashTable *ended;  /* set of ids of ended tasks */
    GHashTable *lines;  /* name of a shard, or id of a task -> the last line about it */
    bool is_first;
} Shown;

static void shown_clear(Shown *shown)
{
    g_clear_pointer(&shown->ended, g_hash_table_unref);
    g_clear_pointer(&shown->lines, g_hash_table_unref);
    g_clear_pointer(&shown->console, acr_console_free);
    g_clear_pointer(&shown->page, acr_watch_page_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Shown, shown_clear)

/* Shows a line (taken), unless it equals the last line for `name`. */
static void tell_line(Shown *shown, const char *name, char *line)
{
    if (g_strcmp0(g_hash_table_lookup(shown->lines, name), line) != 0)
        acr_console_step(shown->console, line);
    g_hash_table_replace(shown->lines, g_strdup(name), line);
}

static void tell_parts(Shown *shown, const AcrBatchState *state)
{
    const GPtrArray *parts = state->parts, *running = state->running;
    for (guint i = 0; i < parts->len; i++) {
        const AcrBatchPart *part = parts->pdata[i];
        /* a single part's last state is the verb's final output */
        bool is_last = parts->len == 1 && part->state >= ACR_PART_OVER;
        if (!is_last)
            tell_line(shown, part->name, acr_watched_process(state, part));
    }
    for (guint i = 0; i < running->len; i++) {
        const AcrBatchRunning *task = running->pdata[i];
        g_autofree char *id = acr_one_line(task->id), *stage = acr_watched_stage(task);
        tell_line(shown, task->id, g_strdup_printf("%s: %s", id, stage));
    }
}

/* Shows the tasks that have ended since `watch` began. */
static void tell_ended(Shown *shown, const AcrBatchState *state)
{
    GHashTableIter each;
    gpointer id;
    g_hash_table_iter_init(&each, state->ended);
    while (g_hash_table_iter_next(&each, &id, NULL)) {
        if (!g_hash_table_add(shown->ended, g_strdup(id)) || shown->is_first || state->is_run)
            continue;
        g_autofree char *name = acr_one_line(id), *ending = acr_watched_ending(state, id);
        acr_console_log(shown->console, "%u/%u %s: %s", state->n_ended, state->total, name, ending);
    }
}

static void show_state(Shown *shown, const AcrBatchState *state)
{
    g_autofree char *block = acr_watched_block(state);
    if (shown->is_first && state->n_ended && !state->is_run) {
        g_auto(GStrv) lines = g_strsplit(block, "\n", 2);
        acr_console_step(shown->console, lines[0]);
    }
    tell_parts(shown, state);
    tell_ended(shown, state);
    shown->is_first = false;
    if (state->begun_ms)
        acr_console_follow(shown->console, MAX(acr_now_ms() - state->begun_ms, 0), &state->ceiling,
                           state->max_ms);
    acr_console_status(shown->console, block);
    acr_progress_tell(acr_console_progress(shown->console),
                      (AcrProgressEvent){.kind = ACR_PROGRESS_SPENT, .spent = state->spent});
    if (shown->page)
        acr_watch_page_send(shown->page, state);
}

/* Waits until the next refresh. Returns false if a signal arrived. */
static bool wait_a_moment(const AcrHost *host, const Shown *shown)
{
    for (guint ms = 0; ms < EVERY_MS; ms += STEP_MS) {
        if (acr_interrupted(host->interrupt))
            return false;
        if (shown->page)
            acr_watch_page_answer(shown->page);
        g_usleep(STEP_MS * 1000);
    }
    return true;
}

/* Waits for Ctrl-C if `until_signal`, otherwise until no browser has the page (at most
 * LINGER_MS). */
static void linger(const AcrHost *host, const Shown *shown, bool until_signal)
{
    if (until_signal)
        acr_console_log(shown->console, "the run is over; Ctrl-C ends the page");
    while (until_signal && wait_a_moment(host, shown))
        continue;
    for (guint ms = 0; ms < LINGER_MS && acr_watch_page_is_seen(shown->page); ms += EVERY_MS)
        if (!wait_a_moment(host, shown))
            return;
}

static int end_watch(const AcrBatchState *state, AcrConsole *console)
{
    const GPtrArray *parts = state->parts;
    g_autofree char *text = acr_watched_text(state);
    bool is_finished = acr_batch_state_is_finished(state);
    acr_console_end(console);
    for (guint i = 0; i < parts->len; i++) {
        const AcrBatchPart *part = parts->pdata[i];
        g_autofree char *line = acr_watched_process(state, part);
        if (part->state == ACR_PART_GONE || part->why)
            acr_console_say(console, ACR_TONE_BAD, "%s: %s", g_get_prgname(), line);
    }
    return acr_out_exit(acr_out_text(text), is_finished ? ACR_EXIT_OK : ACR_EXIT_NONE);
}

/* Starts serving the page, and prints its address. */
static AcrExit serve_page(AcrHost *host, const AcrRunSpec *spec, Shown *shown)
{
    g_autoptr(GError) error = NULL;
    shown->page = acr_watch_page_new(host, spec->arguments[0], (guint)MAX(spec->port, 0), &error);
    if (!shown->page)
        return acr_verb_fail(host, error);
    g_autofree char *line = g_strconcat(acr_watch_page_url(shown->page), "\n", NULL);
    return acr_out_exit(acr_out_text(line), ACR_EXIT_OK);
}

static int watch_folder(AcrHost *host, const AcrRunSpec *spec)
{
    g_auto(Shown) shown = {.ended = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                           .lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
                           .is_first = true};
    for (;;) {
        g_auto(AcrBatchState) state = {0};
        g_autoptr(GError) error = NULL;
        if (!acr_batch_state_read(spec->arguments[0], &state, &error))
            return acr_verb_fail(host, error);
        AcrExit served =
            !shown.console && spec->http ? serve_page(host, spec, &shown) : ACR_EXIT_OK;
        if (served != ACR_EXIT_OK)
            return served;
        bool was_first = !shown.console;
        if (was_first)
            shown.console = acr_console_new(spec);
        show_state(&shown, &state);
        bool is_over = acr_batch_state_of(&state) >= ACR_PART_OVER;
        if (is_over && shown.page)
            linger(host, &shown, was_first);
        if (is_over)
            return end_watch(&state, shown.console);
        if (!wait_a_moment(host, &shown)) {
            acr_console_end(shown.console);
            return ACR_EXIT_INTERRUPTED;
        }
    }
}

static int print_once(AcrHost *host, const AcrRunSpec *spec)
{
    g_auto(AcrBatchState) state = {0};
    g_autoptr(GError) error = NULL;
    if (!acr_batch_state_read(spec->arguments[0], &state, &error))
        return acr_verb_fail(host, error);
    if (spec->json) {
        g_autoptr(AcrJson) json = acr_watched_to_json(&state);
        return acr_out_exit(acr_out_json(json), ACR_EXIT_OK);
    }
    g_autofree char *text = acr_watched_text(&state);
    return acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
}

static int run_watch(AcrHost *host, AcrRunSpec *spec)
{
    if (g_strv_length(spec->arguments) != 1)
        return acr_verb_refuse_runs(host, spec);
    return spec->once ? print_once(host, spec) : watch_folder(host, spec);
}

const AcrVerb acr_verb_watch = {
    .name = "watch",
    .summary = "Show the live progress of a run or batch",
    .takes = ACR_FOR_WATCH,
    .arguments = "[OUT]",
    .examples = {{"Follow a running batch, also in a browser", "watch out --serve"}},
    .exits = "0 every run finished, 1 a run did not; with --once, always 0",
    .run = run_watch,
};
