/* acp: lets editors start runs by the Agent Client Protocol, version 1, over two descriptors, with
 * one JSON object on each line. A session is a run folder, and the session's prompt is an issue.
 * Each run is a separate process. The run's events become updates of the session, and its patch is
 * written to the working tree only after the client has allowed it. */
#pragma once

#include "base/base.h"
#include "task/task.h"

#define ACR_ACP_MAX_SESSIONS 64u /* maximum number of sessions of a connection */
#define ACR_ACP_MAX_RUNS 8u      /* maximum number of prompts in progress at the same time */

/* Options of the protocol. All members are borrowed. */
typedef struct {
    const AcrHost *host;
    const AcrRunSpec *spec; /* options of each run, except for repository, issue and folder */
    const char *runs;       /* absolute path of the folder that contains the run folders */
    /* Creates a new run folder in `runs` for the repository `repo`; owned. Errors: those of
     * task. */
    char *(*new_folder)(const char *repo, GError **error);
    /* Lists the run folders in `runs` that belong to the repository `repo` (NULL: any), beginning
     * with the latest; rows as in `runs --json`; owned. */
    AcrJson *(*list_runs)(const char *repo);
    int in, out;
} AcrAcpOptions;

/* Answers messages until the input ends, the output is closed, or the host is interrupted. Then
 * ends all runs. Errors: FAILED of serve (`in` or `out` fails). */
bool acr_acp_stdio(const AcrAcpOptions *options, GError **error) ACR_MUST_USE;
