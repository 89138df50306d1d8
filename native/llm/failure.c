/*
 * What a server's refusal means. The body's code decides first, then its type, then its text (for
 * overlong prompts, which many servers tell in words only), then the status. The rows of the table
 * are the words of OpenAI's dialect and of the servers that speak it.
 */
#include "llm/llm_private.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_RETRY_AFTER_MS (24ll * 3600 * 1000)

typedef struct {
    const char *word;
    AcrLlmError code;
} Word;

static const Word words[] = {
    {"context_length_exceeded", ACR_LLM_ERROR_CONTEXT_OVERFLOW},
    {"exceed_context_size_error", ACR_LLM_ERROR_CONTEXT_OVERFLOW},
    {"model_context_window_exceeded", ACR_LLM_ERROR_CONTEXT_OVERFLOW},
    {"insufficient_quota", ACR_LLM_ERROR_BILLING},
    {"credit_balance_exhausted", ACR_LLM_ERROR_BILLING},
    {"organization_spend_limit_exceeded", ACR_LLM_ERROR_BILLING},
    {"project_spend_limit_exceeded", ACR_LLM_ERROR_BILLING},
    {"organization_usage_limit_exceeded", ACR_LLM_ERROR_BILLING},
    {"billing_hard_limit_reached", ACR_LLM_ERROR_BILLING},
    {"billing_error", ACR_LLM_ERROR_BILLING},
    {"invalid_api_key", ACR_LLM_ERROR_AUTH},
    {"authentication_error", ACR_LLM_ERROR_AUTH},
    {"permission_error", ACR_LLM_ERROR_AUTH},
    {"rate_limit_exceeded", ACR_LLM_ERROR_RATE_LIMIT},
    {"rate_limit_error", ACR_LLM_ERROR_RATE_LIMIT},
    {"slow_down", ACR_LLM_ERROR_RATE_LIMIT},
    {"server_is_overloaded", ACR_LLM_ERROR_OVERLOADED},
    {"overloaded_error", ACR_LLM_ERROR_OVERLOADED},
    {"capacity_exceeded", ACR_LLM_ERROR_OVERLOADED},
    {"server_error", ACR_LLM_ERROR_SERVER},
    {"api_error", ACR_LLM_ERROR_SERVER},
    {"timeout_error", ACR_LLM_ERROR_TIMEOUT},
    {"content_filter", ACR_LLM_ERROR_CONTENT_FILTER},
    {"content_policy_violation", ACR_LLM_ERROR_CONTENT_FILTER},
    {"unsupported_parameter", ACR_LLM_ERROR_BAD_REQUEST},
    {"unsupported_value", ACR_LLM_ERROR_BAD_REQUEST},
    {"model_not_found", ACR_LLM_ERROR_BAD_REQUEST},
};

static const char *const overflow_texts[] = {
    "maximum context length",
    "prompt is too long",
    "exceeds the available context size",
};

void acr_failure_clear(AcrFailure *failure)
{
    if (!failure)
        return;
    g_free(failure->message);
    g_free(failure->param);
    memset(failure, 0, sizeof *failure);
}

static AcrLlmError class_of_word(const char *word)
{
    for (gsize i = 0; word && i < G_N_ELEMENTS(words); i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].code;
    return ACR_LLM_ERRORS;
}

const AcrJson *acr_failure_in_body(const AcrJson *body)
{
    const AcrJson *error = NULL;

    if (acr_json_type(body) == ACR_JSON_ARRAY)
        body = acr_json_first(body);
    error = acr_json_get(body, "error");
    if (acr_json_type(error) == ACR_JSON_OBJECT || acr_json_type(error) == ACR_JSON_STRING)
        return error;
    return acr_json_get_string(body, "message") ? body : NULL;
}

static const char *message_of(const AcrJson *error)
{
    const char *text = acr_json_string(error);

    return text ? text : acr_json_get_string(error, "message");
}

static AcrLlmError class_of_error(const AcrJson *error)
{
    AcrLlmError code = class_of_word(acr_json_get_string(error, "code"));
    const char *message = message_of(error);

    if (code == ACR_LLM_ERRORS)
        code = class_of_word(acr_json_get_string(error, "type"));
    for (gsize i = 0; code == ACR_LLM_ERRORS && message && i < G_N_ELEMENTS(overflow_texts); i++)
        if (strstr(message, overflow_texts[i]))
            code = ACR_LLM_ERROR_CONTEXT_OVERFLOW;
    return code;
}

static AcrLlmError class_of_status(int status)
{
    switch (status) {
    case 401:
    case 403:
        return ACR_LLM_ERROR_AUTH;
    case 402:
        return ACR_LLM_ERROR_BILLING;
    case 408:
        return ACR_LLM_ERROR_TIMEOUT;
    case 409:
    case 424:
        return ACR_LLM_ERROR_SERVER;
    case 429:
    case 498:
        return ACR_LLM_ERROR_RATE_LIMIT;
    case 503:
    case 529:
        return ACR_LLM_ERROR_OVERLOADED;
    default:
        return status >= 500 ? ACR_LLM_ERROR_SERVER : ACR_LLM_ERROR_BAD_REQUEST;
    }
}

bool acr_failure_is_retryable(AcrLlmError code)
{
    switch (code) {
    case ACR_LLM_ERROR_RATE_LIMIT:
    case ACR_LLM_ERROR_OVERLOADED:
    case ACR_LLM_ERROR_SERVER:
    case ACR_LLM_ERROR_TIMEOUT:
    case ACR_LLM_ERROR_NETWORK:
    case ACR_LLM_ERROR_TRUNCATED:
    case ACR_LLM_ERROR_MALFORMED:
        return true;
    default:
        return false;
    }
}

static const char *header(GHashTable *headers, const char *name)
{
    return headers ? g_hash_table_lookup(headers, name) : NULL;
}

/* Some servers (and proxies before them) know better than the status whether another try makes
 * sense. */
static bool should_retry(AcrLlmError code, GHashTable *headers)
{
    const char *said = header(headers, "x-should-retry");

    if (said && g_ascii_strcasecmp(said, "false") == 0)
        return false;
    if (said && g_ascii_strcasecmp(said, "true") == 0 && code == ACR_LLM_ERROR_BAD_REQUEST)
        return true;
    return acr_failure_is_retryable(code);
}

static char *describe(int status, const AcrJson *error, const char *text, gsize len,
                      GHashTable *headers)
{
    GString *out = g_string_new(NULL);
    const char *code = acr_json_get_string(error, "code");
    const char *id = header(headers, "x-request-id");
    const char *message = message_of(error);
    g_autofree char *raw = message ? NULL : acr_utf8_repair(text, MIN(len, ACR_LLM_MAX_MESSAGE));
    g_autofree char *shown = acr_text_shorten(message ? message : raw, ACR_LLM_MAX_MESSAGE);

    g_string_append_printf(out, "HTTP %d", status);
    if (code)
        g_string_append_printf(out, " %.100s", code);
    if (*shown)
        g_string_append_printf(out, ": %s", shown);
    if (status >= 300 && status < 400)
        g_string_append(out, " (redirects are not followed: check the base URL)");
    if (id)
        g_string_append_printf(out, " (request id %.100s)", id);
    return g_string_free(out, FALSE);
}

void acr_failure_of_response(int status, const AcrJson *body, const char *text, gsize len,
                             GHashTable *headers, AcrFailure *out)
{
    const AcrJson *error = acr_failure_in_body(body);
    gint64 number =
        acr_json_get_int(error, "code", 0); /* some servers repeat the status here, under a 200 */
    AcrLlmError code = class_of_error(error);

    if (code == ACR_LLM_ERRORS)
        code = class_of_status(status < 300 && number >= 400 && number < 600 ? (int)number
                               : status < 300                                ? 500
                                                                             : status);
    *out = (AcrFailure){
        .code = code,
        .retryable = should_retry(code, headers),
        .retry_after_ms = acr_retry_after_ms(headers, (gint64)time(NULL)),
        .message = describe(status, error, text, len, headers),
        .param = g_strdup(acr_json_get_string(error, "param")),
    };
}

/* Seconds since the epoch of "Sun, 06 Nov 1994 08:49:37 GMT", or -1. */
static gint64 parse_http_date(const char *text)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm = {0};
    char month[4] = "";
    const char *at = NULL;

    if (sscanf(text, "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &tm.tm_mday, month, &tm.tm_year,
               &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6)
        return -1;
    at = strlen(month) == 3 ? strstr(months, month) : NULL;
    if (!at || (at - months) % 3 != 0 || tm.tm_year < 1970)
        return -1;
    tm.tm_mon = (int)(at - months) / 3;
    tm.tm_year -= 1900;
    return (gint64)timegm(&tm);
}

/* A number of `unit` milliseconds; -1: not one, or negative. */
static gint64 parse_duration(const char *text, double unit)
{
    char *end = NULL;
    double value = g_ascii_strtod(text, &end);

    if (end == text || *end || !(value >= 0))
        return -1;
    return (gint64)MIN(value * unit, (double)MAX_RETRY_AFTER_MS);
}

gint64 acr_retry_after_ms(GHashTable *headers, gint64 now_unix)
{
    const char *ms = header(headers, "retry-after-ms");
    const char *after = header(headers, "retry-after");
    gint64 wait = ms ? parse_duration(ms, 1) : -1;
    gint64 date = -1;

    if (wait < 0 && after)
        wait = parse_duration(after, 1000);
    if (wait < 0 && after)
        date = parse_http_date(after);
    if (date >= 0)
        wait = CLAMP(date - now_unix, 0, MAX_RETRY_AFTER_MS / 1000) * 1000;
    return wait;
}
