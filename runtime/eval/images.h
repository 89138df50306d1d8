/* images: the images of a run's tasks, which several threads share. */
#pragma once

#include "eval/eval.h"

/* Creates a folder with the build context of a task's image, from --base-image and --setup. Returns
 * its path, owned; the caller removes the folder. Errors: FAILED, those of base. */
char *acr_eval_image_context(const AcrEvalOptions *options, const AcrInstance *task,
                             GError **error) ACR_MUST_USE;

/* The images of a run. Thread-safe. */
typedef struct AcrEvalImages AcrEvalImages;
/* Counts the predictions that use each image. Does not contact the engine. Errors: INPUT. */
AcrEvalImages *acr_eval_images_new(const AcrEvalOptions *options, GHashTable *tasks,
                                   const GPtrArray *predictions, GError **error) ACR_MUST_USE;
/* Frees the images, and removes from the engine those that the run's cache level does not keep. */
void acr_eval_images_free(AcrEvalImages *images);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrEvalImages, acr_eval_images_free)
/* Makes the image of a task available: finds it under its own name or the name of a built image,
 * builds it from a local Dockerfile or the user's recipe, or pulls it. Sets *image (owned) to its
 * name in the engine. Errors: STOP (no engine answers, or the disk is full), those of sandbox. */
bool acr_eval_images_take(AcrEvalImages *images, const char *instance_id, char **image,
                          GError **error) ACR_MUST_USE;
/* Must be called when a prediction for the task has ended, whether the image was used or not.
 * Removes the image if no other prediction needs it and the cache level does not keep it. */
void acr_eval_images_release(AcrEvalImages *images, const char *instance_id);
