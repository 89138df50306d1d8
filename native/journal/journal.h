/*
 * journal: an append-only record of what came from outside a run (model answers, sandbox output,
 * ceilings), one JSON object a line, fsynced before its effect is used. Resume, replay and
 * branching all read it again.
 *
 * A record is {"n": 0-based number, "event": kind, "request": …, "answer": …, "time": …}: what was
 * asked, and what came back. Members named "time", at any depth, are left out of comparisons.
 */
#ifndef ACR_JOURNAL_H
#define ACR_JOURNAL_H

#include "base/base.h"

typedef enum {
    ACR_JOURNAL_ERROR_FAILED,
    ACR_JOURNAL_ERROR_DIVERGED, /* the run asks for something other than is recorded: the message shows
                                   both texts */
    ACR_JOURNAL_ERROR_ENDED,    /* read-only journal: no record is left */
    ACR_JOURNAL_ERROR_DAMAGED, /* a record before the last cannot be read */
    ACR_JOURNAL_ERROR_NO_SPACE,
} AcrJournalError;
#define ACR_JOURNAL_ERROR acr_journal_error_quark()
GQuark acr_journal_error_quark(void);

#define ACR_JOURNAL_MAX_RECORD (128u * 1024 * 1024) /* bytes of one line */
#define ACR_JOURNAL_MAX_BYTES (8ull * 1024 * 1024 * 1024)

typedef enum {
    ACR_JOURNAL_APPEND, /* made if missing; recorded events are answered first, then new ones are
                           appended */
    ACR_JOURNAL_READ,   /* replay: nothing is written, ENDED after the last record */
} AcrJournalMode;

typedef struct AcrJournal AcrJournal;

/*
 * Opens a journal. A last record that is cut or damaged is dropped (in APPEND mode the file is
 * truncated there), and acr_journal_remark says so. Errors: DAMAGED, FAILED. One thread at a time.
 */
AcrJournal *acr_journal_open(const char *path, AcrJournalMode mode, GError **error) ACR_MUST_USE;
void acr_journal_free(AcrJournal *journal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrJournal, acr_journal_free)
const char *
acr_journal_remark(const AcrJournal *journal); /* borrowed; one line for the user, or NULL */

bool acr_journal_is_live(const AcrJournal *journal); /* every recorded event has been answered */

/*
 * Asks the journal first. If a record is left, its event and request must equal the given ones:
 * then *out_answer is its answer (borrowed until the journal is freed). If none is left:
 * *out_answer = NULL, the caller does the real thing and appends. Errors: DIVERGED; ENDED (READ
 * mode).
 */
bool acr_journal_ask(AcrJournal *journal, const char *event, const AcrJson *request,
                     const AcrJson **out_answer, GError **error) ACR_MUST_USE;

/*
 * Appends the record of an event that has just happened; on disk (fsync) when it returns. `request`
 * and `answer` are borrowed; `time` (taken, may be NULL) is stored under "time": durations, dates.
 * Errors: NO_SPACE, FAILED; then nothing of the record is kept.
 */
bool acr_journal_append(AcrJournal *journal, const char *event, const AcrJson *request,
                        const AcrJson *answer, AcrJson *time, GError **error) ACR_MUST_USE;

/* ---- Recorded calls ---- */

/*
 * One kind of outside event, as a const table. `call` is the kind's own struct: what is asked, and
 * what the event needs to happen (a model, a sandbox).
 */
typedef struct {
    const char *event; /* its name in the journal */
    /* The request as it is recorded, owned; NULL with an error. May be missing: nothing is asked but
     * that the event happens. */
    AcrJson *(*encode)(void *call, GError **error);
    /* Makes the event happen: the answer as it is recorded, owned; NULL with an error. It may add to
     * `time`; "wall_ms" is measured unless it sets that. */
    AcrJson *(*live)(void *call, AcrJson *time, GError **error);
    /* Whether a failure of `live` ends the run, unrecorded, so that a resume tries again; it may put
     * the failure into other words. Any other failure is the answer {"error": message}. NULL: each
     * failure ends the run. */
    bool (*is_fatal)(void *call, GError **failure);
    /* Reads an answer into *out, live or recorded: both go this way. May be missing, as the next two:
     * then *out is an AcrJson *, owned. */
    bool (*decode)(void *call, const AcrJson *answer, void *out, GError **error);
    /* For acr_recorded_once: bytes of *out, and what frees its members. */
    gsize out_size;
    GDestroyNotify clear;
} AcrJournalPort;

/* Asks the journal for the event, else makes it happen and appends it. `journal` NULL: nothing is
 * recorded. Errors: those of the journal, of `live` where fatal, of `decode`. */
bool acr_recorded_call(AcrJournal *journal, const AcrJournalPort *port, void *call, void *out,
                       GError **error) ACR_MUST_USE;
/* The same for an event that happens once for equal requests: later calls get the first answer again.
 * Borrowed until the journal is freed; NULL with an error, which is not kept. */
const void *acr_recorded_once(AcrJournal *journal, const AcrJournalPort *port, void *call,
                              GError **error) ACR_MUST_USE;

#endif
