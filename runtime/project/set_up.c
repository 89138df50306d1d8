/* The set-up of `--setup auto`. python/acr/project/set_ups.py lists the commands that the project's
 * files name, as text. The commands are tried only in the sandbox, until all modules exist that
 * tests import. The chosen command is kept in a file named by a digest of the list, so that a
 * changed tree with the same list starts with the same command. */
#include "project/project_private.h"

#include <string.h>

#define VERSION 1
#define FOLDER "set-ups" /* folder beside the sandbox's cache */
#define COUNT                                                                                      \
    "import sys, importlib.util as u; print(sum(u.find_spec(m) is None for m in sys.argv[1:]))"
#define MAX_KEPT_BYTES ((gsize)64 * 1024)

void acr_set_up_clear(AcrSetUp *set_up)
{
    g_clear_pointer(&set_up->command, g_free);
    g_clear_pointer(&set_up->why, g_free);
}

static AcrJson *detect_set_ups(const AcrSandboxOptions *options, AcrRefereeWorker *worker,
                               GError **error)
{
    const AcrProject project = {.worker = worker,
                                .snapshot = options->snapshot,
                                .command = options->setup_network ? "network" : NULL};
    return acr_project_ask_about_files(&project, "set_up_files", "set_up_plans", error);
}

/* Returns the path of the file that keeps the command for a list; owned; NULL without a cache. */
static char *path_of_kept(const AcrSandboxOptions *options, const AcrJson *plans)
{
    if (!options->cache)
        return NULL;
    g_autofree char *text = acr_json_print(plans),
                    *all = g_strdup_printf("%d\n%s\n%s\n%s\n%s", VERSION,
                                           options->backend ? options->backend : "",
                                           options->python ? options->python : "",
                                           options->image ? options->image : "", text),
                    *key = acr_sha256_hex(all, strlen(all)),
                    *name = g_strconcat(key, ".json", NULL),
                    *parent = g_path_get_dirname(options->cache);
    return g_build_filename(parent, FOLDER, name, NULL);
}

/* Returns the command that was chosen for the same list; owned; NULL if unknown. */
static char *read_kept(const char *path)
{
    g_autoptr(GBytes) bytes = path ? acr_file_read(path, MAX_KEPT_BYTES, NULL) : NULL;
    g_autoptr(AcrJson) json = bytes ? acr_json_parse_bytes(bytes, NULL) : NULL;
    return g_strdup(acr_json_get_string(json, "command"));
}

/* Keeps the chosen command. If keeping fails, the next run searches again. */
static void keep_set_up(const AcrSetUp *set_up, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) json = acr_json_of(ACR_STRING("command", set_up->command), NULL);
    g_autofree char *text = acr_json_print(json), *folder = path ? g_path_get_dirname(path) : NULL;
    if (path && (!acr_dir_make(folder, &error) ||
                 !acr_file_write_atomic(path, text, strlen(text), 0600, &error)))
        g_debug("cannot save which set-up was chosen: %s", error->message);
}

/* Opens the sandbox with the set-up `plan`. Returns NULL without an error if the set-up failed;
 * *first_failure then has the reason. */
static AcrSandbox *try_set_up(AcrSandboxOptions *options, const AcrJson *plan, AcrSetUp *out,
                              GError **first_failure, GError **error)
{
    acr_set_up_clear(out);
    out->command = g_strdup(acr_json_get_string(plan, "command"));
    out->why = g_strdup(acr_json_get_string(plan, "why"));
    options->setup = out->command;
    g_autoptr(GError) failed = NULL;
    g_autoptr(AcrSandbox) sandbox = acr_sandbox_open(options, error);
    if (!sandbox || acr_sandbox_set_up(sandbox, &failed))
        return g_steal_pointer(&sandbox);
    if (!g_error_matches(failed, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_SETUP) ||
        acr_interrupted(options->interrupt))
        return ACR_NULL(acr_pass_error(error, &failed));
    if (!*first_failure)
        *first_failure = g_steal_pointer(&failed);
    return NULL;
}

/* Sorts the plans, beginning with the plan that worked before; owned array of borrowed plans. */
static GPtrArray *order_plans(const AcrJson *plans, const char *kept)
{
    GPtrArray *order = g_ptr_array_new();
    for (const AcrJson *plan = acr_json_first(plans); plan; plan = acr_json_next(plan)) {
        bool is_kept = kept && g_strcmp0(acr_json_get_string(plan, "command"), kept) == 0;
        g_ptr_array_insert(order, is_kept ? 0 : -1, (gpointer)plan);
    }
    return order;
}

/* Returns the number of modules that tests import and that are missing after a set-up; G_MAXUINT if
 * unknown. */
static guint count_missing(AcrSandbox *sandbox, const AcrJson *modules)
{
    const char *python = acr_sandbox_python(sandbox, NULL);
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_ptr_array_add(argv, (gpointer)(python ? python : "python3"));
    g_ptr_array_add(argv, (gpointer) "-c");
    g_ptr_array_add(argv, (gpointer)COUNT);
    for (const AcrJson *at = acr_json_first(modules); at; at = acr_json_next(at))
        g_ptr_array_add(argv, (gpointer)acr_json_string(at));
    g_ptr_array_add(argv, NULL);
    AcrExecution execution = {.argv = (const char *const *)argv->pdata};
    g_auto(AcrExecuted) executed = {0};
    if (acr_json_size(modules) == 0)
        return 0;
    if (!acr_sandbox_run(sandbox, &execution, &executed, NULL) || executed.exit_code != 0)
        return G_MAXUINT;
    g_autofree char *text = acr_bytes_text(executed.out);
    return (guint)g_ascii_strtoull(text, NULL, 10);
}

/* Tries the plans until one leaves no module missing. If none does, uses the best plan that
 * succeeds. Returns NULL without an error if no plan succeeds. */
static AcrSandbox *search_set_ups(AcrSandboxOptions *options, const GPtrArray *order,
                                  const AcrJson *modules, const char *kept, AcrSetUp *out,
                                  GError **first, GError **error)
{
    guint best = G_MAXUINT;
    const AcrJson *chosen = NULL;
    g_autoptr(GError) failed = NULL;
    for (guint i = 0; i < order->len; i++) {
        g_autoptr(AcrSandbox) sandbox = try_set_up(options, order->pdata[i], out, first, &failed);
        if (failed)
            return ACR_NULL(acr_pass_error(error, &failed));
        bool is_kept = kept && g_strcmp0(out->command, kept) == 0;
        guint missing = sandbox && !is_kept ? count_missing(sandbox, modules) : 0;
        if (sandbox && missing == 0)
            return g_steal_pointer(&sandbox);
        if (sandbox && (!chosen || missing < best)) {
            best = missing;
            chosen = order->pdata[i];
        }
    }
    return chosen ? try_set_up(options, chosen, out, first, error) : NULL;
}

AcrSandbox *acr_project_open_sandbox(AcrSandboxOptions *options, AcrRefereeWorker *worker,
                                     AcrSetUp *out, GError **error)
{
    if (g_strcmp0(options->setup, ACR_SETUP_AUTO) != 0)
        return acr_sandbox_open(options, error);
    g_autoptr(AcrJson) told = detect_set_ups(options, worker, error);
    const AcrJson *plans = acr_json_get(told, "plans");
    if (!told)
        return NULL;
    g_autofree char *path = path_of_kept(options, plans), *kept = read_kept(path);
    g_autoptr(GPtrArray) order = order_plans(plans, kept);
    g_autoptr(GError) first = NULL, failed = NULL;
    AcrSandbox *sandbox =
        search_set_ups(options, order, acr_json_get(told, "modules"), kept, out, &first, &failed);
    if (sandbox)
        keep_set_up(out, path);
    if (sandbox || failed)
        return sandbox ? sandbox : ACR_NULL(acr_pass_error(error, &failed));
    acr_set_up_clear(out);
    options->setup = NULL;
    if (order->len == 0) /* the project's files name no set-up: use the tree unchanged */
        return acr_sandbox_open(options, error);
    return ACR_NULL(acr_set_error(
        error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_SETUP,
        "all %u set-ups found in the project's files failed%s; give --setup CMD: %s", order->len,
        options->setup_network ? "" : " without --setup-network", first->message));
}
