/*
 * Candidates and their order: a patch that is proved better is better, whatever its number; of
 * equals the first stays. One that is not applicable is better than none by its status alone.
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
