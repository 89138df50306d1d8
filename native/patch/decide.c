/*
 * Which of several equal places is meant: first by the class and function that the answer's words
 * near the edit name, then by the run's bug locations. Nothing is guessed: a draw decides nothing.
 */
#include <string.h>

#include "patch/patch_private.h"

static bool is_name_char(char c)
{
    return g_ascii_isalnum(c) || c == '_' || (guchar)c >= 0x80;
}

static bool preceded_by(const char *words, gsize at, const char *word)
{
    gsize n = strlen(word);
    while (at > 0 && acr_is_blank(words[at - 1]))
        at--;
    return at >= n && g_ascii_strncasecmp(words + at - n, word, n) == 0 &&
           (at == n || !is_name_char(words[at - n - 1]));
}

/* A name in running text counts when it is written as one: `name`, name(), a.name,
 * <class>name</class>, "class name". */
static bool is_code_like(const char *words, gsize len, gsize at, gsize n, const char *name)
{
    static const char *const kinds[] = {"class", "method", "function", "def", "property"};
    char before = at > 0 ? words[at - 1] : ' ', after = at + n < len ? words[at + n] : ' ';
    if (strchr("`'\"<>./:*", before) || strchr("`'\"<(", after) || strchr(name, '_'))
        return true;
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        gsize next = at + n;
        while (next < len && acr_is_blank(words[next]))
            next++;
        if (preceded_by(words, at, kinds[i]) ||
            (len - next >= strlen(kinds[i]) &&
             strncmp(words + next, kinds[i], strlen(kinds[i])) == 0))
            return true;
    }
    for (gsize i = 1; i < n; i++)
        if (g_ascii_isupper(name[i]))
            return true;
    return false;
}

static bool is_named(const char *words, gsize len, const char *name)
{
    gsize n = strlen(name);
    const char *at = words;
    while (n > 0 && (at = memmem(at, len - (gsize)(at - words), name, n))) {
        gsize off = (gsize)(at - words);
        bool whole = (off == 0 || !is_name_char(words[off - 1])) &&
                     (off + n == len || !is_name_char(words[off + n]));
        if (whole && is_code_like(words, len, off, n, name))
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

gssize acr_decide_place(const AcrPatchContext *context, const char *path, const AcrMatch *match,
                        const char *words, gsize words_len)
{
    if (match->places->len == 1 && !match->many)
        return 0;
    if (match->many || match->places->len == 0)
        return -1;
    gssize place = decide_by_words(context, path, match, words, words_len);
    return place >= 0 ? place : decide_by_hints(context, path, match);
}
