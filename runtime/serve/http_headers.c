/* Checks the headers of an HTTP request. In the later revision, headers repeat parts of the body
 * for routers, and must equal these parts. */
#include <string.h>

#include "serve/serve_private.h"

#define META "io.modelcontextprotocol/"
#define MAX_SHOWN 80u
#define BASE64 "=?base64?"
#define BASE64_END "?="

bool acr_serve_http_is_json(const AcrHttpIncoming *incoming)
{
    static const char json[] = "application/json";
    const char *type = acr_http_incoming_header(incoming, "content-type");
    return type && g_ascii_strncasecmp(type, json, strlen(json)) == 0 &&
           strchr("; ", type[strlen(json)]);
}

bool acr_serve_http_accepts(const AcrHttpIncoming *incoming, const char *type)
{
    const char *accept = acr_http_incoming_header(incoming, "accept");
    const char *slash = strchr(type, '/');
    g_autofree char *any = g_strdup_printf("%.*s/*", (int)(slash - type), type);
    g_auto(GStrv) ranges = g_strsplit(accept ? accept : "*/*", ",", -1);
    for (char **range = ranges; *range; range++) {
        (*range)[strcspn(*range, ";")] = '\0';
        g_strstrip(*range);
        if (g_ascii_strcasecmp(*range, type) == 0 || g_ascii_strcasecmp(*range, any) == 0 ||
            strcmp(*range, "*/*") == 0)
            return true;
    }
    return false;
}

bool acr_serve_http_is_stateless(const AcrHttpIncoming *incoming, AcrServeMessage *message)
{
    const char *version = acr_http_incoming_header(incoming, "mcp-protocol-version");
    if (g_strcmp0(version, ACR_SERVE_STATELESS_VERSION) == 0)
        message->era = ACR_SERVE_STATELESS;
    return message->era == ACR_SERVE_STATELESS;
}

bool acr_serve_http_check_handshake(const AcrHttpIncoming *incoming, AcrServeFault *fault)
{
    const char *version = acr_http_incoming_header(incoming, "mcp-protocol-version");
    if (!version || acr_serve_is_handshake(version))
        return true;
    acr_serve_refuse_version(fault, ACR_SERVE_VERSION_HEADER, version);
    return false;
}

/* Returns the value of a header; decodes it if the client has encoded it as base64; owned. */
static char *unpack(const char *value)
{
    gsize len = strlen(value), wrapping = strlen(BASE64) + strlen(BASE64_END), decoded_len;
    if (len < wrapping || !g_str_has_prefix(value, BASE64) || !g_str_has_suffix(value, BASE64_END))
        return g_strdup(value);
    g_autofree char *packed = g_strndup(value + strlen(BASE64), len - wrapping);
    g_autofree guchar *decoded = g_base64_decode(packed, &decoded_len);
    return g_strndup((const char *)decoded, decoded_len);
}

/* Returns true if the header `name` equals `wanted`; otherwise sets a fault. */
static bool check_header(const AcrHttpIncoming *incoming, const char *name, const char *wanted,
                         AcrServeFault *fault)
{
    g_autofree char *key = g_ascii_strdown(name, -1);
    const char *value = acr_http_incoming_header(incoming, key);
    g_autofree char *unpacked = value ? unpack(value) : NULL;
    if (g_strcmp0(unpacked, wanted) == 0)
        return true;
    g_autofree char *shown = value ? acr_text_quote(value, MAX_SHOWN) : g_strdup("missing"),
                    *body = acr_text_quote(wanted, MAX_SHOWN);
    acr_serve_refuse(fault, ACR_SERVE_WRONG_HEADER, "the header %s is %s, but the body says %s",
                     name, shown, body);
    return false;
}

/* Returns the parameter of the message that the header Mcp-Name repeats; NULL if there is none. */
static const char *header_name(const AcrServeMessage *message)
{
    static const char *const named[][2] = {
        {"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};
    for (gsize i = 0; i < G_N_ELEMENTS(named); i++)
        if (strcmp(message->method, named[i][0]) == 0)
            return acr_json_get_string(message->params, named[i][1]);
    return NULL;
}

bool acr_serve_http_check_envelope(const AcrHttpIncoming *incoming, const AcrServeMessage *message,
                                   AcrServeFault *fault)
{
    const char *header = acr_http_incoming_header(incoming, "mcp-protocol-version");
    const char *version =
        acr_json_get_string(acr_json_get(message->params, "_meta"), META "protocolVersion");
    if (!message->method) {
        acr_serve_refuse(fault, ACR_SERVE_INVALID_REQUEST,
                         "a client sends requests, not responses");
        return false;
    }
    /* the later revision has no notifications over HTTP, so they are accepted and ignored */
    if (!message->id) {
        if (g_strcmp0(header, ACR_SERVE_STATELESS_VERSION) != 0)
            acr_serve_refuse_version(fault, ACR_SERVE_VERSION_HEADER, header ? header : "");
        return !fault->code;
    }
    if (!version)
        return true; /* the body is invalid and will be rejected as such */
    const char *name = header_name(message);
    return check_header(incoming, "MCP-Protocol-Version", version, fault) &&
           check_header(incoming, "Mcp-Method", message->method, fault) &&
           (!name || check_header(incoming, "Mcp-Name", name, fault));
}
