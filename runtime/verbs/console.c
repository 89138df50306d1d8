/* Shows progress to people on stderr, and to programs as events. On a terminal, a block of lines at
 * the bottom shows the current state. One lock protects the block. To print a line, one write
 * erases the block, prints the line and draws the block below; a thread redraws the block every
 * second. Without a terminal, each stage and each long wait is a line with its date. Verbs write
 * standard output after acr_console_end. */
#include "verbs/screen.h"
#include "verbs/verbs_private.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "verbs/status_block.h"

#define LONG_MS 30000  /* maximum time without a line in a log */
#define FIRST_MS 500   /* delay before the block is first drawn */
#define TICK_MS 1000   /* interval between redraws of the block */
#define AWAITED_MS 400 /* a longer wait gets a line in the log */

struct AcrConsole {
    AcrProgress progress;
    AcrEvents *events; /* owned; NULL if no events are written */
    bool verbose, quiet, is_screen, has_colour;
    AcrSpent ceiling; /* a member <= 0 is no limit */
    gint64 max_ms;    /* 0: no limit */
    gint64 start_us;

    pthread_mutex_t lock; /* protects all following members */
    pthread_cond_t over;
    pthread_t ticker;
    bool has_ticker, is_over, has_line;
    AcrDoing doing;
    gint64 logged_ms;   /* when the last line was written */
    char *status;       /* text of a verb that runs many tasks, which replaces the stage */
    gint64 awaited_ms;  /* when the wait described by `status` began; 0 if `status` is no wait */
    bool is_awaiting;   /* the wait was not yet printed as a line */
    bool is_event_wait; /* an event began the wait */
    guint awaited;      /* hash of the last wait that was printed, which is no news again */
    AcrStatusBlock block;
};

/* ---- The block (under the lock) ---- */

static struct winsize screen_size(void)
{
    struct winsize size = {0};
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    return is_known ? size : (struct winsize){.ws_row = 24, .ws_col = 80};
}

/* Returns the maximum number of lines of the block. Lines that scroll out of the terminal could not
 * be erased. */
static guint lines_of(const AcrConsole *console)
{
    bool has_own = console->status && strchr(console->status, '\n');
    return has_own ? screen_size().ws_row - 1u : ACR_STATUS_LINES;
}

/* Adds the parts of a line. Unless `is_first`, the line begins on its own row. */
static void add_block_line(GPtrArray *parts, const char *line, bool is_first)
{
    g_auto(GStrv) words = g_strsplit(line, ACR_WORDS_BETWEEN, -1);
    for (guint i = 0; words[i]; i++)
        g_ptr_array_add(parts, g_strconcat(i || is_first ? "" : "\n", words[i], NULL));
}

/* Returns the parts to show; owned; NULL if there are none. Each part stays on one line. */
static GPtrArray *parts_of(const AcrConsole *console)
{
    const AcrSpent *spent = acr_doing_spent(&console->doing);
    g_autofree char *doing =
        console->status ? g_strdup(console->status) : acr_doing_text(&console->doing, 0);
    if (!*doing)
        return NULL;
    gint64 ms = (g_get_monotonic_time() - console->start_us) / 1000;
    GPtrArray *parts = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) lines = g_strsplit(doing, "\n", -1);
    g_autofree char *used = acr_spent_text(spent, &console->ceiling, ACR_WORDS_BETWEEN),
                    *time = acr_time_text(ms);
    add_block_line(parts, lines[0], true);
    if (console->is_event_wait) {
        g_autofree char *waited = acr_time_text(acr_now_ms() - console->awaited_ms);
        g_ptr_array_add(parts, g_strconcat(waited, " so far", NULL));
    }
    if (spent->calls > 0)
        add_block_line(parts, used, true);
    double share = console->max_ms > 0 ? MIN((double)ms / (double)console->max_ms, 1) : 0;
    /* a ceiling that is far away, such as the default of a search, would only puzzle */
    g_ptr_array_add(
        parts, share >= 0.1 ? g_strdup_printf("total %s (%.0f%% of the ceiling)", time, share * 100)
                            : g_strconcat("total ", time, NULL));
    for (guint i = 1; lines[i]; i++)
        add_block_line(parts, lines[i], false);
    return parts;
}

/* Writes the lines of `text` (may be NULL) in place of the block, and redraws the block below
 * them. */
static void put_block(AcrConsole *console, const char *text)
{
    g_autoptr(GString) bytes = g_string_new(NULL);
    g_autoptr(GPtrArray) parts = console->is_screen && !console->is_over ? parts_of(console) : NULL;
    acr_status_block_wipe(&console->block, screen_size().ws_col, bytes);
    if (text)
        g_string_append(bytes, text);
    if (parts)
        acr_status_block_draw(&console->block, parts, screen_size().ws_col, lines_of(console),
                              console->has_colour, bytes);
    if (bytes->len && acr_fd_write_all(STDERR_FILENO, bytes->str, bytes->len) != 0)
        console->block = (AcrStatusBlock){0}; /* the terminal is closed */
}

/* ---- Lines ---- */

static void put_unwrapped(AcrConsole *console, const char *text)
{
    console->logged_ms = acr_now_ms();
    console->has_line = true;
    put_block(console, text);
}

static void put_console_line(AcrConsole *console, const char *before, const char *line,
                             const char *after)
{
    g_autofree char *visible = acr_text_visible(line),
                    *text = g_strconcat(before, visible, after, "\n", NULL),
                    *wrapped = acr_text_wrapped(text, acr_screen_width(STDERR_FILENO));
    put_unwrapped(console, wrapped);
}

static void put_toned(AcrConsole *console, AcrTone tone, const char *line)
{
    static const char *const colours[] = {"", "\033[32m", "\033[33m"};
    bool is_plain = tone == ACR_TONE_PLAIN || !console->has_colour;
    put_console_line(console, is_plain ? "" : colours[tone], line, is_plain ? "" : "\033[0m");
}

/* Returns the start of a line of progress: its date if stderr is not a terminal, or ""; owned. */
static char *date_of_line(const AcrConsole *console)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    return console->is_screen ? g_strdup("") : g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ ");
}

static void log_line(AcrConsole *console, const char *line)
{
    g_autofree char *date = console->quiet ? NULL : date_of_line(console);
    if (date)
        put_console_line(console, date, line, "");
}

/* ---- The ticker ---- */

/* Prints, if there is no block, a new wait as a line (once), and the state if no line was printed
 * for a long time. */
static void log_state(AcrConsole *console)
{
    gint64 now_ms = acr_now_ms();
    bool is_new = console->is_awaiting && now_ms - console->awaited_ms >= AWAITED_MS,
         is_silent = now_ms - console->logged_ms >= (console->has_line ? LONG_MS : AWAITED_MS);
    if (console->is_screen || console->is_over || (!is_new && !is_silent))
        return;
    g_autofree char *time = acr_time_text(now_ms - console->awaited_ms),
                    *line = !console->awaited_ms ? acr_doing_text(&console->doing, 0)
                            : console->is_awaiting
                                ? g_strdup(console->status)
                                : g_strconcat(console->status, ACR_WORDS_BETWEEN, time, NULL);
    if (*line)
        log_line(console, line);
    console->awaited = console->is_awaiting ? g_str_hash(console->status) : console->awaited;
    console->is_awaiting = false;
}

static void *tick_block(void *data)
{
    AcrConsole *console = data;
    gint64 next_ms = g_get_monotonic_time() / 1000 + FIRST_MS;
    pthread_mutex_lock(&console->lock);
    for (; !console->is_over; next_ms += TICK_MS) {
        struct timespec until = {.tv_sec = next_ms / 1000, .tv_nsec = next_ms % 1000 * 1000000};
        int ended = 0;
        while (!console->is_over && ended == 0)
            ended = pthread_cond_timedwait(&console->over, &console->lock, &until);
        put_block(console, NULL);
        log_state(console);
    }
    pthread_mutex_unlock(&console->lock);
    return NULL;
}

/* Starts the ticker thread with signals blocked, so that signals interrupt only the other threads,
 * which react to them. */
static void start_ticker(AcrConsole *console)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    console->has_ticker = pthread_create(&console->ticker, NULL, tick_block, console) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- Functions for verbs ---- */

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

void acr_console_command(AcrConsole *console, const char *what, const char *command)
{
    g_autofree char *date = date_of_line(console),
                    *line = g_strdup_printf("%s%s: %s\n", date, what, command);
    pthread_mutex_lock(&console->lock);
    if (!console->quiet)
        put_unwrapped(console, line);
    pthread_mutex_unlock(&console->lock);
}

void acr_console_step(AcrConsole *console, const char *line)
{
    if (!console->is_screen || console->verbose)
        acr_console_log(console, "%s", line);
}

void acr_console_say(AcrConsole *console, AcrTone tone, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    pthread_mutex_lock(&console->lock);
    put_toned(console, tone, line);
    pthread_mutex_unlock(&console->lock);
}

void acr_console_status(AcrConsole *console, const char *text)
{
    char *visible = acr_text_visible(text);
    g_strdelimit(visible, "\t", ' ');
    pthread_mutex_lock(&console->lock);
    g_free(console->status);
    console->status = visible;
    console->is_event_wait = false;
    put_block(console, NULL);
    pthread_mutex_unlock(&console->lock);
}

void acr_console_await(AcrConsole *console, const char *line)
{
    char *visible = line ? acr_one_line(line) : NULL; /* the ticker will draw the line */
    pthread_mutex_lock(&console->lock);
    g_free(console->status);
    console->status = visible;
    console->is_event_wait = false;
    console->awaited_ms = line ? acr_now_ms() : 0;
    console->is_awaiting = line && !console->verbose && g_str_hash(visible) != console->awaited;
    if (line && console->verbose)
        log_line(console, visible);
    pthread_mutex_unlock(&console->lock);
}

void acr_console_follow(AcrConsole *console, gint64 ms, const AcrSpent *ceiling, gint64 max_ms)
{
    pthread_mutex_lock(&console->lock);
    console->start_us = g_get_monotonic_time() - ms * 1000;
    console->ceiling = *ceiling;
    console->max_ms = max_ms;
    pthread_mutex_unlock(&console->lock);
}

/* ---- The stream of events ---- */

/* Writes a step as a line. If stderr is not a terminal, adds the usage so far. */
static void log_step(AcrConsole *console, const char *words)
{
    const AcrProgressEvent *spent = &console->doing.last[ACR_PROGRESS_SPENT];
    bool has_spent = spent->spent.calls > 0 && !console->is_screen;
    g_autofree char *used = has_spent ? acr_progress_words(spent) : NULL;
    g_autofree char *line = used ? g_strdup_printf("%s (%s)", words, used) : g_strdup(words);
    log_line(console, line);
}

/* Shows a wait that an event began, which is printed already, until another event ends it (NULL). A
 * verb's own status stays. */
static void show_wait(AcrConsole *console, const char *words)
{
    if (console->status && !console->is_event_wait)
        return;
    g_free(console->status);
    console->status = words ? acr_one_line(words) : NULL;
    console->awaited_ms = words ? acr_now_ms() : 0;
    console->is_event_wait = words != NULL;
}

static void take_event(void *ctx, const AcrProgressEvent *event)
{
    AcrConsole *console = ctx;
    AcrShown shown = acr_progress_shown(event);
    g_autofree char *words = shown == ACR_SHOWN_NOWHERE ? NULL : acr_progress_words(event);
    pthread_mutex_lock(&console->lock);
    bool holds = acr_doing_take(&console->doing, event);
    bool is_dated = shown == ACR_SHOWN_ANYWHERE && event->task;
    g_autofree char *date = is_dated ? date_of_line(console) : g_strdup(""),
                    *line = g_strconcat(date, words, NULL);
    if (shown == ACR_SHOWN_ANYWHERE)
        put_toned(console, ACR_TONE_BAD, line);
    else if (shown == ACR_SHOWN_LOGGED)
        log_line(console, words);
    else if (shown == ACR_SHOWN_VERBOSE && console->verbose)
        put_console_line(console, "    ", words, "");
    else if (shown == ACR_SHOWN_AS_STEP && (!console->is_screen || console->verbose))
        log_step(console, words);
    if (holds || event->kind == ACR_PROGRESS_NOTE)
        show_wait(console, event->is_long ? words : NULL);
    if (holds)
        put_block(console, NULL);
    pthread_mutex_unlock(&console->lock);
}

/* ---- Lifecycle ---- */

static bool can_move_cursor(void)
{
    const char *kind = g_getenv("TERM");
    return isatty(STDERR_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

AcrConsole *acr_console_new(const AcrRunSpec *spec)
{
    AcrConsole *console = g_new0(AcrConsole, 1);
    pthread_condattr_t clock;
    console->verbose = spec->verbose && !spec->quiet;
    /* A replay prints no progress, because it never waits. */
    console->quiet = spec->quiet || (spec->verb == ACR_FOR_REPLAY && !spec->verbose);
    console->is_screen = can_move_cursor();
    console->has_colour = console->is_screen && acr_has_colour(STDERR_FILENO);
    console->ceiling =
        (AcrSpent){.tokens = spec->max_tokens_total, .cost_microusd = acr_microusd(spec->max_cost)};
    console->max_ms = spec->max_ms;
    console->start_us = g_get_monotonic_time();
    console->logged_ms = acr_now_ms();
    console->progress = (AcrProgress){.ctx = console, .take = take_event};
    pthread_mutex_init(&console->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&console->over, &clock);
    pthread_condattr_destroy(&clock);
    console->is_over = console->quiet;
    if (!console->is_over)
        start_ticker(console);
    return console;
}

void acr_console_end(AcrConsole *console)
{
    pthread_mutex_lock(&console->lock);
    console->is_over = true;
    put_block(console, NULL);
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
    acr_doing_clear(&console->doing);
    ACR_FREE(console->status, console);
}

const AcrProgress *acr_console_progress(AcrConsole *console)
{
    return &console->progress;
}

bool acr_console_open_events(AcrConsole *console, const char *where, GError **error)
{
    console->events = where ? acr_events_open(where, error) : NULL;
    console->progress.next = console->events ? acr_events_progress(console->events) : NULL;
    return !where || console->events;
}
