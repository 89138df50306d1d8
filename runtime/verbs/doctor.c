/* acr-host doctor: checks the installation on this machine, and prints a row for each check, with a
 * remedy. If a check fails, `run` does not work; if a check warns, a part of `run` does not
 * work. */
#include "verbs/verbs_private.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "sandbox/container_images.h"

/* time limit in milliseconds for the answer of a model's server, and of Python */
#define ANSWER_MS 15000
#define LITTLE_ROOM (1ull << 30) /* fewer free bytes on a disk cause a warning */
#define MAX_COUNTED 200000u      /* maximum number of the cache's files that are counted */
#define MIB (1024.0 * 1024)

typedef enum { OK, WARNING, FAILED } State;
static const char *const states[] = {"ok", "warning", "failed"};

typedef struct {
    AcrHost *host;
    const AcrRunSpec *spec;
    AcrJson *rows; /* [{"check", "state", "found", "remedy"}] */
    bool has_failed;
} Doctor;

/* Adds a row for a check. `remedy` may be NULL. */
static void add_check(Doctor *doctor, const char *check, State state, const char *remedy,
                      const char *found)
{
    acr_json_add(doctor->rows, ACR_STRING("check", check), ACR_STRING("state", states[state]),
                 ACR_STRING("found", found), ACR_STRING("remedy", state == OK ? NULL : remedy));
    doctor->has_failed = doctor->has_failed || state == FAILED;
}

/* ---- The program's own parts ---- */

static void check_prompts(Doctor *doctor)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrPrompts) prompts = acr_prompts_load(doctor->host->prompts_dir, NULL, &error);
    add_check(doctor, "prompts", prompts ? OK : FAILED, "install acr-host again",
              prompts ? doctor->host->prompts_dir : error->message);
}

static void check_python(Doctor *doctor)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrPython) python = acr_python_new(doctor->host->python_dir, &error);
    g_autoptr(GBytes) bytes = NULL;
    if (!python ||
        !acr_python_call(python, "machine", "describe", NULL, ANSWER_MS, &bytes, &error)) {
        add_check(doctor, "python", FAILED, "install the Python that acr-host was built for",
                  error->message);
        return;
    }
    g_autoptr(AcrJson) json = acr_json_parse_bytes(bytes, NULL);
    g_autofree char *found =
        g_strdup_printf("CPython %s in %s", acr_json_get_string(json, "python"),
                        acr_json_get_string(json, "prefix"));
    const char *pylint = acr_json_get_string(json, "pylint");
    add_check(doctor, "python", OK, NULL, found);
    add_check(doctor, "pylint", pylint ? OK : WARNING,
              "run 'apt-get install pylint', or 'pip install pylint' for that Python",
              pylint ? pylint : "missing: acr-host cannot find new errors in an edited file");
}

/* Checks the worker process, in which Python reads untrusted code. */
static void check_worker(Doctor *doctor)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrRefereeWorker) worker =
        acr_referee_worker_new(doctor->host->exe, ACR_REFEREE_VERB, doctor->host->interrupt);
    const AcrReferee *referee = acr_referee_worker_referee(worker);
    g_autoptr(GBytes) source = g_bytes_new_static("x = 1\n", strlen("x = 1\n"));
    g_autofree char *message = NULL;
    bool compiles = false,
         ok = referee->compiles(referee->ctx, "x.py", source, &compiles, &message, &error);
    add_check(doctor, "worker", ok && compiles ? OK : FAILED,
              "acr-host needs Linux 5.13 or later and a mounted /proc",
              error      ? error->message
              : compiles ? "a confined process parses and compiles files"
                         : message);
}

/* ---- Where code is run ---- */

/* Takes a snapshot of an empty folder. The caller removes the folder and frees the snapshot. */
static AcrSnapshot *empty_snapshot(const char *folder, GError **error)
{
    g_autoptr(AcrRepo) repo = acr_repo_open(folder, error);
    return repo ? acr_snapshot_of_worktree(repo, error) : NULL;
}

static bool try_sandbox(AcrSandbox *sandbox, GError **error)
{
    static const char *const argv[] = {"true", NULL};
    g_auto(AcrExecuted) executed = {0};
    return acr_sandbox_run(sandbox, &(AcrExecution){.argv = argv}, &executed, error);
}

static void check_sandbox(Doctor *doctor)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("acr-host-doctor-XXXXXX", &error);
    g_autoptr(AcrSnapshot) snapshot = folder ? empty_snapshot(folder, &error) : NULL;
    g_autoptr(AcrRepo) here = acr_repo_open(".", NULL);
    const char *place = here ? acr_repo_workdir(here) : NULL;
    g_autofree char *at = place ? g_build_filename(place, ".git", NULL) : NULL,
                    *top = at && g_file_test(at, G_FILE_TEST_EXISTS) ? acr_path_real(place) : NULL;
    AcrSandboxOptions options =
        acr_sandbox_options_of(doctor->spec, doctor->host, snapshot, top, NULL);
    g_autoptr(AcrSandbox) sandbox = snapshot ? acr_sandbox_open(&options, &error) : NULL;
    bool works = sandbox && try_sandbox(sandbox, &error) &&
                 (!doctor->spec->python || doctor->spec->image ||
                  acr_task_check_python(acr_sandbox_python(sandbox, NULL), top, &error));
    /* in a checkout, the Python that a run would use, for which the project's files matter */
    g_autoptr(AcrSnapshot) files = top ? acr_snapshot_of_worktree(here, NULL) : NULL;
    options.snapshot = files;
    g_autoptr(AcrSandbox) own = files ? acr_sandbox_open(&options, NULL) : NULL;
    const char *choice = works ? acr_sandbox_choice(own ? own : sandbox) : NULL;
    g_autofree char *found =
        works ? g_strdup_printf("%s works; %s", acr_sandbox_backend(sandbox),
                                choice ? choice : "acr-host uses the Python of the image")
              : g_strdup(error->message);
    add_check(
        doctor, "sandbox", works ? OK : WARNING,
        "without a sandbox, patches cannot be verified; follow the advice in this line, install "
        "bubblewrap, or use --image NAME",
        found);
    if (folder)
        (void)g_rmdir(folder);
}

static void check_engine(Doctor *doctor)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrImages) images = acr_images_open(doctor->host->interrupt, &error);
    add_check(doctor, "engine", images ? OK : WARNING,
              "only --image, and eval without --sandbox environment, need a container engine",
              images ? "a container engine answers" : error->message);
}

/* ---- Models ---- */

static void check_keys(Doctor *doctor)
{
    g_auto(GStrv) set = acr_llm_keys_set();
    g_autofree char *found = g_strjoinv(", ", set);
    bool is_named = doctor->spec->models != NULL;
    add_check(
        doctor, "keys", *found || is_named ? OK : WARNING,
        "set OPENAI_API_KEY or another provider's variable, or name your own server with --model",
        *found ? found : "no key is set in the environment");
}

static void check_model(Doctor *doctor, const AcrLimits *limits, const char *name)
{
    g_autoptr(GError) error = NULL;
    AcrModelOptions options = acr_model_options_of(doctor->spec, limits, doctor->host->interrupt);
    g_autoptr(AcrModel) model = acr_model_of(doctor->spec, name, &options, &error);
    g_autofree char *check = g_strdup_printf("model %s", name);
    AcrModelFacts facts;
    int status = 0;
    if (!model) {
        add_check(doctor, check, FAILED, "see acr-host help models-and-money", error->message);
        return;
    }
    acr_model_facts(model, &facts);
    if (doctor->spec->online && !acr_model_reach(model, ANSWER_MS, &status, &error)) {
        add_check(doctor, check, FAILED, "check --base-url, the network and its proxy",
                  error->message);
        return;
    }
    g_autofree char *answer = status          ? g_strdup_printf("; answers (HTTP %d)", status)
                              : facts.address ? g_strdup("; not contacted (add --online)")
                                              : g_strdup("");
    g_autofree char *found = g_strdup_printf("%s%s%s%s", facts.address ? facts.address : "a script",
                                             facts.key       ? ", key from "
                                             : facts.address ? ", without key"
                                                             : "",
                                             facts.key ? facts.key : "", answer);
    bool is_ill = status >= 500; /* also if a proxy answers for a server that is down */
    add_check(doctor, check, is_ill ? WARNING : OK, is_ill ? "see the server's log" : NULL, found);
}

static void check_models(Doctor *doctor)
{
    g_auto(AcrLimits) limits = {0};
    g_autoptr(GError) error = NULL;
    check_keys(doctor);
    if (!acr_limits_init(&limits, doctor->spec, &error))
        return; /* a remote engine cannot read local files */
    for (char **name = doctor->spec->models; name && *name; name++)
        check_model(doctor, &limits, *name);
}

/* ---- Disk and terminal ---- */

static void count_bytes(const char *path, guint *n, guint64 *bytes)
{
    GStatBuf status;
    g_autoptr(GDir) dir = NULL;
    if (*n >= MAX_COUNTED || g_lstat(path, &status) != 0)
        return;
    *n += 1;
    *bytes += (guint64)status.st_blocks * 512;
    if (!S_ISDIR(status.st_mode) || !(dir = g_dir_open(path, 0, NULL)))
        return;
    for (const char *name; (name = g_dir_read_name(dir));) {
        g_autofree char *inside = g_build_filename(path, name, NULL);
        count_bytes(inside, n, bytes);
    }
}

/* Returns whether files can be created in `path` or its nearest existing parent folder. *out_room
 * is the number of free bytes there. */
static bool is_writable(const char *path, guint64 *out_room)
{
    struct statvfs room;
    g_autofree char *at = g_strdup(path);
    while (access(at, F_OK) != 0 && strcmp(at, "/") != 0) {
        char *parent = g_path_get_dirname(at);
        g_free(at);
        at = parent;
    }
    *out_room = statvfs(at, &room) == 0 ? (guint64)room.f_bavail * room.f_frsize : 0;
    return access(at, W_OK | X_OK) == 0;
}

static void check_disk_place(Doctor *doctor, const char *check, const char *path, bool is_counted)
{
    guint64 room = 0, bytes = 0;
    guint n = 0;
    if (!path) {
        add_check(doctor, check, WARNING, "set HOME", "there is no home folder");
        return;
    }
    bool ok = is_writable(path, &room);
    if (is_counted)
        count_bytes(path, &n, &bytes);
    g_autofree char *used =
        is_counted ? g_strdup_printf(", %.0f MiB used", (double)bytes / MIB) : g_strdup("");
    g_autofree char *found = g_strdup_printf("%s%s%s, %.0f MiB free", path, used,
                                             ok ? "" : " is not writable", (double)room / MIB);
    add_check(doctor, check, ok && room >= LITTLE_ROOM ? OK : WARNING,
              ok ? "free some disk space for this folder"
                 : "make this folder writable for your user",
              found);
}

static void check_places(Doctor *doctor)
{
    g_autofree char *outlines = acr_host_default_cache(ACR_CACHE_OUTLINES);
    g_autofree char *cache = outlines ? g_path_get_dirname(outlines) : NULL;
    g_autofree char *runs = acr_user_path("XDG_STATE_HOME", ".local/state", "runs");
    check_disk_place(doctor, "cache", cache, true);
    check_disk_place(doctor, "run folders", runs, false);
    check_disk_place(doctor, "temporary", g_get_tmp_dir(), false);
}

static void check_locale(Doctor *doctor)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(names) && !(value && *value); i++)
        value = g_getenv(names[i]);
    g_autofree char *lower = g_ascii_strdown(value ? value : "", -1);
    bool ok = strstr(lower, "utf-8") || strstr(lower, "utf8");
    add_check(doctor, "locale", ok ? OK : WARNING,
              "output is UTF-8; if the terminal shows it wrongly, run 'export LANG=C.UTF-8'",
              value && *value ? value : "not set");
}

/* ---- The verb ---- */

static char *write_rows(const AcrJson *rows)
{
    GString *text = g_string_new(NULL);
    for (const AcrJson *at = acr_json_first(rows); at; at = acr_json_next(at)) {
        const char *remedy = acr_json_get_string(at, "remedy");
        g_autofree char *found = acr_one_line(acr_json_get_string(at, "found"));
        g_string_append_printf(text, "%-8s %-12s %s%s%s\n", acr_json_get_string(at, "state"),
                               acr_json_get_string(at, "check"), found, remedy ? " -> " : "",
                               remedy ? remedy : "");
    }
    return g_string_free(text, FALSE);
}

static int run_doctor(AcrHost *host, AcrRunSpec *spec)
{
    static void (*const checks[])(Doctor *) = {check_prompts, check_python, check_worker,
                                               check_sandbox, check_engine, check_models,
                                               check_places,  check_locale};
    g_autoptr(AcrJson) rows = acr_json_new_array();
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    Doctor doctor = {.host = host, .spec = spec, .rows = rows};
    acr_console_await(console, "checking this machine");
    for (guint i = 0; i < G_N_ELEMENTS(checks) && !acr_interrupted(host->interrupt); i++)
        checks[i](&doctor);
    acr_console_end(console);
    if (acr_interrupted(host->interrupt))
        return acr_verb_fail(host, NULL);
    g_autofree char *text = write_rows(rows);
    g_autoptr(AcrJson) json = acr_json_of(ACR_BOOL("ok", !doctor.has_failed),
                                          ACR_JSON("checks", g_steal_pointer(&rows)), NULL);
    return acr_out_exit(spec->json ? acr_out_json(json) : acr_out_text(text),
                        doctor.has_failed ? ACR_EXIT_ENVIRONMENT : ACR_EXIT_OK);
}

const AcrVerb acr_verb_doctor = {
    .name = "doctor",
    .summary = "Check whether this machine can run acr-host, and say how to fix problems",
    .takes = ACR_FOR_DOCTOR,
    .uses_network = true,
    .examples = {{"Check this machine and a key", "doctor --model openai/gpt-4.1 --online"}},
    .exits = "0 no check failed, 3 a check failed",
    .run = run_doctor,
};
