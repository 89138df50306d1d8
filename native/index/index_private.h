/*
 * Shared inside the library. A builder collects symbols file by file; freezing it makes the
 * immutable index.
 */
#ifndef ACR_INDEX_PRIVATE_H
#define ACR_INDEX_PRIVATE_H

#include <pthread.h>

#include "index/index.h"

#define ACR_INDEX_MAX_BASES 1000u      /* bases of one class */
#define ACR_INDEX_MAX_DEPTH 200u       /* definitions within each other */
#define ACR_INDEX_MAX_FIELD (1u << 20) /* bytes of one field of a row */

/*
 * Symbols of one kind, sorted by (name, id), and where each distinct name begins among them. Made
 * when first needed, for a kind that was asked for more than a few times: most are not.
 */
#define ACR_INDEX_MAX_SCANS 8u
typedef struct {
    bool made;                          /* read and set atomically; the rest is written before */
    GArray *scans[ACR_INDEX_MAX_SCANS]; /* ids that lookups found before it was made */
    guint n_scans;
    guint32 *ids; /* n_ids of them: a part of the index's by_kind */
    guint32 n_ids;
    const char **names; /* n_names of them, sorted, distinct */
    guint32 *starts; /* n_names + 1: ids of names[i] are ids[starts[i]] … ids[starts[i + 1] - 1] */
    gsize n_names;
} AcrNameTable;

/* Files by the last part of their module name: for x/a.py `a`, for x/a/__init__.py `a`. */
typedef struct {
    const char *stem;
    gsize stem_len;
    guint32 file;
} AcrStem;

struct AcrIndex {
    gint refs;
    AcrSnapshot *snapshot;
    GPtrArray *texts;      /* owned; rows, cut into the strings of symbols */
    GStringChunk *strings; /* other text of files */
    GArray *symbols;       /* AcrSymbol; parent < id always; `first` never falls within a file */
    GPtrArray *bases; /* const char *: the NULL-terminated lists that AcrSymbol.bases point into */
    GArray *files;    /* AcrIndexFile, sorted by path */
    GArray *stems;    /* AcrStem, sorted by (stem, file) */
    guint32 *by_kind; /* ids of all symbols, those of a kind together */
    AcrNameTable tables[ACR_SYMBOL_KINDS]; /* by acr_index_table */
    pthread_mutex_t making;                /* one thread makes a table */
    AcrIndexStats stats;
};

/* An empty index that files may be added to; owned (acr_index_unref). */
AcrIndex *acr_index_new_empty(AcrSnapshot *snapshot) ACR_MUST_USE;
/*
 * Decodes the rows (taken) of file number `file` and appends its symbols. `*out_unparsed`: the
 * message of an X row, kept by the index, else NULL. Errors: MALFORMED; the index is then as it was
 * (but for unused text).
 */
bool acr_index_add_rows(AcrIndex *index, guint32 file, char *rows, gsize len,
                        const char **out_unparsed, GError **error) ACR_MUST_USE;
/* The words of a file's bytes, to be put behind its rows; owned. */
GByteArray *acr_index_words_of(GBytes *source) ACR_MUST_USE;
/* Finds the words behind the rows, and keeps where they are in `file`; the length of the rows alone. */
gsize acr_index_words_split(const char *rows, gsize len, AcrIndexFile *file);
/* No rows may be added afterwards. */
void acr_index_freeze(AcrIndex *index);
/* As acr_index_lookup without a table, by going through all symbols of the kind; false: there is a table,
 * or it is time for one. */
bool acr_index_scan(const AcrIndex *index, AcrSymbolKind kind, const char *name,
                    const guint32 **out_ids, gsize *out_n) ACR_MUST_USE;
/* The table of a frozen index; borrowed. */
const AcrNameTable *acr_index_table(const AcrIndex *index, AcrSymbolKind kind);

/* The symbols of one kind and name that lie in one file, as a part of what acr_index_lookup gives.
 */
const guint32 *acr_index_lookup_in_file(const AcrIndex *index, AcrSymbolKind kind, const char *name,
                                        gsize file, gsize *out_n);
/*
 * Files that a module name as written in file `from` (-1: nowhere in particular) may mean: relative
 * ones by folder, others by the parts of the path, from a folder that is not a package itself. Appends
 * to `out` (guint32).
 */
void acr_index_module_files(const AcrIndex *index, gssize from, const char *module, GArray *out);

/* How a name was resolved. */
typedef enum {
    ACR_RESOLVED,
    ACR_RESOLVE_OUTSIDE, /* imported from a module that the repository does not have */
    ACR_RESOLVE_UNKNOWN,
} AcrResolution;
#define ACR_RESOLVE_MAX_STEPS 20000 /* of all walks for one name */
/* Classes that `dotted` means at module level of `file`; appended to `out` (guint32) where they are
 * not there yet. What the walk took is subtracted from `*steps`; none is left: nothing is found. */
AcrResolution acr_index_resolve_in_file(const AcrIndex *index, gsize file, const char *dotted,
                                        int *steps, GArray *out);
/* The same where class `class_id` names its bases: its scopes first, never itself. */
AcrResolution acr_index_resolve_base(const AcrIndex *index, guint32 class_id, const char *dotted,
                                     GArray *out);
/* Appends an id unless it is there, or the list is full. */
void acr_index_add_unique(GArray *ids, guint32 id);

#endif
