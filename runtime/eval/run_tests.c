/* Runs a task's tests, in the task's image or in an environment, by one command in one sandbox. The
 * command reads patch and script from standard input, applies the patch as SWE-bench's harness
 * does, and runs the script. The command reports its steps on standard error, in lines marked with
 * a random word, so that the tests cannot fake such lines. */
#include "eval/eval_private.h"

#include <string.h>

#include "project/project.h"
#include "sandbox/sandbox.h"

#define MAX_REFUSAL_BYTES 300u
#define MB ((gint64)1024 * 1024)
#define DEFAULT_WALL_MS ((gint64)1800 * 1000)
#define DEFAULT_MEMORY (8192 * MB)
#define DEFAULT_PROCESSES 1024u
#define DISK_BYTES (32 * 1024 * MB)
#define OUTPUT_BYTES ((gsize)64 * 1024 * 1024)

#define APPLIED "applied by "
#define REFUSED "not applied"
#define ENDED "ended with "
#define CHANGED "changed "

/* Arguments: $1 the version of the rules; $2 where to write the script; $3 the folder of the
 * environment's programs, or ""; $4 the project's folder, or "" for the current folder; $5 a branch
 * to check out first, or ""; then files that must stay unchanged. By the rules of version 5, each
 * attempt to apply the patch starts on a clean tree, and a patch counts as applied if it can be
 * reverted. A tree without a git folder gets one during the attempt. Files that the patch changed
 * are found by their ctime, which no program can set. The random word is read from standard input,
 * because tests can read command lines. */
static const char driver[] =
    "IFS=' ' read -r patch script word || exit 125\n"
    "head -c \"$patch\" >/tmp/patch.diff && head -c \"$script\" >\"$2\" || exit 125\n"
    "exec </dev/null\n"
    "at=$2 rules=$1 PATH=${3:+$3:}$PATH; export PATH\n"
    "[ -z \"$4\" ] || cd \"$4\" || exit 125\n"
    "[ -z \"$5\" ] || git checkout -q \"$5\" || { git fetch -q && git checkout -q \"$5\"; } || "
    "exit 125\n"
    "shift 5\n"
    "for file; do mkdir -p /tmp/kept && cp --parents -- \"$file\" /tmp/kept; done 2>/dev/null\n"
    "tell() { printf '\\n%s %s\\n' \"$word\" \"$*\" >&2; }\n"
    "try() { \"$@\" /tmp/patch.diff >&2 2>&1 && tell " APPLIED "\"$*\"; }\n"
    "clean() { [ $rules = 4 ] || { git checkout -- . ; git clean -fd; } >/dev/null 2>&1; }\n"
    "with_git() {\n"
    "  [ -e .git ] && return; own=1\n"
    "  { git init -q && git add -A && git -c user.name=x -c user.email=x commit -qm x; } "
    ">/dev/null 2>&1\n"
    "}\n"
    "apply() {\n"
    "  try git apply --verbose && return; with_git; clean\n"
    "  [ $rules = 4 ] || { try git apply --verbose --3way && return; clean; }\n"
    "  try git apply --verbose --reject && return; clean\n"
    "  if [ $rules = 4 ]; then try patch --batch --fuzz=5 -p1 -i && return\n"
    "  else try patch --batch --forward --fuzz=5 -p1 -i && return\n"
    "    try git apply --check --reverse && return; fi\n"
    "  tell " REFUSED "; return 1\n"
    "}\n"
    "changes() {\n"
    "  find . -path ./.git -prune -o \\( -type f -o -type l \\) -newer /tmp/before -print\n"
    "  [ ! -e .git ] || find .git/config .git/hooks .git/info -type f -newer /tmp/before -print\n"
    "}\n"
    "tell_changes() {\n"
    "  while IFS= read -r file; do\n"
    "    if [ -L \"$file\" ]; then kind=l; else kind=f; fi\n"
    "    tell " CHANGED "$kind \"${file#./}\"\n"
    "  done\n"
    "}\n"
    "touch /tmp/before; sleep 0.02\n"
    "[ \"$patch\" = 0 ] || apply || exit 0\n"
    "[ -z \"$own\" ] || rm -rf .git\n"
    "[ \"$patch\" = 0 ] || changes 2>/dev/null | tell_changes\n"
    "[ ! -e .git ] || git -c core.fileMode=false diff >&2\n"
    "/bin/bash \"$at\" 2>&1\n"
    "tell " ENDED "$?\n";

void acr_eval_run_clear(AcrEvalRun *run)
{
    g_clear_pointer(&run->output, g_bytes_unref);
    g_clear_pointer(&run->log, g_free);
    g_clear_pointer(&run->applied_by, g_free);
    g_clear_pointer(&run->changed, g_free);
}

/* Returns the driver's input: a line with the sizes and the random word, then patch and script. */
static GBytes *make_input(const char *patch, const char *script, const char *word)
{
    GString *text = g_string_new(NULL);
    patch = patch ? patch : "";
    g_string_append_printf(text, "%" G_GSIZE_FORMAT " %" G_GSIZE_FORMAT " %s\n%s%s", strlen(patch),
                           strlen(script), word, patch, script);
    return g_string_free_to_bytes(text);
}

/* Returns the rest of the last line that begins with `word` and `begin`; owned; NULL if there is no
 * such line. */
static char *find_told(const char *text, const char *word, const char *begin)
{
    g_autofree char *mark = g_strdup_printf("\n%s %s", word, begin);
    const char *at = g_strrstr(text, mark);
    return at ? g_strndup(at + strlen(mark), strcspn(at + strlen(mark), "\n")) : NULL;
}

/* Returns the rests of all lines that begin with `word` and `begin`, one on each line; owned. */
static char *find_all_told(const char *text, const char *word, const char *begin)
{
    g_autofree char *mark = g_strdup_printf("\n%s %s", word, begin);
    GString *all = g_string_new(NULL);
    for (const char *at = strstr(text, mark); at; at = strstr(at, mark)) {
        at += strlen(mark);
        g_string_append_len(all, at, (gssize)strcspn(at, "\n"));
        g_string_append_c(all, '\n');
    }
    return g_string_free(all, FALSE);
}

static char *without_word(const char *text, const char *word)
{
    g_auto(GStrv) parts = g_strsplit(text, word, -1);
    return g_strjoinv(">>>>>", parts);
}

static void take_word(const AcrExecuted *executed, const char *word, AcrEvalRun *out)
{
    g_autofree char *told = acr_utf8_repair_bytes(executed->err);
    g_autofree char *refused = find_told(told, word, REFUSED),
                    *ended = find_told(told, word, ENDED);
    out->applied_by = find_told(told, word, APPLIED);
    out->changed = find_all_told(told, word, CHANGED);
    out->log = without_word(told, word);
    out->timed_out = executed->limit == ACR_LIMIT_WALL;
    out->limit = acr_sandbox_limit_name(executed->limit);
    out->exit_code = ended ? (int)g_ascii_strtod(ended, NULL) : executed->exit_code;
    out->wall_ms = executed->wall_ms;
    out->peak_bytes = executed->peak_bytes;
    out->image_bytes = executed->image_bytes;
    out->output = refused ? NULL : g_bytes_ref(executed->out);
}

static AcrSandboxLimits limits_of(const AcrRunSpec *spec, gint64 deadline_us)
{
    gint64 wall_ms = spec->timeout_ms > 0 ? spec->timeout_ms : DEFAULT_WALL_MS;
    return (AcrSandboxLimits){
        .wall_ms = acr_project_time_left(deadline_us, wall_ms),
        .memory_bytes = spec->memory_mb > 0 ? spec->memory_mb * MB : DEFAULT_MEMORY,
        .processes = spec->processes > 0 ? (guint)spec->processes : DEFAULT_PROCESSES,
        .disk_bytes = DISK_BYTES,
        .output_bytes = OUTPUT_BYTES,
    };
}

static void add_argument_lines(GPtrArray *argv, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    for (guint i = 0; lines[i]; i++)
        if (*lines[i])
            g_ptr_array_add(argv, g_steal_pointer(&lines[i]));
        else
            g_clear_pointer(&lines[i], g_free);
}

/* Returns the command that starts the driver. The driver writes a trial's script to a file with a
 * random name, which no patch can know. */
static GPtrArray *make_command(const AcrEvalOptions *options, const AcrGradingPlan *plan,
                               const AcrGradingTrial *trial, const char *bin)
{
    g_autofree char *name = g_uuid_string_random(), *own = g_strdup_printf("/tmp/%.12s.sh", name);
    const char *const first[] = {"/bin/bash",
                                 "-c",
                                 driver,
                                 "grade",
                                 options->spec->rules == 4 ? "4" : "5",
                                 trial ? own
                                 : bin ? "/tmp/" ACR_FILE_EVAL_SCRIPT
                                       : "/" ACR_FILE_EVAL_SCRIPT,
                                 bin ? bin : "",
                                 plan->folder ? plan->folder : "",
                                 plan->checkout ? plan->checkout : ""};
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < G_N_ELEMENTS(first); i++)
        g_ptr_array_add(argv, g_strdup(first[i]));
    add_argument_lines(argv, plan->kept);
    add_argument_lines(argv, trial ? trial->kept : NULL);
    g_ptr_array_add(argv, NULL);
    return argv;
}

/* Runs the driver in a sandbox. `bin` is the folder of the environment's programs; NULL if there is
 * none. */
static bool run_in_sandbox(const AcrEvalOptions *options, AcrSandbox *sandbox,
                           const AcrGradingPlan *plan, const AcrEvalWay *way, const char *bin,
                           AcrEvalRun *out, GError **error)
{
    const AcrRunSpec *spec = options->spec;
    g_autofree char *word = g_uuid_string_random();
    g_autoptr(GBytes) input =
        make_input(way->patch, way->trial ? way->trial->script : plan->script, word);
    g_autoptr(GPtrArray) argv = make_command(options, plan, way->trial, bin);
    AcrExecution execution = {.argv = (const char *const *)argv->pdata,
                              .input = input,
                              .env = way->env,
                              .network = spec->network,
                              .limits = limits_of(spec, out->deadline_us)};
    g_auto(AcrExecuted) executed = {0};
    if (!acr_sandbox_run(sandbox, &execution, &executed, error))
        return false;
    take_word(&executed, word, out);
    return true;
}

static bool run_in_image(const AcrEvalOptions *options, const AcrGradingPlan *plan,
                         const AcrEvalWay *way, AcrEvalRun *out, GError **error)
{
    g_autofree char *cache = acr_host_default_cache(ACR_CACHE_SANDBOX);
    AcrSandboxOptions sandbox_options = {
        .backend = ACR_IN_CONTAINER,
        .image = plan->image,
        .cache = cache,
        .deadline_us = out->deadline_us,
        .exe = options->host->exe,
        .interrupt = options->host->interrupt,
    };
    g_autoptr(AcrSandbox) sandbox = acr_sandbox_open(&sandbox_options, error);
    return sandbox && run_in_sandbox(options, sandbox, plan, way, NULL, out, error);
}

AcrSnapshot *acr_eval_tree(const AcrRunSpec *spec, const AcrInstance *task, GError **error)
{
    g_autofree char *path = acr_dataset_repo(spec->repos, task->repo);
    if (!path || !task->base_commit)
        return ACR_NULL(acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_FAILED,
                                      path ? "the row has no \"base_commit\""
                                           : "cannot find a repository of '%s' in '%s'",
                                      task->repo, spec->repos));
    g_autoptr(AcrRepo) repo = acr_repo_open(path, error);
    return repo ? acr_workspace_snapshot(repo, task->base_commit, error) : NULL;
}

static bool run_in_environment(const AcrEvalOptions *options, const AcrInstance *task,
                               const AcrGradingPlan *plan, const AcrEvalWay *way, AcrEvalRun *out,
                               GError **error)
{
    g_autofree char *cache = acr_host_default_cache(ACR_CACHE_SANDBOX);
    g_autoptr(AcrSnapshot) tree = acr_eval_tree(options->spec, task, error);
    gint64 start_us = g_get_monotonic_time();
    g_autofree char *python = tree ? acr_eval_environment(options->host, options->spec->out, task,
                                                          plan, out->deadline_us, error)
                                   : NULL;
    out->setup_ms += (g_get_monotonic_time() - start_us) / 1000;
    if (!python)
        return false;
    AcrSandboxOptions sandbox_options = {
        .backend = ACR_IN_BUBBLEWRAP,
        .snapshot = tree,
        .python = python,
        .setup = *plan->install ? plan->install : NULL,
        .deadline_us = out->deadline_us,
        .cache = cache,
        .exe = options->host->exe,
        .interrupt = options->host->interrupt,
    };
    g_autofree char *bin = g_path_get_dirname(python);
    g_autoptr(AcrSandbox) sandbox = acr_sandbox_open(&sandbox_options, error);
    return sandbox && run_in_sandbox(options, sandbox, plan, way, bin, out, error);
}

char *acr_eval_refusal(const char *log)
{
    static const char mark[] = "error: ";
    g_auto(GStrv) lines = g_strsplit(log, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        const char *said = lines[i] + strlen(mark);
        char *advice = strstr(lines[i], " (allow with "); /* the advice names an option of git */
        if (advice)
            *advice = '\0';
        if (g_str_has_prefix(lines[i], mark) && !g_str_has_prefix(said, "while searching for"))
            return acr_text_shorten(said, MAX_REFUSAL_BYTES);
    }
    return NULL;
}

bool acr_eval_run_tests(const AcrEvalOptions *options, const AcrInstance *task,
                        const AcrGradingPlan *plan, const AcrEvalWay *way, AcrEvalRun *out,
                        GError **error)
{
    return plan->image ? run_in_image(options, plan, way, out, error)
                       : run_in_environment(options, task, plan, way, out, error);
}
