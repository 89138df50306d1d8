/*
 * mcp: serves the search calls, the files and the retrieval prompt of repositories to other agents,
 * by the Model Context Protocol over two descriptors, a JSON object a line, or over HTTP on this
 * machine.
 *
 * Each request belongs to one of two eras of the protocol: a request with an envelope (revision
 * 2026-07-28) is independent; one without needs a handshake before (revisions 2025-06-18 and
 * 2025-11-25). An argument names the repository; earlier requests never do.
 */
#ifndef ACR_SERVE_H
#define ACR_SERVE_H

#include "agents/agents.h"
#include "base/base.h"
#include "task/task.h"

typedef enum {
    ACR_SERVE_ERROR_FAILED,
} AcrServeError;
#define ACR_SERVE_ERROR acr_serve_error_quark()
GQuark acr_serve_error_quark(void);

#define ACR_SERVE_MAX_LINE (1u * 1024 * 1024) /* bytes of one message */
#define ACR_SERVE_MAX_IN_FLIGHT 1024u         /* requests that may wait; later ones are rejected */
#define ACR_SERVE_MAX_WAITING_BYTES (4u * 1024 * 1024) /* bytes of all waiting requests together */
#define ACR_SERVE_MAX_REPOSITORIES 32u
#define ACR_SERVE_MAX_INDEXED                                                                      \
    4u /* repositories whose index is kept; the least recently used is dropped */
/* largest file that can be read as a resource, in bytes */
#define ACR_SERVE_MAX_RESOURCE (1u * 1024 * 1024)
#define ACR_SERVE_PAGE 1000u       /* resources in one page of a list */
#define ACR_SERVE_MAX_SESSIONS 64u /* HTTP sessions; the least recently used is dropped */

/* All borrowed. */
typedef struct {
    const AcrHost *host;
    const AcrPrompts *prompts;
    const AcrCalls *calls;    /* the registry of calls; NULL: the built-in calls */
    const char *const *paths; /* paths of the repositories; NULL-terminated */
    gint64 call_ms;           /* time limit of one request */
    int in, out;
    guint port;                                               /* port for HTTP; 0: a free port */
    void (*say)(const char *format, ...) G_GNUC_PRINTF(1, 2); /* shows one line to the user */
} AcrServeOptions;

typedef enum {
    ACR_SERVE_ENDED,
    ACR_SERVE_FAILED, /* an error was set */
    /* an answer in progress hangs: the process must end by _exit, without freeing what the answer
     * uses */
    ACR_SERVE_BUSY_STILL,
} AcrServeEnd;

/*
 * Answers messages from `in` until its end, or until `out` is closed or the host is interrupted,
 * without waiting for answers in progress. Meanwhile indexes repositories before they are asked
 * for. Errors: those of acr_repo_open, before anything is read; FAILED (`in` or `out` fails, no
 * thread).
 */
AcrServeEnd acr_serve_stdio(const AcrServeOptions *options, GError **error) ACR_MUST_USE;
/*
 * Like acr_serve_stdio, over HTTP until the host is interrupted. Writes one line of JSON to `out`
 * that says how a client connects, with the token. Errors also: those of acr_http_server_start.
 */
AcrServeEnd acr_serve_http(const AcrServeOptions *options, GError **error) ACR_MUST_USE;

#endif
