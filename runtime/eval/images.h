/* images: the images of a run's tasks, which several threads share. */
#pragma once

#include "eval/eval.h"

/* A new folder with the build context of a task's image, made from --base-image and --setup;
 * owned; the caller removes the folder. Errors: FAILED, those of base. */
char *acr_eval_image_context(const AcrEvalOptions *options, const AcrInstance *task,
                             GError **error) ACR_MUST_USE;

/* Thread-safe. */
typedef struct AcrEvalImages AcrEvalImages;
/* Counts the predictions that use each image. Does not contact the engine. Errors: INPUT. */
AcrEvalImages *acr_eval_images_new(const AcrEvalOptions *options, GHashTable *tasks,
                                   const GPtrArray *predictions, GError **error) ACR_MUST_USE;
/* Removes the images that the run's cache level does not keep. */
void acr_eval_images_free(AcrEvalImages *images);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrEvalImages, acr_eval_images_free)
/* Makes sure that the image of a task exists: finds it under its own name or the name of a built
 * image, builds it from a local Dockerfile or the user's recipe, or pulls it. Sets *image
 * (owned) to its name. Errors: STOP (no engine answers, or the disk is full), those of sandbox. */
bool acr_eval_images_take(AcrEvalImages *images, const char *instance_id, char **image,
                          GError **error) ACR_MUST_USE;
/* Call it when a prediction of that task has ended, whether the prediction used the image or
 * not. */
void acr_eval_images_release(AcrEvalImages *images, const char *instance_id);
