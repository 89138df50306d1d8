/*
 * Candidates and their order: a patch that is proved better is better, whatever its number; of
 * equals the first. One that is not applicable is better than none by its status alone. A patch can
 * be judged again, by a better test or by the validation: what was found last counts.
 */
#include "loops/attempt_work.h"

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

static void candidate_free(gpointer data)
{
    AcrCandidate *candidate = data;
    acr_overlay_free(candidate->overlay);
    g_clear_pointer(&candidate->diff, g_bytes_unref);
    g_free(candidate->why);
    g_free(candidate->doubt);
    g_free(candidate);
}

GPtrArray *acr_candidates_new(void)
{
    return g_ptr_array_new_with_free_func(candidate_free);
}

AcrCandidate *acr_candidates_add(GPtrArray *candidates, AcrCandidate candidate)
{
    AcrCandidate *kept = g_new0(AcrCandidate, 1);
    *kept = candidate;
    g_ptr_array_add(candidates, kept);
    return kept;
}

void acr_candidate_prove(AcrCandidate *candidate, AcrProof proof, char *why)
{
    candidate->proof = proof;
    candidate->is_judged = true;
    g_free(candidate->why);
    candidate->why = why;
}

static bool is_better(const AcrCandidate *a, const AcrCandidate *b)
{
    if (!a->diff != !b->diff)
        return a->diff != NULL;
    return a->diff ? a->proof > b->proof : a->status > b->status;
}

AcrCandidate *acr_candidates_best(const GPtrArray *candidates, guint attempt)
{
    AcrCandidate *best = NULL;
    for (guint i = 0; i < candidates->len; i++) {
        AcrCandidate *candidate = candidates->pdata[i];
        bool counts = attempt == ACR_ANY_ATTEMPT || candidate->attempt == attempt;
        if (counts && (!best || is_better(candidate, best)))
            best = candidate;
    }
    return best;
}
