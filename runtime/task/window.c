/* Checks in advance whether a conversation fits into the model's context, and rejects it if not.
 * The user gives the size of the context, or it is learnt from an error that states it. The number
 * of tokens is estimated from bytes by the ratio in past calls, and at first by a cautious ratio.
 * If the estimate is too low, the server rejects the request. All values are learnt from data in
 * the journal, so that a resumed run learns the same values. */
#include "task/recorded.h"

#include <string.h>

#define MESSAGE_TOKENS 8u /* estimated number of tokens of a message in addition to its text */
/* initial sums for the estimate, as if a call had used 3 bytes per token */
#define FIRST_BYTES 3000.0
#define FIRST_TOKENS 1000.0 /* tokens of the initial sums; more give them more weight */
#define LEAST_BYTES 1     /* lower limit of bytes per token, because some servers count absurdly */
#define MOST_BYTES 8      /* upper limit of bytes per token */
#define LEAST_WINDOW 1024 /* an error that states a smaller context is ignored */
#define MARGIN 1.05
#define MAX_ROOM_TOKENS 4096 /* tokens kept for the answer, unless the request limits it */
#define ROOM_PART 4          /* at most a quarter of the window is kept for the answer */

void acr_window_init(AcrWindow *window, gint64 tokens)
{
    *window = (AcrWindow){.tokens = MAX(tokens, 0),
                          .is_given = tokens > 0,
                          .seen_bytes = FIRST_BYTES,
                          .seen_tokens = FIRST_TOKENS};
}

static void learn_ratio(AcrWindow *window, const AcrConversation *conversation, gint64 tokens)
{
    gint64 wrapping = (gint64)acr_conversation_size(conversation) * MESSAGE_TOKENS;
    gint64 bytes = (gint64)acr_conversation_bytes(conversation);
    if (tokens <= wrapping)
        return;
    window->seen_bytes += (double)bytes;
    window->seen_tokens +=
        (double)CLAMP(tokens - wrapping, bytes / MOST_BYTES, bytes / LEAST_BYTES);
}

void acr_window_learn_answer(AcrWindow *window, const AcrConversation *conversation,
                             const AcrUsage *usage)
{
    learn_ratio(window, conversation, acr_usage_sent(usage));
}

void acr_window_learn_refusal(AcrWindow *window, const AcrConversation *conversation, gint64 tokens)
{
    bool is_told = tokens >= LEAST_WINDOW;
    gint64 holds = is_told ? tokens : window->tokens;
    if (is_told && !window->is_given)
        window->tokens = tokens;
    /* The request was too long although the estimate said that it fits, so the real ratio of tokens
     * to bytes is higher. */
    if (holds > 0 && acr_window_estimate(window, conversation) < holds)
        learn_ratio(window, conversation, holds);
}

gint64 acr_window_estimate(const AcrWindow *window, const AcrConversation *conversation)
{
    double text =
        (double)acr_conversation_bytes(conversation) * window->seen_tokens / window->seen_bytes;
    return (gint64)(text * MARGIN) + (gint64)acr_conversation_size(conversation) * MESSAGE_TOKENS;
}

guint acr_window_room(const AcrWindow *window, const AcrConversation *conversation)
{
    if (window->tokens == 0)
        return 0;
    return (guint)CLAMP(window->tokens - acr_window_estimate(window, conversation), 1, G_MAXINT32);
}

bool acr_window_fits(const AcrWindow *window, const AcrModelRequest *request, GError **error)
{
    if (window->tokens == 0)
        return true;
    gint64 room = MIN(window->tokens / ROOM_PART, MAX_ROOM_TOKENS);
    if (request->max_tokens > 0)
        room = MIN(room, (gint64)request->max_tokens);
    gint64 needed = acr_window_estimate(window, request->conversation);
    if (needed + room <= window->tokens)
        return true;
    return acr_set_error(
        error, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW,
        "the request was not sent: its %" G_GINT64_FORMAT
        " tokens (estimated) and the answer exceed the context of %" G_GINT64_FORMAT " tokens",
        needed, window->tokens);
}
