#include "search/search.h"

G_DEFINE_QUARK(acr_search_error, acr_search_error)

void acr_call_clear(AcrCall *call)
{
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS; i++)
        g_clear_pointer(&call->values[i], g_free);
    call->spec = NULL;
}

char *acr_param_kind(const AcrParam *param)
{
    return g_strconcat(param->type == ACR_PARAM_INTEGER ? "int" : "str",
                       param->otherwise ? " = " : NULL, param->otherwise, NULL);
}

char *acr_call_usage(const AcrCallSpec *spec)
{
    GString *usage = g_string_new(spec->name);
    g_string_append_c(usage, '(');
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && spec->params[i].name; i++) {
        g_autofree char *kind = acr_param_kind(&spec->params[i]);
        g_string_append_printf(usage, "%s%s: %s", i ? ", " : "", spec->params[i].name, kind);
    }
    g_string_append_c(usage, ')');
    return g_string_free(usage, FALSE);
}

/* Writes the arguments after an omitted argument with their names. */
char *acr_call_print(const AcrCall *call)
{
    GString *out = g_string_new(call->spec->name);
    const char *comma = "";
    bool is_named = false;
    g_string_append_c(out, '(');
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && call->spec->params[i].name; i++) {
        const AcrParam *param = &call->spec->params[i];
        const char *value = call->values[i];
        g_autoptr(AcrJson) string = acr_json_new_string(value);
        /* JSON literals of strings are also literals of Python */
        g_autofree char *literal = acr_json_print(string);
        if (value)
            g_string_append_printf(out, "%s%s%s%s", comma, is_named ? param->name : "",
                                   is_named ? "=" : "",
                                   param->type == ACR_PARAM_INTEGER ? value : literal);
        comma = value ? ", " : comma;
        is_named = is_named || !value;
    }
    g_string_append_c(out, ')');
    return g_string_free(out, FALSE);
}

AcrPlace *acr_place_new(const char *file, guint start, guint end, const char *klass,
                        const char *func)
{
    AcrPlace *place = g_new0(AcrPlace, 1);
    place->file = g_strdup(file);
    place->start = start;
    place->end = end;
    place->klass = g_strdup(klass);
    place->func = g_strdup(func);
    return place;
}

void acr_place_free(AcrPlace *place)
{
    if (!place)
        return;
    ACR_FREE(place->file, place->klass, place->func, place);
}

AcrJson *acr_place_to_json(const AcrPlace *place)
{
    return acr_json_of(ACR_STRING("file", place->file), ACR_INT("start", place->start),
                       ACR_INT("end", place->end), ACR_STRING("class", place->klass),
                       ACR_STRING("func", place->func), NULL);
}

void acr_answer_clear(AcrAnswer *answer)
{
    g_clear_pointer(&answer->output, g_free);
    g_clear_pointer(&answer->places, g_ptr_array_unref);
    g_clear_pointer(&answer->lines, g_ptr_array_unref);
    g_clear_pointer(&answer->notes, g_free);
    answer->ok = false;
}

AcrBugLocation *acr_bug_location_new(const char *file, const char *klass, const char *method,
                                     const char *intended)
{
    AcrBugLocation *location = g_new0(AcrBugLocation, 1);
    location->file = g_strdup(file);
    location->klass = g_strdup(klass);
    location->method = g_strdup(method);
    location->intended_behavior = g_strdup(intended);
    return location;
}

void acr_bug_location_free(AcrBugLocation *location)
{
    if (!location)
        return;
    ACR_FREE(location->file, location->klass, location->method, location->intended_behavior,
             location);
}

const char *acr_locate_level_name(AcrLocateLevel level)
{
    static const char *const names[] = {"method+class", "method+file", "class+file",
                                        "class",        "method",      "file"};
    return names[level];
}

const char *acr_located_role_name(AcrLocatedRole role)
{
    static const char *const names[] = {"bug", "class", "overridden"};
    return names[role];
}

void acr_located_free(AcrLocated *located)
{
    if (!located)
        return;
    acr_place_free(located->place);
    ACR_FREE(located->code, located->intended_behavior, located);
}
