/* Writes the diff of an overlay, as `git diff --full-index --binary --no-renames` prints it.
 *
 * This file writes the headers (modes, ids, quoting), because libgit2 loses the modes of buffers,
 * abbreviates ids and omits the tab after names with blanks. diff_hunks.c and diff_binary.c get the
 * bodies from libgit2. */
#include <string.h>

#include "rules_private.h"

/* One side of a file's change. If its mode is 0, the file does not exist on this side. */
typedef struct {
    guint32 mode;
    char hex[41];
    GBytes *content;
} Side;

/* Appends a path as git prints it: quoted and escaped if one of its bytes requires escaping
 * (core.quotePath is on). */
static void append_quoted(GString *out, const char *prefix, const char *path)
{
    static const char escapes[] = "abtnvfr"; /* escapes of the bytes 7 to 13 */
    bool plain = true;
    for (const guchar *p = (const guchar *)path; *p && plain; p++)
        plain = *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\';
    if (plain) {
        g_string_append_printf(out, "%s%s", prefix, path);
        return;
    }
    g_string_append_printf(out, "\"%s", prefix);
    for (const guchar *p = (const guchar *)path; *p; p++) {
        if (*p >= 7 && *p <= 13)
            g_string_append_printf(out, "\\%c", escapes[*p - 7]);
        else if (*p == '"' || *p == '\\')
            g_string_append_printf(out, "\\%c", *p);
        else if (*p < 0x20 || *p >= 0x7f)
            g_string_append_printf(out, "\\%03o", *p);
        else
            g_string_append_c(out, (char)*p);
    }
    g_string_append_c(out, '"');
}

/* Appends "--- a/path" or "+++ b/path", with /dev/null instead of the path unless `there`. A tab
 * follows a name with blanks, so that patch(1) finds the end of the name. */
static void append_label(GString *out, const char *mark, const char *prefix, const char *path,
                         bool there)
{
    g_autoptr(GString) label = g_string_new(NULL);
    if (there)
        append_quoted(label, prefix, path);
    else
        g_string_append(label, "/dev/null");
    g_string_append_printf(out, "%s %s%s\n", mark, label->str, strchr(label->str, ' ') ? "\t" : "");
}

static void append_diff_header(GString *out, const char *path, const Side *old, const Side *new)
{
    g_string_append(out, "diff --git ");
    append_quoted(out, "a/", path);
    g_string_append_c(out, ' ');
    append_quoted(out, "b/", path);
    g_string_append_c(out, '\n');
    if (!old->mode)
        g_string_append_printf(out, "new file mode %06o\n", new->mode);
    else if (!new->mode)
        g_string_append_printf(out, "deleted file mode %06o\n", old->mode);
    else if (old->mode != new->mode)
        g_string_append_printf(out, "old mode %06o\nnew mode %06o\n", old->mode, new->mode);
    if (g_str_equal(old->hex, new->hex))
        return;
    g_string_append_printf(out, "index %s..%s", old->hex, new->hex);
    if (old->mode == new->mode)
        g_string_append_printf(out, " %06o", old->mode);
    g_string_append_c(out, '\n');
}

/* git treats a file as binary if one of its first BINARY_WINDOW bytes is NUL */
#define BINARY_WINDOW 8000

static bool has_nul(GBytes *bytes)
{
    gsize len;
    const void *data = g_bytes_get_data(bytes, &len);
    return data && memchr(data, 0, MIN(len, BINARY_WINDOW));
}

static bool is_binary(const Side *side, AcrVcsDiffKind kind)
{
    if (side->mode == ACR_MODE_LINK || kind == ACR_VCS_DIFF_AUTO || kind == ACR_VCS_DIFF_PYTHON)
        return has_nul(side->content);
    return kind == ACR_VCS_DIFF_BINARY;
}

static bool append_pair(GString *out, const char *path, const Side *old, const Side *new,
                        AcrVcsDiffKind kind, GError **error)
{
    append_diff_header(out, path, old, new);
    if (g_str_equal(old->hex, new->hex))
        return true;
    if (is_binary(old, kind) || is_binary(new, kind))
        return acr_vcs_binary_append(out, old->content, new->content, error);
    if (!g_bytes_get_size(old->content) && !g_bytes_get_size(new->content))
        return true;
    append_label(out, "---", "a/", path, old->mode != 0);
    append_label(out, "+++", "b/", path, new->mode != 0);
    return acr_vcs_hunks_append(out, old->content, new->content, kind == ACR_VCS_DIFF_PYTHON,
                                error);
}

static void side_init(Side *side, GBytes *content)
{
    *side = (Side){.content = g_bytes_ref(content)};
    memset(side->hex, '0', sizeof side->hex - 1);
}

static void side_clear(Side *side)
{
    g_bytes_unref(side->content);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Side, side_clear)

static bool is_link(guint32 mode)
{
    return mode == ACR_MODE_LINK;
}

static bool append_file(GString *out, const AcrOverlay *overlay, const char *path,
                        AcrVcsDiffKind kind, GError **error)
{
    const AcrVcsChange *change = g_hash_table_lookup(overlay->changes, path);
    gssize at = acr_snapshot_find(overlay->snapshot, path);
    g_autoptr(GBytes) nothing = g_bytes_new(NULL, 0);
    g_autoptr(GBytes) before =
        at < 0 ? g_bytes_ref(nothing) : acr_snapshot_read(overlay->snapshot, (gsize)at, error);
    if (!before)
        return false;
    g_auto(Side) none = {0}, old = {0}, new = {0};
    side_init(&none, nothing);
    side_init(&old, before);
    side_init(&new, change->content ? change->content : nothing);
    if (at >= 0) {
        const AcrEntry *entry = acr_snapshot_entry(overlay->snapshot, (gsize)at);
        old.mode = entry->mode;
        acr_vcs_id_hex(entry->id, old.hex);
    }
    new.mode = change->mode;
    if (change->content)
        acr_vcs_id_hex(change->id, new.hex);
    /* like git, show a change from a file to a link, or vice versa, as a deleted file and a new
     * file */
    if (old.mode && new.mode && is_link(old.mode) != is_link(new.mode))
        return append_pair(out, path, &old, &none, kind, error) &&
               append_pair(out, path, &none, &new, kind, error);
    return append_pair(out, path, &old, &new, kind, error);
}

GBytes *acr_overlay_diff(const AcrOverlay *overlay, GError **error)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_auto(GStrv) paths = acr_overlay_changed(overlay);
    if (!acr_vcs_init(error))
        return NULL;
    g_autoptr(AcrVcsAttributes) attributes = acr_vcs_attributes_new(overlay, paths, error);
    if (!attributes)
        return NULL;
    for (gsize i = 0; paths[i]; i++) {
        AcrVcsDiffKind kind = acr_vcs_attributes_diff(attributes, paths[i]);
        if (!append_file(out, overlay, paths[i], kind, error)) {
            g_autofree char *shown = acr_vcs_show_path(paths[i]);
            return ACR_NULL(g_prefix_error(error, "cannot diff '%s': ", shown));
        }
    }
    return g_string_free_to_bytes(g_steal_pointer(&out));
}
