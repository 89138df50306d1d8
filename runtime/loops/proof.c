/* Proves an approved patch by experiments. Python chooses each run (python/acr/experiments/), and
 * the executor makes it in a fresh copy of the tree; the result depends only on how the run ended.
 * The journal has the random seed of all variants, so that a replay requests the same runs. */
#include "loops/attempt_work.h"

#include <string.h>

#define MAX_RUNS 40u /* maximum number of runs for one verdict, which usually takes 8 to 13 */

GByteArray *acr_proof_files(const AcrAttemptWork *work, const AcrOverlay *with, GError **error)
{
    g_autoptr(AcrOverlay) without = acr_overlay_new(work->run->snapshot);
    g_autoptr(GByteArray) files = g_byte_array_new();
    g_auto(GStrv) paths = acr_overlay_changed(with);
    for (char **at = paths; *at; at++) {
        g_autoptr(GBytes) before = NULL, after = NULL;
        if ((acr_overlay_has(without, *at) && !(before = acr_overlay_read(without, *at, error))) ||
            (acr_overlay_has(with, *at) && !(after = acr_overlay_read(with, *at, error))))
            return NULL;
        acr_python_patched_add(files, *at, before, after);
    }
    return g_steal_pointer(&files);
}

/* Returns the top-level name under which code at `path` is imported: "pkg" for "src/pkg/a.py" and
 * "pkg.py"; owned. */
static char *top_name(const char *path)
{
    static const char *const folders[] = {"src/", "lib/"};
    for (guint i = 0; i < G_N_ELEMENTS(folders); i++)
        if (g_str_has_prefix(path, folders[i]))
            path += strlen(folders[i]);
    const char *slash = strchr(path, '/');
    if (!slash && !g_str_has_suffix(path, ".py"))
        return NULL;
    return g_strndup(path, slash ? (gsize)(slash - path) : strlen(path) - strlen(".py"));
}

static AcrJson *list_packages(const AcrAttemptWork *work)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    AcrJson *list = acr_json_new_array();
    for (gsize i = 0; i < acr_snapshot_size(work->run->snapshot); i++) {
        char *name = top_name(acr_snapshot_entry(work->run->snapshot, i)->path);
        if (name && g_hash_table_add(seen, name))
            acr_json_append(list, acr_json_new_string(name));
    }
    return list;
}

static bool list_constructs(const AcrAttemptWork *work, const AcrOverlay *patch, bool reaching_only,
                            GPtrArray *told, GError **error)
{
    g_autoptr(GByteArray) files = acr_proof_files(work, patch, error);
    g_autoptr(AcrJson) packages = list_packages(work);
    g_autofree char *text = acr_json_print(packages);
    return files &&
           acr_python_not_plain(work->run->python, reaching_only, text, files, told, error);
}

char *acr_proof_doubts_text(const AcrAttemptWork *work, GError **error)
{
    g_autoptr(GPtrArray) told = g_ptr_array_new_with_free_func(g_free);
    if (!list_constructs(work, work->writer.latest->overlay, false, told, error))
        return NULL;
    GString *text = g_string_new(NULL);
    if (told->len)
        g_string_append(text,
                        "\nWhat the patch adds that is not plain code, and may make a test pass "
                        "without mending anything:\n\n");
    for (guint i = 0; i < told->len; i++)
        g_string_append_printf(text, "- %s\n", (const char *)told->pdata[i]);
    return g_string_free(text, FALSE);
}

bool acr_proof_is_barred(const AcrAttemptWork *work, const AcrOverlay *patch, char **out,
                         GError **error)
{
    g_autoptr(GPtrArray) told = g_ptr_array_new_with_free_func(g_free);
    if (!list_constructs(work, patch, true, told, error))
        return false;
    *out = told->len
               ? g_strdup_printf("the patch is not plain code (%s)", (const char *)told->pdata[0])
               : NULL;
    return true;
}

/* ---- The experiments ---- */

/* The results of the runs so far, in the form that python/acr/experiments/service.py expects. */
typedef struct {
    AcrJson *state;
    GByteArray *files;
    GPtrArray *streams; /* array of GBytes */
    gint64 wall_ms;
} Experiments;

static void experiments_clear(Experiments *made)
{
    acr_json_free(made->state);
    g_clear_pointer(&made->files, g_byte_array_unref);
    g_clear_pointer(&made->streams, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Experiments, experiments_clear)

static void add_outcome(Experiments *made, const AcrExecuted *executed)
{
    AcrJson *exits = (AcrJson *)acr_json_get(made->state, "exits"), *exit = acr_json_new_array();
    bool ended = !executed->signal &&
                 (executed->limit == ACR_LIMIT_NONE || executed->limit == ACR_LIMIT_OUTPUT);
    acr_json_append(exit, acr_json_new_int(executed->exit_code));
    acr_json_append(exit, acr_json_new_bool(ended));
    acr_json_append(exits, exit);
    g_ptr_array_add(made->streams, g_bytes_ref(executed->err));
    g_ptr_array_add(made->streams, g_bytes_ref(executed->out));
    made->wall_ms += executed->wall_ms;
}

static bool begin_experiments(const AcrAttemptWork *work, Experiments *made, GError **error)
{
    const AcrExecutor *executor = work->run->executor;
    const char *seed = executor->draw(executor->ctx, error);
    if (!seed)
        return false;
    made->streams = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    made->state = acr_json_new_object();
    acr_json_set_string(made->state, "seed", seed);
    acr_json_set_string(made->state, "tree", executor->dir(executor->ctx));
    acr_json_set_string(made->state, "file", ACR_FILE_SCRIPT);
    acr_json_set(made->state, "packages", list_packages(work));
    acr_json_set(made->state, "exits", acr_json_new_array());
    made->files = acr_proof_files(work, work->writer.latest->overlay, error);
    if (made->files)
        add_outcome(made, work->reproducer.before.executed);
    return made->files != NULL;
}

/* Makes the tree for an experiment: the snapshot with or without the patch, and the files that the
 * experiment changes; owned. From index 2, `fields` has paths and contents in turn. */
static AcrOverlay *lay_out(const AcrAttemptWork *work, bool is_patched, const GPtrArray *fields,
                           GError **error)
{
    g_autoptr(AcrOverlay) overlay = is_patched ? acr_overlay_copy(work->writer.latest->overlay)
                                               : acr_overlay_new(work->run->snapshot);
    for (guint i = 2; i + 1 < fields->len; i += 2) {
        g_autofree char *path = acr_bytes_text(fields->pdata[i]);
        GBytes *marked = fields->pdata[i + 1];
        gsize size = g_bytes_get_size(marked);
        g_autoptr(GBytes) content = size ? g_bytes_new_from_bytes(marked, 1, size - 1) : NULL;
        bool ok = content
                      ? acr_overlay_write(overlay, path, 0, content, error)
                      : !acr_overlay_has(overlay, path) || acr_overlay_remove(overlay, path, error);
        if (!ok)
            return NULL;
    }
    return g_steal_pointer(&overlay);
}

/* Returns "NAME=VALUE" with the value of a member of Python's request; owned. */
static char *setting(const char *name, const AcrJson *run, const char *member)
{
    const char *value = acr_json_get_string(run, member);
    return g_strdup_printf("%s=%s", name, value ? value : "");
}

/* Runs an experiment. The script comes through a pipe unless the request names a file, so that the
 * patch cannot read the script from a file. */
static AcrStep run_experiment(AcrAttemptWork *work, const AcrJson *run, const GPtrArray *fields,
                              Experiments *made, GError **error)
{
    bool is_patched = acr_json_get_bool(run, "is_patched", true);
    const AcrExecuted *executed;
    const char *file =
        acr_json_get_bool(run, "is_pipe", true) ? NULL : acr_json_get_string(run, "file");
    const char *const args[] = {file ? file : "-", NULL};
    g_autofree char *seed = setting("PYTHONHASHSEED", run, "hash_seed"),
                    *user = setting("USER", run, "user"), *login = setting("LOGNAME", run, "user");
    const char *const env[] = {seed, user, login, NULL};
    g_autoptr(AcrOverlay) overlay = lay_out(work, is_patched, fields, error);
    g_autofree char *script = fields->len > 1 ? acr_bytes_text(fields->pdata[1]) : NULL;
    if (!overlay || !script ||
        (file && !acr_overlay_write(overlay, file, ACR_MODE_FILE, fields->pdata[1], error)))
        return ACR_STEP_FAILED;
    AcrTrial trial = {.overlay = overlay,
                      .test = script,
                      .args = args,
                      .experiment = acr_json_get_string(run, "name"),
                      .input = file ? NULL : fields->pdata[1],
                      .env = env};
    AcrStep step = acr_step_run(work, &trial, "the experiments cannot be run", &executed, error);
    if (step == ACR_STEP_DONE)
        add_outcome(made, executed);
    return step;
}

static void keep_table(AcrCandidate *candidate, const AcrJson *answer, const Experiments *made)
{
    AcrJson *json = acr_json_new_object();
    /* the two runs of the script without and with the patch count, too */
    acr_json_set_int(json, "runs", acr_json_get_int(answer, "runs", 0) + 2);
    acr_json_set(json, "seconds", acr_json_new_double((double)made->wall_ms / 1000));
    const AcrJson *rows = acr_json_get(answer, "rows");
    acr_json_set(json, "table", rows ? acr_json_copy(rows) : acr_json_new_array());
    acr_json_free(candidate->experiments);
    candidate->experiments = json;
}

char *acr_proof_words(const AcrAttemptWork *work)
{
    guint agree = 0;
    const AcrJson *table = acr_json_get(work->writer.latest->experiments, "table");
    for (const AcrJson *row = acr_json_first(table); row; row = acr_json_next(row))
        agree += acr_json_get_bool(row, "agrees", false);
    g_autofree char *script = work->run->script
                                  ? g_strdup("the script")
                                  : g_strdup_printf(ACR_FILE_REPRODUCER, work->reproducer.number);
    return g_strdup_printf("%s fails without the patch and passes with it; %u experiments agree",
                           script, agree);
}

/* Makes experiments until Python returns its verdict. *out_doubt is as in acr_proof_judge. */
static AcrStep make_experiments(AcrAttemptWork *work, Experiments *made, char **out_doubt,
                                GError **error)
{
    for (guint i = 0; i < MAX_RUNS; i++) {
        g_autoptr(GPtrArray) fields =
            acr_python_experiment(work->run->python, made->state, work->reproducer.script,
                                  made->files, made->streams, error);
        g_autoptr(AcrJson) answer = fields ? acr_json_parse_bytes(fields->pdata[0], error) : NULL;
        if (!answer)
            return ACR_STEP_FAILED;
        const AcrJson *run = acr_json_get(answer, "run");
        if (!run) {
            const char *refusal = acr_json_get_string(answer, "refusal");
            keep_table(work->writer.latest, answer, made);
            *out_doubt = refusal && *refusal ? g_strdup(refusal) : NULL;
            return ACR_STEP_DONE;
        }
        AcrStep step = run_experiment(work, run, fields, made, error);
        if (step != ACR_STEP_DONE)
            return step;
    }
    *out_doubt = g_strdup_printf("the experiments did not finish within %u runs", MAX_RUNS);
    return ACR_STEP_DONE;
}

AcrStep acr_proof_judge(AcrAttemptWork *work, const AcrTestVerdict *with_patch, char **out_doubt,
                        GError **error)
{
    const AcrTestVerdict *without = &work->reproducer.before;
    const GPtrArray *doubts = without->doubts->len ? without->doubts : with_patch->doubts;
    g_auto(Experiments) made = {0};
    if (without->result != ACR_TEST_REPRODUCED || with_patch->result != ACR_TEST_PASSED) {
        *out_doubt =
            work->run->may.refute
                ? g_strdup_printf("reproducer_%u.py does not show the issue without the patch",
                                  work->reproducer.number)
                : g_strdup("the script did not fail without the patch and pass with it");
        return ACR_STEP_DONE;
    }
    if (doubts->len) {
        *out_doubt = g_strdup(doubts->pdata[0]);
        return ACR_STEP_DONE;
    }
    acr_loops_stage(work->run, work->attempt, "experiments", 0);
    if (!begin_experiments(work, &made, error))
        return ACR_STEP_FAILED;
    AcrStep step = make_experiments(work, &made, out_doubt, error);
    if (step == ACR_STEP_UNAVAILABLE)
        *out_doubt = g_strdup(work->unproved);
    return step == ACR_STEP_UNAVAILABLE ? ACR_STEP_DONE : step;
}
