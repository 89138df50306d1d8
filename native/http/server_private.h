/* Shared inside http's server: its connections, and requests until they are answered. */
#ifndef ACR_HTTP_SERVER_PRIVATE_H
#define ACR_HTTP_SERVER_PRIVATE_H

#include <microhttpd.h>
#include <pthread.h>

#include "http/http.h"
#include "http/server.h"

/* What is used of libmicrohttpd, as `MHD_NAME` there. */
// clang-format off
#define ACR_MHD_FUNCTIONS(F) \
    F(start_daemon) F(stop_daemon) F(run) F(get_timeout) F(get_daemon_info) \
    F(get_connection_info) F(get_connection_values) F(lookup_connection_value) \
    F(suspend_connection) F(resume_connection) F(create_response_from_buffer) \
    F(create_response_from_callback) F(add_response_header) F(queue_response) \
    F(destroy_response) F(get_version)
// clang-format on
typedef struct {
#define MEMBER(name) __typeof__(&MHD_##name) name;
    ACR_MHD_FUNCTIONS(MEMBER)
#undef MEMBER
} AcrMhd;
extern AcrMhd acr_mhd; /* empty until acr_http_load_mhd() */
bool acr_http_load_mhd(GError **error) ACR_MUST_USE;

/* A client that is connected. */
typedef struct {
    int fd;
    gint64 since_us; /* of the connection, or of the end of its last answer */
    bool is_busy;    /* a whole request has come, and is being answered */
} AcrHttpVisitor;

struct AcrHttpServer {
    AcrHttpServerOptions options;
    char *token; /* owned */
    guint port;
    int wake; /* an eventfd: an answer has grown, or the server ends */
    pthread_t thread;
    bool is_stopping; /* atomic */
    /* Of the thread alone: */
    struct MHD_Daemon *daemon;
    GPtrArray *visitors; /* of AcrHttpVisitor, owned; the oldest first */
    GPtrArray *open;     /* of AcrHttpIncoming, shared: those whose connection is there */
};

struct AcrHttpIncoming {
    int references; /* atomic */
    /* The same since it was handed over: */
    char *method, *path;
    GHashTable *headers;
    GByteArray *body;
    /* Of the server's thread alone: */
    AcrHttpServer *server;
    struct MHD_Connection *connection;
    AcrHttpVisitor *visitor;
    const char *refusal; /* static; NULL: it is none */
    int refusal_status;
    bool is_handed, is_suspended, is_left; /* is_left: the client has closed its end */
    /* Of the mutex: */
    pthread_mutex_t mutex;
    bool is_gone;                           /* the server may be, too */
    int status;                             /* 0: no answer has begun */
    bool is_stream, is_ended, is_answering; /* … by server-sent events; all is there; MHD has it */
    GHashTable *answer_headers;
    GByteArray *answer; /* what has not been read yet begins at `answer_at` */
    gsize answer_at;
};

/* A request whose headers have come. */
AcrHttpIncoming *acr_http_incoming_new(AcrHttpServer *server, struct MHD_Connection *connection,
                                       const char *path, const char *method) ACR_MUST_USE;
/* Adds a piece of the body; beyond the limit it is counted as a refusal. */
void acr_http_incoming_add(AcrHttpIncoming *incoming, const char *data, gsize len);
/* Whether MHD should ask again: an answer has begun or grown, or nobody is there for it. */
bool acr_http_incoming_is_due(AcrHttpIncoming *incoming);
/* Queues the answer that has begun, or suspends the connection until one has. */
enum MHD_Result acr_http_incoming_respond(AcrHttpIncoming *incoming) ACR_MUST_USE;
/* Nothing more can be sent; whether the answer was complete. */
bool acr_http_incoming_leave(AcrHttpIncoming *incoming);

/* Sets the refusal of a request that does not come from a program that knows the token. */
void acr_http_guard(AcrHttpIncoming *incoming);

#endif
