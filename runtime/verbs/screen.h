/* Fits text to a terminal. Only this module measures the terminal and breaks lines. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Returns the columns of the terminal at `fd` ($COLUMNS if set); 0 if `fd` is no terminal, or its
 * width is unknown. */
guint acr_screen_width(int fd);
/* Returns whether output to `fd` has colours: on a terminal, unless the user's environment forbids
 * colours (https://no-color.org, https://bixense.com/clicolors). */
bool acr_has_colour(int fd);
/* Returns the width of a line in columns, without its colour sequences. */
guint acr_text_width(const char *text);
/* Returns a line without colours, cut to `most` columns with an ellipsis if it is longer; owned. */
char *acr_text_fit(const char *text, guint most);
/* Returns the length of the mark that begins a list item: "- ", "* ", "12. "; 0 if there is
 * none. */
guint acr_list_mark(const char *text);
/* Breaks the lines of `text` (UTF-8, may have colours) between words, so that they fit `width` (0:
 * no limit); owned. A continued line is indented as far as the text of its list item or last
 * column. A word that is wider than the line is kept whole. */
char *acr_text_wrapped(const char *text, guint width);
/* Converts a guide's Markdown to plain text for a terminal; owned. */
char *acr_guide_text(const char *markdown, guint width, bool has_colour);
