/* The process of one extension: starts it, calls its functions, answers its questions, and kills
 * it at its deadline. Every failure becomes an answer; only an interrupt is an error. */
#include "extensions/extensions_private.h"

#include <string.h>

#define START_TIMEOUT_MS 60000
#define GRACE_MS 2000 /* how long a process may take to end after its socket was closed */

void acr_extension_process_clear(AcrExtensionProcess *process)
{
    g_autofree char *how = process->peer.pid ? acr_peer_end(&process->peer, 0) : NULL;
    g_clear_pointer(&process->cache, acr_tree_cache_free);
}

static AcrJson *failure(const char *format, ...) G_GNUC_PRINTF(1, 2);
static AcrJson *failure(const char *format, ...)
{
    AcrJson *answer = acr_json_new_object();
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    acr_json_set_string(answer, "error", text);
    return answer;
}

/* Returns the environment for the user's code, without variables that may hold a key. Owned. */
static char **make_worker_environment(void)
{
    static const char *const kept[] = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", NULL};
    g_auto(GStrv) names = g_listenv();
    GPtrArray *out = g_ptr_array_new();
    for (char **at = names; *at; at++)
        if (g_strv_contains(kept, *at) || g_str_has_prefix(*at, ACR_EXTENSION_PREFIX))
            g_ptr_array_add(out, g_strconcat(*at, "=", g_getenv(*at), NULL));
    g_ptr_array_add(out, NULL);
    return (char **)g_ptr_array_free(out, FALSE);
}

/* Starts the process in a separate folder, so that Python imports nothing from the repository. */
static bool spawn(AcrExtensionProcess *process, GError **error)
{
    const AcrExtensionOptions *options = process->options;
    const char *const argv[] = {options->exe, ACR_EXTENSION_VERB, NULL};
    g_auto(GStrv) environment = make_worker_environment();
    process->cache = acr_tree_cache_open(NULL, options->interrupt, 0, error);
    g_autofree char *folder = process->cache ? acr_tree_cache_scratch(process->cache, error) : NULL;
    return folder &&
           acr_peer_start(argv, (const char *const *)environment, folder, &process->peer, error);
}

/* Sets an answer that explains a failed reply, and kills the process. */
static bool give_up_process(AcrExtensionProcess *process, AcrPeerReply reply, gint64 timeout_ms,
                            AcrJson **out, GError **error)
{
    g_autofree char *how = acr_peer_end(&process->peer, reply == ACR_PEER_GONE ? GRACE_MS : 0);
    g_clear_pointer(&process->cache, acr_tree_cache_free);
    if (reply == ACR_PEER_INTERRUPTED)
        return acr_set_error(error, ACR_EXTENSIONS_ERROR, ACR_EXTENSIONS_ERROR_INTERRUPTED,
                             "interrupted");
    *out = reply == ACR_PEER_LATE ? failure("the call took longer than %g s (--extension-time)",
                                            (double)timeout_ms / 1000)
                                  : failure("its process %s", how);
    return true;
}

/* Returns the answer as a JSON object, {} if it is empty; {"error"} if the process failed or gave
 * no object. Owned. */
static AcrJson *read_worker_answer(AcrPeerReply reply, GBytes *said)
{
    if (reply != ACR_PEER_ANSWERED && reply != ACR_PEER_READY) {
        g_autofree char *why = acr_bytes_text(said);
        return failure("%s", g_strstrip(why));
    }
    if (g_bytes_get_size(said) == 0)
        return acr_json_new_object();
    if (g_bytes_get_size(said) > ACR_EXTENSION_MAX_ANSWER)
        return failure("its answer is longer than %u bytes", ACR_EXTENSION_MAX_ANSWER);
    g_autoptr(AcrJson) json = acr_json_parse_bytes(said, NULL);
    return acr_json_type(json) == ACR_JSON_OBJECT ? g_steal_pointer(&json)
                                                  : failure("its answer is malformed");
}

/* Returns the reply to a question of the extension, ready to be sent; owned. */
static GByteArray *reply_to(const AcrExtensionProcess *process, AcrSearch *search, GBytes *asked)
{
    g_autoptr(AcrJson) question = acr_json_parse_bytes(asked, NULL);
    g_autoptr(AcrJson) answer = acr_extension_view(search, process->options->repo, question);
    g_autofree char *text = acr_json_print(answer);
    g_autoptr(GBytes) bytes = g_bytes_new(text, strlen(text));
    GByteArray *out = g_byte_array_new();
    acr_peer_put(out, "", bytes);
    return out;
}

/* Sends `out` and waits for the answer; meanwhile answers questions of the extension. */
static bool exchange_with_process(AcrExtensionProcess *process, const GByteArray *out,
                                  AcrSearch *search, gint64 timeout_ms, AcrJson **out_answer,
                                  GError **error)
{
    gint64 until_us = g_get_monotonic_time() + timeout_ms * 1000;
    g_autoptr(GByteArray) sent = NULL;
    for (;;) {
        g_autoptr(GBytes) said = NULL;
        gint64 left_ms = (until_us - g_get_monotonic_time()) / 1000;
        AcrPeerReply reply = acr_peer_await(&process->peer, sent ? sent : out, MAX(left_ms, 0),
                                            process->options->interrupt, &said);
        if (reply > ACR_PEER_ASKS)
            return give_up_process(process, reply, timeout_ms, out_answer, error);
        if (reply != ACR_PEER_ASKS) {
            *out_answer = read_worker_answer(reply, said);
            return true;
        }
        g_clear_pointer(&sent, g_byte_array_unref);
        sent = reply_to(process, search, said);
    }
}

static bool ask_running_process(AcrExtensionProcess *process, const char *name,
                                const AcrJson *question, AcrSearch *search, AcrJson **out,
                                GError **error)
{
    g_autofree char *text = acr_json_print(question);
    g_autoptr(GBytes) bytes = g_bytes_new(text, strlen(text));
    g_autoptr(GByteArray) sent = g_byte_array_new();
    acr_peer_put(sent, name, bytes);
    if (g_bytes_get_size(bytes) > ACR_PEER_MAX_QUESTION) {
        *out = failure("the data passed to it is too large");
        return true;
    }
    return exchange_with_process(process, sent, search, process->options->timeout_ms, out, error);
}

/* Restarts the process and sends its first question, which calls `name` in extension_worker. */
static bool begin_process(AcrExtensionProcess *process, const char *name, const AcrJson *question,
                          AcrJson **out, GError **error)
{
    g_autoptr(AcrJson) ready = NULL;
    g_autoptr(GByteArray) nothing = g_byte_array_new();
    g_autoptr(GError) failed = NULL;
    acr_extension_process_clear(process);
    if (!spawn(process, &failed)) {
        *out = failure("%s", failed->message);
        return true;
    }
    if (!exchange_with_process(process, nothing, NULL, START_TIMEOUT_MS, &ready, error))
        return false;
    if (acr_json_get(ready, "error")) {
        *out = g_steal_pointer(&ready);
        return true;
    }
    return ask_running_process(process, name, question, NULL, out, error);
}

bool acr_extension_process_load(AcrExtensionProcess *process, AcrJson **out, GError **error)
{
    g_autoptr(AcrJson) question =
        acr_json_of(ACR_STRING("path", process->path),
                    ACR_JSON("source", acr_json_new_gbytes(process->source)), NULL);
    return begin_process(process, "load", question, out, error);
}

bool acr_extension_process_locate(const AcrExtensionOptions *options, const char *name,
                                  AcrJson **out, GError **error)
{
    AcrExtensionProcess process = {.options = options};
    g_autoptr(AcrJson) question = acr_json_new_object();
    acr_json_set_string(question, "name", name);
    bool ok = begin_process(&process, "locate", question, out, error);
    acr_extension_process_clear(&process);
    return ok;
}

bool acr_extension_process_ask(AcrExtensionProcess *process, const AcrJson *question,
                               AcrSearch *search, AcrJson **out, GError **error)
{
    if (!process->peer.pid) {
        g_autoptr(AcrJson) loaded = NULL;
        if (!acr_extension_process_load(process, &loaded, error))
            return false;
        if (acr_json_get(loaded, "error")) {
            *out = g_steal_pointer(&loaded);
            return true;
        }
    }
    return ask_running_process(process, "ask", question, search, out, error);
}
