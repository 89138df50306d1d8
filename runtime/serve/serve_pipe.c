/* Serves one MCP client on two descriptors, until the input ends. */
#include <string.h>

#include "serve/serve_private.h"

#define TICK_MS 100 /* interval in milliseconds between checks of timeouts */

typedef struct {
    AcrServePipe pipe;
    AcrServeServer *server;
    AcrServeClient client;
} Session;

/* Writes the answer of a request; a cancelled request (`line` is NULL) gets no answer.
 * Thread-safe. */
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
    if (acr_serve_message_read(line, len, &message, &fault)) {
        acr_serve_server_take(session->server, &session->client, &message, len, session);
        return;
    }
    g_autofree char *refusal = acr_serve_reply(&message, NULL, &fault);
    reply_pipe(session, refusal, 0);
}

static bool read_messages(Session *session, GError **error)
{
    g_autoptr(GError) failed = NULL;
    while (!acr_interrupted(session->pipe.interrupt) &&
           acr_serve_pipe_read(&session->pipe,
                               acr_serve_server_watch(session->server, reply_pipe) ? TICK_MS : -1,
                               &failed))
        ;
    return !failed || acr_pass_error(error, &failed);
}

AcrServeEnd acr_serve_stdio(const AcrServeOptions *options, GError **error)
{
    char name[] = "";
    Session session = {.client = {.name = name}};
    acr_serve_pipe_open(&session.pipe, options->in, options->out, options->host->interrupt);
    session.pipe.lines.take = take_message_line;
    session.pipe.lines.ctx = &session;
    session.server = acr_serve_server_start(options, reply_pipe, error);
    bool is_read = session.server && read_messages(&session, error);
    if (session.server && !acr_serve_server_end(session.server, !is_read, &session.pipe.closed))
        return ACR_SERVE_BUSY_STILL;
    acr_serve_server_free(session.server);
    bool is_written = acr_serve_pipe_close(&session.pipe, is_read ? error : NULL);
    return is_read && is_written ? ACR_SERVE_ENDED : ACR_SERVE_FAILED;
}
