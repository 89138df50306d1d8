/* Messages to the user on stderr, one line each. */
#include "verbs/screen.h"
#include "verbs/verbs_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/sandbox.h"

char *acr_one_line(const char *text)
{
    char *line = acr_text_visible(text);
    for (char *at = line; *at; at++)
        if (g_ascii_iscntrl(*at))
            *at = ' ';
    return line;
}

/* Prints a text without control characters, in lines that fit a terminal. */
static void put_message(const char *text)
{
    g_autofree char *shown = acr_text_wrapped(text, acr_screen_width(STDERR_FILENO));
    fputs(shown, stderr);
}

void acr_verb_tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args), *shown = acr_text_visible(text);
    va_end(args);
    put_message(shown);
}

/* Prints a message, and keeps it in `host` (NULL: the verb goes on) as the reason of its failure. */
static void complain(AcrHost *host, const char *message, const char *hint)
{
    g_autofree char *line = acr_one_line(message),
                    *text = g_strdup_printf("%s: %s%s\n", g_get_prgname(), line, hint);
    put_message(text);
    if (!host)
        return;
    g_free(host->failure);
    host->failure = g_steal_pointer(&line);
}

void acr_verb_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    complain(NULL, message, "");
}

/* Returns whether all lines of the message after the first are a command's output, or commands. */
static bool ends_in_output(const GError *error)
{
    return strstr(error->message, ":\ngit clone ") ||
           g_error_matches(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_SETUP) ||
           g_error_matches(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_UNAVAILABLE) ||
           g_error_matches(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_VALIDATION);
}

static void show_output(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        g_autofree char *line = acr_one_line(lines[i]);
        fprintf(stderr, "    %s\n", line);
    }
}

AcrExit acr_verb_fail(AcrHost *host, const GError *error)
{
    AcrExit code = acr_exit_of(error, host->interrupt);
    const char *message = acr_message_of(error, host->interrupt);
    const char *output =
        error && message == error->message && ends_in_output(error) ? strchr(message, '\n') : NULL;
    g_autofree char *line = output ? g_strndup(message, (gsize)(output - message)) : NULL;
    complain(host, line ? line : message, "");
    if (output)
        show_output(output + 1);
    return code;
}

char *acr_shell_word(const char *text)
{
    bool is_plain =
        *text && !text[strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_./-+=:@%,")];
    return is_plain ? g_strdup(text) : g_shell_quote(text);
}

AcrExit acr_verb_usage(AcrHost *host, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    g_autofree char *hint = g_strdup_printf(" (see %s --help)", g_get_prgname());
    complain(host, message, hint);
    return ACR_EXIT_USAGE;
}
