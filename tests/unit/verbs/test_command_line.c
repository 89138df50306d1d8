/* Tests of the command line: every spelling of an option, rejected arguments and their messages,
 * and the texts of --help. */
#include <string.h>

#include "verbs/verbs_private.h"
#include "unit/cases.h"

/* Parses words (NULL-terminated, without the verb's name). */
static bool parse(const AcrVerb *verb, const char *const *words, AcrRunSpec *spec, GError **error)
{
    char *argv[16] = {(char *)verb->name};
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)words[argc - 1];
    return acr_command_line_parse(verb, argc, argv, spec, error);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check_rounds(const char *const *words, gint64 rounds)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    g_autoptr(GError) error = NULL;
    assert_ok(parse(&acr_verb_run, words, &spec, &error), error);
    g_assert_cmpint(spec.rounds, ==, rounds);
}

TEST("/verbs/command_line", an_option_has_several_spellings)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    check_rounds(WORDS("--rounds", "3"), 3);
    check_rounds(WORDS("--rounds=3"), 3);
    check_rounds(WORDS("--rounds=2", "--rounds=3"), 3);
    g_assert_true(parse(&acr_verb_run, WORDS("-o", "a", "-rb", "-v", "-m", "x/1", "--model=x/2"), &spec, NULL));
    g_assert_cmpstr(spec.out, ==, "a");
    g_assert_cmpstr(spec.repo, ==, "b");
    g_assert_true(spec.verbose);
    g_assert_cmpstr(spec.models[1], ==, "x/2");
}

static void check_verify(const char *const *words, gint64 verify)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    g_assert_true(parse(&acr_verb_run, words, &spec, NULL));
    g_assert_cmpint(spec.verify, ==, verify);
}

TEST("/verbs/command_line", verify_may_stand_alone)
{
    check_verify(WORDS("--verify"), ACR_VERIFY_ALWAYS);
    check_verify(WORDS("--verify", "--rounds=2"), ACR_VERIFY_ALWAYS);
    check_verify(WORDS("--verify", "never"), ACR_VERIFY_NEVER);
    check_verify(WORDS("--verify=auto"), ACR_VERIFY_AUTO);
}

TEST("/verbs/command_line", a_value_may_look_like_an_option)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    g_assert_true(parse(&acr_verb_run, WORDS("--issue", "-", "--rev", "--x"), &spec, NULL));
    g_assert_cmpstr(spec.issue_file, ==, "-");
    g_assert_cmpstr(spec.rev, ==, "--x");
}

TEST("/verbs/command_line", what_is_after_two_dashes_is_an_argument)
{
    g_auto(AcrRunSpec) exec = acr_run_spec_of(ACR_FOR_EXEC), ask = acr_run_spec_of(ACR_FOR_ASK);
    g_assert_true(parse(&acr_verb_exec, WORDS("--json", "--", "ls", "--json", "--"), &exec, NULL));
    assert_text(g_strjoinv(" ", exec.arguments), "ls --json --");
    g_assert_true(parse(&acr_verb_ask, WORDS("--", "--why"), &ask, NULL));
    g_assert_cmpstr(ask.arguments[0], ==, "--why");
}

TEST("/verbs/command_line", mistakes_are_named_in_a_line)
{
    static const struct {
        const AcrVerb *verb;
        const char *words[3];
        const char *said;
    } rows[] = {{&acr_verb_run, {"--frobnicate"}, "there is no option --frobnicate"},
                {&acr_verb_run, {"--isue=x"}, "there is no option --isue; did you mean --issue?"},
                {&acr_verb_run, {"--hepl"}, "there is no option --hepl; did you mean --help?"},
                {&acr_verb_search, {"--lsit"}, "there is no option --lsit; did you mean --list?"},
                {&acr_verb_run, {"-x"}, "there is no option -x"},
                {&acr_verb_run, {"--repo"}, "--repo needs a value (DIR)"},
                {&acr_verb_run, {"--apply=yes"}, "--apply takes no value"},
                {&acr_verb_run, {"more"}, "unexpected argument 'more'; give the issue with --issue"},
                {&acr_verb_run, {"--rounds", "many"}, "--rounds must be from 1 to 1000, not 'many'"},
                {&acr_verb_run,
                 {"--model", "a/b,c/d"},
                 "--model takes one model, not 'a/b,c/d'; repeat it: --model a/b --model c/d"},
                {&acr_verb_run, {"--shared-dir=x"}, "there is no option --shared-dir"},
                {&acr_verb_reproduce, {"--validate", "true"}, "--validate does not apply to 'reproduce'"},
                {&acr_verb_exec, {"true"}, "write -- before the command 'true'"}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(AcrRunSpec) spec = acr_run_spec_of(rows[i].verb->takes);
        g_autoptr(GError) error = NULL;
        g_assert_false(parse(rows[i].verb, rows[i].words, &spec, &error));
        g_assert_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
        g_assert_cmpstr(error->message, ==, rows[i].said);
    }
}

static guint count_lines(const char *text)
{
    guint n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

TEST("/verbs/command_line", help_fits_a_screen_and_names_what_a_verb_takes)
{
    for (guint v = 0; acr_verbs[v]; v++) {
        const AcrVerb *verb = acr_verbs[v];
        if (!verb->takes) /* a hidden verb */
            continue;
        g_autofree char *text = acr_help_text(verb, false), *all = acr_help_text(verb, true);
        const char *examples = strstr(text, "\nExamples:\n");
        g_assert_nonnull(examples);
        g_assert_cmpuint(count_lines(text) - count_lines(examples), <=, 40);
        for (guint i = 0; i < acr_n_options; i++) {
            const AcrOption *option = &acr_options[i];
            g_autofree char *name = g_strconcat(" --", option->name,
                                                option->implicit_value ? "[="
                                                : option->argument     ? " "
                                                                       : "  ",
                                                NULL);
            bool is_shown = (option->verbs & verb->takes) && !(option->flags & ACR_OPTION_INNER);
            g_assert_true(!is_shown || strstr(all, name));
            g_assert_true(!is_shown || !(option->flags & ACR_OPTION_RARE) == !!strstr(text, name));
        }
    }
}
