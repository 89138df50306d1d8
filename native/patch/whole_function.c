/*
 * A replacement that is a whole function (or class), where the quote is a part of its body: as it
 * is written it would define the function once more inside itself, so it is refused.
 */
#include "patch/apply_private.h"

/* What the replacement begins with. */
typedef struct {
    gsize def; /* its line */
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

/* Whether the first code of the replacement, behind imports and decorators, is a function's header (a
 * class's). */
static bool read_head(const AcrLines *lines, Head *out)
{
    gsize k = 0, n = 0;
    for (; k < lines->n; k++) {
        const AcrLine *line = &lines->line[k];
        if (acr_line_is_code(line) && !behind(line, "@") && !behind(line, "import ") &&
            !behind(line, "from "))
            break;
    }
    const char *name = k < lines->n ? behind(&lines->line[k], "def ") : NULL;
    if (!name && k < lines->n)
        name = behind(&lines->line[k], "async def ");
    out->is_class = !name && k < lines->n && (name = behind(&lines->line[k], "class "));
    if (!name)
        return false;
    while (acr_is_word(name[n]))
        n++;
    out->def = k;
    out->name = g_strndup(name, n);
    return true;
}

/* The function, or class, of that name around the place, whose body holds all of it; NULL: none. */
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

/* Whether the replacement has the function's own header. */
static bool same_header(const AcrSource *source, const AcrSymbol *symbol, const AcrLines *lines,
                        gsize def)
{
    gsize n = symbol->sig_last - symbol->def + 1;
    if (symbol->sig_last > source->lines.n || def + n > lines->n)
        return false;
    for (gsize i = 0; i < n; i++)
        if (!acr_line_same_core(&source->lines.line[symbol->def - 1 + i], &lines->line[def + i]))
            return false;
    return true;
}

bool acr_patch_is_partial(Work *work, guint number, const AcrSource *source, const AcrMatch *match,
                          const AcrPlace *place)
{
    const AcrEdit *edit = edit_at(work, number);
    AcrEditOutcome *outcome = outcome_at(work, number);
    const File *file = g_hash_table_lookup(work->by_path, source->path);
    const AcrLines *lines = &match->patched;
    g_auto(Head) head = {0}, quoted = {0};
    if (!file || file->source != source || edit->form == ACR_EDIT_DIFF || !read_head(lines, &head))
        return false;
    if (!read_head(&match->original, &quoted) || strcmp(quoted.name, head.name) != 0)
        work->wants_index = !work->context->index;
    const AcrSymbol *symbol = function_around(work->context->index, source->path, place, &head);
    if (!symbol || symbol->last > source->lines.n)
        return false;
    bool deeper = match->original.n > 0 &&
                  acr_line_width(&lines->line[head.def]) < acr_line_width(&match->original.line[0]);
    if (!deeper && !same_header(source, symbol, lines, head.def))
        return false;
    outcome->start = symbol->first;
    outcome->end = symbol->last;
    acr_patch_refuse(work, number, ACR_EDIT_UNMATCHED,
                     g_strdup_printf("%s is all of the %s %s, but %s is only a part of its body: "
                                     "quote it as a whole, or write only the lines that take the "
                                     "place of the quoted ones",
                                     edit->form == ACR_EDIT_TAGS ? "<patched>" : "the REPLACE part",
                                     head.is_class ? "class" : "function", symbol->qualname,
                                     acr_edit_quote_name(edit)));
    return true;
}
