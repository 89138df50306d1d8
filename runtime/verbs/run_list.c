/* acr-host runs: lists the run folders of a repository in the user's state folder, beginning with
 * the latest. Also finds the run for a verb without arguments. All data come from the folders;
 * damaged folders are skipped. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch/batch_state.h"
#include "layout/layout.h"
#include "task/live.h"
#include "verbs/screen.h"
#include "verbs/verbs_private.h"

#define MAX_ISSUE_BYTES ((gsize)1024 * 1024)
#define MAX_PATCH_BYTES ((gsize)16 * 1024 * 1024)
#define MAX_TITLE 44      /* maximum width; without the folder, a line then fits 80 columns */
#define BEFORE_FOLDER 36u /* columns of a line without folder and title */
#define KEPT_DAYS 30
#define DAY_S (24 * 60 * 60)

typedef struct {
    char *path, *title, *why; /* `why`: the reason for the verdict, what stopped an unfinished run,
                               * or why the result cannot be read; NULL if not known */
    AcrJson *meta, *result;   /* `result` is NULL if the run is not finished */
    const char *state;        /* "running", "finished", "unfinished" */
    gint64 changed_s;         /* when `state` last changed, in seconds since 1970 */
} Run;

static void free_run(gpointer data)
{
    Run *run = data;
    ACR_FREE(run->path, run->title, run->why);
    acr_json_free(run->meta);
    acr_json_free(run->result);
    g_free(run);
}

static gint compare_runs(gconstpointer a, gconstpointer b)
{
    const Run *one = *(Run *const *)a, *other = *(Run *const *)b;
    return one->changed_s != other->changed_s ? (one->changed_s < other->changed_s ? 1 : -1)
                                              : strcmp(other->path, one->path);
}

/* Returns the first line of the issue that has text, without Markdown's "#"; owned. */
static char *read_title(const AcrFolder *folder)
{
    g_autoptr(GBytes) issue = acr_folder_read_file(folder, ACR_FILE_ISSUE, MAX_ISSUE_BYTES, NULL);
    g_autofree char *text = issue ? acr_bytes_text(issue) : g_strdup("");
    const char *at = text + strspn(text, "# \t\r\n");
    g_autofree char *first = g_strndup(at, strcspn(at, "\r\n"));
    return acr_one_line(first);
}

/* Adds the first file that the patch changes to the title of a run of `verify`, because all these
 * runs have the same title; takes `title`, returns it or a new text; owned. */
static char *add_changed_file(const AcrFolder *folder, char *title)
{
    static const char mark[] = "\n+++ b/";
    if (g_strcmp0(acr_json_get_string(folder->meta, "verb"), "verify") != 0)
        return title;
    g_autoptr(GBytes) patch = acr_folder_read_file(folder, ACR_FILE_PATCH, MAX_PATCH_BYTES, NULL);
    g_autofree char *text = patch ? acr_bytes_text(patch) : g_strdup("");
    const char *at = strstr(text, mark);
    if (!at)
        return title;
    at += strlen(mark);
    g_autofree char *name = g_strndup(at, strcspn(at, "\t\r\n")), *file = acr_one_line(name),
                    *old = title;
    return g_strdup_printf("%s%s: %s", file, strstr(at, mark) ? ", …" : "", old);
}

static const char *repo_of(const AcrJson *meta)
{
    return acr_json_get_string(acr_json_get(meta, "options"), "repo");
}

/* Reads the run in a folder; owned; NULL if the run cannot be read, or belongs to another
 * repository than `repo` (NULL: any). */
static Run *read_run(const char *path, const char *repo)
{
    g_auto(AcrFolder) folder = {0};
    g_autofree char *meta_path = g_build_filename(path, ACR_FILE_META, NULL);
    struct stat status;
    if (stat(meta_path, &status) != 0 || !acr_folder_read(path, &folder, NULL) ||
        !repo_of(folder.meta) || (repo && strcmp(repo_of(folder.meta), repo) != 0))
        return NULL;
    AcrLiveRun live = {0};
    acr_live_run_read(path, NULL, &live);
    bool is_running = live.process.state == ACR_LIVE_RUNS;
    acr_doing_clear(&live.doing);
    Run *run = g_new0(Run, 1);
    run->path = g_strdup(path);
    run->title = add_changed_file(&folder, read_title(&folder));
    bool is_over = folder.state == ACR_FOLDER_DONE;
    g_autoptr(GError) error = NULL;
    run->result = is_over ? acr_folder_read_json(&folder, ACR_FILE_RESULT, &error) : NULL;
    run->state = is_over ? "finished" : is_running ? "running" : "unfinished";
    run->why = error        ? g_strdup(error->message)
               : is_over    ? g_strdup(acr_json_get_string(run->result, "why"))
               : is_running ? NULL
                            : acr_batch_stop_of(&folder);
    run->meta = g_steal_pointer(&folder.meta);
    run->changed_s = status.st_mtime;
    return run;
}

/* Reads the runs (array of Run) of a repository (NULL: of all), latest first; owned. */
static GPtrArray *read_runs(const char *repo)
{
    GPtrArray *runs = g_ptr_array_new_with_free_func(free_run);
    g_autofree char *real = repo ? acr_path_real(repo) : NULL,
                    *top = acr_user_path("XDG_STATE_HOME", ".local/state", "runs");
    g_autoptr(GDir) dir = top && (real || !repo) ? g_dir_open(top, 0, NULL) : NULL;
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *path = g_build_filename(top, name, NULL);
        Run *run = read_run(path, real);
        if (run)
            g_ptr_array_add(runs, run);
    }
    g_ptr_array_sort(runs, compare_runs);
    return runs;
}

char *acr_runs_latest(const char *repo, bool is_finished)
{
    g_autoptr(GPtrArray) runs = read_runs(repo);
    for (guint i = 0; i < runs->len; i++) {
        const Run *run = runs->pdata[i];
        if (!is_finished || run->result)
            return g_strdup(run->path);
    }
    return NULL;
}

char *acr_runs_unfinished(const AcrRunSpec *spec, GError **error)
{
    g_autoptr(GPtrArray) runs = read_runs(spec->repo);
    g_autofree char *issue = acr_sha256_hex(spec->issue_text, strlen(spec->issue_text));
    const char *verb = spec->verb == ACR_FOR_REPRODUCE ? "reproduce" : "run";
    g_autofree char *difference = NULL;
    const Run *other = NULL; /* the latest run with other options */
    for (guint i = 0; i < runs->len; i++) {
        const Run *run = runs->pdata[i];
        if (strcmp(run->state, "unfinished") != 0 ||
            g_strcmp0(acr_json_get_string(run->meta, "issue"), issue) != 0 ||
            g_strcmp0(acr_json_get_string(run->meta, "verb"), verb) != 0)
            continue;
        g_autofree char *found = acr_meta_difference(run->meta, spec);
        if (!found)
            return g_strdup(run->path);
        if (!other)
            difference = g_steal_pointer(&found);
        other = other ? other : run;
    }
    if (other)
        return ACR_NULL(acr_task_refuse(
            error,
            "--resume: the unfinished run of this issue was started %s (%s); to resume it: the "
            "same command %s; to begin anew: the same command without --resume",
            difference, other->path, difference));
    return ACR_NULL(acr_task_refuse(
        error, "--resume: no unfinished run of this issue in '%s'; 'acr-host runs' lists the runs",
        spec->repo));
}

/* ---- The list ---- */

static AcrJson *describe_run(const Run *run)
{
    AcrJson *json = acr_json_new_object();
    const AcrJson *cost = acr_json_get(acr_json_get(run->result, "cost"), "cost_microusd");
    acr_json_set_string(json, "folder", run->path);
    acr_json_set_string(json, "repo", repo_of(run->meta));
    acr_json_set_string(json, "issue", run->title);
    acr_json_set_string(json, "state", run->state);
    acr_json_set_string(json, "verdict", acr_json_get_string(run->result, "verdict"));
    acr_json_set_string(json, "why", run->why);
    acr_json_set(json, "cost_microusd", cost ? acr_json_copy(cost) : acr_json_new_null());
    acr_json_set_int(json, "age_seconds",
                     MAX(g_get_real_time() / G_USEC_PER_SEC - run->changed_s, 0));
    return json;
}

static AcrJson *describe_runs(const GPtrArray *runs)
{
    AcrJson *rows = acr_json_new_array();
    for (guint i = 0; i < runs->len; i++)
        acr_json_append(rows, describe_run(runs->pdata[i]));
    return rows;
}

AcrJson *acr_runs_list(const char *repo)
{
    g_autoptr(GPtrArray) runs = read_runs(repo);
    return describe_runs(runs);
}

/* Formats an age as "3 d", "2 h" or "5 min"; owned. */
static char *age_text(gint64 seconds)
{
    return seconds >= DAY_S  ? g_strdup_printf("%d d", (int)(seconds / DAY_S))
           : seconds >= 3600 ? g_strdup_printf("%d h", (int)(seconds / 3600))
                             : g_strdup_printf("%d min", (int)(seconds / 60));
}

/* Adds the line that says why a run has no verdict. */
static void add_stop(GString *text, const AcrJson *row, guint columns)
{
    const char *why = acr_json_get_string(row, "why"), *state = acr_json_get_string(row, "state"),
               *before = strcmp(state, "unfinished") == 0 ? "    stopped: " : "    ";
    if (!why || acr_json_get_string(row, "verdict"))
        return;
    g_autofree char *shown =
        columns > strlen(before) ? acr_text_fit(why, columns - strlen(before)) : g_strdup(why);
    g_string_append_printf(text, "%s%s\n", before, shown);
}

static char *list_text(const AcrJson *rows)
{
    guint columns = acr_screen_width(STDOUT_FILENO); /* 0: no limit */
    GString *text = g_string_new(NULL);
    if (acr_json_size(rows))
        g_string_append_printf(text, "%-10s  %12s  %7s  %s\n", "STATE", "COST", "AGE",
                               "ISSUE AND FOLDER");
    for (const AcrJson *row = acr_json_first(rows); row; row = acr_json_next(row)) {
        const char *verdict = acr_json_get_string(row, "verdict"),
                   *state = acr_json_get_string(row, "state");
        const char *issue = acr_json_get_string(row, "issue");
        double usd = (double)acr_json_get_int(row, "cost_microusd", 0) / 1e6;
        g_autofree char *age = age_text(acr_json_get_int(row, "age_seconds", 0)),
                        *folder = acr_one_line(acr_json_get_string(row, "folder")),
                        *title = columns ? acr_text_fit(issue, MAX_TITLE) : g_strdup(issue),
                        *cost = verdict && usd > 0 ? g_strdup_printf("%.6f USD", usd)
                                                   : g_strdup(verdict ? "0 USD" : "-");
        bool has_two_lines =
            columns && BEFORE_FOLDER + acr_text_width(folder) + acr_text_width(title) >= columns;
        g_string_append_printf(text, "%-10s  %12s  %7s  %s%s%s\n", verdict ? verdict : state, cost,
                               age, title, has_two_lines ? "\n    " : "  ", folder);
        add_stop(text, row, columns);
    }
    return g_string_free(text, FALSE);
}

/* ---- Pruning ---- */

/* Returns whether --prune removes a run: the run is not running, and it ended without a patch or
 * has not changed for KEPT_DAYS. */
static bool is_prunable(const Run *run)
{
    bool is_old = g_get_real_time() / G_USEC_PER_SEC - run->changed_s > KEPT_DAYS * DAY_S,
         is_empty = g_strcmp0(acr_json_get_string(run->result, "verdict"), "none") == 0;
    return strcmp(run->state, "running") != 0 && (is_old || is_empty);
}

static bool asks_yes(guint n)
{
    char answer[16] = "";
    g_autofree char *words = g_strdup_printf("%u run folders", n);
    acr_verb_tell("Remove %s, without a patch or older than %d days? [y/N] ",
                  n == 1 ? "1 run folder" : words, KEPT_DAYS);
    return fgets(answer, sizeof answer, stdin) && g_ascii_tolower(answer[0]) == 'y';
}

static int prune_runs(AcrHost *host, const AcrRunSpec *spec, GPtrArray *runs)
{
    g_autoptr(GError) error = NULL;
    guint n = 0;
    for (guint i = 0; i < runs->len; i++)
        n += is_prunable(runs->pdata[i]);
    if (n > 0 && !spec->yes && !isatty(STDIN_FILENO))
        return acr_verb_usage(
            host, "--prune asks before it removes %u run %s; give --yes to remove without asking",
            n, n == 1 ? "folder" : "folders");
    if (n > 0 && !spec->yes && !asks_yes(n)) {
        acr_verb_say("nothing was removed");
        return ACR_EXIT_NONE;
    }
    for (guint i = 0; i < runs->len; i++) {
        const Run *run = runs->pdata[i];
        if (is_prunable(run) && !acr_dir_remove(run->path, &error))
            return acr_verb_fail(host, error);
    }
    acr_verb_say("removed %u of %u run folders", n, runs->len);
    return ACR_EXIT_OK;
}

static int list_runs(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GPtrArray) runs = read_runs(spec->repo);
    if (spec->prune)
        return prune_runs(host, spec, runs);
    if (spec->limit > 0 && runs->len > spec->limit)
        g_ptr_array_set_size(runs, (gint)spec->limit);
    g_autoptr(AcrJson) rows = describe_runs(runs);
    if (spec->json)
        return acr_out_exit(acr_out_json(rows), ACR_EXIT_OK);
    if (runs->len == 0)
        acr_verb_say("there is no run of '%s' in your state folder%s", spec->repo,
                     g_file_test(spec->repo, G_FILE_TEST_IS_DIR) ? "" : ", and no such folder");
    g_autofree char *text = list_text(rows);
    return acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
}

const AcrVerb acr_verb_runs = {
    .name = "runs",
    .summary = "List the run folders of a repository (without those of --out), or remove old ones",
    .takes = ACR_FOR_RUNS,
    .examples = {{"List the runs of the enclosing repository", "runs"},
                 {"Remove old ones and those without a patch", "runs --prune"}},
    .run = list_runs,
};
