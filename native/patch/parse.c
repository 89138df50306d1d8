/*
 * A model's answer -> its edits. One pass finds every tag <file>, <original>, <patched>; a second
 * walks over the tags in order and forms groups by position.
 *
 * Two properties of a tag decide whether it is one: an opening tag is *structural* when nothing but
 * blanks, markup or another tag stands before it on its line; a closing tag is *clean* when nothing
 * but blanks, a fence or another tag follows it there. The tags' names inside quoted code have
 * quotes or words around them and fail both. Fences need no parsing: they are outside the tags, or
 * they are the first and last line of a part and taken off.
 */
#include <string.h>

#include "patch/patch_private.h"

#define MAX_TAG 256u /* bytes of one tag, attributes included */
#define MAX_FILE_NAME 4096u

typedef enum {
    TAG_FILE,
    TAG_ORIGINAL,
    TAG_PATCHED,
    TAG_OTHER, /* the tags of a search result, which also begin with <file> */
} TagKind;

typedef struct {
    gsize off, end; /* of the tag itself */
    TagKind kind;
    bool closing;
    bool good; /* structural or clean */
} Tag;

static const struct {
    const char *name;
    TagKind kind;
} tag_names[] = {
    {"file", TAG_FILE},   {"original", TAG_ORIGINAL}, {"patched", TAG_PATCHED},
    {"class", TAG_OTHER}, {"func", TAG_OTHER},        {"code", TAG_OTHER},
};

void acr_edit_free(AcrEdit *edit)
{
    if (!edit)
        return;
    g_free(edit->file);
    g_free(edit->original);
    g_free(edit->patched);
    g_free(edit->complaint);
    g_free(edit);
}

static bool is_eol(char c)
{
    return c == '\n' || c == '\r';
}

static gsize skip_blanks(const char *s, gsize at, gsize len)
{
    while (at < len && acr_is_blank(s[at]))
        at++;
    return at;
}

/* Nothing but blanks, list or heading marks, a fence, a label or another tag before it on its line.
 */
static bool is_structural(const char *s, gsize off)
{
    gsize at = off;
    while (at > 0 && acr_is_blank(s[at - 1]))
        at--;
    if (at == 0 || is_eol(s[at - 1]) || s[at - 1] == '>' || s[at - 1] == ':')
        return true;
    if (at >= 3 && strncmp(s + at - 3, "```", 3) == 0)
        return true;
    while (at > 0 && strchr("*#-_ \t.0123456789", s[at - 1]))
        at--;
    return at == 0 || is_eol(s[at - 1]);
}

static bool is_clean(const char *s, gsize end, gsize len)
{
    gsize at = skip_blanks(s, end, len);
    if (at >= len || is_eol(s[at]))
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

/* Reads the tag that begins at s[off] == '<'. */
static bool read_tag(const char *s, gsize off, gsize len, Tag *out)
{
    gsize at = skip_blanks(s, off + 1, len);
    bool closing = at < len && s[at] == '/';
    if (closing)
        at = skip_blanks(s, at + 1, len);
    for (gsize i = 0; i < G_N_ELEMENTS(tag_names); i++) {
        gsize n = strlen(tag_names[i].name);
        if (len - at <= n || g_ascii_strncasecmp(s + at, tag_names[i].name, n) != 0)
            continue;
        gsize end = at + n;
        if (s[end] != '>' && !acr_is_blank(s[end]))
            return false;
        while (end < len && end - off < MAX_TAG && s[end] != '>' && s[end] != '<' &&
               !is_eol(s[end]))
            end++;
        if (end >= len || s[end] != '>')
            return false;
        *out = (Tag){.off = off, .end = end + 1, .kind = tag_names[i].kind, .closing = closing};
        out->good = closing ? is_clean(s, end + 1, len) : is_structural(s, off);
        return true;
    }
    return false;
}

static GArray *find_tags(const char *s, gsize len)
{
    GArray *tags = g_array_new(FALSE, FALSE, sizeof(Tag));
    const char *at = s;
    while ((at = memchr(at, '<', len - (gsize)(at - s)))) {
        Tag tag;
        if (read_tag(s, (gsize)(at - s), len, &tag)) {
            g_array_append_val(tags, tag);
            at = s + tag.end;
        } else {
            at++;
        }
    }
    return tags;
}

static bool is_fence(const char *s, gsize len)
{
    gsize at = skip_blanks(s, 0, len);
    if (len - at < 3 || strncmp(s + at, "```", 3) != 0)
        return false;
    for (at += 3; at < len && !is_eol(s[at]); at++)
        if (!g_ascii_isalnum(s[at]) && !acr_is_blank(s[at]) && s[at] != '+' && s[at] != '-')
            return false;
    return true;
}

static gsize line_end(const char *s, gsize from, gsize to)
{
    while (from < to && !is_eol(s[from]))
        from++;
    return from;
}

static gsize after_eol(const char *s, gsize at, gsize to)
{
    if (at < to && s[at] == '\r')
        at++;
    else if (at < to && s[at] == '\n')
        return at + 1;
    return at < to && s[at] == '\n' ? at + 1 : at;
}

/* Takes off the blanks at the end of [from, *to) and then one line end. */
static void trim_end(const char *s, gsize from, gsize *to)
{
    while (*to > from && acr_is_blank(s[*to - 1]))
        (*to)--;
    if (*to > from && s[*to - 1] == '\n')
        (*to)--;
    if (*to > from && s[*to - 1] == '\r')
        (*to)--;
}

/* A fence that stands inside the tags: the first line of the part, and the last. */
static void trim_fence(const char *s, gsize *from, gsize *to)
{
    gsize end = line_end(s, *from, *to);
    if (end == *from || !is_fence(s + *from, end - *from))
        return;
    *from = after_eol(s, end, *to);
    gsize last = *to;
    while (last > *from && !is_eol(s[last - 1]))
        last--;
    if (last < *to && is_fence(s + last, *to - last)) {
        *to = last;
        trim_end(s, *from, to);
    }
}

static char *part_text(const char *s, gsize from, gsize to)
{
    gsize at = skip_blanks(s, from, to);
    if (at < to && is_eol(s[at]))
        from = after_eol(s, at, to);
    trim_end(s, from, &to);
    trim_fence(s, &from, &to);
    return g_strndup(s + from, to - from);
}

typedef struct {
    const char *s;
    gsize len;
    const Tag *tag;
    gsize n_tags;
    GPtrArray *edits;
    AcrEdit *group;   /* owned; being filled, or NULL */
    char *file;       /* owned; the last one named; counts until the next */
    bool result_tags; /* tags of a search result followed the group's <file> */
} Parser;

static void complain(AcrEdit *edit, const char *text)
{
    if (!edit->complaint)
        edit->complaint = g_strdup(text);
}

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
        complain(edit, "<original> and <patched> are missing");
    else if (!edit->original)
        complain(edit, "<original> is missing");
    else if (!edit->patched)
        complain(edit, "<patched> is missing");
    else if (!edit->file)
        complain(edit, "<file> is missing");
    else if (*edit->file == '\0')
        complain(edit, "<file> is empty");
    if (p->edits->len == ACR_PATCH_MAX_EDITS)
        complain(edit, "the answer has too many edits; this one and those after it were not read");
    if (p->edits->len <= ACR_PATCH_MAX_EDITS)
        g_ptr_array_add(p->edits, g_steal_pointer(&edit));
    acr_edit_free(edit);
}

static AcrEdit *open_group(Parser *p, gsize off)
{
    flush(p);
    p->group = g_new0(AcrEdit, 1);
    p->group->off = off;
    p->group->file = g_strdup(p->file);
    return p->group;
}

/* Only white space and fences between two tags. */
static bool adjoins(const Parser *p, gsize from, gsize to)
{
    for (; from < to; from++)
        if (!acr_is_blank(p->s[from]) && !is_eol(p->s[from]) && p->s[from] != '`')
            return false;
    return true;
}

static bool stops(const Tag *tag)
{
    return !tag->closing && tag->good && (tag->kind == TAG_ORIGINAL || tag->kind == TAG_PATCHED);
}

/* A fence or a heading between two offsets: what is behind it is another block. */
static bool parted(const Parser *p, gsize from, gsize to)
{
    return g_strstr_len(p->s + from, (gssize)(to - from), "```") ||
           g_strstr_len(p->s + from, (gssize)(to - from), "\n# mod");
}

/*
 * The tag that ends the part opened by tag `open`, or -1. Of several clean ones that of <original>
 * is the first with <patched> right behind it, that of <patched> the last before the next block;
 * without a clean one any will do.
 */
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

/* Reads the part that tag `i` opens into *out_text; returns the number of the next tag to look at.
 */
static gsize read_part(Parser *p, gsize i, char **out_text, const char *missing)
{
    gsize stop = 0;
    gssize close = find_close(p, i, &stop);
    if (close >= 0) {
        *out_text = part_text(p->s, p->tag[i].end, p->tag[close].off);
        return (gsize)close + 1;
    }
    bool at_patched =
        p->tag[i].kind == TAG_ORIGINAL && stop < p->n_tags && p->tag[stop].kind == TAG_PATCHED;
    if (at_patched && stop == i + 1) {
        *out_text = part_text(p->s, p->tag[i].end, p->tag[stop].off);
        return stop;
    }
    complain(p->group, missing);
    return i + 1;
}

static gsize read_file(Parser *p, gsize i)
{
    const Tag *open = &p->tag[i];
    const Tag *next = i + 1 < p->n_tags ? &p->tag[i + 1] : NULL;
    if (!next || next->kind != TAG_FILE || !next->closing ||
        next->off - open->end > MAX_FILE_NAME) {
        if (open->good) {
            g_clear_pointer(&p->file, g_free);
            open_group(p, open->off);
            complain(p->group, "</file> is missing");
        }
        return i + 1;
    }
    char before = open->off > 0 ? p->s[open->off - 1] : '\n';
    if (!open->good && strchr("\"'`", before))
        return i + 2;
    g_free(p->file);
    p->file = g_strndup(p->s + open->end, next->off - open->end);
    g_strstrip(p->file);
    open_group(p, open->off);
    return i + 2;
}

static gsize read_original(Parser *p, gsize i)
{
    AcrEdit *group = p->group;
    if (!group || group->original || group->patched || group->complaint)
        group = open_group(p, p->tag[i].off);
    return read_part(p, i, &group->original, "</original> is missing");
}

static gsize read_patched(Parser *p, gsize i)
{
    AcrEdit *group = p->group;
    if (!group || group->patched)
        group = open_group(p, p->tag[i].off);
    return read_part(p, i, &group->patched, "</patched> is missing");
}

static void form_groups(Parser *p)
{
    gsize i = 0;
    while (i < p->n_tags && p->edits->len <= ACR_PATCH_MAX_EDITS) {
        const Tag *tag = &p->tag[i];
        if (tag->kind == TAG_FILE && !tag->closing) {
            i = read_file(p, i);
        } else if (tag->kind == TAG_OTHER && p->group && !p->group->original) {
            p->result_tags = p->result_tags || adjoins(p, p->tag[i - 1].end, tag->off);
            i++;
        } else if (tag->kind == TAG_ORIGINAL && !tag->closing && tag->good) {
            i = read_original(p, i);
        } else if (tag->kind == TAG_PATCHED && !tag->closing && tag->good) {
            i = read_patched(p, i);
        } else {
            i++;
        }
    }
    flush(p);
}

GPtrArray *acr_patch_parse(const char *answer, gsize len)
{
    g_autoptr(GPtrArray) edits = g_ptr_array_new_with_free_func((GDestroyNotify)acr_edit_free);
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
    Parser parser = {.s = answer,
                     .len = len,
                     .tag = (const Tag *)(void *)tags->data,
                     .n_tags = tags->len,
                     .edits = edits};
    form_groups(&parser);
    g_free(parser.file);
    return g_steal_pointer(&edits);
}
