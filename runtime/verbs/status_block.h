/* The lines at the bottom of a terminal that are redrawn, as bytes (status_block.c). */
#ifndef ACR_STATUS_BLOCK_H
#define ACR_STATUS_BLOCK_H

#include <glib.h>
#include <stdbool.h>

#define ACR_STATUS_MAX_LINES 24
#define ACR_STATUS_LINES 4 /* lines of a block in which parts flow */

/* What the screen shows; the cursor is at the end of the last line. */
typedef struct {
    guint n, widths[ACR_STATUS_MAX_LINES]; /* widths of the lines, in columns */
} AcrStatusBlock;

/* Appends the bytes that erase the block from a terminal with that many columns; a narrower
 * terminal has wrapped its lines. */
void acr_status_block_wipe(AcrStatusBlock *block, guint columns, GString *out);
/* Appends the block made of these parts (char *, UTF-8 without control characters): as many in a
 * line as fit, on at most `lines` lines (up to ACR_STATUS_MAX_LINES); a part that begins with a
 * line feed begins a line. The block must not be on the screen. */
void acr_status_block_draw(AcrStatusBlock *block, const GPtrArray *parts, guint columns,
                           guint lines, bool has_colour, GString *out);

#endif
