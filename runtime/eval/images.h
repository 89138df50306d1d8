/* Private to eval: the images of a run's tasks, which several threads need at once. */
#ifndef ACR_EVAL_IMAGES_H
#define ACR_EVAL_IMAGES_H

#include "eval/eval.h"

/* The name that --image-template gives a task's image, owned. Errors: INPUT (the row has no such text). */
char *acr_eval_image_name(const char *pattern, const char *row, GError **error) ACR_MUST_USE;

/* A new folder with all that --base-image and --setup make a task's image of, owned, to be removed. Errors: FAILED,
 * those of base. */
char *acr_eval_image_context(const AcrEvalOptions *options, const AcrInstance *task,
                             GError **error) ACR_MUST_USE;

/* Thread-safe. */
typedef struct AcrEvalImages AcrEvalImages;
/* Counts who will need which image. Nothing is asked of the engine yet. Errors: those of acr_eval_image_name. */
AcrEvalImages *acr_eval_images_new(const AcrEvalOptions *options, GHashTable *tasks,
                                   const GPtrArray *predictions, GError **error) ACR_MUST_USE;
/* Removes what the run's level of caching does not keep. */
void acr_eval_images_free(AcrEvalImages *images);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrEvalImages, acr_eval_images_free)
/*
 * Sees to it that the image of a task is there: by its own name, by the one that it has where it was built, built of a
 * local Dockerfile or by the user's recipe, or pulled. *image (owned) becomes the name that it has. Errors: STOP (no engine
 * answers, or there is no room), those of sandbox.
 */
bool acr_eval_images_take(AcrEvalImages *images, const char *instance_id, char **image,
                          GError **error) ACR_MUST_USE;
/* One prediction of that task has ended, whether it took the image or not. */
void acr_eval_images_release(AcrEvalImages *images, const char *instance_id);

#endif
