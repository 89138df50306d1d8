/*
 * Where an edit goes in a file: its readings are searched for on the ladder, one place is chosen,
 * and the replacement is fitted to it. Of several equal places the class and function that the
 * answer's words near the edit name decide, then the run's bug locations. Nothing is guessed: a
 * draw decides nothing, and what cannot be decided is refused here.
 */
#include <string.h>

#include "patch/apply_private.h"

#define MAX_SEARCHED                                                                               \
    (40u * 1024 * 1024) /* bytes of files in which an answer's edits are not found */
#define MAX_TIMES_FILE                                                                             \
    16u /* a quote, of a file's length; line numbers and escapes make it longer */

/* Whether the name stands in running text as one of code: `name`, name(), a.name,
 * <class>name</class>, or with an underscore in it. */
static bool is_named(const char *words, gsize len, const char *name)
{
    gsize n = strlen(name);
    const char *at = words;
    while (n > 0 && (at = memmem(at, len - (gsize)(at - words), name, n))) {
        gsize off = (gsize)(at - words);
        bool whole = (off == 0 || !acr_is_word(words[off - 1])) &&
                     (off + n == len || !acr_is_word(words[off + n]));
        char before = off > 0 ? words[off - 1] : ' ', after = off + n < len ? words[off + n] : ' ';
        if (whole && (strchr("`'\"<>./:*", before) || strchr("`'\"<(", after) || strchr(name, '_')))
            return true;
        at++;
    }
    return false;
}

/* Whether the symbol, or one around it of its kind, is named. */
static bool chain_is_named(const AcrIndex *index, gint32 id, const char *words, gsize len)
{
    if (id < 0)
        return false;
    AcrSymbolKind kind = acr_index_symbol(index, (guint32)id)->kind;
    bool is_class = kind == ACR_SYMBOL_CLASS;
    for (gint32 at = id; at >= 0; at = acr_index_symbol(index, (guint32)at)->parent) {
        const AcrSymbol *symbol = acr_index_symbol(index, (guint32)at);
        if ((symbol->kind == ACR_SYMBOL_CLASS) == is_class && is_named(words, len, symbol->name))
            return true;
    }
    return false;
}

/* 2 for a function, 1 for a class around a line being named. */
static guint score_place(const AcrIndex *index, gsize file, gsize line, const char *words,
                         gsize len)
{
    gint32 class_id = -1, func = -1;
    acr_index_enclosing(index, file, (guint32)line, &class_id, &func);
    return (chain_is_named(index, func, words, len) ? 2 : 0) +
           (chain_is_named(index, class_id, words, len) ? 1 : 0);
}

static gssize decide_by_words(const AcrPatchContext *context, const char *path,
                              const AcrMatch *match, const char *words, gsize len)
{
    gssize file = context->index ? acr_index_find_file(context->index, path) : -1, best = -1;
    guint most = 0, draws = 0;
    for (guint i = 0; file >= 0 && i < match->places->len; i++) {
        const AcrPlace *place = &g_array_index(match->places, AcrPlace, i);
        guint score = score_place(context->index, (gsize)file, place->first + 1, words, len);
        if (score > most) {
            most = score;
            best = (gssize)i;
            draws = 0;
        } else if (score > 0 && score == most) {
            draws++;
        }
    }
    return draws == 0 ? best : -1;
}

static gssize decide_by_hints(const AcrPatchContext *context, const char *path,
                              const AcrMatch *match)
{
    gssize best = -1;
    for (guint i = 0; i < match->places->len; i++) {
        const AcrPlace *place = &g_array_index(match->places, AcrPlace, i);
        for (gsize k = 0; k < context->n_hints; k++) {
            const AcrPatchHint *hint = &context->hints[k];
            if (strcmp(hint->file, path) != 0 || place->first + 1 < hint->first ||
                place->last > hint->last)
                continue;
            if (best >= 0)
                return -1;
            best = (gssize)i;
            break;
        }
    }
    return best;
}

static gssize decide_place(const AcrPatchContext *context, const char *path, const AcrMatch *match,
                           const char *words, gsize words_len)
{
    if (match->places->len == 1 && !match->many)
        return 0;
    if (match->many || match->places->len == 0)
        return -1;
    gssize place = decide_by_words(context, path, match, words, words_len);
    return place >= 0 ? place : decide_by_hints(context, path, match);
}

/* The answer's words in front of an edit, back to the edit before it. */
static const char *words_before(const Work *work, guint number, gsize *out_len)
{
    gsize to = edit_at(work, number)->off, from = number > 0 ? edit_at(work, number - 1)->end : 0;
    from = MIN(from, to);
    *out_len = to - from;
    return work->answer + from;
}

static char *place_list(const char *quote, const AcrMatch *match, const char *path)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (match->many)
        g_string_printf(text, "%s stands in more than %u places of %s", quote, ACR_PATCH_MAX_PLACES,
                        path);
    else
        g_string_printf(text, "%s stands in %u places of %s", quote, match->places->len, path);
    for (guint i = 0; i < match->places->len && i < 12; i++) {
        const AcrPlace *place = &g_array_index(match->places, AcrPlace, i);
        g_string_append_printf(text, "%s%" G_GSIZE_FORMAT "-%" G_GSIZE_FORMAT,
                               i == 0 ? ", lines " : ", ", place->first + 1, place->last);
    }
    return g_strdup(text->str);
}

static void keep_places(const Work *work, guint number, const AcrMatch *match)
{
    GArray *places = g_array_new(FALSE, FALSE, sizeof(AcrPlace));
    for (guint i = 0; i < match->places->len; i++) {
        AcrPlace place = g_array_index(match->places, AcrPlace, i);
        place.map = NULL;
        g_array_append_val(places, place);
    }
    g_hash_table_insert(work->places, GUINT_TO_POINTER(number), places);
}

/* Whether the new text exists in the file's encoding. */
static bool can_encode(const AcrSource *source, const GArray *readings, char **out_why)
{
    AcrText plain = source->text;
    plain.bom = false;
    for (guint i = 0; i < readings->len; i++) {
        const char *with = g_array_index(readings, AcrSplice, i).with;
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) bytes = acr_text_encode(&plain, with, strlen(with), &error);
        if (bytes)
            continue;
        *out_why =
            g_strdup_printf("the new text has a character that the encoding of the file (%s) lacks",
                            plain.encoding);
        return false;
    }
    return true;
}

static bool is_firm(const AcrMatch *match)
{
    return match->places->len > 0 && match->level != ACR_LEVEL_SIMILAR &&
           match->level != ACR_LEVEL_ELISION;
}

/* Whether a reading that was found is to be preferred to the best so far. Of the cuts of a
 * search/replace block the one with the longest quote that stands in the file: of each cut too
 * early the quote stands there too. Of a hunk's readings the one found at the better level. */
static bool is_better(const AcrEdit *edit, const AcrMatch *match, gsize len, const AcrMatch *best,
                      gsize best_len)
{
    if (edit->form == ACR_EDIT_DIFF)
        return match->level < best->level;
    return len > best_len;
}

static void swap_reading(AcrEdit *edit, AcrEditReading *reading)
{
    AcrEditReading other = {edit->original, edit->patched};
    edit->original = reading->original;
    edit->patched = reading->patched;
    *reading = other;
}

/* A quote so much longer than the file that no level can find it, whatever was copied with it. */
static bool is_too_long(const AcrSource *source, const char *original)
{
    return strlen(original) / MAX_TIMES_FILE > g_bytes_get_size(source->bytes) + 1024;
}

/* Looks for one reading. */
static void find_reading(const AcrSource *source, const char *original, const char *patched,
                         AcrMatch *out)
{
    acr_ladder_find(source, is_too_long(source, original) ? "" : original, patched, out);
}

/* Looks for all readings of an edit, and makes the one that the file decides on its first. */
static void find_readings(const AcrSource *source, AcrEdit *edit, AcrMatch *out)
{
    guint found = 0, n = edit->others ? edit->others->len : 0;
    gsize best_len = 0;
    AcrEditReading *best = NULL;
    bool firm = false;
    find_reading(source, edit->original, edit->patched, out);
    if (n == 0 || (edit->form == ACR_EDIT_DIFF && is_firm(out) && out->level <= ACR_LEVEL_TRAILING))
        return;
    found = out->places->len > 0 && *edit->original != '\0';
    firm = found > 0 && is_firm(out);
    best_len = found > 0 ? strlen(edit->original) : 0;
    for (guint i = 0; i < n; i++) {
        AcrEditReading *reading = edit->others->pdata[i];
        g_auto(AcrMatch) match = {0};
        gsize len = strlen(reading->original);
        find_reading(source, reading->original, reading->patched, &match);
        if (match.places->len == 0 || len == 0 || (firm && !is_firm(&match)))
            continue;
        bool first = found == 0 || (!firm && is_firm(&match));
        found = first ? 1 : found + 1;
        if (!first && !is_better(edit, &match, len, out, best_len))
            continue;
        firm = is_firm(&match);
        best = reading;
        best_len = len;
        acr_match_clear(out);
        *out = match;
        match = (AcrMatch){0};
    }
    if (best)
        swap_reading(edit, best);
    if (found > 1 && !firm && edit->form == ACR_EDIT_SEARCH_REPLACE && !out->why)
        out->why = g_strdup("more than one of its lines can be the =======; write it as <file>, "
                            "<original>, <patched>");
}

/* The place at which a diff's line number says that the hunk begins, or -1. It only tells places
 * apart at which its text stands. */
static gssize decide_by_line(const AcrEdit *edit, const AcrMatch *match)
{
    gssize found = -1;
    if (edit->line == 0 || match->many)
        return -1;
    for (guint i = 0; i < match->places->len; i++) {
        if (g_array_index(match->places, AcrPlace, i).first + 1 != edit->line)
            continue;
        if (found >= 0)
            return -1;
        found = (gssize)i;
    }
    return found;
}

/* Number of the one of several places that the edit's line number and words, or else the hints,
 * decide on, or -1. Number and words that contradict each other decide nothing; without an index
 * the words are not known. */
static gssize decide(const Work *work, guint number, const AcrSource *source, const AcrMatch *match)
{
    AcrPatchContext unhinted = *work->context;
    gsize len = 0;
    const char *words = words_before(work, number, &len);
    gssize by_line = match->places->len > 1 ? decide_by_line(edit_at(work, number), match) : -1;
    if (by_line < 0)
        return decide_place(work->context, source->path, match, words, len);
    unhinted.n_hints = 0;
    gssize by_words = decide_place(&unhinted, source->path, match, words, len);
    return unhinted.index && (by_words < 0 || by_words == by_line) ? by_line : -1;
}

bool acr_patch_may_search(const Work *work)
{
    return work->searched <= MAX_SEARCHED;
}

Located *acr_patch_choose_place(Work *work, guint number, const AcrSource *source,
                                bool *out_missing)
{
    AcrEdit *edit = work->edits->pdata[number];
    AcrEditOutcome *outcome = outcome_at(work, number);
    g_auto(AcrMatch) match = {0};
    char *why = NULL;
    *out_missing = true;
    if (!acr_patch_may_search(work))
        return NULL;
    find_readings(source, edit, &match);
    if (!is_firm(&match))
        work->searched +=
            g_bytes_get_size(source->bytes) * (1 + (edit->others ? edit->others->len : 0));
    *out_missing = match.places->len == 0;
    if (*out_missing)
        return NULL;
    outcome->level = match.level;
    gssize chosen = decide(work, number, source, &match);
    if (chosen < 0) {
        acr_patch_refuse(work, number, ACR_EDIT_AMBIGUOUS,
                         place_list(acr_edit_quote_name(edit), &match, source->path));
        keep_places(work, number, &match);
        return NULL;
    }
    const AcrPlace *place = &g_array_index(match.places, AcrPlace, chosen);
    outcome->start = (guint)place->first + 1;
    outcome->end = (guint)place->last;
    if (match.why) {
        acr_patch_refuse(work, number, ACR_EDIT_UNMATCHED, g_steal_pointer(&match.why));
        return NULL;
    }
    g_autoptr(GArray) readings = acr_replacement_readings(source, edit, &match, place, &why);
    if (why || !can_encode(source, readings, &why)) {
        acr_patch_refuse(work, number, ACR_EDIT_UNMATCHED, why);
        return NULL;
    }
    return acr_patch_located_new(number, readings);
}
