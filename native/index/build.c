/* Builds an index: takes the rows of the snapshot's .py files from the cache, outlines the files
 * that the cache lacks in one batch, decodes all rows in the order of the files, and freezes the
 * index. A file that fails has no symbols; the other files are not affected. */
#include "base/trace.h"
#include "index/index_private.h"

#include <string.h>
#include <sys/mman.h>

#define SYMBOLS_PER_FILE 32u     /* symbols reserved per file; most repositories have fewer */
#define MAX_RESERVED (16u << 20) /* maximum number of symbols for which room is reserved */
#define LARGE_PAGE ((gsize)2 << 20)
/* number of failed files in a row after which the outliner itself is assumed to be broken */
#define MAX_FAILURES_IN_A_ROW 50u

G_DEFINE_QUARK(acr_index_error, acr_index_error)

static bool part_is_test(const char *part, gsize len)
{
    return (len == 4 && memcmp(part, "test", 4) == 0) ||
           (len == 5 && memcmp(part, "tests", 5) == 0);
}

bool acr_index_is_test_path(const char *path)
{
    const char *part = path;
    for (const char *slash; (slash = strchr(part, '/')) != NULL; part = slash + 1)
        if (part_is_test(part, (gsize)(slash - part)))
            return true;
    if (part_is_test(part, strlen(part)) || strcmp(part, "conftest.py") == 0)
        return true;
    return g_str_has_suffix(part, ".py") &&
           (g_str_has_prefix(part, "test_") || g_str_has_suffix(part, "_test.py"));
}

bool acr_index_is_test(const AcrIndex *index, const char *path)
{
    return acr_index_is_test_path(path) && acr_index_find_file(index, path) < 0;
}

AcrIndex *acr_index_new_empty(AcrSnapshot *snapshot)
{
    AcrIndex *index = g_new0(AcrIndex, 1);
    index->refs = 1;
    index->snapshot = snapshot ? acr_snapshot_ref(snapshot) : NULL;
    index->texts = g_ptr_array_new_with_free_func(g_free);
    index->strings = g_string_chunk_new(1024);
    pthread_mutex_init(&index->making, NULL);
    index->symbols = g_array_new(FALSE, FALSE, sizeof(AcrSymbol));
    index->bases = g_ptr_array_new();
    index->files = g_array_new(FALSE, FALSE, sizeof(AcrIndexFile));
    index->stems = g_array_new(FALSE, FALSE, sizeof(AcrStem));
    return index;
}

AcrIndex *acr_index_ref(AcrIndex *index)
{
    g_atomic_int_inc(&index->refs);
    return index;
}

void acr_index_unref(AcrIndex *index)
{
    if (!index || !g_atomic_int_dec_and_test(&index->refs))
        return;
    for (guint kind = 0; kind < ACR_SYMBOL_KINDS; kind++) {
        for (guint i = 0; i < index->tables[kind].n_scans; i++)
            g_array_unref(index->tables[kind].scans[i]);
        ACR_FREE(index->tables[kind].names, index->tables[kind].starts);
    }
    g_free(index->by_kind);
    g_array_unref(index->stems);
    g_array_unref(index->files);
    g_ptr_array_unref(index->bases);
    g_array_unref(index->symbols);
    g_ptr_array_unref(index->texts);
    g_string_chunk_free(index->strings);
    pthread_mutex_destroy(&index->making);
    acr_snapshot_unref(index->snapshot);
    g_free(index);
}

/* ---- Collecting rows ----------------------------------------------------------------------------
 */

/* A file during the build. */
typedef struct {
    gsize entry;
    /* owned; outline rows and the file's words, or NULL */
    GBytes *rows;
    GByteArray *words; /* owned; the file's words, while the rows are not available */
    char *unparsed;    /* owned; the reason why the file has no rows */
    bool failed;       /* `unparsed` is set because the outliner failed on the file */
    bool missing;      /* `unparsed` is set because the content is missing */
    bool from_cache;
} Pending;

typedef struct {
    AcrIndex *index;
    const AcrIndexOptions *options;
    GArray *files; /* array of Pending, in the order of the snapshot */
    GArray *todo;  /* array of guint: the numbers of the files to outline */
    /* owned; the version under which the cache stores a failure for a day */
    char *failed_version;
} Build;

static void clear_pending(gpointer data)
{
    Pending *file = data;
    g_clear_pointer(&file->rows, g_bytes_unref);
    g_clear_pointer(&file->words, g_byte_array_unref);
    g_clear_pointer(&file->unparsed, g_free);
}

static const char *path_of_pending(const Build *build, const Pending *file)
{
    return acr_snapshot_entry(build->index->snapshot, file->entry)->path;
}

/* Whether the entry is an executable file without extension whose first line names Python. */
static bool is_python_script(const Build *build, gsize i)
{
    const AcrEntry *entry = acr_snapshot_entry(build->index->snapshot, i);
    const char *slash = strrchr(entry->path, '/');
    if (entry->mode != ACR_MODE_EXEC || strchr(slash ? slash : entry->path, '.'))
        return false;
    g_autoptr(GBytes) bytes = acr_snapshot_read(build->index->snapshot, i, NULL);
    gsize len = 0;
    const char *text = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    const char *end = len > 2 && memcmp(text, "#!", 2) == 0 ? memchr(text, '\n', len) : NULL;
    return end && g_strstr_len(text, end - text, "python");
}

static bool is_indexed(const Build *build, gsize i)
{
    const AcrEntry *entry = acr_snapshot_entry(build->index->snapshot, i);
    if (entry->mode == ACR_MODE_LINK || acr_index_is_test_path(entry->path))
        return false;
    return g_str_has_suffix(entry->path, ".py") || is_python_script(build, i);
}

/* Gets a file's entry from the cache: its rows, or the record of a failure of the outliner within
 * the last day. */
static void look_up(const Build *build, Pending *file, const AcrEntry *entry)
{
    AcrIndexCache *cache = build->options->cache;
    file->rows = acr_index_cache_get(cache, entry->id, build->options->outliner->version);
    file->from_cache = file->rows != NULL;
    /* If the caller lists the files to skip, the failures in the cache are ignored. */
    g_autoptr(GBytes) why = file->rows || build->options->refused
                                ? NULL
                                : acr_index_cache_get(cache, entry->id, build->failed_version);
    if (!why)
        return;
    file->failed = true;
    file->unparsed = acr_utf8_repair_bytes(why);
}

static void list_indexed_files(Build *build)
{
    for (gsize i = 0; i < acr_snapshot_size(build->index->snapshot); i++) {
        Pending file = {.entry = i};
        if (is_indexed(build, i))
            g_array_append_val(build->files, file);
    }
}

/* Queues a file for outlining. Large files come first, because their syntax trees need the most
 * memory, and this process and the workers use little memory at the beginning. */
static void add_todo(Build *build, guint number, guint *n_large)
{
    const Pending *file = &g_array_index(build->files, Pending, number);
    gsize size = acr_snapshot_content_size(build->index->snapshot, file->entry);
    if (size >= ACR_OUTLINE_BIG_BYTES)
        g_array_insert_val(build->todo, (*n_large)++, number);
    else
        g_array_append_val(build->todo, number);
}

/* Uses the cached results of the files from number `from` on, and queues the other files for
 * outlining. */
static void look_up_files(Build *build, guint from)
{
    GHashTable *refusals = build->options->refused;
    AcrIndexCache *cache = build->options->cache;
    guint n_large = 0;
    g_array_set_size(build->todo, 0);
    if (from == build->files->len)
        return;
    if (cache)
        acr_index_cache_begin(cache, build->files->len);
    for (guint number = from; number < build->files->len; number++) {
        Pending *file = &g_array_index(build->files, Pending, number);
        const AcrEntry *entry = acr_snapshot_entry(build->index->snapshot, file->entry);
        const char *refused = refusals ? g_hash_table_lookup(refusals, entry->path) : NULL;
        if (refused)
            file->unparsed = g_strdup(refused);
        else if (cache)
            look_up(build, file, entry);
        build->index->stats.cached += file->from_cache;
        if (!file->rows && !file->unparsed)
            add_todo(build, number, &n_large);
    }
    if (cache)
        acr_index_cache_end(cache);
}

static Pending *todo_at(const Build *build, gsize i)
{
    return &g_array_index(build->files, Pending, g_array_index(build->todo, guint, i));
}

static const char *batch_path(void *ctx, gsize i)
{
    return path_of_pending(ctx, todo_at(ctx, i));
}

static GBytes *batch_read(void *ctx, gsize i)
{
    Build *build = ctx;
    Pending *file = todo_at(build, i);
    g_autoptr(GError) why = NULL;
    g_autoptr(GBytes) source = acr_snapshot_read(build->index->snapshot, file->entry, &why);
    if (source && g_bytes_get_size(source) <= ACR_INDEX_MAX_SOURCE_BYTES) {
        if (!file->words)
            file->words = acr_index_words_of(source);
        return g_steal_pointer(&source);
    }
    file->missing = why && !g_error_matches(why, ACR_VCS_ERROR, ACR_VCS_ERROR_TOO_BIG);
    g_free(file->unparsed);
    file->unparsed = g_strdup(source ? "larger than 16 MiB" : why->message);
    return NULL;
}

static void keep_in_cache(const Build *build, const Pending *file, const char *version,
                          GBytes *rows)
{
    if (build->options->cache)
        acr_index_cache_put(build->options->cache,
                            acr_snapshot_entry(build->index->snapshot, file->entry)->id, version,
                            rows);
}

static void batch_done(void *ctx, gsize i, GBytes *rows, const AcrOutlineFailure *failure)
{
    Build *build = ctx;
    Pending *file = todo_at(build, i);
    build->index->stats.parsed++;
    if (rows) {
        gsize len;
        const guint8 *data = g_bytes_get_data(rows, &len);
        g_byte_array_prepend(file->words, data, (guint)len);
        file->rows = g_byte_array_free_to_bytes(g_steal_pointer(&file->words));
        keep_in_cache(build, file, build->options->outliner->version, file->rows);
        return;
    }
    file->failed = true;
    file->unparsed = g_strdup(failure->why);
    g_autoptr(GBytes) why = g_bytes_new(failure->why, strlen(failure->why));
    if (failure->lasting)
        keep_in_cache(build, file, build->failed_version, why);
}

static bool outline_rest(Build *build, GError **error)
{
    AcrOutlineBatch batch = {.n = build->todo->len,
                             .ctx = build,
                             .path = batch_path,
                             .read = batch_read,
                             .done = batch_done,
                             .interrupt = build->options->interrupt};
    const AcrOutliner *outliner = build->options->outliner;
    bool ok = batch.n == 0 || outliner->outline(outliner->ctx, &batch, error);
    if (build->options->cache)
        acr_index_cache_flush(build->options->cache);
    return ok;
}

bool acr_outline_one_by_one(const AcrOutlineBatch *batch, AcrOutlineOne one, void *ctx,
                            GError **error)
{
    guint failures = 0;
    for (gsize i = 0; i < batch->n; i++) {
        if (acr_interrupted(batch->interrupt))
            return acr_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_INTERRUPTED,
                                 "interrupted while indexing");
        g_autoptr(GError) why = NULL;
        g_autoptr(GBytes) rows = NULL, source = batch->read(batch->ctx, i);
        if (!source)
            continue;
        bool ok = one(ctx, batch->path(batch->ctx, i), source, &rows, &why);
        AcrOutlineFailure failure = {.why = ok ? "" : why->message};
        batch->done(batch->ctx, i, ok ? rows : NULL, ok ? NULL : &failure);
        failures = ok ? 0 : failures + 1;
        if (failures == MAX_FAILURES_IN_A_ROW)
            return acr_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED,
                                 "parsing stopped after repeated failures: %s", why->message);
    }
    return true;
}

/* ---- Product code with the name of a test ---- */

/* Returns the module name of a path, with slashes instead of dots; owned. */
static char *module_of_path(const char *path)
{
    gsize len = strlen(path) -
                (g_str_has_suffix(path, "/__init__.py") ? strlen("/__init__.py") : strlen(".py"));
    return g_strndup(path, len);
}

/* Adds the test files that `module`, imported by file `path`, may denote and that share a folder
 * with `path`. */
static void take_imported(Build *build, GHashTable *tests, const char *path, const char *module)
{
    gsize top = strcspn(path, "/");
    g_autofree char *tail = g_strdelimit(g_strdup(module), ".", '/');
    const char *name = tail;
    g_autofree char *folder = g_path_get_dirname(path);
    if (*name == '/') {
        for (name++; *name == '/'; name++) {
            char *above = g_path_get_dirname(folder);
            g_free(folder);
            folder = above;
        }
    }
    g_autofree char *exact = *tail == '/' ? g_build_filename(folder, name, NULL) : NULL;
    GHashTableIter iter;
    gpointer key, value;
    g_hash_table_iter_init(&iter, tests);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        bool meant = exact ? strcmp(key, exact) == 0
                           : strchr(name, '/') && g_str_has_suffix(key, name) &&
                                 (strlen(key) == strlen(name) ||
                                  ((char *)key)[strlen(key) - strlen(name) - 1] == '/');
        if (!meant || strncmp(key, path, top + 1) != 0 || path[top] != '/')
            continue;
        Pending file = {.entry = GPOINTER_TO_SIZE(value) - 1};
        g_array_append_val(build->files, file);
        g_hash_table_iter_remove(&iter);
    }
}

static void take_imports(Build *build, GHashTable *tests, guint number)
{
    const Pending *file = &g_array_index(build->files, Pending, number);
    gsize len = 0;
    const char *path = path_of_pending(build, file),
               *rows = file->rows ? g_bytes_get_data(file->rows, &len) : NULL;
    for (const char *at = rows, *end = rows + len; at < end;) {
        const char *stop = memchr(at, '\n', (gsize)(end - at));
        if (!stop)
            break;
        bool named = *at == 'I' && memmem(at, (gsize)(stop - at), "test", 4);
        if (named) {
            g_autofree char *row = g_strndup(at, (gsize)(stop - at));
            g_auto(GStrv) fields = g_strsplit(row, "\t", 5);
            if (g_strv_length(fields) == 5) {
                g_autofree char *whole = g_strconcat(
                    fields[3], g_str_has_suffix(fields[3], ".") ? "" : ".", fields[4], NULL);
                take_imported(build, tests, path, fields[3]);
                take_imported(build, tests, path, whole);
            }
        }
        at = stop + 1;
    }
}

static gint compare_pending(gconstpointer a, gconstpointer b)
{
    return acr_order(((const Pending *)a)->entry, ((const Pending *)b)->entry);
}

/* Outlines the test files that product code imports, because imported files are product code
 * despite their names. */
static bool outline_imported(Build *build, GError **error)
{
    g_autoptr(GHashTable) tests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < acr_snapshot_size(build->index->snapshot); i++) {
        const AcrEntry *entry = acr_snapshot_entry(build->index->snapshot, i);
        if (entry->mode != ACR_MODE_LINK && g_str_has_suffix(entry->path, ".py") &&
            acr_index_is_test_path(entry->path) && strchr(entry->path, '/'))
            g_hash_table_insert(tests, module_of_path(entry->path), GSIZE_TO_POINTER(i + 1));
    }
    for (guint from = 0, n = build->files->len; from < n; from = n, n = build->files->len) {
        for (guint number = from; number < n && g_hash_table_size(tests) > 0; number++)
            take_imports(build, tests, number);
        look_up_files(build, n);
        if (!outline_rest(build, error))
            return false;
    }
    g_array_sort(build->files, compare_pending);
    return true;
}

/* ---- Decoding -----------------------------------------------------------------------------------
 */

/* Adds a file's symbols. Rows from the cache are checked like rows from an outliner: a file with
 * malformed rows gets no symbols. */
static void add_indexed_file(Build *build, Pending *pending)
{
    AcrIndex *index = build->index;
    AcrIndexFile file = {.path = path_of_pending(build, pending),
                         .entry = pending->entry,
                         .first_symbol = index->symbols->len,
                         .missing = pending->missing,
                         .failed = pending->failed};
    g_autoptr(GError) why = NULL;
    if (pending->rows) {
        gsize len;
        char *rows = g_bytes_unref_to_data(g_steal_pointer(&pending->rows), &len);
        len = acr_index_words_split(rows, len, &file);
        if (!acr_index_add_rows(index, index->files->len, rows, len, &file.unparsed, &why)) {
            file.unparsed = g_string_chunk_insert(index->strings, why->message);
            file.n_words = 0;
        }
    } else {
        file.unparsed = g_string_chunk_insert(index->strings, pending->unparsed);
    }
    file.n_symbols = index->symbols->len - file.first_symbol;
    index->stats.unparsed += file.unparsed != NULL;
    g_array_append_val(index->files, file);
}

/* Reserves room for all symbols in advance, in large pages if possible, because page faults took
 * a third of the decoding time. Reserved room that is not used takes no memory. */
static void reserve(GArray *symbols, gsize n)
{
    g_array_set_size(symbols, (guint)MIN(n, MAX_RESERVED));
    guintptr skipped = -(guintptr)symbols->data % LARGE_PAGE, len = n * sizeof(AcrSymbol);
    if (symbols->len == n && len > skipped)
        (void)madvise(symbols->data + skipped, len - skipped, MADV_HUGEPAGE);
    g_array_set_size(symbols, 0);
}

static void add_indexed_files(Build *build)
{
    reserve(build->index->symbols, (gsize)build->files->len * SYMBOLS_PER_FILE);
    for (guint i = 0; i < build->files->len; i++) {
        Pending *pending = &g_array_index(build->files, Pending, i);
        add_indexed_file(build, pending);
        clear_pending(pending);
    }
}

static gint64 lap_ms(gint64 *since)
{
    gint64 now = g_get_monotonic_time(), took = now - *since;
    *since = now;
    return took / 1000;
}

AcrIndex *acr_index_build(AcrSnapshot *snapshot, const AcrIndexOptions *options, GError **error)
{
    g_autoptr(AcrIndex) index = acr_index_new_empty(snapshot);
    g_autoptr(GArray) files = g_array_new(FALSE, FALSE, sizeof(Pending)),
                      todo = g_array_new(FALSE, FALSE, sizeof(guint));
    gint64 today = g_get_real_time() / G_TIME_SPAN_DAY;
    g_autofree char *failed_version =
        g_strdup_printf("%s!%" G_GINT64_FORMAT, options->outliner->version, today);
    Build build = {index, options, files, todo, failed_version};
    gint64 clock = g_get_monotonic_time();

    g_array_set_clear_func(files, clear_pending);
    list_indexed_files(&build);
    look_up_files(&build, 0);
    index->stats.cache_ms = lap_ms(&clock);
    if (acr_interrupted(options->interrupt))
        return ACR_NULL(acr_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_INTERRUPTED,
                                      "interrupted while indexing"));
    if (!outline_rest(&build, error) || !outline_imported(&build, error))
        return NULL;
    index->stats.outline_ms = lap_ms(&clock);
    add_indexed_files(&build);
    acr_index_freeze(index);
    index->stats.decode_ms = lap_ms(&clock);
    index->stats.files = index->files->len;
    index->stats.symbols = index->symbols->len;
    acr_trace("index",
              "%u files, %u of them not in the cache: cache %d ms, outlines %d ms, tables %d ms",
              (guint)index->stats.files, todo->len, (int)index->stats.cache_ms,
              (int)index->stats.outline_ms, (int)index->stats.decode_ms);
    return g_steal_pointer(&index);
}
