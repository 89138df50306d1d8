/* Private to the client of the engine: calls of its API. */
#pragma once

#include "sandbox/container_engine.h"
#include "sandbox/backend.h"

#include "http/http.h"

#define ACR_ENGINE_VERSION "/v1.41" /* version of the API */

struct AcrEngine {
    char *place;        /* a socket's path or tcp://HOST:PORT, for messages */
    const char *socket; /* borrowed from `place`; NULL if the engine is reached by TCP */
    char *api;          /* the part of the URL before the path of a call */
    AcrHttpClient *client;
    const AcrInterrupt *interrupt;
    AcrWalls walls; /* how the walls get into containers; weakened after a failure */
};

/* A call of the API. All members are borrowed. */
typedef struct {
    const char *method, *path;
    const AcrJson *json; /* the request's body as JSON; or `body` is used: */
    GBytes *tar;
    bool is_archive;   /* the answer is an archive, unless the call failed */
    gint64 timeout_ms; /* 0: the default timeout of short calls */
} AcrEngineCall;

typedef struct {
    int status;
    AcrJson *json;   /* owned; NULL if the answer had no JSON */
    GBytes *archive; /* owned; set instead of `json` if an archive was requested */
} AcrEngineAnswer;
void acr_engine_answer_clear(AcrEngineAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEngineAnswer, acr_engine_answer_clear)

/* Succeeds with any status. Errors: UNAVAILABLE (no answer), INTERRUPTED. */
bool acr_engine_call(AcrEngine *engine, const AcrEngineCall *what, AcrEngineAnswer *out,
                     GError **error) ACR_MUST_USE;
/* Makes a call that must succeed. `purpose` completes the error message: "create a container". */
bool acr_engine_demand(AcrEngine *engine, const AcrEngineCall *what, const char *purpose,
                       AcrEngineAnswer *out, GError **error) ACR_MUST_USE;

/* ---- Isolation (container_walls.c) ---- */

/* folder in a container that holds the program and the filter made by native/sandbox/inside */
#define ACR_ENGINE_WALLS "/.acr-host"
/* Adds a mount of the folder to the configuration of a container. */
void acr_engine_walls_mount(const char *folder, AcrJson *host_config);
/* The same folder as an archive that is extracted in a container's root folder; owned. */
GBytes *acr_engine_walls_tar(void) ACR_MUST_USE;
/* Appends the name and the arguments of the program through which every command in a container
 * starts. */
void acr_engine_walls_words(const AcrEngine *engine, GPtrArray *argv);
