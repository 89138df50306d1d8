/* live: notes about the progress of a process, for `watch`. A process replaces its note while it
 * works. Nothing else depends on notes, so errors in writing them are ignored. */
#pragma once

#include "task/run_folder.h"

/* ---- The process of a note ---- */

typedef enum {
    ACR_LIVE_NONE,      /* there is no process, or the note is damaged */
    ACR_LIVE_RUNS,      /* the process runs */
    ACR_LIVE_ELSEWHERE, /* the process is on another machine, so its state is unknown */
    ACR_LIVE_GONE,      /* the process ended without removing its note */
} AcrLiveState;
typedef struct {
    AcrLiveState state;
    gint64 pid, begun_ms; /* milliseconds since 1970 */
    char host[128];       /* the machine's name, UTF-8 */
} AcrLiveProcess;
/* Describes this process for its note: {"pid", "start", "boot", "host", "begun_ms"}; owned. */
AcrJson *acr_live_process_to_json(gint64 begun_ms) ACR_MUST_USE;
void acr_live_process_from_json(const AcrJson *json, AcrLiveProcess *out);

/* ---- Notes ---- */

/* Replaces the note `name` (a relative path) inside the folder `top`. The parent folders of the
 * note must exist. */
void acr_live_write(const char *top, const char *name, const AcrJson *note);
/* Reads a JSON file inside `top`, never through a link; owned; NULL if missing or damaged. */
AcrJson *acr_live_read(const char *top, const char *name) ACR_MUST_USE;

/* ---- A run ---- */

/* A consumer of progress events that writes a note into a folder. */
typedef struct {
    AcrProgress progress;
    /* owned; the note is the file `name` inside `top`; NULL: no note is written */
    char *top, *name;
    bool stays; /* the note is kept even after the work has ended properly */
    gint64 begun_ms;
    AcrDoing doing;
} AcrLiveNote;
/* Initialises a note. `next` (may be NULL) also gets all events. */
void acr_live_note_init(AcrLiveNote *note, const AcrProgress *next);
/* Starts writing notes inside `top`, whose lock the caller holds. */
void acr_live_note_begin(AcrLiveNote *note, const char *top, const char *name);
/* Removes the note, unless `stays` is set. Call after the work has ended properly. */
void acr_live_note_clear(AcrLiveNote *note);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLiveNote, acr_live_note_clear)

/* The note that a run left, because it still works or did not end properly. */
typedef struct {
    AcrLiveProcess process; /* `state` is NONE if there is no note */
    AcrDoing doing;
} AcrLiveRun;
/* Reads the note of the run folder `name` inside `top` (NULL: of `top` itself). The caller clears
 * `doing`. */
void acr_live_run_read(const char *top, const char *name, AcrLiveRun *out);
