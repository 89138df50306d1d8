/* Private to mcp: messages, repositories, and the methods that answer. */
#ifndef ACR_SERVE_PRIVATE_H
#define ACR_SERVE_PRIVATE_H

#include <pthread.h>

#include "serve/serve.h"

/* ---- Messages (message.c) ---- */

/* JSON-RPC's codes, and those of MCP. */
enum {
    ACR_MCP_PARSE = -32700,
    ACR_MCP_INVALID_REQUEST = -32600,
    ACR_MCP_NO_METHOD = -32601,
    ACR_MCP_INVALID_PARAMS = -32602,
    ACR_MCP_INTERNAL = -32603,
    ACR_MCP_BUSY = -32000,
    ACR_MCP_NO_RESOURCE = -32002,  /* of the handshake era; INVALID_PARAMS in the later one */
    ACR_MCP_WRONG_HEADER = -32020, /* of HTTP: it does not say what the body says */
    ACR_MCP_WRONG_VERSION = -32022,
};

typedef enum { ACR_MCP_HANDSHAKE, ACR_MCP_STATELESS } AcrMcpEra;

#define ACR_MCP_STATELESS_VERSION "2026-07-28"
#define ACR_MCP_NEWEST_HANDSHAKE "2025-11-25"
#define ACR_MCP_OLDEST_HANDSHAKE "2025-06-18"

/* A request or a notification. `json` is owned, the rest is borrowed from it. */
typedef struct {
    AcrJson *json;
    const char *method;
    const AcrJson *id;     /* NULL: a notification */
    const AcrJson *params; /* an object, or NULL */
    AcrMcpEra era;
} AcrMcpMessage;
void acr_mcp_message_clear(AcrMcpMessage *message);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrMcpMessage, acr_mcp_message_clear)

/* Why a request is refused. Owned; zero-initialise. */
typedef struct {
    int code; /* 0: it is not */
    char *text;
    AcrJson *data; /* or NULL */
} AcrMcpFault;
void acr_mcp_fault_clear(AcrMcpFault *fault);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrMcpFault, acr_mcp_fault_clear)
/* Sets it; NULL, for `return` of a result. */
AcrJson *acr_mcp_refuse(AcrMcpFault *fault, int code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/*
 * Reads a line. False with a fault where it is not a message; `out` then holds the id, if that could
 * be read. A message of which nothing is to be answered (a response) has no method.
 */
bool acr_mcp_message_read(const char *line, gsize len, AcrMcpMessage *out,
                          AcrMcpFault *fault) ACR_MUST_USE;
/* Whether a request may be answered in its era: its envelope is right, or a handshake was made. */
bool acr_mcp_message_check(const AcrMcpMessage *message, bool has_handshake,
                           AcrMcpFault *fault) ACR_MUST_USE;
/* The answer as a line; `result` is taken, NULL: the fault. `message` NULL or without id: id is null.
 * Owned. */
char *acr_mcp_reply(const AcrMcpMessage *message, AcrJson *result,
                    const AcrMcpFault *fault) ACR_MUST_USE;

/* The fault that says so, and which versions are. */
void acr_mcp_refuse_version(AcrMcpFault *fault, const char *version);

/* How long a client may keep a result, in the later era. */
#define ACR_MCP_KEEP_MS 3600000 /* what stays as long as this process */
void acr_mcp_set_ttl(AcrJson *result, const AcrMcpMessage *message, gint64 ttl_ms);

/* ---- The pipe (pipe.c) ---- */

/* Lines from one descriptor, within ACR_MCP_MAX_LINE, and to another. */
typedef struct {
    int in, out;
    const AcrInterrupt *interrupt;
    GByteArray *line; /* what has come of the next one */
    bool is_too_long; /* … of which no more is kept */
    pthread_mutex_t writing;
    int closed; /* an errno, once `out` cannot be written to; atomic */
} AcrMcpPipe;
void acr_mcp_pipe_init(AcrMcpPipe *pipe, const AcrMcpOptions *options);
void acr_mcp_pipe_clear(AcrMcpPipe *pipe);
/*
 * Waits for input, at most `timeout_ms` (-1: for ever), and gives each whole line to `take` (NULL: it was
 * too long); the last one may lack its end. Returns false at the end of the input, when `out` is
 * closed, or with an error (FAILED); true also where nothing came, or an interrupt.
 */
bool acr_mcp_pipe_read(AcrMcpPipe *pipe, int timeout_ms,
                       void (*take)(void *ctx, const char *line, gsize len), void *ctx,
                       GError **error) ACR_MUST_USE;
/* Writes a line, waiting for the reader; not after an interrupt. Thread-safe. */
void acr_mcp_pipe_write(AcrMcpPipe *pipe, const char *line);
/* Blocks the signals that end the program, in this thread; *out_before is for pthread_sigmask. */
void acr_mcp_block_signals(sigset_t *out_before);

/* ---- The server that a transport feeds (server.c) ---- */

typedef struct AcrMcpServer AcrMcpServer;
/*
 * Gives an answer, once for each request, by any thread. `line` NULL: the request was cancelled and
 * gets none; `code`: of the fault that it is, or 0.
 */
typedef void AcrMcpReply(void *to, const char *line, int code);
/* Who sends requests whose ids differ: a pipe, a session, or a request that stands for itself. */
typedef struct {
    char *name; /* unlike those of other clients */
    bool has_handshake;
} AcrMcpClient;

/* Opens the repositories and starts the thread that owns them. Owned. */
AcrMcpServer *acr_mcp_server_start(const AcrMcpOptions *options, AcrMcpReply *reply,
                                   GError **error) ACR_MUST_USE;
/* Answers a request or obeys a notification, of `size` bytes; `message` is taken. One thread at a time. */
void acr_mcp_server_take(AcrMcpServer *server, AcrMcpClient *client, AcrMcpMessage *message,
                         gsize size, void *to);
/* Cancels all that a client has asked. Thread-safe. */
void acr_mcp_server_cancel(AcrMcpServer *server, const char *client);
/* Ends what has taken too long. Returns whether anything is being worked on. Thread-safe. */
bool acr_mcp_server_watch(AcrMcpServer *server);
/*
 * What has come is answered still, unless `is_aborted`, until the host is interrupted or `*lost` is set
 * (atomic; NULL: never). False: it still works on something, and cannot be freed.
 */
bool acr_mcp_server_end(AcrMcpServer *server, bool is_aborted, const int *lost) ACR_MUST_USE;
void acr_mcp_server_free(AcrMcpServer *server);

/* ---- Repositories (repositories.c) ---- */

typedef struct AcrMcpRepositories AcrMcpRepositories;

/* Opens them all and gives each a name: that of its folder, made unique. Owned. */
AcrMcpRepositories *acr_mcp_repositories_open(const AcrMcpOptions *options,
                                              GError **error) ACR_MUST_USE;
void acr_mcp_repositories_free(AcrMcpRepositories *all);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrMcpRepositories, acr_mcp_repositories_free)

guint acr_mcp_repositories_n(const AcrMcpRepositories *all);
const char *acr_mcp_repository_name(const AcrMcpRepositories *all, guint i);  /* borrowed */
int acr_mcp_repository_find(const AcrMcpRepositories *all, const char *name); /* -1: none */
/* "a, b, c"; owned. */
char *acr_mcp_repository_names(const AcrMcpRepositories *all) ACR_MUST_USE;

/* A view of a repository as it is now: borrowed until the next one. */
typedef struct {
    AcrSnapshot *snapshot;
    AcrIndex *index;
    AcrSearch *search;
} AcrMcpView;
/*
 * As it was at `since_us` (monotonic) or later; indexes it where it has changed. One thread at a time.
 * Errors: those of vcs and index; INTERRUPTED.
 */
bool acr_mcp_repository_view(AcrMcpRepositories *all, guint i, gint64 since_us,
                             const AcrInterrupt *interrupt, AcrMcpView *out,
                             GError **error) ACR_MUST_USE;

/* ---- Methods (methods.c, tools.c, resources.c; what they share: parameters.c) ---- */

/* What a method works with. */
typedef struct {
    const AcrMcpOptions *options;
    AcrMcpRepositories *repositories;
    const AcrMcpMessage *message;
    gint64 since_us;               /* when the request was read */
    const AcrInterrupt *interrupt; /* of this request */
} AcrMcpRequest;

typedef struct {
    const char *name;
    bool in_handshake, in_stateless; /* the eras that know it */
    bool looks; /* at a repository: answered in turn, by the thread that owns them */
    /* The result; owned. NULL: the fault. */
    AcrJson *(*answer)(const AcrMcpRequest *request, AcrMcpFault *fault);
} AcrMcpMethod;
/* NULL: that era has none of that name. */
const AcrMcpMethod *acr_mcp_method_find(const AcrMcpMessage *message);

AcrJson *acr_mcp_tools_list(const AcrMcpRequest *request, AcrMcpFault *fault);
AcrJson *acr_mcp_tools_call(const AcrMcpRequest *request, AcrMcpFault *fault);
AcrJson *acr_mcp_resources_list(const AcrMcpRequest *request, AcrMcpFault *fault);
AcrJson *acr_mcp_resources_read(const AcrMcpRequest *request, AcrMcpFault *fault);
AcrJson *acr_mcp_templates_list(const AcrMcpRequest *request, AcrMcpFault *fault);

/* A string of the request's parameters; NULL with a fault where it is missing or none. */
const char *acr_mcp_param(const AcrMcpRequest *request, const char *name, AcrMcpFault *fault);
/* Refuses a cursor: for lists of one page. */
bool acr_mcp_one_page(const AcrMcpRequest *request, AcrMcpFault *fault) ACR_MUST_USE;
/* What went wrong, in words for the client: the error's, or that the time was over. Owned. */
char *acr_mcp_told(const AcrMcpRequest *request, const GError *error) ACR_MUST_USE;

#endif
