/* Handles a prompt of the Agent Client Protocol in a separate thread: starts a process for the
 * issue, passes the process's events on, asks the client whether the patch may be written, and
 * answers the prompt. The process runs the verb batch-task, like each task of a batch. It reads its
 * options from standard input, and ends when the host ends. */
#include <string.h>
#include <unistd.h>

#include "serve/acp_private.h"

#define MAX_EVENT_BYTES ((gsize)64 * 1024 * 1024)
/* time in milliseconds in which a cancelled run can end by itself and leave its folder
 * consistent */
#define SOFT_MS 8000

/* A process that works on the prompt. */
typedef struct {
    AcrAcpSession *session;
    AcrServeLines lines;
    bool is_quiet;   /* do not pass the process's events on */
    AcrJson *result; /* as in result.json; owned; NULL if the process has printed no result */
    AcrSpawnResult ended;
} Run;

static void run_clear(Run *run)
{
    g_clear_pointer(&run->lines.line, g_byte_array_unref);
    acr_json_free(run->result);
    acr_spawn_result_clear(&run->ended);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

static bool is_cancelled(AcrAcpSession *session)
{
    pthread_mutex_lock(&session->acp->lock);
    bool is_over = session->is_cancelled;
    pthread_mutex_unlock(&session->acp->lock);
    return is_over;
}

static void take_event_line(void *ctx, const char *line, gsize len)
{
    Run *run = ctx;
    g_autoptr(AcrJson) event = line ? acr_json_parse(line, len, NULL) : NULL;
    const char *kind = acr_json_get_string(event, "event");
    const AcrJson *result = acr_json_get(event, "result");
    if (g_strcmp0(kind, "result") == 0 && result) {
        acr_json_free(run->result);
        run->result = acr_json_copy(result);
    } else if (kind && !run->is_quiet) {
        acr_acp_tell_event(run->session, event);
    }
}

static void take_output(void *ctx, bool is_stderr, const char *data, gsize len)
{
    Run *run = ctx;
    if (!is_stderr)
        acr_serve_lines_add(&run->lines, data, len);
}

static bool may_go_on(void *ctx, pid_t pid)
{
    return !is_cancelled(((Run *)ctx)->session);
}

/* Returns the options of the run, as JSON; owned. */
static char *describe_prompt_run(const AcrAcpSession *session, bool apply)
{
    char to_stdout[] = "1";
    AcrRunSpec spec = *session->acp->options->spec; /* all strings of this struct are borrowed */
    spec.verb = ACR_FOR_RUN;
    spec.repo = session->repo;
    spec.issue_text = session->issue;
    spec.out = session->folder;
    spec.events = to_stdout;
    spec.apply = apply;
    g_autoptr(AcrJson) json = acr_json_of(ACR_INT("parent", getpid()),
                                          ACR_JSON("spec", acr_run_spec_to_json(&spec, 0)), NULL);
    return acr_json_print(json);
}

/* Runs the process. Returns true if the process ended by itself; otherwise it was stopped, or could
 * not be started. */
static bool run_process(Run *run, bool apply, GError **error)
{
    AcrAcp *acp = run->session->acp;
    const char *const argv[] = {acp->options->host->exe, ACR_BATCH_TASK_VERB, run->session->id,
                                NULL};
    g_autofree char *input = describe_prompt_run(run->session, apply);
    run->is_quiet = apply;
    run->lines = (AcrServeLines){
        .line = g_byte_array_new(), .max = MAX_EVENT_BYTES, .take = take_event_line, .ctx = run};
    AcrSpawn spawn = {
        .argv = argv,
        .input = input,
        .input_len = strlen(input),
        .keep_ends = true,
        .soft_ms = SOFT_MS,
        .on_output = take_output,
        .watch = may_go_on,
        .ctx = run,
        .interrupt = acp->options->host->interrupt,
    };
    return acr_spawn_run(&spawn, &run->ended, error) && !run->ended.unwatched &&
           !run->ended.interrupted;
}

/* Returns the text that the process printed for people, without the program's name at the beginning
 * of lines; owned. */
static char *last_words(const Run *run)
{
    g_autofree char *text = g_strstrip(acr_utf8_repair_bytes(run->ended.err));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    static const char before[] = "acr-host " ACR_BATCH_TASK_VERB ": ";
    GString *words = g_string_new(NULL);
    for (guint i = 0; lines[i]; i++)
        g_string_append_printf(words, "%s%s", i ? "\n" : "",
                               lines[i] +
                                   (g_str_has_prefix(lines[i], before) ? sizeof before - 1 : 0));
    if (!words->len && run->ended.signal)
        g_string_printf(words, "the run was ended by signal %d", run->ended.signal);
    return g_string_free(words, FALSE);
}

/* Sends a request to the client and returns the answer; owned; NULL if the prompt was cancelled (a
 * later answer is ignored). */
static AcrJson *ask_client(AcrAcpSession *session, const char *method, AcrJson *params)
{
    AcrAcp *acp = session->acp;
    pthread_mutex_lock(&acp->lock);
    gint64 id = ++acp->last_request;
    session->asked = id;
    pthread_mutex_unlock(&acp->lock);
    acr_acp_send(acp, id, method, params);
    pthread_mutex_lock(&acp->lock);
    while (!session->answer && !session->is_cancelled)
        pthread_cond_wait(&acp->told, &acp->lock);
    g_autoptr(AcrJson) answer = g_steal_pointer(&session->answer);
    bool is_over = session->is_cancelled;
    session->asked = 0;
    pthread_mutex_unlock(&acp->lock);
    return is_over ? NULL : g_steal_pointer(&answer);
}

/* Asks the client for permission for the tool call `call` (copied). Returns true if the client
 * allows it. */
static bool is_allowed(AcrAcpSession *session, const AcrJson *call)
{
    AcrJson *options = acr_json_new_array();
    acr_json_add(options, ACR_STRING("optionId", "apply"), ACR_STRING("name", "Apply the patch"),
                 ACR_STRING("kind", "allow_once"));
    acr_json_add(options, ACR_STRING("optionId", "keep"),
                 ACR_STRING("name", "Leave the files as they are"),
                 ACR_STRING("kind", "reject_once"));
    g_autoptr(AcrJson) answer = ask_client(session, "session/request_permission",
                                           acr_json_of(ACR_STRING("sessionId", session->id),
                                                       ACR_JSON("toolCall", acr_json_copy(call)),
                                                       ACR_JSON("options", options), NULL));
    const AcrJson *result = acr_json_get(answer, "error") ? NULL : acr_json_get(answer, "result"),
                  *outcome = acr_json_get(result, "outcome");
    return g_strcmp0(acr_json_get_string(outcome, "outcome"), "selected") == 0 &&
           g_strcmp0(acr_json_get_string(outcome, "optionId"), "apply") == 0;
}

static void tell_end(AcrAcpSession *session, const AcrJson *call, bool ok)
{
    acr_acp_tell_call(session, "tool_call_update",
                      acr_json_of("toolCallId", ACR_MEMBER(call, "toolCallId"),
                                  ACR_STRING("status", ok ? "completed" : "failed"), NULL));
}

/* Offers the patch to the client, and writes the patch if the client allows it. */
static void offer_patch(AcrAcpSession *session, const char *diff)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) call = acr_acp_edit(session, diff, &error);
    if (!call) {
        g_autofree char *why = g_strconcat("The patch cannot be written: ", error->message, NULL);
        acr_acp_say(session, ACR_ACP_MESSAGE, why);
        return;
    }
    acr_acp_tell_call(session, "tool_call", acr_json_copy(call));
    /* initialised before the call of is_allowed, so that it can be cleared in every case */
    g_auto(Run) run = {.session = session};
    bool may = is_allowed(session, call);
    bool ok = may && run_process(&run, true, &error) && run.ended.exit_code == ACR_EXIT_OK;
    tell_end(session, call, ok);
    g_autofree char *words = may && !ok && !error ? last_words(&run) : NULL;
    if (may && !ok && !is_cancelled(session))
        acr_acp_say(session, ACR_ACP_MESSAGE, error ? error->message : words);
}

static AcrJson *stopped(const char *reason)
{
    return acr_json_of(ACR_STRING("stopReason", reason), NULL);
}

/* Runs the process and returns the result of the prompt; NULL with a fault. */
static AcrJson *work_on(AcrAcpSession *session, AcrServeFault *fault)
{
    g_autoptr(GError) error = NULL;
    g_auto(Run) run = {.session = session};
    bool ok = run_process(&run, false, &error);
    if (is_cancelled(session) || run.ended.interrupted)
        return stopped("cancelled");
    g_autofree char *words = ok ? last_words(&run) : NULL;
    bool is_failure = !ok || !run.result || run.ended.exit_code == ACR_EXIT_USAGE ||
                      run.ended.exit_code == ACR_EXIT_ENVIRONMENT;
    if (is_failure)
        return acr_serve_refuse(fault, ACR_SERVE_INTERNAL, "%s",
                                error             ? error->message
                                : words && *words ? words
                                                  : "the run ended without a result");
    acr_acp_tell_plan(session, ACR_ACP_STAGES);
    if (*words)
        acr_acp_say(session, ACR_ACP_MESSAGE, words);
    g_autofree char *where = g_strdup_printf("The run folder is %s", session->folder);
    acr_acp_say(session, ACR_ACP_MESSAGE, where);
    g_autoptr(GBytes) patch = acr_json_get_bytes(run.result, "patch");
    g_autofree char *diff = patch ? acr_bytes_text(patch) : NULL;
    /* Offer the patch only if the run is finished: a run that a limit stopped would continue when
     * it is run with --apply, and write a different patch. */
    if (diff && *diff && run.ended.exit_code == ACR_EXIT_OK)
        offer_patch(session, diff);
    return stopped(is_cancelled(session) ? "cancelled" : "end_turn");
}

static void *work_on_prompt(void *data)
{
    AcrAcpSession *session = data;
    AcrAcp *acp = session->acp;
    g_auto(AcrServeFault) fault = {0};
    session->stage = ACR_ACP_STAGES;
    session->has_reproducer = false;
    AcrJson *result = work_on(session, &fault);
    g_autofree char *line = acr_serve_reply(&session->prompt, result, &fault);
    pthread_mutex_lock(&acp->lock);
    session->is_busy = false;
    acp->runs--;
    pthread_mutex_unlock(&acp->lock);
    acr_serve_pipe_write(&acp->pipe, line);
    return NULL;
}

bool acr_acp_prompt_start(AcrAcpSession *session)
{
    AcrAcp *acp = session->acp;
    sigset_t before;
    pthread_mutex_lock(&acp->lock);
    session->is_busy = true;
    session->is_cancelled = false;
    acp->runs++;
    pthread_mutex_unlock(&acp->lock);
    acr_serve_block_signals(&before);
    session->has_thread = pthread_create(&session->thread, NULL, work_on_prompt, session) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (session->has_thread)
        return true;
    pthread_mutex_lock(&acp->lock);
    session->is_busy = false;
    acp->runs--;
    pthread_mutex_unlock(&acp->lock);
    return false;
}

void acr_acp_prompt_cancel(AcrAcpSession *session)
{
    pthread_mutex_lock(&session->acp->lock);
    session->is_cancelled = true;
    pthread_cond_broadcast(&session->acp->told);
    pthread_mutex_unlock(&session->acp->lock);
}

void acr_acp_prompt_join(AcrAcpSession *session)
{
    if (session->has_thread)
        pthread_join(session->thread, NULL);
    session->has_thread = false;
}
