/*
 * Progress for people, on stderr, and for programs as events. On a terminal a block at its end says what is going on; one lock owns
 * it: it is wiped before any other line is written and drawn again below, in one write, and a thread
 * draws it each second. Elsewhere each stage is a line with its date. What is printed on standard output
 * comes after acr_console_end.
 */
#include "verbs/verbs_private.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "verbs/status_block.h"

struct AcrConsole {
    AcrProgress progress;
    AcrEvents *events; /* NULL: nobody wants them */
    bool verbose, quiet, is_screen, has_colour;
    gint64 max_cost_pico, max_tokens, max_ms; /* ACR_UNSET: no ceiling */
    gint64 start_us;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t over;
    pthread_t ticker;
    bool has_ticker, is_over;
    gint64 stage_us;
    char *stage;  /* what is done, in words; NULL: nothing yet */
    char *status; /* of a verb that runs many, in its place */
    AcrSpent spent;
    AcrStatusBlock block;
};

/* ---- The block (under the lock) ---- */

static guint columns(void)
{
    struct winsize size;
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : 80;
}

/* How many lines the block may have: one that scrolls could not be wiped. */
static guint lines_of(const AcrConsole *console)
{
    struct winsize size;
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    bool has_own = console->status && strchr(console->status, '\n');
    return has_own ? (is_known ? size.ws_row : 24) - 1u : ACR_STATUS_LINES;
}

static void add_share(GString *part, double used, double ceiling)
{
    if (ceiling > 0)
        g_string_append_printf(part, " (%.0f%% of the ceiling)", MIN(used / ceiling, 1) * 100);
}

static void add_part(GPtrArray *parts, GString *part)
{
    g_ptr_array_add(parts, g_string_free(part, FALSE));
}

/* Adds the parts of a line, which begins one of the block unless it is the first. */
static void add_line(GPtrArray *parts, const char *line, bool is_first)
{
    g_auto(GStrv) words = g_strsplit(line, ACR_STATUS_BETWEEN, -1);
    for (guint i = 0; words[i]; i++)
        g_ptr_array_add(parts, g_strconcat(i || is_first ? "" : "\n", words[i], NULL));
}

/* What is shown, in parts that are not broken; NULL: there is nothing to show. */
static GPtrArray *parts_of(const AcrConsole *console)
{
    const AcrSpent *spent = &console->spent;
    if (!console->status && !console->stage)
        return NULL;
    GPtrArray *parts = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) lines = g_strsplit(console->status ? console->status : console->stage, "\n", -1);
    add_line(parts, lines[0], true);
    if (!console->status)
        g_ptr_array_add(parts, acr_time_text((g_get_monotonic_time() - console->stage_us) / 1000));
    if (spent->calls)
        g_ptr_array_add(parts, g_strdup_printf("%" G_GUINT64_FORMAT " calls", spent->calls));
    if (spent->tokens > 0) {
        GString *tokens = g_string_new(NULL);
        g_string_append_printf(tokens, "%" G_GINT64_FORMAT " tokens", spent->tokens);
        add_share(tokens, (double)spent->tokens, (double)console->max_tokens);
        add_part(parts, tokens);
    }
    if (spent->cost_microusd > 0 || spent->charged_microusd > 0) {
        GString *cost = g_string_new(NULL);
        bool is_known = spent->cost_microusd >= spent->charged_microusd;
        gint64 microusd = MAX(spent->cost_microusd, spent->charged_microusd);
        g_string_append_printf(cost, "$%.4f%s", (double)microusd / 1e6, is_known ? "" : " charged");
        add_share(cost, (double)spent->charged_microusd * 1e6, (double)console->max_cost_pico);
        add_part(parts, cost);
    }
    GString *time = g_string_new("in all ");
    gint64 ms = (g_get_monotonic_time() - console->start_us) / 1000;
    g_autofree char *text = acr_time_text(ms);
    g_string_append(time, text);
    add_share(time, (double)ms, (double)console->max_ms);
    add_part(parts, time);
    for (guint i = 1; lines[i]; i++)
        add_line(parts, lines[i], false);
    return parts;
}

/* Writes the lines of `text` (NULL: none) in place of the block, and the block below them. */
static void put(AcrConsole *console, const char *text)
{
    g_autoptr(GString) bytes = g_string_new(NULL);
    g_autoptr(GPtrArray) parts = console->is_screen && !console->is_over ? parts_of(console) : NULL;
    acr_status_block_wipe(&console->block, columns(), bytes);
    if (text)
        g_string_append(bytes, text);
    if (parts)
        acr_status_block_draw(&console->block, parts, columns(), lines_of(console),
                              console->has_colour, bytes);
    if (bytes->len && acr_fd_write_all(STDERR_FILENO, bytes->str, bytes->len) != 0)
        console->block = (AcrStatusBlock){0}; /* nobody can read it any more */
}

static void *tick(void *data)
{
    AcrConsole *console = data;
    pthread_mutex_lock(&console->lock);
    while (!console->is_over) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&console->over, &console->lock, &until);
        if (!console->is_over)
            put(console, NULL);
    }
    pthread_mutex_unlock(&console->lock);
    return NULL;
}

/* Signals are the other threads': what they interrupt is to notice. */
static void start_ticker(AcrConsole *console)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    console->has_ticker = pthread_create(&console->ticker, NULL, tick, console) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- Lines ---- */

static void put_line(AcrConsole *console, const char *before, const char *line, const char *after)
{
    g_autofree char *visible = acr_text_visible(line);
    g_autofree char *text = g_strconcat(before, visible, after, "\n", NULL);
    put(console, text);
}

/* A line of progress; where nobody looks on, with its date. */
static void log_line(AcrConsole *console, const char *line)
{
    if (console->quiet)
        return;
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *date =
        console->is_screen ? g_strdup("") : g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ ");
    put_line(console, date, line, "");
}

void acr_console_log(AcrConsole *console, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    pthread_mutex_lock(&console->lock);
    log_line(console, line);
    pthread_mutex_unlock(&console->lock);
}

void acr_console_step(AcrConsole *console, const char *line)
{
    if (!console->is_screen || console->verbose)
        acr_console_log(console, "%s", line);
}

void acr_console_say(AcrConsole *console, AcrTone tone, const char *format, ...)
{
    static const char *const colours[] = {"", "\033[32m", "\033[33m"};
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    bool is_plain = tone == ACR_TONE_PLAIN || !console->has_colour;
    pthread_mutex_lock(&console->lock);
    put_line(console, is_plain ? "" : colours[tone], line, is_plain ? "" : "\033[0m");
    pthread_mutex_unlock(&console->lock);
}

void acr_console_status(AcrConsole *console, const char *text)
{
    char *visible = acr_text_visible(text);
    g_strdelimit(visible, "\t", ' ');
    pthread_mutex_lock(&console->lock);
    g_free(console->status);
    console->status = visible;
    put(console, NULL);
    pthread_mutex_unlock(&console->lock);
}

void acr_console_follow(AcrConsole *console, gint64 ms, const AcrAmount *ceiling, gint64 max_ms)
{
    pthread_mutex_lock(&console->lock);
    console->start_us = g_get_monotonic_time() - ms * 1000;
    console->max_cost_pico = ceiling->pico;
    console->max_tokens = ceiling->tokens;
    console->max_ms = max_ms;
    pthread_mutex_unlock(&console->lock);
}

/* ---- What a run reports ---- */

/* The stage as a line; elsewhere than on a terminal with what has been used until then. */
static void log_stage(AcrConsole *console)
{
    const AcrSpent *spent = &console->spent;
    GString *line = g_string_new(console->stage);
    if (spent->calls && !console->is_screen) {
        g_string_append_printf(line, " (%" G_GUINT64_FORMAT " calls", spent->calls);
        if (spent->tokens > 0)
            g_string_append_printf(line, ", %" G_GINT64_FORMAT " tokens", spent->tokens);
        if (spent->cost_microusd > 0)
            g_string_append_printf(line, ", $%.4f", (double)spent->cost_microusd / 1e6);
        g_string_append_c(line, ')');
    }
    g_autofree char *text = g_string_free(line, FALSE);
    log_line(console, text);
}

static void on_stage(void *ctx, guint attempt, const char *stage, guint number)
{
    AcrConsole *console = ctx;
    AcrJson *event = acr_event_new("stage");
    acr_json_set_string(event, "stage", stage);
    acr_json_set_int(event, "attempt", attempt);
    acr_json_set_int(event, "number", number);
    acr_events_put(console->events, event);
    pthread_mutex_lock(&console->lock);
    g_free(console->stage);
    console->stage = acr_stage_text(attempt, stage, number);
    console->stage_us = g_get_monotonic_time();
    if (!console->is_screen || console->verbose)
        log_stage(console);
    else
        put(console, NULL);
    pthread_mutex_unlock(&console->lock);
}

static void put_line_event(AcrConsole *console, const char *kind, const char *line)
{
    AcrJson *event = acr_event_new(kind);
    acr_json_set_string(event, "text", line);
    acr_events_put(console->events, event);
}

static void on_note(void *ctx, const char *line)
{
    AcrConsole *console = ctx;
    put_line_event(console, "note", line);
    if (console->verbose)
        acr_console_say(console, ACR_TONE_PLAIN, "    %s", line);
}

static void on_warn(void *ctx, const char *line)
{
    put_line_event(ctx, "warning", line);
    acr_console_say(ctx, ACR_TONE_BAD, "%s: %s", g_get_prgname(), line);
}

static void on_spent(void *ctx, const AcrSpent *spent)
{
    AcrConsole *console = ctx;
    AcrJson *event = acr_event_new("spent");
    acr_json_set_int(event, "calls", (gint64)spent->calls);
    acr_json_set_int(event, "tokens", spent->tokens);
    acr_json_set_int(event, "cost_microusd", spent->cost_microusd);
    acr_json_set_int(event, "charged_microusd", spent->charged_microusd);
    acr_events_put(console->events, event);
    pthread_mutex_lock(&console->lock);
    console->spent = *spent;
    put(console, NULL);
    pthread_mutex_unlock(&console->lock);
}

/* ---- Lifecycle ---- */

static bool can_move_cursor(void)
{
    const char *kind = g_getenv("TERM");
    return isatty(STDERR_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

/* https://no-color.org, https://bixense.com/clicolors */
static bool wants_colour(void)
{
    const char *no = g_getenv("NO_COLOR"), *cli = g_getenv("CLICOLOR");
    return (!no || !*no) && g_strcmp0(cli, "0") != 0;
}

AcrConsole *acr_console_new(const AcrRunSpec *spec)
{
    AcrConsole *console = g_new0(AcrConsole, 1);
    pthread_condattr_t clock;
    console->verbose = spec->verbose && !spec->quiet;
    /* A replay waits for nobody. */
    console->quiet = spec->quiet || (spec->verb == ACR_FOR_REPLAY && !spec->verbose);
    console->is_screen = can_move_cursor();
    console->has_colour = console->is_screen && wants_colour();
    console->max_cost_pico = spec->max_cost;
    console->max_tokens = spec->max_tokens_total;
    console->max_ms = spec->max_ms;
    console->start_us = console->stage_us = g_get_monotonic_time();
    console->progress = (AcrProgress){console, on_stage, on_note, on_spent, on_warn};
    pthread_mutex_init(&console->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&console->over, &clock);
    pthread_condattr_destroy(&clock);
    console->is_over = !console->is_screen || console->quiet; /* no block */
    if (!console->is_over)
        start_ticker(console);
    return console;
}

void acr_console_end(AcrConsole *console)
{
    pthread_mutex_lock(&console->lock);
    console->is_over = true;
    put(console, NULL);
    pthread_cond_signal(&console->over);
    pthread_mutex_unlock(&console->lock);
    if (console->has_ticker)
        pthread_join(console->ticker, NULL);
    console->has_ticker = false;
}

void acr_console_free(AcrConsole *console)
{
    if (!console)
        return;
    acr_console_end(console);
    acr_events_free(console->events);
    pthread_cond_destroy(&console->over);
    pthread_mutex_destroy(&console->lock);
    g_free(console->stage);
    g_free(console->status);
    g_free(console);
}

const AcrProgress *acr_console_progress(AcrConsole *console)
{
    return &console->progress;
}

bool acr_console_open_events(AcrConsole *console, const char *where, GError **error)
{
    console->events = where ? acr_events_open(where, error) : NULL;
    return !where || console->events;
}

AcrEvents *acr_console_events(AcrConsole *console)
{
    return console->events;
}
