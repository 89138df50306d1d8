/* A small outliner for tests, which reads plain Python by its indentation and parentheses: classes,
 * functions with decorators, headers over several lines, assignments to one name, imports. A line
 * `!syntax` makes a file unparsable. */
#include <string.h>

#include "fixture.h"

typedef struct {
    int indent;
    bool is_class;
    char *qualname;
    gsize row; /* index of its row */
} Open;

typedef struct {
    int first, def, sig_last, last;
    char *head, *tail; /* parts of the row before and after the line numbers */
} Row;

typedef struct {
    GPtrArray *open; /* of Open */
    GPtrArray *rows; /* of Row */
    int decorated;   /* first line of decorators without a definition yet; 0: none */
} Outline;

static void open_free(void *data)
{
    Open *open = data;
    g_free(open->qualname);
    g_free(open);
}

static void row_free(void *data)
{
    Row *row = data;
    g_free(row->head);
    g_free(row->tail);
    g_free(row);
}

static int depth_change(const char *line)
{
    int depth = 0;
    for (; *line && *line != '#'; line++)
        depth += (strchr("([{", *line) != NULL) - (strchr(")]}", *line) != NULL);
    return depth;
}

static Open *innermost(const Outline *outline)
{
    return outline->open->len ? g_ptr_array_index(outline->open, outline->open->len - 1) : NULL;
}

static char *qualified(const Outline *outline, const char *name)
{
    const Open *open = innermost(outline);
    return open ? g_strconcat(open->qualname, ".", name, NULL) : g_strdup(name);
}

static void close_to(Outline *outline, int indent)
{
    while (innermost(outline) && innermost(outline)->indent >= indent)
        g_ptr_array_set_size(outline->open, (int)outline->open->len - 1);
}

static void extend(Outline *outline, int line)
{
    for (guint i = 0; i < outline->open->len; i++) {
        const Open *open = g_ptr_array_index(outline->open, i);
        ((Row *)g_ptr_array_index(outline->rows, open->row))->last = line;
    }
}

static gsize word_length(const char *text)
{
    gsize n = 0;
    while (g_ascii_isalnum(text[n]) || text[n] == '_' || (guchar)text[n] >= 0x80)
        n++;
    return n;
}

/* The text between the outer parentheses of a class header, with commas as list separators. */
static char *bases_of(const char *header)
{
    const char *from = strchr(header, '('), *to = strrchr(header, ')');
    if (!from || !to || to <= from + 1)
        return g_strdup("");
    g_autofree char *inner = g_strndup(from + 1, (gsize)(to - from - 1));
    g_auto(GStrv) parts = g_strsplit(inner, ",", -1);
    for (gsize i = 0; parts[i]; i++)
        g_strstrip(parts[i]);
    return g_strjoinv("\x1f", parts);
}

static void add_definition(Outline *outline, const char *text, int indent, int line, int sig_last, bool is_class)
{
    const char *name = text + (is_class ? 6 : g_str_has_prefix(text, "async ") ? 10 : 4);
    g_autofree char *bare = g_strndup(name, word_length(name));
    Open *open = g_new0(Open, 1);
    open->indent = indent;
    open->is_class = is_class;
    open->qualname = qualified(outline, bare);
    open->row = outline->rows->len;
    Row *row = g_new0(Row, 1);
    row->first = outline->decorated ? outline->decorated : line;
    row->def = line;
    row->sig_last = row->last = sig_last;
    row->head = g_strdup_printf("%c\t%s", is_class ? 'C' : 'D', open->qualname);
    row->tail = is_class ? bases_of(text) : NULL;
    g_ptr_array_add(outline->rows, row);
    g_ptr_array_add(outline->open, open);
    outline->decorated = 0;
}

static void add_assign(Outline *outline, const char *text, int line, int last)
{
    gsize n = word_length(text);
    const Open *outer = innermost(outline);
    const char *after = text + n;
    while (*after == ' ')
        after++;
    if (n == 0 || after[0] != '=' || after[1] == '=' || (outer && !outer->is_class))
        return;
    g_autofree char *name = g_strndup(text, n);
    g_autofree char *value = g_strstrip(g_strdup(after + 1));
    bool dotted = *value &&
                  strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.") == strlen(value) &&
                  !g_ascii_isdigit(*value);
    g_autofree char *qualname = qualified(outline, name);
    Row *row = g_new0(Row, 1);
    row->first = line;
    row->last = last;
    row->head = g_strdup_printf("A\t%s", qualname);
    row->tail = g_strdup(dotted ? value : "");
    g_ptr_array_add(outline->rows, row);
}

/* `from m import n [as x]`, one name. */
static void add_import(Outline *outline, const char *text, int line)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    if (g_strv_length(words) < 4)
        return;
    const char *local = g_strv_length(words) >= 6 ? words[5] : words[3];
    Row *row = g_new0(Row, 1);
    row->first = line;
    row->head = g_strdup_printf("I\t%s", local);
    row->tail = g_strdup_printf("%s\t%s", words[1], words[3]);
    g_ptr_array_add(outline->rows, row);
}

static int add_statement(Outline *outline, char **lines, int line)
{
    const char *text = lines[line - 1];
    int indent = (int)strspn(text, " "), last = line, depth = depth_change(text);
    g_autoptr(GString) whole = g_string_new(text + indent);
    while (depth > 0 && lines[last]) {
        g_string_append(whole, lines[last]);
        depth += depth_change(lines[last++]);
    }
    close_to(outline, indent);
    if (g_str_has_prefix(whole->str, "@") && !outline->decorated)
        outline->decorated = line;
    else if (g_str_has_prefix(whole->str, "class "))
        add_definition(outline, whole->str, indent, line, last, true);
    else if (g_str_has_prefix(whole->str, "def ") || g_str_has_prefix(whole->str, "async def "))
        add_definition(outline, whole->str, indent, line, last, false);
    else if (g_str_has_prefix(whole->str, "from "))
        add_import(outline, whole->str, line);
    else
        add_assign(outline, whole->str, line, last);
    extend(outline, last);
    return last;
}

static char *row_text(const Row *row)
{
    if (row->head[0] == 'A')
        return g_strdup_printf("%s\t%d\t%d\t%s\n", row->head, row->first, row->last, row->tail);
    if (row->head[0] == 'I')
        return g_strdup_printf("%s\t%d\t%s\n", row->head, row->first, row->tail);
    return g_strdup_printf("%s\t%d\t%d\t%d\t%d%s%s\n", row->head, row->first, row->def, row->sig_last, row->last,
                           row->tail ? "\t" : "", row->tail ? row->tail : "");
}

bool mini_outline(void *ctx, const char *path, GBytes *source, GBytes **out_rows, GError **error)
{
    gsize len = 0;
    const char *data = g_bytes_get_data(source, &len);
    g_autofree char *text = acr_utf8_repair(data ? data : "", len);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    Outline outline = {.open = g_ptr_array_new_with_free_func(open_free),
                       .rows = g_ptr_array_new_with_free_func(row_free)};
    GString *out = g_string_new(NULL);
    bool broken = strstr(text, "!syntax") != NULL;
    for (int line = 1; !broken && lines[line - 1]; line++) {
        const char *at = lines[line - 1] + strspn(lines[line - 1], " \r");
        if (*at && *at != '#')
            line = add_statement(&outline, lines, line);
    }
    for (guint i = 0; i < outline.rows->len; i++) {
        g_autofree char *row = row_text(g_ptr_array_index(outline.rows, i));
        g_string_append(out, row);
    }
    if (broken)
        g_string_append(out, "X\t1\tinvalid syntax\n");
    *out_rows = g_string_free_to_bytes(out);
    g_ptr_array_unref(outline.open);
    g_ptr_array_unref(outline.rows);
    return true;
}
