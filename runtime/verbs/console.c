/*
 * Progress for people. On a terminal one line that rewrites itself (stage, round, cost, time); with
 * --verbose a line for each step; else nothing, so that logs stay quiet.
 */
#include "verbs/verbs_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct AcrConsole {
    AcrProgress progress;
    bool verbose, terminal;
    gint64 start_us;
    guint attempt, number;
    char *stage;
    char *status; /* shown in place of attempt, stage and number */
    gint64 cost_microusd, tokens;
};

static void wipe(AcrConsole *console)
{
    if (console->terminal && !console->verbose)
        fputs("\r\033[K", stderr);
}

static void draw(AcrConsole *console)
{
    if (!console->terminal || console->verbose || (!console->stage && !console->status))
        return;
    wipe(console);
    if (console->status)
        fputs(console->status, stderr);
    else
        fprintf(stderr, "attempt %u · %s", console->attempt + 1, console->stage);
    if (console->number)
        fprintf(stderr, " · %s %u", strcmp(console->stage, "patch") == 0 ? "try" : "round",
                console->number);
    if (console->tokens)
        fprintf(stderr, " · %" G_GINT64_FORMAT " tokens", console->tokens);
    if (console->cost_microusd)
        fprintf(stderr, " · $%.4f", (double)console->cost_microusd / 1e6);
    fprintf(stderr, " · %.0f s",
            (double)(g_get_monotonic_time() - console->start_us) / G_USEC_PER_SEC);
    fflush(stderr);
}

static void on_stage(void *ctx, guint attempt, const char *stage, guint number)
{
    AcrConsole *console = ctx;
    console->attempt = attempt;
    console->number = number;
    g_free(console->stage);
    console->stage = g_strdup(stage);
    if (console->verbose && number)
        fprintf(stderr, "%s %u: %s\n", strcmp(stage, "patch") == 0 ? "try" : "round", number,
                stage);
    else if (console->verbose)
        fprintf(stderr, "%s\n", stage);
    draw(console);
}

static void on_note(void *ctx, const char *line)
{
    AcrConsole *console = ctx;
    if (console->verbose)
        acr_verb_tell("    %s\n", line);
}

static void on_warn(void *ctx, const char *line)
{
    acr_console_say(ctx, "%s: %s", g_get_prgname(), line);
}

static void on_cost(void *ctx, gint64 cost_microusd, gint64 tokens)
{
    AcrConsole *console = ctx;
    console->cost_microusd = cost_microusd;
    console->tokens = tokens;
    draw(console);
}

AcrConsole *acr_console_new(bool verbose)
{
    AcrConsole *console = g_new0(AcrConsole, 1);
    console->verbose = verbose;
    console->terminal = isatty(STDERR_FILENO);
    console->start_us = g_get_monotonic_time();
    console->progress = (AcrProgress){console, on_stage, on_note, on_cost, on_warn};
    return console;
}

void acr_console_free(AcrConsole *console)
{
    if (!console)
        return;
    wipe(console);
    g_free(console->stage);
    g_free(console->status);
    g_free(console);
}

void acr_console_end(AcrConsole *console)
{
    wipe(console);
    console->terminal = false;
}

const AcrProgress *acr_console_progress(AcrConsole *console)
{
    return &console->progress;
}

void acr_console_status(AcrConsole *console, const char *text)
{
    g_free(console->status);
    console->status = acr_one_line(text);
    draw(console);
}

void acr_console_log(AcrConsole *console, const char *line)
{
    if (console->terminal || console->verbose)
        acr_console_say(console, "%s", line);
}

void acr_console_say(AcrConsole *console, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    wipe(console);
    acr_verb_tell("%s\n", line);
    draw(console);
}
