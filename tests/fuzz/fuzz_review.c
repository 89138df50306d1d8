/* Fuzzes the answers of the reviewer and of the reproducer agent: each text is parsed in all three
 * ways. The result must be an answer, or one problem in words; a parsed decision must be in the
 * text, and a script must end with a line end. */
#include "agents/agents.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_problem(bool ok, const char *problem)
{
    g_assert_true(ok == (problem == NULL));
    g_assert_true(ok || acr_utf8_is_text(problem, strlen(problem)));
}

static void read_review(const char *answer)
{
    g_auto(AcrReviewAnswer) review = {0};
    g_autofree char *problem = NULL;
    bool ok = acr_agent_review_read(answer, &review, &problem);

    check_problem(ok, problem);
    if (!ok)
        return;
    /* Keys may contain escapes, each of which has a backslash. */
    g_assert_true(strstr(answer, "patch-correct") || strchr(answer, '\\'));
    const char *const texts[] = {review.patch_analysis, review.patch_advice, review.test_analysis, review.test_advice};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_assert_true(texts[i] && acr_utf8_is_text(texts[i], strlen(texts[i])));
}

static void read_reproducible(const char *answer)
{
    g_autofree char *problem = NULL;
    bool yes = false;
    bool ok = acr_agent_reproducible_read(answer, &yes, &problem);

    check_problem(ok, problem);
    g_assert_true(!ok || strchr(answer, ':'));
}

static void read_test(const char *answer)
{
    g_autofree char *problem = NULL;
    g_autofree char *script = acr_agent_test_read(answer, &problem);

    check_problem(script != NULL, problem);
    if (!script)
        return;
    gsize len = strlen(script);
    g_assert_cmpuint(len, >, 0);
    g_assert_cmpuint(len, <=, ACR_TEST_MAX_BYTES);
    g_assert_true(script[len - 1] == '\n');
    g_assert_true(acr_utf8_is_text(script, len));
    g_auto(GStrv) lines = g_strsplit(script, "\n", -1);
    for (guint i = 0; lines[i]; i++)
        g_assert_nonnull(strstr(answer, lines[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Model answers are always valid text. */
    g_autofree char *answer = acr_utf8_repair(data, size);

    read_review(answer);
    read_reproducible(answer);
    read_test(answer);
    return 0;
}
