/* Declares an answer that is still arriving, and helpers that all dialects use
 * (partial_answer.c). */
#pragma once

#include "llm/failure.h"

/* A tool call that is still arriving. */
typedef struct {
    gint64 index;       /* index of the call's block or item, as counted by the server */
    char *id, *name;    /* owned, or NULL */
    GString *arguments; /* owned; JSON */
} AcrToolCall;
/* maximum number of calls in one answer; if an answer has more, all are dropped */
#define ACR_LLM_MAX_TOOL_CALLS 128u

typedef struct {
    GString *content;
    GString *refusal; /* the text in which the model refuses to answer */
    char *finish;     /* owned; as in AcrModelAnswer; NULL if not known yet */
    char *model;      /* owned */
    char *request_id; /* owned */
    char *tier;       /* owned; the service tier, as the provider calls it; NULL if not named */
    AcrUsage usage;
    bool is_nonsense;    /* a counter was invalid, so `usage` must not be used */
    bool began;          /* the server has begun to answer */
    bool has_said;       /* text, thoughts or calls have arrived */
    bool is_complete;    /* the event that ends the provider's stream has arrived */
    bool has_calls;      /* the answer has tool calls */
    bool calls_too_much; /* there are too many calls, or calls that are too long */
    GPtrArray *calls;    /* array of owned AcrToolCall, as far as they have arrived */
    AcrJson *kept;       /* owned; array of items that the provider wants back unchanged */
    /* owned; text and signature of the thoughts that are still arriving, for `kept` */
    GString *thoughts, *signature;
    GString *shown_thoughts; /* owned; all thoughts that arrived as text */
    bool is_blocked;         /* the prompt was blocked: the call fails with CONTENT_FILTER */
    AcrFailure failure;      /* set if parsing failed (ACR_PARSE_FAILED) */
    /* number of pieces of text, thoughts and calls that have arrived */
    gint64 pieces;
    gint64 content_us; /* when content (not a ping) last arrived (g_get_monotonic_time) */
} AcrPartial;
typedef enum {
    ACR_PARSE_MORE,
    ACR_PARSE_DONE,   /* the stream's last event was read; later events are ignored */
    ACR_PARSE_FAILED, /* `failure` says why */
} AcrParseStep;
void acr_partial_init(AcrPartial *partial);
void acr_partial_clear(AcrPartial *partial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrPartial, acr_partial_clear)
/* Appends text (may be NULL). Returns false if the answer exceeds ACR_LLM_MAX_ANSWER; `failure`
 * is then set. */
bool acr_partial_add(AcrPartial *partial, const char *text) ACR_MUST_USE;
/* Appends text in which the model refuses to answer (may be NULL), up to ACR_LLM_MAX_ANSWER. */
void acr_partial_add_refusal(AcrPartial *partial, const char *text);
/* Adds a tool call, or a piece of a call; a new index begins a new call. An argument is NULL if the
 * piece does not contain it. */
void acr_partial_add_call(AcrPartial *partial, gint64 index, const char *id, const char *name,
                          const char *arguments);
/* Adds a call that arrived in one piece, with its arguments as a JSON object. */
void acr_partial_add_whole_call(AcrPartial *partial, const char *id, const char *name,
                                const AcrJson *arguments);
/* Replaces all calls of a complete answer by a note to the model if the answer has too many calls,
 * or calls that are too long. */
void acr_partial_refuse_calls(AcrPartial *partial);
/* Keeps an item (taken) that must be sent back with the calls. */
void acr_partial_keep(AcrPartial *partial, AcrJson *item);
/* Adds thoughts that need not be sent back (may be NULL), up to the limit of an answer. */
void acr_partial_show_thoughts(AcrPartial *partial, const char *thoughts);
/* Adds thoughts and their signature to `kept`, because they must be sent back. Each may be NULL. */
void acr_partial_think(AcrPartial *partial, const char *thoughts, const char *signature);
/* Drops calls and kept items, because the server sends all of them again in one piece. */
void acr_partial_forget_calls(AcrPartial *partial);
/* Returns the calls in the form of AcrModelAnswer, without "by", owned; NULL if there are none. */
AcrJson *acr_partial_tools(const AcrPartial *partial) ACR_MUST_USE;
/* Returns the number of tokens that have arrived. If the server does not count them, estimates it
 * as the number of pieces, or a quarter of the bytes if a quarter is more. */
gint64 acr_partial_tokens(const AcrPartial *partial);
/* Records that content other than text (thoughts, calls) has arrived, and drops an earlier
 * output count. */
void acr_partial_touch(AcrPartial *partial);
/* Replaces a string by a copy of `value`; NULL changes nothing. */
void acr_partial_set(char **word, const char *value);
/* Sets `finish`, translated to OpenAI's words; an unknown word is kept. NULL, "" and "null"
 * change nothing. */
void acr_partial_finish(AcrPartial *partial, const char *word);
#define ACR_FINISH_WINDOW "model_context_window_exceeded"
AcrParseStep acr_partial_fail(AcrPartial *partial, AcrLlmError code, const char *message);
/* Classifies an error that arrived in a stream; `text` is everything that arrived. Returns
 * ACR_PARSE_FAILED. */
AcrParseStep acr_partial_fail_json(AcrPartial *partial, const AcrJson *error, const char *text);

/* maximum counter; larger numbers are not exact in JSON */
#define ACR_MAX_COUNTER ((gint64)1 << 53)
/* Returns a counter; -1 if it is missing or invalid. An invalid counter also sets `is_nonsense`. */
gint64 acr_partial_counter(AcrPartial *partial, const AcrJson *object, const char *key);
/* Makes a usage from the counters of a server whose prompt count includes the tokens read from
 * and written to the cache (-1: unknown). Subtracts the cache counts, and leaves the other
 * members unknown. If the cache counts exceed the prompt count, all are invalid. */
AcrUsage acr_partial_prompt(AcrPartial *partial, gint64 prompt, gint64 cached, gint64 written);
/* Merges the counters of an event into the usage. Counters are cumulative, so each counter keeps
 * its largest value; missing counters change nothing. */
void acr_partial_use(AcrPartial *partial, const AcrUsage *said);
/* Sets the cost that the server states, in dollars. Of several costs, the highest counts; an
 * invalid cost changes nothing. */
void acr_usage_set_cost(AcrUsage *usage, double usd);
