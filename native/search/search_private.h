/*
 * What the files of this library share: contents, arguments made plain, replies being built,
 * finders.
 *
 * Order everywhere: snapshot entries and symbol ids grow with (path, line), so sorting by number
 * sorts by path.
 */
#ifndef ACR_SEARCH_PRIVATE_H
#define ACR_SEARCH_PRIVATE_H

#include "search/search.h"

#define ACR_SEARCH_KEPT_BYTES                                                                      \
    (512u * 1024 * 1024) /* decoded text kept in memory; what passes it is read again */
#define ACR_SEARCH_MAX_HITS                                                                        \
    200000u                       /* symbols counted by one call; the count then says "at least" */
#define ACR_SEARCH_MAX_LINE 2000u /* bytes shown of one line */
#define ACR_SEARCH_CONTEXT_LINES 3u /* lines shown each way around a text hit */
#define ACR_SEARCH_MAX_BLOCK 40u    /* lines of neighbouring text hits shown as one */
#define ACR_SEARCH_LISTED_METHODS                                                                  \
    20u /* collapsed places named one by one; more become counts per file */
#define ACR_SEARCH_LISTED_FILES 200u /* collapsed files named with their counts */
#define ACR_SEARCH_OTHER_BYTES                                                                     \
    (32u * 1024 * 1024) /* bytes of tests and other file types read for a miss's counts */
#define ACR_SEARCH_OTHER_FILES 20000u /* files read for that */
#define ACR_SEARCH_MISS_BYTES                                                                      \
    (24u * 1024 * 1024) /* bytes of Python files that a miss looks for uses in */
#define ACR_SEARCH_OTHERS_AT_ONCE                                                                  \
    512u /* of them read before it is seen whether the bound was passed */
#define ACR_SEARCH_SUGGESTIONS 6u
#define ACR_SEARCH_MAX_OWNERS 200u /* classes of one name whose members are looked for */
#define ACR_SEARCH_MAX_NAME 200u   /* bytes of a name that is compared for nearness or echoed */

/* ---- Contents -----------------------------------------------------------------------------------
 */

typedef struct {
    AcrText text;   /* where `bytes` are the text, only text and len are set, and borrowed */
    GBytes *bytes;  /* NULL: the text had to be decoded, and is owned */
    GArray *starts; /* of gsize, as acr_text_lines makes them; NULL until lines are asked for */
    bool has_cr;    /* else every line ends in LF */
} AcrContent;

/* A test file or one of another type: bytes as they are, only to count in. */
typedef struct {
    gsize entry;
    GBytes *bytes;
} AcrOther;

struct AcrSearch {
    AcrIndex *index;       /* shared */
    AcrSnapshot *snapshot; /* borrowed from the index */
    gint32
        *file_of_entry; /* owned; index file number by snapshot entry, -1 where it is not indexed */
    AcrContent **contents;        /* owned; by snapshot entry, NULL until read */
    gsize kept_bytes, kept_limit; /* the limit is ACR_SEARCH_KEPT_BYTES, less in tests */
    AcrContent *spare;            /* the last content read beyond it */
    bool loaded;                  /* acr_search_load was here */
    gsize n_first;                /* what acr_search_load_first found; 0: not asked yet */
    GPtrArray *calls;             /* owned; of const AcrCallSpec, borrowed: the calls added */
    char *absent;        /* owned; a text that no indexed file holds, found out by the present call,
                            or NULL */
    GPtrArray *others;   /* owned; of AcrOther, NULL until a miss needs them */
    bool others_partial; /* a bound was hit: none are there */
};

/*
 * The text of a snapshot entry in *out, borrowed until the next call for an entry; NULL where the
 * file has none that can be shown (symlink, too big, unreadable). Errors: FAILED (an object is
 * missing; *out is NULL then too).
 */
bool acr_search_content(AcrSearch *search, gsize entry, AcrContent **out,
                        GError **error) ACR_MUST_USE;
/* Reads the indexed files that are not kept yet, at once: for a search in all of them. */
void acr_search_load(AcrSearch *search);
/*
 * For what a miss looks for beyond the call's own rule, which must not take as long as a text
 * search: *out_n, the first indexed files with ACR_SEARCH_MISS_BYTES of text together, or all;
 * reads them. The same files every time. Errors: FAILED (an object is missing).
 */
bool acr_search_load_first(AcrSearch *search, gsize *out_n, GError **error) ACR_MUST_USE;
/*
 * The texts among tests and files of other types, of AcrOther in order; borrowed; read once, within
 * ACR_SEARCH_OTHER_BYTES and ACR_SEARCH_OTHER_FILES; NULL when they are more.
 */
const GPtrArray *acr_search_others(AcrSearch *search);
guint32 acr_content_n_lines(AcrContent *content);
/* Line `line` without its end; borrowed with the content; line must exist. */
const char *acr_content_line(AcrContent *content, guint32 line, gsize *out_len);
guint32 acr_content_line_at(AcrContent *content,
                            gsize off); /* number of the line that holds byte `off` */
/* The same where that is known to be `line` or a later one, as in a walk through the content. */
guint32 acr_content_line_after(AcrContent *content, guint32 line, gsize off);
void acr_content_free(AcrContent *content);

const char *acr_search_path(const AcrSearch *search, gsize entry); /* borrowed */

/* ---- Arguments ----------------------------------------------------------------------------------
 */

/* A name as a model writes it, made plain: "`def Foo.bar(self):`" is text Foo.bar, last bar,
 * qualifier Foo. All owned. */
typedef struct {
    char *text;
    char *last;
    char *qualifier; /* NULL if undotted */
    bool is_name; /* has the shape of a dotted name; else text and last are the argument, trimmed */
} AcrNameArg;
void acr_name_arg_init(AcrNameArg *arg, const char *argument);
void acr_name_arg_clear(AcrNameArg *arg);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrNameArg, acr_name_arg_clear)

/* Without surrounding blanks and quotes; owned. */
char *acr_search_trim(const char *argument) ACR_MUST_USE;
/* For a sentence: shortened, control characters and line ends as spaces, valid UTF-8; owned. */
char *acr_search_shown(const char *text) ACR_MUST_USE;

/* Files that an argument names: snapshot entries, best first. */
typedef struct {
    GArray *entries; /* owned; of gsize; empty when nothing matches */
    GHashTable *set; /* owned; the same entries */
    char *note;      /* owned; what the reader should know about the match, or NULL */
} AcrFileMatch;
void acr_file_match_init(AcrFileMatch *match, AcrSearch *search, const char *argument);
void acr_file_match_clear(AcrFileMatch *match);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrFileMatch, acr_file_match_clear)
bool acr_file_match_has(const AcrFileMatch *match, gsize entry);
/* Whether the file of that path is the module `dotted`, or its last parts. */
bool acr_search_is_module(const char *path, const char *dotted);

/* ---- Replies ------------------------------------------------------------------------------------
 */

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
void acr_reply_sort(AcrReply *reply);                   /* hits by (rank, entry, line), each once */
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
/* The lines (of guint32) with their numbers, at most `budget` bytes, shortened in the middle. */
void acr_render_lines(GString *out, AcrContent *content, const GArray *lines, gsize budget,
                      const char *path);
/* Line numbers of a class's signatures: header, decorators and headers of methods, assignments;
 * owned. */
GArray *acr_render_signature_lines(const AcrIndex *index, guint32 class_id) ACR_MUST_USE;

/* ---- Finders (owned arrays of guint32 symbol ids, sorted, unique)
 * -------------------------------- */

GArray *acr_find_by_name(const AcrIndex *index, AcrSymbolKind kind, const char *name) ACR_MUST_USE;
GArray *acr_find_by_name_folded(const AcrIndex *index, AcrSymbolKind kind,
                                const char *name) ACR_MUST_USE;
GArray *acr_find_functions(const AcrIndex *index,
                           const char *name) ACR_MUST_USE; /* functions and methods */
GArray *acr_find_functions_folded(const AcrIndex *index, const char *name) ACR_MUST_USE;
/* Classes that the argument names; a qualifier that fits none is dropped and noted (`notes` may be
 * NULL). */
GArray *acr_find_classes(const AcrIndex *index, const AcrNameArg *arg, GString *notes) ACR_MUST_USE;
/* Functions and methods that the argument names, as Class.method also inherited; as above. */
GArray *acr_find_defs(const AcrIndex *index, const AcrNameArg *arg, GString *notes) ACR_MUST_USE;
/*
 * What `name` is in a class: its methods, nested classes and assignments of that name (an
 * assignment that stands for another method brings that too), else those of the nearest ancestor
 * that has some; *out_owner says which.
 */
GArray *acr_find_members(const AcrIndex *index, guint32 class_id, const char *name,
                         guint32 *out_owner) ACR_MUST_USE;
/* Keeps the first ACR_SEARCH_MAX_OWNERS of the classes of that name; `notes` (may be NULL) says so.
 */
void acr_find_keep_owners(GArray *classes, const char *name, GString *notes);
GArray *acr_find_in_files(const AcrSearch *search, const GArray *ids,
                          const AcrFileMatch *files) ACR_MUST_USE;
void acr_find_unique(GArray *ids);

/*
 * Definitions read from the text of a file that has no symbols (tests, files that cannot be
 * parsed): `class name` or `def name` and the more deeply indented lines after it.
 */
bool acr_find_text_defs(AcrReply *reply, gsize entry, const char *name,
                        GError **error) ACR_MUST_USE;
/* The same in those of the files that have no symbols. */
bool acr_find_text_defs_in(AcrReply *reply, const AcrFileMatch *files, const char *name,
                           GError **error) ACR_MUST_USE;
/* The same in every non-test file that could not be parsed. */
bool acr_find_text_defs_unparsed(AcrReply *reply, const char *name, GError **error) ACR_MUST_USE;

/* ---- Text search --------------------------------------------------------------------------------
 */

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

/* How loosely a text was found. */
typedef enum { ACR_TEXT_NOT_FOUND, ACR_TEXT_LINE_ENDS, ACR_TEXT_INDENT } AcrTextStep;
/* A text whose blanks at line ends, or also its indentation, may differ. All owned. */
typedef struct {
    char *ends, *bare; /* without blanks at line ends; without indentation too */
    char *anchor;      /* the longest line of `bare`, which every match holds */
    const char *next;  /* the line of `bare` after it, or NULL */
    gsize next_len;
    guint32 n_lines;    /* of both */
    AcrTextStep found;  /* the strictest step at which it was found so far */
    GString *plain_buf; /* a file's text without those blanks */
} AcrLooseText;
/* False where nothing but the text itself can match: it has one line without blanks around it. */
bool acr_loose_text_init(AcrLooseText *loose, const char *text);
void acr_loose_text_clear(AcrLooseText *loose);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLooseText, acr_loose_text_clear)
/* False where none of its steps can find it. */
bool acr_loose_text_may_be_in(const AcrLooseText *loose, const AcrContent *content);
/* As acr_text_find; the hits of a stricter step take the place of those of a looser one. */
void acr_text_find_loose(AcrReply *reply, gsize entry, AcrContent *content, AcrLooseText *loose);

#define ACR_PATTERN_MAX_BYTES 4096u
#define ACR_PATTERN_FILE_STEPS 10000000u /* items of a pattern tried in one file */
#define ACR_PATTERN_STEPS 200000000u     /* in one search: a second or two */
/* The pattern of an argument "re:…", borrowed from it; NULL where it is plain text. */
const char *acr_pattern_of(const char *argument);
/*
 * Adds the lines in which a match begins, and notes about what was left out. *out_why (owned) is
 * set to what is wrong with the pattern when it is none. Errors: FAILED (an object is missing).
 */
bool acr_pattern_find(AcrReply *reply, const char *text, const GArray *entries, char **out_why,
                      GError **error) ACR_MUST_USE;

/* Adds the lines of a class that assign `self.name`; a note says what they are. */
bool acr_text_find_attribute(AcrReply *reply, guint32 class_id, const char *name,
                             GError **error) ACR_MUST_USE;

/* ---- Misses -------------------------------------------------------------------------------------
 */

/* Symbol kinds as a set. */
#define ACR_KIND(kind) (1u << (kind))
/* Names of those kinds nearest to `name`, nearest first, at most ACR_SEARCH_SUGGESTIONS; owned,
 * elements borrowed. */
GPtrArray *acr_suggest_names(const AcrIndex *index, guint kinds, const char *name) ACR_MUST_USE;
/* Adds "Nearest names: …" with the file of each. */
void acr_suggest_append(GString *out, const AcrIndex *index, guint kinds, const char *name);
/* Adds what a file defines. */
void acr_suggest_file_contents(GString *out, AcrSearch *search, const AcrFileMatch *files);
/* Adds what a class defines. */
void acr_suggest_class_contents(GString *out, AcrSearch *search, guint32 class_id);
/* Adds files whose names are near to the argument. */
void acr_suggest_files(GString *out, AcrSearch *search, const char *argument);
/* Adds the files that hold `text`, with counts: Python, then tests and other types. */
bool acr_suggest_occurrences(GString *out, AcrSearch *search, const char *text,
                             GError **error) ACR_MUST_USE;

/* ---- Calls --------------------------------------------------------------------------------------
 */

bool acr_answer_class(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error);
bool acr_answer_class_in_file(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                              GError **error);
bool acr_answer_method(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error);
bool acr_answer_method_in_file(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                               GError **error);
bool acr_answer_method_in_class(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                                GError **error);
bool acr_answer_code(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error);
bool acr_answer_code_in_file(AcrSearch *search, const AcrCall *call, AcrAnswer *out,
                             GError **error);
bool acr_answer_around_line(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error);

/* ---- Instead of a miss (uses.c, instead.c) ------------------------------------------------------
 */

#define ACR_SEARCH_MAX_WORDS 16u /* words of an argument that are looked at, the last ones */
#define ACR_SCOPE_COMPARED 50u   /* named files and classes that a place is compared with */

/* What a call names beside what it looks for; places there come first. Borrowed, NULL for none. */
typedef struct {
    const AcrFileMatch *files;
    const GArray *classes; /* ids */
} AcrScope;

/* 0 where the scope names nothing. */
enum { ACR_NEAR_NAMED, ACR_NEAR_FOLDER, ACR_NEAR_ELSEWHERE };
guint32 acr_nearness(const AcrSearch *search, const AcrScope *scope, gsize entry);

/* Remembers that no indexed file holds the text; whether that is known of a text, or of a part of
 * it. */
void acr_search_set_absent(AcrSearch *search, const char *text);
bool acr_search_is_absent(const AcrSearch *search, const char *text);

/* The identifiers of a text, the last one first, each once; owned. */
GPtrArray *acr_words_of(const char *text) ACR_MUST_USE;
/* Whether `word` is in the text and no letter touches its ends. */
bool acr_has_word(const char *text, gsize len, const char *word);

typedef enum { ACR_USES_PYTHON, ACR_USES_OTHERS } AcrUsesWhere;
typedef struct {
    const char *word; /* the one that was found, borrowed from the words; NULL: none */
    AcrUsesWhere where;
} AcrUsesFound;
/*
 * Adds the lines that hold the first of the words, after the hits that are there: of non-test .py
 * files and of the named ones, else of non-test files of other types; nearest first, then those
 * that hold most of the other words. Where the first is nowhere, the next, on lines that hold more
 * than half of all. Errors: FAILED (an object is missing). O(bytes of the files) for each word.
 */
bool acr_uses_add(AcrReply *reply, const GPtrArray *words, const AcrScope *scope,
                  AcrUsesFound *out_found, GError **error) ACR_MUST_USE;

/*
 * Adds what a name is where the call did not look: definitions of any kind, else its uses. Says so
 * in notes, after `missing`, a sentence on what there is not; adds no note where there is no hit.
 */
bool acr_instead_of_name(AcrReply *reply, const AcrNameArg *arg, const AcrScope *scope,
                         const char *missing, GError **error) ACR_MUST_USE;
/* The same for a text that is not in the files, or nowhere (`files` NULL); finishes the answer
 * where it adds a hit. */
bool acr_instead_of_text(AcrReply *reply, const char *text, const AcrFileMatch *files,
                         AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Puts places first that define a word of the text; adds where the last one is defined, unless that
 * is shown. */
bool acr_rank_text_hits(AcrReply *reply, const char *text, const AcrFileMatch *files,
                        GError **error) ACR_MUST_USE;
/* Adds the assignments and renaming imports of `name` that make it another name of the classes. */
void acr_add_aliases(AcrReply *reply, const char *name, const GArray *classes);

/* ---- Calls that look for a name (named.c) -------------------------------------------------------
 */

/* What such a call looks for. */
typedef struct {
    const char *noun; /* "class" */
    guint kinds;      /* ACR_KIND bits of the symbols that a miss names */
    AcrCollapse collapse;
} AcrSought;

/* acr_reply_finish with the words for that name. */
bool acr_named_finish(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                      AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Answers with what else has that name or uses it, or that nothing does. Errors of all three:
 * FAILED (an object is missing). */
bool acr_named_instead(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                       AcrAnswer *out, GError **error) ACR_MUST_USE;
/* Answers that nothing has that name, in the files that `file` names or elsewhere. */
bool acr_named_miss_in_file(AcrReply *reply, const AcrSought *sought, const AcrNameArg *arg,
                            const AcrFileMatch *files, const char *file, AcrAnswer *out,
                            GError **error) ACR_MUST_USE;
/* The nearest names, and how often the name occurs where. */
bool acr_named_append_nearest(GString *text, AcrSearch *search, const AcrSought *sought,
                              const AcrNameArg *arg, GError **error) ACR_MUST_USE;

/* How a call that names a symbol and a file looks for it. Arrays are owned by the caller. */
typedef struct {
    const AcrSought *sought;
    AcrView view;
    GArray *(*in_files)(AcrReply *reply, const AcrNameArg *arg, const AcrFileMatch *files);
} AcrSoughtInFiles;
/* Answers a call whose values are the name and the file. Errors: FAILED (an object is missing). */
bool acr_named_in_files(AcrSearch *search, const AcrCall *call, const AcrSoughtInFiles *how,
                        AcrAnswer *out, GError **error) ACR_MUST_USE;

#endif
