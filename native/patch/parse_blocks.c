/* Parses search/replace blocks, and fenced blocks with the text of a new file.
 *
 *     <<<<<<< SEARCH
 *     the lines as they are
 *     =======
 *     the lines as they should be
 *     >>>>>>> REPLACE
 *
 * Marks are five to nine characters long. The quoted code may contain lines of "=" too (headings in
 * documents) and conflict marks. If several lines can be the divider, each cut is a reading of the
 * edit, and the file's text decides which reading is right.
 *
 * A fenced block is a whole file if it follows a <file> tag, or a sentence that announces a new
 * file. After a bare name the block may just show code; whether the file exists decides (see
 * AcrEdit.makes). */
#include <string.h>

#include "patch/parse_private.h"

#define MIN_MARK 5u
#define MAX_MARK 9u
#define MAX_CUTS 16u /* maximum number of readings of one block */
/* maximum total number of bytes of the readings of one block */
#define MAX_CUT_BYTES (8u * 1024 * 1024)

/* Returns how many characters `mark` a mark line begins with; 0 if the line is not a mark line. */
static gsize mark_length(const char *s, gsize len, char mark, gsize *out_rest)
{
    gsize from = acr_skip_blanks(s, 0, len), at = from;
    while (at < len && s[at] == mark)
        at++;
    gsize n = at - from;
    if (n < MIN_MARK || n > MAX_MARK)
        return 0;
    if (at < len && !acr_is_blank(s[at]) && !g_ascii_isalpha(s[at]))
        return 0;
    *out_rest = acr_skip_blanks(s, at, len);
    return n;
}

/* Returns the position after one of the two words at `at` (a whole word, ignoring case); `at` if
 * neither word is there. */
static gsize skip_word(const char *s, gsize at, gsize len, const char *const words[2])
{
    for (guint i = 0; i < 2; i++) {
        gsize n = strlen(words[i]);
        if (len - at >= n && g_ascii_strncasecmp(s + at, words[i], n) == 0 &&
            (at + n == len || !g_ascii_isalnum(s[at + n])))
            return at + n;
    }
    return at;
}

gsize acr_search_mark(const char *s, gsize len, gsize *out_rest)
{
    static const char *const words[2] = {"SEARCH", "ORIGINAL"};
    gsize rest = 0, n = mark_length(s, len, '<', &rest);
    *out_rest = n > 0 ? skip_word(s, rest, len, words) : 0;
    return *out_rest > rest ? n : 0;
}

typedef enum {
    MARK_NONE,
    MARK_OPENS,  /* opens a conflict in the quoted code */
    MARK_CLOSES, /* closes a conflict in the quoted code */
    MARK_BARE,   /* closes a conflict or the search/replace block */
    MARK_ENDS,   /* closes the search/replace block */
} Mark;

static Mark read_mark(const char *s, gsize len)
{
    static const char *const words[2] = {"REPLACE", "UPDATED"};
    gsize rest = 0;
    if (mark_length(s, len, '<', &rest) > 0)
        return MARK_OPENS;
    if (mark_length(s, len, '>', &rest) == 0)
        return MARK_NONE;
    if (rest == len)
        return MARK_BARE;
    return skip_word(s, rest, len, words) > rest ? MARK_ENDS : MARK_CLOSES;
}

/* Returns the length of a line that consists of "="; 0 if the line has other characters. */
static gsize divider_length(const char *s, gsize len)
{
    gsize rest = 0, n = mark_length(s, len, '=', &rest);
    return rest == len ? n : 0;
}

bool acr_search_has_line(const char *s, gsize len)
{
    return read_mark(s, len) == MARK_ENDS;
}

typedef struct {
    gsize open_len; /* length of the opening mark */
    gsize body;     /* offset at which the quoted lines begin */
    gsize end_line; /* offset of the closing mark's line */
    gsize end;      /* offset after the closing mark's line */
    bool closed;
    /* owned array of AcrSpan: the lines that may be the divider, beginning with the likeliest */
    GArray *cuts;
} Block;

static void add_cut(Block *block, gsize off, gsize len, gsize marks)
{
    AcrSpan cut = {off, len};
    const AcrSpan *first = block->cuts->len > 0 ? &g_array_index(block->cuts, AcrSpan, 0) : NULL;
    if (block->cuts->len > MAX_CUTS)
        return;
    if (first && marks == block->open_len && first->len != marks)
        g_array_prepend_val(block->cuts, cut);
    else
        g_array_append_val(block->cuts, cut);
}

/* Finds the closing mark before the next block: a mark with the word REPLACE, or a bare mark
 * that does not close a conflict in the quoted code. */
static void find_end(const AcrParse *parse, Block *block)
{
    const char *s = parse->s;
    gsize conflicts = 0;
    for (gsize at = block->body; at < parse->len && !block->closed;) {
        gsize end = acr_line_end(s, at, parse->len), next = acr_after_eol(s, end, parse->len), rest;
        Mark mark = read_mark(s + at, end - at);
        gsize marks = divider_length(s + at, end - at);
        if (acr_search_mark(s + at, end - at, &rest) > 0)
            return;
        if (marks > 0)
            add_cut(block, at, end - at, marks);
        if (block->cuts->len > 0 && (mark == MARK_ENDS || (mark == MARK_BARE && conflicts == 0))) {
            block->closed = true;
            block->end_line = at;
            block->end = next;
        }
        if (mark == MARK_OPENS)
            conflicts++;
        else if (mark != MARK_NONE && conflicts > 0)
            conflicts--;
        at = next;
    }
}

/* Returns the number of lines of a part that are marks of the block: dividers of the same length,
 * or other marks. */
static guint count_marks(const char *s, gsize from, gsize to, gsize divider)
{
    guint n = 0;
    for (gsize at = from; at < to; at = acr_next_line(s, at, to)) {
        gsize len = acr_line_end(s, at, to) - at;
        n += divider_length(s + at, len) == divider || read_mark(s + at, len) != MARK_NONE;
    }
    return n;
}

/* Adds a reading for each cut whose new text contains no more marks than the quoted lines. */
static void add_readings(const AcrParse *parse, const Block *block, AcrEdit *edit)
{
    gsize bytes = (block->end_line - block->body) * block->cuts->len;
    if (block->cuts->len > MAX_CUTS || (block->cuts->len > 1 && bytes > MAX_CUT_BYTES)) {
        acr_parse_complain(edit, "too many of its lines may be the ======= divider; write the edit "
                                 "with <file>, <original> and <patched>");
        return;
    }
    for (guint i = 0; i < block->cuts->len; i++) {
        const AcrSpan *cut = &g_array_index(block->cuts, AcrSpan, i);
        gsize from = acr_after_eol(parse->s, cut->off + cut->len, block->end_line);
        if (count_marks(parse->s, from, block->end_line, block->open_len) >
            count_marks(parse->s, block->body, cut->off, block->open_len))
            continue;
        acr_edit_add_reading(edit, acr_part_text(parse->s, block->body, cut->off),
                             from < block->end_line ? acr_part_text(parse->s, from, block->end_line)
                                                    : g_strdup(""));
    }
    if (!edit->original)
        acr_parse_complain(
            edit, "it repeats ======= or another marker, so any reading would write a "
                  "marker into the file; write the edit with <file>, <original> and <patched>");
}

gsize acr_search_replace_read(AcrParse *parse, gsize off)
{
    const char *s = parse->s;
    gsize first = acr_skip_blanks(s, off, parse->len);
    if (first >= parse->len || s[first] != '<')
        return off;
    gsize line_end = acr_line_end(s, off, parse->len), rest = 0;
    Block block = {.open_len = acr_search_mark(s + off, line_end - off, &rest)};
    if (block.open_len == 0)
        return off;
    block.body = acr_after_eol(s, line_end, parse->len);
    block.end = block.body;
    block.cuts = g_array_new(FALSE, FALSE, sizeof(AcrSpan));
    find_end(parse, &block);
    g_autofree char *file = acr_path_in_line(s + off + rest, line_end - off - rest);
    if (!file)
        file = acr_word_in_line(s + parse->above.off, parse->above.len);
    if (!file)
        file = acr_parse_named_near(parse);
    AcrEdit *edit = acr_parse_edit_new(ACR_EDIT_SEARCH_REPLACE, file, off, block.end);
    if (!file)
        acr_parse_complain(edit, "no line before the search/replace block names a file");
    if (block.closed)
        add_readings(parse, &block, edit);
    else
        acr_parse_complain(edit, block.cuts->len == 0 ? "======= is missing"
                                                      : ">>>>>>> REPLACE is missing");
    acr_parse_name(parse, file);
    acr_parse_push(parse, edit);
    g_array_unref(block.cuts);
    return block.end;
}

#define MAX_HEADING 400u /* maximum number of bytes of a sentence that announces a new file */

typedef struct {
    gsize body, end_line; /* the text of the file is [body, end_line) */
    gsize end;            /* offset after the closing fence */
    bool closed;
} Fenced;

/* Finds the closing fence. Returns false if the fence contains an edit of another form. */
static bool read_fenced(const AcrParse *parse, gsize off, Fenced *out)
{
    const char *s = parse->s;
    guint depth = 0;
    *out = (Fenced){.body = acr_next_line(s, off, parse->len)};
    for (gsize at = out->body; at < parse->len; at = acr_next_line(s, at, parse->len)) {
        gsize end = acr_line_end(s, at, parse->len), info = 0, rest = 0;
        if (at >= parse->tag || acr_search_mark(s + at, end - at, &rest) > 0)
            return false;
        if (!acr_is_fence(s + at, end - at, &info))
            continue;
        bool opens = info < end - at;
        if (!opens && depth == 0) {
            out->closed = true;
            out->end_line = at;
            out->end = acr_after_eol(s, end, parse->len);
            return true;
        }
        depth = opens ? depth + 1 : depth - 1;
    }
    out->end_line = out->end = parse->len;
    return parse->tag >= parse->len;
}

static bool has_word(const char *text, const char *word)
{
    gsize n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !g_ascii_isalpha(at[-1])) && !g_ascii_isalpha(at[n]))
            return true;
    return false;
}

/* Returns the file that a sentence announces, such as "Create a new file `a/b.py`:"; owned, or
 * NULL. */
static char *announced(const char *s, gsize len)
{
    if (len > MAX_HEADING)
        return NULL;
    g_autofree char *lower = g_ascii_strdown(s, (gssize)len);
    if (!has_word(lower, "new") && !has_word(lower, "create") && !has_word(lower, "add"))
        return NULL;
    const char *from = memchr(s, '`', len);
    const char *to = from ? memchr(from + 1, '`', len - (gsize)(from - s) - 1) : NULL;
    if (!to || memchr(to + 1, '`', len - (gsize)(to - s) - 1))
        return NULL;
    bool file = has_word(lower, "file") || has_word(lower, "module") || has_word(lower, "script") ||
                memchr(from, '/', (gsize)(to - from));
    return file ? acr_path_in_line(from + 1, (gsize)(to - from) - 1) : NULL;
}

/* Returns the name of the file whose whole text the fence at `off` contains; owned, or NULL. */
static char *whole_file_name(const AcrParse *parse, gsize off, const char *info, gsize info_len,
                             bool *out_sure)
{
    const char *above = parse->s + parse->above.off;
    gsize at = parse->named_at;
    while (at < off && (acr_is_blank(parse->s[at]) || acr_is_eol(parse->s[at])))
        at++;
    *out_sure = true;
    if (parse->file && parse->named_at > 0 && at == off)
        return g_strdup(parse->file);
    char *name = announced(above, parse->above.len);
    if (name)
        return name;
    *out_sure = false;
    name = acr_path_in_line(above, parse->above.len);
    return name ? name : acr_path_in_info(info, info_len);
}

gsize acr_whole_file_read(AcrParse *parse, gsize off)
{
    const char *s = parse->s;
    gsize info = 0, first = acr_skip_blanks(s, off, parse->len);
    Fenced fenced;
    bool sure = false;
    if (first >= parse->len || s[first] != '`')
        return off;
    gsize len = acr_line_end(s, off, parse->len) - off;
    if (!acr_is_fence(s + off, len, &info) || (parse->fence.len > 0 && info == len) ||
        acr_is_diff_fence(s + off + info, len - info))
        return off;
    g_autofree char *name = whole_file_name(parse, off, s + off + info, len - info, &sure);
    if (!name || !read_fenced(parse, off, &fenced))
        return off;
    AcrEdit *edit = acr_parse_edit_new(ACR_EDIT_WHOLE_FILE, name, off, fenced.end);
    edit->original = g_strdup("");
    edit->patched = g_strndup(s + fenced.body, fenced.end_line - fenced.body);
    edit->makes = sure;
    if (!fenced.closed)
        acr_parse_complain(edit, "the fence around the file's text is not closed");
    acr_parse_push(parse, edit);
    return fenced.end;
}
