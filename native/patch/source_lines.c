/* Splits texts into lines, and represents a source file as the match levels need it.
 *
 * A line is a view: its offset, its length without and with its line end, and the blanks at its
 * beginning and end. All comparisons work on views, so that a file of a hundred thousand lines
 * needs only one array. */
#include <string.h>

#include "patch/source_private.h"

AcrLine acr_line_make(const char *s, gsize len, gsize full)
{
    AcrLine line = {.s = s, .len = len, .full = full};
    while (line.lead < len && acr_is_blank(s[line.lead]))
        line.lead++;
    gsize end = len;
    while (end > line.lead && acr_is_blank(s[end - 1]))
        end--;
    line.core = end - line.lead;
    return line;
}

static gsize eol_length(const char *s, gsize full)
{
    if (full >= 2 && s[full - 2] == '\r' && s[full - 1] == '\n')
        return 2;
    return full >= 1 && (s[full - 1] == '\n' || s[full - 1] == '\r') ? 1 : 0;
}

void acr_lines_of_file(const char *text, gsize len, AcrLines *out)
{
    g_autoptr(GArray) starts = acr_text_lines(text, len);
    gsize n = len == 0 ? 0 : starts->len - 1;
    *out = (AcrLines){.line = g_new0(AcrLine, n + 1), .n = n};
    for (gsize i = 0; i < n; i++) {
        gsize from = g_array_index(starts, gsize, i), to = g_array_index(starts, gsize, i + 1);
        out->line[i] =
            acr_line_make(text + from, to - from - eol_length(text + from, to - from), to - from);
    }
}

void acr_lines_of_quote(const char *text, AcrLines *out)
{
    gsize len = strlen(text);
    acr_lines_of_file(text, len, out);
    if (len > 0 && eol_length(text, len) > 0) {
        out->line[out->n] = acr_line_make(text + len, 0, 0);
        out->n++;
    }
}

void acr_lines_clear(AcrLines *lines)
{
    if (!lines)
        return;
    g_clear_pointer(&lines->line, g_free);
    lines->n = 0;
}

gsize acr_line_width(const AcrLine *line)
{
    gsize width = 0;
    for (gsize i = 0; i < line->lead; i++) {
        if (line->s[i] == '\t')
            width = (width / 8 + 1) * 8;
        else if (line->s[i] == '\f')
            width = 0;
        else
            width++;
    }
    return width;
}

gsize acr_lines_step(const AcrLines *lines)
{
    gsize step = 0, last = 0;
    bool any = false;
    for (gsize i = 0; i < lines->n; i++) {
        const AcrLine *line = &lines->line[i];
        if (acr_line_is_blank(line))
            continue;
        if (memchr(line->s, '\t', line->lead))
            return 8;
        gsize width = acr_line_width(line), d = width > last ? width - last : last - width;
        if (any && d > 0 && (step == 0 || d < step))
            step = d;
        last = width;
        any = true;
    }
    return step;
}

bool acr_line_same_core(const AcrLine *a, const AcrLine *b)
{
    return a->core == b->core && memcmp(a->s + a->lead, b->s + b->lead, a->core) == 0;
}

bool acr_line_same_trimmed(const AcrLine *a, const AcrLine *b)
{
    if (a->core == 0 || b->core == 0)
        return a->core == b->core;
    return a->lead == b->lead && a->core == b->core && memcmp(a->s, b->s, a->lead + a->core) == 0;
}

bool acr_line_same_exact(const AcrLine *a, const AcrLine *b)
{
    return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

static void align_middle(const AcrLine *a, gsize na, const AcrLine *b, gsize nb, gssize base,
                         gssize *out)
{
    if (na == 0 || nb == 0 || na > ACR_PATCH_MAX_ALIGN_CELLS / nb)
        return;
    gsize width = nb + 1;
    g_autofree guint32 *best = g_new0(guint32, (na + 1) * width);
    for (gsize i = na; i-- > 0;)
        for (gsize j = nb; j-- > 0;)
            best[i * width + j] = acr_line_same_trimmed(&a[i], &b[j])
                                      ? best[(i + 1) * width + j + 1] + 1
                                      : MAX(best[(i + 1) * width + j], best[i * width + j + 1]);
    for (gsize i = 0, j = 0; i < na && j < nb;) {
        if (acr_line_same_trimmed(&a[i], &b[j])) {
            out[j++] = base + (gssize)i++;
        } else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) {
            i++;
        } else {
            j++;
        }
    }
}

void acr_lines_align(const AcrLine *a, gsize na, const AcrLine *b, gsize nb, gssize *out)
{
    gsize head = 0, tail = 0;
    for (gsize j = 0; j < nb; j++)
        out[j] = -1;
    while (head < na && head < nb && acr_line_same_trimmed(&a[head], &b[head])) {
        out[head] = (gssize)head;
        head++;
    }
    while (tail < na - head && tail < nb - head &&
           acr_line_same_trimmed(&a[na - 1 - tail], &b[nb - 1 - tail])) {
        out[nb - 1 - tail] = (gssize)(na - 1 - tail);
        tail++;
    }
    align_middle(a + head, na - head - tail, b + head, nb - head - tail, (gssize)head, out + head);
}

AcrSource *acr_source_new(const char *path, GBytes *bytes)
{
    AcrSource *source = g_new0(AcrSource, 1);
    gsize len = 0;
    const void *data = g_bytes_get_data(bytes, &len);
    source->path = g_strdup(path);
    source->bytes = g_bytes_ref(bytes);
    acr_text_decode(data, len, &source->text);
    acr_lines_of_file(source->text.text, source->text.len, &source->lines);
    return source;
}

void acr_source_free(AcrSource *source)
{
    if (!source)
        return;
    acr_lines_clear(&source->lines);
    acr_text_clear(&source->text);
    g_clear_pointer(&source->bytes, g_bytes_unref);
    ACR_FREE(source->path, source);
}

static const char *line_eol(const AcrLine *line)
{
    if (line->full == line->len)
        return NULL;
    if (line->full - line->len == 2)
        return "\r\n";
    return line->s[line->len] == '\r' ? "\r" : "\n";
}

const char *acr_source_eol(const AcrSource *source, gsize at)
{
    const AcrLines *lines = &source->lines;
    const char *eol = at < lines->n ? line_eol(&lines->line[at]) : NULL;
    if (!eol && at > 0 && at - 1 < lines->n)
        eol = line_eol(&lines->line[at - 1]);
    if (!eol && lines->n > 0)
        eol = line_eol(&lines->line[0]);
    return eol ? eol : "\n";
}
