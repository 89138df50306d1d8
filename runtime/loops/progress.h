/* progress: one stream of events for people and for programs that watch a run. Each event is
 * reported once; consumers show it as a block on a terminal, as log lines, in --events and in
 * live.json. `watch` reads the current state (AcrDoing), which is derived from the events. To add a
 * kind of event, add its constant and members in this file and its rows in progress.c; all
 * consumers then show it. */
#pragma once

#include "base/base.h"

/* The amounts that a run has used so far, including answers from its journal. */
typedef struct {
    gint64 calls, tokens, cost_microusd; /* known amounts; -1 if unknown */
    gint64 charged_microusd;             /* the amount that counts for ceilings */
} AcrSpent;

typedef enum {
    ACR_PROGRESS_STAGE,   /* a stage begins */
    ACR_PROGRESS_WAITING, /* the run waits for a model's answer */
    ACR_PROGRESS_NOTE,    /* something happened, such as "validation accepted patch 1" */
    ACR_PROGRESS_ACTION,  /* a search call was made, or a script was run */
    ACR_PROGRESS_WARNING, /* a message that the user must not miss: work was skipped or repaired */
    ACR_PROGRESS_SPENT,   /* sent after each call of a model */
    ACR_PROGRESS_TASK,    /* a task of a batch has ended */
    ACR_PROGRESS_GRADED,  /* a prediction has been graded */
    ACR_PROGRESS_RESULT,  /* the last event of a run */
    ACR_PROGRESS_KINDS,
} AcrProgressKind;

/* An event; its kind determines which members are set. All members are borrowed for the call. */
typedef struct {
    AcrProgressKind kind;
    gint64 time_ms;    /* milliseconds since 1970; acr_progress_tell sets it */
    const char *stage; /* STAGE: "search", … */
    /* STAGE: number of the attempt, from 0, and of the round or try, from 1 (0: none); in "resume",
     * number of the saved steps */
    guint attempt, number;
    /* TASK: what `good` counts, "patch" or "script"; GRADED: "sound" in an audit, otherwise NULL */
    const char *made;
    /* NOTE, ACTION, WARNING, TASK, GRADED: a line of text; RESULT: the error, or NULL */
    const char *text;
    const char *action;    /* ACTION: "search", "execute" */
    const AcrJson *places; /* ACTION: the places found, a list of objects of acr_place_to_json */
    AcrSpent spent;        /* SPENT: the amounts used so far */
    gint64 tokens;         /* WAITING: number of tokens of the answer so far */
    gint64 since_ms; /* when the reported action began, in milliseconds since 1970; 0 if unknown */
    const AcrJson *result; /* RESULT: the result of the run */
    const char *task;      /* TASK, GRADED: the task that has ended; NULL when the work begins */
    bool is_bad;           /* TASK, GRADED: the task failed, so the user must see the event */
    bool
        is_long; /* NOTE: a wait of several seconds begins, which a log without a line would hide */
    bool is_logged; /* NOTE: the user sees it without -v, too */
    /* TASK, GRADED: numbers of tasks; `good` tasks have a patch or script, or are resolved */
    guint ended, total, good;
    /* TASK: forecast of time and cost for the remaining tasks; left_ms is -1 if unknown */
    gint64 left_ms, left_microusd;
    gint64 mean_ms; /* TASK: mean time from the end of a task to the next end */
} AcrProgressEvent;

/* A consumer of events; the consumer `next` receives each event afterwards. */
typedef struct AcrProgress AcrProgress;
struct AcrProgress {
    void *ctx;
    void (*take)(void *ctx, const AcrProgressEvent *event);
    const AcrProgress *next; /* NULL: none */
};
/* Passes an event, with its time, to all consumers. `progress` is NULL if there are none. */
void acr_progress_tell(const AcrProgress *progress, AcrProgressEvent event);
void acr_progress_stage(const AcrProgress *progress, guint attempt, const char *stage,
                        guint number);
void acr_progress_note(const AcrProgress *progress, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Reports an ACTION event with the member `action`; `places` is taken, and may be NULL. */
void acr_progress_action(const AcrProgress *progress, const char *action, AcrJson *places,
                         const char *format, ...) G_GNUC_PRINTF(4, 5);
void acr_progress_warn(const AcrProgress *progress, const char *line); /* NULL: reports nothing */

/* Converts an event to JSON according to runtime/schemas/events.json; owned. */
AcrJson *acr_progress_to_json(const AcrProgressEvent *event) ACR_MUST_USE;

/* Where the terminal shows an event. */
typedef enum {
    ACR_SHOWN_NOWHERE,  /* not written; shown only as a state */
    ACR_SHOWN_VERBOSE,  /* written as a line with --verbose */
    ACR_SHOWN_AS_STEP,  /* written as a line, unless a block shows it */
    ACR_SHOWN_LOGGED,   /* written as a permanent line, except with --quiet */
    ACR_SHOWN_ANYWHERE, /* always written as a permanent line */
} AcrShown;
AcrShown acr_progress_shown(const AcrProgressEvent *event);
/* Describes the event for people; owned. RESULT events have no description. */
char *acr_progress_words(const AcrProgressEvent *event) ACR_MUST_USE;

/* The current state: the last event of each kind, if it still applies. Zero-initialise. */
typedef struct {
    /* strings are owned; `time_ms` is 0 if there was no event of the kind */
    AcrProgressEvent last[ACR_PROGRESS_KINDS];
} AcrDoing;
/* Updates the state with an event. Returns whether events of its kind describe a state. */
bool acr_doing_take(AcrDoing *doing, const AcrProgressEvent *event);
void acr_doing_clear(AcrDoing *doing);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrDoing, acr_doing_clear)
bool acr_doing_has_begun(const AcrDoing *doing);        /* returns whether a stage has begun */
const AcrSpent *acr_doing_spent(const AcrDoing *doing); /* all 0 before the first event */
/* Describes the state and the time since `since_ms` (0: since the stage began): "round 2: search ·
 * 3 s"; owned; "" if there is no state. */
char *acr_doing_text(const AcrDoing *doing, gint64 since_ms) ACR_MUST_USE;
/* Write and read members of `json` for live.json. Values that are read are limited, and the strings
 * among them are untrusted. */
void acr_doing_to_json(const AcrDoing *doing, AcrJson *json);
void acr_doing_from_json(const AcrJson *json, AcrDoing *out);

/* ---- Words ---- */

#define ACR_WORDS_BETWEEN " · " /* separates the parts of a line */
#define ACR_MOST_MS (1ll << 45) /* later times (in ms since 1970) are rejected */

/* Adds the known amounts of `more` to `sum`, up to a limit. */
void acr_spent_add(AcrSpent *sum, const AcrSpent *more);
AcrJson *acr_spent_to_json(const AcrSpent *spent) ACR_MUST_USE; /* owned */
gint64 acr_now_ms(void); /* returns the time in milliseconds since 1970 */
/* Describes amounts: "5 calls, 1200 tokens, $0.0123", with `between` between the parts, and with
 * the share of each ceiling (`ceiling` may be NULL; a member <= 0 means no ceiling); owned. */
char *acr_spent_text(const AcrSpent *spent, const AcrSpent *ceiling,
                     const char *between) ACR_MUST_USE;
/* Describes a duration for people: "34 s", "2 min 5 s", "1 h 3 min"; owned. */
char *acr_time_text(gint64 ms) ACR_MUST_USE;
/* Describes a forecast: "about 5 min 0 s and $0.36 to go", or no money if unknown or 0; owned. */
char *acr_forecast_text(gint64 ms, gint64 microusd) ACR_MUST_USE;
/* Returns the forecast `left_ms`, which was made at `made_ms`, moved by the time for which the next
 * end of a task is overdue. */
gint64 acr_forecast_moved(gint64 left_ms, gint64 mean_ms, gint64 made_ms);
