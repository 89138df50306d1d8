/*
 * What a refusal means, whoever refuses: one table of the words that providers put into code, type,
 * status, details or a header; then what they only tell in prose (overflow.c); then the status. A
 * word is worth more than the status where it is more exact ("insufficient_quota" under 429), and
 * less where it only repeats it vaguely ("invalid_request_error" under 401): its rank says which.
 */
#include "llm/llm_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_WORDS 32u              /* of one error that are looked at */
#define MAX_SAID_BYTES (8u * 1024) /* of its prose */

typedef enum {
    RANK_NONE,
    RANK_WEAK,   /* a status that has a meaning of its own says it better */
    RANK_STRONG, /* the class, whatever the status */
    RANK_MONEY,  /* beside a strong word, this is the reason */
} Rank;

typedef struct {
    const char *word;
    AcrLlmError code;
    Rank rank;
} Word;

/* Compared without regard to case: event streams and headers spell exceptions differently. */
static const Word words[] = {
    /* Money. The first two are a limit on what is under way, which passes. */
    {"in_flight_budget_exhausted", ACR_LLM_ERROR_RATE_LIMIT, RANK_MONEY},
    {"openrouter_in_flight_budget", ACR_LLM_ERROR_RATE_LIMIT, RANK_MONEY},
    {"insufficient_quota", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"credit_balance_exhausted", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"organization_spend_limit_exceeded", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"project_spend_limit_exceeded", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"organization_usage_limit_exceeded", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"billing_hard_limit_reached", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"billing_not_active", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"billing_error", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"enforced_spend_limit_reached", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"contract_spend_limit_reached", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"linked_organization_spend_limit_reached", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"budget_exceeded", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"insufficient_balance", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"insufficient_credits", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"weight_exceeds_budget", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"openrouter_credits", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"openrouter_key_limit", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"openrouter_guardrail_budget", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    {"openrouter_workspace_budget", ACR_LLM_ERROR_BILLING, RANK_MONEY},
    /* OpenAI and those who speak like it */
    {"context_length_exceeded", ACR_LLM_ERROR_CONTEXT_OVERFLOW, RANK_STRONG},
    {"exceed_context_size_error", ACR_LLM_ERROR_CONTEXT_OVERFLOW, RANK_STRONG},
    {"model_context_window_exceeded", ACR_LLM_ERROR_CONTEXT_OVERFLOW, RANK_STRONG},
    {"invalid_api_key", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"authentication_error", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"auth_error", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"permission_error", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"rate_limit_exceeded", ACR_LLM_ERROR_RATE_LIMIT, RANK_STRONG},
    {"rate_limit_error", ACR_LLM_ERROR_RATE_LIMIT, RANK_STRONG},
    {"slow_down", ACR_LLM_ERROR_RATE_LIMIT, RANK_STRONG},
    {"capacity_exceeded", ACR_LLM_ERROR_RATE_LIMIT, RANK_WEAK},
    {"server_is_overloaded", ACR_LLM_ERROR_OVERLOADED, RANK_STRONG},
    {"engine_overloaded_error", ACR_LLM_ERROR_OVERLOADED, RANK_STRONG},
    {"overloaded_error", ACR_LLM_ERROR_OVERLOADED, RANK_STRONG},
    {"unavailable_error", ACR_LLM_ERROR_OVERLOADED, RANK_STRONG},
    {"content_filter", ACR_LLM_ERROR_CONTENT_FILTER, RANK_STRONG},
    {"content_policy_violation", ACR_LLM_ERROR_CONTENT_FILTER, RANK_STRONG},
    {"ResponsibleAIPolicyViolation", ACR_LLM_ERROR_CONTENT_FILTER, RANK_STRONG},
    {"bio_policy", ACR_LLM_ERROR_CONTENT_FILTER, RANK_STRONG},
    {"cyber_policy", ACR_LLM_ERROR_CONTENT_FILTER, RANK_STRONG},
    {"unsupported_parameter", ACR_LLM_ERROR_BAD_REQUEST, RANK_STRONG},
    {"unsupported_value", ACR_LLM_ERROR_BAD_REQUEST, RANK_STRONG},
    {"model_not_found", ACR_LLM_ERROR_BAD_REQUEST, RANK_STRONG},
    {"invalid_prompt", ACR_LLM_ERROR_BAD_REQUEST, RANK_WEAK},
    {"data_residency_mismatch", ACR_LLM_ERROR_BAD_REQUEST, RANK_WEAK},
    {"invalid_request_error", ACR_LLM_ERROR_BAD_REQUEST, RANK_WEAK},
    {"not_found_error", ACR_LLM_ERROR_BAD_REQUEST, RANK_WEAK},
    {"not_supported_error", ACR_LLM_ERROR_BAD_REQUEST, RANK_WEAK},
    {"request_too_large", ACR_LLM_ERROR_BAD_REQUEST, RANK_WEAK},
    {"server_error", ACR_LLM_ERROR_SERVER, RANK_WEAK},
    {"api_error", ACR_LLM_ERROR_SERVER, RANK_WEAK},
    {"conflict_error", ACR_LLM_ERROR_SERVER, RANK_WEAK},
    {"timeout_error", ACR_LLM_ERROR_TIMEOUT, RANK_WEAK},
    /* Google */
    {"API_KEY_INVALID", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"API_KEY_SERVICE_BLOCKED", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"UNAUTHENTICATED", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"PERMISSION_DENIED", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"RESOURCE_EXHAUSTED", ACR_LLM_ERROR_RATE_LIMIT, RANK_WEAK},
    {"UNAVAILABLE", ACR_LLM_ERROR_OVERLOADED, RANK_STRONG},
    {"DEADLINE_EXCEEDED", ACR_LLM_ERROR_TIMEOUT, RANK_WEAK},
    {"INTERNAL", ACR_LLM_ERROR_SERVER, RANK_WEAK},
    {"ABORTED", ACR_LLM_ERROR_SERVER, RANK_WEAK},
    {"INVALID_ARGUMENT", ACR_LLM_ERROR_BAD_REQUEST, RANK_WEAK},
    {"FAILED_PRECONDITION", ACR_LLM_ERROR_BAD_REQUEST, RANK_WEAK},
    {"NOT_FOUND", ACR_LLM_ERROR_BAD_REQUEST, RANK_WEAK},
    /* LiteLLM's gateway: no such key as its own, and no place to look for others */
    {"no_db_connection", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    /* Amazon */
    {"ThrottlingException", ACR_LLM_ERROR_RATE_LIMIT, RANK_STRONG},
    {"TooManyRequestsException", ACR_LLM_ERROR_RATE_LIMIT, RANK_STRONG},
    {"ModelNotReadyException", ACR_LLM_ERROR_OVERLOADED, RANK_STRONG},
    {"ServiceUnavailableException", ACR_LLM_ERROR_OVERLOADED, RANK_STRONG},
    {"ModelTimeoutException", ACR_LLM_ERROR_TIMEOUT, RANK_STRONG},
    {"ModelErrorException", ACR_LLM_ERROR_SERVER, RANK_STRONG},
    {"ModelStreamErrorException", ACR_LLM_ERROR_SERVER, RANK_STRONG},
    {"InternalServerException", ACR_LLM_ERROR_SERVER, RANK_STRONG},
    {"AccessDeniedException", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"UnrecognizedClientException", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"InvalidSignatureException", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"IncompleteSignatureException", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"MissingAuthenticationTokenException", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"ExpiredTokenException", ACR_LLM_ERROR_AUTH, RANK_STRONG},
    {"ValidationException", ACR_LLM_ERROR_BAD_REQUEST, RANK_STRONG},
    {"ResourceNotFoundException", ACR_LLM_ERROR_BAD_REQUEST, RANK_STRONG},
    {"ServiceQuotaExceededException", ACR_LLM_ERROR_BAD_REQUEST, RANK_STRONG},
};

/* What is told in prose only, in lower case. */
static const Word phrases[] = {
    {"in_flight_budget_exhausted", ACR_LLM_ERROR_RATE_LIMIT, RANK_STRONG},
    {"credit balance is too low", ACR_LLM_ERROR_BILLING, RANK_STRONG},
    {"specified api usage limits", ACR_LLM_ERROR_BILLING, RANK_STRONG},
    {"content filtering policy", ACR_LLM_ERROR_CONTENT_FILTER, RANK_STRONG},
    {"content management policy", ACR_LLM_ERROR_CONTENT_FILTER, RANK_STRONG},
    {"violating our usage policy", ACR_LLM_ERROR_CONTENT_FILTER, RANK_STRONG},
    {"contentpolicyviolationerror", ACR_LLM_ERROR_CONTENT_FILTER, RANK_STRONG},
};

void acr_failure_clear(AcrFailure *failure)
{
    if (!failure)
        return;
    g_free(failure->message);
    g_free(failure->param);
    memset(failure, 0, sizeof *failure);
}

bool acr_fail(AcrFailure *out, AcrLlmError code, const char *message)
{
    *out = (AcrFailure){
        .code = code,
        .retryable = acr_failure_is_retryable(code),
        .retry_after_ms = -1,
        .message = g_strdup(message),
    };
    return false;
}

guint acr_failure_retries(AcrLlmError code)
{
    switch (code) {
    case ACR_LLM_ERROR_RATE_LIMIT:
    case ACR_LLM_ERROR_OVERLOADED:
        return ACR_LLM_RETRIES;
    case ACR_LLM_ERROR_SERVER:
    case ACR_LLM_ERROR_NETWORK:
    case ACR_LLM_ERROR_UNREACHABLE:
    case ACR_LLM_ERROR_TRUNCATED:
        return 4;
    case ACR_LLM_ERROR_TIMEOUT:
    case ACR_LLM_ERROR_MALFORMED:
        return 2;
    default:
        return 0;
    }
}

bool acr_failure_is_retryable(AcrLlmError code)
{
    return acr_failure_retries(code) > 0;
}

/* ---- The parts of an error ----------------------------------------------------------------------
 */

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

    text = text ? text : acr_json_get_string(error, "message");
    return text ? text : acr_json_get_string(error, "Message");
}

static const char *header(GHashTable *headers, const char *name)
{
    return headers ? g_hash_table_lookup(headers, name) : NULL;
}

/* Exception names stand behind a namespace ("com.amazon…#Name") or before a URL ("Name:http…"). */
static char *bare_word(const char *word)
{
    const char *hash = strrchr(word, '#');
    const char *start = hash ? hash + 1 : word;

    return g_strndup(start, MIN(strcspn(start, ":"), 100));
}

static void add_word(GPtrArray *found, const char *word)
{
    if (word && *word && found->len < MAX_WORDS)
        g_ptr_array_add(found, bare_word(word));
}

static void add_members(GPtrArray *found, const AcrJson *object)
{
    for (const AcrJson *member = acr_json_first(object); member && found->len < MAX_WORDS;
         member = acr_json_next(member))
        add_word(found, acr_json_string(member));
}

/* All words of the error that may be in the table, the most exact ones first; owned. */
static GPtrArray *words_of(const AcrJson *error, GHashTable *headers)
{
    GPtrArray *found = g_ptr_array_new_with_free_func(g_free);
    const AcrJson *details = acr_json_get(error, "details");

    add_word(found, acr_json_get_string(error, "code"));
    add_word(found, acr_json_get_string(error, "type"));
    add_word(found, acr_json_get_string(error, "__type"));
    add_word(found, acr_json_get_string(error, "status"));
    add_word(found, header(headers, "x-amzn-errortype"));
    add_word(found, acr_json_get_string(acr_json_get(error, "innererror"), "code"));
    add_word(found, acr_json_get_string(details, "error_code"));
    if (acr_json_type(details) == ACR_JSON_ARRAY)
        for (const AcrJson *detail = acr_json_first(details); detail && found->len < MAX_WORDS;
             detail = acr_json_next(detail))
            add_word(found, acr_json_get_string(detail, "reason"));
    add_members(found, acr_json_get(error, "metadata"));
    return found;
}

/* What the error says in prose, in lower case; owned. */
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

/* A status that the body repeats, as gateways do under a 200; 0: none. */
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

/* ---- The class ----------------------------------------------------------------------------------
 */

/* The statuses with a meaning of their own; ACR_LLM_ERRORS: only its hundred counts. */
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
    case 504:
        return ACR_LLM_ERROR_SERVER;
    case 413:
        return ACR_LLM_ERROR_BAD_REQUEST;
    case 429:
    case 498:
        return ACR_LLM_ERROR_RATE_LIMIT;
    case 503:
    case 529:
        return ACR_LLM_ERROR_OVERLOADED;
    default:
        return ACR_LLM_ERRORS;
    }
}

/* The word of the highest rank, of several the first; rank NONE: none is known. */
static Word best_word(const GPtrArray *found)
{
    Word best = {.code = ACR_LLM_ERRORS};

    for (guint i = 0; i < found->len; i++)
        for (gsize k = 0; k < G_N_ELEMENTS(words); k++)
            if (words[k].rank > best.rank &&
                g_ascii_strcasecmp(words[k].word, found->pdata[i]) == 0)
                best = words[k];
    return best;
}

static AcrLlmError class_of_prose(const char *prose, gint64 *out_window)
{
    for (gsize i = 0; i < G_N_ELEMENTS(phrases); i++)
        if (strstr(prose, phrases[i].word))
            return phrases[i].code;
    return acr_overflow_in_text(prose, out_window) ? ACR_LLM_ERROR_CONTEXT_OVERFLOW
                                                   : ACR_LLM_ERRORS;
}

/* An error of a moderator between us and the model. */
static bool is_flagged(const AcrJson *error)
{
    return acr_json_get(acr_json_get(error, "metadata"), "flagged_input") != NULL;
}

/* The class by what the body says; ACR_LLM_ERRORS: nothing that is more exact than `status`. */
static AcrLlmError class_of_body(int status, const AcrJson *error, const char *prose, Word best,
                                 gint64 *out_window)
{
    AcrLlmError told = class_of_prose(prose, out_window);

    /* One request alone passes the tokens of a minute: waiting does not help, shortening does. */
    if (best.code == ACR_LLM_ERROR_RATE_LIMIT && strstr(prose, "request too large for"))
        return ACR_LLM_ERROR_CONTEXT_OVERFLOW;
    /* Bedrock denies access where a model has no cache; the key is not at fault. */
    if (strstr(prose, "did not allow prompt caching"))
        return ACR_LLM_ERROR_BAD_REQUEST;
    if (is_flagged(error))
        return ACR_LLM_ERROR_CONTENT_FILTER;
    if (best.rank >= RANK_STRONG && best.code != ACR_LLM_ERROR_BAD_REQUEST)
        return best.code;
    if (told != ACR_LLM_ERRORS)
        return told;
    if (best.rank == RANK_WEAK && class_of_status(status) != ACR_LLM_ERRORS)
        return ACR_LLM_ERRORS;
    return best.code;
}

/* The body's word first, then what the header says, then the status. */
static void decide(int status, bool is_told, AcrLlmError told, GHashTable *headers, AcrFailure *out)
{
    const char *said = header(headers, "x-should-retry");
    AcrLlmError code = is_told ? told : class_of_status(status);

    if (code == ACR_LLM_ERRORS)
        code = status >= 500 || status < 300 ? ACR_LLM_ERROR_SERVER : ACR_LLM_ERROR_BAD_REQUEST;
    if (said && !is_told && code == ACR_LLM_ERROR_BAD_REQUEST &&
        g_ascii_strcasecmp(said, "true") == 0)
        code = ACR_LLM_ERROR_SERVER; /* it says that the fault is its own */
    out->code = code;
    out->retryable =
        acr_failure_is_retryable(code) && !(said && g_ascii_strcasecmp(said, "false") == 0);
}

/* ---- The whole ----------------------------------------------------------------------------------
 */

static const char *request_id_of(const AcrJson *body, GHashTable *headers)
{
    static const char *const names[] = {"x-request-id", "request-id", "apim-request-id",
                                        "x-amzn-requestid", "x-generation-id"};
    const char *id = NULL;

    for (gsize i = 0; !id && i < G_N_ELEMENTS(names); i++)
        id = header(headers, names[i]);
    return id ? id : acr_json_get_string(body, "request_id");
}

/* The word that names the error to its reader, "" where there is none; owned. */
static char *shown_word(const AcrJson *error, GHashTable *headers)
{
    const char *const said[] = {
        acr_json_get_string(error, "code"),   acr_json_get_string(error, "type"),
        acr_json_get_string(error, "__type"), acr_json_get_string(error, "status"),
        header(headers, "x-amzn-errortype"),
    };

    for (gsize i = 0; i < G_N_ELEMENTS(said); i++)
        if (said[i] && *said[i] && !g_ascii_isdigit(*said[i]) && strcmp(said[i], "error") != 0)
            return bare_word(said[i]);
    return g_strdup("");
}

static char *describe(int status, const AcrJson *error, const char *word, const char *id,
                      const char *text, gsize len)
{
    GString *out = g_string_new(NULL);
    const char *message = message_of(error);
    g_autofree char *raw = message ? NULL : acr_utf8_repair(text, MIN(len, ACR_LLM_MAX_MESSAGE));
    g_autofree char *shown = acr_text_shorten(message ? message : raw, ACR_LLM_MAX_MESSAGE);

    g_string_append_printf(out, "HTTP %d", status);
    if (*word)
        g_string_append_printf(out, " %s", word);
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
    const AcrJson *inner = acr_failure_in_body(body);
    const AcrJson *error = inner ? inner : body;
    g_autoptr(GPtrArray) found = words_of(error, headers);
    g_autofree char *prose = prose_of(error, text, len);
    g_autofree char *word = shown_word(error, headers);
    int number = number_of(error);
    int meant = number && (status < 300 || status >= 400) ? number : status;
    gint64 window = 0;
    AcrLlmError told = class_of_body(meant, error, prose, best_word(found), &window);
    gint64 after_ms = acr_retry_after_ms(headers, (gint64)time(NULL));

    *out = (AcrFailure){
        .message = describe(status, error, word, request_id_of(body, headers), text, len),
        .param = g_strdup(acr_json_get_string(error, "param")),
    };
    decide(meant, told != ACR_LLM_ERRORS, told, headers, out);
    if (out->code == ACR_LLM_ERROR_CONTEXT_OVERFLOW) {
        gint64 stated = acr_json_get_int(error, "n_ctx", 0);

        out->window = stated > 0 && stated <= ACR_MAX_WINDOW ? stated : window;
    }
    out->retry_after_ms =
        after_ms < 0 && out->retryable ? acr_retry_hint_ms(error, prose) : after_ms;
}

/* ---- What a refusal is about --------------------------------------------------------------------
 */

static bool is_name_char(char c)
{
    return g_ascii_isalnum(c) || c == '_';
}

/* Whether the text that stands before `at` ends in a word after which a parameter is named. */
static bool follows_a_noun(const char *text, const char *at)
{
    static const char *const nouns[] = {
        "parameter ", "parameter: ", "argument ", "argument: ", "field ", "support ", "supplied: "};

    for (gsize i = 0; i < G_N_ELEMENTS(nouns); i++) {
        gsize len = strlen(nouns[i]);

        if ((gsize)(at - text) >= len && memcmp(at - len, nouns[i], len) == 0)
            return true;
    }
    return false;
}

bool acr_failure_is_about(const AcrFailure *failure, const char *param)
{
    const char *text = failure->message ? failure->message : "";
    const char *named = failure->param;
    gsize len = strlen(param);

    if (named && *named && strcmp(named, "None") != 0)
        return g_str_has_prefix(named, param) && !is_name_char(named[len]);
    for (const char *at = strstr(text, param); at; at = strstr(at + 1, param)) {
        char before = at > text ? at[-1] : ' ';

        if (is_name_char(before) || is_name_char(at[len]))
            continue;
        if (strchr("'\"`", before) || at[len] == ':' || follows_a_noun(text, at))
            return true;
    }
    return false;
}

/* Sets a flag for the first time. */
static bool learn(bool *flag, bool is_so)
{
    if (*flag || !is_so)
        return false;
    *flag = true;
    return true;
}

bool acr_learn(bool *flag, const AcrFailure *failure, const char *param)
{
    return learn(flag, acr_failure_is_about(failure, param));
}

bool acr_learn_from_words(bool *flag, const AcrFailure *failure, const char *const *said)
{
    g_autofree char *text = g_ascii_strdown(failure->message ? failure->message : "", -1);
    bool found = false;

    for (; *said && !found; said++)
        found = strstr(text, *said) != NULL;
    return learn(flag, found);
}
