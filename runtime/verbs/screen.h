/* Fits text to a terminal: the only place that knows how wide a terminal is and breaks lines. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Columns of the terminal at `fd` ($COLUMNS if it is set); 0 if `fd` is no terminal, or its width
 * is unknown. */
guint acr_screen_width(int fd);
/* Whether output to `fd` has colours: on a terminal, unless the user's environment forbids it
 * (https://no-color.org, https://bixense.com/clicolors). */
bool acr_has_colour(int fd);
/* Columns that a line takes; colours take none. */
guint acr_text_width(const char *text);
/* A line without colours, cut to `most` columns, with an ellipsis if it is longer; owned. */
char *acr_text_fit(const char *text, guint most);
/* Bytes of the mark with which a list item begins: "- ", "* ", "12. "; 0 if there is none. */
guint acr_list_mark(const char *text);
/* Breaks the lines of `text` (UTF-8, may have colours) between words, so that they fit `width` (0:
 * no limit). A continued line is indented as far as the text of its list item or last column. A
 * word that is wider than the line is kept whole; owned. */
char *acr_text_wrapped(const char *text, guint width);
/* A guide's Markdown as plain text for a terminal; owned. */
char *acr_guide_text(const char *markdown, guint width, bool has_colour);
