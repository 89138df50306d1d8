/* Prints answers for people: on a terminal, results under the path of their file, with line numbers
 * and colours; otherwise lines PATH:LINE:TEXT. Can also print only paths, counts, or lines for a
 * quickfix list. */
#include <string.h>
#include <unistd.h>

#include "verbs/screen.h"
#include "verbs/search_input.h"

#define SHOWN_IN_FULL 3u /* number of results shown in full without --all or --limit */

typedef struct {
    const AcrRunSpec *spec;
    const GPtrArray *lines; /* array of AcrShownLine */
    const char *mark;       /* the text to emphasise, or NULL */
    bool is_screen, has_colour, has_context;
    GString *out;
    const char *file; /* file of the last heading */
    guint last_line, last_place;
    bool was_block;
} Printer;

/* Appends a string; on a terminal, without control characters. */
static void put_text(Printer *self, const char *colour, const char *text)
{
    g_autofree char *visible = self->is_screen ? acr_text_visible(text) : NULL;
    bool is_coloured = colour && self->has_colour;
    g_string_append(self->out, is_coloured ? colour : "");
    g_string_append(self->out, visible ? visible : text);
    g_string_append(self->out, is_coloured ? "\033[0m" : "");
}

static void put_number(Printer *self, guint number)
{
    g_autofree char *text = g_strdup_printf("%u", number);
    put_text(self, "\033[32m", text);
}

/* Appends a line in which the searched text is emphasised; with --word-regexp, only whole words. */
static void put_marked(Printer *self, const char *text)
{
    gsize len = self->mark && self->has_colour ? strlen(self->mark) : 0;
    const char *line = text;
    for (const char *at = len ? strstr(text, self->mark) : NULL; at;
         at = strstr(MAX(at + 1, text), self->mark)) {
        if (self->spec->whole_words && ((at > line && acr_is_word(at[-1])) || acr_is_word(at[len])))
            continue;
        g_autofree char *before = g_strndup(text, (gsize)(at - text));
        put_text(self, NULL, before);
        put_text(self, "\033[1;31m", self->mark);
        text = at + len;
    }
    put_text(self, NULL, text);
    g_string_append_c(self->out, '\n');
}

static void put_heading(Printer *self, const AcrShownLine *line, bool is_block)
{
    if (g_strcmp0(self->file, line->file) != 0) {
        g_string_append(self->out, self->file ? "\n" : "");
        put_text(self, "\033[35m", line->file);
        g_string_append_c(self->out, '\n');
    } else if (self->has_context
                   ? line->line != self->last_line + 1
                   : line->place != self->last_place && (is_block || self->was_block)) {
        g_string_append(self->out, "--\n");
    } else if (line->place == self->last_place && line->line > self->last_line + 1) {
        g_string_append(self->out, "…\n"); /* separates the signatures of definitions */
    }
}

static void put_line(Printer *self, const AcrShownLine *line, bool is_block)
{
    char mark = line->is_context ? '-' : ':';
    if (self->is_screen && !self->spec->vimgrep) {
        put_heading(self, line, is_block);
    } else {
        bool is_next = g_strcmp0(self->file, line->file) == 0 && line->line == self->last_line + 1;
        g_string_append(self->out, self->has_context && self->file && !is_next ? "--\n" : "");
        put_text(self, "\033[35m", line->file);
        g_string_append_c(self->out, mark);
    }
    self->file = line->file;
    self->last_place = line->place;
    self->last_line = line->line;
    self->was_block = is_block;
    put_number(self, line->line);
    g_string_append_c(self->out, mark);
    if (self->spec->vimgrep) {
        put_number(self, line->column);
        g_string_append_c(self->out, ':');
    }
    put_marked(self, line->text);
}

static bool is_definition(const char *line)
{
    const char *text = line + strspn(line, " \t");
    return g_str_has_prefix(text, "def ") || g_str_has_prefix(text, "async def ") ||
           g_str_has_prefix(text, "class ");
}

/* Returns the line that represents lines `from`..`to` of a result: the definition of the searched
 * name, otherwise a line with the text, otherwise any definition's line (not a decorator's). */
static const AcrShownLine *line_of_place(const Printer *self, guint from, guint to)
{
    const AcrShownLine *definition = NULL, *holder = NULL;
    for (guint i = from; i < to; i++) {
        const AcrShownLine *line = g_ptr_array_index(self->lines, i);
        bool has_mark = !self->mark || strstr(line->text, self->mark);
        if (is_definition(line->text) && has_mark)
            return line;
        definition = definition || !is_definition(line->text) ? definition : line;
        holder = holder || !self->mark || !has_mark ? holder : line;
    }
    return holder ? holder : definition ? definition : g_ptr_array_index(self->lines, from);
}

/* Prints the results. Returns how many results were shown only by one line. */
static guint put_results(Printer *self, guint limit, guint in_full)
{
    guint n = 0, shortened = 0;
    for (guint from = 0, to; from < self->lines->len && n < limit; from = to, n++) {
        const AcrShownLine *first = g_ptr_array_index(self->lines, from);
        for (to = from + 1; to < self->lines->len; to++)
            if (((const AcrShownLine *)g_ptr_array_index(self->lines, to))->place != first->place)
                break;
        bool is_block = to - from > 1 && n < in_full;
        shortened += to - from > 1 && !is_block;
        for (guint i = from; i < to && is_block; i++)
            put_line(self, g_ptr_array_index(self->lines, i), true);
        if (!is_block)
            put_line(self, line_of_place(self, from, to), false);
    }
    return shortened;
}

/* Prints the path of each file with results and, with --count, the number of results. */
static void put_files(Printer *self, guint limit)
{
    g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) files = g_ptr_array_new();
    guint place = G_MAXUINT;
    for (guint i = 0; i < self->lines->len; i++) {
        const AcrShownLine *line = g_ptr_array_index(self->lines, i);
        if (line->place == place)
            continue;
        place = line->place;
        guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, line->file));
        if (n == 0)
            g_ptr_array_add(files, (void *)line->file);
        g_hash_table_insert(counts, (void *)line->file, GUINT_TO_POINTER(n + 1));
    }
    for (guint i = 0; i < MIN(files->len, limit); i++) {
        put_text(self, "\033[35m", files->pdata[i]);
        if (self->spec->counts_only) {
            g_string_append_c(self->out, ':');
            put_number(self, GPOINTER_TO_UINT(g_hash_table_lookup(counts, files->pdata[i])));
        }
        g_string_append_c(self->out, '\n');
    }
}

/* Converts a text for models to a text for people, without tags: a class and its method become
 * "CLASS.NAME"; owned. */
static char *without_tags(const char *told)
{
    static const char *const tags[] = {"<file>",  "<class>",  "<func>",  "<code>",
                                       "</file>", "</class>", "</func>", "</code>"};
    g_autoptr(GString) text = g_string_new(told);
    g_string_replace(text, "</class> <func>", ".", 0);
    for (guint i = 0; i < G_N_ELEMENTS(tags); i++)
        g_string_replace(text, tags[i], "", 0);
    return g_strdup(text->str);
}

/* Says what an answer tells: its first line as a message of the verb, and the others below it. */
static void say_told(const char *told)
{
    g_autofree char *text = without_tags(told);
    char *rest = strchr(text, '\n');
    if (rest)
        *rest++ = '\0';
    if (g_str_has_prefix(text, "Found ") || g_str_has_prefix(text, "The"))
        text[0] = g_ascii_tolower(text[0]);
    if (*text)
        acr_verb_say("%s", text);
    if (rest && *rest)
        acr_verb_tell("%s%s", rest, g_str_has_suffix(rest, "\n") ? "" : "\n");
}

void acr_search_tell_text(const char *name, const char *where, guint width)
{
    static const char *const places[] = {"lines", "lines of tests", "lines of other file types"};
    if (where)
        acr_verb_say("no class or function there is named '%s'; these lines contain it", name);
    else
        acr_verb_say("no class or function is named '%s'; these %s contain it", name,
                     places[width]);
}

void acr_search_tell_width(const AcrRunSpec *spec, guint width)
{
    if (width == IN_TESTS && !spec->with_tests)
        acr_verb_say("found in tests only");
    else if (width == IN_ALL_FILES && !spec->in_file)
        acr_verb_say("found in no Python file; these are files of other types");
}

guint acr_search_matching(const AcrAnswer *answer)
{
    guint n = 0;
    for (guint i = 0; answer->lines && i < answer->lines->len; i++)
        n += !((const AcrShownLine *)g_ptr_array_index(answer->lines, i))->is_context;
    return n;
}

void acr_search_tell_tests(guint before, guint after)
{
    if (after > before)
        acr_verb_say("%u more line%s in tests; -t shows %s", after - before,
                     after - before == 1 ? "" : "s", after - before == 1 ? "it" : "them");
}

void acr_search_tell_file(const char *name)
{
    acr_verb_say("no class, function or line is named '%s'; it is a file, folder or module: write "
                 "FILE:1-20 to see lines of a file, or TEXT FILE to search a file",
                 name);
}

void acr_search_tell_nearest(const AcrSearch *search, const char *path)
{
    g_autofree char *nearest = acr_search_nearest_path(search, path);
    acr_verb_say("no file matches '%s'%s%s%s", path, nearest ? "; did you mean '" : "",
                 nearest ? nearest : "", nearest ? "'?" : "");
}

void acr_search_tell_one_text(const char *text)
{
    acr_verb_say("'%s' was searched for as one text, because its last word is not a file", text);
}

void acr_search_tell_nothing(const char *name, const AcrRunSpec *spec, const AcrAnswer *missed)
{
    const char *nearest = strchr(missed->output, '\n');
    g_autofree char *told = g_strdup_printf(
        "no class or function is named '%s', and no line contains it; try a part "
        "of the name%s%s",
        name, spec->any_case ? "" : ", or -i to ignore case", nearest ? nearest : "");
    say_told(told);
}

/* Prints notes about the results on stderr. */
static void tell_about(const AcrAnswer *answer, guint n, guint limit, guint shortened)
{
    g_auto(GStrv) notes = g_strsplit(answer->notes ? answer->notes : "", "\n", -1);
    for (guint i = 0; notes[i]; i++)
        say_told(notes[i]);
    if (n > limit)
        acr_verb_say("%u of %u results are shown; --limit N shows more", limit, n);
    else if (shortened)
        acr_verb_say("%u of %u results are shown as one line each; --all shows them in full",
                     shortened, n);
}

void acr_search_keep_range(AcrAnswer *answer, guint from, guint to)
{
    for (guint i = answer->lines && to ? answer->lines->len : 0; i-- > 0;) {
        const AcrShownLine *line = g_ptr_array_index(answer->lines, i);
        if (line->line < from || line->line > to)
            g_ptr_array_remove_index(answer->lines, i);
    }
}

void acr_search_append_answer(AcrAnswer *into, AcrAnswer *from)
{
    guint n = into->lines->len,
          place = n ? ((AcrShownLine *)g_ptr_array_index(into->lines, n - 1))->place + 1 : 0;
    for (guint i = 0; i < from->lines->len; i++)
        ((AcrShownLine *)g_ptr_array_index(from->lines, i))->place += place;
    g_ptr_array_extend_and_steal(into->lines, g_steal_pointer(&from->lines));
    g_autofree char *notes = into->notes;
    into->notes = g_strconcat(notes, from->notes, NULL);
}

bool acr_search_is_list(const AcrRunSpec *spec)
{
    return spec->files_only || spec->counts_only || spec->vimgrep;
}

void acr_search_print(const AcrRunSpec *spec, const char *mark, const AcrAnswer *answer,
                      GString *out)
{
    if (!answer->lines) { /* nothing was found, or the answer has no code */
        if (!answer->ok)
            return say_told(answer->output);
        g_autofree char *told = without_tags(answer->output);
        g_string_append_printf(out, "%s\n", told);
        return tell_about(answer, 0, 0, 0);
    }
    Printer self = {.spec = spec, .lines = answer->lines, .mark = mark, .out = out};
    guint limit = spec->limit > 0 ? (guint)spec->limit : G_MAXUINT;
    self.has_context = !spec->vimgrep && (acr_search_context(spec, spec->context_before) ||
                                          acr_search_context(spec, spec->context_after));
    bool is_full = spec->show_all || spec->limit > 0 || self.has_context;
    guint in_full = spec->vimgrep ? 0 : is_full ? limit : SHOWN_IN_FULL;
    const AcrShownLine *last =
        answer->lines->len ? g_ptr_array_index(answer->lines, answer->lines->len - 1) : NULL;
    self.is_screen = isatty(STDOUT_FILENO);
    const char *force = g_getenv("CLICOLOR_FORCE");
    self.has_colour = acr_has_colour(STDOUT_FILENO) || (force && *force && strcmp(force, "0") != 0);
    guint shortened = 0;
    if (spec->files_only || spec->counts_only)
        put_files(&self, limit);
    else
        shortened = put_results(&self, limit, in_full);
    bool is_list = acr_search_is_list(spec);
    tell_about(answer, is_list || !last ? 0 : last->place + 1, limit, is_list ? 0 : shortened);
}

AcrOut acr_search_print_plain(const char *output, bool is_first)
{
    const char *end = g_str_has_suffix(output, "\n") ? "" : "\n";
    g_autofree char *text = g_strconcat(is_first ? "" : "\n", output, end, NULL);
    return acr_out_text(text);
}

static bool is_in_place(const AcrShownLine *line, const AcrPlace *place)
{
    return line->line >= place->start && line->line <= place->end &&
           strcmp(line->file, place->file) == 0;
}

AcrJson *acr_search_answer_json(const char *call, const AcrAnswer *answer)
{
    AcrJson *json = acr_answer_to_json(call, answer), *lines = acr_json_new_array();
    const GPtrArray *places = answer->places;
    for (guint i = 0, at = 0; answer->lines && i < answer->lines->len; i++) {
        const AcrShownLine *line = g_ptr_array_index(answer->lines, i);
        while (at < places->len && !is_in_place(line, places->pdata[at])) /* both have one order */
            at++;
        if (at == places->len)
            break;
        acr_json_append(lines,
                        acr_json_of(ACR_STRING("file", line->file), ACR_INT("line", line->line),
                                    ACR_INT("column", line->column), ACR_STRING("text", line->text),
                                    NULL));
    }
    acr_json_set(json, "lines", lines);
    return json;
}

void acr_search_tell_root(const AcrRunSpec *spec, const char *workdir)
{
    g_autofree char *given = acr_path_real(spec->repo),
                    *root = workdir ? acr_path_real(workdir) : NULL;
    if (given && root && strcmp(spec->repo, ".") != 0 && strcmp(given, root) != 0 && !spec->rev)
        acr_verb_say("'%s' is a folder of the repository %s, which is searched as a whole; --in "
                     "limits the search to a folder",
                     spec->repo, root);
}
