/* Tests of which files a search for a word skips. */
#include "index/index_private.h"
#include "index_fixture.h"

#include <string.h>

static const TestFile FILES[] = {{"a.py", "A|alpha|1|1|\nA|beta_2|2|2|\n"},
                                 {"b.py", "A|beta|1|1|\nA|x2y|2|2|\n"},
                                 {"c.py", "A|alphabeta|1|1|\n"},
                                 {"d.py", ""},
                                 {"e.py", "# coding: latin-1\nA|gamma|1|1|\n"},
                                 {"f.py", "A|alpha|1|1|\nA|beta_2|2|2|\n"},
                                 {NULL, NULL}};

/* Expects that a search reads these files; each letter is the number of a file. */
static void expect(AcrIndex *index, const char *text, bool whole, const char *expected)
{
    g_autoptr(GArray) files = acr_index_files_with(index, text, whole);
    g_autoptr(GString) found = g_string_new(NULL);
    for (guint i = 0; i < files->len; i++)
        g_string_append_c(found, acr_index_file(index, g_array_index(files, gsize, i))->path[0]);
    g_assert_cmpstr(found->str, ==, expected);
}

static AcrIndex *build(AcrSnapshot *snapshot, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrIndexCache) cache = path ? acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES) : NULL;
    AcrOutliner outliner = fake_outliner();
    AcrIndexOptions options = {.outliner = &outliner, .cache = cache};
    AcrIndex *index = made(acr_index_build(snapshot, &options, &error), error);
    return index;
}

static void expect_known(AcrIndex *index)
{
    expect(index, "alpha", true, "adef");
    expect(index, "beta", true, "bde");
    expect(index, "beta_2", true, "adef");
    expect(index, "gamma", true, "de");
    expect(index, "nowhere", true, "de");
    expect(index, "alpha + beta_2", true, "adef");
    expect(index, "alpha + beta", true, "de");
    expect(index, "alph\303\244", true, "de");
    expect(index, "2", true, "abcdef"); /* not a word */
    expect(index, "", true, "abcdef");
    expect(index, "nowhere", false, "de");
    expect(index, "phab", false, "cde"); /* a part of a longer word */
    expect(index, "x2", false, "abcdef");
    expect(index, " x2y", false, "bde");
    expect(index, "x(lpha, beta_2)", false, "adef");
}

TEST("/index/words", files_without_a_word_are_left_out)
{
    g_autofree char *dir = g_dir_make_tmp("acr-index-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "cache", NULL);
    g_autoptr(AcrSnapshot) snapshot = snapshot_of(FILES);
    /* first without a cache, then into it, then from it */
    for (guint round = 0; round < 3; round++) {
        g_autoptr(AcrIndex) index = build(snapshot, round ? path : NULL);
        expect_known(index);
    }
    g_assert_true(acr_dir_remove(dir, NULL));
}

#define BITS "12345678"

/* A cache that another program wrote may have any bytes after the rows. */
TEST("/index/words", what_stands_behind_rows_is_checked)
{
    static const TestFile files[] = {{"a.py", ""}, {NULL, NULL}};
    static const struct {
        const char *behind;
        gsize len;
        const char *unparsed; /* a part of the expected reason */
    } cases[] = {{BITS "\0\0\0\0\100\0\0\0", 16, NULL},
                 {"\1\002" BITS "\1\0\0\0\100\0\0\0", 18, NULL},
                 {"\7\7\1\1\7\7" BITS "\3\0\0\0\100\0\0\0", 22, NULL}, /* unsorted */
                 {"", 0, NULL},                                        /* no hashes */
                 {"\0\0\0", 3, "cannot read its own outline"},
                 {BITS "\1\0\0\0\100\0\0\0", 16, "cannot read its own outline"},
                 {BITS "\377\377\377\377\100\0\0\0", 16, "cannot read its own outline"},
                 {BITS "\0\0\0\0\101\0\0\0", 16, "cannot read its own outline"},
                 {BITS "\0\0\0\0\0\0\0\0", 16, "cannot read its own outline"},
                 {BITS "\0\0\0\0\0\0\2\0", 16, "cannot read its own outline"}};
    g_autofree char *dir = g_dir_make_tmp("acr-index-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "cache", NULL);
    g_autoptr(AcrSnapshot) snapshot = snapshot_of(files);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GByteArray) rows = g_byte_array_new();
        g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
        g_byte_array_append(rows, (const guint8 *)"A\tx\t1\t1\t\n", 9);
        g_byte_array_append(rows, (const guint8 *)cases[i].behind, (guint)cases[i].len);
        g_autoptr(GBytes) bytes = g_bytes_new(rows->data, rows->len);
        acr_index_cache_put(cache, acr_snapshot_entry(snapshot, 0)->id, fake_outliner().version, bytes);
        g_clear_pointer(&cache, acr_index_cache_free);
        g_autoptr(AcrIndex) index = build(snapshot, path);
        const char *unparsed = acr_index_file(index, 0)->unparsed;
        g_assert_true(cases[i].unparsed ? unparsed && strstr(unparsed, cases[i].unparsed) : unparsed == NULL);
        g_autoptr(GArray) found = acr_index_files_with(index, "nowhere", true);
        g_assert_cmpuint(found->len, <=, 1);
        g_assert_true(found->len == 1 || !unparsed);
    }
    g_assert_true(acr_dir_remove(dir, NULL));
}
