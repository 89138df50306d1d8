/* Handles a replacement that is a whole function (or class) while the quote is only a part of the
 * function's body. Inserted at the place, the replacement would define the function again inside
 * itself. If the replacement has the same header and keeps all lines outside the quote, it replaces
 * the whole function; otherwise the edit is refused. */
#include "patch/apply_private.h"

/* The first header of a function or class in a replacement. */
typedef struct {
    /* line numbers of the first decorator and the `def`; equal if there are no decorators */
    gsize decorators, def;
    bool other; /* other code precedes the header */
    bool is_class;
    char *name; /* owned */
} Head;

static void head_clear(Head *head)
{
    g_free(head->name);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Head, head_clear)

static const char *behind(const AcrLine *line, const char *word)
{
    gsize n = strlen(word);
    return line->core > n && strncmp(line->s + line->lead, word, n) == 0 ? line->s + line->lead + n
                                                                         : NULL;
}

/* Whether the first code of the replacement, not counting imports, is the header of a function
 * or class. */
static bool read_head(const AcrLines *lines, Head *out)
{
    gsize k = 0;
    bool decorated = false;
    for (; k < lines->n; k++) {
        const AcrLine *line = &lines->line[k];
        if (behind(line, "@") && !decorated) {
            out->decorators = k;
            decorated = true;
        } else if (behind(line, "import ") || behind(line, "from ")) {
            out->other = true;
        } else if (acr_line_is_code(line) && !behind(line, "@")) {
            break;
        }
    }
    const char *name = k < lines->n ? behind(&lines->line[k], "def ") : NULL;
    if (!name && k < lines->n)
        name = behind(&lines->line[k], "async def ");
    out->is_class = !name && k < lines->n && (name = behind(&lines->line[k], "class "));
    if (!name)
        return false;
    gsize n = 0;
    while (acr_is_word(name[n]))
        n++;
    out->def = k;
    out->decorators = decorated ? out->decorators : k;
    out->name = g_strndup(name, n);
    return true;
}

/* Returns the function or class with the name and kind of `head` whose body contains the whole
 * place; NULL if there is none. */
static const AcrSymbol *function_around(const AcrIndex *index, const char *path,
                                        const AcrPlace *place, const Head *head)
{
    gint32 class_id = -1, id = -1;
    gssize file = index ? acr_index_find_file(index, path) : -1;
    if (file < 0)
        return NULL;
    acr_index_enclosing(index, (gsize)file, (guint32)place->first + 1, &class_id, &id);
    for (id = id < 0 ? class_id : id; id >= 0;) {
        const AcrSymbol *symbol = acr_index_symbol(index, (guint32)id);
        bool around = (symbol->kind == ACR_SYMBOL_CLASS) == head->is_class &&
                      symbol->sig_last < place->first + 1 && symbol->last >= place->last;
        if (around && strcmp(symbol->name, head->name) == 0)
            return symbol;
        id = symbol->parent;
    }
    return NULL;
}

/* Whether lines of the file and of the replacement are equal, ignoring blanks at both ends. */
static bool same_lines(const AcrLine *file, const AcrLine *lines, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (!acr_line_same_core(&file[i], &lines[i]))
            return false;
    return true;
}

static bool same_header(const AcrSource *source, const AcrSymbol *symbol, const AcrLines *lines,
                        const Head *head)
{
    gsize n = symbol->sig_last - symbol->def + 1;
    return symbol->sig_last <= source->lines.n && head->def + n <= lines->n &&
           same_lines(&source->lines.line[symbol->def - 1], &lines->line[head->def], n);
}

/* Returns why the replacement cannot be the whole function, static; NULL if it can. */
static const char *find_doubt(const AcrSource *source, const AcrSymbol *symbol,
                              const AcrPlace *place, const AcrLines *lines, const Head *head)
{
    gsize n = head->def - head->decorators, at = head->def + 1;
    if (head->other || (n > 0 && (n != symbol->def - symbol->first ||
                                  !same_lines(&source->lines.line[symbol->first - 1],
                                              &lines->line[head->decorators], n))))
        return "its decorators differ or other code precedes it";
    if (!same_header(source, symbol, lines, head))
        return "its header differs from the one in the file";
    if (acr_elision_count(lines) > 0)
        return "it omits code";
    for (gsize k = head->def + 1; k < lines->n; k++)
        if (acr_line_is_code(&lines->line[k]) &&
            acr_line_width(&lines->line[k]) <= acr_line_width(&lines->line[head->def]))
            return "other code follows it";
    for (gsize f = symbol->def; f < MIN(symbol->last, source->lines.n); f++) {
        const AcrLine *line = &source->lines.line[f];
        if (acr_line_is_blank(line) || (f >= place->first && f < place->last))
            continue;
        while (at < lines->n && !acr_line_same_core(&lines->line[at], line))
            at++;
        if (at++ >= lines->n)
            return "it omits lines of the function that the quote does not contain";
    }
    return NULL;
}

static void widen(const AcrSource *source, const AcrEdit *edit, guint32 first, guint32 last,
                  AcrMatch *match)
{
    const AcrLine *from = &source->lines.line[first - 1], *to = &source->lines.line[last - 1];
    char *text = g_strndup(from->s, (gsize)(to->s - from->s) + to->len);
    AcrPlace place = {.first = first - 1, .last = last};
    acr_match_clear(match);
    acr_match_init(match);
    g_ptr_array_add(match->store, text);
    acr_quote_read(match, text, edit->patched);
    match->level = ACR_LEVEL_EXACT;
    acr_match_add_place(match, &place);
}

bool acr_patch_take_whole_function(Work *work, guint number, const AcrSource *source,
                                   AcrMatch *match, gsize chosen, bool *out_widened)
{
    const AcrEdit *edit = edit_at(work, number);
    AcrEditOutcome *outcome = outcome_at(work, number);
    const AcrPlace *place = &g_array_index(match->places, AcrPlace, chosen);
    const File *file = g_hash_table_lookup(work->by_path, source->path);
    const AcrLines *lines = &match->patched;
    g_auto(Head) head = {0}, quoted = {0};
    if (!file || file->source != source || edit->form == ACR_EDIT_DIFF || !read_head(lines, &head))
        return true;
    if (!read_head(&match->original, &quoted) || strcmp(quoted.name, head.name) != 0)
        work->wants_index = !work->context->index;
    const AcrSymbol *symbol = function_around(work->context->index, source->path, place, &head);
    if (!symbol || symbol->last > source->lines.n)
        return true;
    bool deeper = match->original.n > 0 &&
                  acr_line_width(&lines->line[head.def]) < acr_line_width(&match->original.line[0]);
    if (!deeper && !same_header(source, symbol, lines, &head))
        return true;
    const char *doubt = find_doubt(source, symbol, place, lines, &head);
    outcome->start = head.decorators < head.def ? symbol->first : symbol->def;
    outcome->end = symbol->last;
    if (doubt) {
        acr_patch_refuse(
            work, number, ACR_EDIT_UNMATCHED,
            g_strdup_printf(
                "%s is the whole %s %s, but %s quotes only a part of that body, and %s. "
                "Quote the whole definition, or write only the lines that replace "
                "the quoted lines",
                edit->form == ACR_EDIT_TAGS ? "<patched>" : "the REPLACE part",
                head.is_class ? "class" : "function", symbol->qualname, acr_edit_quote_name(edit),
                doubt));
        return false;
    }
    widen(source, edit, outcome->start, symbol->last, match);
    *out_widened = true;
    return true;
}
