/* Tests of data sets and predictions: what is read, how a rejected row is named, and how run
 * folders become lines of preds.jsonl. */
#include <string.h>

#include "batch/shards.h"
#include "unit/cases.h"

typedef struct {
    char *dir; /* owned; a new folder */
} Place;

static void set_up(Place *place, gconstpointer data)
{
    place->dir = g_dir_make_tmp("acr-batch-XXXXXX", NULL);
    g_assert_nonnull(place->dir);
}

static void tear_down(Place *place, gconstpointer data)
{
    g_assert_true(acr_dir_remove(place->dir, NULL));
    g_free(place->dir);
}

#define PLACE_TEST(group, name) TEST_WITH(group, name, Place, place, data, NULL, set_up, tear_down)

static char *write_bytes(const Place *place, const char *name, const char *data, gssize len)
{
    char *path = g_build_filename(place->dir, name, NULL);
    g_autofree char *parent = g_path_get_dirname(path);
    g_assert_true(acr_dir_make(parent, NULL));
    g_assert_true(g_file_set_contents(path, data, len, NULL));
    return path;
}

/* ---- Data sets ----------------------------------------------------------------------------------
 */

#define ROW(id, repo)                                                                                                  \
    "{\"instance_id\": \"" id "\", \"repo\": \"" repo "\", \"base_commit\": \"c1\", \"problem_statement\": \"p\", "    \
    "\"patch\": \"secret\"}"

/* The ids of the rows that were read, separated by blanks; owned. */
static char *read_ids(const Place *place, const char *text, const char *const *only)
{
    g_autofree char *path = write_bytes(place, "set", text, -1);
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = made(acr_dataset_read(path, ACR_DATASET_SOLVE, only, &error), error);
    g_autoptr(GString) ids = g_string_new(NULL);
    for (guint i = 0; i < rows->len; i++)
        g_string_append_printf(ids, "%s%s", i ? " " : "", ((const AcrInstance *)rows->pdata[i])->instance_id);
    return g_strdup(ids->str);
}

static void check_ids(const Place *place, const char *text, const char *const *only, const char *expected)
{
    assert_text(read_ids(place, text, only), expected);
}

static void check_refused(const Place *place, const char *text, gssize len, const char *const *only, const char *word)
{
    g_autofree char *path = write_bytes(place, "set", text, len);
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = acr_dataset_read(path, ACR_DATASET_SOLVE, only, &error);
    g_assert_null(rows);
    g_assert_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET);
    if (!strstr(error->message, word))
        g_error("expected '%s' in: %s", word, error->message);
    g_assert_nonnull(strstr(error->message, path));
    g_assert_null(strchr(error->message, '\n'));
}

PLACE_TEST("/batch/dataset", lists_and_lines_are_read)
{
    check_ids(place, "[" ROW("a-1", "o/r") "," ROW("b-2", "o/r") "]", NULL, "a-1 b-2");
    check_ids(place, " \n [" ROW("a-1", "o/r") "]\n", NULL, "a-1");
    check_ids(place, ROW("b-2", "o/r") "\n" ROW("a-1", "o/r") "\n", NULL, "b-2 a-1");
    check_ids(place, "\n\r\n" ROW("a-1", "o/r") "\r\n\n" ROW("b-2", "o/r"), NULL, "a-1 b-2");
}

PLACE_TEST("/batch/dataset", a_row_gives_what_a_solver_may_see)
{
    g_autofree char *path = write_bytes(place, "set", ROW("a-1", "o/r"), -1);
    g_autoptr(GPtrArray) rows = acr_dataset_read(path, ACR_DATASET_SOLVE, NULL, NULL);
    g_assert_cmpuint(rows->len, ==, 1);
    const AcrInstance *row = rows->pdata[0];
    g_assert_cmpstr(row->instance_id, ==, "a-1");
    g_assert_cmpstr(row->repo, ==, "o/r");
    g_assert_cmpstr(row->base_commit, ==, "c1");
    g_assert_cmpstr(row->problem_statement, ==, "p");
}

PLACE_TEST("/batch/dataset", instances_are_selected)
{
    static const char *const some[] = {"c-3", "a-1", "c-3", NULL}, *const none[] = {"a-1", "nope", NULL};
    static const char text[] = ROW("a-1", "o/r") "\n" ROW("b-2", "o/r") "\n" ROW("c-3", "o/r") "\n";
    check_ids(place, text, some, "a-1 c-3");
    check_refused(place, text, -1, none, "'nope'");
}

PLACE_TEST("/batch/dataset", malformed_sets_are_refused_by_row)
{
    check_refused(place, "", -1, NULL, "empty");
    check_refused(place, " \n\n", -1, NULL, "empty");
    check_refused(place, "[]", -1, NULL, "empty");
    check_refused(place, ROW("a-1", "o/r") "\n{\n", -1, NULL, "line 2");
    check_refused(place, "[" ROW("a-1", "o/r"), -1, NULL, "byte");
    check_refused(place, "7\n", -1, NULL, "row 1");
    check_refused(place, "[" ROW("a-1", "o/r") ", {\"instance_id\": 7}]", -1, NULL, "row 2");
    check_refused(place, "{\"instance_id\": \"a\", \"repo\": \"o/r\", \"base_commit\": \"c\"}", -1, NULL,
                  "problem_statement");
    check_refused(place, ROW("a-1", "o/r") "\n" ROW("a-1", "o/r"), -1, NULL, "row 2");
    static const char nul[] = ROW("a-1", "o/r") "\0\n" ROW("b-2", "o/r");
    check_refused(place, nul, sizeof nul - 1, NULL, "line 1");
}

PLACE_TEST("/batch/dataset", names_that_lead_elsewhere_are_refused)
{
    check_refused(place, ROW("..", "o/r"), -1, NULL, "'..'");
    check_refused(place, ROW("../a", "o/r"), -1, NULL, "'../a'");
    check_refused(place, ROW("a/b", "o/r"), -1, NULL, "'a/b'");
    check_refused(place, ROW("", "o/r"), -1, NULL, "''");
    check_refused(place, ROW("-rf", "o/r"), -1, NULL, "'-rf'");
    check_refused(place, ROW("a b", "o/r"), -1, NULL, "'a b'");
    check_refused(place, ROW("a-1", "/etc"), -1, NULL, "'/etc'");
    check_refused(place, ROW("a-1", "o/../../r"), -1, NULL, "'o/../../r'");
    check_refused(place, ROW("preds.jsonl", "o/r"), -1, NULL, "'preds.jsonl'");
    check_refused(place, ROW("shared", "o/r"), -1, NULL, "'shared'");
}

PLACE_TEST("/batch/dataset", a_set_that_is_not_there_is_named)
{
    g_autofree char *path = g_build_filename(place->dir, "none.json", NULL);
    g_autoptr(GError) first = NULL, second = NULL;
    g_assert_null(acr_dataset_read(path, ACR_DATASET_SOLVE, NULL, &first));
    g_assert_error(first, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET);
    g_assert_nonnull(strstr(first->message, "none.json"));
    g_assert_null(acr_dataset_read(place->dir, ACR_DATASET_SOLVE, NULL, &second)); /* a folder */
    g_assert_error(second, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET);
}

PLACE_TEST("/batch/dataset", repositories_are_found_by_each_spelling)
{
    static const char *const names[] = {"own/nam", "own/nam.git", "own+nam", "own+nam.git", "own__nam", "own__nam.git"};
    for (guint i = G_N_ELEMENTS(names); i-- > 0;) { /* the earlier place wins over an existing later one */
        g_autofree char *made = g_build_filename(place->dir, names[i], NULL);
        g_assert_true(acr_dir_make(made, NULL));
        assert_text(acr_dataset_repo(place->dir, "own/nam"), made);
    }
    g_autofree char *other = acr_dataset_repo(place->dir, "own/other"), *file = write_bytes(place, "a__b", "", 0);
    g_assert_null(other);
    g_autofree char *no_folder = acr_dataset_repo(place->dir, "a/b");
    g_assert_null(no_folder);
}

/* ---- Predictions --------------------------------------------------------------------------------
 */

static void add_instance(GPtrArray *instances, const char *id)
{
    AcrInstance *instance = g_new0(AcrInstance, 1);
    instance->instance_id = g_strdup(id);
    g_ptr_array_add(instances, instance);
}

/* Makes a run folder of these models (JSON) in that state, with that patch as its result (NULL: no
 * result). */
static void make_run_of(const Place *place, const char *id, const char *given, const char *state, const char *patch)
{
    g_autofree char *meta = g_strdup_printf("{\"format\": 3, \"state\": \"%s\", \"verb\": \"run\", "
                                            "\"options\": {\"model\": %s, \"repo\": \"/r\", "
                                            "\"verify\": \"auto\", \"rounds\": 15, "
                                            "\"tries\": 3, \"attempts\": 1}}",
                                            state, given);
    g_auto(AcrRunResult) result = {.verdict = ACR_VERDICT_UNVERIFIED, .found.proof = ACR_PROOF_NONE};
    result.found.diff = patch && *patch ? g_bytes_new(patch, strlen(patch)) : NULL;
    result.exit_code = result.found.diff ? ACR_EXIT_OK : ACR_EXIT_NONE;
    g_autoptr(AcrJson) json = acr_run_result_to_json(&result);
    g_autofree char *text = acr_json_print(json);
    g_autofree char *meta_name = g_build_filename(id, "meta.json", NULL),
                    *name = g_build_filename(id, "result.json", NULL);
    g_autofree char *first = write_bytes(place, meta_name, meta, -1);
    g_autofree char *second = patch ? write_bytes(place, name, text, -1) : NULL;
}

static void make_run(const Place *place, const char *id, const char *state, const char *patch)
{
    make_run_of(place, id, "[\"script:/x\", \"openai/y\"]", state, patch);
}

static AcrRunSpec spec_of(const Place *place)
{
    static const char *const models[] = {"script:/x", "openai/y"};
    AcrRunSpec spec = acr_run_spec_of(ACR_FOR_SWE_BENCH);
    const AcrOption *model = acr_option_find("model", 5, ACR_FOR_SWE_BENCH);
    for (guint i = 0; i < G_N_ELEMENTS(models); i++)
        g_assert_true(acr_run_spec_set(&spec, model, "--model", models[i], NULL));
    spec.out = g_strdup(place->dir);
    return spec;
}

static char *write_predictions(const Place *place, const GPtrArray *instances)
{
    g_auto(AcrRunSpec) spec = spec_of(place);
    g_autofree char *path = g_build_filename(place->dir, "preds.jsonl", NULL);
    g_autoptr(GError) error = NULL;
    char *text = NULL;
    assert_ok(acr_predictions_write(&spec, instances, &error), error);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

#define LINE(id, patch)                                                                                                \
    "{\"instance_id\":\"" id "\",\"model_patch\":\"" patch "\",\"model_name_or_path\":\"script:/x+openai/y\"}\n"

PLACE_TEST("/batch/predictions", finished_runs_become_predictions)
{
    g_autoptr(GPtrArray) instances = g_ptr_array_new_with_free_func((GDestroyNotify)acr_instance_free);
    for (guint i = 0; i < 6; i++)
        add_instance(instances, (const char *const[]){"c", "a", "ready", "stopped", "none", "empty"}[i]);
    make_run(place, "a", "done", "diff\n");
    make_run(place, "c", "done", "x \"quoted\"\n");
    make_run(place, "ready", "ready", "");
    make_run(place, "stopped", "ready", "best so far\n"); /* stopped at a ceiling */
    make_run(place, "empty", "done", "");
    for (guint again = 0; again < 2; again++) {
        assert_text(write_predictions(place, instances), LINE("c", "x \\\"quoted\\\"\\n") LINE("a", "diff\\n")
                                                             LINE("stopped", "best so far\\n") LINE("empty", ""));
    }
}

PLACE_TEST("/batch/predictions", lines_of_other_batches_are_kept)
{
    g_autoptr(GPtrArray) instances = g_ptr_array_new_with_free_func((GDestroyNotify)acr_instance_free);
    static const char kept[] = "{\"instance_id\": \"other\",  \"model_patch\": \"kept as it stands\"}\n";
    g_autofree char *old = g_strconcat("not json\n", kept, LINE("a", "old"), "{\"instance_id\": \"cut", NULL);
    g_autofree char *path = write_bytes(place, "preds.jsonl", old, -1);
    add_instance(instances, "a");
    make_run(place, "a", "done", "new");
    g_autofree char *expected = g_strconcat(kept, LINE("a", "new"), NULL);
    assert_text(write_predictions(place, instances), expected);
}

PLACE_TEST("/batch/predictions", runs_of_other_models_are_not_these_models)
{
    static const char *const others[] = {"[]", "[\"script:/x\"]", "[\"script:/x\", \"openai/z\"]",
                                         "[\"script:/x\", \"openai/y\", \"openai/y\"]"};
    g_autoptr(GPtrArray) instances = g_ptr_array_new_with_free_func((GDestroyNotify)acr_instance_free);
    static const char kept[] = "{\"instance_id\":\"a\",\"model_patch\":\"d\",\"model_name_or_path\":\"z\"}\n";
    g_autofree char *old = write_bytes(place, "preds.jsonl", kept, -1);
    add_instance(instances, "a");
    add_instance(instances, "b");
    make_run(place, "b", "done", "diff");
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        make_run_of(place, "a", others[i], "done", "d");
        g_autofree char *expected = g_strconcat(kept, LINE("b", "diff"), NULL);
        assert_text(write_predictions(place, instances), expected);
    }
}

PLACE_TEST("/batch/predictions", a_patch_that_is_no_text_is_repaired)
{
    g_autoptr(GPtrArray) instances = g_ptr_array_new_with_free_func((GDestroyNotify)acr_instance_free);
    add_instance(instances, "a");
    make_run(place, "a", "done", "caf\xe9\n");
    assert_text(write_predictions(place, instances), LINE("a", "caf\xef\xbf\xbd\\n"));
}

PLACE_TEST("/batch/predictions", a_damaged_run_costs_the_others_nothing)
{
    g_autofree char *path = g_build_filename(place->dir, "preds.jsonl", NULL), *text = NULL;
    g_autoptr(GPtrArray) instances = g_ptr_array_new_with_free_func((GDestroyNotify)acr_instance_free);
    g_auto(AcrRunSpec) spec = spec_of(place);
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < 3; i++)
        add_instance(instances, (const char *const[]){"a", "b", "c"}[i]);
    make_run(place, "a", "done", NULL);
    make_run(place, "b", "done", "diff");
    make_run(place, "c", "done", NULL);
    g_assert_false(acr_predictions_write(&spec, instances, &error));
    g_assert_nonnull(strstr(error->message, "a/result.json"));
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, LINE("b", "diff"));
}

PLACE_TEST("/batch/predictions", predictions_that_cannot_be_read_are_not_replaced)
{
    g_autofree char *path = g_build_filename(place->dir, "preds.jsonl", NULL);
    g_autoptr(GPtrArray) instances = g_ptr_array_new_with_free_func((GDestroyNotify)acr_instance_free);
    g_auto(AcrRunSpec) spec = spec_of(place);
    g_autoptr(GError) error = NULL;
    g_assert_true(acr_dir_make(path, NULL));
    g_assert_false(acr_predictions_write(&spec, instances, &error));
    g_assert_nonnull(strstr(error->message, "preds.jsonl"));
    g_assert_true(g_file_test(path, G_FILE_TEST_IS_DIR));
}

/* ---- Shards ---------------------------------------------------------------------------------- */

PLACE_TEST("/batch/shards", a_shard_has_its_tasks_and_its_share)
{
    g_autofree char *set =
        write_bytes(place, "set", ROW("a", "o/a") "\n" ROW("b", "o/b") "\n" ROW("c", "o/c") "\n", -1);
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = acr_dataset_read(set, ACR_DATASET_SOLVE, NULL, &error);
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_SWE_BENCH);
    g_autoptr(AcrLock) lock = NULL, second = NULL;
    spec.out = g_strdup(place->dir);
    const AcrShardBound bound = {.options = "options"};
    spec.shard = g_strdup("1/2");
    spec.max_cost = 3000001;
    spec.max_tokens_total = 101;
    g_autoptr(AcrJson) note = NULL, same = NULL;
    assert_ok(acr_shard_narrow(&spec, &bound, rows, &note, &error), error);
    assert_ok(acr_shard_lock(&spec, note, &lock, &error), error);
    g_assert_cmpuint(rows->len, ==, 2);
    g_assert_cmpstr(((const AcrInstance *)rows->pdata[1])->instance_id, ==, "c");
    g_assert_cmpint(spec.max_cost, ==, 1500000);
    g_assert_cmpint(spec.max_tokens_total, ==, 50);
    g_assert_true(g_str_has_suffix(spec.out, "/shard-1-of-2"));
    /* Meanwhile, no other process may enter this shard. */
    g_autoptr(GPtrArray) again = acr_dataset_read(set, ACR_DATASET_SOLVE, NULL, &error);
    g_auto(AcrRunSpec) other = acr_run_spec_of(ACR_FOR_SWE_BENCH);
    other.out = g_strdup(place->dir);
    other.shard = g_strdup("1/2");
    assert_ok(acr_shard_narrow(&other, &bound, again, &same, &error), error);
    assert_fails_with(acr_shard_lock(&other, same, &second, &error), error, ACR_BASE_ERROR, ACR_BASE_ERROR_BUSY);
}
