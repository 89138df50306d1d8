/* Selects the tasks of a batch from a data set in four steps: takes the tasks that match a pattern
 * or a list of names, keeps those that failed in the last run, shuffles them, and takes a slice. */
#include <regex.h>
#include <string.h>

#include "batch/batch.h"
#include "batch/batch_summary.h"

#define MAX_LIST_BYTES ((gsize)1024 * 1024 * 1024)

#define refuse(error, ...)                                                                         \
    acr_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET, __VA_ARGS__)

static const char *id_of(const GPtrArray *rows, guint i)
{
    return ((const AcrInstance *)rows->pdata[i])->instance_id;
}

static void keep_wanted(GPtrArray *rows, bool (*is_wanted)(const void *ctx, const char *id),
                        const void *ctx)
{
    for (guint i = rows->len; i-- > 0;)
        if (!is_wanted(ctx, id_of(rows, i)))
            g_ptr_array_remove_index(rows, i);
}

static bool matches(const void *pattern, const char *id)
{
    return regexec(pattern, id, 0, NULL, 0) == 0;
}

static bool keep_matching(GPtrArray *rows, const char *text, GError **error)
{
    regex_t pattern;
    int failed = regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB);
    if (failed) {
        char why[200];
        regerror(failed, &pattern, why, sizeof why);
        return refuse(error, "--instances: '%s' is neither a file nor a valid pattern: %s", text,
                      why);
    }
    keep_wanted(rows, matches, &pattern);
    regfree(&pattern);
    return rows->len > 0 || refuse(error, "--instances: no task matches '%s'", text);
}

/* Returns the task name in a line: the whole line, or the "instance_id" of a row in JSON; owned;
 * NULL if there is none. */
static char *name_in(const char *line)
{
    if (*line != '{')
        return *line && *line != '#' ? g_strdup(line) : NULL;
    g_autoptr(AcrJson) row = acr_json_parse(line, strlen(line), NULL);
    return g_strdup(acr_json_get_string(row, "instance_id"));
}

char **acr_dataset_read_names(const char *path, GError **error)
{
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_LIST_BYTES, error);
    if (!bytes)
        return NULL;
    g_autofree char *text = acr_bytes_text(bytes);
    char **lines = g_strsplit(text, "\n", -1);
    guint n = 0;
    for (guint i = 0; lines[i]; i++) {
        char *name = name_in(g_strstrip(lines[i]));
        g_free(lines[i]);
        lines[i] = NULL;
        if (name)
            lines[n++] = name;
    }
    return lines;
}

static bool keep_listed(GPtrArray *rows, const AcrRunSpec *spec, GError **error)
{
    g_auto(GStrv) names = acr_dataset_read_names(spec->instance_set, error);
    if (!names)
        return false;
    return *names ? acr_dataset_select(rows, spec->dataset, (const char *const *)names, error)
                  : refuse(error, "--instances: '%s' lists no task", spec->instance_set);
}

static bool has_failed(const void *summary, const char *id)
{
    return g_strcmp0(acr_batch_summary_status(summary, id), ACR_STATUS_FAILED) == 0;
}

bool acr_dataset_keep_failed(GPtrArray *rows, const AcrRunSpec *spec, GError **error)
{
    if (!spec->retry_failed)
        return true;
    g_autoptr(AcrBatchSummary) summary = acr_batch_summary_open(spec->out, error);
    if (!summary)
        return false;
    keep_wanted(rows, has_failed, summary);
    return true;
}

/* Shuffles the rows. The same seed gives the same order on every machine. */
static void shuffle(GPtrArray *rows, gint64 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)seed);
    for (guint i = rows->len; i > 1; i--) {
        guint other = (guint)g_rand_int_range(random, 0, (gint32)i);
        gpointer kept = rows->pdata[i - 1];
        rows->pdata[i - 1] = rows->pdata[other];
        rows->pdata[other] = kept;
    }
}

/* Keeps the slice "a:b", as in Python: the rows from number a (counted from 0) to number b - 1. */
static bool keep_slice(GPtrArray *rows, const char *text, GError **error)
{
    g_auto(GStrv) ends = g_strsplit(text, ":", 2);
    gint64 from = 0, to = rows->len;
    bool is_slice = ends[0] && ends[1] &&
                    (!*ends[0] || acr_count_parse(ends[0], G_MAXINT32, &from)) &&
                    (!*ends[1] || acr_count_parse(ends[1], G_MAXINT32, &to));
    if (!is_slice)
        return refuse(error, "--slice must be A:B, such as 0:50, not '%s'", text);
    guint n = rows->len;
    if (from >= MIN(to, n))
        return refuse(error, "--slice %s selects no task: there are %u tasks, numbered from 0",
                      text, n);
    if (to < n)
        g_ptr_array_set_size(rows, (gint)to);
    if (from > 0)
        g_ptr_array_remove_range(rows, 0, (guint)from);
    return true;
}

bool acr_dataset_narrow(GPtrArray *rows, const AcrRunSpec *spec, GError **error)
{
    const char *set = spec->instance_set, *const *only = (const char *const *)spec->instances;
    bool is_file = set && g_file_test(set, G_FILE_TEST_IS_REGULAR);
    if (only && !acr_dataset_select(rows, spec->dataset, only, error))
        return false;
    if (set && !(is_file ? keep_listed(rows, spec, error) : keep_matching(rows, set, error)))
        return false;
    bool is_retry = spec->retry_failed && !spec->shard;
    if (is_retry && !acr_dataset_keep_failed(rows, spec, error))
        return false;
    if (is_retry && rows->len == 0)
        return refuse(error, "--retry-failed: no task in '%s' has failed", spec->out);
    if (spec->shuffle >= 0)
        shuffle(rows, spec->shuffle);
    return !spec->slice || keep_slice(rows, spec->slice, error);
}
