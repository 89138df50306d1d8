/* The lines of an answer for a person: the code or the signatures of a definition, or the lines
 * that contain a text. All results are shown in full, unlike in the text for a model, and no line
 * is shortened. */
#include <string.h>

#include "search/reply_private.h"

static void free_line(void *data)
{
    AcrShownLine *line = data;
    ACR_FREE(line->text, line);
}

static AcrShownLine *add_shown_line(const AcrReply *reply, const AcrMatch *match, guint place,
                                    AcrContent *content, AcrAnswer *out)
{
    gsize len;
    const char *text = acr_content_line(content, match->line, &len);
    AcrShownLine *line = g_new(AcrShownLine, 1);
    *line = (AcrShownLine){.file = acr_search_path(reply->search, match->entry),
                           .text = acr_utf8_repair(text, len),
                           .line = match->line,
                           .column = match->column,
                           .place = place};
    if (!line->column) /* the line belongs to a definition, so it has no match */
        line->column = (guint)strspn(line->text, " \t") + 1;
    g_ptr_array_add(out->lines, line);
    return line;
}

static int compare_matches(const void *left, const void *right)
{
    const AcrMatch *a = left, *b = right;
    int order = acr_order(a->entry, b->entry);
    return order ? order : acr_order(a->line, b->line);
}

/* Returns the index of the first match at or after line `line` of the file. */
static guint first_match(const GArray *matches, gsize entry, guint32 line)
{
    guint low = 0, high = matches->len;
    const AcrMatch wanted = {.entry = entry, .line = line};
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (compare_matches(&g_array_index(matches, AcrMatch, middle), &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the context lines before or after match `at`, except lines that are themselves matches or
 * context of the previous match. */
static void add_context(const AcrReply *reply, guint at, bool is_after, guint place,
                        AcrContent *content, AcrAnswer *out)
{
    const AcrMatch *all = (const AcrMatch *)(void *)reply->matches->data, *match = all + at,
                   *end = all + reply->matches->len, *next = match + 1;
    const AcrSearchMode *mode = &reply->search->mode;
    while (next < end && next->entry == match->entry && next->line == match->line)
        next++;
    bool has_next = next < end && next->entry == match->entry && place + 1 < mode->most,
         has_previous = at && match[-1].entry == match->entry;
    guint32 from = match->line > mode->before ? match->line - mode->before : 1,
            to = MIN(match->line + mode->after, acr_content_n_lines(content));
    AcrMatch line = {.entry = match->entry};
    from = is_after       ? match->line + 1
           : has_previous ? MAX(from, match[-1].line + mode->after + 1)
                          : from;
    to = !is_after ? match->line - 1 : has_next ? MIN(to, next->line - 1) : to;
    for (line.line = from; line.line <= to; line.line++)
        add_shown_line(reply, &line, place, content, out)->is_context = true;
}

/* Makes each line of the hit with a match a separate result. Returns false if the hit has no such
 * line. A line belongs to the first hit that contains it. */
static bool take_matches(const AcrReply *reply, const AcrHit *hit, AcrContent *content,
                         guint *place, AcrAnswer *out)
{
    guint at = first_match(reply->matches, hit->entry, hit->start), begin = at;
    for (; hit->symbol < 0 && at < reply->matches->len; at++) {
        AcrMatch *match = &g_array_index(reply->matches, AcrMatch, at);
        if (match->entry != hit->entry || match->line > hit->end)
            break;
        bool is_taken = match->column == 0 ||
                        (at && match[-1].entry == match->entry && match[-1].line == match->line);
        if (!is_taken && match->line <= acr_content_n_lines(content)) {
            add_context(reply, at, false, *place, content, out);
            add_shown_line(reply, match, *place, content, out);
            add_context(reply, at, true, (*place)++, content, out);
        }
        match->column = 0;
    }
    return at > begin;
}

/* Adds the lines of a definition, which are in order, and the context lines around it. */
static void add_definition(const AcrReply *reply, const AcrHit *hit, const GArray *lines,
                           guint place, AcrContent *content, AcrAnswer *out)
{
    const AcrSearchMode *mode = &reply->search->mode;
    guint32 first = g_array_index(lines, guint32, 0), n = 0,
            end = g_array_index(lines, guint32, lines->len - 1),
            to = MAX(end, MIN(end + mode->after, acr_content_n_lines(content)));
    AcrMatch line = {.entry = hit->entry, .line = first > mode->before ? first - mode->before : 1};
    for (; line.line <= to; line.line++) {
        bool is_context = line.line < first || line.line > end;
        if (is_context || line.line == g_array_index(lines, guint32, n))
            add_shown_line(reply, &line, place, content, out)->is_context = is_context;
        n += !is_context && line.line == g_array_index(lines, guint32, n);
    }
}

bool acr_reply_take_lines(const AcrReply *reply, AcrAnswer *out, GError **error)
{
    guint place = 0;
    out->lines = g_ptr_array_new_with_free_func(free_line);
    out->notes = g_strdup(reply->notes->str);
    g_array_sort(reply->matches, compare_matches);
    for (guint i = 0; i < reply->hits->len; i++) {
        const AcrHit *hit = &g_array_index(reply->hits, AcrHit, i);
        AcrContent *content;
        if (hit->start == ACR_HIT_COUNT_ONLY)
            continue;
        if (!acr_search_content(reply->search, hit->entry, &content, error))
            return false;
        if (!content || take_matches(reply, hit, content, &place, out) ||
            !reply->search->mode.lines)
            continue;
        g_autoptr(GArray) lines = acr_render_lines_of(reply, hit, content);
        if (lines->len)
            add_definition(reply, hit, lines, place++, content, out);
    }
    return true;
}

bool acr_search_outline(AcrSearch *search, const char *file, AcrAnswer *out, GError **error)
{
    AcrContent *content;
    AcrReply reply = {.search = search};
    g_auto(AcrFileMatch) files = {0};
    acr_file_match_init(&files, search, file);
    AcrMatch match = {.entry =
                          files.entries->len == 1 ? g_array_index(files.entries, gsize, 0) : 0};
    gint32 number = files.entries->len == 1 ? search->file_of_entry[match.entry] : -1;
    g_autoptr(GString) text = g_string_new(NULL);
    out->places = g_ptr_array_new_with_free_func((GDestroyNotify)acr_place_free);
    out->lines = g_ptr_array_new_with_free_func(free_line);
    out->notes = g_strdup("");
    if (number < 0)
        return true;
    if (!acr_search_content(search, match.entry, &content, error))
        return false;
    const AcrIndexFile *held = acr_index_file(search->index, (gsize)number);
    for (guint32 i = 0; content && i < held->n_symbols; i++) {
        const AcrSymbol *symbol = acr_index_symbol(search->index, held->first_symbol + i);
        match.line = symbol->def;
        if (!(ACR_KIND(symbol->kind) & ACR_DEFINITIONS))
            continue;
        const AcrShownLine *line = add_shown_line(&reply, &match, out->lines->len, content, out);
        guint32 id = held->first_symbol + i;
        g_ptr_array_add(out->places, acr_place_new(line->file, line->line, line->line,
                                                   acr_index_class_of(search->index, id),
                                                   acr_index_func_of(search->index, id)));
        g_string_append_printf(text, "%u %s\n", line->line, line->text);
    }
    out->output = g_strdup(text->str);
    out->ok = out->lines->len > 0;
    return true;
}
