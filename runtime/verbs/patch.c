/* acr-host patch: turns saved answers of models into diffs, without a model. Indexes the repository
 * only if an answer needs it. */
#include "verbs/verbs_private.h"

#include <string.h>
#include <unistd.h>

static AcrJson *result_to_json(const char *file, const AcrPatchResult *result)
{
    return acr_json_of(
        ACR_STRING("file", file), ACR_STRING("status", acr_extract_status_name(result->status)),
        ACR_STRING("message", result->message),
        ACR_JSON("diff", result->diff ? acr_json_new_gbytes(result->diff) : acr_json_new_null()),
        ACR_JSON("edits", acr_edits_to_json(result->edits, false)), NULL);
}

/* Prints a diff or message. Only a terminal gets the file name, so that piped output is a patch. */
static AcrOut print_diff(const char *file, const AcrPatchResult *result, bool json,
                         bool is_one_of_many)
{
    if (json) {
        g_autoptr(AcrJson) object = result_to_json(file, result);
        return acr_out_json(object);
    }
    if (is_one_of_many && result->diff && isatty(STDOUT_FILENO))
        acr_verb_tell("%s:\n", file);
    if (*result->message)
        acr_verb_tell("%s: %s. The model would be told:\n\n%s\n", file,
                      acr_extract_status_words(result->status), result->message);
    return acr_out_bytes(result->diff);
}

typedef struct {
    AcrHost *host;
    const AcrRunSpec *spec;
    AcrWorkspace *workspace; /* not indexed until an answer needs an index */
} Patching;

static bool apply_text(const Patching *patching, const char *text, AcrPatchResult *out,
                       GError **error)
{
    AcrWorkspace *workspace = patching->workspace;
    AcrPatchContext context = {
        .snapshot = workspace->snapshot,
        .index = workspace->index,
        .referee = acr_workspace_referee(workspace, patching->host),
    };
    return acr_patch_apply(&context, text, strlen(text), out, error);
}

/* Applies an answer without an index first. Indexes only if the result could differ with an index,
 * which helps to choose between several places and to explain rejections. */
static bool apply_answer(Patching *patching, GBytes *answer, AcrPatchResult *out, GError **error)
{
    g_autofree char *saved = acr_utf8_repair_bytes(answer), *thoughts = NULL;
    g_autofree char *text = acr_thoughts_split(saved, &thoughts);
    AcrWorkspace *workspace = patching->workspace;
    if (!workspace->index) {
        if (!apply_text(patching, text, out, error))
            return false;
        if (out->status == ACR_APPLICABLE_PATCH && !out->wants_index)
            return true;
        acr_patch_result_clear(out);
        if (!acr_repository_index(patching->host, patching->spec, workspace, error))
            return false;
    }
    return apply_text(patching, text, out, error);
}

/* Names the edits that were applied to another path than the one that the answer gives. */
static void tell_paths(const AcrPatchResult *result)
{
    const char *said = NULL;
    for (guint i = 0; i < result->edits->len; i++) {
        const AcrEditOutcome *edit = result->edits->pdata[i];
        if (!edit->asked || edit->status != ACR_EDIT_APPLIED || g_strcmp0(edit->asked, said) == 0)
            continue;
        said = edit->asked;
        acr_verb_say("there is no file '%s'; applied its edits to '%s'", said, edit->file);
    }
}

/* Handles one answer from a file or, if `file` is NULL, from standard input, and returns the exit
 * code. *out_more says whether standard output accepts more data. */
static int handle(Patching *patching, const char *file, bool *out_more)
{
    AcrHost *host = patching->host;
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) answer = file ? acr_file_read(file, ACR_PATCH_MAX_ANSWER, &error)
                                    : acr_read_stdin(ACR_PATCH_MAX_ANSWER, host->interrupt, &error);
    if (!answer) {
        AcrExit code = acr_verb_fail(host, error);
        return acr_interrupted(host->interrupt) ? code : ACR_EXIT_USAGE;
    }
    g_auto(AcrPatchResult) result = {0};
    if (!apply_answer(patching, answer, &result, &error))
        return acr_verb_fail(host, error);
    g_autofree char *ignored = result.overlay ? acr_overlay_ignored(result.overlay) : NULL;
    if (ignored)
        acr_verb_say("%s", ignored);
    if (result.diff)
        tell_paths(&result);
    AcrOut out = print_diff(file ? file : "-", &result, patching->spec->json,
                            file && patching->spec->arguments[1]);
    *out_more = out == ACR_OUT_WRITTEN;
    return acr_out_exit(out, result.status == ACR_APPLICABLE_PATCH ? ACR_EXIT_OK : ACR_EXIT_NONE);
}

static int run_patch(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrWorkspace) workspace = {0};
    Patching patching = {host, spec, &workspace};
    bool more = true;
    int code = ACR_EXIT_OK;
    if (!acr_repository_open(host, spec, &workspace, &error))
        return acr_verb_fail(host, error);
    if (!spec->arguments[0])
        return handle(&patching, NULL, &more);
    for (guint i = 0; spec->arguments[i] && more; i++) {
        bool is_stdin = strcmp(spec->arguments[i], "-") == 0;
        int ended = handle(&patching, is_stdin ? NULL : spec->arguments[i], &more);
        code = MAX(code, ended);
        bool is_told = ended == (int)acr_exit_of(error, host->interrupt);
        if (acr_interrupted(host->interrupt) && (is_told || !spec->arguments[i + 1]))
            return code;
        if (acr_interrupted(host->interrupt))
            return acr_verb_fail(host, NULL);
    }
    return code;
}

const AcrVerb acr_verb_patch = {
    .name = "patch",
    .summary = "Turn saved answers of models into diffs",
    .takes = ACR_FOR_PATCH,
    .arguments = "[FILE…]",
    .arguments_note = "files with answers of a model; without FILE, or with -, read standard input",
    .examples = {{"Turn a model's saved answer into a diff", "patch --repo ~/project answer.md"}},
    .exits = "0 each answer became a diff, 1 an answer did not",
    .run = run_patch,
};
