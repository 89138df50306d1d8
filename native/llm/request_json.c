#include "llm/provider.h"

#include <string.h>

AcrJson *acr_json_constant(const char *text)
{
    AcrJson *json = acr_json_parse(text, strlen(text), NULL);
    g_assert(json);
    return json;
}

AcrJson *acr_json_any(AcrJson *value)
{
    if (acr_json_size(value) > 0)
        return value;
    acr_json_free(value);
    return NULL;
}
