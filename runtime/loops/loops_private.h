/* Private to loops: helpers to write files of the run folder, to report progress, and to check
 * whether the run may continue. */
#pragma once

#include "loops/loops.h"

/* Returns the name of an attempt's folder: "attempt_N", or the folder of given patches; owned. */
char *acr_loops_folder(guint attempt) ACR_MUST_USE;
/* Write attempt_N/NAME; `format` and its arguments make NAME. acr_loops_write_json writes indented
 * JSON (taken). */
bool acr_loops_write(const AcrRun *run, guint attempt, const void *data, gsize len, GError **error,
                     const char *format, ...) G_GNUC_PRINTF(6, 7) ACR_MUST_USE;
bool acr_loops_write_json(const AcrRun *run, guint attempt, AcrJson *json, GError **error,
                          const char *format, ...) G_GNUC_PRINTF(5, 6) ACR_MUST_USE;
#define acr_loops_stage(run, attempt, stage, number)                                               \
    acr_progress_stage((run)->progress, attempt, stage, number)
#define acr_loops_note(run, ...) acr_progress_note((run)->progress, __VA_ARGS__)
/* Reports to the user that the context overflowed, and which part (`what`) was removed; NULL if
 * nothing can be removed. */
void acr_loops_note_overflow(const AcrRun *run, const char *what);
/* Checks for an interrupt: returns false with INTERRUPTED if a signal has arrived. */
bool acr_loops_go_on(const AcrRun *run, GError **error) ACR_MUST_USE;
