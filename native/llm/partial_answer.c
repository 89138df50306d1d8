/* Handles an answer that is still arriving, for all dialects. The functions collect text up to a
 * limit, and read finish reasons, counters that a server may omit or get wrong, and errors inside a
 * stream. */
#include "llm/provider.h"

#include <string.h>

#define PICO_PER_USD 1e12
/* maximum size of a call's arguments in bytes */
#define MAX_ARGUMENTS (ACR_LLM_MAX_ANSWER / ACR_LLM_MAX_TOOL_CALLS)
/* maximum plausible cost of one call in dollars; a higher stated cost is ignored */
#define MAX_STATED_USD 1e6

static void free_call(gpointer data)
{
    AcrToolCall *call = data;
    ACR_FREE(call->id, call->name);
    g_string_free(call->arguments, TRUE);
    g_free(call);
}

void acr_partial_init(AcrPartial *partial)
{
    *partial = (AcrPartial){.content = g_string_new(NULL),
                            .refusal = g_string_new(NULL),
                            .thoughts = g_string_new(NULL),
                            .signature = g_string_new(NULL),
                            .shown_thoughts = g_string_new(NULL),
                            .calls = g_ptr_array_new_with_free_func(free_call),
                            .kept = acr_json_new_array(),
                            .usage = ACR_USAGE_UNKNOWN,
                            .content_us = g_get_monotonic_time()};
}

void acr_partial_clear(AcrPartial *partial)
{
    GString *const texts[] = {partial->content, partial->refusal, partial->thoughts,
                              partial->signature, partial->shown_thoughts};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        if (texts[i])
            g_string_free(texts[i], TRUE);
    g_clear_pointer(&partial->calls, g_ptr_array_unref);
    acr_json_free(partial->kept);
    ACR_FREE(partial->finish, partial->model, partial->request_id, partial->tier);
    acr_failure_clear(&partial->failure);
    memset(partial, 0, sizeof *partial);
}

void acr_partial_touch(AcrPartial *partial)
{
    partial->content_us = g_get_monotonic_time();
    partial->has_said = true;
    partial->pieces++;
    /* an earlier output count does not include the new content */
    partial->usage.output = partial->usage.reasoning = -1;
}

gint64 acr_partial_tokens(const AcrPartial *partial)
{
    gsize bytes = partial->content->len + partial->thoughts->len;
    for (guint i = 0; i < partial->calls->len; i++)
        bytes += ((const AcrToolCall *)partial->calls->pdata[i])->arguments->len;
    gint64 estimate = MAX(partial->pieces, (gint64)bytes / 4);
    return partial->usage.output > 0 ? partial->usage.output : estimate;
}

bool acr_partial_add(AcrPartial *partial, const char *text)
{
    gsize len = text ? strlen(text) : 0;
    partial->began = true;
    if (len == 0)
        return true;
    acr_partial_touch(partial);
    if (len > ACR_LLM_MAX_ANSWER - partial->content->len) {
        g_autofree char *why =
            g_strdup_printf("the answer has more than %u bytes", ACR_LLM_MAX_ANSWER);
        acr_partial_fail(partial, ACR_LLM_ERROR_MALFORMED, why);
        partial->failure.retryable = false;
        return false;
    }
    g_string_append_len(partial->content, text, (gssize)len);
    return true;
}

static void append_bounded(GString *text, const char *more)
{
    if (more && strlen(more) < ACR_LLM_MAX_ANSWER - text->len)
        g_string_append(text, more);
}

void acr_partial_add_refusal(AcrPartial *partial, const char *text)
{
    append_bounded(partial->refusal, text);
}

/* Returns the last call with the index `index`; NULL if there is none, or if its id differs from
 * `id`. A different id means another call, even with the same index. */
static AcrToolCall *find_call(const AcrPartial *partial, gint64 index, const char *id)
{
    for (guint i = partial->calls->len; i-- > 0;) {
        AcrToolCall *call = partial->calls->pdata[i];
        if (call->index == index)
            return id && *id && call->id && strcmp(call->id, id) != 0 ? NULL : call;
    }
    return NULL;
}

void acr_partial_add_call(AcrPartial *partial, gint64 index, const char *id, const char *name,
                          const char *arguments)
{
    AcrToolCall *call = find_call(partial, index, id);
    gsize len = (arguments ? strlen(arguments) : 0) + (call ? call->arguments->len : 0);
    partial->has_calls = true;
    acr_partial_touch(partial);
    if (len > MAX_ARGUMENTS || (!call && partial->calls->len >= ACR_LLM_MAX_TOOL_CALLS))
        partial->calls_too_much = true;
    if (partial->calls_too_much)
        return;
    if (!call) {
        call = g_new0(AcrToolCall, 1);
        call->index = index;
        call->arguments = g_string_new(NULL);
        g_ptr_array_add(partial->calls, call);
    }
    acr_partial_set(&call->id, id && *id ? id : NULL);
    acr_partial_set(&call->name, name && *name ? name : NULL);
    if (arguments)
        g_string_append(call->arguments, arguments);
}

void acr_partial_add_whole_call(AcrPartial *partial, const char *id, const char *name,
                                const AcrJson *arguments)
{
    g_autofree char *text = arguments ? acr_json_print(arguments) : NULL;
    acr_partial_add_call(partial, -1 - (gint64)partial->calls->len, id, name, text);
}

void acr_partial_keep(AcrPartial *partial, AcrJson *item)
{
    acr_json_append(partial->kept, item);
}

void acr_partial_show_thoughts(AcrPartial *partial, const char *thoughts)
{
    acr_partial_touch(partial);
    append_bounded(partial->shown_thoughts, thoughts);
}

void acr_partial_think(AcrPartial *partial, const char *thoughts, const char *signature)
{
    acr_partial_show_thoughts(partial, thoughts);
    append_bounded(partial->thoughts, thoughts);
    append_bounded(partial->signature, signature);
}

void acr_partial_forget_calls(AcrPartial *partial)
{
    g_ptr_array_set_size(partial->calls, 0);
    acr_json_free(partial->kept);
    partial->kept = acr_json_new_array();
}

void acr_partial_refuse_calls(AcrPartial *partial)
{
    if (!partial->calls_too_much)
        return;
    acr_partial_forget_calls(partial);
    g_string_append_printf(partial->content,
                           "%s(No tool was called: this answer called more than %u, or one with "
                           "more than %u bytes of arguments.)",
                           partial->content->len ? "\n" : "", ACR_LLM_MAX_TOOL_CALLS,
                           MAX_ARGUMENTS);
}

AcrJson *acr_partial_tools(const AcrPartial *partial)
{
    AcrJson *calls = acr_json_new_array();
    if (partial->calls->len == 0) {
        acr_json_free(calls);
        return NULL;
    }
    for (guint i = 0; i < partial->calls->len; i++) {
        const AcrToolCall *call = partial->calls->pdata[i];
        acr_json_add(calls, "id", ACR_TEXT(call->id), "name",
                     ACR_TEXT(call->name ? call->name : ""), "arguments",
                     ACR_TEXT(call->arguments->len ? call->arguments->str : "{}"));
    }
    return acr_json_of("text", ACR_TEXT(partial->content->str), "calls", calls, "kept",
                       acr_json_copy(partial->kept), NULL);
}

void acr_partial_set(char **word, const char *value)
{
    if (!value)
        return;
    g_free(*word);
    *word = acr_text_shorten(value, ACR_LLM_MAX_MESSAGE);
}

/* The finish reasons of all dialects, compared case-insensitively, and our words for them. */
static const struct {
    const char *ours;
    const char *words[20]; /* the words, NULL-terminated */
} finish_words[] = {
    {"stop",
     {"stop", "end_turn", "stop_sequence", "eos", "eos_token", "eosFound", "stopStringFound",
      "endoftext", "complete", "completed", "normal", "done", "finished", "end"}},
    {"tool_calls", {"tool_calls", "tool_call", "toolCalls", "tool_use", "function_call"}},
    {"length",
     {"length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit",
      "limit", "maxPredictedTokensReached", "pause_turn"}},
    {"content_filter",
     {"content_filter", "content_filtered", "guardrail_intervened", "SAFETY", "RECITATION",
      "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
      "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "sensitive", "ERROR_TOXIC"}},
    {ACR_FINISH_WINDOW,
     {ACR_FINISH_WINDOW, "contextLengthReached", "context_length_exceeded", "context_length",
      "ERROR_LIMIT"}},
};

void acr_partial_finish(AcrPartial *partial, const char *word)
{
    static const char *const none[] = {"", "null", "FINISH_REASON_UNSPECIFIED", NULL};
    const char *ours = word;
    if (!word || g_strv_contains(none, word))
        return;
    partial->content_us = g_get_monotonic_time();
    for (gsize i = 0; i < G_N_ELEMENTS(finish_words); i++)
        for (gsize k = 0; finish_words[i].words[k]; k++)
            if (g_ascii_strcasecmp(finish_words[i].words[k], word) == 0)
                ours = finish_words[i].ours;
    acr_partial_set(&partial->finish, ours);
}

AcrParseStep acr_partial_fail(AcrPartial *partial, AcrLlmError code, const char *message)
{
    acr_failure_clear(&partial->failure);
    acr_fail(&partial->failure, code, message);
    return ACR_PARSE_FAILED;
}

AcrParseStep acr_partial_fail_json(AcrPartial *partial, const AcrJson *error, const char *text)
{
    acr_failure_clear(&partial->failure);
    acr_failure_of_response(200, error, text, strlen(text), NULL, &partial->failure);
    return ACR_PARSE_FAILED;
}

gint64 acr_partial_counter(AcrPartial *partial, const AcrJson *object, const char *key)
{
    gint64 value = acr_json_get_int(object, key, -1);
    if (value >= 0 && value < ACR_MAX_COUNTER)
        return value;
    if (acr_json_type(acr_json_get(object, key)) != ACR_JSON_NULL)
        partial->is_nonsense = true;
    return -1;
}

AcrUsage acr_partial_prompt(AcrPartial *partial, gint64 prompt, gint64 cached, gint64 written)
{
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    gint64 parts = MAX(cached, 0) + MAX(written, 0);
    if (prompt < 0)
        return usage;
    if (parts > prompt) {
        partial->is_nonsense = true;
        return usage;
    }
    usage.cached = cached;
    usage.written = written;
    usage.input = prompt - parts;
    return usage;
}

void acr_partial_use(AcrPartial *partial, const AcrUsage *said)
{
    AcrUsage *usage = &partial->usage;
    if (acr_usage_sent(said) >= MAX(acr_usage_sent(usage), 0)) {
        usage->input = said->input;
        usage->cached = said->cached;
        usage->written = said->written;
    }
    usage->output = MAX(usage->output, said->output);
    usage->reasoning = MAX(usage->reasoning, said->reasoning);
}

void acr_usage_set_cost(AcrUsage *usage, double usd)
{
    if (!(usd >= 0 && usd < MAX_STATED_USD))
        return;
    usage->cost_pico = MAX(usage->cost_pico, (gint64)(usd * PICO_PER_USD + 0.5));
    usage->cost_stated = true;
}
