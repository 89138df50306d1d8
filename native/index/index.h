/* index: tells where the classes, methods, functions, aliases and imports of a snapshot are. An
 * index is built from outline rows, which an outliner makes for one file at a time. The outliner
 * uses Python's ast, and is passed in as a table of functions.
 *
 * Four tables, named as in the literature, are queried by acr_index_lookup and related functions:
 * class_index (class name -> places), class_func_index (class -> method -> places), function_index
 * (top-level function name -> places), class_relation_index (class -> bases). In addition, each
 * file has intervals, line -> (class, function). Names may be repeated. */
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
/* Outline rows, version ACR_OUTLINE_VERSION: the definitions of one .py file. One row a line, fields separated by TAB,
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

/* The reason why an outliner failed on a file; borrowed. */
typedef struct {
    const char *why; /* the reason, in one line */
    /* the outliner itself reported the failure, so it will probably happen again */
    bool lasting;
} AcrOutlineFailure;

/* Files to outline, and functions that receive their rows. An outliner calls these functions on the
 * thread of its caller. `read` returns a file's bytes (owned), or NULL if there is nothing to
 * outline; it may be called again for the same file. `done` is called once for each file that was
 * read, in any order: with the file's rows (borrowed), or with NULL and the reason why the outliner
 * failed (crash, deadline, memory). A failure affects only its file. A file that Python cannot
 * parse has not failed: its rows are one `X` row. */
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
    /* borrowed; rows depend only on a file's bytes and the outliner's version */
    const char *version;
    /* Outlines a batch. Errors: INTERRUPTED; FAILED (no more files can be outlined). */
    bool (*outline)(void *ctx, const AcrOutlineBatch *batch, GError **error);
} AcrOutliner;

/* Outlines one file's bytes. The rows are owned. An error means that the outliner failed on the
 * file. */
typedef bool (*AcrOutlineOne)(void *ctx, const char *path, GBytes *source, GBytes **out_rows,
                              GError **error);
/* Outlines a batch in this process, file by file, with `one`. Errors: INTERRUPTED. */
bool acr_outline_one_by_one(const AcrOutlineBatch *batch, AcrOutlineOne one, void *ctx,
                            GError **error) ACR_MUST_USE;

/* Settings for outlining in other processes. As many peers are started as are useful. Each runs
 * `argv` in `/` with an empty environment, and speaks the protocol of base/peer.h. If a peer
 * crashes, ends, or exceeds the deadline for a file, the file fails and a new peer is started.
 * Large files are outlined one at a time. */
typedef struct {
    const char *const *argv; /* borrowed; NULL-terminated */
    guint jobs;              /* maximum number of peers at a time; 0: one per processor */
    /* time limit per file; 0: ACR_OUTLINE_TIMEOUT_MS, more for large files */
    gint64 timeout_ms;
} AcrOutlineWorkers;
#define ACR_OUTLINE_MAX_JOBS 64u
#define ACR_OUTLINE_TIMEOUT_MS 15000
#define ACR_OUTLINE_TIMEOUT_MS_PER_MIB 2000
#define ACR_OUTLINE_BIG_BYTES (256u * 1024) /* minimum size in bytes of a large file */
/* Outlines a batch in worker processes. Errors: INTERRUPTED; FAILED (no peer can be started; the
 * message says why). */
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
    guint32 file;     /* number of the file, an argument of acr_index_file */
    gint32 parent;    /* id of the enclosing class or function; -1 at module level */
    guint32 first;    /* first line (1-based), including decorators */
    guint32 def;      /* line of `class` or `def`; equals `first` for other kinds */
    guint32 sig_last; /* last line of the header; equals `last` for other kinds */
    guint32 last;
    const char *name;     /* name without qualifier */
    const char *qualname; /* dotted name within the file */
    /* ASSIGN: the dotted name that is assigned; IMPORT: the imported name; or NULL */
    const char *value;
    union {
        const char *module;       /* IMPORT: the module as written, with its dots */
        const char *const *bases; /* CLASS: NULL-terminated list, as written; other kinds: NULL */
    };
} AcrSymbol;

typedef struct {
    const char *path; /* path in the snapshot */
    gsize entry;      /* the file's number in the snapshot */
    /* the symbols of a file have consecutive ids, in the order of the rows */
    guint32 first_symbol;
    guint32 n_symbols;
    /* why the file has no symbols (syntax, size, deadline …); or NULL */
    const char *unparsed;
    /* `unparsed` is set because the content is missing (shallow or partial clone) */
    bool missing;
    /* `unparsed` is set because the outliner failed on this machine */
    bool failed;
    /* for acr_index_files_with: the file's words, and a bitmap of its three-character sequences;
     * both are parts of the rows */
    const char *words;
    const guint8 *threes;
    guint32 n_words, n_three_bits;
} AcrIndexFile;

/* An index does not change after it is built. Shared; reading is thread-safe. */
typedef struct AcrIndex AcrIndex;

typedef struct {
    gsize files, symbols, unparsed;
    /* number of outlined files, and number of files that were in the cache */
    gsize parsed, cached;
    gint64 cache_ms, outline_ms, decode_ms;
} AcrIndexStats;

typedef struct AcrIndexCache AcrIndexCache; /* see the section Cache */

typedef struct {
    const AcrOutliner *outliner;
    AcrIndexCache *cache; /* NULL: there is no cache, and every file is outlined */
    /* path -> why the file must not be outlined (char *); replaces the failures in the cache */
    GHashTable *refused;
    const AcrInterrupt *interrupt; /* may be NULL */
} AcrIndexOptions;

/* Outlines the Python files and scripts of the snapshot that are not tests and whose rows the
 * cache lacks, caches their rows, and builds the tables. A file that cannot be read or parsed is
 * listed without symbols. Errors: FAILED, INTERRUPTED. O(total size). */
AcrIndex *acr_index_build(AcrSnapshot *snapshot, const AcrIndexOptions *options,
                          GError **error) ACR_MUST_USE;
AcrIndex *acr_index_ref(AcrIndex *index);
void acr_index_unref(AcrIndex *index);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrIndex, acr_index_unref)
void acr_index_stats(const AcrIndex *index, AcrIndexStats *out);
AcrSnapshot *acr_index_snapshot(const AcrIndex *index); /* borrowed */

/* Whether a path looks like the path of a test: it has a part `test` or `tests`, or its file name
 * is `test_*.py`, `*_test.py` or `conftest.py`. */
bool acr_index_is_test_path(const char *path);
/* Whether a path looks like the path of a test and no product code imports the file. */
bool acr_index_is_test(const AcrIndex *index, const char *path);

gsize acr_index_n_files(const AcrIndex *index);
/* Returns file number n in the order of paths; borrowed. */
const AcrIndexFile *acr_index_file(const AcrIndex *index, gsize n);
/* Finds a file by its exact path; -1 if there is none. */
gssize acr_index_find_file(const AcrIndex *index, const char *path);

const AcrSymbol *acr_index_symbol(const AcrIndex *index, guint32 id); /* borrowed */

/* Returns the ids of the *out_n symbols of one kind with the bare name `name` (case-sensitive),
 * ordered by (path, line); borrowed; NULL if there are none. O(log n). */
const guint32 *acr_index_lookup(const AcrIndex *index, AcrSymbolKind kind, const char *name,
                                gsize *out_n);
/* Returns all distinct bare names of one kind, sorted; borrowed. Used for suggestions. */
const char *const *acr_index_names(const AcrIndex *index, AcrSymbolKind kind, gsize *out_n);

/* Returns the files that may contain `text`; its first and last words may be parts of longer words
 * in the file. With `whole`, returns the files that may contain all words of `text` as whole words.
 * Owned array of gsize, in order. */
GArray *acr_index_files_with(const AcrIndex *index, const char *text, bool whole) ACR_MUST_USE;

/* Finds the ids of the innermost class and function that contain a line of a file; -1 for none. If
 * the function contains a class around the line, that class is ignored. */
void acr_index_enclosing(const AcrIndex *index, gsize file, guint32 line, gint32 *out_class,
                         gint32 *out_func);
/* Returns the dotted name of the innermost class that contains the symbol, or of the symbol itself
 * if it is a class; borrowed; NULL at module level. */
const char *acr_index_class_of(const AcrIndex *index, guint32 id);
/* Returns the bare name of the innermost function that contains the symbol, or of the symbol itself
 * if it is a def; borrowed; NULL if there is none. */
const char *acr_index_func_of(const AcrIndex *index, guint32 id);

/* Returns the direct members of a class (methods, assignments, nested classes) in file order,
 * including members in if and try blocks; owned (g_array_unref) array of guint32. */
GArray *acr_index_members(const AcrIndex *index, guint32 class_id) ACR_MUST_USE;
/* Returns the methods called `name` directly in the class. There may be several, such as overloads
 * and property setters. Owned array of guint32, may be empty. */
GArray *acr_index_methods(const AcrIndex *index, guint32 class_id, const char *name) ACR_MUST_USE;
/* Returns the classes that the bases of a class denote. For a dotted base only the last part
 * counts; subscripts are ignored; aliases (`Matrix = MutableDenseMatrix`) and imports are followed.
 * Looks in the same file, then in the imported module. If neither has the class, takes every class
 * with the same name. A base outside the repository gives no class. Owned array of guint32, unique,
 * in order. */
GArray *acr_index_bases(const AcrIndex *index, guint32 class_id) ACR_MUST_USE;
/* Returns all ancestors of a class, breadth first, without repetition; at most
 * ACR_INDEX_MAX_ANCESTORS; owned array of guint32. */
#define ACR_INDEX_MAX_ANCESTORS 500
GArray *acr_index_ancestors(const AcrIndex *index, guint32 class_id) ACR_MUST_USE;
/* Returns the classes that a (possibly dotted) name denotes: the classes with the name or, if there
 * are none, the classes that an alias or a renaming import denotes. The qualifier of `Outer.Inner`
 * or `mod.Class` must match the qualname or the parts of the path. Owned array of guint32, unique,
 * in order. */
GArray *acr_index_resolve_class(const AcrIndex *index, const char *name) ACR_MUST_USE;
/* Returns the functions that `module.name` denotes, also if the module only imports them. Owned
 * array of guint32, unique. */
GArray *acr_index_resolve_function(const AcrIndex *index, const char *name) ACR_MUST_USE;

/* ---- Cache ---- */

/* A cache that stores outline rows by blob id in one SQLite file. Repositories, commits, worktrees
 * and processes share the file. Its contents are never trusted: each row has a checksum over id,
 * version and bytes. A damaged cache never changes an answer, so no function of the cache fails
 * except acr_index_cache_clear, which the user calls explicitly. Only one thread at a time may use
 * a cache; any number of caches and processes may have the same file open. */
typedef struct AcrIndexCache AcrIndexCache;

#define ACR_INDEX_CACHE_DEFAULT_BYTES (1024ull * 1024 * 1024)
/* maximum size in bytes of the rows of a file that are cached */
#define ACR_INDEX_CACHE_MAX_ROWS (16u * 1024 * 1024)
/* maximum length in bytes of an outliner's version; rows with a longer version are not cached */
#define ACR_INDEX_CACHE_MAX_VERSION 64u

/* Opens the cache file `path`, creating it and its folders if they are missing; owned. Never NULL:
 * a cache that does not work returns nothing and stores nothing, and acr_index_cache_remark says
 * why. If the file exceeds `limit_bytes` (at least 1 MiB), the oldest rows are dropped. */
AcrIndexCache *acr_index_cache_open(const char *path, guint64 limit_bytes) ACR_MUST_USE;
void acr_index_cache_free(AcrIndexCache *cache); /* writes pending rows before it frees the cache */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrIndexCache, acr_index_cache_free)
/* Returns the rows stored for the blob `id` and the outliner version, owned (g_bytes_unref); NULL
 * if there are none. */
GBytes *acr_index_cache_get(AcrIndexCache *cache, const guint8 id[ACR_BLOB_ID_LEN],
                            const char *version) ACR_MUST_USE;
/* Begins about `n` reads in one transaction, which is faster. Meanwhile other processes cannot
 * write to the file. */
void acr_index_cache_begin(AcrIndexCache *cache, gsize n);
void acr_index_cache_end(AcrIndexCache *cache);
/* Stores rows. The rows are written in batches, in a short transaction each, so that a killed
 * process loses only its last batch. */
void acr_index_cache_put(AcrIndexCache *cache, const guint8 id[ACR_BLOB_ID_LEN],
                         const char *version, GBytes *rows);
/* Writes pending rows; every acr_index_cache_get writes them, too. */
void acr_index_cache_flush(AcrIndexCache *cache);
/* Returns a message that the user should see once ("the outline cache '…' was damaged and has been
 * rebuilt"), borrowed until the next call with the cache; NULL if there is none. */
const char *acr_index_cache_remark(const AcrIndexCache *cache);
/* Removes the database and SQLite's files beside it, and nothing else; safe while other processes
 * use the files. Succeeds if the file does not exist. Errors: FAILED (for example, the file is not
 * this program's). */
bool acr_index_cache_clear(const char *path, GError **error) ACR_MUST_USE;

/* Returns the version of SQLite; static. */
const char *acr_index_library(void);
