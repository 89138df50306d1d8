/*
 * An answer while it grows, and the small readings that every dialect needs: text under a ceiling,
 * words of how it ended, counters that a server may leave out or get wrong, errors inside a stream.
 */
#include "llm/llm_private.h"

#include <string.h>

#define PICO_PER_USD 1e12
#define MAX_STATED_USD 1e6 /* what no single call costs */

void acr_draft_init(AcrDraft *draft)
{
    *draft = (AcrDraft){.content = g_string_new(NULL),
                        .refusal = g_string_new(NULL),
                        .usage = ACR_USAGE_UNKNOWN,
                        .content_us = g_get_monotonic_time()};
}

void acr_draft_clear(AcrDraft *draft)
{
    if (draft->content)
        g_string_free(draft->content, TRUE);
    if (draft->refusal)
        g_string_free(draft->refusal, TRUE);
    g_free(draft->finish);
    g_free(draft->model);
    g_free(draft->request_id);
    acr_failure_clear(&draft->failure);
    memset(draft, 0, sizeof *draft);
}

bool acr_draft_add(AcrDraft *draft, const char *text)
{
    gsize len = text ? strlen(text) : 0;

    draft->began = true;
    if (len == 0)
        return true;
    draft->content_us = g_get_monotonic_time();
    if (len > ACR_LLM_MAX_ANSWER - draft->content->len) {
        g_autofree char *why =
            g_strdup_printf("the answer has more than %u bytes", ACR_LLM_MAX_ANSWER);

        acr_draft_fail(draft, ACR_LLM_ERROR_MALFORMED, why);
        draft->failure.retryable = false;
        return false;
    }
    g_string_append_len(draft->content, text, (gssize)len);
    return true;
}

void acr_draft_set(char **word, const char *value)
{
    if (!value)
        return;
    g_free(*word);
    *word = acr_text_shorten(value, ACR_LLM_MAX_MESSAGE);
}

void acr_draft_finish(AcrDraft *draft, const AcrWord *table, const char *word)
{
    if (!word)
        return;
    draft->content_us = g_get_monotonic_time();
    for (const AcrWord *row = table; row->word; row++) {
        if (strcmp(row->word, word) == 0) {
            acr_draft_set(&draft->finish, row->ours);
            return;
        }
    }
    acr_draft_set(&draft->finish, word);
}

AcrDraftStep acr_draft_fail(AcrDraft *draft, AcrLlmError code, const char *message)
{
    acr_failure_clear(&draft->failure);
    acr_fail(&draft->failure, code, message);
    return ACR_DRAFT_FAILED;
}

AcrDraftStep acr_draft_fail_json(AcrDraft *draft, const AcrJson *error)
{
    acr_failure_clear(&draft->failure);
    acr_failure_of_response(200, error, "", 0, NULL, &draft->failure);
    return ACR_DRAFT_FAILED;
}

gint64 acr_counter(const AcrJson *object, const char *key)
{
    gint64 value = acr_json_get_int(object, key, -1);

    return value >= 0 && value < ACR_MAX_COUNTER ? value : -1;
}

AcrUsage acr_usage_of_prompt(gint64 prompt, gint64 cached, gint64 written)
{
    AcrUsage usage = ACR_USAGE_UNKNOWN;

    if (prompt < 0)
        return usage;
    usage.cached = MIN(cached, prompt);
    usage.written = MIN(written, prompt - MAX(usage.cached, 0));
    usage.input = prompt - MAX(usage.cached, 0) - MAX(usage.written, 0);
    return usage;
}

gint64 acr_pico_of_usd(double usd)
{
    return usd >= 0 && usd < MAX_STATED_USD ? (gint64)(usd * PICO_PER_USD + 0.5) : -1;
}

gint64 acr_stated_cost(const AcrJson *object, const char *key)
{
    return acr_pico_of_usd(acr_json_get_double(object, key, -1));
}
