/* Default places: the repository that encloses the current folder, and a new run folder. */
#include "verbs/verbs_private.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* maximum number of run folders of a repository created in the same second */
#define MOST_OF_A_SECOND 100

/* Returns whether `folder` has a ".git". *out_is_foreign: the repository belongs to another user,
 * so it is used only if the user names it, because an attacker may have put it there. */
static bool is_repository(const char *folder, bool *out_is_foreign)
{
    struct stat status;
    g_autofree char *git = g_build_filename(folder, ".git", NULL);
    if (stat(git, &status) != 0)
        return false;
    *out_is_foreign = geteuid() != 0 && status.st_uid != geteuid();
    return true;
}

/* Returns the enclosing repository; owned. If there is none: the current folder if `or_here`. */
static char *find_repository(bool or_here, GError **error)
{
    g_autofree char *start = g_get_current_dir();
    g_autofree char *folder = g_strdup(start);
    bool is_foreign = false;
    for (;;) {
        if (is_repository(folder, &is_foreign)) {
            if (is_foreign)
                return ACR_NULL(acr_task_refuse(
                    error,
                    "the repository '%s' belongs to another user; to use it, name it with --repo",
                    folder));
            return g_steal_pointer(&folder);
        }
        char *parent = g_path_get_dirname(folder);
        bool is_root = g_str_equal(parent, folder);
        g_free(folder);
        folder = parent;
        if (is_root && or_here)
            return g_steal_pointer(&start);
        if (is_root)
            return ACR_NULL(acr_task_refuse(
                error, "there is no git repository around '%s'; name one, or a folder, with --repo",
                start));
    }
}

char *acr_verb_new_run_folder(const char *repo, GError **error)
{
    g_autofree char *runs = acr_user_path("XDG_STATE_HOME", ".local/state", "runs");
    g_autofree char *real = g_canonicalize_filename(repo, NULL);
    g_autofree char *name = g_path_get_basename(real);
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autofree char *time = g_date_time_format(now, "%Y%m%d-%H%M%S");
    if (!runs)
        return ACR_NULL(
            acr_task_refuse(error, "there is no home folder to store runs in; give --out DIR"));
    if (g_mkdir_with_parents(runs, 0700) != 0)
        return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                                      "cannot create '%s': %s; give another place with --out", runs,
                                      g_strerror(errno)));
    for (int i = 1; i <= MOST_OF_A_SECOND; i++) {
        g_autofree char *more = i > 1 ? g_strdup_printf("-%d", i) : g_strdup("");
        g_autofree char *path = g_strdup_printf("%s/%s-%s%s", runs, name, time, more);
        if (mkdir(path, 0700) == 0)
            return g_steal_pointer(&path);
        if (errno != EEXIST)
            break;
    }
    return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                                  "cannot create a folder in '%s': %s", runs, g_strerror(errno)));
}

/* Adds the latest run of the enclosing repository as the argument, if the user gave none. A request
 * is made only from a finished run. */
static void take_latest_run(AcrRunSpec *spec)
{
    g_autofree char *repo = find_repository(false, NULL),
                    *latest = repo ? acr_runs_latest(repo, spec->verb & ACR_FOR_PR) : NULL;
    if (!latest)
        return;
    acr_verb_say("the run folder is %s", latest);
    g_strfreev(spec->arguments);
    spec->arguments = g_strsplit(latest, "\n", 1);
}

AcrExit acr_verb_refuse_runs(AcrHost *host, const AcrRunSpec *spec)
{
    return acr_verb_usage(host, "%s",
                          spec->arguments[0] ? "give only one folder"
                          : spec->verb & ACR_FOR_PR
                              ? "there is no finished run of this repository in your state folder; "
                                "give the folder of a run"
                              : "there is no run of this repository in your state folder; "
                                "give the folder of a run");
}

bool acr_verb_fill_places(AcrRunSpec *spec, GError **error)
{
    static const guint issue = ACR_FOR_RUN | ACR_FOR_REPRODUCE | ACR_FOR_VERIFY,
                       of_run = ACR_FOR_REPORT | ACR_FOR_REPLAY | ACR_FOR_PR | ACR_FOR_WATCH,
                       looks = issue | ACR_FOR_RUNS | ACR_FOR_SEARCH | ACR_FOR_PATCH |
                               ACR_FOR_INDEX | ACR_FOR_EXEC | ACR_FOR_TESTS | ACR_FOR_LOCALIZE;
    /* an unset variable in a user's script gives an empty string */
    if (spec->repo && !*spec->repo)
        return acr_task_refuse(error, "--repo is empty");
    if (spec->out && !*spec->out)
        return acr_task_refuse(error, "--out is empty");
    bool is_about_cache = spec->clear && !(spec->arguments && spec->arguments[0]);
    bool is_task = (spec->verb & (ACR_FOR_TESTS | ACR_FOR_LOCALIZE)) && spec->dataset;
    bool is_list = (spec->verb & ACR_FOR_SEARCH) && spec->list;
    bool is_test = (spec->verb & ACR_FOR_EXTENSIONS) && g_strcmp0(spec->arguments[0], "test") == 0;
    if ((spec->verb & ACR_FOR_EXTENSIONS) && !spec->repo && !is_test)
        spec->repo = find_repository(false, NULL); /* extensions must not be inside this folder */
    if (((spec->verb & looks) || is_test) && !spec->repo && !is_about_cache && !is_task &&
        !is_list && !(spec->repo = find_repository(spec->verb & ACR_FOR_SEARCH, error)))
        return false;
    if ((spec->verb & of_run) && !spec->arguments[0])
        take_latest_run(spec);
    if (!(spec->verb & issue) || spec->out || spec->dry_run || spec->resume)
        return true;
    spec->out = acr_verb_new_run_folder(spec->repo, error);
    return spec->out != NULL;
}
