/* Searches for the code that an edit probably means, in the file that the edit names and in other
 * files. One pass over all Python files counts, with a table of line hashes, how many lines of each
 * quote a file contains. Only the files with the most lines are then compared by similarity. */
#include <string.h>

#include "patch/feedback_private.h"

/* other files are searched only if no region of the edit's file is at least this similar */
#define SAME 0.98
#define MAX_SEARCHED_BYTES (96u * 1024 * 1024)
#define MAX_COMPARED 8u /* maximum number of files compared for each quote */
/* lines with fewer characters are ignored, because they occur in every file */
#define MIN_CORE 4u
#define MAX_QUOTE_LINES 4096u

typedef struct {
    gsize entry; /* the file's number in the snapshot */
    guint lines; /* number of lines of the quote that the file contains */
} Candidate;

/* A quote that is searched for in other files. */
typedef struct {
    AcrRefusal *refusal; /* borrowed */
    guint lines;         /* number of lines of the quote that are in the table of lines */
    guint hits;          /* number of the quote's lines that the current file contains */
    GArray *candidates;  /* owned array of Candidate; the file with the most lines comes first */
} Quote;

/* An entry of the table of lines; the key is the line's hash. */
typedef struct {
    GArray *quotes; /* owned array of guint: numbers of the quotes that contain the line */
    gsize seen_in;  /* number, from 1, of the last file that contained the line */
} Seen;

static void quote_clear(gpointer data)
{
    g_array_unref(((Quote *)data)->candidates);
}

static void seen_free(gpointer data)
{
    g_array_unref(((Seen *)data)->quotes);
    g_free(data);
}

static guint hash_core(gconstpointer key)
{
    const AcrLine *line = key;
    guint hash = 5381;
    for (gsize i = 0; i < line->core; i++)
        hash = hash * 33 + (guchar)line->s[line->lead + i];
    return hash;
}

static gboolean same_core(gconstpointer a, gconstpointer b)
{
    return acr_line_same_core(a, b);
}

static void add_quote(GHashTable *table, GArray *quotes, AcrRefusal *refusal)
{
    Quote quote = {refusal, 0, 0, g_array_new(FALSE, FALSE, sizeof(Candidate))};
    for (gsize j = 0; j < MIN(refusal->quote.n, MAX_QUOTE_LINES); j++) {
        AcrLine *line = &refusal->quote.line[j];
        Seen *seen = g_hash_table_lookup(table, line);
        if (line->core < MIN_CORE)
            continue;
        if (!seen) {
            seen = g_new0(Seen, 1);
            seen->quotes = g_array_new(FALSE, FALSE, sizeof(guint));
            g_hash_table_insert(table, line, seen);
        }
        g_array_append_val(seen->quotes, quotes->len);
        quote.lines++;
    }
    g_array_append_val(quotes, quote);
}

static void count_lines(GHashTable *table, GArray *quotes, GBytes *bytes, gsize file)
{
    gsize len = 0;
    const char *data = g_bytes_get_data(bytes, &len);
    for (gsize at = 0; at < len;) {
        const char *end = memchr(data + at, '\n', len - at);
        gsize n = end ? (gsize)(end - data) - at : len - at;
        bool cr = n > 0 && data[at + n - 1] == '\r';
        AcrLine line = acr_line_make(data + at, n - cr, n);
        Seen *seen = line.core < MIN_CORE ? NULL : g_hash_table_lookup(table, &line);
        for (guint i = 0; seen && seen->seen_in != file && i < seen->quotes->len; i++)
            g_array_index(quotes, Quote, g_array_index(seen->quotes, guint, i)).hits++;
        if (seen)
            seen->seen_in = file;
        at += n + 1;
    }
}

static void keep_candidate(GArray *candidates, Candidate candidate)
{
    guint at = candidates->len;
    while (at > 0 && g_array_index(candidates, Candidate, at - 1).lines < candidate.lines)
        at--;
    g_array_insert_val(candidates, at, candidate);
    g_array_set_size(candidates, MIN(candidates->len, MAX_COMPARED));
}

/* Makes the file a candidate for each quote if it contains a third of the quote's lines. */
static void take_counts(GArray *quotes, gsize entry, const char *path)
{
    for (guint i = 0; i < quotes->len; i++) {
        Quote *quote = &g_array_index(quotes, Quote, i);
        const AcrSource *named = quote->refusal->source;
        guint hits = quote->hits;
        quote->hits = 0;
        if (hits > 0 && 3 * hits >= quote->lines && !(named && strcmp(path, named->path) == 0))
            keep_candidate(quote->candidates, (Candidate){entry, hits});
    }
}

static void find_candidates(const AcrPatchContext *context, GHashTable *table, GArray *quotes)
{
    gsize searched = 0;
    for (gsize i = 0; quotes->len > 0 && i < acr_snapshot_size(context->snapshot); i++) {
        const AcrEntry *entry = acr_snapshot_entry(context->snapshot, i);
        if (entry->mode == ACR_MODE_LINK || !g_str_has_suffix(entry->path, ".py"))
            continue;
        g_autoptr(GBytes) bytes = acr_snapshot_read(context->snapshot, i, NULL);
        searched += bytes ? g_bytes_get_size(bytes) : 0;
        if (!bytes || searched > MAX_SEARCHED_BYTES)
            continue;
        count_lines(table, quotes, bytes, i + 1);
        take_counts(quotes, i, entry->path);
    }
}

static void compare(const AcrPatchContext *context, const Quote *quote)
{
    AcrElsewhere *out = &quote->refusal->elsewhere;
    for (guint i = 0; i < quote->candidates->len; i++) {
        gsize entry = g_array_index(quote->candidates, Candidate, i).entry;
        g_autoptr(GBytes) bytes = acr_snapshot_read(context->snapshot, entry, NULL);
        if (!bytes)
            continue;
        g_autoptr(AcrSource) source =
            acr_source_new(acr_snapshot_entry(context->snapshot, entry)->path, bytes);
        g_autoptr(GArray) regions = acr_similar_find(&source->lines, &quote->refusal->quote, 1);
        if (regions->len == 0 || g_array_index(regions, AcrRegion, 0).score <= out->region.score)
            continue;
        out->region = g_array_index(regions, AcrRegion, 0);
        acr_source_free(out->source);
        out->source = g_steal_pointer(&source);
    }
}

static bool is_searched(const AcrRefusal *refusal)
{
    AcrEditStatus status = refusal->outcome->status;
    return refusal->edit->original && refusal->outcome->start == 0 &&
           (status == ACR_EDIT_UNMATCHED || status == ACR_EDIT_NO_FILE);
}

void acr_refusals_search(const AcrPatchContext *context, AcrRefusal *refusals, gsize n)
{
    g_autoptr(GHashTable) table = g_hash_table_new_full(hash_core, same_core, NULL, seen_free);
    g_autoptr(GArray) quotes = g_array_new(FALSE, FALSE, sizeof(Quote));
    g_array_set_clear_func(quotes, quote_clear);
    for (gsize i = 0; i < n; i++) {
        AcrRefusal *refusal = &refusals[i];
        double best = 0;
        if (!is_searched(refusal))
            continue;
        acr_lines_of_quote(refusal->edit->original, &refusal->quote);
        if (refusal->source)
            refusal->regions = acr_similar_find(&refusal->source->lines, &refusal->quote, 2);
        if (refusal->regions && refusal->regions->len > 0)
            best = g_array_index(refusal->regions, AcrRegion, 0).score;
        if (best < SAME)
            add_quote(table, quotes, refusal);
    }
    find_candidates(context, table, quotes);
    for (guint i = 0; i < quotes->len; i++)
        compare(context, &g_array_index(quotes, Quote, i));
}

void acr_refusal_clear(AcrRefusal *refusal)
{
    acr_lines_clear(&refusal->quote);
    g_clear_pointer(&refusal->regions, g_array_unref);
    g_clear_pointer(&refusal->elsewhere.source, acr_source_free);
}
