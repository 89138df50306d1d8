/* Private to batch. */
#ifndef ACR_BATCH_PRIVATE_H
#define ACR_BATCH_PRIVATE_H

#include "batch/batch.h"

/* Makes OUT/preds.jsonl from the run folders, atomically. */
bool acr_predictions_write(const AcrRunSpec *spec, const GPtrArray *instances,
                           GError **error) ACR_MUST_USE;

#endif
