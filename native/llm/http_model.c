/* A model that is reached by HTTP. A call is retried until there is an answer or a permanent
 * failure, or until the retries, the time or the money are used up. The provider makes the
 * requests, the reader parses the responses, spend.c limits the cost; the rest is here. */
#include <string.h>

#include "base/trace.h"
#include "http/http.h"
#include "llm/batch_broker.h"
#include "llm/provider.h"
#include "llm/llm_private.h"
#include "llm/response_reader.h"
#include "llm/spend.h"

#define TRY_TIMEOUT_MS (30ll * 60 * 1000)
#define FIRST_BYTE_TIMEOUT_MS (10ll * 60 * 1000)
#define IDLE_TIMEOUT_MS (2ll * 60 * 1000)
/* a call fails if it would have to wait longer than MAX_HONOURED_WAIT_MS */
#define MAX_HONOURED_WAIT_MS (60ll * 60 * 1000)
#define LIMIT_MS(given, ms, n)                                                                     \
    (self->service == ACR_SERVICE_BATCH  ? ACR_BATCH_MAX_WAIT_MS                                   \
     : (given) > 0                       ? (given)                                                 \
     : self->service == ACR_SERVICE_FLEX ? (n) * (ms)                                              \
                                         : (ms))
#define POSTSCRIPT_MS 5000 /* how long to wait for further events after a complete answer */
#define ANSWER_EVERY_MS 500
#define MIN_TRY_MS 100 /* no try begins if less time than MIN_TRY_MS is left */
#define MAX_SHRINKS 3u /* how often the answer limit may be lowered to fit the ceiling */
/* The answer limit for providers that require a limit: DEFAULT_LIMIT for unknown models, and at
 * most MAX_OWN_LIMIT for known models, because the limit counts against the key's tokens per
 * minute. */
#define DEFAULT_LIMIT 8192
#define MAX_OWN_LIMIT 32000

typedef struct {
    AcrModel base;
    AcrEndpoint endpoint;
    AcrDialect dialect;
    AcrSpend spend;
    AcrHttpClient *client; /* owned */
    AcrLimiter *limiter;   /* owned; NULL: limits are not shared */
    AcrModelReport report;
    char *model_name; /* owned; strings in `endpoint` and `dialect` point into it */
    char *effort;     /* owned, or NULL */
    /* the requested service tier; ANY: none is requested, or the server refuses it for the model */
    AcrService service;
    char *ca_file;   /* owned, or NULL */
    char *cache_key; /* owned; cache key of the current call, or NULL */
    /* owned; address and token of the batch broker, a secret; NULL: there is no broker */
    char *broker;
    char *instance;  /* owned; the id of the benchmark task, or NULL */
    char *authority; /* owned; host and port, or socket, for messages */
    GRand *random;   /* owned; only for the jitter of waits, which does not change answers */
    guint max_retries, max_tokens;
    gint64 timeout_ms, first_byte_ms, idle_ms, retry_base_ms;
    const char *timeout_option; /* static; the option that sets timeout_ms, or NULL */
    /* has_answered: a request with the key succeeded; has_told_refusal: the user knows of the
     * refusal */
    bool has_answered, has_told_refusal;
    const AcrInterrupt *interrupt; /* borrowed */
    void (*on_wait)(void *ctx, const char *why, gint64 wait_ms);
    void *on_wait_ctx;
    void (*on_answer)(void *ctx, gint64 begun_ms, gint64 tokens);
    void *on_answer_ctx;
} HttpModel;

typedef struct {
    HttpModel *self;
    const AcrModelRequest *request;
    guint retries[ACR_LLM_ERRORS]; /* number of retries so far for each class of failure */
    guint total;
    gint64 wait_ms; /* wait before the next try */
    AcrService service;
    /* the circuit breaker caused the failure, which must not be reported to the breaker again */
    bool is_kept_back;
} Call;

static void http_free(AcrModel *model)
{
    HttpModel *self = (HttpModel *)model;
    acr_http_client_free(self->client);
    acr_limiter_free(self->limiter);
    acr_endpoint_clear(&self->endpoint);
    g_clear_pointer(&self->report.tries, g_array_unref);
    if (self->random)
        g_rand_free(self->random);
    ACR_FREE(self->model_name, self->effort, self->ca_file, self->cache_key);
    acr_wipe(self->broker);
    ACR_FREE(self->instance, self->authority, self->base.name, self->base.remark, self);
}

/* Returns the rest of the time limit, in milliseconds; G_MAXINT64 if there is no limit. */
static gint64 time_left_ms(const HttpModel *self)
{
    return self->spend.budget ? acr_budget_left_ms(self->spend.budget) : G_MAXINT64;
}

/* Whether the time left is too short for another try. */
static bool is_time_over(const HttpModel *self)
{
    return time_left_ms(self) < MIN_TRY_MS;
}

static bool fail_too_late(const HttpModel *self, AcrFailure *failure)
{
    g_autofree char *message = g_strconcat("limit ", acr_budget_deadline_name(self->spend.budget),
                                           " reached; rerun with a higher limit to continue", NULL);
    return acr_fail(failure, ACR_LLM_ERROR_CEILING, message);
}

/* The state of a response while its body is read. */
typedef struct {
    const HttpModel *self;
    AcrReader *reader; /* NULL before the first byte of a body */
    gint64 received;   /* bytes received so far */
    bool went_silent;
    gint64 begun_ms, shown_us; /* times when the request was sent and on_answer was last called */
} Flow;

/* Calls on_answer, unless it was called less than ANSWER_EVERY_MS ago. */
static void show_answer(Flow *flow)
{
    const HttpModel *self = flow->self;
    gint64 now_us = g_get_monotonic_time();
    if (!self->on_answer || now_us - flow->shown_us < ANSWER_EVERY_MS * 1000)
        return;
    flow->shown_us = now_us;
    self->on_answer(self->on_answer_ctx, flow->begun_ms,
                    flow->reader ? acr_partial_tokens(acr_reader_partial(flow->reader)) : 0);
}

static AcrHttpNext on_model_body(void *ctx, const AcrHttpHead *head, const char *data, gsize len)
{
    Flow *flow = ctx;
    flow->received += (gint64)len;
    if (!flow->reader)
        flow->reader = acr_reader_new(flow->self->endpoint.provider, head->status, head->headers);
    if (!acr_reader_feed(flow->reader, data, len))
        return ACR_HTTP_ENOUGH;
    show_answer(flow);
    gint64 silent_us = g_get_monotonic_time() - acr_reader_partial(flow->reader)->content_us;
    if (acr_reader_is_settled(flow->reader))
        return silent_us > POSTSCRIPT_MS * 1000 ? ACR_HTTP_ENOUGH : ACR_HTTP_NEARLY;
    flow->went_silent = silent_us > flow->self->idle_ms * 1000;
    return flow->went_silent ? ACR_HTTP_STOP : ACR_HTTP_MORE;
}

/* Classifies the failure of an exchange without a complete response. */
static bool fail_transport(const Flow *flow, const GError *error, AcrFailure *failure)
{
    static const struct {
        AcrLlmError code;
        bool is_final; /* a retry does not help */
    } rows[] = {
        [ACR_HTTP_ERROR_INTERRUPTED] = {ACR_LLM_ERROR_INTERRUPTED, true},
        [ACR_HTTP_ERROR_UNREACHABLE] = {ACR_LLM_ERROR_UNREACHABLE, false},
        [ACR_HTTP_ERROR_NETWORK] = {ACR_LLM_ERROR_NETWORK, false},
        [ACR_HTTP_ERROR_FAILED] = {ACR_LLM_ERROR_NETWORK, true}, /* certificate rejected */
        [ACR_HTTP_ERROR_TIMEOUT] = {ACR_LLM_ERROR_TIMEOUT, false},
        [ACR_HTTP_ERROR_TOO_BIG] = {ACR_LLM_ERROR_MALFORMED, true},
        [ACR_HTTP_ERROR_LENGTH] = {ACR_LLM_ERROR_TRUNCATED, false},
        [ACR_HTTP_ERROR_STOPPED] = {ACR_LLM_ERROR_FAILED, true},
    };
    if (flow->went_silent)
        return acr_fail(failure, ACR_LLM_ERROR_TIMEOUT,
                        "the server keeps the response open but sends no content");
    if (error->code == ACR_HTTP_ERROR_TIMEOUT && is_time_over(flow->self))
        return fail_too_late(flow->self, failure);
    if (error->code == ACR_HTTP_ERROR_TIMEOUT) {
        const AcrPartial *partial = flow->reader ? acr_reader_partial(flow->reader) : NULL;
        g_autoptr(GString) why = g_string_new(error->message);
        if (partial && partial->has_said)
            g_string_append_printf(why,
                                   ", after %" G_GINT64_FORMAT " tokens of an unfinished answer",
                                   acr_partial_tokens(partial));
        if (flow->self->timeout_option)
            g_string_append_printf(why, "; allow more time with %s", flow->self->timeout_option);
        return acr_fail(failure, ACR_LLM_ERROR_TIMEOUT, why->str);
    }
    acr_fail(failure, rows[error->code].code, error->message);
    failure->retryable = failure->retryable && !rows[error->code].is_final;
    return false;
}

/* Reads the outcome of an exchange: the answer, a failure, or the reason why there is no
 * response. */
static bool read_outcome(Flow *flow, const AcrHttpResponse *response, const GError *error,
                         AcrModelAnswer *out, AcrModelTry *attempt, AcrFailure *failure)
{
    bool broke_off = g_error_matches(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_NETWORK);
    bool is_refusal = response->status >= 300;
    if (response->status > 0 && !flow->reader)
        flow->reader =
            acr_reader_new(flow->self->endpoint.provider, response->status, response->headers);
    if (flow->reader) {
        attempt->streamed = acr_reader_partial(flow->reader)->began;
        attempt->request_id = g_strdup(acr_reader_partial(flow->reader)->request_id);
    }
    if (response->status == 0 || (error && !broke_off && !is_refusal))
        return fail_transport(flow, error, failure);
    return acr_reader_end(flow->reader, error ? error->message : NULL, out, &attempt->usage,
                          failure);
}

/* Returns the endpoint's headers and the headers that sign the body; owned. */
static GPtrArray *headers_of(const HttpModel *self, const char *body)
{
    const AcrProvider *provider = self->endpoint.provider;
    GPtrArray *headers = g_ptr_array_new_with_free_func(acr_wipe);
    for (guint i = 0; i + 1 < self->endpoint.headers->len; i++)
        g_ptr_array_add(headers, g_strdup(self->endpoint.headers->pdata[i]));
    if (provider->sign)
        provider->sign(&self->endpoint, body, strlen(body), headers);
    g_ptr_array_add(headers, NULL);
    return headers;
}

static bool exchange_try(Call *call, const char *body, AcrModelAnswer *out, AcrModelTry *attempt,
                         AcrExchange *said, AcrFailure *failure)
{
    HttpModel *self = call->self;
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) headers = headers_of(self, body);
    g_auto(AcrHttpResponse) response = {0};
    Flow flow = {.self = self, .begun_ms = g_get_real_time() / 1000, .shown_us = G_MININT32};
    AcrHttpRequest request = {
        .method = "POST",
        .url = self->endpoint.url,
        .unix_socket = self->endpoint.unix_socket,
        .headers = (const char *const *)headers->pdata,
        .body = body,
        .body_len = strlen(body),
        .unpacks = true,
        .first_byte_timeout_ms = self->first_byte_ms,
        .idle_timeout_ms = self->idle_ms,
        .total_timeout_ms = CLAMP(time_left_ms(self), 1, self->timeout_ms),
        .ca_file = self->ca_file,
        .on_body = on_model_body,
        .on_body_ctx = &flow,
        .interrupt = self->interrupt,
    };
    g_auto(AcrBatchRequest) pooled = {0};
    if (call->service == ACR_SERVICE_BATCH)
        acr_batch_address(&pooled, self->broker, self->instance, call->request, call->total,
                          &request);
    show_answer(&flow);
    bool ok = acr_http_exchange(self->client, &request, &response, &error);
    attempt->sent = acr_batch_was_sent(&pooled, &response);
    attempt->status = response.status;
    attempt->first_byte_ms = response.first_byte_ms;
    attempt->wall_ms = response.wall_ms;
    acr_trace("llm", "%s: %zu bytes sent, status %d, first byte after %d ms, end after %d ms",
              self->base.name, request.body_len, (int)response.status, (int)response.first_byte_ms,
              (int)response.wall_ms);
    ok = read_outcome(&flow, &response, ok ? NULL : error, out, attempt, failure);
    said->received = flow.received;
    said->answered = ok ? (gint64)strlen(out->content) : 0;
    if (flow.reader && acr_reader_partial(flow.reader)->has_said)
        said->answered = MAX(said->answered, 1);
    attempt->served = acr_service_of(flow.reader ? acr_reader_partial(flow.reader)->tier : NULL);
    acr_reader_free(flow.reader);
    acr_redact_model_answer(ok ? out : NULL, &attempt->request_id, self->endpoint.secrets);
    if (ok && acr_fail_cut_prompt(call->request->conversation, &attempt->usage, failure)) {
        acr_model_answer_clear(out);
        ok = false;
    }
    if (ok) {
        acr_finish_tools(out, call->request->tools && !self->dialect.no_tools, self->base.name,
                         self->endpoint.secrets);
        acr_model_answer_split(out);
        self->has_answered = true;
    } else if (failure->code == ACR_LLM_ERROR_AUTH && response.status == 403 &&
               self->has_answered) {
        failure->code = ACR_LLM_ERROR_BAD_REQUEST; /* the key is valid; the prompt is rejected */
    }
    return ok;
}

/* Returns the answer limit to send, in tokens; 0 if none is sent. */
static guint limit_of(const HttpModel *self, const AcrModelRequest *request)
{
    const AcrDialect *dialect = &self->dialect;
    gint64 limit = acr_spend_limit(
        &self->spend, request->max_tokens ? request->max_tokens : self->max_tokens, request->room);
    if (limit == 0 && self->endpoint.provider->needs_limit)
        limit = dialect->max_output > 0 ? MIN(dialect->max_output, MAX_OWN_LIMIT) : DEFAULT_LIMIT;
    if (limit > 0 && dialect->is_limited)
        limit = MIN(limit, dialect->max_output);
    return (guint)(limit > 0 && dialect->room > 0 ? MIN(limit, dialect->room) : limit);
}

/* Reserves the highest possible cost of a try, and makes the body of its request; owned. Returns
 * NULL with the failure if the cost exceeds the ceiling. */
static char *prepare_body(HttpModel *self, const AcrModelRequest *request, AcrModelTry *attempt,
                          AcrExchange *said, guint64 *out_id, AcrFailure *failure)
{
    AcrModelRequest bounded = *request;
    AcrDialect dialect = self->dialect;
    if (request->is_varied && dialect.temperature >= 0)
        dialect.temperature = MAX(dialect.temperature, ACR_VARIED_TEMPERATURE);
    bounded.tools = self->dialect.no_tools ? NULL : request->tools;
    bounded.max_tokens = limit_of(self, request);
    dialect.no_stream |= attempt->asked == ACR_SERVICE_BATCH;
    for (guint i = 0; i <= MAX_SHRINKS; i++) {
        g_autoptr(AcrJson) json = self->endpoint.provider->request(&dialect, &bounded);
        g_autofree char *body = acr_json_print(json);
        bool again = false;
        acr_failure_clear(failure);
        said->sent = (gint64)strlen(body);
        said->limit = self->dialect.sent_limit = bounded.max_tokens;
        if (acr_spend_reserve(&self->spend, strlen(body), &bounded.max_tokens, &again, attempt,
                              out_id, failure))
            return g_steal_pointer(&body);
        if (!again)
            return NULL;
    }
    return ACR_NULL(acr_fail(failure, ACR_LLM_ERROR_CEILING,
                             "the remaining budget is too small for another call"));
}

/* Waits for one of the slots that all users of the endpoint and key share, and adds the wait to the
 * call's wait_ms. */
static bool enter_try(Call *call, AcrFailure *failure)
{
    HttpModel *self = call->self;
    gint64 deadline_us = self->spend.budget ? acr_budget_deadline(self->spend.budget) : 0;
    gint64 waited_ms = 0;
    g_autofree char *why = NULL;
    g_autofree char *message = NULL;
    if (!self->limiter)
        return true;
    switch (acr_limiter_enter(self->limiter, deadline_us, self->interrupt, self->on_wait,
                              self->on_wait_ctx, &waited_ms, &why)) {
    case ACR_LIMITER_ENTERED:
        call->wait_ms += waited_ms;
        return true;
    case ACR_LIMITER_INTERRUPTED:
        return acr_fail(failure, ACR_LLM_ERROR_INTERRUPTED, "interrupted");
    case ACR_LIMITER_PAUSED:
        call->is_kept_back = true;
        message = g_strdup_printf("all processes that use this key are paused: %s", why);
        return acr_fail(failure, acr_llm_paused_class(why), message);
    default:
        return fail_too_late(self, failure);
    }
}

/* Frees the slot, and tells the other users whether the server throttled the try. */
static void leave(const Call *call, const AcrModelTry *attempt, const AcrFailure *failure)
{
    bool is_throttled =
        !attempt->ok && !acr_failure_is_of_tier(failure, attempt->asked) &&
        (failure->code == ACR_LLM_ERROR_RATE_LIMIT || failure->code == ACR_LLM_ERROR_OVERLOADED);
    gint64 hold_ms = is_throttled ? failure->retry_after_ms : 0;
    if (hold_ms > MAX_HONOURED_WAIT_MS)
        hold_ms = 0; /* the hold is too long to wait for; each call fails instead */
    if (call->self->limiter)
        acr_limiter_leave(call->self->limiter, is_throttled, hold_ms);
}

static bool try_once(Call *call, AcrModelAnswer *out, AcrFailure *failure)
{
    HttpModel *self = call->self;
    AcrModelTry attempt = {.model = self->base.name, .usage = ACR_USAGE_UNKNOWN};
    AcrExchange said = {.asked = (gint64)acr_conversation_bytes(call->request->conversation)};
    attempt.asked = call->service;
    bool is_pooled = call->service == ACR_SERVICE_BATCH;
    self->dialect.tier = is_pooled ? NULL : self->endpoint.provider->services[call->service];
    guint64 id = 0;
    g_autoptr(GError) error = NULL;
    if (is_time_over(self))
        return fail_too_late(self, failure);
    /* a call in a batch needs no slot, because it may wait for up to a day */
    if (!is_pooled && !enter_try(call, failure))
        return false;
    attempt.wait_ms = call->wait_ms;
    g_autofree char *body = prepare_body(self, call->request, &attempt, &said, &id, failure);
    if (body)
        attempt.ok = exchange_try(call, body, out, &attempt, &said, failure);
    if (!is_pooled)
        leave(call, &attempt, failure);
    if (!body)
        return false;
    attempt.code = attempt.ok ? 0 : failure->code;
    if (!acr_spend_settle(&self->spend, id, &said, &attempt, &error) && attempt.ok) {
        acr_model_answer_clear(out);
        attempt.ok = false;
        acr_fail(failure, ACR_LLM_ERROR_FAILED, error->message);
    }
    if (attempt.ok) {
        out->usage = attempt.usage;
        out->model = out->model ? out->model : g_strdup(self->model_name);
    }
    g_array_append_val(self->report.tries, attempt);
    return attempt.ok;
}

/* Pauses all users of the key if the failure concerns the key or its account. */
static void open_breaker(const Call *call, const AcrFailure *failure, const char *text)
{
    bool concerns_all =
        failure->code == ACR_LLM_ERROR_AUTH || failure->code == ACR_LLM_ERROR_BILLING;
    if (!concerns_all || !call->self->limiter || call->is_kept_back)
        return;
    g_autofree char *why =
        g_strdup_printf("%s: model '%s' at %s: %s", acr_llm_error_name(failure->code),
                        call->self->base.name, call->self->authority, text);
    acr_limiter_pause(call->self->limiter, why);
}

static bool give_up(const Call *call, const AcrFailure *failure, GError **error)
{
    HttpModel *self = call->self;
    g_autofree char *text = acr_redact_line(failure->message ? failure->message : "failed",
                                            self->endpoint.secrets, 2 * ACR_LLM_MAX_MESSAGE);
    self->report.window = failure->window;
    g_autofree char *tries = acr_spend_tries_text(self->report.tries, self->authority);
    bool is_keyless =
        failure->code == ACR_LLM_ERROR_AUTH && acr_endpoint_is_anonymous(&self->endpoint);
    open_breaker(call, failure, text);
    return acr_set_error(error, ACR_LLM_ERROR, (gint)failure->code, "model '%s' at %s: %s%s%s",
                         self->base.name, self->authority, text, tries,
                         is_keyless ? "; no key was sent: set the provider's variable, or give "
                                      "--key-command or --key-file"
                                    : "");
}

/* Waits before the next try. Returns false if there is no next try, or if interrupted. */
static bool wait_for_retry(Call *call, AcrFailure *failure)
{
    HttpModel *self = call->self;
    guint *retries = &call->retries[failure->code];
    gint64 ms = acr_backoff_ms(self->retry_base_ms, *retries, failure->retry_after_ms,
                               g_rand_double(self->random));
    if (!failure->retryable || call->total >= self->max_retries ||
        *retries >= acr_failure_retries(failure->code) || ms > MAX_HONOURED_WAIT_MS ||
        ms >= time_left_ms(self) - MIN_TRY_MS)
        return false;
    g_autofree char *why = acr_redact_line(failure->message, self->endpoint.secrets, 300);
    g_autofree char *shown = g_strdup_printf("%s: %s", acr_llm_error_name(failure->code), why);
    acr_trace("llm", "%s: waiting %d ms before attempt %u: %s", self->base.name, (int)ms,
              call->total + 2, shown);
    if (self->on_wait)
        self->on_wait(self->on_wait_ctx, shown, ms);
    (*retries)++;
    call->total++;
    call->wait_ms = ms;
    /* Use a new connection: a server that has failed often closes the old one a moment later. On
     * the old one, the next request would cost money, and its answer would be lost. */
    acr_http_client_free(self->client);
    self->client = acr_http_client_new();
    if (acr_llm_wait(ms, self->interrupt))
        return true;
    acr_failure_clear(failure);
    return acr_fail(failure, ACR_LLM_ERROR_INTERRUPTED, "interrupted");
}

/* Continues the call at the standard tier if the requested tier is refused or too slow. If the
 * model does not have the tier at all, later calls use the standard tier too. */
static bool leave_tier(Call *call, const AcrFailure *failure)
{
    HttpModel *self = call->self;
    if (!acr_failure_is_of_tier(failure, call->service))
        return false;
    g_autofree char *why = acr_redact_line(failure->message, self->endpoint.secrets, 300);
    g_autofree char *text =
        g_strdup_printf("model '%s': the %s tier is %s, so the call uses the standard tier: %s",
                        self->base.name, acr_service_name(call->service),
                        failure->code == ACR_LLM_ERROR_TIMEOUT ? "too slow" : "refused", why);
    if (self->on_wait && !self->has_told_refusal)
        self->on_wait(self->on_wait_ctx, text, -1);
    self->has_told_refusal = true;
    call->service = ACR_SERVICE_STANDARD;
    if (failure->code == ACR_LLM_ERROR_BAD_REQUEST)
        self->service = ACR_SERVICE_STANDARD;
    return true;
}

static bool http_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                          GError **error)
{
    HttpModel *self = (HttpModel *)model;
    Call call = {.self = self, .request = request, .service = self->service};
    g_array_set_size(self->report.tries, 0);
    self->report.window = 0;
    g_free(self->cache_key);
    self->cache_key = self->endpoint.is_official_dialect
                          ? acr_conversation_begin_digest(request->conversation)
                          : NULL;
    self->dialect.cache_key = self->cache_key;
    self->dialect.asks_schema = request->schema != NULL;
    self->dialect.asks_tools = request->tools != NULL;
    self->dialect.room = 0;
    for (;;) {
        g_auto(AcrFailure) failure = {0};
        if (try_once(&call, out, &failure))
            return true;
        if (leave_tier(&call, &failure) || acr_move_to_responses(&self->endpoint, &failure) ||
            acr_correct(self->endpoint.provider, &self->dialect, &failure)) {
            call.wait_ms = 0;
            continue;
        }
        if (!wait_for_retry(&call, &failure))
            return give_up(&call, &failure, error);
    }
}

static const AcrModelReport *http_report(AcrModel *model)
{
    return &((HttpModel *)model)->report;
}

static void http_facts(AcrModel *model, AcrModelFacts *out)
{
    const HttpModel *self = (const HttpModel *)model;
    const AcrEndpoint *endpoint = &self->endpoint;
    *out = (AcrModelFacts){
        .address = self->authority,
        .missing_key = endpoint->missing_key,
        .key = endpoint->key ? (endpoint->key_variable ? endpoint->key_variable : "option") : NULL,
        .price = acr_spend_price(&self->spend, self->service),
        .has_price = self->spend.has_price,
        .nearest = self->spend.nearest,
        .is_free = self->spend.is_free,
        .calls_tools = endpoint->is_own && endpoint->provider->calls_tools,
    };
}

static bool http_reach(AcrModel *model, gint64 timeout_ms, int *out_status, GError **error)
{
    const HttpModel *self = (const HttpModel *)model;
    return acr_endpoint_reach(&self->endpoint, self->ca_file, timeout_ms, self->interrupt,
                              out_status, error);
}

static void take_options(HttpModel *self, const AcrProvider *provider,
                         const AcrModelOptions *options)
{
    self->effort = g_strdup(options->effort);
    self->ca_file = g_strdup(options->ca_file);
    self->max_retries = options->max_retries;
    self->max_tokens = options->max_tokens;
    self->broker = g_strdup(options->broker);
    self->instance = g_strdup(options->instance_id);
    self->service = options->service;
    self->timeout_option = options->timeout_option;
    self->timeout_ms = LIMIT_MS(options->timeout_ms, TRY_TIMEOUT_MS, 2);
    self->first_byte_ms = LIMIT_MS(options->first_byte_ms, FIRST_BYTE_TIMEOUT_MS, 3);
    self->idle_ms = LIMIT_MS(options->idle_ms, IDLE_TIMEOUT_MS, 5);
    self->retry_base_ms =
        options->retry_base_ms > 0 ? options->retry_base_ms : ACR_LLM_BACKOFF_BASE_MS;
    self->interrupt = options->interrupt;
    self->on_wait = options->on_wait;
    self->on_wait_ctx = options->on_wait_ctx;
    self->on_answer = options->on_answer;
    self->on_answer_ctx = options->on_answer_ctx;
    self->dialect = (AcrDialect){.name = self->base.name,
                                 .model = self->model_name,
                                 .temperature = options->temperature,
                                 .effort = self->effort,
                                 .no_schema = provider->has_no_schema};
}

AcrModel *acr_http_model_new(const AcrProvider *provider, const char *name, const char *model,
                             const AcrModelOptions *options, GError **error)
{
    static const AcrModelOps ops = {.complete = http_complete,
                                    .free = http_free,
                                    .report = http_report,
                                    .facts = http_facts,
                                    .reach = http_reach};
    HttpModel *self = g_new0(HttpModel, 1);
    g_autoptr(AcrModel) made = &self->base;
    self->base = (AcrModel){.ops = &ops, .name = g_strdup(name)};
    self->model_name = acr_utf8_repair(model, strlen(model));
    self->random = g_rand_new();
    self->client = acr_http_client_new();
    self->report.tries = g_array_new(FALSE, FALSE, sizeof(AcrModelTry));
    g_array_set_clear_func(self->report.tries, acr_model_try_clear);
    take_options(self, provider, options);
    if (!acr_endpoint_make(provider, self->base.name, self->model_name, options, &self->endpoint,
                           error))
        return NULL;
    /* The provider's own models know the newer name of the limit; the models of servers that
     * imitate the provider often do not. */
    self->dialect.max_completion_tokens = self->endpoint.is_official_dialect;
    self->authority = self->endpoint.unix_socket ? g_strdup(self->endpoint.unix_socket)
                                                 : acr_http_url_authority(self->endpoint.base_url);
    if (self->endpoint.no_sampling)
        self->dialect.temperature = -1;
    acr_spend_init(&self->spend, options, &self->endpoint);
    if (!acr_spend_take_service(&self->spend, &self->endpoint, self->base.name, options, error))
        return NULL;
    self->dialect.max_output = self->spend.has_price ? self->spend.price.max_output : 0;
    if (options->shared_dir &&
        !(self->limiter = acr_limiter_open(options->shared_dir, self->endpoint.base_url,
                                           self->endpoint.key, error)))
        return NULL;
    self->base.remark = acr_spend_remark(&self->spend, self->base.name);
    return g_steal_pointer(&made);
}
