/* Tests of reading many contents in parallel: the results must equal those of single reads, for all
 * kinds of storage. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "vcs_fixture.h"

/* What a sink received, by entry. */
typedef struct {
    pthread_mutex_t lock;
    GBytes **bytes;
    GError **errors;
    guint *times;
    gsize n;
} Given;

static void keep(void *user, gsize index, GBytes *bytes, const GError *error)
{
    Given *given = user;
    pthread_mutex_lock(&given->lock);
    given->times[index]++;
    given->bytes[index] = bytes ? g_bytes_ref(bytes) : NULL;
    given->errors[index] = error ? g_error_copy(error) : NULL;
    pthread_mutex_unlock(&given->lock);
}

static void given_clear(Given *given)
{
    for (gsize i = 0; i < given->n; i++) {
        g_clear_pointer(&given->bytes[i], g_bytes_unref);
        g_clear_error(&given->errors[i]);
    }
    g_free(given->bytes);
    g_free(given->errors);
    g_free(given->times);
    pthread_mutex_destroy(&given->lock);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Given, given_clear)

static void read_all(AcrSnapshot *snapshot, Given *given)
{
    gsize n = acr_snapshot_size(snapshot);
    g_autofree gsize *entries = g_new(gsize, n + 1);
    for (gsize i = 0; i < n; i++)
        entries[i] = n - 1 - i;
    *given = (Given){
        .bytes = g_new0(GBytes *, n + 1), .errors = g_new0(GError *, n + 1), .times = g_new0(guint, n + 1), .n = n};
    pthread_mutex_init(&given->lock, NULL);
    acr_snapshot_read_many(snapshot, entries, n, false, keep, given);
}

/* Reads all contents in parallel and one by one, and compares the results. */
static void expect_as_single(AcrSnapshot *snapshot)
{
    g_auto(Given) given;
    read_all(snapshot, &given);
    for (gsize i = 0; i < given.n; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) single = acr_snapshot_read(snapshot, i, &error);
        g_assert_cmpuint(given.times[i], ==, 1);
        g_assert_true((single == NULL) == (given.bytes[i] == NULL));
        g_assert_true(!single || g_bytes_equal(single, given.bytes[i]));
        g_assert_cmpstr(error ? error->message : NULL, ==, given.errors[i] ? given.errors[i]->message : NULL);
    }
}

static void expect_sizes(AcrSnapshot *snapshot)
{
    for (gsize i = 0; i < acr_snapshot_size(snapshot); i++) {
        g_autoptr(GBytes) bytes = acr_snapshot_read(snapshot, i, NULL);
        g_assert_nonnull(bytes);
        g_assert_cmpuint(acr_snapshot_content_size(snapshot, i), ==, g_bytes_get_size(bytes));
    }
}

static void many_files(const Sandbox *box, const char *dir)
{
    for (int i = 0; i < 300; i++) {
        g_autofree char *path = g_strdup_printf("%s/d%d/f%d", dir, i % 7, i);
        g_autofree char *text = g_strdup_printf("file %d\n%0*d\n", i, 1 + i * 17, i);
        put(box, path, text);
    }
}

BOX_TEST("/vcs/read", many_at_once_are_as_one_by_one)
{
    make_repo(box, "r");
    many_files(box, "r");
    commit_all(box, "r");
    g_autoptr(AcrSnapshot) loose = commit_ok(box, "r", "HEAD");
    expect_as_single(loose);
    git(box, "r", "gc -q");
    git(box, "", "clone -q --shared r s");
    acr_vcs_trust_links(); /* the repository's alternates lead out of it */
    g_autoptr(AcrSnapshot) packed = commit_ok(box, "r", "HEAD");
    g_autoptr(AcrSnapshot) borrowed = commit_ok(box, "s", "HEAD");
    g_assert_cmpuint(acr_snapshot_size(packed), ==, 300);
    expect_as_single(packed);
    expect_as_single(borrowed);
    /* deltas name their bases by id */
    git(box, "r", "-c repack.useDeltaBaseOffset=false repack -adfq");
    g_autoptr(AcrSnapshot) named = commit_ok(box, "r", "HEAD");
    expect_as_single(named);
    expect_sizes(loose);
    expect_sizes(named);
}

BOX_TEST("/vcs/read", many_kept_contents_are_as_one_by_one)
{
    g_autoptr(GError) error = NULL;
    make_repo(box, "r");
    many_files(box, "r");
    commit_all(box, "r");
    put(box, "r/d1/f1", "changed\n");
    put(box, "r/new", "not committed\n");
    many_files(box, "plain");
    g_autoptr(AcrSnapshot) tree = worktree_ok(box, "r");
    g_autoptr(AcrSnapshot) plain = worktree_ok(box, "plain");
    expect_as_single(tree);
    expect_as_single(plain);
    expect_sizes(tree);
    g_autofree char *saved = sandbox_path(box, "saved");
    g_assert_true(acr_snapshot_save(plain, saved, &error));
    g_autoptr(AcrSnapshot) loaded = made(acr_snapshot_load(NULL, saved, &error), error);
    expect_as_single(loaded);
}

/* The file of a loose object of repository `r`; owned. */
static char *object_file(const Sandbox *box, const char *name)
{
    g_autofree char *arguments = g_strdup_printf("rev-parse %s", name);
    g_autofree char *id = git_output(box, "r", arguments);
    return g_strdup_printf("r/.git/objects/%.2s/%.38s", id, id + 2);
}

BOX_TEST("/vcs/read", a_missing_one_of_many_is_told_apart)
{
    g_auto(Given) given;
    make_repo(box, "r");
    many_files(box, "r");
    commit_all(box, "r");
    g_autofree char *file = object_file(box, "HEAD:d3/f3");
    g_autofree char *path = sandbox_path(box, file);
    g_assert_cmpint(unlink(path), ==, 0);
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    gsize gone = (gsize)acr_snapshot_find(snapshot, "d3/f3");
    read_all(snapshot, &given);
    for (gsize i = 0; i < given.n; i++)
        g_assert_true((given.bytes[i] == NULL) == (i == gone));
    g_assert_error(given.errors[gone], ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING);
}

BOX_TEST("/vcs/read", an_object_under_a_wrong_id_is_refused)
{
    g_autoptr(GError) error = NULL;
    make_repo(box, "r");
    put(box, "r/one", "one\n");
    put(box, "r/two", "two\n");
    commit_all(box, "r");
    g_autofree char *one = object_file(box, "HEAD:one"), *two = object_file(box, "HEAD:two");
    g_autofree char *from = sandbox_path(box, two), *to = sandbox_path(box, one);
    g_assert_cmpint(unlink(to), ==, 0);
    g_assert_cmpint(link(from, to), ==, 0);
    g_autoptr(AcrSnapshot) snapshot = commit_ok(box, "r", "HEAD");
    g_assert_null(acr_snapshot_read(snapshot, 0, &error));
    g_assert_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, "'one'"));
    g_assert_nonnull(strstr(error->message, "is damaged"));
    assert_text(content(snapshot, "two"), "two\n");
}

BOX_TEST("/vcs/read", none_at_once)
{
    put(box, "plain/f", "x");
    g_autoptr(AcrSnapshot) snapshot = worktree_ok(box, "plain");
    acr_snapshot_read_many(snapshot, NULL, 0, false, NULL, NULL);
    expect_as_single(snapshot);
}
