/* Tests of recorded calls: the first call goes through the port, later ones are answered by the
 * journal, and both results are decoded by the same code. */

#include <string.h>

#include "journal/journal.h"
#include "unit/cases.h"

/* A port that doubles a number; it refuses negative numbers, and fails at a hundred. */
typedef struct {
    gint64 number;
    guint happened;
} Doubling;

static AcrJson *encode_number(void *call, GError **error)
{
    AcrJson *json = acr_json_new_object();
    acr_json_set_int(json, "number", ((Doubling *)call)->number);
    return json;
}

static AcrJson *double_live(void *call, AcrJson *time, GError **error)
{
    Doubling *doubling = call;
    doubling->happened++;
    if (doubling->number < 0 || doubling->number == 100)
        return ACR_NULL(g_set_error(error, G_FILE_ERROR, (int)doubling->number, "no %d", (int)doubling->number));
    AcrJson *json = acr_json_new_object();
    acr_json_set_int(json, "twice", 2 * doubling->number);
    return json;
}

static bool is_broken(void *call, GError **failure)
{
    bool broken = ((Doubling *)call)->number == 100;
    if (broken)
        g_prefix_error(failure, "broken: ");
    return broken;
}

static bool read_twice(void *call, const AcrJson *answer, void *out, GError **error)
{
    const char *failure = acr_json_get_string(answer, "error");
    *(gint64 *)out = acr_json_get_int(answer, "twice", -1);
    if (failure)
        g_set_error(error, G_FILE_ERROR, 7, "recorded: %s", failure);
    return !failure;
}

/* A number needs no clearing. */
static void clear_number(gpointer out)
{
}

static const AcrJournalPort port = {"double",   encode_number,  double_live, is_broken,
                                    read_twice, sizeof(gint64), clear_number};

typedef struct {
    char *folder, *path;
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
    f->folder = g_dir_make_tmp("acr-recorded-XXXXXX", NULL);
    f->path = g_build_filename(f->folder, "journal.jsonl", NULL);
}

static void tear_down(Fixture *f, gconstpointer data)
{
    g_assert_true(acr_dir_remove(f->folder, NULL));
    g_free(f->folder);
    g_free(f->path);
}

#define JOURNAL_TEST(group, name) TEST_WITH(group, name, Fixture, f, data, NULL, set_up, tear_down)

static gint64 call_port(const Fixture *f, AcrJournalMode mode, Doubling *doubling, GError **error)
{
    gint64 twice = 0;
    g_autoptr(AcrJournal) journal = acr_journal_open(f->path, mode, NULL);
    g_assert_nonnull(journal);
    return acr_recorded_call(journal, &port, doubling, &twice, error) ? twice : -1;
}

JOURNAL_TEST("/journal/recorded_call", an_event_happens_once_and_is_read_again)
{
    Doubling live = {21, 0}, resumed = {21, 0};
    g_assert_cmpint(call_port(f, ACR_JOURNAL_APPEND, &live, NULL), ==, 42);
    g_assert_cmpint(call_port(f, ACR_JOURNAL_APPEND, &resumed, NULL), ==, 42);
    g_assert_cmpint(call_port(f, ACR_JOURNAL_READ, &resumed, NULL), ==, 42);
    g_assert_cmpuint(live.happened, ==, 1);
    g_assert_cmpuint(resumed.happened, ==, 0);
}

JOURNAL_TEST("/journal/recorded_call", a_failure_that_does_not_end_the_run_is_an_answer)
{
    for (guint i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;
        Doubling doubling = {-1, 0};
        g_assert_cmpint(call_port(f, ACR_JOURNAL_APPEND, &doubling, &error), ==, -1);
        g_assert_error(error, G_FILE_ERROR, 7);
        g_assert_cmpstr(error->message, ==, "recorded: no -1");
        g_assert_cmpuint(doubling.happened, ==, 1 - i);
    }
}

JOURNAL_TEST("/journal/recorded_call", a_failure_that_ends_the_run_is_tried_again)
{
    for (guint i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;
        Doubling doubling = {100, 0};
        g_assert_cmpint(call_port(f, ACR_JOURNAL_APPEND, &doubling, &error), ==, -1);
        g_assert_error(error, G_FILE_ERROR, 100);
        g_assert_cmpstr(error->message, ==, "broken: no 100");
        g_assert_cmpuint(doubling.happened, ==, 1);
    }
}

JOURNAL_TEST("/journal/recorded_call", another_request_diverges)
{
    g_autoptr(GError) error = NULL;
    Doubling one = {1, 0}, two = {2, 0};
    g_assert_cmpint(call_port(f, ACR_JOURNAL_APPEND, &one, NULL), ==, 2);
    g_assert_cmpint(call_port(f, ACR_JOURNAL_READ, &two, &error), ==, -1);
    g_assert_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DIVERGED);
    g_assert_cmpuint(two.happened, ==, 0);
}

JOURNAL_TEST("/journal/recorded_call", without_a_journal_each_call_is_live)
{
    Doubling doubling = {4, 0};
    gint64 twice = 0;
    g_assert_true(acr_recorded_call(NULL, &port, &doubling, &twice, NULL));
    g_assert_true(acr_recorded_call(NULL, &port, &doubling, &twice, NULL));
    g_assert_cmpint(twice, ==, 8);
    g_assert_cmpuint(doubling.happened, ==, 2);
}

JOURNAL_TEST("/journal/recorded_call", equal_requests_are_one_event_where_it_happens_once)
{
    for (guint i = 0; i < 2; i++) { /* first live, then from the journal */
        g_autoptr(AcrJournal) journal = acr_journal_open(f->path, ACR_JOURNAL_APPEND, NULL);
        Doubling one = {1, 0}, two = {2, 0}, fatal = {100, 0};
        const gint64 *first = acr_recorded_once(journal, &port, &one, NULL);
        g_assert_cmpint(*first, ==, 2);
        g_assert_cmpint(*(const gint64 *)acr_recorded_once(journal, &port, &two, NULL), ==, 4);
        g_assert_true(acr_recorded_once(journal, &port, &one, NULL) == first);
        g_assert_cmpuint(one.happened + two.happened, ==, i == 0 ? 2 : 0);
        g_assert_true(acr_journal_is_live(journal));
        g_assert_null(acr_recorded_once(journal, &port, &fatal, NULL));
        g_assert_null(acr_recorded_once(journal, &port, &fatal, NULL));
        g_assert_cmpuint(fatal.happened, ==, 2);
    }
}

JOURNAL_TEST("/journal/recorded_call", a_port_may_do_without_request_and_decoder)
{
    static const AcrJournalPort plain = {.event = "plain", .live = double_live};
    g_autoptr(AcrJournal) journal = acr_journal_open(f->path, ACR_JOURNAL_APPEND, NULL);
    Doubling one = {3, 0}, two = {4, 0};
    AcrJson *const *first = acr_recorded_once(journal, &plain, &one, NULL);
    g_assert_cmpint(acr_json_get_int(*first, "twice", 0), ==, 6);
    g_assert_true(acr_recorded_once(journal, &plain, &two, NULL) == (const void *)first);
}
