/* Decides where the code of a task runs: in the task's image, or in an environment on this
 * machine. */
#include <pthread.h>
#include <string.h>
#include <sys/utsname.h>

#include "eval/eval_private.h"
#include "project/project.h"

#define MAX_NAME_BYTES 1024u

/* Returns the text that replaces {field} in an image's name: "{arch}" and "{id_1776}" (the task's
 * id) in the spelling of published image names, otherwise the row's field in lower case. Owned;
 * NULL if the row has no such field. */
static char *image_value(const char *field, const AcrJson *row)
{
    struct utsname machine;
    if (strcmp(field, "arch") == 0 && uname(&machine) == 0)
        return g_strdup(strcmp(machine.machine, "aarch64") == 0 ? "arm64" : machine.machine);
    bool is_published = strcmp(field, "id_1776") == 0;
    const char *text = acr_json_get_string(row, is_published ? "instance_id" : field);
    g_autofree char *lower = text ? g_ascii_strdown(text, -1) : NULL;
    if (!is_published || !lower)
        return g_steal_pointer(&lower);
    g_auto(GStrv) parts = g_strsplit(lower, "__", -1);
    return g_strjoinv("_1776_", parts);
}

/* Returns the image name of a task according to --image-template; owned. Errors: INPUT (the row
 * lacks a field). */
static char *make_image_name(const char *pattern, const char *row, GError **error)
{
    g_autoptr(AcrJson) json = acr_json_parse(row, strlen(row), NULL);
    g_autoptr(GString) name = g_string_new(NULL);
    for (const char *at = pattern; *at;) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        if (!end) {
            g_string_append_c(name, *at++);
            continue;
        }
        g_autofree char *field = g_strndup(at + 1, (gsize)(end - at - 1)),
                        *value = image_value(field, json);
        if (!value)
            return ACR_NULL(
                acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_INPUT,
                              "--image-template: the row of '%s' lacks the string \"%s\"",
                              acr_json_get_string(json, "instance_id"), field));
        g_string_append(name, value);
        at = end + 1;
    }
    if (name->len > 0 && name->len <= MAX_NAME_BYTES)
        return g_strdup(name->str);
    return ACR_NULL(acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_INPUT,
                                  "--image-template produces an empty name"));
}

bool acr_eval_plan(const AcrEvalOptions *options, const AcrInstance *task, AcrGradingPlan *out,
                   GError **error)
{
    const AcrRunSpec *spec = options->spec;
    g_autofree char *row = acr_eval_row(options, task->row);
    g_auto(AcrGradingPlan) plan = {0};
    if (!(options->in_environment
              ? acr_grading_plan_environment(options->python, row, (int)spec->rules,
                                             options->recipes, &plan, error)
              : acr_grading_plan_image(options->python, row, (int)spec->rules, &plan, error)))
        return false;
    if (plan.image && spec->image_template) {
        g_free(plan.image);
        plan.image = make_image_name(spec->image_template, task->row, error);
        if (!plan.image)
            return false;
    }
    *out = plan;
    plan = (AcrGradingPlan){0};
    return true;
}

/* Returns the folder of the environments; owned. */
static char *find_cache(const char *out, GError **error)
{
    g_autofree char *places = acr_host_default_cache("environments");
    if (!places && out)
        places = g_build_filename(out, ACR_DIR_ENVIRONMENTS, NULL);
    if (places)
        return acr_path_real(places);
    return ACR_NULL(acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED,
                                  "no folder for environments: set HOME or XDG_CACHE_HOME"));
}

bool acr_eval_check_place(const AcrEvalOptions *options, const AcrInstance *task, GError **error)
{
    g_auto(AcrGradingPlan) plan = {0};
    if (!acr_eval_plan(options, task, &plan, error))
        return false;
    if (!options->in_environment)
        return true;
    g_autofree char *cache = find_cache(options->spec->out, error);
    bool is_made = cache && acr_project_has_environment(&plan, cache);
    g_autofree char *base = cache && !is_made ? acr_project_base_python(plan.python, error) : NULL;
    return is_made || base;
}

/* A recipe that fails takes minutes each time, so a process tries it once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_ended = PTHREAD_COND_INITIALIZER;
static GHashTable *tried; /* key -> the task that failed; "": in work; NULL: not tried */
/* Returns the task that failed; owned. NULL: create the environment, then call end_creation. */
static char *begin_creation(const char *key)
{
    pthread_mutex_lock(&lock);
    tried = tried ? tried : g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    while (g_strcmp0(g_hash_table_lookup(tried, key), "") == 0)
        pthread_cond_wait(&is_ended, &lock);
    char *failed = g_strdup(g_hash_table_lookup(tried, key));
    if (!failed)
        g_hash_table_insert(tried, g_strdup(key), g_strdup(""));
    pthread_mutex_unlock(&lock);
    return failed;
}

static void end_creation(const char *key, const char *failed)
{
    pthread_mutex_lock(&lock);
    g_hash_table_insert(tried, g_strdup(key), g_strdup(failed));
    pthread_cond_broadcast(&is_ended);
    pthread_mutex_unlock(&lock);
}

static char *create_environment(const AcrHost *host, const AcrInstance *task,
                                const AcrGradingPlan *plan, const char *cache, gint64 deadline_us,
                                GError **error)
{
    g_autoptr(AcrJson) row = acr_json_parse(task->row, strlen(task->row), NULL);
    const char *version = acr_json_get_string(row, "version"), *id = task->instance_id;
    g_autofree char *name = g_strdup_printf("%s %s (Python %s)", task->repo, version ? version : "",
                                            plan->python),
                    *failed = begin_creation(plan->key),
                    *line = g_strdup_printf("creating the environment %s for %s", name, id);
    if (failed)
        return ACR_NULL(acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_FAILED,
                                      "environment %s could not be created (see task %s)", name,
                                      failed));
    AcrProgressEvent event = {.kind = ACR_PROGRESS_NOTE, .text = line, .is_long = true};
    bool is_new = !acr_project_has_environment(plan, cache);
    if (is_new)
        acr_progress_tell(host->progress, event);
    char *python = acr_project_environment(plan, cache, deadline_us, host->interrupt, error);
    if (is_new && python)
        acr_progress_note(host->progress, "the environment is ready");
    bool is_late = deadline_us > 0 && g_get_monotonic_time() >= deadline_us,
         is_over = python || is_late || acr_interrupted(host->interrupt);
    end_creation(plan->key, is_over ? NULL : id);
    return python;
}

char *acr_eval_environment(const AcrHost *host, const char *out, const AcrInstance *task,
                           const AcrGradingPlan *plan, gint64 deadline_us, GError **error)
{
    g_autofree char *cache = find_cache(out, error);
    if (!cache)
        return NULL;
    return task && !acr_project_has_environment(plan, cache)
               ? create_environment(host, task, plan, cache, deadline_us, error)
               : acr_project_environment(plan, cache, deadline_us, host->interrupt, error);
}
