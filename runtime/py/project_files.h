/*
 * project_files: what a project's files and the logs of its tests say (python/acr/project/), asked of a
 * confined process.
 */
#ifndef ACR_PY_PROJECT_FILES_H
#define ACR_PY_PROJECT_FILES_H

#include "py/py.h"

/* Calls a function of acr.project.service, JSON in and out (owned). Errors: those of py. */
bool acr_project_files_ask(AcrRefereeWorker *worker, const char *function, GBytes *question,
                           gint64 timeout_ms, GBytes **out_answer, GError **error) ACR_MUST_USE;

#endif
