/* Folders of files for a test, indexed by the small outliner. */
#include <glib/gstdio.h>
#include <string.h>

#include "fixture.h"

static bool outline_all(void *ctx, const AcrOutlineBatch *batch, GError **error)
{
    return acr_outline_one_by_one(batch, mini_outline, ctx, error);
}

static const AcrOutliner outliner = {.version = "small", .outline = outline_all};

void fixture_write(const char *dir, const char *path, const void *data, gsize len)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *full = g_build_filename(dir, path, NULL);
    g_autofree char *folder = g_path_get_dirname(full);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
    g_assert_true(g_file_set_contents(full, data, (gssize)len, &error));
}

static void init_from(Fixture *fixture, char *dir, bool commit)
{
    g_autoptr(GError) error = NULL;
    fixture->dir = dir;
    g_autoptr(AcrRepo) repo = made(acr_repo_open(dir, &error), error);
    g_autoptr(AcrSnapshot) snapshot =
        made(commit ? acr_snapshot_of_commit(repo, "HEAD", &error) : acr_snapshot_of_worktree(repo, &error), error);
    fixture->index = acr_index_build(snapshot, &(AcrIndexOptions){.outliner = &outliner}, &error);
    g_assert_no_error(error);
    fixture->search = acr_search_new(fixture->index);
}

void fixture_init_dir(Fixture *fixture, char *dir)
{
    init_from(fixture, dir, false);
}

void fixture_init_commit(Fixture *fixture, char *dir)
{
    init_from(fixture, dir, true);
}

void fixture_init(Fixture *fixture, const char *path, ...)
{
    g_autoptr(GError) error = NULL;
    char *dir = made(g_dir_make_tmp("acr-search-XXXXXX", &error), error);
    va_list args;
    va_start(args, path);
    for (const char *name = path; name; name = va_arg(args, const char *)) {
        const char *text = va_arg(args, const char *);
        fixture_write(dir, name, text, strlen(text));
    }
    va_end(args);
    fixture_init_dir(fixture, dir);
}

void fixture_clear(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    acr_search_free(fixture->search);
    acr_index_unref(fixture->index);
    g_assert_true(acr_dir_remove(fixture->dir, &error));
    g_free(fixture->dir);
}

AcrAnswer fixture_call(Fixture *fixture, const char *name, const char *first, const char *second, const char *third)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrCall) call = {.spec = acr_search_call_spec(name)};
    call.values[0] = g_strdup(first);
    call.values[1] = g_strdup(second);
    call.values[2] = g_strdup(third);
    AcrAnswer answer = {0};
    assert_ok(acr_search_run(fixture->search, &call, &answer, &error), error);
    g_assert_true(g_utf8_validate(answer.output, -1, NULL));
    g_assert_cmpuint(strlen(answer.output), <=, ACR_SEARCH_MAX_OUTPUT);
    g_assert_cmpuint(answer.places->len, <=, ACR_SEARCH_MAX_PLACES);
    g_assert_true(answer.ok == (answer.places->len > 0));
    return answer;
}

char *fixture_places(const AcrAnswer *answer)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < answer->places->len; i++) {
        const AcrPlace *place = g_ptr_array_index(answer->places, i);
        g_string_append_printf(text, "%s%s:%u-%u %s %s", i ? "\n" : "", place->file, place->start, place->end,
                               place->klass ? place->klass : "-", place->func ? place->func : "-");
    }
    return g_string_free(text, FALSE);
}

void fixture_assert_places(const AcrAnswer *answer, const char *expected)
{
    assert_text(fixture_places(answer), expected);
}

void fixture_expect(Fixture *fixture, const char *name, const char *first, const char *second, const char *places)
{
    g_auto(AcrAnswer) answer = fixture_call(fixture, name, first, second, NULL);
    fixture_assert_places(&answer, places);
}
