/* The lines at the bottom of a terminal that are redrawn. The functions only make the bytes that
 * draw and erase these lines (status_block.c). */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define ACR_STATUS_MAX_LINES 24
#define ACR_STATUS_LINES 4 /* maximum number of lines over which the parts are distributed */

/* The block on the screen; the cursor is at the end of its last line. */
typedef struct {
    guint n, widths[ACR_STATUS_MAX_LINES]; /* number of lines, and their widths in columns */
} AcrStatusBlock;

/* Appends the bytes that erase the block from a terminal with `columns` columns. (A terminal that
 * became narrower has wrapped the lines.) */
void acr_status_block_wipe(AcrStatusBlock *block, guint columns, GString *out);
/* Appends the block made of `parts` (char *, UTF-8 without control characters): each line gets as
 * many parts as fit, and there are at most `lines` lines (up to ACR_STATUS_MAX_LINES). A part that
 * begins with a line feed begins a new line. Call only while no block is on the screen. */
void acr_status_block_draw(AcrStatusBlock *block, const GPtrArray *parts, guint columns,
                           guint lines, bool has_colour, GString *out);
