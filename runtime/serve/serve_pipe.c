/* Serving the one client that holds two descriptors, until the input ends. */
#include <errno.h>
#include <string.h>

#include "serve/serve_private.h"

#define TICK_MS 100 /* in which the end of a request's time is seen */

typedef struct {
    AcrServePipe pipe;
    AcrServeServer *server;
    AcrServeClient client;
} Session;

static void reply_pipe(void *to, const char *line, int code)
{
    Session *session = to;
    if (line)
        acr_serve_pipe_write(&session->pipe, line);
}

static void take_message_line(void *ctx, const char *line, gsize len)
{
    Session *session = ctx;
    g_auto(AcrServeMessage) message = {0};
    g_auto(AcrServeFault) fault = {0};
    gsize blank = 0;
    while (line && blank < len && g_ascii_isspace(line[blank]))
        blank++;
    if (line && blank == len)
        return;
    if (!line)
        acr_serve_refuse(&fault, ACR_SERVE_INVALID_REQUEST, "a message may have %u bytes",
                         ACR_SERVE_MAX_LINE);
    if (line && acr_serve_message_read(line, len, &message, &fault)) {
        acr_serve_server_take(session->server, &session->client, &message, len, session);
        return;
    }
    g_autofree char *refusal = acr_serve_reply(&message, NULL, &fault);
    acr_serve_pipe_write(&session->pipe, refusal);
}

static bool read_messages(Session *session, GError **error)
{
    g_autoptr(GError) failed = NULL;
    while (!acr_interrupted(session->pipe.interrupt) &&
           acr_serve_pipe_read(&session->pipe,
                               acr_serve_server_watch(session->server) ? TICK_MS : -1,
                               take_message_line, session, &failed))
        if (__atomic_load_n(&session->pipe.closed, __ATOMIC_RELAXED))
            break;
    return !failed || acr_pass_error(error, &failed);
}

AcrServeEnd acr_serve_stdio(const AcrServeOptions *options, GError **error)
{
    char name[] = "";
    Session session = {.client = {.name = name}};
    acr_serve_pipe_init(&session.pipe, options);
    session.server = acr_serve_server_start(options, reply_pipe, error);
    bool is_read = session.server && read_messages(&session, error);
    if (session.server && !acr_serve_server_end(session.server, !is_read, &session.pipe.closed))
        return ACR_SERVE_BUSY_STILL;
    acr_serve_server_free(session.server);
    int closed = session.pipe.closed;
    acr_serve_pipe_clear(&session.pipe);
    if (is_read && closed && closed != EPIPE && closed != ECANCELED)
        return acr_set_error(error, ACR_SERVE_ERROR, ACR_SERVE_ERROR_FAILED,
                             "cannot write to standard output: %s", g_strerror(closed)),
               ACR_SERVE_FAILED;
    return is_read ? ACR_SERVE_ENDED : ACR_SERVE_FAILED;
}
