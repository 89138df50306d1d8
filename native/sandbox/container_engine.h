/* Private to sandbox: the Docker Engine API, version 1.41, for Docker and podman. Only requests
 * that both engines support are used. The error bodies and status codes of the two engines
 * differ. */
#pragma once

#include "sandbox/sandbox.h"
#include "sandbox/tree_cache.h"

typedef struct AcrEngine AcrEngine;
/* Connects to the engine that DOCKER_HOST or CONTAINER_HOST names (unix://, or tcp:// on this
 * machine without TLS). If neither is set, uses the first of the usual sockets. Owned. Errors:
 * UNAVAILABLE. */
AcrEngine *acr_engine_open(const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;
void acr_engine_free(AcrEngine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrEngine, acr_engine_free)

/* Returns the image's id, owned. *out_bytes is the image's size, or 0 if unknown. Does not pull the
 * image. Errors: UNAVAILABLE (the engine does not have the image). */
char *acr_engine_image(AcrEngine *engine, const char *name, gint64 *out_bytes,
                       GError **error) ACR_MUST_USE;
/* True if the engine has the image; false also if the engine does not answer. */
bool acr_engine_has_image(AcrEngine *engine, const char *name);

/* Returns why the engine cannot run the image: the image is for another architecture. Owned; NULL
 * if the architecture is the same or unknown. */
char *acr_engine_foreign(AcrEngine *engine, const char *name) ACR_MUST_USE;

/* a program that every image must contain: it keeps the container alive and starts the commands */
#define ACR_ENGINE_SHELL "/bin/sh"

/* How the system call filter of acr_seccomp_walls gets into containers: mounted (MOUNTED) or copied
 * (LAID). NONE means that only the engine's own filter applies. */
typedef enum { ACR_WALLS_MOUNTED, ACR_WALLS_LAID, ACR_WALLS_NONE } AcrWalls;

/* A container in which commands can run. All members are borrowed. */
typedef struct {
    const char *image, *dir;
    const AcrSandboxLimits *limits;
    bool network;
    const char *host_name; /* host name in the container; NULL: the engine chooses it */
    const char *walls;     /* folder on this machine with the filter, from
                            * acr_engine_walls_folder */
} AcrEngineContainer;
/* Creates and starts a container; returns its id, owned. A label names the owning process.
 * Processes in the container cannot make the system calls that acr_seccomp_walls refuses, unless
 * the engine or the image does not allow the filter. Errors: UNAVAILABLE, FAILED, INTERRUPTED. */
char *acr_engine_start(AcrEngine *engine, const AcrEngineContainer *container,
                       GError **error) ACR_MUST_USE;
/* Returns the cache folder with the system call filter and the program that installs it; owned. */
char *acr_engine_walls_folder(AcrTreeCache *cache, GError **error) ACR_MUST_USE;
AcrWalls acr_engine_walls(const AcrEngine *engine);
/* Makes the engine use the next weaker member of AcrWalls for later containers. Returns false if no
 * weaker member exists. */
bool acr_engine_lower_walls(AcrEngine *engine);
/* Kills and removes the container, even if commands are running in it. */
bool acr_engine_remove(AcrEngine *engine, const char *id, GError **error) ACR_MUST_USE;
/* True if somebody else stopped or removed the container. Returns false for a container that ended
 * for lack of memory. */
bool acr_engine_is_ended(AcrEngine *engine, const char *id);
/* Removes the containers whose owning process has ended. */
void acr_engine_sweep(AcrEngine *engine);
/* Extracts a tar archive (borrowed) into the folder `dir` of the container. */
bool acr_engine_put(AcrEngine *engine, const char *id, const char *dir, GBytes *tar,
                    GError **error) ACR_MUST_USE;
/* Saves the container's files as the image `name`. */
bool acr_engine_commit(AcrEngine *engine, const char *id, const char *name,
                       GError **error) ACR_MUST_USE;
/* Returns the paths that changed below `dir`, as a set of paths relative to `dir`; at most
 * ACR_SANDBOX_MAX_CHANGED; owned (g_hash_table_unref); NULL if unknown. */
GHashTable *acr_engine_changes(AcrEngine *engine, const char *id, const char *dir) ACR_MUST_USE;
/* True if the container has a regular file dir/path with this content; false also if the engine
 * does not answer. */
bool acr_engine_holds(AcrEngine *engine, const char *id, const char *dir, const char *path,
                      GBytes *content);

/* A command to run in a container. Zero-initialise. All members are borrowed, except for the
 * results. */
typedef struct {
    const char *const *argv, *const *env; /* env may be NULL */
    const char *dir;
    gint64 timeout_ms;
    gsize output_limit; /* maximum number of bytes to keep of each stream, from its beginning and
                         * its end */
    guint64 flood_limit;
    void (*on_output)(void *ctx, bool is_stderr, const char *data, gsize len);
    void *on_output_ctx;
    /* Results: */
    AcrSpawnResult spawned; /* owned; exit_code is 137 if the command was killed */
} AcrEngineExec;
bool acr_engine_exec(AcrEngine *engine, const char *id, AcrEngineExec *exec,
                     GError **error) ACR_MUST_USE;

/* The kernel's counters of a container. */
typedef struct {
    gint64 peak_bytes; /* peak memory, including files that were read and written; 0 if unknown */
    guint64 killed;    /* number of processes killed for lack of memory */
    bool is_crowded;   /* a process could not start because the limit of processes was reached */
    bool is_ended;     /* somebody else stopped the container */
} AcrEngineCounts;
/* Reads the counters of the container `id`; sets unknown counters to 0. */
void acr_engine_count(AcrEngine *engine, const char *id, guint processes, AcrEngineCounts *out);

/* ---- Frames of a command's output (container_exec.c) ---- */

/* Separates the two streams of a command, which arrive interleaved. Before each piece there is a
 * header of eight bytes: the stream (1 or 2), three zeros, and the length of the piece.
 * Zero-initialise, then set `take` and `ctx`. */
typedef struct {
    guint8 head[8];
    guint have;   /* number of bytes of the current header that have arrived */
    guint32 left; /* number of bytes of the current piece that have not arrived yet */
    void (*take)(void *ctx, bool is_stderr, const char *data, gsize len);
    void *ctx;
} AcrFrames;
/* Passes the pieces in `data` to `take`. Returns false if the data are malformed. */
bool acr_frames_feed(AcrFrames *frames, const char *data, gsize len) ACR_MUST_USE;
