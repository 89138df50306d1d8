/* Tests of when acr-host ends a conversation: each rule at its limit and just below it, and what is
 * forgotten when. */
#include <glib.h>

#include "loops/dead_end.h"
#include "unit/cases.h"

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrDeadEnd, acr_dead_end_clear)

TEST("/loops/dead_end", the_third_equal_text_of_a_kind_ends_it)
{
    g_auto(AcrDeadEnd) end = {0};
    g_assert_false(acr_dead_end_compare(&end, 's', "a"));
    g_assert_false(acr_dead_end_compare(&end, 's', "b"));
    g_assert_false(acr_dead_end_compare(&end, 's', "a"));
    g_assert_false(acr_dead_end_compare(&end, 'c', "a"));
    g_assert_false(acr_dead_end_compare(&end, 's', "c"));
    g_assert_null(end.why);
    g_assert_true(acr_dead_end_compare(&end, 's', "a"));
    g_assert_true(end.repeats && end.why);
}

TEST("/loops/dead_end", two_texts_in_turn_end_it_with_the_fourth)
{
    g_auto(AcrDeadEnd) end = {0};
    g_assert_false(acr_dead_end_compare(&end, 's', "a"));
    g_assert_false(acr_dead_end_compare(&end, 's', "b"));
    /* texts of another kind are compared separately */
    g_assert_false(acr_dead_end_compare(&end, 'c', "x"));
    g_assert_false(acr_dead_end_compare(&end, 's', "a"));
    g_assert_true(acr_dead_end_compare(&end, 's', "b"));
    g_assert_true(end.repeats);
}

TEST("/loops/dead_end", three_empty_answers_in_a_row_end_it)
{
    g_auto(AcrDeadEnd) end = {0};
    g_assert_false(acr_dead_end_hear(&end, ""));
    g_assert_false(acr_dead_end_hear(&end, " \n"));
    g_assert_false(acr_dead_end_hear(&end, "text"));
    g_assert_false(acr_dead_end_hear(&end, ""));
    g_assert_false(acr_dead_end_hear(&end, ""));
    g_assert_true(acr_dead_end_hear(&end, "\t"));
    g_assert_true(end.repeats);
}

TEST("/loops/dead_end", what_is_useless_adds_up_until_something_is_useful)
{
    g_auto(AcrDeadEnd) end = {0};
    g_assert_false(acr_dead_end_useless(&end, ACR_USELESS_ROUND));
    g_assert_false(acr_dead_end_useless(&end, ACR_USELESS_ROUND));
    acr_dead_end_useful(&end);
    g_assert_false(acr_dead_end_useless(&end, ACR_USELESS_ROUND));
    g_assert_false(acr_dead_end_useless(&end, ACR_USELESS_ROUND));
    g_assert_true(acr_dead_end_useless(&end, ACR_USELESS_ANSWER));
    g_assert_true(end.why && !end.repeats);
}

TEST("/loops/dead_end", a_stage_forgets_texts_but_not_what_was_useless)
{
    g_auto(AcrDeadEnd) end = {0};
    g_assert_false(acr_dead_end_compare(&end, 's', "a"));
    g_assert_false(acr_dead_end_compare(&end, 's', "a"));
    g_assert_false(acr_dead_end_hear(&end, ""));
    g_assert_false(acr_dead_end_hear(&end, ""));
    g_assert_false(acr_dead_end_useless(&end, ACR_DEAD_END_USELESS - 1));
    acr_dead_end_stage(&end);
    g_assert_false(acr_dead_end_compare(&end, 's', "a"));
    g_assert_false(acr_dead_end_hear(&end, ""));
    g_assert_true(acr_dead_end_useless(&end, 1));
}
