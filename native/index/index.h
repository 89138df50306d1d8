/* index: where the classes, methods, functions, aliases and imports of a snapshot are. Built from
 * outline rows, which an outliner (Python's ast, passed in as a table of functions) makes for one
 * file at a time.
 *
 * Four tables, named as in the literature, are queried by acr_index_lookup and related functions:
 * class_index (class name -> places), class_func_index (class -> method -> places), function_index
 * (top-level function name -> places), class_relation_index (class -> bases); plus intervals of
 * each file, line -> (class, function). Names may be repeated. */
#pragma once

#include "base/base.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_INDEX_ERROR_FAILED,
    ACR_INDEX_ERROR_MALFORMED, /* the outline rows are malformed */
    ACR_INDEX_ERROR_INTERRUPTED,
} AcrIndexError;
#define ACR_INDEX_ERROR acr_index_error_quark()
GQuark acr_index_error_quark(void);

/* a larger .py file is searched as plain text only */
#define ACR_INDEX_MAX_SOURCE_BYTES (16u * 1024 * 1024)
#define ACR_INDEX_MAX_SYMBOLS_PER_FILE 1000000u

/* clang-format off */
/* Outline rows, version ACR_OUTLINE_VERSION: what one .py file defines. One row a line, fields separated by TAB,
 * in UTF-8; inside a field TAB, LF, CR, backslash and 0x1f are written \t \n \r \\ \u (two characters). Lists in a
 * field are separated by 0x1f. Lines are 1-based. Rows stand in the order of their definition in the file, a parent
 * before its children; `qualname` is dotted within the file without "<locals>" ("Outer.Inner.method", "func.inner").
 *
 *   C  qualname  first  def  sig_last  last  bases         class; first counts decorators, sig_last is the line before
 *                                                          the body (the line of the colon), bases as written
 *   D  qualname  first  def  sig_last  last                def or async def; a method where its parent is a class
 *   A  qualname  first  last  value                        assignment at module or class level; value: the dotted name
 *                                                          assigned (an alias), else empty
 *   I  local  line  module  name                           import; `import a.b as c` -> local c, module a.b, name empty;
 *                                                          `import a.b` -> local a.b, module a.b, name empty;
 *                                                          `from .m import n as x` -> local x, module .m, name n; `*` as
 *                                                          local X
 *   X  line  message                                       the file could not be parsed; the only row
 */
/* clang-format on */
#define ACR_OUTLINE_VERSION 3

/* Why an outliner failed on a file. Borrowed. */
typedef struct {
    const char *why; /* one line */
    /* the outliner itself reported the failure (such as out of memory), so it will probably
     * happen again */
    bool lasting;
} AcrOutlineFailure;

/* Files to outline, and what to do with their rows. An outliner calls these functions on the thread
 * that called it. `read` returns a file's bytes (owned), or NULL if there is nothing to outline; it
 * may be called again for the same file. `done` is called once for each file that was read, in any
 * order: with its rows (borrowed), or with NULL and the reason why the outliner failed (crash,
 * deadline, memory), which affects only that file. A file that Python cannot parse has not failed:
 * its rows are one `X` row. */
typedef struct {
    gsize n;
    void *ctx;
    const char *(*path)(void *ctx, gsize i); /* borrowed; for messages only */
    GBytes *(*read)(void *ctx, gsize i);
    void (*done)(void *ctx, gsize i, GBytes *rows, const AcrOutlineFailure *failure);
    const AcrInterrupt *interrupt; /* may be NULL */
} AcrOutlineBatch;

typedef struct {
    void *ctx;
    const char *version; /* the same bytes and the same version give the same rows; borrowed */
    /* Errors: INTERRUPTED; FAILED (no more files can be outlined). */
    bool (*outline)(void *ctx, const AcrOutlineBatch *batch, GError **error);
} AcrOutliner;

/* Outlines one file's bytes; rows: owned. An error means that the outliner failed on the file. */
typedef bool (*AcrOutlineOne)(void *ctx, const char *path, GBytes *source, GBytes **out_rows,
                              GError **error);
/* Outlines a batch in this process, file by file, with `one`. Errors: INTERRUPTED. */
bool acr_outline_one_by_one(const AcrOutlineBatch *batch, AcrOutlineOne one, void *ctx,
                            GError **error) ACR_MUST_USE;

/* Outlines in other processes: starts as many peers as are useful. Each runs `argv` in `/` with an
 * empty environment, and speaks the protocol of base/peer.h. If a peer crashes, ends, or exceeds
 * the deadline for a file, that file fails and a new peer is started. Large files are outlined one
 * at a time. */
typedef struct {
    const char *const *argv; /* borrowed; NULL-terminated */
    guint jobs;              /* maximum number of peers at a time; 0: one per processor */
    gint64 timeout_ms;       /* for one file; 0: ACR_OUTLINE_TIMEOUT_MS, more for large files */
} AcrOutlineWorkers;
#define ACR_OUTLINE_MAX_JOBS 64u
#define ACR_OUTLINE_TIMEOUT_MS 15000
#define ACR_OUTLINE_TIMEOUT_MS_PER_MIB 2000
#define ACR_OUTLINE_BIG_BYTES (256u * 1024) /* a file of at least this size is large */
/* Outlines a batch by workers. Errors: INTERRUPTED; FAILED (no peer can be started; the message
 * says why). */
bool acr_outline_by_workers(const AcrOutlineBatch *batch, const AcrOutlineWorkers *workers,
                            GError **error) ACR_MUST_USE;

typedef enum {
    ACR_SYMBOL_CLASS,
    ACR_SYMBOL_FUNCTION, /* a def that is not directly in a class body */
    ACR_SYMBOL_METHOD,   /* a def directly in a class body */
    ACR_SYMBOL_ASSIGN,   /* a name assigned at module or class level */
    ACR_SYMBOL_IMPORT,
    ACR_SYMBOL_KINDS,
} AcrSymbolKind;

typedef struct {
    AcrSymbolKind kind;
    guint32 file;     /* number of the file, for acr_index_file */
    gint32 parent;    /* id of the enclosing class or function; -1 at module level */
    guint32 first;    /* 1-based, including decorators */
    guint32 def;      /* line of `class` or `def`; equals first for others */
    guint32 sig_last; /* last line of the header; equals last for others */
    guint32 last;
    const char *name;     /* without qualifier */
    const char *qualname; /* dotted within the file */
    /* ASSIGN: the dotted name that is assigned, or NULL; IMPORT: the imported name, or NULL for
     * the module itself */
    const char *value;
    union {
        const char *module;       /* IMPORT: the module as written, with its dots */
        const char *const *bases; /* CLASS: NULL-terminated, as written; others: NULL */
    };
} AcrSymbol;

typedef struct {
    const char *path;     /* as in the snapshot */
    gsize entry;          /* the file's number in the snapshot */
    guint32 first_symbol; /* symbols of a file are contiguous, in row order */
    guint32 n_symbols;
    const char *unparsed; /* why the file has no symbols (syntax, size, deadline …), or NULL */
    /* `unparsed`, because the content is missing (shallow or partial clone) */
    bool missing;
    /* `unparsed`, because the outliner failed, which may depend on the machine */
    bool failed;
    /* for acr_index_files_with, parts of the rows: the file's words, and a bitmap of three characters */
    const char *words;
    const guint8 *threes;
    guint32 n_words, n_three_bits;
} AcrIndexFile;

/* Immutable after it is built. Shared; reading is thread-safe. */
typedef struct AcrIndex AcrIndex;

typedef struct {
    gsize files, symbols, unparsed;
    /* files outlined in this process, and files whose rows came from the cache */
    gsize parsed, cached;
    gint64 cache_ms, outline_ms, decode_ms;
} AcrIndexStats;

typedef struct AcrIndexCache AcrIndexCache; /* declared below */

typedef struct {
    const AcrOutliner *outliner;
    AcrIndexCache *cache; /* NULL: every file is outlined */
    /* path -> why the file must not be outlined (char *); the failures in the cache are then
     * ignored; may be NULL */
    GHashTable *refused;
    const AcrInterrupt *interrupt; /* may be NULL */
} AcrIndexOptions;

/* Outlines every .py file and Python script of the snapshot that is not a test and whose rows the
 * cache lacks, caches these rows, and builds the tables. A file that cannot be read or parsed is
 * listed without symbols. Errors: FAILED, INTERRUPTED. O(total size). */
AcrIndex *acr_index_build(AcrSnapshot *snapshot, const AcrIndexOptions *options,
                          GError **error) ACR_MUST_USE;
AcrIndex *acr_index_ref(AcrIndex *index);
void acr_index_unref(AcrIndex *index);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrIndex, acr_index_unref)
void acr_index_stats(const AcrIndex *index, AcrIndexStats *out);
AcrSnapshot *acr_index_snapshot(const AcrIndex *index); /* borrowed */

/* Whether a path looks like a test's: a part `test` or `tests`, a file `test_*.py`, `*_test.py` or
 * `conftest.py`. */
bool acr_index_is_test_path(const char *path);
/* Whether a path is a test's: it looks like one, and no product code imports it. */
bool acr_index_is_test(const AcrIndex *index, const char *path);

gsize acr_index_n_files(const AcrIndex *index);
const AcrIndexFile *acr_index_file(const AcrIndex *index, gsize n);  /* sorted by path; borrowed */
gssize acr_index_find_file(const AcrIndex *index, const char *path); /* exact path; -1 */

const AcrSymbol *acr_index_symbol(const AcrIndex *index, guint32 id); /* borrowed */

/* Returns the ids of the *out_n symbols of one kind with that bare name (case-sensitive), ordered
 * by (path, line); borrowed; NULL if there are none. O(log n). */
const guint32 *acr_index_lookup(const AcrIndex *index, AcrSymbolKind kind, const char *name,
                                gsize *out_n);
/* All distinct bare names of one kind, sorted; borrowed; for suggestions. */
const char *const *acr_index_names(const AcrIndex *index, AcrSymbolKind kind, gsize *out_n);

/* The files that may contain `text`, as its first and last word may be parts of longer words; with
 * `whole`, the files that contain all its words. Owned array of gsize, in order. */
GArray *acr_index_files_with(const AcrIndex *index, const char *text, bool whole) ACR_MUST_USE;

/* The innermost class and function that contain a line of a file; ids, or -1. If the function
 * contains a class around the line, that class is ignored. */
void acr_index_enclosing(const AcrIndex *index, gsize file, guint32 line, gint32 *out_class,
                         gint32 *out_func);
/* Dotted name of the innermost class that contains the symbol (for a class, the class itself);
 * borrowed; NULL: module level. */
const char *acr_index_class_of(const AcrIndex *index, guint32 id);
/* Bare name of the innermost function (for a def, the def itself); borrowed; NULL: none. */
const char *acr_index_func_of(const AcrIndex *index, guint32 id);

/* Direct members of a class (methods, assignments, nested classes) in file order, including those
 * in if and try blocks; owned (g_array_unref) array of guint32. */
GArray *acr_index_members(const AcrIndex *index, guint32 class_id) ACR_MUST_USE;
/* The methods of that name directly in the class; overloads and property setters give several;
 * owned array of guint32, may be empty. */
GArray *acr_index_methods(const AcrIndex *index, guint32 class_id, const char *name) ACR_MUST_USE;
/* The classes that the bases of a class denote. Of an attribute the last part counts; subscripts
 * are ignored; aliases (`Matrix = MutableDenseMatrix`) and imports are followed. Looks in the same
 * file, then in the imported module, and otherwise takes every class of that name. A base outside
 * the repository gives no class. Owned array of guint32, unique, in order. */
GArray *acr_index_bases(const AcrIndex *index, guint32 class_id) ACR_MUST_USE;
/* All ancestors of a class, breadth first, each once; at most ACR_INDEX_MAX_ANCESTORS; owned. */
#define ACR_INDEX_MAX_ANCESTORS 500
GArray *acr_index_ancestors(const AcrIndex *index, guint32 class_id) ACR_MUST_USE;
/* The classes that a (possibly dotted) name denotes: classes of that name, or if there are none,
 * those that an alias or a renaming import denotes. The qualifier of `Outer.Inner` or `mod.Class`
 * must match the qualname or the parts of the path. Owned array of guint32, unique, in order. */
GArray *acr_index_resolve_class(const AcrIndex *index, const char *name) ACR_MUST_USE;

/* ---- Cache ---- */

/* Outline rows by blob id in one SQLite file, shared by repositories, commits, worktrees and
 * processes. Its contents are never trusted: each row has a checksum over id, version and bytes. A
 * damaged cache never changes an answer, so no function here fails except acr_index_cache_clear,
 * which the user requests. One thread at a time; any number of caches and processes may have the
 * same file open. */
typedef struct AcrIndexCache AcrIndexCache;

#define ACR_INDEX_CACHE_DEFAULT_BYTES (1024ull * 1024 * 1024)
/* longer rows of a file are not cached */
#define ACR_INDEX_CACHE_MAX_ROWS (16u * 1024 * 1024)
#define ACR_INDEX_CACHE_MAX_VERSION 64u /* bytes of a version; a longer version is not cached */

/* Opens the cache file `path`, creating it and its folders if they are missing; owned. Never NULL:
 * a cache that does not work returns nothing and stores nothing, and acr_index_cache_remark says
 * why. Above `limit_bytes` (at least 1 MiB) the oldest rows are dropped. */
AcrIndexCache *acr_index_cache_open(const char *path, guint64 limit_bytes) ACR_MUST_USE;
void acr_index_cache_free(AcrIndexCache *cache); /* writes pending rows first */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrIndexCache, acr_index_cache_free)
/* The rows stored for that blob and outliner version; owned (g_bytes_unref); NULL: none. */
GBytes *acr_index_cache_get(AcrIndexCache *cache, const guint8 id[ACR_BLOB_ID_LEN],
                            const char *version) ACR_MUST_USE;
/* Begins about `n` reads in one transaction, which is faster; other processes cannot write to
 * the file meanwhile. */
void acr_index_cache_begin(AcrIndexCache *cache, gsize n);
void acr_index_cache_end(AcrIndexCache *cache);
/* Stores rows. They are written in batches, each a short transaction, so that a killed process
 * loses only the rows of the last batch. */
void acr_index_cache_put(AcrIndexCache *cache, const guint8 id[ACR_BLOB_ID_LEN],
                         const char *version, GBytes *rows);
/* Writes pending rows; every acr_index_cache_get does so too. */
void acr_index_cache_flush(AcrIndexCache *cache);
/* A message that the user should see once ("the outline cache '…' was damaged and has been
 * rebuilt"), borrowed until the next call with this cache; NULL: none. */
const char *acr_index_cache_remark(const AcrIndexCache *cache);
/* Removes the database and SQLite's files beside it, and nothing else; safe while other processes
 * use them. Succeeds if the file does not exist. Errors: FAILED; also if the file is not this
 * program's. */
bool acr_index_cache_clear(const char *path, GError **error) ACR_MUST_USE;

/* The version of SQLite; static. */
const char *acr_index_library(void);
