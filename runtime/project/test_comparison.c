/* The effect of a patch on tests: its JSON (for journal, results and reports), and its text for
 * people. */
#include <stddef.h>
#include <string.h>

#include "project/project_private.h"

#define LINE_TESTS 3u /* maximum number of tests that one line names */

static const struct {
    const char *name, *heading;
    gsize offset; /* offset in AcrTestComparison */
} lists[] = {
#define LIST_ROW(name, heading) {#name, heading, offsetof(AcrTestComparison, name)},
    ACR_COMPARISON_LISTS(LIST_ROW)};

static GPtrArray **list_of(const AcrTestComparison *comparison, guint i)
{
    return (GPtrArray **)(void *)((char *)comparison + lists[i].offset);
}

bool acr_test_comparison_list(const AcrTestComparison *comparison, guint i, const char **out_name,
                              const char **out_heading, const GPtrArray **out_ids)
{
    if (i >= G_N_ELEMENTS(lists))
        return false;
    *out_name = lists[i].name;
    *out_heading = lists[i].heading;
    *out_ids = *list_of(comparison, i);
    return true;
}

static void free_broken(gpointer data)
{
    AcrBrokenTest *test = data;
    ACR_FREE(test->id, test->message, test->excuse, test);
}

void acr_test_comparison_init(AcrTestComparison *comparison)
{
    *comparison = (AcrTestComparison){.broken = g_ptr_array_new_with_free_func(free_broken)};
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
        *list_of(comparison, i) = g_ptr_array_new_with_free_func(g_free);
}

void acr_test_comparison_clear(AcrTestComparison *comparison)
{
    g_clear_pointer(&comparison->why, g_free);
    g_clear_pointer(&comparison->command, g_free);
    g_clear_pointer(&comparison->running, g_free);
    g_clear_pointer(&comparison->broken, g_ptr_array_unref);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
        g_clear_pointer(list_of(comparison, i), g_ptr_array_unref);
}

void acr_test_comparison_free(AcrTestComparison *comparison)
{
    if (comparison)
        acr_test_comparison_clear(comparison);
    g_free(comparison);
}

AcrTestComparison *acr_test_comparison_copy(const AcrTestComparison *comparison)
{
    g_autoptr(AcrJson) json = acr_json_new_object();
    acr_test_comparison_to_json(comparison, true, json);
    return acr_test_comparison_from_json(json);
}

static void add_broken(AcrTestComparison *comparison, const char *id, const char *message,
                       const char *excuse)
{
    AcrBrokenTest *test = g_new(AcrBrokenTest, 1);
    *test = (AcrBrokenTest){g_strdup(id), g_strdup(message), g_strdup(excuse)};
    if (!comparison->broken)
        comparison->broken = g_ptr_array_new_with_free_func(free_broken);
    g_ptr_array_add(comparison->broken, test);
}

void acr_test_comparison_break(AcrTestComparison *comparison, const char *id, const char *message)
{
    add_broken(comparison, id, message, NULL);
}

static bool has_text(GPtrArray *texts, const char *text, guint *out_at)
{
    return texts && g_ptr_array_find_with_equal_func(texts, text, g_str_equal, out_at);
}

void acr_test_comparison_merge(AcrTestComparison *into, const AcrTestComparison *later,
                               const GPtrArray *ids)
{
    guint at;
    for (guint i = 0; !later->why && !later->is_cut && i < ids->len; i++)
        if (has_text(into->unconfirmed, ids->pdata[i], &at))
            g_ptr_array_remove_index(into->unconfirmed, at);
    for (guint i = 0; later->broken && i < later->broken->len; i++) {
        const AcrBrokenTest *test = later->broken->pdata[i];
        bool is_known = false;
        for (guint k = 0; into->broken && k < into->broken->len; k++)
            is_known |= strcmp(((AcrBrokenTest *)into->broken->pdata[k])->id, test->id) == 0;
        if (has_text(into->unconfirmed, test->id, &at))
            g_ptr_array_remove_index(into->unconfirmed, at);
        if (!is_known)
            add_broken(into, test->id, test->message, NULL);
    }
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        const GPtrArray *more = *list_of(later, i);
        GPtrArray **list = list_of(into, i);
        for (guint k = 0; more && *list && k < more->len; k++)
            if (!has_text(*list, more->pdata[k], &at))
                g_ptr_array_add(*list, g_strdup(more->pdata[k]));
    }
}

guint acr_test_comparison_regressions(const AcrTestComparison *comparison)
{
    guint n = 0;
    for (guint i = 0; comparison->broken && i < comparison->broken->len; i++)
        n += !((AcrBrokenTest *)comparison->broken->pdata[i])->excuse;
    return n;
}

/* ---- JSON ---- */

static void set_broken(const GPtrArray *broken, AcrJson *json, AcrJson *messages)
{
    AcrJson *regressions = acr_json_new_array(), *expected = acr_json_new_array();
    for (guint i = 0; i < broken->len; i++) {
        const AcrBrokenTest *test = broken->pdata[i];
        acr_json_set_string(messages, test->id, test->message);
        if (!test->excuse) {
            acr_json_append(regressions, acr_json_new_string(test->id));
            continue;
        }
        acr_json_add(expected, ACR_STRING("test", test->id), ACR_STRING("reason", test->excuse));
    }
    acr_json_set(json, "regressions", regressions);
    acr_json_set(json, "expected", expected);
}

void acr_test_comparison_to_json(const AcrTestComparison *comparison, bool has_messages,
                                 AcrJson *json)
{
    if (comparison->why) {
        acr_json_set_string(json, "why", comparison->why);
        return;
    }
    acr_json_set_string(json, "command", comparison->command);
    acr_json_set_int(json, "compared", comparison->compared);
    if (!comparison->broken)
        return;
    g_autoptr(AcrJson) messages = acr_json_new_object();
    set_broken(comparison->broken, json, messages);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
        if (*list_of(comparison, i)) /* NULL if the record is older than the list */
            acr_json_set(json, lists[i].name, acr_json_new_texts(*list_of(comparison, i)));
    acr_json_set_int(json, "not_run", comparison->not_run);
    if (comparison->is_cut || comparison->is_stopped)
        acr_json_set_bool(json, "complete", false);
    if (comparison->is_cut)
        acr_json_set_string(json, "running", comparison->running);
    if (comparison->is_stopped)
        acr_json_set_bool(json, "stopped", true);
    if (has_messages)
        acr_json_set(json, "messages", g_steal_pointer(&messages));
}

static void take_broken(const AcrJson *json, AcrTestComparison *out)
{
    const AcrJson *messages = acr_json_get(json, "messages"),
                  *regressions = acr_json_get(json, "regressions");
    if (regressions)
        out->broken = g_ptr_array_new_with_free_func(free_broken);
    for (const AcrJson *at = acr_json_first(regressions); at; at = acr_json_next(at))
        if (acr_json_string(at))
            add_broken(out, acr_json_string(at), acr_json_get_string(messages, acr_json_string(at)),
                       NULL);
    for (const AcrJson *at = acr_json_first(acr_json_get(json, "expected")); at;
         at = acr_json_next(at)) {
        const char *id = acr_json_get_string(at, "test"),
                   *reason = acr_json_get_string(at, "reason");
        if (id && reason)
            add_broken(out, id, acr_json_get_string(messages, id), reason);
    }
}

AcrTestComparison *acr_test_comparison_from_json(const AcrJson *json)
{
    if (!json)
        return NULL;
    AcrTestComparison *comparison = g_new(AcrTestComparison, 1);
    bool is_stopped = acr_json_get_bool(json, "stopped", false),
         is_whole = acr_json_get_bool(json, "complete", true);
    *comparison = (AcrTestComparison){.why = g_strdup(acr_json_get_string(json, "why")),
                                      .command = g_strdup(acr_json_get_string(json, "command")),
                                      .running = g_strdup(acr_json_get_string(json, "running")),
                                      .compared = acr_json_get_int(json, "compared", 0),
                                      .not_run = acr_json_get_int(json, "not_run", 0),
                                      .is_stopped = is_stopped,
                                      .is_cut = !is_whole && !is_stopped};
    take_broken(json, comparison);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        const AcrJson *list = acr_json_get(json, lists[i].name);
        *list_of(comparison, i) = list ? acr_texts_from_json(list) : NULL;
    }
    return comparison;
}

/* ---- Text ---- */

void acr_test_comparison_name_regressions(const AcrTestComparison *comparison, GString *text)
{
    guint n = 0;
    for (guint i = 0; comparison->broken && i < comparison->broken->len; i++) {
        const AcrBrokenTest *test = comparison->broken->pdata[i];
        if (!test->excuse && n++ < LINE_TESTS)
            g_string_append_printf(text, "%s%s", n > 1 ? ", " : ": ", test->id);
    }
    if (n > LINE_TESTS)
        g_string_append_printf(text, " and %u more", n - LINE_TESTS);
}

char *acr_test_comparison_doubt(const AcrTestComparison *comparison)
{
    const GPtrArray *ids = comparison->unconfirmed;
    GString *text = g_string_new(NULL);
    if (comparison->why)
        g_string_append_printf(text, "the project's tests were not compared: %s", comparison->why);
    if (ids && ids->len)
        g_string_append_printf(text, "%u failed and could not run again: %s%s", ids->len,
                               (const char *)ids->pdata[0], ids->len > 1 ? " …" : "");
    if (comparison->is_cut)
        g_string_append_printf(text, "%sthe time limit was reached before all tests had run%s%s",
                               text->len ? "; " : "", comparison->running ? ", during " : "",
                               comparison->running ? comparison->running : "");
    return g_string_free(text, text->len == 0);
}

char *acr_test_comparison_line(const AcrTestComparison *comparison)
{
    if (comparison->why)
        return g_strdup_printf("not compared: %s", comparison->why);
    GString *line = g_string_new(NULL);
    guint regressions = acr_test_comparison_regressions(comparison);
    if (regressions > 0)
        g_string_append_printf(line, "%u that passed without the patch fail or disappear with it",
                               regressions);
    else
        g_string_append_printf(line, "no regression in the %" G_GINT64_FORMAT " that passed before",
                               comparison->compared);
    acr_test_comparison_name_regressions(comparison, line);
    for (guint i = 0; comparison->broken && i < comparison->broken->len; i++) {
        const AcrBrokenTest *test = comparison->broken->pdata[i];
        if (test->excuse)
            g_string_append_printf(line, "; expected to fail: %s (%s)", test->id, test->excuse);
    }
    if (comparison->removed && comparison->removed->len)
        g_string_append_printf(line, "; the patch removes %u", comparison->removed->len);
    if (comparison->skipped && comparison->skipped->len)
        g_string_append_printf(line, "; %u are skipped with the patch", comparison->skipped->len);
    if (comparison->not_run > 0 && !comparison->is_stopped)
        g_string_append_printf(line, "; %" G_GINT64_FORMAT " did not run", comparison->not_run);
    if (comparison->is_stopped)
        g_string_append(line, "; the other tests were not run");
    g_autofree char *doubt = acr_test_comparison_doubt(comparison);
    if (doubt)
        g_string_append_printf(line, "; %s", doubt);
    return g_string_free(line, FALSE);
}
