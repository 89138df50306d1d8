/* Applies a diff to an overlay. The files that the diff changes become a tree in a repository in
 * memory; libgit2 applies the diff to this tree, as git does. The changes are then written to the
 * overlay. Either the whole diff is applied, or nothing. */
#include <string.h>
#include <zlib.h>

#include "vcs_private.h"

/* A repository in memory with the files before and after the diff. All members are owned. */
typedef struct {
    git_repository *git;
    git_diff *diff;
    git_index *before;
    git_tree *tree;
    git_index *after;
} Work;

static void work_clear(Work *work)
{
    acr_git.index_free(work->after);
    acr_git.tree_free(work->tree);
    acr_git.index_free(work->before);
    acr_git.diff_free(work->diff);
    acr_git.repository_free(work->git);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Work, work_clear)

static bool fail(GError **error, const char *what)
{
    return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "%s", what);
}

/* Adds a file of the overlay to the tree. Skips a missing file, because the diff may create it. */
static bool add_before(Work *work, const AcrOverlay *overlay, const char *path, GError **error)
{
    if (!acr_overlay_has(overlay, path))
        return true;
    g_autoptr(GBytes) content = acr_overlay_read(overlay, path, error);
    if (!content)
        return false;
    guint32 mode = acr_overlay_mode(overlay, path);
    return acr_vcs_memory_add(work->git, work->before, path, mode, content) ||
           fail(error, "cannot prepare to apply a diff");
}

static bool starts_with(const char *line, gsize len, const char *prefix)
{
    gsize n = strlen(prefix);
    return len >= n && memcmp(line, prefix, n) == 0;
}

#define HEADER "diff --git "

/* Appends a line "diff --git a/X b/X", with quotes if X contains a blank. libgit2 requires these
 * quotes, which git does not write. */
static void append_file_header(GString *out, const char *line, gsize n)
{
    gsize head = strlen(HEADER), end = n - (line[n - 1] == '\n' && n > head);
    gsize len = (end - head) / 2; /* length of "a/X" */
    const char *a = line + head, *b = a + len + 1;
    bool is_twice = end - head == 2 * len + 1 && len > 2 && a[len] == ' ' && a[0] != '"' &&
                    memcmp(a + 1, b + 1, len - 1) == 0;
    if (is_twice && memchr(a, ' ', len))
        g_string_append_printf(out, HEADER "\"%.*s\" \"%.*s\"\n", (int)len, a, (int)len, b);
    else
        g_string_append_len(out, line, (gssize)n);
}

/* Returns as a bit which name of a renamed or copied file a line contains; 0 if none. */
static guint name_bit(const char *line, gsize n)
{
    static const char *const names[] = {"rename from ", "rename to ", "copy from ", "copy to "};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (starts_with(line, n, names[i]))
            return 1u << i;
    return 0;
}

/* Completes a header without hunks, which creates or deletes an empty file. libgit2 requires a line
 * of ids, which other tools omit, and a line that ends the patch. `kind` is 'n' for a new file and
 * 'd' for a deleted file; in upper case if the header already has the line of ids. */
static void end_bare_header(GString *text, char kind)
{
    if (g_ascii_islower(kind))
        g_string_append(text,
                        kind == 'n' ? "index 0000000..e69de29\n" : "index e69de29..0000000\n");
    g_string_append(text, "-- \n");
}

/* Returns the name in a line "--- NAME" or "+++ NAME", without the date after a tab; owned. */
static char *plain_name(const char *line)
{
    return g_strndup(line + 4, strcspn(line + 4, "\t\r\n"));
}

/* Returns the file that a plain header names: the first name that exists, with or without its first
 * folder (as in a/app.py); otherwise the new name without "b/"; owned. */
static char *plain_file(const AcrOverlay *overlay, const char *old, const char *new)
{
    const char *names[] = {strcmp(new, "/dev/null") == 0 ? old : new, old};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        const char *slash = strchr(names[i], '/'), *inner = slash ? slash + 1 : names[i];
        if (acr_overlay_has(overlay, inner) || acr_overlay_has(overlay, names[i]))
            return g_strdup(acr_overlay_has(overlay, inner) ? inner : names[i]);
    }
    return g_strdup(names[0] + (g_str_has_prefix(names[0], "b/") ? 2 : 0));
}

/* If the lines at `text` are a header as `diff -u` writes it, without "diff --git", appends git's
 * header and returns the length of the lines; otherwise returns 0. */
static gsize append_plain_header(GString *out, const AcrOverlay *overlay, const char *text)
{
    const char *second = strchr(text, '\n'), *third = second ? strchr(second + 1, '\n') : NULL;
    if (!third || !g_str_has_prefix(text, "--- ") || !g_str_has_prefix(second + 1, "+++ ") ||
        !g_str_has_prefix(third + 1, "@@ -"))
        return 0;
    g_autofree char *old = plain_name(text), *new = plain_name(second + 1),
                    *file = plain_file(overlay, old, new),
                    *header = g_strdup_printf(HEADER "a/%s b/%s\n", file, file);
    /* without /dev/null, a date of 1970 says that the file does not exist */
    bool is_empty = memmem(third + 1, strcspn(third + 1, "\n"), " +0,0 @@", 8),
         is_gone = strcmp(new, "/dev/null") == 0 ||
                   (is_empty && memmem(second + 1, (gsize)(third - second), "\t1970-01-01", 11)),
         is_new = strcmp(old, "/dev/null") == 0 ||
                  (g_str_has_prefix(third + 1, "@@ -0,0 ") && !acr_overlay_has(overlay, file));
    append_file_header(out, header, strlen(header));
    if (is_new || is_gone)
        g_string_append_printf(out, "%s file mode 100644\n", is_new ? "new" : "deleted");
    g_string_append_printf(out, "--- %s%s\n", is_new ? "/dev/null" : "a/", is_new ? "" : file);
    g_string_append_printf(out, "+++ %s%s\n", is_gone ? "/dev/null" : "b/", is_gone ? "" : file);
    return (gsize)(third + 1 - text);
}

/* Converts the diff to a form that libgit2 can read; owned. Completes headers without hunks, writes
 * git's headers if the diff has none, and adds the line end that a shell may have removed from the
 * last line. `diff` ends with a NUL. Returns NULL if a header states the old or the new name of a
 * renamed file twice, because libgit2 would leak the first name. */
static GString *mend_headers(const AcrOverlay *overlay, const char *diff, gsize len)
{
    g_autoptr(GString) text = g_string_sized_new(len + 64);
    char bare = 0;  /* kind of the current header if it can end before the next line; otherwise 0 */
    guint seen = 0; /* names in the current header so far, as bits of name_bit */
    bool is_plain = !g_str_has_prefix(diff, HEADER) && !strstr(diff, "\n" HEADER);
    for (gsize at = 0; at < len;) {
        gsize plain = is_plain ? append_plain_header(text, overlay, diff + at) : 0;
        at += plain;
        if (plain)
            continue;
        const char *line = diff + at, *feed = memchr(line, '\n', len - at);
        gsize n = feed ? (gsize)(feed - line) + 1 : len - at;
        bool is_header = starts_with(line, n, HEADER);
        guint bit = name_bit(line, n);
        if (seen & bit)
            return NULL;
        seen = is_header ? 0 : seen | bit;
        if (bare && is_header)
            end_bare_header(text, bare);
        bare = starts_with(line, n, "new file mode ")       ? 'n'
               : starts_with(line, n, "deleted file mode ") ? 'd'
               : starts_with(line, n, "index ")             ? g_ascii_toupper(bare)
                                                            : 0;
        if (is_header)
            append_file_header(text, line, n);
        else
            g_string_append_len(text, line, (gssize)n);
        at += n;
    }
    if (text->len && text->str[text->len - 1] != '\n')
        g_string_append_c(text, '\n');
    if (bare)
        end_bare_header(text, bare);
    return g_steal_pointer(&text);
}

/* True if libgit2 can decompress one side of a binary file. libgit2 never returns from a stream
 * that is truncated or has trailing bytes. */
static bool is_whole(const git_diff_binary_file *file)
{
    if (file->type == GIT_DIFF_BINARY_NONE)
        return true;
    if (file->inflatedlen > ACR_VCS_MAX_FILE_BYTES)
        return false;
    uLong used = file->datalen;
    uLongf size = file->inflatedlen;
    g_autofree Bytef *out = g_malloc(size ? size : 1);
    return uncompress2(out, &size, (const Bytef *)file->data, &used) == Z_OK &&
           used == file->datalen && size == file->inflatedlen;
}

static int check_binary(const git_diff_delta *delta, const git_diff_binary *binary, void *ctx)
{
    return is_whole(&binary->old_file) && is_whole(&binary->new_file) ? 0 : GIT_EUSER;
}

static bool fail_unread(GError **error, const char *why)
{
    return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "the diff cannot be read: %s", why);
}

static bool read_diff(Work *work, const AcrOverlay *overlay, const char *diff, gsize len,
                      GError **error)
{
    /* libgit2 copies a line up to its first NUL, but then reads as many bytes as the whole line
     * has */
    if (len && memchr(diff, '\0', len))
        return fail_unread(error, "the diff contains a NUL byte");
    g_autofree char *copy = g_strndup(diff, len);
    g_autoptr(GString) text = mend_headers(overlay, copy, len);
    if (!text)
        return fail_unread(error, "a file is renamed twice");
    if (acr_git.diff_from_buffer(&work->diff, text->str, text->len) != 0)
        return fail(error, "the diff cannot be read");
    return acr_git.diff_foreach(work->diff, NULL, check_binary, NULL, NULL, NULL) == 0 ||
           fail_unread(error, "a binary file in it is damaged");
}

static bool refuse_diff(GError **error, const char *path, const char *why)
{
    return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "the diff does not apply: '%s' %s", path, why);
}

/* Rejects two kinds of changes that libgit2 would accept: a new file at a path that exists (unless
 * the diff deletes the file first, as when a file becomes a link), and submodules. */
static bool check_deltas(const Work *work, const AcrOverlay *overlay, GError **error)
{
    g_autoptr(GHashTable) removed = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < acr_git.diff_num_deltas(work->diff); i++) {
        const git_diff_delta *delta = acr_git.diff_get_delta(work->diff, i);
        const char *old = delta->old_file.path, *new = delta->new_file.path;
        if (delta->old_file.mode == GIT_FILEMODE_COMMIT ||
            delta->new_file.mode == GIT_FILEMODE_COMMIT)
            return refuse_diff(error, new ? new : old, "is a submodule");
        if (delta->status == GIT_DELTA_DELETED && old)
            g_hash_table_add(removed, (char *)old);
        if (delta->status == GIT_DELTA_ADDED && new &&acr_overlay_has(overlay, new) &&
            !g_hash_table_contains(removed, new))
            return refuse_diff(error, new, "exists already");
    }
    return true;
}

static bool make_tree(Work *work, const AcrOverlay *overlay, GError **error)
{
    git_oid id;
    for (gsize i = 0; i < acr_git.diff_num_deltas(work->diff); i++) {
        const git_diff_delta *delta = acr_git.diff_get_delta(work->diff, i);
        if ((delta->old_file.path && !add_before(work, overlay, delta->old_file.path, error)) ||
            (delta->new_file.path && !add_before(work, overlay, delta->new_file.path, error)))
            return false;
    }
    if (acr_git.index_write_tree_to(&id, work->before, work->git) != 0 ||
        acr_git.tree_lookup(&work->tree, work->git, &id) != 0)
        return fail(error, "cannot prepare to apply a diff");
    return true;
}

/* Returns the mode of a file after the diff. If the diff does not state a mode, the old mode stays.
 * libgit2 alone would set ACR_MODE_FILE if the line of ids is missing. */
static guint32 mode_after(const Work *work, const git_diff_delta *delta)
{
    const char *path = delta->old_file.path;
    guint32 mode = delta->new_file.mode;
    const git_index_entry *old =
        mode == 0 && path ? acr_git.index_get_bypath(work->before, path, 0) : NULL;
    mode = old ? old->mode : mode;
    return mode == ACR_MODE_EXEC || mode == ACR_MODE_LINK ? mode : ACR_MODE_FILE;
}

static bool write_after(Work *work, AcrOverlay *overlay, const git_index_entry *entry, guint32 mode,
                        GError **error)
{
    git_blob *blob = NULL;
    if (acr_git.blob_lookup(&blob, work->git, &entry->id) != 0)
        return fail(error, "cannot read the result of a diff");
    g_autoptr(GBytes) content =
        g_bytes_new(acr_git.blob_rawcontent(blob), (gsize)acr_git.blob_rawsize(blob));
    acr_git.blob_free(blob);
    return acr_overlay_write(overlay, entry->path, mode, content, error);
}

static bool take_after(Work *work, AcrOverlay *overlay, GError **error)
{
    for (gsize i = 0; i < acr_git.index_entrycount(work->before); i++) {
        const git_index_entry *entry = acr_git.index_get_byindex(work->before, i);
        if (!acr_git.index_get_bypath(work->after, entry->path, 0) &&
            !acr_overlay_remove(overlay, entry->path, error))
            return false;
    }
    for (gsize i = 0; i < acr_git.diff_num_deltas(work->diff); i++) {
        const git_diff_delta *delta = acr_git.diff_get_delta(work->diff, i);
        const char *path = delta->new_file.path;
        const git_index_entry *entry = path ? acr_git.index_get_bypath(work->after, path, 0) : NULL,
                              *old = path ? acr_git.index_get_bypath(work->before, path, 0) : NULL;
        guint32 mode = mode_after(work, delta);
        bool same = entry && old && old->mode == mode && acr_git.oid_equal(&old->id, &entry->id);
        if (entry && !same && !write_after(work, overlay, entry, mode, error))
            return false;
    }
    return true;
}

/* Implements git_apply_delta_cb: keeps the path of the file that libgit2 changes next. */
static int note_path(const git_diff_delta *delta, void *path)
{
    *(const char **)path = delta->new_file.path;
    return 0;
}

bool acr_overlay_apply_diff(AcrOverlay *overlay, const void *diff, gsize len, GError **error)
{
    g_auto(Work) work = {0};
    if (!acr_vcs_init(error))
        return false;
    if (!acr_vcs_memory_open(&work.git) || acr_git.index_new(&work.before) != 0)
        return fail(error, "cannot prepare to apply a diff");
    if (!read_diff(&work, overlay, diff, len, error))
        return false;
    if (!check_deltas(&work, overlay, error) || !make_tree(&work, overlay, error))
        return false;
    const char *path = "?";
    git_apply_options options = {GIT_APPLY_OPTIONS_VERSION, note_path, NULL, &path, 0};
    if (acr_git.apply_to_tree(&work.after, work.git, work.tree, work.diff, &options) != 0)
        return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "the diff does not apply to '%s'",
                                path);
    g_autoptr(AcrOverlay) copy = acr_overlay_copy(overlay);
    if (!take_after(&work, copy, error))
        return false;
    GHashTable *before = overlay->changes;
    overlay->changes = copy->changes;
    copy->changes = before;
    return true;
}
