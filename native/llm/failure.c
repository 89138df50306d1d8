/* Classifies the errors of all providers: first by the words that providers put into code, type,
 * status, details or a header, which are looked up in one table; then by the error's prose
 * (context_length_error.c); then by the status. Each word has a rank: a precise word outranks the
 * status ("insufficient_quota" with 429), a vague word does not ("invalid_request_error" with
 * 401). */
#include "llm/failure.h"

#include <string.h>
#include <time.h>

#include "http/http.h"

#define MAX_WORDS 32u              /* maximum number of words that are read in one error */
#define MAX_SAID_BYTES (8u * 1024) /* maximum number of bytes of an error's prose that are read */

typedef enum {
    RANK_NONE,
    RANK_WEAK,   /* a status with a meaning of its own outranks the word */
    RANK_STRONG, /* the word outranks the status */
    RANK_MONEY,  /* the word is the actual reason, and outranks even strong words */
} Rank;

typedef struct {
    AcrLlmError code;
    Rank rank;
    const char *words[20]; /* the words, NULL-terminated */
} Words;

/* The words that classify an error. They are compared case-insensitively, because event streams and
 * headers spell exceptions differently. */
static const Words table[] = {
    /* limits on concurrent requests, which pass when other requests end, so a retry helps */
    {ACR_LLM_ERROR_RATE_LIMIT,
     RANK_MONEY,
     {"in_flight_budget_exhausted", "openrouter_in_flight_budget"}},
    {ACR_LLM_ERROR_BILLING,
     RANK_MONEY,
     {"insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
      "project_spend_limit_exceeded", "organization_usage_limit_exceeded",
      "billing_hard_limit_reached", "billing_not_active", "billing_error",
      "enforced_spend_limit_reached", "contract_spend_limit_reached",
      "linked_organization_spend_limit_reached", "budget_exceeded", "insufficient_balance",
      "insufficient_credits", "weight_exceeds_budget", "openrouter_credits", "openrouter_key_limit",
      "openrouter_guardrail_budget", "openrouter_workspace_budget"}},
    {ACR_LLM_ERROR_CONTEXT_OVERFLOW,
     RANK_STRONG, /* "1261" is Zhipu's code, which is a number */
     {"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded",
      "1261"}},
    /* LiteLLM's no_db_connection means that the key is not the master key and the server has no
     * database of other keys */
    {ACR_LLM_ERROR_AUTH,
     RANK_STRONG,
     {"invalid_api_key", "authentication_error", "auth_error", "permission_error",
      "API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "UNAUTHENTICATED", "PERMISSION_DENIED",
      "no_db_connection", "AccessDeniedException", "UnrecognizedClientException",
      "InvalidSignatureException", "IncompleteSignatureException",
      "MissingAuthenticationTokenException", "ExpiredTokenException"}},
    {ACR_LLM_ERROR_RATE_LIMIT,
     RANK_STRONG,
     {"rate_limit_exceeded", "rate_limit_error", "slow_down", "ThrottlingException",
      "TooManyRequestsException"}},
    {ACR_LLM_ERROR_RATE_LIMIT, RANK_WEAK, {"capacity_exceeded", "RESOURCE_EXHAUSTED"}},
    {ACR_LLM_ERROR_OVERLOADED,
     RANK_STRONG,
     {"server_is_overloaded", "engine_overloaded_error", "overloaded_error", "unavailable_error",
      "UNAVAILABLE", "ModelNotReadyException", "ServiceUnavailableException"}},
    {ACR_LLM_ERROR_CONTENT_FILTER,
     RANK_STRONG,
     {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation", "bio_policy",
      "cyber_policy"}},
    {ACR_LLM_ERROR_BAD_REQUEST,
     RANK_STRONG,
     {"unsupported_parameter", "unsupported_value", "model_not_found", "ValidationException",
      "ResourceNotFoundException", "ServiceQuotaExceededException"}},
    {ACR_LLM_ERROR_BAD_REQUEST,
     RANK_WEAK,
     {"invalid_prompt", "data_residency_mismatch", "invalid_request_error", "not_found_error",
      "not_supported_error", "request_too_large", "INVALID_ARGUMENT", "FAILED_PRECONDITION",
      "NOT_FOUND"}},
    {ACR_LLM_ERROR_SERVER,
     RANK_STRONG,
     {"ModelErrorException", "ModelStreamErrorException", "InternalServerException"}},
    {ACR_LLM_ERROR_SERVER,
     RANK_WEAK,
     {"server_error", "api_error", "conflict_error", "INTERNAL", "ABORTED"}},
    {ACR_LLM_ERROR_TIMEOUT, RANK_STRONG, {"ModelTimeoutException"}},
    {ACR_LLM_ERROR_TIMEOUT, RANK_WEAK, {"timeout_error", "DEADLINE_EXCEEDED"}},
};

/* Phrases, in lower case, that classify errors of servers that explain them only in prose. */
static const Words phrases[] = {
    {ACR_LLM_ERROR_RATE_LIMIT, RANK_STRONG, {"in_flight_budget_exhausted"}},
    {ACR_LLM_ERROR_BILLING,
     RANK_STRONG,
     {"credit balance is too low", "specified api usage limits", "insufficient balance"}},
    {ACR_LLM_ERROR_CONTENT_FILTER,
     RANK_STRONG,
     {"content filtering policy", "content management policy", "violating our usage policy",
      "contentpolicyviolationerror"}},
};

void acr_failure_clear(AcrFailure *failure)
{
    if (!failure)
        return;
    ACR_FREE(failure->message, failure->param);
    memset(failure, 0, sizeof *failure);
}

bool acr_fail(AcrFailure *out, AcrLlmError code, const char *message)
{
    *out = (AcrFailure){
        .code = code,
        .retryable = acr_failure_retries(code) > 0,
        .retry_after_ms = -1,
        .message = g_strdup(message),
    };
    return false;
}

guint acr_failure_retries(AcrLlmError code)
{
    static const guint retries[ACR_LLM_ERRORS] = {
        [ACR_LLM_ERROR_RATE_LIMIT] = ACR_LLM_RETRIES,
        [ACR_LLM_ERROR_OVERLOADED] = ACR_LLM_RETRIES,
        [ACR_LLM_ERROR_SERVER] = 4,
        [ACR_LLM_ERROR_NETWORK] = 4,
        [ACR_LLM_ERROR_UNREACHABLE] = 4,
        [ACR_LLM_ERROR_TRUNCATED] = 4,
        [ACR_LLM_ERROR_TIMEOUT] = 2,
        [ACR_LLM_ERROR_MALFORMED] = 2,
    };
    return (guint)code < ACR_LLM_ERRORS ? retries[code] : 0;
}

/* Whether a code or status means success; some servers send a success code with each answer. */
static bool is_success(const AcrJson *object)
{
    static const char *const members[] = {"code", "status_code", "error_code"};
    static const char *const words[] = {"0", "200", "ok", "success", NULL};
    for (gsize i = 0; i < G_N_ELEMENTS(members); i++) {
        const AcrJson *member = acr_json_get(object, members[i]);
        g_autofree char *word =
            g_ascii_strdown(acr_json_string(member) ? acr_json_string(member) : "", -1);
        gint64 number = acr_json_int(member, -1);
        if (number == 0 || number == 200 || g_strv_contains(words, word))
            return true;
    }
    return false;
}

static const char *message_of(const AcrJson *error)
{
    static const char *const members[] = {"message", "Message", "msg", "error_msg", "status_msg"};
    const char *text = acr_json_string(error);
    for (gsize i = 0; !text && i < G_N_ELEMENTS(members); i++)
        text = acr_json_get_string(error, members[i]);
    return text;
}

const AcrJson *acr_failure_in_body(const AcrJson *body)
{
    static const char *const members[] = {"error", "base_resp"};
    static const char *const answers[] = {"choices", "candidates", "content", "output"};
    if (acr_json_type(body) == ACR_JSON_ARRAY)
        body = acr_json_first(body);
    for (gsize i = 0; i < G_N_ELEMENTS(members); i++) {
        const AcrJson *error = acr_json_get(body, members[i]);
        const char *text = acr_json_string(error);
        if ((text && *text) || (acr_json_type(error) == ACR_JSON_OBJECT && !is_success(error)))
            return error;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
        if (acr_json_size(acr_json_get(body, answers[i])) > 0)
            return NULL;
    return message_of(body) && !is_success(body) ? body : NULL;
}

const char *acr_header_request_id(GHashTable *headers)
{
    static const char *const names[] = {"x-request-id",     "request-id",      "apim-request-id",
                                        "x-amzn-requestid", "x-generation-id", "x-litellm-call-id"};
    const char *id = NULL;
    for (gsize i = 0; !id && i < G_N_ELEMENTS(names); i++)
        id = acr_http_header(headers, names[i]);
    return id;
}

/* Returns the bare name of an exception (owned), which may follow a namespace ("com.amazon…#Name")
 * or precede a URL ("Name:http…"). */
static char *bare_word(const char *word)
{
    const char *hash = strrchr(word, '#');
    const char *start = hash ? hash + 1 : word;
    return g_strndup(start, MIN(strcspn(start, ":"), 100));
}

static const char *const word_members[] = {"code", "type", "__type", "status"};

static void add_word(GPtrArray *found, const char *word)
{
    if (word && *word && found->len < MAX_WORDS)
        g_ptr_array_add(found, bare_word(word));
}

/* Collects all words of the error that may be in the table, beginning with the most precise word;
 * owned. */
static GPtrArray *words_of(const AcrJson *error, GHashTable *headers)
{
    GPtrArray *found = g_ptr_array_new_with_free_func(g_free);
    const AcrJson *details = acr_json_get(error, "details");
    for (gsize i = 0; i < G_N_ELEMENTS(word_members); i++)
        add_word(found, acr_json_get_string(error, word_members[i]));
    add_word(found, acr_http_header(headers, "x-amzn-errortype"));
    add_word(found, acr_json_get_string(acr_json_get(error, "innererror"), "code"));
    add_word(found, acr_json_get_string(details, "error_code"));
    if (acr_json_type(details) == ACR_JSON_ARRAY)
        for (const AcrJson *detail = acr_json_first(details); detail && found->len < MAX_WORDS;
             detail = acr_json_next(detail))
            add_word(found, acr_json_get_string(detail, "reason"));
    for (const AcrJson *member = acr_json_first(acr_json_get(error, "metadata"));
         member && found->len < MAX_WORDS; member = acr_json_next(member))
        add_word(found, acr_json_string(member));
    return found;
}

/* Returns the prose of the error, in lower case; owned. */
static char *prose_of(const AcrJson *error, const char *text, gsize len)
{
    const char *message = message_of(error);
    const char *raw = acr_json_get_string(acr_json_get(error, "metadata"), "raw");
    g_autofree char *shown = message ? g_strndup(message, MAX_SAID_BYTES)
                                     : acr_utf8_repair(text, MIN(len, MAX_SAID_BYTES));
    g_autofree char *more = g_strndup(raw ? raw : "", MAX_SAID_BYTES);
    g_autofree char *all = g_strconcat(shown, "\n", more, NULL);
    return g_ascii_strdown(all, -1);
}

/* Returns the status that gateways put into the body of a response with status 200; 0 if there is
 * none. */
static int number_of(const AcrJson *error)
{
    static const char *const members[] = {"code", "status", "statusCode"};
    for (gsize i = 0; i < G_N_ELEMENTS(members); i++) {
        const char *text = acr_json_get_string(error, members[i]);
        char *end = NULL;
        gint64 number =
            text ? g_ascii_strtoll(text, &end, 10) : acr_json_get_int(error, members[i], 0);
        if (number >= 400 && number < 600 && (!text || *end == '\0'))
            return (int)number;
    }
    return 0;
}

/* Returns the class of a status; ACR_LLM_ERRORS if only the first digit of the status has a
 * meaning. */
static AcrLlmError class_of_status(int status)
{
    static const struct {
        int status;
        AcrLlmError code;
    } rows[] = {
        {401, ACR_LLM_ERROR_AUTH},       {402, ACR_LLM_ERROR_BILLING},
        {403, ACR_LLM_ERROR_AUTH},       {408, ACR_LLM_ERROR_TIMEOUT},
        {409, ACR_LLM_ERROR_SERVER},     {413, ACR_LLM_ERROR_BAD_REQUEST},
        {424, ACR_LLM_ERROR_SERVER},     {429, ACR_LLM_ERROR_RATE_LIMIT},
        {498, ACR_LLM_ERROR_RATE_LIMIT}, {503, ACR_LLM_ERROR_OVERLOADED},
        {504, ACR_LLM_ERROR_SERVER},     {529, ACR_LLM_ERROR_OVERLOADED},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].status == status)
            return rows[i].code;
    return ACR_LLM_ERRORS;
}

/* Looks up the words in the table, and returns the row with the highest rank (on a tie, the first).
 * If no word is in the table, returns a row whose rank is NONE. */
static const Words *best_row(const GPtrArray *found)
{
    static const Words none = {.code = ACR_LLM_ERRORS};
    const Words *best = &none;
    for (guint i = 0; i < found->len; i++)
        for (gsize k = 0; k < G_N_ELEMENTS(table); k++)
            for (gsize n = 0; table[k].words[n]; n++)
                if (table[k].rank > best->rank &&
                    g_ascii_strcasecmp(table[k].words[n], found->pdata[i]) == 0)
                    best = &table[k];
    return best;
}

/* Whether the error is about a daily quota. If the quota is daily, the wait that the server states
 * is not the time until the quota is renewed. */
static bool is_of_the_day(const char *text)
{
    return acr_says_any(text, "per day|per-day|per_day|perday|daily");
}

static AcrLlmError class_of_prose(const char *prose, gint64 *out_window)
{
    for (gsize i = 0; i < G_N_ELEMENTS(phrases); i++)
        for (gsize k = 0; phrases[i].words[k]; k++)
            if (strstr(prose, phrases[i].words[k]))
                return phrases[i].code;
    return acr_is_context_length_error(prose, out_window) ? ACR_LLM_ERROR_CONTEXT_OVERFLOW
                                                          : ACR_LLM_ERRORS;
}

/* Returns the class that the body indicates; ACR_LLM_ERRORS if the body is not more precise than
 * `status`. */
static AcrLlmError class_of_body(int status, const AcrJson *error, const char *prose,
                                 const Words *best, gint64 *out_window)
{
    AcrLlmError in_prose = class_of_prose(prose, out_window);
    /* If the request alone exceeds the tokens per minute, waiting does not help, but a shorter
     * request does. */
    if (best->code == ACR_LLM_ERROR_RATE_LIMIT && strstr(prose, "request too large for"))
        return ACR_LLM_ERROR_CONTEXT_OVERFLOW;
    /* Bedrock reports AccessDenied for models that cannot cache; the key is valid. */
    if (strstr(prose, "did not allow prompt caching"))
        return ACR_LLM_ERROR_BAD_REQUEST;
    if (acr_json_get(acr_json_get(error, "metadata"),
                     "flagged_input")) /* content moderation adds the member */
        return ACR_LLM_ERROR_CONTENT_FILTER;
    if (best->rank >= RANK_STRONG && best->code != ACR_LLM_ERROR_BAD_REQUEST)
        return best->code;
    if (in_prose != ACR_LLM_ERRORS)
        return in_prose;
    if (best->rank == RANK_WEAK && class_of_status(status) != ACR_LLM_ERRORS)
        return ACR_LLM_ERRORS;
    return best->code;
}

/* Decides by the error code in the body first, then by the code in a header, then by the status. */
static AcrLlmError decide(int status, AcrLlmError by_body, bool is_blocked,
                          const char *should_retry)
{
    AcrLlmError code = by_body != ACR_LLM_ERRORS ? by_body
                       : is_blocked              ? ACR_LLM_ERROR_BAD_REQUEST
                                                 : class_of_status(status);
    bool is_servers = status >= 500 || status < 300;
    if (code == ACR_LLM_ERRORS)
        code = is_servers ? ACR_LLM_ERROR_SERVER : ACR_LLM_ERROR_BAD_REQUEST;
    /* the header's value "true" means that the server considers the error its own fault */
    return by_body == ACR_LLM_ERRORS && code == ACR_LLM_ERROR_BAD_REQUEST &&
                   g_ascii_strcasecmp(should_retry, "true") == 0
               ? ACR_LLM_ERROR_SERVER
               : code;
}

/* Returns the word that names the error in messages, owned; NULL if there is none. */
static char *shown_word(const AcrJson *error, GHashTable *headers)
{
    const char *type = acr_http_header(headers, "x-amzn-errortype");
    for (gsize i = 0; i <= G_N_ELEMENTS(word_members); i++) {
        const char *word =
            i < G_N_ELEMENTS(word_members) ? acr_json_get_string(error, word_members[i]) : type;
        if (word && *word && !g_ascii_isdigit(*word) && strcmp(word, "error") != 0)
            return bare_word(word);
    }
    return NULL;
}

static char *describe_response(int status, const AcrJson *error, const char *word, const char *id,
                               bool is_blocked, const char *text, gsize len)
{
    GString *out = g_string_new(NULL);
    const char *message = message_of(error);
    g_autofree char *raw = message ? NULL : acr_utf8_repair(text, MIN(len, ACR_LLM_MAX_MESSAGE));
    g_autofree char *shown = acr_text_shorten(message ? message : raw, ACR_LLM_MAX_MESSAGE);
    g_string_append_printf(out, "HTTP %d", status);
    if (word)
        g_string_append_printf(out, " %s", word);
    if (*shown)
        g_string_append_printf(out, ": %s", shown);
    if (status >= 300 && status < 400)
        g_string_append(out, " (redirects are not followed: check the base URL)");
    if (status == 404 && !message)
        g_string_append(out, " (check the base URL)");
    if (is_blocked)
        g_string_append(out, " (a firewall or proxy answered instead of the model's server)");
    if (id)
        g_string_append_printf(out, " (request id %.100s)", id);
    return g_string_free(out, FALSE);
}

void acr_failure_of_response(int status, const AcrJson *body, const char *text, gsize len,
                             GHashTable *headers, AcrFailure *out)
{
    const AcrJson *inner = acr_failure_in_body(body);
    const AcrJson *error = inner ? inner : body;
    g_autoptr(GPtrArray) found = words_of(error, headers);
    g_autofree char *prose = prose_of(error, text, len);
    g_autofree char *word = shown_word(error, headers);
    const char *id = acr_header_request_id(headers);
    const char *said = acr_http_header(headers, "x-should-retry");
    const char *should_retry = said ? said : "";
    int number = number_of(error);
    int meant = number && (status < 300 || status >= 400) ? number : status;
    bool is_blocked = meant == 403 && !body && len > 0;
    gint64 stated = acr_json_get_int(error, "n_ctx", 0);
    gint64 window = 0;
    AcrLlmError by_body = class_of_body(meant, error, prose, best_row(found), &window);
    AcrLlmError code = decide(meant, by_body, is_blocked, should_retry);
    g_autofree char *whole = g_ascii_strdown(text, (gssize)MIN(len, MAX_SAID_BYTES));
    if (code == ACR_LLM_ERROR_RATE_LIMIT && (is_of_the_day(whole) || is_of_the_day(prose)) &&
        !strstr(prose, "try again in"))
        code = ACR_LLM_ERROR_BILLING;
    *out = (AcrFailure){
        .code = code,
        .retryable =
            acr_failure_retries(code) > 0 && g_ascii_strcasecmp(should_retry, "false") != 0,
        .retry_after_ms = acr_retry_after_ms(headers, (gint64)time(NULL)),
        .message = describe_response(status, error, word,
                                     id ? id : acr_json_get_string(body, "request_id"), is_blocked,
                                     text, len),
        .param = g_strdup(acr_json_get_string(error, "param")),
    };
    if (code == ACR_LLM_ERROR_CONTEXT_OVERFLOW)
        out->window = stated > 0 && stated <= ACR_MAX_WINDOW ? stated : window;
    if (out->retry_after_ms < 0 && out->retryable)
        out->retry_after_ms = acr_retry_hint_ms(error, prose);
}
