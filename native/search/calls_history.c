/* search_history: finds the commits before the revision that change a definition, or lines that
 * contain a text.
 *
 * Old versions of a file are not indexed, so a definition in an old version is found by its `def`
 * or `class` line and its indentation. If files of the snapshot contain the definition or text,
 * only the history of these files is read. Otherwise the history of all files is read. */
#include <string.h>

#include "search/calls_private.h"

#define MAX_FOUND 10u /* maximum number of commits that an answer lists */
#define MAX_FILES 8u  /* maximum number of files that the answer names for each commit */
#define ID_SHOWN 10   /* number of digits of a commit's id that the answer shows */

typedef struct {
    const char *text;  /* the text to find, or the bare name of a definition */
    const char *klass; /* the class that contains the definition, or NULL */
    bool is_definition;
} Sought;

static void append_lines(GString *out, AcrContent *content, guint32 first, guint32 last)
{
    for (guint32 line = first; line <= last; line++) {
        gsize len;
        const char *text = acr_content_line(content, line, &len);
        g_string_append_len(out, text, (gssize)len);
        g_string_append_c(out, '\n');
    }
}

/* Returns the line of the first decorator above a definition, or its own line if it has none. */
static guint32 first_with_decorators(AcrContent *content, guint32 line)
{
    for (gsize len; line > 1; line--) {
        const char *above = acr_content_line(content, line - 1, &len);
        gsize blanks = strspn(above, " \t");
        if (blanks >= len || above[blanks] != '@')
            break;
    }
    return line;
}

/* Appends the definitions of `name` that begin in the lines first..last. */
static void append_definitions(GString *out, AcrContent *content, const char *name, guint32 first,
                               guint32 last)
{
    AcrTextDef def = {.first = first - 1};
    while (acr_text_next_def(content, name, def.first + 1, &def) && def.first <= last)
        append_lines(out, content, first_with_decorators(content, def.first), def.last);
}

/* Appends the whole lines of each match of `text`. */
static void append_matches(GString *out, const AcrContent *content, const char *text)
{
    const char *at = content->text.text, *end = at + content->text.len;
    gsize len = strlen(text);
    for (const char *match; at < end && (match = memmem(at, (gsize)(end - at), text, len));) {
        const char *first = memrchr(at, '\n', (gsize)(match - at)),
                   *next = acr_text_next_line(content, match + len - 1, end);
        first = first ? first + 1 : at;
        g_string_append_len(out, first, next - first);
        at = next;
    }
}

/* Returns the part of a version of a file that is compared between commits: the definition, or the
 * lines with the text; owned. */
static char *part_of(void *user, GBytes *bytes)
{
    const Sought *sought = user;
    GString *out = g_string_new(NULL);
    g_autoptr(AcrContent) content = acr_content_new(bytes);
    AcrTextDef klass = {0};
    if (!memmem(content->text.text, content->text.len, sought->text, strlen(sought->text)))
        return g_string_free(out, FALSE);
    if (!sought->is_definition)
        append_matches(out, content, sought->text);
    else if (!sought->klass)
        append_definitions(out, content, sought->text, 1, G_MAXUINT32);
    while (sought->klass && acr_text_next_def(content, sought->klass, klass.first + 1, &klass))
        append_definitions(out, content, sought->text, klass.first, klass.last);
    return g_string_free(out, FALSE);
}

/* Returns the definition to search for in old versions. Uses the name of the first target, because
 * the argument may be an alias, and the target's class if there is only one target. */
static Sought sought_of(const AcrIndex *index, const GArray *targets)
{
    const AcrSymbol *first = acr_index_symbol(index, g_array_index(targets, guint32, 0)),
                    *holder =
                        first->parent < 0 ? NULL : acr_index_symbol(index, (guint32)first->parent);
    bool is_one = targets->len == 1 && holder && holder->kind == ACR_SYMBOL_CLASS;
    return (Sought){first->name, is_one ? holder->name : NULL, true};
}

/* Adds the definitions that the argument names to `places`, and their files to `paths`. Returns
 * false if there are none. */
static bool find_targets(AcrReply *reply, const AcrNameArg *arg, Sought *out, GHashTable *paths,
                         GPtrArray *places)
{
    const AcrIndex *index = reply->search->index;
    g_autoptr(GArray) targets = acr_find_defs(index, arg, reply->notes);
    if (targets->len == 0) {
        g_array_unref(targets);
        targets = acr_find_classes(index, arg, reply->notes);
    }
    for (guint i = 0; i < targets->len; i++) {
        guint32 id = g_array_index(targets, guint32, i);
        const AcrSymbol *symbol = acr_index_symbol(index, id);
        const char *path =
            acr_search_path(reply->search, acr_index_file(index, symbol->file)->entry);
        acr_log_add_path(paths, path);
        if (places->len < ACR_SEARCH_MAX_PLACES)
            g_ptr_array_add(places, acr_place_new(path, symbol->first, symbol->last,
                                                  acr_index_class_of(index, id),
                                                  acr_index_func_of(index, id)));
    }
    if (targets->len)
        *out = sought_of(index, targets);
    return targets->len > 0;
}

static bool find_text(AcrReply *reply, const char *text, GHashTable *paths, GError **error)
{
    g_autoptr(GArray) entries = acr_search_load(reply->search, text, false);
    for (guint i = 0; i < entries->len; i++) {
        gsize entry = g_array_index(entries, gsize, i);
        AcrContent *content;
        if (!acr_search_content(reply->search, entry, &content, error))
            return false;
        if (content && memmem(content->text.text, content->text.len, text, strlen(text)))
            acr_log_add_path(paths, acr_search_path(reply->search, entry));
    }
    return true;
}

static char *date_of(gint64 seconds)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(seconds);
    return time ? g_date_time_format(time, "%Y-%m-%d") : g_strdup("?");
}

static void append_commit(GString *out, const AcrCommit *commit)
{
    g_autofree char *date = date_of(commit->time), *subject = acr_search_shown(commit->subject);
    g_string_append_printf(out, "%s %.*s %s\n", date, ID_SHOWN, commit->id, subject);
    for (guint i = 0; i < MIN(commit->files->len, MAX_FILES); i++)
        g_string_append_printf(out, "    %s\n", (const char *)commit->files->pdata[i]);
    if (commit->files->len > MAX_FILES)
        g_string_append_printf(out, "    … and %u more files\n", commit->files->len - MAX_FILES);
}

/* Returns the commits as lines for a person, with their files in `paths` (empty: all); owned. */
static char *write_lines(const AcrLog *log, GHashTable *paths)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < log->commits->len; i++) {
        const AcrCommit *commit = log->commits->pdata[i];
        g_autofree char *date = date_of(commit->time);
        g_autoptr(GString) files = g_string_new(NULL);
        guint n = 0;
        for (guint k = 0; k < commit->files->len; k++) {
            const char *path = commit->files->pdata[k];
            if (g_hash_table_size(paths) && !g_hash_table_contains(paths, path))
                continue;
            if (n++ < MAX_FILES)
                g_string_append_printf(files, "%s%s", n > 1 ? ", " : "", path);
        }
        if (n > MAX_FILES)
            g_string_append_printf(files, " and %u more", n - MAX_FILES);
        g_string_append_printf(out, "%s%.*s %s %s%s%s%s", i ? "\n" : "", ID_SHOWN, commit->id, date,
                               commit->subject, n ? " (" : "", files->str, n ? ")" : "");
    }
    return g_string_free(out, FALSE);
}

/* Appends a sentence if older commits are not listed or were not searched. */
static void append_end(GString *out, const AcrLog *log)
{
    g_autofree char *date = date_of(log->oldest);
    if (log->is_full)
        g_string_append_printf(out, "Older commits than these %u are not listed.\n",
                               log->commits->len);
    else if (log->is_limited)
        g_string_append_printf(
            out,
            "The search reached its limit after %u commits, in %s; older ones were not read.\n",
            log->n_visited, date);
    else if (log->is_cut)
        g_string_append_printf(out,
                               "The repository has no complete history before %s; older commits "
                               "cannot be read.\n",
                               date);
}

static char *write_log(const AcrLog *log, const char *what)
{
    GString *out = g_string_new(NULL);
    guint n = log->commits->len;
    if (log->n_visited == 0)
        g_string_append(out, "There is no history: these files are not in any git commit.\n");
    else if (n == 0)
        g_string_append_printf(out, "Found no commit that changes %s.\n", what);
    else
        g_string_append_printf(out, "Found %u %s %s, the newest first:\n\n", n,
                               n == 1 ? "commit that changes" : "commits that change", what);
    for (guint i = 0; i < n; i++)
        append_commit(out, log->commits->pdata[i]);
    if (n)
        g_string_append_c(out, '\n');
    append_end(out, log);
    return g_strchomp(g_string_free(out, FALSE));
}

bool acr_answer_history(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    g_auto(AcrReply) reply = {0};
    g_auto(AcrNameArg) arg = {0};
    g_auto(AcrLog) log = {0};
    g_autoptr(GHashTable) paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func((GDestroyNotify)acr_place_free);
    g_autofree char *text = acr_search_trim(call->values[0]), *shown = NULL;
    Sought sought = {text, NULL, false};
    acr_reply_init(&reply, search);
    acr_name_arg_init(&arg, text);
    bool is_definition = arg.is_name && find_targets(&reply, &arg, &sought, paths, places);
    if (!is_definition) {
        sought = (Sought){text, NULL, false};
        if (!find_text(&reply, text, paths, error))
            return false;
    }
    AcrLogQuery query = {.paths = g_hash_table_size(paths) ? paths : NULL,
                         .max_found = search->mode.most ? search->mode.most : MAX_FOUND,
                         .part = part_of,
                         .user = &sought};
    if (!acr_snapshot_log(search->snapshot, &query, &log, error))
        return false;
    g_autofree char *name = acr_search_shown(is_definition ? arg.text : text);
    shown = is_definition ? g_strdup(name) : g_strdup_printf("lines with the text %s", name);
    bool is_found = log.commits->len > 0;
    if (is_found && search->mode.lines) {
        append_end(reply.notes, &log);
        out->notes = g_strdup(reply.notes->str);
        out->output = write_lines(&log, paths);
    } else {
        acr_reply_miss(&reply, write_log(&log, shown), out);
    }
    out->ok = is_found;
    if (is_found) {
        g_clear_pointer(&out->places, g_ptr_array_unref);
        out->places = g_steal_pointer(&places);
    }
    return true;
}
