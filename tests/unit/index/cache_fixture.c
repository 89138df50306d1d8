/* Caches with known rows, and child processes of this executable that use these caches. */
#include "cache_fixture.h"

#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static void remove_tree(gpointer path)
{
    g_autoptr(GError) error = NULL;
    if (!acr_dir_remove(path, &error))
        g_test_message("%s", error->message);
    g_free(path);
}

const char *cache_path(const char *folder)
{
    char *root = g_dir_make_tmp("acr-cache-XXXXXX", NULL);
    g_assert_nonnull(root);
    g_test_queue_destroy(remove_tree, root);
    char *path = g_build_filename(root, folder, "outlines.sqlite", NULL);
    g_test_queue_free(path);
    return path;
}

/* ---- Rows ---- */

void id_of(guint number, guint8 out[ACR_BLOB_ID_LEN])
{
    g_autofree char *text = g_strdup_printf("blob %u", number);
    g_autofree char *hex = acr_sha256_hex(text, strlen(text));
    for (gsize i = 0; i < ACR_BLOB_ID_LEN; i++)
        out[i] = (guint8)(g_ascii_xdigit_value(hex[2 * i]) << 4 | g_ascii_xdigit_value(hex[2 * i + 1]));
}

GBytes *rows_of(guint number)
{
    guint32 state = number * 2654435761u + 1;
    gsize len = number % 17 == 0 ? 0 : (number * 7919u) % 6000 + (number % 23 == 0 ? 3000 : 0);
    guint8 *bytes = g_malloc(len + 1);
    for (gsize i = 0; i < len; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (guint8)(state >> 24);
    }
    return g_bytes_new_take(bytes, len);
}

void put_rows(AcrIndexCache *cache, guint first, guint n)
{
    for (guint number = first; number < first + n; number++) {
        guint8 id[ACR_BLOB_ID_LEN];
        g_autoptr(GBytes) rows = rows_of(number);
        id_of(number, id);
        acr_index_cache_put(cache, id, VERSION, rows);
    }
}

guint count_rows(AcrIndexCache *cache, guint first, guint n)
{
    guint found = 0;
    acr_index_cache_begin(cache, n);
    for (guint number = first; number < first + n; number++) {
        guint8 id[ACR_BLOB_ID_LEN];
        id_of(number, id);
        g_autoptr(GBytes) got = acr_index_cache_get(cache, id, VERSION);
        g_autoptr(GBytes) expected = rows_of(number);
        g_assert_true(!got || g_bytes_equal(got, expected));
        found += got != NULL;
    }
    acr_index_cache_end(cache);
    return found;
}

void make_cache(const char *path, guint n)
{
    g_autoptr(AcrIndexCache) cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
    put_rows(cache, 0, n);
    acr_index_cache_flush(cache);
    g_assert_cmpstr(acr_index_cache_remark(cache), ==, NULL);
    g_assert_cmpuint(count_rows(cache, 0, n), ==, n);
}

char *use_cache(const char *path, guint n)
{
    AcrIndexCache *cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
    count_rows(cache, 0, n);
    put_rows(cache, 0, n);
    acr_index_cache_flush(cache);
    char *remark = g_strdup(acr_index_cache_remark(cache));
    acr_index_cache_free(cache);
    cache = acr_index_cache_open(path, ACR_INDEX_CACHE_DEFAULT_BYTES);
    guint kept = count_rows(cache, 0, n);
    if (kept != n || acr_index_cache_remark(cache))
        g_error("%u of %u rows; at first: %s; then: %s", kept, n, remark, acr_index_cache_remark(cache));
    acr_index_cache_free(cache);
    return remark;
}

/* ---- Children ---- */

pid_t start_child(const char *mode, const char *path, guint number)
{
    pid_t pid = 0;
    g_autofree char *text = g_strdup_printf("%u", number);
    char *argv[] = {(char *)"/proc/self/exe", (char *)CHILD_ARGUMENT, (char *)mode, (char *)path, text, NULL};
    g_assert_cmpint(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), ==, 0);
    return pid;
}

int end_of_child(pid_t pid)
{
    int status = 0;
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
