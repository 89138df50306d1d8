/* Keeps candidates and compares them. A patch with a better proof is better. With equal proof, a
 * patch with which the project's tests have run is better, and a patch that changes only tests is
 * worse. Among equal patches, the first is selected; among rejected patches, the latest, because
 * its writer knew the verdicts on the earlier ones. If no patch applies, the best status decides.
 * If a patch is judged again (with a better test, or because it was written again), the last
 * judgement counts. */
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
    ACR_FREE(candidate->why, candidate->doubt);
    acr_test_comparison_free(candidate->tests);
    acr_json_free(candidate->experiments);
    acr_json_free(candidate->scripts);
    g_free(candidate->examples);
    acr_json_free(candidate->votes);
    ACR_FREE(candidate->change, candidate);
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

bool acr_candidates_are_same(const AcrCandidate *a, const AcrCandidate *b)
{
    return a->diff && b->diff &&
           (g_bytes_equal(a->diff, b->diff) || (a->change && g_strcmp0(a->change, b->change) == 0));
}

guint acr_candidates_count_same(const GPtrArray *candidates, const AcrCandidate *candidate)
{
    guint count = 0;
    for (guint i = 0; i < candidates->len; i++)
        count += acr_candidates_are_same(candidates->pdata[i], candidate);
    return count;
}

/* Returns the last judged candidate with the same diff; if there is none, returns `candidate`. */
static AcrCandidate *last_judged(const GPtrArray *candidates, AcrCandidate *candidate)
{
    for (guint i = candidate->diff ? candidates->len : 0; i > 0; i--) {
        AcrCandidate *other = candidates->pdata[i - 1];
        if (other->proof != ACR_PROOF_NONE && acr_candidates_are_same(other, candidate))
            return other;
    }
    return candidate;
}

bool acr_candidate_is_free(const AcrCandidate *candidate)
{
    const AcrTestComparison *tests = candidate->tests;
    return candidate->is_free && !candidate->is_of_tests &&
           !acr_proof_is_against(candidate->proof) &&
           !(tests && (tests->is_cut || tests->is_stopped));
}

guint acr_candidate_expected(const AcrCandidate *candidate)
{
    const AcrTestComparison *tests = candidate->tests;
    return tests && tests->broken ? tests->broken->len - acr_test_comparison_regressions(tests) : 0;
}

guint acr_candidate_suspects(const AcrCandidate *candidate)
{
    const AcrTestComparison *tests = candidate->tests;
    return tests && tests->unconfirmed ? tests->unconfirmed->len : 0;
}

/* Orders candidates: verified and without regressions; verified; without regressions; others.
 * Within each group the proof decides. */
guint acr_candidate_worth(const AcrCandidate *candidate)
{
    bool is_verified = candidate->proof == ACR_PROOF_VERIFIED;
    return (is_verified ? 32 : 0) + (acr_candidate_is_free(candidate) ? 16 : 0) +
           (guint)candidate->proof;
}

/* Compares the results of executions. Returns a value above 0 if `a` is better, below 0 if `b` is
 * better, and 0 if they are equal. */
static int compare_candidates(const AcrCandidate *a, const AcrCandidate *b)
{
    const guint keys[][2] = {{acr_candidate_worth(a), acr_candidate_worth(b)},
                             {!a->is_of_tests, !b->is_of_tests},
                             {a->passes, b->passes},
                             {acr_candidate_expected(a), acr_candidate_expected(b)},
                             {a->changes_examples, b->changes_examples},
                             {acr_candidate_suspects(b), acr_candidate_suspects(a)},
                             {a->agrees, b->agrees},
                             {a->count, b->count}};
    for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] > keys[i][1] ? 1 : -1;
    return 0;
}

bool acr_candidates_are_equal(const AcrCandidate *a, const AcrCandidate *b)
{
    return compare_candidates(a, b) == 0;
}

/* Returns whether `a` is better than `b`, which is the earlier candidate. */
static bool is_better(const AcrCandidate *a, const AcrCandidate *b)
{
    if (!a->diff != !b->diff)
        return a->diff != NULL;
    if (!a->diff)
        return a->status > b->status;
    int order = compare_candidates(a, b);
    gsize votes_a = acr_json_size(a->votes), votes_b = acr_json_size(b->votes);
    if (order == 0 && votes_a != votes_b)
        return votes_a > votes_b;
    return order > 0 || (order == 0 && acr_proof_is_against(a->proof));
}

AcrCandidate *acr_candidates_best(const GPtrArray *candidates, guint attempt)
{
    AcrCandidate *best = NULL;
    for (guint i = 0; i < candidates->len; i++) {
        AcrCandidate *candidate = candidates->pdata[i];
        if (attempt != ACR_ANY_ATTEMPT && candidate->attempt != attempt)
            continue;
        candidate = last_judged(candidates, candidate);
        if (!best || is_better(candidate, best))
            best = candidate;
    }
    return best;
}
