/* Private to the client of the engine: calls of its API. */
#pragma once

#include "sandbox/container_engine.h"
#include "sandbox/backend.h"

#include "http/http.h"

#define ACR_ENGINE_VERSION "/v1.41" /* version of the API */

struct AcrEngine {
    char *place;        /* a socket's path or tcp://HOST:PORT, for messages */
    const char *socket; /* borrowed from `place`; NULL: the engine is reached by TCP */
    char *api;          /* the URL before the paths of calls */
    AcrHttpClient *client;
    const AcrInterrupt *interrupt;
    AcrWalls walls; /* how the walls are put into containers; weakened after a failure */
};

/* A call of the API. Borrowed. */
typedef struct {
    const char *method, *path;
    const AcrJson *json; /* the body as JSON; or `body`: */
    GBytes *tar;
    bool is_archive;   /* the answer is an archive, unless it reports a failure */
    gint64 timeout_ms; /* 0: the timeout of short calls */
} AcrEngineCall;

typedef struct {
    int status;
    AcrJson *json;   /* owned; NULL: the answer had no JSON */
    GBytes *archive; /* owned; instead of `json`, if an archive was requested */
} AcrEngineAnswer;
void acr_engine_answer_clear(AcrEngineAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEngineAnswer, acr_engine_answer_clear)

/* Succeeds with any status. Errors: UNAVAILABLE (no answer), INTERRUPTED. */
bool acr_engine_call(AcrEngine *engine, const AcrEngineCall *what, AcrEngineAnswer *out,
                     GError **error) ACR_MUST_USE;
/* Makes a call that must succeed; `purpose` completes the error message: "make a container". */
bool acr_engine_demand(AcrEngine *engine, const AcrEngineCall *what, const char *purpose,
                       AcrEngineAnswer *out, GError **error) ACR_MUST_USE;

/* ---- Walls (container_walls.c) ---- */

/* folder in a container for the program and the filter that native/sandbox/inside makes */
#define ACR_ENGINE_WALLS "/.acr-host"
/* Adds a mount of the folder to the configuration of a container. */
void acr_engine_walls_mount(const char *folder, AcrJson *host_config);
/* The same folder as an archive for a container's root folder; owned. */
GBytes *acr_engine_walls_tar(void) ACR_MUST_USE;
/* Appends the program, and its arguments, through which every command in a container starts. */
void acr_engine_walls_words(const AcrEngine *engine, GPtrArray *argv);
