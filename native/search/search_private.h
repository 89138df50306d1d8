/*
 * What the files of this library share: contents, arguments made plain, finding symbols. What an
 * answer is made of is in reply_private.h, what the calls share in calls_private.h.
 *
 * Order everywhere: snapshot entries and symbol ids grow with (path, line), so sorting by number
 * sorts by path.
 */
#ifndef ACR_SEARCH_PRIVATE_H
#define ACR_SEARCH_PRIVATE_H

#include "search/search.h"

#define ACR_SEARCH_KEPT_BYTES                                                                      \
    (512u * 1024 * 1024) /* decoded text kept in memory; what passes it is read again */
#define ACR_SEARCH_OTHER_BYTES                                                                     \
    (32u * 1024 * 1024) /* bytes of tests and other file types read for a miss's counts */
#define ACR_SEARCH_OTHER_FILES 20000u /* files read for that */
#define ACR_SEARCH_OTHERS_AT_ONCE                                                                  \
    512u                           /* of them read before it is seen whether the bound was passed */
#define ACR_SEARCH_MAX_OWNERS 200u /* classes of one name whose members are looked for */
#define ACR_SEARCH_MAX_NAME 200u   /* bytes of a name that is compared for nearness or echoed */

/* ---- Contents ---- */

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
    GPtrArray *others;            /* owned; of AcrOther, NULL until a miss needs them */
    bool others_partial;          /* a bound was hit: none are there */
    GPtrArray *others_with;       /* owned; those that hold `others_text`, asked for last */
    char *others_text;            /* owned; NULL until then */
};

/*
 * The text of a snapshot entry in *out, borrowed until the next call for an entry; NULL where the
 * file has none that can be shown (symlink, too big, unreadable). Errors: FAILED (an object is
 * missing; *out is NULL then too).
 */
bool acr_search_content(AcrSearch *search, gsize entry, AcrContent **out,
                        GError **error) ACR_MUST_USE;
/*
 * Entries of the indexed files that may hold a text, `whole`: as words of its own, in order; owned, of
 * gsize. Those that are not kept yet are read at once.
 */
GArray *acr_search_load(AcrSearch *search, const char *text, bool whole) ACR_MUST_USE;
/*
 * Those that hold the text among tests and files of other types, of AcrOther in order; borrowed until
 * the next call; read once, within ACR_SEARCH_OTHER_BYTES and ACR_SEARCH_OTHER_FILES; NULL when they
 * are more.
 */
const GPtrArray *acr_search_others(AcrSearch *search, const char *text);
guint32 acr_content_n_lines(AcrContent *content);
/* Line `line` without its end; borrowed with the content; line must exist. */
const char *acr_content_line(AcrContent *content, guint32 line, gsize *out_len);

const char *acr_search_path(const AcrSearch *search, gsize entry); /* borrowed */
/* The snapshot entry of a symbol's file. */
gsize acr_search_entry_of(const AcrSearch *search, guint32 symbol);

/* ---- Arguments ---- */

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

/* ---- Finders (owned arrays of guint32 symbol ids, sorted, unique) ---- */

/* Symbol kinds as a set. */
#define ACR_KIND(kind) (1u << (kind))
#define ACR_FUNCTIONS (ACR_KIND(ACR_SYMBOL_FUNCTION) | ACR_KIND(ACR_SYMBOL_METHOD))
#define ACR_DEFINITIONS (ACR_KIND(ACR_SYMBOL_CLASS) | ACR_FUNCTIONS)
/* Symbols of those kinds with that bare name; the second one in any case. */
GArray *acr_find_named(const AcrIndex *index, guint kinds, const char *name) ACR_MUST_USE;
GArray *acr_find_named_folded(const AcrIndex *index, guint kinds, const char *name) ACR_MUST_USE;
/* Classes, functions and methods of that name; assigned names where there is none. */
GArray *acr_find_definitions(const AcrIndex *index, const char *word) ACR_MUST_USE;
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

#endif
