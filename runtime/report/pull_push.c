/* Pushes a branch with the git command, which can use the user's keys and credential helpers. git
 * runs in an empty git folder that borrows the repository's objects. From the repository's
 * configuration we use only the remote's address, so that the repository cannot name a hook,
 * helper, proxy or other command. */
#include <string.h>

#include "llm/llm.h"
#include "report/report_private.h"

#define TIMEOUT_MS 600000
#define PROTOCOLS "file:git:http:https:ssh" /* the list lacks "ext", which would run a command */
#define BOUND                                                                                      \
    "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_WORK_TREE GIT_INDEX_FILE GIT_GRAFT_FILE "     \
    "GIT_SHALLOW_FILE GIT_PREFIX GIT_COMMON_DIR GIT_REPLACE_REF_BASE GIT_NAMESPACE"
/* If the remote is a folder, git also runs the receiving side on this machine, with the folder's
 * configuration, which is untrusted. So these settings disable the folder's hooks and commands. */
#define RECEIVE                                                                                    \
    "--receive-pack=git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true "            \
    "-c core.fsmonitor=false -c receive.autogc=false -c receive.denyCurrentBranch=refuse "         \
    "receive-pack"
#define CONFIG "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\thooksPath = /dev/null\n"

char *acr_pull_shown_url(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme ? scheme + strlen("://") : url;
    gsize len = strcspn(host, "/");
    const char *at = g_strrstr_len(host, (gssize)len, "@");
    bool is_web = g_ascii_strncasecmp(url, "http", strlen("http")) == 0;
    const char *secret = !at ? NULL : is_web ? host : memchr(host, ':', (gsize)(at - host));
    g_autofree char *shown =
        scheme && secret ? g_strdup_printf("%.*s%s", (int)(secret - url), url, is_web ? at + 1 : at)
                         : g_strdup(url);
    return g_strdelimit(acr_text_visible(shown), "\n\t", ' ');
}

static bool is_path(const char *url)
{
    return g_str_has_prefix(url, "file://") ||
           (!strstr(url, "://") && !memchr(url, ':', strcspn(url, "/")));
}

/* Makes a path absolute. It is relative to the repository, not to git's current folder. */
static char *absolute_url(const AcrPull *pull)
{
    const char *url = pull->push_url, *workdir = acr_repo_workdir(pull->repo);
    return is_path(url) && !strstr(url, "://")
               ? g_canonicalize_filename(url, workdir ? workdir : acr_repo_path(pull->repo))
               : g_strdup(url);
}

/* True if `path` is `top` or lies inside `top`; false if `top` is NULL. */
static bool is_below(const char *path, const char *top)
{
    g_autofree char *real = top ? acr_path_real(top) : NULL;
    return acr_path_is_below(path, real);
}

bool acr_pull_check_address(const AcrPull *pull, GError **error)
{
    static const char file[] = "file://";
    g_autofree char *url = absolute_url(pull), *objects = acr_repo_objects(pull->repo);
    const char *place = g_str_has_prefix(url, file) ? url + strlen(file) : url;
    g_autofree char *unescaped = place != url ? g_uri_unescape_string(place, NULL) : NULL;
    g_autofree char *real =
        g_path_is_absolute(place) ? acr_path_real(unescaped ? unescaped : place) : NULL;
    g_autofree char *git = objects ? g_build_filename(objects, "..", NULL) : NULL;
    return !real ||
           (!is_below(real, acr_repo_workdir(pull->repo)) &&
            !is_below(real, acr_repo_path(pull->repo)) && !is_below(real, git)) ||
           acr_task_refuse(error,
                           "--push: the address of '%s' is inside the repository, whose files can "
                           "name commands that a push would run",
                           pull->spec->push);
}

static bool write_git_file(const char *dir, const char *name, const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    return acr_file_write_atomic(path, text, strlen(text), 0600, error);
}

/* Copies the file that tells git where the history of a shallow clone ends. */
static bool copy_shallow(const char *objects, const char *dir, GError **error)
{
    g_autofree char *from = g_build_filename(objects, "..", "shallow", NULL);
    g_autoptr(GBytes) bytes = acr_file_read(from, ACR_ISSUE_MAX_BYTES, NULL);
    g_autofree char *text = bytes ? acr_bytes_text(bytes) : NULL;
    return !text || write_git_file(dir, "shallow", text, error);
}

static bool make_folder(const char *dir, const char *objects, GError **error)
{
    g_autofree char *refs = g_build_filename(dir, "refs", NULL),
                    *own = g_build_filename(dir, "objects", NULL);
    return acr_dir_make(refs, error) && acr_dir_make(own, error) &&
           write_git_file(dir, "HEAD", "ref: refs/heads/main\n", error) &&
           write_git_file(dir, "config", CONFIG, error) && copy_shallow(objects, dir, error);
}

/* Returns this process's environment without keys of models, variables that bind git to another
 * repository, and tokens of forges (except for a token that git's helpers may need to log in);
 * owned (g_strfreev). */
static char **environment(const char *url, const char *dir, const char *objects)
{
    g_auto(GStrv) bound = g_strsplit(BOUND, " ", -1);
    char **env = acr_llm_without_keys(g_get_environ());
    bool is_web = g_ascii_strncasecmp(url, "http", strlen("http")) == 0;
    for (guint i = 0; bound[i]; i++)
        env = g_environ_unsetenv(env, bound[i]);
    for (guint i = 0; i < acr_n_forges && !is_web; i++)
        for (guint k = 0; acr_forges[i].variables[k]; k++)
            env = g_environ_unsetenv(env, acr_forges[i].variables[k]);
    env = g_environ_setenv(env, "GIT_DIR", dir, true);
    env = g_environ_setenv(env, "GIT_OBJECT_DIRECTORY", objects, true);
    env = g_environ_setenv(env, "GIT_ALLOW_PROTOCOL", PROTOCOLS, true);
    return g_environ_setenv(env, "GIT_TERMINAL_PROMPT", "0", true);
}

/* Returns the line of git's output that gives the reason of the failure, with the password removed
 * from the address; owned. */
static char *reason_of(const AcrPull *pull, const AcrSpawnResult *done)
{
    g_autofree char *out = acr_bytes_text(done->out), *err = acr_bytes_text(done->err);
    g_autofree char *all = g_strconcat(err, "\n", out, NULL);
    g_auto(GStrv) lines = g_strsplit(all, "\n", -1);
    const char *best = done->timed_out ? "git took too long" : "git printed nothing";
    bool is_sure = false;
    for (guint i = 0; lines[i] && !done->timed_out; i++) {
        bool says_why = lines[i][0] == '!' || g_str_has_prefix(lines[i], "fatal: ");
        if ((*lines[i] && !is_sure && strcmp(lines[i], "Done") != 0) || says_why)
            best = lines[i];
        is_sure = is_sure || says_why;
    }
    g_autofree char *shown = acr_pull_shown_url(pull->push_url);
    GString *line = g_string_new(best);
    g_string_replace(line, pull->push_url, shown, 0);
    return g_string_free(line, FALSE);
}

static bool push_from(const AcrPull *pull, const char *dir, const char *git, bool *out_is_new,
                      GError **error)
{
    g_autofree char *objects = acr_repo_objects(pull->repo), *url = absolute_url(pull);
    g_autofree char *what = g_strdup_printf("%s:%s", pull->branch.commit, pull->branch.ref);
    const char *const argv[] = {git,
                                "-c",
                                "core.fsmonitor=false",
                                "push",
                                "--porcelain",
                                "--no-force",
                                "--no-verify",
                                "--recurse-submodules=no",
                                is_path(url) ? RECEIVE : "--no-tags",
                                "--",
                                url,
                                what,
                                NULL};
    g_auto(GStrv) env = objects ? environment(url, dir, objects) : NULL;
    AcrSpawn spawn = {.argv = argv,
                      .envp = (const char *const *)env,
                      .cwd = dir,
                      .timeout_ms = TIMEOUT_MS,
                      .output_limit = 256u * 1024,
                      .interrupt = pull->host->interrupt};
    g_auto(AcrSpawnResult) done = {0};
    if (!objects || !make_folder(dir, objects, error) || !acr_spawn_run(&spawn, &done, error))
        return false;
    if (done.exit_code != 0) {
        g_autofree char *why = reason_of(pull, &done);
        return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                             "the branch was written, but not pushed to '%s': %s", pull->spec->push,
                             why);
    }
    g_autofree char *out = acr_bytes_text(done.out);
    *out_is_new = strstr(out, "\n=") == NULL;
    return true;
}

bool acr_pull_push(const AcrPull *pull, bool *out_is_new, GError **error)
{
    g_autofree char *git = acr_program_find("git");
    g_autofree char *dir = git ? g_dir_make_tmp("acr-push-XXXXXX", NULL) : NULL;
    if (!dir)
        return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                             "the branch was written, but not pushed: %s",
                             git ? "cannot create a temporary folder" : "git is not installed");
    bool ok = push_from(pull, dir, git, out_is_new, error);
    return acr_dir_remove(dir, ok ? error : NULL) && ok;
}
