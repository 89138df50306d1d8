/* Tests of the table of options: which values each row accepts, where values come from, and that a
 * spec survives conversion to JSON. */
#include "test_task.h"

#include <glib/gstdio.h>
#include <string.h>

/* A value that the option accepts. */
static const char *good_value(const AcrOption *option)
{
    switch (option->type) {
    case ACR_OPTION_COUNT:
        return "4242";
    case ACR_OPTION_USD:
        return "0.25";
    case ACR_OPTION_SECONDS:
        return "1.5";
    case ACR_OPTION_NUMBER:
        return "0.5";
    case ACR_OPTION_FLAG:
        return "true";
    case ACR_OPTION_HEADERS:
        return "X-One: 1";
    case ACR_OPTION_MODEL:
    case ACR_OPTION_MODELS:
        return "openai/x";
    default:
        return "some text";
    }
}

static bool set(AcrRunSpec *spec, const AcrOption *option, const char *value, GError **error)
{
    g_autofree char *label = g_strconcat("--", option->name, NULL);
    return acr_run_spec_set(spec, option, label, value, error);
}

static bool set_good(AcrRunSpec *spec, const AcrOption *option)
{
    g_autofree char *largest = g_strdup_printf("%" G_GINT64_FORMAT, option->max);
    bool is_count = option->type == ACR_OPTION_COUNT && option->max < 4242;
    g_auto(GStrv) words = option->words ? g_strsplit(option->words, "|", -1) : NULL;
    return set(spec, option, is_count ? largest : words ? words[0] : good_value(option), NULL);
}

static AcrForVerb first_verb(const AcrOption *option)
{
    return (AcrForVerb)(option->verbs & -option->verbs);
}

TEST("/task/run_spec", each_row_is_whole)
{
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        bool is_shown = !(option->flags & ACR_OPTION_INNER);
        g_assert_true(option->verbs != 0);
        g_assert_true(!is_shown || option->help);
        g_assert_true(!is_shown || !option->argument == (option->type == ACR_OPTION_FLAG));
        g_assert_true((option->required & ~option->verbs) == 0);
        for (guint k = 0; k < i; k++) /* a verb must have only one row for each name and letter */
            if (acr_options[k].verbs & option->verbs) {
                g_assert_cmpstr(acr_options[k].name, !=, option->name);
                g_assert_true(!option->letter || acr_options[k].letter != option->letter);
            }
    }
}

TEST("/task/run_spec", each_row_takes_its_value)
{
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        g_auto(AcrRunSpec) spec = acr_run_spec_of(first_verb(option));
        g_assert_false(acr_run_spec_is_given(&spec, option));
        g_assert_true(set_good(&spec, option));
        g_assert_true(acr_run_spec_is_given(&spec, option));
    }
}

TEST("/task/run_spec", bad_values_give_one_line)
{
    static const struct {
        AcrOptionType type;
        const char *values[6];
    } rows[] = {{ACR_OPTION_COUNT, {"many", "-1", "1x", "", "99999999999999999999"}},
                {ACR_OPTION_USD, {"much", "-1", "", "1e99"}},
                {ACR_OPTION_SECONDS, {"0", "-1", "nan", "inf", "99999999999"}},
                {ACR_OPTION_NUMBER, {"3", "-0.5", "nan", "", "1x"}},
                {ACR_OPTION_WORD, {"maybe", "", "Always"}},
                {ACR_OPTION_FLAG, {"yes", "", "1"}},
                {ACR_OPTION_HEADERS, {"s3cret", ": s3cret", "X: s3cret\r\nY: 1", "X Y: s3cret"}}};
    for (guint i = 0; i < acr_n_options; i++) {
        const AcrOption *option = &acr_options[i];
        for (guint r = 0; r < G_N_ELEMENTS(rows); r++)
            for (guint v = 0; rows[r].type == option->type && rows[r].values[v]; v++) {
                g_auto(AcrRunSpec) spec = acr_run_spec_of(first_verb(option));
                g_autoptr(GError) error = NULL;
                g_assert_false(set(&spec, option, rows[r].values[v], &error));
                g_assert_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
                g_assert_true(g_str_has_prefix(error->message, "--"));
                g_assert_nonnull(strstr(error->message, option->name));
                g_assert_null(strchr(error->message, '\n'));
                g_assert_null(strstr(error->message, "s3cret"));
                g_assert_false(acr_run_spec_is_given(&spec, option));
            }
    }
}

TEST("/task/run_spec", a_spec_survives_as_json)
{
    for (AcrForVerb verb = ACR_FOR_RUN; verb <= ACR_FOR_EXEC; verb <<= 1) {
        g_auto(AcrRunSpec) spec = acr_run_spec_of(verb), empty = acr_run_spec_of(verb), read = acr_run_spec_of(verb);
        g_autoptr(AcrJson) nothing = acr_run_spec_to_json(&empty, 0);
        for (guint i = 0; i < acr_n_options; i++)
            if (acr_options[i].verbs & verb)
                g_assert_true(set_good(&spec, &acr_options[i]));
        g_autoptr(AcrJson) json = acr_run_spec_to_json(&spec, 0);
        g_autofree char *text = acr_json_print(json);
        g_autoptr(AcrJson) parsed = acr_json_parse(text, strlen(text), NULL);
        g_autoptr(GError) error = NULL;
        g_assert_true(acr_run_spec_from_json(&read, 0, nothing, &error)); /* sets no option */
        assert_ok(acr_run_spec_from_json(&read, 0, parsed, &error), error);
        g_autoptr(AcrJson) again = acr_run_spec_to_json(&read, 0);
        assert_text(acr_json_print(again), text);
    }
}

TEST("/task/run_spec", texts_that_are_not_utf8_survive_as_json)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN), read = acr_run_spec_of(ACR_FOR_RUN);
    spec.out = g_strdup("caf\xe9");
    g_autoptr(AcrJson) json = acr_run_spec_to_json(&spec, 0);
    g_assert_true(acr_run_spec_from_json(&read, 0, json, NULL));
    g_assert_cmpstr(read.out, ==, "caf\xe9");
}

TEST("/task/run_spec", only_rows_with_the_flags_are_read)
{
    static const char text[] = "{\"rounds\":3,\"key_command\":\"rm -r /\",\"shared_dir\":\"x\"}";
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    g_autoptr(AcrJson) json = acr_json_parse(text, strlen(text), NULL);
    g_assert_true(acr_run_spec_from_json(&spec, ACR_OPTION_BOUND, json, NULL));
    g_assert_cmpint(spec.rounds, ==, 3);
    g_assert_null(spec.key_command);
    g_assert_null(spec.shared_dir);
}

TEST("/task/run_spec", the_largest_amounts_survive_as_json)
{
    static const char *const tokens[] = {"1000000000000000", "9007199254740992"};
    const AcrOption *most = acr_option_find("task-max-tokens", 15, ACR_FOR_SWE_BENCH),
                    *cost = acr_option_find("max-cost", 8, ACR_FOR_SWE_BENCH);
    for (guint i = 0; i < G_N_ELEMENTS(tokens); i++) {
        g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_SWE_BENCH), read = acr_run_spec_of(ACR_FOR_SWE_BENCH);
        g_assert_true(acr_run_spec_set(&spec, most, "", tokens[i], NULL));
        g_assert_true(acr_run_spec_set(&spec, cost, "", "9000000", NULL));
        g_autoptr(AcrJson) json = acr_run_spec_to_json(&spec, 0);
        g_autofree char *text = acr_json_print(json);
        g_autoptr(AcrJson) parsed = acr_json_parse(text, strlen(text), NULL);
        g_assert_true(acr_run_spec_from_json(&read, 0, parsed, NULL));
        g_assert_cmpint(read.task_max_tokens, ==, spec.task_max_tokens);
        g_assert_cmpint(read.max_cost, ==, spec.max_cost);
        g_assert_false(acr_run_spec_set(&spec, most, "", "9007199254740993", NULL));
        g_assert_false(acr_run_spec_set(&spec, cost, "", "9000000.000000000001", NULL));
    }
}

TEST("/task/run_spec", json_of_another_type_is_refused)
{
    static const char *const texts[] = {"{\"rounds\":\"many\"}", "{\"rounds\":0}",    "{\"rounds\":[1,2]x}",
                                        "{\"max_cost\":\"1\"}",  "{\"max_time\":-5}", "{\"apply\":\"x\"}",
                                        "{\"model\":7}",         "{\"verify\":7}"};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
        g_autoptr(AcrJson) json = acr_json_parse(texts[i], strlen(texts[i]), NULL);
        g_autoptr(GError) error = NULL;
        if (!json)
            continue;
        assert_fails_with(acr_run_spec_from_json(&spec, 0, json, &error), error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
    }
}

TEST("/task/run_spec", secrets_bind_no_folder)
{
    for (guint i = 0; i < acr_n_options; i++)
        g_assert_false((acr_options[i].flags & ACR_OPTION_SECRET) && (acr_options[i].flags & ACR_OPTION_BOUND));
}

/* ---- Where values come from ---- */

static bool take_text(Place *place, AcrRunSpec *spec, const char *text, GError **error)
{
    g_autofree char *path = place_path(place, "config");
    place_write(place, "config", text);
    return acr_run_spec_take_file(spec, path, error);
}

PLACE_TEST("/task/spec_sources", a_file_sets_what_was_not_given)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    g_autoptr(GError) error = NULL;
    g_assert_true(set(&spec, acr_option_find("rounds", 6, ACR_FOR_RUN), "3", NULL));
    assert_ok(take_text(place, &spec,
                        "# mine\n\n rounds = 7\ntries=5\nmodel = openai/a\n"
                        "model = openai/b\nverbose = true\ntask-max-cost = 1\n"
                        "task-max-time = long\njobs = 0\nlimit = 1\nvalidate = make X=1\n",
                        &error),
              error);
    g_assert_cmpint(spec.rounds, ==, 3);
    g_assert_cmpint(spec.tries, ==, 5);
    g_assert_cmpstr(spec.models[1], ==, "openai/b");
    g_assert_cmpstr(spec.validate, ==, "make X=1");
    g_assert_true(spec.verbose);
    g_assert_cmpint(spec.task_max_cost, ==, ACR_UNSET); /* options of other verbs are ignored */
}

PLACE_TEST("/task/spec_sources", a_bad_line_is_named)
{
    static const struct {
        const char *text, *said;
    } rows[] = {{"nonsense = 1\n", "line 1: 'nonsense' is not an option"},
                {"sandbxo = plain\n", "'sandbxo' is not an option; did you mean 'sandbox'?"},
                {"rounds = 2\nrounds\n", "line 2: must be 'name = value'"},
                {"rounds = 2\n\ns3cret\n", "line 3: must be 'name = value'"},
                {"cGFzc3dvcmQs3cret=\n", "line 1: is not an option"},
                {"\nrounds = many\n", "line 2: rounds must be from 1 to 1000, not 'many'"},
                {"repo = /somewhere\n", "'repo' can only be given on the command line"},
                {"apply = true\n", "'apply' can only be given on the command line"},
                {"shared-dir = x\n", "'shared-dir' is not an option"},
                {"header = X: s3cret\n", "applies to one provider; give it on the command line, or with ACR_HEADERS"},
                {"key-file = s3cret\n", "'key-file' applies to one provider; "},
                {"key-command = s3cret\n", "on the command line, or with ACR_KEY_COMMAND"},
                {"base-url = http://s3cret\n", "on the command line, or with a variable such as OPENAI_BASE_URL"}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
        g_autoptr(GError) error = NULL;
        g_assert_false(take_text(place, &spec, rows[i].text, &error));
        g_assert_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
        if (!strstr(error->message, rows[i].said))
            g_error("expected '%s' in: %s", rows[i].said, error->message);
        g_assert_nonnull(strstr(error->message, place->dir));
        g_assert_null(strstr(error->message, "s3cret"));
        g_assert_null(strchr(error->message, '\n'));
    }
}

PLACE_TEST("/task/spec_sources", a_file_that_is_missing_is_empty)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = place_path(place, "none"), *below = place_path(place, "file/none");
    place_write(place, "file", "rounds = many\n");
    g_assert_true(acr_run_spec_take_file(&spec, path, NULL));
    g_assert_true(acr_run_spec_take_file(&spec, below, NULL));
    g_assert_false(acr_run_spec_take_file(&spec, place->dir, &error)); /* a folder */
    g_assert_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
}

TEST("/task/spec_sources", options_go_before_the_environment)
{
    g_auto(AcrRunSpec) given = acr_run_spec_of(ACR_FOR_ASK), spec = acr_run_spec_of(ACR_FOR_ASK);
    g_assert_true(g_setenv("ACR_KEY_COMMAND", "from the environment", TRUE));
    g_assert_true(acr_run_spec_take_environment(&spec, NULL));
    g_assert_null(g_getenv("ACR_KEY_COMMAND"));
    g_assert_cmpstr(spec.key_command, ==, "from the environment");
    g_assert_true(g_setenv("ACR_KEY_COMMAND", "from the environment", TRUE));
    g_assert_true(set(&given, acr_option_find("key-file", 8, ACR_FOR_ASK), "given", NULL));
    g_assert_true(acr_run_spec_take_environment(&given, NULL));
    g_assert_cmpstr(given.key_file, ==, "given");
    g_assert_null(given.key_command);
}

PLACE_TEST("/task/spec_sources", ask_has_the_first_model_of_the_file)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_ASK);
    g_assert_true(take_text(place, &spec, "model = a/b\nmodel = c/d\n", NULL));
    g_assert_cmpstr(spec.models[0], ==, "a/b");
    g_assert_null(spec.models[1]);
}

TEST("/task/spec_sources", two_keys_of_the_environment_are_refused)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_ASK);
    g_autoptr(GError) error = NULL;
    g_assert_true(set(&spec, acr_option_find("model", 5, ACR_FOR_ASK), "openai/x", NULL));
    g_assert_true(g_setenv("ACR_KEY_COMMAND", "true", TRUE));
    g_assert_true(g_setenv("ACR_KEY_FILE", "key", TRUE));
    g_assert_true(acr_run_spec_take_environment(&spec, NULL));
    g_assert_false(acr_run_spec_complete(&spec, &error));
    g_assert_cmpstr(error->message, ==, "give --key-command or --key-file, not both");
}

TEST("/task/spec_sources", headers_of_the_environment_stand_first)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_ASK), bad = acr_run_spec_of(ACR_FOR_ASK);
    g_autoptr(GError) error = NULL;
    g_assert_true(set(&spec, acr_option_find("header", 6, ACR_FOR_ASK), "X: given", NULL));
    g_assert_true(g_setenv("ACR_HEADERS", "A: 1\n\n B: 2\n", TRUE));
    g_assert_true(acr_run_spec_take_environment(&spec, NULL));
    assert_text(g_strjoinv("|", spec.headers), "A: 1|B: 2|X: given");
    g_assert_true(g_setenv("ACR_HEADERS", "A: 1\ns3cret", TRUE));
    g_assert_false(acr_run_spec_take_environment(&bad, &error));
    g_assert_cmpstr(error->message, ==, "ACR_HEADERS number 2 must be 'Name: value'");
}

/* A model takes 0 as "use your default", so a user's 0 becomes the shortest wait. */
TEST("/task/models", no_wait_between_tries_is_not_the_models_own)
{
    static const struct {
        gint64 given;
        guint taken;
    } rows[] = {{-1, 0}, {0, 1}, {1, 1}, {250, 250}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_ASK);
        AcrLimits limits = {0};
        spec.retry_base_ms = rows[i].given;
        g_assert_cmpuint(acr_model_options_of(&spec, &limits, NULL).retry_base_ms, ==, rows[i].taken);
    }
}

TEST("/task/limits", prices_that_cannot_be_read_are_an_error)
{
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_ASK);
    g_autoptr(GError) error = NULL;
    AcrLimits limits = {0};
    spec.prices = g_strdup("/nonexistent/prices.json");
    g_assert_false(acr_limits_init(&limits, &spec, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, "prices.json"));
    acr_limits_clear(&limits);
}

/* Tests run by default if a command is given, and code is ranked by default if tests are run or
 * failing tests are named. */
TEST("/task/run_spec", what_is_run_of_the_tests_follows_from_what_is_given)
{
    char *failing[] = {(char *)"a", NULL};
    AcrRunSpec plain = {0}, command = {.test_command = (char *)"make"},
               never = {.regressions = ACR_VERIFY_NEVER, .test_command = (char *)"make"},
               always = {.regressions = ACR_VERIFY_ALWAYS}, told = {.failing_tests = failing},
               blind = {.sbfl = ACR_VERIFY_NEVER, .failing_tests = failing};
    g_assert_cmpint(acr_run_spec_regressions(&plain), ==, ACR_VERIFY_NEVER);
    g_assert_cmpint(acr_run_spec_regressions(&command), ==, ACR_VERIFY_AUTO);
    g_assert_cmpint(acr_run_spec_regressions(&never), ==, ACR_VERIFY_NEVER);
    g_assert_cmpint(acr_run_spec_regressions(&always), ==, ACR_VERIFY_ALWAYS);
    g_assert_cmpint(acr_run_spec_sbfl(&plain), ==, ACR_VERIFY_NEVER);
    g_assert_cmpint(acr_run_spec_sbfl(&command), ==, ACR_VERIFY_AUTO);
    g_assert_cmpint(acr_run_spec_sbfl(&told), ==, ACR_VERIFY_AUTO);
    g_assert_cmpint(acr_run_spec_sbfl(&blind), ==, ACR_VERIFY_NEVER);
}
