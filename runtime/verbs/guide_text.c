/* Shows the Markdown of the guides on a terminal. Supports only the elements that the guides use:
 * headings, paragraphs, lists, tables, code blocks, and code, emphasis and links inside a line. */
#include "verbs/screen.h"

#include <string.h>

#define CODE "\033[36m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"
#define BETWEEN 2u /* columns between the cells of a table */

typedef struct {
    GString *out, *paragraph;
    GPtrArray *rows; /* lines (char *) of the current table */
    guint width;
    bool has_colour, is_code;
} Guide;

static void put_styled(const Guide *self, GString *out, const char *style, const char *mark,
                       const char *text, gsize len)
{
    g_string_append(out, self->has_colour ? style : mark);
    g_string_append_len(out, text, (gssize)len);
    g_string_append(out, self->has_colour ? PLAIN : mark);
}

/* Appends the text of a link and, if the link leads to another page, the command or address for
 * that page. Returns the end of the link; NULL if `at` is no link. */
static const char *put_link(const char *at, GString *out)
{
    const char *middle = strstr(at, "]("), *end = middle ? strchr(middle, ')') : NULL;
    if (!end)
        return NULL;
    g_autofree char *text = g_strndup(at + 1, (gsize)(middle - at - 1)),
                    *target = g_strndup(middle + 2, (gsize)(end - middle - 2));
    char *suffix = strstr(target, ".md");
    g_string_append(out, text);
    if (suffix && !strchr(target, '/')) {
        *suffix = '\0';
        g_string_append_printf(out, " (acr-host help %s)", target);
    } else if (*target != '#' && strcmp(text, target) != 0) {
        g_string_append_printf(out, " (%s)", target);
    }
    return end + 1;
}

/* Returns the text of a line, with its marks replaced by styles; owned. */
static char *inline_text(const Guide *self, const char *text)
{
    GString *out = g_string_new(NULL);
    while (*text) {
        const char *code = *text == '`' ? strchr(text + 1, '`') : NULL,
                   *bold = g_str_has_prefix(text, "**") ? strstr(text + 2, "**") : NULL,
                   *link = *text == '[' ? put_link(text, out) : NULL;
        if (link) {
            text = link;
        } else if (code) {
            put_styled(self, out, CODE, "`", text + 1, (gsize)(code - text - 1));
            text = code + 1;
        } else if (bold) {
            put_styled(self, out, BOLD, "", text + 2, (gsize)(bold - text - 2));
            text = bold + 2;
        } else {
            text += *text == '\\' && g_ascii_ispunct(text[1]);
            g_string_append_c(out, *text++);
        }
    }
    return g_string_free(out, FALSE);
}

static void put_wrapped(Guide *self, const char *line)
{
    g_autofree char *text = acr_text_wrapped(line, self->width);
    g_string_append_printf(self->out, "%s\n", text);
}

static void end_paragraph(Guide *self)
{
    if (!self->paragraph->len)
        return;
    g_autofree char *text = inline_text(self, self->paragraph->str);
    put_wrapped(self, text);
    g_string_truncate(self->paragraph, 0);
}

/* ---- Tables ---- */

/* Returns the cells of a row, without marks; owned. */
static char **cells_of(const Guide *self, const char *row)
{
    g_autoptr(GString) text = g_string_new(row + 1);
    g_strchomp(text->str);
    text->len = strlen(text->str);
    if (g_str_has_suffix(text->str, "|"))
        g_string_truncate(text, text->len - 1);
    g_string_replace(text, "\\|", "\001", 0);
    char **cells = g_strsplit(text->str, "|", -1);
    for (char **at = cells; *at; at++) {
        g_autofree char *marked = g_strdelimit(*at, "\001", '|');
        *at = inline_text(self, g_strstrip(marked));
    }
    return cells;
}

/* Prints the cells of a row below each other, each after the heading of its column. */
static void put_stacked(Guide *self, char *const *cells, char *const *heads)
{
    put_wrapped(self, cells[0]);
    for (guint i = 1; cells[i]; i++) {
        bool has_head = cells[2] && i < g_strv_length((char **)heads) && *heads[i];
        g_autofree char *line =
            g_strdup_printf("    %s%s%s", has_head ? heads[i] : "", has_head ? ": " : "", cells[i]);
        if (*cells[i])
            put_wrapped(self, line);
    }
}

static void put_aligned(Guide *self, char *const *cells, const guint *widths, guint n)
{
    g_autoptr(GString) line = g_string_new(NULL);
    for (guint i = 0; cells[i] && i < n; i++) {
        guint width = acr_text_width(cells[i]), gap = cells[i + 1] ? widths[i] + BETWEEN : width;
        g_string_append_printf(line, "%s%*s", cells[i], (int)(gap - width), "");
    }
    put_wrapped(self, g_strchomp(line->str));
}

static void end_table(Guide *self)
{
    guint widths[16] = {0}, n = 0, before = 0;
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    for (guint i = 0; i < self->rows->len; i++) {
        char **cells = cells_of(self, self->rows->pdata[i]);
        g_ptr_array_add(rows, cells);
        for (guint k = 0; i != 1 && cells[k] && k < G_N_ELEMENTS(widths); k++) {
            widths[k] = MAX(widths[k], acr_text_width(cells[k]));
            n = MAX(n, k + 1);
        }
    }
    for (guint k = 0; k + 1 < n; k++)
        before += widths[k] + BETWEEN;
    /* the last column may wrap if the other columns leave it enough room */
    bool fits =
        !self->width || before <= self->width / 2 || before + widths[n ? n - 1 : 0] <= self->width;
    for (guint i = fits || n == 1 ? 0 : 2; i < rows->len; i++) {
        char *const *cells = rows->pdata[i];
        if (i == 1) /* skip the line below the headings */
            continue;
        if (fits)
            put_aligned(self, cells, widths, n);
        else
            put_stacked(self, cells, rows->pdata[0]);
    }
    g_ptr_array_set_size(self->rows, 0);
}

/* ---- Lines ---- */

static void put_heading_line(Guide *self, const char *line)
{
    g_autofree char *text = inline_text(self, line + strspn(line, "# "));
    put_styled(self, self->out, BOLD, "", text, strlen(text));
    g_string_append_c(self->out, '\n');
}

static void take_line(Guide *self, const char *line)
{
    const char *text = line + strspn(line, " ");
    bool is_fence = g_str_has_prefix(text, "```");
    if (is_fence || *text == '#' || *text == '|' || !*text || acr_list_mark(text))
        end_paragraph(self);
    if (*text != '|' && self->rows->len)
        end_table(self);
    if (is_fence) {
        self->is_code = !self->is_code;
    } else if (self->is_code) {
        g_string_append_printf(self->out, "%s%s\n", *line ? "    " : "", line);
    } else if (*line == '#') {
        put_heading_line(self, line);
    } else if (*text == '|') {
        g_ptr_array_add(self->rows, (char *)text);
    } else if (!*text) {
        g_string_append_c(self->out, '\n');
    } else if (!g_str_has_prefix(text, "<!--")) {
        g_string_append(self->paragraph, self->paragraph->len ? " " : "");
        g_string_append(self->paragraph, self->paragraph->len ? text : line);
    }
}

char *acr_guide_text(const char *markdown, guint width, bool has_colour)
{
    g_autoptr(GString) paragraph = g_string_new(NULL);
    g_autoptr(GPtrArray) rows = g_ptr_array_new();
    Guide self = {.out = g_string_new(NULL),
                  .paragraph = paragraph,
                  .rows = rows,
                  .width = width,
                  .has_colour = has_colour};
    g_auto(GStrv) lines = g_strsplit(markdown, "\n", -1);
    for (guint i = 0; lines[i]; i++)
        take_line(&self, lines[i]);
    end_paragraph(&self);
    end_table(&self);
    return g_string_free(self.out, FALSE);
}
