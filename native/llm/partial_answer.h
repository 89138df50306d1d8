/* An answer while it comes, and the small readings that every dialect needs (partial_answer.c). */
#ifndef ACR_LLM_PARTIAL_ANSWER_H
#define ACR_LLM_PARTIAL_ANSWER_H

#include "llm/failure.h"

/* A tool that is called, while it comes. */
typedef struct {
    gint64 index;       /* of its block or item, as the server counts them */
    char *id, *name;    /* owned, or NULL */
    GString *arguments; /* owned; JSON */
} AcrToolCall;
#define ACR_LLM_MAX_TOOL_CALLS 128u /* of one answer; of one with more none is read */

typedef struct {
    GString *content;
    GString *refusal; /* the model's own words of refusal */
    char *finish;     /* owned; as in AcrModelAnswer; NULL: not said yet */
    char *model;      /* owned */
    char *request_id; /* owned */
    AcrUsage usage;
    bool is_nonsense;    /* a counter was not a number of tokens: no part of `usage` is believed */
    bool began;          /* the server has begun to answer */
    bool has_said;       /* text, thoughts or calls came */
    bool is_complete;    /* the provider's terminal event came */
    bool has_calls;      /* tool calls */
    bool calls_too_much; /* more of them, or longer ones, than are read */
    GPtrArray *calls;    /* owned; of AcrToolCall, as far as they came */
    AcrJson *kept;       /* owned; a list: what the provider wants back as it was */
    GString *thoughts, *signature; /* owned; of the thoughts that come; for `kept` */
    GString *shown_thoughts;       /* owned; all thoughts that came as text */
    bool is_blocked;               /* the prompt was blocked: CONTENT_FILTER whatever else came */
    AcrFailure failure;            /* of ACR_PARSE_FAILED */
    gint64 pieces;                 /* that came of text, thoughts and calls */
    gint64 content_us;             /* when content, not a ping, came last (g_get_monotonic_time) */
} AcrPartial;
typedef enum {
    ACR_PARSE_MORE,
    ACR_PARSE_DONE,   /* the terminal event: what follows is ignored */
    ACR_PARSE_FAILED, /* `failure` says why */
} AcrParseStep;
void acr_partial_init(AcrPartial *partial);
void acr_partial_clear(AcrPartial *partial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrPartial, acr_partial_clear)
/* Appends text (may be NULL). False: the answer exceeds ACR_LLM_MAX_ANSWER, see `failure`. */
bool acr_partial_add(AcrPartial *partial, const char *text) ACR_MUST_USE;
/* Appends the model's own words of refusal (may be NULL), up to the same ceiling. */
void acr_partial_add_refusal(AcrPartial *partial, const char *text);
/* A piece of a tool call, or all of it: an index that is new begins one. What is NULL is not said. */
void acr_partial_add_call(AcrPartial *partial, gint64 index, const char *id, const char *name,
                          const char *arguments);
/* The same of a call that came whole, with its arguments as a JSON object. */
void acr_partial_add_whole_call(AcrPartial *partial, const char *id, const char *name,
                                const AcrJson *arguments);
/* Of a whole answer whose calls are too many or too long: a word to the model in place of all of them. */
void acr_partial_refuse_calls(AcrPartial *partial);
/* Keeps what must be sent back with the calls (taken). */
void acr_partial_keep(AcrPartial *partial, AcrJson *item);
/* Thoughts that need not be sent back (may be NULL), under the ceiling of an answer. */
void acr_partial_show_thoughts(AcrPartial *partial, const char *thoughts);
/* Likewise thoughts or their signature (either may be NULL) that are kept for `kept`. */
void acr_partial_think(AcrPartial *partial, const char *thoughts, const char *signature);
/* Forgets calls and what was kept: the whole comes again. */
void acr_partial_forget_calls(AcrPartial *partial);
/* The calls as AcrModelAnswer has them, but for "by"; owned; NULL: none. */
AcrJson *acr_partial_tools(const AcrPartial *partial) ACR_MUST_USE;
/* Tokens that have come: as the server counts them, else at least one for each piece and four bytes. */
gint64 acr_partial_tokens(const AcrPartial *partial);
/* Content other than text came: thoughts, calls. What was said of the output before it is forgotten. */
void acr_partial_touch(AcrPartial *partial);
/* Replaces a word (copied); NULL changes nothing. */
void acr_partial_set(char **word, const char *value);
/* Sets `finish`, in our words; an unknown word stays as it is; NULL, "" and "null" change nothing. */
void acr_partial_finish(AcrPartial *partial, const char *word);
#define ACR_FINISH_WINDOW "model_context_window_exceeded"
AcrParseStep acr_partial_fail(AcrPartial *partial, AcrLlmError code, const char *message);
/* The error of a stream, classified, `text` being all that came; FAILED. */
AcrParseStep acr_partial_fail_json(AcrPartial *partial, const AcrJson *error, const char *text);

#define ACR_MAX_COUNTER ((gint64)1 << 53) /* beyond it a JSON number is not exact */
/* A counter; -1 where the server says none, or nonsense, which is noted in the answer. */
gint64 acr_partial_counter(AcrPartial *partial, const AcrJson *object, const char *key);
/* Counters of a server whose count of the prompt includes what was cached and written (each -1: not
 * said), as disjoint ones; all others unknown. More cached and written than sent is nonsense. */
AcrUsage acr_partial_prompt(AcrPartial *partial, gint64 prompt, gint64 cached, gint64 written);
/* Takes the counters that an event says. They are sums so far: of two events the larger count, by
 * side; what an event does not say stays. */
void acr_partial_use(AcrPartial *partial, const AcrUsage *said);
/* A cost that the server states, as usage's; of several the highest; nonsense changes nothing. */
void acr_usage_set_cost(AcrUsage *usage, double usd);

#endif
