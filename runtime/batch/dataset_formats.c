/* Reads data sets in other formats than SWE-bench's JSON. The user's python3 runs a program
 * (python/acr/dataset/rows.py) that converts the rows to JSON lines with SWE-bench's fields. */
#include "batch/batch.h"

#include <string.h>

#define READER "acr/dataset/rows.py"
#define READ_MS ((gint64)600 * 1000)
#define PYTHON "python3"

#define refuse(error, ...)                                                                         \
    acr_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET,                                 \
                  "cannot use the data set: " __VA_ARGS__)

static bool is_json_file(const char *path)
{
    static const char *const endings[] = {".parquet", ".arrow", ".csv", ".gz"};
    for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_str_has_suffix(path, endings[i]))
            return false;
    return !g_file_test(path, G_FILE_TEST_IS_DIR);
}

/* True if the rows have SWE-bench's format: the user has no tables of other data sets, and the rows
 * lack the fields by which our tables (sets/) recognise other data sets. (Quotes inside a row's
 * text have a backslash, so text cannot match a field.) */
static bool is_of_swe_bench(GBytes *bytes)
{
    static const char *const fields[] = {"\"install_config\"", "\"test_cmds\"", "\"dockerhub_tag\"",
                                         "\"image_name\"", "\"fault\""};
    g_autofree char *own = acr_user_path("XDG_CONFIG_HOME", ".config", "datasets"),
                    *text = acr_bytes_text(bytes);
    for (guint i = 0; i < G_N_ELEMENTS(fields); i++)
        if (strstr(text, fields[i]))
            return false;
    return !own || !g_file_test(own, G_FILE_TEST_IS_DIR);
}

static bool check_reader(const AcrSpawnResult *spawned, const char *path, GError **error)
{
    g_autofree char *told = acr_bytes_last_line(spawned->err);
    if (spawned->interrupted)
        return refuse(error, "interrupted");
    if (spawned->timed_out)
        return refuse(error, "reading '%s' took longer than %d s", path, (int)(READ_MS / 1000));
    if (spawned->out_total > ACR_DATASET_MAX_BYTES)
        return refuse(error, "'%s' is larger than %u bytes", path, ACR_DATASET_MAX_BYTES);
    if (spawned->exit_code == 0)
        return true;
    return *told ? refuse(error, "%s", told)
                 : refuse(error, "the process that read '%s' was ended by signal %d", path,
                          spawned->signal);
}

static GBytes *print_rows(const AcrHost *host, const AcrRunSpec *spec, GError **error)
{
    g_autofree char *reader = g_build_filename(host->python_dir, READER, NULL);
    const char *const argv[] = {PYTHON, "-B", reader, spec->dataset, spec->split, NULL};
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
            refuse(error, "'%s' needs " PYTHON " to be read: %s", spec->dataset, reason->message));
    return check_reader(&spawned, spec->dataset, error) ? g_bytes_ref(spawned.out) : NULL;
}

GPtrArray *acr_dataset_load(const AcrHost *host, const AcrRunSpec *spec, AcrDatasetUse use,
                            const char *const *only, GError **error)
{
    const char *path = spec->dataset;
    g_autoptr(GBytes) printed = NULL;
    if (is_json_file(path)) {
        g_autoptr(GBytes) bytes = acr_file_read(path, ACR_DATASET_MAX_BYTES, NULL);
        g_autoptr(GPtrArray) rows =
            !bytes || is_of_swe_bench(bytes) ? acr_dataset_read(path, use, NULL, error) : NULL;
        if (rows)
            return !only || acr_dataset_select(rows, path, only, error) ? g_steal_pointer(&rows)
                                                                        : NULL;
        if (!bytes)
            return NULL;
        g_clear_error(error);
    }
    printed = print_rows(host, spec, error);
    return printed ? acr_dataset_parse(printed, path, use, only, error) : NULL;
}
