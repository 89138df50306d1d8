/* acr-host ask: makes one call of a model. Prints the answer on stdout. With --json, prints one
 * object with the answer or the failure, so that a script can branch on the failure's class. */
#include "verbs/verbs_private.h"

#include <string.h>

#include "llm/llm.h"

#define MAX_TEXT_BYTES (32u * 1024 * 1024)
#define MAX_SCHEMA_BYTES (4u * 1024 * 1024)

/* ---- The question ----- */

/* Returns the question: `given`, or the text on standard input if `given` is NULL; owned. */
static char *read_text(AcrHost *host, const char *given, GError **error)
{
    g_autoptr(GBytes) bytes = given ? g_bytes_new(given, strlen(given))
                                    : acr_read_stdin(MAX_TEXT_BYTES, host->interrupt, error);
    if (!bytes)
        return NULL;
    g_autofree char *text = acr_bytes_text(bytes);
    if (!text[strspn(text, " \t\r\n")])
        return ACR_NULL(acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                                      "give a question, as an argument or on standard input"));
    if (strlen(text) == g_bytes_get_size(bytes))
        return g_steal_pointer(&text);
    return ACR_NULL(acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                                  "standard input is not text: it contains NUL bytes"));
}

static AcrJson *read_schema(const char *path, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_SCHEMA_BYTES, &reason);
    g_autoptr(AcrJson) schema = acr_json_parse_bytes(bytes, &reason);
    if (acr_json_type(schema) == ACR_JSON_OBJECT)
        return g_steal_pointer(&schema);
    return ACR_NULL(acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                                  "cannot use the schema '%s': %s", path,
                                  reason ? reason->message : "it is not a JSON object"));
}

/* ---- The output --------- */

static AcrJson *known(gint64 value)
{
    return value < 0 ? acr_json_new_null() : acr_json_new_int(value);
}

static AcrJson *describe_answer(const AcrModelAnswer *answer, guint sent)
{
    AcrJson *usage = acr_json_of("input", known(acr_usage_sent(&answer->usage)), "output",
                                 known(answer->usage.output), "cached", known(answer->usage.cached),
                                 "reasoning", known(answer->usage.reasoning), NULL);
    return acr_json_of("content", ACR_TEXT(answer->content), "model", ACR_TEXT(answer->model),
                       "finish", ACR_TEXT(answer->finish), "usage", usage, "cost_microusd",
                       known(acr_microusd(answer->usage.cost_pico)), "attempts",
                       acr_json_new_int(sent), "request_id", ACR_TEXT(answer->request_id), NULL);
}

/* Returns the class of a failure. A failure without a class (such as an unreadable file of
 * certificates) counts as a network failure; an unreadable question is a bad request. */
static const char *class_of_failure(const GError *error, AcrExit exit)
{
    if (exit == ACR_EXIT_INTERRUPTED)
        return acr_llm_error_name(ACR_LLM_ERROR_INTERRUPTED);
    if (error->domain == ACR_BASE_ERROR)
        return acr_llm_error_name(ACR_LLM_ERROR_BAD_REQUEST);
    AcrLlmError code =
        error->domain == ACR_LLM_ERROR ? (AcrLlmError)error->code : ACR_LLM_ERROR_NETWORK;
    return acr_llm_error_name(code == ACR_LLM_ERROR_FAILED ? ACR_LLM_ERROR_NETWORK : code);
}

/* Returns the try to which the failure belongs; NULL if the call failed before any try. */
static const AcrModelTry *failed_try(const AcrModelReport *report, const GError *error)
{
    if (!report || !report->tries || report->tries->len == 0)
        return NULL;
    const AcrModelTry *last = &g_array_index(report->tries, AcrModelTry, report->tries->len - 1);
    return last->ok || (gint)last->code == error->code ? last : NULL;
}

static AcrJson *describe_failure(const GError *error, AcrExit exit, const AcrModelReport *report)
{
    const AcrModelTry *last = failed_try(report, error);
    AcrJson *inside = acr_json_of("class", ACR_TEXT(class_of_failure(error, exit)), "message",
                                  ACR_TEXT(error->message), "http_status",
                                  known(last && last->status > 0 ? last->status : -1), "request_id",
                                  ACR_TEXT(last ? last->request_id : NULL), "attempts",
                                  acr_json_new_int(acr_report_tries(report)), NULL);
    return acr_json_of("error", inside, NULL);
}

/* Returns NONE if the model or the question is at fault, otherwise the exit code of a run. */
static AcrExit exit_of(AcrHost *host, const AcrModelReport *report, const GError *error)
{
    AcrExit code = acr_exit_of(error, host->interrupt);
    const AcrModelTry *last = failed_try(report, error);
    bool is_about_question = g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_REFUSAL) ||
                             g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTENT_FILTER) ||
                             g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
    return code == ACR_EXIT_ENVIRONMENT && (is_about_question || (last && last->ok)) ? ACR_EXIT_NONE
                                                                                     : code;
}

/* Reports a failure, and returns the exit code. `report` is NULL if the model could not be made. */
static int tell_failure(AcrHost *host, const AcrRunSpec *spec, const AcrModelReport *report,
                        const GError *error)
{
    AcrExit code = exit_of(host, report, error);
    if (!spec->json || code == ACR_EXIT_USAGE) {
        acr_verb_say("%s", error->message);
        host->failure = acr_one_line(error->message);
        return code;
    }
    g_autoptr(AcrJson) json = describe_failure(error, code, report);
    return acr_out_exit(acr_out_json(json), code);
}

/* Prints an answer, even an incomplete answer, which is not a success. Returns the exit code. */
static int tell_answer(const AcrRunSpec *spec, const AcrModelAnswer *answer, guint sent)
{
    const char *problem = acr_model_answer_problem(answer);
    AcrExit code = problem ? ACR_EXIT_NONE : ACR_EXIT_OK;
    if (spec->json) { /* the member "finish" says whether the answer is complete */
        g_autoptr(AcrJson) json = describe_answer(answer, sent);
        return acr_out_exit(acr_out_json(json), code);
    }
    if (problem)
        acr_verb_say("the answer is incomplete: %s", problem);
    AcrOut out = acr_out_text(answer->content);
    if (out == ACR_OUT_WRITTEN && !g_str_has_suffix(answer->content, "\n"))
        out = acr_out_text("\n");
    return acr_out_exit(out, code);
}

/* Calls the model. An answer without text is a failure, unless it calls tools or was truncated at
 * its limit. */
static bool ask_model(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *answer,
                      GError **error)
{
    if (!acr_model_complete(model, request, answer, error))
        return false;
    return *answer->content || (answer->finish && strcmp(answer->finish, "stop") != 0) ||
           acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_MALFORMED,
                         "model '%s': the answer is empty%s", model->name,
                         answer->thoughts ? ": the model wrote only thoughts" : "");
}

/* ---- The call ---- */

static void on_wait(void *ctx, const char *why, gint64 wait_ms)
{
    g_autofree char *line =
        g_strdup_printf("waiting %.1f s to call the model again: %s", (double)wait_ms / 1000, why);
    if (wait_ms < 0)
        acr_console_say(ctx, ACR_TONE_PLAIN, "%s: %s", g_get_prgname(), why);
    else
        acr_console_await(ctx, line);
}

static int call_model(AcrHost *host, const AcrRunSpec *spec, const AcrModelRequest *request)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrLimits) limits = {0};
    /* declared after the values that it borrows, so that it is freed before them */
    g_autoptr(AcrModel) model = NULL;
    /* Start the time limit only now, because reading standard input may have taken long. */
    if (!acr_limits_init(&limits, spec, &error) ||
        !acr_limits_open(&limits, spec->ledger, spec->ledger ? "ledger" : "call", &error))
        return tell_failure(host, spec, NULL, error);
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    g_autofree char *line = g_strconcat("waiting for an answer from ", spec->models[0], NULL);
    AcrModelOptions options = acr_model_options_of(spec, &limits, host->interrupt);
    options.on_wait = on_wait;
    options.on_wait_ctx = console;
    model = acr_model_of(spec, spec->models[0], &options, &error);
    if (!model)
        return tell_failure(host, spec, NULL, error);
    if (model->remark && acr_limits_bound_money(spec))
        acr_verb_say("%s", model->remark);
    g_auto(AcrModelAnswer) answer = {0};
    acr_console_await(console, line);
    bool ok = ask_model(model, request, &answer, &error);
    acr_console_end(console);
    if (!ok)
        return tell_failure(host, spec, acr_model_report(model), error);
    return tell_answer(spec, &answer, acr_report_tries(acr_model_report(model)));
}

static int run_ask(AcrHost *host, AcrRunSpec *spec)
{
    if (spec->arguments[0] && spec->arguments[1])
        return acr_verb_usage(host, "unexpected argument '%s'", spec->arguments[1]);
    if (spec->models[1])
        return acr_verb_usage(host, "give one --model");
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConversation) conversation = acr_conversation_new(acr_verb_ask.name);
    g_autoptr(AcrJson) schema = spec->schema ? read_schema(spec->schema, &error) : NULL;
    g_autofree char *text = error ? NULL : read_text(host, spec->arguments[0], &error);
    if (!text)
        return tell_failure(host, spec, NULL, error);
    if (spec->system)
        acr_conversation_add(conversation, ACR_ROLE_SYSTEM, spec->system);
    acr_conversation_add(conversation, ACR_ROLE_USER, text);
    AcrModelRequest request = {
        .label = acr_verb_ask.name,
        .conversation = conversation,
        .json = spec->json_mode || schema,
        .schema = schema,
        .max_tokens = (guint)MAX(spec->max_tokens, 0),
    };
    return call_model(host, spec, &request);
}

const AcrVerb acr_verb_ask = {
    .name = "ask",
    .summary = "Ask a model one question and print the answer",
    .takes = ACR_FOR_ASK,
    .arguments = "[TEXT]",
    .uses_network = true,
    .examples = {{"Check a key and a model with one question",
                  "ask --model openai/gpt-4.1 --max-cost 0.05 'Are you there?'"}},
    .exits = "0 the answer is complete, 1 it is not",
    .run = run_ask,
};
