/* Private to mcp: the headers of requests by HTTP. */
#ifndef ACR_SERVE_HTTP_HEADERS_H
#define ACR_SERVE_HTTP_HEADERS_H

#include "http/server.h"
#include "serve/serve_private.h"

#define ACR_MCP_HTTP_PATH "/mcp"

/* Whether the body is meant to be JSON. */
bool acr_mcp_http_is_json(const AcrHttpIncoming *incoming);
/* Whether the client takes answers of that type. */
bool acr_mcp_http_accepts(const AcrHttpIncoming *incoming, const char *type);
/* Whether a message is of the later era, by its body or its header; its era then says so. */
bool acr_mcp_http_is_stateless(const AcrHttpIncoming *incoming, AcrMcpMessage *message);
/* What headers must say of a message in a session. */
bool acr_mcp_http_check_handshake(const AcrHttpIncoming *incoming, AcrMcpFault *fault) ACR_MUST_USE;
/* … of one that stands for itself. */
bool acr_mcp_http_check_envelope(const AcrHttpIncoming *incoming, const AcrMcpMessage *message,
                                 AcrMcpFault *fault) ACR_MUST_USE;

#endif
