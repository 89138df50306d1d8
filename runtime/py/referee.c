/* The referee for native/: decides whether a file compiles (python/acr/syntax.py), and which
 * version has fewer new errors (python/acr/lint.py). A worker process answers both questions. The
 * process is started for the first question and kept; if it ends, it is started again. The linter's
 * worker has a private folder. */
#include "base/peer.h"
#include "py/py_private.h"
#include "sandbox/tree_cache.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define START_TIMEOUT_MS 60000
/* maximum number of times that a question is asked, because the reason why a worker ended is
 * unknown */
#define TRIES 2

struct AcrRefereeWorker {
    pthread_mutex_t turn; /* locked by the caller whose question is being answered */
    char *exe, *verb;
    const AcrInterrupt *interrupt;
    AcrPeer peer;
    bool is_ready;
    /* contains the only folder to which the worker may write; NULL: the worker may not write */
    AcrTreeCache *cache;
    AcrReferee referee;
};

/* Ends the worker. Returns a description of how it ended; owned; NULL if there was no worker. */
static char *end_referee(AcrRefereeWorker *worker, gint64 grace_ms)
{
    char *how = worker->peer.pid ? acr_peer_end(&worker->peer, grace_ms) : NULL;
    g_clear_pointer(&worker->cache, acr_tree_cache_free);
    return how;
}

/* Sends `out` to the worker and sets *out_answer to its answer, or sets `error`. Sets *out_gone to
 * true if the worker ended by itself. */
static bool exchange_lines(AcrRefereeWorker *worker, const GByteArray *out, gint64 timeout_ms,
                           GBytes **out_answer, bool *out_gone, GError **error)
{
    g_autoptr(GBytes) said = NULL;
    AcrPeerReply reply = acr_peer_await(&worker->peer, out, timeout_ms, worker->interrupt, &said);
    if (reply == ACR_PEER_ANSWERED || reply == ACR_PEER_READY) {
        *out_answer = g_steal_pointer(&said);
        return true;
    }
    if (reply == ACR_PEER_FAILED || reply == ACR_PEER_REFUSED) {
        bool is_alive = reply == ACR_PEER_FAILED;
        g_autofree char *why = acr_bytes_text(said),
                        *ended = is_alive ? NULL : end_referee(worker, 0);
        return acr_set_error(error, ACR_PY_ERROR,
                             is_alive ? ACR_PY_ERROR_FAILED : ACR_PY_ERROR_ENVIRONMENT, "%s", why);
    }
    g_autofree char *how = end_referee(worker, reply == ACR_PEER_GONE ? ACR_PY_GRACE_MS : 0);
    *out_gone = reply == ACR_PEER_GONE;
    if (reply == ACR_PEER_LATE)
        return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_TIMEOUT,
                             "Python took longer than %" G_GINT64_FORMAT " ms", timeout_ms);
    if (reply == ACR_PEER_INTERRUPTED)
        return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_INTERRUPTED, "interrupted");
    return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_LOST, "the referee's process %s", how);
}

/* Starts the worker. Without a private folder, the worker starts, but the linter fails. The folder
 * of a killed worker is removed by the next one. */
static bool start_referee(AcrRefereeWorker *worker, GError **error)
{
    static const char *const no_environment[] = {NULL}; /* the host's environment may contain API
                                                         * keys */
    const char *const argv[] = {worker->exe, worker->verb, NULL};
    worker->is_ready = false;
    worker->cache = acr_tree_cache_open(NULL, worker->interrupt, 0, NULL);
    g_autofree char *folder = worker->cache ? acr_tree_cache_scratch(worker->cache, NULL) : NULL;
    if (folder && chmod(folder, 0700) != 0)
        return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT,
                             "cannot restrict access to '%s'", folder);
    if (acr_peer_start(argv, no_environment, folder ? folder : "/", &worker->peer, error))
        return true;
    g_free(end_referee(worker, 0));
    return false;
}

static bool await_start(AcrRefereeWorker *worker, bool *out_gone, GError **error)
{
    g_autoptr(GBytes) nothing = NULL;
    g_autoptr(GByteArray) empty = g_byte_array_new();
    worker->is_ready = exchange_lines(worker, empty, START_TIMEOUT_MS, &nothing, out_gone, error);
    return worker->is_ready;
}

void acr_referee_worker_start(AcrRefereeWorker *worker)
{
    pthread_mutex_lock(&worker->turn);
    if (!worker->peer.pid && !start_referee(worker, NULL))
        g_debug("cannot start the referee's process; acr-host tries again at the next question");
    pthread_mutex_unlock(&worker->turn);
}

bool acr_py_referee_ask(AcrRefereeWorker *worker, const char *function, GBytes *argument,
                        gint64 timeout_ms, GBytes **out_answer, GError **error)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    bool ok = false, gone = true;
    if (g_bytes_get_size(argument) > ACR_PEER_MAX_QUESTION)
        return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED, "the text is too long");
    acr_peer_put(out, function, argument);
    pthread_mutex_lock(&worker->turn);
    for (guint i = 0; i < TRIES && !ok && gone; i++) {
        g_clear_error(error);
        gone = false;
        ok = (worker->peer.pid || start_referee(worker, error)) &&
             (worker->is_ready || await_start(worker, &gone, error)) &&
             exchange_lines(worker, out, timeout_ms, out_answer, &gone, error);
    }
    pthread_mutex_unlock(&worker->turn);
    return ok;
}

/* True if the worker ended or timed out while it read the file, which is probably the reason. */
static bool ended_python(const GError *error)
{
    return g_error_matches(error, ACR_PY_ERROR, ACR_PY_ERROR_LOST) ||
           g_error_matches(error, ACR_PY_ERROR, ACR_PY_ERROR_TIMEOUT);
}

static bool compiles(void *ctx, const char *path, GBytes *source, bool *out_ok, char **out_message,
                     GError **error)
{
    GByteArray *fields = g_byte_array_new();
    acr_py_fields_add(fields, path, strlen(path));
    acr_py_fields_add_bytes(fields, source);
    g_autoptr(GBytes) argument = g_byte_array_free_to_bytes(fields);
    g_autoptr(GBytes) result = NULL;
    g_autoptr(GError) failed = NULL;
    if (!acr_py_referee_ask(ctx, "syntax.compiles", argument, ACR_PY_COMPILE_TIMEOUT_MS, &result,
                            &failed)) {
        if (!ended_python(failed))
            return acr_pass_error(error, &failed);
        *out_ok = false;
        *out_message = g_strdup(failed->message);
        return true;
    }
    *out_ok = g_bytes_get_size(result) == 0;
    *out_message = *out_ok ? NULL : acr_utf8_repair_bytes(result);
    return true;
}

/* Adds the fields of one file: the path, `+` and the text before (an empty field for a new file),
 * the number of versions, and the versions. */
static void add_file(GByteArray *fields, const AcrRefereeFile *file)
{
    g_autoptr(GByteArray) before = g_byte_array_new();
    g_autofree char *n = g_strdup_printf("%" G_GSIZE_FORMAT, file->n_after);
    if (file->before) {
        gsize len;
        const void *data = g_bytes_get_data(file->before, &len);
        g_byte_array_append(before, (const guint8 *)"+", 1);
        if (len > 0)
            g_byte_array_append(before, data, (guint)len);
    }
    acr_py_fields_add(fields, file->path, strlen(file->path));
    acr_py_fields_add(fields, before->data, before->len);
    acr_py_fields_add(fields, n, strlen(n));
    for (gsize i = 0; i < file->n_after; i++)
        acr_py_fields_add_bytes(fields, file->after[i]);
}

/* Reads `n` numbers (`?`: unknown) into `out`. Returns false if there are fewer or more numbers. */
static bool read_numbers(GBytes *result, guint *out, gsize n)
{
    gsize at = 0;
    g_autofree char *text = acr_bytes_text(result);
    g_auto(GStrv) words = g_strsplit_set(text, " \n", -1);
    for (guint i = 0; words[i]; i++) {
        guint64 number = ACR_LINT_UNKNOWN;
        if (words[i][0] == '\0')
            continue;
        if (at == n || (strcmp(words[i], "?") != 0 &&
                        !g_ascii_string_to_unsigned(words[i], 10, 0, G_MAXINT, &number, NULL)))
            return false;
        out[at++] = (guint)number;
    }
    return at == n;
}

/* Counts the new errors of each version. After any failure except an interrupt, the numbers are
 * ACR_LINT_UNKNOWN, which is not an error. */
static bool lint_versions(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse,
                          char **out_why, GError **error)
{
    GByteArray *fields = g_byte_array_new();
    gsize versions = 0;
    for (gsize i = 0; i < n; i++) {
        add_file(fields, &files[i]);
        versions += files[i].n_after;
    }
    g_autoptr(GBytes) argument = g_byte_array_free_to_bytes(fields);
    g_autoptr(GBytes) result = NULL;
    g_autoptr(GError) failed = NULL;
    if (acr_py_referee_ask(ctx, "lint.lint", argument, ACR_PY_LINT_TIMEOUT_MS, &result, &failed) &&
        read_numbers(result, out_worse, versions))
        return true;
    if (g_error_matches(failed, ACR_PY_ERROR, ACR_PY_ERROR_INTERRUPTED))
        return acr_pass_error(error, &failed);
    for (gsize i = 0; i < versions; i++)
        out_worse[i] = ACR_LINT_UNKNOWN;
    *out_why = g_strdup(failed ? failed->message : "the linter's output is malformed");
    return true;
}

AcrRefereeWorker *acr_referee_worker_new(const char *exe, const char *verb,
                                         const AcrInterrupt *interrupt)
{
    AcrRefereeWorker *worker = g_new0(AcrRefereeWorker, 1);
    pthread_mutex_init(&worker->turn, NULL);
    worker->exe = g_strdup(exe);
    worker->verb = g_strdup(verb);
    worker->interrupt = interrupt;
    worker->referee = (AcrReferee){.ctx = worker, .compiles = compiles, .lint = lint_versions};
    return worker;
}

const AcrReferee *acr_referee_worker_referee(AcrRefereeWorker *worker)
{
    return &worker->referee;
}

void acr_referee_worker_free(AcrRefereeWorker *worker)
{
    if (!worker)
        return;
    g_free(end_referee(worker, 0));
    pthread_mutex_destroy(&worker->turn);
    ACR_FREE(worker->exe, worker->verb, worker);
}
