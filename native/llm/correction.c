/* Learns from an error message which part of the request a model or server rejects, so that the
 * next request omits that part. All providers share this file, and each adds the words of its own
 * error messages. */
#include "llm/provider.h"

#include <string.h>

static bool is_name_char(char c)
{
    return g_ascii_isalnum(c) || c == '_';
}

/* Whether the text ends before `at` with a word that introduces a name, such as "parameter ". */
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

bool acr_failure_says(const AcrFailure *failure, const char *words)
{
    g_autofree char *text = g_ascii_strdown(failure->message ? failure->message : "", -1);
    return acr_says_any(text, words);
}

bool acr_learn(bool *flag, bool is_so)
{
    if (*flag || !is_so)
        return false;
    *flag = true;
    return true;
}

bool acr_drop_temperature(AcrDialect *dialect, bool is_so)
{
    if (dialect->temperature < 0 || !is_so)
        return false;
    dialect->temperature = -1;
    return true;
}

bool acr_drop_effort(AcrDialect *dialect, bool is_so)
{
    if (!dialect->effort || !is_so)
        return false;
    dialect->effort = NULL;
    return true;
}

/* Retries once without tools, because an error that names no parameter may be about the tools. */
static bool correct_tools(AcrDialect *dialect, const AcrFailure *failure)
{
    bool names_tools = acr_failure_says(failure, "tool|function");
    bool is_refusal = failure->code == ACR_LLM_ERROR_BAD_REQUEST ||
                      (failure->code == ACR_LLM_ERROR_SERVER && names_tools);
    if (!dialect->asks_tools || dialect->no_tools || !is_refusal)
        return false;
    return acr_learn(&dialect->no_strict, acr_failure_says(failure, "strict")) ||
           acr_learn(&dialect->no_tools, true);
}

/* Learns that the template of the model has no system role, or requires user and assistant to
 * alternate. The server then rejects the conversation, or fails. */
static bool correct_roles(AcrDialect *dialect, const AcrFailure *failure)
{
    return acr_learn(&dialect->no_system,
                     acr_failure_says(failure, "system role|system message|system prompt|system "
                                               "instruction|system_instruction|developer "
                                               "instruction|'system'|\"system\"|`system`|role: "
                                               "system|role system|messages[0].role") &&
                         acr_failure_says(failure, "support|allowed|enabled|permitted|invalid|"
                                                   "unknown|unexpected|must be|only user")) ||
           acr_learn(
               &dialect->takes_turns,
               acr_failure_says(failure, "alternat|consecutive|same role|roles must|last role"));
}

#define MAX_NUMBERS 16u /* maximum number of numbers that are read in a message */
#define LEAST_LIMIT 256 /* minimum limit in tokens; a smaller limit is too small for an answer */

/* Collects the numbers in an error message, except the HTTP status; returns how many there are. */
static guint numbers_of(const AcrFailure *failure, gint64 out[static MAX_NUMBERS])
{
    const char *text = failure->message ? failure->message : "";
    return acr_numbers_in(g_str_has_prefix(text, "HTTP ") ? text + strlen("HTTP 400") : text, out,
                          MAX_NUMBERS);
}

/* Lowers the answer limit if an error says that it exceeds the model's limit. The largest number in
 * the message that is smaller than the sent limit is probably the allowed limit; if the message has
 * no smaller number, half of the sent limit is tried. */
static bool correct_limit(AcrDialect *dialect, const AcrFailure *failure)
{
    gint64 numbers[MAX_NUMBERS], most = 0, sent = dialect->sent_limit;
    guint n = numbers_of(failure, numbers);
    if (sent <= LEAST_LIMIT ||
        !acr_failure_says(failure, "max_tokens|max_completion_tokens|maxoutputtokens|max_output_"
                                   "tokens|max_new_tokens|maximum tokens|max tokens|maxtokens") ||
        !acr_failure_says(
            failure,
            "large|at most|less than|range|exceed|maximum allowed|lower than|<=|> |up to") ||
        acr_failure_says(failure, "unsupported|not supported|unknown|unrecognized|not permitted"))
        return false;
    for (guint i = 0; i < n; i++)
        if (numbers[i] < sent)
            most = MAX(most, numbers[i]);
    most -= acr_failure_says(failure, "exclusive|lower than") ? 1 : 0;
    dialect->max_output = most >= LEAST_LIMIT ? most : sent / 2;
    dialect->is_limited = true;
    return true;
}

/* Handles an error which says that prompt and answer limit together exceed the window. The limit of
 * the call becomes the number of tokens that the prompt leaves for the answer. */
static bool correct_room(AcrDialect *dialect, const AcrFailure *failure)
{
    gint64 numbers[MAX_NUMBERS], sent = dialect->sent_limit, prompt = 0;
    guint n = numbers_of(failure, numbers);
    for (guint i = 0; i < n; i++)
        if (numbers[i] != sent && numbers[i] < failure->window &&
            numbers[i] + sent > failure->window)
            prompt = MAX(prompt, numbers[i]);
    if (dialect->room > 0 || sent <= LEAST_LIMIT || prompt == 0 ||
        failure->window - prompt < LEAST_LIMIT)
        return false;
    dialect->room = failure->window - prompt;
    return true;
}

bool acr_move_to_responses(AcrEndpoint *endpoint, const AcrFailure *failure)
{
    static const char path[] = "/chat/completions";
    gsize len = strlen(endpoint->url);
    if (failure->code != ACR_LLM_ERROR_BAD_REQUEST || !g_str_has_suffix(endpoint->url, path) ||
        !acr_failure_says(failure, "chat/completions|chat completions|chatcompletion|chat model") ||
        !acr_failure_says(failure,
                          "responses|not a chat model|not accessible via|does not work with"))
        return false;
    g_autofree char *base = g_strndup(endpoint->url, len - strlen(path));
    g_free(endpoint->url);
    endpoint->url = g_strconcat(base, "/responses", NULL);
    endpoint->provider = &acr_provider_openai_responses;
    return true;
}

bool acr_correct(const AcrProvider *provider, AcrDialect *dialect, const AcrFailure *failure)
{
    bool is_refusal = failure->code == ACR_LLM_ERROR_BAD_REQUEST;
    if (failure->code == ACR_LLM_ERROR_CONTEXT_OVERFLOW)
        return correct_room(dialect, failure);
    if ((is_refusal || failure->code == ACR_LLM_ERROR_SERVER) && correct_roles(dialect, failure))
        return true;
    return (is_refusal &&
            (correct_limit(dialect, failure) || provider->correct(dialect, failure))) ||
           correct_tools(dialect, failure);
}

/* maximum number of bytes of text per token; repeated bytes are not counted */
#define MAX_TOKEN_BYTES 8
#define LEAST_CUT_TOKENS 500 /* minimum plausible token count; smaller counts are placeholders */

bool acr_fail_cut_prompt(const AcrConversation *conversation, const AcrUsage *usage,
                         AcrFailure *failure)
{
    gint64 tokens = acr_usage_sent(usage), bytes = 0;
    for (gsize i = 0; i < acr_conversation_size(conversation); i++)
        for (const char *at = acr_conversation_message(conversation, i)->content; *at; at++)
            bytes += at[0] != at[1];
    if (tokens < LEAST_CUT_TOKENS || bytes / MAX_TOKEN_BYTES <= tokens)
        return false;
    g_autofree char *why = g_strdup_printf(
        "the server cut the prompt: it counted %" G_GINT64_FORMAT " tokens for %" G_GINT64_FORMAT
        " bytes; raise its context window (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH)",
        tokens, (gint64)acr_conversation_bytes(conversation));
    acr_fail(failure, ACR_LLM_ERROR_CONTEXT_OVERFLOW, why);
    failure->window = tokens;
    return true;
}
