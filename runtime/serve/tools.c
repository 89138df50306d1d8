/*
 * The search calls as tools: each row of their table with its schemas, and calling one. What is wrong
 * with the arguments is a result with isError, since a model can act on it.
 */
#include "serve/serve_private.h"

#define MAX_SHOWN 80u

/* ---- The list ---- */

static AcrJson *repository_schema(const AcrServeRepositories *all)
{
    AcrJson *schema = acr_json_new_object(), *names = acr_json_new_array();
    for (guint i = 0; i < acr_serve_repositories_n(all); i++)
        acr_json_append(names, acr_json_new_string(acr_serve_repository_name(all, i)));
    acr_json_set_string(schema, "type", "string");
    acr_json_set_string(schema, "description", "The repository to look at");
    acr_json_set(schema, "enum", names);
    return schema;
}

static AcrJson *read_only(void)
{
    AcrJson *annotations = acr_json_new_object();
    acr_json_set_bool(annotations, "readOnlyHint", true);
    acr_json_set_bool(annotations, "destructiveHint", false);
    acr_json_set_bool(annotations, "idempotentHint", true);
    acr_json_set_bool(annotations, "openWorldHint", false);
    return annotations;
}

static AcrJson *tool_of(const AcrCallSpec *spec, const AcrServeRepositories *all)
{
    AcrJson *tool = acr_json_new_object(), *input = acr_call_schema(spec);
    if (acr_serve_repositories_n(all) > 1)
        acr_schema_add(input, "repo", repository_schema(all), true);
    acr_json_set_string(tool, "name", spec->name);
    acr_json_set_string(tool, "description", spec->summary);
    acr_json_set(tool, "inputSchema", input);
    acr_json_set(tool, "outputSchema", acr_answer_schema());
    acr_json_set(tool, "annotations", read_only());
    return tool;
}

AcrJson *acr_serve_tools_list(const AcrServeRequest *request, AcrServeFault *fault)
{
    const AcrCalls *calls = request->options->calls;
    if (!acr_serve_one_page(request, fault))
        return NULL;
    AcrJson *result = acr_json_new_object(), *tools = acr_json_new_array();
    for (gsize i = 0; i < acr_calls_n(calls); i++)
        acr_json_append(tools, tool_of(acr_calls_at(calls, i), request->repositories));
    acr_json_set(result, "tools", tools);
    acr_serve_set_ttl(result, request->message, ACR_SERVE_KEEP_MS);
    return result;
}

/* ---- Calling ---- */

static AcrJson *tool_result(const char *text, AcrJson *structured)
{
    AcrJson *result = acr_json_new_object(), *content = acr_json_new_array(),
            *block = acr_json_new_object();
    acr_json_set_string(block, "type", "text");
    acr_json_set_string(block, "text", text);
    acr_json_append(content, block);
    acr_json_set(result, "content", content);
    if (structured)
        acr_json_set(result, "structuredContent", structured);
    acr_json_set_bool(result, "isError", !structured);
    return result;
}

/* The repository that the arguments name, or the only one; -1: *out_why (owned) says what is wrong. */
static int repository_of(const AcrServeRequest *request, const AcrJson *arguments, char **out_why)
{
    const AcrServeRepositories *all = request->repositories;
    if (acr_serve_repositories_n(all) == 1)
        return 0;
    const char *name = acr_json_get_string(arguments, "repo");
    int found = name ? acr_serve_repository_find(all, name) : -1;
    if (found >= 0)
        return found;
    g_autofree char *names = acr_serve_repository_names(all),
                    *shown = name ? acr_text_quote(name, MAX_SHOWN) : NULL;
    *out_why = name ? g_strdup_printf("there is no repository %s; there are: %s", shown, names)
                    : g_strdup_printf("the argument repo must be one of: %s", names);
    return -1;
}

static AcrJson *answer_tool(const AcrServeRequest *request, int repository, const AcrCall *call)
{
    AcrServeView view;
    g_autoptr(GError) error = NULL;
    g_auto(AcrAnswer) found = {0};
    if (!acr_serve_repository_view(request->repositories, (guint)repository, request->since_us,
                                   request->interrupt, &view, &error) ||
        !acr_search_run(view.search, call, &found, &error)) {
        g_autofree char *why = acr_serve_told(request, error);
        return tool_result(why, NULL);
    }
    g_autofree char *text = acr_call_print(call);
    return tool_result(found.output, acr_answer_to_json(text, &found));
}

AcrJson *acr_serve_tools_call(const AcrServeRequest *request, AcrServeFault *fault)
{
    const char *name = acr_serve_param(request, "name", fault);
    if (!name)
        return NULL;
    const AcrCallSpec *spec = acr_calls_find(request->options->calls, name);
    if (!spec) {
        g_autofree char *shown = acr_text_quote(name, MAX_SHOWN);
        return acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS, "there is no tool %s", shown);
    }
    const AcrJson *arguments = acr_json_get(request->message->params, "arguments");
    bool is_one = acr_serve_repositories_n(request->repositories) == 1;
    g_auto(AcrCall) call = {0};
    g_autofree char *why = NULL;
    g_autoptr(GError) error = NULL;
    if (!acr_call_from_json(spec, arguments, is_one ? NULL : "repo", &call, &error))
        return tool_result(error->message, NULL);
    int repository = repository_of(request, arguments, &why);
    return repository < 0 ? tool_result(why, NULL) : answer_tool(request, repository, &call);
}
