/* Tests that the linter runs once and that its recorded result, even a failure, is read from the
 * journal afterwards. */
#include <string.h>

#include "test_task.h"

/* A linter with prepared results, which counts its calls. */
typedef struct {
    guint asked;
    const guint *worse;
    const char *why;
    bool fails;
} Linter;

static bool lint(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse, char **out_why, GError **error)
{
    Linter *linter = ctx;
    linter->asked++;
    if (linter->fails) {
        g_set_error(error, ACR_PATCH_ERROR, ACR_PATCH_ERROR_FAILED, "no");
        return false;
    }
    for (gsize i = 0, at = 0; i < n; i++)
        for (gsize k = 0; k < files[i].n_after; k++, at++)
            out_worse[at] = linter->worse ? linter->worse[at] : ACR_LINT_UNKNOWN;
    *out_why = g_strdup(linter->why);
    return true;
}

/* Asks about two files through the journal; `out` first has other values. */
static bool ask(const Place *place, AcrJournalMode mode, Linter *linter, const char *second, guint out[3],
                char **out_why, GError **error)
{
    g_autofree char *path = place_path(place, "journal.jsonl");
    g_autoptr(AcrJournal) journal = acr_journal_open(path, mode, NULL);
    g_assert_nonnull(journal);
    g_autoptr(GBytes) one = g_bytes_new_static("x = 1\n", 6);
    g_autoptr(GBytes) two = g_bytes_new_static(second, strlen(second));
    GBytes *const first_file[] = {one, two}, *const second_file[] = {two};
    const AcrRefereeFile files[] = {{"a\xff.py", NULL, first_file, 2}, {"b.py", one, second_file, 1}};
    AcrReferee inner = {linter, NULL, lint};
    AcrRecordedReferee recorded;
    acr_recorded_referee_init(&recorded, journal, &inner);
    for (guint i = 0; i < 3; i++)
        out[i] = 10 * (i + 1);
    return recorded.referee.lint(recorded.referee.ctx, files, 2, out, out_why, error);
}

PLACE_TEST("/task/recorded_referee", its_word_is_asked_once)
{
    static const guint worse[] = {2, 0, 0};
    Linter live = {.worse = worse}, never = {0};
    guint out[3];
    g_autofree char *why = NULL;
    g_assert_true(ask(place, ACR_JOURNAL_APPEND, &live, "x = 2\n", out, &why, NULL));
    g_assert_cmpmem(out, sizeof out, worse, sizeof worse);
    g_assert_true(ask(place, ACR_JOURNAL_APPEND, &never, "x = 2\n", out, &why, NULL));
    g_assert_cmpmem(out, sizeof out, worse, sizeof worse);
    g_assert_true(ask(place, ACR_JOURNAL_READ, &never, "x = 2\n", out, &why, NULL));
    g_assert_cmpmem(out, sizeof out, worse, sizeof worse);
    g_assert_cmpuint(live.asked, ==, 1);
    g_assert_cmpuint(never.asked, ==, 0);
    g_assert_null(why);
}

PLACE_TEST("/task/recorded_referee", that_it_broke_is_obeyed_too)
{
    static const guint worse[] = {2, 0, 0};
    Linter late = {.why = "the deadline of 300 s passed"}, sound = {.worse = worse};
    guint out[3];
    g_autofree char *why = NULL, *again = NULL;
    g_assert_true(ask(place, ACR_JOURNAL_APPEND, &late, "x = 2\n", out, &why, NULL));
    g_assert_true(ask(place, ACR_JOURNAL_APPEND, &sound, "x = 2\n", out, &again, NULL));
    for (guint i = 0; i < 3; i++)
        g_assert_cmpuint(out[i], ==, ACR_LINT_UNKNOWN);
    g_assert_cmpstr(again, ==, "the deadline of 300 s passed");
    g_assert_cmpuint(sound.asked, ==, 0);
}

PLACE_TEST("/task/recorded_referee", another_question_is_a_divergence)
{
    static const guint worse[] = {2, 0, 0};
    Linter linter = {.worse = worse};
    guint out[3];
    g_autofree char *why = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(ask(place, ACR_JOURNAL_APPEND, &linter, "x = 2\n", out, &why, NULL));
    assert_fails_with(ask(place, ACR_JOURNAL_READ, &linter, "x = 3\n", out, &why, &error), error, ACR_JOURNAL_ERROR,
                      ACR_JOURNAL_ERROR_DIVERGED);
    g_assert_cmpuint(linter.asked, ==, 1);
}

PLACE_TEST("/task/recorded_referee", an_error_is_not_recorded)
{
    static const guint worse[] = {2, 0, 0};
    Linter failing = {.fails = true}, sound = {.worse = worse};
    guint out[3];
    g_autofree char *why = NULL;
    g_autoptr(GError) error = NULL;
    assert_fails_with(ask(place, ACR_JOURNAL_APPEND, &failing, "x = 2\n", out, &why, &error), error, ACR_PATCH_ERROR,
                      ACR_PATCH_ERROR_FAILED);
    g_assert_true(ask(place, ACR_JOURNAL_APPEND, &sound, "x = 2\n", out, &why, NULL));
    g_assert_cmpuint(sound.asked, ==, 1);
}

PLACE_TEST("/task/recorded_referee", a_record_that_says_too_little_is_unknown)
{
    static const guint worse[] = {2, 0, 7};
    Linter linter = {.worse = worse};
    guint out[3];
    g_autofree char *why = NULL;
    g_assert_true(ask(place, ACR_JOURNAL_APPEND, &linter, "x = 2\n", out, &why, NULL));
    g_autofree char *text = place_read(place, "journal.jsonl");
    g_assert_nonnull(strstr(text, "\"worse\":[2,0,7]"));
    char *seven = strstr(text, ",7]");
    memmove(seven, seven + 2, strlen(seven + 2) + 1);
    place_write(place, "journal.jsonl", text);
    g_assert_true(ask(place, ACR_JOURNAL_READ, &linter, "x = 2\n", out, &why, NULL));
    g_assert_cmpuint(out[0], ==, 2);
    g_assert_cmpuint(out[2], ==, ACR_LINT_UNKNOWN);
}
