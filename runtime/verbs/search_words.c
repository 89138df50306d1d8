/* Parses search calls that people write as words, "class Session" or "code 'def save(' --in
 * models.py", and writes the list of `search --list`. */
#include <string.h>

#include "verbs/search_input.h"

/* A kind of search: its word, and the calls that the word stands for. The list shows `usage` after
 * the word. */
typedef struct {
    const char *word, *usage, *call, *call_in_file, *call_in_class;
} Kind;

static const Kind kinds[] = {
    {"class", "NAME", "search_class", "search_class_in_file", NULL},
    {"method", "NAME or CLASS.NAME", "search_method", "search_method_in_file",
     "search_method_in_class"},
    {"code", "TEXT", "search_code", "search_code_in_file", NULL},
    {"callers", "NAME or CLASS.NAME", ACR_CALL_CALLERS, ACR_CALL_CALLERS, NULL},
    {"history", "NAME, CLASS.NAME or TEXT", "search_history", NULL, NULL},
    {"line", "FILE:NUMBER or FILE:FROM-TO", "get_code_around_line", NULL, NULL},
};

static const Kind *find_kind(const char *word, gsize len)
{
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strlen(kinds[i].word) == len && strncmp(word, kinds[i].word, len) == 0)
            return &kinds[i];
    return NULL;
}

bool acr_search_is_word(const char *word)
{
    return find_kind(word, strlen(word)) != NULL;
}

static AcrCall call_of(const char *name, const char *first, const char *second, const char *third)
{
    const AcrCallSpec *spec = acr_search_call_spec(name);
    bool has_second = spec->params[1].name;
    return (AcrCall){
        .spec = spec,
        .values = {g_strdup(first), g_strdup(has_second ? second : NULL), g_strdup(third)}};
}

static bool refuse_words(const Kind *kind, GError **error)
{
    return acr_task_refuse(error,
                           "'%s' takes one argument, %s; quote an argument that contains spaces",
                           kind->word, kind->usage);
}

bool acr_search_word_lines(const char *text, AcrSearchLines *out)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    if (!colon || colon == text || !g_ascii_isdigit(colon[1]))
        return false;
    gint64 from = g_ascii_strtoll(colon + 1, &end, 10), to = from;
    bool is_range = *end == '-' && (g_ascii_isdigit(end[1]) || !end[1]);
    if (is_range)
        to = g_ascii_strtoll(end + 1, &end, 10);
    if (*end || MAX(from, to) >= G_MAXINT32)
        return false;
    *out = (AcrSearchLines){(gsize)(colon - text), (guint)from, (guint)to, is_range};
    return true;
}

/* Makes the call for the lines around one line, or around the middle of a range. For a person, the
 * window begins at the first line of the range, because the end may lie beyond the file. */
static bool line_call(const Kind *kind, const char *text, bool is_json, AcrCall *out,
                      GError **error)
{
    AcrSearchLines lines;
    if (!acr_search_word_lines(text, &lines))
        return refuse_words(kind, error);
    if (lines.from == 0)
        return acr_task_refuse(error, "'%s' has no line 0; lines are counted from 1", text);
    if (lines.to < lines.from)
        return acr_task_refuse(error, "'%s' ends before it begins; write FILE:FROM-TO", text);
    guint more = lines.to - lines.from;
    g_autofree char *file = g_strndup(text, lines.file_len),
                    *line = g_strdup_printf("%u", lines.from + (is_json ? more / 2 : 0)),
                    *window = lines.is_range
                                  ? g_strdup_printf("%u", is_json ? (more + 1) / 2 : more)
                                  : g_strdup(ACR_SEARCH_WORD_WINDOW);
    *out = call_of(kind->call, file, line, window);
    return true;
}

/* Makes the call for "CLASS.NAME" if no file is named; otherwise for NAME, in the file or
 * anywhere. */
static AcrCall named_call(const Kind *kind, const char *text, const char *file)
{
    const char *dot = kind->call_in_class && !file ? strrchr(text, '.') : NULL;
    if (!dot || dot == text || !dot[1])
        return call_of(file ? kind->call_in_file : kind->call, text, file, NULL);
    g_autofree char *class_name = g_strndup(text, (gsize)(dot - text));
    return call_of(kind->call_in_class, dot + 1, class_name, NULL);
}

guint acr_search_context(const AcrRunSpec *spec, gint64 own)
{
    return (guint)MAX(own != ACR_UNSET ? own : spec->context_around, 0);
}

static bool has_context(const AcrRunSpec *spec)
{
    return MAX(MAX(spec->context_before, spec->context_after), spec->context_around) != ACR_UNSET;
}

bool acr_search_is_text(const AcrRunSpec *spec)
{
    return spec->regex || spec->any_case || spec->whole_words || has_context(spec);
}

AcrRunSpec acr_search_without_text(const AcrRunSpec *spec)
{
    AcrRunSpec plain = *spec;
    plain.any_case = plain.whole_words = false;
    plain.context_before = plain.context_after = plain.context_around = ACR_UNSET;
    return plain;
}

bool acr_search_word_call(const char *word, const char *text, const AcrRunSpec *spec, AcrCall *out,
                          GError **error)
{
    const Kind *kind = find_kind(word, strlen(word));
    bool is_code = kind && strcmp(kind->word, "code") == 0;
    if (!kind || !text || !*text)
        return refuse_words(kind ? kind : &kinds[0], error);
    bool is_pattern = spec->regex || spec->any_case || spec->whole_words;
    if (acr_search_is_text(spec) && !is_code)
        return acr_task_refuse(
            error, "-e, -i, -w, -A, -B and -C work only with TEXT, /TEXT or a bare NAME");
    if (has_context(spec) && spec->json)
        return acr_task_refuse(error, "--json shows no lines, so -A, -B and -C do not apply to it");
    if (spec->in_file && !kind->call_in_file)
        return acr_task_refuse(error, "--in does not apply to '%s'", kind->word);
    if (strcmp(kind->word, "line") == 0)
        return line_call(kind, text, spec->json, out, error);
    g_autofree char *pattern =
        is_pattern ? acr_search_pattern(text, spec->regex, spec->any_case, spec->whole_words, error)
                   : NULL;
    if (is_pattern && !pattern)
        return false;
    *out = named_call(kind, pattern ? pattern : text, spec->in_file);
    return true;
}

bool acr_search_split_words(const char *line, char **out_word, const char **out_text)
{
    gsize len = strcspn(line, " \t");
    if (!find_kind(line, len) || strchr(line, '(') == line + len)
        return false;
    *out_word = g_strndup(line, len);
    *out_text = line + len + strspn(line + len, " \t");
    return true;
}

const char *acr_search_word(guint i)
{
    return i < G_N_ELEMENTS(kinds) ? kinds[i].word : NULL;
}

static const char *nearest_word(const char *word)
{
    static const char *const uses[] = {"uses", "usages", "references", "refs", NULL};
    if (g_strv_contains(uses, word))
        return "callers";
    const char *words[G_N_ELEMENTS(kinds) + 1] = {NULL};
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        words[i] = kinds[i].word;
    return acr_search_is_word(word) ? NULL : acr_nearest_name(word, words);
}

/* Returns the name of a call in a model's form (the call's end may be missing), or NULL; owned. */
static char *name_of_call(const char *text)
{
    gsize len = strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
    const char *after = text + len + strspn(text + len, " \t");
    return len && *after == '(' ? g_strndup(text, len) : NULL;
}

bool acr_search_is_call(const AcrCalls *calls, const char *text, bool with_unknown)
{
    g_autofree char *name = name_of_call(text);
    bool is_whole = g_str_has_suffix(text, ")"), is_known = name && acr_calls_find(calls, name);
    return is_known || (name && is_whole && (with_unknown || acr_calls_nearest(calls, name)));
}

bool acr_search_is_plain(const AcrCalls *calls, const char *text)
{
    g_autofree char *name = g_strndup(text, strcspn(text, " \t"));
    const AcrCallSpec *spec = acr_calls_find(calls, name);
    const char *rest = text + strlen(name) + strspn(text + strlen(name), " \t");
    return spec && *rest != '(' && (*rest || !spec->params[0].name || spec->params[0].otherwise);
}

bool acr_search_is_line(const AcrCalls *calls, const char *line)
{
    g_autofree char *word = NULL, *name = name_of_call(line); /* the call may be cut off */
    const char *rest = NULL;
    return name || acr_search_is_plain(calls, line) || acr_search_split_words(line, &word, &rest);
}

bool acr_search_plain_call(const AcrCalls *calls, char *const *words, AcrCall *out, GError **error)
{
    const AcrCallSpec *spec = acr_calls_find(calls, words[0]);
    g_autoptr(AcrJson) arguments = acr_json_new_object();
    for (guint i = 1; words[i]; i++) {
        bool fits = i <= ACR_CALL_MAX_PARAMS && spec->params[i - 1].name;
        acr_json_set_string(arguments, fits ? spec->params[i - 1].name : words[i], words[i]);
        if (!fits)
            break; /* the caller rejects the call later, because of an unknown argument */
    }
    return acr_call_from_json(spec, arguments, NULL, out, error);
}

/* ---- Questions ---- */

void acr_question_clear(AcrQuestion *question)
{
    ACR_FREE(question->text, question->where);
    *question = (AcrQuestion){0};
}

/* Returns whether the text is a name, which may be dotted. */
static bool is_dotted_name(const char *text)
{
    bool is_start = true;
    for (const char *at = text; *at; at++) {
        if (*at == '.' ? is_start : is_start && g_ascii_isdigit(*at))
            return false;
        if (*at != '.' && *at != '_' && !g_ascii_isalnum(*at) && (guchar)*at < 0x80)
            return false;
        is_start = *at == '.';
    }
    return !is_start;
}

/* Guesses the kind of search for a text without a keyword. */
static void guess_question(AcrSearch *search, const char *text, AcrQuestion *out)
{
    AcrSearchLines lines;
    g_autofree char *before = g_strndup(text, MAX(strlen(text), 1) - 1);
    g_autofree char *file =
        acr_search_word_lines(text, &lines) ? g_strndup(text, lines.file_len) : NULL;
    const char *end = strstr(text, ".py:"); /* FILE:NAME, or FILE::CLASS::NAME like pytest */
    g_autoptr(GString) name = g_string_new(end ? end + 4 + (end[4] == ':') : NULL);
    g_string_replace(name, "::", ".", 0);
    bool is_absolute = file && g_path_is_absolute(file) && g_file_test(file, G_FILE_TEST_EXISTS);
    if (text[0] == '/' && text[1] && !is_absolute) {
        out->word = "code";
        out->text = g_strdup(text + 1);
    } else if (g_str_has_suffix(text, "(") && is_dotted_name(before)) {
        out->word = "callers";
        out->is_call = true;
        out->text = g_steal_pointer(&before);
    } else if (end && is_dotted_name(name->str)) {
        out->word = ACR_SEARCH_NAME;
        out->text = g_strdup(name->str);
        out->where = g_strndup(text, (gsize)(end - text) + 3);
    } else {
        bool is_place =
            file && (g_str_has_suffix(file, ".py") || acr_search_has_file(search, file));
        out->word = is_place ? "line" : is_dotted_name(text) ? ACR_SEARCH_NAME : "code";
        out->text = g_strdup(text);
    }
}

/* Makes the places and the file of a question relative to the repository. */
static void use_root(const AcrSearchPaths *paths, AcrSearch *search, AcrQuestion *question)
{
    AcrSearchLines lines;
    acr_search_from_root(paths, search, &question->where);
    if (strcmp(question->word, "line") != 0 || !acr_search_word_lines(question->text, &lines))
        return;
    g_autofree char *text = question->text, *file = g_strndup(text, lines.file_len);
    acr_search_from_root(paths, search, &file);
    question->text = g_strconcat(file, text + lines.file_len, NULL);
}

void acr_search_question(AcrSearch *search, const AcrSearchPaths *paths, char *const *words,
                         const AcrRunSpec *spec, AcrQuestion *out)
{
    bool has_word = words[1] && acr_search_is_word(words[0]);
    char *const *where = words + (has_word ? 2 : 1);
    g_autofree char *word = NULL;
    const char *rest = NULL;
    if (has_word) {
        out->word = find_kind(words[0], strlen(words[0]))->word;
        out->text = g_strdup(words[1]);
    } else if (strcmp(words[0], "def") == 0 && words[1] && acr_search_defines(search, words[1])) {
        out->word = "method";
        out->text = g_strdup(words[1]);
        where++;
    } else if (acr_search_is_text(spec) && (spec->regex || !is_dotted_name(words[0]))) {
        out->word = "code";
        out->text = g_strdup(words[0] + (!spec->regex && words[0][0] == '/'));
    } else if (acr_search_split_words(words[0], &word, &rest) && acr_search_defines(search, rest)) {
        out->word = find_kind(word, strlen(word))->word; /* a quoted short form, 'class NAME' */
        out->text = g_strdup(rest);
    } else {
        guess_question(search, words[0], out);
    }
    use_root(paths, search, out);
    g_autofree char *places = g_strjoinv("\n", (char **)where);
    acr_search_from_root(paths, search, &places);
    if (*where && !out->where)
        out->where = spec->in_file ? g_strconcat(places, "\n", spec->in_file, NULL)
                                   : g_steal_pointer(&places);
}

bool acr_search_check_places(AcrSearch *search, const char *where, const AcrRunSpec *spec,
                             GError **error)
{
    const char *first_word = spec->arguments[0];
    g_auto(GStrv) places = g_strsplit(where ? where : "", "\n", -1);
    for (guint i = 0; places[i]; i++) {
        if (acr_search_has_file(search, places[i])) {
            if (g_ascii_isupper(places[i][0]) && acr_search_defines(search, places[i]))
                acr_verb_say("only files that match '%s' are searched; search for one name at a "
                             "time",
                             places[i]);
            continue;
        }
        if (spec->with_tests && (strcmp(first_word, "py") == 0 || strcmp(places[i], "py") == 0))
            return acr_task_refuse(error,
                                   "no file matches '%s'; -t takes no type: it adds tests to "
                                   "the Python files",
                                   places[i]);
        bool is_name = strchr(places[i], '.') && acr_search_defines(search, places[i]),
             is_path = strchr(places[i], '/') || (strchr(places[i], '.') && !is_name);
        bool is_first = !is_path && !acr_search_defines(search, first_word);
        g_autofree char *meant = is_path    ? acr_search_nearest_path(search, places[i])
                                 : is_first ? g_strdup(nearest_word(first_word))
                                            : NULL;
        if (meant)
            return acr_task_refuse(error, "no file matches '%s'; did you mean '%s'%s?", places[i],
                                   meant, is_path ? "" : " as the first word");
        return acr_task_refuse(
            error,
            "no file matches '%s'; give one name or TEXT, in quotes if it has several words, and "
            "write alternatives as -e ONE -e OTHER",
            places[i]);
    }
    return true;
}

bool acr_search_check_request(const AcrRunSpec *spec, GError **error)
{
    char **words = spec->arguments;
    g_auto(AcrCall) call = {0};
    bool is_pattern = acr_search_is_text(spec),
         is_word = words[0] && acr_search_is_word(words[0]) &&
                   (words[1] || !(is_pattern || spec->fixed_strings));
    if (words[0] ? !words[0][strspn(words[0], " \t\n")] : spec->in_file || is_pattern)
        return acr_task_refuse(error, "give a name or a text to search for");
    if (spec->json + spec->files_only + spec->counts_only + spec->vimgrep > 1)
        return acr_task_refuse(error,
                               "choose one of --json, --files-with-matches, --count and --vimgrep");
    const char *word = is_word ? words[0] : "code";
    return !(is_word || is_pattern) ||
           acr_search_word_call(word, words[is_word], spec, &call, error);
}

/* Returns whether a typed word is an option, and not part of a text, such as "->". */
static bool is_typed_option(const char *word)
{
    return word[0] == '-' &&
           (g_ascii_isalpha(word[1])
                ? !word[strspn(word + 1, "AaBCceilmwt0123456789") + 1] || !word[2] || word[1] == 'g'
                : word[1] == '-' && g_ascii_isalpha(word[2]));
}

/* Returns whether a word at the end of several words can only be a place (WHERE). */
static bool is_typed_place(const char *word)
{
    return word[0] != '/' && (g_str_has_suffix(word, "/") || g_str_has_suffix(word, ".py"));
}

bool acr_search_typed_words(const AcrVerb *verb, const char *line, AcrRunSpec *options,
                            char ***out_words, GError **error)
{
    g_auto(GStrv) typed = NULL, parts = g_strsplit_set(line, " \t", -1);
    bool has_option = false;
    int argc = 0;
    for (guint i = 0; parts[i]; i++)
        has_option = has_option || is_typed_option(parts[i]);
    g_autofree char *padded = g_strconcat("search ", line, NULL);
    bool is_split = has_option && g_shell_parse_argv(padded, &argc, &typed, error);
    if (has_option && (!is_split || !acr_command_line_parse(verb, argc, typed, options, error)))
        return false;
    g_autofree char *text = is_split ? g_strjoinv(" ", options->arguments) : g_strdup(line);
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *word = NULL;
    const char *rest = text;
    if (acr_search_split_words(text, &word, &rest) && *rest)
        g_ptr_array_add(words, g_steal_pointer(&word));
    else
        rest = text;
    bool has_word = words->len > 0;
    g_autofree char *what = g_strdup(rest);
    g_ptr_array_add(words, NULL);
    for (char *last; !has_word && (last = strrchr(what, ' ')) && is_typed_place(last + 1);) {
        g_ptr_array_insert(words, 0, g_strdup(last + 1));
        *last = '\0';
    }
    g_ptr_array_insert(words, has_word, g_strdup(what));
    *out_words = g_strdupv((char **)words->pdata);
    return *rest || acr_task_refuse(error, "give a name or a text to search for");
}

AcrJson *acr_search_list_json(const AcrCalls *calls)
{
    AcrJson *list = acr_json_new_array();
    for (gsize i = 0; i < acr_calls_n(calls); i++) {
        const AcrCallSpec *spec = acr_calls_at(calls, i);
        g_autofree char *usage = acr_call_usage(spec);
        acr_json_append(list,
                        acr_json_of(ACR_STRING("name", spec->name), ACR_STRING("usage", usage),
                                    ACR_STRING("summary", spec->summary),
                                    ACR_JSON("arguments", acr_call_schema(spec)), NULL));
    }
    return list;
}

char *acr_search_list(const AcrCalls *calls)
{
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < acr_calls_n(calls); i++) {
        const AcrCallSpec *spec = acr_calls_at(calls, i);
        g_autofree char *usage = acr_call_usage(spec);
        g_string_append_printf(text, "%s\n    %s\n", usage, spec->summary);
    }
    g_string_append(text,
                    "\nShort forms:\n"
                    "NAME or CLASS.NAME [WHERE]: classes and functions of that name\n"
                    "TEXT [WHERE]: lines with TEXT; write /TEXT if it is also a name\n"
                    "NAME( [WHERE]: lines that call NAME\n"
                    "FILE:FROM-TO: these lines; FILE:NUMBER: the line and 10 on either side\n");
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        g_string_append_printf(text, "%s %s%s\n", kinds[i].word, kinds[i].usage,
                               kinds[i].call_in_file ? " [WHERE]" : "");
    g_string_append(text, "Any call: its name, then its arguments as words\n");
    return g_string_free(text, FALSE);
}
