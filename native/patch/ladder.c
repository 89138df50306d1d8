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

/* Takes the numbers off the lines that have one. */
static void strip_numbers(const AcrLines *lines, AcrLines *out)
{
    *out = (AcrLines){.line = g_new0(AcrLine, lines->n + 1), .n = lines->n};
    for (gsize j = 0; j < lines->n; j++) {
        const AcrLine *line = &lines->line[j];
        gsize number = 0, len = number_length(line, &number);
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
static bool trim_blank_lines(AcrMatch *match)
{
    AcrLines *o = &match->original, *p = &match->patched;
    gsize head = blank_head(o), tail = head < o->n ? blank_tail(o) : 0;
    if (head + tail == 0 || head == o->n)
        return false;
    replace_lines(o, head, o->n - tail);
    head = MIN(head, blank_head(p));
    tail = head < p->n ? MIN(tail, blank_tail(p)) : 0;
    replace_lines(p, head, p->n - tail);
    return true;
}

static bool find_whole(const AcrSource *source, guint64 *file_hash, AcrMatch *match)
{
    Search search;
    search_init(&search, &source->lines, file_hash, match->original.line, match->original.n);
    bool found = find_lines(&search, match);
    search_clear(&search);
    return found;
}

/* An elision at the same end of both parts says only that the code goes on: it is taken off. */
static bool trim_elisions(AcrMatch *match)
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
        trim_blank_lines(match);
    return any;
}

static bool find_with_elisions(const AcrSource *source, guint64 *file_hash, AcrMatch *match)
{
    bool open = trim_elisions(match);
    bool found = (open && find_whole(source, file_hash, match)) ||
                 acr_elision_find(&source->lines, &match->original, match);
    if (found)
        match->level = ACR_LEVEL_ELISION;
    return found;
}

static bool find_numbered(const AcrSource *source, guint64 *file_hash, AcrMatch *match)
{
    gsize first = 0;
    AcrLines original, patched;
    if (!is_numbered(&match->original, &first))
        return false;
    strip_numbers(&match->original, &original);
    strip_numbers(&match->patched, &patched);
    acr_lines_clear(&match->original);
    acr_lines_clear(&match->patched);
    match->original = original;
    match->patched = patched;
    if (!find_whole(source, file_hash, match) &&
        !(trim_blank_lines(match) && find_whole(source, file_hash, match)) &&
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

/* `text` with the five HTML escapes turned back, or NULL if it has none. */
static char *unescape(const char *text)
{
    static const char *const escapes[][2] = {
        {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
    g_autoptr(GString) out = g_string_sized_new(strlen(text));
    bool any = false;
    while (*text) {
        gsize i = 0;
        while (i < G_N_ELEMENTS(escapes) && !g_str_has_prefix(text, escapes[i][0]))
            i++;
        if (*text == '&' && i < G_N_ELEMENTS(escapes)) {
            g_string_append(out, escapes[i][1]);
            text += strlen(escapes[i][0]);
            any = true;
        } else {
            g_string_append_c(out, *text++);
        }
    }
    return any ? g_strdup(out->str) : NULL;
}

static void read_quote(AcrMatch *match, const char *original, const char *patched)
{
    acr_lines_clear(&match->original);
    acr_lines_clear(&match->patched);
    acr_lines_of_quote(original, &match->original);
    acr_lines_of_quote(patched, &match->patched);
}

static bool find_unescaped(const AcrSource *source, guint64 *file_hash, const char *original,
                           const char *patched, AcrMatch *match)
{
    char *plain = unescape(original);
    if (!plain)
        return false;
    g_ptr_array_add(match->store, plain);
    char *plain_patched = unescape(patched);
    if (plain_patched)
        g_ptr_array_add(match->store, plain_patched);
    read_quote(match, plain, plain_patched ? plain_patched : patched);
    return find_whole(source, file_hash, match) ||
           find_inside(&source->lines, &match->original, match);
}

static bool find_similar(const AcrSource *source, AcrMatch *match)
{
    g_autoptr(GArray) regions = acr_similar_find(&source->lines, &match->original, 2);
    if (regions->len == 0)
        return false;
    AcrRegion best = g_array_index(regions, AcrRegion, 0);
    double next = regions->len > 1 ? g_array_index(regions, AcrRegion, 1).score : 0;
    if (best.score < ACR_SIMILAR_MIN || best.score < next + ACR_SIMILAR_MARGIN)
        return false;
    gssize *map = acr_similar_map(&source->lines, &match->original, &best);
    acr_match_add_place(match, &(AcrPlace){.first = best.first, .last = best.last, .map = map});
    match->level = ACR_LEVEL_SIMILAR;
    return true;
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
    for (gsize j = 0; left_out > quoted && j < match->patched.n; j++) {
        const AcrLine *line = &match->patched.line[j];
        if (!acr_line_is_elision(line) || line->s[line->lead] != '#' || !lacks_code(match))
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
    read_quote(out, original, patched);
    bool found = find_whole(source, file_hash, out);
    if (!found && trim_blank_lines(out))
        found = find_whole(source, file_hash, out);
    found = found || find_inside(&source->lines, &out->original, out) ||
            find_with_elisions(source, file_hash, out) || find_numbered(source, file_hash, out) ||
            find_unescaped(source, file_hash, original, patched, out);
    if (!found) {
        read_quote(out, original, patched);
        trim_blank_lines(out);
        found = acr_elision_count(&out->original) == 0 && find_similar(source, out);
    }
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
