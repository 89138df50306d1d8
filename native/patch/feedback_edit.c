/* Writes the part of the feedback about one edit: which edit was refused and why, the real code
 * that the edit probably means, the lines that differ, and the place of a symbol that is defined
 * elsewhere.
 *
 * Code that the model may quote is shown unchanged between fences, with its line numbers in the
 * heading. Nothing is added beyond the feedback's limit. */
#include <string.h>

#include "patch/feedback_private.h"

#define MAX_SYMBOL_LINES 80u
#define MAX_SHOWN_LINE 500u
#define MAX_DIFFERENCES 12u
#define MAX_DIFFERING 200u /* maximum number of bytes shown of a line that differs */
#define MAX_SHOWN_PLACES 4u
#define MAX_SYMBOLS 4u /* maximum number of symbols that are shown for one name */
#define MAX_NAMES 3u   /* maximum number of names that are taken from one quote */
#define MAX_OUTLINE 60u
#define AROUND 3u
#define AROUND_UNLIKE 8u /* number of lines shown around code that is hardly similar to the quote */
#define AROUND_ERROR 6u

static bool is_full(const AcrFeedback *feedback)
{
    return feedback->text->len >= feedback->limit;
}

static char *shown_line(const AcrLine *line)
{
    g_autofree char *all = g_strndup(line->s, line->len);
    return acr_text_shorten(all, MAX_SHOWN_LINE);
}

/* Returns ", in Class.method", which names the innermost definition that contains lines [first,
 * last); "" if there is none. Owned. */
static char *holder(const AcrPatchContext *context, const char *path, gsize first, gsize last)
{
    gssize file = context->index ? acr_index_find_file(context->index, path) : -1;
    if (file < 0)
        return g_strdup("");
    const AcrIndexFile *in = acr_index_file(context->index, (gsize)file);
    const AcrSymbol *best = NULL;
    for (guint32 i = in->first_symbol; i < in->first_symbol + in->n_symbols; i++) {
        const AcrSymbol *symbol = acr_index_symbol(context->index, i);
        bool holds =
            symbol->kind <= ACR_SYMBOL_METHOD && symbol->first <= first + 1 && symbol->last >= last;
        if (holds && (!best || symbol->first >= best->first))
            best = symbol;
    }
    return best ? g_strdup_printf(", in %s", best->qualname) : g_strdup("");
}

void acr_feedback_code(AcrFeedback *feedback, const AcrSource *source, gsize first, gsize last)
{
    const AcrLines *lines = &source->lines;
    last = MIN(last, lines->n);
    if (first >= last || is_full(feedback))
        return;
    g_autofree char *in = holder(feedback->context, source->path, first, last);
    gsize end = first;
    g_string_append_printf(feedback->text,
                           "%s, lines %" G_GSIZE_FORMAT "-%" G_GSIZE_FORMAT "%s:\n```\n",
                           source->path, first + 1, last, in);
    for (; end < last && !is_full(feedback); end++) {
        g_autofree char *line = shown_line(&lines->line[end]);
        g_string_append_printf(feedback->text, "%s\n", line);
    }
    g_string_append(feedback->text, "```\n");
    if (end < last)
        g_string_append_printf(feedback->text, "(%" G_GSIZE_FORMAT " more lines)\n", last - end);
}

void acr_feedback_around(AcrFeedback *feedback, const AcrSource *source, gsize line)
{
    gsize n = source->lines.n, at = MIN(MAX(line, 1), n);
    gsize first = at > AROUND_ERROR ? at - AROUND_ERROR : 1, last = MIN(n, at + AROUND_ERROR / 2);
    if (n == 0)
        return;
    g_string_append(feedback->text, "```\n");
    for (gsize i = first; i <= last; i++) {
        g_autofree char *text = shown_line(&source->lines.line[i - 1]);
        g_string_append_printf(feedback->text, "%s%5" G_GSIZE_FORMAT " %s\n", i == at ? ">" : " ",
                               i, text);
    }
    g_string_append(feedback->text, "```\n");
}

static void append_line(GString *text, const AcrLine *line)
{
    gsize len = MIN(line->len, MAX_DIFFERING);
    while (len < line->len && len > 0 && ((guchar)line->s[len] & 0xc0) == 0x80)
        len--;
    g_string_append_printf(text, "|%.*s%s\n", (int)len, line->s, len < line->len ? "…" : "");
}

/* Shows, in order, the lines in which the quote and the region differ. */
static void show_difference(AcrFeedback *feedback, const AcrRefusal *refusal,
                            const AcrSource *source, const AcrRegion *region)
{
    g_autofree gssize *map = acr_similar_map(&source->lines, &refusal->quote, region);
    g_autoptr(GString) text = g_string_new(NULL);
    gsize next = region->first;
    guint shown = 0;
    for (gsize j = 0; j < refusal->quote.n && shown < MAX_DIFFERENCES; j++) {
        const AcrLine *line = &refusal->quote.line[j];
        for (; map[j] >= 0 && next < (gsize)map[j]; next++, shown++) {
            if (acr_line_is_blank(&source->lines.line[next]))
                continue;
            g_string_append_printf(text, "  not quoted (line %" G_GSIZE_FORMAT "): ", next + 1);
            append_line(text, &source->lines.line[next]);
        }
        next = map[j] >= 0 ? (gsize)map[j] + 1 : next;
        if (acr_line_is_blank(line) ||
            (map[j] >= 0 && acr_line_same_core(line, &source->lines.line[map[j]])))
            continue;
        shown++;
        g_string_append(text, "  you wrote: ");
        append_line(text, line);
        if (map[j] < 0) {
            g_string_append(text, "  the file has no such line\n");
            continue;
        }
        g_string_append_printf(text, "  line %" G_GSSIZE_FORMAT " is: ", map[j] + 1);
        append_line(text, &source->lines.line[map[j]]);
    }
    if (text->len > 0)
        g_string_append_printf(feedback->text, "The differences:\n%s%s", text->str,
                               shown >= MAX_DIFFERENCES ? "  …\n" : "");
}

/* Returns the name that a `def` or `class` line defines, owned; NULL if the line defines none. */
static char *defined_name(const AcrLine *line)
{
    const char *s = line->s + line->lead, *end = s + line->core;
    if (!g_str_has_prefix(s, "def ") && !g_str_has_prefix(s, "class "))
        return NULL;
    s = strchr(s, ' ');
    while (s < end && *s == ' ')
        s++;
    const char *to = s;
    while (to < end && acr_is_word(*to))
        to++;
    return s < to ? g_strndup(s, (gsize)(to - s)) : NULL;
}

/* Returns the symbols with the name `name`, beginning with the symbols in file `path`; owned array
 * of const AcrSymbol. */
static GPtrArray *symbols_named(const AcrIndex *index, const char *name, const char *path)
{
    static const AcrSymbolKind kinds[] = {ACR_SYMBOL_CLASS, ACR_SYMBOL_FUNCTION, ACR_SYMBOL_METHOD};
    GPtrArray *found = g_ptr_array_new();
    guint here = 0;
    for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++) {
        gsize n = 0;
        const guint32 *ids = acr_index_lookup(index, kinds[k], name, &n);
        for (gsize i = 0; i < n; i++) {
            const AcrSymbol *symbol = acr_index_symbol(index, ids[i]);
            bool is_here = g_strcmp0(acr_index_file(index, symbol->file)->path, path) == 0;
            g_ptr_array_insert(found, is_here ? (gint)here : -1, (gpointer)symbol);
            here += is_here;
        }
    }
    return found;
}

/* Whether the shown region already contains most of the symbol. */
static bool is_shown(const AcrRefusal *refusal, const AcrSymbol *symbol, const char *path)
{
    if (!refusal || !refusal->source || !refusal->regions || refusal->regions->len == 0 ||
        strcmp(refusal->source->path, path) != 0)
        return false;
    AcrRegion best = g_array_index(refusal->regions, AcrRegion, 0);
    return best.score >= ACR_FEEDBACK_MIN && best.first <= symbol->def &&
           best.last + AROUND_UNLIKE >= symbol->last;
}

bool acr_feedback_symbol(AcrFeedback *feedback, const char *name, const AcrRefusal *refusal)
{
    const char *path = refusal && refusal->source ? refusal->source->path : NULL;
    const AcrIndex *index = feedback->context->index;
    g_autoptr(GPtrArray) found = index ? symbols_named(index, name, path) : g_ptr_array_new();
    for (guint i = 0; i < found->len && i < MAX_SYMBOLS; i++) {
        const AcrSymbol *symbol = found->pdata[i];
        const AcrIndexFile *file = acr_index_file(index, symbol->file);
        g_string_append_printf(feedback->text, "%s is defined in %s, lines %u-%u.\n",
                               symbol->qualname, file->path, symbol->first, symbol->last);
    }
    if (found->len > MAX_SYMBOLS)
        g_string_append_printf(feedback->text, "(and in %u more places)\n",
                               found->len - MAX_SYMBOLS);
    if (found->len == 0)
        return false;
    const AcrSymbol *first = found->pdata[0];
    if (is_shown(refusal, first, acr_index_file(index, first->file)->path))
        return true;
    g_autoptr(GBytes) bytes = acr_snapshot_read(feedback->context->snapshot,
                                                acr_index_file(index, first->file)->entry, NULL);
    if (bytes) {
        g_autoptr(AcrSource) source =
            acr_source_new(acr_index_file(index, first->file)->path, bytes);
        acr_feedback_code(feedback, source, first->first - 1,
                          MIN(first->last, first->first - 1 + MAX_SYMBOL_LINES));
    }
    return true;
}

/* Shows the definitions of the names that the quote defines; returns whether such definitions
 * exist. */
static bool show_symbols(AcrFeedback *feedback, const AcrRefusal *refusal)
{
    guint n = 0;
    bool found = false;
    for (gsize j = 0; feedback->context->index && j < refusal->quote.n && n < MAX_NAMES; j++) {
        g_autofree char *name = defined_name(&refusal->quote.line[j]);
        if (!name)
            continue;
        n++;
        if (acr_feedback_symbol(feedback, name, refusal))
            found = true;
        else
            g_string_append_printf(
                feedback->text, "No class, function or method named %s exists in the repository.\n",
                name);
    }
    return found;
}

static void show_outline(AcrFeedback *feedback, const char *path)
{
    const AcrIndex *index = feedback->context->index;
    gssize file = index ? acr_index_find_file(index, path) : -1;
    guint shown = 0;
    if (file < 0 || is_full(feedback))
        return;
    const AcrIndexFile *in = acr_index_file(index, (gsize)file);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint32 i = in->first_symbol; i < in->first_symbol + in->n_symbols; i++) {
        const AcrSymbol *symbol = acr_index_symbol(index, i);
        if (symbol->kind > ACR_SYMBOL_METHOD || shown > MAX_OUTLINE)
            continue;
        if (shown++ == MAX_OUTLINE)
            g_string_append(text, "  …\n");
        else
            g_string_append_printf(text, "  %s, lines %u-%u\n", symbol->qualname, symbol->first,
                                   symbol->last);
    }
    if (text->len > 0 && feedback->text->len + text->len < feedback->limit)
        g_string_append_printf(feedback->text, "What %s defines:\n%s", path, text->str);
}

static void show_places(AcrFeedback *feedback, const AcrSource *source, const GArray *places)
{
    g_string_append(feedback->text, "Quote more of the surrounding lines, so that the quote occurs "
                                    "only once, or name its class and method. The places:\n");
    for (guint i = 0; i < places->len && i < MAX_SHOWN_PLACES; i++) {
        const AcrPlace *place = &g_array_index(places, AcrPlace, i);
        acr_feedback_code(feedback, source, place->first > AROUND ? place->first - AROUND : 0,
                          place->last + AROUND);
    }
}

/* Shows the regions of the edit's file that are most similar to the quote. */
static void show_closest(AcrFeedback *feedback, const AcrRefusal *refusal)
{
    AcrRegion best = g_array_index(refusal->regions, AcrRegion, 0);
    gsize around = best.score < ACR_FEEDBACK_FOUND ? AROUND_UNLIKE : 0;
    g_string_append_printf(feedback->text, "This is the closest code in that file (%d %% alike). ",
                           (int)(best.score * 100));
    acr_feedback_code(feedback, refusal->source, best.first - MIN(best.first, around),
                      best.last + around);
    show_difference(feedback, refusal, refusal->source, &best);
    if (refusal->regions->len > 1) {
        AcrRegion next = g_array_index(refusal->regions, AcrRegion, 1);
        if (next.score < ACR_FEEDBACK_FOUND)
            return;
        g_string_append(feedback->text, "This code is nearly as close. ");
        acr_feedback_code(feedback, refusal->source, next.first, next.last);
    }
}

static void show_elsewhere(AcrFeedback *feedback, const AcrRefusal *refusal)
{
    const AcrElsewhere *found = &refusal->elsewhere;
    g_string_append_printf(feedback->text,
                           "Similar code is in another file, %s (%d %% alike); if you mean that "
                           "file, name it in <file>. ",
                           found->source->path, (int)(found->region.score * 100));
    acr_feedback_code(feedback, found->source, found->region.first, found->region.last);
    show_difference(feedback, refusal, found->source, &found->region);
}

static void show_missing(AcrFeedback *feedback, const AcrRefusal *refusal)
{
    const char *here = refusal->source ? refusal->source->path : NULL;
    double best = refusal->regions && refusal->regions->len > 0
                      ? g_array_index(refusal->regions, AcrRegion, 0).score
                      : 0;
    double other = refusal->elsewhere.source ? refusal->elsewhere.region.score : 0;
    bool elsewhere = other >= ACR_FEEDBACK_MIN && other > best + (best > 0 ? 0.05 : 0);
    if (elsewhere && other >= ACR_FEEDBACK_FOUND)
        show_elsewhere(feedback, refusal);
    if (best >= ACR_FEEDBACK_MIN)
        show_closest(feedback, refusal);
    if (elsewhere && other < ACR_FEEDBACK_FOUND)
        show_elsewhere(feedback, refusal);
    if (MAX(best, other) >= ACR_FEEDBACK_FOUND)
        return;
    bool none = best < ACR_FEEDBACK_MIN && !elsewhere;
    if (none)
        g_string_append(feedback->text, "No similar code was found in the repository.\n");
    if (!show_symbols(feedback, refusal) && none && here)
        show_outline(feedback, here);
}

void acr_feedback_edit(AcrFeedback *feedback, const AcrRefusal *refusal, bool detailed)
{
    const AcrEditOutcome *outcome = refusal->outcome;
    g_string_append_printf(feedback->text, "\nEdit %u (%s): %s.\n", refusal->number,
                           outcome->file ? outcome->file : "no file named", outcome->why);
    if (!detailed)
        return;
    if (outcome->status == ACR_EDIT_AMBIGUOUS && refusal->source && refusal->places)
        show_places(feedback, refusal->source, refusal->places);
    else if (outcome->start > 0 && refusal->source &&
             (outcome->status == ACR_EDIT_OVERLAP || outcome->status == ACR_EDIT_UNMATCHED))
        acr_feedback_code(feedback, refusal->source, outcome->start - 1, outcome->end);
    else if (outcome->status == ACR_EDIT_UNMATCHED || outcome->status == ACR_EDIT_NO_FILE)
        show_missing(feedback, refusal);
    else if (outcome->status == ACR_EDIT_EMPTY_ORIGINAL && outcome->file)
        show_outline(feedback, outcome->file);
}
