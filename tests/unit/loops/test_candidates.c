/*
 * Tests of the candidates' order: what is proved better, which of equals, and a patch that is
 * judged again.
 */
#include <glib.h>

#include "loops/work.h"
#include "test_loops.h"

static AcrCandidate make(guint number, AcrProof proof)
{
    AcrCandidate candidate = {
        .status = ACR_APPLICABLE_PATCH, .number = number, .diff = g_bytes_new_static("diff", 4)};
    acr_candidate_prove(&candidate, proof, g_strdup("because"));
    return candidate;
}

static void put(GPtrArray *candidates, guint number, AcrProof proof)
{
    AcrCandidate candidate = make(number, proof);
    acr_candidates_put(candidates, &candidate);
    g_assert_null(candidate.diff); /* it is taken */
}

static void test_what_is_proved_better_is_better_and_of_equals_the_first(void)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    g_assert_null(acr_candidates_best(candidates));
    put(candidates, 1, ACR_PROOF_DOUBTED);
    put(candidates, 2, ACR_PROOF_NONE);
    put(candidates, 3, ACR_PROOF_NONE);
    put(candidates, 4, ACR_PROOF_REFUSED);
    g_assert_cmpuint(acr_candidates_best(candidates)->number, ==, 2);
    put(candidates, 5, ACR_PROOF_VERIFIED);
    put(candidates, 6, ACR_PROOF_APPROVED);
    g_assert_cmpuint(acr_candidates_best(candidates)->number, ==, 5);
}

static void test_what_was_found_of_a_patch_last_counts(void)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    put(candidates, 1, ACR_PROOF_DOUBTED);
    put(candidates, 2, ACR_PROOF_APPROVED);
    put(candidates, 2, ACR_PROOF_REFUSED);
    g_assert_cmpuint(candidates->len, ==, 2);
    g_assert_cmpuint(acr_candidates_best(candidates)->number, ==, 1);
    put(candidates, 2, ACR_PROOF_VERIFIED);
    g_assert_cmpuint(acr_candidates_best(candidates)->number, ==, 2);
}

static void test_an_applicable_patch_is_better_than_any_other(void)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    AcrCandidate raw = {
        .status = ACR_RAW_PATCH_BUT_UNMATCHED, .number = 1, .proof = ACR_PROOF_NONE};
    acr_candidates_put(candidates, &raw);
    put(candidates, 2, ACR_PROOF_REFUSED);
    g_assert_cmpuint(acr_candidates_best(candidates)->number, ==, 2);
}

static void test_an_earlier_attempt_gives_way_to_a_better_one_only(void)
{
    AcrCandidate best = {0}, first = make(3, ACR_PROOF_NONE), same = make(1, ACR_PROOF_NONE),
                 better = make(2, ACR_PROOF_APPROVED);
    acr_candidate_offer(&best, &first);
    acr_candidate_offer(&best, &same);
    g_assert_cmpuint(best.number, ==, 3);
    acr_candidate_offer(&best, &better);
    g_assert_cmpuint(best.number, ==, 2);
    g_assert_null(same.diff);
    g_assert_null(better.diff);
    acr_candidate_clear(&best);
}

void register_candidates_tests(void)
{
    g_test_add_func("/loops/candidates/what_is_proved_better_is_better_and_of_equals_the_first",
                    test_what_is_proved_better_is_better_and_of_equals_the_first);
    g_test_add_func("/loops/candidates/what_was_found_of_a_patch_last_counts",
                    test_what_was_found_of_a_patch_last_counts);
    g_test_add_func("/loops/candidates/an_applicable_patch_is_better_than_any_other",
                    test_an_applicable_patch_is_better_than_any_other);
    g_test_add_func("/loops/candidates/an_earlier_attempt_gives_way_to_a_better_one_only",
                    test_an_earlier_attempt_gives_way_to_a_better_one_only);
}
