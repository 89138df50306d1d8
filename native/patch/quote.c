/*
 * How a quote is read before it is looked for: as lines, without outer blank lines or elisions,
 * without copied line numbers, without HTML escapes. What is taken off <original> is taken off
 * <patched> too.
 */
#include <string.h>

#include "patch/patch_private.h"

/* Length of "  123 ", "123:", "123 | " at the head of a line; 0 if there is none. */
static gsize number_length(const AcrLine *line, gsize *out_number)
{
    gsize at = line->lead, digits = 0, number = 0;
    while (at < line->len && g_ascii_isdigit(line->s[at]) && digits < 7) {
        number = number * 10 + (gsize)(line->s[at++] - '0');
        digits++;
    }
    if (digits == 0)
        return 0;
    *out_number = number;
    if (at == line->len)
        return at;
    if (at + 1 < line->len && line->s[at] == ' ' && line->s[at + 1] == '|')
        at++;
    if (strchr(":|", line->s[at])) {
        at++;
        return at < line->len && line->s[at] == ' ' ? at + 1 : at;
    }
    return acr_is_blank(line->s[at]) ? at + 1 : 0;
}

/* Every line of code has a number, and the numbers rise by one from line to line. */
static bool is_numbered(const AcrLines *lines, gsize *out_first)
{
    gsize expected = 0, number = 0;
    for (gsize j = 0; j < lines->n; j++) {
        gsize len = number_length(&lines->line[j], &number);
        if (len == 0 && !acr_line_is_blank(&lines->line[j]))
            return false;
        if (len > 0 && expected > 0 && number != expected)
            return false;
        if (len > 0 && expected == 0)
            *out_first = number > j ? number - j : 1;
        expected = len > 0 ? number + 1 : expected + (expected > 0);
    }
    return expected > 0;
}

/* Takes the numbers off the lines that have one, from `least` to `most` and never falling: another
 * is code. */
static void strip_numbers(const AcrLines *lines, gsize least, gsize most, AcrLines *out)
{
    *out = (AcrLines){.line = g_new0(AcrLine, lines->n + 1), .n = lines->n};
    for (gsize j = 0; j < lines->n; j++) {
        const AcrLine *line = &lines->line[j];
        gsize number = 0, len = number_length(line, &number);
        if (number < least || number > most)
            len = 0;
        if (len > 0)
            least = number;
        out->line[j] = acr_line_make(line->s + len, line->len - len, line->full - len);
    }
}

/* A part of `lines` as a copy. */
static void slice(const AcrLines *lines, gsize from, gsize to, AcrLines *out)
{
    *out = (AcrLines){.line = g_new0(AcrLine, to - from + 1), .n = to - from};
    if (to > from)
        memcpy(out->line, lines->line + from, (to - from) * sizeof(AcrLine));
}

static gsize blank_head(const AcrLines *lines)
{
    gsize n = 0;
    while (n < lines->n && acr_line_is_blank(&lines->line[n]))
        n++;
    return n;
}

static gsize blank_tail(const AcrLines *lines)
{
    gsize n = 0;
    while (n < lines->n && acr_line_is_blank(&lines->line[lines->n - 1 - n]))
        n++;
    return n;
}

static void replace_lines(AcrLines *lines, gsize from, gsize to)
{
    AcrLines part;
    slice(lines, from, to, &part);
    acr_lines_clear(lines);
    *lines = part;
}

/* Takes outer blank lines off the quote, and as many off the replacement; false if there are none.
 */
bool acr_quote_trim_blank(AcrMatch *match)
{
    AcrLines *o = &match->original, *p = &match->patched;
    gsize head = blank_head(o), tail = head < o->n ? blank_tail(o) : 0;
    if (head + tail == 0 || head == o->n)
        return false;
    replace_lines(o, head, o->n - tail);
    head = MIN(head, blank_head(p));
    tail = MIN(MIN(tail, blank_tail(p)), p->n - head);
    replace_lines(p, head, p->n - tail);
    return true;
}

/* An elision at the same end of both parts says only that the code goes on: it is taken off. */
bool acr_quote_trim_elisions(AcrMatch *match)
{
    AcrLines *o = &match->original, *p = &match->patched;
    bool any = false;
    while (o->n > 1 && p->n > 1 && acr_line_is_elision(&o->line[0]) &&
           acr_line_is_elision(&p->line[0])) {
        replace_lines(o, 1, o->n);
        replace_lines(p, 1, p->n);
        any = true;
    }
    while (o->n > 1 && p->n > 1 && acr_line_is_elision(&o->line[o->n - 1]) &&
           acr_line_is_elision(&p->line[p->n - 1])) {
        replace_lines(o, 0, o->n - 1);
        replace_lines(p, 0, p->n - 1);
        any = true;
    }
    if (any)
        acr_quote_trim_blank(match);
    return any;
}

/* Takes line numbers off both parts; the number of the first line, or 0 if there are none. */
gsize acr_quote_take_numbers(AcrMatch *match)
{
    gsize first = 0;
    AcrLines original, patched;
    if (!is_numbered(&match->original, &first))
        return 0;
    strip_numbers(&match->original, 0, G_MAXSIZE, &original);
    strip_numbers(&match->patched, first, first + match->original.n + match->patched.n, &patched);
    acr_lines_clear(&match->original);
    acr_lines_clear(&match->patched);
    match->original = original;
    match->patched = patched;
    return first;
}

/* `text` with the HTML escapes of ASCII turned back, or NULL if it has none. */
static char *unescape(const char *text)
{
    static const char *const escapes[][2] = {
        {"&lt;", "<"},   {"&gt;", ">"},   {"&quot;", "\""}, {"&apos;", "'"}, {"&#39;", "'"},
        {"&#34;", "\""}, {"&#x27;", "'"}, {"&#x22;", "\""}, {"&#60;", "<"},  {"&#62;", ">"},
        {"&#38;", "&"},  {"&nbsp;", " "}, {"&amp;", "&"}};
    g_autoptr(GString) out = g_string_sized_new(strlen(text));
    bool any = false;
    if (!strchr(text, '&'))
        return NULL;
    while (*text) {
        gsize i = *text == '&' ? 0 : G_N_ELEMENTS(escapes);
        while (i < G_N_ELEMENTS(escapes) && !g_str_has_prefix(text, escapes[i][0]))
            i++;
        if (i < G_N_ELEMENTS(escapes)) {
            g_string_append(out, escapes[i][1]);
            text += strlen(escapes[i][0]);
            any = true;
        } else {
            g_string_append_c(out, *text++);
        }
    }
    return any ? g_strdup(out->str) : NULL;
}

void acr_quote_read(AcrMatch *match, const char *original, const char *patched)
{
    acr_lines_clear(&match->original);
    acr_lines_clear(&match->patched);
    acr_lines_of_quote(original, &match->original);
    acr_lines_of_quote(patched, &match->patched);
}

bool acr_quote_unescape(AcrMatch *match, const char *original, const char *patched)
{
    char *plain = unescape(original);
    if (!plain)
        return false;
    g_ptr_array_add(match->store, plain);
    char *plain_patched = unescape(patched);
    if (plain_patched)
        g_ptr_array_add(match->store, plain_patched);
    acr_quote_read(match, plain, plain_patched ? plain_patched : patched);
    return true;
}
