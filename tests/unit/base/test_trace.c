/* Tests of traces: which rooms are shown, where the traces go, and that they cannot control a
 * terminal. */
#include "base/trace.h"
#include "test_base.h"

/* The traces of the rooms `patch` and `llm` if $ACR_TRACE is these words and a file name; owned. */
static char *traced(const char *words)
{
    g_autofree char *folder = test_folder(), *file = g_build_filename(folder, "trace", NULL),
                    *value = g_strconcat(words, file, NULL);
    char *text = NULL;
    g_setenv("ACR_TRACE", value, TRUE);
    acr_trace("patch", "edit %d lands", 1);
    acr_trace("llm", "red \x1b[31m text\nof a model");
    g_unsetenv("ACR_TRACE");
    g_file_get_contents(file, &text, NULL, NULL);
    test_folder_remove(folder);
    return text;
}

TEST("/base/trace", all_rooms_are_traced_to_a_file)
{
    g_autofree char *text = traced("");
    g_assert_nonnull(strstr(text, " patch: edit 1 lands\n"));
    g_assert_nonnull(strstr(text, " llm: red  [31m text of a model\n"));
}

TEST("/base/trace", named_rooms_alone_are_traced)
{
    g_autofree char *text = traced("patch,search,");
    g_assert_nonnull(strstr(text, " patch: "));
    g_assert_null(strstr(text, " llm: "));
}

TEST("/base/trace", nothing_is_traced_for_other_rooms)
{
    g_autofree char *text = traced("search,");
    g_assert_null(text);
}
