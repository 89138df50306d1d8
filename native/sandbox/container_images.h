/* For callers that do more than run an existing image: they pull, build and remove images of the
 * engine that acr_sandbox_open finds, or need to know how much disk space is free. */
#pragma once

#include "sandbox/sandbox.h"

/* One thread at a time. */
typedef struct AcrImages AcrImages;
/* Finds the engine, and removes the containers whose owning process has ended. Errors:
 * UNAVAILABLE (no engine answers; the message names the sockets), INTERRUPTED. */
AcrImages *acr_images_open(const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;
void acr_images_free(AcrImages *images);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrImages, acr_images_free)

bool acr_images_have(AcrImages *images, const char *name);
/* The names of all images; owned (g_strfreev); NULL if unknown. */
char **acr_images_list(AcrImages *images) ACR_MUST_USE;
/* Pulls an image from its registry. Errors: NO_SPACE, FAILED, UNAVAILABLE, INTERRUPTED. */
bool acr_images_pull(AcrImages *images, const char *name, GError **error) ACR_MUST_USE;
/* Builds an image from a folder with a Dockerfile. The build has network access. Errors:
 * NO_SPACE, FAILED, UNAVAILABLE, INTERRUPTED. */
bool acr_images_build(AcrImages *images, const char *name, const char *folder,
                      GError **error) ACR_MUST_USE;
/* Removes an image. Errors: FAILED (a container uses it), UNAVAILABLE. */
bool acr_images_remove(AcrImages *images, const char *name, GError **error) ACR_MUST_USE;
/* The number of free bytes on the disk with the engine's images; *out_folder (owned) is the
 * folder of the images. -1 and NULL if unknown, for example for an engine on another machine. */
gint64 acr_images_room(AcrImages *images, char **out_folder);
