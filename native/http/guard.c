/* Decides which requests the server accepts. A web page of another site can make a browser send
 * requests to this server, even under a DNS name that the site's owner resolves to 127.0.0.1; the
 * Host or Origin header reveals such requests. Other users of the machine can connect, but do not
 * know the token. */
#include <string.h>

#include "http/server_private.h"

#define BEARER "Bearer "

static bool has_token(const AcrHttpIncoming *incoming)
{
    const AcrHttpServer *server = incoming->server;
    const char *header = acr_http_incoming_header(incoming, "authorization");
    if (header && g_ascii_strncasecmp(header, BEARER, strlen(BEARER)) == 0 &&
        acr_token_equal(server->token, header + strlen(BEARER)))
        return true;
    return server->options.takes_token_of_query &&
           acr_token_equal(server->token,
                           acr_mhd.lookup_connection_value(incoming->connection,
                                                           MHD_GET_ARGUMENT_KIND, "token"));
}

/* Whether a Host header names this machine by a name that DNS cannot redirect. Any port is
 * accepted, because SSH tunnels change it. */
static bool is_of_loopback(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        gsize len = strlen(names[i]);
        if (g_ascii_strncasecmp(host, names[i], len) == 0 &&
            (host[len] == '\0' ||
             (host[len] == ':' && host[len + strspn(host + len + 1, "0123456789") + 1] == '\0')))
            return true;
    }
    return false;
}

static void refuse_client(AcrHttpIncoming *incoming, int status, const char *why)
{
    incoming->refusal_status = status;
    incoming->refusal = why;
}

void acr_http_guard(AcrHttpIncoming *incoming)
{
    const char *host = acr_http_incoming_header(incoming, "host"),
               *origin = acr_http_incoming_header(incoming, "origin");
    g_autofree char *own = g_strconcat("http://", host, NULL);
    if (!host || !is_of_loopback(host))
        refuse_client(incoming, MHD_HTTP_FORBIDDEN,
                      "the Host header must be localhost or 127.0.0.1\n");
    else if (origin && g_ascii_strcasecmp(origin, own) != 0)
        refuse_client(incoming, MHD_HTTP_FORBIDDEN, "cross-origin requests are rejected\n");
    else if (!has_token(incoming)) {
        refuse_client(incoming, MHD_HTTP_UNAUTHORIZED, "the token is missing or wrong\n");
        acr_http_incoming_set_header(incoming, "WWW-Authenticate", "Bearer");
    }
}
