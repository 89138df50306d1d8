/*
 * acr-host search: the structure-aware search calls, from arguments or from lines of standard
 * input, answered as they arrive.
 */
#include "verbs/search_input.h"

#include <string.h>
#include <sys/time.h>
#include <unistd.h>

typedef struct {
    AcrHost *host;
    const AcrRunSpec *spec;
    AcrWorkspace *workspace;
    const AcrCalls *calls;
    guint answered;
    bool has_missed, is_prompt;
} Search;

/* How to read a call and show its answer. */
typedef struct {
    bool is_words;  /* a person wrote it in words, not a model as a call */
    guint from, to; /* the only lines to show; 0: all */
    char *mark;     /* text that the person looks for, which is emphasised; owned */
} Manner;
static void manner_clear(Manner *manner)
{
    g_clear_pointer(&manner->mark, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Manner, manner_clear)

static void take_words(const char *word, const char *text, Manner *out)
{
    AcrSearchLines lines;
    out->is_words = true;
    if (strcmp(word, "line") == 0) {
        if (acr_search_word_lines(text, &lines) && lines.is_range) {
            out->from = lines.from;
            out->to = lines.to;
        }
        return;
    }
    const char *dot = strcmp(word, "code") == 0 ? NULL : strrchr(text, '.');
    out->mark = g_strdup(dot ? dot + 1 : text);
}

/* Binds the call in a text; *out_wrong (owned): why there is none, or NULL. */
static bool bind_call(const Search *self, const char *text, AcrCall *out, Manner *manner,
                      char **out_wrong, GError **error)
{
    g_autofree char *word = NULL;
    const char *rest = NULL;
    g_autoptr(GError) reason = NULL;
    bool ok = false;
    if (acr_search_split_words(text, &word, &rest)) {
        ok = acr_search_word_call(word, rest, self->spec, out, &reason);
        if (ok)
            take_words(word, rest, manner);
    } else if (!acr_search_plain_call(self->calls, text, out, &ok, &reason)) {
        ok = acr_python_bind_call(self->workspace->python, self->calls, text, out, &reason);
    } else {
        manner->is_words = true;
    }
    if (ok)
        return true;
    bool is_mistake = g_error_matches(reason, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL) ||
                      reason->domain == ACR_TASK_ERROR || reason->domain == ACR_SEARCH_ERROR ||
                      reason->domain == G_SHELL_ERROR;
    if (!is_mistake)
        return acr_pass_error(error, &reason);
    *out_wrong = g_strdup(reason->message);
    return true;
}

/* Prints an answer; an empty line separates answers. */
static AcrOut print_result_text(const char *output, bool first)
{
    const char *end = g_str_has_suffix(output, "\n") ? "" : "\n";
    g_autofree char *text = g_strconcat(first ? "" : "\n", output, end, NULL);
    return acr_out_text(text);
}

/* Keeps only the lines of the requested range. */
static void keep_range(AcrAnswer *answer, const Manner *manner)
{
    for (guint i = answer->lines && manner->to ? answer->lines->len : 0; i-- > 0;) {
        const AcrShownLine *line = g_ptr_array_index(answer->lines, i);
        if (line->line < manner->from || line->line > manner->to)
            g_ptr_array_remove_index(answer->lines, i);
    }
}

static AcrOut print_for_people(Search *self, AcrAnswer *answer, const Manner *manner)
{
    g_autoptr(GString) text = g_string_new(NULL);
    keep_range(answer, manner);
    acr_search_print(self->spec, manner->mark, answer, text);
    bool is_screen = isatty(STDOUT_FILENO);
    if (is_screen && self->answered && text->len)
        g_string_prepend_c(text, '\n');
    bool is_paged = is_screen && !self->is_prompt && text->len;
    return is_paged ? acr_out_paged(text->str) : acr_out_safe(text->str);
}

/* Answers a call; prints the result for a person if one asked, or if stdout is a terminal. `call`
 * has no row if the text was wrong. */
static AcrOut answer_call(Search *self, const char *text, const AcrCall *call, const char *wrong,
                          const Manner *manner, GError **error)
{
    const AcrRunSpec *spec = self->spec;
    g_auto(AcrAnswer) answer = {0};
    bool is_list = spec->files_only || spec->counts_only || spec->vimgrep;
    bool is_person = !spec->json && (manner->is_words || is_list || isatty(STDOUT_FILENO));
    acr_search_set_mode(self->workspace->search, (AcrSearchMode){.lines = is_person,
                                                                 .tests = spec->with_tests,
                                                                 .globs = spec->in_file != NULL});
    if (spec->in_file && !acr_search_has_file(self->workspace->search, spec->in_file))
        acr_verb_say("no file matches --in '%s'", spec->in_file);
    if (wrong)
        answer = (AcrAnswer){.output = g_strdup(wrong), .places = g_ptr_array_new()};
    else if (!acr_search_run(self->workspace->search, call, &answer, error))
        return ACR_OUT_FAILED;
    self->has_missed = self->has_missed || !answer.ok;
    if (spec->limit > 0 && answer.places->len > spec->limit)
        g_ptr_array_set_size(answer.places, (gint)spec->limit);
    AcrOut out;
    if (spec->json) {
        g_autoptr(AcrJson) object = acr_answer_to_json(text, &answer);
        out = acr_out_json(object);
    } else {
        out = is_person ? print_for_people(self, &answer, manner)
                        : print_result_text(answer.output, self->answered == 0);
    }
    self->answered++;
    return out;
}

/* Chooses the exit code; `left`: calls that were not answered. */
static AcrExit exit_code(const Search *self, guint left)
{
    if (!acr_interrupted(self->host->interrupt))
        return self->has_missed ? ACR_EXIT_NONE : ACR_EXIT_OK;
    if (acr_time_is_over(self->host->interrupt))
        acr_verb_say("--max-time reached after %u of %u calls; rerun with a higher limit",
                     self->answered, self->answered + left);
    return acr_exit_of(NULL, self->host->interrupt);
}

static AcrOut answer_line(Search *self, const char *text, GError **error)
{
    g_auto(AcrCall) call = {0};
    g_auto(Manner) manner = {0};
    g_autofree char *wrong = NULL;
    return bind_call(self, text, &call, &manner, &wrong, error)
               ? answer_call(self, text, &call, wrong, &manner, error)
               : ACR_OUT_FAILED;
}

static int answer_arguments(Search *self)
{
    g_autoptr(GError) error = NULL;
    AcrOut out = ACR_OUT_WRITTEN;
    char *const *at = self->spec->arguments;
    for (; *at && out == ACR_OUT_WRITTEN && !acr_interrupted(self->host->interrupt); at++)
        out = answer_line(self, *at, &error);
    return error ? acr_verb_fail(self->host, error)
                 : acr_out_exit(out, exit_code(self, g_strv_length((char **)at)));
}

/* Answers "class NAME", or the name of a call and its arguments, given as several arguments. */
static int answer_words(Search *self, const AcrCall *call, const Manner *manner)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = acr_call_print(call);
    AcrOut out = answer_call(self, text, call, NULL, manner, &error);
    return error ? acr_verb_fail(self->host, error) : acr_out_exit(out, exit_code(self, 0));
}

/* Answers a call whose name is the first of several arguments. */
static int answer_plain(Search *self)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrCall) call = {0};
    g_autoptr(GString) text = g_string_new(self->spec->arguments[0]);
    const Manner manner = {.is_words = true};
    bool ok = false;
    for (char *const *at = self->spec->arguments + 1; *at; at++) {
        g_autofree char *word = g_shell_quote(*at);
        g_string_append_printf(text, " %s", word);
    }
    if (!acr_search_plain_call(self->calls, text->str, &call, &ok, &error))
        return acr_verb_usage("'%s' needs arguments", self->spec->arguments[0]);
    return ok ? answer_words(self, &call, &manner) : (int)acr_verb_usage("%s", error->message);
}

/* ---- At a prompt ---- */

static const char prompt_help[] =
    "class NAME           a class: its signatures\n"
    "method NAME          functions and methods; CLASS.NAME for one class\n"
    "code TEXT            lines that contain the text\n"
    "callers NAME         lines that call it\n"
    "line FILE:10-20      lines of a file\n"
    "list                 every call with its arguments\n"
    "quit                 end (or Ctrl-D)\n";

/* Handles a line that is a command such as help; false: the line is a call. */
static bool answer_command(const Search *self, const char *line, bool *out_quits, AcrOut *out)
{
    *out_quits = strcmp(line, "quit") == 0 || strcmp(line, "exit") == 0;
    if (strcmp(line, "list") == 0) {
        g_autofree char *list = acr_search_list(self->calls);
        *out = acr_out_text(list);
    } else if (strcmp(line, "help") == 0) {
        *out = acr_out_text(prompt_help);
    } else {
        return *out_quits;
    }
    return true;
}

/* At a terminal, --max-time limits each answer instead of the session. */
static void pause_time(const Search *self, bool is_paused)
{
    struct itimerval timer = {.it_value.tv_sec = is_paused ? 0 : self->spec->max_ms / 1000 + 1};
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

static int answer_input(Search *self, AcrSearchInput *input)
{
    g_autoptr(GError) error = NULL;
    AcrOut out = ACR_OUT_WRITTEN;
    guint left = 0;
    bool quits = false;
    self->is_prompt = input->is_terminal;
    if (self->is_prompt)
        acr_verb_say("%" G_GSIZE_FORMAT " Python files; 'class NAME', 'method NAME' or 'code TEXT' "
                     "searches them, 'help' shows more, 'quit' ends",
                     acr_index_n_files(self->workspace->index));
    while (out == ACR_OUT_WRITTEN && !quits) {
        g_autofree char *line = NULL;
        if (input->is_terminal)
            pause_time(self, true);
        if (!acr_search_input_next(input, &line, &error) || !line)
            break;
        if (input->is_terminal && answer_command(self, line, &quits, &out))
            continue;
        if (input->is_terminal)
            pause_time(self, false);
        out = answer_line(self, line, &error);
    }
    if (acr_interrupted(self->host->interrupt))
        left = acr_search_input_left(input);
    return error ? acr_verb_fail(self->host, error) : acr_out_exit(out, exit_code(self, left));
}

static int run_search(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrExtensions) extensions = NULL;
    g_auto(AcrWorkspace) workspace = {0};
    g_auto(AcrCall) call = {0};
    g_auto(AcrSearchInput) input = {0};
    g_auto(Manner) manner = {0};
    Search self = {.host = host, .spec = spec, .workspace = &workspace};
    char **words = spec->arguments;
    bool is_words = words[0] && acr_search_is_word(words[0]);
    if (spec->list) {
        if (!acr_verb_load_extensions(host, spec, NULL, &extensions, &error))
            return acr_verb_fail(host, error);
        g_autofree char *list = acr_search_list(acr_extensions_calls(extensions));
        return acr_out_exit(acr_out_text(list), ACR_EXIT_OK);
    }
    if ((spec->in_file || spec->regex) && !is_words)
        return acr_verb_usage("--in and --regex work with 'class', 'method' or 'code' and a name");
    if (is_words && words[1] && words[2])
        return acr_verb_usage("'%s' takes one argument; quote an argument that contains spaces",
                              words[0]);
    if (is_words && !acr_search_word_call(words[0], words[1], spec, &call, &error))
        return acr_verb_usage("%s", error->message);
    if (spec->json + spec->files_only + spec->counts_only + spec->vimgrep > 1)
        return acr_verb_usage("choose one of --json, --files-with-matches, --count and --vimgrep");
    if (is_words)
        take_words(words[0], words[1], &manner);
    if ((!words[0] && !acr_search_input_open(host->interrupt, &input, &error)) ||
        !acr_repository_open(host, spec, &workspace, &error) ||
        !acr_verb_load_extensions(host, spec, acr_repo_workdir(workspace.repo), &extensions,
                                  &error) ||
        !acr_repository_index(host, spec, &workspace, &error))
        return acr_verb_fail(host, error);
    self.calls = acr_extensions_calls(extensions);
    if (is_words)
        return answer_words(&self, &call, &manner);
    if (words[0] && words[1] && acr_calls_find(self.calls, words[0]))
        return answer_plain(&self);
    return words[0] ? answer_arguments(&self) : answer_input(&self, &input);
}

const AcrVerb acr_verb_search = {
    .name = "search",
    .summary = "Search the structure of Python code: classes, methods, text, lines",
    .takes = ACR_FOR_SEARCH,
    .arguments = "[CALL…] - such as 'search_class(\"A\")', or: class A; none: standard input",
    .run = run_search,
};
