/* Makes the plan of a run without calling a model: the folder, the code, the models with their keys
 * and prices, the limits, and how code would be run. */
#include "task/recorded.h"
#include "task/run_folder.h"

#include <string.h>

#define PICO_OF_MILLION_TOKENS 1e6 /* factor from pico-USD per token to USD per million tokens */

typedef struct {
    const AcrRunSpec *spec;
    const AcrHost *host;
    AcrRepo *repo;
    AcrSnapshot *snapshot;
    AcrLimits limits;
} Plan;

static void plan_clear(Plan *plan)
{
    acr_snapshot_unref(plan->snapshot);
    acr_repo_unref(plan->repo);
    acr_limits_clear(&plan->limits);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Plan, plan_clear)

/* Sets a member. A negative value (unknown) becomes null. */
static void set_known(AcrJson *json, const char *key, gint64 value)
{
    acr_json_set(json, key, value < 0 ? acr_json_new_null() : acr_json_new_int(value));
}

/* Returns {"path": null for a new folder, "state": "new" | "unfinished" | "finished"}. */
static AcrJson *describe_folder(const Plan *plan, GError **error)
{
    static const char *const states[] = {"unfinished", "unfinished", "finished"};
    const AcrRunSpec *spec = plan->spec;
    g_autoptr(AcrPrompts) prompts = acr_prompts_load(plan->host->prompts_dir, spec->prompts, error);
    const char *state = "new";
    if (!prompts)
        return NULL;
    if (spec->out && acr_folder_exists(spec->out)) {
        g_auto(AcrFolder) folder = {0};
        if (!acr_folder_read(spec->out, &folder, error))
            return NULL;
        g_autoptr(AcrJson) bound = spec->issue_text ? acr_meta_bound(spec, prompts) : NULL;
        if (bound && !acr_meta_check(folder.meta, bound, spec->out, error))
            return NULL;
        state = states[folder.state];
    }
    return acr_json_of(ACR_STRING("path", spec->out), ACR_STRING("state", state), NULL);
}

/* Returns {"path", "commit" (null for the working tree), "python_files": number outside of
 * tests}. */
static AcrJson *describe_repository(const Plan *plan, GError **error)
{
    gint64 n = (gint64)acr_workspace_n_code_files(plan->snapshot);
    if (n == 0)
        return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                                      "'%s' has no Python files outside tests", plan->spec->repo));
    bool is_commit = !acr_snapshot_is_worktree(plan->snapshot);
    return acr_json_of(ACR_STRING("path", plan->spec->repo),
                       ACR_STRING("commit", is_commit ? acr_snapshot_commit(plan->snapshot) : NULL),
                       ACR_INT("python_files", n), NULL);
}

/* Adds {"model", "address", "key", "price": "free" | "known" | "assumed", "usd_…",
 * "…_microusd"}. */
static bool add_model(const Plan *plan, AcrJson *list, const char *name, const char *use,
                      bool *out_is_free, GError **error)
{
    static const char *const estimates[] = {"typical_microusd", "large_microusd"};
    AcrModelOptions options =
        acr_model_options_of(plan->spec, &plan->limits, plan->host->interrupt);
    options.labels = acr_role_names();
    options.may_lack_key = plan->spec->dry_run;
    g_autoptr(AcrModel) model = acr_model_of(plan->spec, name, &options, error);
    AcrModelFacts facts;
    if (!model)
        return false;
    acr_model_facts(model, &facts);
    AcrJson *json = acr_json_of(ACR_STRING("model", name), ACR_STRING("use", use),
                                ACR_STRING("address", facts.address), ACR_STRING("key", facts.key),
                                ACR_STRING("missing_key", facts.missing_key),
                                ACR_STRING("nearest", facts.nearest),
                                ACR_STRING("price", facts.is_free     ? "free"
                                                    : facts.has_price ? "known"
                                                                      : "assumed"),
                                NULL);
    double in = facts.is_free ? 0 : (double)facts.price.base.input / PICO_OF_MILLION_TOKENS,
           out = facts.is_free ? 0 : (double)facts.price.base.output / PICO_OF_MILLION_TOKENS;
    acr_json_set(json, "usd_per_million_in", acr_json_new_double(in));
    acr_json_set(json, "usd_per_million_out", acr_json_new_double(out));
    for (guint i = 0; i < G_N_ELEMENTS(estimates); i++)
        acr_json_set_int(json, estimates[i],
                         facts.is_free ? 0 : acr_microusd(acr_price_of_issue(&facts.price, i)));
    *out_is_free = *out_is_free && facts.is_free;
    acr_json_append(list, json);
    return true;
}

static AcrJson *describe_models(const Plan *plan, bool *out_is_free, GError **error)
{
    const AcrRunSpec *spec = plan->spec;
    g_autoptr(AcrJson) list = acr_json_new_array();
    *out_is_free = true;
    for (guint i = 0; spec->models[i]; i++)
        if (!add_model(plan, list, spec->models[i], i ? "a later attempt" : "first", out_is_free,
                       error))
            return NULL;
    if (spec->fallback_model &&
        !add_model(plan, list, spec->fallback_model, "fallback", out_is_free, error))
        return NULL;
    return g_steal_pointer(&list);
}

/* Returns {"most_microusd": null if there is no ceiling, "max_tokens", "max_time_ms"}. */
static AcrJson *describe_limits(const Plan *plan, bool is_free)
{
    AcrJson *json = acr_json_new_object();
    set_known(json, "most_microusd", is_free ? 0 : acr_microusd(plan->spec->max_cost));
    set_known(json, "max_tokens", plan->spec->max_tokens_total);
    set_known(json, "max_time_ms", plan->spec->max_ms);
    return json;
}

static AcrJson *describe_loops(const AcrRunSpec *spec)
{
    /* Each sample is at most one attempt. */
    gint64 attempts = spec->attempts ? MAX(spec->attempts, spec->samples) : 0;
    return acr_json_of(ACR_INT("attempts", attempts), ACR_INT("rounds", spec->rounds),
                       ACR_INT("tries", spec->tries), ACR_INT("samples", MAX(spec->samples, 1)),
                       NULL);
}

/* Describes how code would run: {"runs", "where", "python", "why_not", "setup", "validate",
 * "regressions", "test_command", "last_ms"}; `where` is null if there is no sandbox. Errors: those
 * of the sandbox, if running code is required. */
static AcrJson *describe_code(const Plan *plan, GError **error)
{
    const AcrRunSpec *spec = plan->spec;
    bool has_tests = acr_run_spec_regressions(spec) != ACR_VERIFY_NEVER;
    bool is_wanted = spec->verify != ACR_VERIFY_NEVER || spec->validate || has_tests;
    const char *workdir = acr_repo_workdir(plan->repo);
    g_autofree char *work_tree = workdir ? acr_path_real(workdir) : NULL,
                    *cache = plan->host->cache ? acr_host_default_cache(ACR_CACHE_SANDBOX) : NULL;
    AcrSandboxOptions options =
        acr_sandbox_options_of(spec, plan->host, plan->snapshot, work_tree, cache);
    g_autoptr(GError) reason = NULL;
    g_autoptr(AcrSandbox) sandbox = is_wanted ? acr_sandbox_open(&options, &reason) : NULL;
    if (reason && (spec->verify == ACR_VERIFY_ALWAYS ||
                   !g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE)))
        return ACR_NULL(acr_pass_error(error, &reason));
    g_autofree char *baselines = acr_task_baselines();
    gint64 last_ms = has_tests ? acr_project_last_ms(baselines, spec->repo) : -1;
    return acr_json_of(
        ACR_BOOL("runs", sandbox != NULL),
        ACR_STRING("where", sandbox ? acr_sandbox_backend(sandbox) : NULL),
        ACR_STRING("python", sandbox ? acr_sandbox_choice(sandbox) : NULL),
        ACR_STRING("why_not", reason      ? reason->message
                              : is_wanted ? NULL
                                          : "--verify=never, and no other option runs code"),
        ACR_STRING("setup", spec->setup), ACR_STRING("validate", spec->validate),
        ACR_BOOL("regressions", has_tests), ACR_STRING("test_command", spec->test_command),
        ACR_JSON("last_ms", last_ms < 0 ? acr_json_new_null() : acr_json_new_int(last_ms)), NULL);
}

bool acr_task_plan_models(const AcrRunSpec *spec, const AcrHost *host, AcrJson **out,
                          GError **error)
{
    g_auto(Plan) plan = {.spec = spec, .host = host};
    bool is_free = true;
    AcrJson *models =
        acr_limits_init(&plan.limits, spec, error) ? describe_models(&plan, &is_free, error) : NULL;
    if (models)
        *out = acr_json_of(ACR_JSON("models", models),
                           ACR_JSON("limits", describe_limits(&plan, is_free)),
                           ACR_JSON("loops", describe_loops(spec)), NULL);
    return models != NULL;
}

bool acr_task_plan(const AcrRunSpec *spec, const AcrHost *host, AcrJson **out, GError **error)
{
    g_auto(Plan) plan = {.spec = spec, .host = host};
    bool is_free = true;
    if (!acr_limits_init(&plan.limits, spec, error))
        return false;
    g_autoptr(AcrJson) models = describe_models(&plan, &is_free, error);
    if (!models)
        return false;
    plan.repo = acr_repo_open(spec->repo, error);
    plan.snapshot = plan.repo ? acr_workspace_snapshot(plan.repo, spec->rev, error) : NULL;
    if (plan.repo && !acr_task_check_named(spec, acr_repo_workdir(plan.repo), error))
        return false;
    g_autoptr(AcrJson) repository = plan.snapshot ? describe_repository(&plan, error) : NULL;
    g_autoptr(AcrJson) folder = repository ? describe_folder(&plan, error) : NULL;
    g_autoptr(AcrJson) code = folder ? describe_code(&plan, error) : NULL;
    if (!code)
        return false;
    *out = acr_json_new_object();
    acr_json_set(*out, "folder", g_steal_pointer(&folder));
    acr_json_set(*out, "repository", g_steal_pointer(&repository));
    acr_json_set(*out, "models", g_steal_pointer(&models));
    acr_json_set(*out, "limits", describe_limits(&plan, is_free));
    acr_json_set(*out, "loops", describe_loops(spec));
    acr_json_set(*out, "code", g_steal_pointer(&code));
    return true;
}
