/* journal: an append-only record of everything that a run gets from outside (model answers, sandbox
 * output, ceilings): one JSON object a line, fsynced before the run uses it. Resume, replay and
 * branching all read it.
 *
 * A record is {"n": 0-based number, "event": kind, "request": …, "answer": …, "time": …}: what was
 * asked, and what came back. Comparisons ignore members named "time", at any depth. */
#pragma once

#include "base/base.h"

typedef enum {
    ACR_JOURNAL_ERROR_FAILED,
    /* the request differs from the recorded one; the message shows both */
    ACR_JOURNAL_ERROR_DIVERGED,
    ACR_JOURNAL_ERROR_ENDED,   /* read-only journal: no record is left */
    ACR_JOURNAL_ERROR_DAMAGED, /* a record before the last cannot be read */
    ACR_JOURNAL_ERROR_NO_SPACE,
} AcrJournalError;
#define ACR_JOURNAL_ERROR acr_journal_error_quark()
GQuark acr_journal_error_quark(void);

#define ACR_JOURNAL_MAX_RECORD (128u * 1024 * 1024) /* longest line in bytes */
#define ACR_JOURNAL_MAX_BYTES (8ull * 1024 * 1024 * 1024)

typedef enum {
    /* a missing file is created; first answers from the recorded events, then appends new ones */
    ACR_JOURNAL_APPEND,
    ACR_JOURNAL_READ, /* for a replay: writes nothing; ENDED after the last record */
} AcrJournalMode;

typedef struct AcrJournal AcrJournal;

/* Opens a journal. Drops a torn or damaged last record (in APPEND mode by truncating the file);
 * acr_journal_remark then says so. Errors: DAMAGED, FAILED. One thread at a time. */
AcrJournal *acr_journal_open(const char *path, AcrJournalMode mode, GError **error) ACR_MUST_USE;
void acr_journal_free(AcrJournal *journal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrJournal, acr_journal_free)
const char *
acr_journal_remark(const AcrJournal *journal); /* borrowed; one line for the user, or NULL */

bool acr_journal_is_live(const AcrJournal *journal); /* all recorded events have been answered */

/* Looks in the journal for the next event. If the journal has another record, its event and request
 * must equal the given ones, and *out_answer is its answer (borrowed until the journal is freed).
 * If it has none, *out_answer is NULL, and the caller makes the event happen and appends it.
 * Errors: DIVERGED; ENDED (READ mode). */
bool acr_journal_ask(AcrJournal *journal, const char *event, const AcrJson *request,
                     const AcrJson **out_answer, GError **error) ACR_MUST_USE;

/* Appends the record of an event that has just happened, and fsyncs it. `request` and `answer` are
 * borrowed; `time` (taken, may be NULL) is stored under "time": durations, dates. Errors: NO_SPACE,
 * FAILED; the file then does not contain the record. */
bool acr_journal_append(AcrJournal *journal, const char *event, const AcrJson *request,
                        const AcrJson *answer, AcrJson *time, GError **error) ACR_MUST_USE;

/* ---- Recorded calls ---- */

/* One kind of outside event, as a const table. `call` points to a struct of that kind: the request,
 * and the means to make the event happen (a model, a sandbox). */
typedef struct {
    const char *event; /* its name in the journal */
    /* Returns the request as it is recorded, owned; NULL with an error. May be NULL: the event has
     * no request. */
    AcrJson *(*encode)(void *call, GError **error);
    /* Makes the event happen; returns the answer as it is recorded, owned; NULL with an error. It
     * may add to `time`; "wall_ms" is measured unless `live` sets it. */
    AcrJson *(*live)(void *call, AcrJson *time, GError **error);
    /* Whether the run ends after this failure of `live`, without a record, so that a resume
     * tries again. The function may reword the failure. Other failures are recorded as the
     * answer {"error": message}. NULL: every failure ends the run. */
    bool (*is_fatal)(void *call, GError **failure);
    /* Reads a live or recorded answer into *out. May be NULL, like the next two members: then *out
     * is an AcrJson *, owned. */
    bool (*decode)(void *call, const AcrJson *answer, void *out, GError **error);
    /* For acr_recorded_once: the size of *out, and the function that frees its members. */
    gsize out_size;
    GDestroyNotify clear;
} AcrJournalPort;

/* Gets the event's answer from the journal, or makes the event happen and appends it. `journal`
 * NULL: nothing is recorded. Errors: those of the journal, fatal ones of `live`, and those of
 * `decode`. */
bool acr_recorded_call(AcrJournal *journal, const AcrJournalPort *port, void *call, void *out,
                       GError **error) ACR_MUST_USE;
/* Like acr_recorded_call, but makes the event happen only once for equal requests: later calls
 * get the first answer. The answer is borrowed until the journal is freed; NULL with an error. A
 * failure is not kept. */
const void *acr_recorded_once(AcrJournal *journal, const AcrJournalPort *port, void *call,
                              GError **error) ACR_MUST_USE;
