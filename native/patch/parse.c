/*
 * A model's answer -> its edits. The tags <file>, <original>, <patched> are found first; then the
 * answer is walked over once, tag by tag, and line by line where no tag is at work. Tags form
 * groups by position; a line can begin an edit of another form (search/replace, diff, whole file),
 * which its own file reads. What begins first counts: a tag inside a diff is code, and so is a
 * conflict mark inside <original>.
 *
 * Fences need no parsing: they are outside the edits, or they are the first and last line of a part
 * and taken off. Only where an edit ends, or which file it is of, can a fence tell.
 */
#include <string.h>

#include "patch/parse_private.h"

#define MAX_NESTED 256u /* tags inside a part that are told apart from the part's own */

static void reading_free(gpointer data)
{
    AcrEditReading *reading = data;
    g_free(reading->original);
    g_free(reading->patched);
    g_free(reading);
}

void acr_edit_free(AcrEdit *edit)
{
    if (!edit)
        return;
    g_free(edit->file);
    g_free(edit->original);
    g_free(edit->patched);
    g_free(edit->complaint);
    g_free(edit->to);
    g_clear_pointer(&edit->others, g_ptr_array_unref);
    g_free(edit);
}

/* ---- What all forms share ---------------------------------------------------------------------
 */

AcrEdit *acr_parse_edit_new(AcrEditForm form, const char *file, gsize off, gsize end)
{
    AcrEdit *edit = g_new0(AcrEdit, 1);
    edit->form = form;
    edit->file = g_strdup(file);
    edit->off = off;
    edit->end = end;
    return edit;
}

void acr_edit_add_reading(AcrEdit *edit, char *original, char *patched)
{
    AcrEditReading *reading = g_new0(AcrEditReading, 1);
    reading->original = original;
    reading->patched = patched;
    if (!edit->others)
        edit->others = g_ptr_array_new_with_free_func(reading_free);
    g_ptr_array_add(edit->others, reading);
}

void acr_parse_complain(AcrEdit *edit, const char *text)
{
    if (!edit->complaint)
        edit->complaint = g_strdup(text);
}

bool acr_parse_is_full(const AcrParse *parse)
{
    return parse->edits->len > ACR_PATCH_MAX_EDITS;
}

void acr_parse_push(AcrParse *parse, AcrEdit *edit)
{
    if (parse->edits->len == ACR_PATCH_MAX_EDITS) {
        g_clear_pointer(&edit->complaint, g_free);
        acr_parse_complain(edit, "the answer has too many edits; this one and those after it were "
                                 "not read");
    }
    if (acr_parse_is_full(parse))
        acr_edit_free(edit);
    else
        g_ptr_array_add(parse->edits, edit);
}

void acr_parse_name(AcrParse *parse, const char *file)
{
    if (g_strcmp0(file, parse->near_file) == 0)
        return;
    g_free(parse->near_file);
    parse->near_file = g_strdup(file);
}

char *acr_parse_named_near(const AcrParse *parse)
{
    gsize info = 0;
    const char *fence = parse->s + parse->fence.off;
    char *path = acr_path_in_line(parse->s + parse->above.off, parse->above.len);
    if (!path && parse->fence.len > 0 && acr_is_fence(fence, parse->fence.len, &info))
        path = acr_path_in_info(fence + info, parse->fence.len - info);
    return path ? path : g_strdup(parse->near_file);
}

/* ---- Groups of tags ---------------------------------------------------------------------------
 */

typedef struct {
    AcrParse base;
    const AcrTag *tag;
    gsize n_tags;
    GPtrArray *all;   /* of AcrEdit; the answer's */
    GPtrArray *block; /* of AcrEdit; those of the block being read */
    gsize next_open;  /* of the tags: the first from here on that opens a part or names a file */
    AcrEdit *group;   /* owned; being filled, or NULL */
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

/* An edit of another form begins: a <file> in front of it was its heading. */
static void interrupt(Parser *p)
{
    if (p->group && !p->group->original && !p->group->patched && !p->group->complaint)
        g_clear_pointer(&p->group, acr_edit_free);
    p->result_tags = false;
    flush(p);
}

static AcrEdit *open_group(Parser *p, const AcrTag *tag)
{
    flush(p);
    p->group = acr_parse_edit_new(ACR_EDIT_TAGS, p->base.file, tag->off, tag->end);
    return p->group;
}

/* Only white space and fences between two tags. */
static bool adjoins(const Parser *p, gsize from, gsize to)
{
    const char *s = p->base.s;
    for (; from < to; from++)
        if (!acr_is_blank(s[from]) && !acr_is_eol(s[from]) && s[from] != '`')
            return false;
    return true;
}

static bool is_part(const AcrTag *tag)
{
    return tag->kind == ACR_TAG_ORIGINAL || tag->kind == ACR_TAG_PATCHED;
}

static bool stops(const AcrTag *tag)
{
    return !tag->closing && tag->good && is_part(tag);
}

/* A fence or a heading between two offsets: what is behind it is another block. */
static bool parted(const Parser *p, gsize from, gsize to)
{
    return g_strstr_len(p->base.s + from, (gssize)(to - from), "```") ||
           g_strstr_len(p->base.s + from, (gssize)(to - from), "\n# mod");
}

/*
 * The tag that ends the part opened by tag `open`, or -1. Of several clean ones that of <original>
 * is the first with <patched> right behind it, that of <patched> the last before the next block;
 * without a clean one any will do.
 */
static gssize find_close(const Parser *p, gsize open, gsize *out_stop)
{
    AcrTagKind kind = p->tag[open].kind;
    gssize clean = -1, any = -1;
    gsize i = open + 1;
    for (; i < p->n_tags && !stops(&p->tag[i]); i++) {
        const AcrTag *tag = &p->tag[i];
        if (clean >= 0 && parted(p, p->tag[i - 1].end, tag->off))
            break;
        if (!tag->closing || tag->kind != kind)
            continue;
        if (any < 0)
            any = (gssize)i;
        if (!tag->good)
            continue;
        bool last_word =
            kind == ACR_TAG_PATCHED ||
            (i + 1 < p->n_tags && p->tag[i + 1].kind == ACR_TAG_PATCHED && stops(&p->tag[i + 1]));
        if (clean < 0 || last_word)
            clean = (gssize)i;
    }
    *out_stop = i;
    return clean >= 0 ? clean : any;
}

/* The tag that ends the part opened by tag `open` when the tags in it come in pairs, or -1: code
 * that holds whole groups, such as the text of a prompt. */
static gssize find_balanced(const Parser *p, gsize open)
{
    AcrTagKind inside[MAX_NESTED];
    gsize depth = 0, last = MIN(p->n_tags, open + MAX_NESTED);
    for (gsize i = open + 1; i < last; i++) {
        const AcrTag *tag = &p->tag[i];
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

/* A balanced <original> with its <patched> right behind it. */
static bool is_balanced_pair(const Parser *p, gsize open, gssize *out_close)
{
    gssize close = find_balanced(p, open);
    gsize next = (gsize)close + 1;
    if (close < 0 || next >= p->n_tags || !stops(&p->tag[next]) ||
        p->tag[next].kind != ACR_TAG_PATCHED || !adjoins(p, p->tag[close].end, p->tag[next].off))
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

/* Reads the part that tag `i` opens into *out_text; returns the number of the next tag to look at.
 */
static gsize read_part(Parser *p, gsize i, char **out_text, const char *missing)
{
    gsize stop = 0;
    const AcrTag *open = &p->tag[i];
    p->group->end = open->end;
    if (open->empty) {
        *out_text = g_strdup("");
        return i + 1;
    }
    gssize close = find_close(p, i, &stop), balanced = -1;
    if (close >= 0)
        return close_part(p, i, (gsize)close, out_text);
    bool nested =
        stop < p->n_tags && (open->kind == ACR_TAG_PATCHED ? (balanced = find_balanced(p, i)) >= 0
                                                           : is_balanced_pair(p, i, &balanced));
    if (nested)
        return close_part(p, i, (gsize)balanced, out_text);
    if (open->kind == ACR_TAG_ORIGINAL && stop < p->n_tags && stop == i + 1 &&
        p->tag[stop].kind == ACR_TAG_PATCHED) {
        *out_text = acr_part_text(p->base.s, open->end, p->tag[stop].off);
        return stop;
    }
    acr_parse_complain(p->group, missing);
    return i + 1;
}

static void name_file(Parser *p, const AcrTag *open, gsize from, gsize to)
{
    g_free(p->base.file);
    p->base.file = g_strndup(p->base.s + from, to - from);
    g_strstrip(p->base.file);
    acr_parse_name(&p->base, p->base.file);
    open_group(p, open);
}

static gsize read_file(Parser *p, gsize i)
{
    const AcrTag *open = &p->tag[i];
    const AcrTag *next = i + 1 < p->n_tags ? &p->tag[i + 1] : NULL;
    bool closed = next && next->kind == ACR_TAG_FILE && next->closing &&
                  next->off - open->end <= ACR_PARSE_MAX_NAME;
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

/* Takes tag `i`; returns the number of the next to look at. */
static gsize read_tag(Parser *p, gsize i)
{
    const AcrTag *tag = &p->tag[i];
    if (tag->kind == ACR_TAG_FILE && !tag->closing)
        return read_file(p, i);
    if (tag->kind == ACR_TAG_OTHER && p->group && !p->group->original)
        p->result_tags = p->result_tags || adjoins(p, p->tag[i - 1].end, tag->off);
    if (stops(tag))
        return tag->kind == ACR_TAG_ORIGINAL ? read_original(p, i) : read_patched(p, i);
    return i + 1;
}

/* ---- The walk ---------------------------------------------------------------------------------
 */

/* What a line that begins no edit tells about those below it. */
static void note_line(AcrParse *parse, gsize off, gsize end)
{
    gsize info = 0;
    if (acr_skip_blanks(parse->s, off, end) == end)
        return;
    if (!acr_is_fence(parse->s + off, end - off, &info)) {
        parse->above = (AcrSpan){off, end - off};
    } else if (parse->fence.len > 0 && info == end - off) {
        parse->fence = parse->above = (AcrSpan){0, 0};
    } else {
        parse->fence = (AcrSpan){off, end - off};
    }
}

/* Reads the edits that begin at the line at `off`, if any do; returns the offset behind them. */
static gsize read_block(Parser *p, gsize off)
{
    AcrParse *parse = &p->base;
    parse->edits = p->block;
    gsize end = acr_search_replace_read(parse, off);
    if (end == off)
        end = acr_diff_read(parse, off);
    if (end == off)
        end = acr_whole_file_read(parse, off);
    parse->edits = p->all;
    if (end > off)
        interrupt(p);
    for (guint i = 0; i < p->block->len; i++)
        acr_parse_push(parse, p->block->pdata[i]);
    g_ptr_array_set_size(p->block, 0);
    return end;
}

/* Reads the lines that begin in [*at, to); stops, with true, behind an edit. */
static bool read_lines(Parser *p, gsize *at, gsize to)
{
    AcrParse *parse = &p->base;
    while (*at < to) {
        gsize end = read_block(p, *at);
        if (end > *at) {
            parse->above = (AcrSpan){0, 0};
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
            const AcrTag *tag = &p->tag[p->next_open];
            if (!tag->closing && tag->good && tag->kind != ACR_TAG_OTHER)
                break;
        }
        p->base.tag = p->next_open < p->n_tags ? p->tag[p->next_open].off : p->base.len;
        bool block = read_lines(p, &at, i < p->n_tags ? p->tag[i].off : p->base.len);
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
    g_autoptr(GArray) tags = acr_tags_find(answer, len);
    Parser parser = {.base = {.s = answer, .len = len, .edits = edits},
                     .tag = (const AcrTag *)(void *)tags->data,
                     .n_tags = tags->len,
                     .all = edits,
                     .block = block};
    read_answer(&parser);
    g_free(parser.base.file);
    g_free(parser.base.near_file);
    return g_steal_pointer(&edits);
}
