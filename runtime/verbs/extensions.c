/* acr-host extensions: lists what extensions add, writes a template for a new extension, and runs
 * an extension's tests. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "verbs/verbs_private.h"

#define MAX_TEMPLATE ((gsize)64 * 1024)

static void say(void *ctx, const char *line)
{
    acr_verb_say("%s", line);
}

bool acr_verb_load_extensions(AcrHost *host, const AcrRunSpec *spec, const char *workdir,
                              AcrExtensions **out, GError **error)
{
    AcrExtensionOptions options = {
        .files = (const char *const *)spec->extensions,
        .exe = host->exe,
        .repo = workdir,
        .timeout_ms = spec->extension_ms,
        .interrupt = host->interrupt,
        .keeps_broken = spec->verb == ACR_FOR_EXTENSIONS,
        .warn = say,
    };
    return acr_extensions_check_files(options.files, workdir, error) &&
           acr_extensions_load(&options, out, error);
}

bool acr_verb_find_extensions(AcrHost *host, AcrRunSpec *spec, GError **error)
{
    AcrExtensionOptions options = {
        .exe = host->exe, .timeout_ms = spec->extension_ms, .interrupt = host->interrupt};
    return acr_extensions_locate(spec->extensions, &options, error);
}

/* Reads the issue from an extension's source. Leaves `issue_text` unset if no extension has a
 * source for the scheme of --issue. */
static bool take_issue(AcrHost *host, AcrRunSpec *spec, GError **error)
{
    g_autoptr(AcrExtensions) all = NULL;
    g_autoptr(AcrRepo) repo = acr_repo_open(spec->repo, error);
    g_autofree char *text = NULL;
    if (!repo || !acr_verb_load_extensions(host, spec, acr_repo_workdir(repo), &all, error) ||
        !acr_extensions_issue(all, spec->issue_file, &text, error))
        return false;
    spec->issue_text = g_steal_pointer(&text);
    return true;
}

bool acr_verb_ask_extensions(AcrHost *host, AcrRunSpec *spec, GError **error)
{
    const char *issue = spec->issue_text ? NULL : spec->issue_file;
    bool may_be_theirs = issue && strchr(issue, ':') && !acr_issue_is_page(issue) &&
                         !g_file_test(issue, G_FILE_TEST_EXISTS);
    bool has_prompts = spec->prompts != NULL;
    for (char **file = spec->extensions; file && *file && !has_prompts; file++) {
        char *folder = acr_extension_prompts(*file);
        g_free(folder ? spec->prompts : NULL);
        spec->prompts = folder ? folder : spec->prompts;
    }
    return !spec->extensions || !may_be_theirs || take_issue(host, spec, error);
}

/* ---- The list ---- */

static void append_call_row(GString *text, const AcrJson *call)
{
    g_string_append_printf(text, "  call %s(", acr_json_get_string(call, "name"));
    const AcrJson *first = acr_json_first(acr_json_get(call, "params"));
    for (const AcrJson *at = first; at; at = acr_json_next(at)) {
        const char *otherwise = acr_json_get_string(at, "otherwise");
        g_string_append_printf(text, "%s%s: %s%s%s", at == first ? "" : ", ",
                               acr_json_get_string(at, "name"), acr_json_get_string(at, "type"),
                               otherwise ? " = " : "", otherwise ? otherwise : "");
    }
    g_string_append_printf(text, "): %s\n", acr_json_get_string(call, "summary"));
}

static void append_extension(GString *text, const AcrJson *row)
{
    g_autoptr(GBytes) path = acr_json_get_bytes(row, "file");
    g_autofree char *file = acr_bytes_text(path);
    const char *version = acr_json_get_string(row, "version");
    /* a line on standard error has said why it is not loaded */
    g_string_append_printf(text, "%s%s%s%s\n", file, version && *version ? " " : "",
                           version ? version : "",
                           acr_json_get(row, "error") ? ": not loaded" : "");
    const AcrJson *at = acr_json_first(acr_json_get(row, "calls"));
    for (; at; at = acr_json_next(at))
        append_call_row(text, at);
    static const struct {
        const char *list, *what;
    } kinds[] = {{"checks", "check of patches"},
                 {"localisers", "localiser"},
                 {"sources", "source of issues"},
                 {"parsers", "parser of logs"}};
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        for (at = acr_json_first(acr_json_get(row, kinds[i].list)); at; at = acr_json_next(at))
            g_string_append_printf(text, "  %s %s\n", kinds[i].what, acr_json_string(at));
    const char *prompts = acr_json_get_string(row, "prompts");
    if (prompts)
        g_string_append_printf(text, "  prompts of %s\n", prompts);
    for (at = acr_json_first(acr_json_get(row, "events")); at; at = acr_json_next(at))
        g_string_append_printf(text, "  observer of '%s' %s\n", acr_json_get_string(at, "kind"),
                               acr_json_get_string(at, "name"));
    for (at = acr_json_first(acr_json_get(row, "settings")); at; at = acr_json_next(at))
        g_string_append_printf(text, "  setting $%s (%s, default '%s') %s\n",
                               acr_json_get_string(at, "variable"), acr_json_get_string(at, "type"),
                               acr_json_get_string(at, "default"),
                               acr_json_get_string(at, "about"));
}

/* Returns whether a file could not be loaded: in other verbs, this is a mistake of usage. */
static bool has_broken(const AcrJson *rows)
{
    for (const AcrJson *at = acr_json_first(rows); at; at = acr_json_next(at))
        if (acr_json_get(at, "error"))
            return true;
    return false;
}

static int list(AcrHost *host, const AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrExtensions) all = NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    if (!acr_verb_load_extensions(host, spec, spec->repo, &all, &error))
        return acr_verb_fail(host, error);
    g_autoptr(AcrJson) rows = acr_extensions_describe(all);
    if (!all)
        acr_verb_say(
            "no extension is loaded; name one with --extension FILE, or in the configuration file");
    for (const AcrJson *at = acr_json_first(rows); at; at = acr_json_next(at))
        append_extension(text, at);
    return acr_out_exit(spec->json ? acr_out_json(rows) : acr_out_text(text->str),
                        has_broken(rows) ? ACR_EXIT_USAGE : ACR_EXIT_OK);
}

/* ---- A new extension ---- */

static int write_new(AcrHost *host, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *from = g_build_filename(host->python_dir, "examples", "beginning.py", NULL),
                    *to = g_str_has_suffix(name, ".py") ? g_strdup(name)
                                                        : g_strconcat(name, ".py", NULL);
    struct stat status;
    if (g_str_has_suffix(to, "/.py") || strcmp(to, ".py") == 0)
        return acr_verb_usage(host, "'%s' cannot name a file; give a name such as mine", name);
    if (lstat(to, &status) == 0)
        return acr_verb_usage(host, "'%s' exists already; choose another name", to);
    g_autoptr(GBytes) text = acr_file_read(from, MAX_TEMPLATE, &error);
    gsize len = 0;
    const void *data = text ? g_bytes_get_data(text, &len) : NULL;
    if (!text || !acr_file_write_atomic(to, data, len, 0644, &error))
        return acr_verb_fail(host, error);
    g_autofree char *word = acr_shell_word(to);
    g_autofree char *next = g_strdup_printf(
        "wrote %s; edit it, then run its tests: acr-host extensions test %s --repo DIR\n", to,
        word);
    return acr_out_exit(acr_out_text(next), ACR_EXIT_OK);
}

/* ---- Tests ---- */

static bool run_test(AcrExtensions *all, const AcrWorkspace *workspace, const char *name,
                     GString *text, bool *failed, GError **error)
{
    g_autofree char *why = NULL;
    if (!acr_extensions_test(all, 0, name, workspace->search, &why, error))
        return false;
    g_string_append_printf(text, "%s %s%s%s\n", why ? "FAILED" : "passed", name, why ? ": " : "",
                           why ? why : "");
    *failed = *failed || why;
    return true;
}

static int run_extension_tests(AcrHost *host, AcrRunSpec *spec, const char *file)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrExtensions) all = NULL;
    g_auto(AcrWorkspace) workspace = {0};
    g_autoptr(GString) text = g_string_new(NULL);
    const AcrOption *option = acr_option_find("extension", strlen("extension"), spec->verb);
    g_clear_pointer(&spec->extensions, g_strfreev);
    if (!acr_run_spec_set(spec, option, "FILE", file, &error) ||
        !acr_repository_open(host, spec, &workspace, &error) ||
        !acr_verb_load_extensions(host, spec, acr_repo_workdir(workspace.repo), &all, &error) ||
        !acr_repository_index(host, spec, &workspace, &error))
        return acr_verb_fail(host, error);
    g_autoptr(AcrJson) rows = acr_extensions_describe(all);
    bool failed = false, is_broken = has_broken(rows);
    const AcrJson *tests = acr_json_get(acr_json_first(rows), "tests");
    for (const AcrJson *at = acr_json_first(tests); at; at = acr_json_next(at))
        if (!run_test(all, &workspace, acr_json_string(at), text, &failed, &error))
            return acr_verb_fail(host, error);
    if (!is_broken && acr_json_size(tests) == 0)
        return acr_verb_usage(host, "'%s' has no function test_…(repo)", file);
    return acr_out_exit(acr_out_text(text->str), is_broken ? ACR_EXIT_USAGE
                                                 : failed  ? ACR_EXIT_NONE
                                                           : ACR_EXIT_OK);
}

static int run_extensions(AcrHost *host, AcrRunSpec *spec)
{
    char **words = spec->arguments;
    guint n = g_strv_length(words);
    if (n == 0)
        return list(host, spec);
    if (n == 2 && strcmp(words[0], "new") == 0)
        return write_new(host, words[1]);
    if (n == 2 && strcmp(words[0], "test") == 0 && spec->json)
        return acr_verb_usage(
            host, "--json does not apply to 'test'; the exit code is 1 if a test fails");
    if (n == 2 && strcmp(words[0], "test") == 0)
        return run_extension_tests(host, spec, words[1]);
    return acr_verb_usage(host, "give 'new NAME' or 'test FILE'; no argument lists the extensions");
}

const AcrVerb acr_verb_extensions = {
    .name = "extensions",
    .summary = "List your Python extensions, write one, or run its tests",
    .takes = ACR_FOR_EXTENSIONS,
    .arguments = "[new NAME | test FILE]",
    .arguments_note = "default: list what is loaded",
    .examples = {{"Write an extension to start from", "extensions new notes.py"},
                 {"Run the tests of an extension", "extensions test notes.py --repo ~/project"}},
    .exits = "1 a test failed, 2 an extension cannot be loaded",
    .run = run_extensions,
};
