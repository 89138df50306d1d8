/* JSON-RPC as MCP uses it: parses a line as a message or a fault, and writes a result or a fault as
 * a line. Each request has its own revision: a request with an envelope (_meta with a protocol
 * version) is stateless. Batches are rejected, because no supported revision has them. */
#include "serve/serve_private.h"

#include <stdarg.h>
#include <string.h>

#define META "io.modelcontextprotocol/"
/* maximum number as an id; larger numbers could not be sent back exactly */
#define MAX_EXACT (1ll << 53)
#define MAX_SHOWN 80u

G_DEFINE_QUARK(acr_serve_error, acr_serve_error)

void acr_serve_message_clear(AcrServeMessage *message)
{
    acr_json_free(message->json);
    *message = (AcrServeMessage){0};
}

void acr_serve_fault_clear(AcrServeFault *fault)
{
    g_free(fault->text);
    acr_json_free(fault->data);
    *fault = (AcrServeFault){0};
}

AcrJson *acr_serve_refuse(AcrServeFault *fault, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fault->code = code;
    fault->text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return NULL;
}

/* Sets out->id. Returns false with a fault unless the id is a string or a number that JSON can
 * represent exactly. */
static bool read_id(const AcrJson *json, AcrServeMessage *out, AcrServeFault *fault)
{
    const AcrJson *id = acr_json_get(json, "id");
    gint64 number = acr_json_int(id, G_MAXINT64);
    bool is_number = acr_json_type(id) == ACR_JSON_NUMBER && ABS(number) <= MAX_EXACT;
    if (!id || is_number || acr_json_type(id) == ACR_JSON_STRING) {
        out->id = id;
        return true;
    }
    acr_serve_refuse(fault, ACR_SERVE_INVALID_REQUEST,
                     "the id must be a string or a whole number of at most 53 bits");
    return false;
}

static AcrServeEra era_of(const AcrServeMessage *message)
{
    const AcrJson *meta = acr_json_get(message->params, "_meta");
    bool is_of_handshake = strcmp(message->method, "initialize") == 0;
    bool is_of_later = strcmp(message->method, "server/discover") == 0;
    bool has_envelope = acr_json_get(meta, META "protocolVersion") != NULL;
    return is_of_later || (has_envelope && !is_of_handshake) ? ACR_SERVE_STATELESS
                                                             : ACR_SERVE_HANDSHAKE;
}

static bool read_object(const AcrJson *json, AcrServeMessage *out, AcrServeFault *fault)
{
    const char *version = acr_json_get_string(json, "jsonrpc");
    bool is_response = acr_json_get(json, "result") || acr_json_get(json, "error");
    const AcrJson *given = acr_json_get(json, "params");
    const AcrJson *params = acr_json_type(given) == ACR_JSON_NULL ? NULL : given;
    if (!read_id(json, out, fault))
        return false;
    out->method = acr_json_get_string(json, "method");
    if (!out->method && is_response)
        return true;
    if (g_strcmp0(version, "2.0") != 0 || !out->method) {
        acr_serve_refuse(fault, ACR_SERVE_INVALID_REQUEST,
                         "a request must have \"jsonrpc\": \"2.0\", a method and an id");
        return false;
    }
    if (params && acr_json_type(params) != ACR_JSON_OBJECT) {
        acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS, "params must be an object");
        return false;
    }
    out->params = params;
    out->era = era_of(out);
    return true;
}

bool acr_serve_message_read(const char *line, gsize len, AcrServeMessage *out, AcrServeFault *fault)
{
    g_autoptr(GError) error = NULL;
    *out = (AcrServeMessage){0};
    if (!line)
        return acr_serve_refuse(fault, ACR_SERVE_INVALID_REQUEST,
                                "a message is longer than %u bytes", ACR_SERVE_MAX_LINE) != NULL;
    out->json = acr_json_parse(line, len, &error);
    if (!out->json) {
        acr_serve_refuse(fault, ACR_SERVE_PARSE, "%s", error->message);
        return false;
    }
    if (acr_json_type(out->json) == ACR_JSON_OBJECT)
        return read_object(out->json, out, fault);
    acr_serve_refuse(fault, ACR_SERVE_INVALID_REQUEST,
                     acr_json_type(out->json) == ACR_JSON_ARRAY
                         ? "batches are not part of this protocol: send one object per line"
                         : "a message must be a JSON object");
    return false;
}

#define N_HANDSHAKE 4
static const char *const versions[] = {"2024-11-05",
                                       "2025-03-26",
                                       "2025-06-18",
                                       ACR_SERVE_NEWEST_HANDSHAKE,
                                       ACR_SERVE_STATELESS_VERSION,
                                       NULL};

bool acr_serve_is_handshake(const char *version)
{
    return g_strv_contains(versions, version) && strcmp(version, versions[N_HANDSHAKE]) != 0;
}

void acr_serve_refuse_version(AcrServeFault *fault, const char *where, const char *version)
{
    bool is_header = strcmp(where, ACR_SERVE_VERSION_HEADER) == 0;
    g_autofree char *shown = acr_text_quote(version, MAX_SHOWN);
    acr_serve_refuse(fault, ACR_SERVE_WRONG_VERSION, "protocol version %s is not supported in %s",
                     shown, where);
    fault->data = acr_json_of("supported",
                              acr_json_new_strings(is_header ? versions : versions + N_HANDSHAKE),
                              "requested", ACR_TEXT(version), NULL);
}

static bool check_envelope(const AcrServeMessage *message, AcrServeFault *fault)
{
    const AcrJson *meta = acr_json_get(message->params, "_meta");
    const char *version = acr_json_get_string(meta, META "protocolVersion");
    const AcrJson *capabilities = acr_json_get(meta, META "clientCapabilities");
    if (!version || acr_json_type(capabilities) != ACR_JSON_OBJECT) {
        acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS,
                         "params._meta must hold \"" META "protocolVersion\", a string, and \"" META
                         "clientCapabilities\", an object");
        return false;
    }
    if (strcmp(version, ACR_SERVE_STATELESS_VERSION) == 0)
        return true;
    acr_serve_refuse_version(fault, "params._meta", version);
    return false;
}

bool acr_serve_message_check(const AcrServeMessage *message, bool has_handshake,
                             AcrServeFault *fault)
{
    if (message->era == ACR_SERVE_STATELESS)
        return check_envelope(message, fault);
    if (has_handshake || strcmp(message->method, "initialize") == 0 ||
        strcmp(message->method, "ping") == 0)
        return true;
    acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS,
                     "send initialize first, or give params._meta with \"" META
                     "protocolVersion\"");
    return false;
}

void acr_serve_set_ttl(AcrJson *result, const AcrServeMessage *message, gint64 ttl_ms)
{
    if (message->era != ACR_SERVE_STATELESS)
        return;
    acr_json_set_int(result, "ttlMs", ttl_ms);
    acr_json_set_string(result, "cacheScope", "private");
}

/* Adds the members that each result in the later revision must have. */
static void complete_line(AcrJson *result)
{
    AcrJson *server =
        acr_json_of("name", ACR_TEXT("acr-host"), "version", ACR_TEXT(ACR_VERSION), NULL);
    acr_json_set_string(result, "resultType", "complete");
    acr_json_set(result, "_meta", acr_json_of(META "serverInfo", server, NULL));
}

static AcrJson *fault_to_json(const AcrServeFault *fault)
{
    return acr_json_of("code", acr_json_new_int(fault->code), "message", ACR_TEXT(fault->text),
                       "data", fault->data ? acr_json_copy(fault->data) : NULL, NULL);
}

char *acr_serve_reply(const AcrServeMessage *message, AcrJson *result, const AcrServeFault *fault)
{
    const AcrJson *id = message ? message->id : NULL;
    g_autoptr(AcrJson) json =
        acr_json_of(ACR_STRING("jsonrpc", "2.0"),
                    ACR_JSON("id", id ? acr_json_copy(id) : acr_json_new_null()), NULL);
    if (result && message->era == ACR_SERVE_STATELESS)
        complete_line(result);
    if (result)
        acr_json_set(json, "result", result);
    else
        acr_json_set(json, "error", fault_to_json(fault));
    g_autofree char *text = acr_json_print(json);
    return g_strconcat(text, "\n", NULL);
}

const char *acr_serve_param(const AcrServeMessage *message, const char *name, AcrServeFault *fault)
{
    const char *text = acr_json_get_string(message->params, name);
    if (!text)
        acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS, "%s needs 'params.%s' (a string)",
                         message->method, name);
    return text;
}

bool acr_serve_one_page(const AcrServeMessage *message, AcrServeFault *fault)
{
    if (acr_json_type(acr_json_get(message->params, "cursor")) == ACR_JSON_NULL)
        return true;
    acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS, "no such cursor: the list has only one page");
    return false;
}

char *acr_serve_told(const AcrServeRequest *request, const GError *error)
{
    if (acr_time_is_over(request->interrupt))
        return g_strdup_printf("the request took longer than %g s (--timeout); send it again: the "
                               "files indexed so far stay indexed",
                               (double)request->options->call_ms / 1000);
    return acr_utf8_repair(error->message, strlen(error->message));
}
