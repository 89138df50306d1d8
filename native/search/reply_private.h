/* Builds an answer from hits: how hits are shown, and the text searches that add hits. */
#pragma once

#include "search/search_private.h"

/* maximum number of hits that one call counts; if there are more, the answer says "at least" */
#define ACR_SEARCH_MAX_HITS 200000u
#define ACR_SEARCH_MAX_LINE 2000u   /* maximum number of bytes shown of one line */
#define ACR_SEARCH_CONTEXT_LINES 3u /* number of lines shown before and after a text hit */
/* maximum number of lines of one place that neighbouring text hits form */
#define ACR_SEARCH_MAX_BLOCK 40u
/* maximum number of places listed one by one that are not shown in full; further places are counted
 * for each file */
#define ACR_SEARCH_LISTED_METHODS 20u
/* maximum number of files that are listed with their counts */
#define ACR_SEARCH_LISTED_FILES 200u

/* ---- Replies ---- */

typedef enum {
    ACR_VIEW_WHOLE,      /* lines start..end */
    ACR_VIEW_AROUND,     /* the lines start..end, and ACR_SEARCH_CONTEXT_LINES lines before and
                          * after them */
    ACR_VIEW_SIGNATURES, /* the signatures of the class `symbol` */
} AcrView;

#define ACR_HIT_COUNT_ONLY G_MAXUINT32

typedef struct {
    gsize entry;
    guint32 rank; /* hits with a lower rank are shown first */
    guint32 start, end;
    gint32 symbol; /* id of the symbol; -1 if there is none */
    /* number of matches in the lines; if start is ACR_HIT_COUNT_ONLY, number of further matches in
     * the file */
    guint32 count;
    AcrView view;
    const char *klass, *func; /* borrowed from the index or the reply; may be NULL */
} AcrHit;

/* A line with a match, for answers to people. */
typedef struct {
    gsize entry;
    guint32 line, column;
} AcrMatch;

typedef struct {
    AcrSearch *search;
    /* array of AcrMatch, in the order of the files; NULL if the answer is not for people */
    GArray *matches;
    GArray *hits;          /* array of AcrHit */
    GString *notes;        /* lines shown before the results */
    GString *tail;         /* text shown after the results */
    GStringChunk *strings; /* owns the strings of `hits` */
    bool overfull;         /* not all hits were counted */
} AcrReply;
void acr_reply_init(AcrReply *reply, AcrSearch *search);
void acr_reply_clear(AcrReply *reply);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrReply, acr_reply_clear)
void acr_reply_note(AcrReply *reply, const char *format, ...)
    G_GNUC_PRINTF(2, 3);                                /* adds one line to the notes */
bool acr_reply_add(AcrReply *reply, const AcrHit *hit); /* returns false if the reply is full */
/* Records the line of a match, for answers to people. The match must be in a hit that was added;
 * `column` counts from 1. */
void acr_reply_add_line(AcrReply *reply, gsize entry, guint32 line, gsize column);
/* Sets out->lines from the sorted hits, for answers to people. Errors: FAILED. (shown_lines.c) */
bool acr_reply_take_lines(const AcrReply *reply, AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Sorts the hits by (rank, entry, line), and removes repeated hits. */
void acr_reply_sort(AcrReply *reply);
void acr_reply_add_symbol(AcrReply *reply, guint32 id, AcrView view, guint32 rank);
void acr_reply_add_symbols(AcrReply *reply, const GArray *ids, AcrView view);

typedef enum {
    ACR_COLLAPSE_FILES, /* shows path and count */
    /* shows path, class, function and line; path and count if there are many hits */
    ACR_COLLAPSE_METHODS,
} AcrCollapse;
/* Sorts the hits, shows the first hits and lists the others. `one` and `many` name the results:
 * "class named Foo", "classes named Foo". Errors: FAILED. */
bool acr_reply_finish(AcrReply *reply, const char *one, const char *many, AcrCollapse collapse,
                      AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Sets the answer of a call without hits: the notes, followed by `text` (taken). */
void acr_reply_miss(AcrReply *reply, char *text, AcrAnswer *out);

/* Appends `<file>…</file>` and, after `separator`, `<class>…</class> <func>…</func>` for those of
 * `klass` and `func` that are not NULL. */
void acr_render_heading(GString *out, const char *path, const char *klass, const char *func,
                        const char *separator);
/* Appends the lines (array of guint32) with their numbers, at most `budget` bytes. If they do not
 * fit, omits lines in the middle. If `path` is NULL, writes no line numbers. */
void acr_render_lines(GString *out, AcrContent *content, const GArray *lines, gsize budget,
                      const char *path);
/* True if the lines without numbers fit completely into `budget` bytes. */
bool acr_render_fits(AcrContent *content, const GArray *lines, gsize budget);
/* Returns the line numbers of a class's signatures: its header, decorators and headers of methods,
 * and assignments; owned. */
GArray *acr_render_signature_lines(const AcrIndex *index, guint32 class_id) ACR_MUST_USE;

/* Returns the numbers of the lines that a hit shows; owned. */
GArray *acr_render_lines_of(const AcrReply *reply, const AcrHit *hit,
                            AcrContent *content) ACR_MUST_USE;
/* Appends the heading and the lines of a hit to `out`, within `budget` bytes. Errors: FAILED. */
bool acr_reply_show(const AcrReply *reply, const AcrHit *hit, gsize budget, GString *out,
                    GError **error) ACR_MUST_USE;

/* ---- Text search ---- */

/* Sets klass and func of the hit to the innermost class and function that contain the line. */
void acr_hit_set_names(const AcrReply *reply, AcrHit *hit, guint32 line);

/* Adds the lines first..last with their context, and merges them with the previous hit if the two
 * touch. After ACR_SEARCH_MAX_PLACES hits, only counts further hits. Returns false if the reply is
 * full. */
bool acr_text_add_lines(AcrReply *reply, gsize entry, AcrContent *content, guint32 first,
                        guint32 last);
/* Returns the start of the line after the line that contains `at`; `end` if there is none. */
const char *acr_text_next_line(const AcrContent *content, const char *at, const char *end);

/* Returns the position of `off` in its line, in bytes, counted from 1. */
gsize acr_text_column(const AcrContent *content, gsize off);

/* Counts line numbers during a forward scan. Zero-initialise, with line = 1. */
typedef struct {
    gsize off;
    guint32 line; /* the line that contains byte `off` */
} AcrLineCursor;
void acr_line_cursor_move(AcrLineCursor *cursor, const AcrContent *content, gsize off);

/* Adds the lines of the bytes off..off+len (len > 0) like acr_text_add_lines. Moves the cursor to
 * `off`. */
bool acr_text_add_match(AcrReply *reply, gsize entry, const AcrContent *content,
                        AcrLineCursor *cursor, gsize off, gsize len);

/* Adds the lines in which the literal text `needle` begins. */
void acr_text_find(AcrReply *reply, gsize entry, AcrContent *content, const AcrNeedle *needle);

/* A text that may match with different indentation and line ends. All members are owned. */
typedef struct {
    char *plain;  /* the text without blanks at both ends of each line, and with LF line ends */
    char *anchor; /* the longest line of `plain`, which every match contains */
    guint32 n_lines;
} AcrLooseText;
/* Prepares a loose search. Returns false if only the exact text can match, because the text is one
 * line without surrounding blanks. */
bool acr_loose_text_init(AcrLooseText *loose, const char *text);
void acr_loose_text_clear(AcrLooseText *loose);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLooseText, acr_loose_text_clear)
void acr_text_find_loose(AcrReply *reply, gsize entry, AcrContent *content,
                         const AcrLooseText *loose);

#define ACR_PATTERN_MAX_BYTES 4096u
#define ACR_PATTERN_FILE_STEPS 10000000u /* maximum number of steps of a pattern in one file */
/* maximum number of steps of one search, which take one or two seconds */
#define ACR_PATTERN_STEPS 200000000u
/* Returns the pattern in an argument "re:…", borrowed from the argument; NULL if the argument is
 * plain text. */
const char *acr_pattern_of(const char *argument);
/* Adds the lines in which a match of the pattern `text` begins, and notes about files that were not
 * searched. *out_why (owned) is the error in the pattern, or NULL. Errors: FAILED (an object is
 * missing). */
bool acr_pattern_find(AcrReply *reply, const char *text, const GArray *entries, char **out_why,
                      GError **error) ACR_MUST_USE;

/* Adds the lines of a class that assign self.NAME, and a note. */
bool acr_text_find_attribute(AcrReply *reply, guint32 class_id, const char *name,
                             GError **error) ACR_MUST_USE;

/* ---- Definitions found by text ---- */

typedef struct {
    guint32 first, last; /* the lines of the definition */
    bool is_class;
} AcrTextDef;
/* Finds the next `class NAME` or `def NAME` at or after line `from`. Returns false if there is
 * none. */
bool acr_text_next_def(AcrContent *content, const char *name, guint32 from, AcrTextDef *out);

/* Adds definitions in those of `files` that have no symbols (tests, files that cannot be parsed):
 * `class NAME` or `def NAME` with the more deeply indented lines after it. If mode.exact is set,
 * adds only definitions of these `kinds`. */
bool acr_find_text_defs_in(AcrReply *reply, const AcrFileMatch *files, guint kinds,
                           const char *name, GError **error) ACR_MUST_USE;
/* Calls the search of acr_find_text_defs_in for all non-test files that cannot be parsed (if the
 * reply has no hits) and for tests (if mode.tests is set). */
bool acr_find_text_defs_unindexed(AcrReply *reply, guint kinds, const char *name,
                                  GError **error) ACR_MUST_USE;
