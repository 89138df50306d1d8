/* Parses argv into a verb's spec, according to the table of options. Accepts "--name value",
 * "--name=value", "-n value", "-nvalue" and several flags "-nm"; all words after "--" are
 * arguments. */
#include "verbs/verbs_private.h"

#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "http/http.h"
#include "layout/layout.h"

typedef struct {
    const AcrVerb *verb;
    int argc;
    char **argv;
    int next;
    GPtrArray *arguments; /* owned array of owned strings */
    int after_regex;      /* index of the word after the last --regex; 0: none */
    guint n_before;       /* number of arguments before the pattern of the first --regex */
    bool has_pattern;
} Parser;

/* Options of grep and ripgrep that a person may type from habit. */
static const struct {
    char letter;
    const char *name, *advice;
} of_grep[] = {
    {'v', "invert-match", "a search cannot be inverted"},
    {'o', "only-matching", "lines are printed whole, and --vimgrep adds the column"},
    {'E', "extended-regexp", "write -e PATTERN"},
    {'P', "perl-regexp", "write -e PATTERN"},
    {'\0', "color", "set CLICOLOR_FORCE=1 for colours in a pipe, NO_COLOR=1 for none"},
    {'\0', "type", "Python files are searched by default; name other files as WHERE"},
    {'\0', "glob", "name a glob pattern as WHERE, or with -g"},
};

/* Returns what to do instead of an option of grep, which `letter` or `name` gives; NULL otherwise. */
static const char *advice_of(const Parser *parser, char letter, const char *name)
{
    for (guint i = 0; parser->verb->takes == ACR_FOR_SEARCH && i < G_N_ELEMENTS(of_grep); i++)
        if (letter ? of_grep[i].letter == letter : strcmp(of_grep[i].name, name) == 0)
            return of_grep[i].advice;
    return NULL;
}

static const AcrOption *find_letter(char letter, guint verb)
{
    for (guint i = 0; i < acr_n_options; i++)
        if (acr_options[i].letter == letter && (acr_options[i].verbs & verb))
            return &acr_options[i];
    return NULL;
}

static bool refuse_unknown(const Parser *parser, const char *name, gsize len, GError **error)
{
    const AcrOption *other = acr_option_find(name, len, 0);
    if (other && !(other->flags & ACR_OPTION_INNER))
        return acr_task_refuse(error, "--%.*s does not apply to '%s'", (int)len, name,
                               parser->verb->name);
    g_autofree char *word = g_strndup(name, len);
    const char *advice = advice_of(parser, 0, word);
    if (advice)
        return acr_task_refuse(error, "there is no option --%s; %s", word, advice);
    const char *nearest = acr_option_nearest(word, parser->verb->takes);
    return acr_task_refuse(error, "there is no option --%s%s%s%s", word,
                           nearest ? "; did you mean --" : "", nearest ? nearest : "",
                           nearest ? "?" : "");
}

/* Sets an option to its value: `attached` or, if `attached` is NULL, the next word. */
static bool take_value(Parser *parser, AcrRunSpec *spec, const AcrOption *option,
                       const char *attached, GError **error)
{
    g_autofree char *label = g_strdup_printf("--%s", option->name);
    if (option->offset == G_STRUCT_OFFSET(AcrRunSpec, regex))
        parser->after_regex = parser->next;
    const char *next = parser->next < parser->argc ? parser->argv[parser->next] : NULL;
    if (option->type == ACR_OPTION_FLAG)
        return attached ? acr_task_refuse(error, "%s takes no value", label)
                        : acr_run_spec_set(spec, option, label, "true", error);
    if (!attached && option->implicit_value && (!next || *next == '-'))
        return acr_run_spec_set(spec, option, label, option->implicit_value, error);
    if (!attached && !next)
        return acr_task_refuse(error, "%s needs a value (%s)", label, option->argument);
    parser->next += !attached;
    return acr_run_spec_set(spec, option, label, attached ? attached : next, error);
}

static bool take_long(Parser *parser, AcrRunSpec *spec, const char *word, GError **error)
{
    gsize len = strcspn(word, "=");
    const AcrOption *option = acr_option_find(word, len, parser->verb->takes);
    if (!option || (option->flags & ACR_OPTION_INNER))
        return refuse_unknown(parser, word, len, error);
    return take_value(parser, spec, option, word[len] ? word + len + 1 : NULL, error);
}

static bool take_short(Parser *parser, AcrRunSpec *spec, const char *word, GError **error)
{
    const AcrOption *option = find_letter(word[0], parser->verb->takes);
    const char *advice = option ? NULL : advice_of(parser, word[0], NULL);
    if (!option)
        return acr_task_refuse(error, "there is no option -%s%s%s", word, advice ? "; " : "",
                               advice ? advice : "");
    if (word[0] == 'r' && word[1] && parser->verb->takes == ACR_FOR_SEARCH &&
        !g_file_test(word + 1 + (word[1] == '='), G_FILE_TEST_IS_DIR)) /* as in "grep -rn" */
        return acr_task_refuse(error,
                               "-r is --repo, and '%s' is no folder; folders are searched "
                               "without an option",
                               word + 1);
    if (option->type == ACR_OPTION_FLAG && word[1] && word[1] != '=') /* "-iw" means "-i -w" */
        return take_value(parser, spec, option, NULL, error) &&
               take_short(parser, spec, word + 1, error);
    return take_value(parser, spec, option, word[1] ? word + 1 : NULL, error);
}

static bool take_argument(Parser *parser, const char *word, bool is_after, GError **error)
{
    if (!parser->verb->arguments)
        return acr_task_refuse(error, "unexpected argument '%s'%s", word,
                               parser->verb->takes & ACR_FOR_RUN ? "; give the issue with --issue"
                                                                 : "");
    if (parser->verb->is_command && !is_after)
        return acr_task_refuse(error, "write -- before the command '%s'", word);
    bool is_pattern = parser->after_regex && parser->after_regex == parser->next - 1;
    if (is_pattern && parser->has_pattern) { /* "-e ONE -e OTHER" is "-e 'ONE|OTHER'" */
        char **first = (char **)&parser->arguments->pdata[parser->n_before];
        char *both = g_strconcat(*first, "|", word, NULL);
        g_free(*first);
        *first = both;
        return true;
    }
    parser->n_before = is_pattern ? parser->arguments->len : parser->n_before;
    parser->has_pattern = parser->has_pattern || is_pattern;
    g_ptr_array_add(parser->arguments, g_strdup(word));
    return true;
}

bool acr_command_line_parse(const AcrVerb *verb, int argc, char **argv, AcrRunSpec *spec,
                            GError **error)
{
    g_autoptr(GPtrArray) arguments = g_ptr_array_new_with_free_func(g_free);
    Parser parser = {.verb = verb, .argc = argc, .argv = argv, .next = 1, .arguments = arguments};
    bool is_after = false, ok = true;
    while (ok && parser.next < argc) {
        const char *word = argv[parser.next++];
        if (is_after || word[0] != '-' || !word[1])
            ok = take_argument(&parser, word, is_after, error);
        else if (strcmp(word, "--") == 0)
            is_after = true;
        else if (word[1] == '-')
            ok = take_long(&parser, spec, word + 2, error);
        else
            ok = take_short(&parser, spec, word + 1, error);
    }
    g_ptr_array_add(arguments, NULL);
    spec->arguments = g_strdupv((char **)arguments->pdata);
    return ok;
}

/* Returns whether a word before "--" is `option`, also if the parser stops before that word. */
static bool has_option(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

static bool fill(const AcrVerb *verb, int argc, char **argv, AcrRunSpec *spec, GError **error)
{
    g_autofree char *config = acr_user_path("XDG_CONFIG_HOME", ".config", "config");
    return acr_command_line_parse(verb, argc, argv, spec, error) &&
           acr_run_spec_take_environment(spec, error) &&
           (!config || acr_run_spec_take_file(spec, config, error)) &&
           acr_run_spec_complete(spec, error);
}

/* Starts the timer that enforces the time limits of the run and of its batch even if the program
 * hangs. In verbs that call no model, SIGALRM ends the program. */
static void bound_time(AcrHost *host, const AcrRunSpec *spec)
{
    static const guint by_signal = ACR_FOR_SEARCH | ACR_FOR_PATCH | ACR_FOR_INDEX | ACR_FOR_REPLAY;
    /* the limit applies to each run of an `acp` session */
    bool is_of_runs = spec->verb & ACR_FOR_ACP;
    gint64 ms = spec->max_ms > 0 && !is_of_runs ? spec->max_ms : G_MAXINT64;
    if (spec->batch_deadline_us > 0)
        ms = MIN(ms, MAX(spec->batch_deadline_us - g_get_monotonic_time(), 0) / 1000);
    struct itimerval timer = {.it_value.tv_sec = (time_t)(ms / 1000 + 1 + ACR_GRACE_S)};
    if (spec->verb & by_signal) {
        host->interrupt->ends_at_alarm = true;
        timer.it_value.tv_sec = (time_t)(ms / 1000);
        timer.it_value.tv_usec = (suseconds_t)(ms % 1000 * 1000);
    }
    if (ms < G_MAXINT64)
        (void)setitimer(ITIMER_REAL, &timer, NULL);
}

char *acr_verb_take_host_options(AcrHost *host, const AcrRunSpec *spec)
{
    bound_time(host, spec);
    char *cache = spec->no_cache ? NULL : acr_host_default_cache(ACR_CACHE_OUTLINES);
    host->cache = cache;
    host->jobs = (guint)MAX(spec->jobs, 0);
    return cache;
}

/* Returns the command line that resumes the run in the folder that acr-host chose; owned. NULL if
 * the user named the folder, if there is none, or if headers may contain a secret. */
static char *continue_command(int argc, char **argv, const AcrRunSpec *spec, bool has_folder)
{
    if (has_folder || !spec->out || spec->headers)
        return NULL;
    GString *line = g_string_new("acr-host");
    for (int i = 0; i < argc; i++) {
        bool is_input = strcmp(argv[i], "-") == 0 && g_strcmp0(spec->issue_file, "-") == 0;
        g_autofree char *kept = is_input ? g_build_filename(spec->out, ACR_FILE_ISSUE, NULL) : NULL,
                        *word = acr_shell_word(kept ? kept : argv[i]);
        g_string_append_printf(line, " %s", word);
    }
    g_autofree char *folder = acr_shell_word(spec->out);
    g_string_append_printf(line, " --out %s", folder);
    return g_string_free(line, FALSE);
}

static int start_verb(AcrHost *host, const AcrVerb *verb, int argc, char **argv)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(verb->takes);
    g_autoptr(GError) error = NULL;
    bool is_long = has_option(argc, argv, "--help-all"),
         is_help = is_long || has_option(argc, argv, "--help") || has_option(argc, argv, "-h");
    if (verb->start)
        return verb->start(host, argc, argv);
    if (verb->takes && is_help) {
        g_autofree char *text = acr_help_text(verb, is_long);
        return acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
    }
    if (!fill(verb, argc, argv, &spec, &error))
        return acr_verb_usage(host, "%s", error->message);
    if (spec.trust_git_links)
        acr_vcs_trust_links();
    bool has_folder = spec.out;
    if (!acr_verb_fill_places(&spec, &error))
        return acr_verb_fail(host, error);
    if (verb->uses_network &&
        !acr_http_global_init(&error)) /* must be called before threads start */
        return acr_verb_fail(host, error);
    g_autofree char *cache = acr_verb_take_host_options(host, &spec),
                    *command = continue_command(argc, argv, &spec, has_folder);
    host->command = command;
    int code;
    if (acr_verb_find_extensions(host, &spec, &error))
        code = verb->run(host, &spec);
    else
        code = acr_verb_fail(host, error);
    host->command = NULL;
    if (verb->uses_network)
        acr_http_global_cleanup();
    if (!has_folder && spec.out)
        (void)rmdir(spec.out); /* removes the folder only if it is still empty */
    return code;
}

int acr_verb_start(AcrHost *host, const AcrVerb *verb, int argc, char **argv)
{
    g_autofree char *name = g_strdup_printf("acr-host %s", verb->name);
    g_set_prgname(name);
    int code = start_verb(host, verb, argc, argv);
    g_autofree char *failure = g_steal_pointer(&host->failure);
    if (code != ACR_EXIT_USAGE || !failure || !has_option(argc, argv, "--json"))
        return code;
    AcrJson *inside = acr_json_of(ACR_STRING("class", acr_llm_error_name(ACR_LLM_ERROR_USAGE)),
                                  ACR_STRING("message", failure), NULL);
    g_autoptr(AcrJson) json = acr_json_of(ACR_JSON("error", inside), NULL);
    return acr_out_exit(acr_out_json(json), code);
}
