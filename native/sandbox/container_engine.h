/*
 * Private to sandbox: the Docker Engine API, version 1.41, over a unix socket, as Docker and podman
 * both speak it. Where they differ (what an error's body holds, which code reports it) the common
 * part is relied on.
 */
#ifndef ACR_SANDBOX_CONTAINER_ENGINE_H
#define ACR_SANDBOX_CONTAINER_ENGINE_H

#include "sandbox/sandbox.h"
#include "sandbox/tree_cache.h"

typedef struct AcrEngine AcrEngine;
/*
 * Finds the engine's socket and speaks to it: what DOCKER_HOST or CONTAINER_HOST names (unix:// only),
 * else the usual places. Owned. Errors: UNAVAILABLE.
 */
AcrEngine *acr_engine_open(const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;
void acr_engine_free(AcrEngine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrEngine, acr_engine_free)

/* The image's id, owned; *out_bytes: its size, 0: not known. Errors: UNAVAILABLE (no such image here; it is
 * not pulled). */
char *acr_engine_image(AcrEngine *engine, const char *name, gint64 *out_bytes,
                       GError **error) ACR_MUST_USE;
/* Whether there is such an image; false also where the engine does not answer. */
bool acr_engine_has_image(AcrEngine *engine, const char *name);

/* Why an image of another architecture than the engine's cannot be run there; owned; NULL: it is of the same, or
 * that is not known. */
char *acr_engine_foreign(AcrEngine *engine, const char *name) ACR_MUST_USE;

/* What every image must have: it keeps a container waiting, and commands are run by it. */
#define ACR_ENGINE_SHELL "/bin/sh"

/* How acr_seccomp_walls come into containers; NONE: the engine's own are all. */
typedef enum { ACR_WALLS_MOUNTED, ACR_WALLS_LAID, ACR_WALLS_NONE } AcrWalls;

/* A container that only waits; commands are run in it. All borrowed. */
typedef struct {
    const char *image, *dir;
    const AcrSandboxLimits *limits;
    bool network;
    const char *host_name; /* NULL: the engine's choice */
    const char *walls;     /* folder of this machine: of acr_engine_walls_folder */
} AcrEngineContainer;
/* Makes and starts it; its id, owned. A label names the process that owns it. Whatever runs in it lacks
 * the calls of the kernel that acr_seccomp_walls refuses, unless that is impossible there. Errors:
 * UNAVAILABLE, FAILED, INTERRUPTED. */
char *acr_engine_start(AcrEngine *engine, const AcrEngineContainer *container,
                       GError **error) ACR_MUST_USE;
/* What the walls are made of, in the cache; owned. */
char *acr_engine_walls_folder(AcrTreeCache *cache, GError **error) ACR_MUST_USE;
AcrWalls acr_engine_walls(const AcrEngine *engine);
/* From now on containers get them in the next best way, or not at all; false: they had none. */
bool acr_engine_lower_walls(AcrEngine *engine);
/* Kills and removes it, whatever it is doing. */
bool acr_engine_remove(AcrEngine *engine, const char *id, GError **error) ACR_MUST_USE;
/* Whether it was ended, or removed, by somebody else; not for want of memory. */
bool acr_engine_is_ended(AcrEngine *engine, const char *id);
/* Removes the containers of processes that are gone. */
void acr_engine_sweep(AcrEngine *engine);
/* Unpacks a tar archive (borrowed) into a folder of the container. */
bool acr_engine_put(AcrEngine *engine, const char *id, const char *dir, GBytes *tar,
                    GError **error) ACR_MUST_USE;
/* Keeps the container's files as an image. */
bool acr_engine_commit(AcrEngine *engine, const char *id, const char *name,
                       GError **error) ACR_MUST_USE;
/* What was changed below `dir`: a set of paths relative to it, at most ACR_SANDBOX_MAX_CHANGED; owned
 * (g_hash_table_unref); NULL: not known. */
GHashTable *acr_engine_changes(AcrEngine *engine, const char *id, const char *dir) ACR_MUST_USE;
/* Whether a regular file there has this content; false also where the engine does not answer. */
bool acr_engine_holds(AcrEngine *engine, const char *id, const char *dir, const char *path,
                      GBytes *content);

/* One command in a container. Zero-initialise; all borrowed but the results. */
typedef struct {
    const char *const *argv, *const *env; /* env may be NULL */
    const char *dir;
    gint64 timeout_ms;
    gsize output_limit; /* bytes kept of each stream: its ends */
    guint64 flood_limit;
    void (*on_output)(void *ctx, bool is_stderr, const char *data, gsize len);
    void *on_output_ctx;
    /* Results: */
    AcrSpawnResult spawned; /* owned; exit_code 137 for a command that was killed */
} AcrEngineExec;
bool acr_engine_exec(AcrEngine *engine, const char *id, AcrEngineExec *exec,
                     GError **error) ACR_MUST_USE;

/* What the kernel has counted in a container. */
typedef struct {
    gint64 peak_bytes; /* of memory, files that it read and wrote among it; 0: not known */
    guint64 killed;    /* processes, out of memory */
    bool is_crowded;   /* a process was refused: the limit was reached */
    bool is_ended;     /* the container was ended by somebody else */
} AcrEngineCounts;
/* Zeros where they are not known. */
void acr_engine_count(AcrEngine *engine, const char *id, guint processes, AcrEngineCounts *out);

/* ---- Frames of a command's output (container_exec.c) ---- */

/* The two streams of a command in one: eight bytes (1 or 2, three zeros, a length) before each
 * piece. Zero-initialise. */
typedef struct {
    guint8 head[8];
    guint have;   /* bytes of the head */
    guint32 left; /* bytes of the piece that are still to come */
    void (*take)(void *ctx, bool is_stderr, const char *data, gsize len);
    void *ctx;
} AcrFrames;
/* False where the bytes are not frames. */
bool acr_frames_feed(AcrFrames *frames, const char *data, gsize len) ACR_MUST_USE;

#endif
