/* Tests of the options that a run folder fixes: which options are recorded, which values count as
 * equal, and how a difference is described. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "test_task.h"

static const char *const by_default[] = {"model=script:/a", NULL};

/* A spec with these options ("name=value"), as if from the command line; the caller clears it. */
static AcrRunSpec spec_of(const Place *place, AcrForVerb verb, const char *const *options, const char *more)
{
    AcrRunSpec spec = acr_run_spec_of(verb);
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    g_autofree char *repo = g_strconcat("repo=", place->dir, NULL);
    g_ptr_array_add(all, repo);
    g_ptr_array_add(all, (char *)"out=out");
    g_ptr_array_add(all, (char *)"issue-text=it is wrong");
    for (guint i = 0; options[i]; i++)
        g_ptr_array_add(all, (char *)options[i]);
    if (more)
        g_ptr_array_add(all, (char *)more);
    for (guint i = 0; i < all->len; i++) {
        const char *text = all->pdata[i], *value = strchr(text, '=') + 1;
        const AcrOption *option = acr_option_find(text, (gsize)(value - text) - 1, verb);
        g_autoptr(GError) error = NULL;
        assert_ok(acr_run_spec_set(&spec, option, text, value, &error), error);
    }
    g_assert_true(acr_run_spec_complete(&spec, NULL));
    return spec;
}

static AcrPrompts *load_prompts(const char *other)
{
    g_autoptr(GError) error = NULL;
    AcrPrompts *prompts = made(acr_prompts_load(ACR_SOURCE_DIR "/prompts", other, &error), error);
    return prompts;
}

/* Compares `now` with the recorded options of a run that was started with `then`; they must be
 * equal, or the error must be the expected one. */
static void compare_with(const AcrRunSpec *then, const AcrRunSpec *now, const char *other_prompts, const char *said)
{
    g_autoptr(AcrPrompts) prompts = load_prompts(NULL), others = load_prompts(other_prompts);
    g_autoptr(AcrJson) given = acr_meta_bound(now, others), begun = acr_meta_bound(then, prompts);
    g_autofree char *text = acr_json_print(begun);
    g_autoptr(AcrJson) recorded = acr_json_parse(text, strlen(text), NULL); /* as read from the disk */
    g_autoptr(GError) error = NULL;
    bool same = acr_meta_check(recorded, given, "FOLDER", &error);
    if (!said) {
        g_assert_no_error(error);
        g_assert_true(same);
        return;
    }
    g_assert_false(same);
    g_assert_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
    if (!strstr(error->message, said))
        g_error("expected '%s' in: %s", said, error->message);
    g_assert_nonnull(strstr(error->message, "another --out"));
    g_assert_null(strchr(error->message, '\n'));
}

/* Compares default options with one more option on each side ("name=value"; NULL: none). */
static void compare(const Place *place, const char *then, const char *now, const char *said)
{
    g_auto(AcrRunSpec) first = spec_of(place, ACR_FOR_RUN, by_default, then);
    g_auto(AcrRunSpec) second = spec_of(place, ACR_FOR_RUN, by_default, now);
    compare_with(&first, &second, NULL, said);
}

PLACE_TEST("/task/meta", the_same_options_are_equal)
{
    compare(place, NULL, NULL, NULL);
    compare(place, "temperature=0.30000000000000004", "temperature=0.30000000000000004", NULL);
    compare(place, "rev=v1.0", "rev=v1.0", NULL);
    compare(place, "rounds=15", NULL, NULL);
}

PLACE_TEST("/task/meta", a_repository_is_the_same_by_any_of_its_names)
{
    g_autofree char *link = place_path(place, "link"), *given = g_strconcat("repo=", link, NULL),
                    *dots = g_strconcat("repo=", place->dir, "/x/..", NULL);
    g_assert_cmpint(symlink(place->dir, link), ==, 0);
    compare(place, NULL, given, NULL);
    compare(place, NULL, dots, NULL);
}

PLACE_TEST("/task/meta", each_difference_is_named)
{
    static const struct {
        const char *then, *now, *said;
    } rows[] = {{NULL, "rounds=14", "this run was started with --rounds 15; use the same value, or another"},
                {"rounds=3", NULL, "started with --rounds 3;"},
                {NULL, "tries=2", "started with --tries 3;"},
                {NULL, "attempts=2", "started with --attempts 1;"},
                {NULL, "verify=never", "started with --verify auto;"},
                {NULL, "repo=/elsewhere", "started with --repo /"},
                {NULL, "rev=HEAD", "started without --rev; leave out this option, or use another --out"},
                {"rev=HEAD", NULL, "started with --rev HEAD;"},
                {NULL, "issue-text=it is worse", "the issue differs"},
                {NULL, "instance-id=a__b-1", "without --instance-id;"},
                {NULL, "model=script:/b", "started with --model script:/a;"},
                {"model=script:/b", NULL, "started with --model script:/a --model script:/b;"},
                {NULL, "temperature=0", "without --temperature;"},
                {"temperature=0.5", NULL, "started with --temperature 0.5;"},
                {NULL, "context=4096", "without --context;"},
                {NULL, "fallback-model=groq/x", "without --fallback-model;"},
                {NULL, "effort=low", "without --effort;"},
                {NULL, "sandbox=plain", "without --sandbox;"},
                {"image=testbed:1", NULL, "started with --image testbed:1;"},
                {NULL, "python=/usr/bin/python3", "without --python;"},
                {NULL, "setup=make", "without --setup;"},
                {NULL, "validate=make check", "without --validate;"},
                {"rev=a\nb\xff", NULL, "started with --rev a b\xef\xbf\xbd;"}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        compare(place, rows[i].then, rows[i].now, rows[i].said);
}

PLACE_TEST("/task/meta", flags_are_compared)
{
    static const char *const with_setup[] = {"model=script:/a", "setup=make", NULL};
    g_auto(AcrRunSpec) off = spec_of(place, ACR_FOR_RUN, with_setup, NULL);
    g_auto(AcrRunSpec) on = spec_of(place, ACR_FOR_RUN, with_setup, "setup-network=true");
    compare_with(&off, &on, NULL, "without --setup-network;");
    compare_with(&on, &off, NULL, "started with --setup-network;");
}

PLACE_TEST("/task/meta", a_folder_belongs_to_its_verb)
{
    g_auto(AcrRunSpec) run = spec_of(place, ACR_FOR_RUN, by_default, NULL);
    g_auto(AcrRunSpec) script = spec_of(place, ACR_FOR_REPRODUCE, by_default, NULL);
    compare_with(&run, &script, NULL, "belongs to \"run\", not \"reproduce\"");
    compare_with(&script, &run, NULL, "belongs to \"reproduce\", not \"run\"");
}

PLACE_TEST("/task/meta", a_changed_prompt_is_named)
{
    g_auto(AcrRunSpec) spec = spec_of(place, ACR_FOR_RUN, by_default, NULL);
    place_write(place, "patch_system.txt", "write a patch");
    compare_with(&spec, &spec, place->dir, "the prompt patch_system.txt differs");
}

PLACE_TEST("/task/meta", ceilings_keys_and_patience_bind_nothing)
{
    static const char *const free[] = {"out=elsewhere", "apply=true",          "max-cost=1",  "max-tokens-total=5",
                                       "max-time=9",    "retries=1",           "jobs=2",      "no-cache=true",
                                       "verbose=true",  "json=true",           "key-file=/k", "key-command=true",
                                       "header=X: 1",   "base-url=http://x/y", "prices=/p"};
    for (guint i = 0; i < G_N_ELEMENTS(free); i++)
        compare(place, NULL, free[i], NULL);
}

PLACE_TEST("/task/meta", a_folder_without_options_is_refused)
{
    g_autoptr(AcrPrompts) prompts = load_prompts(NULL);
    g_auto(AcrRunSpec) spec = spec_of(place, ACR_FOR_RUN, by_default, NULL);
    g_autoptr(AcrJson) given = acr_meta_bound(&spec, prompts), list = acr_json_new_array();
    g_autoptr(GError) first = NULL, second = NULL;
    g_assert_false(acr_meta_check(NULL, given, "FOLDER", &first));
    g_assert_error(first, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
    g_assert_false(acr_meta_check(list, given, "FOLDER", &second));
    g_assert_error(second, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE);
}

/* The recorded options `text` must be rejected. */
static void check_damaged(const char *text)
{
    g_autofree char *meta = g_strdup_printf("{\"verb\":\"run\"%s}", text);
    g_autoptr(AcrJson) json = acr_json_parse(meta, strlen(meta), NULL);
    g_auto(AcrRunSpec) out = acr_run_spec_of(ACR_FOR_RUN);
    g_autoptr(GError) error = NULL;
    g_assert_nonnull(json);
    assert_fails_with(acr_meta_read(json, &out, &error), error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT);
}

PLACE_TEST("/task/meta", options_that_are_missing_are_damage)
{
    g_autoptr(AcrPrompts) prompts = load_prompts(NULL);
    g_auto(AcrRunSpec) spec = spec_of(place, ACR_FOR_RUN, by_default, NULL), out = {0};
    g_autoptr(AcrJson) whole = acr_meta_bound(&spec, prompts);
    g_assert_true(acr_meta_read(whole, &out, NULL));
    check_damaged("");
    check_damaged(",\"options\":[]");
    check_damaged(",\"options\":{}");
    for (const AcrJson *at = acr_json_first(acr_json_get(whole, "options")); at; at = acr_json_next(at)) {
        g_autoptr(AcrJson) options = acr_json_copy(acr_json_get(whole, "options"));
        bool is_given = acr_json_type(at) != ACR_JSON_NULL && acr_json_type(at) != ACR_JSON_BOOL;
        acr_json_set(options, acr_json_key(at), acr_json_new_array());
        g_autofree char *printed = acr_json_print(options), *text = g_strconcat(",\"options\":", printed, NULL);
        if (is_given)
            check_damaged(text);
    }
}
