/*
 * live: notes about what a process is doing, for `watch`, which the process replaces as it works.
 * Nothing depends on them, so a failure to write one is ignored.
 */
#ifndef ACR_LIVE_H
#define ACR_LIVE_H

#include "task/run_folder.h"

/* ---- Whose it is ---- */

typedef enum {
    ACR_LIVE_NONE,      /* no process, or a damaged note */
    ACR_LIVE_RUNS,      /* the process runs */
    ACR_LIVE_ELSEWHERE, /* on another machine, whose processes cannot be seen */
    ACR_LIVE_GONE,      /* the process ended without removing its note */
} AcrLiveState;
typedef struct {
    AcrLiveState state;
    gint64 pid, begun_ms; /* milliseconds since 1970 */
    char host[128];       /* the machine's name, UTF-8 */
} AcrLiveProcess;
/* This process as it is written in a note: {"pid", "start", "boot", "host", "begun_ms"}; owned. */
AcrJson *acr_live_process_to_json(gint64 begun_ms) ACR_MUST_USE;
void acr_live_process_from_json(const AcrJson *json, AcrLiveProcess *out);

/* ---- Notes ---- */

/* Replaces the note `name` (a relative path) below the folder `top`; its folders must exist. */
void acr_live_write(const char *top, const char *name, const AcrJson *note);
/* Reads a JSON file below `top`, never through a link; owned; NULL: missing or damaged. */
AcrJson *acr_live_read(const char *top, const char *name) ACR_MUST_USE;

/* ---- A run ---- */

/* A consumer of progress events that writes a note into a folder. */
typedef struct {
    AcrProgress progress;
    char *top, *name; /* owned; the note is `name` below `top`; NULL: writes nothing */
    bool stays;       /* keeps the note after the work has ended properly */
    gint64 begun_ms;
    AcrDoing doing;
} AcrLiveNote;
/* `next` (may be NULL) receives all events, too. */
void acr_live_note_init(AcrLiveNote *note, const AcrProgress *next);
/* Starts writing notes below `top`, whose lock the caller holds. */
void acr_live_note_begin(AcrLiveNote *note, const char *top, const char *name);
/* Removes the note after the work has ended properly, unless `stays` is set. */
void acr_live_note_clear(AcrLiveNote *note);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLiveNote, acr_live_note_clear)

/* The note of a run that has not ended properly. */
typedef struct {
    AcrLiveProcess process; /* its state NONE: there is no note */
    AcrDoing doing;
} AcrLiveRun;
/* Reads the note of the run folder `name` below `top` (NULL: `top` itself). The caller clears
 * `doing`. */
void acr_live_run_read(const char *top, const char *name, AcrLiveRun *out);

#endif
