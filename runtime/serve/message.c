/*
 * JSON-RPC as MCP has it: a line is read into a message, or into what is wrong with it; a result or a
 * fault is written as a line. The era of a request is its own: an envelope makes it stateless. Batches
 * are refused, as all revisions that are served do.
 */
#include "serve/serve_private.h"

#include <stdarg.h>
#include <string.h>

#define META "io.modelcontextprotocol/"
#define MAX_EXACT (1ll << 53) /* a larger id could not be repeated as it came */
#define MAX_SHOWN 80u

G_DEFINE_QUARK(acr_mcp_error, acr_mcp_error)

void acr_mcp_message_clear(AcrMcpMessage *message)
{
    acr_json_free(message->json);
    *message = (AcrMcpMessage){0};
}

void acr_mcp_fault_clear(AcrMcpFault *fault)
{
    g_free(fault->text);
    acr_json_free(fault->data);
    *fault = (AcrMcpFault){0};
}

AcrJson *acr_mcp_refuse(AcrMcpFault *fault, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fault->code = code;
    fault->text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return NULL;
}

/* ---- Reading ---- */

/* Sets the id where it is one that can be repeated. */
static bool read_id(const AcrJson *json, AcrMcpMessage *out, AcrMcpFault *fault)
{
    const AcrJson *id = acr_json_get(json, "id");
    gint64 number = acr_json_int(id, G_MAXINT64);
    bool is_number = acr_json_type(id) == ACR_JSON_NUMBER && ABS(number) <= MAX_EXACT;
    if (!id || is_number || acr_json_type(id) == ACR_JSON_STRING) {
        out->id = id;
        return true;
    }
    acr_mcp_refuse(fault, ACR_MCP_INVALID_REQUEST,
                   "the id must be a string or a whole number of at most 53 bits");
    return false;
}

static AcrMcpEra era_of(const AcrMcpMessage *message)
{
    const AcrJson *meta = acr_json_get(message->params, "_meta");
    bool is_of_handshake = strcmp(message->method, "initialize") == 0;
    bool is_of_later = strcmp(message->method, "server/discover") == 0;
    bool has_envelope = acr_json_get(meta, META "protocolVersion") != NULL;
    return is_of_later || (has_envelope && !is_of_handshake) ? ACR_MCP_STATELESS
                                                             : ACR_MCP_HANDSHAKE;
}

static bool read_object(const AcrJson *json, AcrMcpMessage *out, AcrMcpFault *fault)
{
    const char *version = acr_json_get_string(json, "jsonrpc");
    bool is_response = acr_json_get(json, "result") || acr_json_get(json, "error");
    const AcrJson *params = acr_json_get(json, "params");
    if (!read_id(json, out, fault))
        return false;
    out->method = acr_json_get_string(json, "method");
    if (!out->method && is_response)
        return true;
    if (g_strcmp0(version, "2.0") != 0 || !out->method) {
        acr_mcp_refuse(fault, ACR_MCP_INVALID_REQUEST,
                       "a request has \"jsonrpc\": \"2.0\", a method and an id");
        return false;
    }
    if (params && acr_json_type(params) != ACR_JSON_OBJECT) {
        acr_mcp_refuse(fault, ACR_MCP_INVALID_PARAMS, "params must be an object");
        return false;
    }
    out->params = params;
    out->era = era_of(out);
    return true;
}

bool acr_mcp_message_read(const char *line, gsize len, AcrMcpMessage *out, AcrMcpFault *fault)
{
    g_autoptr(GError) error = NULL;
    *out = (AcrMcpMessage){.json = acr_json_parse(line, len, &error)};
    if (!out->json) {
        acr_mcp_refuse(fault, ACR_MCP_PARSE, "%s", error->message);
        return false;
    }
    if (acr_json_type(out->json) == ACR_JSON_OBJECT)
        return read_object(out->json, out, fault);
    acr_mcp_refuse(fault, ACR_MCP_INVALID_REQUEST,
                   acr_json_type(out->json) == ACR_JSON_ARRAY
                       ? "batches are not part of this protocol: send one object a line"
                       : "a message is a JSON object");
    return false;
}

/* ---- Eras ---- */

static AcrJson *wrong_version_data(const char *requested)
{
    static const char *const versions[] = {ACR_MCP_STATELESS_VERSION, NULL};
    AcrJson *data = acr_json_new_object();
    acr_json_set(data, "supported", acr_json_new_strings(versions));
    acr_json_set_string(data, "requested", requested);
    return data;
}

void acr_mcp_refuse_version(AcrMcpFault *fault, const char *version)
{
    g_autofree char *shown = acr_text_quote(version, MAX_SHOWN);
    acr_mcp_refuse(fault, ACR_MCP_WRONG_VERSION,
                   "protocol version %s is not served with an envelope", shown);
    fault->data = wrong_version_data(version);
}

static bool check_envelope(const AcrMcpMessage *message, AcrMcpFault *fault)
{
    const AcrJson *meta = acr_json_get(message->params, "_meta");
    const char *version = acr_json_get_string(meta, META "protocolVersion");
    const AcrJson *capabilities = acr_json_get(meta, META "clientCapabilities");
    if (!version || acr_json_type(capabilities) != ACR_JSON_OBJECT) {
        acr_mcp_refuse(fault, ACR_MCP_INVALID_PARAMS,
                       "params._meta must hold \"" META "protocolVersion\", a string, and \"" META
                       "clientCapabilities\", an object");
        return false;
    }
    if (strcmp(version, ACR_MCP_STATELESS_VERSION) == 0)
        return true;
    acr_mcp_refuse_version(fault, version);
    return false;
}

bool acr_mcp_message_check(const AcrMcpMessage *message, bool has_handshake, AcrMcpFault *fault)
{
    if (message->era == ACR_MCP_STATELESS)
        return check_envelope(message, fault);
    if (has_handshake || strcmp(message->method, "initialize") == 0 ||
        strcmp(message->method, "ping") == 0)
        return true;
    acr_mcp_refuse(fault, ACR_MCP_INVALID_PARAMS,
                   "there was no initialize, and params._meta has no \"" META "protocolVersion\"");
    return false;
}

/* ---- Writing ---- */

void acr_mcp_set_ttl(AcrJson *result, const AcrMcpMessage *message, gint64 ttl_ms)
{
    if (message->era != ACR_MCP_STATELESS)
        return;
    acr_json_set_int(result, "ttlMs", ttl_ms);
    acr_json_set_string(result, "cacheScope", "private");
}

/* What every result of the later era has. */
static void complete(AcrJson *result)
{
    AcrJson *meta = acr_json_new_object(), *server = acr_json_new_object();
    acr_json_set_string(server, "name", "acr-host");
    acr_json_set_string(server, "version", ACR_VERSION);
    acr_json_set(meta, META "serverInfo", server);
    acr_json_set_string(result, "resultType", "complete");
    acr_json_set(result, "_meta", meta);
}

static AcrJson *fault_to_json(const AcrMcpFault *fault)
{
    AcrJson *json = acr_json_new_object();
    acr_json_set_int(json, "code", fault->code);
    acr_json_set_string(json, "message", fault->text);
    if (fault->data)
        acr_json_set(json, "data", acr_json_copy(fault->data));
    return json;
}

char *acr_mcp_reply(const AcrMcpMessage *message, AcrJson *result, const AcrMcpFault *fault)
{
    g_autoptr(AcrJson) json = acr_json_new_object();
    const AcrJson *id = message ? message->id : NULL;
    acr_json_set_string(json, "jsonrpc", "2.0");
    acr_json_set(json, "id", id ? acr_json_copy(id) : acr_json_new_null());
    if (result && message->era == ACR_MCP_STATELESS)
        complete(result);
    if (result)
        acr_json_set(json, "result", result);
    else
        acr_json_set(json, "error", fault_to_json(fault));
    g_autofree char *text = acr_json_print(json);
    return g_strconcat(text, "\n", NULL);
}
