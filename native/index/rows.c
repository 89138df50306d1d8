/* Decodes the outline rows of one file into symbols. Rows come from another process or from a
 * cache, so every count, line and nesting is checked. Rows that do not have the format in index.h
 * are MALFORMED and leave the index unchanged.
 *
 * A stack of open definitions gives each row its parent. Rows are in the order of the file, and a
 * parent precedes its children, so the parent of a row is the nearest open definition whose
 * qualified name equals the row's qualified name without the last part. */
#include "index/index_private.h"

#include <string.h>

#define MAX_FIELDS 7

/* A part of the rows. The decoder owns the rows and splits them into strings. */
typedef struct {
    char *at;
    gsize len;
} Span;

typedef struct {
    AcrIndex *index;
    guint32 file;
    guint32 n_symbols;
    guint32 last_first; /* the line `first` of the previous row */
    guint32 open[ACR_INDEX_MAX_DEPTH];
    guint n_open;
    const char *unparsed;
    Span fields[MAX_FIELDS];
    guint n_fields;
} Decoder;

static AcrSymbol *symbol_at(const Decoder *d, guint32 id)
{
    return &g_array_index(d->index->symbols, AcrSymbol, id);
}

/* Splits [at, end) at TABs. Returns false if there are too many fields or a field is too long. */
static bool split(Decoder *d, char *at, char *end)
{
    d->n_fields = 0;
    for (;;) {
        char *tab = memchr(at, '\t', (gsize)(end - at));
        char *stop = tab ? tab : end;
        if (d->n_fields == MAX_FIELDS || (gsize)(stop - at) > ACR_INDEX_MAX_FIELD)
            return false;
        d->fields[d->n_fields++] = (Span){at, (gsize)(stop - at)};
        if (!tab)
            return true;
        at = tab + 1;
    }
}

static bool parse_line(Span span, guint32 *out)
{
    guint64 value = 0;
    if (span.len == 0 || span.len > 9)
        return false;
    for (gsize i = 0; i < span.len; i++) {
        if (!g_ascii_isdigit(span.at[i]))
            return false;
        value = value * 10 + (guint64)(span.at[i] - '0');
    }
    *out = (guint32)value;
    return value > 0;
}

/* Decodes escapes in place. Returns the new end of the text, or NULL if an escape is unknown. */
static char *unescape(char *from, const char *end)
{
    static const char codes[] = "tnr\\u", meant[] = "\t\n\r\\\x1f";
    char *to = from;
    while (from < end) {
        char c = *from++;
        if (c == '\\') {
            const char *known = from < end ? strchr(codes, *from++) : NULL;
            if (!known || !*known)
                return NULL;
            c = meant[known - codes];
        }
        *to++ = c;
    }
    return to;
}

/* Returns the string in a field, with escapes decoded; the NUL at its end replaces the separator.
 * Returns NULL if the field is malformed. */
static const char *text_of_field(Span span)
{
    char *end = span.at + span.len;
    char *escape = memchr(span.at, '\\', span.len);
    if (escape && !(end = unescape(escape, end)))
        return NULL;
    *end = '\0';
    return span.at;
}

/* Returns a name like text_of_field; a name must not be empty or contain white space. */
static const char *name_of_field(Span span)
{
    const char *text = span.len ? text_of_field(span) : NULL;
    const char *at = text;
    while (at && (guchar)*at > ' ')
        at++;
    return at && !*at ? text : NULL;
}

/* Finds the parent by its qualified name, and removes the definitions above the parent from the
 * stack. Returns -1 for the module level, -2 if the parent is not found. */
static gint32 parent_by_name(Decoder *d, const char *qualname, const char **out_name)
{
    const char *dot = strrchr(qualname, '.');
    *out_name = dot ? dot + 1 : qualname;
    gsize len = dot ? (gsize)(dot - qualname) : 0;
    if (**out_name == 0 || *qualname == '.')
        return -2;
    while (d->n_open > 0) {
        guint32 top = d->open[d->n_open - 1];
        const char *its = symbol_at(d, top)->qualname;
        if (dot && strlen(its) == len && memcmp(its, qualname, len) == 0)
            return (gint32)top;
        d->n_open--;
    }
    return dot ? -2 : -1;
}

/* Returns the innermost open definition that contains a line; for rows without a qualified name. */
static gint32 parent_by_line(Decoder *d, guint32 line)
{
    while (d->n_open > 0 && symbol_at(d, d->open[d->n_open - 1])->last < line)
        d->n_open--;
    return d->n_open ? (gint32)d->open[d->n_open - 1] : -1;
}

/* Checks that the lines are consistent with each other, the previous row and the parent, and
 * appends the symbol. */
static bool append(Decoder *d, AcrSymbol *symbol, bool opens)
{
    if (symbol->first > symbol->def || symbol->def > symbol->sig_last ||
        symbol->sig_last > symbol->last || symbol->first < d->last_first ||
        d->n_symbols >= ACR_INDEX_MAX_SYMBOLS_PER_FILE)
        return false;
    if (symbol->parent >= 0 && symbol->last > symbol_at(d, (guint32)symbol->parent)->last)
        return false;
    if (opens) {
        if (d->n_open == ACR_INDEX_MAX_DEPTH)
            return false;
        d->open[d->n_open++] = d->index->symbols->len;
    }
    d->last_first = symbol->first;
    d->n_symbols++;
    symbol->file = d->file;
    g_array_append_val(d->index->symbols, *symbol);
    return true;
}

/* Reads the common fields 1-5 of C and D rows: qualname, first, def, sig_last, last. */
static bool common(Decoder *d, AcrSymbol *symbol)
{
    symbol->qualname = name_of_field(d->fields[1]);
    if (!symbol->qualname || !parse_line(d->fields[2], &symbol->first) ||
        !parse_line(d->fields[3], &symbol->def) || !parse_line(d->fields[4], &symbol->sig_last) ||
        !parse_line(d->fields[5], &symbol->last))
        return false;
    symbol->parent = parent_by_name(d, symbol->qualname, &symbol->name);
    return symbol->parent >= -1;
}

/* Appends the list of bases to the pool. Until the index is frozen, `bases` is the list's position
 * in the pool. */
static bool add_bases(Decoder *d, Span span, AcrSymbol *symbol)
{
    GPtrArray *pool = d->index->bases;
    gsize start = pool->len;
    char *end = span.at + span.len;
    for (char *at = span.at; span.len > 0 && at <= end;) {
        char *stop = memchr(at, '\x1f', (gsize)(end - at));
        stop = stop ? stop : end;
        const char *base = text_of_field((Span){at, (gsize)(stop - at)});
        if (!base || pool->len - start >= ACR_INDEX_MAX_BASES)
            return false;
        g_ptr_array_add(pool, (gpointer)base);
        at = stop + 1;
    }
    g_ptr_array_add(pool, NULL);
    symbol->bases = GSIZE_TO_POINTER(start);
    return true;
}

static bool class_row(Decoder *d)
{
    AcrSymbol symbol = {.kind = ACR_SYMBOL_CLASS};
    return d->n_fields == 7 && common(d, &symbol) && add_bases(d, d->fields[6], &symbol) &&
           append(d, &symbol, true);
}

static bool has_class_parent(const Decoder *d, const AcrSymbol *symbol)
{
    return symbol->parent >= 0 && symbol_at(d, (guint32)symbol->parent)->kind == ACR_SYMBOL_CLASS;
}

static bool def_row(Decoder *d)
{
    AcrSymbol symbol = {0};
    if (d->n_fields != 6 || !common(d, &symbol))
        return false;
    symbol.kind = has_class_parent(d, &symbol) ? ACR_SYMBOL_METHOD : ACR_SYMBOL_FUNCTION;
    return append(d, &symbol, true);
}

static bool assign_row(Decoder *d)
{
    AcrSymbol symbol = {.kind = ACR_SYMBOL_ASSIGN};
    if (d->n_fields != 5)
        return false;
    symbol.qualname = name_of_field(d->fields[1]);
    if (!symbol.qualname || !parse_line(d->fields[2], &symbol.first) ||
        !parse_line(d->fields[3], &symbol.last))
        return false;
    symbol.parent = parent_by_name(d, symbol.qualname, &symbol.name);
    if (symbol.parent < -1 || (symbol.parent >= 0 && !has_class_parent(d, &symbol)))
        return false;
    symbol.def = symbol.first;
    symbol.sig_last = symbol.last;
    if (d->fields[4].len > 0 && !(symbol.value = name_of_field(d->fields[4])))
        return false;
    return append(d, &symbol, false);
}

static bool import_row(Decoder *d)
{
    AcrSymbol symbol = {.kind = ACR_SYMBOL_IMPORT};
    if (d->n_fields != 5 || !parse_line(d->fields[2], &symbol.first))
        return false;
    symbol.name = symbol.qualname = name_of_field(d->fields[1]);
    symbol.module = name_of_field(d->fields[3]);
    if (!symbol.name || !symbol.module)
        return false;
    if (d->fields[4].len > 0 && !(symbol.value = name_of_field(d->fields[4])))
        return false;
    symbol.def = symbol.sig_last = symbol.last = symbol.first;
    symbol.parent = parent_by_line(d, symbol.first);
    return append(d, &symbol, false);
}

static bool failed_row(Decoder *d)
{
    guint32 line;
    if (d->unparsed || d->n_fields != 3 || d->n_symbols > 0 || !parse_line(d->fields[1], &line))
        return false;
    const char *message = text_of_field(d->fields[2]);
    if (!message)
        return false;
    g_autofree char *text = g_strdup_printf("line %u: %s", line, message);
    d->unparsed = g_string_chunk_insert(d->index->strings, g_strdelimit(text, "\t\r\n", ' '));
    return true;
}

static bool decode_row(Decoder *d)
{
    if (d->fields[0].len != 1)
        return false;
    switch (*d->fields[0].at) {
    case 'C':
        return class_row(d);
    case 'D':
        return def_row(d);
    case 'A':
        return assign_row(d);
    case 'I':
        return import_row(d);
    case 'X':
        return failed_row(d);
    default:
        return false;
    }
}

static bool decode_all(Decoder *d, char *rows, gsize len, guint *out_row)
{
    *out_row = 1;
    if (len == 0)
        return true;
    if (rows[len - 1] != '\n' || !acr_utf8_is_text(rows, len))
        return false;
    for (char *at = rows, *end = rows + len; at < end; (*out_row)++) {
        char *stop = memchr(at, '\n', (gsize)(end - at));
        if (!split(d, at, stop) || !decode_row(d))
            return false;
        at = stop + 1;
    }
    return true;
}

bool acr_index_add_rows(AcrIndex *index, guint32 file, char *rows, gsize len,
                        const char **out_unparsed, GError **error)
{
    Decoder decoder = {.index = index, .file = file, .last_first = 1};
    guint symbols = index->symbols->len, bases = index->bases->len, row;
    g_autofree char *text = rows;

    if (!decode_all(&decoder, text, len, &row)) {
        g_array_set_size(index->symbols, symbols);
        g_ptr_array_set_size(index->bases, (gint)bases);
        g_autofree char *why = g_strdup_printf(
            "acr-host cannot read its own outline of the file (row %u); please report it", row);
        return acr_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_MALFORMED, "%s",
                             decoder.unparsed ? decoder.unparsed : why);
    }
    if (text)
        g_ptr_array_add(index->texts, g_steal_pointer(&text));
    *out_unparsed = decoder.unparsed;
    return true;
}
