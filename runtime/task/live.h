/*
 * live: what a process is doing, for those who look on from outside (`watch`): notes that it replaces as it
 * goes on. Nothing depends on them, so one that cannot be written is left out.
 */
#ifndef ACR_LIVE_H
#define ACR_LIVE_H

#include "task/run_folder.h"

/* ---- Whose it is ---- */

typedef enum {
    ACR_LIVE_NONE,      /* nobody's, or the note is damaged */
    ACR_LIVE_RUNS,      /* the process is there */
    ACR_LIVE_ELSEWHERE, /* on another machine: whether it is there is not known */
    ACR_LIVE_GONE,      /* it ended without having said so */
} AcrLiveState;
typedef struct {
    AcrLiveState state;
    gint64 pid, begun_ms; /* since 1970 */
    char host[128];       /* the machine's name, UTF-8 */
} AcrLiveProcess;
/* Of this process, in a note: {"pid", "start", "boot", "host", "begun_ms"}; owned. */
AcrJson *acr_live_process_to_json(gint64 begun_ms) ACR_MUST_USE;
void acr_live_process_from_json(const AcrJson *json, AcrLiveProcess *out);

/* ---- Notes ---- */

/* Replaces the note `name` (a relative path) below the folder `top`, whose folders are there. */
void acr_live_write(const char *top, const char *name, const AcrJson *note);
/* A file of JSON below `top`, never through a link; owned; NULL: there is none, or it is damaged. */
AcrJson *acr_live_read(const char *top, const char *name) ACR_MUST_USE;

/* ---- A run ---- */

/* A consumer of progress, which notes it in a folder. */
typedef struct {
    AcrProgress progress;
    char *top, *name; /* owned; the note is `name` below `top`; NULL: nothing is noted */
    bool stays;       /* the note, after the work has ended in order */
    gint64 begun_ms;
    AcrDoing doing;
} AcrLiveNote;
/* `next` (may be NULL) gets all events, too. */
void acr_live_note_init(AcrLiveNote *note, const AcrProgress *next);
/* From now on progress is noted below `top`, whose lock is held. */
void acr_live_note_begin(AcrLiveNote *note, const char *top, const char *name);
/* Removes the note, unless it stays: the work has ended in order. */
void acr_live_note_clear(AcrLiveNote *note);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLiveNote, acr_live_note_clear)

/* What is noted of a run that has not ended in order. */
typedef struct {
    AcrLiveProcess process; /* state NONE: there is no note */
    AcrDoing doing;
} AcrLiveRun;
/* Of the run folder `name` below `top` (NULL: `top` itself). Clear its `doing`. */
void acr_live_run_read(const char *top, const char *name, AcrLiveRun *out);

#endif
