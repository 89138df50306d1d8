/* acr-host localize: ranks the methods and lines that most likely cause a failure, by the tests
 * that execute them. */
#include "verbs/test_place.h"

#include <string.h>

#define MAX_METHODS 100u
#define MAX_LINES 500u
#define SHOWN 10u /* number of lines shown to a person */

/* ---- Printing ---- */

static AcrJson *describe_ranking(const AcrIndex *index, const AcrBaseline *baseline,
                                 const AcrLocalized *found)
{
    return acr_json_of(
        ACR_STRING("command", baseline->command),
        ACR_JSON("failing", acr_json_new_texts(found->failing)), ACR_INT("passing", found->passing),
        ACR_BOOL("complete", found->is_whole),
        ACR_JSON("seconds", acr_json_new_double((double)found->run.wall_ms / 1000)),
        ACR_JSON("plain_seconds", acr_json_new_double((double)baseline->run.wall_ms / 1000)),
        ACR_JSON("methods", acr_suspects_to_json(index, found->methods, MAX_METHODS, true)),
        ACR_JSON("lines", acr_suspects_to_json(index, found->lines, MAX_LINES, false)), NULL);
}

/* Appends the rank and score of a suspect. Suspects with the same score share their ranks. */
static void append_rank(GString *text, const AcrSuspect *suspect)
{
    g_autofree char *tied = suspect->rank.first < suspect->rank.last
                                ? g_strdup_printf(" to %u", suspect->rank.last)
                                : g_strdup("");
    g_string_append_printf(text, "rank %u%s  score %.4f  ", suspect->rank.first, tied,
                           suspect->rank.score);
}

static char *tell_ranking(const AcrIndex *index, const AcrLocalized *found)
{
    GString *text = g_string_new(NULL);
    g_string_append_printf(
        text, "%u test%s, %u pass%s%s\n", found->failing->len,
        found->failing->len == 1 ? " fails" : "s fail", found->passing,
        found->passing == 1 ? "es" : "",
        found->is_whole ? "" : "; some tests did not run, or their lines are not known");
    for (guint i = 0; i < MIN(found->methods->len, SHOWN); i++) {
        const AcrSuspect *suspect = &g_array_index(found->methods, AcrSuspect, i);
        const AcrSymbol *symbol = acr_index_symbol(index, (guint32)suspect->symbol);
        g_autofree char *path = acr_one_line(acr_index_file(index, suspect->file)->path);
        append_rank(text, suspect);
        g_string_append_printf(text, "%s:%u  %s\n", path, suspect->first, symbol->qualname);
    }
    for (guint i = 0; i < MIN(found->lines->len, SHOWN); i++) {
        const AcrSuspect *suspect = &g_array_index(found->lines, AcrSuspect, i);
        g_autofree char *path = acr_one_line(acr_index_file(index, suspect->file)->path);
        g_string_append(text, i ? "" : "\nLines:\n");
        append_rank(text, suspect);
        g_string_append_printf(text, "%s:%u", path, suspect->first);
        if (suspect->last > suspect->first)
            g_string_append_printf(text, "-%u", suspect->last);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

/* ---- Running ---- */

/* Returns the tree with the hidden tests of a benchmark task; owned. */
static AcrOverlay *add_hidden_tests(const AcrTestPlace *place, GError **error)
{
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(place->workspace.snapshot);
    g_autoptr(AcrJson) row = acr_json_parse(place->plan.row, strlen(place->plan.row), error);
    const char *patch = acr_json_get_string(row, "test_patch");
    if (!row || !acr_overlay_apply_diff(overlay, patch, strlen(patch), error))
        return NULL;
    return g_steal_pointer(&overlay);
}

static int run_localize(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrTestPlace) place = {0};
    g_auto(AcrBaseline) baseline = {0};
    g_auto(AcrLocalized) found = {0};
    g_autoptr(AcrOverlay) tests = NULL;
    if (!acr_verb_take_environment(host, spec, &error) ||
        !acr_test_place_open(host, spec, &place, &error) ||
        !acr_repository_index(host, spec, &place.workspace, &error) ||
        (spec->has_hidden_tests && !(tests = add_hidden_tests(&place, &error))))
        return acr_test_place_fail(host, error);
    const AcrIndex *index = place.workspace.index;
    AcrProject project = acr_test_place_project(&place, host, spec);
    project.overlay = tests;
    g_auto(GStrv) hidden = tests ? g_strsplit(place.plan.failing, "\n", -1) : NULL;
    AcrLocalizing localizing = {.index = index,
                                .overlay = tests,
                                .failing = (const char *const *)spec->failing_tests,
                                .expected = (const char *const *)hidden,
                                .formula = (AcrSpectrumFormula)spec->formula,
                                .has_imports = spec->has_imports};
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    acr_test_place_show(&project, console);
    bool ok = acr_project_baseline(&project, NULL, &baseline, &error) &&
              acr_project_localize(&project, &baseline, &localizing, &found, &error);
    acr_console_end(console);
    if (!ok)
        return acr_test_place_fail(host, error);
    if (spec->json) {
        g_autoptr(AcrJson) json = describe_ranking(index, &baseline, &found);
        return acr_out_exit(acr_out_json(json), ACR_EXIT_OK);
    }
    g_autofree char *text = tell_ranking(index, &found);
    return acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
}

const AcrVerb acr_verb_localize = {
    .name = "localize",
    .summary = "Rank methods and lines by the failing and passing tests that run them",
    .takes = ACR_FOR_LOCALIZE,
    .uses_network = true,
    .examples = {{"Rank methods by a failing test",
                  "localize --failing-test tests/test_add.py::test_add"}},
    .exits = "1 no test fails",
    .run = run_localize,
};
