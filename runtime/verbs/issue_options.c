/*
 * What the verbs that work on one issue share: where its text is, the repository, the run folder.
 */
#include "verbs/verbs_private.h"

#include <string.h>

void acr_issue_options_clear(AcrIssueOptions *options)
{
    g_clear_pointer(&options->repo, g_free);
    g_clear_pointer(&options->rev, g_free);
    g_clear_pointer(&options->file, g_free);
    g_clear_pointer(&options->text, g_free);
    g_clear_pointer(&options->instance_id, g_free);
    g_clear_pointer(&options->out, g_free);
}

bool acr_issue_options_check(const AcrIssueOptions *options, const char *verb)
{
    if (!options->repo)
        acr_verb_usage(verb, "--repo is missing");
    else if (!options->out ||
             !*options->out) /* as a script's unset variable gives it; not the current folder */
        acr_verb_usage(verb, "--out is missing");
    else if (!options->file == !options->text)
        acr_verb_usage(verb, "give the issue by --issue FILE or by --issue-text TEXT, one of them");
    else
        return true;
    return false;
}

/* The issue's bytes as UTF-8 text: UTF-16 is refused, what is no UTF-8 is read as latin-1, and said
 * so. */
static char *decode_issue(const char *verb, GBytes *bytes, AcrConsole *console, GError **error)
{
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);
    if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        data += 3;
        len -= 3;
    }
    if (len > 0 && memchr(data, '\0', len)) {
        g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE,
                    "the issue is not text: it holds NUL bytes");
        return NULL;
    }
    if (acr_utf8_is_text(data, len))
        return g_strndup(data ? data : "", len);
    acr_console_say(console, "acr-host %s: the issue is not UTF-8, it is read as latin-1", verb);
    return g_convert(data, (gssize)len, "UTF-8", "ISO-8859-1", NULL, NULL, error);
}

static GBytes *read_issue(const AcrIssueOptions *options, const AcrInterrupt *interrupt,
                          GError **error)
{
    if (options->text)
        return g_bytes_new(options->text, strlen(options->text));
    if (strcmp(options->file, "-") == 0)
        return acr_read_stdin(ACR_ISSUE_MAX_BYTES, interrupt, error);
    return acr_file_read(options->file, ACR_ISSUE_MAX_BYTES, error);
}

char *acr_issue_options_load(const AcrIssueOptions *options, const char *verb,
                             const AcrInterrupt *interrupt, AcrConsole *console, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = read_issue(options, interrupt, &reason);
    if (!bytes) {
        g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE, "cannot read the issue: %s",
                    reason->message);
        return NULL;
    }
    g_autofree char *text = decode_issue(verb, bytes, console, error);
    if (!text)
        return NULL;
    if (text[strspn(text, " \t\r\n\f\v")] == '\0') {
        g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE, "the issue is empty");
        return NULL;
    }
    return g_steal_pointer(&text);
}

AcrTaskOptions acr_issue_options_task(const AcrIssueOptions *options, const char *issue,
                                      const AcrRunOptions *run)
{
    return (AcrTaskOptions){
        .out = options->out,
        .repo = options->repo,
        .rev = options->rev,
        .issue = issue,
        .instance_id = options->instance_id,
        .models = (const char *const *)run->models,
        .rounds = (guint)run->rounds,
        .tries = (guint)run->tries,
        .attempts = (guint)run->attempts,
        .retries = (guint)run->client.retries,
        .verify = run->verify,
        .code = &run->code,
        .temperature = run->client.temperature,
        .fallback_model = run->fallback_model,
        .effort = run->client.effort,
        .key_command = run->client.key_command,
        .base_url = run->client.base_url,
        .key_file = run->client.key_file,
        .headers = (const char *const *)run->client.headers,
        .shared_dir = run->shared_dir,
        .retry_base_ms = run->client.retry_base_ms,
        .context = MAX(run->context, 0),
        .prompts = run->prompts,
        .ceilings = &run->ceilings.ceilings,
        .price_file = run->client.prices,
    };
}
