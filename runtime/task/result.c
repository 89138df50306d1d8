/* Makes the result of a run from the outcome of the loops or from an error, writes it to the run
 * folder (result.json, with patch or reproducer as separate files), and reads it. */
#include "task/run_folder.h"

#include <string.h>

#include "task/cost.h"

void acr_run_result_clear(AcrRunResult *result)
{
    acr_outcome_clear(&result->found);
    ACR_FREE(result->error, result->tag, result->error_class);
    result->error = result->tag = result->error_class = NULL;
}

const char *acr_verdict_name(AcrVerdict verdict)
{
    static const char *const names[] = {"verified", "validated", "unverified", "refused", "none"};
    return names[verdict];
}

static AcrVerdict verdict_of(const AcrOutcome *outcome)
{
    if (!outcome->diff)
        return outcome->script ? ACR_VERDICT_UNVERIFIED : ACR_VERDICT_NONE;
    if (acr_proof_is_against(outcome->proof))
        return ACR_VERDICT_REFUSED;
    if (outcome->proof == ACR_PROOF_VERIFIED)
        return ACR_VERDICT_VERIFIED;
    return outcome->is_validated ? ACR_VERDICT_VALIDATED : ACR_VERDICT_UNVERIFIED;
}

void acr_result_judge(AcrRunResult *result, const AcrRunSpec *spec, const AcrCostSum *cost)
{
    bool is_made = result->found.diff || result->found.script;
    result->verdict = verdict_of(&result->found);
    if (!result->found.diff)
        result->found.proof = ACR_PROOF_NONE; /* without a patch there is no proof */
    result->is_reproduction = spec->verb == ACR_FOR_REPRODUCE;
    result->cost = *cost;
    result->tag = g_strdup(spec->tag);
    bool is_good = spec->verb == ACR_FOR_VERIFY ? result->verdict <= ACR_VERDICT_VALIDATED
                                                : result->verdict != ACR_VERDICT_REFUSED;
    result->exit_code = is_made && is_good ? ACR_EXIT_OK : ACR_EXIT_NONE;
}

void acr_run_result_fail(AcrRunResult *result, const GError *error, const AcrInterrupt *interrupt)
{
    if (!result->found.diff && !result->found.script) {
        result->verdict = ACR_VERDICT_NONE;
        result->found.proof = ACR_PROOF_NONE;
    }
    ACR_FREE(result->error, result->error_class);
    result->exit_code = acr_exit_of(error, interrupt);
    result->error = g_strdup(acr_message_of(error, interrupt));
    bool is_usage = result->exit_code == ACR_EXIT_USAGE;
    AcrLlmError code = is_usage ? ACR_LLM_ERROR_USAGE : (AcrLlmError)error->code;
    if (is_usage || error->domain == ACR_LLM_ERROR)
        result->error_class = g_strdup(acr_llm_error_name(code));
}

AcrJson *acr_run_result_to_json(const AcrRunResult *result)
{
    AcrJson *json =
        acr_json_of(ACR_STRING("verdict", acr_verdict_name(result->verdict)),
                    ACR_STRING("why", result->found.why ? result->found.why : result->error),
                    ACR_STRING("status", acr_extract_status_name(result->found.status)),
                    ACR_JSON("patch", result->found.diff ? acr_json_new_gbytes(result->found.diff)
                                                         : acr_json_new_null()),
                    ACR_STRING("proof", acr_proof_name(result->found.proof)), NULL);
    if (result->is_reproduction)
        acr_json_set_string(json, "script", result->found.script);
    if (result->found.tests) {
        AcrJson *tests = acr_json_new_object();
        acr_test_comparison_to_json(result->found.tests, false, tests);
        acr_json_set(json, "tests", tests);
    }
    if (result->found.experiments)
        acr_json_set(json, "experiments", acr_json_copy(result->found.experiments));
    acr_json_set(json, "cost", acr_cost_sum_to_json(&result->cost));
    acr_json_set_int(json, "exit", result->exit_code);
    if (result->tag)
        acr_json_set_string(json, "tag", result->tag);
    if (result->error) {
        AcrJson *inside = acr_json_of(ACR_STRING("class", result->error_class),
                                      ACR_STRING("message", result->error), NULL);
        acr_json_set(json, "error", inside);
    }
    return json;
}

/* Sets `value` to the enum value whose name is the member `key`; to `last` + 1 if the name is
 * unknown. */
#define FIND(value, name_of, last, key)                                                            \
    while ((value) <= (last) &&                                                                    \
           g_strcmp0(acr_json_get_string(json, (key)), (name_of)(value)) != 0)                     \
    (value)++

static bool is_possible(const AcrJson *json)
{
    gint64 code = acr_json_get_int(json, "exit", -1);
    const AcrJson *patch = acr_json_get(json, "patch"), *script = acr_json_get(json, "script");
    bool has_patch = acr_json_type(patch) != ACR_JSON_NULL,
         has_script = acr_json_type(script) != ACR_JSON_NULL;
    g_autoptr(GBytes) bytes = acr_json_bytes(patch);
    if ((has_patch && !bytes) || (has_script && !acr_json_string(script)))
        return false;
    return code == ACR_EXIT_OK
               ? has_patch || has_script
               : (code > ACR_EXIT_OK && code <= ACR_EXIT_CEILING) || code == ACR_EXIT_INTERRUPTED;
}

bool acr_run_result_from_json(const AcrJson *json, AcrRunResult *out)
{
    guint verdict = 0, status = 0, proof = 0;
    FIND(verdict, acr_verdict_name, ACR_VERDICT_NONE, "verdict");
    FIND(status, acr_extract_status_name, ACR_APPLICABLE_PATCH, "status");
    FIND(proof, acr_proof_name, ACR_PROOF_VERIFIED, "proof");
    if (verdict > ACR_VERDICT_NONE || status > ACR_APPLICABLE_PATCH || proof > ACR_PROOF_VERIFIED ||
        !is_possible(json))
        return false;
    const AcrJson *ended = acr_json_get(json, "error"),
                  *experiments = acr_json_get(json, "experiments");
    const char *why = acr_json_get_string(json, "why"),
               *message = acr_json_get_string(ended, "message");
    *out = (AcrRunResult){
        .found = {.why = g_strcmp0(why, message) == 0 ? NULL : g_strdup(why), /* of the verdict */
                  .status = (AcrExtractStatus)status,
                  .proof = (AcrProof)proof,
                  .diff = acr_json_get_bytes(json, "patch"),
                  .tests = acr_test_comparison_from_json(acr_json_get(json, "tests")),
                  .experiments = experiments ? acr_json_copy(experiments) : NULL,
                  .script = g_strdup(acr_json_get_string(json, "script"))},
        .verdict = (AcrVerdict)verdict,
        .is_reproduction = acr_json_get(json, "script") != NULL,
        .exit_code = (int)acr_json_get_int(json, "exit", 0),
        .tag = g_strdup(acr_json_get_string(json, "tag")),
        .error = g_strdup(message),
        .error_class = g_strdup(acr_json_get_string(ended, "class")),
    };
    acr_cost_sum_from_json(acr_json_get(json, "cost"), &out->cost);
    return true;
}

static AcrJson *describe_selection(const AcrRunResult *result)
{
    const AcrOutcome *outcome = &result->found;
    g_autofree char *path =
        outcome->attempt == ACR_GIVEN_ATTEMPT
            ? g_strdup_printf(ACR_DIR_GIVEN "/" ACR_FILE_GIVEN, outcome->try_number)
            : g_strdup_printf(ACR_DIR_ATTEMPT "/" ACR_FILE_EXTRACTED, outcome->attempt,
                              outcome->try_number);
    const char *why = result->found.why ? result->found.why : "the first applicable patch";
    AcrJson *json = acr_json_of(
        ACR_STRING("selected", result->found.diff ? path : NULL),
        ACR_STRING("status", acr_extract_status_name(result->found.status)),
        ACR_STRING("proof", result->found.diff ? acr_proof_name(result->found.proof) : NULL),
        ACR_STRING("reason", result->found.diff ? why : "no attempt gave an applicable patch"),
        NULL);
    if (outcome->choice)
        acr_json_set_string(json, "choice", outcome->choice);
    if (outcome->candidates)
        acr_json_set(json, "candidates", acr_json_copy(outcome->candidates));
    return json;
}

bool acr_artifacts_write_json(const AcrArtifacts *artifacts, const char *name, AcrJson *json,
                              GError **error)
{
    g_autoptr(AcrJson) owned = json;
    g_autofree char *text = acr_json_print_pretty(owned);
    return artifacts->write(artifacts->ctx, name, text, strlen(text), error);
}

bool acr_result_save(const AcrArtifacts *artifacts, const AcrRunResult *result, GError **error)
{
    gsize len = 0;
    const void *diff = result->found.diff ? g_bytes_get_data(result->found.diff, &len) : NULL;
    if (result->is_reproduction) {
        if (result->found.script &&
            !artifacts->write(artifacts->ctx, ACR_FILE_SCRIPT, result->found.script,
                              strlen(result->found.script), error))
            return false;
    } else if (!artifacts->write(artifacts->ctx, ACR_FILE_PATCH, diff ? diff : "", len, error) ||
               !acr_artifacts_write_json(artifacts, ACR_FILE_SELECTED, describe_selection(result),
                                         error)) {
        return false;
    }
    return acr_artifacts_write_json(artifacts, ACR_FILE_RESULT, acr_run_result_to_json(result),
                                    error);
}

bool acr_result_read(const AcrFolder *folder, AcrRunResult *out, GError **error)
{
    g_autoptr(AcrJson) json = acr_folder_read_json(folder, ACR_FILE_RESULT, error);
    if (!json || acr_run_result_from_json(json, out))
        return json != NULL;
    return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT, "'%s/%s' is damaged",
                         folder->path, ACR_FILE_RESULT);
}
