/* Fuzzes the diff parser. The input is a byte that says how to damage a diff, a text, a NUL, and
 * another text. The diff of the two texts, damaged or not, is an answer about the first text.
 * Undamaged, it must produce the second text or be refused. With damaged line numbers, it may
 * only be applied where its text is. The part of the input after another NUL is parsed as a
 * diff, too. */
#include "patch/patch.h"

#include <glib/gstdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WHOLE, NO_NUMBERS, NO_BLANKS, NO_HEADERS, WAYS };

static AcrSnapshot *open_text(const char *dir, const char *text, gsize len)
{
    g_autofree char *path = g_build_filename(dir, "a.txt", NULL);
    g_assert_true(g_file_set_contents(path, text, (gssize)len, NULL));
    g_autoptr(AcrRepo) repo = acr_repo_open(dir, NULL);
    AcrSnapshot *snapshot = acr_snapshot_of_worktree(repo, NULL);
    g_assert_nonnull(snapshot);
    return snapshot;
}

static char *make_diff(AcrSnapshot *snapshot, const char *text, gsize len, gsize *out_len)
{
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GBytes) bytes = g_bytes_new(text, len);
    g_assert_true(acr_overlay_write(overlay, "a.txt", 0, bytes, NULL));
    g_autoptr(GBytes) diff = acr_overlay_diff(overlay, NULL);
    const char *data = g_bytes_get_data(diff, out_len);
    return g_strndup(data ? data : "", *out_len);
}

static char *damage(const char *diff, int way)
{
    g_auto(GStrv) lines = g_strsplit(diff, "\n", -1);
    g_autoptr(GString) text = g_string_new(NULL);
    bool body = false;
    for (guint i = 0; lines[i]; i++) {
        const char *line = lines[i];
        bool header = g_str_has_prefix(line, "@@ ");
        body = body || header;
        if (header && way == NO_HEADERS)
            continue;
        if (header && way == NO_NUMBERS)
            line = "@@ -1,1 +1,1 @@";
        if (body && *line == ' ' && way == NO_BLANKS)
            line++;
        g_string_append(text, line);
        if (lines[i + 1])
            g_string_append_c(text, '\n');
    }
    return g_strdup(text->str);
}

/* Whether a diff shows every character of the text unchanged. */
static bool is_plain(const char *text, gsize len)
{
    bool bom = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0; /* which an edit keeps */
    return !bom && acr_utf8_is_text(text, len) && !memchr(text, '\r', len) && !memchr(text, '\f', len);
}

static void apply(AcrSnapshot *snapshot, const char *answer, gsize len, const char *wanted, gsize wanted_len)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrPatchResult) result = {0};
    AcrPatchContext context = {.snapshot = snapshot};
    g_assert_true(acr_patch_apply(&context, answer, len, &result, &error));
    g_assert_no_error(error);
    g_assert_true((result.overlay != NULL) == (result.status == ACR_APPLICABLE_PATCH));
    if (!result.overlay || !wanted)
        return;
    gsize got_len = 0;
    g_autoptr(GBytes) bytes = acr_overlay_read(result.overlay, "a.txt", &error);
    g_assert_no_error(error);
    const char *got = g_bytes_get_data(bytes, &got_len);
    g_assert_cmpmem(got, got_len, wanted, wanted_len);
}

static void try_pair(const char *a, gsize a_len, const char *b, gsize b_len, int way)
{
    gsize len = 0;
    g_autofree char *dir = g_dir_make_tmp("acr-fuzz-XXXXXX", NULL);
    g_autoptr(AcrSnapshot) snapshot = open_text(dir, a, a_len);
    g_autofree char *diff = make_diff(snapshot, b, b_len, &len);
    bool plain = is_plain(a, a_len) && is_plain(b, b_len);
    if (way == WHOLE) {
        apply(snapshot, diff, len, plain ? b : NULL, b_len);
    } else {
        g_autofree char *damaged = damage(diff, way);
        g_autofree char *answer = g_strdup_printf("```diff\n%s\n```\n", damaged);
        apply(snapshot, answer, strlen(answer), NULL, 0);
    }
    g_assert_true(acr_dir_remove(dir, NULL));
}

static void check_edits(const char *text, gsize len)
{
    g_autofree char *answer = g_strdup_printf("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n%.*s", (int)len, text);
    gsize off = 0, answer_len = strlen(answer);
    g_autoptr(GPtrArray) edits = acr_patch_parse(answer, answer_len);
    for (guint i = 0; i < edits->len; i++) {
        const AcrEdit *edit = edits->pdata[i];
        g_assert_true(edit->complaint || (edit->file && edit->original && edit->patched));
        g_assert_cmpuint(edit->off, >=, off);
        g_assert_cmpuint(edit->end, >=, edit->off);
        off = edit->off;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *a = (const char *)data + 1, *end = (const char *)data + size;
    const char *nul = memchr(a, 0, size - 1);
    gsize a_len = (gsize)((nul ? nul : end) - a);
    const char *b = nul ? nul + 1 : end;
    const char *next = memchr(b, 0, (gsize)(end - b));
    gsize b_len = (gsize)((next ? next : end) - b);
    try_pair(a, a_len, b, b_len, *data % WAYS);
    if (next)
        check_edits(next + 1, (gsize)(end - next) - 1);
    return 0;
}
