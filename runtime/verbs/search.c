/*
 * acr-host search: the structure-aware search calls, from arguments or from lines of standard
 * input, answered as they arrive.
 */
#include "verbs/search_input.h"

#include <sys/time.h>

/* What is needed to answer calls. */
typedef struct {
    AcrHost *host;
    const AcrRunSpec *spec;
    AcrWorkspace *workspace;
    const AcrCalls *calls;
    guint answered;
    bool has_missed;
} Search;

/* The call in a text, or NULL with *out_wrong; owned. */
static bool bind_call(const Search *self, const char *text, AcrCall *out, char **out_wrong,
                      GError **error)
{
    g_autofree char *word = NULL;
    const char *rest = NULL;
    g_autoptr(GError) reason = NULL;
    bool ok = acr_search_split_words(text, &word, &rest)
                  ? acr_search_word_call(word, rest, self->spec, out, &reason)
                  : acr_python_bind_call(self->workspace->python, self->calls, text, out, &reason);
    if (ok)
        return true;
    if (!g_error_matches(reason, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL) &&
        reason->domain != ACR_TASK_ERROR)
        return acr_pass_error(error, &reason);
    *out_wrong = g_strdup(reason->message);
    return true;
}

/* Answers one call; if the text is not a call, says what is wrong with it. */
static bool answer_text(const Search *self, const char *text, AcrAnswer *out, GError **error)
{
    g_auto(AcrCall) call = {0};
    g_autofree char *wrong = NULL;
    if (!bind_call(self, text, &call, &wrong, error))
        return false;
    if (!wrong)
        return acr_search_run(self->workspace->search, &call, out, error);
    *out = (AcrAnswer){.output = g_steal_pointer(&wrong), .places = g_ptr_array_new()};
    return true;
}

/* Answers are kept apart by an empty line. */
static AcrOut print_result_text(const char *output, bool first)
{
    const char *end = g_str_has_suffix(output, "\n") ? "" : "\n";
    g_autofree char *text = g_strconcat(first ? "" : "\n", output, end, NULL);
    return acr_out_text(text);
}

static AcrOut print_answer(const char *text, const AcrAnswer *answer, bool json, bool first)
{
    if (!json)
        return print_result_text(answer->output, first);
    g_autoptr(AcrJson) object = acr_answer_to_json(text, answer);
    return acr_out_json(object);
}

static AcrOut print_result_of(Search *self, const char *text, const AcrAnswer *answer)
{
    self->has_missed = self->has_missed || !answer->ok;
    return print_answer(text, answer, self->spec->json, self->answered++ == 0);
}

/* `left`: calls that were not answered. */
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
    g_auto(AcrAnswer) answer = {0};
    return answer_text(self, text, &answer, error) ? print_result_of(self, text, &answer)
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

/* Answers "class NAME" given as two arguments. */
static int answer_words(Search *self, const AcrCall *call)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrAnswer) answer = {0};
    g_autofree char *text = acr_call_print(call);
    if (!acr_search_run(self->workspace->search, call, &answer, &error))
        return acr_verb_fail(self->host, error);
    AcrOut out = print_result_of(self, text, &answer); /* remembers a miss for the exit code */
    return acr_out_exit(out, exit_code(self, 0));
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
    while (out == ACR_OUT_WRITTEN) {
        g_autofree char *line = NULL;
        if (input->is_terminal)
            pause_time(self, true);
        if (!acr_search_input_next(input, &line, &error) || !line)
            break;
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
    if ((!words[0] && !acr_search_input_open(host->interrupt, &input, &error)) ||
        !acr_repository_open(host, spec, &workspace, &error) ||
        !acr_verb_load_extensions(host, spec, acr_repo_workdir(workspace.repo), &extensions,
                                  &error) ||
        !acr_repository_index(host, spec, &workspace, &error))
        return acr_verb_fail(host, error);
    self.calls = acr_extensions_calls(extensions);
    if (is_words)
        return answer_words(&self, &call);
    return words[0] ? answer_arguments(&self) : answer_input(&self, &input);
}

const AcrVerb acr_verb_search = {
    .name = "search",
    .summary = "Search the structure of Python code: classes, methods, text, lines",
    .takes = ACR_FOR_SEARCH,
    .arguments = "[CALL…] - such as 'search_class(\"A\")', or: class A; none: standard input",
    .run = run_search,
};
