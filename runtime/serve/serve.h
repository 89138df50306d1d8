/*
 * mcp: the search calls, the files and the retrieval prompt of repositories for other agents, by the
 * Model Context Protocol over two descriptors, a JSON object a line, or over HTTP on this machine.
 *
 * Two eras of the protocol are served side by side, each request by its own: one that carries an
 * envelope (revision 2026-07-28) stands for itself; one without needs a handshake before (revisions
 * 2025-06-18 and 2025-11-25). A repository is named by an argument, never by an earlier request.
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
#define ACR_SERVE_MAX_IN_FLIGHT 1024u         /* requests that wait; later ones are refused */
#define ACR_SERVE_MAX_WAITING_BYTES (4u * 1024 * 1024) /* of their lines, together */
#define ACR_SERVE_MAX_REPOSITORIES 32u
#define ACR_SERVE_MAX_INDEXED                                                                      \
    4u /* repositories whose index is kept; the least recently used is dropped */
/* bytes of a file that can be read as a resource */
#define ACR_SERVE_MAX_RESOURCE (1u * 1024 * 1024)
#define ACR_SERVE_PAGE 1000u       /* resources in one page of a list */
#define ACR_SERVE_MAX_SESSIONS 64u /* of HTTP; the least recently used is dropped */

/* All borrowed. */
typedef struct {
    const AcrHost *host;
    const AcrPrompts *prompts;
    const AcrCalls *calls;    /* the registry; NULL: the built-in ones */
    const char *const *paths; /* of the repositories; NULL-terminated */
    gint64 call_ms;           /* that one request may take */
    int in, out;
    guint port;                                               /* of HTTP; 0: a free one */
    void (*say)(const char *format, ...) G_GNUC_PRINTF(1, 2); /* one line for the user */
} AcrServeOptions;

typedef enum {
    ACR_SERVE_ENDED,
    ACR_SERVE_FAILED, /* with an error */
    /* an answer in progress does not return: the process must end by _exit, without freeing what it
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
 * Like acr_serve_stdio over HTTP, until the host is interrupted. `out` gets one line of JSON that
 * tells how a client connects, with the token. Errors also: those of acr_http_server_start.
 */
AcrServeEnd acr_serve_http(const AcrServeOptions *options, GError **error) ACR_MUST_USE;

#endif
