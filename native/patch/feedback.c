/*
 * The message for the next try, made from real code: what was refused and why, the code that was
 * probably meant as it stands in the file, with its line numbers beside it, and where a symbol
 * lives if it is elsewhere.
 *
 * Code is shown unchanged between fences, so that it can be copied as it is; line numbers stand in
 * the heading.
 */
#include <string.h>

#include "patch/patch_private.h"

#define MAX_SHOWN_LINES 80u
#define MAX_SHOWN_LINE 500u
#define MAX_SHOWN_PLACES 4u
#define MAX_SYMBOLS 4u
#define AROUND 3u
#define SHOW_MIN 0.4  /* a region less alike than this is no help */
#define FOUND_MIN 0.8 /* one as alike as this needs no search elsewhere */
#define MAX_SEARCHED_BYTES (96u * 1024 * 1024)
#define MAX_COMPARED_FILES 12u

void acr_feedback_code(GString *message, const AcrSource *source, gsize first, gsize last)
{
    const AcrLines *lines = &source->lines;
    last = MIN(last, lines->n);
    if (first >= last || message->len > ACR_PATCH_MAX_MESSAGE)
        return;
    gsize end = MIN(last, first + MAX_SHOWN_LINES);
    g_string_append_printf(message, "%s, lines %" G_GSIZE_FORMAT "-%" G_GSIZE_FORMAT ":\n```\n",
                           source->path, first + 1, end);
    for (gsize i = first; i < end; i++) {
        const AcrLine *line = &lines->line[i];
        g_autofree char *all = g_strndup(line->s, line->len);
        g_autofree char *some = acr_text_shorten(all, MAX_SHOWN_LINE);
        g_string_append_printf(message, "%s\n", some);
    }
    g_string_append(message, "```\n");
    if (end < last)
        g_string_append_printf(message, "(%" G_GSIZE_FORMAT " more lines)\n", last - end);
}

static void show_quoted(GString *message, const char *label, const AcrLine *line)
{
    gsize len = MIN(line->len, 200u);
    while (len < line->len && len > 0 && ((guchar)line->s[len] & 0xc0) == 0x80)
        len--;
    g_string_append_printf(message, "  %s |%.*s\n", label, (int)len, line->s);
}

/* The first lines in which the quote and the region differ. */
static void show_difference(GString *message, const AcrSource *source, const AcrLines *quote,
                            const AcrRegion *region)
{
    g_autofree gssize *map = acr_similar_map(&source->lines, quote, region);
    guint shown = 0;
    for (gsize j = 0; j < quote->n && shown < 3; j++) {
        if (acr_line_is_blank(&quote->line[j]))
            continue;
        if (map[j] >= 0 && acr_line_same_core(&quote->line[j], &source->lines.line[map[j]]))
            continue;
        if (shown++ == 0)
            g_string_append(message, "What differs:\n");
        show_quoted(message, "quoted", &quote->line[j]);
        if (map[j] >= 0)
            show_quoted(message, "file  ", &source->lines.line[map[j]]);
        else
            g_string_append(message, "  file   (has no such line)\n");
    }
}

typedef struct {
    const char *path; /* borrowed from the snapshot */
    AcrRegion region;
} Elsewhere;

static AcrSource *read_entry(const AcrPatchContext *context, gsize entry)
{
    g_autoptr(GBytes) bytes = acr_snapshot_read(context->snapshot, entry, NULL);
    return bytes ? acr_source_new(acr_snapshot_entry(context->snapshot, entry)->path, bytes) : NULL;
}

/* The two longest lines of the quote: a file that holds neither is not compared. */
static void longest_lines(const AcrLines *quote, const AcrLine *out[2])
{
    out[0] = out[1] = NULL;
    for (gsize j = 0; j < quote->n; j++) {
        const AcrLine *line = &quote->line[j];
        if (!out[0] || line->core > out[0]->core) {
            out[1] = out[0];
            out[0] = line;
        } else if (!out[1] || line->core > out[1]->core) {
            out[1] = line;
        }
    }
}

static bool holds_line(GBytes *bytes, const AcrLine *const lines[2])
{
    gsize len = 0;
    const void *data = g_bytes_get_data(bytes, &len);
    for (int i = 0; data && i < 2; i++)
        if (lines[i] && lines[i]->core >= 8 &&
            memmem(data, len, lines[i]->s + lines[i]->lead, lines[i]->core))
            return true;
    return false;
}

/* The region most like the quote in any other Python file that holds one of its longest lines. */
static bool search_elsewhere(const AcrPatchContext *context, const char *not_in,
                             const AcrLines *quote, Elsewhere *out)
{
    const AcrLine *longest[2];
    gsize searched = 0, compared = 0;
    longest_lines(quote, longest);
    *out = (Elsewhere){0};
    for (gsize i = 0; i < acr_snapshot_size(context->snapshot) && searched < MAX_SEARCHED_BYTES &&
                      compared < MAX_COMPARED_FILES;
         i++) {
        const AcrEntry *entry = acr_snapshot_entry(context->snapshot, i);
        if (entry->mode == ACR_MODE_LINK || !g_str_has_suffix(entry->path, ".py") ||
            g_strcmp0(entry->path, not_in) == 0)
            continue;
        g_autoptr(GBytes) bytes = acr_snapshot_read(context->snapshot, i, NULL);
        searched += bytes ? g_bytes_get_size(bytes) : 0;
        if (!bytes || !holds_line(bytes, longest))
            continue;
        compared++;
        g_autoptr(AcrSource) source = acr_source_new(entry->path, bytes);
        g_autoptr(GArray) regions = acr_similar_find(&source->lines, quote, 1);
        if (regions->len > 0 && g_array_index(regions, AcrRegion, 0).score > out->region.score)
            *out = (Elsewhere){entry->path, g_array_index(regions, AcrRegion, 0)};
    }
    return out->region.score >= SHOW_MIN;
}

static bool show_elsewhere(GString *message, const AcrPatchContext *context, const char *not_in,
                           const AcrLines *quote, double more_than)
{
    Elsewhere found;
    if (!search_elsewhere(context, not_in, quote, &found) || found.region.score <= more_than)
        return false;
    gssize entry = acr_snapshot_find(context->snapshot, found.path);
    g_autoptr(AcrSource) source = entry < 0 ? NULL : read_entry(context, (gsize)entry);
    if (!source)
        return false;
    g_string_append_printf(message, "Code like it is in another file, %s (%d %% alike):\n",
                           found.path, (int)(found.region.score * 100));
    acr_feedback_code(message, source, found.region.first, found.region.last);
    return true;
}

/* The name that a `def` or `class` line defines; owned, or NULL. */
static char *defined_name(const AcrLine *line)
{
    const char *s = line->s + line->lead, *end = s + line->core;
    if (g_str_has_prefix(s, "async "))
        s += strlen("async ");
    if (!g_str_has_prefix(s, "def ") && !g_str_has_prefix(s, "class "))
        return NULL;
    s = strchr(s, ' ');
    while (s < end && *s == ' ')
        s++;
    const char *to = s;
    while (to < end && (g_ascii_isalnum(*to) || *to == '_' || (guchar)*to >= 0x80))
        to++;
    return s < to ? g_strndup(s, (gsize)(to - s)) : NULL;
}

static void show_symbol(GString *message, const AcrIndex *index, const char *name)
{
    static const AcrSymbolKind kinds[] = {ACR_SYMBOL_CLASS, ACR_SYMBOL_FUNCTION, ACR_SYMBOL_METHOD};
    guint shown = 0;
    for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++) {
        gsize n = 0;
        const guint32 *ids = acr_index_lookup(index, kinds[k], name, &n);
        for (gsize i = 0; i < n && shown < MAX_SYMBOLS; i++, shown++) {
            const AcrSymbol *symbol = acr_index_symbol(index, ids[i]);
            g_string_append_printf(message, "%s is defined in %s, lines %u-%u.\n", symbol->qualname,
                                   acr_index_file(index, symbol->file)->path, symbol->first,
                                   symbol->last);
        }
    }
    if (shown == 0)
        g_string_append_printf(
            message, "No class, function or method named %s exists in the repository.\n", name);
}

static void show_symbols(GString *message, const AcrPatchContext *context, const AcrLines *quote)
{
    guint n = 0;
    for (gsize j = 0; context->index && j < quote->n && n < MAX_SYMBOLS; j++) {
        g_autofree char *name = defined_name(&quote->line[j]);
        if (name) {
            show_symbol(message, context->index, name);
            n++;
        }
    }
}

static void show_places(GString *message, const AcrSource *source, const GArray *places)
{
    g_string_append(message, "Quote more of the lines around it, so that the quote stands once, or "
                             "say in which class and method "
                             "it is. The places:\n");
    for (guint i = 0; i < places->len && i < MAX_SHOWN_PLACES; i++) {
        const AcrPlace *place = &g_array_index(places, AcrPlace, i);
        acr_feedback_code(message, source, place->first > AROUND ? place->first - AROUND : 0,
                          place->last + AROUND);
    }
}

/* The regions of the file most like the quote; returns the score of the best. */
static double show_closest(GString *message, const AcrSource *source, const AcrLines *quote)
{
    g_autoptr(GArray) regions = acr_similar_find(&source->lines, quote, 2);
    if (regions->len == 0 || g_array_index(regions, AcrRegion, 0).score < SHOW_MIN)
        return 0;
    AcrRegion best = g_array_index(regions, AcrRegion, 0);
    g_string_append_printf(message, "The closest code in that file is this (%d %% alike). ",
                           (int)(best.score * 100));
    acr_feedback_code(message, source, best.first, best.last);
    show_difference(message, source, quote, &best);
    if (regions->len > 1 && g_array_index(regions, AcrRegion, 1).score >= FOUND_MIN) {
        AcrRegion next = g_array_index(regions, AcrRegion, 1);
        g_string_append(message, "Nearly as close is this. ");
        acr_feedback_code(message, source, next.first, next.last);
    }
    return best.score;
}

static void show_missing(GString *message, const AcrPatchContext *context,
                         const AcrRefusal *refusal)
{
    g_auto(AcrLines) quote = {0};
    acr_lines_of_quote(refusal->edit->original, &quote);
    double best = refusal->source ? show_closest(message, refusal->source, &quote) : 0;
    const char *here = refusal->source ? refusal->source->path : NULL;
    bool elsewhere = best < FOUND_MIN && show_elsewhere(message, context, here, &quote, best);
    if (best < FOUND_MIN)
        show_symbols(message, context, &quote);
    if (best == 0 && !elsewhere)
        g_string_append(message, "No code like it was found in the repository.\n");
}

void acr_feedback_edit(GString *message, const AcrPatchContext *context, guint number,
                       const AcrRefusal *refusal)
{
    const AcrEditOutcome *outcome = refusal->outcome;
    g_string_append_printf(message, "\nEdit %u (%s): %s.\n", number,
                           outcome->file ? outcome->file : "no file named",
                           outcome->why ? outcome->why : acr_edit_status_name(outcome->status));
    if (message->len > ACR_PATCH_MAX_MESSAGE || !refusal->edit->original)
        return;
    if (outcome->status == ACR_EDIT_AMBIGUOUS && refusal->source && refusal->places)
        show_places(message, refusal->source, refusal->places);
    else if (outcome->status == ACR_EDIT_OVERLAP && refusal->source && outcome->start > 0)
        acr_feedback_code(message, refusal->source, outcome->start - 1, outcome->end);
    else if (outcome->status == ACR_EDIT_UNMATCHED || outcome->status == ACR_EDIT_NO_FILE)
        show_missing(message, context, refusal);
}

char *acr_feedback_finish(GString *message)
{
    return acr_text_shorten(message->str, ACR_PATCH_MAX_MESSAGE);
}
