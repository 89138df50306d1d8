/* Loads the issue of a run and checks that it is text. */
#include "verbs/screen.h"
#include "verbs/verbs_private.h"

#include <string.h>

#define MAX_SHOWN 60 /* maximum width of a text that is not the name of a file, in an error */

/* Returns the issue's bytes as UTF-8; owned. Rejects UTF-16; reads other bytes that are not UTF-8
 * as latin-1, with a warning. */
static char *decode_issue(GBytes *bytes, AcrConsole *console, GError **error)
{
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);
    if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        data += 3;
        len -= 3;
    }
    if (len > 0 && memchr(data, '\0', len))
        return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE,
                                      "the issue is not text: it contains NUL bytes"));
    if (acr_utf8_is_text(data, len))
        return g_strndup(data ? data : "", len);
    acr_console_say(console, ACR_TONE_BAD, "%s: the issue is not UTF-8; it is read as latin-1",
                    g_get_prgname());
    return g_convert(data, (gssize)len, "UTF-8", "ISO-8859-1", NULL, NULL, error);
}

static GBytes *read_issue(const AcrRunSpec *spec, const AcrInterrupt *interrupt, GError **error)
{
    if (spec->issue_text)
        return g_bytes_new(spec->issue_text, strlen(spec->issue_text));
    if (strcmp(spec->issue_file, "-") == 0)
        return acr_read_stdin(ACR_ISSUE_MAX_BYTES, interrupt, error);
    if (acr_issue_is_page(spec->issue_file))
        return acr_issue_page_read(spec, interrupt, error);
    return acr_file_read(spec->issue_file, ACR_ISSUE_MAX_BYTES, error);
}

/* Returns the scheme of a reference that an extension could read, such as "jira" of "jira:ABC-12";
 * owned; NULL if `issue` has another form. */
static char *issue_scheme(const char *issue)
{
    gsize len = issue ? strspn(issue, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
    return len > 0 && issue[len] == ':' ? g_strndup(issue, len) : NULL;
}

bool acr_issue_text_load(AcrRunSpec *spec, const AcrInterrupt *interrupt, AcrConsole *console,
                         GError **error)
{
    g_autoptr(GError) reason = NULL;
    bool is_page = !spec->issue_text && acr_issue_is_page(spec->issue_file);
    g_autofree char *line = is_page ? g_strconcat("fetching ", spec->issue_file, NULL) : NULL;
    acr_console_await(console, line);
    g_autoptr(GBytes) bytes = read_issue(spec, interrupt, &reason);
    acr_console_await(console, NULL);
    if (!bytes) {
        bool is_usage = !g_error_matches(reason, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT);
        g_autofree char *scheme = is_page ? NULL : issue_scheme(spec->issue_file);
        bool is_file = is_page || g_file_test(spec->issue_file, G_FILE_TEST_EXISTS);
        if (!is_file && strpbrk(spec->issue_file, " \t\n")) {
            g_autofree char *shown = acr_text_fit(spec->issue_file, MAX_SHOWN);
            return acr_task_refuse(error,
                                   "cannot read the issue: there is no file '%s'; give the text of "
                                   "an issue with --issue-text TEXT, or on standard input with "
                                   "--issue -",
                                   shown);
        }
        if (scheme)
            return acr_task_refuse(error,
                                   "cannot read the issue: there is no file '%s', and no loaded "
                                   "extension reads '%s:'; load one with --extension FILE",
                                   spec->issue_file, scheme);
        return acr_set_error(error, ACR_TASK_ERROR,
                             is_usage ? ACR_TASK_ERROR_USAGE : ACR_TASK_ERROR_ENVIRONMENT,
                             "cannot read the issue: %s", reason->message);
    }
    g_autofree char *text = decode_issue(bytes, console, error);
    if (!text)
        return false;
    if (text[strspn(text, " \t\r\n\f\v")] == '\0')
        return acr_task_refuse(error, "the issue is empty");
    g_free(spec->issue_text);
    spec->issue_text = g_steal_pointer(&text);
    return true;
}
