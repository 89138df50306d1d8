/* Helps the dialects to send tools. The functions decide which messages are sent as calls and
 * results, and make the members of a tool and the arguments of a call. If a server rejects tools,
 * calls and results are sent as text, which each message also contains. */
#include "llm/provider.h"

#include <string.h>

const AcrJson *acr_message_tools(const AcrDialect *dialect, const AcrModelRequest *request,
                                 const AcrMessage *message)
{
    const char *by = acr_json_get_string(message->tools, "by");
    return request->tools && by && g_strcmp0(by, dialect->name) == 0 ? message->tools : NULL;
}

AcrJson *acr_tool_new(const AcrDialect *dialect, const AcrJson *tool, const char *schema,
                      bool has_strict)
{
    AcrJson *json = acr_json_of("name", ACR_MEMBER(tool, "name"), "description",
                                ACR_MEMBER(tool, "description"), NULL);
    if (schema)
        acr_json_set(json, schema, acr_json_copy(acr_json_get(tool, "schema")));
    if (has_strict && !dialect->no_strict && acr_json_get_bool(tool, "strict", false))
        acr_json_set_bool(json, "strict", true);
    return json;
}

AcrJson *acr_tool_arguments(const AcrJson *call)
{
    const char *text = acr_json_get_string(call, "arguments");
    AcrJson *json = text ? acr_json_parse(text, strlen(text), NULL) : NULL;
    if (acr_json_type(json) == ACR_JSON_OBJECT)
        return json;
    acr_json_free(json);
    return acr_json_new_object();
}
