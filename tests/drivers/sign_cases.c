/* Signs requests for AWS with the library's signer. Reads JSON lines from stdin: {"access",
 * "secret", "token" or null, "region", "service", "url", "type", "body", "time"}. For each, prints
 * a JSON line with the headers that the signer adds. */
#include <stdio.h>
#include <stdlib.h>

#include "llm/llm_private.h"

static const char *text(const AcrJson *json, const char *key)
{
    const char *value = acr_json_get_string(json, key);

    g_assert_nonnull(value);
    return value;
}

static char *sign(const AcrJson *json)
{
    g_autoptr(GPtrArray) added = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(AcrJson) out = acr_json_new_array();
    g_autoptr(GBytes) body = acr_json_get_bytes(json, "body");
    AcrAwsCredentials keys = {.access_key = (char *)text(json, "access"),
                              .secret_key = (char *)text(json, "secret"),
                              .session_token = (char *)acr_json_get_string(json, "token"),
                              .region = (char *)text(json, "region")};

    g_assert_nonnull(body);
    acr_sigv4_sign(&keys, text(json, "service"), text(json, "url"), text(json, "type"), g_bytes_get_data(body, NULL),
                   g_bytes_get_size(body), acr_json_get_int(json, "time", 0), added);
    for (guint i = 0; i < added->len; i++)
        acr_json_append(out, acr_json_new_string(added->pdata[i]));
    return acr_json_print(out);
}

int main(void)
{
    char *line = NULL; /* allocated by getline */
    gsize room = 0;
    ssize_t len;

    while ((len = getline(&line, &room, stdin)) > 0) {
        g_autoptr(GError) error = NULL;
        g_autoptr(AcrJson) json = acr_json_parse(line, (gsize)len, &error);
        g_autofree char *signed_headers = NULL;

        g_assert_no_error(error);
        signed_headers = sign(json);
        puts(signed_headers);
    }
    free(line);
    return 0;
}
