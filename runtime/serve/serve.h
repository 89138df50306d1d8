/* serve: serves the search calls, the files and the retrieval prompt of repositories to other
 * agents, by the Model Context Protocol (MCP) over two descriptors (with one JSON object on each
 * line), or over HTTP on this machine.
 *
 * The protocol has two kinds of requests. A request with an envelope (revision 2026-07-28) is
 * independent of other requests. A request without an envelope needs an earlier handshake
 * (revisions 2024-11-05 to 2025-11-25). If several repositories are served, an argument of each
 * request names the repository. */
#pragma once

#include "agents/agents.h"
#include "base/base.h"
#include "task/task.h"

typedef enum {
    ACR_SERVE_ERROR_FAILED,
} AcrServeError;
#define ACR_SERVE_ERROR acr_serve_error_quark()
GQuark acr_serve_error_quark(void);

#define ACR_SERVE_MAX_LINE (1u * 1024 * 1024) /* maximum size of a message in bytes */
/* maximum number of waiting requests; further requests are rejected */
#define ACR_SERVE_MAX_IN_FLIGHT 1024u
/* maximum total size of all waiting requests in bytes */
#define ACR_SERVE_MAX_WAITING_BYTES (4u * 1024 * 1024)
#define ACR_SERVE_MAX_REPOSITORIES 32u
/* maximum number of repositories whose index is kept; the least recently used index is dropped */
#define ACR_SERVE_MAX_INDEXED 4u
/* maximum size of a file that can be read as a resource, in bytes */
#define ACR_SERVE_MAX_RESOURCE (1u * 1024 * 1024)
#define ACR_SERVE_PAGE 1000u /* number of resources in one page of a list */
/* maximum number of HTTP sessions; the least recently used session is dropped */
#define ACR_SERVE_MAX_SESSIONS 64u

/* Options of the server. All members are borrowed. */
typedef struct {
    const AcrHost *host;
    const AcrPrompts *prompts;
    const AcrCalls *calls;    /* the registry of calls; NULL: the built-in calls */
    const char *const *paths; /* paths of the repositories; NULL-terminated */
    bool tests;               /* search in tests, too */
    gint64 call_ms;           /* time limit of one request in milliseconds */
    int in, out;
    guint port;                                               /* port for HTTP; 0: any free port */
    void (*say)(const char *format, ...) G_GNUC_PRINTF(1, 2); /* shows one line to the user */
} AcrServeOptions;

typedef enum {
    ACR_SERVE_ENDED,
    ACR_SERVE_FAILED, /* an error was set */
    /* an answer in progress has not ended, so the process must call _exit without freeing the
     * memory that the answer uses */
    ACR_SERVE_BUSY_STILL,
} AcrServeEnd;

/* Answers messages from `in` until its end, or until `out` is closed or the host is interrupted.
 * Indexes repositories in advance while no request waits. Errors: those of acr_repo_open, before
 * any message is read; FAILED (`in` or `out` fails, or no thread can be started). */
AcrServeEnd acr_serve_stdio(const AcrServeOptions *options, GError **error) ACR_MUST_USE;
/* Answers messages like acr_serve_stdio, but over HTTP until the host is interrupted. Writes one
 * line of JSON to `out` with the address and the token that a client needs. Errors: also those of
 * acr_http_server_start. */
AcrServeEnd acr_serve_http(const AcrServeOptions *options, GError **error) ACR_MUST_USE;
