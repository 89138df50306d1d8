/*
 * Tests of the candidates' order: what is proved better, which of equals, and a patch that is
 * judged again.
 */
#include <glib.h>

#include "loops/attempt_work.h"
#include "test_loops.h"

static AcrCandidate *add(GPtrArray *candidates, guint attempt, guint number, AcrProof proof)
{
    AcrCandidate candidate = {.status = ACR_APPLICABLE_PATCH,
                              .attempt = attempt,
                              .number = number,
                              .diff = g_bytes_new_static("diff", 4)};
    AcrCandidate *added = acr_candidates_add(candidates, candidate);
    acr_candidate_prove(added, proof, g_strdup("because"));
    return added;
}

static guint best(const GPtrArray *candidates)
{
    return acr_candidates_best(candidates, ACR_ANY_ATTEMPT)->number;
}

static void test_what_is_proved_better_is_better_and_of_equals_the_first(void)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    g_assert_null(acr_candidates_best(candidates, ACR_ANY_ATTEMPT));
    add(candidates, 0, 1, ACR_PROOF_DOUBTED);
    add(candidates, 0, 2, ACR_PROOF_NONE);
    add(candidates, 0, 3, ACR_PROOF_NONE);
    add(candidates, 0, 4, ACR_PROOF_REFUSED);
    g_assert_cmpuint(best(candidates), ==, 2);
    add(candidates, 0, 5, ACR_PROOF_VERIFIED);
    add(candidates, 0, 6, ACR_PROOF_APPROVED);
    g_assert_cmpuint(best(candidates), ==, 5);
}

static void test_what_was_found_of_a_patch_last_counts(void)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    add(candidates, 0, 1, ACR_PROOF_DOUBTED);
    AcrCandidate *second = add(candidates, 0, 2, ACR_PROOF_APPROVED);
    acr_candidate_prove(second, ACR_PROOF_REFUSED, g_strdup("the validation"));
    g_assert_cmpuint(best(candidates), ==, 1);
    acr_candidate_prove(second, ACR_PROOF_VERIFIED, g_strdup("the test"));
    g_assert_cmpuint(best(candidates), ==, 2);
    g_assert_cmpstr(second->why, ==, "the test");
}

static void test_an_applicable_patch_is_better_than_any_other(void)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    acr_candidates_add(candidates, (AcrCandidate){.status = ACR_RAW_PATCH_BUT_UNMATCHED,
                                                  .number = 1,
                                                  .proof = ACR_PROOF_NONE});
    add(candidates, 0, 2, ACR_PROOF_REFUSED);
    g_assert_cmpuint(best(candidates), ==, 2);
}

static void test_without_an_applicable_patch_the_status_decides_and_of_equals_the_first(void)
{
    static const AcrExtractStatus statuses[] = {
        ACR_RAW_PATCH_BUT_UNPARSED, ACR_RAW_PATCH_BUT_UNMATCHED, ACR_RAW_PATCH_BUT_UNMATCHED};
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    for (guint i = 0; i < G_N_ELEMENTS(statuses); i++)
        acr_candidates_add(candidates, (AcrCandidate){.status = statuses[i], .number = i + 1});
    g_assert_cmpuint(best(candidates), ==, 2);
}

static void test_an_earlier_attempt_gives_way_to_a_better_one_only(void)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    add(candidates, 0, 3, ACR_PROOF_NONE);
    add(candidates, 1, 1, ACR_PROOF_NONE);
    g_assert_cmpuint(best(candidates), ==, 3);
    g_assert_cmpuint(acr_candidates_best(candidates, 1)->number, ==, 1);
    g_assert_null(acr_candidates_best(candidates, 2));
    add(candidates, 1, 2, ACR_PROOF_APPROVED);
    g_assert_cmpuint(best(candidates), ==, 2);
}

#define ADD(name) g_test_add_func("/loops/candidates/" #name, test_##name)

void register_candidates_tests(void)
{
    ADD(what_is_proved_better_is_better_and_of_equals_the_first);
    ADD(what_was_found_of_a_patch_last_counts);
    ADD(an_applicable_patch_is_better_than_any_other);
    ADD(without_an_applicable_patch_the_status_decides_and_of_equals_the_first);
    ADD(an_earlier_attempt_gives_way_to_a_better_one_only);
}
