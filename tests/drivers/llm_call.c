/* Makes one model call, or several equal ones, with the client library alone. Reads a JSON object
 * from stdin: {"model", "base_url", "messages": [{"role","content"}], "temperature", "effort",
 * "max_tokens", "json", "schema", "repeat"}, of which only `model` and `messages` are required.
 * Prints a JSON line: the answer or failure of the last call, the number of failed calls, and the
 * CPU time and memory used. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/base.h"
#include "http/http.h"
#include "llm/llm.h"

#define MAX_STDIN (64u * 1024 * 1024)
#define MAX_CALLS 1000000

static AcrJson *read_stdin(GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char piece[65536];
    gsize len;

    while (text->len < MAX_STDIN && (len = fread(piece, 1, sizeof piece, stdin)) > 0)
        g_string_append_len(text, piece, (gssize)len);
    return acr_json_parse(text->str, text->len, error);
}

static AcrRole role_of(const char *name)
{
    if (g_strcmp0(name, "system") == 0)
        return ACR_ROLE_SYSTEM;
    return g_strcmp0(name, "assistant") == 0 ? ACR_ROLE_ASSISTANT : ACR_ROLE_USER;
}

static AcrConversation *conversation_of(const AcrJson *call)
{
    AcrConversation *conversation = acr_conversation_new("call");
    const AcrJson *at;

    for (at = acr_json_first(acr_json_get(call, "messages")); at; at = acr_json_next(at)) {
        const char *content = acr_json_get_string(at, "content");
        acr_conversation_add(conversation, role_of(acr_json_get_string(at, "role")), content ? content : "");
    }
    return conversation;
}

/* The maximum resident memory of this program in KiB; -1 if unknown. getrusage would include the
 * parent's. */
static gint64 peak_kb(void)
{
    g_autofree char *text = NULL;
    const char *at;

    if (!g_file_get_contents("/proc/self/status", &text, NULL, NULL))
        return -1;
    at = strstr(text, "VmHWM:");
    return at ? g_ascii_strtoll(at + strlen("VmHWM:"), NULL, 10) : -1;
}

static void add_used(AcrJson *out)
{
    struct rusage used;

    if (getrusage(RUSAGE_SELF, &used) != 0)
        return;
    acr_json_set_int(out, "user_us", (gint64)used.ru_utime.tv_sec * G_USEC_PER_SEC + used.ru_utime.tv_usec);
    acr_json_set_int(out, "system_us", (gint64)used.ru_stime.tv_sec * G_USEC_PER_SEC + used.ru_stime.tv_usec);
    acr_json_set_int(out, "peak_kb", peak_kb());
}

static void add_answer(AcrJson *out, const AcrModelAnswer *answer)
{
    acr_json_set_string(out, "content", answer->content);
    acr_json_set_string(out, "finish", answer->finish);
    acr_json_set_string(out, "model", answer->model);
    acr_json_set_string(out, "request_id", answer->request_id);
    acr_json_set_int(out, "sent", acr_usage_sent(&answer->usage));
    acr_json_set_int(out, "output", answer->usage.output);
}

/* Makes the calls; returns true if all got answers. */
static bool make_calls(const AcrJson *call, AcrModel *model, AcrJson *out)
{
    g_autoptr(AcrConversation) conversation = conversation_of(call);
    gint64 repeat = CLAMP(acr_json_get_int(call, "repeat", 1), 1, MAX_CALLS), failed = 0, i;
    AcrModelRequest request = {.label = "call",
                               .conversation = conversation,
                               .json = acr_json_get_bool(call, "json", false),
                               .schema = acr_json_get(call, "schema"),
                               .max_tokens = (guint)acr_json_get_int(call, "max_tokens", 0)};

    for (i = 0; i < repeat; i++) {
        g_auto(AcrModelAnswer) answer = {0};
        g_autoptr(GError) failure = NULL;
        bool is_last = i == repeat - 1;

        if (acr_model_complete(model, &request, &answer, &failure)) {
            if (is_last)
                add_answer(out, &answer);
            continue;
        }
        failed++;
        if (is_last) {
            acr_json_set_string(out, "class", acr_llm_error_name(failure->code));
            acr_json_set_string(out, "message", failure->message);
        }
    }
    acr_json_set_int(out, "calls", repeat);
    acr_json_set_int(out, "failed", failed);
    return failed == 0;
}

static bool run(AcrJson *out, GError **error)
{
    g_autoptr(AcrJson) call = read_stdin(error);
    g_autoptr(AcrModel) model = NULL;
    AcrModelOptions options = {.temperature = call ? acr_json_get_double(call, "temperature", -1) : -1,
                               .effort = call ? acr_json_get_string(call, "effort") : NULL,
                               .base_url = call ? acr_json_get_string(call, "base_url") : NULL,
                               .timeout_ms = 120000};
    const char *name = call ? acr_json_get_string(call, "model") : NULL;

    if (!call)
        return false;
    model = acr_model_new(name ? name : "", &options, error);
    return model && make_calls(call, model, out);
}

int main(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) out = acr_json_new_object();
    g_autofree char *line = NULL;
    bool ok = acr_http_global_init(&error) && run(out, &error);

    if (error) {
        acr_json_set_string(out, "class", error->domain == ACR_LLM_ERROR ? acr_llm_error_name(error->code) : "failed");
        acr_json_set_string(out, "message", error->message);
    }
    add_used(out);
    line = acr_json_print(out);
    puts(line);
    acr_http_global_cleanup();
    return ok ? 0 : 1;
}
