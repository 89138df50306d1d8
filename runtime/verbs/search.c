/*
 * acr-host search: the structure-aware search calls, from arguments or a line each from standard
 * input.
 */
#include "verbs/verbs_private.h"

#define MAX_INPUT_BYTES (64u * 1024 * 1024)

static AcrJson *answer_to_json(const char *text, const AcrAnswer *answer)
{
    AcrJson *json = acr_json_new_object(), *results = acr_json_new_array();
    for (guint i = 0; answer->places && i < answer->places->len; i++)
        acr_json_append(results, acr_place_to_json(answer->places->pdata[i]));
    acr_json_set_string(json, "call", text);
    acr_json_set_bool(json, "ok", answer->ok);
    acr_json_set_string(json, "output", answer->output);
    acr_json_set(json, "results", results);
    return json;
}

/* Answers one call; a text that is not a call is answered too, with what is wrong. */
static bool answer_text(AcrWorkspace *workspace, const char *text, AcrAnswer *out, GError **error)
{
    g_auto(AcrCall) call = {0};
    g_autoptr(GError) reason = NULL;
    if (acr_python_bind_call(workspace->python, text, &call, &reason))
        return acr_search_run(workspace->search, &call, out, error);
    if (!g_error_matches(reason, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL))
        return acr_pass_error(error, &reason);
    *out = (AcrAnswer){.output = g_strdup(reason->message), .places = g_ptr_array_new()};
    return true;
}

/* Answers are kept apart by an empty line. */
static AcrOut print_text(const char *output, bool first)
{
    const char *end = g_str_has_suffix(output, "\n") ? "" : "\n";
    g_autofree char *text = g_strconcat(first ? "" : "\n", output, end, NULL);
    return acr_out_text(text);
}

static AcrOut print_answer(const char *text, const AcrAnswer *answer, bool json, bool first)
{
    if (!json)
        return print_text(answer->output, first);
    g_autoptr(AcrJson) object = answer_to_json(text, answer);
    return acr_out_json(object);
}

static int answer_all(AcrHost *host, AcrWorkspace *workspace, char *const *calls, bool json)
{
    int code = ACR_EXIT_OK;
    guint i = 0;
    for (; calls[i] && !acr_interrupted(host->interrupt); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(AcrAnswer) answer = {0};
        if (!answer_text(workspace, calls[i], &answer, &error))
            return acr_verb_fail(host, error);
        if (!answer.ok)
            code = ACR_EXIT_NONE;
        AcrOut out = print_answer(calls[i], &answer, json, i == 0);
        if (out != ACR_OUT_WRITTEN)
            return acr_out_exit(out, code);
    }
    if (!acr_interrupted(host->interrupt))
        return code;
    if (acr_time_is_over(host->interrupt))
        acr_verb_say("--max-time reached after %u of %u calls; rerun with a higher limit", i,
                     g_strv_length((char **)calls));
    return acr_exit_of(NULL, host->interrupt);
}

/* The non-empty lines of standard input; owned (g_strfreev). */
static char **read_calls(const AcrInterrupt *interrupt, GError **error)
{
    g_autoptr(GBytes) input = acr_read_stdin(MAX_INPUT_BYTES, interrupt, error);
    if (!input)
        return NULL;
    g_autofree char *text = acr_utf8_repair_bytes(input);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GPtrArray *calls = g_ptr_array_new();
    for (guint i = 0; lines[i]; i++)
        if (*g_strstrip(lines[i]))
            g_ptr_array_add(calls, g_strdup(lines[i]));
    g_ptr_array_add(calls, NULL);
    return (char **)g_ptr_array_free(calls, FALSE);
}

static int run(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) read = spec->arguments[0] ? NULL : read_calls(host->interrupt, &error);
    char *const *calls = spec->arguments[0] ? spec->arguments : read;
    g_auto(AcrWorkspace) workspace = {0};
    if (!calls || !acr_repository_open(host, spec, &workspace, &error) ||
        !acr_repository_index(host, spec, &workspace, &error))
        return acr_verb_fail(host, error);
    return answer_all(host, &workspace, calls, spec->json);
}

const AcrVerb acr_verb_search = {
    .name = "search",
    .summary = "Answer structure-aware search calls on a repository",
    .takes = ACR_FOR_SEARCH,
    .arguments = "[CALL…] - such as 'search_class(\"A\")'; none: a line each from stdin",
    .run = run,
};
