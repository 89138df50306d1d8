/* Fetches and removes the images of a run. Only one thread at a time fetches an image; other
 * threads that need the same image wait. An image that this run fetched is removed when no
 * prediction needs it any more, unless --cache keeps it. */
#include "eval/images.h"

#include <pthread.h>
#include <string.h>

#include "eval/eval_private.h"
#include "sandbox/container_images.h"

#define MB ((gint64)1024 * 1024)
#define TASKS_FOLDER "tasks" /* folder of tasks in a task repository */
/* prefix of the image names that python/acr/dataset/harbor.py creates */
#define PUBLISHED "swebench/sweb.eval."

typedef enum { CACHE_NONE, CACHE_BASE, CACHE_ENV, CACHE_INSTANCE } Cache;

typedef struct {
    char *name;  /* name of the image in the task's row */
    char *found; /* name of the image in the engine; NULL if not known yet */
    guint users; /* number of predictions that need the image and have not ended */
    bool is_busy, is_ours;
} Image;

struct AcrEvalImages {
    const AcrEvalOptions *options;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    GHashTable *tasks;             /* id of a task -> AcrInstance, borrowed */
    GHashTable *by_name, *by_task; /* tables of Image: by name (owns the images), and by task */
    char *dockerfiles;             /* folder that --dockerfiles names, or the folder of tasks in the
                                    * data set */
    /* names of the images that existed before the run; NULL if not listed yet */
    char **before;
};

static void image_free(void *data)
{
    Image *image = data;
    ACR_FREE(image->name, image->found, image);
}

/* Returns the name that version 4 of the swebench package gives to an image that it builds itself;
 * owned; NULL if `name` is not the name of a published image. */
static char *built_name(const char *name)
{
    if (!g_str_has_prefix(name, PUBLISHED))
        return NULL;
    g_auto(GStrv) parts = g_strsplit(strchr(name, '/') + 1, "_1776_", -1);
    return g_strjoinv("__", parts);
}

static Image *need(AcrEvalImages *images, const char *name)
{
    Image *image = g_hash_table_lookup(images->by_name, name);
    if (image)
        return image;
    image = g_new0(Image, 1);
    image->name = g_strdup(name);
    g_hash_table_insert(images->by_name, image->name, image);
    return image;
}

/* Counts a user of the task's image. A task that cannot be planned has no image; its grade will
 * report the reason. */
static bool count_users(AcrEvalImages *images, const AcrInstance *task, GError **error)
{
    Image *image = g_hash_table_lookup(images->by_task, task->instance_id);
    if (!image) {
        g_auto(AcrGradingPlan) plan = {0};
        g_autoptr(GError) reason = NULL;
        AcrEvalOptions options = *images->options;
        options.in_environment = false;
        if (!acr_eval_plan(&options, task, &plan, &reason))
            return !g_error_matches(reason, ACR_EVAL_ERROR, ACR_EVAL_ERROR_INPUT) ||
                   acr_pass_error(error, &reason);
        image = need(images, plan.image);
        g_hash_table_insert(images->by_task, task->instance_id, image);
    }
    image->users++;
    return true;
}

AcrEvalImages *acr_eval_images_new(const AcrEvalOptions *options, GHashTable *tasks,
                                   const GPtrArray *predictions, GError **error)
{
    const AcrRunSpec *spec = options->spec;
    g_autoptr(AcrEvalImages) images = g_new0(AcrEvalImages, 1);
    images->options = options;
    images->tasks = tasks;
    pthread_mutex_init(&images->lock, NULL);
    pthread_cond_init(&images->changed, NULL);
    images->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, image_free);
    images->by_task = g_hash_table_new(g_str_hash, g_str_equal);
    images->dockerfiles = spec->dockerfiles ? g_strdup(spec->dockerfiles)
                                            : g_build_filename(spec->dataset, TASKS_FOLDER, NULL);
    for (guint i = 0; i < predictions->len; i++) {
        const AcrPrediction *prediction = predictions->pdata[i];
        if (!count_users(images, g_hash_table_lookup(tasks, prediction->instance_id), error))
            return NULL;
    }
    return g_steal_pointer(&images);
}

static bool stop(GError **error, GError *reason)
{
    return acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_STOP, "%s", reason->message);
}

static bool check_room(const AcrEvalImages *images, AcrImages *engine, const char *name,
                       GError **error)
{
    g_autofree char *folder = NULL;
    gint64 room = acr_images_room(engine, &folder), least = images->options->spec->min_free_mb;
    return room < 0 || room >= least * MB ||
           acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_STOP,
                         "not enough disk space for the image '%s': '%s', where the engine keeps "
                         "images, has %" G_GINT64_FORMAT
                         " MB free; free disk space, or lower --min-free (%" G_GINT64_FORMAT ")",
                         name, folder, room / MB, least);
}

static bool build_image(AcrEvalImages *images, AcrImages *engine, const char *name,
                        const char *task, GError **error)
{
    g_autofree char *folder =
        acr_eval_image_context(images->options, g_hash_table_lookup(images->tasks, task), error);
    bool ok = folder && acr_images_build(engine, name, folder, error);
    if (folder && !acr_dir_remove(folder, NULL))
        g_debug("cannot remove '%s'", folder);
    return ok;
}

/* Returns the folder of the Dockerfile that builds a task's image; owned; NULL if there is none.
 * The row of a Harbor task names a folder in the data set. */
static char *find_context(const AcrEvalImages *images, const char *task)
{
    const AcrInstance *instance = g_hash_table_lookup(images->tasks, task);
    g_autoptr(AcrJson) row = acr_json_parse(instance->row, strlen(instance->row), NULL);
    const char *named = acr_json_get_string(row, "build_folder");
    g_autofree char *set = g_canonicalize_filename(images->options->spec->dataset, NULL),
                    *inside = named ? g_canonicalize_filename(named, set) : NULL,
                    *own = g_build_filename(images->dockerfiles, task, NULL);
    const char *const folders[] = {own, named && acr_path_is_below(inside, set) ? inside : NULL};
    for (guint i = 0; i < G_N_ELEMENTS(folders) && folders[i]; i++) {
        g_autofree char *file = g_build_filename(folders[i], "Dockerfile", NULL);
        if (g_file_test(file, G_FILE_TEST_IS_REGULAR))
            return g_strdup(folders[i]);
    }
    return NULL;
}

static bool fetch(AcrEvalImages *images, AcrImages *engine, Image *image, const char *task,
                  GError **error)
{
    const AcrRunSpec *spec = images->options->spec;
    /* in other verbs, --setup is the set-up of the sandbox, not of an image */
    bool has_recipe = spec->verb == ACR_FOR_EVAL && spec->setup;
    g_autofree char *folder = find_context(images, task);
    g_autoptr(GError) reason = NULL;
    if (!folder && !has_recipe && spec->no_pull)
        return acr_set_error(
            error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED,
            "the container engine has no image '%s'; pull it, or leave out --no-pull", image->name);
    if (!check_room(images, engine, image->name, error))
        return false;
    if (folder       ? acr_images_build(engine, image->name, folder, &reason)
        : has_recipe ? build_image(images, engine, image->name, task, &reason)
                     : acr_images_pull(engine, image->name, &reason)) {
        image->is_ours = true;
        image->found = g_strdup(image->name);
        return true;
    }
    return g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_NO_SPACE)
               ? stop(error, reason)
               : acr_pass_error(error, &reason);
}

static bool make_ready(AcrEvalImages *images, Image *image, const char *task, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(AcrImages) engine = acr_images_open(images->options->host->interrupt, &reason);
    if (!engine)
        return stop(error, reason);
    g_clear_pointer(&image->found, g_free);
    g_autofree char *built = built_name(image->name);
    const char *const names[] = {image->name, built};
    for (guint i = 0; i < G_N_ELEMENTS(names) && !image->found; i++)
        if (names[i] && acr_images_have(engine, names[i]))
            image->found = g_strdup(names[i]);
    pthread_mutex_lock(&images->lock);
    if (!images->before)
        images->before = acr_images_list(engine);
    pthread_mutex_unlock(&images->lock);
    return image->found || fetch(images, engine, image, task, error);
}

bool acr_eval_images_take(AcrEvalImages *images, const char *instance_id, char **image,
                          GError **error)
{
    pthread_mutex_lock(&images->lock);
    Image *wanted = g_hash_table_lookup(images->by_task, instance_id);
    while (wanted && wanted->is_busy)
        pthread_cond_wait(&images->changed, &images->lock);
    if (wanted)
        wanted->is_busy = true;
    pthread_mutex_unlock(&images->lock);
    if (!wanted)
        return true;
    bool ok = make_ready(images, wanted, instance_id, error);
    pthread_mutex_lock(&images->lock);
    if (ok) {
        g_free(*image);
        *image = g_strdup(wanted->found);
    }
    wanted->is_busy = false;
    pthread_cond_broadcast(&images->changed);
    pthread_mutex_unlock(&images->lock);
    return ok;
}

/* Returns the cache level of the option --cache, which only `eval` has. */
static Cache level_of(const AcrEvalImages *images)
{
    gint64 level = images->options->spec->cache_level;
    return level == ACR_UNSET ? CACHE_ENV : (Cache)level;
}

/* Removes an image. Ignores a failure, which only wastes disk space. */
static void drop(AcrImages *engine, const char *name)
{
    g_autoptr(GError) reason = NULL;
    if (engine && !acr_images_remove(engine, name, &reason))
        g_debug("%s", reason->message);
}

void acr_eval_images_release(AcrEvalImages *images, const char *instance_id)
{
    pthread_mutex_lock(&images->lock);
    Image *image = g_hash_table_lookup(images->by_task, instance_id);
    bool is_over =
        image && --image->users == 0 && image->is_ours && level_of(images) != CACHE_INSTANCE;
    pthread_mutex_unlock(&images->lock);
    if (!is_over)
        return;
    g_autoptr(AcrImages) engine = acr_images_open(NULL, NULL);
    drop(engine, image->name);
}

/* True if the cache level removes an image with this name (without registry and namespace). */
static bool goes(const char *name, Cache level)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    return (level <= CACHE_BASE && g_str_has_prefix(base, "sweb.env.")) ||
           (level == CACHE_NONE && g_str_has_prefix(base, "sweb.base."));
}

/* Removes the base images of built images. Environment images are removed before the base images
 * that they depend on. */
static void drop_layers(const AcrEvalImages *images)
{
    Cache level = level_of(images);
    g_autoptr(AcrImages) engine =
        images->before && level <= CACHE_BASE ? acr_images_open(NULL, NULL) : NULL;
    g_auto(GStrv) names = engine ? acr_images_list(engine) : NULL;
    static const Cache passes[] = {CACHE_BASE, CACHE_NONE};
    for (guint pass = 0; names && pass < G_N_ELEMENTS(passes); pass++)
        for (gsize i = 0; passes[pass] >= level && names[i]; i++)
            if (goes(names[i], passes[pass]) &&
                !g_strv_contains((const char *const *)images->before, names[i]))
                drop(engine, names[i]);
}

void acr_eval_images_free(AcrEvalImages *images)
{
    if (!images)
        return;
    drop_layers(images);
    g_hash_table_unref(images->by_task);
    g_hash_table_unref(images->by_name);
    g_strfreev(images->before);
    g_free(images->dockerfiles);
    pthread_cond_destroy(&images->changed);
    pthread_mutex_destroy(&images->lock);
    g_free(images);
}
