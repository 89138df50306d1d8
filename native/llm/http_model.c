/*
 * A model behind HTTP: one exchange after another until there is an answer, a failure that no
 * repetition mends, or the end of the tries or of the time. What it says is the provider's affair
 * (AcrProvider); waits, classes of failure and secrecy of the key are the same for all.
 */
#include "llm/llm_private.h"

#include <string.h>

#define DEFAULT_TIMEOUT_MS (30ll * 60 * 1000)
#define MIN_TRY_MS 100 /* a try with less time than this is not begun */

typedef struct {
    AcrModel base;
    const AcrProvider *provider;
    AcrDialect dialect;
    char *model_name;   /* owned; what dialect.model points to */
    char *url;          /* owned */
    char *authority;    /* owned; host and port, for messages */
    char *key;          /* owned; NULL: none. Wiped when freed, never shown */
    char *ca_file;      /* owned, or NULL */
    GPtrArray *headers; /* owned strings, NULL-terminated; the key is in them */
    GRand *random;      /* owned; jitter only: no answer depends on it */
    guint max_retries;
    gint64 timeout_ms, retry_base_ms;
    const AcrInterrupt *interrupt; /* borrowed */
    void (*on_wait)(void *ctx, const char *why, gint64 wait_ms);
    void *on_wait_ctx;
} HttpModel;

static void wipe(gpointer text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    g_free(text);
}

static void http_free(AcrModel *model)
{
    HttpModel *self = (HttpModel *)model;

    wipe(self->key);
    if (self->headers)
        g_ptr_array_unref(self->headers);
    g_rand_free(self->random);
    g_free(self->model_name);
    g_free(self->url);
    g_free(self->authority);
    g_free(self->ca_file);
    g_free(self->base.name);
    g_free(self);
}

/* ---- One exchange -------------------------------------------------------------------------------
 */

static bool fail(AcrFailure *failure, AcrLlmError code, bool retryable, const char *message)
{
    *failure = (AcrFailure){
        .code = code, .retryable = retryable, .retry_after_ms = -1, .message = g_strdup(message)};
    return false;
}

bool acr_llm_read_response(const AcrProvider *provider, int status, const char *text, gsize len,
                           GHashTable *headers, AcrModelAnswer *out, AcrFailure *out_failure)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) body = acr_json_parse(text, len, &error);
    g_auto(AcrModelAnswer) answer = {0};
    bool is_success = status >= 200 && status < 300;

    if (!is_success || (acr_json_get(body, "error") && acr_failure_in_body(body))) {
        acr_failure_of_response(status, body, text, len, headers, out_failure);
        return false;
    }
    if (!body) {
        g_autofree char *why =
            g_strdup_printf("HTTP %d with a body that is no JSON: %s", status, error->message);

        return fail(out_failure, ACR_LLM_ERROR_MALFORMED, true, why);
    }
    if (!provider->answer(body, &answer, &error))
        return fail(out_failure, (AcrLlmError)error->code,
                    acr_failure_is_retryable((AcrLlmError)error->code), error->message);
    if (strlen(answer.content) > ACR_LLM_MAX_ANSWER) {
        g_autofree char *why =
            g_strdup_printf("the answer has more than %u bytes", ACR_LLM_MAX_ANSWER);

        return fail(out_failure, ACR_LLM_ERROR_MALFORMED, false, why);
    }
    *out = answer;
    answer = (AcrModelAnswer){0};
    return true;
}

/* An exchange that brought no response. */
static bool fail_transport(AcrFailure *failure, const GError *error)
{
    if (g_error_matches(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_INTERRUPTED))
        return fail(failure, ACR_LLM_ERROR_INTERRUPTED, false, "interrupted");
    if (g_error_matches(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_NETWORK))
        return fail(failure, ACR_LLM_ERROR_NETWORK, true, error->message);
    if (g_error_matches(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_TIMEOUT))
        return fail(failure, ACR_LLM_ERROR_TIMEOUT, true, error->message);
    if (g_error_matches(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_TOO_BIG))
        return fail(failure, ACR_LLM_ERROR_MALFORMED, false, error->message);
    return fail(failure, ACR_LLM_ERROR_FAILED, false, error->message);
}

static bool try_once(HttpModel *self, const AcrModelRequest *request, gint64 left_ms,
                     AcrModelAnswer *out, AcrFailure *failure)
{
    g_autoptr(AcrJson) json = self->provider->request(&self->dialect, request);
    g_autofree char *body = acr_json_print(json);
    g_autoptr(GError) error = NULL;
    g_auto(AcrHttpResponse) response = {0};
    const char *text = NULL;
    gsize len = 0;
    AcrHttpRequest exchange = {
        .method = "POST",
        .url = self->url,
        .headers = (const char *const *)self->headers->pdata,
        .body = body,
        .body_len = strlen(body),
        .total_timeout_ms = left_ms,
        .ca_file = self->ca_file,
        .interrupt = self->interrupt,
    };

    if (left_ms <= 0)
        return fail(failure, ACR_LLM_ERROR_TIMEOUT, false, "the time for the call is over");
    if (!acr_http_exchange(&exchange, &response, &error))
        return fail_transport(failure, error);
    text = g_bytes_get_data(response.body, &len);
    return acr_llm_read_response(self->provider, response.status, text ? text : "", len,
                                 response.headers, out, failure);
}

/* ---- Tries --------------------------------------------------------------------------------------
 */

static bool give_up(const HttpModel *self, const AcrFailure *failure, GError **error)
{
    g_autofree char *text =
        acr_llm_public_text(failure->message, self->key, 2 * ACR_LLM_MAX_MESSAGE);

    g_set_error(error, ACR_LLM_ERROR, (gint)failure->code, "model '%s' at %s: %s", self->base.name,
                self->authority, text);
    return false;
}

/* Waits before try `retry` + 1. False, with the failure made final: the time does not suffice, or
 * an interrupt came. */
static bool wait_for_retry(HttpModel *self, guint retry, gint64 deadline_us, AcrFailure *failure)
{
    gint64 ms = acr_backoff_ms(self->retry_base_ms, retry, failure->retry_after_ms,
                               g_rand_double(self->random));
    g_autofree char *why = acr_llm_public_text(failure->message, self->key, 300);
    g_autofree char *told = g_strdup_printf("%s: %s", acr_llm_error_name(failure->code), why);

    if (g_get_monotonic_time() + (ms + MIN_TRY_MS) * 1000 >= deadline_us)
        return false;
    if (self->on_wait)
        self->on_wait(self->on_wait_ctx, told, ms);
    if (acr_llm_wait(ms, self->interrupt))
        return true;
    acr_failure_clear(failure);
    return fail(failure, ACR_LLM_ERROR_INTERRUPTED, false, "interrupted");
}

static bool http_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                          GError **error)
{
    HttpModel *self = (HttpModel *)model;
    gint64 deadline_us = g_get_monotonic_time() + self->timeout_ms * 1000;

    for (guint retry = 0;;) {
        g_auto(AcrFailure) failure = {0};
        gint64 left_ms = (deadline_us - g_get_monotonic_time()) / 1000;

        if (try_once(self, request, left_ms, out, &failure))
            return true;
        if (self->provider->correct(&self->dialect, &failure))
            continue;
        if (!failure.retryable || retry >= self->max_retries ||
            !wait_for_retry(self, retry, deadline_us, &failure))
            return give_up(self, &failure, error);
        retry++;
    }
}

/* ---- Making -------------------------------------------------------------------------------------
 */

char *acr_llm_join_url(const char *base, const char *path)
{
    gsize len = strlen(base);

    while (len > 0 && base[len - 1] == '/')
        len--;
    while (*path == '/')
        path++;
    return g_strdup_printf("%.*s/%s", (int)len, base, path);
}

static const char *variable(const char *name)
{
    const char *value = name ? g_getenv(name) : NULL;

    return value && *value ? value : NULL;
}

static bool find_url(HttpModel *self, const AcrModelOptions *options, GError **error)
{
    const char *base =
        options->base_url ? options->base_url : variable(self->provider->base_variable);

    /* The provider's own models all know the newer name of the token limit, servers that imitate it
     * often do not. */
    self->dialect.max_completion_tokens = base == NULL;
    base = base ? base : self->provider->base_url;
    self->authority = strpbrk(base, "?#") ? NULL : acr_http_url_authority(base);
    if (!self->authority) {
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                    "the base URL of model '%s' is not http://HOST[/PATH] or https://HOST[/PATH]",
                    self->base.name);
        return false;
    }
    self->url = acr_llm_join_url(base, self->provider->path);
    return true;
}

/* A server on this machine needs no key; anything else does. */
static bool find_key(HttpModel *self, GError **error)
{
    const char *name = self->provider->key_variable;
    const char *value = variable(name);

    self->key = value ? g_strstrip(g_strdup(value)) : NULL;
    if (self->key && !*self->key)
        g_clear_pointer(&self->key, wipe);
    if (!self->key && name && !acr_http_url_is_loopback(self->url)) {
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH, "no key for model '%s': set %s",
                    self->base.name, name);
        return false;
    }
    for (const char *c = self->key; c && *c; c++) {
        if (!g_ascii_isgraph(*c)) {
            g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH,
                        "%s holds a blank or a character that no key has", name);
            return false;
        }
    }
    return true;
}

static void set_headers(HttpModel *self)
{
    self->headers = g_ptr_array_new_with_free_func(wipe);
    g_ptr_array_add(self->headers, g_strdup("Content-Type: application/json"));
    g_ptr_array_add(self->headers, g_strdup("Accept: application/json"));
    self->provider->headers(self->headers, self->key);
    g_ptr_array_add(self->headers, NULL);
}

AcrModel *acr_http_model_new(const AcrProvider *provider, const char *name,
                             const AcrModelOptions *options, GError **error)
{
    static const AcrModelOps ops = {.complete = http_complete, .free = http_free};
    const char *ca_file = options->ca_file ? options->ca_file : variable("SSL_CERT_FILE");
    HttpModel *self = g_new0(HttpModel, 1);

    self->base = (AcrModel){.ops = &ops, .name = g_strdup(name)};
    self->provider = provider;
    self->model_name = acr_utf8_repair(strchr(name, '/') + 1, strlen(strchr(name, '/') + 1));
    self->dialect = (AcrDialect){.model = self->model_name, .temperature = options->temperature};
    self->ca_file = g_strdup(ca_file);
    self->random = g_rand_new();
    self->max_retries = options->max_retries;
    self->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : DEFAULT_TIMEOUT_MS;
    self->retry_base_ms =
        options->retry_base_ms > 0 ? options->retry_base_ms : ACR_LLM_BACKOFF_BASE_MS;
    self->interrupt = options->interrupt;
    self->on_wait = options->on_wait;
    self->on_wait_ctx = options->on_wait_ctx;
    if (!find_url(self, options, error) || !find_key(self, error)) {
        acr_model_free(&self->base);
        return NULL;
    }
    set_headers(self);
    return &self->base;
}
