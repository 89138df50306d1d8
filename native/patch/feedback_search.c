/*
 * Where the code was probably meant to be that an edit quotes: regions of the file that it names,
 * and of the other files. One pass over all Python files counts how many lines of each quote a file
 * has (a table of line hashes), and only the files with most of them are compared by similarity.
 */
#include <string.h>

#include "patch/feedback_private.h"

#define SAME 0.98 /* where a region of the file named is as alike as this, no other is searched */
#define MAX_SEARCHED_BYTES (96u * 1024 * 1024)
#define MAX_COMPARED 8u /* files, for each quote */
#define MIN_CORE 4u     /* shorter lines say nothing about a file */
#define MAX_QUOTE_LINES 4096u

/* A line of a quote in the table. */
typedef struct {
    guint64 hash;
    guint quote;
    guint seen_in; /* number of the file, from 1, in which it was last seen */
    gint next;     /* entry in the same slot, or -1 */
} Entry;

typedef struct {
    gsize entry; /* in the snapshot */
    guint lines; /* of the quote that it has */
} Candidate;

typedef struct {
    GArray *entries; /* of Entry */
    gint *slot;      /* owned; first entry or -1 */
    guint64 mask;
    guint *lines;        /* owned; of each quote that are in the table */
    guint *hits;         /* owned; of each quote in the file at hand */
    GArray **candidates; /* owned; of each quote: of Candidate, most lines first */
    gsize n;
} Search;

static guint64 hash_core(const char *s, gsize len)
{
    guint64 hash = 0xcbf29ce484222325u;
    for (gsize i = 0; i < len; i++)
        hash = (hash ^ (guchar)s[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static void add_quote(Search *search, guint number, const AcrLines *quote)
{
    for (gsize j = 0; j < MIN(quote->n, MAX_QUOTE_LINES); j++) {
        const AcrLine *line = &quote->line[j];
        if (line->core < MIN_CORE)
            continue;
        Entry entry = {hash_core(line->s + line->lead, line->core), number, 0, -1};
        g_array_append_val(search->entries, entry);
        search->lines[number]++;
    }
}

static void search_init(Search *search, const AcrLines *const *quotes, gsize n)
{
    *search = (Search){.entries = g_array_new(FALSE, FALSE, sizeof(Entry)), .n = n};
    search->lines = g_new0(guint, n + 1);
    search->hits = g_new0(guint, n + 1);
    search->candidates = g_new0(GArray *, n + 1);
    for (gsize i = 0; i < n; i++) {
        search->candidates[i] = g_array_new(FALSE, FALSE, sizeof(Candidate));
        if (quotes[i])
            add_quote(search, (guint)i, quotes[i]);
    }
    gsize slots = 256;
    while (slots < 4 * (gsize)search->entries->len)
        slots *= 2;
    search->mask = slots - 1;
    search->slot = g_new(gint, slots);
    memset(search->slot, 0xff, slots * sizeof(gint));
    for (guint i = 0; i < search->entries->len; i++) {
        Entry *entry = &g_array_index(search->entries, Entry, i);
        gint *slot = &search->slot[entry->hash & search->mask];
        entry->next = *slot;
        *slot = (gint)i;
    }
}

static void search_clear(Search *search)
{
    for (gsize i = 0; i < search->n; i++)
        g_array_unref(search->candidates[i]);
    g_free(search->candidates);
    g_free(search->hits);
    g_free(search->lines);
    g_free(search->slot);
    g_array_unref(search->entries);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Search, search_clear)

static void count_line(Search *search, const char *s, gsize len, guint file)
{
    gsize lead = 0;
    while (lead < len && acr_is_blank(s[lead]))
        lead++;
    while (len > lead && (acr_is_blank(s[len - 1]) || s[len - 1] == '\r'))
        len--;
    if (len - lead < MIN_CORE)
        return;
    guint64 hash = hash_core(s + lead, len - lead);
    for (gint i = search->slot[hash & search->mask]; i >= 0;) {
        Entry *entry = &g_array_index(search->entries, Entry, i);
        if (entry->hash == hash && entry->seen_in != file) {
            entry->seen_in = file;
            search->hits[entry->quote]++;
        }
        i = entry->next;
    }
}

static void count_lines(Search *search, GBytes *bytes, guint file)
{
    gsize len = 0;
    const char *data = g_bytes_get_data(bytes, &len);
    for (gsize at = 0; at < len;) {
        const char *end = memchr(data + at, '\n', len - at);
        gsize line = end ? (gsize)(end - data) - at : len - at;
        count_line(search, data + at, line, file);
        at += line + 1;
    }
}

static void keep_candidate(GArray *candidates, Candidate candidate)
{
    guint at = candidates->len;
    while (at > 0 && g_array_index(candidates, Candidate, at - 1).lines < candidate.lines)
        at--;
    g_array_insert_val(candidates, at, candidate);
    if (candidates->len > MAX_COMPARED)
        g_array_set_size(candidates, MAX_COMPARED);
}

static void take_counts(Search *search, gsize entry, const char *path, const char *const *not_in)
{
    for (gsize i = 0; i < search->n; i++) {
        guint hits = search->hits[i];
        search->hits[i] = 0;
        if (hits > 0 && 3 * hits >= search->lines[i] && g_strcmp0(path, not_in[i]) != 0)
            keep_candidate(search->candidates[i], (Candidate){entry, hits});
    }
}

static AcrSource *read_entry(const AcrPatchContext *context, gsize entry)
{
    g_autoptr(GBytes) bytes = acr_snapshot_read(context->snapshot, entry, NULL);
    return bytes ? acr_source_new(acr_snapshot_entry(context->snapshot, entry)->path, bytes) : NULL;
}

static void compare(const AcrPatchContext *context, const GArray *candidates, const AcrLines *quote,
                    AcrElsewhere *out)
{
    for (guint i = 0; i < candidates->len; i++) {
        gsize entry = g_array_index(candidates, Candidate, i).entry;
        g_autoptr(AcrSource) source = read_entry(context, entry);
        if (!source)
            continue;
        g_autoptr(GArray) regions = acr_similar_find(&source->lines, quote, 1);
        if (regions->len == 0 || g_array_index(regions, AcrRegion, 0).score <= out->region.score)
            continue;
        out->region = g_array_index(regions, AcrRegion, 0);
        acr_source_free(out->source);
        out->source = g_steal_pointer(&source);
    }
}

/* For each of `n` quotes the most similar region of any Python file but `not_in[i]` (may be NULL).
 * A quote that is NULL is passed over. */
static void find_elsewhere(const AcrPatchContext *context, const AcrLines *const *quotes,
                           const char *const *not_in, gsize n, AcrElsewhere *out)
{
    g_auto(Search) search = {0};
    gsize searched = 0;
    search_init(&search, quotes, n);
    for (gsize i = 0; search.entries->len > 0 && i < acr_snapshot_size(context->snapshot); i++) {
        const AcrEntry *entry = acr_snapshot_entry(context->snapshot, i);
        if (entry->mode == ACR_MODE_LINK || !g_str_has_suffix(entry->path, ".py"))
            continue;
        g_autoptr(GBytes) bytes = acr_snapshot_read(context->snapshot, i, NULL);
        searched += bytes ? g_bytes_get_size(bytes) : 0;
        if (!bytes || searched > MAX_SEARCHED_BYTES)
            continue;
        count_lines(&search, bytes, (guint)i + 1);
        take_counts(&search, i, entry->path, not_in);
    }
    for (gsize i = 0; i < n; i++)
        if (quotes[i])
            compare(context, search.candidates[i], quotes[i], &out[i]);
}

static bool is_searched(const AcrRefusal *refusal)
{
    AcrEditStatus status = refusal->outcome->status;
    return refusal->edit->original && refusal->outcome->start == 0 &&
           (status == ACR_EDIT_UNMATCHED || status == ACR_EDIT_NO_FILE);
}

void acr_refusals_search(const AcrPatchContext *context, AcrRefusal *refusals, gsize n)
{
    g_autofree const AcrLines **quotes = g_new0(const AcrLines *, n + 1);
    g_autofree const char **not_in = g_new0(const char *, n + 1);
    g_autofree AcrElsewhere *found = g_new0(AcrElsewhere, n + 1);
    for (gsize i = 0; i < n; i++) {
        AcrRefusal *refusal = &refusals[i];
        if (!is_searched(refusal))
            continue;
        acr_lines_of_quote(refusal->edit->original, &refusal->quote);
        quotes[i] = &refusal->quote;
        if (!refusal->source)
            continue;
        not_in[i] = refusal->source->path;
        refusal->regions = acr_similar_find(&refusal->source->lines, &refusal->quote, 2);
        if (refusal->regions->len > 0 &&
            g_array_index(refusal->regions, AcrRegion, 0).score >= SAME)
            quotes[i] = NULL;
    }
    find_elsewhere(context, quotes, not_in, n, found);
    for (gsize i = 0; i < n; i++)
        refusals[i].elsewhere = found[i];
}

void acr_refusal_clear(AcrRefusal *refusal)
{
    acr_lines_clear(&refusal->quote);
    g_clear_pointer(&refusal->regions, g_array_unref);
    g_clear_pointer(&refusal->elsewhere.source, acr_source_free);
}
