/* Fuzzes the classification of errors: any status, headers and body must give a class, a bounded
 * message without secrets, and a wait and window within their limits. The input is a line with the
 * status, lines "name: value" up to an empty line, and the body. */
#include "llm/provider.h"

#include <stdlib.h>
#include <string.h>

#define NOW 784111747
#define MAX_HEADERS 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Adds the header in the line; names are lowercase, as in a response. */
static void add_header(GHashTable *headers, const char *line)
{
    const char *colon = strchr(line, ':');

    if (colon && g_hash_table_size(headers) < MAX_HEADERS) {
        g_autofree char *name = g_strndup(line, (gsize)(colon - line));

        g_hash_table_insert(headers, g_ascii_strdown(name, -1), g_strdup(colon + 1 + strspn(colon + 1, " ")));
    }
}

static void check_wait(gint64 ms)
{
    g_assert_cmpint(ms, >=, -1);
    g_assert_cmpint(ms, <=, ACR_MAX_RETRY_AFTER_MS);
}

static void check_failure(const AcrFailure *failure)
{
    g_autoptr(GPtrArray) secrets = g_ptr_array_new();
    g_autofree char *shown = NULL;

    g_ptr_array_add(secrets, (gpointer) "sk-0123456789abcdef");
    shown = acr_redact_line(failure->message, secrets, ACR_LLM_MAX_MESSAGE);
    g_assert_cmpint((int)failure->code, <, ACR_LLM_ERRORS);
    g_assert_cmpuint(strlen(failure->message), <, 4 * ACR_LLM_MAX_MESSAGE);
    g_assert_true(g_utf8_validate(shown, -1, NULL));
    g_assert_cmpuint(strlen(shown), <=, ACR_LLM_MAX_MESSAGE);
    g_assert_null(strstr(shown, "sk-0123456"));
    g_assert_cmpint(failure->window, >=, 0);
    g_assert_cmpint(failure->window, <=, ACR_MAX_WINDOW);
    g_assert_true(failure->window == 0 || failure->code == ACR_LLM_ERROR_CONTEXT_OVERFLOW);
    check_wait(failure->retry_after_ms);
    (void)acr_failure_is_about(failure, "temperature");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GHashTable) headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    char *line = text;
    int status = (int)strtol(text, NULL, 10) % 1000;
    g_autoptr(AcrJson) body = NULL;
    g_auto(AcrFailure) failure = {0};

    for (char *end = strchr(line, '\n'); end && end != line; end = strchr(line, '\n')) {
        *end = '\0';
        add_header(headers, line);
        line = end + 1;
    }
    line += *line == '\n';
    check_wait(acr_duration_ms(text));
    check_wait(acr_retry_after_ms(headers, NOW));
    body = acr_json_parse(line, strlen(line), NULL);
    acr_failure_of_response(status, body, line, strlen(line), headers, &failure);
    check_failure(&failure);
    return 0;
}
