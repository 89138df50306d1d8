/* Private to verbs: swe-bench without a model. */
#ifndef ACR_VERBS_BATCH_TOOLS_H
#define ACR_VERBS_BATCH_TOOLS_H

#include "verbs/grading.h"

/* Does --sbfl-only or --extract-patches for all tasks and says how they ended; an exit code. */
int acr_batch_tools_run(AcrHost *host, AcrRunSpec *spec, const GPtrArray *instances);

#endif
