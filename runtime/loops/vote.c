/* Lets the model vote between candidates for which all checks have equal results. The model votes
 * several times, each time with another order of candidates, so that the order does not decide. */
#include "loops/attempt_work.h"

#define VOTES 3u
#define ANSWER_TRIES 2u
#define MOST 8u /* maximum number of candidates in a vote; further candidates are left out */
#define PATCH_SHOWN_BYTES (16u * 1024)

/* Returns the best candidate, and one candidate for each different change that is equally good;
 * owned array of borrowed candidates. */
static GPtrArray *find_tied(const GPtrArray *candidates)
{
    GPtrArray *tied = g_ptr_array_new();
    AcrCandidate *best = acr_candidates_best(candidates, ACR_ANY_ATTEMPT);
    if (!best || !best->diff || acr_proof_is_against(best->proof))
        return tied;
    g_ptr_array_add(tied, best);
    for (guint i = 0; i < candidates->len && tied->len < MOST; i++) {
        AcrCandidate *candidate = candidates->pdata[i];
        bool is_new = candidate->diff && acr_candidates_are_equal(candidate, best);
        for (guint k = 0; k < tied->len; k++)
            is_new = is_new && !acr_candidates_are_same(candidate, tied->pdata[k]);
        if (is_new)
            g_ptr_array_add(tied, candidate);
    }
    return tied;
}

/* Shuffles the candidates for a vote; the vote's number is the seed, so that replays agree. */
static void shuffle(GPtrArray *order, guint vote)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(vote);
    for (guint i = order->len; i > 1; i--) {
        guint other = (guint)g_rand_int_range(random, 0, (gint32)i);
        gpointer kept = order->pdata[i - 1];
        order->pdata[i - 1] = order->pdata[other];
        order->pdata[other] = kept;
    }
}

static AcrConversation *start_vote(const AcrAttemptWork *work, const GPtrArray *order, guint vote)
{
    g_autoptr(GString) patches = g_string_new(NULL);
    for (guint i = 0; i < order->len; i++) {
        const AcrCandidate *candidate = order->pdata[i];
        g_autofree char *whole = acr_utf8_repair_bytes(candidate->diff),
                        *shown = acr_text_shorten(whole, PATCH_SHOWN_BYTES),
                        *patch = acr_fence_text("diff", shown);
        g_string_append_printf(patches, "Patch %u:\n\n%s\n\n", i + 1, patch);
    }
    g_autofree char *name = g_strdup_printf("%s/select_%u", ACR_DIR_GIVEN, vote);
    AcrConversation *conversation = acr_conversation_new(name);
    acr_agent_start(conversation, work->run->prompts, ACR_AGENT_SELECT, "issue", work->run->issue,
                    "patches", patches->str, NULL);
    return conversation;
}

/* Makes one vote, and adds the model's reason to the votes of the chosen candidate. Returns
 * NOT_DONE if there is no answer. */
static AcrStep vote(AcrAttemptWork *work, const GPtrArray *order, guint number, GError **error)
{
    g_autoptr(AcrConversation) conversation = start_vote(work, order, number);
    for (guint i = 0; i < ANSWER_TRIES; i++) {
        g_autoptr(GError) reason = NULL;
        g_autofree char *problem = NULL, *because = NULL;
        const char *answer;
        guint choice;
        if (!acr_loops_go_on(work->run, error))
            return ACR_STEP_FAILED;
        if (!acr_agent_ask(work->model, conversation, ACR_AGENT_SELECT, 0, &answer, &reason)) {
            if (!acr_step_is_no_answer(reason)) {
                g_propagate_error(error, g_steal_pointer(&reason));
                return ACR_STEP_FAILED;
            }
            acr_loops_note(work->run, "the model chose none of the equal candidates: %s",
                           reason->message);
            return ACR_STEP_NOT_DONE;
        }
        if (acr_agent_choice_read(answer, order->len, &choice, &because, &problem)) {
            AcrCandidate *chosen = order->pdata[choice - 1];
            if (!chosen->votes)
                chosen->votes = acr_json_new_array();
            acr_json_append(chosen->votes, acr_json_new_string(because));
            return ACR_STEP_DONE;
        }
        acr_agent_tell(conversation, work->run->prompts, ACR_PROMPT_SELECT_RETRY, "problem",
                       problem, NULL);
        if (i + 1 == ANSWER_TRIES)
            acr_loops_note(work->run, "the answer of the agent 'select' cannot be read: %s",
                           problem);
    }
    for (guint i = 0; i < order->len; i++)
        ((AcrCandidate *)order->pdata[i])->is_vote_unread = true;
    return ACR_STEP_NOT_DONE;
}

AcrStep acr_selection_vote(AcrAttemptWork *work, GError **error)
{
    g_autoptr(GPtrArray) tied = find_tied(work->candidates);
    AcrStep step = ACR_STEP_DONE;
    for (guint i = 1; work->model && tied->len > 1 && i <= VOTES && step == ACR_STEP_DONE; i++) {
        shuffle(tied, i);
        step = vote(work, tied, i, error);
    }
    return step == ACR_STEP_NOT_DONE ? ACR_STEP_DONE : step;
}
