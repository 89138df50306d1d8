/* forge: the servers that hold repositories with issues and pull requests, and whose token is for whom. */
#ifndef ACR_FORGE_H
#define ACR_FORGE_H

#include "base/base.h"
#include "task/run_spec.h"

typedef struct {
    const char *host;         /* the public server */
    const char *api;          /* of the public server */
    const char *projects;     /* of the API, before a project */
    bool is_escaped;          /* so is the slash in a project's name there */
    const char *header;       /* of the token */
    const char *variables[3]; /* of the environment that may hold it */
} AcrForge;

/* By AcrForgeKind. */
extern const AcrForge acr_forges[];
extern const guint acr_n_forges;

/* The header with the token of the environment; owned (g_free); NULL: there is none. */
char *acr_forge_authorisation(const AcrForge *forge) ACR_MUST_USE;
/* The address of a project by an API whose address may end in a slash; owned (g_free). */
char *acr_forge_project(const AcrForge *forge, const char *api, const char *project) ACR_MUST_USE;

#endif
