/* Parses a model's answer into edits. First the parser finds the tags <file>, <original> and
 * <patched>. Then the parser reads the answer once, tag by tag, and line by line between the tags.
 * Adjacent tags form one edit. A line between tags can begin an edit of another form
 * (search/replace, diff, whole file), which another file parses. The form that begins first is
 * used: a tag inside a diff is code, and so is a conflict mark inside <original>.
 *
 * An opening tag is *structural* if only blanks, markup or another tag precede it on its line; a
 * closing tag is *clean* if only blanks, a fence or another tag follow it. Tags that code only
 * mentions have quotes or words around them, and are therefore neither structural nor clean. */
#include <string.h>

#include "patch/parse_private.h"

#define MAX_TAG 256u /* maximum number of bytes of one tag with its attributes */

#define MAX_NESTED 256u /* maximum number of tags inside a part that are examined for pairs */

typedef enum {
    TAG_FILE,
    TAG_ORIGINAL,
    TAG_PATCHED,
    TAG_OTHER, /* a tag of a quoted search result: <class>, <func> or <code> */
} TagKind;

typedef struct {
    gsize off, end; /* offsets of the tag */
    TagKind kind;
    bool closing;
    bool good;    /* an opening tag is structural, or a closing tag is clean */
    bool empty;   /* the tag opens and closes a part, such as <patched/> */
    AcrSpan name; /* the value of an attribute that names a file; may be empty */
} Tag;

static const struct {
    const char *name;
    TagKind kind;
} tag_names[] = {
    {"file", TAG_FILE},   {"original", TAG_ORIGINAL}, {"patched", TAG_PATCHED},
    {"class", TAG_OTHER}, {"func", TAG_OTHER},        {"code", TAG_OTHER},
};

/* Whether the tag is structural: only blanks, list or heading marks, a fence, a label or another
 * tag precede it on its line. */
static bool is_structural(const char *s, gsize off)
{
    gsize at = off;
    while (at > 0 && acr_is_blank(s[at - 1]))
        at--;
    if (at == 0 || acr_is_eol(s[at - 1]) || s[at - 1] == '>' || s[at - 1] == ':')
        return true;
    if (at >= 3 && strncmp(s + at - 3, "```", 3) == 0)
        return true;
    while (at > 0 && strchr("*#-_ \t.0123456789", s[at - 1]))
        at--;
    return at == 0 || acr_is_eol(s[at - 1]);
}

static bool is_clean(const char *s, gsize end, gsize len)
{
    gsize at = acr_skip_blanks(s, end, len);
    if (at >= len || acr_is_eol(s[at]))
        return true;
    if (len - at >= 3 && strncmp(s + at, "```", 3) == 0)
        return true;
    if (s[at] != '<')
        return false;
    at++;
    if (at < len && s[at] == '/')
        at++;
    for (gsize i = 0; i < G_N_ELEMENTS(tag_names); i++)
        if (len - at > strlen(tag_names[i].name) &&
            g_ascii_strncasecmp(s + at, tag_names[i].name, strlen(tag_names[i].name)) == 0)
            return true;
    return false;
}

/* Returns the value of path="…", name="…", file="…" or src="…" in [from, to); empty if there is
 * none. */
static AcrSpan file_attribute(const char *s, gsize from, gsize to)
{
    static const char *const names[] = {"path=", "name=", "file=", "src=", "filename="};
    for (gsize at = from; at < to; at++) {
        for (gsize i = 0; i < G_N_ELEMENTS(names) && acr_is_blank(s[at - 1]); i++) {
            gsize n = strlen(names[i]);
            if (to - at <= n + 1 || g_ascii_strncasecmp(s + at, names[i], n) != 0)
                continue;
            char quote = s[at + n];
            const char *end =
                strchr("\"'", quote) ? memchr(s + at + n + 1, quote, to - at - n - 1) : NULL;
            if (end)
                return (AcrSpan){at + n + 1, (gsize)(end - s) - at - n - 1};
        }
    }
    return (AcrSpan){0, 0};
}

/* Reads the tag that begins at s[off], which is '<'. Returns false if there is no known tag. */
static bool scan_tag(const char *s, gsize off, gsize len, Tag *out)
{
    gsize at = acr_skip_blanks(s, off + 1, len);
    bool closing = at < len && s[at] == '/';
    if (closing)
        at = acr_skip_blanks(s, at + 1, len);
    for (gsize i = 0; i < G_N_ELEMENTS(tag_names); i++) {
        gsize n = strlen(tag_names[i].name);
        if (len - at <= n || g_ascii_strncasecmp(s + at, tag_names[i].name, n) != 0)
            continue;
        gsize end = at + n;
        bool slash = !closing && s[end] == '/' && end + 1 < len && s[end + 1] == '>';
        if (s[end] != '>' && !acr_is_blank(s[end]) && !slash)
            return false;
        while (end < len && end - off < MAX_TAG && s[end] != '>' && s[end] != '<' &&
               !acr_is_eol(s[end]))
            end++;
        if (end >= len || s[end] != '>')
            return false;
        *out = (Tag){.off = off, .end = end + 1, .kind = tag_names[i].kind, .closing = closing};
        out->empty = !closing && s[end - 1] == '/';
        if (out->kind == TAG_FILE && !closing)
            out->name = file_attribute(s, at + n, end);
        out->good = closing ? is_clean(s, end + 1, len) : is_structural(s, off);
        return true;
    }
    return false;
}

/* Returns all tags of the answer in order; owned array of Tag. */
static GArray *find_tags(const char *s, gsize len)
{
    GArray *tags = g_array_new(FALSE, FALSE, sizeof(Tag));
    const char *at = s;
    while ((at = memchr(at, '<', len - (gsize)(at - s)))) {
        Tag tag;
        if (scan_tag(s, (gsize)(at - s), len, &tag)) {
            g_array_append_val(tags, tag);
            at = s + tag.end;
        } else {
            at++;
        }
    }
    return tags;
}

typedef struct {
    AcrParse base;
    const Tag *tag;
    gsize n_tags;
    GPtrArray *all;   /* array of AcrEdit: the edits of the whole answer */
    GPtrArray *block; /* array of AcrEdit: the edits of the current block */
    gsize next_open;  /* number of the next tag that opens a part or names a file */
    AcrEdit *group;   /* owned; the edit whose parts are being read, or NULL */
    bool result_tags; /* tags of a search result followed the group's <file> */
} Parser;

static void flush(Parser *p)
{
    AcrEdit *edit = g_steal_pointer(&p->group);
    bool quoted_result = p->result_tags;
    p->result_tags = false;
    if (!edit)
        return;
    if (!edit->original && !edit->patched && !edit->complaint && quoted_result) {
        acr_edit_free(edit);
        return;
    }
    if (!edit->original && !edit->patched)
        acr_parse_complain(edit, "<original> and <patched> are missing");
    else if (!edit->original)
        acr_parse_complain(edit, "<original> is missing");
    else if (!edit->patched)
        acr_parse_complain(edit, "<patched> is missing");
    else if (!edit->file)
        acr_parse_complain(edit, "<file> is missing");
    else if (*edit->file == '\0')
        acr_parse_complain(edit, "<file> is empty");
    acr_parse_push(&p->base, edit);
}

/* Ends the current group because an edit of another form begins. Drops a group that has only a
 * <file>, which is the heading of the new edit. */
static void interrupt(Parser *p)
{
    if (p->group && !p->group->original && !p->group->patched && !p->group->complaint)
        g_clear_pointer(&p->group, acr_edit_free);
    p->result_tags = false;
    flush(p);
}

static AcrEdit *open_group(Parser *p, const Tag *tag)
{
    flush(p);
    p->group = acr_parse_edit_new(ACR_EDIT_TAGS, p->base.file, tag->off, tag->end);
    return p->group;
}

/* Whether only white space and fences lie in [from, to). */
static bool adjoins(const Parser *p, gsize from, gsize to)
{
    const char *s = p->base.s;
    for (; from < to; from++)
        if (!acr_is_blank(s[from]) && !acr_is_eol(s[from]) && s[from] != '`')
            return false;
    return true;
}

static bool is_part(const Tag *tag)
{
    return tag->kind == TAG_ORIGINAL || tag->kind == TAG_PATCHED;
}

static bool stops(const Tag *tag)
{
    return !tag->closing && tag->good && is_part(tag);
}

/* Whether a fence or a heading, after which a new block begins, lies between two offsets. */
static bool parted(const Parser *p, gsize from, gsize to)
{
    return g_strstr_len(p->base.s + from, (gssize)(to - from), "```") ||
           g_strstr_len(p->base.s + from, (gssize)(to - from), "\n# mod");
}

/* Returns the tag that closes the part opened by tag `open`, or -1. If there are several clean
 * closing tags, <original> ends at the first one before a <patched>, and <patched> at the last one
 * before the next block. If there is no clean tag, any closing tag counts. */
static gssize find_close(const Parser *p, gsize open, gsize *out_stop)
{
    TagKind kind = p->tag[open].kind;
    gssize clean = -1, any = -1;
    gsize i = open + 1;
    for (; i < p->n_tags && !stops(&p->tag[i]); i++) {
        const Tag *tag = &p->tag[i];
        if (clean >= 0 && parted(p, p->tag[i - 1].end, tag->off))
            break;
        if (!tag->closing || tag->kind != kind)
            continue;
        if (any < 0)
            any = (gssize)i;
        if (!tag->good)
            continue;
        bool last_word =
            kind == TAG_PATCHED ||
            (i + 1 < p->n_tags && p->tag[i + 1].kind == TAG_PATCHED && stops(&p->tag[i + 1]));
        if (clean < 0 || last_word)
            clean = (gssize)i;
    }
    *out_stop = i;
    return clean >= 0 ? clean : any;
}

/* Returns the tag that closes the part opened by tag `open` if the tags inside the part form pairs;
 * otherwise -1. Needed for code that itself contains edits, such as the text of a prompt. */
static gssize find_balanced(const Parser *p, gsize open)
{
    TagKind inside[MAX_NESTED];
    gsize depth = 0, last = MIN(p->n_tags, open + MAX_NESTED);
    for (gsize i = open + 1; i < last; i++) {
        const Tag *tag = &p->tag[i];
        if (!is_part(tag) || !tag->good || tag->empty)
            continue;
        if (!tag->closing)
            inside[depth++] = tag->kind;
        else if (depth == 0)
            return tag->kind == p->tag[open].kind ? (gssize)i : -1;
        else if (inside[--depth] != tag->kind)
            return -1;
    }
    return -1;
}

static bool is_balanced_pair(const Parser *p, gsize open, gssize *out_close)
{
    gssize close = find_balanced(p, open);
    gsize next = (gsize)close + 1;
    if (close < 0 || next >= p->n_tags || !stops(&p->tag[next]) ||
        p->tag[next].kind != TAG_PATCHED || !adjoins(p, p->tag[close].end, p->tag[next].off))
        return false;
    *out_close = close;
    return p->tag[next].empty || find_balanced(p, next) >= 0;
}

static gsize close_part(Parser *p, gsize open, gsize close, char **out_text)
{
    *out_text = acr_part_text(p->base.s, p->tag[open].end, p->tag[close].off);
    p->group->end = p->tag[close].end;
    return close + 1;
}

/* Reads the part that tag `i` opens into *out_text; returns the index of the next tag. */
static gsize read_part(Parser *p, gsize i, char **out_text, const char *missing)
{
    gsize stop = 0;
    const Tag *open = &p->tag[i];
    p->group->end = open->end;
    if (open->empty) {
        *out_text = g_strdup("");
        return i + 1;
    }
    gssize close = find_close(p, i, &stop), balanced = -1;
    if (close >= 0)
        return close_part(p, i, (gsize)close, out_text);
    bool nested =
        stop < p->n_tags && (open->kind == TAG_PATCHED ? (balanced = find_balanced(p, i)) >= 0
                                                       : is_balanced_pair(p, i, &balanced));
    if (nested)
        return close_part(p, i, (gsize)balanced, out_text);
    if (open->kind == TAG_ORIGINAL && stop < p->n_tags && stop == i + 1 &&
        p->tag[stop].kind == TAG_PATCHED) {
        *out_text = acr_part_text(p->base.s, open->end, p->tag[stop].off);
        return stop;
    }
    acr_parse_complain(p->group, missing);
    return i + 1;
}

static void name_file(Parser *p, const Tag *open, gsize from, gsize to)
{
    g_free(p->base.file);
    p->base.file = g_strndup(p->base.s + from, to - from);
    g_strstrip(p->base.file);
    acr_parse_name(&p->base, p->base.file);
    open_group(p, open);
}

/* Whether [from, to) contains only one line, apart from white space around the line. */
static bool is_one_line(const char *s, gsize from, gsize to)
{
    g_autofree char *name = g_strstrip(g_strndup(s + from, to - from));
    return !strpbrk(name, "\r\n");
}

static gsize read_file(Parser *p, gsize i)
{
    const Tag *open = &p->tag[i];
    const Tag *next = i + 1 < p->n_tags ? &p->tag[i + 1] : NULL;
    bool closed = next && next->kind == TAG_FILE && next->closing &&
                  next->off - open->end <= ACR_PARSE_MAX_NAME &&
                  is_one_line(p->base.s, open->end, next->off);
    if (open->name.len > 0 && (open->good || closed)) {
        name_file(p, open, open->name.off, open->name.off + open->name.len);
        i += closed && !open->empty;
        p->group->end = p->base.named_at = p->tag[i].end;
        return i + 1;
    }
    if (!closed || open->empty) {
        if (open->good) {
            g_clear_pointer(&p->base.file, g_free);
            acr_parse_name(&p->base, NULL);
            open_group(p, open);
            acr_parse_complain(p->group, "</file> is missing");
        }
        return i + 1;
    }
    char before = open->off > 0 ? p->base.s[open->off - 1] : '\n';
    if (!open->good && strchr("\"'`", before))
        return i + 2;
    name_file(p, open, open->end, next->off);
    p->group->end = p->base.named_at = next->end;
    return i + 2;
}

static gsize read_original(Parser *p, gsize i)
{
    AcrEdit *group = p->group;
    if (!group || group->original || group->patched || group->complaint)
        group = open_group(p, &p->tag[i]);
    return read_part(p, i, &group->original, "</original> is missing");
}

static gsize read_patched(Parser *p, gsize i)
{
    AcrEdit *group = p->group;
    if (!group || group->patched)
        group = open_group(p, &p->tag[i]);
    return read_part(p, i, &group->patched, "</patched> is missing");
}

/* Handles tag `i`; returns the index of the next tag. */
static gsize read_tag(Parser *p, gsize i)
{
    const Tag *tag = &p->tag[i];
    if (tag->kind == TAG_FILE && !tag->closing)
        return read_file(p, i);
    if (tag->kind == TAG_OTHER && p->group && !p->group->original)
        p->result_tags = p->result_tags || adjoins(p, p->tag[i - 1].end, tag->off);
    if (is_part(tag) && tag->closing && tag->good && is_structural(p->base.s, tag->off) &&
        p->base.unread.len == 0)
        p->base.unread = (AcrSpan){tag->off, tag->end - tag->off};
    if (stops(tag))
        return tag->kind == TAG_ORIGINAL ? read_original(p, i) : read_patched(p, i);
    return i + 1;
}

/* Handles a line outside edits. Remembers the names of files for the following lines, and lines
 * that look like a part of an edit, because an intended edit must not be ignored silently. */
static void note_line(AcrParse *parse, gsize off, gsize end)
{
    gsize info = 0;
    AcrSpan line = {off, end - off};
    if (acr_skip_blanks(parse->s, off, end) == end)
        return;
    if (!acr_is_fence(parse->s + off, end - off, &info)) {
        parse->named = parse->fence_lines++ == 0 ? line : (AcrSpan){0, 0};
        parse->above = line;
        if (parse->unread.len == 0 &&
            (acr_diff_has_line(parse, off, end) || acr_search_has_line(parse->s + off, end - off)))
            parse->unread = line;
    } else if (parse->fence.len > 0 && info == end - off) {
        parse->fence = (AcrSpan){0, 0};
        parse->above = parse->named;
        parse->named = (AcrSpan){0, 0};
    } else {
        parse->fence = line;
        parse->named = (AcrSpan){0, 0};
        parse->fence_lines = 0;
    }
}

/* Appends an edit whose complaint quotes the line that was not understood, unless another edit has
 * a complaint. */
static void push_unread(Parser *p)
{
    const AcrParse *parse = &p->base;
    const AcrSpan *line = &parse->unread;
    gsize number = 1;
    bool refused = line->len == 0;
    for (guint i = 0; i < p->all->len; i++)
        refused = refused || ((AcrEdit *)p->all->pdata[i])->complaint;
    if (refused)
        return;
    for (gsize at = 0; at < line->off; at = acr_next_line(parse->s, at, parse->len))
        number++;
    AcrEdit *edit = acr_parse_edit_new(ACR_EDIT_DIFF, NULL, parse->len, parse->len);
    g_autofree char *text = g_strndup(parse->s + line->off, MIN(line->len, 120));
    g_autofree char *shown = g_utf8_make_valid(text, -1);
    edit->complaint =
        g_strdup_printf("line %" G_GSIZE_FORMAT " of the answer (\"%s\") looks like part of an "
                        "edit, but that edit cannot be parsed: write the whole edit again",
                        number, shown);
    acr_parse_push(&p->base, edit);
}

/* Whether the fence at `off` contains a diff. */
static bool holds_diff(const AcrParse *parse, gsize off)
{
    AcrParse inside = *parse;
    gsize end = acr_line_end(parse->s, off, parse->len);
    if (!acr_is_fence(parse->s + off, end - off, NULL))
        return false;
    inside.fence = (AcrSpan){off, end - off};
    return acr_diff_begins_at(&inside, acr_after_eol(parse->s, end, parse->len));
}

/* Reads the edits that begin at the line at `off`. Returns the offset after the edits; `off` if
 * there are none. */
static gsize read_block(Parser *p, gsize off)
{
    AcrParse *parse = &p->base;
    parse->edits = p->block;
    gsize end = acr_search_replace_read(parse, off);
    if (end == off)
        end = acr_diff_read(parse, off);
    if (end == off && !holds_diff(parse, off))
        end = acr_whole_file_read(parse, off);
    parse->edits = p->all;
    if (end > off)
        interrupt(p);
    for (guint i = 0; i < p->block->len; i++)
        acr_parse_push(parse, p->block->pdata[i]);
    g_ptr_array_set_size(p->block, 0);
    return end;
}

/* Reads the lines that begin in [*at, to). Stops after an edit and returns true. */
static bool read_answer_lines(Parser *p, gsize *at, gsize to)
{
    AcrParse *parse = &p->base;
    while (*at < to) {
        gsize end = read_block(p, *at);
        if (end > *at) {
            parse->above = parse->named = (AcrSpan){0, 0};
            *at = end;
            return true;
        }
        end = acr_line_end(parse->s, *at, parse->len);
        note_line(parse, *at, end);
        *at = acr_after_eol(parse->s, end, parse->len);
    }
    return false;
}

static void read_answer(Parser *p)
{
    gsize i = 0, at = 0;
    while (!acr_parse_is_full(&p->base)) {
        for (p->next_open = MAX(p->next_open, i); p->next_open < p->n_tags; p->next_open++) {
            const Tag *tag = &p->tag[p->next_open];
            if (!tag->closing && tag->good && tag->kind != TAG_OTHER)
                break;
        }
        p->base.tag = p->next_open < p->n_tags ? p->tag[p->next_open].off : p->base.len;
        bool block = read_answer_lines(p, &at, i < p->n_tags ? p->tag[i].off : p->base.len);
        if (!block && i == p->n_tags)
            break;
        if (!block) {
            i = read_tag(p, i);
            at = MAX(at, p->tag[i - 1].end);
            p->base.above = (AcrSpan){0, 0};
        }
        while (i < p->n_tags && p->tag[i].off < at && block)
            i++;
    }
    flush(p);
    push_unread(p);
}

GPtrArray *acr_patch_parse(const char *answer, gsize len)
{
    g_autoptr(GPtrArray) edits = g_ptr_array_new_with_free_func((GDestroyNotify)acr_edit_free);
    g_autoptr(GPtrArray) block = g_ptr_array_new();
    g_autofree char *repaired = NULL;
    len = MIN(len, ACR_PATCH_MAX_ANSWER);
    if (len == 0)
        return g_steal_pointer(&edits);
    if (!acr_utf8_is_text(answer, len)) {
        repaired = acr_utf8_repair(answer, len);
        answer = repaired;
        len = strlen(repaired);
    }
    g_autoptr(GArray) tags = find_tags(answer, len);
    Parser parser = {.base = {.s = answer, .len = len, .edits = edits},
                     .tag = (const Tag *)(void *)tags->data,
                     .n_tags = tags->len,
                     .all = edits,
                     .block = block};
    read_answer(&parser);
    ACR_FREE(parser.base.file, parser.base.near_file);
    return g_steal_pointer(&edits);
}
