/* Private to the client of the container engine: requests to its API. */
#pragma once

#include "sandbox/container_engine.h"
#include "sandbox/backend.h"

#include "http/http.h"

#define ACR_ENGINE_VERSION "/v1.41" /* version of the API */

struct AcrEngine {
    char *place;        /* path of the engine's socket, or tcp://HOST:PORT; used in messages */
    const char *socket; /* borrowed from `place`; NULL if the engine is reached by TCP */
    char *api;          /* the part of the URL before the path of a call */
    AcrHttpClient *client;
    const AcrInterrupt *interrupt;
    AcrWalls walls; /* how the system call filter gets into containers; weakened after a failure */
};

/* A request to the API. All members are borrowed. */
typedef struct {
    const char *method, *path;
    const AcrJson *json; /* the request's body as JSON; NULL: `tar` is the body */
    GBytes *tar;
    bool is_archive;   /* the answer is an archive, unless the request failed */
    gint64 timeout_ms; /* 0: the default timeout of short requests */
} AcrEngineCall;

typedef struct {
    int status;
    AcrJson *json;   /* owned; NULL if the answer had no JSON */
    GBytes *archive; /* owned; set instead of `json` if an archive was requested */
} AcrEngineAnswer;
void acr_engine_answer_clear(AcrEngineAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEngineAnswer, acr_engine_answer_clear)

/* Sends a request and reads the answer. Returns true for any status. Errors: UNAVAILABLE (no
 * answer), INTERRUPTED. */
bool acr_engine_call(AcrEngine *engine, const AcrEngineCall *what, AcrEngineAnswer *out,
                     GError **error) ACR_MUST_USE;
/* Sends a request and fails unless the status is 2xx. `purpose` completes the error message:
 * "create a container". */
bool acr_engine_demand(AcrEngine *engine, const AcrEngineCall *what, const char *purpose,
                       AcrEngineAnswer *out, GError **error) ACR_MUST_USE;

/* ---- Isolation (container_walls.c) ---- */

/* folder in a container with the filter and the program that installs it (native/sandbox/inside) */
#define ACR_ENGINE_WALLS "/.acr-host"
/* Adds a read-only mount of `folder` at ACR_ENGINE_WALLS to the configuration of a container. */
void acr_engine_walls_mount(const char *folder, AcrJson *host_config);
/* Returns the contents of ACR_ENGINE_WALLS as an archive for a container's root folder; owned. */
GBytes *acr_engine_walls_tar(void) ACR_MUST_USE;
/* Appends the program that installs the filter, and its arguments, to `argv`. Every command in a
 * container starts through this program. Appends nothing if the filter is not used. */
void acr_engine_walls_words(const AcrEngine *engine, GPtrArray *argv);
