/*
 * Parses search calls written as shell words, "class Session" or "code 'def save(' --in models.py",
 * and writes the list of `search --list`.
 */
#include <string.h>

#include "verbs/search_input.h"

/* What one word searches for, and the calls that it stands for; the list shows `usage` after the
 * word. */
typedef struct {
    const char *word, *usage, *call, *call_in_file, *call_in_class;
} Kind;

static const Kind kinds[] = {
    {"class", "NAME", "search_class", "search_class_in_file", NULL},
    {"method", "NAME or CLASS.NAME", "search_method", "search_method_in_file",
     "search_method_in_class"},
    {"code", "TEXT", "search_code", "search_code_in_file", NULL},
    {"callers", "NAME or CLASS.NAME", "search_callers", NULL, NULL},
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
    return (AcrCall){.spec = acr_search_call_spec(name),
                     .values = {g_strdup(first), g_strdup(second), g_strdup(third)}};
}

static bool refuse_words(const Kind *kind, GError **error)
{
    return acr_task_refuse(error, "'%s' takes %s as one argument", kind->word, kind->usage);
}

bool acr_search_word_lines(const char *text, AcrSearchLines *out)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    if (!colon || colon == text || !g_ascii_isdigit(colon[1]))
        return false;
    gint64 from = g_ascii_strtoll(colon + 1, &end, 10), to = from;
    bool is_range = *end == '-' && g_ascii_isdigit(end[1]);
    if (is_range)
        to = g_ascii_strtoll(end + 1, &end, 10);
    if (*end || to < from || to >= G_MAXINT32)
        return false;
    *out = (AcrSearchLines){(gsize)(colon - text), (guint)from, (guint)to, is_range};
    return true;
}

/* Makes the call for the lines around one line, or around the middle of a range. */
static bool line_call(const Kind *kind, const char *text, AcrCall *out, GError **error)
{
    AcrSearchLines lines;
    if (!acr_search_word_lines(text, &lines))
        return refuse_words(kind, error);
    guint more = lines.to - lines.from;
    g_autofree char *file = g_strndup(text, lines.file_len),
                    *line = g_strdup_printf("%u", lines.from + more / 2),
                    *window = lines.is_range ? g_strdup_printf("%u", (more + 1) / 2)
                                             : g_strdup(ACR_SEARCH_WORD_WINDOW);
    *out = call_of(kind->call, file, line, window);
    return true;
}

/* Makes the call for "CLASS.NAME" if no file is named; else for the name, in the file or
 * anywhere. */
static AcrCall named_call(const Kind *kind, const char *text, const char *file)
{
    const char *dot = kind->call_in_class && !file ? strrchr(text, '.') : NULL;
    if (!dot || dot == text || !dot[1])
        return call_of(file ? kind->call_in_file : kind->call, text, file, NULL);
    g_autofree char *class_name = g_strndup(text, (gsize)(dot - text));
    return call_of(kind->call_in_class, dot + 1, class_name, NULL);
}

bool acr_search_word_call(const char *word, const char *text, const AcrRunSpec *spec, AcrCall *out,
                          GError **error)
{
    const Kind *kind = find_kind(word, strlen(word));
    bool is_code = kind && strcmp(kind->word, "code") == 0;
    if (!kind || !text || !*text)
        return refuse_words(kind ? kind : &kinds[0], error);
    if (spec->regex && !is_code)
        return acr_task_refuse(error, "--regex works with 'code TEXT' only");
    if (spec->in_file && !kind->call_in_file)
        return acr_task_refuse(error, "--in does not apply to '%s'", kind->word);
    if (strcmp(kind->word, "line") == 0)
        return line_call(kind, text, out, error);
    g_autofree char *pattern = spec->regex ? g_strconcat("re:", text, NULL) : NULL;
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

bool acr_search_plain_call(const AcrCalls *calls, const char *text, AcrCall *out, bool *out_ok,
                           GError **error)
{
    g_auto(GStrv) words = NULL;
    g_autofree char *name = g_strndup(text, strcspn(text, " \t"));
    const AcrCallSpec *spec = acr_calls_find(calls, name);
    const char *rest = text + strlen(name) + strspn(text + strlen(name), " \t");
    if (!spec || *rest == '(' || (!*rest && spec->params[0].name && !spec->params[0].otherwise))
        return false; /* the line is a call as models write it */
    *out_ok = g_shell_parse_argv(text, NULL, &words, error);
    if (!words)
        return true;
    g_autoptr(AcrJson) arguments = acr_json_new_object();
    for (guint i = 1; words[i]; i++) {
        bool fits = i <= ACR_CALL_MAX_PARAMS && spec->params[i - 1].name;
        acr_json_set_string(arguments, fits ? spec->params[i - 1].name : words[i], words[i]);
        if (!fits)
            break; /* rejected below as an unknown argument */
    }
    *out_ok = acr_call_from_json(spec, arguments, NULL, out, error);
    return true;
}

char *acr_search_list(const AcrCalls *calls)
{
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < acr_calls_n(calls); i++) {
        const AcrCallSpec *spec = acr_calls_at(calls, i);
        g_autofree char *usage = acr_call_usage(spec);
        g_string_append_printf(text, "%s\n    %s\n", usage, spec->summary);
    }
    g_string_append(text, "\nShort forms:\n");
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        g_string_append_printf(text, "%s %s%s\n", kinds[i].word, kinds[i].usage,
                               kinds[i].call_in_file ? " [--in WHERE]" : "");
    g_string_append(text, "Any call: its name, then its arguments as words\n");
    return g_string_free(text, FALSE);
}
