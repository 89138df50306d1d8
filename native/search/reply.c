/* Builds an answer from notes and hits. acr_reply_finish sorts the hits by (rank, file, line),
 * shows the first ACR_RESULT_SHOW_LIMIT hits in full, each within its share of
 * ACR_SEARCH_MAX_OUTPUT, and lists the rest. */
#include "search/reply_private.h"

/* number of bytes reserved for the list of hits that are not shown in full */
#define LIST_RESERVE (16u * 1024)
#define NOTES_MAX (8u * 1024)
/* maximum size in bytes of the text after the results; a part of LIST_RESERVE */
#define TAIL_MAX (8u * 1024)

void acr_reply_init(AcrReply *reply, AcrSearch *search)
{
    *reply = (AcrReply){
        .search = search,
        .matches = search->mode.lines || search->mode.matches
                       ? g_array_new(FALSE, FALSE, sizeof(AcrMatch))
                       : NULL,
        .hits = g_array_new(FALSE, FALSE, sizeof(AcrHit)),
        .notes = g_string_new(NULL),
        .tail = g_string_new(NULL),
        .strings = g_string_chunk_new(256),
    };
}

void acr_reply_clear(AcrReply *reply)
{
    g_clear_pointer(&reply->hits, g_array_unref);
    g_clear_pointer(&reply->matches, g_array_unref);
    g_clear_pointer(&reply->strings, g_string_chunk_free);
    if (reply->notes)
        g_string_free(reply->notes, TRUE);
    reply->notes = NULL;
    if (reply->tail)
        g_string_free(reply->tail, TRUE);
    reply->tail = NULL;
}

void acr_reply_note(AcrReply *reply, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_string_append_vprintf(reply->notes, format, args);
    va_end(args);
    g_string_append_c(reply->notes, '\n');
}

bool acr_reply_add(AcrReply *reply, const AcrHit *hit)
{
    if (reply->hits->len >= ACR_SEARCH_MAX_HITS) {
        reply->overfull = true;
        return false;
    }
    g_array_append_val(reply->hits, *hit);
    return true;
}

void acr_reply_add_line(AcrReply *reply, gsize entry, guint32 line, gsize column)
{
    AcrMatch match = {.entry = entry, .line = line, .column = (guint32)MIN(column, G_MAXUINT32)};
    if (reply->matches)
        g_array_append_val(reply->matches, match);
}

void acr_reply_add_symbol(AcrReply *reply, guint32 id, AcrView view, guint32 rank)
{
    const AcrIndex *index = reply->search->index;
    const AcrSymbol *symbol = acr_index_symbol(index, id);
    if (symbol->kind == ACR_SYMBOL_ASSIGN || symbol->kind == ACR_SYMBOL_IMPORT)
        view = reply->search->mode.lines ? ACR_VIEW_WHOLE : ACR_VIEW_AROUND;
    else if (symbol->kind != ACR_SYMBOL_CLASS && view == ACR_VIEW_SIGNATURES)
        view = ACR_VIEW_WHOLE;
    AcrHit hit = {
        .entry = acr_index_file(index, symbol->file)->entry,
        .rank = rank,
        .start = symbol->first,
        .end = symbol->last,
        .symbol = (gint32)id,
        .count = 1,
        .view = view,
        .klass = acr_index_class_of(index, id),
        .func = acr_index_func_of(index, id),
    };
    acr_reply_add(reply, &hit);
}

void acr_reply_add_symbols(AcrReply *reply, const GArray *ids, AcrView view)
{
    for (guint i = 0; i < ids->len; i++)
        acr_reply_add_symbol(reply, g_array_index(ids, guint32, i), view, 0);
}

static int compare_hits(const void *left, const void *right)
{
    const AcrHit *a = left, *b = right;
    int order = acr_order(a->rank, b->rank);
    order = order ? order : acr_order(a->entry, b->entry);
    order = order ? order : acr_order(a->start, b->start);
    order = order ? order : acr_order(a->end, b->end);
    return order ? order : a->symbol < b->symbol ? -1 : a->symbol > b->symbol;
}

void acr_reply_sort(AcrReply *reply)
{
    GArray *hits = reply->hits;
    g_array_sort(hits, compare_hits);
    guint kept = 0;
    for (guint i = 0; i < hits->len; i++) {
        const AcrHit *hit = &g_array_index(hits, AcrHit, i);
        const AcrHit *last = kept ? &g_array_index(hits, AcrHit, kept - 1) : NULL;
        if (last && last->entry == hit->entry && last->start == hit->start &&
            last->end == hit->end && g_strcmp0(last->func, hit->func) == 0 &&
            g_strcmp0(last->klass, hit->klass) == 0)
            continue;
        g_array_index(hits, AcrHit, kept) = *hit;
        kept++;
    }
    g_array_set_size(hits, kept);
}

bool acr_reply_show(const AcrReply *reply, const AcrHit *hit, gsize budget, GString *out,
                    GError **error)
{
    AcrContent *content;
    if (!acr_search_content(reply->search, hit->entry, &content, error))
        return false;
    const char *path = acr_search_path(reply->search, hit->entry);
    acr_render_heading(out, path, hit->klass, hit->func, "\n");
    g_string_append(out, "\n<code>\n");
    if (content) {
        g_autoptr(GArray) lines = acr_render_lines_of(reply, hit, content);
        acr_render_lines(out, content, lines, budget, path);
    }
    g_string_append(out, "</code>\n");
    return true;
}

static gsize room(const AcrReply *reply)
{
    return ACR_SEARCH_MAX_OUTPUT - MIN(reply->tail->len, TAIL_MAX);
}

/* Returns one AcrHit for each file of the hits from `from` on, with the sum of their counts, in
 * order; owned. */
static GArray *counts_by_file(const AcrReply *reply, guint from)
{
    GArray *files = g_array_new(FALSE, FALSE, sizeof(AcrHit));
    g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (guint i = from; i < reply->hits->len; i++) {
        const AcrHit *hit = &g_array_index(reply->hits, AcrHit, i);
        void *at = g_hash_table_lookup(seen, GSIZE_TO_POINTER(hit->entry));
        if (at) {
            g_array_index(files, AcrHit, GPOINTER_TO_UINT(at) - 1).count += hit->count;
            continue;
        }
        g_array_append_val(files, *hit);
        g_hash_table_insert(seen, GSIZE_TO_POINTER(hit->entry), GUINT_TO_POINTER(files->len));
    }
    return files;
}

/* Lists each file of the hits from `from` on, with the number of its hits. */
static void list_reply_files(const AcrReply *reply, guint from, GString *out)
{
    g_autoptr(GArray) files = counts_by_file(reply, from);
    guint i = 0, rest = 0;
    for (; i < MIN(files->len, ACR_SEARCH_LISTED_FILES) && out->len < room(reply) - 2048; i++) {
        const AcrHit *file = &g_array_index(files, AcrHit, i);
        acr_render_heading(out, acr_search_path(reply->search, file->entry), NULL, NULL, "");
        g_string_append_printf(out, " %u\n", file->count);
    }
    for (; i < files->len; i++)
        rest += g_array_index(files, AcrHit, i).count;
    if (rest)
        g_string_append_printf(out, "… and %u more in further files.\n", rest);
}

static void list_methods(const AcrReply *reply, guint from, GString *out)
{
    const GArray *hits = reply->hits;
    guint end = MIN(hits->len, from + ACR_SEARCH_LISTED_METHODS);
    for (guint i = from; i < end && out->len < room(reply) - LIST_RESERVE / 2; i++) {
        const AcrHit *hit = &g_array_index(hits, AcrHit, i);
        acr_render_heading(out, acr_search_path(reply->search, hit->entry), hit->klass, hit->func,
                           " ");
        g_string_append_printf(out, " line %u\n", hit->start);
    }
    if (end < hits->len) {
        g_string_append(out, "Further places, counted for each file:\n");
        list_reply_files(reply, end, out);
    }
}

static guint total_count(const GArray *hits)
{
    guint total = 0;
    for (guint i = 0; i < hits->len; i++)
        total += g_array_index(hits, AcrHit, i).count;
    return total;
}

static GPtrArray *places_of(const AcrReply *reply)
{
    GPtrArray *places = g_ptr_array_new_with_free_func((GDestroyNotify)acr_place_free);
    for (guint i = 0; i < reply->hits->len && places->len < ACR_SEARCH_MAX_PLACES; i++) {
        const AcrHit *hit = &g_array_index(reply->hits, AcrHit, i);
        if (hit->start == ACR_HIT_COUNT_ONLY)
            continue;
        const char *path = acr_search_path(reply->search, hit->entry);
        g_ptr_array_add(places, acr_place_new(path, hit->start, hit->end, hit->klass, hit->func));
    }
    return places;
}

/* Appends the first `shown` hits. If a hit needs fewer bytes than its share, the following hits can
 * use the rest. */
static bool show_hits(const AcrReply *reply, guint shown, GString *out, GError **error)
{
    gsize limit = room(reply) - (reply->hits->len > shown ? LIST_RESERVE : 4096);
    for (guint i = 0; i < shown; i++) {
        const AcrHit *hit = &g_array_index(reply->hits, AcrHit, i);
        gsize left = limit > out->len ? limit - out->len : 0;
        gsize share = left / (shown - i);
        if (!acr_reply_show(reply, hit, share > 1024 ? share - 1024 : 0, out, error))
            return false;
        g_string_append_c(out, '\n');
    }
    return true;
}

static void append_tail(const AcrReply *reply, GString *text)
{
    if (reply->tail->len == 0)
        return;
    g_string_append_c(text, '\n');
    g_string_append_len(text, reply->tail->str, (gssize)MIN(reply->tail->len, TAIL_MAX));
}

/* Sets the output to `text`, shortened to ACR_SEARCH_MAX_OUTPUT, because names and paths may have
 * any length. */
static void set_output(AcrAnswer *out, bool ok, const GString *text)
{
    g_autofree char *valid = acr_utf8_repair(text->str, text->len);
    out->ok = ok;
    out->output = acr_text_shorten(valid, ACR_SEARCH_MAX_OUTPUT);
}

bool acr_reply_finish(AcrReply *reply, const char *one, const char *many, AcrCollapse collapse,
                      AcrAnswer *out, GError **error)
{
    acr_reply_sort(reply);
    guint n = reply->hits->len, shown = MIN(n, ACR_RESULT_SHOW_LIMIT),
          total = total_count(reply->hits);
    g_autoptr(GString) text =
        g_string_new_len(reply->notes->str, (gssize)MIN(reply->notes->len, NOTES_MAX));
    g_string_append_printf(text, "Found %s%u %s:\n\n", reply->overfull ? "at least " : "", total,
                           total == 1 ? one : many);
    if (!show_hits(reply, shown, text, error))
        return false;
    if (n > shown) {
        g_string_append(text, "The others, not shown in full:\n");
        if (collapse == ACR_COLLAPSE_METHODS)
            list_methods(reply, shown, text);
        else
            list_reply_files(reply, shown, text);
    }
    while (g_str_has_suffix(text->str, "\n\n"))
        g_string_truncate(text, text->len - 1);
    append_tail(reply, text);
    set_output(out, true, text);
    out->places = places_of(reply);
    return !reply->matches || acr_reply_take_lines(reply, out, error);
}

void acr_reply_miss(AcrReply *reply, char *text, AcrAnswer *out)
{
    g_autoptr(GString) all =
        g_string_new_len(reply->notes->str, (gssize)MIN(reply->notes->len, NOTES_MAX));
    g_string_append(all, text);
    g_free(text);
    set_output(out, false, all);
    out->places = g_ptr_array_new_with_free_func((GDestroyNotify)acr_place_free);
}
