/* acr-host search: answers calls and questions from arguments, a prompt, or lines of stdin. */
#include "verbs/search_input.h"

#include <string.h>
#include <sys/time.h>
#include <unistd.h>

typedef struct {
    AcrHost *host;
    const AcrRunSpec *spec;
    AcrWorkspace *workspace;
    AcrSnapshot *latest; /* at a prompt: the last snapshot of the working tree; owned */
    const AcrCalls *calls;
    guint answered;
    AcrSearchPaths *paths;
    bool has_missed, is_prompt, was_wrong;
    char *wrong; /* owned; why an argument that should be a call is invalid */
} Search;

/* How to parse a call and how to show its answer. */
typedef struct {
    const AcrRunSpec *spec; /* options of the call */
    bool is_words;          /* a person wrote the call in words, not in the form that models use */
    bool is_exact;          /* accept only results of the requested kind */
    bool is_call;           /* accept only calls among the uses of a name */
    guint width;            /* where to search: IN_CODE, … */
    guint from, to;         /* first and last line to show; 0: all lines */
    char *mark;             /* owned; the text that the person searches for, which is emphasised */
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
    g_free(out->mark);
    out->mark = g_strdup(dot ? dot + 1 : text);
}

static bool is_mistake(const GError *error)
{
    return g_error_matches(error, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL) ||
           error->domain == ACR_TASK_ERROR || error->domain == ACR_SEARCH_ERROR ||
           error->domain == G_SHELL_ERROR;
}

/* Parses the call in `text`. *out_wrong (owned) says why the call is invalid, or is NULL. */
static bool bind_call(const Search *self, const char *text, AcrCall *out, Manner *manner,
                      char **out_wrong, GError **error)
{
    g_autofree char *word = NULL;
    const char *rest = NULL;
    g_auto(GStrv) words = NULL;
    g_autoptr(GError) reason = NULL;
    bool ok = false;
    if (acr_search_split_words(text, &word, &rest)) {
        ok = acr_search_word_call(word, rest, manner->spec, out, &reason);
        if (ok)
            take_words(word, rest, manner);
    } else if (acr_search_is_plain(self->calls, text)) {
        manner->is_words = true;
        ok = g_shell_parse_argv(text, NULL, &words, &reason) &&
             acr_search_plain_call(self->calls, words, out, &reason);
    } else {
        AcrPython *python = acr_workspace_python(self->workspace, self->host, &reason);
        ok = python && acr_python_bind_call(python, self->calls, text, out, &reason);
    }
    if (!ok && !is_mistake(reason))
        return acr_pass_error(error, &reason);
    *out_wrong = ok ? NULL : g_strdup(reason->message);
    return true;
}

static AcrOut print_for_people(Search *self, AcrAnswer *answer, const Manner *manner)
{
    g_autoptr(GString) text = g_string_new(NULL);
    acr_search_keep_range(answer, manner->from, manner->to);
    acr_search_paths_show(self->paths, answer);
    acr_search_print(manner->spec, manner->mark, answer, text);
    bool is_screen = isatty(STDOUT_FILENO);
    if (is_screen && self->answered && text->len)
        g_string_prepend_c(text, '\n');
    bool is_paged = is_screen && !self->is_prompt && text->len;
    return is_paged ? acr_out_paged(text->str) : acr_out_safe(text->str);
}

static bool is_for_person(const Manner *manner)
{
    const AcrRunSpec *spec = manner->spec;
    return !spec->json && (manner->is_words || acr_search_is_list(spec) || isatty(STDOUT_FILENO));
}

static bool run_call(Search *self, const AcrCall *call, const Manner *manner, AcrAnswer *out,
                     GError **error)
{
    const AcrRunSpec *spec = manner->spec;
    bool is_person = is_for_person(manner), is_bare = !is_person || acr_search_is_list(spec);
    acr_search_set_mode(
        self->workspace->search,
        (AcrSearchMode){.lines = is_person,
                        .matches = spec->json,
                        .tests = spec->with_tests || manner->width >= IN_TESTS,
                        .others = manner->width >= IN_ALL_FILES,
                        .literal = manner->is_words || is_person,
                        .globs = spec->in_file != NULL,
                        .exact = manner->is_exact,
                        .calls = manner->is_call,
                        .most = !is_person        ? 0
                                : spec->limit > 0 ? (guint)spec->limit
                                                  : G_MAXINT,
                        .before = is_bare ? 0 : acr_search_context(spec, spec->context_before),
                        .after = is_bare ? 0 : acr_search_context(spec, spec->context_after),
                        .only = spec->in_file});
    return acr_search_run(self->workspace->search, call, out, error);
}

/* Returns the widest place in which the call can find more than in IN_CODE. */
static guint widest(const AcrCall *call, const Manner *manner)
{
    const char *name = call->spec->name;
    if (!manner->is_words || strcmp(name, ACR_CALL_HISTORY) == 0 ||
        !g_str_has_prefix(name, "search_"))
        return IN_CODE;
    return g_str_has_prefix(name, "search_code") ? IN_ALL_FILES : IN_TESTS;
}

/* Runs a call. If nothing is found, searches tests and other files, too. Keeps the first answer if
 * these have no results either. */
static bool run_widely(Search *self, const AcrCall *call, Manner *manner, AcrAnswer *out,
                       GError **error)
{
    guint last = widest(call, manner);
    bool is_all = last == IN_ALL_FILES && manner->spec->in_file; /* search a named folder once */
    for (manner->width = is_all ? last : IN_CODE; manner->width <= last; manner->width++) {
        g_auto(AcrAnswer) answer = {0};
        if (!run_call(self, call, manner, &answer, error))
            return false;
        if (out->output && !answer.ok)
            continue;
        acr_answer_clear(out);
        *out = answer;
        answer = (AcrAnswer){0};
        if (out->ok)
            break;
    }
    if (out->ok)
        acr_search_tell_width(manner->spec, manner->width);
    return true;
}

/* Prints the answer to the call in `text`, for people if a person wrote it or reads it. */
static AcrOut print_answer(Search *self, const char *text, AcrAnswer *answer, const Manner *manner)
{
    const AcrRunSpec *spec = manner->spec;
    if (!answer->ok && spec->in_file &&
        !acr_search_has_file(self->workspace->search, spec->in_file))
        acr_verb_say("no file matches --in '%s'", spec->in_file);
    self->has_missed = self->has_missed || !answer->ok;
    if (spec->limit > 0 && answer->places->len > spec->limit)
        g_ptr_array_set_size(answer->places, (gint)spec->limit);
    g_autoptr(AcrJson) object = spec->json ? acr_search_answer_json(text, answer) : NULL;
    AcrOut out = object ? acr_out_json(object)
                 : is_for_person(manner)
                     ? print_for_people(self, answer, manner)
                     : acr_search_print_plain(answer->output, self->answered == 0);
    self->answered++;
    return out;
}

/* Says how many lines tests have; `n` lines were found elsewhere. */
static bool tell_tests(Search *self, const AcrCall *call, Manner *manner, guint n, GError **error)
{
    g_auto(AcrAnswer) all = {0};
    bool is_asked =
        strcmp(call->spec->name, ACR_CALL_CALLERS) == 0 || widest(call, manner) > IN_TESTS;
    if (!is_asked || manner->spec->with_tests || manner->spec->in_file || manner->spec->limit > 0)
        return true;
    manner->width = IN_TESTS;
    if (!run_call(self, call, manner, &all, error))
        return false;
    acr_search_tell_tests(n, acr_search_matching(&all));
    return true;
}

/* Answers a call. If its text was invalid, prints the reason `wrong` as the answer. */
static AcrOut answer_call(Search *self, const char *text, const AcrCall *call, const char *wrong,
                          Manner *manner, GError **error)
{
    g_auto(AcrAnswer) answer = {0};
    if (wrong)
        answer =
            (AcrAnswer){.failed = true, .output = g_strdup(wrong), .places = g_ptr_array_new()};
    else if (!run_widely(self, call, manner, &answer, error))
        return ACR_OUT_FAILED;
    self->was_wrong = self->was_wrong || (answer.failed && !wrong && self->spec->arguments[0] &&
                                          acr_search_call_spec(call->spec->name) == call->spec);
    const char *mark = manner->spec->in_file || manner->spec->json ? NULL : manner->mark;
    if (!answer.ok && mark && strpbrk(mark, "/.") &&
        acr_search_has_file(self->workspace->search, mark)) {
        self->has_missed = true; /* answer_question will say that the text is a file */
        return ACR_OUT_WRITTEN;
    }
    guint n = answer.ok && manner->width == IN_CODE ? acr_search_matching(&answer) : 0;
    AcrOut printed = print_answer(self, text, &answer, manner);
    bool is_over = wrong || !n || printed != ACR_OUT_WRITTEN || !is_for_person(manner);
    return is_over || tell_tests(self, call, manner, n, error) ? printed : ACR_OUT_FAILED;
}

/* ---- A person's question ---- */

/* The answer to a bare name so far. */
typedef struct {
    AcrAnswer found, missed;
    char *missed_call;
    bool is_found;
    AcrOut out;
} Named;
static void named_clear(Named *named)
{
    acr_answer_clear(&named->found);
    acr_answer_clear(&named->missed);
    g_free(named->missed_call);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Named, named_clear)

/* Searches for the name as `word`. For a person, combines several answers into one. */
static bool ask_name(Search *self, const char *word, const char *name, Manner *manner, Named *named,
                     GError **error)
{
    g_auto(AcrCall) call = {0};
    g_auto(AcrAnswer) answer = {0};
    take_words(word, name, manner);
    AcrRunSpec plain = acr_search_without_text(manner->spec);
    if (!acr_search_word_call(word, name, strcmp(word, "code") ? &plain : manner->spec, &call,
                              error) ||
        !run_call(self, &call, manner, &answer, error))
        return false;
    g_autofree char *text = acr_call_print(&call);
    AcrAnswer *kept = answer.ok ? &named->found : &named->missed;
    named->is_found = named->is_found || answer.ok;
    if (answer.ok && manner->spec->json) {
        named->out = print_answer(self, text, &answer, manner);
    } else if (kept->output && answer.ok) {
        acr_search_append_answer(kept, &answer);
    } else if (!kept->output && (answer.ok || !manner->is_exact)) {
        *kept = answer;
        answer = (AcrAnswer){0};
        g_free(named->missed_call);
        named->missed_call = g_steal_pointer(&text);
    }
    return true;
}

/* Searches for classes and functions named `name`; if there are none, for similar definitions. */
static bool ask_kinds(Search *self, const char *name, Manner *manner, Named *named, GError **error)
{
    bool is_class = g_ascii_isupper(name[0]) && !strchr(name, '.');
    g_auto(GStrv) names = manner->spec->any_case
                              ? acr_search_spellings(self->workspace->search, name)
                              : g_strsplit(name, "\n", 1);
    manner->is_exact = true;
    for (guint i = 0; names[i]; i++)
        if (!ask_name(self, "class", names[i], manner, named, error) ||
            !ask_name(self, "method", names[i], manner, named, error))
            return false;
    manner->is_exact = false;
    return named->is_found || manner->spec->in_file || acr_search_is_text(manner->spec) ||
           ask_name(self, is_class ? "class" : "method", name, manner, named, error);
}

/* Answers a bare name with its definitions or, if there are none, with lines that have the name. */
static AcrOut answer_name(Search *self, const char *name, Manner *manner, GError **error)
{
    g_auto(Named) named = {.out = ACR_OUT_WRITTEN};
    bool is_text = false;
    for (guint pass = 0; pass < 2 && !named.is_found; pass++) {
        is_text = pass == 1;
        guint width = is_text && manner->spec->in_file ? IN_ALL_FILES : IN_CODE;
        for (; width <= IN_ALL_FILES && !named.is_found; width++) {
            manner->width = width;
            if (!(is_text ? ask_name(self, "code", name, manner, &named, error)
                          : ask_kinds(self, name, manner, &named, error)))
                return ACR_OUT_FAILED;
        }
    }
    bool is_bare = !manner->spec->json && !manner->spec->in_file,
         is_file = is_bare && acr_search_has_file(self->workspace->search, name);
    if (!named.is_found && is_bare && (is_file || !strchr(name, '.'))) {
        AcrRunSpec plain = acr_search_without_text(manner->spec);
        g_auto(Manner) again = {.spec = &plain, .is_words = true};
        self->has_missed = true;
        if (acr_search_is_text(manner->spec)) /* it misses again, but names what is nearest */
            acr_answer_clear(&named.missed);
        if (!named.missed.output && !ask_kinds(self, name, &again, &named, error))
            return ACR_OUT_FAILED;
        if (acr_index_n_files(self->workspace->index) == 0)
            acr_verb_say("there is no Python file, and no line contains '%s'", name);
        else if (!is_file) /* otherwise answer_question will say that the name is a file */
            acr_search_tell_nothing(name, manner->spec, &named.missed);
        return ACR_OUT_WRITTEN;
    }
    if (!named.is_found)
        return print_answer(self, named.missed_call, &named.missed, manner);
    if (is_text)
        acr_search_tell_text(name, manner->spec->in_file, manner->width);
    else if (!named.found.notes || !*named.found.notes) /* otherwise the notes name the place */
        acr_search_tell_width(manner->spec, manner->width);
    bool wants_lines = acr_search_is_text(manner->spec) || acr_search_is_list(manner->spec);
    if (!is_text && !manner->spec->json && (wants_lines || manner->spec->with_tests))
        acr_verb_say("only definitions are shown; write /%s to search for the text", name);
    return named.found.output ? print_answer(self, NULL, &named.found, manner) : named.out;
}

static AcrOut ask_question(Search *self, const AcrQuestion *question, const AcrRunSpec *spec,
                           GError **error)
{
    g_auto(AcrCall) call = {0};
    g_auto(Manner) manner = {.spec = spec, .is_words = true, .is_call = question->is_call};
    if (strcmp(question->word, ACR_SEARCH_NAME) == 0)
        return answer_name(self, question->text, &manner, error);
    if (!acr_search_word_call(question->word, question->text, spec, &call, error))
        return ACR_OUT_FAILED;
    take_words(question->word, question->text, &manner);
    g_autofree char *text = acr_call_print(&call);
    return answer_call(self, text, &call, NULL, &manner, error);
}

/* Shows the definitions of a file named without a text; false if `name` is no file with any. */
static bool show_file(Search *self, const char *name, const AcrRunSpec *spec, AcrOut *out,
                      GError **error)
{
    const Manner manner = {.spec = spec, .is_words = true};
    g_auto(AcrAnswer) outline = {0};
    bool is_read =
        spec->in_file || acr_search_outline(self->workspace->search, name, &outline, error);
    if (!is_read || outline.ok)
        *out = is_read ? print_answer(self, name, &outline, &manner) : ACR_OUT_FAILED;
    return !is_read || outline.ok;
}

static AcrOut answer_question(Search *self, const AcrQuestion *question, const AcrRunSpec *spec,
                              GError **error)
{
    AcrSearch *search = self->workspace->search;
    AcrRunSpec asked = *spec; /* borrows the members of `spec` */
    AcrOut out = ACR_OUT_WRITTEN;
    const char *text = question->text, *word = question->word;
    bool had_missed = self->has_missed,
         is_file = !strchr(text, ' ') && g_str_has_suffix(text, ".py"),
         is_name = is_file && strcmp(word, ACR_SEARCH_NAME) == 0;
    asked.in_file = question->where ? question->where : spec->in_file;
    if ((is_name || (spec->json && is_file)) && show_file(self, text, &asked, &out, error))
        return out;
    self->has_missed = is_name && !spec->json && !acr_search_defines(search, text) &&
                       !acr_search_has_file(search, text);
    if (!self->has_missed)
        out = ask_question(self, question, &asked, error);
    bool has_file = self->has_missed && acr_search_has_file(search, text);
    if (self->has_missed && has_file && !asked.in_file && strcmp(word, "line") != 0) {
        if (!is_name && show_file(self, text, &asked, &out, error))
            self->has_missed = false;
        else
            acr_search_tell_file(text);
    } else if (self->has_missed && is_file && !has_file) {
        acr_search_tell_nearest(search, text);
    } else if (self->has_missed && acr_search_is_call(self->calls, text, true)) {
        acr_verb_say("there is no such call; --list shows all; an --extension can add one");
    } else if (self->has_missed && self->is_prompt && strchr(text, ' ')) {
        acr_search_tell_one_text(text);
    }
    self->has_missed = self->has_missed || had_missed;
    return out;
}

/* Returns the exit code. `left` is the number of calls that were not answered. */
static AcrExit exit_code(const Search *self, guint left)
{
    if (!acr_interrupted(self->host->interrupt))
        return self->was_wrong ? ACR_EXIT_USAGE : self->has_missed ? ACR_EXIT_NONE : ACR_EXIT_OK;
    if (acr_time_is_over(self->host->interrupt))
        acr_verb_say("--max-time reached after %u of %u calls; rerun with a higher limit",
                     self->answered, self->answered + left);
    return acr_exit_of(NULL, self->host->interrupt);
}

static AcrOut answer_line(Search *self, const char *text, GError **error)
{
    g_auto(AcrCall) call = {0};
    g_auto(Manner) manner = {.spec = self->spec};
    g_autofree char *wrong = NULL;
    if (!bind_call(self, text, &call, &manner, &wrong, error))
        return ACR_OUT_FAILED;
    self->was_wrong = self->was_wrong || (wrong && self->spec->arguments[0]);
    if (wrong && !self->spec->json && self->spec->arguments[0]) {
        self->wrong = g_steal_pointer(&wrong);
        return ACR_OUT_CLOSED; /* a mistake in an argument ends the verb */
    }
    return answer_call(self, text, &call, wrong, &manner, error);
}

/* Ends the verb, and returns its exit code. `error` (may be NULL) is taken. */
static int end_search(const Search *self, AcrOut out, guint left, GError *error)
{
    g_autoptr(GError) reason = error;
    return reason ? acr_verb_fail(self->host, reason) : acr_out_exit(out, exit_code(self, left));
}

/* Answers a call whose name is the first argument; the other arguments are its values. */
static AcrOut answer_plain(Search *self, GError **error)
{
    g_auto(AcrCall) call = {0};
    Manner manner = {.spec = self->spec, .is_words = true};
    if (!acr_search_plain_call(self->calls, self->spec->arguments, &call, error))
        return ACR_OUT_FAILED;
    g_autofree char *text = acr_call_print(&call);
    return answer_call(self, text, &call, NULL, &manner, error);
}

/* Answers a question from arguments: a text to search for, and places. */
static AcrOut answer_words(Search *self, char *const *words, GError **error)
{
    g_auto(AcrQuestion) question = {0};
    acr_search_question(self->workspace->search, self->paths, words, self->spec, &question);
    acr_search_set_mode(self->workspace->search, (AcrSearchMode){.globs = true});
    if (!acr_search_check_places(self->workspace->search, question.where, self->spec, error))
        return ACR_OUT_FAILED;
    return answer_question(self, &question, self->spec, error);
}

static int answer_arguments(Search *self)
{
    GError *error = NULL;
    AcrOut out = ACR_OUT_WRITTEN;
    char **words = self->spec->arguments, *const *at = words;
    bool is_plain = words[1] && acr_calls_find(self->calls, words[0]),
         is_call = acr_search_is_call(self->calls, words[0], self->spec->json) ||
                   acr_search_is_plain(self->calls, words[0]);
    if (is_plain || !is_call) {
        out = is_plain ? answer_plain(self, &error) : answer_words(self, words, &error);
        return end_search(self, out, 0, error);
    }
    if (self->spec->in_file || acr_search_is_text(self->spec))
        return acr_verb_usage(self->host, "-g, -e, -i, -w, -A, -B and -C need a name or a text");
    for (; *at && out == ACR_OUT_WRITTEN && !acr_interrupted(self->host->interrupt); at++)
        out = answer_line(self, *at, &error);
    g_autofree char *wrong = g_steal_pointer(&self->wrong);
    return wrong ? (int)acr_verb_usage(self->host, "%s", wrong)
                 : end_search(self, out, g_strv_length((char **)at), error);
}

/* ---- At a prompt ---- */

/* Stops or starts the timer, because --max-time limits each answer at a prompt, not the session. */
static void pause_time(const Search *self, bool is_paused)
{
    struct itimerval timer = {.it_value.tv_sec = is_paused ? 0 : self->spec->max_ms / 1000 + 1};
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* Answers a typed line: a call, or a question with options. */
static AcrOut answer_typed(Search *self, const char *line, GError **error)
{
    g_auto(AcrRunSpec) options = acr_run_spec_of(ACR_FOR_SEARCH);
    g_autoptr(GError) reason = NULL;
    g_auto(GStrv) words = NULL;
    g_auto(AcrQuestion) question = {0};
    if (self->spec->json ? acr_search_is_line(self->calls, line)
                         : acr_search_is_call(self->calls, line, false) ||
                               acr_search_is_plain(self->calls, line))
        return answer_line(self, line, error);
    AcrRunSpec asked = *self->spec; /* borrows the members of the spec and of `options` */
    AcrOut out = ACR_OUT_FAILED;
    if (acr_search_typed_words(&acr_verb_search, line, &options, &words, &reason)) {
        asked.in_file = NULL;
        acr_search_from_root(self->paths, self->workspace->search, &options.in_file);
        acr_run_spec_override(&asked, &options);
        acr_search_question(self->workspace->search, self->paths, words, &asked, &question);
        asked.in_file = options.in_file ? options.in_file : self->spec->in_file;
        out = answer_question(self, &question, &asked, &reason);
    }
    if (!reason)
        return out;
    if (!is_mistake(reason)) {
        g_propagate_error(error, g_steal_pointer(&reason));
        return ACR_OUT_FAILED;
    }
    if (self->spec->json) { /* each line gets an object */
        g_auto(Manner) manner = {.spec = self->spec};
        return answer_call(self, line, NULL, reason->message, &manner, error);
    }
    acr_verb_say("%s", reason->message);
    self->has_missed = true;
    return ACR_OUT_WRITTEN;
}

static int answer_prompt(Search *self, AcrSearchInput *input)
{
    GError *error = NULL;
    AcrOut out = ACR_OUT_WRITTEN;
    bool quits = false;
    self->is_prompt = true;
    acr_verb_say("%" G_GSIZE_FORMAT " Python files; type a name or a text to search for, 'help' "
                 "shows more, 'quit' ends",
                 acr_index_n_files(self->workspace->index));
    while (out == ACR_OUT_WRITTEN && !quits) {
        g_autofree char *line = NULL;
        pause_time(self, true);
        input->index = self->workspace->index;
        if (!acr_search_input_next(input, &line, &error) || !line)
            break;
        if (acr_search_command(self->calls, line, &quits, &out))
            continue;
        pause_time(self, false);
        out = acr_repository_follow(self->host, self->workspace, &self->latest, &error)
                  ? answer_typed(self, line, &error)
                  : ACR_OUT_FAILED;
    }
    g_clear_pointer(&self->latest, acr_snapshot_unref);
    self->has_missed = false; /* a person saw each answer */
    return end_search(self, out, 0, error);
}

static int answer_input(Search *self, AcrSearchInput *input)
{
    GError *error = NULL;
    AcrOut out = ACR_OUT_WRITTEN;
    bool quits = false;
    while (out == ACR_OUT_WRITTEN && !quits) {
        g_autofree char *line = NULL;
        if (!acr_search_input_next(input, &line, &error) || !line)
            break;
        if (!self->spec->json && acr_search_command(self->calls, line, &quits, &out))
            continue;
        out = answer_typed(self, line, &error);
    }
    guint left = acr_interrupted(self->host->interrupt) ? acr_search_input_left(input) : 0;
    return end_search(self, out, left, error);
}

static int run_search(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrExtensions) extensions = NULL;
    g_auto(AcrWorkspace) workspace = {0};
    g_auto(AcrSearchInput) input = {0};
    g_auto(AcrSearchPaths) paths = {0};
    Search self = {.host = host, .spec = spec, .workspace = &workspace, .paths = &paths};
    char **words = spec->arguments;
    if (spec->list) {
        if (!acr_verb_load_extensions(host, spec, NULL, &extensions, &error))
            return acr_verb_fail(host, error);
        const AcrCalls *calls = acr_extensions_calls(extensions);
        g_autoptr(AcrJson) json = acr_search_list_json(calls);
        g_autofree char *list = acr_search_list(calls);
        return acr_out_exit(spec->json ? acr_out_json(json) : acr_out_text(list), ACR_EXIT_OK);
    }
    if (!acr_search_check_request(spec, &error))
        return acr_verb_usage(host, "%s", error->message);
    if ((!words[0] && !acr_search_input_open(host->interrupt, &input, &error)) ||
        !acr_repository_open(host, spec, &workspace, &error) ||
        !acr_verb_load_extensions(host, spec, acr_repo_workdir(workspace.repo), &extensions,
                                  &error) ||
        !acr_repository_index(host, spec, &workspace, &error))
        return acr_verb_fail(host, error);
    self.calls = acr_extensions_calls(extensions);
    acr_search_paths_init(&paths, acr_repo_workdir(workspace.repo));
    acr_search_from_root(&paths, workspace.search, &spec->in_file);
    acr_search_tell_root(spec, acr_repo_workdir(workspace.repo));
    if (words[0])
        return answer_arguments(&self);
    return input.is_terminal ? answer_prompt(&self, &input) : answer_input(&self, &input);
}

const AcrVerb acr_verb_search = {
    .name = "search",
    .short_name = "s",
    .summary = "Search the structure of Python code: classes, methods, text, lines",
    .takes = ACR_FOR_SEARCH,
    .arguments = "[WHAT [WHERE...]]",
    .arguments_note =
        "WHAT: NAME, TEXT, class A, 'search_class(\"A\")', FILE:10-20; default: a prompt",
    .examples = {{"Search for a name; s is short for search", "s Session.send"},
                 {"Find text in files of one name", "search code 'def save(' --in models.py"},
                 {"Make a call as models do",
                  "search --json 'search_method_in_class(\"save\", \"Model\")'"}},
    .exits = "0 each call found something, 1 one found nothing or failed, 2 one is wrong",
    .run = run_search,
};
