/* Private declarations of the index. The builder adds symbols file by file, and then freezes the
 * index, which makes it immutable. */
#pragma once

#include <pthread.h>

#include "index/index.h"

#define ACR_INDEX_MAX_BASES 1000u      /* maximum number of bases of one class */
#define ACR_INDEX_MAX_DEPTH 200u       /* maximum nesting depth of definitions */
#define ACR_INDEX_MAX_FIELD (1u << 20) /* maximum size of a field of a row, in bytes */

/* Symbols of one kind, sorted by (name, id), with the position of each distinct name. The table
 * of a kind is made only after a few lookups, because most kinds are rarely looked up. */
#define ACR_INDEX_MAX_SCANS 8u
typedef struct {
    bool made; /* read and set atomically; set after all other members of the table */
    /* results of the lookups before the table was made */
    GArray *scans[ACR_INDEX_MAX_SCANS];
    guint n_scans;
    guint32 *ids; /* array of n_ids ids; a part of the index's by_kind */
    guint32 n_ids;
    const char **names; /* array of n_names names, sorted and distinct */
    /* array of n_names + 1 positions: names[i] has the ids from ids[starts[i]] to ids[starts[i +
     * 1] - 1] */
    guint32 *starts;
    gsize n_names;
} AcrNameTable;

/* A file and the last part of its module name: `a` for x/a.py and for x/a/__init__.py. */
typedef struct {
    const char *stem;
    gsize stem_len;
    guint32 file;
} AcrStem;

struct AcrIndex {
    gint refs;
    AcrSnapshot *snapshot;
    GPtrArray *texts;      /* owned; the rows, split into the strings to which symbols point */
    GStringChunk *strings; /* all other strings of files */
    /* array of AcrSymbol; the parent of a symbol has a lower id; the symbols of a file have
     * consecutive ids */
    GArray *symbols;
    /* array of const char *: the NULL-terminated lists to which AcrSymbol.bases point */
    GPtrArray *bases;
    GArray *files;                         /* array of AcrIndexFile, sorted by path */
    GArray *stems;                         /* array of AcrStem, sorted by (stem, file) */
    guint32 *by_kind;                      /* ids of all symbols, grouped by kind */
    AcrNameTable tables[ACR_SYMBOL_KINDS]; /* made by acr_index_table */
    pthread_mutex_t making;                /* locked while a table is made */
    AcrIndexStats stats;
};

/* Makes an empty index to which files can be added; owned (acr_index_unref). */
AcrIndex *acr_index_new_empty(AcrSnapshot *snapshot) ACR_MUST_USE;
/* Decodes the rows (taken) of file number `file` and adds its symbols. `*out_unparsed` is the
 * message of an X row, owned by the index, or NULL. Errors: MALFORMED (no symbol is added). */
bool acr_index_add_rows(AcrIndex *index, guint32 file, char *rows, gsize len,
                        const char **out_unparsed, GError **error) ACR_MUST_USE;
/* Returns the encoded words of a file, which the caller appends to the file's rows; owned. */
GByteArray *acr_index_words_of(GBytes *source) ACR_MUST_USE;
/* Finds the words after the rows and stores their position in `file`; returns the length of the
 * rows alone. */
gsize acr_index_words_split(const char *rows, gsize len, AcrIndexFile *file);
/* Makes the index immutable and ready for lookups. No rows may be added to a frozen index. */
void acr_index_freeze(AcrIndex *index);
/* Looks up a name like acr_index_lookup, but scans all symbols of the kind instead of making a
 * table. Returns false if there is a table, or if the table should be made now. */
bool acr_index_scan(const AcrIndex *index, AcrSymbolKind kind, const char *name,
                    const guint32 **out_ids, gsize *out_n) ACR_MUST_USE;
/* Returns the table of one kind of a frozen index; borrowed. */
const AcrNameTable *acr_index_table(const AcrIndex *index, AcrSymbolKind kind);

/* Returns the symbols of one kind and name in one file: a part of the array that acr_index_lookup
 * returns. */
const guint32 *acr_index_lookup_in_file(const AcrIndex *index, AcrSymbolKind kind, const char *name,
                                        gsize file, gsize *out_n);
/* Finds the files that a module name in file `from` (-1: unknown) may denote. A relative name is
 * resolved by folders; an absolute name must match the end of the path, below a folder that is not
 * a package. Appends to `out` (guint32). */
void acr_index_module_files(const AcrIndex *index, gssize from, const char *module, GArray *out);

/* How a name was resolved. */
typedef enum {
    ACR_RESOLVED,
    ACR_RESOLVE_OUTSIDE, /* the name is imported from a module outside the repository */
    ACR_RESOLVE_UNKNOWN,
} AcrResolution;
#define ACR_RESOLVE_MAX_STEPS 20000 /* maximum number of steps of all walks for one name */
/* Appends the symbols (`kind` is CLASS or FUNCTION) that `dotted` denotes at module level of `file`
 * to `out` (guint32), without
 * repetition. Subtracts the number of its steps from `*steps`; finds nothing if no step is left. */
AcrResolution acr_index_resolve_in_file(const AcrIndex *index, AcrSymbolKind kind, gsize file,
                                        const char *dotted, int *steps, GArray *out);
/* Resolves a name like acr_index_resolve_in_file, for a base of class `class_id`: looks in the
 * scopes around the class first, and never finds the class itself. */
AcrResolution acr_index_resolve_base(const AcrIndex *index, guint32 class_id, const char *dotted,
                                     GArray *out);
/* Appends an id, unless the list already has the id or is full. */
void acr_index_add_unique(GArray *ids, guint32 id);
