/* The extract agent turns prose into calls. It makes a second model call in JSON mode, which
 * turns the search agent's text into {"API_calls": [...], "bug_locations": [...]}. Parsing is
 * strict about calls (Python parses and binds them) and accepts a code fence and words around
 * the object. This file also lists the calls for both agents, and describes them as tools for
 * models that call tools, which need no extract agent. */
#include "agents/agents_private.h"

#include <string.h>

#define MAX_FIELD_BYTES (16u * 1024)
#define MAX_SHOWN_NAME 80u /* maximum number of bytes of an unknown tool's name in a message */

char *acr_agent_calls_text(const AcrCalls *calls)
{
    GString *out = g_string_new(NULL);
    for (gsize i = 0; i < acr_calls_n(calls); i++) {
        const AcrCallSpec *spec = acr_calls_at(calls, i);
        g_autofree char *usage = acr_call_usage(spec);
        g_string_append_printf(out, "%s- %s: %s", i ? "\n" : "", usage, spec->summary);
    }
    return g_string_free(out, FALSE);
}

static void free_call(gpointer call)
{
    acr_call_clear(call);
    g_free(call);
}

void acr_extraction_clear(AcrExtraction *extraction)
{
    g_clear_pointer(&extraction->calls, g_ptr_array_unref);
    g_clear_pointer(&extraction->remarks, g_ptr_array_unref);
    g_clear_pointer(&extraction->locations, g_ptr_array_unref);
    g_clear_pointer(&extraction->replies, g_ptr_array_unref);
    g_clear_pointer(&extraction->problem, g_free);
}

static AcrExtraction new_extraction(void)
{
    return (AcrExtraction){
        .calls = g_ptr_array_new_with_free_func(free_call),
        .remarks = g_ptr_array_new_with_free_func(g_free),
        .locations = g_ptr_array_new_with_free_func((GDestroyNotify)acr_bug_location_free),
    };
}

/* Returns a copy of a field without surrounding blanks; NULL if the field is empty or not a
 * string. */
static char *field(const AcrJson *location, const char *key)
{
    const char *text = acr_json_get_string(location, key);
    if (!text)
        return NULL;
    g_autofree char *trimmed = g_strndup(text, MIN(strlen(text), MAX_FIELD_BYTES));
    g_strstrip(trimmed);
    return *trimmed ? acr_utf8_repair(trimmed, strlen(trimmed)) : NULL;
}

static void read_location(const AcrJson *item, AcrExtraction *out)
{
    g_autofree char *file = field(item, "file"), *klass = field(item, "class"),
                    *method = field(item, "method");
    g_autofree char *intended = field(item, "intended_behavior");
    if (file || klass || method)
        g_ptr_array_add(out->locations, acr_bug_location_new(file, klass, method, intended));
}

static void read_locations(const AcrJson *list, AcrExtraction *out)
{
    const AcrJson *item = acr_json_first(list);
    for (; item && out->locations->len < ACR_EXTRACT_MAX_LOCATIONS; item = acr_json_next(item))
        read_location(item, out);
}

/* Parses calls and binds their arguments; an invalid call becomes a remark. Returns false only
 * if Python itself fails. */
static bool read_calls(AcrPython *python, const AcrCalls *calls, const AcrJson *list,
                       AcrExtraction *out, GError **error)
{
    guint n = 0;
    for (const AcrJson *item = acr_json_first(list); item; item = acr_json_next(item), n++) {
        const char *text = acr_json_string(item);
        g_autoptr(GError) reason = NULL;
        if (n >= ACR_EXTRACT_MAX_CALLS)
            continue;
        if (!text) {
            g_ptr_array_add(out->remarks, g_strdup("an element of \"API_calls\" is not a string"));
            continue;
        }
        AcrCall *call = g_new0(AcrCall, 1);
        if (acr_python_bind_call(python, calls, text, call, &reason)) {
            g_ptr_array_add(out->calls, call);
            continue;
        }
        free_call(call);
        if (!g_error_matches(reason, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL))
            return acr_pass_error(error, &reason);
        g_autofree char *shown = acr_text_shorten(text, 300);
        g_ptr_array_add(out->remarks,
                        g_strdup_printf("`%s` is not a valid call: %s", shown, reason->message));
    }
    if (n > ACR_EXTRACT_MAX_CALLS)
        g_ptr_array_add(out->remarks,
                        g_strdup_printf("the answer has %u calls; only the first %u were read", n,
                                        ACR_EXTRACT_MAX_CALLS));
    return true;
}

/* Returns the reason why an answer that has neither calls nor locations cannot be used; owned. */
static char *name_problem(const GPtrArray *remarks)
{
    GString *problem = g_string_new(remarks->len ? NULL
                                                 : "the object holds neither API calls nor bug "
                                                   "locations");
    for (guint i = 0; i < remarks->len; i++)
        g_string_append_printf(problem, "%s%s", i ? "\n" : "", (char *)remarks->pdata[i]);
    return g_string_free(problem, FALSE);
}

bool acr_agent_extract_read(AcrPython *python, const AcrCalls *calls, const char *answer,
                            AcrExtraction *out, GError **error)
{
    g_auto(AcrExtraction) read = new_extraction();
    g_autoptr(AcrJson) json = acr_agents_parse_object(answer, &read.problem);
    if (json) {
        if (!read_calls(python, calls, acr_json_get(json, "API_calls"), &read, error))
            return false;
        read_locations(acr_json_get(json, "bug_locations"), &read);
        if (read.calls->len == 0 && read.locations->len == 0)
            read.problem = name_problem(read.remarks);
    }
    *out = read;
    memset(&read, 0, sizeof read);
    return true;
}

#define LOCATIONS_TOOL "report_bug_locations"
#define LOCATIONS_ABOUT                                                                            \
    "Names every place that has to change, once no more code is needed: file, class and method "   \
    "as "                                                                                          \
    "the results showed them ('' where there is none), and what the code there should do instead."
#define LOCATIONS_SCHEMA                                                                           \
    "{\"type\":\"object\",\"properties\":{\"bug_locations\":{\"type\":\"array\",\"items\":{"       \
    "\"type\":\"object\",\"properties\":{\"file\":{\"type\":\"string\"},\"class\":{\"type\":"      \
    "\"string\"},"                                                                                 \
    "\"method\":{\"type\":\"string\"},\"intended_behavior\":{\"type\":\"string\"}},\"required\":[" \
    "\"file\",\"class\",\"method\",\"intended_behavior\"],\"additionalProperties\":false}}},"      \
    "\"required\":[\"bug_locations\"],\"additionalProperties\":false}"

static AcrJson *tool_of(const char *name, const char *about, AcrJson *schema)
{
    return acr_json_of(ACR_STRING("name", name), ACR_STRING("description", about),
                       ACR_JSON("schema", schema), NULL);
}

AcrJson *acr_agent_tools(const AcrCalls *calls)
{
    AcrJson *tools = acr_json_new_array();
    for (gsize i = 0; i < acr_calls_n(calls); i++) {
        const AcrCallSpec *spec = acr_calls_at(calls, i);
        acr_json_append(tools, tool_of(spec->name, spec->summary, acr_call_schema(spec)));
    }
    AcrJson *schema = acr_json_parse(LOCATIONS_SCHEMA, strlen(LOCATIONS_SCHEMA), NULL);
    AcrJson *places = tool_of(LOCATIONS_TOOL, LOCATIONS_ABOUT, schema);
    acr_json_set_bool(places, "strict", true);
    acr_json_append(tools, places);
    return tools;
}

/* Reads one tool call. Returns its reply (owned), or NULL if it is a search call. */
static char *read_tool_call(const AcrCalls *calls, const AcrJson *asked, AcrExtraction *out)
{
    const char *name = acr_json_get_string(asked, "name"),
               *text = acr_json_get_string(asked, "arguments");
    g_autoptr(GError) reason = NULL;
    g_autoptr(AcrJson) arguments = acr_json_parse(text, strlen(text), &reason);
    if (!arguments)
        return g_strdup_printf("The arguments are not valid JSON: %s", reason->message);
    if (strcmp(name, LOCATIONS_TOOL) == 0) {
        read_locations(acr_json_get(arguments, "bug_locations"), out);
        return g_strdup(
            out->locations->len
                ? "Bug locations are read only from an answer that makes no search calls."
                : "No place could be read: each needs a file, a class or a method.");
    }
    const AcrCallSpec *spec = acr_calls_find(calls, name);
    g_autofree AcrCall *call = g_new0(AcrCall, 1);
    g_autofree char *shown = acr_text_quote(name, MAX_SHOWN_NAME);
    if (!spec)
        return g_strdup_printf("There is no tool %s.", shown);
    if (out->calls->len >= ACR_EXTRACT_MAX_CALLS)
        return g_strdup_printf("This call was not made: at most %u calls of one answer are made.",
                               ACR_EXTRACT_MAX_CALLS);
    if (!acr_call_from_json(spec, arguments, NULL, call, &reason))
        return g_strdup(reason->message);
    g_ptr_array_add(out->calls, g_steal_pointer(&call));
    return NULL;
}

void acr_agent_tools_read(const AcrCalls *calls, const AcrJson *asked, AcrExtraction *out)
{
    *out = new_extraction();
    out->replies = g_ptr_array_new_with_free_func(g_free);
    for (const AcrJson *at = acr_json_first(asked); at; at = acr_json_next(at))
        g_ptr_array_add(out->replies, read_tool_call(calls, at, out));
}
