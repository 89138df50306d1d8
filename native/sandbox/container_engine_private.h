/* Private to the engine's client: calls, for its files. */
#ifndef ACR_SANDBOX_CONTAINER_ENGINE_PRIVATE_H
#define ACR_SANDBOX_CONTAINER_ENGINE_PRIVATE_H

#include "sandbox/container_engine.h"
#include "sandbox/backend.h"

#include "http/http.h"

#define ACR_ENGINE_API "http://engine/v1.41"

struct AcrEngine {
    char *socket;
    AcrHttpClient *client;
    const AcrInterrupt *interrupt;
    AcrWalls walls; /* how they come into its containers, until that fails */
};

/* Borrowed. */
typedef struct {
    const char *method, *path;
    const AcrJson *json; /* the body, or: */
    GBytes *tar;
    bool is_archive;   /* the answer, unless it reports a failure */
    gint64 timeout_ms; /* 0: that of short calls */
} AcrEngineCall;

typedef struct {
    int status;
    AcrJson *json;   /* owned; NULL: there was none */
    GBytes *archive; /* owned; or this, where one was asked for */
} AcrEngineAnswer;
void acr_engine_answer_clear(AcrEngineAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEngineAnswer, acr_engine_answer_clear)

/* Any status is an answer. Errors: UNAVAILABLE (none came), INTERRUPTED. */
bool acr_engine_call(AcrEngine *engine, const AcrEngineCall *what, AcrEngineAnswer *out,
                     GError **error) ACR_MUST_USE;
/* A call that must succeed; `purpose` says for what: "make a container". */
bool acr_engine_demand(AcrEngine *engine, const AcrEngineCall *what, const char *purpose,
                       AcrEngineAnswer *out, GError **error) ACR_MUST_USE;

/* ---- Walls (container_walls.c) ---- */

#define ACR_ENGINE_WALLS "/.acr-host" /* folder of a container with what inside/ makes */
/* Adds a mount of the folder to what a container is made with. */
void acr_engine_walls_mount(const char *folder, AcrJson *host_config);
/* The same folder as an archive, for a container's root; owned. */
GBytes *acr_engine_walls_tar(void) ACR_MUST_USE;
/* Appends what every command in a container begins with. */
void acr_engine_walls_words(const AcrEngine *engine, GPtrArray *argv);

#endif
