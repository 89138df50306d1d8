/* Measures a terminal and the text for it, and breaks lines between words. */
#include "verbs/screen.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/base.h"

#define MIN_WIDTH 20
#define MAX_WIDTH 10000
#define MESSAGE_HANG                                                                               \
    2 /* indentation of the further lines of a message that begins with the program's name */

guint acr_screen_width(int fd)
{
    struct winsize size = {0};
    const char *columns = g_getenv("COLUMNS");
    if (!isatty(fd))
        return 0;
    guint64 width = columns ? g_ascii_strtoull(columns, NULL, 10) : 0;
    if (width == 0 && ioctl(fd, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    return width ? (guint)CLAMP(width, MIN_WIDTH, MAX_WIDTH) : 0;
}

/* Returns the width of a character in columns. */
static guint letter_width(gunichar letter)
{
    return g_unichar_iszerowidth(letter) ? 0 : g_unichar_iswide(letter) ? 2 : 1;
}

bool acr_has_colour(int fd)
{
    const char *no = g_getenv("NO_COLOR"), *term = g_getenv("TERM");
    return isatty(fd) && (!no || !*no) && g_strcmp0(g_getenv("CLICOLOR"), "0") != 0 && term &&
           *term && strcmp(term, "dumb") != 0;
}

/* Returns the end of the character or colour sequence at `at`; adds its columns to *width. */
static const char *next_letter(const char *at, guint *width)
{
    const char *end = at[0] == '\033' && at[1] == '[' ? strchr(at, 'm') : NULL;
    if (end)
        return end + 1;
    *width += letter_width(g_utf8_get_char(at));
    return g_utf8_next_char(at);
}

guint acr_text_width(const char *text)
{
    guint width = 0;
    while (*text)
        text = next_letter(text, &width);
    return width;
}

char *acr_text_fit(const char *text, guint most)
{
    guint width = 0;
    const char *at = text, *cut = text;
    for (; *at && width <= most; at = g_utf8_next_char(at)) {
        width += letter_width(g_utf8_get_char(at));
        if (width < most)
            cut = g_utf8_next_char(at); /* keep room for the ellipsis */
    }
    g_autofree char *kept = g_strndup(text, (gsize)(cut - text));
    return width <= most ? g_strdup(text) : g_strconcat(kept, "…", NULL);
}

guint acr_list_mark(const char *text)
{
    guint digits = (guint)strspn(text, "0123456789");
    if (g_str_has_prefix(text, "- ") || g_str_has_prefix(text, "* "))
        return 2;
    return digits && g_str_has_prefix(text + digits, ". ") ? digits + 2 : 0;
}

/* Returns the column at which a continued line begins. */
static guint hang_of(const char *line, guint width)
{
    guint column = (guint)strspn(line, " ");
    const char *text = line + column;
    const char *colour = *text == '\033' ? strchr(text, 'm') : NULL;
    if (g_str_has_prefix(colour ? colour + 1 : text, "acr-host") &&
        text[strcspn(text, ":(,")] == ':')
        return column + MESSAGE_HANG;
    guint hang = column + acr_list_mark(text);
    for (const char *at = text; *at;) {
        guint spaces = (guint)strspn(at, " ");
        if (spaces > 1 && at[spaces] && column + spaces <= width / 2)
            hang = column + spaces;
        column += spaces;
        at += spaces;
        if (*at)
            at = next_letter(at, &column);
    }
    return hang;
}

static void wrap_line(GString *out, const char *line, guint width)
{
    guint hang = MIN(hang_of(line, width), width / 2), column = 0;
    bool is_begun = false; /* the current line has a word */
    while (*line) {
        guint spaces = (guint)strspn(line, " ");
        gsize len = strcspn(line + spaces, " ");
        g_autofree char *word = g_strndup(line + spaces, len);
        guint columns = acr_text_width(word);
        if (is_begun && len && column + spaces + columns > width) {
            g_string_append_printf(out, "\n%*s", (int)hang, "");
            column = hang;
        } else {
            g_string_append_len(out, line, spaces);
            column += spaces;
        }
        g_string_append(out, word);
        column += columns;
        is_begun = is_begun || len;
        line += spaces + len;
    }
}

char *acr_text_wrapped(const char *text, guint width)
{
    if (width == 0)
        return g_strdup(text);
    GString *out = g_string_new(NULL);
    g_autofree char *valid = acr_utf8_repair(text, strlen(text));
    g_auto(GStrv) lines = g_strsplit(valid, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        g_string_append(out, i ? "\n" : "");
        wrap_line(out, lines[i], width);
    }
    return g_string_free(out, FALSE);
}
