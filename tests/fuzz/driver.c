/* Runs a fuzz target without libFuzzer: on the empty input, on every file of the given folders, and
 * on each file truncated at sixteen places, because parsers of untrusted text often meet truncated
 * text. A target aborts if it finds a fault; the driver fails if a folder is missing or has no
 * files. */
#include <glib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUTS 16

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs the target on a copy of the bytes, so that a sanitizer notices reads past the end. The start
 * of one file is often that of another; such an input runs once. */
static void run_on(GHashTable *done, const char *data, gsize len)
{
    uint8_t *copy = malloc(len ? len : 1);

    g_assert(copy);
    if (g_hash_table_add(done, g_bytes_new(data, len))) {
        memcpy(copy, data, len);
        LLVMFuzzerTestOneInput(copy, len);
    }
    free(copy);
}

static gboolean run_file(GHashTable *done, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *data = NULL;
    gsize len;

    if (!g_file_get_contents(path, &data, &len, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return FALSE;
    }
    for (gsize cut = 1; cut < CUTS; cut++)
        run_on(done, data, len * cut / CUTS);
    run_on(done, data, len);
    return TRUE;
}

/* Returns the number of files that were run, or prints an error and returns -1. */
static int run_folder(GHashTable *done, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, &error);
    const char *name;
    int files = 0;

    if (!dir) {
        fprintf(stderr, "%s\n", error->message);
        return -1;
    }
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);

        if (!run_file(done, path))
            return -1;
        files++;
    }
    if (files == 0)
        fprintf(stderr, "no file in '%s'\n", folder);
    return files ? files : -1;
}

int main(int argc, char **argv)
{
    g_autoptr(GHashTable) done =
        g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
    int total = 0;

    if (LLVMFuzzerInitialize && LLVMFuzzerInitialize(&argc, &argv) != 0)
        return 1;
    run_on(done, "", 0);
    for (int i = 1; i < argc; i++) {
        int files = run_folder(done, argv[i]);

        if (files < 0)
            return 1;
        total += files;
    }
    printf("%d files\n", total);
    return 0;
}
