/* Serving the one client that holds two descriptors, until the input ends. */
#include <errno.h>
#include <string.h>

#include "serve/serve_private.h"

#define TICK_MS 100 /* in which the end of a request's time is seen */

typedef struct {
    AcrMcpPipe pipe;
    AcrMcpServer *server;
    AcrMcpClient client;
} Session;

static void reply(void *to, const char *line, int code)
{
    Session *session = to;
    if (line)
        acr_mcp_pipe_write(&session->pipe, line);
}

static void take_line(void *ctx, const char *line, gsize len)
{
    Session *session = ctx;
    g_auto(AcrMcpMessage) message = {0};
    g_auto(AcrMcpFault) fault = {0};
    gsize blank = 0;
    while (line && blank < len && g_ascii_isspace(line[blank]))
        blank++;
    if (line && blank == len)
        return;
    if (!line)
        acr_mcp_refuse(&fault, ACR_MCP_INVALID_REQUEST, "a message may have %u bytes",
                       ACR_MCP_MAX_LINE);
    if (line && acr_mcp_message_read(line, len, &message, &fault)) {
        acr_mcp_server_take(session->server, &session->client, &message, len, session);
        return;
    }
    g_autofree char *refusal = acr_mcp_reply(&message, NULL, &fault);
    acr_mcp_pipe_write(&session->pipe, refusal);
}

static bool read_all(Session *session, GError **error)
{
    g_autoptr(GError) failed = NULL;
    while (!acr_interrupted(session->pipe.interrupt) &&
           acr_mcp_pipe_read(&session->pipe, acr_mcp_server_watch(session->server) ? TICK_MS : -1,
                             take_line, session, &failed))
        if (__atomic_load_n(&session->pipe.closed, __ATOMIC_RELAXED))
            break;
    return !failed || acr_pass_error(error, &failed);
}

AcrMcpEnd acr_mcp_serve(const AcrMcpOptions *options, GError **error)
{
    char name[] = "";
    Session session = {.client = {.name = name}};
    acr_mcp_pipe_init(&session.pipe, options);
    session.server = acr_mcp_server_start(options, reply, error);
    bool is_read = session.server && read_all(&session, error);
    if (session.server && !acr_mcp_server_end(session.server, !is_read, &session.pipe.closed))
        return ACR_MCP_BUSY_STILL;
    acr_mcp_server_free(session.server);
    int closed = session.pipe.closed;
    acr_mcp_pipe_clear(&session.pipe);
    if (is_read && closed && closed != EPIPE && closed != ECANCELED)
        return acr_set_error(error, ACR_MCP_ERROR, ACR_MCP_ERROR_FAILED,
                             "cannot write to standard output: %s", g_strerror(closed)),
               ACR_MCP_FAILED;
    return is_read ? ACR_MCP_ENDED : ACR_MCP_FAILED;
}
