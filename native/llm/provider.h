/* Declares providers. A provider is a const struct in a file of its own, and is listed in
 * providers.c. This header also declares the functions that providers share. */
#pragma once

#include "llm/endpoint.h"
#include "llm/llm_private.h"
#include "llm/partial_answer.h"

/* Settings of requests to one server and model. They come from options, or are learned from
 * rejected requests. */
typedef struct {
    const char *name;   /* borrowed; the model's name as the user gave it */
    const char *model;  /* borrowed; the model's name at the provider */
    double temperature; /* below 0: the temperature is not sent, or was rejected */
    const char *effort; /* borrowed; NULL: the effort is not sent, or was rejected */
    const char *tier;   /* borrowed; the provider's word for the service tier; NULL: not sent */
    /* the answer limit is sent as max_completion_tokens, otherwise as max_tokens */
    bool max_completion_tokens;
    bool renamed_limit; /* the limit was sent again under its other name */
    /* maximum number of tokens of one answer, from the provider's table or an error; 0 or less:
     * unknown */
    gint64 max_output;
    bool is_limited; /* max_output came from an error, so no request may exceed it */
    /* number of tokens left for the call's answer, from an error; 0: unknown */
    gint64 room;
    guint sent_limit; /* the answer limit of the last request; 0: none */
    bool asks_schema; /* the current request contains a schema */
    /* schemas or JSON mode were rejected, so the prompt asks for a schema or JSON in words */
    bool no_schema, no_json;
    bool no_stream_options;
    bool no_stream; /* ask for the whole answer in one response, not for a stream */
    bool no_cache;  /* cache marks or the key of the cache were rejected */
    /* borrowed; key of the provider's cache, the same for requests with the same beginning; NULL:
     * not sent */
    const char *cache_key;
    /* whether the current request contains tools; whether tools were rejected */
    bool asks_tools, no_tools;
    bool no_strict;    /* strict schemas of tools were rejected */
    bool no_encrypted; /* the request for encrypted thoughts was rejected */
    /* the system role was rejected, so the system prompt is sent as the user's text */
    bool no_system;
    /* two consecutive messages of one role were rejected, so such messages are merged */
    bool takes_turns;
} AcrDialect;

struct AcrProvider {
    const char *name; /* the part of a model's full name before the slash */
    /* NULL-terminated list of variables for the key, or NULL; the first set variable is used */
    const char *const *key_variables;
    /* NULL-terminated list of variables for the base URL, or NULL; the first set variable is
     * used */
    const char *const *base_variables;
    const char *base_url;  /* the provider's own URL; NULL: the user must give a URL */
    const char *base_path; /* appended to an address without a path; NULL: nothing is appended */
    /* the server imitates OpenAI's, and may know only the older name of the answer limit */
    bool is_imitator;
    /* the server does not support schemas, so the prompt describes the schema in words */
    bool has_no_schema;
    bool needs_no_key; /* users run the provider's server themselves, without a key */
    bool needs_limit;  /* every request must limit the answer */
    /* The end of a complete stream: the event that ends it (BY_EVENT); the event, or an orderly end
     * after a finish reason, because many servers omit the event (IN_ORDER); or the finish reason
     * alone (BY_REASON). */
    enum { ACR_END_BY_EVENT, ACR_END_IN_ORDER, ACR_END_BY_REASON } stream_end;
    bool calls_tools; /* the provider's models are trained to call tools */
    /* the provider's names of the service tiers that a request can ask for; NULL: no such tier */
    const char *services[ACR_SERVICES];
    bool is_local; /* the server runs on the user's machine and costs nothing */
    enum { ACR_FRAMES_SSE, ACR_FRAMES_EVENTSTREAM } framing;
    /* Finds the base URL if neither an option, a variable nor `base_url` gives it. Returns it,
     * owned; NULL without an error if not found. The member may be NULL. */
    char *(*base)(GError **error);
    /* Completes an endpoint whose base_url, model and key (may be NULL) are set: adds the URL
     * and the headers. Errors: USAGE, AUTH. */
    bool (*prepare)(AcrEndpoint *endpoint, GError **error);
    /* Appends headers that depend on the body and the time; may be NULL. */
    void (*sign)(const AcrEndpoint *endpoint, const char *body, gsize len, GPtrArray *headers);
    /* Makes the request's body; owned (acr_json_free). */
    AcrJson *(*request)(const AcrDialect *dialect, const AcrModelRequest *request);
    /* Reads one event of a stream; the event is not an error. `json` is the event's data, an
     * object, or NULL for [DONE]. */
    AcrParseStep (*event)(AcrPartial *partial, const AcrEvent *event, const AcrJson *json);
    /* Reads the whole body of an answer that was not streamed. Never returns MORE. */
    AcrParseStep (*answer)(AcrPartial *partial, const AcrJson *body);
    /* Completes an answer after its stream ended; may be NULL. */
    void (*settle)(AcrPartial *partial);
    /* Learns from the message of a BAD_REQUEST. Returns true if the changed request should be
     * tried. Each change is made only once. */
    bool (*correct)(AcrDialect *dialect, const AcrFailure *failure);
};

/* Finds a provider by its name; NULL if it is unknown. */
const AcrProvider *acr_provider_find(const char *name, gsize len);
extern const AcrProvider acr_provider_openai, acr_provider_openai_responses, acr_provider_azure,
    acr_provider_anthropic, acr_provider_gemini, acr_provider_bedrock, acr_provider_groq,
    acr_provider_deepseek, acr_provider_openrouter, acr_provider_litellm, acr_provider_vllm,
    acr_provider_llamacpp, acr_provider_ollama;

/* Makes a model that is reached by HTTP (http_model.c); owned (acr_model_free). `name` is the name
 * that the user gave, `model` the name at the provider. Errors: USAGE, AUTH. */
AcrModel *acr_http_model_new(const AcrProvider *provider, const char *name, const char *model,
                             const AcrModelOptions *options, GError **error) ACR_MUST_USE;

/* ---- OpenAI's chat dialect, which others imitate (openai_chat.c) ---- */

bool acr_openai_prepare(AcrEndpoint *endpoint, GError **error) ACR_MUST_USE;
/* Adds OpenAI's headers: the key, and the headers that the environment sets, except for headers
 * that the user gave. */
void acr_openai_headers(AcrEndpoint *endpoint);
AcrJson *acr_openai_request(const AcrDialect *dialect, const AcrModelRequest *request);
AcrParseStep acr_openai_event(AcrPartial *partial, const AcrEvent *event, const AcrJson *json);
AcrParseStep acr_openai_answer(AcrPartial *partial, const AcrJson *body);
bool acr_openai_correct(AcrDialect *dialect, const AcrFailure *failure);
void acr_openai_settle(AcrPartial *partial);
#define ACR_OPENAI_CHAT                                                                            \
    .request = acr_openai_request, .event = acr_openai_event, .answer = acr_openai_answer,         \
    .correct = acr_openai_correct, .settle = acr_openai_settle, .stream_end = ACR_END_IN_ORDER
/* Appends {"role", "content"} to an array; returns the new object, borrowed. */
AcrJson *acr_openai_append_message(AcrJson *messages, const char *role, const char *content);
/* JSON members that name a schema and require the answer to follow it. */
#define ACR_OPENAI_SCHEMA(s)                                                                       \
    "name", ACR_TEXT("answer"), "schema", acr_json_copy(s), "strict", acr_json_new_bool(true)
/* Reads the counters of chat completions or Responses, and the cost if a gateway states it.
 * `usage` need not be an object. */
void acr_openai_read_usage(AcrPartial *partial, const AcrJson *usage);

/* ---- Corrections (correction.c) ---- */

/* Lets the provider learn from a rejected request. Returns true if the changed request should be
 * tried. */
bool acr_correct(const AcrProvider *provider, AcrDialect *dialect, const AcrFailure *failure);

/* Whether the model is available only by OpenAI's Responses API. If so, switches the endpoint to
 * that API of the same server. */
bool acr_move_to_responses(AcrEndpoint *endpoint, const AcrFailure *failure);
/* Whether the server silently truncated the prompt, as Ollama does if the prompt exceeds the
 * window. The sign is that the server's token count is too small for the text that was sent. Sets
 * the failure CONTEXT_OVERFLOW. */
bool acr_fail_cut_prompt(const AcrConversation *conversation, const AcrUsage *usage,
                         AcrFailure *failure);

/* Whether the error is about the parameter `param`: the failure's `param` names it, or the message
 * quotes it. */
bool acr_failure_is_about(const AcrFailure *failure, const char *param);
/* Whether the message, in lower case, contains one of the `words`, which are separated by '|'. */
bool acr_failure_says(const AcrFailure *failure, const char *words);
bool acr_learn(bool *flag, bool is_so);
/* Stops sending the temperature (or the effort) if `is_so`. Returns whether the change alters the
 * request. */
bool acr_drop_temperature(AcrDialect *dialect, bool is_so);
bool acr_drop_effort(AcrDialect *dialect, bool is_so);

/* ---- Service tiers (service_tier.c) ---- */

/* Returns the service tier that the provider's word (may be NULL) in an answer names; ANY if the
 * word is unknown. */
AcrService acr_service_of(const char *word);
/* Whether the failure concerns the requested service tier: the server refuses the tier for now or
 * for the model, or is too slow at flex. The same request may succeed at the standard tier. */
bool acr_failure_is_of_tier(const AcrFailure *failure, AcrService asked);

/* ---- JSON mode by instruction (json_instruction.c) ---- */

#define ACR_JSON_INSTRUCTION "Answer with one JSON object and nothing else."
/* Returns a sentence for the system prompt that asks for JSON or for the schema, owned (g_free);
 * NULL if no sentence is needed. A sentence is needed if the server has no parameter for JSON, or
 * requires the word JSON in the prompt. */
char *acr_json_instruction(const AcrModelRequest *request, bool has_json,
                           bool has_schema) ACR_MUST_USE;
/* Whether message number `from` or a later message mentions JSON. Servers reject JSON mode
 * otherwise. */
bool acr_mentions_json(const AcrConversation *conversation, gsize from);

/* ---- Tools (tool_calls.c) ---- */

/* Returns the message's calls or results, borrowed, if the request has tools and the model of
 * `dialect` made the calls; NULL if the message must be sent as text. */
const AcrJson *acr_message_tools(const AcrDialect *dialect, const AcrModelRequest *request,
                                 const AcrMessage *message);
/* Makes a tool with name and description; owned. `schema` is the name of the member for the tool's
 * schema, or NULL. With `has_strict`, adds the member "strict" if the tool has it. */
AcrJson *acr_tool_new(const AcrDialect *dialect, const AcrJson *tool, const char *schema,
                      bool has_strict) ACR_MUST_USE;
/* Returns a call's arguments as an object, owned; an empty object if the model's arguments are no
 * JSON object. */
AcrJson *acr_tool_arguments(const AcrJson *call) ACR_MUST_USE;

/* ---- Turns of user and assistant (turns.c) ---- */

/* The JSON form in which a provider expects the turns of a conversation. */
typedef struct {
    const char *assistant; /* the provider's name for the model's role */
    const char *list;      /* the member of a turn that holds its blocks */
    bool is_typed;         /* blocks of text have the member "type" */
    /* Appends a call or a result to a turn's blocks; returns the block, borrowed. */
    AcrJson *(*append_call)(AcrJson *blocks, const AcrJson *call);
    AcrJson *(*append_result)(AcrJson *blocks, const AcrJson *result);
    bool keeps_all; /* an answer with calls can be sent back only as the `kept` items */
} AcrTurnForm;
/* A conversation in turns. The blocks and lists other than `system` and `messages` are borrowed
 * (NULL: none), so that a provider's code can mark them for the cache. */
typedef struct {
    AcrJson *system, *messages; /* owned arrays */
    AcrJson *system_end;
    /* the last block of the user's last turn, and of the user's turn before it */
    AcrJson *user_ends[2];
    AcrJson *user_blocks[2]; /* the lists of blocks of the two turns of user_ends */
} AcrTurns;
void acr_turns_init(AcrTurns *turns, const AcrDialect *dialect, const AcrModelRequest *request,
                    const AcrTurnForm *form);
void acr_turns_clear(AcrTurns *turns);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTurns, acr_turns_clear)
/* Adds `text` (may be NULL) as a block of the system prompt, after the conversation's system
 * message. If the system role was rejected, all blocks move to the user's first turn. */
void acr_turns_add_system(AcrTurns *turns, const AcrDialect *dialect, const AcrTurnForm *form,
                          const char *text);
AcrJson *acr_json_constant(const char *text) ACR_MUST_USE;
/* Returns the value (taken) if it has elements or members, otherwise NULL. */
AcrJson *acr_json_any(AcrJson *value) ACR_MUST_USE;
#define ACR_IF(condition, value) ((condition) ? (value) : NULL)
/* Members that most requests have; a value of NULL omits the member. */
#define ACR_TEMPERATURE(d) ACR_IF((d)->temperature >= 0, acr_json_new_double((d)->temperature))
#define ACR_EFFORT(d) ACR_IF((d)->effort, ACR_TEXT((d)->effort))
#define ACR_TIER(d) ACR_IF((d)->tier, ACR_TEXT((d)->tier))
#define ACR_CACHE_KEY(d) ACR_IF((d)->cache_key && !(d)->no_cache, ACR_TEXT((d)->cache_key))
#define ACR_LIMIT(r) ACR_IF((r)->max_tokens > 0, acr_json_new_int((r)->max_tokens))
#define ACR_STREAM(d) ACR_IF(!(d)->no_stream, acr_json_new_bool(true))
