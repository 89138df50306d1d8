/*
 * Outlining a batch in this process, one file after the other. A file that fails costs that file
 * only; that many in a row fail means that the outliner itself is gone.
 */
#include "index/index_private.h"

#define MAX_FAILURES_IN_A_ROW 50u

bool acr_outline_one_by_one(const AcrOutlineBatch *batch, AcrOutlineOne one, void *ctx,
                            GError **error)
{
    guint failures = 0;
    for (gsize i = 0; i < batch->n; i++) {
        if (acr_interrupted(batch->interrupt)) {
            g_set_error_literal(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_INTERRUPTED,
                                "interrupted while indexing");
            return false;
        }
        g_autoptr(GError) why = NULL;
        g_autoptr(GBytes) rows = NULL, source = batch->read(batch->ctx, i);
        if (!source)
            continue;
        bool ok = one(ctx, batch->path(batch->ctx, i), source, &rows, &why);
        AcrOutlineFailure failure = {.why = ok ? "" : why->message};
        batch->done(batch->ctx, i, ok ? rows : NULL, ok ? NULL : &failure);
        failures = ok ? 0 : failures + 1;
        if (failures == MAX_FAILURES_IN_A_ROW) {
            g_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED,
                        "cannot outline any more files: %s", why->message);
            return false;
        }
    }
    return true;
}
