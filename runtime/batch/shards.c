/* Shards of a batch. Before a shard begins, it writes its list of tasks into its folder
 * (shard.json), with digests of the data that must be equal in all shards. The digests show whether
 * shards belong to the same batch, and the lists show which tasks are missing when shards are
 * merged. Task k of shard I of N is task k * N + I - 1 of the whole batch, counted from 0. */
#include "batch/shards.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "layout/layout.h"
#include "task/live.h"

#define PREDICTIONS "predictions" /* member of a shard's note that only an evaluation has */
#define MAX_NOTE_BYTES ((gsize)64 * 1024 * 1024)
#define MAX_NAMED 5u /* maximum number of tasks that a line names */

#define refuse(error, ...)                                                                         \
    acr_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET, __VA_ARGS__)

typedef struct {
    guint number, of; /* shard `number`, counted from 1, of `of` shards */
} Part;

char *acr_shard_name(guint number, guint of)
{
    return g_strdup_printf(ACR_DIR_SHARD, number, of);
}

static char *folder_of(const char *out, Part part)
{
    g_autofree char *name = acr_shard_name(part.number, part.of);
    return g_build_filename(out, name, NULL);
}

static bool read_folder_name(const char *name, Part *out)
{
    if (sscanf(name, ACR_DIR_SHARD, &out->number, &out->of) != 2)
        return false;
    g_autofree char *again = acr_shard_name(out->number, out->of);
    return strcmp(again, name) == 0 && out->of <= ACR_MAX_SHARDS && out->number >= 1 &&
           out->number <= out->of;
}

static gint64 share_of(gint64 total, Part part)
{
    return (total - part.number + part.of) / part.of;
}

static char *digest_ids(const GPtrArray *rows)
{
    g_autoptr(GString) ids = g_string_new(NULL);
    for (guint i = 0; i < rows->len; i++)
        g_string_append_printf(ids, "%s\n", ((const AcrInstance *)rows->pdata[i])->instance_id);
    return acr_sha256_hex(ids->str, ids->len);
}

/* Returns the note of a shard; `rows` are the tasks of the whole batch; owned. */
static AcrJson *make_note(const GPtrArray *rows, const AcrShardBound *bound, Part part)
{
    AcrJson *tasks = acr_json_new_array();
    g_autofree char *ids = digest_ids(rows);
    for (guint i = part.number - 1; i < rows->len; i += part.of)
        acr_json_append(tasks,
                        acr_json_new_string(((const AcrInstance *)rows->pdata[i])->instance_id));
    AcrJson *note = acr_json_of(ACR_INT("shard", part.number), ACR_INT("of", part.of),
                                ACR_INT("total", rows->len), ACR_STRING("ids", ids),
                                ACR_STRING("options", bound->options), NULL);
    if (bound->predictions)
        acr_json_set_string(note, PREDICTIONS, bound->predictions);
    acr_json_set(note, "tasks", tasks);
    return note;
}

static bool is_note(const AcrJson *note, Part part)
{
    const AcrJson *tasks = acr_json_get(note, "tasks");
    gint64 total = acr_json_get_int(note, "total", -1);
    for (const AcrJson *at = acr_json_first(tasks); at; at = acr_json_next(at))
        if (!acr_json_string(at))
            return false;
    return acr_json_get_int(note, "shard", -1) == part.number &&
           acr_json_get_int(note, "of", -1) == part.of && total >= 0 && total <= G_MAXINT32 &&
           acr_json_type(tasks) == ACR_JSON_ARRAY &&
           (gint64)acr_json_size(tasks) == share_of(total, part) &&
           acr_json_get_string(note, "ids") && acr_json_get_string(note, "options");
}

/* Reads the note of a shard. *out_note (owned) is NULL if the shard has no note. */
static bool read_note(const char *dir, Part part, AcrJson **out_note, GError **error)
{
    g_autofree char *path = g_build_filename(dir, ACR_FILE_SHARD, NULL);
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_NOTE_BYTES, &reason);
    *out_note = NULL;
    if (!bytes && g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        return true;
    if (!bytes)
        return acr_pass_error(error, &reason);
    g_autoptr(AcrJson) note = acr_json_parse_bytes(bytes, NULL);
    if (!is_note(note, part))
        return refuse(error, "'%s' is damaged", path);
    *out_note = g_steal_pointer(&note);
    return true;
}

/* Returns a word for the difference between the batches of two shards; NULL if both shards belong
 * to the same batch. */
static const char *difference(const AcrJson *one, const AcrJson *other)
{
    const char *predictions = acr_json_get_string(one, PREDICTIONS),
               *others = acr_json_get_string(other, PREDICTIONS);
    if (!predictions != !others)
        return "verbs (eval and swe-bench)";
    if (g_strcmp0(acr_json_get_string(one, "ids"), acr_json_get_string(other, "ids")) != 0)
        return "tasks";
    if (g_strcmp0(predictions, others) != 0)
        return "predictions";
    bool is_same =
        g_strcmp0(acr_json_get_string(one, "options"), acr_json_get_string(other, "options")) == 0;
    return is_same ? NULL : predictions ? "options" : "models, options or prompts";
}

static bool check_begun(const char *dir, const AcrJson *then, const AcrJson *now, GError **error)
{
    const char *what = then ? difference(then, now) : NULL;
    return !what ||
           refuse(error, "'%s' was started with different %s; give another --out", dir, what);
}

static bool read_number(const char *text, guint *out)
{
    gint64 number = 0;
    bool ok = text && acr_count_parse(text, G_MAXINT32, &number);
    *out = (guint)number;
    return ok;
}

/* Sets out->number to the shard's number in the environment: Slurm counts from 1, Kubernetes from
 * 0. */
static bool read_engine(const char *text, Part *out, GError **error)
{
    guint number = 0;
    if (read_number(g_getenv("SLURM_ARRAY_TASK_ID"), &number)) {
        out->number = number;
        return (number >= 1 && number <= out->of) ||
               refuse(error,
                      "--shard %s: SLURM_ARRAY_TASK_ID is %u; submit the job with --array=1-%s",
                      text, number, text);
    }
    if (!read_number(g_getenv("JOB_COMPLETION_INDEX"), &number))
        return refuse(
            error,
            "--shard %s: neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set; give I/N",
            text);
    out->number = number + 1;
    return true;
}

static bool read_part_note(const char *text, Part *out, GError **error)
{
    g_auto(GStrv) ends = g_strsplit(text, "/", 2);
    bool is_whole = ends[0] && ends[1];
    if (!read_number(ends[is_whole ? 1 : 0], &out->of) ||
        (is_whole && !read_number(ends[0], &out->number)))
        return refuse(error, "--shard must be I/N, such as 1/4, or N, not '%s'", text);
    if (!is_whole && !read_engine(text, out, error))
        return false;
    return (out->of >= 1 && out->of <= ACR_MAX_SHARDS && out->number >= 1 &&
            out->number <= out->of) ||
           refuse(error, "--shard: shard %u does not exist; there are %u shards", out->number,
                  out->of);
}

static void keep_own(GPtrArray *rows, Part part)
{
    for (guint i = rows->len; i-- > 0;)
        if (i % part.of != part.number - 1)
            g_ptr_array_remove_index(rows, i);
}

/* Divides the limits equally among the shards, rounded down, so that all shards together do not
 * exceed the batch's limits. */
static void share_ceilings(AcrRunSpec *spec, Part part)
{
    if (spec->max_cost > 0)
        spec->max_cost /= part.of;
    if (spec->max_tokens_total > 0)
        spec->max_tokens_total = MAX(spec->max_tokens_total / part.of, 1);
}

/* Checks that the shards in `out` belong to the same batch as `note`: the number of shards is the
 * same, and an existing note has the same digests. */
static bool check_others(const char *out, const AcrJson *note, Part part, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(out, 0, NULL);
    g_autoptr(AcrJson) then = NULL;
    g_autofree char *where = NULL;
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        Part other;
        if (!read_folder_name(name, &other))
            continue;
        if (other.of != part.of)
            return refuse(error, "'%s' has %u shards, but --shard asks for %u; give another --out",
                          out, other.of, part.of);
        if (then)
            continue;
        g_free(where);
        where = folder_of(out, other);
        (void)read_note(where, other, &then, NULL); /* a damaged note is reported when the shards
                                                     * are merged */
    }
    return check_begun(where, then, note, error);
}

/* Writes the shard's note. If the shard already has a note, checks that it belongs to the same
 * batch. */
static bool write_note(const char *dir, const AcrJson *note, Part part, GError **error)
{
    g_autofree char *path = g_build_filename(dir, ACR_FILE_SHARD, NULL),
                    *text = acr_json_print_pretty(note);
    g_autoptr(AcrJson) was = NULL;
    if (!read_note(dir, part, &was, error) || !check_begun(dir, was, note, error))
        return false;
    return was || acr_file_write_atomic(path, text, strlen(text), 0644, error);
}

/* Locks the folder of a batch without shards, so that no other batch works in it. */
static bool lock_batch(const AcrRunSpec *spec, AcrLock **out_lock, GError **error)
{
    g_autofree char *shared = acr_batch_shared_dir(spec->out),
                    *lock = g_build_filename(shared, ACR_FILE_LOCK, NULL);
    g_autoptr(GError) reason = NULL;
    if (g_file_test(shared, G_FILE_TEST_IS_SYMLINK))
        return true; /* acr_batch_run will reject the link */
    if (acr_shards_count(spec->out) > 0)
        return refuse(error, "'%s' holds shards; give --shard, or another --out", spec->out);
    if (acr_dir_make(shared, &reason) && (*out_lock = acr_lock_take(lock, &reason)))
        return true;
    return g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_BUSY)
               ? refuse(error,
                        "another batch is using '%s'; wait for it, or give another --out: %s",
                        spec->out, reason->message)
               : acr_pass_error(error, &reason);
}

bool acr_shard_narrow(AcrRunSpec *spec, const AcrShardBound *bound, GPtrArray *rows,
                      AcrJson **out_note, GError **error)
{
    Part part = {0};
    *out_note = NULL;
    if (!spec->shard)
        return true;
    if (!read_part_note(spec->shard, &part, error))
        return false;
    g_autoptr(AcrJson) note = make_note(rows, bound, part);
    g_autofree char *whole = g_build_filename(spec->out, ACR_FILE_PREDICTIONS, NULL);
    if (!bound->predictions && acr_shards_count(spec->out) == 0 &&
        g_file_test(whole, G_FILE_TEST_EXISTS))
        return refuse(error, "'%s' holds a batch without shards; give another --out", spec->out);
    if (!check_others(spec->out, note, part, error))
        return false;
    char *dir = folder_of(spec->out, part);
    g_free(spec->out);
    spec->out = dir;
    keep_own(rows, part);
    share_ceilings(spec, part);
    *out_note = g_steal_pointer(&note);
    return acr_dataset_keep_failed(rows, spec, error);
}

bool acr_shard_lock(const AcrRunSpec *spec, const AcrJson *note, AcrLock **out_lock, GError **error)
{
    const Part part = {(guint)acr_json_get_int(note, "shard", 0),
                       (guint)acr_json_get_int(note, "of", 0)};
    *out_lock = NULL;
    if (!note)
        return lock_batch(spec, out_lock, error);
    g_autofree char *lock = g_build_filename(spec->out, ACR_FILE_LOCK, NULL);
    return acr_dir_make(spec->out, error) && (*out_lock = acr_lock_take(lock, error)) &&
           write_note(spec->out, note, part, error);
}

guint acr_shards_count(const char *out)
{
    g_autoptr(GDir) dir = g_dir_open(out, 0, NULL);
    guint of = 0;
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        Part part;
        if (!read_folder_name(name, &part))
            continue;
        if (of && of != part.of)
            return 0;
        of = part.of;
    }
    return of;
}

void acr_shard_plan(const char *out, guint number, guint of, gint64 *out_own, gint64 *out_total)
{
    g_autofree char *dir = acr_shard_name(number, of),
                    *name = g_build_filename(dir, ACR_FILE_SHARD, NULL);
    g_autoptr(AcrJson) note = acr_live_read(out, name);
    if (!is_note(note, (Part){number, of}))
        return;
    *out_own = (gint64)acr_json_size(acr_json_get(note, "tasks"));
    *out_total = acr_json_get_int(note, "total", 0);
}

void acr_shards_clear(AcrShards *shards)
{
    g_clear_pointer(&shards->parts, g_hash_table_unref);
    g_clear_pointer(&shards->notes, g_ptr_array_unref);
}

/* Finds the number of shards from the names of their folders. */
static bool find_parts(AcrShards *shards, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(shards->out, 0, NULL);
    if (!dir) /* g_dir_open may have changed errno */
        return refuse(error, "cannot read the folder '%s': %s", shards->out,
                      access(shards->out, R_OK) ? g_strerror(errno) : "it is not a folder");
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        Part part;
        if (!read_folder_name(name, &part))
            continue;
        if (shards->of && shards->of != part.of)
            return refuse(
                error, "'%s' holds two sets of shards, one of %u and one of %u; move one set away",
                shards->out, shards->of, part.of);
        shards->of = part.of;
    }
    return shards->of || refuse(error, "'%s' has no folder shard-I-of-N", shards->out);
}

static bool take_note(AcrShards *shards, guint number, GError **error)
{
    AcrJson *note = NULL;
    g_autofree char *dir = acr_shards_folder(shards, number);
    if (!read_note(dir, (Part){number + 1, shards->of}, &note, error))
        return false;
    shards->notes->pdata[number] = note;
    const char *what = note && shards->first ? difference(shards->first, note) : NULL;
    if (what)
        return refuse(error, "'%s' was run with different %s from shard %" G_GINT64_FORMAT, dir,
                      what, acr_json_get_int(shards->first, "shard", 0));
    shards->first = shards->first ? shards->first : note;
    const AcrJson *tasks = acr_json_get(note, "tasks");
    for (const AcrJson *at = acr_json_first(tasks); at; at = acr_json_next(at)) {
        gpointer id = (gpointer)acr_json_string(at);
        if (!g_hash_table_insert(shards->parts, id, GUINT_TO_POINTER(number + 1)))
            return refuse(error, "'%s': the task '%s' occurs twice", shards->out, (const char *)id);
    }
    return true;
}

bool acr_shards_read(const char *out, AcrShards *shards, GError **error)
{
    *shards = (AcrShards){.out = out};
    if (!find_parts(shards, error))
        return false;
    shards->notes = g_ptr_array_new_with_free_func((GDestroyNotify)acr_json_free);
    g_ptr_array_set_size(shards->notes, (gint)shards->of);
    shards->parts = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < shards->of; i++)
        if (!take_note(shards, i, error))
            return false;
    shards->is_eval = acr_json_get_string(shards->first, PREDICTIONS) != NULL;
    return true;
}

char *acr_shards_folder(const AcrShards *shards, guint number)
{
    return folder_of(shards->out, (Part){number + 1, shards->of});
}

GPtrArray *acr_shards_tasks(const AcrShards *shards)
{
    g_autofree const AcrJson **next = g_new0(const AcrJson *, shards->of);
    guint left = g_hash_table_size(shards->parts);
    GPtrArray *tasks = g_ptr_array_new();
    for (guint i = 0; i < shards->of; i++)
        next[i] = acr_json_first(acr_json_get(shards->notes->pdata[i], "tasks"));
    for (guint i = 0; left > 0; i = (i + 1) % shards->of) {
        if (!next[i])
            continue;
        left--;
        g_ptr_array_add(tasks, (gpointer)acr_json_string(next[i]));
        next[i] = acr_json_next(next[i]);
    }
    return tasks;
}

static void find_missing(const AcrShards *shards, guint number, const AcrShardsWanted *wanted,
                         GPtrArray *lines)
{
    const AcrJson *note = shards->notes->pdata[number], *tasks = acr_json_get(note, "tasks");
    g_autoptr(GString) names = g_string_new(NULL);
    guint missing = 0;
    bool is_needed = number < acr_json_get_int(shards->first, "total", shards->of);
    for (const AcrJson *at = acr_json_first(tasks); at; at = acr_json_next(at))
        if (!wanted->is_there(wanted->ctx, number, acr_json_string(at)) && ++missing <= MAX_NAMED)
            g_string_append_printf(names, "%s%s", missing > 1 ? ", " : "", acr_json_string(at));
    if (!note && is_needed)
        g_ptr_array_add(lines,
                        g_strdup_printf("shard %u of %u has not started", number + 1, shards->of));
    else if (missing)
        g_ptr_array_add(lines, g_strdup_printf("shard %u of %u: %u of %zu tasks %s: %s%s",
                                               number + 1, shards->of, missing,
                                               acr_json_size(tasks), wanted->otherwise, names->str,
                                               missing > MAX_NAMED ? ", …" : ""));
}

GPtrArray *acr_shards_missing(const AcrShards *shards, const AcrShardsWanted *wanted)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < shards->of; i++)
        find_missing(shards, i, wanted, lines);
    return lines;
}
