/* Tests of the cache: which entries are created once, stay or are removed, and what a crash
 * leaves. */
#include "test_sandbox.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Creates an entry of one file; `made` counts the calls. */
typedef struct {
    const char *text;
    gint made;
    bool fails;
} Maker;

static bool make(void *ctx, const char *dir, GError **error)
{
    Maker *maker = ctx;
    g_autofree char *path = g_build_filename(dir, "file", NULL);
    __atomic_fetch_add(&maker->made, 1, __ATOMIC_RELAXED);
    g_assert_true(g_file_set_contents(path, maker->text, -1, NULL));
    g_usleep(50000); /* long enough for another thread to interfere */
    return !maker->fails || acr_sandbox_fail(error, ACR_SANDBOX_ERROR_SETUP, "it failed");
}

static AcrTreeCache *open_ok(const Box *box)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = box_path(box, "store");
    AcrTreeCache *store = made(acr_tree_cache_open(path, NULL, 0, &error), error);
    g_assert_nonnull(store);
    return store;
}

static char *get_ok(AcrTreeCache *store, const char *key, Maker *maker)
{
    g_autoptr(GError) error = NULL;
    char *path = made(acr_tree_cache_get(store, key, make, maker, &error), error);
    g_assert_nonnull(path);
    return path;
}

BOX_TEST("/sandbox/tree_cache", each_key_is_made_once)
{
    Maker one = {.text = "1"}, two = {.text = "2"};
    g_autofree char *first = NULL, *second = NULL, *again = NULL;
    {
        g_autoptr(AcrTreeCache) store = open_ok(box);
        g_assert_false(box_has(box, "store/one"));
        first = get_ok(store, "one", &one);
        second = get_ok(store, "two", &two);
        g_assert_true(box_has(box, "store/one") && box_has(box, "store/two"));
    }
    g_autoptr(AcrTreeCache) later = open_ok(box);
    again = get_ok(later, "one", &one);
    g_assert_cmpstr(first, ==, again);
    g_assert_cmpstr(first, !=, second);
    g_assert_cmpint(one.made, ==, 1);
    g_assert_cmpint(two.made, ==, 1);
    g_autofree char *text = box_get(box, "store/one/file");
    g_assert_cmpstr(text, ==, "1");
    assert_text(box_get(box, "store/two/file"), "2");
}

typedef struct {
    const Box *box;
    Maker *maker;
} Getter;

static void *get_in_thread(void *data)
{
    const Getter *getter = data;
    g_autoptr(AcrTreeCache) store = open_ok(getter->box);
    return get_ok(store, "same", getter->maker);
}

BOX_TEST("/sandbox/tree_cache", several_at_once_make_it_once)
{
    Maker maker = {.text = "x"};
    Getter getter = {box, &maker};
    pthread_t threads[4];
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        g_assert_cmpint(pthread_create(&threads[i], NULL, get_in_thread, &getter), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++) {
        void *path = NULL;
        g_assert_cmpint(pthread_join(threads[i], &path), ==, 0);
        g_assert_true(g_str_has_suffix(path, "/store/same"));
        g_free(path);
    }
    g_assert_cmpint(maker.made, ==, 1);
}

BOX_TEST("/sandbox/tree_cache", what_fails_leaves_nothing)
{
    g_autoptr(GError) error = NULL;
    Maker maker = {.text = "x", .fails = true};
    g_autoptr(AcrTreeCache) store = open_ok(box);
    assert_fails_with(acr_tree_cache_get(store, "key", make, &maker, &error), error, ACR_SANDBOX_ERROR,
                      ACR_SANDBOX_ERROR_SETUP);
    g_assert_false(box_has(box, "store/key"));
    assert_text(box_names(box, "store"), "");
    maker.fails = false;
    g_autofree char *path = get_ok(store, "key", &maker);
    g_assert_cmpint(maker.made, ==, 2);
}

/* Sets the recorded size of an entry, and the age of its last use. */
static void pretend(const Box *box, const char *key, const char *bytes, time_t age_s)
{
    g_autofree char *size = g_strdup_printf("store/%s/size", key), *name = g_strdup_printf("store/%s", key);
    g_autofree char *path = box_path(box, name);
    struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
    box_put(box, size, bytes, 0644);
    g_assert_cmpint(utimensat(AT_FDCWD, path, times, 0), ==, 0);
}

#define GIB_10 "10737418240"

static void make_three(const Box *box, Maker *maker)
{
    static const char *const keys[] = {"a", "b", "c"};
    g_autoptr(AcrTreeCache) store = open_ok(box);
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        g_free(get_ok(store, keys[i], maker));
}

BOX_TEST("/sandbox/tree_cache", the_longest_unused_goes_first)
{
    Maker maker = {.text = "x"};
    make_three(box, &maker);
    pretend(box, "a", GIB_10, 100);
    pretend(box, "b", GIB_10, 300);
    pretend(box, "c", "1000", 200);
    g_autoptr(AcrTreeCache) store = open_ok(box);
    g_autofree char *path = get_ok(store, "d", &maker);
    assert_text(box_names(box, "store"), "a c d");
}

BOX_TEST("/sandbox/tree_cache", what_is_in_use_stays)
{
    Maker maker = {.text = "x"};
    make_three(box, &maker);
    g_autoptr(AcrTreeCache) user = open_ok(box);
    g_autofree char *used = get_ok(user, "b", &maker);
    pretend(box, "a", GIB_10, 100);
    pretend(box, "b", GIB_10, 300);
    pretend(box, "c", "no number", 200);
    g_autoptr(AcrTreeCache) store = open_ok(box);
    g_autofree char *path = get_ok(store, "d", &maker);
    /* b is in use, so the next entries are removed until there is room. */
    assert_text(box_names(box, "store"), "b d");
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = box_path(box, "store");
    g_assert_true(acr_sandbox_cache_clear(folder, &error));
    assert_text(box_names(box, "store"), "b d");
}

BOX_TEST("/sandbox/tree_cache", clearing_removes_what_nobody_uses)
{
    g_autoptr(GError) error = NULL;
    Maker maker = {.text = "x"};
    make_three(box, &maker);
    g_autofree char *folder = box_path(box, "store"), *none = box_path(box, "none");
    g_assert_true(acr_sandbox_cache_clear(folder, &error));
    g_assert_true(acr_sandbox_cache_clear(none, &error)); /* there is no cache to clear */
    assert_text(box_names(box, "store"), "");
    g_assert_false(box_has(box, "none"));
}

BOX_TEST("/sandbox/tree_cache", what_a_crash_left_is_swept)
{
    g_autoptr(GError) error = NULL;
    box_put(box, "store/tmp-AAAAAA/tree/file", "x", 0644);
    box_put(box, "store/key.lock", "", 0644);
    box_put(box, "store/notes", "mine", 0644); /* not a name of the cache */
    box_put(box, "store/layer-kept/tree/file", "x", 0644);
    g_autoptr(AcrTreeCache) one = open_ok(box);
    g_autofree char *scratch = made(acr_tree_cache_scratch(one, &error), error);
    /* must not remove the folder in which the first cache works */
    g_autoptr(AcrTreeCache) two = open_ok(box);
    g_assert_true(g_file_test(scratch, G_FILE_TEST_IS_DIR));
    g_assert_false(box_has(box, "store/tmp-AAAAAA") || box_has(box, "store/key.lock"));
    g_assert_true(box_has(box, "store/notes") && box_has(box, "store/layer-kept/tree/file"));
    g_assert_true(acr_tree_cache_discard(one, scratch, &error));
    g_assert_false(g_file_test(scratch, G_FILE_TEST_EXISTS));
}

BOX_TEST("/sandbox/tree_cache", scratch_goes_with_its_store)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *in_store = NULL, *temporary = NULL;
    {
        g_autoptr(AcrTreeCache) store = open_ok(box), own = made(acr_tree_cache_open(NULL, NULL, 0, &error), error);
        in_store = acr_tree_cache_scratch(store, &error);
        temporary = made(acr_tree_cache_scratch(own, &error), error);
        g_assert_true(g_file_test(in_store, G_FILE_TEST_IS_DIR));
        g_assert_true(g_file_test(temporary, G_FILE_TEST_IS_DIR));
    }
    g_assert_false(g_file_test(in_store, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(temporary, G_FILE_TEST_EXISTS));
}

static char *place_ok(AcrTreeCache *store, const char *key)
{
    g_autoptr(GError) error = NULL;
    char *path = made(acr_tree_cache_place(store, key, &error), error);
    return path;
}

BOX_TEST("/sandbox/tree_cache", a_place_has_one_user_and_is_new_for_the_next)
{
    g_autoptr(GError) error = NULL;
    AcrInterrupt now = {.signal = 2};
    g_autofree char *folder = box_path(box, "store");
    g_autoptr(AcrTreeCache) one = open_ok(box), two = acr_tree_cache_open(folder, &now, 0, &error);
    g_autofree char *mine = place_ok(one, "key");
    g_assert_null(acr_tree_cache_place(two, "key", &error)); /* waits until it is interrupted */
    g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_INTERRUPTED);
    g_clear_error(&error);
    box_put(box, "store/tmp-key/file", "x", 0644);
    g_assert_true(acr_sandbox_cache_clear(folder, &error)); /* entries in use must stay */
    g_assert_true(box_has(box, "store/tmp-key/file"));
    g_assert_true(acr_tree_cache_discard(one, mine, &error));
    g_autofree char *theirs = place_ok(two, "key");
    g_assert_cmpstr(theirs, ==, mine);
    assert_text(box_names(box, "store/tmp-key"), "");
    g_assert_true(acr_tree_cache_discard(two, theirs, &error));
    assert_text(box_names(box, "store"), "");
}

BOX_TEST("/sandbox/tree_cache", what_a_killed_user_left_in_a_place_goes)
{
    g_autoptr(AcrTreeCache) store = open_ok(box);
    box_put(box, "store/tmp-key/file", "x", 0644);
    g_autofree char *path = place_ok(store, "key");
    g_assert_nonnull(path);
    assert_text(box_names(box, "store/tmp-key"), "");
}

BOX_TEST("/sandbox/tree_cache", a_link_is_never_a_place)
{
    g_autoptr(AcrTreeCache) store = open_ok(box);
    box_put(box, "out/file", "mine", 0644);
    box_link(box, "../out", "store/tmp-key");
    g_autofree char *path = place_ok(store, "key");
    g_assert_nonnull(path);
    assert_text(box_names(box, "store/tmp-key"), "");
    assert_text(box_names(box, "out"), "file");
}

BOX_TEST("/sandbox/tree_cache", an_interrupted_wait_for_another_ends)
{
    g_autoptr(GError) error = NULL;
    AcrInterrupt now = {.signal = 2};
    Maker maker = {.text = "x"};
    g_autofree char *folder = box_path(box, "store");
    g_autoptr(AcrTreeCache) one = open_ok(box), two = acr_tree_cache_open(folder, &now, 0, &error);
    int fd = acr_tree_cache_lock(one, "key", &error);
    g_assert_cmpint(fd, >=, 0);
    assert_fails_with(acr_tree_cache_get(two, "key", make, &maker, &error), error, ACR_SANDBOX_ERROR,
                      ACR_SANDBOX_ERROR_INTERRUPTED);
    g_assert_cmpint(maker.made, ==, 0);
    acr_tree_cache_unlock(one, "key", fd);
    g_autofree char *path = get_ok(one, "key", &maker);
}

BOX_TEST("/sandbox/tree_cache", a_store_that_is_no_folder_is_told)
{
    g_autoptr(GError) error = NULL, entry = NULL;
    Maker maker = {.text = "x"};
    box_put(box, "file", "x", 0644);
    g_autofree char *path = box_path(box, "file");
    g_assert_null(acr_tree_cache_open(path, NULL, 0, &error));
    g_assert_nonnull(strstr(error->message, path));
    /* A file at the path of an entry belongs to someone else: it is neither used nor removed. */
    box_put(box, "store/key", "mine", 0644);
    g_autoptr(AcrTreeCache) store = open_ok(box);
    g_assert_null(acr_tree_cache_get(store, "key", make, &maker, &entry));
    g_assert_nonnull(strstr(entry->message, "/store/key"));
    g_autofree char *text = box_get(box, "store/key");
    g_assert_cmpstr(text, ==, "mine");
}

#define OPEN_TEMPORARY "/sandbox/tree_cache/subprocess/open_temporary"

/* A separate process, because GLib determines the temporary folder only once. */
TEST("/sandbox/tree_cache/subprocess", open_temporary)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrTreeCache) store = acr_tree_cache_open(NULL, NULL, 0, &error);
    if (!store)
        g_printerr("%s\n", error->message);
}

/* In /tmp, another user may have created the folder, and might change what is executed. */
BOX_TEST("/sandbox/tree_cache", a_temporary_folder_of_others_is_refused)
{
    g_autofree char *name = g_strdup_printf("tmp/acr-host-%u", geteuid());
    box_make(box, "tmp");
    box_make(box, "theirs");
    g_autofree char *tmp = box_path(box, "tmp"), *before = g_strdup(g_getenv("TMPDIR"));
    g_setenv("TMPDIR", tmp, TRUE);
    g_test_trap_subprocess(OPEN_TEMPORARY, 0, 0);
    g_test_trap_assert_passed();
    g_test_trap_assert_stderr_unmatched("*belongs to*");
    g_autofree char *own = box_path(box, name);
    g_assert_true(acr_dir_remove(own, NULL));
    box_link(box, "../theirs", name);
    g_test_trap_subprocess(OPEN_TEMPORARY, 0, 0);
    g_test_trap_assert_stderr("*belongs to another user*");
    if (before)
        g_setenv("TMPDIR", before, TRUE);
    else
        g_unsetenv("TMPDIR");
}
