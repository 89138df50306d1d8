/* Fuzzes the outline cache with the bytes of its file. Whatever they are, the cache must neither
 * crash nor hang, must return only rows that were put, and must store rows again unless the file
 * belongs to another program.
 *
 * The first byte of the input selects its form: the whole file; changes to a valid file, three
 * bytes each (place in 1/65536 of the file, value); or the journal beside a valid file. */
#include "index/index.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS 40
#define VERSION "1"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static GBytes *rows_of(guint number)
{
    guint8 bytes[3000];
    for (gsize i = 0; i < sizeof bytes; i++)
        bytes[i] = (guint8)(number * 31 + i * (number + 7) / 5);
    return g_bytes_new(bytes, number * 61 % sizeof bytes);
}

static void id_of(guint number, guint8 id[ACR_BLOB_ID_LEN])
{
    memset(id, 0, ACR_BLOB_ID_LEN);
    for (guint i = 0; i < 8; i++)
        id[i] = (guint8)((number + 1) * 2654435761u >> (i * 3));
    id[ACR_BLOB_ID_LEN - 1] = (guint8)number;
}

static guint count(AcrIndexCache *cache)
{
    guint found = 0;
    for (guint number = 0; number < ROWS; number++) {
        guint8 id[ACR_BLOB_ID_LEN];
        id_of(number, id);
        g_autoptr(GBytes) got = acr_index_cache_get(cache, id, VERSION);
        g_autoptr(GBytes) expected = rows_of(number);
        g_assert_true(!got || g_bytes_equal(got, expected));
        found += got != NULL;
    }
    return found;
}

static void put_all(AcrIndexCache *cache)
{
    for (guint number = 0; number < ROWS; number++) {
        guint8 id[ACR_BLOB_ID_LEN];
        g_autoptr(GBytes) rows = rows_of(number);
        id_of(number, id);
        acr_index_cache_put(cache, id, VERSION, rows);
    }
    acr_index_cache_flush(cache);
}

static void write_file(const char *path, const void *bytes, gsize len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    g_assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && close(fd) == 0);
}

/* The bytes of a valid cache file; made anew for each input, because nothing outlives an input. */
static GBytes *whole_file(const char *path)
{
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, 0);
    put_all(cache);
    g_assert_null(acr_index_cache_remark(cache));
    g_clear_pointer(&cache, acr_index_cache_free);
    GBytes *bytes = acr_file_read(path, 1u << 24, NULL);
    g_assert_nonnull(bytes);
    return bytes;
}

static void change(guint8 *bytes, gsize len, const uint8_t *data, size_t size)
{
    for (; size >= 3; data += 3, size -= 3)
        bytes[(gsize)(data[0] << 8 | data[1]) * len / 65536] = data[2];
}

/* Writes the file that the input describes. */
static void lay(const char *path, const uint8_t *data, size_t size)
{
    g_autofree char *journal = g_strconcat(path, "-journal", NULL);
    guint8 kind = size ? data[0] % 4 : 0;
    if (size) {
        data++;
        size--;
    }
    if (kind == 0) {
        write_file(path, data, size);
        return;
    }
    g_autoptr(GBytes) whole = whole_file(path);
    gsize len = g_bytes_get_size(whole);
    g_autofree guint8 *bytes = g_memdup2(g_bytes_get_data(whole, NULL), len);
    if (kind == 1)
        change(bytes, len, data, size);
    else if (kind == 2)
        memcpy(bytes, data, MIN(len, size)); /* overwrite the beginning */
    else
        write_file(journal, data, size);
    write_file(path, bytes, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char root[] = "/dev/shm/acr-fuzz-XXXXXX";
    if (!g_mkdtemp(root)) {
        g_strlcpy(root, "/tmp/acr-fuzz-XXXXXX", sizeof root);
        g_assert_nonnull(g_mkdtemp(root));
    }
    g_autofree char *folder = g_build_filename(root, "acr-host", NULL);
    g_autofree char *path = g_build_filename(folder, "outlines.sqlite", NULL);
    g_assert_cmpint(mkdir(folder, 0700), ==, 0);
    lay(path, data, size);
    guint kept = 0;
    bool left_alone = false;
    for (int use = 0; use < 6 && kept < ROWS && !left_alone; use++) {
        g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, 0);
        kept = count(cache);
        put_all(cache);
        count(cache);
        const char *remark = acr_index_cache_remark(cache);
        left_alone = remark && (strstr(remark, "belongs to another program") || strstr(remark, "cannot be "));
    }
    g_assert_true(kept == ROWS || left_alone);
    g_assert_true(acr_index_cache_clear(path, NULL) || left_alone);
    g_assert_true(acr_dir_remove(root, NULL));
    return 0;
}
