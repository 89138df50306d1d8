/* Writes git's binary patches: both directions, each as the whole content or as a delta, in git's
 * base 85.
 *
 * libgit2 creates the deltas and chooses the form. libgit2 compresses at zlib's default level, but
 * git at the fastest level, so this file decompresses the data and compresses it again. */
#include <zlib.h>

#include "vcs_private.h"

#define LINE_BYTES 52 /* number of data bytes in one line */

static void append_base85(GString *out, const guint8 *data, gsize len)
{
    static const char digits[] =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
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

/* Compresses the data of `file` again at git's level; owned; NULL if libgit2's data is
 * malformed. */
static GByteArray *deflate_again(const git_diff_binary_file *file)
{
    uLongf len = file->inflatedlen, deflated_len = compressBound(file->inflatedlen);
    g_autofree guint8 *data = g_malloc(file->inflatedlen + 1);
    g_autoptr(GByteArray) deflated = g_byte_array_new();
    g_byte_array_set_size(deflated, (guint)deflated_len);
    if (uncompress(data, &len, (const Bytef *)file->data, file->datalen) != Z_OK ||
        len != file->inflatedlen ||
        compress2(deflated->data, &deflated_len, data, len, Z_BEST_SPEED) != Z_OK)
        return NULL;
    g_byte_array_set_size(deflated, (guint)deflated_len);
    return g_steal_pointer(&deflated);
}

static bool append_direction(GString *out, const git_diff_binary_file *file)
{
    const char *kind = file->type == GIT_DIFF_BINARY_DELTA ? "delta" : "literal";
    g_autoptr(GByteArray) data = deflate_again(file);
    if (!data)
        return false;
    g_string_append_printf(out, "%s %" G_GSIZE_FORMAT "\n", kind, (gsize)file->inflatedlen);
    for (gsize at = 0; at < data->len; at += LINE_BYTES) {
        gsize len = MIN(data->len - at, LINE_BYTES);
        g_string_append_c(out, (char)(len <= 26 ? 'A' + len - 1 : 'a' + len - 27));
        append_base85(out, data->data + at, len);
        g_string_append_c(out, '\n');
    }
    g_string_append_c(out, '\n');
    return true;
}

static int on_binary(const git_diff_delta *delta, const git_diff_binary *binary, void *payload)
{
    GString *out = payload;
    g_string_append(out, "GIT binary patch\n");
    return binary->contains_data && append_direction(out, &binary->new_file) &&
                   append_direction(out, &binary->old_file)
               ? 0
               : GIT_EUSER;
}

bool acr_vcs_binary_append(GString *out, GBytes *old, GBytes *new, GError **error)
{
    gsize old_len, new_len;
    const char *old_data = g_bytes_get_data(old, &old_len);
    const char *new_data = g_bytes_get_data(new, &new_len);
    git_diff_options options;
    acr_git.diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
    options.flags = GIT_DIFF_SHOW_BINARY | GIT_DIFF_FORCE_BINARY;
    int rc = acr_git.diff_buffers(old_data ? old_data : "", old_len, NULL, new_data ? new_data : "",
                                  new_len, NULL, &options, NULL, on_binary, NULL, NULL, out);
    return rc == 0 || acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot create a binary patch");
}
