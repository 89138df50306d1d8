/* Finds the place of an edit in a file: searches for the edit's readings level by level, chooses
 * one place, and fits the replacement to the place. If several places are equal, the class and
 * function that the answer names near the edit decide, and then the run's bug locations. If none of
 * these clues decides, the edit is refused. */
#include <string.h>

#include "patch/apply_private.h"

/* maximum number of bytes that are searched without success, over all files */
#define MAX_SEARCHED (40u * 1024 * 1024)
/* A quote of more than 16 times the length of its file is not searched for. A quote may be longer
 * than its file, because of line numbers and escapes. */
#define MAX_TIMES_FILE 16u

/* The clues by which one of several places is chosen. All members are borrowed. */
typedef struct {
    const AcrPatchContext *context;
    const AcrEdit *edit;
    const char *path;
    gssize file;       /* number of the file in the index, or -1 */
    const char *words; /* the text of the answer between the previous edit and the current edit */
} Clues;

static bool follows(const char *words, const char *at, const char *before)
{
    gsize n = strlen(before);
    return (gsize)(at - words) >= n && strncmp(at - n, before, n) == 0;
}

/* Whether running text contains the name as code: `name`, name(), a.name, <class>name</class>,
 * class name, or a name with an underscore. */
static bool is_named(const char *words, const char *name)
{
    gsize n = strlen(name);
    for (const char *at = words; n > 0 && (at = strstr(at, name)); at++) {
        char before = at > words ? at[-1] : ' ', after = at[n] ? at[n] : ' ';
        if (!acr_is_word(before) && !acr_is_word(after) &&
            (strchr("`'\"<>./:*", before) || strchr("`'\"<(", after) || strchr(name, '_') ||
             follows(words, at, "@@ class ")))
            return true;
    }
    return false;
}

/* Whether the text before the edit names symbol `id`, or an enclosing symbol of the same kind. */
static bool chain_is_named(const Clues *clues, gint32 id)
{
    const AcrSymbol *symbol = id < 0 ? NULL : acr_index_symbol(clues->context->index, (guint32)id);
    bool is_class = symbol && symbol->kind == ACR_SYMBOL_CLASS;
    for (; symbol; symbol = symbol->parent < 0
                                ? NULL
                                : acr_index_symbol(clues->context->index, (guint32)symbol->parent))
        if ((symbol->kind == ACR_SYMBOL_CLASS) == is_class && is_named(clues->words, symbol->name))
            return true;
    return false;
}

/* Returns 3 if the text before the edit names both the function and the class around the place, 2
 * if only the function, 1 if only the class, otherwise 0. */
static guint score_by_words(const Clues *clues, const AcrPlace *place)
{
    gint32 class_id = -1, func = -1;
    if (clues->file < 0)
        return 0;
    acr_index_enclosing(clues->context->index, (gsize)clues->file, (guint32)place->first + 1,
                        &class_id, &func);
    return 2 * chain_is_named(clues, func) + chain_is_named(clues, class_id);
}

/* Returns 1 if the place begins at the line number that the diff states, otherwise 0. */
static guint score_by_line(const Clues *clues, const AcrPlace *place)
{
    return clues->edit->line == place->first + 1;
}

/* Returns 1 if the place is inside one of the run's bug locations, otherwise 0. */
static guint score_by_hints(const Clues *clues, const AcrPlace *place)
{
    for (gsize k = 0; k < clues->context->n_hints; k++) {
        const AcrPatchHint *hint = &clues->context->hints[k];
        if (strcmp(hint->file, clues->path) == 0 && place->first + 1 >= hint->first &&
            place->last <= hint->last)
            return 1;
    }
    return 0;
}

/* Returns the index of the place with the highest score above 0; -1 if several places or none have
 * that score. */
static gssize best_place(const Clues *clues, const AcrMatch *match,
                         guint (*score)(const Clues *clues, const AcrPlace *place))
{
    gssize best = -1;
    guint most = 0;
    for (guint i = 0; i < match->places->len; i++) {
        guint here = score(clues, &g_array_index(match->places, AcrPlace, i));
        if (here >= most)
            best = here > most ? (gssize)i : -1;
        most = MAX(most, here);
    }
    return best;
}

static char *place_list(const char *quote, const AcrMatch *match, const char *path)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "%s occurs in %s%u places of %s", quote, match->many ? "more than " : "",
                    match->places->len, path);
    for (guint i = 0; i < match->places->len && i < 12; i++) {
        const AcrPlace *place = &g_array_index(match->places, AcrPlace, i);
        g_string_append_printf(text, "%s%" G_GSIZE_FORMAT, i == 0 ? ", lines " : ", ",
                               place->first + 1);
        if (place->last > place->first + 1)
            g_string_append_printf(text, "-%" G_GSIZE_FORMAT, place->last);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

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
        *out_why = g_strdup_printf(
            "the new text has a character that the file's encoding (%s) cannot represent",
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

/* Searches the file for the quoted code of one reading. Skips a quote that is many times longer
 * than the file, because it cannot match and its comparison takes long. */
static void find_reading(const AcrSource *source, const char *original, const char *patched,
                         AcrMatch *out)
{
    bool too_long = strlen(original) / MAX_TIMES_FILE > g_bytes_get_size(source->bytes) + 1024;
    acr_ladder_find(source, too_long ? "" : original, patched, out);
}

/* Searches for all readings of an edit, and moves the best reading to the front. If a
 * search/replace block can be cut in several ways, the best is the reading with the longest quote
 * that is in the file, because shorter cuts of the same quote are found too. The best reading of a
 * hunk is the reading found at the most exact level. */
static void find_readings(const AcrSource *source, AcrEdit *edit, AcrMatch *out)
{
    guint n = edit->others ? edit->others->len : 0;
    AcrEditReading *best = NULL;
    find_reading(source, edit->original, edit->patched, out);
    if (n == 0 || (edit->form == ACR_EDIT_DIFF && is_firm(out) && out->level <= ACR_LEVEL_TRAILING))
        return;
    guint found = out->places->len > 0 && *edit->original != '\0';
    bool firm = found > 0 && is_firm(out);
    gsize best_len = found > 0 ? strlen(edit->original) : 0;
    for (guint i = 0; i < n; i++) {
        AcrEditReading *reading = edit->others->pdata[i];
        g_auto(AcrMatch) match = {0};
        gsize len = strlen(reading->original);
        find_reading(source, reading->original, reading->patched, &match);
        if (match.places->len == 0 || len == 0 || (firm && !is_firm(&match)))
            continue;
        bool first = found == 0 || (!firm && is_firm(&match));
        found = first ? 1 : found + 1;
        if (!first && (edit->form == ACR_EDIT_DIFF ? match.level >= out->level : len <= best_len))
            continue;
        firm = is_firm(&match);
        best = reading;
        best_len = len;
        acr_match_clear(out);
        *out = match;
        match = (AcrMatch){0};
    }
    if (best) {
        AcrEditReading other = *best;
        *best = (AcrEditReading){edit->original, edit->patched};
        edit->original = other.original;
        edit->patched = other.patched;
    }
    if (found > 1 && !firm && edit->form == ACR_EDIT_SEARCH_REPLACE && !out->why)
        out->why = g_strdup("more than one of its lines may be the ======= divider; write the edit "
                            "with <file>, <original> and <patched>");
}

/* Returns the index of the place that the edit's line number or the answer's words select. If
 * neither selects a place, the run's bug locations decide. Returns -1 if nothing decides. If line
 * number and words contradict each other, neither decides. Without an index the words are not
 * used. */
static gssize decide(const Work *work, guint number, const AcrSource *source, const AcrMatch *match)
{
    const AcrEdit *edit = edit_at(work, number);
    const AcrIndex *index = work->context->index;
    gsize from = number > 0 ? MIN(edit_at(work, number - 1)->end, edit->off) : 0;
    g_autofree char *words = g_strndup(work->answer + from, edit->off - from);
    Clues clues = {work->context, edit, source->path,
                   index ? acr_index_find_file(index, source->path) : -1, words};
    if (match->many || match->places->len <= 1)
        return match->many ? -1 : 0;
    gssize by_words = best_place(&clues, match, score_by_words),
           by_line = best_place(&clues, match, score_by_line);
    if (by_line >= 0)
        return index && (by_words < 0 || by_words == by_line) ? by_line : -1;
    return by_words >= 0 ? by_words : best_place(&clues, match, score_by_hints);
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
        g_hash_table_insert(work->places, GUINT_TO_POINTER(number), g_steal_pointer(&match.places));
        return NULL;
    }
    const AcrPlace *place = &g_array_index(match.places, AcrPlace, chosen);
    outcome->start = (guint)place->first + 1;
    outcome->end = (guint)place->last;
    if (match.why) {
        acr_patch_refuse(work, number, ACR_EDIT_UNMATCHED, g_steal_pointer(&match.why));
        return NULL;
    }
    bool widened = false;
    if (!acr_patch_take_whole_function(work, number, source, &match, (gsize)chosen, &widened))
        return NULL;
    place = &g_array_index(match.places, AcrPlace, widened ? 0 : chosen);
    g_autoptr(GArray) readings = acr_replacement_readings(source, edit, &match, place, &why);
    if (why || !can_encode(source, readings, &why)) {
        acr_patch_refuse(work, number, ACR_EDIT_UNMATCHED, why);
        return NULL;
    }
    Located *located = acr_patch_located_new(number, readings);
    located->place = *place;
    located->match = match;
    match = (AcrMatch){0};
    return located;
}
