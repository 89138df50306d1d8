/*
 * Transplanting: the changes from <original> to <patched>, done to lines that are not quite those
 * of <original>.
 *
 * The file's lines at the place stay, each run of changed lines (a hunk) replaces those that its
 * quoted lines stand for. A changed line that was also misquoted is merged by words: what the model
 * misquoted stays as the file has it, what it changed is changed, and where both are the same words
 * the edit is refused. Lines that the quote leaves out are never deleted.
 */
#include <string.h>

#include "patch/fit_private.h"

#define MAX_TOKENS 600u /* of a line that is merged */
#define ALIKE 0.55      /* a line of <patched> that comes from one of <original> */
#define MISQUOTED 0.75  /* a misquoted line that may be replaced as a whole */

/* ---- Merging one line ------------------------------------------------------------------------ */

typedef struct {
    const char *s;
    gsize len;
} Token;

static bool is_word(char c)
{
    return g_ascii_isalnum(c) || c == '_' || (guchar)c >= 0x80;
}

static gsize split(const char *s, gsize len, Token *out)
{
    gsize n = 0;
    for (gsize i = 0; i < len && n <= MAX_TOKENS;) {
        gsize from = i++;
        if (is_word(s[from]))
            while (i < len && is_word(s[i]))
                i++;
        else if (acr_is_blank(s[from]))
            while (i < len && acr_is_blank(s[i]))
                i++;
        out[n++] = (Token){s + from, i - from};
    }
    return n;
}

static bool same_token(Token a, Token b)
{
    return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

/* A replacement of tokens [from, to) of the base by [with, with_end) of another line. */
typedef struct {
    gsize from, to, with, with_end;
} Change;

static GArray *changes_of(const Token *base, gsize n, const Token *other, gsize m)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(Change));
    gsize width = m + 1;
    g_autofree guint16 *best = g_new0(guint16, (n + 1) * width);
    for (gsize i = n; i-- > 0;)
        for (gsize j = m; j-- > 0;)
            best[i * width + j] = same_token(base[i], other[j])
                                      ? (guint16)(best[(i + 1) * width + j + 1] + 1)
                                      : MAX(best[(i + 1) * width + j], best[i * width + j + 1]);
    for (gsize i = 0, j = 0; i < n || j < m;) {
        if (i < n && j < m && same_token(base[i], other[j])) {
            i++;
            j++;
            continue;
        }
        Change change = {i, i, j, j};
        while ((i < n || j < m) && !(i < n && j < m && same_token(base[i], other[j]))) {
            if (j == m || (i < n && best[(i + 1) * width + j] >= best[i * width + j + 1]))
                i++;
            else
                j++;
        }
        change.to = i;
        change.with_end = j;
        g_array_append_val(out, change);
    }
    return out;
}

static bool same_change(const Change *a, const Token *a_line, const Change *b, const Token *b_line)
{
    if (a->from != b->from || a->to != b->to || a->with_end - a->with != b->with_end - b->with)
        return false;
    for (gsize i = 0; i < a->with_end - a->with; i++)
        if (!same_token(a_line[a->with + i], b_line[b->with + i]))
            return false;
    return true;
}

/* Changes that touch the same tokens; one that only inserts may stand at the border of another that
 * replaces. */
static bool collide(const Change *a, const Change *b)
{
    bool a_inserts = a->from == a->to, b_inserts = b->from == b->to;
    if (a_inserts && b_inserts)
        return a->from == b->from;
    if (a_inserts)
        return a->from > b->from && a->from < b->to;
    if (b_inserts)
        return b->from > a->from && b->from < a->to;
    return a->from < b->to && b->from < a->to;
}

typedef struct {
    Token *base, *theirs, *ours;
    GArray *their_changes, *our_changes;
} Merge;

static const Change *change_at(const GArray *changes, guint i)
{
    return i < changes->len ? &g_array_index(changes, Change, i) : NULL;
}

static void put_tokens(GString *out, const Token *line, gsize from, gsize to)
{
    for (gsize i = from; i < to; i++)
        g_string_append_len(out, line[i].s, (gssize)line[i].len);
}

static char *write_merged(const Merge *merge, gsize n)
{
    g_autoptr(GString) out = g_string_new(NULL);
    gsize at = 0;
    for (guint t = 0, o = 0;;) {
        const Change *a = change_at(merge->their_changes, t), *b = change_at(merge->our_changes, o);
        if (!a && !b)
            break;
        if (a && b && same_change(a, merge->theirs, b, merge->ours)) {
            t++; /* both did it */
            continue;
        }
        if (a && b && collide(a, b))
            return NULL;
        bool a_first = a && (!b || a->from < b->from || (a->from == b->from && a->to <= b->to));
        const Change *first = a_first ? a : b;
        put_tokens(out, merge->base, at, first->from);
        put_tokens(out, a_first ? merge->theirs : merge->ours, first->with, first->with_end);
        at = first->to;
        t += a_first;
        o += !a_first;
    }
    put_tokens(out, merge->base, at, n);
    return g_strdup(out->str);
}

/* The line `theirs` with what `ours` changes of `base`; owned, NULL: both changed the same words.
 */
static char *merge_line(const AcrLine *base, const AcrLine *theirs, const AcrLine *ours)
{
    const AcrLine *lines[] = {base, theirs, ours};
    g_autofree Token *tokens = g_new(Token, 3 * (MAX_TOKENS + 2));
    gsize n[3];
    for (gsize i = 0; i < 3; i++) {
        n[i] = split(lines[i]->s + lines[i]->lead, lines[i]->core, tokens + i * (MAX_TOKENS + 2));
        if (n[i] > MAX_TOKENS)
            return NULL;
    }
    Merge merge = {tokens, tokens + MAX_TOKENS + 2, tokens + 2 * (MAX_TOKENS + 2), NULL, NULL};
    g_autoptr(GArray) theirs_changes = changes_of(merge.base, n[0], merge.theirs, n[1]);
    g_autoptr(GArray) our_changes = changes_of(merge.base, n[0], merge.ours, n[2]);
    merge.their_changes = theirs_changes;
    merge.our_changes = our_changes;
    return write_merged(&merge, n[0]);
}

/* ---- Hunks ----------------------------------------------------------------------------------- */

/* Quote lines [a, b) become lines [c, d) of <patched>. */
typedef struct {
    gsize a, b, c, d;
} Hunk;

static gssize file_end(const Fit *fit, gsize j)
{
    return fit->place->map[fit->match->original.n + j];
}

/* Whether quote lines j - 1 and j stand in one line of the file. */
static bool is_joined(const Fit *fit, gsize j)
{
    return j > 0 && j < fit->match->original.n && file_line(fit, j) >= 0 &&
           file_line(fit, j - 1) >= 0 && file_end(fit, j - 1) > file_line(fit, j);
}

/* Hunks of the pairing, made wider until they begin and end between lines of the file. */
static GArray *find_hunks(const Fit *fit)
{
    GArray *hunks = g_array_new(FALSE, FALSE, sizeof(Hunk));
    gsize n = fit->match->original.n, m = fit->match->patched.n;
    for (gsize j = 0, k = 0; j < n || k < m;) {
        if (j < n && k < m && fit->paired[k] == (gssize)j) {
            j++;
            k++;
            continue;
        }
        Hunk hunk = {.a = j, .c = k};
        while (k < m && fit->paired[k] < 0)
            k++;
        j = k < m ? (gsize)fit->paired[k] : n;
        hunk.b = j;
        hunk.d = k;
        gsize floor_a = 0, floor_c = 0;
        Hunk *last = hunks->len > 0 ? &g_array_index(hunks, Hunk, hunks->len - 1) : NULL;
        if (last) {
            floor_a = last->b;
            floor_c = last->d;
        }
        while (hunk.a > floor_a && hunk.c > floor_c && is_joined(fit, hunk.a)) {
            hunk.a--;
            hunk.c--;
        }
        while (j < n && k < m && fit->paired[k] == (gssize)j && is_joined(fit, j)) {
            j++;
            k++;
        }
        hunk.b = j;
        hunk.d = k;
        if (last && last->b == hunk.a && last->d == hunk.c)
            *last = (Hunk){last->a, hunk.b, last->c, hunk.d};
        else
            g_array_append_val(hunks, hunk);
    }
    return hunks;
}

static bool says_code(const AcrLine *line)
{
    return line->core > 0 && line->s[line->lead] != '#';
}

static bool refuse(char **out_why, const char *text, const AcrLine *line)
{
    gsize shown = MIN(line->core, 120);
    g_autofree char *part = g_strndup(line->s + line->lead, shown);
    g_autofree char *quoted = g_utf8_make_valid(part, -1);
    *out_why = g_strdup_printf("%s: \"%s\"", text, quoted);
    return false;
}

/* The first line from `from` to `to` of the file that is not blank, or -1. */
static gssize first_said(const Fit *fit, gssize from, gssize to)
{
    for (gssize f = from; f < to; f++)
        if (!acr_line_is_blank(&fit->source->lines.line[f]))
            return f;
    return -1;
}

/*
 * Where lines that only go in go in, before quote line a: -1 with *out_why when lines of code that
 * the quote leaves out stand there. Behind a docstring, else next to the line before.
 */
static gssize insertion_point(const Fit *fit, gsize a, char **out_why)
{
    const AcrLine *lines = fit->source->lines.line;
    gssize before = -1, after = -1;
    for (gsize j = a; j-- > 0 && before < 0;)
        before = file_line(fit, j) >= 0 ? file_end(fit, j) : -1;
    for (gsize j = a; j < fit->match->original.n && after < 0; j++)
        after = file_line(fit, j);
    if (before < 0 || after < 0)
        return before >= 0 ? before : (gssize)fit->place->first;
    gssize code = -1;
    for (gssize f = before; f < after && code < 0; f++)
        code = says_code(&lines[f]) ? f : -1;
    if (code < 0)
        return before;
    gssize end = (gssize)acr_string_end(&fit->source->lines, (gsize)code);
    bool more = false;
    for (gssize f = end; f < after; f++)
        more = more || says_code(&lines[f]);
    if (end > code && !more && acr_line_opens_block(&lines[before - 1]))
        return after;
    refuse(out_why, "<patched> adds lines where <original> leaves lines of the file out",
           &lines[code]);
    return -1;
}

/* The file's lines that a hunk replaces: [*from, *to). */
static bool hunk_lines(const Fit *fit, const Hunk *hunk, gssize *from, gssize *to, char **out_why)
{
    const AcrLine *quote = fit->match->original.line, *lines = fit->source->lines.line;
    *from = *to = -1;
    for (gsize j = hunk->a; j < hunk->b; j++) {
        if (file_line(fit, j) < 0) {
            if (says_code(&quote[j]))
                return refuse(out_why, "this line of <original> is not in the file", &quote[j]);
            continue;
        }
        gssize said = *to >= 0 ? first_said(fit, *to, file_line(fit, j)) : -1;
        if (said >= 0)
            return refuse(out_why,
                          "the file has lines between the quoted ones that <original> leaves out",
                          &lines[said]);
        *from = *from < 0 ? file_line(fit, j) : *from;
        *to = file_end(fit, j);
    }
    if (*from < 0)
        *from = *to = insertion_point(fit, hunk->a, out_why);
    return *from >= 0;
}

/* The quote line of the hunk, from j on, that line k of <patched> comes from; hunk->b: none. */
static gsize source_of(const Fit *fit, const Hunk *hunk, gsize j, gsize k)
{
    const AcrLine *quote = fit->match->original.line, *line = &fit->match->patched.line[k];
    gsize best = hunk->b;
    double most = ALIKE;
    for (gsize i = j; i < hunk->b && i < j + 50 && line->core > 0; i++) {
        double like = acr_line_likeness(&quote[i], line);
        if (like > most) {
            most = like;
            best = i;
        }
    }
    return best;
}

static bool is_misquoted(const Fit *fit, gsize j)
{
    gssize f = file_line(fit, j);
    if (f < 0 || file_end(fit, j) != f + 1 || is_joined(fit, j) || is_joined(fit, j + 1))
        return false;
    return !acr_line_same_core(&fit->match->original.line[j], &fit->source->lines.line[f]);
}

static bool may_replace(const Fit *fit, gsize j, char **out_why)
{
    if (!is_misquoted(fit, j))
        return true;
    const AcrLine *quoted = &fit->match->original.line[j],
                  *theirs = &fit->source->lines.line[file_line(fit, j)];
    if (!says_code(theirs) || acr_loose_hash(quoted) == acr_loose_hash(theirs) ||
        acr_line_likeness(quoted, theirs) >= MISQUOTED)
        return true;
    return refuse(out_why, "<patched> replaces a line that is otherwise in the file", theirs);
}

static bool write_hunk(Fit *fit, Reading reading, const Hunk *hunk, char **out_why)
{
    gsize j = hunk->a;
    for (gsize k = hunk->c; k < hunk->d; k++) {
        gsize from = source_of(fit, hunk, j, k);
        char *core = NULL;
        if (from < hunk->b) {
            for (; j < from; j++)
                if (!may_replace(fit, j, out_why))
                    return false;
            j = from + 1;
        }
        if (from < hunk->b && is_misquoted(fit, from)) {
            const AcrLine *theirs = &fit->source->lines.line[file_line(fit, from)];
            core =
                merge_line(&fit->match->original.line[from], theirs, &fit->match->patched.line[k]);
            if (!core)
                return refuse(
                    out_why, "<patched> changes words that are otherwise in the file, in this line",
                    theirs);
        }
        gsize near = from < hunk->b ? from : j > 0 ? j - 1 : 0;
        acr_fit_write(fit, reading, k, (gssize)near, core);
    }
    for (; j < hunk->b; j++)
        if (!may_replace(fit, j, out_why))
            return false;
    return true;
}

bool acr_fit_transplant(Fit *fit, Reading reading, char **out_why)
{
    g_autoptr(GArray) hunks = find_hunks(fit);
    gssize at = (gssize)fit->place->first;
    g_array_set_size(fit->lines, 0);
    for (guint i = 0; i < hunks->len; i++) {
        const Hunk *hunk = &g_array_index(hunks, Hunk, i);
        gssize from = -1, to = -1;
        if (!hunk_lines(fit, hunk, &from, &to, out_why))
            return false;
        if (from < at) { /* two hunks in one line of the file */
            *out_why = g_strdup("<original> is broken into lines otherwise than the file");
            return false;
        }
        for (; at < from; at++)
            acr_fit_keep(fit, at);
        if (!write_hunk(fit, reading, hunk, out_why))
            return false;
        at = to;
    }
    for (; at < (gssize)fit->place->last; at++)
        acr_fit_keep(fit, at);
    return true;
}
