/*
 * Saving a snapshot into a folder, and having it again.
 *
 * `entries` is written last, atomically, one line a fact: words, then escaped text. Of a commit it
 * holds the id and the digest only. Of a working tree it holds every entry, and `blobs/ID` the
 * contents that HEAD lacks. The last line is a checksum of all lines before it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "vcs_private.h"

#define FORMAT_LINE "acr-snapshot 1"
#define MAX_MANIFEST_BYTES (1024u * 1024 * 1024)

static const char *const left_words[ACR_VCS_LEFT_LAST] = {"submodule", "nested", "unreadable",
                                                          "bad-name"};
static const char *const where_words[ACR_VCS_WHERE_LAST] = {"head", "kept", "none"};

/* Passes on an error of base, in our domain unless its code means something to callers. */
static bool fail_base(GError **error, GError *cause)
{
    if (g_error_matches(cause, ACR_BASE_ERROR, ACR_BASE_ERROR_NO_SPACE)) {
        g_propagate_error(error, cause);
        return false;
    }
    g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_FAILED, "%s", cause->message);
    g_error_free(cause);
    return false;
}

/* ---- Writing ---- */

static bool already_saved(const char *file, const guint8 *id)
{
    guint8 there[ACR_BLOB_ID_LEN];
    g_autoptr(GBytes) bytes = acr_file_read(file, ACR_VCS_MAX_FILE_BYTES, NULL);
    if (!bytes)
        return false;
    acr_vcs_blob_id(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), there);
    return acr_vcs_id_equal(there, id);
}

static bool save_blob(AcrSnapshot *snapshot, gsize index, const char *folder, GError **error)
{
    char hex[41];
    gsize len;
    GError *cause = NULL;
    const AcrEntry *entry = acr_snapshot_entry(snapshot, index);
    acr_vcs_id_hex(entry->id, hex);
    g_autofree char *file = g_build_filename(folder, hex, NULL);
    if (already_saved(file, entry->id))
        return true;
    g_autoptr(GBytes) bytes = acr_snapshot_read(snapshot, index, error);
    if (!bytes)
        return false;
    const void *data = g_bytes_get_data(bytes, &len);
    return acr_file_write_atomic(file, data, len, 0, &cause) || fail_base(error, cause);
}

static bool save_blobs(AcrSnapshot *snapshot, const char *dir, GError **error)
{
    GError *cause = NULL;
    g_autofree char *folder = g_build_filename(dir, "blobs", NULL);
    if (!acr_dir_make(folder, &cause))
        return fail_base(error, cause);
    for (gsize i = 0; i < snapshot->entries->len; i++) {
        if (snapshot->where->data[i] == ACR_VCS_KEPT && !save_blob(snapshot, i, folder, error))
            return false;
    }
    return true;
}

/* One word that a line ends with: any bytes, escaped so that they hold no line end. */
static void append_escaped(GString *out, const char *text)
{
    g_autofree char *escaped = g_strescape(text, NULL);
    g_string_append_printf(out, "%s\n", escaped);
}

static void append_worktree(GString *out, const AcrSnapshot *snapshot)
{
    if (snapshot->note) {
        g_string_append(out, "note ");
        append_escaped(out, snapshot->note);
    }
    for (gsize why = 0; why < ACR_VCS_LEFT_LAST; why++) {
        for (guint i = 0; i < snapshot->left[why]->len; i++) {
            g_string_append_printf(out, "left %s ", left_words[why]);
            append_escaped(out, g_ptr_array_index(snapshot->left[why], i));
        }
    }
    for (guint i = 0; i < snapshot->entries->len; i++) {
        char hex[41];
        const AcrEntry *entry = &g_array_index(snapshot->entries, AcrEntry, i);
        acr_vcs_id_hex(entry->id, hex);
        g_string_append_printf(out, "entry %06o %s %s ", entry->mode, hex,
                               where_words[snapshot->where->data[i]]);
        append_escaped(out, entry->path);
    }
}

static void append_end(GString *out)
{
    g_autofree char *sum = acr_sha256_hex(out->str, out->len);
    g_string_append_printf(out, "end %s\n", sum);
}

bool acr_snapshot_save(AcrSnapshot *snapshot, const char *dir, GError **error)
{
    GError *cause = NULL;
    if (!acr_dir_make(dir, &cause))
        return fail_base(error, cause);
    if (snapshot->worktree && !save_blobs(snapshot, dir, error))
        return false;
    g_autofree char *digest = acr_snapshot_digest(snapshot);
    g_autoptr(GString) out = g_string_new(FORMAT_LINE "\n");
    g_string_append_printf(out, "kind %s\n", snapshot->worktree ? "worktree" : "commit");
    g_string_append_printf(out, "commit %s\n", snapshot->commit[0] ? snapshot->commit : "-");
    g_string_append_printf(out, "digest %s\n", digest);
    if (snapshot->worktree)
        append_worktree(out, snapshot);
    append_end(out);
    g_autofree char *file = g_build_filename(dir, "entries", NULL);
    return acr_file_write_atomic(file, out->str, out->len, 0, &cause) || fail_base(error, cause);
}

/* ---- Reading ---- */

/* The facts of a manifest, while its lines are read. */
typedef struct {
    AcrSnapshot *snapshot;
    char digest[41];
    bool kind_known;
    bool needs_repo; /* some content is in the repository only */
} Manifest;

static int word_index(const char *const *words, int count, const char *word)
{
    for (int i = 0; i < count; i++) {
        if (g_str_equal(words[i], word))
            return i;
    }
    return -1;
}

static bool parse_entry(Manifest *manifest, const char *value)
{
    guint8 id[ACR_BLOB_ID_LEN];
    g_auto(GStrv) words = g_strsplit(value, " ", 4); /* mode, id, where, path */
    if (g_strv_length(words) != 4 || !acr_vcs_id_parse(words[1], id))
        return false;
    g_autofree char *path = g_strcompress(words[3]);
    guint32 mode = (guint32)g_ascii_strtoull(words[0], NULL, 8);
    int where = word_index(where_words, ACR_VCS_WHERE_LAST, words[2]);
    if (where < 0 || !acr_vcs_path_ok(path) ||
        (mode != ACR_MODE_FILE && mode != ACR_MODE_EXEC && mode != ACR_MODE_LINK))
        return false;
    manifest->needs_repo |= where == ACR_VCS_IN_ODB;
    return acr_vcs_snapshot_add(manifest->snapshot, path, mode, id, (AcrVcsWhere)where, NULL);
}

static bool parse_left(Manifest *manifest, const char *value)
{
    g_auto(GStrv) words = g_strsplit(value, " ", 2); /* why, path */
    int why = word_index(left_words, ACR_VCS_LEFT_LAST, words[0]);
    if (why < 0 || !words[1])
        return false;
    g_autofree char *path = g_strcompress(words[1]);
    acr_vcs_snapshot_leave(manifest->snapshot, (AcrVcsLeft)why, path);
    return true;
}

static bool parse_line(Manifest *manifest, const char *line)
{
    AcrSnapshot *snapshot = manifest->snapshot;
    guint8 id[ACR_BLOB_ID_LEN];
    g_auto(GStrv) words = g_strsplit(line, " ", 2);
    const char *what = words[0], *value = words[0] ? words[1] : NULL;
    if (!value)
        return false;
    if (g_str_equal(what, "entry"))
        return parse_entry(manifest, value);
    if (g_str_equal(what, "left"))
        return parse_left(manifest, value);
    if (g_str_equal(what, "note")) {
        g_free(snapshot->note);
        snapshot->note = g_strcompress(value);
    } else if (g_str_equal(what, "digest")) {
        g_strlcpy(manifest->digest, value, sizeof manifest->digest);
    } else if (g_str_equal(what, "commit") && acr_vcs_id_parse(value, id)) {
        g_strlcpy(snapshot->commit, value, sizeof snapshot->commit);
    } else if (g_str_equal(what, "kind")) {
        manifest->kind_known = true;
        snapshot->worktree = g_str_equal(value, "worktree");
    } else {
        return g_str_equal(what, "commit") && g_str_equal(value, "-");
    }
    return true;
}

/* Checks first line and checksum, then reads the lines between. `text` is used up. */
static bool parse(Manifest *manifest, char *text, gsize len)
{
    static const char last[] = "end ";
    gsize end_len = strlen(last) + 64 + 1;
    if (strlen(text) != len || len < end_len || !g_str_has_prefix(text, FORMAT_LINE "\n"))
        return false;
    char *end = text + len - end_len;
    g_autofree char *sum = acr_sha256_hex(text, len - end_len);
    if (strncmp(end, last, strlen(last)) || strncmp(end + strlen(last), sum, 64) ||
        text[len - 1] != '\n')
        return false;
    *end = '\0';
    for (char *line = strchr(text, '\n') + 1; *line;) {
        char *nl = strchr(line, '\n');
        if (!nl)
            return false;
        *nl = '\0';
        if (!parse_line(manifest, line))
            return false;
        line = nl + 1;
    }
    return manifest->kind_known;
}

static AcrSnapshot *load_commit(AcrRepo *repo, const Manifest *manifest, GError **error)
{
    if (!repo || !repo->git) {
        g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING,
                    "the repository with commit %s is needed", manifest->snapshot->commit);
        return NULL;
    }
    g_autoptr(AcrSnapshot) snapshot =
        acr_snapshot_of_commit(repo, manifest->snapshot->commit, error);
    if (snapshot)
        return g_steal_pointer(&snapshot);
    if (g_error_matches(error ? *error : NULL, ACR_VCS_ERROR, ACR_VCS_ERROR_NOT_FOUND))
        (*error)->code = ACR_VCS_ERROR_MISSING;
    return NULL;
}

static AcrSnapshot *load_worktree(const Manifest *manifest, const char *dir, GError **error)
{
    AcrSnapshot *snapshot = manifest->snapshot;
    if (manifest->needs_repo && (!snapshot->repo || !snapshot->repo->git)) {
        g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING,
                    "the repository with commit %s is needed", snapshot->commit);
        return NULL;
    }
    snapshot->blob_dir = g_build_filename(dir, "blobs", NULL);
    acr_vcs_snapshot_seal(snapshot);
    return acr_snapshot_ref(snapshot);
}

AcrSnapshot *acr_snapshot_load(AcrRepo *repo, const char *dir, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autofree char *file = g_build_filename(dir, "entries", NULL);
    g_autoptr(GBytes) bytes = acr_file_read(file, MAX_MANIFEST_BYTES, &cause);
    if (!bytes) {
        bool missing = g_error_matches(cause, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND);
        g_set_error(error, ACR_VCS_ERROR, missing ? ACR_VCS_ERROR_NOT_FOUND : ACR_VCS_ERROR_FAILED,
                    "%s", cause->message);
        return NULL;
    }
    gsize len = g_bytes_get_size(bytes);
    g_autofree char *text = g_strndup(g_bytes_get_data(bytes, NULL), len);
    Manifest manifest = {.snapshot = acr_vcs_snapshot_new(repo)};
    g_autoptr(AcrSnapshot) base = manifest.snapshot;
    GError *failure = NULL;
    g_autoptr(AcrSnapshot) snapshot = NULL;
    if (parse(&manifest, text, len))
        snapshot = base->worktree ? load_worktree(&manifest, dir, &failure)
                                  : load_commit(repo, &manifest, &failure);
    g_autofree char *digest = snapshot ? acr_snapshot_digest(snapshot) : NULL;
    if (digest && g_str_equal(digest, manifest.digest))
        return g_steal_pointer(&snapshot);
    if (failure)
        g_propagate_prefixed_error(error, failure, "cannot load '%s': ", dir);
    else
        g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_FAILED, "'%s' is damaged", file);
    return NULL;
}
