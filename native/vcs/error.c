/* The library's error domain, and the conversion of libgit2's errors.
 *
 * libgit2 keeps only the last message of each thread, so the message is copied right after the
 * failed call. */
#include "vcs_private.h"

G_DEFINE_QUARK(acr_vcs_error_quark, acr_vcs_error)

static bool fail_with(GError **error, AcrVcsError code, const char *text)
{
    g_autofree char *shown = acr_vcs_show_path(text);
    return acr_set_error(error, ACR_VCS_ERROR, code, "%s", shown);
}

bool acr_vcs_fail(GError **error, AcrVcsError code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    return fail_with(error, code, text);
}

bool acr_vcs_fail_git(GError **error, AcrVcsError code, const char *format, ...)
{
    const git_error *last = acr_git.error_last();
    g_autofree char *foreign = g_strdup(last && last->message ? last->message : "unknown error");
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_autofree char *whole = g_strconcat(text, ": ", foreign, NULL);
    return fail_with(error, code, whole);
}

char *acr_vcs_show_path(const char *path)
{
    g_autofree char *valid = g_utf8_make_valid(path, -1);
    GString *out = g_string_sized_new(strlen(valid));
    for (const char *p = valid; *p; p++) {
        if ((guchar)*p < 0x20 || *p == 0x7f)
            g_string_append_printf(out, "\\x%02x", (guchar)*p);
        else
            g_string_append_c(out, *p);
    }
    return g_string_free(out, FALSE);
}
