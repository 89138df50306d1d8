/* Prints the program's decisions for debugging, one line each, to standard error or a file, if
 * $ACR_TRACE asks for it. No other library code prints. The variable is read at each call, so there
 * is no state to set up, and child processes that inherit the variable are traced too. */
#include "base/trace.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_LINE 2000u /* maximum length of a line in bytes; the rest is dropped */

/* Whether the list `words` ("1", "patch,search", "/a/file,llm") names the room, a source folder.
 * *out_file is the name of the file to write to, owned, or NULL. */
static bool is_traced(const char *words, const char *room, char **out_file)
{
    g_auto(GStrv) list = g_strsplit(words, ",", -1);
    bool names_room = false, is_named = false, is_off = true;
    for (char **at = list; *at; at++) {
        const char *word = g_strstrip(*at);
        if (!*word || strcmp(word, "0") == 0)
            continue;
        is_off = false;
        if (*word == '/' && !*out_file)
            *out_file = g_strdup(word);
        else if (*word != '/' && strcmp(word, "1") != 0)
            names_room = true, is_named |= strcmp(word, room) == 0;
    }
    return !is_off && (is_named || !names_room);
}

static void write_trace_line(const char *file, const GString *line)
{
    int fd =
        file ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)
             : STDERR_FILENO;
    if (fd < 0)
        return;
    /* write once, so that lines of different threads do not mix */
    ssize_t written = write(fd, line->str, line->len);
    (void)written;
    if (file)
        close(fd);
}

void acr_trace(const char *room, const char *format, ...)
{
    const char *words = g_getenv("ACR_TRACE");
    g_autofree char *file = NULL;
    if (!words || !is_traced(words, room, &file))
        return;
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &parts);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_printf(line, "%02d:%02d:%02d.%06ld %d %s: ", parts.tm_hour, parts.tm_min, parts.tm_sec,
                    now.tv_nsec / 1000, (int)getpid(), room);
    va_list arguments;
    va_start(arguments, format);
    g_string_append_vprintf(line, format, arguments);
    va_end(arguments);
    if (line->len > MAX_LINE)
        g_string_truncate(line, MAX_LINE);
    for (char *at = line->str; *at; at++) {
        if ((guchar)*at < 0x20 || *at == 0x7f)
            *at =
                /* text from a repository or a model must not send control characters to a
                 * terminal */
                ' ';
    }
    g_string_append_c(line, '\n');
    write_trace_line(file, line);
}
