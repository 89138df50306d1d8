/* Implements the first rule of level `similar`: the quote differs from the file's code only in
 * spelling and line breaks.
 *
 * Both texts are converted to streams without blanks, line breaks, line continuations, comments
 * after code, and commas before a closing bracket; all quotation marks become the same, and
 * adjacent words stay separate. The quote's stream is searched for in the file's stream. A place
 * begins and ends with a whole line. The search takes linear time. */
#include <string.h>

#include "patch/match_private.h"

#define GAP '\x01' /* byte of a stream that separates two words */

/* The part of the stream that comes from one line. */
typedef struct {
    gsize start, stop; /* range of bytes in the stream, without a leading GAP */
} Piece;

typedef struct {
    GString *text;
    Piece *line; /* owned; the piece of each line */
} Stream;

typedef struct {
    const char *s;
    char as; /* replacement character; 0 if the character is dropped */
} Mark;

/* Characters that editors and models write instead of ASCII characters. */
static const Mark marks[] = {{"\xe2\x80\x98", '"'},  {"\xe2\x80\x99", '"'},  {"\xe2\x80\x9c", '"'},
                             {"\xe2\x80\x9d", '"'},  {"\xe2\x80\x93", '-'},  {"\xe2\x80\x94", '-'},
                             {"\xe2\x88\x92", '-'},  {"\xe2\x80\x8b", '\0'}, {"\xc2\xa0", '\0'},
                             {"\xe2\x80\xaf", '\0'}, {"\xef\xbb\xbf", '\0'}};

static const Mark *mark_at(const char *s, gsize len)
{
    if ((guchar)*s < 0x80)
        return NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        if (strlen(marks[i].s) <= len && memcmp(marks[i].s, s, strlen(marks[i].s)) == 0)
            return &marks[i];
    return NULL;
}

/* Whether only blanks and comments precede a closing bracket, from column `at` of `line` on, up to
 * line `end`. */
static bool closes_next(const AcrLine *line, const AcrLine *end, gsize at)
{
    for (gsize col = at; line < end; line++, col = 0) {
        while (col < line->len && acr_is_blank(line->s[col]))
            col++;
        if (col < line->len && line->s[col] != '#')
            return strchr(")]}", line->s[col]) != NULL;
    }
    return false;
}

typedef struct {
    GString *out;
    bool parted; /* blanks or a line break came after the last byte */
} Writer;

static void put(Writer *writer, char c)
{
    GString *out = writer->out;
    if (writer->parted && out->len > 0 && acr_is_word(c) && acr_is_word(out->str[out->len - 1]))
        g_string_append_c(out, GAP);
    writer->parted = false;
    g_string_append_c(out, c);
}

/* Returns the position in a line where the code ends and a comment begins; the end of the line if
 * it is only a comment. Strings are recognised only within the line. */
gsize acr_line_code_end(const AcrLine *line)
{
    gsize stop = line->lead + line->core;
    char open = '\0';
    for (gsize i = line->lead; i < stop; i++) {
        char c = line->s[i];
        if (c == '\\')
            i++;
        else if (open)
            open = c == open ? '\0' : open;
        else if (c == '"' || c == '\'')
            open = c;
        else if (c == '#' && i > line->lead && acr_is_blank(line->s[i - 1]))
            return i;
    }
    return stop;
}

static void put_line(Writer *writer, const AcrLine *line, const AcrLine *end)
{
    const char *s = line->s;
    gsize stop = acr_line_code_end(line);
    for (gsize i = line->lead; i < stop; i++) {
        const Mark *mark = mark_at(s + i, stop - i);
        if (mark) {
            i += strlen(mark->s) - 1;
            writer->parted = writer->parted || !mark->as;
            if (mark->as)
                put(writer, mark->as);
            continue;
        }
        bool left_out = acr_is_blank(s[i]) || (s[i] == '\\' && i + 1 == stop) ||
                        (s[i] == '\\' && i + 1 < stop && strchr("'\"", s[i + 1])) ||
                        (s[i] == ',' && closes_next(line, end, i + 1));
        if (left_out)
            writer->parted = true;
        else
            put(writer, s[i] == '\'' ? '"' : s[i]);
    }
    writer->parted = true;
}

static void stream_init(Stream *stream, const AcrLines *lines)
{
    *stream = (Stream){.text = g_string_new(NULL), .line = g_new0(Piece, lines->n + 1)};
    Writer writer = {.out = stream->text};
    for (gsize i = 0; i < lines->n; i++) {
        Piece *piece = &stream->line[i];
        gsize from = stream->text->len;
        put_line(&writer, &lines->line[i], lines->line + lines->n);
        piece->stop = stream->text->len;
        piece->start = from + (from < piece->stop && stream->text->str[from] == GAP);
    }
}

static void stream_clear(Stream *stream)
{
    g_string_free(stream->text, TRUE);
    g_free(stream->line);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Stream, stream_clear)

/* Returns the line that contains byte `at` of the stream. */
static gsize line_of(const Stream *stream, gsize n, gsize at)
{
    gsize low = 0, high = n;
    while (low < high) {
        gsize mid = low + (high - low) / 2;
        if (stream->line[mid].stop <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static gssize *map_lines(const Stream *file, gsize n_file, const Stream *quote, gsize n, gsize at)
{
    gssize *map = g_new(gssize, 2 * n + 1);
    for (gsize j = 0; j < n; j++) {
        map[j] = map[n + j] = -1;
        if (quote->line[j].start == quote->line[j].stop)
            continue;
        map[j] = (gssize)line_of(file, n_file, at + quote->line[j].start);
        map[n + j] = (gssize)line_of(file, n_file, at + quote->line[j].stop - 1) + 1;
    }
    return map;
}

static void take_place(const Stream *file, const AcrLines *lines, const Stream *quote,
                       const AcrLines *asked, gsize at, AcrMatch *match)
{
    gsize first = line_of(file, lines->n, at), n = asked->n;
    gsize last = line_of(file, lines->n, at + quote->text->len - 1) + 1;
    if (file->line[first].start != at || file->line[last - 1].stop != at + quote->text->len)
        return;
    gssize *map = map_lines(file, lines->n, quote, n, at);
    acr_map_blank_lines(lines, asked, map);
    acr_match_add_place(match, &(AcrPlace){.first = first, .last = last, .map = map});
}

static bool find_stream(const AcrLines *lines, const AcrLines *asked, AcrMatch *match)
{
    g_auto(Stream) file = {0};
    g_auto(Stream) quote = {0};
    stream_init(&quote, asked);
    stream_init(&file, lines);
    gsize n = quote.text->len, work = 0;
    const char *text = file.text->str, *end = text + file.text->len, *at = text;
    while (n >= ACR_LOOSE_MIN && !match->many &&
           (at = memmem(at, (gsize)(end - at), quote.text->str, n))) {
        take_place(&file, lines, &quote, asked, (gsize)(at++ - text), match);
        work += n;
        match->many = work > ACR_PATCH_MAX_SCAN && match->places->len > 0;
        if (work > ACR_PATCH_MAX_SCAN)
            break;
    }
    return match->places->len > 0;
}

bool acr_loose_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match)
{
    bool found = find_stream(file, quote, match);
    if (found)
        match->level = ACR_LEVEL_SIMILAR;
    return found;
}

void acr_map_blank_lines(const AcrLines *file, const AcrLines *quote, gssize *map)
{
    gsize n = quote->n;
    gssize next = -1; /* the file line after the last file line to which a quote line is mapped */
    for (gsize j = 0; j < n; j++) {
        if (map[j] >= 0) {
            next = MAX(next, map[n + j]);
        } else if (acr_line_is_blank(&quote->line[j]) && next >= 0 && (gsize)next < file->n &&
                   acr_line_is_blank(&file->line[next])) {
            gsize k = j + 1;
            while (k < n && map[k] < 0)
                k++;
            if (k == n || map[k] <= next)
                continue;
            map[j] = next++;
            map[n + j] = next;
        }
    }
}

guint64 acr_loose_hash(const AcrLine *line)
{
    g_autoptr(GString) text = g_string_sized_new(line->core + 1);
    Writer writer = {.out = text};
    put_line(&writer, line, line + 1);
    guint64 hash = 0xcbf29ce484222325u ^ text->len;
    for (gsize i = 0; i < text->len; i++)
        hash = (hash ^ (guchar)text->str[i]) * 0x100000001b3u;
    return hash;
}
