/* A quoted region, a change, and ways to misquote it. A distortion must not change the result: the
 * file must become the same as with the exact quote. */
#include "distort.h"

#include <string.h>

void case_clear(Case *c)
{
    random_file_clear(&c->file);
    g_free(c->changed);
    g_ptr_array_unref(c->original);
    g_ptr_array_unref(c->patched);
}
gsize lead_of(const char *line)
{
    return strspn(line, " \t");
}

bool same_core(const char *a, const char *b)
{
    g_autofree char *x = g_strstrip(g_strdup(a)), *y = g_strstrip(g_strdup(b));
    return strcmp(x, y) == 0;
}

/* If one of two equal adjacent lines is deleted, nobody can tell which one. */
static bool is_repeated(const Case *c)
{
    const char *line = line_at(&c->file, c->at);
    return (c->at > 0 && same_core(line, line_at(&c->file, c->at - 1))) ||
           (c->at + 1 < c->file.lines->len && same_core(line, line_at(&c->file, c->at + 1)));
}

static void write_parts(Case *c)
{
    c->original = g_ptr_array_new_with_free_func(g_free);
    c->patched = g_ptr_array_new_with_free_func(g_free);
    for (guint i = c->first; i < c->first + c->n; i++) {
        const char *line = line_at(&c->file, i);
        g_ptr_array_add(c->original, g_strdup(line));
        if (i != c->at || c->kind == CHANGE_INSERT)
            g_ptr_array_add(c->patched, g_strdup(line));
        if (i == c->at && c->kind != CHANGE_DELETE)
            g_ptr_array_add(c->patched, g_strdup(c->changed));
    }
}

bool opens_block(const char *line)
{
    return g_str_has_suffix(line, ":") || g_str_has_suffix(line, ":  ");
}

void case_init(Case *c, GRand *rand)
{
    *c = (Case){0};
    random_file_init(&c->file, rand);
    guint total = c->file.lines->len;
    do {
        c->first = (guint)g_rand_int_range(rand, 0, (gint)total - 2);
        c->n = (guint)g_rand_int_range(rand, 2, (gint)MIN(9, total - c->first) + 1);
        c->at = c->first + (guint)g_rand_int_range(rand, 0, (gint)c->n);
    } while (is_blank_line(line_at(&c->file, c->first)) || is_blank_line(line_at(&c->file, c->first + c->n - 1)) ||
             is_blank_line(line_at(&c->file, c->at)) || opens_block(line_at(&c->file, c->at)) ||
             (c->at == 0 && c->file.encoding->cookie));
    c->kind = (ChangeKind)g_rand_int_range(rand, 0, 3);
    if (*(char *)c->file.ends->pdata[c->at] == '\0' || is_repeated(c))
        c->kind = CHANGE_REPLACE;
    const char *line = line_at(&c->file, c->at);
    c->changed = g_strdup_printf("%.*schanged = %s", (int)lead_of(line), line, c->file.encoding->words[0]);
    write_parts(c);
}

/* ---- Distortions ----------------------------------------------------------------------------- */

typedef char *(*LineChange)(GRand *rand, const char *line, guint i);

static void each_line(GPtrArray *lines, GRand *rand, LineChange change)
{
    for (guint i = 0; i < lines->len; i++) {
        char *line = change(rand, lines->pdata[i], i);
        g_free(lines->pdata[i]);
        lines->pdata[i] = line;
    }
}

static void both(Case *c, GRand *rand, LineChange change)
{
    each_line(c->original, rand, change);
    each_line(c->patched, rand, change);
}

static bool leave(Case *c, GRand *rand)
{
    return true;
}

static char *blanks_behind(GRand *rand, const char *line, guint i)
{
    g_autofree char *bare = g_strchomp(g_strdup(line));
    return g_strconcat(bare, i % 2 ? "   " : "", NULL);
}

static bool trailing(Case *c, GRand *rand)
{
    both(c, rand, blanks_behind);
    return true;
}

static char *four_more(GRand *rand, const char *line, guint i)
{
    return g_strconcat(is_blank_line(line) ? "" : "    ", line, NULL);
}

static bool shift_right(Case *c, GRand *rand)
{
    both(c, rand, four_more);
    return !c->file.tabs;
}

gsize least_lead(const GPtrArray *lines)
{
    gsize least = G_MAXSIZE;
    for (guint i = 0; i < lines->len; i++)
        if (!is_blank_line(lines->pdata[i]))
            least = MIN(least, lead_of(lines->pdata[i]));
    return least;
}

static bool shift_left(Case *c, GRand *rand)
{
    gsize least = MIN(least_lead(c->original), least_lead(c->patched));
    GPtrArray *parts[] = {c->original, c->patched};
    for (guint k = 0; k < 2; k++)
        for (guint i = 0; i < parts[k]->len; i++) {
            char *line = parts[k]->pdata[i];
            memmove(line, line + MIN(least, lead_of(line)), strlen(line + MIN(least, lead_of(line))) + 1);
        }
    return least > 0;
}

/* Removes the indentation of the first line only. */
static bool lose_first_lead(Case *c, GRand *rand)
{
    gsize lead = lead_of(c->original->pdata[0]);
    if (lead == 0 || c->at == c->first)
        return false;
    GPtrArray *parts[] = {c->original, c->patched};
    for (guint k = 0; k < 2; k++) {
        char *line = parts[k]->pdata[0];
        memmove(line, line + lead, strlen(line + lead) + 1);
    }
    return true;
}

/* Changes the indentation of one unchanged line. */
static bool inner_indentation(Case *c, GRand *rand)
{
    guint i = (guint)g_rand_int_range(rand, 0, (gint)c->original->len);
    if (i == c->at - c->first || is_blank_line(c->original->pdata[i]))
        return false;
    guint k = i > c->at - c->first ? i + c->patched->len - c->original->len : i;
    GPtrArray *parts[] = {c->original, c->patched};
    guint which[] = {i, k};
    for (guint p = 0; p < 2; p++) {
        char *line = parts[p]->pdata[which[p]];
        parts[p]->pdata[which[p]] = g_strconcat("  ", line, NULL);
        g_free(line);
    }
    return true;
}

static char *swap_tabs(GRand *rand, const char *line, guint i)
{
    gsize lead = lead_of(line);
    g_autoptr(GString) out = g_string_new(NULL);
    for (gsize k = 0; k < lead; k += line[k] == '\t' ? 1 : 4)
        g_string_append(out, line[k] == '\t' ? "    " : "\t");
    g_string_append(out, line + lead);
    return g_strdup(out->str);
}

static bool tabs_for_blanks(Case *c, GRand *rand)
{
    bool any = false;
    for (guint i = 0; i < c->original->len; i++)
        any = any || lead_of(c->original->pdata[i]) > 0;
    both(c, rand, swap_tabs);
    return any;
}

/* Replaces unchanged lines by `...`; at least one quoted line remains on either side. */
static bool elision(Case *c, GRand *rand)
{
    guint at = c->at - c->first;
    gint from = at >= 3 ? 1 : (gint)at + 1, to = at >= 3 ? (gint)at - 1 : (gint)c->n - 2;
    if (to < from || is_blank_line(c->original->pdata[from - 1]))
        return false;
    guint n = (guint)(to - from + 1), behind = c->patched->len - c->original->len;
    guint k = at >= 3 ? (guint)from : (guint)from + behind;
    g_ptr_array_remove_range(c->original, (guint)from, n);
    g_ptr_array_insert(c->original, from, g_strdup("    ..."));
    g_ptr_array_remove_range(c->patched, k, n);
    g_ptr_array_insert(c->patched, (gint)k, g_strdup("    ..."));
    return true;
}

/* The number of the line of <patched> that equals line i of <original>. */
static guint same_in_patched(const Case *c, guint i)
{
    return i > c->at - c->first ? i + c->patched->len - c->original->len : i;
}

static bool blank_lines_more(Case *c, GRand *rand)
{
    guint i = (guint)g_rand_int_range(rand, 1, (gint)c->original->len);
    guint k = i > c->at - c->first ? i + c->patched->len - c->original->len : i;
    g_ptr_array_insert(c->original, (gint)i, g_strdup(""));
    g_ptr_array_insert(c->patched, (gint)k, g_strdup(""));
    return true;
}

static bool drop_lines(GPtrArray *lines, bool (*which)(const char *))
{
    bool any = false;
    for (guint i = lines->len; i-- > 0;)
        if (which(lines->pdata[i])) {
            g_ptr_array_remove_index(lines, i);
            any = true;
        }
    return any;
}

static bool blank_lines_fewer(Case *c, GRand *rand)
{
    drop_lines(c->patched, is_blank_line);
    return drop_lines(c->original, is_blank_line);
}

static bool is_comment(const char *line)
{
    return line[lead_of(line)] == '#';
}

static bool comments_fewer(Case *c, GRand *rand)
{
    if (is_comment(line_at(&c->file, c->at)) || is_comment(c->original->pdata[0]) ||
        is_comment(c->original->pdata[c->original->len - 1]))
        return false;
    drop_lines(c->patched, is_comment);
    return drop_lines(c->original, is_comment);
}

/* Omits one unchanged line of code between unchanged lines. */
static bool code_fewer(Case *c, GRand *rand)
{
    guint at = c->at - c->first;
    if (c->n < 5)
        return false;
    guint i = at >= 3 ? at - 2 : at + 3;
    if (i == 0 || i + 1 >= c->n || is_blank_line(c->original->pdata[i]))
        return false;
    g_ptr_array_remove_index(c->patched, same_in_patched(c, i));
    g_ptr_array_remove_index(c->original, i);
    return true;
}

static char *escape(GRand *rand, const char *line, guint i)
{
    return g_markup_escape_text(line, -1);
}

static bool html_escapes(Case *c, GRand *rand)
{
    bool any = false;
    for (guint i = 0; i < c->original->len; i++)
        any = any || strpbrk(c->original->pdata[i], "<>&'\"");
    both(c, rand, escape);
    return any;
}

static char *carriage_return(GRand *rand, const char *line, guint i)
{
    return g_strconcat(line, "\r", NULL);
}

static bool line_ends(Case *c, GRand *rand)
{
    both(c, rand, carriage_return);
    return true;
}

static char *other_marks(GRand *rand, const char *line, guint i)
{
    return g_strdelimit(g_strdup(line), "'\"", '"');
}

static bool quotation_marks(Case *c, GRand *rand)
{
    bool any = false;
    for (guint i = 0; i < c->original->len; i++)
        any = any || strchr(c->original->pdata[i], '\'');
    both(c, rand, other_marks);
    return any;
}

const Distortion distortions[N_DISTORTIONS] = {{"exact", leave, 100},
                                               {"trailing blanks", trailing, 100},
                                               {"shifted right", shift_right, 99},
                                               {"shifted left", shift_left, 99},
                                               {"first indentation lost", lose_first_lead, 99},
                                               {"inner indentation", inner_indentation, 99},
                                               {"tabs and blanks", tabs_for_blanks, 99},
                                               {"elision", elision, 88},
                                               {"blank lines more", blank_lines_more, 99},
                                               {"blank lines fewer", blank_lines_fewer, 99},
                                               {"comments fewer", comments_fewer, 98},
                                               {"code fewer", code_fewer, 80},
                                               {"escapes", html_escapes, 99},
                                               {"line ends", line_ends, 99},
                                               {"quotation marks", quotation_marks, 99}};
