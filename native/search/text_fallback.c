/* The answer of a text search that finds nothing: places of the text in other files or, if there
 * are none, lines with words of the text. Also adds the definition of the text's last word to the
 * results of a text search. A note explains why these places are shown. */
#include <string.h>

#include "search/calls_private.h"

#define DEFINITIONS_ADDED 2u /* maximum number of definitions of the last word that are added */
#define DEFINITION_LINES 5u  /* maximum number of lines shown of each definition */
/* maximum number of definitions that are compared to find the nearest definitions */
#define MAX_DEFINITIONS 2000u
/* maximum number of symbols with the same name that are searched for among text hits */
#define MAX_RANKED_SYMBOLS 100000u

static bool has_blank(const char *text)
{
    return strpbrk(text, " \t\n") != NULL;
}

/* Adds places of the whole text outside of the named file: first in Python files, otherwise in
 * files of other types. `found` says which. */
static bool add_elsewhere(AcrReply *reply, const char *text, const AcrScope *scope,
                          AcrUsesFound *found, GError **error)
{
    g_autoptr(GPtrArray) whole = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *bare = acr_search_trim(text);
    g_ptr_array_add(whole, g_strdup(*bare ? bare : text));
    if (!acr_uses_add(reply, whole, scope, found, error))
        return false;
    if (found->word && found->where == ACR_USES_PYTHON)
        acr_reply_note(reply, "The text is not in the named file; these are places in others.");
    else if (found->word)
        acr_reply_note(reply, "The text is in no Python file outside the tests; these are lines of "
                              "files of other types.");
    return true;
}

static bool add_lines_of_words(AcrReply *reply, const char *text, const AcrScope *scope,
                               GError **error)
{
    g_autoptr(GPtrArray) words = acr_words_of(text);
    g_autofree char *bare = acr_search_trim(text);
    AcrUsesFound found;
    guint before = reply->hits->len;
    if (words->len && strcmp(words->pdata[0], bare) == 0)
        return true; /* the text is a single word, which was already searched for */
    if (!acr_uses_add(reply, words, scope, &found, error))
        return false;
    if (before && found.where == ACR_USES_OTHERS) /* the existing hits already show the whole
                                                   * text */
        g_array_set_size(reply->hits, before);
    if (reply->hits->len == before)
        return true;
    g_autofree char *shown = acr_search_shown(found.word);
    acr_reply_note(reply, "The text as a whole is not in the code; these are lines with %s%s.",
                   shown, words->len > 1 ? ", best matches first" : "");
    return true;
}

bool acr_instead_of_text(AcrReply *reply, const char *text, const AcrFileMatch *files,
                         AcrAnswer *out, GError **error)
{
    gsize n_notes = reply->notes->len;
    if (files && files->entries->len == 0)
        acr_reply_note(reply, "There is no file of that name.");
    const AcrScope scope = {.files = files && files->entries->len ? files : NULL},
                   whole = {.files = scope.files, .absent = !files};
    AcrUsesFound found;
    if (!add_elsewhere(reply, text, &whole, &found, error))
        return false;
    bool is_enough = found.word && (found.where == ACR_USES_PYTHON || !has_blank(text));
    if (!is_enough && !add_lines_of_words(reply, text, &scope, error))
        return false;
    if (reply->hits->len == 0) {
        g_string_truncate(reply->notes, n_notes);
        return true;
    }
    if (!acr_rank_text_hits(reply, text, files, error))
        return false;
    if (files)
        acr_suggest_file_contents(reply->tail, reply->search, files);
    return acr_reply_finish(reply, "line", "lines", ACR_COLLAPSE_FILES, out, error);
}

static bool shows(const AcrHit *hit, const AcrIndexFile *file, const AcrSymbol *symbol)
{
    return hit->entry == file->entry && hit->start <= symbol->def && symbol->def <= hit->end;
}

static int compare_places(const void *left, const void *right)
{
    const AcrHit *a = left, *b = right;
    int order = acr_order(a->entry, b->entry);
    return order ? order : acr_order(a->start, b->start);
}

/* Returns the hit of the sorted `hits` that contains the line; NULL if there is none. */
static AcrHit *hit_at(GArray *hits, gsize entry, guint32 line)
{
    guint low = 0, high = hits->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        const AcrHit *hit = &g_array_index(hits, AcrHit, middle);
        if (hit->entry < entry || (hit->entry == entry && hit->end < line))
            low = middle + 1;
        else
            high = middle;
    }
    AcrHit *hit = low < hits->len ? &g_array_index(hits, AcrHit, low) : NULL;
    return hit && hit->entry == entry && hit->start <= line ? hit : NULL;
}

/* Moves text hits that contain the definition of one of the words to the front. */
static void rank_definitions(AcrReply *reply, const GPtrArray *words)
{
    const AcrIndex *index = reply->search->index;
    static const AcrSymbolKind kinds[] = {ACR_SYMBOL_CLASS, ACR_SYMBOL_FUNCTION, ACR_SYMBOL_METHOD};
    guint32 top = G_MAXUINT32;
    g_array_sort(reply->hits, compare_places);
    for (guint i = 0; i < reply->hits->len; i++) {
        AcrHit *hit = &g_array_index(reply->hits, AcrHit, i);
        hit->rank = hit->rank < G_MAXUINT32 ? hit->rank + 1 : hit->rank;
        top = MIN(top, hit->rank);
    }
    for (guint w = 0; w < words->len; w++) {
        for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++) {
            gsize n = 0;
            const guint32 *ids = acr_index_lookup(index, kinds[k], words->pdata[w], &n);
            for (gsize i = 0; i < MIN(n, MAX_RANKED_SYMBOLS); i++) {
                const AcrSymbol *symbol = acr_index_symbol(index, ids[i]);
                AcrHit *hit =
                    hit_at(reply->hits, acr_index_file(index, symbol->file)->entry, symbol->def);
                if (hit && hit->rank == top)
                    hit->rank = top - 1;
            }
        }
    }
}

typedef struct {
    guint32 id, near;
} Nearby;

static int compare_nearby(const void *left, const void *right)
{
    const Nearby *a = left, *b = right;
    int order = acr_order(a->near, b->near);
    return order ? order : acr_order(a->id, b->id);
}

/* Returns the definitions `ids`, the nearest to the shown places first; owned array of Nearby. NULL
 * if one of the definitions is already shown. */
static GArray *nearest_unshown(const AcrReply *reply, const GArray *ids, const AcrFileMatch *files)
{
    const AcrSearch *search = reply->search;
    guint n_shown = MIN(reply->hits->len, ACR_RESULT_SHOW_LIMIT);
    g_auto(AcrFileMatch) shown = {.entries = g_array_new(FALSE, FALSE, sizeof(gsize)),
                                  .set = g_hash_table_new(g_direct_hash, g_direct_equal)};
    const AcrScope scope = {.files = files && files->entries->len ? files : &shown};
    g_autoptr(GArray) nearby = g_array_new(FALSE, FALSE, sizeof(Nearby));
    for (guint i = 0; i < n_shown; i++) {
        gsize entry = g_array_index(reply->hits, AcrHit, i).entry;
        if (g_hash_table_add(shown.set, GSIZE_TO_POINTER(entry)))
            g_array_append_val(shown.entries, entry);
    }
    bool is_shown = false;
    for (guint i = 0; i < MIN(ids->len, MAX_DEFINITIONS); i++) {
        guint32 id = g_array_index(ids, guint32, i);
        const AcrSymbol *symbol = acr_index_symbol(search->index, id);
        const AcrIndexFile *file = acr_index_file(search->index, symbol->file);
        Nearby one = {id, acr_nearness(search, &scope, file->entry)};
        for (guint h = 0; h < n_shown; h++)
            is_shown = is_shown || shows(&g_array_index(reply->hits, AcrHit, h), file, symbol);
        g_array_append_val(nearby, one);
    }
    g_array_sort(nearby, compare_nearby);
    return is_shown ? NULL : g_steal_pointer(&nearby);
}

static bool append_definition(AcrReply *reply, guint32 id, GError **error)
{
    const AcrIndex *index = reply->search->index;
    const AcrSymbol *symbol = acr_index_symbol(index, id);
    AcrHit hit = {.entry = acr_index_file(index, symbol->file)->entry,
                  .symbol = -1,
                  .start = symbol->def,
                  .end = MIN(symbol->sig_last, symbol->def + DEFINITION_LINES - 1),
                  .klass = acr_index_class_of(index, id),
                  .func = acr_index_func_of(index, id)};
    return acr_reply_show(reply, &hit, 1024, reply->tail, error);
}

/* Sets *out_shown to whether the places that are shown in full contain `word` as a whole word. */
static bool shows_word(const AcrReply *reply, const char *word, bool *out_shown, GError **error)
{
    guint n = MIN(reply->hits->len, ACR_RESULT_SHOW_LIMIT);
    *out_shown = false;
    for (guint i = 0; i < n && !*out_shown; i++) {
        const AcrHit *hit = &g_array_index(reply->hits, AcrHit, i);
        AcrContent *content;
        if (!acr_search_content(reply->search, hit->entry, &content, error))
            return false;
        guint32 last = content ? MIN(hit->end, acr_content_n_lines(content)) : 0;
        for (guint32 line = hit->start; line <= last && !*out_shown; line++) {
            gsize len;
            const char *text = acr_content_line(content, line, &len);
            *out_shown = acr_has_word(text, len, word);
        }
    }
    return true;
}

/* Adds the nearest place that has `word` as a whole word. Called if the existing places contain the
 * word only inside longer words. */
static bool append_use(AcrReply *reply, const char *word, GError **error)
{
    g_auto(AcrReply) other = {0};
    g_autoptr(GPtrArray) words = acr_words_of(word);
    const AcrScope nothing_named = {0};
    AcrUsesFound found;
    acr_reply_init(&other, reply->search);
    if (!acr_uses_add(&other, words, &nothing_named, &found, error))
        return false;
    if (other.hits->len == 0)
        return true;
    acr_reply_sort(&other);
    g_string_append_printf(reply->tail, "%s is used as a whole word here:\n", word);
    return acr_reply_show(reply, &g_array_index(other.hits, AcrHit, 0), 2048, reply->tail, error);
}

/* Adds definitions of the word, beginning with the nearest, unless one of them is already shown. */
static bool append_definitions(AcrReply *reply, const char *word, const GArray *ids,
                               const AcrFileMatch *files, GError **error)
{
    g_autoptr(GArray) nearby = nearest_unshown(reply, ids, files);
    if (!nearby || nearby->len == 0)
        return true;
    g_string_append_printf(reply->tail, "%s is defined here%s:\n", word,
                           nearby->len > DEFINITIONS_ADDED ? " (among others)" : "");
    for (guint i = 0; i < MIN(nearby->len, DEFINITIONS_ADDED); i++)
        if (!append_definition(reply, g_array_index(nearby, Nearby, i).id, error))
            return false;
    return true;
}

bool acr_rank_text_hits(AcrReply *reply, const char *text, const AcrFileMatch *files,
                        GError **error)
{
    g_autoptr(GPtrArray) words = acr_words_of(text);
    if (words->len == 0 || reply->hits->len == 0)
        return true;
    rank_definitions(reply, words);
    acr_reply_sort(reply);
    const char *word = g_ptr_array_index(words, 0);
    g_autofree char *shown = acr_search_shown(word);
    g_autoptr(GArray) ids = acr_find_definitions(reply->search->index, word);
    if (ids->len)
        return append_definitions(reply, shown, ids, files, error);
    bool is_shown;
    if (!shows_word(reply, word, &is_shown, error))
        return false;
    return is_shown || append_use(reply, word, error);
}
