/*
 * Candidates and their order: a patch that is proved better is better, whatever its number; of
 * equals the first stays. One that is not applicable is better than none by its status alone. A
 * patch can be judged again, by a better test or by the validation: what was found last counts, so
 * all patches of an attempt are kept until one is selected.
 */
#include "loops/work.h"

#include <string.h>

static const char *const proof_names[] = {
    [ACR_PROOF_REFUSED] = "refused",   [ACR_PROOF_DOUBTED] = "doubted",   [ACR_PROOF_NONE] = "none",
    [ACR_PROOF_APPROVED] = "approved", [ACR_PROOF_VERIFIED] = "verified",
};

const char *acr_proof_name(AcrProof proof)
{
    g_assert(proof < G_N_ELEMENTS(proof_names));
    return proof_names[proof];
}

bool acr_proof_is_against(AcrProof proof)
{
    return proof < ACR_PROOF_NONE;
}

void acr_candidate_clear(AcrCandidate *candidate)
{
    g_clear_pointer(&candidate->overlay, acr_overlay_free);
    g_clear_pointer(&candidate->diff, g_bytes_unref);
    g_clear_pointer(&candidate->why, g_free);
}

void acr_candidate_prove(AcrCandidate *candidate, AcrProof proof, char *why)
{
    candidate->proof = proof;
    g_free(candidate->why);
    candidate->why = why;
}

static bool is_better(const AcrCandidate *a, const AcrCandidate *b)
{
    if (!a->diff != !b->diff)
        return a->diff != NULL;
    return a->diff ? a->proof > b->proof : a->status > b->status;
}

static void candidate_free(gpointer candidate)
{
    acr_candidate_clear(candidate);
    g_free(candidate);
}

void acr_candidate_offer(AcrCandidate *best, AcrCandidate *candidate)
{
    bool is_first = best->number == 0;
    if (is_first || is_better(candidate, best)) {
        acr_candidate_clear(best);
        *best = *candidate;
    } else {
        acr_candidate_clear(candidate);
    }
    memset(candidate, 0, sizeof *candidate);
}

GPtrArray *acr_candidates_new(void)
{
    return g_ptr_array_new_with_free_func(candidate_free);
}

void acr_candidates_put(GPtrArray *candidates, AcrCandidate *candidate)
{
    AcrCandidate *kept = g_new0(AcrCandidate, 1);
    *kept = *candidate;
    memset(candidate, 0, sizeof *candidate);
    for (guint i = 0; i < candidates->len; i++) {
        AcrCandidate *old = candidates->pdata[i];
        if (old->number == kept->number) {
            candidate_free(old);
            candidates->pdata[i] = kept;
            return;
        }
    }
    g_ptr_array_add(candidates, kept);
}

AcrCandidate *acr_candidates_best(const GPtrArray *candidates)
{
    AcrCandidate *best = NULL;
    for (guint i = 0; i < candidates->len; i++)
        if (!best || is_better(candidates->pdata[i], best))
            best = candidates->pdata[i];
    return best;
}
