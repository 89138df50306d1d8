/* Grades the logs of benchmark tasks (python/acr/grading/). Logs are untrusted text: they are
 * parsed, and nothing in them is run. */
#include "py/grading.h"

#include <string.h>

#include "py/py_private.h"

#define ROW_TIMEOUT_MS 10000
#define LOG_TIMEOUT_MS 120000

static void add_text(GByteArray *fields, const char *text)
{
    acr_py_fields_add(fields, text, strlen(text));
}

static void add_rules(GByteArray *fields, int rules)
{
    add_text(fields, rules == 4 ? "4" : "5");
}

/* Calls module.function with `fields` (taken). Returns the result as strings; NULL with an error if
 * there are fewer than `least` or more than `most` strings. */
static GPtrArray *ask_module(AcrPython *python, const char *module, const char *function,
                             GByteArray *fields, gint64 timeout_ms, guint least, guint most,
                             GError **error)
{
    g_autoptr(GBytes) argument = g_byte_array_free_to_bytes(fields), result = NULL;
    if (!acr_python_call(python, module, function, argument, timeout_ms, &result, error))
        return NULL;
    g_autoptr(GPtrArray) texts = acr_py_texts_split(result);
    if (texts && texts->len >= least && texts->len <= most)
        return g_steal_pointer(&texts);
    return ACR_NULL(acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED,
                                  "%s.%s returned no fields", module, function));
}

static GPtrArray *ask_grading(AcrPython *python, const char *function, GByteArray *fields,
                              gint64 timeout_ms, guint least, guint most, GError **error)
{
    return ask_module(python, "grading.service", function, fields, timeout_ms, least, most, error);
}

void acr_grading_plan_clear(AcrGradingPlan *plan)
{
    char **const texts[] = {&plan->script,   &plan->image,       &plan->key,     &plan->python,
                            &plan->packages, &plan->install,     &plan->kept,    &plan->row,
                            &plan->test,     &plan->hidden_test, &plan->failing, &plan->folder,
                            &plan->checkout};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
}

/* Asks for a plan, which has `n` strings. An answer with one string is an error: the reason why
 * there is no plan. */
static GPtrArray *ask_plan(AcrPython *python, const char *function, GByteArray *fields, guint n,
                           GError **error)
{
    g_autoptr(GPtrArray) texts = ask_grading(python, function, fields, ROW_TIMEOUT_MS, 1, n, error);
    if (!texts || texts->len == n)
        return g_steal_pointer(&texts);
    return ACR_NULL(acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL, "%s",
                                  (const char *)texts->pdata[0]));
}

bool acr_grading_plan_image(AcrPython *python, const char *row, int rules, AcrGradingPlan *out,
                            GError **error)
{
    GByteArray *fields = g_byte_array_new();
    add_text(fields, row);
    add_rules(fields, rules);
    g_autoptr(GPtrArray) texts = ask_plan(python, "prepare", fields, 5, error);
    if (!texts)
        return false;
    *out = (AcrGradingPlan){
        .script = g_strdup(texts->pdata[0]),
        .image = g_strdup(texts->pdata[1]),
        .test = g_strdup(texts->pdata[2]),
        .folder = g_strdup(texts->pdata[3]),
        .checkout = g_strdup(texts->pdata[4]),
        .row = g_strdup(row),
    };
    return true;
}

bool acr_grading_plan_environment(AcrPython *python, const char *row, int rules,
                                  const char *recipes, AcrGradingPlan *out, GError **error)
{
    GByteArray *fields = g_byte_array_new();
    add_text(fields, row);
    add_rules(fields, rules);
    add_text(fields, recipes ? recipes : "");
    g_autoptr(GPtrArray) texts = ask_plan(python, "environment", fields, 10, error);
    if (!texts)
        return false;
    char **const places[] = {&out->key,         &out->python, &out->packages, &out->install,
                             &out->script,      &out->kept,   &out->row,      &out->test,
                             &out->hidden_test, &out->failing};
    *out = (AcrGradingPlan){0};
    for (guint i = 0; i < G_N_ELEMENTS(places); i++)
        *places[i] = g_strdup(texts->pdata[i]);
    return true;
}

bool acr_grading_check_recipes(AcrPython *python, const char *recipes, GError **error)
{
    GByteArray *fields = g_byte_array_new();
    add_text(fields, recipes);
    g_autoptr(GPtrArray) texts =
        ask_grading(python, "fault_of_recipes", fields, ROW_TIMEOUT_MS, 0, 1, error);
    if (!texts || texts->len == 0)
        return texts != NULL;
    return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL, "%s",
                         (const char *)texts->pdata[0]);
}

void acr_grading_stop_clear(AcrGradingStop *stop)
{
    ACR_FREE(stop->why, stop->lack);
    *stop = (AcrGradingStop){0};
}

char *acr_grading_report(AcrPython *python, const char *row, int rules, GBytes *log,
                         char **out_failure, AcrGradingStop *out_stop, AcrJson **out_reward,
                         GError **error)
{
    GByteArray *fields = g_byte_array_new();
    add_text(fields, row);
    add_rules(fields, rules);
    acr_py_fields_add_bytes(fields, log);
    g_autoptr(GPtrArray) texts = ask_grading(python, "grade", fields, LOG_TIMEOUT_MS, 5, 5, error);
    if (!texts)
        return NULL;
    const char *failure = texts->pdata[1], *reward = texts->pdata[2];
    for (guint i = 3; i < 5; i++)
        *(i == 3 ? &out_stop->why : &out_stop->lack) =
            *(const char *)texts->pdata[i] ? g_strdup(texts->pdata[i]) : NULL;
    if (out_reward)
        *out_reward = acr_json_parse(reward, strlen(reward), NULL);
    *out_failure = *failure ? g_strdup(failure) : NULL;
    return g_strdup(texts->pdata[0]);
}

char *acr_grading_output(AcrPython *python, GBytes *log, GError **error)
{
    g_autoptr(GBytes) result = NULL;
    if (!acr_python_call(python, "grading.service", "output", log, LOG_TIMEOUT_MS, &result, error))
        return NULL;
    g_autoptr(GPtrArray) texts = acr_py_texts_split(result);
    return texts && texts->len == 1
               ? g_strdup(texts->pdata[0])
               : ACR_NULL(acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED,
                                        "grading.service.output returned no text"));
}

#define TRUST "grading.trust"

void acr_grading_trial_clear(AcrGradingTrial *trial)
{
    g_clear_pointer(&trial->patch, g_free);
    g_clear_pointer(&trial->script, g_free);
    g_clear_pointer(&trial->kept, g_free);
}

bool acr_grading_step(AcrPython *python, const char *row, int rules, const AcrGradingTask *task,
                      AcrGradingTrial *out, AcrJson **out_verdict, GError **error)
{
    GByteArray *fields = g_byte_array_new();
    add_text(fields, row);
    add_rules(fields, rules);
    add_text(fields, task->script);
    add_text(fields, task->patch ? task->patch : "");
    add_text(fields, task->changed);
    add_text(fields, task->seed);
    for (guint i = 0; i < task->outputs->len; i++)
        acr_py_fields_add_bytes(fields, task->outputs->pdata[i]);
    g_autoptr(GPtrArray) texts =
        ask_module(python, TRUST, "step", fields, LOG_TIMEOUT_MS, 1, 3, error);
    if (!texts)
        return false;
    if (texts->len == 1) {
        *out_verdict = acr_json_parse(texts->pdata[0], strlen(texts->pdata[0]), error);
        return *out_verdict != NULL;
    }
    const char *patch = texts->pdata[0];
    *out = (AcrGradingTrial){*patch ? g_strdup(patch) : NULL, g_strdup(texts->pdata[1]),
                             g_strdup(texts->pdata[2])};
    *out_verdict = NULL;
    return true;
}

AcrJson *acr_grading_tests(AcrPython *python, const char *row, int rules, GBytes *log,
                           GError **error)
{
    GByteArray *fields = g_byte_array_new();
    add_text(fields, row);
    add_rules(fields, rules);
    acr_py_fields_add_bytes(fields, log);
    g_autoptr(GPtrArray) texts =
        ask_module(python, TRUST, "tests", fields, LOG_TIMEOUT_MS, 1, 1, error);
    return texts ? acr_json_parse(texts->pdata[0], strlen(texts->pdata[0]), error) : NULL;
}

bool acr_grading_failure(AcrPython *python, GBytes *const *logs, guint n_logs, char **out_reason,
                         char **out_tier, GError **error)
{
    GByteArray *fields = g_byte_array_new();
    for (guint i = 0; i < n_logs; i++)
        acr_py_fields_add_bytes(fields, logs[i]);
    g_autoptr(GPtrArray) texts =
        ask_grading(python, "failure", fields, LOG_TIMEOUT_MS, 0, 2, error);
    if (!texts)
        return false;
    *out_reason = texts->len == 2 ? g_strdup(texts->pdata[0]) : NULL;
    *out_tier = texts->len == 2 ? g_strdup(texts->pdata[1]) : NULL;
    return true;
}
