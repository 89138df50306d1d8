/* The lines at the end of a terminal that are drawn again and again, as bytes for it (status_block.c). */
#ifndef ACR_STATUS_BLOCK_H
#define ACR_STATUS_BLOCK_H

#include <glib.h>
#include <stdbool.h>

#define ACR_STATUS_MAX_LINES 24
#define ACR_STATUS_LINES 4 /* of a block whose parts flow */

/* What stands on the screen; the cursor is at the end of its last line. */
typedef struct {
    guint n, widths[ACR_STATUS_MAX_LINES]; /* in columns */
} AcrStatusBlock;

/* Appends what removes the block from a terminal with that number of columns: one that has become narrower has
 * wrapped its lines. */
void acr_status_block_wipe(AcrStatusBlock *block, guint columns, GString *out);
/* Appends the block that these parts (char *, UTF-8 without control characters) make, as many in a line as
 * fit, and of `lines` (to ACR_STATUS_MAX_LINES) as many as they need; one that begins with a line feed begins a
 * line. Nothing of it may be on the screen. */
void acr_status_block_draw(AcrStatusBlock *block, const GPtrArray *parts, guint columns,
                           guint lines, bool has_colour, GString *out);

#endif
