/* Tests of damaged cache files: whatever the damage, each row is absent or exactly what was put,
 * and afterwards the cache stores rows again. */
#include "cache_fixture.h"
#include "index/cache_private.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#define ROWS 120

typedef struct {
    guint8 *bytes;
    gsize len;
} Template;

static void template_clear(Template *template)
{
    g_free(template->bytes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Template, template_clear)

/* Creates a cache file at the path, and returns its bytes. */
static Template template_at(const char *path)
{
    Template template = {0};
    make_cache(path, ROWS);
    g_assert_true(g_file_get_contents(path, (char **)&template.bytes, &template.len, NULL));
    return template;
}

static void lay(const char *path, const void *bytes, gsize len)
{
    g_autoptr(GError) error = NULL;
    if (!acr_file_write_atomic(path, bytes, len, 0600, &error))
        g_error("%s", error->message);
}

/* The cache may find damage only when it uses the damaged page for another row. It then creates the
 * file again, so after a few uses all rows must be there. */
static void assert_settles(const char *path)
{
    for (int use = 0;; use++) {
        g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
        bool whole = count_rows(cache, 0, ROWS) == ROWS;
        put_rows(cache, 0, ROWS);
        acr_index_cache_flush(cache);
        const char *remark = acr_index_cache_remark(cache);
        g_assert_true(!remark || strstr(remark, "was damaged and has been rebuilt"));
        if (whole && !remark)
            return;
        g_assert_cmpint(use, <, 4);
    }
}

static void assert_rebuilt(const char *path)
{
    g_autofree char *remark = use_cache(path, ROWS);
    g_assert_nonnull(remark);
    g_assert_nonnull(strstr(remark, "was damaged and has been rebuilt"));
}

TEST("/index/cache_damage", cut_short)
{
    const char *path = cache_path("acr-host");
    g_auto(Template) whole = template_at(path);
    static const gsize odd[] = {15, 16, 60, 99, 100, 101, 512, 4095, 4096, 4097, 8192};
    for (gsize i = 0; i < G_N_ELEMENTS(odd); i++) {
        g_test_message("%zu of %zu bytes", odd[i], whole.len);
        lay(path, whole.bytes, odd[i]);
        assert_rebuilt(path);
    }
    for (gsize cut = 1; cut < 8; cut++) {
        lay(path, whole.bytes, whole.len * cut / 8);
        assert_rebuilt(path);
    }
}

TEST("/index/cache_damage", empty_file_becomes_a_cache)
{
    const char *path = cache_path("c");
    g_autofree char *folder = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    lay(path, "", 0);
    assert_text(use_cache(path, ROWS), NULL);
}

TEST("/index/cache_damage", noise)
{
    const char *path = cache_path("acr-host");
    g_auto(Template) whole = template_at(path);
    g_autoptr(GRand) rand = g_rand_new_with_seed(4);
    for (int round = 0; round < 4; round++) {
        /* Damages the whole file, or only the part after the header. */
        for (gsize i = round % 2 ? 100 : 0; i < whole.len; i++)
            whole.bytes[i] = (guint8)g_rand_int(rand);
        if (round % 2 == 0) {
            lay(path, whole.bytes, whole.len);
            assert_rebuilt(path);
        }
        g_auto(Template) again = template_at(path);
        memcpy(whole.bytes, again.bytes, 100);
        lay(path, whole.bytes, whole.len);
        assert_rebuilt(path);
    }
}

/* Changes some bytes of each page in turn; the first pages contain the schema. */
TEST("/index/cache_damage", changed_bytes_in_any_page)
{
    const char *path = cache_path("acr-host");
    g_auto(Template) whole = template_at(path);
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    gsize pages = whole.len / ACR_CACHE_PAGE_BYTES;
    g_assert_cmpuint(pages, >, 60);
    for (gsize page = 0; page < pages; page++) {
        g_autofree guint8 *bytes = g_memdup2(whole.bytes, whole.len);
        for (int change = 0; change < 4; change++) {
            gsize first = page == 0 ? 100 : 0;
            gsize off = change < 2 ? first + g_rand_int_range(rand, 0, 24) : first + g_rand_int_range(rand, 0, 3900);
            bytes[page * ACR_CACHE_PAGE_BYTES + off] ^= (guint8)g_rand_int_range(rand, 1, 256);
        }
        lay(path, bytes, whole.len);
        assert_settles(path);
    }
}

/* Changes each byte of the file's header in turn. */
TEST("/index/cache_damage", changed_bytes_in_the_header)
{
    const char *path = cache_path("acr-host");
    g_auto(Template) whole = template_at(path);
    for (gsize off = 0; off < 100; off++) {
        g_autofree guint8 *bytes = g_memdup2(whole.bytes, whole.len);
        bytes[off] ^= 0x55;
        lay(path, bytes, whole.len);
        AcrIndexCache *cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
        count_rows(cache, 0, ROWS);
        put_rows(cache, 0, ROWS);
        acr_index_cache_flush(cache);
        /* the application id, which marks the file as ours */
        bool left_alone = off >= 68 && off < 72;
        guint n = count_rows(cache, 0, ROWS);
        if (n != (left_alone ? 0 : ROWS))
            g_error("header byte %zu: %u rows: %s", off, n, acr_index_cache_remark(cache));
        acr_index_cache_free(cache);
    }
}

/* SQLite cannot notice this damage. */
TEST("/index/cache_damage", changed_rows_are_damage)
{
    const char *path = cache_path("c");
    g_auto(Template) whole = template_at(path);
    guint spoiled = 0;
    for (guint number = 1; number < ROWS; number += 7) {
        g_autoptr(GBytes) rows = rows_of(number);
        gsize len;
        const void *bytes = g_bytes_get_data(rows, &len);
        guint8 *at = len >= 32 ? memmem(whole.bytes, whole.len, bytes, 32) : NULL;
        if (at) {
            at[9] ^= 1;
            spoiled++;
        }
    }
    g_assert_cmpuint(spoiled, >, 5);
    lay(path, whole.bytes, whole.len);
    assert_rebuilt(path);
}

/* Rows are moved to another blob's id; the checksum covers the id. The few rows that are equal
 * anyway do not count. */
TEST("/index/cache_damage", rows_of_another_blob_are_absent)
{
    const char *path = cache_path("c");
    make_cache(path, ROWS);
    sqlite3 *db = NULL;
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db, "UPDATE outline SET rows = (SELECT rows FROM outline LIMIT 1)", NULL, NULL, NULL),
                    ==, SQLITE_OK);
    sqlite3_close(db);
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
    g_assert_cmpuint(count_rows(cache, 0, ROWS), <, ROWS / 4);
}

/* A trigger would run on every put. */
TEST("/index/cache_damage", other_tables_are_damage)
{
    static const char *const changes[] = {
        "CREATE TRIGGER t AFTER INSERT ON outline BEGIN DELETE FROM outline; END", "CREATE VIEW v AS SELECT 1",
        "CREATE INDEX i ON outline(sum)",
        "DROP TABLE outline; CREATE VIEW outline AS SELECT 1 AS key, 1 AS sum, 1 AS rows"};
    for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
        const char *path = cache_path("c");
        make_cache(path, ROWS);
        sqlite3 *db = NULL;
        g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_exec(db, changes[i], NULL, NULL, NULL), ==, SQLITE_OK);
        sqlite3_close(db);
        assert_rebuilt(path);
    }
}

TEST("/index/cache_damage", damaged_files_beside_it)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal", "-lock"};
    g_autoptr(GRand) rand = g_rand_new_with_seed(6);
    const char *path = cache_path("c");
    for (gsize i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        guint8 noise[40000];
        make_cache(path, ROWS);
        g_autofree char *name = g_strconcat(path, suffixes[i], NULL);
        for (gsize k = 0; k < sizeof noise; k++)
            noise[k] = (guint8)g_rand_int(rand);
        lay(name, noise, sizeof noise);
        assert_text(use_cache(path, ROWS), NULL);
        g_assert_true(acr_index_cache_clear(path, NULL));
        bool stays = g_file_test(name, G_FILE_TEST_EXISTS);
        g_assert_true(stays == (strcmp(suffixes[i], "-lock") == 0));
    }
}
