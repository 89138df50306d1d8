/* JSON of requests in few words: objects of pairs, constants, members that are left out. */
#include "llm/provider.h"

#include <stdarg.h>
#include <string.h>

AcrJson *acr_json_constant(const char *text)
{
    AcrJson *json = acr_json_parse(text, strlen(text), NULL);
    g_assert(json);
    return json;
}

AcrJson *acr_json_of(const char *key, ...)
{
    AcrJson *object = acr_json_new_object();
    va_list args;
    va_start(args, key);
    for (; key; key = va_arg(args, const char *)) {
        AcrJson *value = va_arg(args, AcrJson *);
        if (value)
            acr_json_set(object, key, value);
    }
    va_end(args);
    return object;
}

AcrJson *acr_json_added(AcrJson *list, AcrJson *object)
{
    acr_json_append(list, object);
    return object;
}

AcrJson *acr_json_any(AcrJson *value)
{
    if (acr_json_size(value) > 0)
        return value;
    acr_json_free(value);
    return NULL;
}
