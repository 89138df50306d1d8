/* What a provider is: one const entry in a file, listed in providers.c; and what dialects share. */
#ifndef ACR_LLM_PROVIDER_H
#define ACR_LLM_PROVIDER_H

#include "llm/endpoint.h"
#include "llm/framing.h"
#include "llm/partial_answer.h"

/* What an HTTP backend knows about its server and model beyond the request: options, and
 * corrections learned from refusals. */
typedef struct {
    const char *name;           /* borrowed; the user's name of the model */
    const char *model;          /* borrowed; the provider's name of it */
    double temperature;         /* below 0: not sent, or refused */
    const char *effort;         /* borrowed; NULL: not sent, or refused */
    bool max_completion_tokens; /* the name of the limit: this, or max_tokens */
    bool renamed_limit;         /* the other name was tried already */
    gint64 max_output; /* tokens of one answer, by the table or a refusal; not above 0: unknown */
    bool is_limited;   /* … by a refusal: no request asks for more */
    gint64 room;       /* tokens that a refusal has left this call's answer; 0: not said */
    guint sent_limit;  /* the limit that the last request sent; 0: none */
    bool asks_schema;  /* the request at hand has one */
    bool no_schema, no_json; /* response formats that were refused: asked for in words */
    bool no_stream_options;
    bool no_stream;            /* asked for whole */
    bool no_cache;             /* marks of what to cache were refused */
    bool asks_tools, no_tools; /* the request at hand has some; they were refused: not sent */
    bool no_strict;            /* that a schema of theirs is strict was refused */
    bool no_encrypted;         /* asking for thoughts that can be sent back was refused */
    bool no_system;            /* the system role was refused: the user says it */
    bool takes_turns;          /* two messages of one role in a row were refused: they are one */
} AcrDialect;

struct AcrProvider {
    const char *name;                  /* before the slash of a model's name */
    const char *const *key_variables;  /* NULL-terminated, the first that is set counts; or NULL */
    const char *const *base_variables; /* likewise */
    const char *base_url;              /* the provider's own; NULL: it must be given */
    const char *base_path;             /* added to an address without path; NULL: none */
    bool is_imitator;                  /* of OpenAI: may know the older name of the limit only */
    bool has_no_schema;                /* a schema is asked for in words */
    bool needs_no_key;                 /* servers that people run themselves */
    bool needs_limit;                  /* of the answer, in each request */
    /* What ends a stream: an event alone; that, or an end in order behind a reason of the answer's end,
     * since many servers forget the event; or such a reason alone. */
    enum { ACR_END_BY_EVENT, ACR_END_IN_ORDER, ACR_END_BY_REASON } stream_end;
    bool calls_tools; /* its models are made to call tools */
    bool is_local;    /* such a server: what it answers costs nothing to anybody else */
    enum { ACR_FRAMES_SSE, ACR_FRAMES_EVENTSTREAM } framing;
    /* Finds the base URL in other ways than option, variables, own one; may be NULL. Owned; NULL
     * without error: none found. */
    char *(*base)(GError **error);
    /*
     * Completes the endpoint, whose base_url, model and key (NULL: none) are set: url and headers.
     * Errors: USAGE, AUTH.
     */
    bool (*prepare)(AcrEndpoint *endpoint, GError **error);
    /* Appends headers that depend on the request's body and time; may be NULL. */
    void (*sign)(const AcrEndpoint *endpoint, const char *body, gsize len, GPtrArray *headers);
    /* The request's body; owned (acr_json_free). */
    AcrJson *(*request)(const AcrDialect *dialect, const AcrModelRequest *request);
    /* Reads one event of a stream, failures excepted. `json` is its data, an object; NULL: [DONE]. */
    AcrParseStep (*event)(AcrPartial *partial, const AcrEvent *event, const AcrJson *json);
    /* Reads the whole body of an answer that was not streamed. Never MORE. */
    AcrParseStep (*answer)(AcrPartial *partial, const AcrJson *body);
    /* Completes an answer that is whole, since its stream ended behind a reason of its end; may be
     * NULL: nothing is to be done. */
    void (*settle)(AcrPartial *partial);
    /* Learns from the message of a BAD_REQUEST; true: the changed request may pass. Each change is
     * made once. */
    bool (*correct)(AcrDialect *dialect, const AcrFailure *failure);
};

const AcrProvider *acr_provider_find(const char *name, gsize len); /* NULL: none of that name */
extern const AcrProvider acr_provider_openai, acr_provider_openai_responses, acr_provider_azure,
    acr_provider_anthropic, acr_provider_gemini, acr_provider_bedrock, acr_provider_groq,
    acr_provider_deepseek, acr_provider_openrouter, acr_provider_litellm, acr_provider_vllm,
    acr_provider_llamacpp, acr_provider_ollama;

/* A model behind HTTP (http_model.c); owned (acr_model_free). `name` as the user gave it, `model`
 * the provider's part. Errors: USAGE, AUTH. */
AcrModel *acr_http_model_new(const AcrProvider *provider, const char *name, const char *model,
                             const AcrModelOptions *options, GError **error) ACR_MUST_USE;

/* ---- OpenAI's chat dialect, which others imitate (openai_chat.c) ---- */

bool acr_openai_prepare(AcrEndpoint *endpoint, GError **error) ACR_MUST_USE;
/* Adds OpenAI's own headers: the key's, and those of the environment, the user's own first. */
void acr_openai_headers(AcrEndpoint *endpoint);
AcrJson *acr_openai_request(const AcrDialect *dialect, const AcrModelRequest *request);
AcrParseStep acr_openai_event(AcrPartial *partial, const AcrEvent *event, const AcrJson *json);
AcrParseStep acr_openai_answer(AcrPartial *partial, const AcrJson *body);
bool acr_openai_correct(AcrDialect *dialect, const AcrFailure *failure);
void acr_openai_settle(AcrPartial *partial);
#define ACR_OPENAI_CHAT                                                                            \
    .request = acr_openai_request, .event = acr_openai_event, .answer = acr_openai_answer,         \
    .correct = acr_openai_correct, .settle = acr_openai_settle, .stream_end = ACR_END_IN_ORDER
/* A list's {"role", "content"} appended; borrowed. */
AcrJson *acr_openai_append_message(AcrJson *messages, const char *role, const char *content);
/* Pairs that name a schema and hold the answer to it. */
#define ACR_OPENAI_SCHEMA(s)                                                                       \
    "name", ACR_TEXT("answer"), "schema", acr_json_copy(s), "strict", acr_json_new_bool(true)
/* The counters, as chat completions or Responses name them, and the cost that gateways state;
 * `usage` may be no object. */
void acr_openai_read_usage(AcrPartial *partial, const AcrJson *usage);

/* ---- Corrections (correction.c) ---- */

/* What the provider learns from the refusal of a request; true: the changed request may pass. */
bool acr_correct(const AcrProvider *provider, AcrDialect *dialect, const AcrFailure *failure);

/* Whether the model is one that only OpenAI's Responses have: it is asked there from now on, at the
 * same server. */
bool acr_move_to_responses(AcrEndpoint *endpoint, const AcrFailure *failure);
/* Whether the server has dropped a part of the prompt without a word, as Ollama does with what exceeds
 * its window: its own count of tokens is too small for what was sent. Then a CONTEXT_OVERFLOW. */
bool acr_fail_cut_prompt(const AcrConversation *conversation, const AcrUsage *usage,
                         AcrFailure *failure);

/* Whether the refusal is about that parameter: by its `param`, or by a message that quotes it. */
bool acr_failure_is_about(const AcrFailure *failure, const char *param);
/* Whether its message, in lower case, holds one of the words, which '|' parts. */
bool acr_failure_says(const AcrFailure *failure, const char *words);
/* Sets a flag of the dialect if `is_so`; true: for the first time. */
bool acr_learn(bool *flag, bool is_so);
/* Stops sending the temperature, or the effort, if it is sent and `is_so`. */
bool acr_drop_temperature(AcrDialect *dialect, bool is_so);
bool acr_drop_effort(AcrDialect *dialect, bool is_so);

/* ---- JSON asked for in words (json_instruction.c) ---- */

#define ACR_JSON_INSTRUCTION "Answer with one JSON object and nothing else."
/* What must be asked for in words, since the request has no form for it (or the server wants the
 * word too): a sentence for the system prompt, owned (g_free); NULL: nothing. */
char *acr_json_instruction(const AcrModelRequest *request, bool has_json,
                           bool has_schema) ACR_MUST_USE;
/* Whether a message from `from` on mentions JSON: servers with a JSON mode refuse what does not. */
bool acr_mentions_json(const AcrConversation *conversation, gsize from);

/* ---- Tools (tool_calls.c) ---- */

/* The message's calls or results, where the request has tools and the model at hand made the calls;
 * NULL: it is sent as text. */
const AcrJson *acr_message_tools(const AcrDialect *dialect, const AcrModelRequest *request,
                                 const AcrMessage *message);
/* A tool with its name and description; owned. `schema` names the member that its schema goes into,
 * or NULL; that it is strict stands beside it if `has_strict`. */
AcrJson *acr_tool_new(const AcrDialect *dialect, const AcrJson *tool, const char *schema,
                      bool has_strict) ACR_MUST_USE;
/* A call's arguments as an object, whatever the model wrote; owned. */
AcrJson *acr_tool_arguments(const AcrJson *call) ACR_MUST_USE;

/* ---- Turns of user and assistant (turns.c) ---- */

/* How a dialect writes them. */
typedef struct {
    const char *assistant; /* the name of its role */
    const char *list;      /* the member of a turn that holds its blocks */
    bool is_typed;         /* a block says that it is of type text */
    /* Appends a call, or a result, to the blocks of a turn; the block, borrowed. */
    AcrJson *(*append_call)(AcrJson *blocks, const AcrJson *call);
    AcrJson *(*append_result)(AcrJson *blocks, const AcrJson *result);
    bool keeps_all; /* what is kept of an answer that calls tools is all of it */
} AcrTurnForm;
/* A conversation in turns. The blocks that end something, and the lists of turns, are borrowed, so
 * that a dialect can mark them; NULL: there is none. */
typedef struct {
    AcrJson *system, *messages; /* owned; lists */
    AcrJson *system_end;
    AcrJson *user_ends[2];   /* of the last turn of the user, and of the one before it */
    AcrJson *user_blocks[2]; /* the lists of these two turns */
} AcrTurns;
void acr_turns_init(AcrTurns *turns, const AcrDialect *dialect, const AcrModelRequest *request,
                    const AcrTurnForm *form);
void acr_turns_clear(AcrTurns *turns);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTurns, acr_turns_clear)
/* One more block of the system prompt, behind the conversation's own; `text` may be NULL. Where the
 * system role was refused, all of them move to the user's first turn. */
void acr_turns_add_system(AcrTurns *turns, const AcrDialect *dialect, const AcrTurnForm *form,
                          const char *text);
/* A constant's JSON; owned by what it is put into. */
AcrJson *acr_json_constant(const char *text) ACR_MUST_USE;
/* The value (taken) if it holds something, else NULL. */
AcrJson *acr_json_any(AcrJson *value) ACR_MUST_USE;
#define ACR_IF(condition, value) ((condition) ? (value) : NULL)
/* What most requests send in one way or another; NULL: it is not sent. */
#define ACR_TEMPERATURE(d) ACR_IF((d)->temperature >= 0, acr_json_new_double((d)->temperature))
#define ACR_EFFORT(d) ACR_IF((d)->effort, ACR_TEXT((d)->effort))
#define ACR_LIMIT(r) ACR_IF((r)->max_tokens > 0, acr_json_new_int((r)->max_tokens))
#define ACR_STREAM(d) ACR_IF(!(d)->no_stream, acr_json_new_bool(true))

#endif
