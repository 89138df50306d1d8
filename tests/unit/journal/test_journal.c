/* Tests of the journal on real files: the effects of crashes, full disks and foreign folders, and
 * their messages. */
#include "journal/journal.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/base/syncs.h"
#include "unit/cases.h"

typedef struct {
    char *folder; /* owned */
    char *path;   /* owned; the journal's file */
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    f->folder = g_dir_make_tmp("acr-journal-XXXXXX", &error);
    g_assert_no_error(error);
    f->path = g_build_filename(f->folder, "journal.jsonl", NULL);
}

static void tear_down(Fixture *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    bool ok = acr_dir_remove(f->folder, &error);

    g_assert_no_error(error);
    g_assert_true(ok);
    g_free(f->path);
    g_free(f->folder);
}

#define JOURNAL_TEST(group, name) TEST_WITH(group, name, Fixture, f, data, NULL, set_up, tear_down)

static AcrJson *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    AcrJson *json = acr_json_parse(text, strlen(text), &error);

    g_assert_no_error(error);
    return json;
}

static AcrJournal *open_journal(const Fixture *f, AcrJournalMode mode)
{
    g_autoptr(GError) error = NULL;
    AcrJournal *journal = acr_journal_open(f->path, mode, &error);

    g_assert_no_error(error);
    return journal;
}

static void assert_refused(const Fixture *f, AcrJournalMode mode, int code, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJournal) journal = acr_journal_open(f->path, mode, &error);

    g_assert_null(journal);
    g_assert_error(error, ACR_JOURNAL_ERROR, code);
    g_assert_nonnull(strstr(error->message, words));
}

/* A request with a text that needs escaping, and with a time, which is not compared. */
static AcrJson *request(int i)
{
    AcrJson *json = acr_json_new_object();
    g_autofree char *text = g_strdup_printf("line\n\"%d\" \xc3\xa9", i);

    acr_json_set_string(json, "text", text);
    acr_json_set_int(json, "time", g_random_int());
    return json;
}

static void append(AcrJournal *journal, int i)
{
    g_autoptr(AcrJson) asked = request(i);
    g_autoptr(AcrJson) answer = acr_json_new_int(i * 10);
    g_autoptr(GError) error = NULL;
    const AcrJson *recorded = answer;

    assert_ok(acr_journal_ask(journal, "model", asked, &recorded, &error), error);
    g_assert_null(recorded);
    assert_ok(acr_journal_append(journal, "model", asked, answer, acr_json_new_int(i), &error), error);
}

static void assert_answered(AcrJournal *journal, int i)
{
    g_autoptr(AcrJson) asked = request(i);
    g_autoptr(GError) error = NULL;
    const AcrJson *answer = NULL;

    assert_ok(acr_journal_ask(journal, "model", asked, &answer, &error), error);
    g_assert_nonnull(answer);
    g_assert_cmpint(acr_json_int(answer, -1), ==, i * 10);
}

static void write_records(const Fixture *f, int n)
{
    g_autoptr(AcrJournal) journal = open_journal(f, ACR_JOURNAL_APPEND);

    for (int i = 0; i < n; i++) {
        if (acr_journal_is_live(journal))
            append(journal, i);
        else
            assert_answered(journal, i);
    }
}

static char *content(const Fixture *f, gsize *out_len)
{
    char *text = NULL;
    g_autoptr(GError) error = NULL;

    g_file_get_contents(f->path, &text, out_len, &error);
    g_assert_no_error(error);
    return text;
}

static void put(const Fixture *f, const char *text, gsize len)
{
    g_autoptr(GError) error = NULL;

    g_file_set_contents(f->path, text, (gssize)len, &error);
    g_assert_no_error(error);
}

JOURNAL_TEST("/journal/journal", records_are_read_again_and_gone_on_from)
{
    g_autofree char *text = NULL;
    gsize len = 0;

    write_records(f, 2);
    {
        g_autoptr(AcrJournal) journal = open_journal(f, ACR_JOURNAL_APPEND);

        g_assert_null(acr_journal_remark(journal));
        assert_answered(journal, 0);
        g_assert_false(acr_journal_is_live(journal));
        assert_answered(journal, 1);
        g_assert_true(acr_journal_is_live(journal));
        append(journal, 2);
        g_assert_true(acr_journal_is_live(journal));
    }
    text = content(f, &len);
    g_assert_true(g_str_has_prefix(text, "{\"n\":0,\"event\":\"model\",\"request\":{\"text\":\"line\\n\\\"0\\\" "));
    g_assert_true(g_str_has_suffix(text, ",\"answer\":20,\"time\":2}\n"));
}

/* After a crash, a paid answer must never be requested again: the record and the file's name must
 * be on disk by then. */
JOURNAL_TEST("/journal/journal", a_record_is_on_the_disk_when_append_returns)
{
    g_autoptr(AcrJournal) journal = NULL;

    forget_syncs();
    journal = open_journal(f, ACR_JOURNAL_APPEND);
    g_assert_true(is_synced(f->folder));
    for (int i = 0; i < 3; i++) {
        append(journal, i);
        g_assert_true(is_synced(f->path));
    }
}

JOURNAL_TEST("/journal/journal", what_a_crash_left_is_taken_off_the_disk)
{
    g_autofree char *text = NULL;
    g_autoptr(AcrJournal) journal = NULL;
    gsize len = 0;

    write_records(f, 2);
    text = content(f, &len);
    put(f, text, len - 1);
    forget_syncs();
    journal = open_journal(f, ACR_JOURNAL_APPEND);
    g_assert_nonnull(acr_journal_remark(journal));
    g_assert_true(is_synced(f->path));
}

JOURNAL_TEST("/journal/journal", answers_live_until_the_journal_is_freed)
{
    g_autoptr(AcrJournal) journal = NULL;
    const AcrJson *answers[20];

    write_records(f, 20);
    journal = open_journal(f, ACR_JOURNAL_READ);
    for (int i = 0; i < 20; i++) {
        g_autoptr(AcrJson) asked = request(i);

        g_assert_true(acr_journal_ask(journal, "model", asked, &answers[i], NULL));
    }
    for (int i = 0; i < 20; i++)
        g_assert_cmpint(acr_json_int(answers[i], -1), ==, i * 10);
}

JOURNAL_TEST("/journal/journal", replay_ends_after_the_last_record_and_writes_nothing)
{
    g_autoptr(AcrJournal) journal = NULL;
    g_autoptr(AcrJson) asked = request(1);
    g_autoptr(GError) error = NULL;
    const AcrJson *answer = NULL;

    write_records(f, 1);
    g_assert_cmpint(chmod(f->path, 0400), ==, 0);
    journal = open_journal(f, ACR_JOURNAL_READ);
    assert_answered(journal, 0);
    assert_fails_with(acr_journal_ask(journal, "model", asked, &answer, &error), error, ACR_JOURNAL_ERROR,
                      ACR_JOURNAL_ERROR_ENDED);
}

/* Truncates the file at every byte of its last record: that record must be dropped, the others
 * kept, and the run must continue. */
JOURNAL_TEST("/journal/index", every_cut_of_the_last_record_drops_it_alone)
{
    g_autofree char *two = NULL;
    g_autofree char *three = NULL;
    gsize two_len = 0;
    gsize three_len = 0;

    write_records(f, 2);
    two = content(f, &two_len);
    write_records(f, 2);
    {
        g_autoptr(AcrJournal) journal = open_journal(f, ACR_JOURNAL_APPEND);

        assert_answered(journal, 0);
        assert_answered(journal, 1);
        append(journal, 2);
    }
    three = content(f, &three_len);
    for (gsize cut = two_len + 1; cut < three_len; cut++) {
        g_autoptr(AcrJournal) journal = NULL;
        g_autofree char *after = NULL;
        gsize after_len = 0;

        put(f, three, cut);
        journal = open_journal(f, ACR_JOURNAL_APPEND);
        g_assert_nonnull(strstr(acr_journal_remark(journal), "line 3"));
        after = content(f, &after_len);
        g_assert_cmpmem(after, after_len, two, two_len);
        assert_answered(journal, 0);
        assert_answered(journal, 1);
        append(journal, 2);
    }
}

JOURNAL_TEST("/journal/index", a_damaged_last_record_is_dropped)
{
    static const char *const tails[] = {"{\"n\":1,\"event\":\"model\",\"request\":{},\"answer\"#1}\n",
                                        "{\"n\":1,\"event\":\"model\",\"request\":{}}\n",
                                        "{\"n\":7,\"event\":\"model\",\"request\":{},\"answer\":1}\n",
                                        "\n",
                                        "[]\n",
                                        "\xff\xfe\n",
                                        "garbage"};
    g_autofree char *one = NULL;
    gsize len = 0;

    write_records(f, 1);
    one = content(f, &len);
    for (gsize i = 0; i < G_N_ELEMENTS(tails); i++) {
        g_autofree char *text = g_strconcat(one, tails[i], NULL);
        g_autofree char *after = NULL;
        g_autoptr(AcrJournal) reading = NULL;
        g_autoptr(AcrJournal) journal = NULL;

        put(f, text, strlen(text));
        reading = open_journal(f, ACR_JOURNAL_READ);
        assert_answered(reading, 0);
        g_assert_true(acr_journal_is_live(reading));
        g_assert_nonnull(acr_journal_remark(reading));
        after = content(f, &len);
        g_assert_cmpstr(after, ==, text); /* reading must not change the file */
        journal = open_journal(f, ACR_JOURNAL_APPEND);
        g_assert_nonnull(acr_journal_remark(journal));
        assert_answered(journal, 0);
        append(journal, 1);
    }
    write_records(f, 2);
}

JOURNAL_TEST("/journal/index", zeros_behind_the_last_record_are_dropped)
{
    g_autoptr(AcrJournal) journal = NULL;

    write_records(f, 1);
    g_assert_cmpint(truncate(f->path, 8192), ==, 0);
    journal = open_journal(f, ACR_JOURNAL_APPEND);
    assert_answered(journal, 0);
    g_assert_true(acr_journal_is_live(journal));
    g_assert_nonnull(acr_journal_remark(journal));
}

JOURNAL_TEST("/journal/index", damage_before_the_last_record_is_an_error_that_names_the_line)
{
    static const char *const middles[] = {"\n", "garbage\n",
                                          "{\"n\":2,\"event\":\"model\",\"request\":{},\"answer\":1}\n"};
    static const char last[] = "{\"n\":2,\"event\":\"model\",\"request\":{},\"answer\":1}\n";
    g_autofree char *one = NULL;
    gsize len = 0;

    write_records(f, 1);
    one = content(f, &len);
    for (gsize i = 0; i < G_N_ELEMENTS(middles); i++) {
        g_autofree char *text = g_strconcat(one, middles[i], last, NULL);
        g_autofree char *cut = g_strconcat(one, middles[i], "{", NULL);

        put(f, text, strlen(text));
        assert_refused(f, ACR_JOURNAL_APPEND, ACR_JOURNAL_ERROR_DAMAGED, "line 2");
        assert_refused(f, ACR_JOURNAL_READ, ACR_JOURNAL_ERROR_DAMAGED, "line 2");
        put(f, cut, strlen(cut));
        assert_refused(f, ACR_JOURNAL_APPEND, ACR_JOURNAL_ERROR_DAMAGED, "line 2");
    }
}

JOURNAL_TEST("/journal/index", damage_inside_a_record_is_found_when_it_is_asked_for)
{
    g_autoptr(AcrJournal) journal = NULL;
    g_autoptr(AcrJson) asked = request(1);
    g_autoptr(GError) error = NULL;
    const AcrJson *answer = NULL;
    g_autofree char *text = NULL;
    gsize len = 0;

    write_records(f, 3);
    text = content(f, &len);
    *strstr(strchr(text, '\n'), "request") = '\x01';
    put(f, text, len);
    journal = open_journal(f, ACR_JOURNAL_APPEND);
    assert_answered(journal, 0);
    g_assert_false(acr_journal_ask(journal, "model", asked, &answer, &error));
    g_assert_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DAMAGED);
    g_assert_nonnull(strstr(error->message, "line 2"));
}

JOURNAL_TEST("/journal/index", a_record_whose_members_stand_in_another_order_counts)
{
    static const char text[] = "{\"event\":\"a\", \"answer\":7, \"request\":{\"x\":{\"time\":1},\"y\":2}, \"n\":0}\n";
    g_autoptr(AcrJson) asked = parse("{\"y\":2,\"x\":{}}");
    g_autoptr(GError) error = NULL;
    const AcrJson *answer = NULL;

    put(f, text, strlen(text));
    g_autoptr(AcrJournal) journal = open_journal(f, ACR_JOURNAL_READ);
    assert_ok(acr_journal_ask(journal, "a", asked, &answer, &error), error);
    g_assert_cmpint(acr_json_int(answer, 0), ==, 7);
}

static void assert_divergence(const char *then, const char *now, const char *const *words)
{
    g_autofree char *line = g_strdup_printf("{\"n\":0,\"event\":\"model\",\"request\":%s,\"answer\":1}\n", then);
    g_autoptr(AcrJson) asked = parse(now);
    g_autoptr(AcrJournal) journal = NULL;
    g_autoptr(GError) error = NULL;
    const AcrJson *answer = NULL;
    Fixture f = {0};

    set_up(&f, NULL);
    put(&f, line, strlen(line));
    journal = open_journal(&f, ACR_JOURNAL_APPEND);
    g_assert_false(acr_journal_ask(journal, "model", asked, &answer, &error));
    g_assert_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DIVERGED);
    g_assert_cmpuint(strlen(error->message), <, 2000);
    g_assert_null(strchr(error->message, '\n'));
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
    for (; *words; words++)
        if (!strstr(error->message, *words))
            g_error("'%s' is not in: %s", *words, error->message);
    g_assert_false(acr_journal_is_live(journal));
    tear_down(&f, NULL);
}

TEST("/journal/difference", a_divergence_shows_the_first_difference_of_both_texts)
{
    g_autofree char *pad = g_strnfill(5000, 'p');
    g_autofree char *then = g_strdup_printf("{\"time\":1,\"m\":[\"a\",{\"c\":\"%s\xc3\xa4 old\\n%s\"}]}", pad, pad);
    g_autofree char *now = g_strdup_printf("{\"time\":2,\"m\":[\"a\",{\"c\":\"%s\xc3\xb6 new\\n%s\"}]}", pad, pad);

    assert_divergence(then, now,
                      (const char *[]){"request.m[1].c", "byte 5001", "recorded …\"ppp", "now …\"ppp", "\xc3\xa4 old",
                                       "\xc3\xb6 new", NULL});
    assert_divergence("{\"a\":\"long enough\"}", "{\"a\":\"long ago\"}",
                      (const char *[]){"recorded \"long enough\"", "now \"long ago\"", NULL});
    assert_divergence("{\"a\":1}", "{\"a\":1,\"b\":[2]}",
                      (const char *[]){"request.b", "recorded nothing", "now [2]", NULL});
    assert_divergence("{\"a\":{\"b\":true}}", "{\"a\":{}}",
                      (const char *[]){"request.a.b", "recorded true", "now nothing", NULL});
    assert_divergence("[1,2,3]", "[1,2]", (const char *[]){"request[2]", "recorded 3", NULL});
    assert_divergence("[\"1\"]", "[1]", (const char *[]){"recorded \"1\"", "now 1", NULL});
}

JOURNAL_TEST("/journal/journal", another_event_is_a_divergence)
{
    g_autoptr(AcrJournal) journal = NULL;
    g_autoptr(AcrJson) asked = request(0);
    g_autoptr(GError) error = NULL;
    const AcrJson *answer = NULL;

    write_records(f, 1);
    journal = open_journal(f, ACR_JOURNAL_APPEND);
    g_assert_false(acr_journal_ask(journal, "sandbox", asked, &answer, &error));
    g_assert_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DIVERGED);
    g_assert_nonnull(strstr(error->message, "'sandbox'"));
    g_assert_nonnull(strstr(error->message, "'model'"));
    assert_answered(journal, 0); /* a matching request is still answered */
}

/* The limit on file sizes simulates a full disk: the record is written in part, then removed. */
JOURNAL_TEST("/journal/journal", a_full_disk_leaves_the_journal_good)
{
    g_autoptr(AcrJournal) journal = NULL;
    g_autoptr(AcrJson) asked = request(2);
    g_autoptr(AcrJson) big = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strnfill(100000, 'x');
    g_autofree char *before = NULL;
    g_autofree char *after = NULL;
    struct rlimit old, small;
    gsize before_len = 0;
    gsize after_len = 0;
    bool ok = true;

    write_records(f, 2);
    before = content(f, &before_len);
    big = acr_json_new_string(text);
    journal = open_journal(f, ACR_JOURNAL_APPEND);
    assert_answered(journal, 0);
    assert_answered(journal, 1);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){.rlim_cur = before_len + 500, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    ok = acr_journal_append(journal, "model", asked, big, NULL, &error);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    g_assert_false(ok);
    g_assert_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_NO_SPACE);
    after = content(f, &after_len);
    g_assert_cmpmem(after, after_len, before, before_len);
    append(journal, 2); /* there is room again on the disk */
    g_clear_pointer(&journal, acr_journal_free);
    journal = open_journal(f, ACR_JOURNAL_APPEND);
    assert_answered(journal, 0);
    assert_answered(journal, 1);
    g_assert_false(acr_journal_is_live(journal));
    g_assert_null(acr_journal_remark(journal));
}

JOURNAL_TEST("/journal/journal", what_is_no_regular_file_is_refused)
{
    g_autofree char *target = g_build_filename(f->folder, "target", NULL);

    assert_refused(f, ACR_JOURNAL_READ, ACR_JOURNAL_ERROR_FAILED, "journal.jsonl");
    g_assert_cmpint(symlink(target, f->path), ==, 0);
    assert_refused(f, ACR_JOURNAL_APPEND, ACR_JOURNAL_ERROR_FAILED, "journal.jsonl");
    g_assert_false(g_file_test(target, G_FILE_TEST_EXISTS));
    g_assert_cmpint(unlink(f->path), ==, 0);
    g_assert_cmpint(mkfifo(f->path, 0600), ==, 0);
    assert_refused(f, ACR_JOURNAL_APPEND, ACR_JOURNAL_ERROR_FAILED, "not a regular file");
    assert_refused(f, ACR_JOURNAL_READ, ACR_JOURNAL_ERROR_FAILED, "not a regular file");
    g_assert_cmpint(unlink(f->path), ==, 0);
    g_assert_cmpint(mkdir(f->path, 0700), ==, 0);
    assert_refused(f, ACR_JOURNAL_APPEND, ACR_JOURNAL_ERROR_FAILED, "directory");
    assert_refused(f, ACR_JOURNAL_READ, ACR_JOURNAL_ERROR_FAILED, "not a regular file");
}

/* The files are sparse, because no test can write or read files of such sizes. */
JOURNAL_TEST("/journal/index", ceilings_of_line_and_file_hold)
{
    g_autofree char *long_line = g_strnfill(ACR_JOURNAL_MAX_RECORD + 1, '\n');

    memset(long_line, ' ', ACR_JOURNAL_MAX_RECORD);
    memcpy(long_line, "{\"n\":0,", 7);
    long_line[ACR_JOURNAL_MAX_RECORD] = 'x';
    {
        g_autofree char *text = g_strconcat(long_line, "\n{\"n\":1}\n", NULL);

        put(f, text, strlen(text));
    }
    assert_refused(f, ACR_JOURNAL_READ, ACR_JOURNAL_ERROR_DAMAGED, "longer than");
    g_assert_cmpint(truncate(f->path, (off_t)ACR_JOURNAL_MAX_BYTES + 1), ==, 0);
    assert_refused(f, ACR_JOURNAL_READ, ACR_JOURNAL_ERROR_FAILED, "larger than");
}

/* Opening scans the bytes once, and a request reads one record; no step may take quadratic time. */
JOURNAL_TEST("/journal/index", a_large_journal_opens_and_answers_quickly)
{
    enum { RECORDS = 20000 };
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *pad = g_strnfill(1000, 'y');
    g_autoptr(AcrJson) asked = parse("{}");
    g_autoptr(AcrJournal) journal = NULL;
    gint64 start = 0;
    const AcrJson *answer = NULL;

    for (int i = 0; i < RECORDS; i++)
        g_string_append_printf(text, "{\"n\":%d,\"event\":\"e\",\"request\":{},\"answer\":\"%s\"}\n", i, pad);
    put(f, text->str, text->len);
    start = g_get_monotonic_time();
    journal = open_journal(f, ACR_JOURNAL_APPEND);
    g_test_message("opened in %d ms", (int)((g_get_monotonic_time() - start) / 1000));
    for (int i = 0; i < RECORDS; i++)
        g_assert_true(acr_journal_ask(journal, "e", asked, &answer, NULL));
    g_assert_true(acr_journal_is_live(journal));
    g_assert_cmpstr(acr_json_string(answer), ==, pad);
    g_test_message("answered in %d ms", (int)((g_get_monotonic_time() - start) / 1000));
    g_assert_cmpint(g_get_monotonic_time() - start, <, 20 * G_USEC_PER_SEC);
}
