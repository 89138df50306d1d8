/* journal: an append-only record of everything that a run gets from outside (model answers, sandbox
 * output, ceilings). The file has one JSON object a line, which is fsynced before the run uses it.
 * Resume, replay and branching read the journal.
 *
 * A record is {"n": 0-based number, "event": kind, "request": …, "answer": …, "time": …}. "request"
 * is the question of the run, "answer" its result. Comparisons ignore members named "time", at any
 * depth. */
#pragma once

#include "base/base.h"

typedef enum {
    ACR_JOURNAL_ERROR_FAILED,
    /* the request differs from the recorded request; the message shows both */
    ACR_JOURNAL_ERROR_DIVERGED,
    ACR_JOURNAL_ERROR_ENDED,   /* a read-only journal has no further record */
    ACR_JOURNAL_ERROR_DAMAGED, /* a record before the last record cannot be read */
    ACR_JOURNAL_ERROR_NO_SPACE,
} AcrJournalError;
#define ACR_JOURNAL_ERROR acr_journal_error_quark()
GQuark acr_journal_error_quark(void);

#define ACR_JOURNAL_MAX_RECORD (128u * 1024 * 1024) /* maximum length of a line in bytes */
#define ACR_JOURNAL_MAX_BYTES (8ull * 1024 * 1024 * 1024)

typedef enum {
    /* a missing file is created; the journal first answers from the recorded events, then appends
     * new events */
    ACR_JOURNAL_APPEND,
    /* for a replay: the journal writes nothing, and fails with ENDED after the last record */
    ACR_JOURNAL_READ,
} AcrJournalMode;

typedef struct AcrJournal AcrJournal;

/* Opens a journal. Drops a torn or damaged last record (in APPEND mode by truncating the file);
 * acr_journal_remark then reports the loss. Owned. Errors: DAMAGED, FAILED. Only one thread at a
 * time may use a journal. */
AcrJournal *acr_journal_open(const char *path, AcrJournalMode mode, GError **error) ACR_MUST_USE;
void acr_journal_free(AcrJournal *journal);
/* acr_journal_remark returns a one-line message for the user, borrowed, or NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrJournal, acr_journal_free)
const char *acr_journal_remark(const AcrJournal *journal);

/* Returns the number of recorded events that have not been answered yet. */
guint acr_journal_left(const AcrJournal *journal);
bool acr_journal_is_live(const AcrJournal *journal); /* whether none is left */

/* Looks up the next event. If the journal has a further record, its event and request must equal
 * `event` and `request`, and *out_answer is set to its answer (borrowed until the journal is
 * freed). If there is no further record, *out_answer is NULL, and the caller must make the event
 * happen and append its record. Errors: DIVERGED; ENDED (READ mode). */
bool acr_journal_ask(AcrJournal *journal, const char *event, const AcrJson *request,
                     const AcrJson **out_answer, GError **error) ACR_MUST_USE;

/* Appends the record of an event that has just happened, and fsyncs the file. `request` and
 * `answer` are borrowed; `time` holds durations and dates, and is stored under "time" (taken, may
 * be NULL). Errors: NO_SPACE, FAILED; after an error the file does not contain the record. */
bool acr_journal_append(AcrJournal *journal, const char *event, const AcrJson *request,
                        const AcrJson *answer, AcrJson *time, GError **error) ACR_MUST_USE;

/* ---- Recorded calls ---- */

/* The functions for one kind of external event, as a const table. `call` points to a struct with
 * the request and the objects that make the event happen (a model, a sandbox). */
typedef struct {
    const char *event; /* the event's name in the journal */
    /* Returns the request as it is recorded, owned; NULL with an error. The member may be NULL if
     * the event has no request. */
    AcrJson *(*encode)(void *call, GError **error);
    /* Makes the event happen; returns the answer as it is recorded, owned; NULL with an error. May
     * add members to `time`; "wall_ms" is measured unless `live` sets it. */
    AcrJson *(*live)(void *call, AcrJson *time, GError **error);
    /* Whether the failure of `live` ends the run. A failure that ends the run is not recorded, so
     * that a resume tries again; the function may reword its message. Other failures are recorded
     * as the answer {"error": message}. If NULL, every failure ends the run. */
    bool (*is_fatal)(void *call, GError **failure);
    /* Reads a live or recorded answer into *out. If `decode` is NULL, *out is an AcrJson *, owned;
     * `out_size` and `clear` are then 0 and NULL. */
    bool (*decode)(void *call, const AcrJson *answer, void *out, GError **error);
    /* For acr_recorded_once: the size of *out, and the function that frees its members. */
    gsize out_size;
    GDestroyNotify clear;
} AcrJournalPort;

/* Gets the event's answer from the journal, or makes the event happen and appends it. If `journal`
 * is NULL, nothing is recorded. Errors: errors of the journal and of `decode`, and fatal errors of
 * `live`. */
bool acr_recorded_call(AcrJournal *journal, const AcrJournalPort *port, void *call, void *out,
                       GError **error) ACR_MUST_USE;
/* Gets the event's answer like acr_recorded_call, but makes the event happen only once for equal
 * requests: later calls get the first answer. Failures are not kept. Returns the answer, borrowed
 * until the journal is freed; NULL with an error. */
const void *acr_recorded_once(AcrJournal *journal, const AcrJournalPort *port, void *call,
                              GError **error) ACR_MUST_USE;
