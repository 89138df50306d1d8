/*
 * An answer in the making: hits, how they are shown, and the searches in text that add them.
 */
#ifndef ACR_SEARCH_REPLY_PRIVATE_H
#define ACR_SEARCH_REPLY_PRIVATE_H

#include "search/search_private.h"

#define ACR_SEARCH_MAX_HITS 200000u /* counted by one call; the count then says "at least" */
#define ACR_SEARCH_MAX_LINE 2000u   /* bytes shown of one line */
#define ACR_SEARCH_CONTEXT_LINES 3u /* lines shown each way around a text hit */
#define ACR_SEARCH_MAX_BLOCK 40u    /* lines of neighbouring text hits shown as one */
#define ACR_SEARCH_LISTED_METHODS                                                                  \
    20u /* collapsed places named one by one; more become counts per file */
#define ACR_SEARCH_LISTED_FILES 200u /* collapsed files named with their counts */

/* ---- Replies ---- */

typedef enum {
    ACR_VIEW_WHOLE,      /* lines start..end */
    ACR_VIEW_AROUND,     /* the same with ACR_SEARCH_CONTEXT_LINES more each way */
    ACR_VIEW_SIGNATURES, /* of the class `symbol` */
} AcrView;

#define ACR_HIT_COUNT_ONLY G_MAXUINT32

typedef struct {
    gsize entry;
    guint32 rank; /* lower is shown first */
    guint32 start, end;
    gint32 symbol; /* -1: none */
    guint32 count; /* matches that this place holds; start ACR_HIT_COUNT_ONLY: a file's matches
                      beyond those kept */
    AcrView view;
    const char *klass, *func; /* borrowed from the index or the reply; may be NULL */
} AcrHit;

typedef struct {
    AcrSearch *search;
    GArray *hits;          /* of AcrHit */
    GString *notes;        /* lines that come before the results */
    GString *tail;         /* text that comes after them */
    GStringChunk *strings; /* what hits point into */
    bool overfull;         /* there are more hits than were counted */
} AcrReply;
void acr_reply_init(AcrReply *reply, AcrSearch *search);
void acr_reply_clear(AcrReply *reply);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrReply, acr_reply_clear)
void acr_reply_note(AcrReply *reply, const char *format, ...)
    G_GNUC_PRINTF(2, 3);                                /* adds one line */
bool acr_reply_add(AcrReply *reply, const AcrHit *hit); /* false when it is full */
/* Adds to `out` the heading and the lines of a hit, within `budget` bytes. Errors: FAILED. */
bool acr_reply_show(const AcrReply *reply, const AcrHit *hit, gsize budget, GString *out,
                    GError **error) ACR_MUST_USE;
void acr_reply_sort(AcrReply *reply); /* hits by (rank, entry, line), each once */
void acr_reply_add_symbol(AcrReply *reply, guint32 id, AcrView view, guint32 rank);
void acr_reply_add_symbols(AcrReply *reply, const GArray *ids, AcrView view);

typedef enum {
    ACR_COLLAPSE_FILES,   /* path and count */
    ACR_COLLAPSE_METHODS, /* path, class, function and line; counts per file when there are many */
} AcrCollapse;
/* Sorts, shows and lists the hits. `thing` is what was found, e.g. "class named Foo", "classes
 * named Foo". */
bool acr_reply_finish(AcrReply *reply, const char *one, const char *many, AcrCollapse collapse,
                      AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Gives `text` (taken) as a miss, notes first. */
void acr_reply_miss(AcrReply *reply, char *text, AcrAnswer *out);

/* `<file>…</file>` and, where there are any, ` <class>…</class> <func>…</func>` after `separator`.
 */
void acr_render_heading(GString *out, const char *path, const char *klass, const char *func,
                        const char *separator);
/* The lines (of guint32) with their numbers, at most `budget` bytes, shortened in the middle;
 * without `path` as they are, without numbers. */
void acr_render_lines(GString *out, AcrContent *content, const GArray *lines, gsize budget,
                      const char *path);
/* Whether the lines without numbers need no shortening. */
bool acr_render_fits(AcrContent *content, const GArray *lines, gsize budget);
/* Line numbers of a class's signatures: header, decorators and headers of methods, assignments;
 * owned. */
GArray *acr_render_signature_lines(const AcrIndex *index, guint32 class_id) ACR_MUST_USE;

/* ---- Text search ---- */

/* Sets class and function to those around a line. */
void acr_hit_set_names(const AcrReply *reply, AcrHit *hit, guint32 line);

/* Adds the lines first..last with their context, to the hit before it where they touch; past
 * ACR_SEARCH_MAX_PLACES hits only counts. False when the reply is full. */
bool acr_text_add_lines(AcrReply *reply, gsize entry, AcrContent *content, guint32 first,
                        guint32 last);
/* Start of the line after the one that holds `at`; `end` when there is none. */
const char *acr_text_next_line(const AcrContent *content, const char *at, const char *end);

/* A line number that follows a scan forward. Zero-initialise, but for line = 1. */
typedef struct {
    gsize off;
    guint32 line; /* that holds byte `off` */
} AcrLineCursor;
void acr_line_cursor_move(AcrLineCursor *cursor, const AcrContent *content, gsize off);

/* As acr_text_add_lines for bytes off..off+len (len > 0); the cursor moves to `off`. */
bool acr_text_add_match(AcrReply *reply, gsize entry, const AcrContent *content,
                        AcrLineCursor *cursor, gsize off, gsize len);

/* Adds the lines in which `text` begins, taken as it is. */
void acr_text_find(AcrReply *reply, gsize entry, AcrContent *content, const char *text);

/* A text whose indentation and line ends may differ. All owned. */
typedef struct {
    char *plain;  /* without blanks at both ends of lines */
    char *anchor; /* the longest line of it, which every match holds */
    guint32 n_lines;
} AcrLooseText;
/* False where nothing but the text itself can match: it has one line without blanks around it. */
bool acr_loose_text_init(AcrLooseText *loose, const char *text);
void acr_loose_text_clear(AcrLooseText *loose);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLooseText, acr_loose_text_clear)
/* As acr_text_find. */
void acr_text_find_loose(AcrReply *reply, gsize entry, AcrContent *content,
                         const AcrLooseText *loose);

#define ACR_PATTERN_MAX_BYTES 4096u
#define ACR_PATTERN_FILE_STEPS 10000000u /* items of a pattern tried in one file */
#define ACR_PATTERN_STEPS 200000000u     /* in one search: a second or two */
/* The pattern of an argument "re:…", borrowed from it; NULL where it is plain text. */
const char *acr_pattern_of(const char *argument);
/*
 * Adds the lines in which a match begins, and notes about what was left out. *out_why (owned) is
 * set to what is wrong with the pattern, if anything. Errors: FAILED (an object is missing).
 */
bool acr_pattern_find(AcrReply *reply, const char *text, const GArray *entries, char **out_why,
                      GError **error) ACR_MUST_USE;

/* Adds the lines of a class that assign `self.name`; a note says what they are. */
bool acr_text_find_attribute(AcrReply *reply, guint32 class_id, const char *name,
                             GError **error) ACR_MUST_USE;

/* ---- Definitions by text ---- */

/*
 * Definitions read from the text of a file that has no symbols (tests, files that cannot be
 * parsed), in those of the files: `class name` or `def name` and the more deeply indented lines
 * after it.
 */
bool acr_find_text_defs_in(AcrReply *reply, const AcrFileMatch *files, const char *name,
                           GError **error) ACR_MUST_USE;
/* The same in every non-test file that could not be parsed. */
bool acr_find_text_defs_unparsed(AcrReply *reply, const char *name, GError **error) ACR_MUST_USE;

#endif
