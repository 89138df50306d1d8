/*
 * The images of the container engine that acr_sandbox_open finds, for those who need more of them than to run
 * one that is there: to pull, build and remove them, and to see how much room there is.
 */
#ifndef ACR_SANDBOX_CONTAINER_IMAGES_H
#define ACR_SANDBOX_CONTAINER_IMAGES_H

#include "sandbox/sandbox.h"

/* One thread at a time. */
typedef struct AcrImages AcrImages;
/* Finds the engine, and removes containers of processes that are gone. Errors: UNAVAILABLE (no engine answers;
 * the message names the sockets), INTERRUPTED. */
AcrImages *acr_images_open(const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;
void acr_images_free(AcrImages *images);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrImages, acr_images_free)

bool acr_images_have(AcrImages *images, const char *name);
/* The names of all; owned (g_strfreev); NULL: not known. */
char **acr_images_list(AcrImages *images) ACR_MUST_USE;
/* Fetches one from its registry. Errors: NO_SPACE, FAILED, UNAVAILABLE, INTERRUPTED. */
bool acr_images_pull(AcrImages *images, const char *name, GError **error) ACR_MUST_USE;
/* Makes one of a folder with a Dockerfile, which may use the network. Errors: the same. */
bool acr_images_build(AcrImages *images, const char *name, const char *folder,
                      GError **error) ACR_MUST_USE;
/* Errors: FAILED (a container uses it), UNAVAILABLE. */
bool acr_images_remove(AcrImages *images, const char *name, GError **error) ACR_MUST_USE;
/* Room where the engine keeps images, in bytes, and that folder (owned); -1 and NULL: not known, as of an engine on
 * another machine. */
gint64 acr_images_room(AcrImages *images, char **out_folder);

#endif
