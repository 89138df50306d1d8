/*
 * acr-host ask: one call of a model. The answer goes to stdout; with --json one object does, be it
 * the answer or why there is none, so that a script can branch on the failure's class. What cannot
 * be asked at all (usage) is told on stderr alone.
 */
#include "verbs/verbs_private.h"

#include <string.h>

#include "http/http.h"
#include "llm/llm.h"

#define MAX_TEXT_BYTES (32u * 1024 * 1024)
#define MAX_SCHEMA_BYTES (4u * 1024 * 1024)
#define SCOPE "call"
#define LEDGER_SCOPE "ledger"

/* As given; strings are owned. */
typedef struct {
    char *model, *system, *schema, *ledger, *max_tokens, *timeout;
    gboolean json, json_mode, verbose;
    AcrClientOptions client;
    AcrCeilingOptions ceilings;
} Options;

static void options_clear(Options *options)
{
    char *const strings[] = {options->model,  options->system,     options->schema,
                             options->ledger, options->max_tokens, options->timeout};
    for (gsize i = 0; i < G_N_ELEMENTS(strings); i++)
        g_free(strings[i]);
    acr_client_options_clear(&options->client);
    acr_ceiling_options_clear(&options->ceilings);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* What the options mean beside those that other verbs share. */
typedef struct {
    gint64 max_tokens, timeout_ms; /* 0: not given */
} Limits;

static bool check(Options *options, Limits *out)
{
    const char *verb = acr_verb_ask.name;
    *out = (Limits){0};
    if (!options->model) {
        acr_verb_usage(verb, "--model is missing");
        return false;
    }
    return acr_tokens_check(verb, "max-tokens", options->max_tokens, G_MAXINT32,
                            &out->max_tokens) &&
           acr_seconds_check(verb, "timeout", options->timeout, &out->timeout_ms) &&
           acr_ceiling_options_check(&options->ceilings, verb) &&
           acr_client_options_check(&options->client, verb);
}

/* ---- What is asked ------------------------------------------------------------------------------
 */

/* The question as it stands in the arguments, else on standard input. */
static char *read_text(const AcrProgram *program, const char *given, GError **error)
{
    if (given)
        return g_strdup(given);
    g_autoptr(GBytes) bytes = acr_read_stdin(MAX_TEXT_BYTES, program->interrupt, error);
    if (!bytes)
        return NULL;
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);
    if (len > 0 && memchr(data, '\0', len)) {
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                    "standard input is not text: it holds NUL bytes");
        return NULL;
    }
    return g_strndup(data ? data : "", len);
}

static AcrJson *read_schema(const char *path, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_SCHEMA_BYTES, &reason);
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    g_autoptr(AcrJson) schema = data ? acr_json_parse(data, len, &reason) : NULL;
    if (acr_json_type(schema) == ACR_JSON_OBJECT)
        return g_steal_pointer(&schema);
    g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE, "cannot use the schema '%s': %s", path,
                reason ? reason->message : "it is no JSON object");
    return NULL;
}

/* ---- What is told -------------------------------------------------------------------------------
 */

static void set_known(AcrJson *object, const char *key, gint64 value)
{
    acr_json_set(object, key, value < 0 ? acr_json_new_null() : acr_json_new_int(value));
}

static void set_text(AcrJson *object, const char *key, const char *text)
{
    acr_json_set(object, key, text ? acr_json_new_string(text) : acr_json_new_null());
}

static AcrJson *describe_answer(const AcrModelAnswer *answer, guint sent)
{
    AcrJson *json = acr_json_new_object(), *usage = acr_json_new_object();
    acr_json_set_string(json, "content", answer->content);
    set_text(json, "model", answer->model);
    set_text(json, "finish", answer->finish);
    set_known(usage, "input", acr_usage_sent(&answer->usage));
    set_known(usage, "output", answer->usage.output);
    set_known(usage, "cached", answer->usage.cached);
    set_known(usage, "reasoning", answer->usage.reasoning);
    acr_json_set(json, "usage", usage);
    set_known(json, "cost_microusd", acr_microusd(answer->usage.cost_pico));
    acr_json_set_int(json, "attempts", sent);
    set_text(json, "request_id", answer->request_id);
    return json;
}

/* The class of a failure. What has none, such as a file of certificates that cannot be read, kept
 * the exchange from taking place; a question that cannot be read is no good one. */
static const char *class_of(const GError *error, AcrExit exit)
{
    if (exit == ACR_EXIT_INTERRUPTED)
        return acr_llm_error_name(ACR_LLM_ERROR_INTERRUPTED);
    if (error->domain == ACR_BASE_ERROR)
        return acr_llm_error_name(ACR_LLM_ERROR_BAD_REQUEST);
    AcrLlmError code =
        error->domain == ACR_LLM_ERROR ? (AcrLlmError)error->code : ACR_LLM_ERROR_NETWORK;
    return acr_llm_error_name(code == ACR_LLM_ERROR_FAILED ? ACR_LLM_ERROR_NETWORK : code);
}

/* The try that the failure is of; NULL: it came before one. */
static const AcrModelTry *failed_try(const AcrModelReport *report, const GError *error)
{
    if (!report || !report->tries || report->tries->len == 0)
        return NULL;
    const AcrModelTry *last = &g_array_index(report->tries, AcrModelTry, report->tries->len - 1);
    return (gint)last->code == error->code ? last : NULL;
}

static AcrJson *describe_failure(const GError *error, AcrExit exit, const AcrModelReport *report)
{
    AcrJson *json = acr_json_new_object(), *inside = acr_json_new_object();
    const AcrModelTry *last = failed_try(report, error);
    acr_json_set_string(inside, "class", class_of(error, exit));
    acr_json_set_string(inside, "message", error->message);
    set_known(inside, "http_status", last && last->status > 0 ? last->status : -1);
    set_text(inside, "request_id", last ? last->request_id : NULL);
    acr_json_set_int(inside, "attempts", report ? acr_report_sent(report) : 0);
    acr_json_set(json, "error", inside);
    return json;
}

/* Without a key nothing was sent; a key that was refused is an answer of its own kind. */
static AcrExit exit_of(const AcrProgram *program, const GError *error, guint sent)
{
    AcrExit code = acr_exit_of(program, error);
    if (code != ACR_EXIT_ENVIRONMENT || error->domain != ACR_LLM_ERROR ||
        error->code == ACR_LLM_ERROR_FAILED || /* a ledger, its disk, a file of certificates */
        error->code == ACR_LLM_ERROR_UNREACHABLE ||
        (error->code == ACR_LLM_ERROR_AUTH && sent == 0))
        return code;
    return ACR_EXIT_NONE;
}

/* `report` NULL: there is no model. */
static int tell_failure(const AcrProgram *program, const Options *options,
                        const AcrModelReport *report, const GError *error)
{
    AcrExit code = exit_of(program, error, report ? acr_report_sent(report) : 0);
    if (!options->json || code == ACR_EXIT_USAGE) {
        acr_verb_say(acr_verb_ask.name, "%s", error->message);
        return code;
    }
    g_autoptr(AcrJson) json = describe_failure(error, code, report);
    return acr_out_exit(acr_out_json(json), code);
}

static int tell_answer(const Options *options, const AcrModelAnswer *answer, guint sent)
{
    if (options->json) {
        g_autoptr(AcrJson) json = describe_answer(answer, sent);
        return acr_out_exit(acr_out_json(json), ACR_EXIT_OK);
    }
    AcrOut out = acr_out_text(answer->content);
    if (out == ACR_OUT_WRITTEN && !g_str_has_suffix(answer->content, "\n"))
        out = acr_out_text("\n");
    return acr_out_exit(out, ACR_EXIT_OK);
}

/* ---- The call -----------------------------------------------------------------------------------
 */

static void on_wait(void *ctx, const char *why, gint64 wait_ms)
{
    const Options *options = ctx;
    if (options->verbose)
        acr_verb_say(acr_verb_ask.name, "waiting %.1f s to call the model again: %s",
                     (double)wait_ms / 1000, why);
}

/* The ceilings of this call; *out NULL: there are none. */
static bool make_budget(const Options *options, AcrBudget **out, GError **error)
{
    g_autoptr(AcrBudget) budget = acr_budget_new();
    const AcrTaskCeilings *ceilings = &options->ceilings.ceilings;
    const AcrAmount *ceiling = &ceilings->run;
    bool has_ledger = ceiling->pico >= 0 || ceiling->tokens >= 0 || options->ledger;
    if (has_ledger && !acr_budget_add(budget, options->ledger,
                                      options->ledger ? LEDGER_SCOPE : SCOPE, ceiling, error))
        return false;
    if (ceilings->time_ms > 0) /* from here on: standard input may have taken long to come */
        acr_budget_set_deadline(budget, g_get_monotonic_time() + ceilings->time_ms * 1000, SCOPE);
    *out = has_ledger || ceilings->time_ms > 0 ? g_steal_pointer(&budget) : NULL;
    return true;
}

static int call(const AcrProgram *program, const Options *options, const Limits *limits,
                const AcrModelRequest *request)
{
    const AcrClientOptions *client = &options->client;
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrPrices) prices = acr_prices_new(client->prices, &error);
    g_autoptr(AcrBudget) budget = NULL;
    g_autoptr(AcrModel) model = NULL; /* freed before what it borrows */
    if (!prices || !make_budget(options, &budget, &error))
        return tell_failure(program, options, NULL, error);
    AcrModelOptions how = {
        .temperature = client->temperature,
        .effort = client->effort,
        .base_url = client->base_url,
        .headers = (const char *const *)client->headers,
        .key_command = client->key_command,
        .key_file = client->key_file,
        .timeout_ms = limits->timeout_ms,
        .max_retries = (guint)client->retries,
        .retry_base_ms = client->retry_base_ms,
        .prices = prices,
        .budget = budget,
        .interrupt = program->interrupt,
        .on_wait = on_wait,
        .on_wait_ctx = (void *)options,
    };
    model = acr_model_new(options->model, &how, &error);
    if (!model)
        return tell_failure(program, options, NULL, error);
    if (model->remark && options->ceilings.ceilings.run.pico >= 0)
        acr_verb_say(acr_verb_ask.name, "%s", model->remark);
    g_auto(AcrModelAnswer) answer = {0};
    if (!acr_model_complete(model, request, &answer, &error))
        return tell_failure(program, options, acr_model_report(model), error);
    return tell_answer(options, &answer, acr_report_sent(acr_model_report(model)));
}

static int ask(const AcrProgram *program, const Options *options, const Limits *limits,
               const char *given)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConversation) conversation = acr_conversation_new(acr_verb_ask.name);
    g_autoptr(AcrJson) schema = options->schema ? read_schema(options->schema, &error) : NULL;
    g_autofree char *text = error ? NULL : read_text(program, given, &error);
    if (!text || !acr_http_global_init(&error))
        return tell_failure(program, options, NULL, error);
    if (options->system)
        acr_conversation_add(conversation, ACR_ROLE_SYSTEM, options->system);
    acr_conversation_add(conversation, ACR_ROLE_USER, text);
    AcrModelRequest request = {
        .label = acr_verb_ask.name,
        .conversation = conversation,
        .json = options->json_mode || schema,
        .schema = schema,
        .max_tokens = (guint)limits->max_tokens,
    };
    int code = call(program, options, limits, &request);
    acr_http_global_cleanup();
    return code;
}

static GOptionEntry *entries_of(Options *options)
{
    const GOptionEntry entries[] = {
        {"model", 'm', 0, G_OPTION_ARG_FILENAME, &options->model, "PROVIDER/NAME", "MODEL"},
        {"system", 's', 0, G_OPTION_ARG_FILENAME, &options->system, "The system prompt", "TEXT"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json,
         "Print one JSON object: the answer, or the class of the failure", NULL},
        {"json-mode", 0, 0, G_OPTION_ARG_NONE, &options->json_mode,
         "Let the model answer with a JSON object", NULL},
        {"schema", 0, 0, G_OPTION_ARG_FILENAME, &options->schema,
         "JSON schema that the answer must follow", "FILE"},
        {"max-tokens", 0, 0, G_OPTION_ARG_FILENAME, &options->max_tokens,
         "Tokens of the answer at most", "N"},
        {"timeout", 0, 0, G_OPTION_ARG_FILENAME, &options->timeout,
         "Bound of each attempt (default 1800)", "SECONDS"},
        {"ledger", 0, 0, G_OPTION_ARG_FILENAME, &options->ledger,
         "File that keeps what was spent: the ceilings then are those of all calls that name it",
         "FILE"},
        ACR_CEILING_ENTRIES(&options->ceilings),
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose, "Show each wait on stderr", NULL},
        G_OPTION_ENTRY_NULL,
    };
    return acr_client_option_entries(&options->client, entries);
}

static int run(const AcrProgram *program, int argc, char **argv)
{
    g_auto(Options) options = {.client = ACR_CLIENT_OPTIONS_INIT};
    g_autofree GOptionEntry *entries = entries_of(&options);
    Limits limits;
    int code;
    if (!acr_options_parse(&acr_verb_ask, "[TEXT]", entries, &argc, &argv, &code))
        return code;
    if (argc > 2)
        return acr_verb_usage(acr_verb_ask.name, "unexpected argument '%s'", argv[2]);
    if (!check(&options, &limits))
        return ACR_EXIT_USAGE;
    return ask(program, &options, &limits, argc > 1 ? argv[1] : NULL);
}

const AcrVerb acr_verb_ask = {"ask", "Ask a model one question; prints the answer", run};
