/* Lays out parts of text in lines that fit a terminal, with the control sequences that draw and
 * erase the lines (ECMA-48). Writes only to a buffer, so that tests can read what a terminal would
 * get. */
#include "verbs/status_block.h"

#include "loops/progress.h"
#include "verbs/screen.h"

#define BETWEEN_COLUMNS 3
#define FREE_COLUMNS 3 /* columns kept free at the right, so that "^C" does not wrap */
#define MIN_COLUMNS 8

void acr_status_block_wipe(AcrStatusBlock *block, guint columns, GString *out)
{
    guint rows = 0;
    for (guint i = 0; i < block->n; i++)
        rows += MAX((block->widths[i] + columns - 1) / columns, 1);
    if (rows > 0)
        g_string_append_c(out, '\r');
    if (rows > 1)
        g_string_append_printf(out, "\033[%uA", rows - 1);
    /* with another order of sequences, tmux would keep an erased character in the corner */
    if (rows > 0)
        g_string_append(out, "\033[K\033[C\033[J\r");
    block->n = 0;
}

void acr_status_block_draw(AcrStatusBlock *block, const GPtrArray *parts, guint columns,
                           guint lines, bool has_colour, GString *out)
{
    guint most = MAX(columns, MIN_COLUMNS + FREE_COLUMNS) - FREE_COLUMNS;
    *block = (AcrStatusBlock){.n = 1};
    for (guint i = 0; i < parts->len; i++) {
        const char *text = parts->pdata[i];
        bool begins = *text == '\n';
        guint *line = &block->widths[block->n - 1];
        g_autofree char *part = acr_text_fit(text + begins, most);
        guint width = acr_text_width(part);
        bool fits = *line == 0 || (!begins && *line + BETWEEN_COLUMNS + width <= most);
        if (!fits && block->n == MIN(lines, ACR_STATUS_MAX_LINES))
            return;
        if (!fits)
            line = &block->widths[block->n++];
        g_string_append(out, !fits ? "\n" : *line ? ACR_WORDS_BETWEEN : "");
        *line += width + (*line ? BETWEEN_COLUMNS : 0);
        if (has_colour && i == 0)
            g_string_append_printf(out, "\033[1m%s\033[0m", part);
        else
            g_string_append(out, part);
    }
}
