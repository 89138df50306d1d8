/* The store: what is made once, what stays, what goes, and what a crash leaves. */
#include "test_sandbox.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* Makes an entry of one file; `made` counts. */
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
    g_usleep(50000); /* long enough for another to come in between */
    return !maker->fails || acr_sandbox_fail(error, ACR_SANDBOX_ERROR_SETUP, "it failed");
}

static AcrLayers *open_ok(const Box *box)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = box_path(box, "store");
    AcrLayers *store = acr_layers_open(path, NULL, &error);
    g_assert_no_error(error);
    g_assert_nonnull(store);
    return store;
}

static char *get_ok(AcrLayers *store, const char *key, Maker *maker)
{
    g_autoptr(GError) error = NULL;
    char *path = acr_layers_get(store, key, make, maker, &error);
    g_assert_no_error(error);
    g_assert_nonnull(path);
    return path;
}

static void each_key_is_made_once(void)
{
    g_auto(Box) box;
    box_init(&box);
    Maker one = {.text = "1"}, two = {.text = "2"};
    g_autofree char *first = NULL, *second = NULL, *again = NULL;
    {
        g_autoptr(AcrLayers) store = open_ok(&box);
        g_assert_false(acr_layers_has(store, "one"));
        first = get_ok(store, "one", &one);
        second = get_ok(store, "two", &two);
        g_assert_true(acr_layers_has(store, "one") && acr_layers_has(store, "two"));
    }
    g_autoptr(AcrLayers) later = open_ok(&box);
    again = get_ok(later, "one", &one);
    g_assert_cmpstr(first, ==, again);
    g_assert_cmpstr(first, !=, second);
    g_assert_cmpint(one.made, ==, 1);
    g_assert_cmpint(two.made, ==, 1);
    g_autofree char *text = box_get(&box, "store/one/file"),
                    *other = box_get(&box, "store/two/file");
    g_assert_cmpstr(text, ==, "1");
    g_assert_cmpstr(other, ==, "2");
}

typedef struct {
    const Box *box;
    Maker *maker;
} Getter;

static void *get_in_thread(void *data)
{
    const Getter *getter = data;
    g_autoptr(AcrLayers) store = open_ok(getter->box);
    return get_ok(store, "same", getter->maker);
}

static void several_at_once_make_it_once(void)
{
    g_auto(Box) box;
    box_init(&box);
    Maker maker = {.text = "x"};
    Getter getter = {&box, &maker};
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

static void what_fails_leaves_nothing(void)
{
    g_auto(Box) box;
    box_init(&box);
    g_autoptr(GError) error = NULL;
    Maker maker = {.text = "x", .fails = true};
    g_autoptr(AcrLayers) store = open_ok(&box);
    g_assert_null(acr_layers_get(store, "key", make, &maker, &error));
    g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_SETUP);
    g_assert_false(acr_layers_has(store, "key"));
    g_autofree char *names = box_names(&box, "store");
    g_assert_cmpstr(names, ==, "");
    maker.fails = false;
    g_autofree char *path = get_ok(store, "key", &maker);
    g_assert_cmpint(maker.made, ==, 2);
}

/* Says of an entry how much it takes, and how long ago it was used. */
static void pretend(const Box *box, const char *key, const char *bytes, time_t age_s)
{
    g_autofree char *size = g_strdup_printf("store/%s.size", key),
                    *name = g_strdup_printf("store/%s", key);
    g_autofree char *path = box_path(box, name);
    struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
    box_put(box, size, bytes, 0644);
    g_assert_cmpint(utimensat(AT_FDCWD, path, times, 0), ==, 0);
}

#define GIB_10 "10737418240"

static void make_three(const Box *box, Maker *maker)
{
    static const char *const keys[] = {"a", "b", "c"};
    g_autoptr(AcrLayers) store = open_ok(box);
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        g_free(get_ok(store, keys[i], maker));
}

static void the_longest_unused_goes_first(void)
{
    g_auto(Box) box;
    box_init(&box);
    Maker maker = {.text = "x"};
    make_three(&box, &maker);
    pretend(&box, "a", GIB_10, 100);
    pretend(&box, "b", GIB_10, 300);
    pretend(&box, "c", "1000", 200);
    g_autoptr(AcrLayers) store = open_ok(&box);
    g_autofree char *path = get_ok(store, "d", &maker);
    g_autofree char *names = box_names(&box, "store");
    g_assert_cmpstr(names, ==, "a a.size c c.size d d.size");
}

static void what_is_in_use_stays(void)
{
    g_auto(Box) box;
    box_init(&box);
    Maker maker = {.text = "x"};
    make_three(&box, &maker);
    g_autoptr(AcrLayers) user = open_ok(&box);
    g_autofree char *used = get_ok(user, "b", &maker);
    pretend(&box, "a", GIB_10, 100);
    pretend(&box, "b", GIB_10, 300);
    pretend(&box, "c", "no number", 200);
    g_autoptr(AcrLayers) store = open_ok(&box);
    g_autofree char *path = get_ok(store, "d", &maker);
    /* b is used: the next ones go until there is room. */
    g_autofree char *names = box_names(&box, "store");
    g_assert_cmpstr(names, ==, "b b.size d d.size");
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = box_path(&box, "store");
    g_assert_true(acr_sandbox_cache_clear(folder, &error));
    g_autofree char *left = box_names(&box, "store");
    g_assert_cmpstr(left, ==, "b b.size d d.size");
}

static void clearing_removes_what_nobody_uses(void)
{
    g_auto(Box) box;
    box_init(&box);
    g_autoptr(GError) error = NULL;
    Maker maker = {.text = "x"};
    make_three(&box, &maker);
    g_autofree char *folder = box_path(&box, "store"), *none = box_path(&box, "none");
    g_assert_true(acr_sandbox_cache_clear(folder, &error));
    g_assert_true(acr_sandbox_cache_clear(none, &error)); /* there is nothing to clear */
    g_autofree char *names = box_names(&box, "store");
    g_assert_cmpstr(names, ==, "");
    g_assert_false(box_has(&box, "none"));
}

static void what_a_crash_left_is_swept(void)
{
    g_auto(Box) box;
    box_init(&box);
    g_autoptr(GError) error = NULL;
    box_put(&box, "store/tmp-AAAAAA/tree/file", "x", 0644);
    box_put(&box, "store/key.lock", "", 0644);
    box_put(&box, "store/notes", "mine", 0644); /* not one of the store's names */
    box_put(&box, "store/copy-begun/tree/file", "x", 0644);
    box_put(&box, "store/copy-kept/tree/file", "x", 0644);
    box_put(&box, "store/copy-kept.size", "1", 0644);
    box_put(&box, "store/copy-kept.names", "x", 0644);
    box_put(&box, "store/copy-gone.names", "x", 0644);
    box_put(&box, "store/layer-gone.size", "1", 0644);
    box_put(&box, "store/.acr-OldOld", "x", 0644);
    box_put(&box, "store/.acr-NewNew", "x", 0644);
    g_autofree char *old = box_path(&box, "store/.acr-OldOld");
    g_assert_cmpint(utimes(old, (struct timeval[]){{.tv_sec = 1}, {.tv_sec = 1}}), ==, 0);
    g_autoptr(AcrLayers) one = open_ok(&box);
    g_autofree char *scratch = acr_layers_scratch(one, &error);
    g_assert_no_error(error);
    g_autoptr(AcrLayers) two = open_ok(&box); /* leaves alone what the first is at work in */
    g_assert_true(g_file_test(scratch, G_FILE_TEST_IS_DIR));
    g_assert_false(box_has(&box, "store/tmp-AAAAAA") || box_has(&box, "store/key.lock"));
    g_assert_false(box_has(&box, "store/copy-begun"));
    g_assert_true(box_has(&box, "store/notes") && box_has(&box, "store/copy-kept/tree/file"));
    g_assert_true(box_has(&box, "store/copy-kept.names") && box_has(&box, "store/copy-kept.size"));
    g_assert_false(box_has(&box, "store/copy-gone.names") ||
                   box_has(&box, "store/layer-gone.size"));
    g_assert_true(box_has(&box, "store/.acr-NewNew")); /* its writer may be at work */
    g_assert_false(box_has(&box, "store/.acr-OldOld"));
    g_assert_true(acr_layers_discard(one, scratch, &error));
    g_assert_false(g_file_test(scratch, G_FILE_TEST_EXISTS));
}

static void scratch_goes_with_its_store(void)
{
    g_auto(Box) box;
    box_init(&box);
    g_autoptr(GError) error = NULL;
    g_autofree char *in_store = NULL, *temporary = NULL;
    {
        g_autoptr(AcrLayers) store = open_ok(&box), own = acr_layers_open(NULL, NULL, &error);
        g_assert_no_error(error);
        in_store = acr_layers_scratch(store, &error);
        temporary = acr_layers_scratch(own, &error);
        g_assert_no_error(error);
        g_assert_true(g_file_test(in_store, G_FILE_TEST_IS_DIR));
        g_assert_true(g_file_test(temporary, G_FILE_TEST_IS_DIR));
    }
    g_assert_false(g_file_test(in_store, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(temporary, G_FILE_TEST_EXISTS));
}

static char *claim_ok(AcrLayers *store, const char *key)
{
    g_autoptr(GError) error = NULL;
    char *path = acr_layers_claim(store, key, false, &error);
    g_assert_no_error(error);
    return path;
}

static void what_is_claimed_has_one_user_and_stays(void)
{
    g_auto(Box) box;
    box_init(&box);
    g_autoptr(GError) error = NULL;
    AcrInterrupt now = {.signal = 2};
    g_autofree char *folder = box_path(&box, "store");
    g_autoptr(AcrLayers) one = open_ok(&box), two = acr_layers_open(folder, &now, &error);
    g_autofree char *mine = claim_ok(one, "key"), *none = claim_ok(two, "key");
    g_assert_nonnull(mine);
    g_assert_null(none);
    g_assert_null(acr_layers_claim(two, "key", true, &error)); /* waits, and is interrupted */
    g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_INTERRUPTED);
    box_put(&box, "store/copy-key/file", "x", 0644);
    box_put(&box, "store/copy-key.names", "x", 0644);
    acr_layers_release(one, mine);
    g_autofree char *theirs = claim_ok(two, "key"), *text = box_get(&box, "store/copy-key/file");
    g_assert_cmpstr(theirs, ==, mine);
    g_assert_cmpstr(text, ==, "x");
    g_clear_error(&error);
    g_assert_true(acr_sandbox_cache_clear(folder, &error)); /* not what is in use */
    g_assert_true(box_has(&box, "store/copy-key/file"));
    acr_layers_release(two, theirs);
    g_assert_true(acr_sandbox_cache_clear(folder, &error));
    g_autofree char *names = box_names(&box, "store");
    g_assert_cmpstr(names, ==, "");
}

static void a_link_is_never_claimed(void)
{
    g_auto(Box) box;
    box_init(&box);
    g_autoptr(AcrLayers) store = open_ok(&box);
    box_put(&box, "out/file", "mine", 0644);
    box_link(&box, "../out", "store/copy-key");
    g_autofree char *path = claim_ok(store, "key"), *inside = box_names(&box, "store/copy-key"),
                    *outside = box_names(&box, "out");
    g_assert_nonnull(path);
    g_assert_cmpstr(inside, ==, "");
    g_assert_cmpstr(outside, ==, "file");
}

static void what_is_discarded_leaves_nothing(void)
{
    g_auto(Box) box;
    box_init(&box);
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrLayers) store = open_ok(&box);
    for (guint i = 0; i < 2; i++) {
        g_autofree char *path = claim_ok(store, "key");
        g_autofree char *inside = box_names(&box, "store/copy-key");
        g_assert_cmpstr(inside, ==, "");
        box_put(&box, "store/copy-key/file", "x", 0644);
        box_put(&box, "store/copy-key.names", "x", 0644);
        g_assert_true(acr_layers_discard(store, path, &error));
        g_autofree char *names = box_names(&box, "store");
        g_assert_cmpstr(names, ==, "");
    }
}

static void an_interrupted_wait_for_another_ends(void)
{
    g_auto(Box) box;
    box_init(&box);
    g_autoptr(GError) error = NULL;
    AcrInterrupt now = {.signal = 2};
    Maker maker = {.text = "x"};
    g_autofree char *folder = box_path(&box, "store");
    g_autoptr(AcrLayers) one = open_ok(&box), two = acr_layers_open(folder, &now, &error);
    int fd = acr_layers_lock(one, "key", &error);
    g_assert_cmpint(fd, >=, 0);
    g_assert_null(acr_layers_get(two, "key", make, &maker, &error));
    g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_INTERRUPTED);
    g_assert_cmpint(maker.made, ==, 0);
    acr_layers_unlock(one, "key", fd);
    g_autofree char *path = get_ok(one, "key", &maker);
}

static void a_store_that_is_no_folder_is_told(void)
{
    g_auto(Box) box;
    box_init(&box);
    g_autoptr(GError) error = NULL, entry = NULL;
    Maker maker = {.text = "x"};
    box_put(&box, "file", "x", 0644);
    g_autofree char *path = box_path(&box, "file");
    g_assert_null(acr_layers_open(path, NULL, &error));
    g_assert_nonnull(strstr(error->message, path));
    /* A file in the place of an entry is somebody's: it is neither used nor removed. */
    box_put(&box, "store/key", "mine", 0644);
    g_autoptr(AcrLayers) store = open_ok(&box);
    g_assert_null(acr_layers_get(store, "key", make, &maker, &entry));
    g_assert_nonnull(strstr(entry->message, "/store/key"));
    g_autofree char *text = box_get(&box, "store/key");
    g_assert_cmpstr(text, ==, "mine");
}

void add_layers_tests(void)
{
    g_test_add_func("/sandbox/layers/each_key_is_made_once", each_key_is_made_once);
    g_test_add_func("/sandbox/layers/several_at_once_make_it_once", several_at_once_make_it_once);
    g_test_add_func("/sandbox/layers/what_fails_leaves_nothing", what_fails_leaves_nothing);
    g_test_add_func("/sandbox/layers/the_longest_unused_goes_first", the_longest_unused_goes_first);
    g_test_add_func("/sandbox/layers/what_is_in_use_stays", what_is_in_use_stays);
    g_test_add_func("/sandbox/layers/clearing_removes_what_nobody_uses",
                    clearing_removes_what_nobody_uses);
    g_test_add_func("/sandbox/layers/what_a_crash_left_is_swept", what_a_crash_left_is_swept);
    g_test_add_func("/sandbox/layers/scratch_goes_with_its_store", scratch_goes_with_its_store);
    g_test_add_func("/sandbox/layers/what_is_claimed_has_one_user_and_stays",
                    what_is_claimed_has_one_user_and_stays);
    g_test_add_func("/sandbox/layers/a_link_is_never_claimed", a_link_is_never_claimed);
    g_test_add_func("/sandbox/layers/what_is_discarded_leaves_nothing",
                    what_is_discarded_leaves_nothing);
    g_test_add_func("/sandbox/layers/an_interrupted_wait_for_another_ends",
                    an_interrupted_wait_for_another_ends);
    g_test_add_func("/sandbox/layers/a_store_that_is_no_folder_is_told",
                    a_store_that_is_no_folder_is_told);
}
