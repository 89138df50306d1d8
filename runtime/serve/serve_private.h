/* Private to serve: messages, repositories, and the functions that answer requests. */
#pragma once

#include <pthread.h>

#include "http/server.h"
#include "serve/lines.h"
#include "serve/serve.h"

/* Error codes of JSON-RPC and of MCP. */
enum {
    ACR_SERVE_PARSE = -32700,
    ACR_SERVE_INVALID_REQUEST = -32600,
    ACR_SERVE_NO_METHOD = -32601,
    ACR_SERVE_INVALID_PARAMS = -32602,
    ACR_SERVE_INTERNAL = -32603,
    ACR_SERVE_BUSY = -32000,
    /* used only in sessions with a handshake; the later revision uses INVALID_PARAMS */
    ACR_SERVE_NO_RESOURCE = -32002,
    ACR_SERVE_WRONG_HEADER = -32020, /* over HTTP only: a header contradicts the body */
    ACR_SERVE_WRONG_VERSION = -32022,
};

typedef enum { ACR_SERVE_HANDSHAKE, ACR_SERVE_STATELESS } AcrServeEra;

#define ACR_SERVE_STATELESS_VERSION "2026-07-28"
#define ACR_SERVE_NEWEST_HANDSHAKE "2025-11-25"
/* True if the server supports this version in a handshake. */
bool acr_serve_is_handshake(const char *version);

/* A request or a notification. `json` is owned; the other pointers are borrowed from `json`. */
typedef struct {
    AcrJson *json;
    const char *method;
    const AcrJson *id;     /* NULL for a notification */
    const AcrJson *params; /* an object, or NULL */
    AcrServeEra era;
} AcrServeMessage;
void acr_serve_message_clear(AcrServeMessage *message);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrServeMessage, acr_serve_message_clear)

/* The reason why a request is rejected. The members are owned; zero-initialise. */
typedef struct {
    int code; /* error code; 0 if the request is not rejected */
    char *text;
    AcrJson *data; /* further data for the client, or NULL */
} AcrServeFault;
void acr_serve_fault_clear(AcrServeFault *fault);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrServeFault, acr_serve_fault_clear)
/* Sets the fault. Returns NULL, so that the caller can return the result. */
AcrJson *acr_serve_refuse(AcrServeFault *fault, int code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* Parses a line; `line` is NULL if it was too long. If the line is not a message, returns false
 * with a fault, and with out->id if it could be read. A response, which needs no answer, has no
 * method. */
bool acr_serve_message_read(const char *line, gsize len, AcrServeMessage *out,
                            AcrServeFault *fault) ACR_MUST_USE;
/* True if a request is allowed in its revision: its envelope is valid, or a handshake preceded it.
 * Otherwise sets a fault. */
bool acr_serve_message_check(const AcrServeMessage *message, bool has_handshake,
                             AcrServeFault *fault) ACR_MUST_USE;
/* Returns the answer as a line; owned. `result` is taken; if it is NULL, the line contains the
 * fault. If `message` is NULL or has no id, the line's id is null. */
char *acr_serve_reply(const AcrServeMessage *message, AcrJson *result,
                      const AcrServeFault *fault) ACR_MUST_USE;

/* Returns a string in the message's parameters; NULL with a fault if it is missing or not a
 * string. */
const char *acr_serve_param(const AcrServeMessage *message, const char *name, AcrServeFault *fault);
/* Returns false with a fault if the message has a cursor. For lists that have only one page. */
bool acr_serve_one_page(const AcrServeMessage *message, AcrServeFault *fault) ACR_MUST_USE;
/* Sets the fault for an unsupported version that was found in `where`. The fault lists the versions
 * that are supported in `where`. */
#define ACR_SERVE_VERSION_HEADER "the header MCP-Protocol-Version"
void acr_serve_refuse_version(AcrServeFault *fault, const char *where, const char *version);

/* Sets how long, in milliseconds, a client may keep a result. Does nothing except in the later
 * revision. */
#define ACR_SERVE_KEEP_MS 3600000 /* for results that do not change while the process runs */
void acr_serve_set_ttl(AcrJson *result, const AcrServeMessage *message, gint64 ttl_ms);

typedef struct AcrServeServer AcrServeServer;
/* Called once for each request, in any thread, with its answer as a line. `line` is NULL if the
 * request was cancelled and gets no answer. `code` is the fault's code, or 0. */
typedef void AcrServeReply(void *to, const char *line, int code);
/* A source of requests with different ids: a pipe, a session, or an independent request. */
typedef struct {
    char *name; /* unique name of the client */
    bool has_handshake;
} AcrServeClient;

/* Opens the repositories and starts the thread that owns them. Owned. Errors: those of
 * acr_repo_open, FAILED. */
AcrServeServer *acr_serve_server_start(const AcrServeOptions *options, AcrServeReply *reply,
                                       GError **error) ACR_MUST_USE;
/* Answers a request, or handles a notification. `message` (of `size` bytes) is taken; `to` is
 * passed to the AcrServeReply. One thread at a time. */
void acr_serve_server_take(AcrServeServer *server, AcrServeClient *client, AcrServeMessage *message,
                           gsize size, void *to);
/* Cancels all requests of the client named `client`. Thread-safe. */
void acr_serve_server_cancel(AcrServeServer *server, const char *client);
/* Ends answers that exceed the time limit. Each second, passes a progress line to `notify` (may be
 * NULL) for each waiting request that asks for progress. Returns true if an answer is in progress.
 * Thread-safe. */
bool acr_serve_server_watch(AcrServeServer *server, AcrServeReply *notify);
/* Answers the requests that have arrived, unless `is_aborted`, until the host is interrupted or
 * `*lost` is set (atomic; may be NULL). Returns false if an answer is still in progress; then the
 * server must not be freed. */
bool acr_serve_server_end(AcrServeServer *server, bool is_aborted, const int *lost) ACR_MUST_USE;
void acr_serve_server_free(AcrServeServer *server);

typedef struct AcrServeRepositories AcrServeRepositories;

/* Opens all repositories, and names each after its folder; the names are unique. Owned. Errors:
 * those of acr_repo_open. */
AcrServeRepositories *acr_serve_repositories_open(const AcrServeOptions *options,
                                                  GError **error) ACR_MUST_USE;
void acr_serve_repositories_free(AcrServeRepositories *all);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrServeRepositories, acr_serve_repositories_free)

guint acr_serve_repositories_n(const AcrServeRepositories *all);
const char *acr_serve_repository_name(const AcrServeRepositories *all, guint i); /* borrowed */
/* -1 if there is none */
int acr_serve_repository_find(const AcrServeRepositories *all, const char *name);
/* Returns a phrase for people that says which repository is being indexed; owned; NULL if none is
 * being indexed. Thread-safe. */
char *acr_serve_repositories_doing(AcrServeRepositories *all) ACR_MUST_USE;
/* Returns the names as "a, b, c"; owned. */
char *acr_serve_repository_names(const AcrServeRepositories *all) ACR_MUST_USE;

/* A repository in its current state. Borrowed until the next call of acr_serve_repository_view. */
typedef struct {
    AcrSnapshot *snapshot;
    AcrIndex *index;
    AcrSearch *search;
} AcrServeView;
/* Sets *out to the state of repository `i` at `since_us` (monotonic time) or later. Indexes the
 * repository if it has changed. One thread at a time. Errors: those of vcs and index;
 * INTERRUPTED. */
bool acr_serve_repository_view(AcrServeRepositories *all, guint i, gint64 since_us,
                               const AcrInterrupt *interrupt, AcrServeView *out,
                               GError **error) ACR_MUST_USE;

/* The input of a method. */
typedef struct {
    const AcrServeOptions *options;
    AcrServeRepositories *repositories;
    const AcrServeMessage *message;
    gint64 since_us;               /* monotonic time at which the request was read */
    const AcrInterrupt *interrupt; /* interrupts this request */
} AcrServeRequest;

typedef struct {
    const char *name;
    bool in_handshake, in_stateless; /* the revisions that have the method */
    /* the method reads a repository, so it runs in the thread that owns the repositories */
    bool looks;
    /* Returns the result, owned; NULL with a fault. */
    AcrJson *(*answer)(const AcrServeRequest *request, AcrServeFault *fault);
} AcrServeMethod;
/* Returns the method of a message; NULL if the message's revision lacks it. */
const AcrServeMethod *acr_serve_method_find(const AcrServeMessage *message);

AcrJson *acr_serve_tools_list(const AcrServeRequest *request, AcrServeFault *fault);
AcrJson *acr_serve_tools_call(const AcrServeRequest *request, AcrServeFault *fault);
AcrJson *acr_serve_resources_list(const AcrServeRequest *request, AcrServeFault *fault);
AcrJson *acr_serve_resources_read(const AcrServeRequest *request, AcrServeFault *fault);
AcrJson *acr_serve_templates_list(const AcrServeRequest *request, AcrServeFault *fault);

/* Returns the error as text for the client, or a statement that the time limit was reached.
 * Owned. */
char *acr_serve_told(const AcrServeRequest *request, const GError *error) ACR_MUST_USE;

#define ACR_SERVE_HTTP_PATH "/mcp"

/* True if the request's headers say that its body is JSON. */
bool acr_serve_http_is_json(const AcrHttpIncoming *incoming);
/* True if the client accepts answers of the media type `type`. */
bool acr_serve_http_accepts(const AcrHttpIncoming *incoming, const char *type);
/* True if a message belongs to the later revision, according to its body or header. Sets the
 * message's revision. */
bool acr_serve_http_is_stateless(const AcrHttpIncoming *incoming, AcrServeMessage *message);
/* Checks the headers of a message without an envelope. Returns false with a fault. */
bool acr_serve_http_check_handshake(const AcrHttpIncoming *incoming,
                                    AcrServeFault *fault) ACR_MUST_USE;
/* Checks the headers of a message with an envelope against its body. Returns false with a fault. */
bool acr_serve_http_check_envelope(const AcrHttpIncoming *incoming, const AcrServeMessage *message,
                                   AcrServeFault *fault) ACR_MUST_USE;
