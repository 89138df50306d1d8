/* What a run folder is bound to: which options are recorded, which count as equal, and how a
 * difference is told. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "test_task.h"

static const char *const models[] = {"script:/a", NULL};
static const AcrTaskCode by_default = {0};

static AcrTaskOptions options_of(const Place *place)
{
    return (AcrTaskOptions){
        .out = "out",
        .repo = place->dir,
        .issue = "it is wrong",
        .models = models,
        .rounds = 15,
        .tries = 3,
        .attempts = 1,
        .verify = ACR_VERIFY_AUTO,
        .code = &by_default,
        .temperature = -1,
    };
}

static AcrPrompts *load_prompts(const char *other)
{
    g_autoptr(GError) error = NULL;
    AcrPrompts *prompts = acr_prompts_load(ACR_SOURCE_DIR "/prompts", other, &error);
    g_assert_no_error(error);
    return prompts;
}

/* That options equal those of a run that was begun with `then`; or the word in the refusal. */
static void compare(const AcrTaskOptions *then, const AcrTaskOptions *now,
                    const char *other_prompts, const char *word)
{
    g_autoptr(AcrPrompts) prompts = load_prompts(NULL), others = load_prompts(other_prompts);
    g_autoptr(AcrJson) given = acr_meta_options(now, others),
                       begun = acr_meta_options(then, prompts);
    g_autofree char *text = acr_json_print(begun);
    g_autoptr(AcrJson) recorded =
        acr_json_parse(text, strlen(text), NULL); /* as it comes from the disk */
    g_autoptr(GError) error = NULL;
    bool same = acr_meta_check(recorded, given, "FOLDER", &error);
    if (!word) {
        g_assert_no_error(error);
        g_assert_true(same);
        return;
    }
    g_assert_false(same);
    g_assert_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
    g_assert_nonnull(strstr(error->message, word));
    g_assert_nonnull(strstr(error->message, "FOLDER"));
    g_assert_null(strchr(error->message, '\n'));
}

static void test_the_same_options_are_equal(Place *place, gconstpointer data)
{
    AcrTaskOptions options = options_of(place);
    compare(&options, &options, NULL, NULL);
    options.temperature = 0.1 + 0.2; /* survives being printed */
    options.rev = "v1.0";
    options.instance_id = "a__b-1";
    compare(&options, &options, NULL, NULL);
}

static void test_a_repository_is_the_same_by_any_of_its_names(Place *place, gconstpointer data)
{
    g_autofree char *link = place_path(place, "link"), *dots = place_path(place, "./x/..");
    g_assert_cmpint(symlink(place->dir, link), ==, 0);
    AcrTaskOptions then = options_of(place), now = then;
    now.repo = link;
    compare(&then, &now, NULL, NULL);
    now.repo = dots;
    compare(&then, &now, NULL, NULL);
}

static void test_each_difference_is_named(Place *place, gconstpointer data)
{
    static const char *const other_models[] = {"script:/b", NULL}, *const more_models[] = {
                                                                       "script:/a", "script:/b",
                                                                       NULL};
    const AcrTaskOptions then = options_of(place);
#define DIFFERS(field, value, word)                                                                \
    do {                                                                                           \
        AcrTaskOptions now = then;                                                                 \
        now.field = value;                                                                         \
        compare(&then, &now, NULL, word);                                                          \
        compare(&now, &then, NULL, word);                                                          \
    } while (0)
    DIFFERS(repo, "/elsewhere", "another repo ");
    DIFFERS(rev, "HEAD", "another rev ");
    DIFFERS(issue, "it is worse", "another issue ");
    DIFFERS(instance_id, "a__b-1", "another instance_id ");
    DIFFERS(models, other_models, "another model ");
    DIFFERS(models, more_models, "another model ");
    DIFFERS(goal, ACR_GOAL_REPRODUCER, "another goal ");
    DIFFERS(code, &(AcrTaskCode){.sandbox = "plain"}, "another sandbox ");
    DIFFERS(code, &(AcrTaskCode){.image = "testbed:1"}, "another image ");
    DIFFERS(code, &(AcrTaskCode){.python = "/usr/bin/python3"}, "another python ");
    DIFFERS(code, &(AcrTaskCode){.setup = "make"}, "another setup ");
    DIFFERS(code, &(AcrTaskCode){.setup_network = true}, "another setup_network ");
    DIFFERS(code, &(AcrTaskCode){.validate = "make check"}, "another validate ");
#undef DIFFERS
}

static void test_numbers_are_told_then_and_now(Place *place, gconstpointer data)
{
    const AcrTaskOptions then = options_of(place);
    AcrTaskOptions now = then;
    now.rounds = 14;
    compare(&then, &now, NULL, "another rounds (then 15, now 14)");
    now = then;
    now.tries = 2;
    compare(&then, &now, NULL, "another tries (then 3, now 2)");
    now = then;
    now.attempts = 2;
    compare(&then, &now, NULL, "another attempts (then 1, now 2)");
    now = then;
    now.verify = ACR_VERIFY_NEVER;
    compare(&then, &now, NULL, "another verify (then \"auto\", now \"never\")");
    now = then;
    now.temperature = 0;
    compare(&then, &now, NULL, "another temperature (then null, now 0)");
    now = then;
    now.context = 4096;
    compare(&then, &now, NULL, "another context (then null, now 4096)");
}

static void test_a_changed_prompt_is_named(Place *place, gconstpointer data)
{
    AcrTaskOptions options = options_of(place);
    place_write(place, "patch_system.txt", "write a patch");
    compare(&options, &options, place->dir, "prompt patch_system.txt");
}

static void test_where_the_folder_lies_and_apply_bind_nothing(Place *place, gconstpointer data)
{
    const AcrTaskOptions then = options_of(place);
    AcrTaskOptions now = then;
    now.out = "elsewhere";
    now.apply = true;
    compare(&then, &now, NULL, NULL);
}

static void test_a_folder_without_options_is_refused(Place *place, gconstpointer data)
{
    g_autoptr(AcrPrompts) prompts = load_prompts(NULL);
    AcrTaskOptions options = options_of(place);
    g_autoptr(AcrJson) given = acr_meta_options(&options, prompts), list = acr_json_new_array();
    g_autoptr(GError) first = NULL, second = NULL;
    g_assert_false(acr_meta_check(NULL, given, "FOLDER", &first));
    g_assert_error(first, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
    g_assert_false(acr_meta_check(list, given, "FOLDER", &second));
    g_assert_error(second, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
}

void add_meta_tests(void)
{
    PLACE_TEST("/task/meta/the_same_options_are_equal", test_the_same_options_are_equal);
    PLACE_TEST("/task/meta/a_repository_is_the_same_by_any_of_its_names",
               test_a_repository_is_the_same_by_any_of_its_names);
    PLACE_TEST("/task/meta/each_difference_is_named", test_each_difference_is_named);
    PLACE_TEST("/task/meta/numbers_are_told_then_and_now", test_numbers_are_told_then_and_now);
    PLACE_TEST("/task/meta/a_changed_prompt_is_named", test_a_changed_prompt_is_named);
    PLACE_TEST("/task/meta/where_the_folder_lies_and_apply_bind_nothing",
               test_where_the_folder_lies_and_apply_bind_nothing);
    PLACE_TEST("/task/meta/a_folder_without_options_is_refused",
               test_a_folder_without_options_is_refused);
}
