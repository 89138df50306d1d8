/*
 * Git's binary patches: both directions, each the whole content or a delta, deflated by libgit2 and written here in
 * git's base 85.
 */
#include <string.h>

#include "vcs_private.h"

#define LINE_BYTES 52 /* of data in one line */

static void append_base85(GString *out, const guint8 *data, gsize len)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    for (gsize at = 0; at < len; at += 4) {
        guint32 word = 0;
        for (gsize i = 0; i < 4; i++)
            word = word << 8 | (at + i < len ? data[at + i] : 0);
        char group[5];
        for (int i = 4; i >= 0; i--) {
            group[i] = digits[word % 85];
            word /= 85;
        }
        g_string_append_len(out, group, sizeof group);
    }
}

static void append_direction(GString *out, const git_diff_binary_file *file)
{
    const guint8 *data = (const guint8 *)file->data;
    const char *kind = file->type == GIT_DIFF_BINARY_DELTA ? "delta" : "literal";
    g_string_append_printf(out, "%s %" G_GSIZE_FORMAT "\n", kind, (gsize)file->inflatedlen);
    for (gsize at = 0; at < file->datalen; at += LINE_BYTES) {
        gsize len = MIN(file->datalen - at, LINE_BYTES);
        g_string_append_c(out, (char)(len <= 26 ? 'A' + len - 1 : 'a' + len - 27));
        append_base85(out, data + at, len);
        g_string_append_c(out, '\n');
    }
    g_string_append_c(out, '\n');
}

static int on_binary(const git_diff_delta *delta, const git_diff_binary *binary, void *payload)
{
    GString *out = payload;
    if (!binary->contains_data)
        return GIT_EUSER;
    g_string_append(out, "GIT binary patch\n");
    append_direction(out, &binary->new_file);
    append_direction(out, &binary->old_file);
    return 0;
}

bool acr_vcs_binary_append(GString *out, GBytes *old, GBytes *new, GError **error)
{
    gsize old_len, new_len;
    const char *old_data = g_bytes_get_data(old, &old_len);
    const char *new_data = g_bytes_get_data(new, &new_len);
    git_diff_options options;
    git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
    options.flags = GIT_DIFF_SHOW_BINARY | GIT_DIFF_FORCE_BINARY;
    int rc = git_diff_buffers(old_data ? old_data : "", old_len, NULL, new_data ? new_data : "", new_len, NULL,
                              &options, NULL, on_binary, NULL, NULL, out);
    if (rc == 0)
        return true;
    acr_vcs_set_git_error(error, ACR_VCS_ERROR_FAILED, "cannot make a binary patch");
    return false;
}
