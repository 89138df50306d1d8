/* Audits a task: runs its tests several times with the reference patch and without a patch, each
 * time in a fresh copy, and searches the git history that a solver could read for the fix. Every
 * second run uses another hash seed and time zone. The other runs, except the first, reverse the
 * order of pytest's tests and, if libfaketime is installed, change the date.
 * python/acr/grading/audit.py judges the results. */
#include "eval/eval_private.h"

#include <string.h>

#define JUDGE_MS 120000
#define ORDER "audit varied the test order"
#define DAY "audit varied the day"
#define IN_HISTORY "audit found the fix in the history"
#define NOT_IN_HISTORY "audit found no fix in the history"

static const char vary[] =
    "#!/bin/bash\n"
    "mkdir -p /tmp/audit && cat >/tmp/audit/audit_order.py <<'END'\n"
    "def pytest_collection_modifyitems(items):\n"
    "    items.reverse()\n"
    "    open('/tmp/audit/done', 'w').close()\n"
    "END\n"
    "export PYTHONPATH=/tmp/audit${PYTHONPATH:+:$PYTHONPATH}\n"
    "export PYTEST_PLUGINS=audit_order${PYTEST_PLUGINS:+,$PYTEST_PLUGINS}\n"
    "for lib in /usr/lib/*/faketime/libfaketime.so.1; do\n"
    "  [ ! -e \"$lib\" ] || { export LD_PRELOAD=$lib FAKETIME=+400d; echo '" DAY "'; }\n"
    "done\n";
static const char vary_end[] = "[ ! -e /tmp/audit/done ] || echo '" ORDER "'\n";

static bool has_text(GBytes *output, const char *text)
{
    gsize len = 0;
    const char *data = output ? g_bytes_get_data(output, &len) : NULL;
    return data && g_strstr_len(data, (gssize)len, text);
}

/* Returns git's reason for rejecting the test patch, from the trace of the script in `output`;
 * owned; NULL if git accepts the patch, or if the script applies no patch. */
static char *find_test_patch_error(GBytes *output)
{
    g_autofree char *text = acr_bytes_text(output);
    char *at = strstr(text, "+ git apply -v -\n"), *next = at ? strstr(at + 1, "\n+ ") : NULL;
    if (next)
        *next = '\0';
    return at ? acr_eval_refusal(at) : NULL;
}

static AcrJson *describe_run_of(const AcrEvalOptions *options, const AcrGradingPlan *plan,
                                const AcrEvalRun *run, GError **error)
{
    int rules = (int)options->spec->rules;
    g_autofree char *failure = NULL;
    g_auto(AcrGradingStop) stop = {0};
    if (!run->output || run->timed_out)
        return acr_json_of(
            ACR_STRING("failure", run->timed_out ? "time_out" : "patch_does_not_apply"), NULL);
    g_autofree char *row = acr_eval_row_with(options, plan->row, &run->output, 1, error);
    g_autofree char *report = row ? acr_grading_report(options->python, row, rules, run->output,
                                                       &failure, &stop, NULL, error)
                                  : NULL;
    g_autofree char *rejected = find_test_patch_error(run->output);
    AcrJson *tests =
        report ? acr_grading_tests(options->python, row, rules, run->output, error) : NULL;
    return tests ? acr_json_of(ACR_STRING("failure", stop.lack ? stop.lack : failure),
                               ACR_JSON("tests", tests), ACR_STRING("rejected", rejected),
                               ACR_BOOL("order", has_text(run->output, ORDER)),
                               ACR_BOOL("day", has_text(run->output, DAY)), NULL)
                 : NULL;
}

/* Runs the tests once and describes the run; run 0 is not varied. Owned; NULL with an error. */
static AcrJson *run_varied(const AcrEvalOptions *options, const AcrInstance *task,
                           const AcrGradingPlan *plan, const char *patch, gint64 number,
                           gint64 deadline_us, GError **error)
{
    g_auto(GStrv) env = acr_eval_varied_env(number);
    if (number % 2 == 0)
        g_clear_pointer(&env[1], g_free); /* keep the time zone of the image or machine */
    g_autofree char *script = g_strconcat(vary, plan->script, vary_end, NULL);
    AcrGradingTrial trial = {.script = script};
    AcrEvalWay way = {.patch = patch,
                      .trial = number && number % 2 == 0 ? &trial : NULL,
                      .env = number ? (const char *const *)env : NULL};
    g_auto(AcrEvalRun) run = {.deadline_us = deadline_us};
    return acr_eval_run_tests(options, task, plan, &way, &run, error)
               ? describe_run_of(options, plan, &run, error)
               : NULL;
}

/* Returns true as JSON if git objects in the image's repository contain the files as the patch
 * leaves them, false if not, null if unknown. NULL with an error. */
static AcrJson *look_in_image(const AcrEvalOptions *options, const AcrInstance *task,
                              const AcrGradingPlan *plan, const char *patch,
                              const AcrEvalRun *first, GError **error)
{
    g_autoptr(GString) script = g_string_new("#!/bin/bash\nfor file in");
    g_auto(GStrv) changed = g_strsplit(first->changed ? first->changed : "", "\n", -1);
    for (guint i = 0; changed[i]; i++) {
        g_autofree char *word =
            g_str_has_prefix(changed[i], "f ") && !g_str_has_prefix(changed[i], "f .git/")
                ? g_shell_quote(changed[i] + 2)
                : NULL;
        if (word)
            g_string_append_printf(script, " %s", word);
    }
    g_string_append(script, "; do\n"
                            "  git cat-file -e \"$(git hash-object -- \"$file\")\" 2>/dev/null || "
                            "{ git rev-parse HEAD && echo '" NOT_IN_HISTORY "'; exit; }\n"
                            "done\n"
                            "[ -z \"$file\" ] || echo '" IN_HISTORY "'\n");
    AcrGradingTrial trial = {.script = script->str};
    AcrEvalWay way = {.patch = patch, .trial = &trial};
    g_auto(AcrEvalRun) run = {.deadline_us = first->deadline_us};
    if (!acr_eval_run_tests(options, task, plan, &way, &run, error))
        return NULL;
    bool is_there = has_text(run.output, IN_HISTORY);
    return is_there || has_text(run.output, NOT_IN_HISTORY) ? acr_json_new_bool(is_there)
                                                            : acr_json_new_null();
}

static AcrJson *look_in_repository(const AcrRunSpec *spec, const AcrInstance *task,
                                   const char *patch)
{
    g_autoptr(AcrSnapshot) tree = acr_eval_tree(spec, task, NULL);
    g_autoptr(AcrOverlay) overlay = tree ? acr_overlay_new(tree) : NULL;
    return overlay && acr_overlay_apply_diff(overlay, patch, strlen(patch), NULL)
               ? acr_json_new_bool(acr_overlay_is_stored(overlay))
               : acr_json_new_null();
}

bool acr_eval_audit(const AcrEvalOptions *options, const AcrInstance *task,
                    const AcrGradingPlan *plan, const char *patch, const AcrEvalRun *first,
                    AcrJson **out, GError **error)
{
    g_autoptr(AcrJson) told = acr_json_new_object();
    static const char *const kinds[] = {"reference", "empty"};
    for (guint kind = 0; kind < G_N_ELEMENTS(kinds); kind++) {
        AcrJson *runs = acr_json_new_array();
        acr_json_set(told, kinds[kind], runs);
        for (gint64 i = 0; i < options->spec->audit; i++) {
            AcrJson *run = kind == 0 && i == 0
                               ? describe_run_of(options, plan, first, error)
                               : run_varied(options, task, plan, kind == 0 ? patch : NULL, i,
                                            first->deadline_us, error);
            if (!run)
                return false;
            acr_json_append(runs, run);
        }
    }
    AcrJson *history = plan->image ? look_in_image(options, task, plan, patch, first, error)
                                   : look_in_repository(options->spec, task, patch);
    if (!history)
        return false;
    acr_json_set(told, "history", history);
    *out = acr_python_json(options->python, "grading.audit", "judge", told, JUDGE_MS, error);
    return *out != NULL;
}
