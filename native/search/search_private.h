/* Shared by the files of this library: file contents, normalised arguments, and functions that find
 * symbols. reply_private.h declares the parts of an answer, calls_private.h the helper functions of
 * calls.
 *
 * Snapshot entries and symbol ids are numbered in the order of (path, line), so sorting by number
 * sorts by path. */
#pragma once

#include "search/search.h"

/* maximum size in bytes of the decoded text that is kept in memory; further texts are read again
 * each time */
#define ACR_SEARCH_KEPT_BYTES (512u * 1024 * 1024)
/* maximum number of bytes of tests and files of other types that are read to count occurrences */
#define ACR_SEARCH_OTHER_BYTES (32u * 1024 * 1024)
#define ACR_SEARCH_OTHER_FILES 20000u  /* maximum number of tests and files of other types */
#define ACR_SEARCH_OTHERS_AT_ONCE 512u /* number of files read between two checks of these limits */
/* maximum number of classes with the same name whose members are searched */
#define ACR_SEARCH_MAX_OWNERS 200u
/* maximum number of bytes of a name that are compared for similarity or quoted */
#define ACR_SEARCH_MAX_NAME ACR_NAME_MAX

/* ---- Literal text ---- */

/* A literal string that one thread searches for in many files. */
typedef struct AcrNeedle AcrNeedle;
AcrNeedle *acr_needle_new(const char *text) ACR_MUST_USE; /* owned */
void acr_needle_free(AcrNeedle *needle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrNeedle, acr_needle_free)
gsize acr_needle_len(const AcrNeedle *needle); /* in bytes */
/* Returns the first occurrence of the needle in at..end, or NULL. */
const char *acr_needle_find(const AcrNeedle *needle, const char *at, const char *end);

/* ---- Contents ---- */

typedef struct {
    /* if the file's bytes are the text, only the members `text` and `len` are set, and `text` is
     * borrowed from `bytes` */
    AcrText text;
    GBytes *bytes;  /* NULL if `text` was decoded; `text` is then owned */
    GArray *starts; /* array of gsize from acr_text_lines; NULL until lines are needed */
    bool has_cr;    /* false if every line end is LF */
    bool is_binary; /* the first bytes of the file contain NUL */
} AcrContent;

/* A test or a file of another type with its raw bytes, in which occurrences are counted. */
typedef struct {
    gsize entry;
    GBytes *bytes;
} AcrOther;

struct AcrSearch {
    AcrIndex *index;       /* shared */
    AcrSnapshot *snapshot; /* borrowed from the index */
    /* owned; number in the index of each snapshot entry's file; -1 if the file is not indexed */
    gint32 *file_of_entry;
    AcrContent **contents;        /* owned; contents of each snapshot entry; NULL if not read yet */
    gsize kept_bytes, kept_limit; /* the limit is ACR_SEARCH_KEPT_BYTES; tests set a smaller one */
    AcrContent *spare;            /* the latest content that did not fit into the limit */
    /* owned array of AcrOther; NULL until a call needs it */
    GPtrArray *others;
    bool others_partial;    /* a limit was exceeded, so `others` is not used */
    GPtrArray *others_with; /* owned; the elements of `others` that contain `others_text` */
    /* owned; the text of the last call of acr_search_others; NULL if there was none */
    char *others_text;
    AcrSearchMode mode;
};

/* Sets *out to the text of a snapshot entry, borrowed until the next call of this function, or to
 * NULL if the file cannot be shown as text (symbolic link, too large, unreadable). Errors: FAILED
 * (an object is missing; *out is NULL). */
bool acr_search_content(AcrSearch *search, gsize entry, AcrContent **out,
                        GError **error) ACR_MUST_USE;
/* Returns the entries of the indexed files that may contain `text` (with `whole`, as whole words),
 * in order; owned array of gsize. Reads contents that are not in memory in parallel. */
GArray *acr_search_load(AcrSearch *search, const char *text, bool whole) ACR_MUST_USE;
/* True if the entry is a Python test, which the index does not contain. */
bool acr_search_is_test(const AcrSearch *search, gsize entry);
/* Returns the tests and files of other types that contain `text` ("": all), as an array of AcrOther
 * in order; borrowed until the next call. The first call reads these files. NULL if they exceed
 * ACR_SEARCH_OTHER_BYTES or ACR_SEARCH_OTHER_FILES. */
const GPtrArray *acr_search_others(AcrSearch *search, const char *text);
/* Decodes the text of a file. If the bytes already are valid text, keeps a reference to the bytes
 * instead. Owned. */
AcrContent *acr_content_new(GBytes *bytes) ACR_MUST_USE;
void acr_content_free(AcrContent *content);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrContent, acr_content_free)
guint32 acr_content_n_lines(AcrContent *content);
/* Returns the text of line `line` without its line end, borrowed from the content. The line must
 * exist. */
const char *acr_content_line(AcrContent *content, guint32 line, gsize *out_len);

const char *acr_search_path(const AcrSearch *search, gsize entry); /* borrowed */
/* Returns the snapshot entry of the symbol's file. */
gsize acr_search_entry_of(const AcrSearch *search, guint32 symbol);

/* ---- Arguments ---- */

/* A name as a model writes it, normalised. For "`def Foo.bar(self):`", `text` is "Foo.bar", `last`
 * is "bar", and `qualifier` is "Foo". All members are owned. */
typedef struct {
    char *text;
    char *last;
    char *qualifier; /* NULL if the name is not dotted */
    /* false if the argument is not a dotted name; `text` and `last` are then the trimmed
     * argument */
    bool is_name;
    bool is_whole; /* set by the caller; the qualifier is not dropped if it matches nothing */
} AcrNameArg;
void acr_name_arg_init(AcrNameArg *arg, const char *argument);
void acr_name_arg_clear(AcrNameArg *arg);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrNameArg, acr_name_arg_clear)

/* Returns the argument without surrounding blanks and quotes; owned. */
char *acr_search_trim(const char *argument) ACR_MUST_USE;
/* Returns the text for use in a sentence: shortened, with control characters and line ends as
 * spaces, valid UTF-8; owned. */
char *acr_search_shown(const char *text) ACR_MUST_USE;

/* The files that a file argument names, as snapshot entries, beginning with the best match. */
typedef struct {
    GArray *entries; /* owned array of gsize; empty if no file matches */
    GHashTable *set; /* owned; the entries as a set */
    /* owned; a remark for the reader on how the argument was interpreted, or NULL */
    char *note;
} AcrFileMatch;
void acr_file_match_init(AcrFileMatch *match, AcrSearch *search, const char *argument);
/* If the argument names a package by its folder, and not by a name with dots, adds all files of the
 * folder to its __init__.py. */
void acr_file_match_widen(AcrFileMatch *match, AcrSearch *search, const char *argument);
void acr_file_match_clear(AcrFileMatch *match);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrFileMatch, acr_file_match_clear)
bool acr_file_match_has(const AcrFileMatch *match, gsize entry);
/* True if `path` is the file of the module `dotted`, or of a module whose name ends in `dotted`. */
bool acr_search_is_module(const char *path, const char *dotted);

/* ---- Functions that find symbols (they return owned arrays of guint32 ids, sorted, unique)
 * ---- */

/* Converts a kind of symbol to a bit, for sets of kinds. */
#define ACR_KIND(kind) (1u << (kind))
#define ACR_FUNCTIONS (ACR_KIND(ACR_SYMBOL_FUNCTION) | ACR_KIND(ACR_SYMBOL_METHOD))
#define ACR_DEFINITIONS (ACR_KIND(ACR_SYMBOL_CLASS) | ACR_FUNCTIONS)
/* Return the symbols of these `kinds` with the bare name `name`. The second function ignores
 * case. */
GArray *acr_find_named(const AcrIndex *index, guint kinds, const char *name) ACR_MUST_USE;
GArray *acr_find_named_folded(const AcrIndex *index, guint kinds, const char *name) ACR_MUST_USE;
/* Returns the classes, functions and methods called `word`; if there are none, assigned names. */
GArray *acr_find_definitions(const AcrIndex *index, const char *word) ACR_MUST_USE;
/* Returns the classes that the argument names. A qualifier that matches no class is ignored, with a
 * note (`notes` may be NULL). */
GArray *acr_find_classes(const AcrIndex *index, const AcrNameArg *arg, GString *notes) ACR_MUST_USE;
/* Returns the functions and methods that the argument names; Class.method also finds inherited
 * methods. Qualifier and notes are as in acr_find_classes. */
GArray *acr_find_defs(const AcrIndex *index, const AcrNameArg *arg, GString *notes) ACR_MUST_USE;
/* Returns a class's own members called `name`: methods, nested classes and assignments. If an
 * assignment makes the name an alias of a method, includes that method. If the class has no such
 * members, returns those of the nearest ancestor that has some. Sets *out_owner to the class of the
 * members. */
GArray *acr_find_members(const AcrIndex *index, guint32 class_id, const char *name,
                         guint32 *out_owner) ACR_MUST_USE;
/* Keeps only the first ACR_SEARCH_MAX_OWNERS classes of the list. Adds a note if there were more
 * (`notes` may be NULL). */
void acr_find_keep_owners(GArray *classes, const char *name, GString *notes);
GArray *acr_find_in_files(const AcrSearch *search, const GArray *ids,
                          const AcrFileMatch *files) ACR_MUST_USE;
void acr_find_unique(GArray *ids);
