/* Converts calls to and from JSON: JSON schemas from the table of calls, a call from a JSON object
 * of arguments, and JSON from an answer. MCP clients, and models that call tools natively, receive
 * these schemas. */
#include <string.h>

#include "search/search.h"

#define MAX_INTEGER G_MAXINT32
#define MAX_SHOWN 80u /* maximum number of bytes of a name that an error message quotes */

static AcrJson *typed(const char *type, const char *description)
{
    AcrJson *schema = acr_json_new_object();
    acr_json_set_string(schema, "type", type);
    if (description)
        acr_json_set_string(schema, "description", description);
    return schema;
}

/* Returns the schema of an object that allows only members that acr_schema_add adds later. */
static AcrJson *object_schema(void)
{
    AcrJson *schema = typed("object", NULL);
    acr_json_set(schema, "properties", acr_json_new_object());
    acr_json_set(schema, "required", acr_json_new_array());
    acr_json_set_bool(schema, "additionalProperties", false);
    return schema;
}

void acr_schema_add(AcrJson *schema, const char *name, AcrJson *member, bool is_required)
{
    /* `properties` and `required` were created by object_schema, so they may be changed. */
    acr_json_set((AcrJson *)acr_json_get(schema, "properties"), name, member);
    if (is_required)
        acr_json_append((AcrJson *)acr_json_get(schema, "required"), acr_json_new_string(name));
}

AcrJson *acr_call_schema(const AcrCallSpec *spec)
{
    AcrJson *schema = object_schema();
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && spec->params[i].name; i++) {
        const AcrParam *param = &spec->params[i];
        const char *type = param->type == ACR_PARAM_INTEGER ? "integer" : "string";
        acr_schema_add(schema, param->name, typed(type, param->about), !param->otherwise);
    }
    return schema;
}

static AcrJson *name_or_null(const char *description)
{
    static const char *const types[] = {"string", "null", NULL};
    return acr_json_of(ACR_JSON("type", acr_json_new_strings(types)),
                       ACR_STRING("description", description), NULL);
}

static AcrJson *place_schema(void)
{
    AcrJson *schema = object_schema();
    acr_schema_add(schema, "file", typed("string", "Path in the repository"), true);
    acr_schema_add(schema, "start", typed("integer", "First line, from 1"), true);
    acr_schema_add(schema, "end", typed("integer", "Last line, included"), true);
    acr_schema_add(schema, "class", name_or_null("The enclosing class, dotted if nested"), true);
    acr_schema_add(schema, "func", name_or_null("The innermost enclosing function"), true);
    return schema;
}

AcrJson *acr_answer_schema(void)
{
    AcrJson *schema = object_schema();
    AcrJson *results = typed("array", "All places found");
    acr_json_set(results, "items", place_schema());
    acr_schema_add(schema, "call", typed("string", "The search call that was made"), true);
    acr_schema_add(schema, "ok", typed("boolean", "Whether code was found"), true);
    acr_schema_add(schema, "failed",
                   typed("boolean", "Whether the call was wrong or its extension failed"), true);
    acr_schema_add(schema, "output", typed("string", "The answer as a model reads it"), true);
    acr_schema_add(schema, "results", results, true);
    return schema;
}

static bool refuse_argument(const AcrCallSpec *spec, GError **error, const char *format,
                            const char *name)
{
    g_autofree char *usage = acr_call_usage(spec), *shown = acr_text_quote(name, MAX_SHOWN),
                    *what = g_strdup_printf("%s %s", format, shown);
    return acr_set_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL, "%s: %s; usage: %s",
                         spec->name, what, usage);
}

static bool has_param(const AcrCallSpec *spec, const char *name)
{
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && spec->params[i].name; i++)
        if (strcmp(spec->params[i].name, name) == 0)
            return true;
    return false;
}

/* Reads an integer, or a string of digits: calls that are written as text have strings. */
static bool whole_number(const AcrJson *value, gint64 *out)
{
    const char *text = acr_json_string(value);
    g_autofree char *digits = text && strlen(text) < 20 ? g_strstrip(g_strdup(text)) : NULL;
    if (digits)
        return g_ascii_string_to_signed(digits, 10, -MAX_INTEGER, MAX_INTEGER, out, NULL);
    *out = acr_json_int(value, G_MAXINT64);
    return acr_json_type(value) == ACR_JSON_NUMBER && ABS(*out) <= MAX_INTEGER;
}

/* Returns `value` in the form that AcrCall uses; NULL if its type does not fit `param`. Owned. */
static char *value_of(const AcrParam *param, const AcrJson *value)
{
    gint64 number;
    if (param->type == ACR_PARAM_STRING)
        return g_strdup(acr_json_string(value));
    return whole_number(value, &number) ? g_strdup_printf("%" G_GINT64_FORMAT, number) : NULL;
}

bool acr_call_from_json(const AcrCallSpec *spec, const AcrJson *arguments, const char *beside,
                        AcrCall *out, GError **error)
{
    g_auto(AcrCall) call = {.spec = spec};
    bool is_object = acr_json_type(arguments) == ACR_JSON_OBJECT;
    bool is_null = acr_json_type(arguments) == ACR_JSON_NULL;
    if (arguments && !is_object && !is_null)
        return refuse_argument(spec, error, "the arguments must be an object, not of type",
                               acr_json_type(arguments) == ACR_JSON_ARRAY ? "array" : "another");
    for (const AcrJson *at = acr_json_first(arguments); at; at = acr_json_next(at))
        if (!has_param(spec, acr_json_key(at)) && g_strcmp0(beside, acr_json_key(at)) != 0)
            return refuse_argument(spec, error, "there is no argument", acr_json_key(at));
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && spec->params[i].name; i++) {
        const AcrParam *param = &spec->params[i];
        const AcrJson *value = acr_json_get(arguments, param->name);
        if (param->otherwise && (!value || acr_json_type(value) == ACR_JSON_NULL))
            continue;
        if (!value)
            return refuse_argument(spec, error, "an argument is missing:", param->name);
        call.values[i] = value_of(param, value);
        if (!call.values[i])
            return refuse_argument(spec, error,
                                   param->type == ACR_PARAM_INTEGER
                                       ? "this argument must be a whole number:"
                                       : "this argument must be a string:",
                                   param->name);
    }
    *out = call;
    memset(&call, 0, sizeof call);
    return true;
}

AcrJson *acr_answer_to_json(const char *call, const AcrAnswer *answer)
{
    AcrJson *results = acr_json_new_array();
    for (guint i = 0; answer->places && i < answer->places->len; i++)
        acr_json_append(results, acr_place_to_json(answer->places->pdata[i]));
    return acr_json_of(ACR_STRING("call", call), ACR_BOOL("ok", answer->ok),
                       ACR_BOOL("failed", answer->failed), ACR_STRING("output", answer->output),
                       ACR_JSON("results", results), NULL);
}
