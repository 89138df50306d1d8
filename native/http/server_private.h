/* Private declarations of the server: connections, and requests that are not answered yet. */
#pragma once

#include <microhttpd.h>
#include <pthread.h>

#include "http/http.h"
#include "http/server.h"

/* The functions of libmicrohttpd that we call, as `acr_mhd.NAME`. */
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
extern AcrMhd acr_mhd; /* empty before acr_http_load_mhd() */
bool acr_http_load_mhd(GError **error) ACR_MUST_USE;

/* A connected client. */
typedef struct {
    int fd;
    gint64 since_us; /* time when the client connected or its last answer ended */
    bool is_busy;    /* the server is answering a complete request of the client */
} AcrHttpVisitor;

struct AcrHttpServer {
    AcrHttpServerOptions options;
    char *token; /* owned */
    guint port;
    int wake; /* an eventfd, signalled when an answer has grown or the server must end */
    pthread_t thread;
    bool is_stopping; /* read and set atomically */
    /* Only the server's thread uses the following members. */
    struct MHD_Daemon *daemon;
    GPtrArray *visitors; /* array of owned AcrHttpVisitor, the oldest first */
    GPtrArray *open;     /* array of shared AcrHttpIncoming whose connections are open */
};

struct AcrHttpIncoming {
    int references; /* changed atomically */
    /* These members are constant after the request was passed to the callback. */
    char *method, *path;
    GHashTable *headers;
    GByteArray *body;
    /* Only the server's thread uses the following members. */
    AcrHttpServer *server;
    struct MHD_Connection *connection;
    AcrHttpVisitor *visitor;
    const char *refusal; /* static string: why the request is rejected; NULL if it is accepted */
    int refusal_status;
    /* is_handed: the callback has received the request; is_left: the client has closed its end */
    bool is_handed, is_suspended, is_left;
    /* The mutex protects the following members. */
    pthread_mutex_t mutex;
    bool is_gone; /* the client has disconnected; `server` may be freed */
    int status;   /* HTTP status of the answer; 0 until the answer begins */
    /* is_stream: the answer is a stream of server-sent events; is_ended: the answer is complete;
     * is_answering: MHD has the response */
    bool is_stream, is_ended, is_answering;
    GHashTable *answer_headers;
    GByteArray *answer; /* the bytes from offset `answer_at` on are unread */
    gsize answer_at;
};

AcrHttpIncoming *acr_http_incoming_new(AcrHttpServer *server, struct MHD_Connection *connection,
                                       const char *path, const char *method) ACR_MUST_USE;
/* Adds a piece of the body. A request whose body exceeds its limit will be rejected. */
void acr_http_incoming_add(AcrHttpIncoming *incoming, const char *data, gsize len);
/* Whether MHD should ask for the answer again: the answer has begun or grown, or the client has
 * disconnected. */
bool acr_http_incoming_is_due(AcrHttpIncoming *incoming);
/* Queues an answer that has begun, or suspends the connection until the answer begins. */
enum MHD_Result acr_http_incoming_respond(AcrHttpIncoming *incoming) ACR_MUST_USE;
/* Marks the client as gone, so that nothing more is sent. Returns true if the answer was
 * complete. */
bool acr_http_incoming_leave(AcrHttpIncoming *incoming);

/* Sets `refusal` unless the request comes from a program that knows the token. */
void acr_http_guard(AcrHttpIncoming *incoming);
