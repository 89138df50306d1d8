/* Offers the search calls as tools: describes each call of the table with its schemas, and runs
 * calls. If arguments are invalid, returns a result with isError and not a fault, because a model
 * can read the result and correct the call. */
#include "serve/serve_private.h"

/* maximum number of places in structured content, which clients also show to the model */
#define MAX_PLACES 100
#define MAX_SHOWN 80u

static AcrJson *repository_schema(const AcrServeRepositories *all)
{
    AcrJson *names = acr_json_new_array();
    for (guint i = 0; i < acr_serve_repositories_n(all); i++)
        acr_json_append(names, ACR_TEXT(acr_serve_repository_name(all, i)));
    return acr_json_of("type", ACR_TEXT("string"), "description",
                       ACR_TEXT("The repository to look at"), "enum", names, NULL);
}

static AcrJson *read_only(void)
{
    return acr_json_of("readOnlyHint", acr_json_new_bool(true), "destructiveHint",
                       acr_json_new_bool(false), "idempotentHint", acr_json_new_bool(true),
                       "openWorldHint", acr_json_new_bool(false), NULL);
}

static AcrJson *tool_of(const AcrCallSpec *spec, const AcrServeRepositories *all)
{
    AcrJson *input = acr_call_schema(spec);
    if (acr_serve_repositories_n(all) > 1)
        acr_schema_add(input, "repo", repository_schema(all), true);
    return acr_json_of("name", ACR_TEXT(spec->name), "description", ACR_TEXT(spec->summary),
                       "inputSchema", input, "outputSchema", acr_answer_schema(), "annotations",
                       read_only(), NULL);
}

AcrJson *acr_serve_tools_list(const AcrServeRequest *request, AcrServeFault *fault)
{
    const AcrCalls *calls = request->options->calls;
    if (!acr_serve_one_page(request->message, fault))
        return NULL;
    AcrJson *result = acr_json_new_object(), *tools = acr_json_new_array();
    for (gsize i = 0; i < acr_calls_n(calls); i++)
        acr_json_append(tools, tool_of(acr_calls_at(calls, i), request->repositories));
    acr_json_set(result, "tools", tools);
    acr_serve_set_ttl(result, request->message, ACR_SERVE_KEEP_MS);
    return result;
}

static AcrJson *tool_result(const char *text, AcrJson *structured)
{
    AcrJson *content = acr_json_new_array();
    acr_json_add(content, "type", ACR_TEXT("text"), "text", ACR_TEXT(text));
    bool has_failed = !structured || acr_json_get_bool(structured, "failed", false);
    return acr_json_of("content", content, "structuredContent", structured, "isError",
                       acr_json_new_bool(has_failed), NULL);
}

/* Returns the repository that the arguments name, or the only repository. Returns -1 if there is no
 * such repository, and sets *out_why (owned). */
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
    *out_why = name ? g_strdup_printf("there is no repository %s; choose one of: %s", shown, names)
                    : g_strdup_printf("the argument 'repo' must be one of: %s", names);
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
    /* dropping places loses nothing, because the text of the answer names all places */
    if (found.places && found.places->len > MAX_PLACES)
        g_ptr_array_set_size(found.places, MAX_PLACES);
    g_autofree char *text = acr_call_print(call);
    return tool_result(found.output, acr_answer_to_json(text, &found));
}

AcrJson *acr_serve_tools_call(const AcrServeRequest *request, AcrServeFault *fault)
{
    const char *name = acr_serve_param(request->message, "name", fault);
    if (!name)
        return NULL;
    const AcrCallSpec *spec = acr_calls_find(request->options->calls, name);
    if (!spec) {
        g_autofree char *shown = acr_text_quote(name, MAX_SHOWN);
        const char *near = acr_calls_nearest(request->options->calls, name);
        return acr_serve_refuse(fault, ACR_SERVE_INVALID_PARAMS, "there is no tool %s%s%s%s", shown,
                                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
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
