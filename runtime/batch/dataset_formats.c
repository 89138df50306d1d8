/*
 * Data sets of other formats than JSON: a program in Python (python/acr/dataset/rows.py), started with the
 * user's python3, prints their rows as JSON lines, which are read as any other.
 */
#include "batch/batch.h"

#include <string.h>

#define READER "acr/dataset/rows.py"
#define READ_MS ((gint64)600 * 1000)
#define PYTHON "python3"

#define refuse(error, ...)                                                                         \
    acr_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET,                                 \
                  "cannot use the data set: " __VA_ARGS__)

static bool is_json(const char *path)
{
    return !g_file_test(path, G_FILE_TEST_IS_DIR) && !g_str_has_suffix(path, ".parquet") &&
           !g_str_has_suffix(path, ".arrow");
}

/* Whether the reader printed all rows. */
static bool check_reader(const AcrSpawnResult *spawned, const char *path, GError **error)
{
    g_autofree char *told = g_strchomp(acr_utf8_repair_bytes(spawned->err));
    const char *last = strrchr(told, '\n');
    if (spawned->interrupted)
        return refuse(error, "interrupted");
    if (spawned->timed_out)
        return refuse(error, "'%s' was not read within %d s", path, (int)(READ_MS / 1000));
    if (spawned->out_total > ACR_DATASET_MAX_BYTES)
        return refuse(error, "'%s' holds more than %u bytes", path, ACR_DATASET_MAX_BYTES);
    if (spawned->exit_code == 0)
        return true;
    return *told
               ? refuse(error, "%s", last ? last + 1 : told)
               : refuse(error, "the reader of '%s' was ended by signal %d", path, spawned->signal);
}

GPtrArray *acr_dataset_load(const AcrHost *host, const AcrRunSpec *spec, AcrDatasetUse use,
                            const char *const *only, GError **error)
{
    const char *path = spec->dataset;
    if (is_json(path))
        return acr_dataset_read(path, use, only, error);
    g_autofree char *reader = g_build_filename(host->python_dir, READER, NULL);
    const char *const argv[] = {PYTHON, "-B", reader, path, spec->split, NULL};
    AcrSpawn spawn = {
        .argv = argv,
        .timeout_ms = READ_MS,
        .output_limit = ACR_DATASET_MAX_BYTES,
        .flood_limit = ACR_DATASET_MAX_BYTES,
        .interrupt = host->interrupt,
    };
    g_auto(AcrSpawnResult) spawned = {0};
    g_autoptr(GError) reason = NULL;
    if (!acr_spawn_run(&spawn, &spawned, &reason))
        return ACR_NULL(
            refuse(error, "'%s' needs " PYTHON " to be read: %s", path, reason->message));
    return check_reader(&spawned, path, error)
               ? acr_dataset_parse(spawned.out, path, use, only, error)
               : NULL;
}
