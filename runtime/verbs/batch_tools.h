/* Private to verbs: the modes of swe-bench that call no model. */
#pragma once

#include "verbs/grading.h"

/* Performs --sbfl-only or --extract-patches for all tasks, and reports the results. Returns an
 * exit code. */
int acr_batch_tools_run(AcrHost *host, AcrRunSpec *spec, const GPtrArray *instances, char **ids);
