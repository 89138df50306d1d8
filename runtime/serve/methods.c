/* The table of methods, and the methods that need no repository: server information and prompts. */
#include "serve/serve_private.h"

#include <string.h>

#define PROMPT "locate_bug"
#define MAX_SHOWN 80u

static AcrJson *capabilities(void)
{
    AcrJson *json = acr_json_new_object();
    static const char *const lists[] = {"tools", "prompts"};
    for (gsize i = 0; i < G_N_ELEMENTS(lists); i++) {
        AcrJson *list = acr_json_new_object();
        acr_json_set_bool(list, "listChanged", false);
        acr_json_set(json, lists[i], list);
    }
    AcrJson *resources =
        acr_json_of(ACR_BOOL("listChanged", false), ACR_BOOL("subscribe", false), NULL);
    acr_json_set(json, "resources", resources);
    return json;
}

static void set_instructions(AcrJson *result, const AcrServeRequest *request)
{
    g_autofree char *names = acr_serve_repository_names(request->repositories);
    g_autofree char *text = g_strdup_printf(
        "Structure-aware search in Python code. Repositories: %s. A class found by name is shown "
        "by its signatures; ask for the class in its file, or for a method, to see bodies. Test "
        "files are not searched by name. Answers reflect the current files.",
        names);
    acr_json_set_string(result, "instructions", text);
}

static AcrJson *initialize(const AcrServeRequest *request, AcrServeFault *fault)
{
    const char *asked = acr_serve_param(request->message, "protocolVersion", fault);
    if (!asked)
        return NULL;
    AcrJson *server =
        acr_json_of("name", ACR_TEXT("acr-host"), "version", ACR_TEXT(ACR_VERSION), NULL);
    AcrJson *result =
        acr_json_of("protocolVersion",
                    ACR_TEXT(acr_serve_is_handshake(asked) ? asked : ACR_SERVE_NEWEST_HANDSHAKE),
                    "capabilities", capabilities(), "serverInfo", server, NULL);
    set_instructions(result, request);
    return result;
}

static AcrJson *discover(const AcrServeRequest *request, AcrServeFault *fault)
{
    static const char *const versions[] = {ACR_SERVE_STATELESS_VERSION, NULL};
    AcrJson *result = acr_json_of(ACR_JSON("supportedVersions", acr_json_new_strings(versions)),
                                  ACR_JSON("capabilities", capabilities()), NULL);
    set_instructions(result, request);
    acr_serve_set_ttl(result, request->message, ACR_SERVE_KEEP_MS);
    return result;
}

static AcrJson *ping(const AcrServeRequest *request, AcrServeFault *fault)
{
    return acr_json_new_object();
}

static AcrJson *prompts_list(const AcrServeRequest *request, AcrServeFault *fault)
{
    if (!acr_serve_one_page(request->message, fault))
        return NULL;
    AcrJson *prompts = acr_json_new_array(), *arguments = acr_json_new_array();
    acr_json_add(arguments, "name", ACR_TEXT("issue"), "description", ACR_TEXT("The issue's text"),
                 "required", acr_json_new_bool(true));
    acr_json_add(prompts, "name", ACR_TEXT(PROMPT), "description",
                 ACR_TEXT("Find the places that have to change to resolve an issue"), "arguments",
                 arguments);
    AcrJson *result = acr_json_of("prompts", prompts, NULL);
    acr_serve_set_ttl(result, request->message, ACR_SERVE_KEEP_MS);
    return result;
}

static AcrJson *prompts_get(const AcrServeRequest *request, AcrServeFault *fault)
{
    const char *name = acr_serve_param(request->message, "name", fault);
    const char *issue =
        acr_json_get_string(acr_json_get(request->message->params, "arguments"), "issue");
    if (!name)
        return NULL;
    if (strcmp(name, PROMPT) != 0) {
        g_autofree char *shown = acr_text_quote(name, MAX_SHOWN);
        return acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS, "there is no prompt %s", shown);
    }
    if (!issue)
        return acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS,
                                "the prompt needs the argument 'issue' (a string)");
    g_autofree char *clean = acr_issue_clean(issue),
                    *calls = acr_agent_calls_text(request->options->calls);
    g_autofree char *start = acr_prompts_render(request->options->prompts, ACR_PROMPT_SEARCH_START,
                                                "issue", clean, "calls", calls, NULL);
    const char *system = acr_prompts_text(request->options->prompts, ACR_PROMPT_SEARCH_SYSTEM);
    g_autofree char *text = g_strconcat(system, "\n", start, NULL);
    AcrJson *messages = acr_json_new_array();
    acr_json_add(messages, "role", ACR_TEXT("user"), "content",
                 acr_json_of("type", ACR_TEXT("text"), "text", ACR_TEXT(text), NULL));
    return acr_json_of("messages", messages, NULL);
}

static const AcrServeMethod methods[] = {
    {"initialize", true, false, false, initialize},
    {"ping", true, false, false, ping},
    {"server/discover", false, true, false, discover},
    {"tools/list", true, true, false, acr_serve_tools_list},
    {"tools/call", true, true, true, acr_serve_tools_call},
    {"resources/list", true, true, true, acr_serve_resources_list},
    {"resources/read", true, true, true, acr_serve_resources_read},
    {"resources/templates/list", true, true, false, acr_serve_templates_list},
    {"prompts/list", true, true, false, prompts_list},
    {"prompts/get", true, true, false, prompts_get},
};

const AcrServeMethod *acr_serve_method_find(const AcrServeMessage *message)
{
    bool is_later = message->era == ACR_SERVE_STATELESS;
    for (gsize i = 0; i < G_N_ELEMENTS(methods); i++)
        if ((is_later ? methods[i].in_stateless : methods[i].in_handshake) &&
            strcmp(methods[i].name, message->method) == 0)
            return &methods[i];
    return NULL;
}
