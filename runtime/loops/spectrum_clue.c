/* Ranks the code that failing tests execute, before a retrieval. The ranking is shown to the search
 * agent as a clue and written to sbfl.json. */
#include "loops/attempt_work.h"

#include <string.h>

#define SHOWN 5u /* maximum number of methods that the model sees */

/* Returns the place of a method's header; owned; NULL if its file is not in the index. */
static AcrPlace *header_of(const AcrIndex *index, const AcrJson *method)
{
    const char *file = acr_json_get_string(method, "file");
    guint start = (guint)acr_json_get_int(method, "start", 1);
    gssize at = acr_index_find_file(index, file);
    if (at < 0)
        return NULL;
    gint32 class_id, func_id;
    acr_index_enclosing(index, (guint32)at, start, &class_id, &func_id);
    gint32 symbol = func_id >= 0 ? func_id : class_id;
    guint end = symbol >= 0 ? acr_index_symbol(index, (guint32)symbol)->sig_last : start;
    return acr_place_new(file, start, end, NULL, NULL);
}

/* Formats the scores, and the methods as search results; owned. Errors: those of
 * acr_search_show. */
static char *make_clue(const AcrRun *run, const AcrJson *found, GError **error)
{
    g_autoptr(GString) heading = g_string_new("Scores, in this order:"), tests = g_string_new(NULL);
    g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func((GDestroyNotify)acr_place_free);
    const AcrJson *list = acr_json_get(found, "methods"), *failing = acr_json_get(found, "failing");
    for (const AcrJson *at = acr_json_first(list); at && places->len < SHOWN;
         at = acr_json_next(at)) {
        AcrPlace *place = header_of(run->index, at);
        if (!place)
            continue;
        g_ptr_array_add(places, place);
        g_string_append_printf(heading, " %.3f", acr_json_get_double(at, "score", 0));
    }
    guint n = 0;
    for (const AcrJson *at = acr_json_first(failing); at && n < SHOWN; at = acr_json_next(at), n++)
        g_string_append_printf(tests, "%s%s", n ? ", " : "", acr_json_string(at));
    g_auto(AcrAnswer) answer = {0};
    if (!acr_search_show(run->search, heading->str, places, &answer, error))
        return NULL;
    return acr_prompts_render(run->prompts, ACR_PROMPT_SEARCH_SUSPECTS, "tests", tests->str,
                              "methods", answer.output, NULL);
}

AcrStep acr_step_suspect(AcrAttemptWork *work, bool has_reproducer, char **out_clue, GError **error)
{
    const AcrRun *run = work->run;
    const AcrJson *found;
    g_autoptr(GError) reason = NULL;
    *out_clue = NULL;
    if (run->sbfl == ACR_VERIFY_NEVER)
        return ACR_STEP_DONE;
    acr_loops_stage(run, work->attempt, "localize", 0);
    if (!acr_loops_go_on(run, error))
        return ACR_STEP_FAILED;
    if (!run->tests->localize(run->tests->ctx, run->index,
                              has_reproducer ? work->reproducer.script : NULL, &found, &reason)) {
        bool is_unknown = g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE);
        if (!is_unknown || run->sbfl == ACR_VERIFY_ALWAYS) {
            g_propagate_error(error, g_steal_pointer(&reason));
            return ACR_STEP_FAILED;
        }
        acr_loops_note(run, "cannot tell which code the failing tests point to: %s",
                       reason->message);
        return ACR_STEP_UNAVAILABLE;
    }
    g_autofree char *text = acr_json_print_pretty(found);
    if (!run->artifacts->write(run->artifacts->ctx, ACR_FILE_SPECTRUM, text, strlen(text), error))
        return ACR_STEP_FAILED;
    g_free(work->failing);
    work->failing = g_strdup(acr_json_string(acr_json_first(acr_json_get(found, "failing"))));
    *out_clue = make_clue(run, found, error);
    return *out_clue ? ACR_STEP_DONE : ACR_STEP_FAILED;
}
