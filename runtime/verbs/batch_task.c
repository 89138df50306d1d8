/* acr-host batch-task: one task of a batch. Hidden, because users never call it. It reads the
 * options as JSON from standard input, and writes the result as JSON to standard output, even if
 * the task fails. No argument ever contains a key or a ceiling. */
#include "verbs/verbs_private.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "http/http.h"

#define MAX_SPEC_BYTES ((gsize)256 * 1024 * 1024)

/* Makes this process end when the batch is killed, so that the task does not spend money unnoticed
 * and keep its run folder locked. */
static void die_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != parent)
        _exit(ACR_EXIT_INTERRUPTED); /* the parent had already exited */
}

/* The verbs that a batch can run; the first two write a run folder. */
static const AcrVerb *const verbs[] = {&acr_verb_run, &acr_verb_reproduce, &acr_verb_localize,
                                       &acr_verb_patch};

static const AcrVerb *find_verb(gint64 number)
{
    for (guint i = 0; i < G_N_ELEMENTS(verbs); i++)
        if (verbs[i]->takes == number)
            return verbs[i];
    return NULL;
}

/* Reads the options of a task and its verb. */
static bool read_spec(AcrHost *host, AcrRunSpec *spec, const AcrVerb **out_verb, GError **error)
{
    g_autoptr(GBytes) bytes = acr_read_stdin(MAX_SPEC_BYTES, host->interrupt, error);
    g_autoptr(AcrJson) json = acr_json_parse_bytes(bytes, error);
    *out_verb = find_verb(acr_json_get_int(json, "verb", ACR_FOR_RUN));
    if (!json || !*out_verb)
        return json && acr_task_refuse(error, "the spec of the task names an unknown verb");
    die_with((pid_t)acr_json_get_int(json, "parent", 0));
    *spec = acr_run_spec_of((*out_verb)->takes);
    spec->arguments = acr_json_strings(acr_json_get(json, "arguments"));
    return acr_run_spec_from_json(spec, 0, acr_json_get(json, "spec"), error) &&
           acr_run_spec_complete(spec, error);
}

static int start_batch_task(AcrHost *host, int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrRunSpec) spec = {0};
    const AcrVerb *verb = NULL;
    if (!read_spec(host, &spec, &verb, &error) || !acr_http_global_init(&error))
        return acr_verb_fail(host, error);
    spec.json = spec.quiet = true;
    spec.verbose = false;
    g_autofree char *cache = acr_verb_take_host_options(host, &spec);
    int code = verb->run(host, &spec);
    acr_http_global_cleanup();
    return code;
}

const AcrVerb acr_verb_batch_task = {.name = ACR_BATCH_TASK_VERB, .start = start_batch_task};
