/* Writes standard output, whose reader may close it and whose disk may be full. Reads standard
 * input. */
#include "verbs/screen.h"
#include "verbs/verbs_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static AcrOut write_out(const void *data, gsize len)
{
    int err = acr_fd_write_all(STDOUT_FILENO, data, len);
    if (err == 0 || err == EPIPE)
        return err ? ACR_OUT_CLOSED : ACR_OUT_WRITTEN;
    fprintf(stderr, "acr-host: cannot write to standard output: %s\n", g_strerror(err));
    return ACR_OUT_FAILED;
}

static AcrOut out(const void *data, gsize len)
{
    g_autofree char *repaired = isatty(STDOUT_FILENO) ? acr_utf8_repair(data, len) : NULL;
    g_autofree char *shown = repaired ? acr_text_visible(repaired) : NULL;
    return shown ? write_out(shown, strlen(shown)) : write_out(data, len);
}

AcrOut acr_out_safe(const char *text)
{
    return write_out(text, strlen(text));
}

AcrOut acr_out_bytes(GBytes *bytes)
{
    gsize len = 0;
    const void *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    return out(data, len);
}

static const char *colour_of(const char *line, bool in_hunk)
{
    return !in_hunk && *line == '@' ? "\033[36m"
           : !in_hunk               ? "\033[1m"
           : *line == '+'           ? "\033[32m"
           : *line == '-'           ? "\033[31m"
                                    : NULL;
}

AcrOut acr_out_diff(GBytes *diff)
{
    gsize len = 0;
    const char *data = diff ? g_bytes_get_data(diff, &len) : NULL;
    if (!acr_has_colour(STDOUT_FILENO))
        return acr_out_bytes(diff);
    g_autofree char *valid = acr_utf8_repair(data, len), *visible = acr_text_visible(valid);
    g_auto(GStrv) lines = g_strsplit(visible, "\n", -1);
    g_autoptr(GString) text = g_string_new(NULL);
    bool in_hunk = false;
    for (guint i = 0; lines[i]; i++) {
        in_hunk = in_hunk && *lines[i] && strchr(" +-\\", *lines[i]);
        const char *colour = *lines[i] ? colour_of(lines[i], in_hunk) : NULL;
        g_string_append_printf(text, "%s%s%s%s", i ? "\n" : "", colour ? colour : "", lines[i],
                               colour ? "\033[0m" : "");
        in_hunk = in_hunk || *lines[i] == '@';
    }
    return acr_out_safe(text->str);
}

AcrOut acr_out_text(const char *text)
{
    guint width = acr_screen_width(STDOUT_FILENO);
    g_autofree char *visible = width ? acr_text_visible(text) : NULL,
                    *wrapped = width ? acr_text_wrapped(visible, width) : NULL;
    return wrapped ? write_out(wrapped, strlen(wrapped)) : out(text, strlen(text));
}

AcrOut acr_out_json(const AcrJson *json)
{
    g_autofree char *text = acr_json_print(json), *line = g_strconcat(text, "\n", NULL);
    return out(line, strlen(line));
}

AcrExit acr_out_exit(AcrOut out, AcrExit code)
{
    return out == ACR_OUT_FAILED ? ACR_EXIT_ENVIRONMENT : code;
}

GBytes *acr_read_stdin(gsize max, const AcrInterrupt *interrupt, GError **error)
{
    return acr_fd_read_all(STDIN_FILENO, "standard input", max, 0, interrupt, error);
}
