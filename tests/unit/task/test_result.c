/* Tests of a run's result: the verdict for what the loops found, the exit code, and the JSON. */
#include "test_task.h"

#include <string.h>

/* Makes the result of a patch with that proof. */
static void take(AcrProof proof, bool is_validated, AcrRunResult *out)
{
    static const AcrCostSum cost = {.calls = 3};
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    out->found = (AcrOutcome){.status = ACR_APPLICABLE_PATCH,
                              .diff = g_bytes_new_static("diff", 4),
                              .proof = proof,
                              .why = g_strdup("because"),
                              .is_validated = is_validated};
    acr_result_judge(out, &spec, &cost);
}

TEST("/task/result", each_proof_has_its_verdict)
{
    static const struct {
        AcrProof proof;
        bool is_validated;
        const char *verdict;
        int exit_code;
    } rows[] = {{ACR_PROOF_VERIFIED, false, "verified", 0},   {ACR_PROOF_VERIFIED, true, "verified", 0},
                {ACR_PROOF_NONE, true, "validated", 0},       {ACR_PROOF_APPROVED, true, "validated", 0},
                {ACR_PROOF_APPROVED, false, "unverified", 0}, {ACR_PROOF_NONE, false, "unverified", 0},
                {ACR_PROOF_DOUBTED, false, "refused", 1},     {ACR_PROOF_REFUSED, true, "refused", 1}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(AcrRunResult) result = {0};
        take(rows[i].proof, rows[i].is_validated, &result);
        g_assert_cmpstr(acr_verdict_name(result.verdict), ==, rows[i].verdict);
        g_assert_cmpint(result.exit_code, ==, rows[i].exit_code);
        g_assert_cmpstr(result.found.why, ==, "because");
    }
}

TEST("/task/result", no_patch_is_none)
{
    static const AcrCostSum cost = {0};
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_RUN);
    g_auto(AcrRunResult) result = {.found = {.why = g_strdup("no edit"), .proof = ACR_PROOF_NONE}};
    acr_result_judge(&result, &spec, &cost);
    g_assert_cmpint(result.verdict, ==, ACR_VERDICT_NONE);
    g_assert_cmpint(result.exit_code, ==, ACR_EXIT_NONE);
    g_assert_cmpstr(result.found.why, ==, "no edit");
}

static char *print(const AcrRunResult *result)
{
    g_autoptr(AcrJson) json = acr_run_result_to_json(result);
    return acr_json_print(json);
}

TEST("/task/result", every_name_of_a_result_is_read_again)
{
    for (AcrVerdict verdict = 0; verdict <= ACR_VERDICT_NONE; verdict++)
        for (AcrExtractStatus status = 0; status <= ACR_APPLICABLE_PATCH; status++)
            for (AcrProof proof = 0; proof <= ACR_PROOF_VERIFIED; proof++) {
                g_auto(AcrRunResult) read = {0};
                g_auto(AcrRunResult) result = {
                    .found = {.status = status, .proof = proof}, .verdict = verdict, .exit_code = ACR_EXIT_NONE};
                g_autoptr(AcrJson) json = acr_run_result_to_json(&result);
                g_assert_true(acr_run_result_from_json(json, &read));
                g_assert_cmpint(read.verdict, ==, verdict);
                g_assert_cmpint(read.found.status, ==, status);
                g_assert_cmpint(read.found.proof, ==, proof);
            }
}

TEST("/task/result", a_result_survives_as_json)
{
    g_auto(AcrRunResult) result = {0}, read = {0};
    take(ACR_PROOF_VERIFIED, false, &result);
    g_autoptr(GError) error = g_error_new_literal(ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING, "reached");
    for (guint i = 0; i < 2; i++) {
        g_autoptr(AcrJson) json = acr_run_result_to_json(&result);
        acr_run_result_clear(&read);
        g_assert_true(acr_run_result_from_json(json, &read));
        g_autofree char *second = print(&read);
        assert_text(print(&result), second);
        acr_run_result_fail(&result, error, NULL);
    }
    g_assert_cmpint(read.exit_code, ==, ACR_EXIT_CEILING);
    g_assert_cmpint(read.verdict, ==, ACR_VERDICT_VERIFIED); /* the best so far */
    g_assert_cmpstr(read.error_class, ==, "ceiling");
}

TEST("/task/result", what_is_no_result_is_refused)
{
    static const char *const texts[] = {"{}", "[]", "7", "{\"verdict\":\"good\"}",
                                        "{\"verdict\":\"none\",\"status\":\"X\"}"};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(AcrJson) json = acr_json_parse(texts[i], strlen(texts[i]), NULL);
        g_auto(AcrRunResult) result = {0};
        g_assert_false(acr_run_result_from_json(json, &result));
    }
    g_auto(AcrRunResult) result = {0};
    g_assert_false(acr_run_result_from_json(NULL, &result));
}

TEST("/task/result", what_cannot_be_a_result_is_refused)
{
    static const struct {
        const char *name, *value;
    } rows[] = {{"exit", "300"}, {"exit", "-1"}, {"exit", "5"},     {"exit", "\"0\""},
                {"exit", "0.5"}, {"patch", "5"}, {"patch", "null"}, {"script", "[]"}};
    g_auto(AcrRunResult) result = {0};
    take(ACR_PROOF_VERIFIED, false, &result);
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(AcrJson) json = acr_run_result_to_json(&result);
        g_auto(AcrRunResult) read = {0};
        acr_json_set(json, rows[i].name, acr_json_parse(rows[i].value, strlen(rows[i].value), NULL));
        g_assert_false(acr_run_result_from_json(json, &read));
    }
}

TEST("/task/result", a_signal_goes_before_any_error)
{
    const AcrInterrupt interrupt = {.signal = 2};
    g_autoptr(GError) error = g_error_new_literal(ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE, "x");
    g_auto(AcrRunResult) result = {0};
    acr_run_result_fail(&result, error, &interrupt);
    g_assert_cmpint(result.exit_code, ==, ACR_EXIT_INTERRUPTED);
    g_assert_cmpstr(result.error, ==, "interrupted");
    g_assert_cmpint(result.verdict, ==, ACR_VERDICT_NONE);
}
