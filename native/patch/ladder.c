/*
 * The ladder: where in a file the quoted code stands.
 *
 * Levels are tried in the order of AcrLevel, the first at which the code occurs wins, and all its
 * places at that level are returned: choosing between them is not done here. Whole lines come
 * first; only when no whole lines match is the quote looked for inside lines (level `exact`, since
 * the bytes are). Matching is by line hashes (Knuth-Morris-Pratt) and confirmed by bytes, so the
 * levels up to `strip` are linear in file and quote.
 */
#include <string.h>

#include "patch/patch_private.h"

typedef bool (*SameLine)(const AcrLine *a, const AcrLine *b);

static guint64 hash_bytes(const char *s, gsize len)
{
    guint64 hash = 0xcbf29ce484222325u ^ len;
    for (gsize i = 0; i < len; i++)
        hash = (hash ^ (guchar)s[i]) * 0x100000001b3u;
    return hash;
}

/* Lines equal without outer blanks have equal hashes: the base of all whole-line levels. */
static guint64 *hash_lines(const AcrLine *lines, gsize n)
{
    guint64 *hash = g_new(guint64, n + 1);
    for (gsize i = 0; i < n; i++)
        hash[i] = hash_bytes(lines[i].s + lines[i].lead, lines[i].core);
    return hash;
}

typedef struct {
    const AcrLines *file;
    guint64 *file_hash;
    AcrLine *quote; /* borrowed */
    gsize n;
    guint64 *hash; /* of the quote */
    gsize *fail;   /* KMP */
} Search;

static void search_init(Search *search, const AcrLines *file, guint64 *file_hash, AcrLine *quote,
                        gsize n)
{
    *search = (Search){.file = file, .file_hash = file_hash, .quote = quote, .n = n};
    search->hash = hash_lines(quote, n);
    search->fail = g_new0(gsize, n + 1);
    for (gsize i = 1, k = 0; i < n; i++) {
        while (k > 0 && search->hash[k] != search->hash[i])
            k = search->fail[k - 1];
        if (search->hash[k] == search->hash[i])
            k++;
        search->fail[i] = k;
    }
}

static void search_clear(Search *search)
{
    g_free(search->hash);
    g_free(search->fail);
}

static bool all_same(const Search *search, gsize first, SameLine same)
{
    for (gsize j = 0; j < search->n; j++)
        if (!same(&search->file->line[first + j], &search->quote[j]))
            return false;
    return true;
}

/* The step of the quote's indentation that answers to one tab of the file: the smallest difference
 * between its lines. */
static gsize quote_step(const AcrLine *quote, gsize n)
{
    gsize step = 0;
    for (gsize j = 1; j < n; j++) {
        gsize a = acr_line_width(quote[j - 1].s, quote[j - 1].lead),
              b = acr_line_width(quote[j].s, quote[j].lead);
        gsize difference = a > b ? a - b : b - a;
        if (quote[j].core > 0 && quote[j - 1].core > 0 && difference > 0 &&
            (step == 0 || difference < step))
            step = difference;
    }
    return step > 0 ? step : 4;
}

/* File indentation in the quote's units. */
static gssize file_width(const AcrLine *line, gsize step)
{
    gsize width = 0;
    for (gsize i = 0; i < line->lead; i++)
        width += line->s[i] == '\t' ? step : 1;
    return (gssize)width;
}

/* Every line is shifted by the same number of columns; where the file has tabs and the quote
 * blanks, a tab is one step. */
static bool is_shifted(const Search *search, gsize first)
{
    gsize step = quote_step(search->quote, search->n);
    for (int tabs = 0; tabs < 2; tabs++) {
        bool known = false, uniform = true;
        gssize shift = 0;
        for (gsize j = 0; j < search->n && uniform; j++) {
            const AcrLine *theirs = &search->file->line[first + j], *ours = &search->quote[j];
            if (acr_line_is_blank(ours))
                continue;
            gssize delta =
                tabs ? file_width(theirs, step) - (gssize)acr_line_width(ours->s, ours->lead)
                     : (gssize)acr_line_width(theirs->s, theirs->lead) -
                           (gssize)acr_line_width(ours->s, ours->lead);
            uniform = !known || delta == shift;
            shift = delta;
            known = true;
        }
        if (uniform)
            return true;
    }
    return false;
}

static AcrLevel level_at(const Search *search, gsize first)
{
    if (all_same(search, first, acr_line_same_exact))
        return ACR_LEVEL_EXACT;
    if (all_same(search, first, acr_line_same_trimmed))
        return ACR_LEVEL_TRAILING;
    return is_shifted(search, first) ? ACR_LEVEL_INDENT : ACR_LEVEL_STRIP;
}

void acr_match_add_place(AcrMatch *match, const AcrPlace *place)
{
    if (match->places->len == ACR_PATCH_MAX_PLACES) {
        match->many = true;
        g_free(place->map);
        return;
    }
    g_array_append_val(match->places, *place);
}

static void place_clear(gpointer data)
{
    g_free(((AcrPlace *)data)->map);
}

/* All places of the quote's whole lines; those of the best level are kept. */
static bool find_lines(const Search *search, AcrMatch *match)
{
    gsize n = search->n;
    match->level = ACR_LEVEL_NONE;
    if (n == 0 || n > search->file->n)
        return false;
    for (gsize i = 0, k = 0, seen = 0; i < search->file->n; i++) {
        while (k > 0 && (k == n || search->hash[k] != search->file_hash[i]))
            k = search->fail[k - 1];
        if (search->hash[k] == search->file_hash[i])
            k++;
        if (k < n)
            continue;
        if (seen > ACR_PATCH_MAX_SCAN) { /* whether the rest holds it too is not known */
            match->many = match->places->len > 0;
            break;
        }
        gsize first = i + 1 - n;
        seen += n;
        if (!all_same(search, first, acr_line_same_core))
            continue;
        AcrLevel level = level_at(search, first);
        if (match->level != ACR_LEVEL_NONE && level > match->level)
            continue;
        if (level < match->level) {
            g_array_set_size(match->places, 0);
            match->many = false;
        }
        match->level = level;
        acr_match_add_place(match, &(AcrPlace){.first = first, .last = first + n});
    }
    return match->places->len > 0;
}

static bool is_word(char c)
{
    return g_ascii_isalnum(c) || c == '_' || (guchar)c >= 0x80;
}

/* `part` of `line` at `col` is not cut out of a word. */
static bool at_border(const AcrLine *line, gsize col, gsize len)
{
    if (len == 0)
        return true;
    bool left = col == 0 || !is_word(line->s[col - 1]) || !is_word(line->s[col]);
    gsize end = col + len;
    return left && (end == line->len || !is_word(line->s[end]) || !is_word(line->s[end - 1]));
}

/* Gives up after ACR_PATCH_MAX_CUTS places inside words: what was found until then is not known to
 * stand once. */
static void find_in_line(const AcrLines *file, const AcrLine *quote, AcrMatch *match)
{
    guint cuts = 0;
    for (gsize i = 0; i < file->n && !match->many && cuts < ACR_PATCH_MAX_CUTS; i++) {
        const AcrLine *line = &file->line[i];
        const char *at = line->s, *end = line->s + line->len;
        while (!match->many && cuts < ACR_PATCH_MAX_CUTS &&
               (at = memmem(at, (gsize)(end - at), quote->s, quote->len))) {
            gsize col = (gsize)(at++ - line->s);
            AcrPlace place = {.first = i, .last = i + 1, .inside = true, .col_first = col};
            place.col_last = col + quote->len;
            if (at_border(line, col, quote->len))
                acr_match_add_place(match, &place);
            else
                cuts++;
        }
    }
    match->many = match->many || (cuts == ACR_PATCH_MAX_CUTS && match->places->len > 0);
}

static bool spans_from(const AcrLines *file, gsize i, const AcrLine *quote, gsize n)
{
    const AcrLine *head = &file->line[i], *tail = &file->line[i + n - 1];
    if (head->len < quote[0].len ||
        memcmp(head->s + head->len - quote[0].len, quote[0].s, quote[0].len) != 0)
        return false;
    if (tail->len < quote[n - 1].len || memcmp(tail->s, quote[n - 1].s, quote[n - 1].len) != 0)
        return false;
    if (!at_border(head, head->len - quote[0].len, quote[0].len) ||
        !at_border(tail, 0, quote[n - 1].len))
        return false;
    for (gsize j = 1; j + 1 < n; j++)
        if (!acr_line_same_exact(&file->line[i + j], &quote[j]))
            return false;
    return true;
}

static bool find_inside(const AcrLines *file, const AcrLines *quote, AcrMatch *match)
{
    gsize n = quote->n;
    if (n == 0 || n > file->n || file->n > ACR_PATCH_MAX_SCAN / n)
        return false;
    if (n == 1 && quote->line[0].core > 0)
        find_in_line(file, &quote->line[0], match);
    for (gsize i = 0; n > 1 && i + n <= file->n && !match->many; i++)
        if (spans_from(file, i, quote->line, n))
            acr_match_add_place(match,
                                &(AcrPlace){.first = i,
                                            .last = i + n,
                                            .inside = true,
                                            .col_first = file->line[i].len - quote->line[0].len,
                                            .col_last = quote->line[n - 1].len});
    if (match->places->len > 0)
        match->level = ACR_LEVEL_EXACT;
    return match->places->len > 0;
}

static bool find_whole(const AcrSource *source, guint64 *file_hash, AcrMatch *match)
{
    Search search;
    search_init(&search, &source->lines, file_hash, match->original.line, match->original.n);
    bool found = find_lines(&search, match);
    search_clear(&search);
    return found;
}

static bool find_with_elisions(const AcrSource *source, guint64 *file_hash, AcrMatch *match)
{
    bool open = acr_quote_trim_elisions(match);
    bool found = (open && find_whole(source, file_hash, match)) ||
                 acr_elision_find(&source->lines, &match->original, match);
    if (found)
        match->level = ACR_LEVEL_ELISION;
    return found;
}

static bool find_numbered(const AcrSource *source, guint64 *file_hash, AcrMatch *match)
{
    gsize first = acr_quote_take_numbers(match);
    if (first == 0)
        return false;
    if (!find_whole(source, file_hash, match) &&
        !(acr_quote_trim_blank(match) && find_whole(source, file_hash, match)) &&
        !acr_elision_find(&source->lines, &match->original, match))
        return false;
    for (guint i = 0; match->places->len > 1 && i < match->places->len; i++) {
        AcrPlace here = g_array_index(match->places, AcrPlace, i);
        if (here.first + 1 == first && !here.map) {
            g_array_set_size(match->places, 0);
            g_array_append_val(match->places, here);
        }
    }
    match->level = ACR_LEVEL_NUMBERED;
    return true;
}

static bool find_unescaped(const AcrSource *source, guint64 *file_hash, const char *original,
                           const char *patched, AcrMatch *match)
{
    if (!acr_quote_unescape(match, original, patched))
        return false;
    return find_whole(source, file_hash, match) ||
           find_inside(&source->lines, &match->original, match);
}

/* The rules of level `similar` on the quote as it is read now. */
static bool find_loosely(const AcrSource *source, AcrMatch *match)
{
    acr_quote_trim_blank(match);
    acr_quote_trim_elisions(match);
    return acr_elision_count(&match->original) == 0 &&
           (acr_loose_find(&source->lines, &match->original, match) ||
            acr_skip_find(&source->lines, &match->original, match));
}

/* The quote as written, without line numbers, without escapes: by each rule, then by likeness. */
static bool find_similar(const AcrSource *source, const char *original, const char *patched,
                         AcrMatch *match)
{
    acr_quote_read(match, original, patched);
    if (find_loosely(source, match))
        return true;
    if (acr_quote_take_numbers(match) && find_loosely(source, match))
        return true;
    if (acr_quote_unescape(match, original, patched) && find_loosely(source, match))
        return true;
    acr_quote_read(match, original, patched);
    acr_quote_take_numbers(match);
    acr_quote_trim_blank(match);
    acr_quote_trim_elisions(match);
    return acr_elision_count(&match->original) == 0 &&
           acr_alike_find(&source->lines, &match->original, match);
}

static bool has_core(const AcrLines *lines, const AcrLine *line)
{
    for (gsize k = 0; k < lines->n; k++)
        if (acr_line_same_core(&lines->line[k], line))
            return true;
    return false;
}

/* Whether a line of code of the quote is in no line of the replacement. Bounded: very long parts
 * count as lacking one. */
static bool lacks_code(const AcrMatch *match)
{
    if (match->original.n > 0 && match->patched.n > ACR_PATCH_MAX_SCAN / match->original.n)
        return true;
    for (gsize j = 0; j < match->original.n; j++)
        if (!acr_line_is_blank(&match->original.line[j]) &&
            !has_core(&match->patched, &match->original.line[j]))
            return true;
    return false;
}

static gsize behind_blanks(const AcrLines *lines, gsize k)
{
    while (k < lines->n && acr_line_is_blank(&lines->line[k]))
        k++;
    return k;
}

/* The line above that is indented less, with nothing but a docstring between; -1: none. */
static gssize header_of(const AcrLines *lines, gsize k)
{
    gsize width = acr_line_width(lines->line[k].s, lines->line[k].lead), at = k;
    while (at > 0) {
        const AcrLine *line = &lines->line[--at];
        if (acr_line_is_blank(line) || acr_line_width(line->s, line->lead) >= width)
            continue;
        gsize body = behind_blanks(lines, at + 1);
        if (body < k)
            body = behind_blanks(lines, acr_string_end(lines, body));
        return body == k ? (gssize)at : -1;
    }
    return -1;
}

/* Whether `...` in line k of the replacement is code: all there is of a block whose header the
 * quote has not, as of an overload; or it goes on with an example in a docstring. */
static bool is_ellipsis(const AcrMatch *match, gsize k)
{
    const AcrLines *lines = &match->patched;
    const AcrLine *line = &lines->line[k], *above = k > 0 ? &lines->line[k - 1] : NULL;
    if (above && above->lead == line->lead && above->core > 4 &&
        (strncmp(above->s + above->lead, ">>> ", 4) == 0 ||
         strncmp(above->s + above->lead, "... ", 4) == 0))
        return true;
    if (match->original.n > 0 && lines->n > ACR_PATCH_MAX_SCAN / match->original.n)
        return false;
    gssize header = header_of(lines, k);
    if (header < 0 || !acr_line_opens_block(&lines->line[header]) ||
        has_core(&match->original, &lines->line[header]))
        return false;
    gsize next = behind_blanks(lines, k + 1);
    return next == lines->n || acr_line_width(lines->line[next].s, lines->line[next].lead) <
                                   acr_line_width(line->s, line->lead);
}

/* Whether line k of the replacement leaves code out: a comment that sounds so does where code of
 * the quote is lacking. */
static bool leaves_out(const AcrMatch *match, gsize k, bool lacking)
{
    const AcrLine *line = &match->patched.line[k];
    if (!acr_line_is_elision(line))
        return false;
    return line->s[line->lead] == '#' ? lacking : !is_ellipsis(match, k);
}

/* A replacement that leaves code out where the quote did not: what should stay there is unknown. */
static void check_elisions(AcrMatch *match)
{
    gsize left_out = acr_elision_count(&match->patched),
          quoted = acr_elision_count(&match->original);
    if (match->level == ACR_LEVEL_ELISION) {
        if (left_out != quoted)
            match->why =
                g_strdup_printf("<original> leaves code out in %" G_GSIZE_FORMAT
                                " places, <patched> in %" G_GSIZE_FORMAT ": quote the code in full",
                                quoted, left_out);
        return;
    }
    bool lacking = left_out > quoted && lacks_code(match);
    for (gsize j = 0; left_out > quoted && j < match->patched.n; j++) {
        const AcrLine *line = &match->patched.line[j];
        if (!leaves_out(match, j, lacking))
            continue;
        match->why =
            g_strdup_printf("<patched> leaves code out (\"%.*s\"), but <original> quotes it: "
                            "write the replacement in full",
                            (int)line->core, line->s + line->lead);
        return;
    }
}

void acr_ladder_find(const AcrSource *source, const char *original, const char *patched,
                     AcrMatch *out)
{
    *out = (AcrMatch){.places = g_array_new(FALSE, FALSE, sizeof(AcrPlace)),
                      .store = g_ptr_array_new_with_free_func(g_free)};
    g_array_set_clear_func(out->places, place_clear);
    g_autofree guint64 *file_hash = hash_lines(source->lines.line, source->lines.n);
    acr_quote_read(out, original, patched);
    bool found = find_whole(source, file_hash, out);
    if (!found && acr_quote_trim_blank(out))
        found = find_whole(source, file_hash, out);
    found = found || find_inside(&source->lines, &out->original, out) ||
            find_with_elisions(source, file_hash, out) || find_numbered(source, file_hash, out) ||
            find_unescaped(source, file_hash, original, patched, out);
    found = found || find_similar(source, original, patched, out);
    if (found)
        check_elisions(out);
    else
        out->level = ACR_LEVEL_NONE;
}

void acr_match_clear(AcrMatch *match)
{
    if (!match)
        return;
    g_clear_pointer(&match->places, g_array_unref);
    acr_lines_clear(&match->original);
    acr_lines_clear(&match->patched);
    g_clear_pointer(&match->store, g_ptr_array_unref);
    g_clear_pointer(&match->why, g_free);
}
