/* Runs the patch writer: starts its conversation, shortens the conversation if it is too long,
 * and performs each try, from the answer to the files of the run folder. */
#include "loops/attempt_work.h"

#include <string.h>

/* minimum number of bytes shown of each of code, issue and feedback, even in a small context */
#define LEAST_BYTES 1200u
#define QUOTED_CHARACTERS 60 /* maximum characters of a model's quote that a message shows */

static void add_feedback(AcrPatchWriter *writer)
{
    if (!writer->feedback)
        return;
    g_autofree char *shown = acr_text_shorten(writer->feedback, writer->shown_bytes);
    acr_conversation_add(writer->conversation, ACR_ROLE_USER, shown);
}

/* Starts the patch writer's conversation, with the feedback on the last try. The conversation
 * begins with the located code or, if there is none, with the retrieval conversation. */
static void start_conversation(AcrAttemptWork *work)
{
    AcrPatchWriter *writer = &work->writer;
    const AcrPrompts *prompts = work->run->prompts;
    g_autofree char *name =
        writer->sample > 1
            ? g_strdup_printf(ACR_DIR_ATTEMPT "/patch_%u", work->attempt, writer->sample)
            : g_strdup_printf(ACR_DIR_ATTEMPT "/patch", work->attempt);
    acr_conversation_free(writer->conversation);
    writer->conversation = acr_conversation_new(name);
    if (work->retrieved.located->len) {
        g_autofree char *issue = acr_text_shorten(work->run->issue, writer->shown_bytes);
        acr_agent_patch_start(writer->conversation, prompts, issue, work->retrieved.located,
                              MIN(writer->shown_bytes, ACR_PATCH_CODE_BYTES));
        g_autofree char *calls =
            work->calls ? acr_text_shorten(work->calls, writer->shown_bytes) : NULL;
        if (calls)
            acr_conversation_add(writer->conversation, ACR_ROLE_USER, calls);
    } else {
        acr_agent_patch_start_from(writer->conversation, prompts, work->retrieved.conversation);
    }
    g_autofree char *notes =
        work->run->notes ? acr_text_shorten(work->run->notes, writer->shown_bytes) : NULL;
    if (notes)
        acr_conversation_add(writer->conversation, ACR_ROLE_USER, notes);
    add_feedback(writer);
}

/* Halves the limit of the longest part that the patch writer sees. Returns a description of the cut
 * (static); NULL if all parts are short. */
static const char *cut_longest_part(AcrAttemptWork *work)
{
    AcrPatchWriter *writer = &work->writer;
    const GPtrArray *located = work->retrieved.located;
    gsize code = 0, issue = located->len ? strlen(work->run->issue) : 0,
          feedback = writer->feedback ? strlen(writer->feedback) : 0;
    for (guint i = 0; i < located->len; i++)
        code += strlen(((const AcrLocated *)located->pdata[i])->code);
    gsize longest = MAX(MIN(code, ACR_PATCH_CODE_BYTES), MAX(issue, feedback));
    longest = MIN(longest, writer->shown_bytes);
    if (longest <= LEAST_BYTES)
        return NULL;
    writer->shown_bytes = MAX(longest / 2, LEAST_BYTES);
    return "the longest of code, issue and feedback is cut";
}

/* Makes the next request shorter after an overflow: removes earlier tries except for the last
 * feedback or, if there are none, shortens one part. Returns a description of the removed part;
 * NULL if nothing is left to remove. */
static const char *shorten_conversation(AcrAttemptWork *work, bool has_tries)
{
    const char *what = has_tries ? "earlier tries are left out" : NULL;
    if (!what && !work->retrieved.located->len)
        what = acr_retrieved_shorten(&work->retrieved, work->run);
    if (!what)
        what = cut_longest_part(work);
    if (what)
        start_conversation(work);
    acr_loops_note_overflow(work->run, what);
    return what;
}

static bool ask_for_patch(AcrAttemptWork *work, const char **out_answer, GError **error)
{
    if (work->writer.conversation)
        add_feedback(&work->writer);
    else
        start_conversation(work);
    for (bool has_tries = work->writer.feedback != NULL;; has_tries = false) {
        g_autoptr(GError) reason = NULL;
        if (!acr_loops_go_on(work->run, error))
            return false;
        if (acr_agent_ask(work->model, work->writer.conversation, ACR_AGENT_PATCH, 0, out_answer,
                          &reason))
            return true;
        if (!g_error_matches(reason, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW) ||
            !shorten_conversation(work, has_tries))
            return acr_pass_error(error, &reason);
    }
}

AcrJson *acr_edits_to_json(const GPtrArray *edits, bool with_why)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; i < edits->len; i++) {
        const AcrEditOutcome *edit = edits->pdata[i];
        AcrJson *json = acr_json_of(ACR_STRING("file", edit->file),
                                    ACR_STRING("level", acr_level_name(edit->level)),
                                    ACR_INT("start", edit->start), ACR_INT("end", edit->end),
                                    ACR_STRING("status", acr_edit_status_name(edit->status)), NULL);
        if (with_why)
            acr_json_set_string(json, "why", edit->why);
        if (with_why && edit->why)
            acr_json_set_string(json, "quote", edit->quote);
        acr_json_append(list, json);
    }
    return list;
}

static bool save_try(AcrAttemptWork *work, const char *answer, const AcrPatchResult *result,
                     GError **error)
{
    guint attempt = work->attempt, number = work->writer.number;
    AcrJson *status = acr_json_new_object();
    acr_json_set_int(status, "try", number);
    acr_json_set_string(status, "status", acr_extract_status_name(result->status));
    acr_json_set(status, "edits", acr_edits_to_json(result->edits, true));
    acr_json_set_string(status, "message", result->message);
    acr_json_append(work->writer.statuses, status);
    if (!acr_loops_write(work->run, attempt, answer, strlen(answer), error, ACR_FILE_PATCH_ANSWER,
                         number) ||
        !acr_loops_write_json(work->run, attempt,
                              acr_conversation_to_json(work->writer.conversation, 0), error,
                              ACR_FILE_PATCH_CONVERSATION, number) ||
        !acr_loops_write_json(work->run, attempt, acr_json_copy(work->writer.statuses), error,
                              ACR_FILE_EXTRACT_STATUS))
        return false;
    if (!result->diff)
        return true;
    gsize len;
    const void *diff = g_bytes_get_data(result->diff, &len);
    return acr_loops_write(work->run, attempt, diff, len, error, ACR_FILE_EXTRACTED, number);
}

/* Applies an answer's edits. If an edit matches at several places, the bug locations decide. */
static bool apply_answer(AcrAttemptWork *work, const char *answer, AcrPatchResult *out,
                         GError **error)
{
    const GPtrArray *located = work->retrieved.located;
    g_autofree AcrPatchHint *hints = g_new0(AcrPatchHint, located->len + 1);
    AcrPatchContext context = {
        .snapshot = work->run->snapshot,
        .index = work->run->index,
        .referee = work->run->referee,
        .hints = hints,
    };
    for (guint i = 0; i < located->len; i++) {
        const AcrLocated *item = located->pdata[i];
        const AcrPlace *place = item->place;
        if (item->role == ACR_LOCATED_BUG)
            hints[context.n_hints++] = (AcrPatchHint){place->file, place->start, place->end};
    }
    return acr_patch_apply(&context, answer, strlen(answer), out, error);
}

static void note_edit(const AcrAttemptWork *work, guint number, const AcrEditOutcome *edit)
{
    g_autofree char *lines =
        edit->start ? g_strdup_printf(" lines %u-%u", edit->start, edit->end) : g_strdup("");
    acr_loops_note(work->run, "edit %u: %s, %s (%s%s)", number, acr_edit_status_name(edit->status),
                   acr_level_name(edit->level), edit->file ? edit->file : "no file", lines);
}

/* Says why no edit was applied, for a person: which file lacks the quoted code; owned. */
static char *unmatched_words(const GPtrArray *edits)
{
    for (guint i = 0; i < edits->len; i++) {
        const AcrEditOutcome *edit = edits->pdata[i];
        const char *how = edit->status == ACR_EDIT_AMBIGUOUS && edit->start == 0
                              ? "occurs several times in"
                          : edit->status == ACR_EDIT_UNMATCHED && edit->start == 0 ? "is not in"
                                                                                   : NULL;
        if (!edit->file || !edit->quote || !how)
            continue;
        glong length = g_utf8_strlen(edit->quote, -1);
        g_autofree char *start = g_utf8_substring(edit->quote, 0, MIN(length, QUOTED_CHARACTERS));
        return g_strdup_printf("the quoted code %s %s: `%s%s`", how, edit->file, start,
                               length > QUOTED_CHARACTERS ? "…" : "");
    }
    return g_strdup(acr_extract_status_words(ACR_RAW_PATCH_BUT_UNMATCHED));
}

AcrStep acr_patch_writer_try(AcrAttemptWork *work, GError **error)
{
    AcrPatchWriter *writer = &work->writer;
    GError *reason = NULL;
    const char *answer;
    writer->number++;
    acr_loops_stage(work->run, work->attempt, "patch", writer->number);
    if (!ask_for_patch(work, &answer, &reason)) {
        bool is_failure = !acr_step_is_no_answer(reason);
        g_free(writer->reason);
        AcrExtractStatus last = writer->latest ? writer->latest->status : ACR_APPLICABLE_PATCH;
        const char *before = last == ACR_RAW_PATCH_BUT_UNMATCHED ? writer->latest->why
                                                                 : acr_extract_status_words(last);
        writer->reason = last == ACR_APPLICABLE_PATCH
                             ? g_strdup(reason->message)
                             : g_strdup_printf("%s; then: %s", before, reason->message);
        if (!is_failure)
            acr_loops_note(work->run, "no patch in this try: %s", reason->message);
        g_propagate_error(is_failure ? error : NULL, reason);
        return is_failure ? ACR_STEP_FAILED : ACR_STEP_UNAVAILABLE;
    }
    writer->repeats =
        acr_dead_end_hear(&work->dead_end, answer) ||
        (work->dead_end.empty == 0 && acr_dead_end_compare(&work->dead_end, 'p', answer));
    g_auto(AcrPatchResult) result = {0};
    if (!apply_answer(work, answer, &result, error) || !save_try(work, answer, &result, error) ||
        !acr_observe_patch(work, &result, error))
        return ACR_STEP_FAILED;
    acr_loops_note(work->run, "%s", acr_extract_status_words(result.status));
    for (guint i = 0; i < result.edits->len; i++)
        note_edit(work, i + 1, result.edits->pdata[i]);
    acr_step_tell_writer(work, result.message
                                   ? acr_prompts_render(work->run->prompts, ACR_PROMPT_PATCH_RETRY,
                                                        "feedback", result.message, NULL)
                                   : NULL);
    bool is_unmatched = result.status == ACR_RAW_PATCH_BUT_UNMATCHED;
    writer->latest = acr_candidates_add(
        work->candidates, (AcrCandidate){
                              .status = result.status,
                              .attempt = work->attempt,
                              .number = writer->number,
                              .diff = g_steal_pointer(&result.diff),
                              .overlay = g_steal_pointer(&result.overlay),
                              .proof = ACR_PROOF_NONE,
                              .why = is_unmatched ? unmatched_words(result.edits) : NULL,
                          });
    return result.status == ACR_APPLICABLE_PATCH ? ACR_STEP_DONE : ACR_STEP_NOT_DONE;
}
