/* Tests of the order of candidates: the better proof, equal patches, and patches that are judged
 * again. */
#include <glib.h>
#include <string.h>

#include "loops/attempt_work.h"
#include "unit/cases.h"

static AcrCandidate *add_diff(GPtrArray *candidates, guint attempt, guint number, AcrProof proof, guint diff)
{
    g_autofree char *text = g_strdup_printf("diff %u", diff);
    AcrCandidate candidate = {
        .status = ACR_APPLICABLE_PATCH, .attempt = attempt, .number = number, .diff = g_bytes_new(text, strlen(text))};
    AcrCandidate *added = acr_candidates_add(candidates, candidate);
    acr_candidate_prove(added, proof, g_strdup("because"));
    return added;
}

/* Adds a candidate with a diff that no other candidate has. */
static AcrCandidate *add(GPtrArray *candidates, guint attempt, guint number, AcrProof proof)
{
    return add_diff(candidates, attempt, number, proof, candidates->len);
}

static guint best(const GPtrArray *candidates)
{
    return acr_candidates_best(candidates, ACR_ANY_ATTEMPT)->number;
}

TEST("/loops/candidates", what_is_proved_better_is_better_and_of_equals_the_first)
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

TEST("/loops/candidates", what_was_found_of_a_patch_last_counts)
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

TEST("/loops/candidates", an_applicable_patch_is_better_than_any_other)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    acr_candidates_add(candidates,
                       (AcrCandidate){.status = ACR_RAW_PATCH_BUT_UNMATCHED, .number = 1, .proof = ACR_PROOF_NONE});
    add(candidates, 0, 2, ACR_PROOF_REFUSED);
    g_assert_cmpuint(best(candidates), ==, 2);
}

TEST("/loops/candidates", without_an_applicable_patch_the_status_decides_and_of_equals_the_first)
{
    static const AcrExtractStatus statuses[] = {ACR_RAW_PATCH_BUT_UNPARSED, ACR_RAW_PATCH_BUT_UNMATCHED,
                                                ACR_RAW_PATCH_BUT_UNMATCHED};
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    for (guint i = 0; i < G_N_ELEMENTS(statuses); i++)
        acr_candidates_add(candidates, (AcrCandidate){.status = statuses[i], .number = i + 1});
    g_assert_cmpuint(best(candidates), ==, 2);
}

TEST("/loops/candidates", an_earlier_attempt_gives_way_to_a_better_one_only)
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

TEST("/loops/candidates", of_rejected_ones_the_latest_is_the_best)
{
    static const AcrProof proofs[] = {ACR_PROOF_REFUSED, ACR_PROOF_DOUBTED};
    for (guint k = 0; k < G_N_ELEMENTS(proofs); k++) {
        g_autoptr(GPtrArray) candidates = acr_candidates_new();
        for (guint i = 1; i <= 5; i++)
            add(candidates, 0, i, proofs[k]);
        g_assert_cmpuint(best(candidates), ==, 5);
    }
}

TEST("/loops/candidates", a_diff_that_was_rejected_is_no_better_where_nobody_judges_it)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    add_diff(candidates, 0, 1, ACR_PROOF_DOUBTED, 7);
    add_diff(candidates, 1, 1, ACR_PROOF_NONE, 7);
    g_assert_cmpint(acr_candidates_best(candidates, 1)->proof, ==, ACR_PROOF_DOUBTED);
    g_assert_cmpint(acr_candidates_best(candidates, ACR_ANY_ATTEMPT)->proof, ==, ACR_PROOF_DOUBTED);
    add_diff(candidates, 1, 2, ACR_PROOF_NONE, 8);
    g_assert_cmpuint(best(candidates), ==, 2);
}

TEST("/loops/candidates", of_a_diff_that_is_judged_twice_the_last_verdict_counts)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    add_diff(candidates, 0, 1, ACR_PROOF_APPROVED, 7);
    add_diff(candidates, 0, 2, ACR_PROOF_DOUBTED, 8);
    add_diff(candidates, 0, 3, ACR_PROOF_REFUSED, 7);
    g_assert_cmpuint(best(candidates), ==, 2);
    add_diff(candidates, 1, 1, ACR_PROOF_VERIFIED, 8);
    g_assert_cmpint(acr_candidates_best(candidates, 0)->proof, ==, ACR_PROOF_VERIFIED);
}

TEST("/loops/candidates", free_of_regressions_is_better_than_anything_but_verified)
{
    static const AcrProof proofs[] = {ACR_PROOF_APPROVED, ACR_PROOF_REFUSED,  ACR_PROOF_NONE,
                                      ACR_PROOF_APPROVED, ACR_PROOF_VERIFIED, ACR_PROOF_VERIFIED};
    static const bool are_free[] = {false, true, true, true, false, true};
    static const guint bests[] = {1, 1, 3, 4, 5, 6};
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    for (guint i = 0; i < G_N_ELEMENTS(proofs); i++) {
        add(candidates, 0, i + 1, proofs[i])->is_free = are_free[i];
        g_assert_cmpuint(best(candidates), ==, bests[i]);
    }
}

TEST("/loops/candidates", of_equals_the_one_that_more_speaks_for_is_better)
{
    /* passed scripts, expected failures, suspects, agreeing ones, equal changes */
    static const guint rows[][5] = {{0, 0, 1, 9, 1}, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 2}, {0, 0, 0, 3, 1},
                                    {0, 1, 1, 1, 1}, {1, 0, 1, 1, 1}, {1, 0, 1, 1, 1}};
    static const guint bests[] = {1, 2, 3, 4, 5, 6, 6};
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        AcrCandidate *added = add(candidates, 0, i + 1, ACR_PROOF_NONE);
        added->tests = g_new0(AcrTestComparison, 1);
        added->tests->unconfirmed = g_ptr_array_new_with_free_func(g_free);
        if (rows[i][2])
            g_ptr_array_add(added->tests->unconfirmed, g_strdup("test_a"));
        if (rows[i][1]) {
            acr_test_comparison_break(added->tests, "test_b", NULL);
            ((AcrBrokenTest *)added->tests->broken->pdata[0])->excuse = g_strdup("it says so");
        }
        added->passes = rows[i][0];
        added->agrees = rows[i][3];
        added->count = rows[i][4];
        g_assert_cmpuint(best(candidates), ==, bests[i]);
    }
    add(candidates, 0, 8, ACR_PROOF_APPROVED);
    g_assert_cmpuint(best(candidates), ==, 8);
}

TEST("/loops/candidates", a_check_that_was_cut_short_shows_no_freedom_of_regressions)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    AcrCandidate *cut = add(candidates, 0, 1, ACR_PROOF_NONE), *whole = add(candidates, 0, 2, ACR_PROOF_NONE);
    cut->is_free = whole->is_free = true;
    cut->tests = g_new0(AcrTestComparison, 1);
    cut->tests->is_cut = true;
    g_assert_cmpuint(best(candidates), ==, 2);
}

TEST("/loops/candidates", the_same_change_is_of_an_equal_diff_or_an_equal_key)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    AcrCandidate *first = add_diff(candidates, 0, 1, ACR_PROOF_NONE, 1),
                 *equal = add_diff(candidates, 0, 2, ACR_PROOF_NONE, 1),
                 *other = add_diff(candidates, 0, 3, ACR_PROOF_DOUBTED, 2);
    AcrCandidate none = {.change = first->change};
    g_assert_true(acr_candidates_are_same(first, equal));
    g_assert_false(acr_candidates_are_same(first, other));
    g_assert_false(acr_candidates_are_same(&none, &none));
    first->change = g_strdup("key");
    other->change = g_strdup("key");
    g_assert_true(acr_candidates_are_same(first, other));
    g_assert_cmpuint(acr_candidates_count_same(candidates, first), ==, 3);
    g_assert_cmpuint(acr_candidates_count_same(candidates, equal), ==, 2);
    g_assert_cmpuint(acr_candidates_count_same(candidates, &none), ==, 0);
}
