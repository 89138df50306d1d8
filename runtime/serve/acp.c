/* The Agent Client Protocol: reads messages from the client and answers them immediately, except
 * for prompts, which other threads answer. The reading thread owns the sessions. */
#include "serve/acp_private.h"
#include "task/limits.h"

#include <string.h>
#include <unistd.h>

#define VERSION 1
#define MAX_ISSUE_BYTES (1024u * 1024)
#define MAX_SHOWN 80u
#define MAX_LISTED 256u
/* Not -32000, which other protocols use for busy servers: this code makes clients of the Agent
 * Client Protocol ask for authentication. */
#define BUSY ACR_SERVE_INVALID_REQUEST

typedef struct {
    AcrAcp *acp;
    const AcrServeMessage *message;
    AcrServeFault *fault;
} Request;

static void free_session(void *data)
{
    AcrAcpSession *session = data;
    acr_acp_prompt_cancel(session);
    acr_acp_prompt_join(session);
    if (!session->issue)
        (void)rmdir(session->folder); /* remove the folder if it is still empty */
    acr_serve_message_clear(&session->prompt);
    acr_json_free(session->answer);
    ACR_FREE(session->id, session->repo, session->folder, session->issue, session);
}

static AcrAcpSession *find_session(const Request *request)
{
    const char *id = acr_serve_param(request->message, "sessionId", request->fault);
    AcrAcpSession *session = id ? g_hash_table_lookup(request->acp->sessions, id) : NULL;
    if (id && !session) {
        g_autofree char *shown = acr_text_quote(id, MAX_SHOWN);
        acr_serve_refuse(request->fault, ACR_SERVE_NO_RESOURCE,
                         "this connection has no session %s; send session/load or session/new",
                         shown);
    }
    return session;
}

/* Returns the path of the repository in params.cwd; owned; NULL with a fault. */
static char *repository_of(const Request *request)
{
    const char *cwd = acr_serve_param(request->message, "cwd", request->fault);
    g_autoptr(GError) error = NULL;
    if (!cwd)
        return NULL;
    if (!g_path_is_absolute(cwd))
        return (void *)acr_serve_refuse(request->fault, ACR_SERVE_INVALID_PARAMS,
                                        "'params.cwd' must be an absolute path");
    g_autoptr(AcrRepo) repo = acr_repo_open(cwd, &error);
    const char *workdir = repo ? acr_repo_workdir(repo) : NULL;
    g_autofree char *real = workdir ? acr_path_real(workdir) : NULL;
    if (real && g_utf8_validate(real, -1, NULL))
        return g_steal_pointer(&real);
    return (void *)acr_serve_refuse(request->fault, ACR_SERVE_INVALID_PARAMS,
                                    "cannot start a run in 'params.cwd': %s",
                                    error  ? error->message
                                    : real ? "the real path of the repository is not UTF-8"
                                           : "the repository has no working tree");
}

/* Adds a session that is named after its folder. Takes ownership of both strings. */
static AcrAcpSession *add_session(const Request *request, char *repo, char *folder)
{
    AcrAcp *acp = request->acp;
    AcrAcpSession *session = g_new0(AcrAcpSession, 1);
    session->acp = acp;
    session->repo = repo;
    session->folder = folder;
    session->id = g_path_get_basename(folder);
    g_hash_table_replace(acp->sessions, session->id, session);
    return session;
}

static bool has_room(const Request *request)
{
    if (g_hash_table_size(request->acp->sessions) < ACR_ACP_MAX_SESSIONS)
        return true;
    acr_serve_refuse(request->fault, BUSY, "a connection has at most %u sessions",
                     ACR_ACP_MAX_SESSIONS);
    return false;
}

static AcrJson *initialize_acp(const Request *request)
{
    gint64 version = acr_json_get_int(request->message->params, "protocolVersion", -1);
    if (version < 0)
        return acr_serve_refuse(request->fault, ACR_SERVE_INVALID_PARAMS,
                                "initialize needs 'params.protocolVersion' (a number)");
    request->acp->is_initialized = true;
    AcrJson *prompt = acr_json_of(ACR_BOOL("image", false), ACR_BOOL("audio", false),
                                  ACR_BOOL("embeddedContext", true), NULL);
    AcrJson *session = acr_json_of(ACR_JSON("list", acr_json_new_object()), NULL);
    AcrJson *agent =
        acr_json_of(ACR_BOOL("loadSession", true), ACR_JSON("sessionCapabilities", session),
                    ACR_JSON("promptCapabilities", prompt), NULL);
    AcrJson *about = acr_json_of(ACR_STRING("name", "acr-host"), ACR_STRING("title", "acr-host"),
                                 ACR_STRING("version", ACR_VERSION), NULL);
    return acr_json_of(ACR_INT("protocolVersion", VERSION), ACR_JSON("agentCapabilities", agent),
                       ACR_JSON("agentInfo", about), ACR_JSON("authMethods", acr_json_new_array()),
                       NULL);
}

static AcrJson *authenticate(const Request *request)
{
    return acr_serve_refuse(
        request->fault, ACR_SERVE_INVALID_PARAMS,
        "acr-host offers no way to authenticate; it takes the models' keys from its environment");
}

/* Returns true if the models can be used: their names, keys, files of answers and prices are valid.
 * Otherwise sets a fault. */
static bool check_models(const Request *request)
{
    const AcrAcpOptions *options = request->acp->options;
    g_autoptr(GError) error = NULL;
    g_auto(AcrLimits) limits = {0};
    bool ok = acr_limits_init(&limits, options->spec, &error);
    for (guint i = 0; ok && options->spec->models[i]; i++) {
        AcrModelOptions of_models =
            acr_model_options_of(options->spec, &limits, options->host->interrupt);
        g_autoptr(AcrModel) model =
            acr_model_of(options->spec, options->spec->models[i], &of_models, &error);
        ok = model != NULL;
    }
    return ok || acr_serve_refuse(request->fault, ACR_SERVE_INTERNAL, "%s", error->message) != NULL;
}

static AcrJson *new_session(const Request *request)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *repo =
        has_room(request) && check_models(request) ? repository_of(request) : NULL;
    char *folder = repo ? request->acp->options->new_folder(repo, &error) : NULL;
    if (error)
        return acr_serve_refuse(request->fault, ACR_SERVE_INTERNAL, "%s", error->message);
    if (!folder)
        return NULL;
    AcrAcpSession *session = add_session(request, g_steal_pointer(&repo), folder);
    return acr_json_of(ACR_STRING("sessionId", session->id), NULL);
}

/* Returns the text of the file `name` in `folder`; owned; NULL if it cannot be read. */
static char *read_session_text(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_ISSUE_BYTES, NULL);
    return bytes ? acr_utf8_repair_bytes(bytes) : NULL;
}

static void tell_history(AcrAcpSession *session)
{
    g_autofree char *text = read_session_text(session->folder, ACR_FILE_RESULT);
    g_autoptr(AcrJson) result = text ? acr_json_parse(text, strlen(text), NULL) : NULL;
    const char *verdict = acr_json_get_string(result, "verdict"),
               *why = acr_json_get_string(result, "why");
    g_autofree char *ended = g_strdup_printf("The run has ended: %s%s%s", verdict ? verdict : "?",
                                             why ? ": " : "", why ? why : "");
    acr_acp_say(session, ACR_ACP_USER, session->issue);
    acr_acp_say(session, ACR_ACP_MESSAGE,
                result ? ended
                       : "The run has not ended; the next prompt, of any text, resumes it.");
    g_autoptr(GBytes) patch = acr_json_get_bytes(result, "patch");
    g_autofree char *diff = patch ? acr_utf8_repair_bytes(patch) : NULL,
                    *shown = diff ? g_strdup_printf("```diff\n%s```\nThe next prompt, of any text, "
                                                    "offers to apply this patch.",
                                                    diff)
                                  : NULL;
    if (shown && g_strcmp0(verdict, "refused") != 0)
        acr_acp_say(session, ACR_ACP_MESSAGE, shown);
}

static AcrJson *load_session(const Request *request)
{
    AcrAcp *acp = request->acp;
    const char *id = acr_serve_param(request->message, "sessionId", request->fault);
    g_autofree char *repo = id && has_room(request) ? repository_of(request) : NULL;
    if (!repo)
        return NULL;
    AcrAcpSession *known = g_hash_table_lookup(acp->sessions, id);
    bool is_name = *id && !strchr(id, '/') && strcmp(id, ".") != 0 && strcmp(id, "..") != 0;
    g_autofree char *folder = g_build_filename(acp->options->runs, id, NULL),
                    *meta_text = is_name ? read_session_text(folder, ACR_FILE_META) : NULL,
                    *issue = meta_text ? read_session_text(folder, ACR_FILE_ISSUE) : NULL;
    g_autoptr(AcrJson) meta = meta_text ? acr_json_parse(meta_text, strlen(meta_text), NULL) : NULL;
    const char *of = acr_json_get_string(acr_json_get(meta, "options"), "repo");
    g_autofree char *shown = acr_text_quote(id, MAX_SHOWN);
    if (!issue || known || g_strcmp0(of, repo) != 0)
        return acr_serve_refuse(request->fault, ACR_SERVE_NO_RESOURCE,
                                known ? "session %s is already open on this connection"
                                : !issue
                                    ? "there is no run named %s; 'acr-host runs' lists the runs"
                                    : "run %s belongs to a repository other than 'params.cwd'",
                                shown);
    AcrAcpSession *session = add_session(request, g_steal_pointer(&repo), g_steal_pointer(&folder));
    session->issue = g_steal_pointer(&issue);
    session->is_going_on = true;
    tell_history(session);
    return acr_json_new_object();
}

/* Returns the description of a run that the client can load, from a row of list_runs. */
static AcrJson *describe_session(const AcrJson *row)
{
    g_autofree char *id = g_path_get_basename(acr_json_get_string(row, "folder"));
    gint64 changed_s = g_get_real_time() / G_USEC_PER_SEC - acr_json_get_int(row, "age_seconds", 0);
    g_autoptr(GDateTime) changed = g_date_time_new_from_unix_utc(changed_s);
    g_autofree char *time = changed ? g_date_time_format_iso8601(changed) : NULL;
    return acr_json_of(ACR_STRING("sessionId", id), "cwd", ACR_MEMBER(row, "repo"), "title",
                       ACR_MEMBER(row, "issue"), ACR_STRING("updatedAt", time), NULL);
}

static AcrJson *list_sessions(const Request *request)
{
    bool is_of_all = acr_json_type(acr_json_get(request->message->params, "cwd")) == ACR_JSON_NULL;
    if (!acr_serve_one_page(request->message, request->fault))
        return NULL;
    g_autofree char *repo = is_of_all ? NULL : repository_of(request);
    if (!repo && !is_of_all)
        return NULL;
    g_autoptr(AcrJson) rows = request->acp->options->list_runs(repo);
    AcrJson *sessions = acr_json_new_array();
    guint n = 0;
    for (const AcrJson *row = acr_json_first(rows); row && n < MAX_LISTED;
         row = acr_json_next(row)) {
        if (!acr_json_get_string(row, "folder") || !acr_json_get_string(row, "repo"))
            continue; /* skip a folder whose name is not UTF-8 */
        acr_json_append(sessions, describe_session(row));
        n++;
    }
    return acr_json_of(ACR_JSON("sessions", sessions), NULL);
}

/* Returns the text of the prompt's blocks; owned. */
static char *prompt_text(const AcrJson *blocks)
{
    GString *text = g_string_new(NULL);
    for (const AcrJson *at = acr_json_first(blocks); at; at = acr_json_next(at)) {
        const char *part = acr_json_get_string(at, "text"),
                   *embedded = acr_json_get_string(acr_json_get(at, "resource"), "text"),
                   *link = acr_json_get_string(at, "uri");
        const char *said = part ? part : embedded ? embedded : link;
        if (said)
            g_string_append_printf(text, "%s%s", text->len ? "\n\n" : "", said);
    }
    return g_string_free(text, FALSE);
}

/* Takes the issue from the prompt. If the session's last run has ended and the issue is a different
 * one, creates a new folder. Returns false with a fault. */
static bool take_issue(const Request *request, AcrAcpSession *session)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text =
        g_strstrip(prompt_text(acr_json_get(request->message->params, "prompt")));
    bool is_new = session->issue && !session->is_going_on && strcmp(text, session->issue) != 0;
    if (!*text || strlen(text) > MAX_ISSUE_BYTES)
        return acr_serve_refuse(
                   request->fault, ACR_SERVE_INVALID_PARAMS,
                   "'params.prompt' must contain the text of an issue (at most %u bytes)",
                   MAX_ISSUE_BYTES) != NULL;
    char *folder = is_new ? request->acp->options->new_folder(session->repo, &error) : NULL;
    if (is_new && !folder)
        return acr_serve_refuse(request->fault, ACR_SERVE_INTERNAL, "%s", error->message) != NULL;
    if (folder) {
        g_free(session->folder);
        session->folder = folder;
    }
    if (!session->issue || is_new) {
        g_free(session->issue);
        session->issue = g_steal_pointer(&text);
    }
    session->is_going_on = false;
    return true;
}

/* Starts a prompt. Returns NULL also without a fault, because the prompt is answered later. */
static AcrJson *prompt(const Request *request)
{
    AcrAcp *acp = request->acp;
    AcrAcpSession *session = find_session(request);
    if (!session)
        return NULL;
    pthread_mutex_lock(&acp->lock);
    bool is_busy = session->is_busy;
    guint runs = acp->runs;
    pthread_mutex_unlock(&acp->lock);
    if (is_busy || runs >= ACR_ACP_MAX_RUNS)
        return acr_serve_refuse(request->fault, BUSY,
                                is_busy
                                    ? "the session is working on another prompt; cancel it first"
                                    : "%u prompts are running; wait until one has ended",
                                ACR_ACP_MAX_RUNS);
    acr_acp_prompt_join(session);
    if (!take_issue(request, session))
        return NULL;
    acr_serve_message_clear(&session->prompt);
    session->prompt.json = acr_json_copy(request->message->json);
    session->prompt.id = acr_json_get(session->prompt.json, "id");
    if (!acr_acp_prompt_start(session))
        return acr_serve_refuse(request->fault, BUSY, "cannot start a thread");
    return NULL;
}

static AcrJson *cancel(const Request *request)
{
    AcrAcpSession *session = find_session(request);
    if (session)
        acr_acp_prompt_cancel(session);
    return NULL;
}

/* Answers $/cancel_request, the general notification of JSON-RPC clients, by cancelling the prompt
 * with this id. */
static AcrJson *cancel_request(const Request *request)
{
    const AcrJson *id = acr_json_get(request->message->params, "requestId");
    AcrAcpSession *session;
    GHashTableIter all;
    g_hash_table_iter_init(&all, request->acp->sessions);
    while (id && g_hash_table_iter_next(&all, NULL, (void **)&session))
        if (session->prompt.id && acr_json_equal(session->prompt.id, id, NULL))
            acr_acp_prompt_cancel(session);
    return NULL;
}

static const struct {
    const char *name;
    bool is_notification;
    AcrJson *(*answer)(const Request *request);
} methods[] = {
    {"initialize", false, initialize_acp},  {"authenticate", false, authenticate},
    {"session/new", false, new_session},    {"session/load", false, load_session},
    {"session/list", false, list_sessions}, {"session/prompt", false, prompt},
    {"session/cancel", true, cancel},       {"$/cancel_request", true, cancel_request},
};

/* Stores the client's answer to the request of a session. */
static void take_client_answer(AcrAcp *acp, const AcrServeMessage *message)
{
    gint64 id = acr_json_int(message->id, 0);
    AcrAcpSession *session;
    GHashTableIter all;
    g_hash_table_iter_init(&all, acp->sessions);
    pthread_mutex_lock(&acp->lock);
    while (id > 0 && g_hash_table_iter_next(&all, NULL, (void **)&session))
        if (session->asked == id && !session->answer)
            session->answer = acr_json_copy(message->json);
    pthread_cond_broadcast(&acp->told);
    pthread_mutex_unlock(&acp->lock);
}

/* Returns the result of a request; NULL if there is a fault, or if the request is answered
 * later. */
static AcrJson *answer_acp_request(AcrAcp *acp, const AcrServeMessage *message,
                                   AcrServeFault *fault)
{
    Request request = {.acp = acp, .message = message, .fault = fault};
    if (!acp->is_initialized && strcmp(message->method, "initialize") != 0)
        return acr_serve_refuse(fault, ACR_SERVE_INVALID_REQUEST, "send initialize first");
    for (gsize i = 0; i < G_N_ELEMENTS(methods); i++)
        if (strcmp(methods[i].name, message->method) == 0 &&
            methods[i].is_notification == !message->id)
            return methods[i].answer(&request);
    g_autofree char *shown = acr_text_quote(message->method, MAX_SHOWN);
    return acr_serve_refuse(fault, ACR_SERVE_NO_METHOD, "there is no method %s", shown);
}

static void take_acp_line(void *ctx, const char *line, gsize len)
{
    AcrAcp *acp = ctx;
    g_auto(AcrServeMessage) message = {0};
    g_auto(AcrServeFault) fault = {0};
    bool is_read = acr_serve_message_read(line, len, &message, &fault);
    if (is_read && !message.method) {
        take_client_answer(acp, &message);
        return;
    }
    AcrJson *result = is_read ? answer_acp_request(acp, &message, &fault) : NULL;
    bool is_asked = message.id || !is_read;
    g_autofree char *reply =
        is_asked && (result || fault.code) ? acr_serve_reply(&message, result, &fault) : NULL;
    if (reply)
        acr_serve_pipe_write(&acp->pipe, reply);
    else
        acr_json_free(result);
}

bool acr_acp_stdio(const AcrAcpOptions *options, GError **error)
{
    g_autoptr(GError) failed = NULL;
    AcrAcp acp = {
        .options = options, .lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
    acr_serve_pipe_open(&acp.pipe, options->in, options->out, options->host->interrupt);
    acp.pipe.lines.take = take_acp_line;
    acp.pipe.lines.ctx = &acp;
    acp.sessions = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_session);
    while (!acr_interrupted(options->host->interrupt) &&
           acr_serve_pipe_read(&acp.pipe, -1, &failed))
        ;
    __atomic_store_n(&acp.pipe.is_ending, 1, __ATOMIC_RELAXED);
    GHashTableIter all;
    AcrAcpSession *session;
    g_hash_table_iter_init(&all, acp.sessions);
    while (g_hash_table_iter_next(&all, NULL, (void **)&session))
        acr_acp_prompt_cancel(session); /* cancel all runs before free_session waits for each of
                                         * them */
    g_hash_table_unref(acp.sessions);
    pthread_cond_destroy(&acp.told);
    pthread_mutex_destroy(&acp.lock);
    bool is_written = acr_serve_pipe_close(&acp.pipe, failed ? NULL : error);
    return failed ? acr_pass_error(error, &failed) : is_written;
}
