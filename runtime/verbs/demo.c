/* acr-host demo: performs `run` on a copy of the bundled sample with recorded answers, so that
 * users can try a new installation without key or network. The copy is then removed, unless the
 * user named its folder. */
#include "verbs/verbs_private.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#define JSON "--json"
#define MAX_SAMPLE_BYTES ((gsize)1024 * 1024)

static bool copy(const char *from, const char *to, GError **error)
{
    if (!g_file_test(from, G_FILE_TEST_IS_DIR)) {
        g_autoptr(GBytes) bytes = acr_file_read(from, MAX_SAMPLE_BYTES, error);
        gsize len = 0;
        const void *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
        return bytes && acr_file_write_atomic(to, data, len, 0644, error);
    }
    g_autoptr(GDir) dir = g_dir_open(from, 0, error);
    bool ok = dir != NULL;
    if (ok && g_mkdir(to, 0755) != 0)
        ok = acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                           "cannot create '%s': %s", to, g_strerror(errno));
    for (const char *name; ok && (name = g_dir_read_name(dir));) {
        g_autofree char *inside = g_build_filename(from, name, NULL),
                        *copied = g_build_filename(to, name, NULL);
        ok = copy(inside, copied, error);
    }
    return ok;
}

/* Creates the folder that the user named, which must not exist, or a temporary folder; owned. */
static char *make_demo_folder(const char *named, GError **error)
{
    if (!named)
        return g_dir_make_tmp("acr-host-demo-XXXXXX", error);
    g_autofree char *parent = g_path_get_dirname(named);
    if (g_mkdir_with_parents(parent, 0755) == 0 && g_mkdir(named, 0755) == 0)
        return g_canonicalize_filename(named, NULL);
    const char *why = errno == EEXIST ? "it exists already; name a new folder" : g_strerror(errno);
    return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE,
                                  "cannot create '%s': %s", named, why));
}

/* Copies the sample (installed, or from the source tree) to the subfolder `sample` of a new folder.
 * Returns the path of the new folder, owned. */
static char *copy_sample(const AcrHost *host, const char *named, GError **error)
{
    static const char *const places[] = {"../sample", "../tests/fixtures/sample"};
    for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autofree char *sample = g_build_filename(host->python_dir, places[i], NULL);
        if (!g_file_test(sample, G_FILE_TEST_IS_DIR))
            continue;
        g_autofree char *folder = make_demo_folder(named, error);
        g_autofree char *inside = folder ? g_build_filename(folder, "sample", NULL) : NULL;
        return inside && copy(sample, inside, error) ? g_steal_pointer(&folder) : NULL;
    }
    return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                                  "the sample is missing: install acr-host again"));
}

/* Makes the kept sample a repository with one commit, because otherwise git could take it for a
 * part of an enclosing repository. Without git, it stays a plain folder. */
static bool commit_sample(const char *folder, GError **error)
{
    g_autofree char *repo = g_build_filename(folder, "sample", "repo", NULL),
                    *path = g_strconcat("PATH=", g_getenv("PATH"), NULL);
    const char *const env[] = {path, "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", NULL};
    const char
        *const init[] = {"git", "init", "-q", "--template=", NULL},
               *const add[] = {"git", "add", "-A", NULL},
               *const commit[] = {
                   "git", "-c", "user.name=acr-host", "-c", "user.email=demo@localhost", "commit",
                   "-q",  "-m", "The sample",         NULL};
    const char *const *const steps[] = {init, add, commit};
    g_autofree char *git = acr_program_find("git");
    for (guint i = 0; git && i < G_N_ELEMENTS(steps); i++) {
        g_auto(AcrSpawnResult) ended = {0};
        AcrSpawn spawn = {.argv = steps[i], .envp = env, .cwd = repo};
        if (!acr_spawn_run(&spawn, &ended, error))
            return false;
        if (ended.exit_code != 0)
            return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                                 "git %s failed in '%s'", steps[i][1], repo);
    }
    return true;
}

static int run_sample(AcrHost *host, const char *folder, bool is_kept, bool is_json)
{
    g_autofree char *repo = g_build_filename(folder, "sample", "repo", NULL),
                    *issue = g_build_filename(folder, "sample", "issue.md", NULL),
                    *model = g_strdup_printf("script:%s/sample/answers.jsonl", folder),
                    *out = g_build_filename(folder, "out", NULL);
    const char *words[] = {"run",   "--repo", repo,        "--issue", issue, "--model", model,
                           "--out", out,      "--verbose", NULL,      NULL,  NULL};
    guint n = G_N_ELEMENTS(words) - 3;
    if (is_json)
        words[n++] = JSON;
    if (!is_kept) /* the kept sample still has its bug */
        words[n] = "--apply";
    g_auto(GStrv) argv = g_strdupv((char **)words);
    g_autofree char *command = g_strjoinv(" ", argv);
    acr_verb_tell("$ acr-host %s%s\n", command,
                  is_kept ? "" : "  # on a copy that is removed afterwards; demo FOLDER keeps it");
    return acr_verb_start(host, &acr_verb_run, (int)g_strv_length(argv), argv);
}

static int start_demo(AcrHost *host, int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    if (argc > 1 && (g_str_has_prefix(argv[1], "--help") || strcmp(argv[1], "-h") == 0)) {
        g_autofree char *text = acr_help_text(&acr_verb_demo, false);
        return acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
    }
    bool is_json = argc > 1 && strcmp(argv[1], JSON) == 0; /* acr_host.call_verb adds it */
    int at = is_json ? 2 : 1;
    at += at + 1 < argc && strcmp(argv[at], "--") == 0;
    const char *named = argc == at + 1 && argv[at][0] != '-' ? argv[at] : NULL;
    if (argc > at && !named)
        return acr_verb_usage(host,
                              "'demo' takes only the name of a new folder, and no other option "
                              "than --json; use 'acr-host run' on your own repository");
    g_autofree char *folder = copy_sample(host, named, &error);
    if (!folder || (named && !commit_sample(folder, &error)))
        return acr_verb_fail(host, error);
    int code = run_sample(host, folder, named != NULL, is_json);
    if (!named && !acr_dir_remove(folder, &error))
        return acr_verb_fail(host, error);
    return code;
}

const AcrVerb acr_verb_demo = {
    .name = "demo",
    .arguments = "[FOLDER]",
    .summary = "Fix the bundled sample's issue with recorded answers, without key or network",
    .examples = {{"See a run without a key", "demo"},
                 {"Keep the sample and the run, to repeat it with other options", "demo ~/try"}},
    .start = start_demo,
};
