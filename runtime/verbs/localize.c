/*
 * acr-host localize: the methods and lines that a failure most likely comes from, by which tests run them.
 */
#include "verbs/verbs_private.h"

#include "project/project.h"

#define MAX_METHODS 100u
#define MAX_LINES 500u
#define SHOWN 10u /* for a person */

/* The repository, and where its tests run. All owned. */
typedef struct {
    AcrWorkspace workspace;
    AcrSandbox *sandbox;
    AcrRefereeWorker *worker;
    char *work_tree, *cache, *baselines, *environment;
} Place;

static void place_clear(Place *place)
{
    char **const texts[] = {&place->work_tree, &place->cache, &place->baselines,
                            &place->environment};
    acr_sandbox_free(place->sandbox);
    acr_referee_worker_free(place->worker);
    acr_workspace_clear(&place->workspace);
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Place, place_clear)

static bool open_place(AcrHost *host, const AcrRunSpec *spec, Place *place, GError **error)
{
    AcrWorkspace *workspace = &place->workspace;
    if (!acr_repository_open(host, spec, workspace, error) ||
        !acr_repository_index(host, spec, workspace, error))
        return false;
    const char *folder = acr_repo_workdir(workspace->repo);
    place->work_tree = folder ? acr_path_real(folder) : NULL;
    place->cache = acr_host_default_cache(ACR_CACHE_SANDBOX);
    place->baselines = acr_task_baselines();
    AcrSandboxOptions options =
        acr_sandbox_options_of(spec, host, workspace->snapshot, place->work_tree, place->cache);
    place->environment = acr_task_test_environment(&options);
    place->worker = acr_referee_worker_new(host->exe, ACR_REFEREE_VERB, host->interrupt);
    place->sandbox = acr_sandbox_open(&options, error);
    return place->sandbox != NULL;
}

/* ---- Telling ---- */

static AcrJson *describe(const AcrIndex *index, const AcrBaseline *baseline,
                         const AcrLocalized *found)
{
    AcrJson *json = acr_json_new_object(), *failing = acr_json_new_array();
    for (guint i = 0; i < found->failing->len; i++)
        acr_json_append(failing, acr_json_new_string(found->failing->pdata[i]));
    acr_json_set_string(json, "command", baseline->command);
    acr_json_set(json, "failing", failing);
    acr_json_set_int(json, "passing", found->passing);
    acr_json_set_bool(json, "complete", !found->run.timed_out && !found->run.limit);
    acr_json_set(json, "seconds", acr_json_new_double((double)found->run.wall_ms / 1000));
    acr_json_set(json, "plain_seconds", acr_json_new_double((double)baseline->run.wall_ms / 1000));
    acr_json_set(json, "methods", acr_suspects_to_json(index, found->methods, MAX_METHODS, true));
    acr_json_set(json, "lines", acr_suspects_to_json(index, found->lines, MAX_LINES, false));
    return json;
}

static char *tell(const AcrIndex *index, const AcrLocalized *found)
{
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%u tests fail, %u pass\n", found->failing->len, found->passing);
    for (guint i = 0; i < MIN(found->methods->len, SHOWN); i++) {
        const AcrSuspect *suspect = &g_array_index(found->methods, AcrSuspect, i);
        const AcrSymbol *symbol = acr_index_symbol(index, (guint32)suspect->symbol);
        g_string_append_printf(text, "%u-%u  %.4f  %s:%u  %s\n", suspect->rank.first,
                               suspect->rank.last, suspect->rank.score,
                               acr_index_file(index, suspect->file)->path, suspect->first,
                               symbol->qualname);
    }
    return g_string_free(text, FALSE);
}

/* ---- Running ---- */

static int fail(AcrHost *host, const GError *error)
{
    int code = acr_verb_fail(host, error);
    return error->domain == ACR_PROJECT_ERROR ? ACR_EXIT_NONE : code;
}

static int run(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_auto(Place) place = {0};
    g_auto(AcrBaseline) baseline = {0};
    g_auto(AcrLocalized) found = {0};
    if (!open_place(host, spec, &place, &error))
        return acr_verb_fail(host, error);
    const AcrIndex *index = place.workspace.index;
    AcrProject project = acr_task_project(spec, host);
    AcrLocalizing localizing = {.index = index,
                                .failing = (const char *const *)spec->failing_tests,
                                .formula = (AcrSpectrumFormula)spec->formula};
    project.sandbox = place.sandbox;
    project.snapshot = place.workspace.snapshot;
    project.worker = place.worker;
    project.cache = place.baselines;
    project.environment = place.environment;
    if (!acr_project_baseline(&project, NULL, &baseline, &error) ||
        !acr_project_localize(&project, &baseline, &localizing, &found, &error))
        return fail(host, error);
    if (spec->json) {
        g_autoptr(AcrJson) json = describe(index, &baseline, &found);
        return acr_out_exit(acr_out_json(json), ACR_EXIT_OK);
    }
    g_autofree char *text = tell(index, &found);
    return acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
}

const AcrVerb acr_verb_localize = {
    .name = "localize",
    .summary = "Rank methods and lines by which failing and passing tests run them",
    .takes = ACR_FOR_LOCALIZE,
    .uses_network = true,
    .run = run,
};
