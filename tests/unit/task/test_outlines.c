/* Tests of which files could not be outlined when a run began. */
#include "test_task.h"

#include <string.h>

TEST("/task/outlines", a_listed_file_stays_out_by_the_bytes_of_its_name)
{
    const char *text = "[{\"file\":{\"base64\":\"Yf8ucHk=\"},\"why\":\"too slow\"},{\"file\":\"b.py\"}]";
    g_autoptr(AcrJson) list = acr_json_parse(text, strlen(text), NULL);
    g_autoptr(GHashTable) files = acr_outlines_listed(list), none = acr_outlines_listed(NULL);
    g_assert_cmpstr(g_hash_table_lookup(files, "a\xff.py"), ==, "too slow");
    g_assert_nonnull(g_hash_table_lookup(files, "b.py"));
    g_assert_null(g_hash_table_lookup(files, "a.py"));
    g_assert_cmpuint(g_hash_table_size(none), ==, 0);
}

TEST("/task/outlines", a_failure_that_the_run_did_not_begin_with_is_told)
{
    const char *text = "[{\"file\":\"a.py\",\"why\":\"too slow today\"}]";
    g_autoptr(AcrJson) late = acr_json_parse(text, strlen(text), NULL), none = acr_json_parse("[]", 2, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(acr_outlines_check(none, &error));
    g_assert_false(acr_outlines_check(late, &error));
    g_assert_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT);
    g_assert_nonnull(strstr(error->message, "'a.py'"));
}

/* Each file crashes this outliner. */
static bool outline_none(void *ctx, const char *path, GBytes *source, GBytes **out, GError **error)
{
    return acr_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED, "it crashed on %s", path);
}

static bool outline_batch(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    return acr_outline_one_by_one(batch, outline_none, ctx, error);
}

PLACE_TEST("/task/outlines", what_failed_is_listed_with_why)
{
    static const AcrOutliner outliner = {.version = "none", .outline = outline_batch};
    g_autoptr(GError) error = NULL;
    place_write(place, "r/a.py", "x = 1\n");
    place_write(place, "r/b/c.py", "x = 2\n");
    g_autofree char *folder = place_path(place, "r");
    g_autoptr(AcrRepo) repo = made(acr_repo_open(folder, &error), error);
    g_autoptr(AcrSnapshot) snapshot = made(acr_snapshot_of_worktree(repo, &error), error);
    g_autoptr(AcrIndex) index = acr_index_build(snapshot, &(AcrIndexOptions){.outliner = &outliner}, &error);
    g_assert_no_error(error);
    g_autoptr(AcrJson) list = acr_outlines_failed(index);
    g_autoptr(GHashTable) files = acr_outlines_listed(list);
    g_assert_cmpuint(g_hash_table_size(files), ==, 2);
    g_assert_nonnull(strstr(g_hash_table_lookup(files, "a.py"), "it crashed on a.py"));
    g_assert_nonnull(strstr(g_hash_table_lookup(files, "b/c.py"), "it crashed on b/c.py"));
}
