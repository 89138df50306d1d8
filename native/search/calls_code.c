/* search_code, search_code_in_file and get_code_around_line. search_code reads every non-test .py
 * file of the snapshot, including files that cannot be parsed; a file argument may name any file.
 * An argument "re:…" is always a pattern, even if the code contains the argument literally. */
#include <string.h>

#include "search/calls_private.h"

/* Returns the entries of `files`, or if NULL, of all indexed files that may have the text; owned. */
static GArray *entries_of(AcrSearch *search, const AcrFileMatch *files, const char *text)
{
    return files ? g_array_ref(files->entries) : acr_search_load(search, text, false);
}

/* Searches for `text`, or for `loose` (may be NULL), which ignores indentation and line ends. */
static bool scan(AcrReply *reply, const char *text, const AcrLooseText *loose,
                 const AcrFileMatch *files, GError **error)
{
    g_autoptr(GArray) entries = entries_of(reply->search, files, loose ? loose->plain : text);
    g_autoptr(AcrNeedle) needle = acr_needle_new(text);
    for (guint i = 0; i < entries->len && !reply->overfull; i++) {
        gsize entry = g_array_index(entries, gsize, i);
        AcrContent *content;
        if (!acr_search_content(reply->search, entry, &content, error))
            return false;
        if (content && content->is_binary && reply->search->mode.literal)
            continue;
        if (content && loose)
            acr_text_find_loose(reply, entry, content, loose);
        else if (content)
            acr_text_find(reply, entry, content, needle);
    }
    return true;
}

static bool find_text(AcrReply *reply, const char *text, const AcrFileMatch *files, GError **error)
{
    g_auto(AcrLooseText) loose = {0};
    if (!scan(reply, text, NULL, files, error))
        return false;
    bool is_strict = reply->search->mode.literal && !strchr(text, '\n');
    if (reply->hits->len || is_strict || !acr_loose_text_init(&loose, text))
        return true;
    if (!scan(reply, text, &loose, files, error))
        return false;
    if (reply->hits->len)
        acr_reply_note(reply, "Not found as written; found with other indentation or line ends.");
    return true;
}

/* Searches for the text as written; if it is not found, without its quotes or backticks. */
static bool find_text_or_bare(AcrReply *reply, const char *text, const AcrFileMatch *files,
                              GError **error)
{
    if (!find_text(reply, text, files, error))
        return false;
    g_autofree char *bare = acr_search_trim(text), *without_blanks = g_strdup(text);
    if (reply->hits->len || reply->search->mode.literal || !*bare ||
        strcmp(bare, g_strstrip(without_blanks)) == 0)
        return true; /* the first search already ignored surrounding blanks */
    return find_text(reply, bare, files, error);
}

/* If the text looks like a definition (`def f(x):`) or a qualified name (`pkg.mod.Class`), adds the
 * definition of that name to the reply; with `files`, only if it is in one of them. Called if the
 * text was not found. */
static void find_definition(AcrReply *reply, const char *text, const AcrFileMatch *files)
{
    const AcrIndex *index = reply->search->index;
    static const char *const heads[] = {"def ", "class ", "async def "};
    g_auto(AcrNameArg) arg = {0};
    acr_name_arg_init(&arg, text);
    bool is_head = false;
    for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
        is_head = is_head || g_str_has_prefix(text + strspn(text, " \t"), heads[i]);
    if (!arg.is_name || !(is_head || arg.qualifier))
        return;
    g_autoptr(GArray) ids = acr_index_resolve_class(index, arg.text);
    if (is_head && ids->len == 0) {
        g_array_unref(ids);
        ids = acr_find_named(index, ACR_FUNCTIONS, arg.last);
    }
    g_autoptr(GArray) kept =
        files ? acr_find_in_files(reply->search, ids, files) : g_array_ref(ids);
    if (kept->len)
        acr_reply_note(reply, "Not found as written; this is the definition of %s.", arg.text);
    acr_reply_add_symbols(reply, kept, ACR_VIEW_SIGNATURES);
}

static bool finish_search(AcrReply *reply, const char *text, const AcrFileMatch *files,
                          AcrAnswer *out, GError **error)
{
    bool is_text = g_array_index(reply->hits, AcrHit, 0).symbol < 0;
    if (is_text && !reply->search->mode.lines && !acr_rank_text_hits(reply, text, files, error))
        return false;
    g_autofree char *shown = acr_search_shown(text);
    g_autofree char *one = g_strdup_printf("%s %s", is_text ? "line with" : "result for", shown);
    g_autofree char *many = g_strdup_printf("%s %s", is_text ? "lines with" : "results for", shown);
    return acr_reply_finish(reply, one, many, ACR_COLLAPSE_FILES, out, error);
}

/* Appends the names nearest to the last name in the text, and the places where the text occurs. */
static void append_hints(GString *out, AcrSearch *search, const char *text)
{
    g_auto(AcrNameArg) arg = {0};
    acr_name_arg_init(&arg, text);
    acr_suggest_occurrences(out, search, text);
    if (!arg.is_name || strlen(arg.last) < 3)
        return;
    acr_suggest_append(out, search->index, ACR_DEFINITIONS, arg.last);
    if (strcmp(arg.last, text) != 0)
        acr_suggest_occurrences(out, search, arg.last);
}

/* If the code contains the pattern literally, appends how to search for it literally. */
static bool tell_literal(AcrSearch *search, const char *text, const AcrFileMatch *files,
                         GString *out, GError **error)
{
    g_auto(AcrReply) literal = {0};
    g_autofree char *shown = acr_search_shown(text);
    acr_reply_init(&literal, search);
    if (!find_text(&literal, text, files, error))
        return false;
    if (literal.hits->len)
        g_string_append_printf(
            out, "The code contains this text literally; to find it, search for re:\\Q%s\\E\n",
            shown);
    return true;
}

static bool answer_pattern(AcrReply *reply, const AcrCall *call, const AcrFileMatch *files,
                           AcrAnswer *out, GError **error)
{
    g_autoptr(GArray) entries = entries_of(reply->search, files, "");
    g_autofree char *why = NULL, *shown = acr_search_shown(call->values[0]);
    if (!acr_pattern_find(reply, acr_pattern_of(call->values[0]), entries, &why, error))
        return false;
    if (reply->hits->len) {
        g_autofree char *one = g_strdup_printf("line that matches %s", shown);
        g_autofree char *many = g_strdup_printf("lines that match %s", shown);
        return acr_reply_finish(reply, one, many, ACR_COLLAPSE_FILES, out, error);
    }
    g_autoptr(GString) text = g_string_new(NULL);
    if (why)
        g_string_append_printf(text, "Cannot search for %s: %s.\n", shown, why);
    else if (reply->search->mode.literal)
        g_string_append(text, "Found no line that matches.\n");
    else
        g_string_append_printf(text, "Found no code that matches %s.\n", shown);
    if (!tell_literal(reply->search, call->values[0], files, text, error))
        return false;
    if (files)
        acr_suggest_files(text, reply->search, files, call->values[1]);
    acr_reply_miss(reply, g_strdup(text->str), out);
    out->failed = why != NULL;
    return true;
}

/* Counts the indexed files outside of `files` that contain the text. */
static bool count_elsewhere(AcrSearch *search, const char *text, const AcrFileMatch *files,
                            guint *out, GError **error)
{
    g_autoptr(GArray) entries = acr_search_load(search, text, false);
    g_autoptr(AcrNeedle) needle = acr_needle_new(text);
    *out = 0;
    for (guint i = 0; i < entries->len; i++) {
        gsize entry = g_array_index(entries, gsize, i);
        AcrContent *content;
        if (!acr_search_content(search, entry, &content, error))
            return false;
        if (!content || acr_file_match_has(files, entry))
            continue;
        const char *at = content->text.text;
        *out += acr_needle_find(needle, at, at + content->text.len) != NULL;
    }
    return true;
}

static bool miss(AcrReply *reply, const AcrCall *call, const AcrFileMatch *files, AcrAnswer *out,
                 GError **error)
{
    const char *sought = call->values[0], *file = files ? call->values[1] : "";
    bool is_person = reply->search->mode.literal;
    guint n = 0;
    g_autofree char *shown = acr_search_shown(sought), *where = acr_search_shown(file);
    g_autoptr(GString) text = g_string_new(NULL);
    if (is_person && files && !count_elsewhere(reply->search, sought, files, &n, error))
        return false;
    if (n)
        g_string_append_printf(text,
                               "'%s' is not in %s; %u other Python file%s it (leave out %s to see "
                               "where)\n",
                               shown, where, n, n == 1 ? " contains" : "s contain", where);
    else if (is_person)
        g_string_append_printf(
            text, "no line%s%s contains '%s'%s\n", files ? " in " : "", where, shown,
            !files && g_str_has_suffix(sought, "/") ? ", and there is no such folder"
            : strpbrk(sought, "|\\^") || strstr(sought, ".*")
                ? "; write -e before it if it is a regular expression"
                : "");
    else
        g_string_append_printf(text, "Found no code %s%s%s.\n", shown, files ? " in " : "", where);
    if (files && !n)
        acr_suggest_files(text, reply->search, files, file);
    if (!n)
        append_hints(text, reply->search, sought);
    if (files && !n)
        acr_suggest_file_contents(text, reply->search, files);
    acr_reply_miss(reply, g_strdup(text->str), out);
    return true;
}

static bool answer_code(AcrReply *reply, const AcrCall *call, const AcrFileMatch *files,
                        AcrAnswer *out, GError **error)
{
    const char *text = call->values[0];
    if (acr_pattern_of(text))
        return answer_pattern(reply, call, files, out, error);
    if (!find_text_or_bare(reply, text, files, error))
        return false;
    bool is_strict = reply->search->mode.literal || (files && reply->search->mode.globs);
    if (reply->hits->len == 0 && !reply->search->mode.literal)
        find_definition(reply, text, files);
    if (reply->hits->len)
        return finish_search(reply, text, files, out, error);
    if (!is_strict && !acr_instead_of_text(reply, text, files, out, error))
        return false;
    return reply->hits->len || miss(reply, call, files, out, error);
}

bool acr_answer_code(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    g_auto(AcrReply) reply = {0};
    acr_reply_init(&reply, search);
    return answer_code(&reply, call, NULL, out, error);
}

bool acr_answer_code_in_file(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    g_auto(AcrFileMatch) files = {0};
    g_auto(AcrReply) reply = {0};
    acr_file_match_init(&files, search, call->values[1]);
    acr_file_match_widen(&files, search, call->values[1]);
    acr_reply_init(&reply, search);
    if (files.note)
        acr_reply_note(&reply, "%s", files.note);
    return answer_code(&reply, call, &files, out, error);
}

/* Returns the integer in an argument, limited to least..most. Sets *out_cut to true if the argument
 * was outside of this range. */
static gint64 bounded(const char *value, gint64 least, gint64 most, bool *out_cut)
{
    gint64 number = g_ascii_strtoll(value, NULL, 10); /* saturates at the limits of gint64 */
    *out_cut = number < least || number > most;
    return CLAMP(number, least, most);
}

/* Adds the lines line-window..line+window of a file. Returns false if it has no line `line`. */
static bool add_window(AcrReply *reply, gsize entry, AcrContent *content, gint64 line,
                       gint64 window)
{
    guint32 n = acr_content_n_lines(content);
    if (line > n) {
        g_autofree char *shown = acr_search_shown(acr_search_path(reply->search, entry));
        acr_reply_note(reply, "%s has only %u line%s.", shown, n, n == 1 ? "" : "s");
        return false;
    }
    AcrHit hit = {.entry = entry, .symbol = -1, .count = 1, .view = ACR_VIEW_WHOLE};
    hit.start = (guint32)MAX(line - window, 1);
    hit.end = (guint32)MIN(line + window, n);
    acr_hit_set_names(reply, &hit, (guint32)line);
    return acr_reply_add(reply, &hit);
}

bool acr_answer_around_line(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    g_auto(AcrFileMatch) files = {0};
    g_auto(AcrReply) reply = {0};
    bool line_cut, window_cut;
    acr_file_match_init(&files, search, call->values[0]);
    acr_reply_init(&reply, search);
    gint64 line = bounded(call->values[1], 1, G_MAXUINT32 - ACR_SEARCH_MAX_WINDOW, &line_cut);
    gint64 most = search->mode.lines ? G_MAXINT32 : ACR_SEARCH_MAX_WINDOW;
    gint64 window = bounded(call->values[2], 0, most, &window_cut);
    if (files.note)
        acr_reply_note(&reply, "%s", files.note);
    if (window_cut)
        acr_reply_note(&reply, "window_size was set to %d: it must be from 0 to %d.", (int)window,
                       ACR_SEARCH_MAX_WINDOW);
    for (guint i = 0; i < files.entries->len; i++) {
        gsize entry = g_array_index(files.entries, gsize, i);
        AcrContent *content;
        if (!acr_search_content(search, entry, &content, error))
            return false;
        if (content && content->is_binary && search->mode.lines) {
            g_autofree char *path = acr_search_shown(acr_search_path(search, entry));
            acr_reply_note(&reply, "%s is a binary file.", path);
        } else if (content)
            add_window(&reply, entry, content, line, window);
    }
    g_autofree char *one = g_strdup_printf("place around line %d", (int)MIN(line, G_MAXINT));
    g_autofree char *many = g_strdup_printf("places around line %d", (int)MIN(line, G_MAXINT));
    if (reply.hits->len)
        return acr_reply_finish(&reply, one, many, ACR_COLLAPSE_FILES, out, error);
    g_autofree char *shown = acr_search_shown(call->values[0]);
    g_autoptr(GString) text = g_string_new(NULL);
    if (files.entries->len && !search->mode.lines) /* otherwise a note says how many lines it has */
        g_string_append_printf(text, "Found no line %s in %s.\n", call->values[1], shown);
    else if (!files.entries->len)
        g_string_append_printf(text, "Found no file %s.\n", shown);
    acr_suggest_files(text, search, &files, call->values[0]);
    acr_reply_miss(&reply, g_strdup(text->str), out);
    return true;
}
