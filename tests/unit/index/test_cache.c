/* Tests of the outline cache: what it stores and for how long, and that it leaves other files, and
 * places where no cache is possible, unchanged. */
#include "cache_fixture.h"
#include "index/cache_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT ACR_INDEX_CACHE_DEFAULT_BYTES

#define assert_remark(cache, part)                                                                                     \
    do {                                                                                                               \
        const char *remark_ = acr_index_cache_remark(cache);                                                           \
        g_assert_nonnull(remark_);                                                                                     \
        if (!strstr(remark_, part))                                                                                    \
            g_error("'%s' does not say '%s'", remark_, part);                                                          \
    } while (0)

static char *contents_of(const char *path, gsize *out_len)
{
    char *contents = NULL;
    g_assert_true(g_file_get_contents(path, &contents, out_len, NULL));
    return contents;
}

static void set_contents(const char *path, const void *bytes, gsize len)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_assert_true(g_file_set_contents(path, bytes, (gssize)len, NULL));
}

static char *beside(const char *path, const char *suffix)
{
    return g_strconcat(path, suffix, NULL);
}

static goffset size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : -1;
}

/* ---- Keeping ---- */

TEST("/index/cache", keeps_rows)
{
    const char *path = cache_path("deep/acr-host");
    AcrIndexCache *cache = acr_index_cache_open(path, LIMIT);
    g_assert_cmpuint(count_rows(cache, 0, 40), ==, 0);
    put_rows(cache, 0, 40);
    g_assert_cmpuint(count_rows(cache, 0, 40), ==, 40); /* answered before the rows are written */
    acr_index_cache_free(cache);

    cache = acr_index_cache_open(path, LIMIT);
    g_assert_cmpuint(count_rows(cache, 0, 60), ==, 40);
    put_rows(cache, 40, 1000);
    g_assert_cmpuint(count_rows(cache, 0, 1040), ==, 1040);
    g_assert_cmpstr(acr_index_cache_remark(cache), ==, NULL);
    acr_index_cache_free(cache);
    struct stat st;
    g_assert_cmpint(stat(path, &st), ==, 0);
    g_assert_cmpuint(st.st_mode & 0777, ==, 0600);
}

TEST("/index/cache", version_is_part_of_the_key)
{
    const char *path = cache_path("c");
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, LIMIT);
    guint8 id[ACR_BLOB_ID_LEN];
    id_of(1, id);
    g_autoptr(GBytes) one = g_bytes_new_static("one", 3);
    g_autoptr(GBytes) two = g_bytes_new_static("two", 3);
    acr_index_cache_put(cache, id, "1", one);
    acr_index_cache_put(cache, id, "2", two);
    for (int flushed = 0; flushed < 2; flushed++) {
        g_autoptr(GBytes) got_one = acr_index_cache_get(cache, id, "1");
        g_autoptr(GBytes) got_two = acr_index_cache_get(cache, id, "2");
        g_assert_true(got_one && g_bytes_equal(got_one, one));
        g_assert_true(got_two && g_bytes_equal(got_two, two));
        g_assert_null(acr_index_cache_get(cache, id, "3"));
        g_assert_null(acr_index_cache_get(cache, id, ""));
        acr_index_cache_flush(cache);
    }
    acr_index_cache_put(cache, id, "1", two);
    acr_index_cache_flush(cache);
    g_autoptr(GBytes) replaced = acr_index_cache_get(cache, id, "1");
    g_assert_true(replaced && g_bytes_equal(replaced, two));
}

TEST("/index/cache", too_much_is_not_kept)
{
    const char *path = cache_path("c");
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, LIMIT);
    g_autofree char *version = g_strnfill(ACR_INDEX_CACHE_MAX_VERSION + 1, 'v');
    g_autofree guint8 *bytes = g_malloc0(ACR_INDEX_CACHE_MAX_ROWS + 1);
    g_autoptr(GBytes) most = g_bytes_new_static(bytes, ACR_INDEX_CACHE_MAX_ROWS);
    g_autoptr(GBytes) more = g_bytes_new_static(bytes, ACR_INDEX_CACHE_MAX_ROWS + 1);
    guint8 id[ACR_BLOB_ID_LEN];
    id_of(1, id);
    acr_index_cache_put(cache, id, "more", more);
    acr_index_cache_put(cache, id, "most", most);
    acr_index_cache_put(cache, id, version, most);
    acr_index_cache_flush(cache);
    g_autoptr(GBytes) got = acr_index_cache_get(cache, id, "most");
    g_assert_true(got && g_bytes_equal(got, most));
    g_assert_null(acr_index_cache_get(cache, id, "more"));
    g_assert_null(acr_index_cache_get(cache, id, version));
    g_assert_cmpstr(acr_index_cache_remark(cache), ==, NULL);
}

TEST("/index/cache", no_path_is_no_cache)
{
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(NULL, LIMIT);
    put_rows(cache, 0, 3);
    g_assert_cmpuint(count_rows(cache, 0, 3), ==, 0);
    g_assert_cmpstr(acr_index_cache_remark(cache), ==, NULL);
}

TEST("/index/cache", reading_writes_nothing)
{
    const char *path = cache_path("c");
    g_autofree char *journal = beside(path, "-journal");
    gsize len_before, len_after;
    make_cache(path, 300);
    g_autofree char *before = contents_of(path, &len_before);
    AcrIndexCache *cache = acr_index_cache_open(path, LIMIT);
    g_assert_cmpuint(count_rows(cache, 0, 300), ==, 300);
    acr_index_cache_flush(cache);
    g_assert_cmpint(size_of(journal), ==, -1);
    acr_index_cache_free(cache);
    g_autofree char *after = contents_of(path, &len_after);
    g_assert_cmpmem(before, len_before, after, len_after);
}

TEST("/index/cache", two_caches_in_one_process)
{
    const char *path = cache_path("c");
    g_autoptr(AcrIndexCache) one = acr_index_cache_open(path, LIMIT);
    g_autoptr(AcrIndexCache) two = acr_index_cache_open(path, LIMIT);
    put_rows(one, 0, 10);
    put_rows(two, 10, 10);
    g_assert_cmpuint(count_rows(two, 0, 20), ==, 10);
    acr_index_cache_flush(one);
    acr_index_cache_flush(two);
    g_assert_cmpuint(count_rows(one, 0, 20), ==, 20);
    g_assert_cmpuint(count_rows(two, 0, 20), ==, 20);
}

/* ---- Dropping ---- */

TEST("/index/cache", drops_the_oldest)
{
    const char *path = cache_path("c");
    guint64 limit = 4u * 1024 * 1024;
    AcrIndexCache *cache = acr_index_cache_open(path, limit);
    put_rows(cache, 0, 1000); /* about 3 MB */
    put_rows(cache, 1000, 500);
    acr_index_cache_free(cache);

    g_assert_cmpint(size_of(path), <=, (goffset)limit);
    cache = acr_index_cache_open(path, limit);
    g_assert_cmpuint(count_rows(cache, 0, 300), ==, 0);
    g_assert_cmpuint(count_rows(cache, 700, 800), ==, 800);
    acr_index_cache_free(cache);
}

TEST("/index/cache", limit_holds_however_much_is_put)
{
    const char *path = cache_path("c");
    AcrIndexCache *cache = acr_index_cache_open(path, 0); /* a limit of 0 is raised to 1 MiB */
    for (guint round = 0; round < 20; round++) {
        put_rows(cache, round * 300, 300);
        acr_index_cache_flush(cache);
    }
    g_assert_cmpuint(count_rows(cache, 0, 6000), >, 50);
    acr_index_cache_free(cache);
    g_assert_cmpint(size_of(path), <, 2 * 1024 * 1024);
}

/* ---- Others' files ---- */

/* Opens and uses a cache at a path with foreign content, which must stay. */
static void use_foreign(const char *path, const char *part)
{
    AcrIndexCache *cache = acr_index_cache_open(path, LIMIT);
    put_rows(cache, 0, 5);
    acr_index_cache_flush(cache);
    g_assert_cmpuint(count_rows(cache, 0, 5), ==, 0);
    assert_remark(cache, part);
    acr_index_cache_free(cache);
}

TEST("/index/cache", text_file_is_left_alone)
{
    const char *path = cache_path("notes");
    const char *text = "Not a database, and nobody's cache.\n";
    gsize len;
    set_contents(path, text, strlen(text));
    use_foreign(path, "belongs to another program");
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_index_cache_clear(path, &error), error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED);
    g_autofree char *now = contents_of(path, &len);
    g_assert_cmpmem(now, len, text, strlen(text));
}

TEST("/index/cache", database_of_another_program_is_left_alone)
{
    const char *path = cache_path("acr-host");
    g_autofree char *folder = g_path_get_dirname(path);
    gsize len_before, len_after;
    sqlite3 *db = NULL;
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db, "CREATE TABLE mine(a); INSERT INTO mine VALUES(1);", NULL, NULL, NULL), ==,
                    SQLITE_OK);
    sqlite3_close(db);
    g_autofree char *before = contents_of(path, &len_before);
    use_foreign(path, "belongs to another program");
    g_assert_false(acr_index_cache_clear(path, NULL));
    g_autofree char *after = contents_of(path, &len_after);
    g_assert_cmpmem(before, len_before, after, len_after);
}

static void set_format(const char *path, guint32 format)
{
    gsize len;
    g_autofree char *contents = contents_of(path, &len);
    format = GUINT32_TO_BE(format);
    memcpy(contents + 60, &format, sizeof format);
    set_contents(path, contents, len);
}

TEST("/index/cache", other_formats_are_replaced_without_a_word)
{
    static const guint32 formats[] = {0, ACR_CACHE_FORMAT - 1, ACR_CACHE_FORMAT + 1, 1u << 30};
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
        const char *path = cache_path("c");
        make_cache(path, 5);
        set_format(path, formats[i]);
        g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, LIMIT);
        g_assert_cmpuint(count_rows(cache, 0, 5), ==, 0);
        put_rows(cache, 0, 5);
        acr_index_cache_flush(cache);
        g_assert_cmpuint(count_rows(cache, 0, 5), ==, 5);
        g_assert_cmpstr(acr_index_cache_remark(cache), ==, NULL);
    }
}

/* ---- Places ---- */

TEST("/index/cache", folder_or_pipe_at_the_path)
{
    const char *folder = cache_path("c"), *pipe = cache_path("d");
    g_autofree char *above = g_path_get_dirname(pipe);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    use_foreign(folder, "it is not used");
    g_assert_cmpint(g_mkdir_with_parents(above, 0700), ==, 0);
    g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
    use_foreign(pipe, "it is not used");
    g_assert_false(acr_index_cache_clear(folder, NULL));
    g_assert_false(acr_index_cache_clear(pipe, NULL));
}

TEST("/index/cache", no_folder_can_be_made)
{
    const char *path = cache_path("c");
    set_contents(path, "x", 1);
    g_autofree char *below = g_build_filename(path, "sub", "outlines.sqlite", NULL);
    use_foreign(below, "cannot be created");
}

TEST("/index/cache", path_longer_than_sqlite_takes)
{
    const char *path = cache_path("c");
    g_autofree char *part = g_strnfill(200, 'p');
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *longer = g_build_filename(folder, part, part, part, "outlines.sqlite", NULL);
    use_foreign(longer, "it is not used");
}

TEST("/index/cache", link_leads_to_the_file)
{
    const char *path = cache_path("c"), *link = cache_path("d");
    g_autofree char *folder = g_path_get_dirname(link);
    make_cache(path, 5);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_assert_cmpint(symlink(path, link), ==, 0);
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(link, LIMIT);
    g_assert_cmpuint(count_rows(cache, 0, 5), ==, 5);
    put_rows(cache, 5, 5);
    acr_index_cache_flush(cache);
    g_assert_cmpuint(count_rows(cache, 0, 10), ==, 10);
    g_assert_true(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
}

TEST("/index/cache", odd_names)
{
    static const char *const names[] = {"a b%20c?x=1#y", "file:x", ":memory:", "\xff\xfe", "l\ni"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        const char *path = cache_path(names[i]);
        make_cache(path, 5);
        assert_text(use_cache(path, 5), NULL);
        g_assert_true(acr_index_cache_clear(path, NULL));
        g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    }
}

TEST("/index/cache", folder_in_place_of_a_file_beside)
{
    const char *path = cache_path("c");
    make_cache(path, 50);
    g_autofree char *blocked = beside(path, "-journal/x");
    g_assert_cmpint(g_mkdir_with_parents(blocked, 0700), ==, 0);
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, LIMIT);
    put_rows(cache, 50, 5);
    acr_index_cache_flush(cache);
    g_assert_cmpuint(count_rows(cache, 50, 5), ==, 0);
    assert_remark(cache, "cannot be ");
}

/* ---- Removing ---- */

TEST("/index/cache", clear_removes_its_own_files_only)
{
    const char *path = cache_path("acr-host");
    g_autoptr(GError) error = NULL;
    g_assert_true(acr_index_cache_clear(path, &error)); /* even the folder is missing */
    make_cache(path, 5);
    g_autofree char *other = beside(path, ".txt");
    set_contents(other, "x", 1);
    assert_ok(acr_index_cache_clear(path, &error), error);
    static const char *const own[] = {"", "-wal", "-shm", "-journal"};
    for (gsize i = 0; i < G_N_ELEMENTS(own); i++) {
        g_autofree char *name = beside(path, own[i]);
        g_assert_false(g_file_test(name, G_FILE_TEST_EXISTS));
    }
    g_assert_true(g_file_test(other, G_FILE_TEST_EXISTS));
    g_assert_true(acr_index_cache_clear(path, &error));
    make_cache(path, 5);
}

TEST("/index/cache", clear_under_a_user)
{
    const char *path = cache_path("c");
    make_cache(path, 50);
    g_autoptr(AcrIndexCache) user = acr_index_cache_open(path, LIMIT);
    g_assert_cmpuint(count_rows(user, 0, 10), ==, 10);
    g_assert_true(acr_index_cache_clear(path, NULL));
    /* clearing removes the rows for all users of the cache */
    g_assert_cmpuint(count_rows(user, 0, 50), ==, 0);
    put_rows(user, 50, 5);
    acr_index_cache_flush(user);
    g_autoptr(AcrIndexCache) next = acr_index_cache_open(path, LIMIT);
    g_assert_cmpuint(count_rows(next, 0, 55), ==, 5); /* written to a new file */
    g_assert_cmpstr(acr_index_cache_remark(user), ==, NULL);
}

/* ---- Other processes ---- */

TEST("/index/cache", locked_for_writing)
{
    const char *path = cache_path("c");
    make_cache(path, 50);
    sqlite3 *db = NULL;
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), ==, SQLITE_OK);
    gint64 start = g_get_monotonic_time();
    AcrIndexCache *cache = acr_index_cache_open(path, LIMIT);
    put_rows(cache, 50, 1500);
    acr_index_cache_flush(cache);
    g_assert_cmpuint(count_rows(cache, 0, 60), ==, 50);
    assert_remark(cache, "is locked");
    acr_index_cache_free(cache);
    g_assert_cmpint(g_get_monotonic_time() - start, <, 6 * G_USEC_PER_SEC);
    sqlite3_close(db);
}

TEST("/index/cache", locked_altogether)
{
    const char *path = cache_path("c");
    make_cache(path, 50);
    sqlite3 *db = NULL;
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db,
                                 "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;"
                                 "DELETE FROM outline WHERE place = -1; COMMIT;",
                                 NULL, NULL, NULL),
                    ==, SQLITE_OK);
    gint64 start = g_get_monotonic_time();
    use_foreign(path, "is locked");
    g_assert_cmpint(g_get_monotonic_time() - start, <, 6 * G_USEC_PER_SEC);
    sqlite3_close(db);
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, LIMIT);
    g_assert_cmpuint(count_rows(cache, 0, 50), ==, 50);
}

TEST("/index/cache", descriptors_are_closed_on_exec)
{
    const char *path = cache_path("c");
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, LIMIT);
    put_rows(cache, 0, 5);
    acr_index_cache_flush(cache);
    DIR *descriptors = opendir("/proc/self/fd");
    g_assert_nonnull(descriptors);
    guint found = 0;
    for (struct dirent *entry; (entry = readdir(descriptors));) {
        g_autofree char *name = g_build_filename("/proc/self/fd", entry->d_name, NULL);
        g_autofree char *target = g_file_read_link(name, NULL);
        if (!target || !strstr(target, "outlines.sqlite"))
            continue;
        int flags = fcntl((int)g_ascii_strtoll(entry->d_name, NULL, 10), F_GETFD);
        g_assert_true(flags & FD_CLOEXEC);
        found++;
    }
    closedir(descriptors);
    g_assert_cmpuint(found, >=, 1);
}
