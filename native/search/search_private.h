/* Shared by the files of this library: file contents, normalised arguments, finding symbols.
 * reply_private.h has the parts of an answer, calls_private.h the helpers of calls.
 *
 * Snapshot entries and symbol ids are numbered in the order of (path, line), so sorting by number
 * sorts by path. */
#pragma once

#include "search/search.h"

/* maximum size of decoded text in memory, in bytes; more text is read again each time */
#define ACR_SEARCH_KEPT_BYTES (512u * 1024 * 1024)
/* maximum number of bytes of tests and other files that are read to count occurrences */
#define ACR_SEARCH_OTHER_BYTES (32u * 1024 * 1024)
#define ACR_SEARCH_OTHER_FILES 20000u  /* maximum number of these files */
#define ACR_SEARCH_OTHERS_AT_ONCE 512u /* number of files read between two checks of these limits */
/* maximum number of classes of one name whose members are searched */
#define ACR_SEARCH_MAX_OWNERS 200u
/* maximum number of bytes of a name that is compared for similarity or quoted */
#define ACR_SEARCH_MAX_NAME 200u

/* ---- Literal text ---- */

/* A literal string that one thread searches for in many files. */
typedef struct AcrNeedle AcrNeedle;
AcrNeedle *acr_needle_new(const char *text) ACR_MUST_USE; /* owned */
void acr_needle_free(AcrNeedle *needle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrNeedle, acr_needle_free)
gsize acr_needle_len(const AcrNeedle *needle); /* in bytes */
/* The first occurrence in at..end, or NULL. */
const char *acr_needle_find(const AcrNeedle *needle, const char *at, const char *end);

/* ---- Contents ---- */

typedef struct {
    /* if the file's bytes are the text, only the members text and len are set, and text is
     * borrowed from `bytes` */
    AcrText text;
    GBytes *bytes;  /* NULL if `text` was decoded; `text` is then owned */
    GArray *starts; /* array of gsize from acr_text_lines; NULL until lines are needed */
    bool has_cr;    /* false if every line ends in LF */
} AcrContent;

/* A test or a file of another type, with its raw bytes, in which occurrences are counted. */
typedef struct {
    gsize entry;
    GBytes *bytes;
} AcrOther;

struct AcrSearch {
    AcrIndex *index;       /* shared */
    AcrSnapshot *snapshot; /* borrowed from the index */
    /* owned; number of the file in the index for each snapshot entry; -1 if not indexed */
    gint32 *file_of_entry;
    AcrContent **contents;        /* owned; contents of each snapshot entry; NULL if not read yet */
    gsize kept_bytes, kept_limit; /* the limit is ACR_SEARCH_KEPT_BYTES, but smaller in tests */
    AcrContent *spare;            /* the last content that was too large to keep */
    /* owned array of AcrOther; NULL until a call without hits needs it */
    GPtrArray *others;
    bool others_partial;    /* a limit was exceeded, so `others` is not used */
    GPtrArray *others_with; /* owned; the elements of `others` that contain `others_text` */
    /* owned; the string of the last call of acr_search_others; NULL if there was none */
    char *others_text;
    AcrSearchMode mode;
};

/* Sets *out to the text of a snapshot entry, borrowed until the next call of this function; NULL
 * if the file cannot be shown as text (symlink, too big, unreadable). Errors: FAILED (an object
 * is missing; *out is NULL). */
bool acr_search_content(AcrSearch *search, gsize entry, AcrContent **out,
                        GError **error) ACR_MUST_USE;
/* Entries of the indexed files that may contain a text (`whole`: as whole words), in order; owned
 * array of gsize. Reads contents that are not in memory in parallel. */
GArray *acr_search_load(AcrSearch *search, const char *text, bool whole) ACR_MUST_USE;
/* Whether the entry is a Python test, which the index does not contain. */
bool acr_search_is_test(const AcrSearch *search, gsize entry);
/* The tests and files of other types that contain the text ("" selects all), as an array of
 * AcrOther in order; borrowed until the next call. Reads these files once; NULL if they exceed
 * ACR_SEARCH_OTHER_BYTES or ACR_SEARCH_OTHER_FILES. */
const GPtrArray *acr_search_others(AcrSearch *search, const char *text);
/* Decodes the text of a file. If the bytes already are the text, keeps a reference to them.
 * Owned. */
AcrContent *acr_content_new(GBytes *bytes) ACR_MUST_USE;
void acr_content_free(AcrContent *content);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrContent, acr_content_free)
guint32 acr_content_n_lines(AcrContent *content);
/* The text of line `line` without its line end, borrowed from the content. The line must exist. */
const char *acr_content_line(AcrContent *content, guint32 line, gsize *out_len);

const char *acr_search_path(const AcrSearch *search, gsize entry); /* borrowed */
/* The snapshot entry of a symbol's file. */
gsize acr_search_entry_of(const AcrSearch *search, guint32 symbol);

/* ---- Arguments ---- */

/* A name as a model writes it, normalised: "`def Foo.bar(self):`" has text "Foo.bar", last
 * "bar", qualifier "Foo". All members are owned. */
typedef struct {
    char *text;
    char *last;
    char *qualifier; /* NULL: not dotted */
    /* false if the argument is not a dotted name; `text` and `last` are then the trimmed
     * argument */
    bool is_name;
    bool is_whole; /* set by a caller: a qualifier that matches nothing is not dropped */
} AcrNameArg;
void acr_name_arg_init(AcrNameArg *arg, const char *argument);
void acr_name_arg_clear(AcrNameArg *arg);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrNameArg, acr_name_arg_clear)

/* The argument without surrounding blanks and quotes; owned. */
char *acr_search_trim(const char *argument) ACR_MUST_USE;
/* The text for use in a sentence: shortened, with control characters and line ends as spaces, valid
 * UTF-8; owned. */
char *acr_search_shown(const char *text) ACR_MUST_USE;

/* The files that an argument names, as snapshot entries, beginning with the best match. */
typedef struct {
    GArray *entries; /* owned array of gsize; empty if no file matches */
    GHashTable *set; /* owned; the entries as a set */
    /* owned; a remark for the reader that says how the argument matched, or NULL */
    char *note;
} AcrFileMatch;
void acr_file_match_init(AcrFileMatch *match, AcrSearch *search, const char *argument);
void acr_file_match_clear(AcrFileMatch *match);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrFileMatch, acr_file_match_clear)
bool acr_file_match_has(const AcrFileMatch *match, gsize entry);
/* Whether the path is that of module `dotted`, or of a module whose name ends in it. */
bool acr_search_is_module(const char *path, const char *dotted);

/* ---- Finders (owned arrays of guint32 symbol ids, sorted, unique) ---- */

/* A kind of symbol as a bit, for sets of kinds. */
#define ACR_KIND(kind) (1u << (kind))
#define ACR_FUNCTIONS (ACR_KIND(ACR_SYMBOL_FUNCTION) | ACR_KIND(ACR_SYMBOL_METHOD))
#define ACR_DEFINITIONS (ACR_KIND(ACR_SYMBOL_CLASS) | ACR_FUNCTIONS)
/* Symbols of those kinds with that bare name. The second function ignores case. */
GArray *acr_find_named(const AcrIndex *index, guint kinds, const char *name) ACR_MUST_USE;
GArray *acr_find_named_folded(const AcrIndex *index, guint kinds, const char *name) ACR_MUST_USE;
/* Classes, functions and methods of that name; if there are none, assigned names. */
GArray *acr_find_definitions(const AcrIndex *index, const char *word) ACR_MUST_USE;
/* Classes that the argument names. A qualifier that matches no class is ignored, and a note says
 * so (`notes` may be NULL). */
GArray *acr_find_classes(const AcrIndex *index, const AcrNameArg *arg, GString *notes) ACR_MUST_USE;
/* Functions and methods that the argument names; Class.method also finds inherited methods.
 * Qualifier and notes are as in acr_find_classes. */
GArray *acr_find_defs(const AcrIndex *index, const AcrNameArg *arg, GString *notes) ACR_MUST_USE;
/* A class's own members called `name`: methods, nested classes and assignments. If an assignment
 * makes the name an alias of a method, that method is included. If the class has none, the
 * members of the nearest ancestor that has some. *out_owner is the class that has them. */
GArray *acr_find_members(const AcrIndex *index, guint32 class_id, const char *name,
                         guint32 *out_owner) ACR_MUST_USE;
/* Keeps only the first ACR_SEARCH_MAX_OWNERS classes of the list; if there are more, a note says
 * so (`notes` may be NULL). */
void acr_find_keep_owners(GArray *classes, const char *name, GString *notes);
GArray *acr_find_in_files(const AcrSearch *search, const GArray *ids,
                          const AcrFileMatch *files) ACR_MUST_USE;
void acr_find_unique(GArray *ids);
