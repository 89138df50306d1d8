/* The result of reading a response, as one line of text for comparison: an answer with its usage,
 * or the class and message of a failure. */
#pragma once

#include "pieces.h"
#include "test_llm.h"
#include "unit/cases.h"

/* The text with ' replaced by quotation marks, so that JSON in tests stays readable; owned. */
static inline char *quoted(const char *text)
{
    return g_strdelimit(g_strdup(text), "'", '"');
}

/* Reads `len` bytes of a response in pieces of `piece` bytes; owned. An answer is
 * "CONTENT|FINISH|MODEL|INPUT+CACHED+WRITTEN+WRITTEN_1H>OUTPUT(REASONING)", a failure is "CLASS:
 * MESSAGE". */
static inline char *show_response(const AcrProvider *provider, int status, GHashTable *headers, const char *text,
                                  gsize len, gsize piece)
{
    g_auto(Outcome) outcome = read_pieces(provider, status, headers, text, len, piece);
    const AcrModelAnswer *answer = &outcome.answer;
    const AcrUsage *usage = &outcome.usage;
    if (!outcome.ok)
        return g_strdup_printf("%s: %s", acr_llm_error_name(outcome.failure.code), outcome.failure.message);
    return g_strdup_printf("%s|%s|%s|%d+%d+%d>%d(%d)", answer->content, answer->finish ? answer->finish : "-",
                           answer->model ? answer->model : "-", (int)usage->input, (int)usage->cached,
                           (int)usage->written, (int)usage->output, (int)usage->reasoning);
}

/* A body in one piece; owned. */
static inline char *show_body(const AcrProvider *provider, int status, const char *text)
{
    g_autofree char *json = quoted(text);
    return show_response(provider, status, NULL, json, strlen(json), MAX(strlen(json), 1));
}

static inline void assert_shown(const AcrProvider *provider, const char *text, const char *expected)
{
    g_autofree char *shown = show_body(provider, 200, text);
    g_assert_cmpstr(shown, ==, expected);
}

/* Compares only the class, because the provider words the rest of the message. */
static inline void assert_class(const AcrProvider *provider, int status, const char *text, const char *expected)
{
    g_autofree char *shown = show_body(provider, status, text);
    if (!g_str_has_prefix(shown, expected))
        g_error("'%s' is not the beginning of: %s", expected, shown);
}

/* The request body that a dialect writes for a conversation; owned. */
static inline char *show_request(const AcrProvider *provider, const AcrDialect *dialect,
                                 const AcrConversation *conversation, const char *schema, bool json, guint max_tokens)
{
    g_autofree char *text = schema ? quoted(schema) : NULL;
    g_autoptr(AcrJson) parsed = text ? acr_json_parse(text, strlen(text), NULL) : NULL;
    AcrModelRequest request = {
        .label = "search", .conversation = conversation, .json = json, .schema = parsed, .max_tokens = max_tokens};
    g_autoptr(AcrJson) body = provider->request(dialect, &request);
    return acr_json_print(body);
}

/* Expects that request body; takes the conversation. */
static inline void assert_request(const AcrProvider *provider, const AcrDialect *dialect, AcrConversation *taken,
                                  const char *schema, bool json, guint max_tokens, const char *expected)
{
    g_autoptr(AcrConversation) conversation = taken;
    g_autofree char *text = show_request(provider, dialect, conversation, schema, json, max_tokens);
    g_autofree char *wanted = quoted(expected);
    g_assert_cmpstr(text, ==, wanted);
}

/* A conversation from NULL-terminated pairs of role ("s", "u", "a") and text. */
static inline AcrConversation *talk(const char *const *said)
{
    AcrConversation *conversation = acr_conversation_new("c");
    for (; *said; said += 2)
        acr_conversation_add(conversation,
                             **said == 's'   ? ACR_ROLE_SYSTEM
                             : **said == 'a' ? ACR_ROLE_ASSISTANT
                                             : ACR_ROLE_USER,
                             said[1]);
    return conversation;
}
#define TALK(...) talk((const char *const[]){__VA_ARGS__, NULL})

/* Whether the dialect changes its requests after this error. */
static inline bool learns(const AcrProvider *provider, AcrDialect *dialect, int status, const char *body)
{
    g_autofree char *json = quoted(body);
    g_auto(AcrFailure) failure = {0};
    AcrModelAnswer answer = {0};
    g_assert_false(read_response(provider, status, json, &answer, &failure));
    return acr_correct(provider, dialect, &failure);
}

/* Makes an endpoint of the provider at that base URL; cleared by the caller. */
static inline void make_endpoint(const AcrProvider *provider, const char *model, const char *base,
                                 const char *const *headers, AcrEndpoint *out)
{
    AcrModelOptions options = {.temperature = -1, .base_url = base, .headers = headers};
    g_autoptr(GError) error = NULL;
    if (!acr_endpoint_make(provider, "p/m", model, &options, out, &error))
        g_error("%s: %s", base, error->message);
}

static inline void assert_header(const AcrEndpoint *endpoint, const char *name, const char *value)
{
    const char *found = NULL;
    for (guint i = 0; i + 1 < endpoint->headers->len; i++) {
        const char *line = endpoint->headers->pdata[i];
        if (g_ascii_strncasecmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            found = line + strlen(name) + strlen(": ");
    }
    g_assert_cmpstr(found, ==, value);
}
