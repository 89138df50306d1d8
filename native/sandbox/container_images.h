/* Pulls, builds and removes images of the engine that acr_sandbox_open finds, and reports the free
 * disk space. For callers that do more than run an existing image. */
#pragma once

#include "sandbox/sandbox.h"

/* The images of one engine. One thread at a time. */
typedef struct AcrImages AcrImages;
/* Connects to the engine, and removes the containers whose owning process has ended. Errors:
 * UNAVAILABLE (no engine answers; the message names the sockets), INTERRUPTED. */
AcrImages *acr_images_open(const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;
void acr_images_free(AcrImages *images);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrImages, acr_images_free)

bool acr_images_have(AcrImages *images, const char *name);
/* Returns the names of all images; owned (g_strfreev); NULL if unknown. */
char **acr_images_list(AcrImages *images) ACR_MUST_USE;
/* Pulls an image from its registry. Errors: NO_SPACE, FAILED, UNAVAILABLE, INTERRUPTED. */
bool acr_images_pull(AcrImages *images, const char *name, GError **error) ACR_MUST_USE;
/* Builds an image from a folder with a Dockerfile. The build has network access. Errors:
 * NO_SPACE, FAILED, UNAVAILABLE, INTERRUPTED. */
bool acr_images_build(AcrImages *images, const char *name, const char *folder,
                      GError **error) ACR_MUST_USE;
/* Removes an image. Errors: FAILED (a container uses it), UNAVAILABLE. */
bool acr_images_remove(AcrImages *images, const char *name, GError **error) ACR_MUST_USE;
/* Returns the number of free bytes on the disk with the engine's images, and sets *out_folder
 * (owned) to the folder of the images. Returns -1 and sets NULL if unknown, for example for an
 * engine on another machine. */
gint64 acr_images_room(AcrImages *images, char **out_folder);
